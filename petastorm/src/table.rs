//! Imports a data set as a table: the index, the column groups, the partitions, and the properties that keep the schema.

use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use arrow_array::{Array, RecordBatch, cast::AsArray, types::UInt32Type};
use serde_json::{Map, Value, json};
use tetrys::{
    ColumnType, Error, Result, Schema, Store, Table,
    extension::{blocking, write_partitions, writer},
    ingest::Target,
    schema::ColumnPattern,
};

use crate::{
    cells::Cell,
    columns::{Column, INDEXES, ROW_GROUP, SCHEMA, plan},
    dataset::{Dataset, type_of},
    plain,
    row_groups::RowGroupIndex,
    rows::Rows,
    settings::IngestSettings,
    unischema::Unischema,
};

/// Group of small columns that are not in the index.
const REST: &str = "rest";
/// Default rows of a partition.
const ROWS: u64 = 8192;
/// A partition ends after this many bytes of Parquet, uncompressed: an eighth of the data set within these limits, so that a small
/// one is written by several workers, too.
const PARTITION_BYTES: std::ops::RangeInclusive<u64> = 32 << 20..=256 << 20;
/// Maximum rows of a partition.
const MAX_ROWS: u64 = 1 << 22;

/// Imports a data set as a table in `store`, row by row in Petastorm's order: files sorted by path, then row groups. `progress`
/// receives the number of rows written so far. Memory holds a few batches per worker, and what the write options allow.
///
/// A column has the name of its field, and properties with the declared type, shape and codec. The table property
/// `petastorm.schema` has the order of the fields. The index column `petastorm.row_group` has the ordinal of the row group of
/// each row.
///
/// # Errors
/// After an error there is no new table or version.
/// - `Exists`: there is a table already.
/// - `NotFound`: a version of an existing table is wanted, but there is no table; or a pattern matches no column.
/// - `Invalid`: a value does not fit its declared type or shape; the message names file, row group, row and column. Or the
///   settings
///   break a rule of schemas, or the rows to append have other columns than the table.
/// - `Conflict`: the data set changed during the import.
/// - `Corrupt`, `Unsupported`: a file, an array or a picture is damaged, or of a kind that is never decoded.
/// - Errors of the store.
pub async fn ingest(
    dataset: &Dataset,
    store: Store,
    settings: &IngestSettings,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Table> {
    let Some(unischema) = dataset.schema() else { return plain::ingest(dataset, store, settings, progress).await };
    let unischema = &kept(unischema, settings)?;
    let columns: Arc<[Column]> = columns(dataset, unischema, settings.decode)?.0.into();
    let base = settings.options.base(&store).await?;
    let appended_to = base.clone().filter(|_| settings.options.target == Target::Append);
    if let Some(table) = &appended_to {
        check_more(&columns, settings, table).map_err(|error| error.at(table.url()))?;
    }
    let writer = writer(store, base, schema_of(&columns, settings)?, &settings.options).await?;
    let first_group = match &appended_to {
        Some(table) => groups_of(table).await?,
        None => 0,
    };
    let fields: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    writer.set_property(SCHEMA, json!({"name": unischema.name, "fields": fields}));
    let indexes = indexes(dataset, &fields);
    if !indexes.is_empty() {
        writer.set_property(INDEXES, indexes);
    }
    let url = dataset.url();
    let name = url.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    writer.set_lineage("source", json!({"kind": "petastorm", "file": name}));
    let (cut, keys) = (dataset.clone(), keys(&columns, settings)?);
    let target = settings.options.partition_rows;
    let partitions = blocking(move || partitions(&cut, &keys, target)).await?;
    let (left, dataset) = (Arc::new(AtomicUsize::new(partitions.len())), dataset.clone());
    let rows = move |range: Range<u64>| {
        let rows = dataset.rows(Arc::clone(&columns), range, first_group);
        Ok(Checked { rows, dataset: dataset.clone(), left: Arc::clone(&left), ended: false })
    };
    write_partitions(writer, partitions, settings.options.workers, rows, progress, |_| {}).await
}

/// Returns the names, classes and fields of the row-group indexes over these fields. Rows do not need them: indexes that cannot be
/// read are left out, and [`warnings`] says why.
fn indexes(dataset: &Dataset, fields: &[&str]) -> Map<String, Value> {
    let indexes = dataset.row_group_indexes().unwrap_or_default().into_iter();
    let kept = indexes.filter(|index| fields.contains(&index.column.as_str()));
    let described = |index: RowGroupIndex| {
        let class = index.class.rsplit('.').next().unwrap_or_default();
        (index.name, json!({"class": class, "columns": [index.column]}))
    };
    kept.map(described).collect()
}

/// Returns one sentence for each field that the import keeps in another form than its codec says, and one if it leaves out the
/// row-group indexes because they cannot be read.
///
/// # Errors
/// - `Invalid`: a field is not in the Parquet files, or its type does not fit.
pub fn warnings(dataset: &Dataset, settings: &IngestSettings) -> Result<Vec<String>> {
    let Some(schema) = dataset.schema() else { return Ok(Vec::new()) };
    let (_, mut warnings) = columns(dataset, &kept(schema, settings)?, settings.decode)?;
    if let Err(error) = dataset.row_group_indexes() {
        warnings.push(format!("the row-group indexes cannot be read and are left out: {error}"));
    }
    Ok(warnings)
}

/// The rows of a partition. The last partition that ends checks that the data set has not changed, so that no commit follows if
/// it has.
struct Checked {
    rows: Rows,
    dataset: Dataset,
    left: Arc<AtomicUsize>,
    ended: bool,
}

impl Iterator for Checked {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.rows.next();
        if next.is_some() || std::mem::replace(&mut self.ended, true) {
            return next;
        }
        let is_last = self.left.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last { self.dataset.parts.check_unchanged().err().map(Err) } else { None }
    }
}

