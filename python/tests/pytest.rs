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
    // Not a symbolic link: a build that runs beside the tests replaces the file.
    let library = package.join("_tetrys.abi3.so");
    if fs::hard_link(&built, &library).is_err() {
        fs::copy(built, library).unwrap();
    }
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

/// The packages that every suite needs.
const BASE: &str = "python/tests/requirements.txt";

/// Held by the suite that runs: each of them starts processes that need all cores.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs `python` with these arguments in an environment of these packages.
fn passes(requirements: &[&str], arguments: &[&str]) {
    let Some(python) = environment::python(requirements) else { return };
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

/// Runs the tests with these marks, without those of cluster engines.
fn passes_without_clusters(requirements: &[&str], marks: &str) {
    let seed = format!("--hypothesis-seed={}", environment::seed());
    let ignored = CLUSTERS.map(|file| format!("--ignore={file}"));
    let arguments = ["-m", "pytest", &seed, "-m", marks].into_iter().chain(ignored.iter().map(String::as_str));
    passes(requirements, &arguments.collect::<Vec<_>>());
}

#[test]
fn the_python_suite_passes() {
    passes_without_clusters(&[BASE], "not torch");
}

/// PyTorch takes gigabytes, so it is installed only on request. L5Kit, which needs it, is installed with it.
#[test]
fn the_suite_of_pytorch_passes() {
    if !environment::is_on("TETRYS_TORCH") {
        return environment::leave_out("the tests of PyTorch (6 GB to install)", "TETRYS_TORCH=1");
    }
    passes_without_clusters(&[BASE, "python/tests/torch.txt", "python/tests/l5kit.txt"], "torch");
}

#[test]
fn the_suites_of_clusters_pass() {
    let Some(chosen) = of_clusters() else {
        return environment::leave_out("the tests of Ray, Spark and Daft (1 GB to install, Java)", "TETRYS_CLUSTER=slice");
    };
    let seed = format!("--hypothesis-seed={}", environment::seed());
    let arguments = ["-m", "pytest", "--durations=10", &seed].into_iter().chain(chosen.iter().copied());
    // Ray and Petastorm's converter also make batches of tensors.
    let requirements = [BASE, "python/tests/torch.txt", "python/tests/cluster.txt"];
    passes(&requirements, &arguments.chain(CLUSTERS).collect::<Vec<_>>());
}

/// The tests of Petastorm's wheel. With `slice`, those that need no JVM and make no tensors.
#[test]
fn the_suite_of_petastorm_passes() {
    let Some(chosen) = of_clusters() else {
        return environment::leave_out(
            "Petastorm's own tests (1.2 GB to install; all of them 8 GB, Java)",
            "TETRYS_CLUSTER=slice",
        );
    };
    let requirements = ["python/tests/petastorm_suite.txt", "python/tests/petastorm_frameworks.txt"];
    let arguments = ["-m", "pytest"].into_iter().chain(chosen.iter().copied());
    let files = ["tests/test_petastorm_files.py", "tests/test_petastorm_suite.py"];
    passes(if chosen.is_empty() { &requirements } else { &requirements[..1] }, &arguments.chain(files).collect::<Vec<_>>());
}

#[test]
fn the_package_and_its_stubs_type_check() {
    passes(&[BASE], &["-m", "mypy", "--cache-dir=/dev/null"]);
}
