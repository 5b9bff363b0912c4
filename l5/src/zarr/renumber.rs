//! Numbers the frames, agents and faces of a table from 0 in the order of its rows, as an L5 data set of these rows has them. The
//! rows may be those of a view: the numbers that the ingests stored are then those of other data sets.

use std::{ops::Range, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{Field, Schema};
use serde_json::Value;

use super::{
    array::ArrayMeta,
    columns::{AGENTS, FRAMES, MASK_PREFIX, SCENES, TL_FACES},
    scenes,
};
use crate::reading::FrameTable;
use tetrys::error::{Error, Result};

/// Returns the properties that an ingest of the rows would note: those of another ingest, with the scenes and the numbers of
/// records of `frames`. The masks are left out unless `masks`.
///
/// # Errors
/// - `Invalid`: the properties were not written by the ingest, or have no traffic light faces although `frames` has.
pub(super) fn properties_of(noted: &Value, frames: &FrameTable, masks: bool) -> Result<Value> {
    let mut properties = noted.clone();
    let objects = properties
        .pointer_mut("/l5/objects")
        .and_then(Value::as_object_mut)
        .ok_or_else(|| Error::invalid("property l5.objects: expected an object of texts"))?;
    if !masks {
        objects.retain(|key, _| !key.starts_with(MASK_PREFIX));
    }
    if frames.has_faces() && !objects.contains_key(&format!("{TL_FACES}/.zarray")) {
        return Err(Error::invalid(format!("{}: a part of its rows has no traffic light faces", frames.url())));
    }
    for (key, text) in objects.iter_mut() {
        let Some(name) = key.strip_suffix("/.zarray") else { continue };
        let len = match name {
            SCENES => frames.scenes().len() as u64,
            FRAMES => frames.len(),
            TL_FACES => frames.faces_len(),
            name if name == AGENTS || name.starts_with(MASK_PREFIX) => frames.agents_len(),
            // The exporter refuses an object that no ingest writes.
            _ => continue,
        };
        let meta = ArrayMeta::parse(text.as_str().unwrap_or_default().to_owned());
        *text = meta.and_then(|meta| meta.text_of_len(len)).map_err(|error| error.at(format!("array {name}")))?.into();
    }
    properties["l5"]["scenes"] = scenes::to_json(frames.scenes());
    Ok(properties)
}

/// Returns the columns of some rows of `frames` as the exporter takes them: the columns of their index with new numbers, and the
/// columns of their payload.
pub(super) fn numbered(frames: &FrameTable, rows: Range<u64>, index: &RecordBatch, payload: &RecordBatch) -> Result<RecordBatch> {
    let numbers = [
        ("frame", rows.clone().collect::<Vec<_>>()),
        ("agents_start", rows.clone().map(|row| frames.agents_of(row).start).collect()),
        ("tl_faces_start", rows.map(|row| frames.faces_of(row).start).collect()),
    ];
    let (mut fields, mut columns) = (Vec::new(), Vec::<ArrayRef>::new());
    for batch in [index, payload] {
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            if numbers.iter().all(|(name, _)| field.name() != name) {
                fields.push(Arc::clone(field));
                columns.push(Arc::clone(column));
            }
        }
    }
    for (name, values) in numbers {
        let values = UInt64Array::from(values);
        fields.push(Arc::new(Field::new(name, arrow_schema::DataType::UInt64, false)));
        columns.push(Arc::new(values));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|error| Error::internal(error.to_string()))
}