/// Returns the columns of the data set. All files have the same.
fn columns(dataset: &Dataset, unischema: &Unischema, decode: bool) -> Result<(Vec<Column>, Vec<String>)> {
    let parts = &dataset.parts;
    let folders: Vec<String> = parts.files.iter().take(1).flat_map(|file| &file.folders).map(|(key, _)| key.clone()).collect();
    let mut planned: Option<(Vec<Column>, Vec<String>)> = None;
    for (fields, file) in &parts.types {
        let place = || parts.source.at(&parts.files[*file].name);
        let found = plan(unischema, |name| type_of(fields, name), &folders, decode).map_err(|error| error.at(place()))?;
        let Some((first, _)) = &planned else {
            planned = Some(found);
            continue;
        };
        if let Some((one, other)) =
            first.iter().zip(&found.0).find(|(one, other)| one.stored != other.stored || one.origin != other.origin)
        {
            return Err(Error::invalid(format!(
                "{}: column `{}`: expected {}, as in {}, found {}",
                place(),
                one.name,
                one.stored.column_type(),
                parts.source.at(&parts.files[0].name),
                other.stored.column_type()
            )));
        }
    }
    planned.ok_or_else(|| Error::internal("a data set without files"))
}

/// The names and types of all columns, with the field that each belongs to.
fn named(columns: &[Column]) -> Vec<(String, ColumnType, &str)> {
    let of = |column: &'_ Column| column.columns().into_iter().collect::<Vec<_>>();
    let mut all: Vec<_> =
        columns.iter().flat_map(|column| of(column).into_iter().map(|(name, ty)| (name, ty, column.name.as_str()))).collect();
    all.push((ROW_GROUP.to_owned(), ColumnType::Scalar(tetrys::schema::Primitive::U32), ROW_GROUP));
    all
}

/// Returns the columns that match any of the patterns.
fn select(columns: &[Column], patterns: &[String], place: &str) -> Result<BTreeSet<String>> {
    if patterns.is_empty() {
        return Ok(BTreeSet::new());
    }
    let payload = named(columns).into_iter().filter(|(name, ..)| name != ROW_GROUP).map(|(name, ty, _)| (name, ty));
    let all = Schema::builder().index(ROW_GROUP, "u32").group("all", payload).build()?;
    let chosen = all.select(patterns).map_err(|error| error.at(place))?;
    Ok(chosen.into_iter().map(|column| column.name.clone()).collect())
}

