//! Small public items that say something of a table: its segments, the parts of its URL, and the bytes of a receipt.

#![allow(clippy::single_range_in_vec_init, reason = "one range of rows is meant")]

use std::ops::Range;

use crate::common::{
    self,
    tables::{Rng, Taste, block_on, cut_by, memory, rows_of, sensors, tiny_cuts, two_partitions, write},
};
use tetrys::{Receipt, Schema, Table, TableUrl, WriteOptions, table::GroupBytes};

#[test]
fn segments_have_all_rows_in_order_and_add_up_to_the_column_groups() {
    let (schema, partitions) = two_partitions(common::seed());
    block_on(async {
        let table = write(memory().1, schema, cut_by(tiny_cuts()).segment_rows(1), &partitions).await.unwrap();
        let more = rows_of(table.schema(), &mut Rng(7), &[("f", 6)], Taste::NOISE);
        let writer = table.append(cut_by(tiny_cuts())).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&more).await.unwrap();
        let longer = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let rows = |table: &Table| table.storage().segments().map(|segment| segment.rows).collect::<Vec<Range<u64>>>();
        assert_eq!(rows(&table), [0..12, 12..20]);
        assert_eq!(rows(&longer), [0..12, 12..20, 20..26]);
        assert_eq!(rows(&longer.storage().compact(1_000).await.unwrap()), [0..26]);
        for table in [&table, &longer] {
            let segments = table.storage().segments();
            assert_eq!((segments.len(), table.schema().groups().len()), (table.storage().segment_count(), 3));
            let segments: Vec<_> = segments.collect();
            for group in 0..3 {
                let of_group = || segments.iter().map(move |segment| segment.groups[group]);
                assert_eq!(of_group().map(|group| group.stored).sum::<u64>(), table.storage().group_bytes(group).stored);
                let layout = table.storage().layout(group).await.unwrap();
                let runs = layout.chunk_runs();
                assert_eq!(of_group().map(|group| group.runs).sum::<u64>(), runs.len() as u64);
                assert_eq!(of_group().map(|group| group.blocks).sum::<u64>(), runs.map(|run| run.blocks() as u64).sum::<u64>());
                assert!(of_group().all(|group| group.layout > 0));
            }
            // There is no such group.
            for group in [3, usize::MAX] {
                assert_eq!(table.storage().group_bytes(group), GroupBytes::default());
            }
        }
        let none = write(memory().1, sensors(), WriteOptions::default(), &[]).await.unwrap();
        assert_eq!((none.storage().segments().len(), none.rows()), (0, 0));
    });
}

#[test]
fn a_receipt_counts_the_bytes_that_were_stored_for_it() {
    let (schema, partitions) = two_partitions(common::seed());
    block_on(async {
        let writer = Table::create_in(memory().1, schema.clone(), cut_by(tiny_cuts())).await.unwrap();
        let mut receipts = Vec::new();
        for rows in &partitions {
            let mut partition = writer.partition().unwrap();
            partition.write(rows).await.unwrap();
            receipts.push(partition.finish().await.unwrap());
        }
        // A partition without rows stores nothing.
        receipts.push(writer.partition().unwrap().finish().await.unwrap());
        let bytes: Vec<u64> = receipts.iter().map(Receipt::new_bytes).collect();
        assert!(bytes[0] > 0 && bytes[1] > 0 && bytes[2] == 0, "{bytes:?}");
        let table = writer.commit(receipts).await.unwrap();
        let stored: u64 = (0..table.schema().groups().len()).map(|group| table.storage().group_bytes(group).stored).sum();
        assert_eq!(bytes.iter().sum::<u64>(), stored);
        // The same rows again: most blocks are there already.
        let writer = table.overwrite(schema, cut_by(tiny_cuts())).await.unwrap();
        let mut partition = writer.partition_at(0).unwrap();
        partition.write(&partitions[0]).await.unwrap();
        let receipt = partition.finish().await.unwrap();
        assert_eq!(receipt.new_bytes() + receipt.sharing.bytes, bytes[0]);
        assert!(receipt.new_bytes() < bytes[0], "{receipt:?}");
        // A receipt that claims to share more than it has.
        let mut claims = serde_json::to_value(&receipt).unwrap();
        claims["sharing"]["bytes"] = u64::MAX.into();
        assert_eq!(serde_json::from_value::<Receipt>(claims).unwrap().new_bytes(), 0);
    });
}

#[test]
fn any_text_is_a_table_url_whose_parts_make_it_again() {
    let mut rng = Rng(common::seed());
    for _ in 0..common::cases(2_000) {
        let text: String =
            (0..rng.below(12)).map(|_| *rng.pick(&["@", "7", "0", "a", ".", "/", "..", "s3://", " ", "ö", "-", "+"])).collect();
        let url = TableUrl::new(&text);
        match url.name() {
            Some(name) => assert_eq!(format!("{}@{name}", url.root()), text),
            None => assert_eq!(url.root(), text),
        }
        let parts = usize::from(url.version().is_some()) + usize::from(url.tag().is_some());
        assert_eq!(parts, usize::from(url.name().is_some()), "{text}");
        assert!(
            url.name().is_none_or(|name| !name.contains(['@', '/', ' '])) && (url.name().is_none() || !url.root().is_empty()),
            "{text}"
        );
    }
}

#[test]
fn a_table_url_names_the_version_that_it_opens() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("drives").display().to_string();
    block_on(async {
        let schema = Schema::builder().index("id", "i64").build().unwrap();
        let table = Table::create(&root, schema, WriteOptions::default()).await.unwrap().commit([]).await.unwrap();
        table.edit().set_property("license", "CC0").tag("gold", 1).commit().await.unwrap();
        for (name, version) in [("@1", Some(1)), ("@2", Some(2)), ("@0002", Some(2)), ("@gold", None), ("", None)] {
            let text = format!("{root}{name}");
            let url = TableUrl::new(&text);
            assert_eq!((url.root(), url.version()), (root.as_str(), version), "{text}");
            let opened = Table::open(&text).await.unwrap();
            assert_eq!(opened.version(), url.version().unwrap_or(if url.tag() == Some("gold") { 1 } else { 2 }), "{text}");
        }
        for name in ["@3", "@0", "@silver", "@18446744073709551616", "@", "@@1"] {
            assert!(Table::open(&format!("{root}{name}")).await.is_err(), "{name}");
        }
    });
}
