//! Hostile segments: every column of a layout gets extreme values; runs overlap and go backwards; indexes have wrong sequences;
//! Parquet files expand.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, Int64Array, LargeBinaryArray, LargeStringArray};
use bytes::Bytes;
use serde_json::json;
use tetrys::{
    IndexTails, Preset, Table,
    format::{IndexTail, PackedLengths},
    id::Hash,
    schema::BLOOM_FILTER,
};
use twox_hash::XxHash3_64;

use super::{
    EDGES, Seen, Tally, Turns, alone, common,
    common::tables::{Rng, Taste, block_on, cut_by, memory, overwrite, rows_of, tiny_cuts},
    edges,
    forge::{LayoutRow, columns_of, parquet_of, write_layout},
    schema, sound, sound_of,
};

#[test]
fn every_column_of_a_layout_at_every_edge_harms_nobody() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let (mut tally, mut turns) = (Tally::default(), Turns::new(4));
    for group in 0..3 {
        let rows = sound.forged.layout(group);
        let mut look = |what: String, rows: &[LayoutRow]| {
            if !turns.take() {
                return;
            }
            let mut forged = sound.forged.clone();
            forged.set_layout(group, rows);
            tally.add(&sound.look(&format!("layout of group {group}: {what}"), &forged.sealed()));
        };
        for run in [0, rows.len() - 1] {
            type Set = fn(&mut LayoutRow, u64);
            let fields: [(&str, usize, Set); 7] = [
                ("owner", 4, |row, value| row.owner = value as u32),
                ("chunk_bytes", 8, |row, value| row.chunk_bytes = value),
                ("seed", 8, |row, value| row.seed = value),
                ("first_block", 4, |row, value| row.first_block = value as u32),
                ("blocks", 4, |row, value| row.blocks = value as u32),
                ("first_offset", 8, |row, value| row.first_offset = value),
                ("rows", 8, |row, value| row.rows = value),
            ];
            for (name, width, set) in fields {
                for value in edges(width) {
                    let mut changed = rows.clone();
                    set(&mut changed[run], value);
                    look(format!("{name} of run {run} = {value}"), &changed);
                }
            }
            for (name, node) in [
                ("lengths", (|row| &mut row.lengths) as fn(&mut LayoutRow) -> &mut Vec<u8>),
                ("block_rows", |row| &mut row.block_rows),
                ("page_lengths", |row| &mut row.page_lengths),
            ] {
                // The page lengths of a run begin with the number of a page. A group of one column has no page lengths.
                let at = if name == "page_lengths" { 2 } else { 0 };
                let len = node(&mut rows.clone()[run]).len();
                assert!(len > at || (at > 0 && group == 1), "{name} of {len} bytes");
                if len <= at {
                    continue;
                }
                for value in edges(2) {
                    let mut changed = rows.clone();
                    node(&mut changed[run])[..2].copy_from_slice(&(value as u16).to_le_bytes());
                    look(format!("first bytes of {name} of run {run} = {value}"), &changed);
                }
                for value in edges(4) {
                    let mut changed = rows.clone();
                    node(&mut changed[run])[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
                    look(format!("base of {name} of run {run} = {value}"), &changed);
                }
                for width in [0, 1, 7, 8, 31, 32, 33, 64, 255] {
                    let mut changed = rows.clone();
                    node(&mut changed[run])[at + 4] = width;
                    look(format!("width of {name} of run {run} = {width}"), &changed);
                }
                for len in 0..node(&mut rows.clone()[run]).len() {
                    let mut changed = rows.clone();
                    node(&mut changed[run]).truncate(len);
                    look(format!("{name} of run {run} cut to {len}"), &changed);
                }
                let mut changed = rows.clone();
                node(&mut changed[run]).push(0);
                look(format!("{name} of run {run} with a byte more"), &changed);
            }
            for at in 0..rows[run].chains.len() {
                for value in [0, 1, 2, 3, 4, 5, 6, 7, 9, 64, 127, 128, 192, 255] {
                    let mut changed = rows.clone();
                    changed[run].chains[at] = value;
                    look(format!("byte {at} of the chains of run {run} = {value}"), &changed);
                }
            }
        }
    }
    println!("layouts: {tally:?}");
    assert!(tally.refused > turns.of(1_000), "{tally:?}");
}

