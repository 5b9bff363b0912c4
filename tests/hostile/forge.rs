//! Takes a sound table apart, replaces one object, and recomputes all hashes, sizes and counts. So the hostile value is behind
//! valid hashes and reaches the parser.

#![allow(unreachable_pub, reason = "a module of one suite")]

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, RecordBatch, UInt32Array, UInt64Array,
    cast::AsArray,
    types::{UInt32Type, UInt64Type},
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use bytes::Bytes;
use parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder, arrow_writer::ArrowWriterOptions};
use serde_json::{Value, json};
use tetrys::{
    Store,
    format::{BlockDirectory, ChunkDirectory, ChunkHeader, LayoutWriter, PackedLengths, PageLengths, read_layout},
    id::Hash,
};

use super::common::tables::{self, block_on};

/// One row of a layout as it is stored, without checks.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutRow {
    pub chunk: [u8; 32],
    pub owner: u32,
    pub chunk_bytes: u64,
    pub seed: u64,
    pub chains: Vec<u8>,
    pub first_block: u32,
    pub blocks: u32,
    pub first_offset: u64,
    pub rows: u64,
    pub lengths: Vec<u8>,
    pub block_rows: Vec<u8>,
    pub page_lengths: Vec<u8>,
}

/// The objects of a table, and its manifest as JSON without the hash.
#[derive(Clone)]
pub struct Forged {
    pub manifest: Value,
    pub objects: BTreeMap<String, Vec<u8>>,
}

impl Forged {
    pub fn of(store: &Store) -> Self {
        let mut objects: BTreeMap<String, Vec<u8>> = block_on(tables::objects(store)).into_iter().collect();
        let name = objects.keys().find(|name| name.starts_with("manifests/")).unwrap().clone();
        let mut manifest: Value = serde_json::from_slice(&objects.remove(&name).unwrap()).unwrap();
        manifest.as_object_mut().unwrap().remove("blake3");
        Self { manifest, objects }
    }

    /// Returns all objects, with a manifest that ends with its hash.
    pub fn sealed(&self) -> Vec<(String, Vec<u8>)> {
        self.sealed_with(&serde_json::to_vec(&self.manifest).unwrap())
    }

    /// Returns all objects like [`Forged::sealed`], with these bytes of JSON as the manifest.
    pub fn sealed_with(&self, json: &[u8]) -> Vec<(String, Vec<u8>)> {
        let body = json.strip_suffix(b"}").unwrap_or(json);
        let tail = format!(",\"blake3\":\"{}\"}}\n", Hash::of(body));
        let manifest = ("manifests/18446744073709551614.json".to_owned(), [body, tail.as_bytes()].concat());
        self.objects.clone().into_iter().chain([manifest]).collect()
    }

    /// Adds page lengths to the layouts of groups with several columns. The writer stores page lengths only for larger blocks.
    pub fn add_page_lengths(&mut self) {
        for group in 0..self.manifest["segments"][0]["groups"].as_array().unwrap().len() {
            let path = format!("/groups/{group}/layout");
            let columns = self.manifest["segments"][0]["groups"][group]["columns"].as_array().unwrap().len();
            let rows = self.manifest["segments"][0]["rows"].as_u64().unwrap();
            let mut runs = read_layout(self.object(&path).into(), columns, rows, 0).unwrap();
            for run in &mut runs {
                let chunk = Bytes::from(self.objects[&run.chunk.object_name()].clone());
                let header = ChunkHeader::parse(&chunk).unwrap();
                let places = ChunkDirectory::parse(&chunk, &header).unwrap().blocks;
                let pages = (run.first_block..).zip(&places[run.first_block as usize..]).take(run.lengths.len());
                let lengths = pages.map(|(ordinal, (place, _))| {
                    let pages = BlockDirectory::parse(&chunk.slice(place.clone()), run.seed, ordinal, columns).unwrap().pages;
                    pages.iter().map(|page| (page.len() / 8) as u32).collect()
                });
                run.pages = PageLengths::of(&lengths.collect::<Vec<Vec<u32>>>());
            }
            self.set_object(&path, LayoutWriter::write(&runs).unwrap());
        }
    }

    fn segment(&mut self) -> &mut Value {
        &mut self.manifest["segments"][0]
    }

    fn put(&mut self, folder: &str, bytes: Vec<u8>) -> Value {
        let hash = Hash::of(&bytes).to_string();
        let reference = json!({"blake3": hash, "bytes": bytes.len()});
        self.objects.insert(format!("{folder}/{hash}.parquet"), bytes);
        reference
    }

    /// Returns the object that a reference of the first segment names. `path` is the path to the reference: `/index`,
    /// `/groups/0/layout`.
    pub fn object(&self, path: &str) -> Vec<u8> {
        let hash = self.manifest["segments"][0].pointer(path).unwrap()["blake3"].as_str().unwrap();
        let folder = path.rsplit('/').next().unwrap();
        self.objects[&format!("{folder}/{hash}.parquet")].clone()
    }

    pub fn set_object(&mut self, path: &str, bytes: Vec<u8>) {
        let reference = self.put(path.rsplit('/').next().unwrap(), bytes);
        *self.segment().pointer_mut(path).unwrap() = reference;
    }

    pub fn layout(&self, group: usize) -> Vec<LayoutRow> {
        rows_of_layout(&self.object(&format!("/groups/{group}/layout")))
    }

