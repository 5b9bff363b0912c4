//! Crashes during a multipart upload: an index segment over 8 MiB fails at every operation. The table is absent or complete, a
//! partial upload is never taken for the whole object, and the same work succeeds when it is repeated.

use crate::common;
use std::sync::Arc;

use crate::common::tables::{self, Rng, block_on, memory, over};
use arrow_array::{Array, LargeStringArray, RecordBatch};
use object_store::memory::InMemory;
use tetrys::{
    ErrorKind, Schema, Store, Table, WriteOptions,
    store::{Fault, Faults, FaultyStore},
};

fn schema() -> Schema {
    Schema::builder().index("text", "utf8").build().unwrap()
}

/// Returns rows of text that does not compress below 8 MiB: seven random bits in each byte.
fn rows(seed: u64) -> RecordBatch {
    let mut rng = Rng(seed);
    let texts: Vec<String> = (0..255)
        .map(|_| {
            let words = std::iter::repeat_with(|| (rng.next() & 0x7f7f_7f7f_7f7f_7f7f).to_le_bytes());
            String::from_utf8(words.take(5_000).collect::<Vec<_>>().concat()).unwrap()
        })
        .collect();
    RecordBatch::try_from_iter([("text", Arc::new(LargeStringArray::from_iter_values(texts)) as Arc<dyn Array>)]).unwrap()
}

async fn work(store: Store, rows: &RecordBatch) -> tetrys::Result<Table> {
    tables::write(store, schema(), WriteOptions::default(), std::slice::from_ref(rows)).await
}

/// Whether the table exists. Asserts that an existing table has all its rows.
async fn is_complete(store: &Store, rows: &RecordBatch) -> bool {
    match Table::open_in(store.clone()).await {
        Ok(table) => {
            let read: Vec<_> = table.index_batches().await.unwrap().collect::<Result<_, _>>().unwrap();
            assert!(read.len() == 1 && read[0].column(0) == rows.column(0), "other rows");
            true
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
            false
        }
    }
}

#[test]
fn an_upload_in_parts_that_fails_anywhere_leaves_the_table_absent_or_complete() {
    let seed = common::seed();
    let (rows, mut rng) = (rows(seed), Rng(seed));
    let sound = FaultyStore::new(InMemory::new());
    block_on(work(over(Arc::new(sound.clone())), &rows)).unwrap();
    let operations = sound.log();
    let parts = operations.iter().filter(|operation| operation.starts_with("part index/")).count();
    assert!(parts > 1, "{operations:?}");
    let claim = operations.iter().position(|operation| operation.starts_with("put manifests/")).unwrap();
    let mut points = 0;
    for (number, operation) in operations.iter().enumerate().filter(|(_, operation)| operation.contains(" index/")) {
        // A full run tests each kind of fault; otherwise a random one.
        let drawn = *rng.pick(&Fault::ALL);
        for fault in Fault::ALL.into_iter().filter(|fault| common::full() || *fault == drawn) {
            let (raw, store) = memory();
            let faulty = FaultyStore::new(raw);
            faulty.arm(Faults::none().at(number as u64, fault).then_crash());
            block_on(async {
                assert!(number < claim && work(over(Arc::new(faulty.clone())), &rows).await.is_err());
                assert!(faulty.crashed());
                assert!(!is_complete(&store, &rows).await, "{operation}, {fault:?}");
                work(store.clone(), &rows).await.unwrap_or_else(|error| panic!("{operation}, {fault:?}: {error}"));
                assert!(is_complete(&store, &rows).await);
            });
            points += 1;
        }
    }
    println!("{points} crash points of an upload in {parts} parts");
}
