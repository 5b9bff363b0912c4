//! Assembles the Python package as a wheel has it, and runs its tests in a virtual environment.

#[path = "../../tests/common/environment.rs"]
mod environment;

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    sync::{Mutex, PoisonError},
};

use tetrys_l5::GeneratorSettings;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Assembles the package in `folder`: the Python files, and the library that cargo built beside this test.
fn package(folder: &Path) {
    let package = folder.join("tetrys");
    fs::create_dir(&package).unwrap();
    for file in fs::read_dir(here().join("python/tetrys")).unwrap().map(|file| file.unwrap().path()) {
        if file.file_name() != Some(OsStr::new("__pycache__")) && file.extension() != Some(OsStr::new("so")) {
            symlink(&file, package.join(file.file_name().unwrap())).unwrap();
        }
    }
    let built = env::current_exe().unwrap().with_file_name(format!("lib_tetrys{}", env::consts::DLL_SUFFIX));
    assert!(built.exists(), "no {}", built.display());
    symlink(built, package.join("_tetrys.abi3.so")).unwrap();
}

/// Tests of cluster engines. They need packages that take a gigabyte, so they run only on request.
const CLUSTERS: [&str; 5] = [
    "tests/test_engines.py",
    "tests/test_petastorm_spark.py",
    "tests/test_ray.py",
    "tests/test_spark.py",
    "tests/test_spark_types.py",
];

/// Returns what chooses the tests of cluster engines: `TETRYS_CLUSTER=1` all of them, `slice` those marked as such, which take
/// minutes. `None` if none of them runs.
fn of_clusters() -> Option<&'static [&'static str]> {
    match env::var("TETRYS_CLUSTER").as_deref() {
        Ok("1") => Some(&[]),
        Ok("slice") => Some(&["-m", "slice"]),
        _ => None,
    }
}

/// Held by the suite that runs: each of them starts processes that need all cores.
static ALONE: Mutex<()> = Mutex::new(());

fn passes(arguments: &[&str]) {
    let mut requirements = vec!["python/tests/requirements.txt"];
    // PyTorch takes gigabytes, so it is installed only on request.
    if environment::is_on("TETRYS_TORCH") {
        requirements.push("python/tests/torch.txt");
    }
    if of_clusters().is_some() {
        requirements.push("python/tests/cluster.txt");
    }
    let Some(python) = environment::python(&requirements) else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    package(folder.path());
    let zarr = folder.path().join("generated.zarr");
    GeneratorSettings { scenes: 2, frames_per_scene: 20, agents_per_frame: 5, ..Default::default() }.generate(&zarr).unwrap();
    let output = Command::new(python)
        .args(arguments)
        .current_dir(here())
        .env("PYTHONPATH", folder.path())
        .env("MYPYPATH", folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HYPOTHESIS_STORAGE_DIRECTORY", folder.path().join("hypothesis"))
        .env("TETRYS_L5", zarr)
        .env("TETRYS_CASES", environment::cases(25).to_string())
        .output()
        .unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_python_suite_passes() {
    let seed = format!("--hypothesis-seed={}", environment::seed());
    let ignored = CLUSTERS.map(|file| format!("--ignore={file}"));
    let ignored = ignored.iter().map(String::as_str);
    passes(&["-m", "pytest", &seed].into_iter().chain(ignored).collect::<Vec<_>>());
}

#[test]
fn the_suites_of_clusters_pass() {
    let Some(chosen) = of_clusters() else { return environment::skip("TETRYS_CLUSTER is neither 1 nor slice") };
    let seed = format!("--hypothesis-seed={}", environment::seed());
    let arguments = ["-m", "pytest", "--durations=10", &seed].into_iter().chain(chosen.iter().copied());
    passes(&arguments.chain(CLUSTERS).collect::<Vec<_>>());
}

#[test]
fn the_package_and_its_stubs_type_check() {
    passes(&["-m", "mypy", "--cache-dir=/dev/null"]);
}