/// Returns the schema without the fields to leave out. Their Parquet columns may have any type.
fn kept(unischema: &Unischema, settings: &IngestSettings) -> Result<Unischema> {
    let mut kept = unischema.clone();
    for pattern in &settings.drop {
        let matching: ColumnPattern = pattern.parse().map_err(|error: Error| error.at("drop"))?;
        if !unischema.fields.iter().any(|field| matching.matches(&field.name)) {
            let names: Vec<&str> = unischema.fields.iter().map(|field| field.name.as_str()).collect();
            return Err(Error::not_found(format!("drop: no field matches `{pattern}`; there are: {}", names.join(", "))));
        }
        kept.fields.retain(|field| !matching.matches(&field.name));
    }
    match kept.fields.is_empty() {
        true => Err(Error::invalid("drop: expected fields to be left; name the fields to leave out")),
        false => Ok(kept),
    }
}

/// Returns the schema of a new table.
fn schema_of(columns: &[Column], settings: &IngestSettings) -> Result<Schema> {
    let all = named(columns);
    let mut groups: Vec<(String, BTreeSet<String>)> = Vec::new();
    let mut grouped = BTreeSet::new();
    for (name, patterns) in &settings.groups {
        let members = select(columns, patterns, &format!("group `{name}`"))?;
        grouped.extend(members.iter().cloned());
        groups.push((name.clone(), members));
    }
    let mut index = match &settings.index {
        Some(patterns) => select(columns, patterns, "index")?,
        None => {
            let free = all.iter().filter(|(name, ty, _)| ty.is_indexable() && !grouped.contains(name));
            // The width of texts belongs to the texts.
            free.filter(|(name, _, field)| name == field).map(|(name, ..)| name.clone()).collect()
        }
    };
    index.extend(select(columns, &settings.sequence_by, "sequence_by")?);
    index.extend(select(columns, &settings.order_by, "order_by")?);
    if !grouped.contains(ROW_GROUP) {
        index.insert(ROW_GROUP.to_owned());
    }
    let mut rest = BTreeSet::new();
    let mut alone: Vec<(String, BTreeSet<String>)> = Vec::new();
    for (name, ty, field) in all.iter().filter(|(name, ..)| !index.contains(name) && !grouped.contains(name)) {
        let home = groups.iter_mut().chain(&mut alone).find(|(_, members)| name != field && members.contains(*field));
        match home {
            Some((_, members)) => drop(members.insert(name.clone())),
            None if ty.is_indexable() || matches!(ty, ColumnType::Scalar(_)) => drop(rest.insert(name.clone())),
            None => alone.push((name.clone(), BTreeSet::from([name.clone()]))),
        }
    }
    groups.extend(Some((REST.to_owned(), rest)).filter(|(_, members)| !members.is_empty()));
    groups.extend(alone);
    let mut builder = Schema::builder();
    for (name, ty, _) in all.iter().filter(|(name, ..)| index.contains(name)) {
        builder = builder.index(name, ty);
    }
    for (group, members) in groups {
        let members: Vec<_> = all.iter().filter(|(name, ..)| members.contains(name)).map(|(name, ty, _)| (name, ty)).collect();
        builder = builder.group(group, members);
    }
    for column in columns {
        for (key, value) in column.properties() {
            builder = builder.property(&column.name, *key, value.clone());
        }
    }
    builder.sequence_by(&settings.sequence_by).order_by(&settings.order_by).build()
}

/// Checks what only rows of Petastorm have, before they are appended: the fields that their columns come from.
fn check_more(columns: &[Column], settings: &IngestSettings, table: &Table) -> Result<()> {
    let chosen = settings.index.is_some() || !settings.groups.is_empty();
    if chosen || !settings.sequence_by.is_empty() || !settings.order_by.is_empty() {
        return Err(Error::invalid("rows to append have the index, groups and sequences of the table; leave out these settings"));
    }
    for column in columns {
        let Some(here) = table.schema().column_named(&column.name) else { continue };
        for (key, value) in column.properties() {
            let own = here.properties.get(*key).unwrap_or(&Value::Null);
            if own != value {
                let name = &column.name;
                return Err(Error::invalid(format!(
                    "column `{name}`: rows to append have {key} {value}, the table's column has {own}"
                )));
            }
        }
    }
    Ok(())
}