#[test]
fn runs_that_overlap_go_backwards_or_claim_very_many_blocks_harm_nobody() {
    let _alone = alone();
    let mut rng = Rng(common::seed());
    let written = rows_of(&schema(), &mut rng, &[("a", 25), ("b", 1), ("c", 34)], Taste::NOISE);
    let sound = sound_of(schema(), cut_by(tiny_cuts()), written);
    let rows = sound.forged.layout(1);
    assert!(rows.len() >= 2, "{} runs", rows.len());
    let node = |numbers: &[u32]| {
        let mut bytes = Vec::new();
        PackedLengths::write(numbers, &mut bytes);
        bytes
    };
    let look = |what: &str, rows: &[LayoutRow]| {
        let mut forged = sound.forged.clone();
        forged.set_layout(1, rows);
        sound.look(what, &forged.sealed())
    };
    let mut backwards = rows.clone();
    backwards.reverse();
    assert_ne!(look("runs in reverse", &backwards), Seen::Harmless);
    let mut twice = rows.clone();
    twice[1] = LayoutRow { rows: rows[1].rows, ..rows[0].clone() };
    look("the first run twice", &twice);
    assert!(matches!(look("a run more", &[&rows[..], &rows[..1]].concat()), Seen::Refused(..)));
    assert!(matches!(look("a run less", &rows[1..]), Seen::Refused(..)));
    assert!(matches!(look("no run", &[]), Seen::Refused(..)));
    // Two runs over the same bytes: blocks of one run lie within blocks of the other.
    let mut overlapping = rows.clone();
    overlapping[0].first_offset -= 8;
    assert!(matches!(look("a run that begins 8 bytes early", &overlapping), Seen::Refused(..)));

    let claim = |blocks: u32, rows_claimed: u64| {
        let mut claiming = rows.clone();
        claiming[0] = LayoutRow {
            blocks,
            rows: rows_claimed,
            lengths: node(&[1]),
            block_rows: node(&[1]),
            chunk_bytes: 1 << 30,
            first_offset: 0,
            ..rows[0].clone()
        };
        claiming
    };
    for blocks in [1 << 20, (1 << 27) - 1, u32::MAX] {
        assert!(matches!(look("one-row blocks without number", &claim(blocks, u64::from(blocks))), Seen::Refused(..)));
        assert!(matches!(look("blocks without rows", &claim(blocks, 60)), Seen::Refused(..)));
    }
    // The manifest claims as many rows, so that the reader asks the layout for all of them.
    let mut forged = sound.forged.clone();
    forged.set_layout(1, &claim(u32::MAX, u64::from(u32::MAX))[..1]);
    for path in ["/rows", "/segments/0/rows"] {
        *forged.manifest.pointer_mut(path).unwrap() = json!(4 << 20);
    }
    sound.refused("4 Mi rows in very many blocks", &forged.sealed());
    let mut forged = sound.forged.clone();
    forged.set_object("/groups/1/layout", write_layout(&vec![rows[0].clone(); 300_000]));
    sound.refused("300,000 runs for ten rows", &forged.sealed());
}

