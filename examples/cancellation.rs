//! Drops the future of an append wherever it waits, as a timeout does. Finds out whether it was committed, and repeats it if not: the rows are
//! there once.

use std::{future::Future, sync::Arc, task::Poll};

use arrow_array::{Int64Array, RecordBatch};
use tetrys::{Result, Schema, Table, TableWriter, WriteOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let schema = Schema::builder().index("id", "i64").group("square", [("square", "i64")]).build()?;
    let (mut made, mut not_made) = (0, 0);
    for waits in 0..200 {
        let url = folder.path().join(format!("squares-{waits}")).display().to_string();
        let writer = Table::create(&url, schema.clone(), WriteOptions::default()).await?;
        filled(&writer, 0).await?;
        let table = writer.commit(writer.receipts().await?).await?;

        let append = Box::pin(appended(&table));
        let is_done = dropped_after(waits, append).await;

        // As another process does after this one has died. A request of the commit may still be under way: an edit takes the number that it
        // asks for. What the table says after that is final.
        let table = Table::open(&url).await?.edit().set_property("looked", waits).commit().await?;
        let is_made = table.properties().contains_key("last_job");
        assert!(is_made || !is_done);
        let table = match is_made {
            true => table,
            false => appended(&table).await?,
        };
        assert_eq!((table.rows(), table.version()), (20, 3));
        (made, not_made) = (made + usize::from(is_made), not_made + usize::from(!is_made));
        if is_done {
            println!("{made} appends were committed all the same, {not_made} were repeated, and all rows are there once");
            return Ok(());
        }
    }
    panic!("an append that waits more than 200 times");
}

/// Appends ten rows. The property tells this version from those of others.
async fn appended(table: &Table) -> Result<Table> {
    let writer = table.append(WriteOptions::default()).await?;
    writer.set_property("last_job", 7);
    filled(&writer, 10).await?;
    writer.commit(writer.receipts().await?).await
}

/// Writes ten rows.
async fn filled(writer: &TableWriter, from: i64) -> Result<()> {
    let column = |value: fn(i64) -> i64| Arc::new(Int64Array::from_iter_values((from..from + 10).map(value))) as _;
    let rows = RecordBatch::try_from_iter([("id", column(|id| id)), ("square", column(|id| id * id))]);
    let mut partition = writer.partition()?;
    partition.write(&rows.map_err(|error| tetrys::Error::invalid(error.to_string()))?).await?;
    partition.finish().await.map(drop)
}

/// Polls a future until it has waited so many times, and drops it then. Returns whether it was done before.
async fn dropped_after<T>(waits: usize, mut work: std::pin::Pin<Box<impl Future<Output = Result<T>>>>) -> bool {
    let mut left = waits;
    std::future::poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => {
            assert!(done.is_ok());
            Poll::Ready(true)
        }
        Poll::Pending if left == 0 => Poll::Ready(false),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}
