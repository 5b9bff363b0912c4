//! Reading one field of a group with wide blocks costs only the bytes of that field. Columns can be stored in several groups.

use crate::common;
use std::sync::Arc;

use crate::common::tables::{Rng, Taste, assert_rows, block_on, cut_by, joined, memory, over, rows_of, tiny_cuts, write};
use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, StringArray, types::Int32Type,
};
use tetrys::{ErrorKind, Schema, Store, Table, WriteOptions, format::Manifest, store::CountingStore, table::Coalesce};

const IMAGE: usize = 80 << 10;

/// Returns 40 rows of an 80 KB image, 72 B of intrinsics and 64 B of extrinsics. The images differ slightly in size.
fn cameras() -> (Schema, RecordBatch) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("camera", [("jpeg", "binary"), ("intrinsics", "f64[3,3]"), ("extrinsics", "f32[4,4]")])
        .sequence_by(["log"])
        .build()
        .unwrap();
    let mut rng = Rng(3);
    let taste = Taste { nulls: 0, ..Taste::NOISE };
    let batch = rows_of(&schema, &mut rng, &[("a", 40)], taste);
    let images = (0..40).map(|_| rng.bytes(IMAGE)).collect::<Vec<_>>();
    let images: Vec<&[u8]> = images.iter().enumerate().map(|(row, image)| &image[row * 50..]).collect();
    let mut columns = batch.columns().to_vec();
    columns[2] = Arc::new(LargeBinaryArray::from_iter_values(images)) as ArrayRef;
    (schema, RecordBatch::try_new(batch.schema(), columns).unwrap())
}

/// Returns the stored bytes of the page of `column` in row 0, the least that reading the column must cost.
fn page_bytes(table: &Table, column: &str) -> u64 {
    let group = &table.schema().groups()[0];
    let page = group.columns.iter().position(|id| table.schema().column(*id).unwrap().name == column).unwrap();
    table.manifest().segments[0].groups[0].columns[page].stored / table.rows()
}

#[test]
fn one_field_of_a_wide_group_costs_its_own_bytes_for_rows_and_scans() {
    let (schema, written) = cameras();
    let (raw, store) = memory();
    block_on(async {
        write(store, schema, WriteOptions::default(), std::slice::from_ref(&written)).await.unwrap();
        let counting = CountingStore::new(raw);
        let table = Table::open_in(over(Arc::new(counting.clone()))).await.unwrap();
        let all: Vec<u64> = (0..40).collect();
        for column in ["jpeg", "intrinsics", "extrinsics"] {
            let loader = table.row_loader().columns([column]).unwrap().coalesce(Coalesce::LOCAL);
            loader.get_row(0).await.unwrap();
            for positions in [&all[7..8], &all[..]] {
                let cost = loader.explain_take(positions).await.unwrap();
                let before = counting.snapshot();
                let rows = loader.take(positions).await.unwrap();
                let after = counting.snapshot();
                assert_eq!(
                    (after.requests() - before.requests(), after.bytes_read - before.bytes_read),
                    (cost.requests as u64, cost.bytes)
                );
                let field = page_bytes(&table, column) * positions.len() as u64;
                assert!(cost.bytes * 10 <= field * 12, "{column}, {} rows: {} bytes for {field}", positions.len(), cost.bytes);
                assert_rows(&rows, &written, &positions.iter().copied().map(Some).collect::<Vec<_>>());
            }
            // In a window over an object store, one request for everything may cost less than ten small requests.
            let window = |coalesce| loader.clone().coalesce(coalesce);
            let local = window(Coalesce::LOCAL).explain(20, -9..=0).await.unwrap();
            let remote = window(Coalesce::REMOTE).explain(20, -9..=0).await.unwrap();
            assert_eq!((local.groups[0].blocks, local.payload_bytes), (10, remote.payload_bytes));
            assert_eq!((local.ranges, remote.ranges), (if column == "jpeg" { 1 } else { 10 }, 1), "{column}");
            println!(
                "{column}: page {} bytes, window {} bytes local, {} remote",
                page_bytes(&table, column),
                local.bytes,
                remote.bytes
            );
        }
        let whole = table.row_loader().explain(20, -9..=0).await.unwrap();
        assert_eq!((whole.ranges, whole.groups[0].columns.len()), (1, 3));
    });
}

#[test]
fn a_flipped_byte_of_a_page_read_alone_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (schema, written) = cameras();
    block_on(async {
        let store = Store::open(folder.path().to_str().unwrap()).unwrap();
        let table = write(store, schema, WriteOptions::default(), std::slice::from_ref(&written)).await.unwrap();
        let layout = table.storage().layout(0).await.unwrap();
        let run = &layout.runs()[0];
        let range = run.page_range(5, 1).unwrap();
        let path = folder.path().join(run.chunk.object_name());
        let bytes = std::fs::read(&path).unwrap();
        for byte in range.clone() {
            let mut flipped = bytes.clone();
            flipped[byte as usize] ^= 0x10;
            std::fs::write(&path, flipped).unwrap();
            let error = table.row_loader().columns(["intrinsics"]).unwrap().get_row(5).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert!(error.to_string().contains(&format!("at {}..{}", range.start, range.end)), "{error}");
        }
    });
}