#[test]
fn an_index_whose_sequences_are_cut_wrong_or_missing_is_found() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let columns = columns_of(&sound.forged.object("/index"));
    let look = |what: &str, columns: Vec<(String, ArrayRef, bool)>, metadata: &[(&str, &str)]| {
        let mut forged = sound.forged.clone();
        forged.set_object("/index", parquet_of(columns, metadata));
        sound.look(what, &forged.sealed())
    };
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let runs = |runs: &[u32]| {
        let mut bytes = (runs.len() as u64).to_le_bytes().to_vec();
        PackedLengths::write(runs, &mut bytes);
        bytes
    };
    const KEY: &str = "tetrys.sequences";
    let right = runs(&[5, 1, 4]);
    let mut tally = Tally::default();
    assert_eq!(look("as it was", columns.clone(), &[(KEY, &hex(&right))]), Seen::Harmless);
    for (what, text) in [
        ("upper case", hex(&right).to_uppercase()),
        ("half a byte more", hex(&right) + "0"),
        ("a byte more", hex(&right) + "00"),
        ("no hexadecimal", "zz".repeat(right.len())),
        ("a plus", "+1".repeat(right.len())),
        ("not ASCII", "é".repeat(right.len())),
        ("empty", String::new()),
        ("10 MiB of zeros", "0".repeat(10 << 20)),
    ] {
        assert!(matches!(look(what, columns.clone(), &[(KEY, &text)]), Seen::Refused(..)), "{what}");
    }
    assert!(matches!(look("no metadata", columns.clone(), &[]), Seen::Refused(..)));
    for len in 0..right.len() {
        assert!(matches!(look("cut", columns.clone(), &[(KEY, &hex(&right[..len]))]), Seen::Refused(..)));
    }
    for count in EDGES {
        let text = hex(&[&count.to_le_bytes()[..], &right[8..]].concat());
        tally.add(&look(&format!("{count} runs"), columns.clone(), &[(KEY, &text)]));
    }
    for base in edges(4) {
        let text = hex(&[&right[..8], &(base as u32).to_le_bytes()[..], &right[12..]].concat());
        tally.add(&look(&format!("base {base}"), columns.clone(), &[(KEY, &text)]));
    }
    for width in (0..=255).filter(|width| common::full() || width % 5 == 0 || *width < 34) {
        let text = hex(&[&right[..12], &[width], &right[13..]].concat());
        tally.add(&look(&format!("width {width}"), columns.clone(), &[(KEY, &text)]));
    }
    assert!(tally.harmless <= 2, "{tally:?}");
    // The run lengths add up, but do not match the values. Only a comparison with the values shows that.
    for wrong in [&[4, 2, 4][..], &[5, 2, 3], &[1, 1, 8]] {
        let mut forged = sound.forged.clone();
        forged.set_object("/index", parquet_of(columns.clone(), &[(KEY, &hex(&runs(wrong)))]));
        let (raw, store) = memory();
        let verified = block_on(async {
            for (name, bytes) in forged.sealed() {
                overwrite(&*raw, &name, &bytes).await;
            }
            Table::open_in(store).await.unwrap().storage().verify(|_, _| {}).await.unwrap()
        });
        assert!(verified.damage.iter().any(|damage| damage.problem.contains("starts at row")), "{verified:?}");
    }

    // Parquet files with other columns or row counts.
    let metadata = [(KEY, hex(&right))];
    let metadata: Vec<(&str, &str)> = metadata.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let slice = |from: usize, len: usize| {
        columns.iter().map(|(name, array, nullable)| (name.clone(), array.slice(from, len), *nullable)).collect::<Vec<_>>()
    };
    for (what, columns) in [
        ("a row less", slice(0, 9)),
        ("no row", slice(0, 0)),
        ("a column less", columns[..2].to_vec()),
        ("a column more", [&columns[..], &[("more".to_owned(), columns[1].1.clone(), true)]].concat()),
        ("columns in another order", vec![columns[1].clone(), columns[0].clone(), columns[2].clone()]),
        ("another type", vec![columns[0].clone(), ("time".to_owned(), columns[0].1.clone(), true), columns[2].clone()]),
        (
            "no UTF-8",
            vec![
                ("log".to_owned(), Arc::new(LargeBinaryArray::from_iter_values(vec![b"\xff\xfe"; 10])) as ArrayRef, true),
                columns[1].clone(),
                columns[2].clone(),
            ],
        ),
    ] {
        assert!(matches!(look(what, columns, &metadata), Seen::Refused(..)), "{what}");
    }
    println!("sequences: {tally:?}");
}