/// Returns the number of row groups that a table has: those of rows to append are counted on.
async fn groups_of(table: &Table) -> Result<u32> {
    let mut next = 0;
    for batch in table.index_batches().await? {
        let batch = batch?;
        let Some(column) = batch.column_by_name(ROW_GROUP) else { continue };
        let Some(groups) = column.as_primitive_opt::<UInt32Type>() else { continue };
        let last = (0..groups.len()).filter(|row| groups.is_valid(*row)).map(|row| groups.value(row)).max();
        next = next.max(last.map_or(0, |last| last.saturating_add(1)));
    }
    Ok(next)
}

/// Returns the columns that define sequences.
fn keys(columns: &[Column], settings: &IngestSettings) -> Result<Option<Arc<[Column]>>> {
    let names = select(columns, &settings.sequence_by, "sequence_by")?;
    Ok((!names.is_empty()).then(|| columns.iter().filter(|column| names.contains(&column.name)).cloned().collect()))
}

/// Cuts the rows into partitions: after enough rows or bytes, where a row group ends or where a sequence begins.
fn partitions(dataset: &Dataset, keys: &Option<Arc<[Column]>>, rows: u64) -> Result<Vec<Range<u64>>> {
    let eighth = dataset.parts.groups.iter().fold(0_u64, |bytes, group| bytes.saturating_add(group.bytes)) / 8;
    let bytes = eighth.clamp(*PARTITION_BYTES.start(), *PARTITION_BYTES.end());
    let (rows, most) = if rows == 0 { (ROWS, bytes) } else { (rows.min(MAX_ROWS), u64::MAX) };
    let mut cuts = vec![0];
    match keys {
        None => {
            let mut bytes = 0_u64;
            for group in &dataset.parts.groups {
                let first = cuts.last().copied().unwrap_or(0);
                if group.start - first >= rows || bytes >= most {
                    cuts.push(group.start);
                    bytes = 0;
                }
                bytes = bytes.saturating_add(group.bytes);
            }
        }
        Some(keys) => {
            let (mut row, mut last): (u64, Option<Vec<String>>) = (0, None);
            for batch in dataset.rows(Arc::clone(keys), 0..dataset.rows_len(), 0) {
                let batch = batch?;
                for at in 0..batch.num_rows() {
                    let key = key_of(&batch, at, keys.is_empty());
                    if last.as_ref().is_some_and(|last| *last != key) && row - cuts.last().copied().unwrap_or(0) >= rows {
                        cuts.push(row);
                    }
                    last = Some(key);
                    row += 1;
                }
            }
        }
    }
    cuts.push(dataset.rows_len());
    let mut parts: Vec<Range<u64>> = Vec::new();
    for pair in cuts.windows(2).filter(|pair| pair[0] < pair[1]) {
        let starts = (pair[0]..pair[1]).step_by(usize::try_from(MAX_ROWS).unwrap_or(usize::MAX));
        parts.extend(starts.map(|start| start..(start + MAX_ROWS).min(pair[1])));
    }
    Ok(parts)
}

/// The values of a row as text.
fn key_of(batch: &RecordBatch, row: usize, with_group: bool) -> Vec<String> {
    let columns = batch.schema().fields().iter().position(|field| field.name() == ROW_GROUP).filter(|_| !with_group);
    let columns = columns.unwrap_or(batch.num_columns());
    let text = |cell: Cell<'_>| match cell {
        // A description shows the beginning of a text only.
        Cell::Text(text) => text.to_owned(),
        Cell::Bytes(bytes) => format!("{bytes:?}"),
        other => other.described(),
    };
    batch.columns()[..columns].iter().map(|array| text(Cell::of(array, row))).collect()
}
