//! Tests `--npy`: arrays of `.npy` files as tensor columns, of files that numpy wrote and of files that are wrong.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::{
    binary::{arrays, tetrys, tetrys_with},
    common,
};

/// Returns a `.npy` file of version 1.
fn npy(descr: &str, fortran: bool, shape: &str, elements: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), elements].concat()
}

/// Returns the bytes of numbers that count from `first`.
fn floats(first: usize, count: usize) -> Vec<u8> {
    (first..first + count).flat_map(|number| (number as f32).to_le_bytes()).collect()
}

/// Returns a sweep of so many points, each of four f32.
fn sweep(points: usize) -> Vec<u8> {
    npy("'<f4'", false, &format!("({points}, 4)"), &floats(points, 4 * points))
}

/// Writes a CSV file of these paths, one a row.
fn csv(folder: &Path, name: &str, paths: &[&str]) {
    let rows = paths.iter().enumerate().map(|(row, path)| format!("{row},{path}\n"));
    fs::write(folder.join(name), format!("id,sweep\n{}", rows.collect::<String>())).unwrap();
}

/// Writes four sweeps of 1 to 4 points, and `two.csv` and `more.csv` with two of them each.
fn sweeps(folder: &Path) {
    fs::create_dir(folder.join("sweeps")).unwrap();
    for points in 1..5 {
        fs::write(folder.join(format!("sweeps/{points}.npy")), sweep(points)).unwrap();
    }
    csv(folder, "two.csv", &["sweeps/1.npy", "sweeps/2.npy"]);
    csv(folder, "more.csv", &["sweeps/3.npy", "sweeps/4.npy"]);
}

fn points(folder: &Path, table: &str, row: u32) -> Vec<u8> {
    let out = format!("{table}-{row}");
    tetrys(folder, &format!("get {table} {row} --columns points --out {out}")).ok();
    let array = arrays(&folder.join(out)).remove("points").unwrap();
    assert_eq!((array.dtype.as_str(), array.shape[1]), ("<f4", 4));
    array.bytes
}

fn type_of(folder: &Path, table: &str, column: &str) -> String {
    let output = tetrys(folder, &format!("schema {table}")).ok();
    let line = output.lines().find(|line| line.split_whitespace().next() == Some(column)).unwrap();
    line.split_whitespace().nth(1).unwrap().to_owned()
}

const MADE_BY_NUMPY: &str = r#"
import json, numpy as np
random = np.random.default_rng(3)
kinds = {
    "bool": "?", "i1": "i1", "i2": "i2", "i4": "i4", "i8": "i8", "u1": "u1", "u2": "u2", "u4": "u4", "u8": "u8",
    "f2": "f2", "f4": "f4", "f8": "f8", "big": ">f8", "bigint": ">u2", "fortran": "f4", "bigfortran": ">i4",
    "sliced": "f4", "version2": "f4", "version3": "f4", "single": "f8", "fixed": "u1", "deep": "i2",
}
expected, rows = {}, []
for row in range(3):
    names = [str(row)]
    for name, kind in kinds.items():
        shape = {"single": (), "fixed": (2, 3), "deep": (2, row + 1, 3)}.get(name, (2 * row, 4))
        array = (100 * random.standard_normal(shape)).astype(kind)
        if "fortran" in name:
            array = np.asfortranarray(array)
        if name == "sliced":
            array = np.repeat(array, 2, axis=1)[:, ::2]
        file = f"{name}-{row}.npy"
        if name.startswith("version"):
            with open(file, "wb") as out:
                np.lib.format.write_array(out, array, version=(int(name[-1]), 0))
        else:
            np.save(file, array)
        loaded = np.load(file)
        native = np.ascontiguousarray(loaded.astype(loaded.dtype.newbyteorder("<")))
        expected.setdefault(name, []).append([list(loaded.shape), native.tobytes().hex()])
        names.append(file)
    rows.append(",".join(names))