#[test]
fn a_hostile_tail_harms_nobody() {
    let _alone = alone();
    let mut rng = Rng(common::seed());
    let written = rows_of(&schema(), &mut rng, &[("a", 5), ("b", 1), ("c", 4)], Taste { nulls: 3, ..Taste::SMALL });
    let sound = sound_of(schema(), cut_by(tiny_cuts()).index_tails(IndexTails::All), written);
    let index = sound.forged.object("/index");
    let len = sound.forged.manifest["segments"][0]["tail"]["bytes"].as_u64().unwrap() as usize;
    let (mut tally, mut turns) = (Tally::default(), Turns::new(9));
    let forged = |bytes: &[u8], len: usize| {
        let mut forged = sound.forged.clone();
        forged.set_object("/index", bytes.to_vec());
        let tail = &bytes[bytes.len() - len..];
        forged.manifest["segments"][0]["tail"] = json!({"blake3": Hash::of(tail).to_string(), "bytes": tail.len()});
        forged.sealed()
    };
    assert_eq!(sound.look("the same tail", &forged(&index, len)), Seen::Harmless);
    for at in index.len() - len..index.len() {
        for change in [0x01, 0x80, 0xff] {
            if turns.take() {
                let mut bytes = index.clone();
                bytes[at] ^= change;
                tally.add(&sound.look(&format!("byte {at} of the tail ^ {change:#x}"), &forged(&bytes, len)));
            }
        }
    }
    // The hash of a longer or a shorter tail is right, and the tail is none.
    for other in (1..index.len()).filter(|other| *other != len && (other % 37 == 0 || other.abs_diff(len) < 9)) {
        let seen = sound.look(&format!("a tail of {other} bytes"), &forged(&index, other));
        assert!(matches!(seen, Seen::Harmless | Seen::Reported), "{other}: {seen:?}");
    }
    for other in edges(8) {
        let mut forged = sound.forged.clone();
        forged.manifest["segments"][0]["tail"]["bytes"] = json!(other);
        tally.add(&sound.look(&format!("a tail of {other} bytes with another hash"), &forged.sealed()));
    }
    println!("tails: {tally:?}");
    assert!(tally.refused > turns.of(300) && tally.reported > 0, "{tally:?}");
}

#[test]
fn a_hostile_bloom_filter_harms_nobody() {
    let _alone = alone();
    let filtered =
        ["log", "time"].iter().try_fold(schema(), |schema, name| schema.with_property(name, BLOOM_FILTER, Some(true.into())));
    let filtered = filtered.unwrap();
    let written = rows_of(&filtered, &mut Rng(common::seed()), &[("a", 5), ("b", 1), ("c", 4)], Taste::SMALL);
    let sound = sound_of(filtered.clone(), cut_by(tiny_cuts()).index_tails(IndexTails::All), written);
    let index = sound.forged.object("/index");
    let len = sound.forged.manifest["segments"][0]["tail"]["bytes"].as_u64().unwrap() as usize;
    let tail = Bytes::copy_from_slice(&index[index.len() - len..]);
    let tail = IndexTail::parse(&tail, index.len() as u64, &filtered, 10).unwrap();
    let filters = tail.filters(&[0, 1, 2], std::slice::from_ref(&(0..10)));
    assert_eq!(filters.len(), 2);
    let (mut tally, mut turns) = (Tally::default(), Turns::new(3));
    for filter in filters {
        let here = filter.range().start as usize..filter.range().end as usize;
        let sum = |bytes: &[u8]| {
            format!("{:016x}", XxHash3_64::oneshot_with_seed(here.start as u64, &bytes[here.clone()]).swap_bytes())
        };
        for at in here.clone() {
            for change in [0x01, 0x80, 0xff] {
                if !turns.take() {
                    continue;
                }
                // The checksum of the changed filter is right, and so is the hash of the tail that has it.
                let mut bytes = index.clone();
                bytes[at] ^= change;
                let (old, new) = (sum(&index), sum(&bytes));
                let place = bytes.windows(old.len()).rposition(|window| window == old.as_bytes()).unwrap();
                bytes[place..place + new.len()].copy_from_slice(new.as_bytes());
                let mut forged = sound.forged.clone();
                forged.manifest["segments"][0]["tail"]["blake3"] = json!(Hash::of(&bytes[bytes.len() - len..]).to_string());
                forged.set_object("/index", bytes);
                let seen = sound.look(&format!("byte {at} of a bloom filter ^ {change:#x}"), &forged.sealed());
                assert!(matches!(seen, Seen::Harmless | Seen::Reported), "byte {at} ^ {change:#x}: {seen:?}");
                tally.add(&seen);
            }
        }
    }
    println!("bloom filters: {tally:?}");
    assert!(tally.reported > turns.of(20), "{tally:?}");
}