    /// Replaces a layout, and updates the manifest as far as the new layout can be read.
    pub fn set_layout(&mut self, group: usize, rows: &[LayoutRow]) {
        self.set_object(&format!("/groups/{group}/layout"), write_layout(rows));
        let described = &mut self.segment()["groups"][group];
        described["runs"] = json!(rows.len());
        described["blocks"] = json!(rows.iter().map(|row| u64::from(row.blocks)).sum::<u64>());
        let node = |row: &LayoutRow| PackedLengths::from_bytes(&row.lengths, row.blocks as usize).map(|node| node.sum()).ok();
        if let Some(sum) = rows.iter().map(node).try_fold(0_u64, |sum, eighths| sum.checked_add(eighths?.checked_mul(8)?)) {
            described["stored_bytes"] = json!(sum);
        }
    }

    pub fn chunk(&self, row: &LayoutRow) -> Vec<u8> {
        self.objects[&chunk_name(&Hash(row.chunk))].clone()
    }

    /// Replaces the chunk of run `run`. All runs of the old chunk refer to the new chunk.
    pub fn set_chunk(&mut self, group: usize, run: usize, bytes: Vec<u8>) {
        let mut rows = self.layout(group);
        let (old, new) = (rows[run].chunk, Hash::of(&bytes));
        for row in rows.iter_mut().filter(|row| row.chunk == old) {
            (row.chunk, row.chunk_bytes) = (new.0, bytes.len() as u64);
        }
        self.objects.insert(chunk_name(&new), bytes);
        self.set_layout(group, &rows);
    }
}

fn chunk_name(hash: &Hash) -> String {
    let hex = hash.to_string();
    format!("chunks/{}/{hex}", &hex[..2])
}

fn rows_of_layout(bytes: &[u8]) -> Vec<LayoutRow> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::copy_from_slice(bytes)).unwrap().build().unwrap();
    let mut rows = Vec::new();
    for batch in reader.map(Result::unwrap) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let u32s = |name: &str, row: usize| column(name).as_primitive::<UInt32Type>().value(row);
        let u64s = |name: &str, row: usize| column(name).as_primitive::<UInt64Type>().value(row);
        let bytes = |name: &str, row: usize| column(name).as_binary::<i32>().value(row).to_vec();
        rows.extend((0..batch.num_rows()).map(|row| LayoutRow {
            chunk: column("chunk").as_fixed_size_binary().value(row).try_into().unwrap(),
            owner: u32s("owner", row),
            chunk_bytes: u64s("chunk_bytes", row),
            seed: u64s("seed", row),
            chains: bytes("chains", row),
            first_block: u32s("first_block", row),
            blocks: u32s("blocks", row),
            first_offset: u64s("first_offset", row),
            rows: u64s("rows", row),
            lengths: bytes("lengths", row),
            block_rows: bytes("block_rows", row),
            page_lengths: bytes("page_lengths", row),
        }));
    }
    rows
}

pub fn write_layout(rows: &[LayoutRow]) -> Vec<u8> {
    let u32s = |f: fn(&LayoutRow) -> u32| Arc::new(UInt32Array::from_iter_values(rows.iter().map(f))) as ArrayRef;
    let u64s = |f: fn(&LayoutRow) -> u64| Arc::new(UInt64Array::from_iter_values(rows.iter().map(f))) as ArrayRef;
    let bytes = |f: fn(&LayoutRow) -> &Vec<u8>| Arc::new(BinaryArray::from_iter_values(rows.iter().map(f))) as ArrayRef;
    let chunks: Vec<u8> = rows.iter().flat_map(|row| row.chunk).collect();
    let chunks: ArrayRef = Arc::new(FixedSizeBinaryArray::try_new(32, chunks.into(), None).unwrap());
    let columns = [
        ("chunk", chunks),
        ("owner", u32s(|row| row.owner)),
        ("chunk_bytes", u64s(|row| row.chunk_bytes)),
        ("seed", u64s(|row| row.seed)),
        ("chains", bytes(|row| &row.chains)),
        ("first_block", u32s(|row| row.first_block)),
        ("blocks", u32s(|row| row.blocks)),
        ("first_offset", u64s(|row| row.first_offset)),
        ("rows", u64s(|row| row.rows)),
        ("lengths", bytes(|row| &row.lengths)),
        ("block_rows", bytes(|row| &row.block_rows)),
        ("page_lengths", bytes(|row| &row.page_lengths)),
    ];
    parquet_of(columns.into_iter().map(|(name, array)| (name.to_owned(), array, false)).collect(), &[])
}

/// Returns a Parquet file of these columns (name, values, nullable) with this metadata.
pub fn parquet_of(columns: Vec<(String, ArrayRef, bool)>, metadata: &[(&str, &str)]) -> Vec<u8> {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array, nullable)| Field::new(name, array.data_type().clone(), *nullable)).collect();
    let schema = Arc::new(ArrowSchema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns.into_iter().map(|(_, array, _)| array).collect()).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_compression(parquet::basic::Compression::ZSTD(Default::default()))
        .build();
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true).with_properties(properties);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), schema, options).unwrap();
    writer.write(&batch).unwrap();
    for (key, value) in metadata {
        writer.append_key_value_metadata(parquet::file::metadata::KeyValue::new((*key).to_owned(), (*value).to_owned()));
    }
    writer.into_inner().unwrap()
}

/// Returns the columns of a Parquet file, all nullable, in one batch.
pub fn columns_of(bytes: &[u8]) -> Vec<(String, ArrayRef, bool)> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::copy_from_slice(bytes))
        .unwrap()
        .with_batch_size(1 << 20)
        .build()
        .unwrap();
    let batch = reader.map(Result::unwrap).next().unwrap();
    let fields = batch.schema();
    let names = fields.fields().iter().map(|field| field.name().clone());
    names.zip(batch.columns()).map(|(name, array)| (name, large(array), true)).collect()
}

/// Converts text to 64-bit offsets, as index columns have them.
fn large(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8 => Arc::new(arrow_array::LargeStringArray::from_iter(array.as_string::<i32>().iter())),
        _ => Arc::clone(array),
    }
}