open("frame.csv", "w").write("\n".join([",".join(["id", *kinds]), *rows]) + "\n")
print(json.dumps(expected))
"#;

#[test]
fn arrays_have_the_values_that_numpy_loads() {
    let Some(python) = common::python(&["python/tests/requirements.txt"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let ran = Command::new(python).args(["-c", MADE_BY_NUMPY]).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let expected: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let names: Vec<&String> = expected.as_object().unwrap().keys().collect();
    let mut arguments = vec!["ingest".to_owned(), "csv".to_owned(), "frame.csv".to_owned(), "t".to_owned(), "-q".to_owned()];
    arguments.extend(names.iter().flat_map(|name| ["--npy".to_owned(), format!("{name}={name}")]));
    tetrys_with(folder, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).ok();
    for (name, ty) in [
        ("bool", "bool[?,4]"),
        ("u8", "u64[?,4]"),
        ("f2", "f16[?,4]"),
        ("big", "f64[?,4]"),
        ("single", "f64[]"),
        ("fixed", "u8[2,3]"),
        ("deep", "i16[2,?,3]"),
    ] {
        assert_eq!(type_of(folder, "t", name), ty);
    }
    for row in 0..3 {
        tetrys(folder, &format!("get t {row} --out row{row}")).ok();
        let found = arrays(&folder.join(format!("row{row}")));
        for name in &names {
            let array = &found[*name];
            let hex: String = array.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(json!([array.shape, hex]), expected[*name][row], "{name}, row {row}");
        }
    }
    assert!(tetrys(folder, "verify t").ok().starts_with("sound: "));
}

#[test]
fn sweeps_are_appended_and_added_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sweeps(folder);
    tetrys(folder, "ingest csv two.csv t --npy points=sweep --drop sweep -q").ok();
    assert_eq!(type_of(folder, "t", "points"), "f32[?,4]");
    tetrys(folder, "ingest csv more.csv t --npy points=sweep --drop sweep --append -q").ok();
    for row in 0..4 {
        assert_eq!(points(folder, "t", row), floats(row as usize + 1, 4 * (row as usize + 1)));
    }
    // All sweeps of this version are equally long. It keeps the type of the table, and a new table does not.
    csv(folder, "one.csv", &["sweeps/3.npy"]);
    tetrys(folder, "ingest csv one.csv t --npy points=sweep --drop sweep --overwrite -q").ok();
    assert_eq!(type_of(folder, "t", "points"), "f32[?,4]");
    tetrys(folder, "ingest csv one.csv fixed --npy points=sweep --drop sweep -q").ok();
    assert_eq!(type_of(folder, "fixed", "points"), "f32[3,4]");
    let message = tetrys(folder, "ingest csv two.csv fixed --npy points=sweep --drop sweep --append -q").fails(1);
    assert!(message.contains("row 0: npy `points`, file sweeps/1.npy: expected f32[3,4], found f32[1,4]"), "{message}");
    // A declared type needs no look at the files.
    tetrys(folder, "ingest csv one.csv free --npy points=sweep --type points=f32[?,?] --drop sweep -q").ok();
    assert_eq!(type_of(folder, "free", "points"), "f32[?,?]");
    csv(folder, "none.csv", &["", ""]);
    tetrys(folder, "ingest csv none.csv empty --npy points=sweep --type points=f32[?,4] --drop sweep -q").ok();
    assert_eq!(tetrys(folder, "get empty 1 --columns points --json").json()["rows"][0]["values"]["points"], json!(null));

    // A group of a table, and other values of one row.
    tetrys(folder, "ingest csv two.csv g --drop sweep -q").ok();
    tetrys(folder, "add-group g lidar two.csv --on id --npy points=sweep --drop sweep").ok();
    assert_eq!(points(folder, "g", 1), floats(2, 8));
    fs::write(folder.join("patch.csv"), "id,sweep\n1,sweeps/4.npy\n").unwrap();
    tetrys(folder, "patch g patch.csv --on id --npy points=sweep --drop sweep").ok();
    tetrys(folder, "get g 1 --columns points --out patched").ok();
    assert_eq!(arrays(&folder.join("patched"))["points"].bytes, floats(4, 16));
}

#[test]
fn partitions_of_a_session_have_sweeps_of_any_length() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sweeps(folder);
    tetrys(folder, "session begin t two.csv --npy points=sweep --drop sweep --out ticket").ok();
    for (number, file) in ["two", "more"].iter().enumerate() {
        tetrys(
            folder,
            &format!("session write-partition t ticket {number} {file}.csv --npy points=sweep --drop sweep --out {number}"),
        )
        .ok();
    }
    tetrys(folder, "session commit t ticket --partitions 2 0 1").ok();
    assert_eq!(points(folder, "t", 3), floats(4, 16));
    // The first file has sweeps of one length: the type says that others may be longer.
    csv(folder, "one.csv", &["sweeps/3.npy"]);
    for (table, ty, code) in [("narrow", "f32[3,4]", 1), ("wide", "f32[?,4]", 0)] {
        tetrys(
            folder,
            &format!("session begin {table} one.csv --npy points=sweep --type points={ty} --drop sweep --out {table}.ticket"),
        )
        .ok();
        let write =
            format!("session write-partition {table} {table}.ticket 0 two.csv --npy points=sweep --drop sweep --out {table}.0");
        let ran = tetrys(folder, &write);
        assert_eq!(ran.code, code, "{}", ran.err);
        assert!(
            code == 0 || ran.err.contains("row 0: npy `points`, file sweeps/1.npy: expected f32[3,4], found f32[1,4]"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_missing_sweep_is_an_error_or_a_null() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sweeps(folder);
    csv(folder, "frame.csv", &["sweeps/2.npy", "sweeps/lost.npy", "", "sweeps/2.npy"]);
    let message = tetrys(folder, "ingest csv frame.csv t --npy points=sweep --drop sweep -q").fails(1);
    assert!(message.contains("row 1: npy `points`, file sweeps/lost.npy: not in "), "{message}");
    let ran = tetrys(folder, "ingest csv frame.csv t --npy points=sweep --drop sweep --missing null");
    assert_eq!((ran.code, ran.err.as_str()), (0, "note: 1 file of `points` missing, stored as null\n"), "{}", ran.out);
    assert_eq!(type_of(folder, "t", "points"), "f32[2,4]", "nulls have any shape");
    for row in [1, 2] {
        let row = tetrys(folder, &format!("get t {row} --columns points --json")).json();
        assert_eq!(row["rows"][0]["values"]["points"], json!(null));
    }
    assert_eq!(points(folder, "t", 3), floats(2, 8));
}

#[test]
fn wrong_arrays_are_named_before_any_row_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sweeps(folder);
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    for name in ["1.npy", "2.npy"] {
        fs::copy(folder.join("sweeps").join(name), data.join(name)).unwrap();
    }
    let whole = sweep(2);
    let mut cases: Vec<(&str, Option<Vec<u8>>, &str)> = vec![
        ("wide.npy", Some(npy("'<f8'", false, "(1, 4)", &[0; 32])), "expected f32[?,?], as in the rows before, found f64[1,4]"),
        ("flat.npy", Some(npy("'<f4'", false, "(4,)", &[0; 16])), "expected f32[?,?], as in the rows before, found f32[4]"),
        ("objects.npy", Some(npy("'|O'", false, "(1, 4)", b"pickle")), "an array of Python objects, which is a pickle"),
        ("records.npy", Some(npy("[('x', '<f4')]", false, "(1,)", &[0; 4])), "an array of records: expected one element type"),
        ("complex.npy", Some(npy("'<c8'", false, "(1, 4)", &[0; 32])), "found elements of numpy's kind `c` with 8 bytes"),
        ("times.npy", Some(npy("'<M8[ns]'", false, "(4,)", &[0; 32])), "found elements of numpy's kind `M` with 8 bytes"),
        ("texts.npy", Some(npy("'<U1'", false, "(4,)", &[0; 16])), "found elements of numpy's kind `U` with 4 bytes"),
        ("huge.npy", Some(npy("'<f4'", false, "(1000000000, 4)", &[])), "expected at most 1073741824 bytes"),
        ("long.npy", Some(npy("'<f4'", false, "(0, 3000000000)", &[])), "expected extents below 2^31, found [0, 3000000000]"),
        ("cut.npy", Some(whole[..whole.len() - 1].to_vec()), "expected 32 bytes of elements, found 31"),
        ("twice.npy", Some([&whole[..], &whole].concat()), "expected 32 bytes of elements, found "),
        ("head.npy", Some(whole[..40].to_vec()), "not a .npy file: its header is cut"),
        ("nothing.npy", Some(Vec::new()), "not a .npy file: expected its magic bytes at the start, found ``"),
        (
            "archive.npz",
            Some(b"PK\x03\x04 and so on".to_vec()),
            "expected its magic bytes at the start, found `PK\\x03\\x04 and`",
        ),
        ("lost.npy", None, "not in "),
        ("../sweeps/1.npy", None, "outside of "),
        ("folder.npy", None, "expected a regular file, found a folder, a pipe or a device"),
    ];
    fs::create_dir(data.join("folder.npy")).unwrap();
    #[cfg(unix)]
    {
        assert!(Command::new("mkfifo").arg(data.join("pipe.npy")).status().unwrap().success());
        cases.push(("pipe.npy", None, "expected a regular file, found a folder, a pipe or a device"));
        std::os::unix::fs::symlink(folder.join("sweeps/1.npy"), data.join("link.npy")).unwrap();
        cases.push(("link.npy", None, "a link leads to "));
    }
    for (file, content, says) in &cases {
        if let Some(content) = content {
            fs::write(data.join(file), content).unwrap();
        }
        csv(&data, "frame.csv", &["1.npy", "2.npy", file]);
        let message = tetrys(folder, "ingest csv data/frame.csv new --npy points=sweep").fails(1);
        assert!(message.contains(&format!("row 2: npy `points`, file {file}: ")) && message.contains(says), "{file}: {message}");
        assert!(tetrys(folder, "info new").fails(1).contains("no table there"), "{file}");
    }
    csv(&data, "none.csv", &["", ""]);
    for (arguments, code, says) in [
        ("data/frame.csv new --npy points", 2, "expected COLUMN=PATHS"),
        ("data/frame.csv new --npy points=swep", 1, "npy: no column matches `swep`; nearest: `sweep`"),
        ("data/frame.csv new --npy points=id", 1, "npy `points`: expected the name of a column of paths, found `id`"),
        ("data/frame.csv new --npy id=sweep", 1, "npy `id`: the frame has a column of that name"),
        (
            "data/frame.csv new --npy points=sweep --type points=f32",
            1,
            "npy `points`: expected a tensor of a type that .npy files have",
        ),
        ("data/frame.csv new --npy points=sweep --type points=f64[?,4]", 1, "expected f64[?,4], found f32[1,4]"),
        ("data/none.csv new --npy points=sweep", 1, "npy `points`: expected at least one file"),
        ("data/frame.csv new --npy points=sweep --max-blob 100", 1, "expected at most 100 (max_blob)"),
    ] {
        let ran = tetrys(folder, &format!("ingest csv {arguments}"));
        assert_eq!(ran.code, code, "{arguments}: {}", ran.err);
        assert!(ran.err.contains(says), "{arguments}: {}", ran.err);
        assert!(tetrys(folder, "info new").fails(1).contains("no table there"), "{arguments}");
    }
}