#[test]
fn parquet_that_unfolds_is_stopped() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let look = |what: &str, path: &str, bytes: Vec<u8>| {
        assert!(bytes.len() < 4 << 20, "{what}: {} bytes", bytes.len());
        let mut forged = sound.forged.clone();
        forged.set_object(path, bytes);
        sound.look(what, &forged.sealed())
    };
    let refused =
        |what: &str, path: &str, bytes: Vec<u8>| assert!(matches!(look(what, path, bytes), Seen::Refused(..)), "{what}");
    // Rows are read without hashes.
    let reported = |what: &str, path: &str, bytes: Vec<u8>| assert_eq!(look(what, path, bytes), Seen::Reported, "{what}");
    const MANY: usize = 4 << 20;
    let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0; MANY]));
    let text: ArrayRef = Arc::new(LargeStringArray::from(vec![""; MANY]));
    let weights: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![0.0; MANY]));
    let index = parquet_of(
        vec![("log".to_owned(), text, true), ("time".to_owned(), zeros, true), ("weight".to_owned(), weights, true)],
        &[],
    );
    refused("an index of 4 Mi rows for ten", "/index", index);
    let same: ArrayRef = Arc::new(FixedSizeBinaryArray::try_new(32, vec![7; 32 * (MANY >> 3)].into(), None).unwrap());
    reported("hashes of very many blocks", "/groups/0/hashes", parquet_of(vec![("hash".to_owned(), same, false)], &[]));
    let nothing: ArrayRef = Arc::new(FixedSizeBinaryArray::try_new(32, Vec::<u8>::new().into(), None).unwrap());
    reported("no hash", "/groups/0/hashes", parquet_of(vec![("hash".to_owned(), nothing, false)], &[]));
    // A long text in a dictionary, referenced once for each row.
    let long = "x".repeat(1 << 20);
    let times = |rows: usize| -> ArrayRef { Arc::new(Int64Array::from_iter_values(0..rows as i64)) };
    let index = |rows: usize| {
        let text: ArrayRef = Arc::new(LargeStringArray::from_iter_values(std::iter::repeat_n(&long, rows)));
        let weights: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![0.0; rows]));
        parquet_of(
            vec![("log".to_owned(), text, true), ("time".to_owned(), times(rows), true), ("weight".to_owned(), weights, true)],
            &[],
        )
    };
    refused("an index of long texts", "/index", index(10));
    // The pages claim the largest size that fits in a header of the same length.
    for (path, bytes) in [("/index", index(10)), ("/groups/0/layout", sound.forged.object("/groups/0/layout"))] {
        // Some of the matches are not page headers.
        let claims = with_page_claims(&bytes);
        let stopped = claims
            .into_iter()
            .filter(|(what, claiming)| matches!(look(&format!("{path}: {what}"), path, claiming.clone()), Seen::Refused(..)));
        assert!(stopped.count() > 0, "{path}");
    }
    // A dictionary repeats long values of a layout: each run has a megabyte of codec chains.
    let rows = sound.forged.layout(0);
    let heavy = LayoutRow { chains: [1, 2, 0].repeat(350_000), rows: 1, blocks: 1, ..rows[0].clone() };
    let mut forged = sound.forged.clone();
    forged.set_object("/groups/0/layout", write_layout(&vec![heavy; 10]));
    sound.refused("a megabyte of chains in each run", &forged.sealed());
    for bytes in [
        Vec::new(),
        b"PAR1".to_vec(),
        b"PAR1\0\0\0\0PAR1".to_vec(),
        b"PAR1\xff\xff\xff\x7fPAR1".to_vec(),
        b"PAR1\xff\xff\xff\xffPAR1".to_vec(),
        vec![0; 1 << 20],
    ] {
        for path in ["/index", "/groups/0/layout"] {
            refused("hardly any Parquet", path, bytes.clone());
        }
        reported("hardly any Parquet", "/groups/0/hashes", bytes);
    }
}

/// Returns copies of the file, each with one raised page size. Every varint at the place of a decompressed page size (after the
/// page type, at the start of a column) claims the largest value of the same length.
fn with_page_claims(parquet: &[u8]) -> Vec<(String, Vec<u8>)> {
    let starts = parquet.windows(3).enumerate().filter(|(_, head)| head[0] == 0x15 && head[1] <= 6 && head[2] == 0x15);
    starts
        .map(|(at, _)| {
            let mut claiming = parquet.to_vec();
            let mut byte = at + 3;
            while claiming[byte] & 0x80 != 0 && byte < at + 7 {
                claiming[byte] = 0xff;
                byte += 1;
            }
            claiming[byte] = 0x7e;
            (format!("page at {at}"), claiming)
        })
        .collect()
}
