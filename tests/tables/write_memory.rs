//! The memory of a partition writer stays within its bound, also where a row takes a large part of it.

use std::{path::Path, sync::Arc};

use arrow_array::{ArrayRef, FixedSizeListArray, Int64Array, RecordBatch, UInt8Array};
use arrow_schema::{DataType, Field};
use tetrys::{Schema, Table, WriteOptions, format::Cuts};

use super::own_process;
use crate::common::{
    self,
    tables::{Rng, block_on},
};

const MIB: usize = 1 << 20;
const ROW: usize = 4 * MIB;

/// A row of random bytes, which no codec makes shorter.
fn row(rng: &mut Rng, time: i64) -> RecordBatch {
    let bytes: Vec<u8> = (0..ROW / 8).flat_map(|_| rng.next().to_le_bytes()).collect();
    let item = Arc::new(Field::new("item", DataType::UInt8, true));
    let image = FixedSizeListArray::new(item, ROW as i32, Arc::new(UInt8Array::from(bytes)), None);
    let columns: [(&str, ArrayRef); 2] = [("time", Arc::new(Int64Array::from(vec![time]))), ("image", Arc::new(image))];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Writes two partitions, one after the other, in chunks of 32 MiB.
fn written(folder: &Path, write_memory: usize) {
    let schema = Schema::builder().index("time", "i64").group("camera", [("image", format!("u8[{ROW}]"))]).build().unwrap();
    let mib = MIB as u64;
    let cuts = Cuts { chunk_min: 16 * mib, chunk_target: 24 * mib, chunk_max: 32 * mib, ..Cuts::default() };
    let options = WriteOptions::default().cuts(cuts).write_memory(write_memory);
    let mut rng = Rng(common::seed());
    block_on(async {
        let writer = Table::create(folder.join("t").to_str().unwrap(), schema, options).await.unwrap();
        for partition in 0..2 {
            let mut open = writer.partition().unwrap();
            for number in 0..24 {
                open.write(&row(&mut rng, partition * 24 + number)).await.unwrap();
            }
            open.finish().await.unwrap();
        }
        let table = writer.commit(writer.receipts().await.unwrap()).await.unwrap();
        assert_eq!(table.rows(), 48);
    });
}

#[test]
fn a_writer_of_large_rows_stays_within_its_memory() {
    const CHILD: &str = "TETRYS_TEST_WRITE_MEMORY";
    if let Some((limit, folder)) = own_process::asked_limit(CHILD) {
        own_process::print_peak(|| written(&folder, limit as usize));
        return;
    }
    for (write_memory, least) in [(64, 0), (16, 64)] {
        let folder = tempfile::tempdir().unwrap();
        let test = "write_memory::a_writer_of_large_rows_stays_within_its_memory";
        let peak = own_process::peak(test, CHILD, (write_memory * MIB) as u64, folder.path()) as usize >> 20;
        // A quarter for the chunk that is put together, or one chunk twice. Then the batch, and a row while it is taken in.
        let bound = (write_memory * 5 / 4).max(least) + 3 * ROW / MIB + 4;
        assert!(peak < bound, "{peak} MiB, expected {bound} with a write_memory of {write_memory}");
    }
}
