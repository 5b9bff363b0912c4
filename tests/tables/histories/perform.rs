//! Applies the changes of the model to a real table.

use arrow_array::RecordBatch;
use tetrys::{
    PartitionWriter, Receipt, Result, Schema, Store, Table, TableWriter, WriteOptions,
    write::{Locality, Reuse},
};

use super::{
    arrays::{batch_of, schema_of},
    model::{Change, Column, Row, State},
};
use crate::common::tables::{Rng, boxed, cut_by, tiny_cuts};

pub(crate) fn options(rng: &mut Rng) -> WriteOptions {
    let segment_rows = if rng.once_in(2) { 4 } else { 1 << 20 };
    cut_by(tiny_cuts()).segment_rows(segment_rows)
}

/// Writes rows in `parts` partitions.
pub(crate) async fn write(writer: &TableWriter, state: &State, rows: &[Row], parts: usize) -> Result<Vec<Receipt>> {
    let mut receipts = Vec::new();
    for rows in rows.chunks(rows.len().div_ceil(parts).max(1)) {
        let mut partition: PartitionWriter = writer.partition()?;
        partition.write(&batch_of(state.columns(), rows)).await?;
        receipts.push(partition.finish().await?);
    }
    Ok(receipts)
}

/// Creates a table with these rows, which may share blocks with other tables.
pub(crate) async fn create(store: Store, state: &State, references: &[&Table], rng: &mut Rng) -> Result<Table> {
    // Seven segments: one more append merges them.
    let (parts, options) = match rng.once_in(3) {
        true => (7, options(rng).segment_rows(1)),
        false => (2, options(rng)),
    };
    let writer = Table::create_in(store, schema_of(state), options).await?;
    let writer = writer.references(references.iter().copied()).await?;
    let receipts = write(&writer, state, &state.rows, parts).await?;
    writer.commit(receipts).await
}

/// Applies a change to `base`, whose rows are in `state`, and returns the new version; or `base` itself if there is nothing to
/// do.
pub(crate) async fn perform(base: &Table, change: &Change, state: &State, rng: &mut Rng) -> Result<Table> {
    let options = options(rng);
    let place = |row: &u64| state.rows.iter().position(|existing| existing.id == *row).unwrap() as u64;
    match change {
        Change::Append { rows, .. } => {
            let writer = boxed(|| base.append(options)).await?;
            let receipts = boxed(|| write(&writer, state, rows, 1 + rng.below(2) as usize)).await?;
            boxed(|| writer.commit(receipts)).await
        }
        // The rows are written as one partition, so no segment equals an existing one.
        Change::Overwrite { rows } => {
            let reuse = if rng.once_in(4) { Reuse::None } else { Reuse::default() };
            let schema: Schema = base.schema().clone();
            let writer = boxed(|| base.overwrite(schema, options.reuse(reuse))).await?;
            let receipts = boxed(|| write(&writer, state, rows, 1)).await?;
            boxed(|| writer.commit(receipts)).await
        }
        Change::Delete { rows } => boxed(|| base.delete(rows.iter().map(place), options)).await,
        Change::Patch { group, cells } => {
            let changed = state.after(change, state);
            let rows: Vec<Row> = changed.rows.into_iter().filter(|row| cells.contains_key(&row.id)).collect();
            let touched = |column: &&Column| cells.values().any(|cells| cells.contains_key(&column.id));
            let columns = state.group(group).unwrap().columns.iter().filter(touched);
            let batch = batch_of(state.index.iter().take(2).chain(columns), &rows);
            boxed(|| base.patch(&["log", "time"], &batch, options)).await
        }
        Change::Replace { group, .. } => {
            let changed = state.after(change, state);
            let writer = boxed(|| base.replace_group(group, options)).await?;
            boxed(|| replaced(writer, &state.index, &state.group(group).unwrap().columns, changed.rows, rng)).await
        }
        Change::AddGroup { group, .. } => {
            let changed = state.after(change, state);
            let typed = group.columns.iter().map(|column| (&column.name, column.kind.column_type()));
            let writer = boxed(|| base.add_group(&group.name, typed, options)).await?;
            boxed(|| replaced(writer, &state.index, &group.columns, changed.rows, rng)).await
        }
        Change::Drop { column, .. } => boxed(|| base.edit().drop_columns(&[&column.name]).commit()).await,
        Change::Rename { column, name } => boxed(|| base.edit().rename_column(&column.name, name).commit()).await,
        Change::Compact => {
            let rows = if rng.once_in(2) { 6 } else { 1 << 20 };
            let done = boxed(|| base.storage().compact(rows)).await?;
            if is_child(&done, base) {
                assert_eq!(
                    boxed(|| done.storage().compact(rows)).await?.version(),
                    done.version(),
                    "there was nothing left to compact"
                );
            }
            Ok(done)
        }
        Change::CompactRuns => {
            let bound = Locality { window: 4, extra_ranges: 1, percent: 120 };
            let (done, _) = boxed(|| base.storage().compact_runs(1 << 20, bound)).await?;
            if is_child(&done, base) {
                let (again, moved) = boxed(|| done.storage().compact_runs(1 << 20, bound)).await?;
                assert_eq!((again.version(), moved.blocks), (done.version(), 0), "there was nothing left to compact");
            }
            Ok(done)
        }
        Change::Materialize => boxed(|| base.storage().materialize(|_, _| {})).await,
        Change::Tag { name, version: Some(version) } => boxed(|| base.edit().tag(name, *version).commit()).await,
        Change::Tag { name, version: None } => boxed(|| base.edit().untag(name).commit()).await,
    }
}

/// Whether a version is the next one after `base`, or `base` itself.
fn is_child(done: &Table, base: &Table) -> bool {
    done.version() <= base.version() + 1
}

/// Writes the rows in table order, or by key in another order.
async fn replaced(
    mut writer: tetrys::table::GroupReplacer,
    index: &[Column],
    columns: &[Column],
    mut rows: Vec<Row>,
    rng: &mut Rng,
) -> Result<Table> {
    if rng.once_in(2) {
        rows.reverse();
        let batch: RecordBatch = batch_of(index.iter().take(2).chain(columns), &rows);
        writer.write_keyed(&["log", "time"], &batch).await?;
    } else {
        for rows in rows.chunks(5) {
            writer.write(&batch_of(columns, rows)).await?;
        }
    }
    writer.commit().await
}
