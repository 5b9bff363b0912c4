//! The content of a data set's batches and of a zarr group's arrays, as plain record bytes.

use std::{path::Path, sync::Arc};

use arrow_array::{
    Array as _, ArrayRef, BooleanArray, FixedSizeListArray, LargeListArray, LargeStringArray, RecordBatch, StructArray,
};
use tetrys_l5::{
    Dataset,
    zarr::array::{Array, Cursor},
    zarr::source::ZarrGroup,
};

/// Returns every batch of the data set, partition by partition.
pub fn batches(dataset: &Dataset) -> Vec<RecordBatch> {
    let partitions = dataset.partitions(100);
    partitions.into_iter().flat_map(|rows| dataset.rows(rows).unwrap()).map(Result::unwrap).collect()
}

/// Returns the decoded records of one array.
pub fn records(path: &Path, name: &str) -> Vec<u8> {
    let array = Arc::new(Array::open(&ZarrGroup::open(path).unwrap(), name).unwrap().unwrap());
    let len = array.meta().len;
    Cursor::new(array).records(0..len).unwrap()
}

/// Returns the values of a column in all batches, concatenated: numbers as little-endian bytes, bools as bytes, text as UCS-4
/// padded to 16 characters.
pub fn column(batches: &[RecordBatch], name: &str) -> Vec<u8> {
    batches.iter().flat_map(|batch| bytes(batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name}")))).collect()
}

fn bytes(array: &ArrayRef) -> Vec<u8> {
    let any = array.as_any();
    if let Some(tensor) = any.downcast_ref::<StructArray>() {
        bytes(tensor.column_by_name("data").unwrap())
    } else if let Some(list) = any.downcast_ref::<LargeListArray>() {
        let offsets = list.value_offsets();
        bytes(&list.values().slice(offsets[0] as usize, (offsets[list.len()] - offsets[0]) as usize))
    } else if let Some(list) = any.downcast_ref::<FixedSizeListArray>() {
        bytes(list.values())
    } else if let Some(text) = any.downcast_ref::<LargeStringArray>() {
        text.iter().flat_map(|text| ucs4(text.unwrap())).collect()
    } else if let Some(bits) = any.downcast_ref::<BooleanArray>() {
        bits.iter().map(|bit| u8::from(bit.unwrap())).collect()
    } else {
        let data = array.to_data();
        let width = data.data_type().primitive_width().unwrap();
        data.buffers()[0][data.offset() * width..(data.offset() + data.len()) * width].to_vec()
    }
}

fn ucs4(text: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = text.chars().flat_map(|character| u32::from(character).to_le_bytes()).collect();
    bytes.resize(64, 0);
    bytes
}
