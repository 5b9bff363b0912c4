//! The changes that the tests of faulty stores make, and the tables that they begin with.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use tetrys::{
    Result, Table, TableWriter,
    table::{GcSettings, now_ms},
};
use tetrys_s3_server::{Protocol, Server};

use crate::common::{
    s3,
    tables::{self, Rng, Taste, block_on, cut_by, joined, of_group, rows_of, sensors, tiny_cuts, two_partitions},
};

/// Objects of the bucket, by name.
pub(crate) type Bucket = BTreeMap<String, Bytes>;

fn content(server: &Server) -> Bucket {
    server.names("data").into_iter().filter_map(|name| Some((name.clone(), server.get("data", &name)?))).collect()
}

/// Returns rows of logs that the partitions do not have.
fn more() -> RecordBatch {
    rows_of(&sensors(), &mut Rng(8), &[("f", 4), ("g", 3)], Taste::SMALL)
}

fn rows() -> RecordBatch {
    joined(&[two_partitions(7).1, vec![more()]].concat())
}

async fn filled(writer: TableWriter, batches: &[RecordBatch]) -> Result<Table> {
    let mut receipts = Vec::new();
    for batch in batches {
        let mut partition = writer.partition()?;
        partition.write(batch).await?;
        receipts.push(partition.finish().await?);
    }
    writer.commit(receipts).await
}

/// The changes, by name.
pub(crate) const CHANGES: &[&str] = &[
    "create",
    "append",
    "overwrite",
    "attach",
    "plan",
    "refer",
    "patch",
    "delete",
    "add group",
    "replace group",
    "edit",
    "tag",
    "compact",
    "materialize",
    "collect garbage",
    #[cfg(feature = "frame")]
    "save a view",
    #[cfg(feature = "frame")]
    "save a merge",
    #[cfg(feature = "frame")]
    "save splits",
];

/// Makes one change to the tables `t` and `other`, and returns what it made.
pub(crate) async fn change(server: &Server, what: &str) -> Result<Vec<Table>> {
    let options = || cut_by(tiny_cuts());
    let (schema, partitions) = two_partitions(7);
    let url = |name: &str| server.url("data", name);
    let stores = s3::options(server);
    let table = Table::open_with(&url("t"), &stores).await?;
    let made = match what {
        "create" => tables::write(s3::store(server, "new"), schema, options(), &partitions).await?,
        "append" => {
            let more = rows_of(&schema, &mut Rng(9), &[("h", 5)], Taste::NOISE);
            filled(table.append(options()).await?, &[more]).await?
        }
        "overwrite" => filled(table.overwrite(schema, options()).await?, &partitions[..1]).await?,
        "attach" => {
            let writer = Table::create_in(s3::store(server, "new"), schema, options()).await?;
            writer.attach("README", "about the sensors").await?;
            filled(writer, &partitions).await?
        }
        "plan" => {
            let writer = Table::create_in(s3::store(server, "new"), schema, options()).await?;
            let plan = writer.plan(Some(2), Vec::new()).await?;
            for (number, rows) in (0..).zip(&partitions) {
                let worker = TableWriter::join(s3::store(server, "new"), plan.ticket())?;
                let mut partition = worker.partition_at(number)?;
                partition.write(rows).await?;
                partition.finish().await?;
            }
            plan.commit(&s3::store(server, "new"), None).await?
        }
        "refer" => {
            let other = Table::open_with(&url("other"), &stores).await?;
            let writer = Table::create_in(s3::store(server, "new"), schema, options()).await?.references([&other]).await?;
            filled(writer, &partitions).await?
        }
        "patch" => {
            let patch = rows().slice(3, 2);
            let places: Vec<usize> =
                ["log", "time", "labels.count"].iter().map(|name| patch.schema().index_of(name).unwrap()).collect();
            let patch = patch.project(&places).unwrap();
            table.patch(&["log", "time"], &patch, options()).await?
        }
        "delete" => table.delete([0, 5], options()).await?,
        "add group" => {
            let mut writer = table.add_group("more", [("more", "i64")], options()).await?;
            let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..table.rows() as i64));
            writer.write(&RecordBatch::try_from_iter([("more", values)]).unwrap()).await?;
            writer.commit().await?
        }
        "replace group" => {
            let mut writer = table.replace_group("labels", options()).await?;
            writer.write(&of_group(&rows(), "labels")).await?;
            writer.commit().await?
        }
        "edit" => table.edit().set_property("note", "reset").drop_columns(&["labels.note"]).commit().await?,
        "tag" => table.edit().tag("gold", 1).commit().await?,
        "compact" => table.storage().compact(1 << 20).await?,
        "materialize" => Table::open_with(&url("borrowed"), &stores).await?.storage().materialize(|_, _| {}).await?,
        "collect garbage" => {
            let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
            for turn in 1..4 {
                table.storage().collect_garbage(settings, now_ms() + turn * 86_400_000 * 30).await?;
            }
            Table::open_with(&url("t"), &stores).await?
        }
        _ => return views(server, &table, what).await,
    };
    Ok(vec![made])
}

#[cfg(feature = "frame")]
async fn views(server: &Server, table: &Table, what: &str) -> Result<Vec<Table>> {
    let (stores, url) = (s3::options(server), |name: &str| server.url("data", name));
    let target = |name: &str| tetrys::ViewTarget::New(url(name), stores.clone());
    let (other, options) = (Table::open_with(&url("other"), &stores).await?, tetrys::ViewOptions::default());
    let (left, right) = (table.index().await?, other.index().await?);
    let merge = tetrys::Merge::on(["log", "time"]);
    Ok(match what {
        "save a view" => vec![left.sql("SELECT * FROM t WHERE time > 1100")?.save(target("new")).await?.table],
        "save a merge" => vec![table.merge(&other, merge).save(target("new"), &options).await?.table],
        _ => {
            let merged = left.merge(&right, &merge)?.save(target("new")).await?.table;
            let splits = table.split(["log"], [("train", 0.5), ("test", 0.5)]).save(target("splits"), &options).await?;
            [merged].into_iter().chain(splits.into_iter().map(|(_, view)| view.table)).collect()
        }
    })
}

#[cfg(not(feature = "frame"))]
async fn views(_: &Server, _: &Table, _: &str) -> Result<Vec<Table>> {
    Ok(Vec::new())
}

/// Makes the tables that the changes begin with.
pub(crate) fn before() -> Bucket {
    let server = s3::server();
    let (schema, partitions) = two_partitions(7);
    block_on(async {
        let options = || cut_by(tiny_cuts());
        let table = tables::write(s3::store(&server, "t"), schema.clone(), options(), &partitions).await.unwrap();
        let table = filled(table.append(options()).await.unwrap(), &[more()]).await.unwrap();
        let mut replacer = table.replace_group("camera", options()).await.unwrap();
        replacer.write(&of_group(&rows(), "camera")).await.unwrap();
        let table = replacer.commit().await.unwrap();
        table.edit().set_property("turn", 3).commit().await.unwrap();
        let other = tables::write(s3::store(&server, "other"), schema.clone(), options(), &partitions).await.unwrap();
        let borrowing = Table::create_in(s3::store(&server, "borrowed"), schema, options()).await.unwrap();
        filled(borrowing.references([&other]).await.unwrap(), &partitions).await.unwrap();
    });
    content(&server)
}

/// Starts a server of a protocol with these objects.
pub(crate) fn serving(protocol: Protocol, bucket: &Bucket) -> Server {
    let server = s3::server_of(protocol);
    bucket.iter().for_each(|(name, bytes)| server.put("data", name, bytes.clone()));
    server
}