#[test]
fn a_column_in_two_groups_is_read_from_the_cheaper_and_never_from_a_masked_copy() {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("wide", [("note", "utf8"), ("points", "f32[?,4]")])
        .group("narrow", [("note", "utf8")])
        .build()
        .unwrap();
    let written = rows_of(&schema, &mut Rng(9), &[("a", 30)], Taste::SMALL);
    block_on(async {
        let table = write(memory().1, schema, cut_by(tiny_cuts()), std::slice::from_ref(&written)).await.unwrap();
        let groups = |table: Table| async move {
            let cost = table.row_loader().columns(["note"]).unwrap().explain(3, 0..=0).await.unwrap();
            cost.groups.into_iter().map(|group| group.name).collect::<Vec<_>>()
        };
        assert_eq!(groups(table.clone()).await, ["narrow"]);
        let mut manifest = table.manifest().clone();
        let mut parts = manifest.schema.groups().to_vec();
        parts[1].masked = parts[1].columns.clone();
        let ids =
            |columns: &mut dyn Iterator<Item = &tetrys::schema::Column>| columns.map(|column| column.id).collect::<Vec<_>>();
        let schema = manifest.schema.clone();
        let again = |parts| Schema::from_parts(schema.columns().to_vec(), parts, ids(&mut schema.index()), vec![], vec![]);
        manifest.schema = again(parts.clone()).unwrap();
        (manifest.version, manifest.commit_id) = (2, uuid::Uuid::from_u128(1));
        manifest.parent = Some(tetrys::format::Parent { version: 1, blake3: table.manifest_hash() });
        let (bytes, _) = manifest.to_bytes().unwrap();
        table.store().put_new(&tetrys::format::manifest_name(2), bytes.clone().into()).await.unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains(r#""read_features":["masked-copies"]"#));
        assert_eq!(Manifest::parse(&bytes, 2).unwrap().0, manifest);
        let masked = Table::open_in(table.store().clone()).await.unwrap();
        assert_eq!((masked.version(), groups(masked.clone()).await), (2, vec!["wide".to_owned()]));
        let rows: Vec<_> = (0..30).map(Some).collect();
        assert_rows(&masked.row_loader().take(&(0..30).collect::<Vec<_>>()).await.unwrap(), &written, &rows);
        parts[0].masked = vec![parts[0].columns[0]];
        assert!(again(parts).unwrap_err().to_string().contains("nor in a group that has a valid copy"));
    });
}

#[test]
fn several_segments_are_one_table_and_a_sequence_may_span_them() {
    let schema = common::tables::sensors();
    let mut rng = Rng(4);
    let rows: Vec<RecordBatch> =
        [("a", 7), ("b", 5), ("c", 9)].map(|run| rows_of(&schema, &mut rng, &[run], Taste::SMALL)).into();
    let mut spanning = rows_of(&schema, &mut rng, &[("d", 10)], Taste::SMALL);
    let tail = spanning.slice(6, 4);
    spanning = spanning.slice(0, 6);
    let partitions = [&rows[..], &[spanning, tail]].concat();
    let options = cut_by(tiny_cuts()).segment_rows(12);
    block_on(async {
        let table = write(memory().1, schema, options, &partitions).await.unwrap();
        let segments = &table.manifest().segments;
        assert_eq!(segments.iter().map(|segment| segment.rows).collect::<Vec<_>>(), [12, 9, 10]);
        assert_eq!(table.manifest().sequences(), 4);
        let written = joined(&partitions);
        let all: Vec<u64> = (0..31).collect();
        assert_rows(&table.row_loader().take(&all).await.unwrap(), &written, &all.iter().copied().map(Some).collect::<Vec<_>>());
        let window = table.row_loader().get_rows(12, -2..=1).await.unwrap();
        assert_rows(&window, &written, &[None, None, Some(12), Some(13)]);
        assert!(table.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
    });
    let options = cut_by(tiny_cuts()).segment_rows(6);
    block_on(async {
        let table = write(memory().1, common::tables::sensors(), options, &partitions[3..]).await.unwrap();
        let segments = &table.manifest().segments;
        assert_eq!(segments.iter().map(|segment| (segment.rows, segment.continues)).collect::<Vec<_>>(), [(6, false), (4, true)]);
        assert_eq!(table.manifest().sequences(), 1);
        let window = table.row_loader().get_rows(6, -2..=0).await.unwrap();
        assert_rows(&window, &joined(&partitions[3..]), &[Some(4), Some(5), Some(6)]);
    });
}

#[test]
fn dictionaries_are_decoded_wherever_text_is_written() {
    let schema =
        Schema::builder().index("kind", "categorical").index("row", "i64").group("g", [("name", "utf8")]).build().unwrap();
    let texts = ["car", "bus", "car", "car", "bike"];
    let coded: DictionaryArray<Int32Type> = texts.into_iter().collect();
    let batch = |kind: ArrayRef, name: ArrayRef| {
        let rows = Arc::new(Int64Array::from_iter_values(0..5)) as ArrayRef;
        RecordBatch::try_from_iter([("kind", kind), ("row", rows), ("name", name)]).unwrap()
    };
    let plain: ArrayRef = Arc::new(LargeStringArray::from(texts.to_vec()));
    let short: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
    block_on(async {
        let mut stored = Vec::new();
        for (kind, name) in
            [(Arc::new(coded.clone()) as ArrayRef, Arc::new(coded) as ArrayRef), (plain.clone(), plain), (short.clone(), short)]
        {
            let table = write(memory().1, schema.clone(), WriteOptions::default(), &[batch(kind, name)]).await.unwrap();
            stored.push(table.manifest().segments.clone());
            assert_eq!(table.row_loader().get_row(4).await.unwrap().text("name").unwrap(), "bike");
        }
        assert!(stored[0] == stored[1] && stored[1] == stored[2]);
    });
}
