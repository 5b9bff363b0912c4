//! Imported data is exported unchanged: the decoded records of every array are equal, also through a zip file, and no partial
//! file is ever visible.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

use crate::common::{
    l5::{batches, records},
    shared_path,
};
use arrow_array::RecordBatch;
use sha2::{Digest, Sha256};
use tetrys::ErrorKind;
use tetrys_l5::{Dataset, Exporter, GeneratorSettings, export, zarr::source::ZarrGroup};

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn copy(dataset: &Dataset, target: &Path) {
    export(dataset.properties(), batches(dataset).into_iter().map(Ok), target).unwrap();
}

/// Asserts that `copy` has the records of every array, and every metadata object, of `source`.
fn assert_same_group(source: &Path, copy: &Path) {
    let arrays = ZarrGroup::open(source).unwrap().arrays().unwrap();
    assert_eq!(ZarrGroup::open(copy).unwrap().arrays().unwrap(), arrays);
    for array in &arrays {
        assert_eq!(sha256(&records(source, array)), sha256(&records(copy, array)), "{array}");
        for object in [".zarray", ".zattrs"] {
            let read = |root: &Path| std::fs::read(root.join(array).join(object)).ok();
            assert_eq!(read(source), read(copy), "{array}/{object}");
        }
    }
    for object in [".zgroup", ".zattrs", "agents_mask/.zgroup"] {
        assert_eq!(std::fs::read(source.join(object)).ok(), std::fs::read(copy.join(object)).ok(), "{object}");
    }
}

#[test]
fn published_data_comes_back_record_for_record() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["single_scene.zarr", "multi_scene.zarr", "oldformat_v1.zarr"] {
        let Some(source) = shared_path(&format!("l5/artefacts/{name}")) else { return };
        let target = folder.path().join(name);
        copy(&Dataset::open(&source).unwrap(), &target);
        assert_same_group(&source, &target);
    }
}

#[test]
fn single_scene_has_the_hashes_that_were_noted() {
    let (Some(source), Some(manifest)) = (shared_path("l5/artefacts/single_scene.zarr"), shared_path("l5/golden/manifest.json"))
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("back.zarr");
    copy(&Dataset::open(source).unwrap(), &target);
    let manifest: serde_json::Value = serde_json::from_slice(&std::fs::read(manifest).unwrap()).unwrap();
    for (noted, array) in [("scenes", "scenes"), ("frames", "frames"), ("agents", "agents"), ("tl_faces", "traffic_light_faces")]
    {
        let expected = &manifest["notes"][format!("{noted}.sha256_of_records_tobytes")];
        assert_eq!(expected.as_str(), Some(sha256(&records(&target, array)).as_str()), "{array}");
    }
}

fn generated(folder: &Path) -> PathBuf {
    let path = folder.join("generated.zarr");
    let settings = GeneratorSettings { scenes: 5, frames_per_scene: 30, mask: true, chunk_len: 700, ..Default::default() };
    settings.generate(&path).unwrap();
    path
}

#[test]
fn generated_data_comes_back_over_many_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let source = generated(folder.path());
    let target = folder.path().join("back.zarr");
    let dataset = Dataset::open(&source).unwrap();
    assert!(dataset.agents_len() > 5 * 700 * 2, "{}", dataset.agents_len());
    copy(&dataset, &target);
    assert_same_group(&source, &target);
}

#[test]
fn a_zip_holds_the_same_rows_as_its_folder_with_and_without_a_top_folder() {
    let folder = tempfile::tempdir().unwrap();
    let source = generated(folder.path());
    let expected = batches(&Dataset::open(&source).unwrap());
    for (prefix, method) in [("", zip::CompressionMethod::Stored), ("top.zarr/", zip::CompressionMethod::Deflated)] {
        let path = folder.path().join(format!("{}.zarr.zip", prefix.len()));
        let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
        add_to_zip(&mut archive, &source, prefix, method);
        archive.finish().unwrap();
        let dataset = Dataset::open(&path).unwrap();
        assert!(batches(&dataset) == expected);
        assert_eq!(dataset.properties(), Dataset::open(&source).unwrap().properties());
    }
}

fn add_to_zip(archive: &mut zip::ZipWriter<File>, folder: &Path, prefix: &str, method: zip::CompressionMethod) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            add_to_zip(archive, &entry.path(), &format!("{name}/"), method);
        } else {
            archive.start_file(name, zip::write::SimpleFileOptions::default().compression_method(method)).unwrap();
            archive.write_all(&std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

#[test]
fn an_existing_target_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = Dataset::open(generated(folder.path())).unwrap();
    let target = folder.path().join("taken");
    std::fs::create_dir(&target).unwrap();
    assert_eq!(Exporter::create(dataset.properties(), &target).err().unwrap().kind(), ErrorKind::Exists);
    assert_eq!(GeneratorSettings::default().generate(&target).unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    let nowhere = folder.path().join("no/where");
    assert_eq!(Exporter::create(dataset.properties(), nowhere).err().unwrap().kind(), ErrorKind::NotFound);
}

#[test]
fn missing_repeated_and_reordered_rows_are_refused_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = Dataset::open(generated(folder.path())).unwrap();
    let all = batches(&dataset);
    let attempt = |batches: Vec<RecordBatch>| {
        let error = export(dataset.properties(), batches.into_iter().map(Ok), folder.path().join("back.zarr")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        error.to_string()
    };
    assert_eq!(attempt(all[..1].to_vec()), "array frames: expected 150 records, found 120");
    assert_eq!(attempt(vec![all[0].clone(), all[0].clone()]), "export: column `frame`, row 0 of 120: expected 120, found 0");
    assert_eq!(attempt(vec![all[0].slice(1, 3)]), "export: column `frame`, row 0 of 3: expected 0, found 1");
    assert_eq!(attempt(vec![all[0].project(&[0, 1]).unwrap()]), "export: expected a column `frame`, found none");
}

#[test]
fn sliced_batches_export_as_whole_ones() {
    let folder = tempfile::tempdir().unwrap();
    let source = generated(folder.path());
    let dataset = Dataset::open(&source).unwrap();
    let target = folder.path().join("back.zarr");
    let slices = batches(&dataset).into_iter().flat_map(|batch| {
        (0..batch.num_rows()).step_by(7).map(|at| Ok(batch.slice(at, 7.min(batch.num_rows() - at)))).collect::<Vec<_>>()
    });
    export(dataset.properties(), slices, &target).unwrap();
    assert_same_group(&source, &target);
}

#[test]
fn properties_never_choose_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = Dataset::open(generated(folder.path())).unwrap();
    for key in
        ["../evil", "/evil", "agents_mask/../evil/.zarray", "agents_mask/a/b/.zarray", "agents_mask/..\\x/.zattrs", "agents/0"]
    {
        let mut properties = dataset.properties().clone();
        properties["l5"]["objects"][key] = "x".into();
        let error = Exporter::create(&properties, folder.path().join("back.zarr")).err().unwrap();
        assert_eq!(error.to_string(), format!("property l5.objects: `{key}` is not as the ingest wrote it"));
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let folder = tempfile::tempdir().unwrap();
    let generate = |name: &str, seed| {
        let path = folder.path().join(name);
        GeneratorSettings { seed, scenes: 2, frames_per_scene: 20, ..Default::default() }.generate(&path).unwrap();
        std::fs::read(path.join("agents/0")).unwrap()
    };
    let first = generate("a", 1);
    assert!(first == generate("b", 1));
    assert!(first != generate("c", 2));
}
