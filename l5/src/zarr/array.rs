//! A zarr v2 array of records: its checked `.zarray`, its chunks, and a cursor that streams records forward.
//!
//! Supports only what L5 data needs: C order, no filters, Blosc or no compressor, chunks along the first dimension. Everything
//! else is an error that names the feature. Every chunk file holds a full chunk; `shape` trims the last one. A missing chunk file
//! stands for the fill value, since writers of zarr may leave out chunks of fill values; [`Array::missing`] finds them. A cursor holds one decoded chunk: streaming decodes each chunk once, and memory does not grow with
//! the array.

use std::{ops::Range, sync::Arc};

use serde::Serialize;
use serde_json::Value;

use super::{
    blosc::{Codec, Decoder},
    dtype::{Dtype, Element, short},
    source::{MAX_METADATA, ZarrGroup},
};
use crate::count::counted;
use tetrys::{
    error::{Error, Result},
    schema::Primitive,
};

/// Maximum bytes of a decoded chunk.
const MAX_CHUNK: u64 = 1 << 30;
/// Maximum records of an array.
const MAX_RECORDS: u64 = 1 << 48;

/// The checked content of a `.zarray`.
#[derive(Clone, Debug)]
pub struct ArrayMeta {
    /// Original JSON text.
    pub text: String,
    /// Records along the first dimension.
    pub len: u64,
    /// Extents of the further dimensions, all of which belong to one record. Empty for L5's record arrays.
    pub inner: Vec<u32>,
    /// Records per chunk, at least 1.
    pub chunk_len: u64,
    /// Type of one element.
    pub dtype: Dtype,
    /// Compressor of the chunks; `None` if they are not compressed.
    pub compressor: Option<Compressor>,
    /// One record of the fill value.
    pub fill: Vec<u8>,
    /// Separator of the numbers in a chunk key: `.` or `/`.
    pub separator: char,
}

/// A Blosc compressor, as far as the encoder needs it. The decoder follows the header of each chunk instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressor {
    /// Codec to encode with.
    pub codec: Codec,
    /// Whether bytes are shuffled before compression.
    pub shuffle: bool,
}

impl ArrayMeta {
    /// Parses and checks the text of a `.zarray`.
    ///
    /// # Errors
    /// The messages name what was expected and found.
    /// - `Unsupported`: the array uses a feature that this reader lacks.
    /// - `Invalid`: the text does not describe an array.
    pub fn parse(text: String) -> Result<Self> {
        let json: Value = serde_json::from_str(&text)
            .map_err(|error| Error::invalid(format!(".zarray: expected JSON, found {error}")).with_source(error))?;
        let get = |key: &str| json.get(key).unwrap_or(&Value::Null);
        let refuse = |key: &str, expected: &str| {
            Error::unsupported(format!(".zarray {key}: expected {expected}, found {}", short(get(key))))
        };
        if get("zarr_format").as_u64() != Some(2) {
            return Err(refuse("zarr_format", "2"));
        }
        if get("order").as_str() != Some("C") {
            return Err(refuse("order", "\"C\""));
        }
        if !(get("filters").is_null() || get("filters").as_array().is_some_and(Vec::is_empty)) {
            return Err(refuse("filters", "null"));
        }
        let separator = match get("dimension_separator") {
            Value::Null => '.',
            Value::String(text) if text == "." => '.',
            Value::String(text) if text == "/" => '/',
            _ => return Err(refuse("dimension_separator", "\".\" or \"/\"")),
        };
        let compressor = compressor(get("compressor"))?;
        let dtype = Dtype::parse(get("dtype")).map_err(|error| error.at(".zarray"))?;

        let malformed =
            |key: &str, expected: &str| Error::invalid(format!(".zarray {key}: expected {expected}, found {}", short(get(key))));
        let extents = |key: &str| -> Option<Vec<u64>> { get(key).as_array()?.iter().map(Value::as_u64).collect() };
        let shape = extents("shape").ok_or_else(|| malformed("shape", "a list of sizes"))?;
        let chunks = extents("chunks").ok_or_else(|| malformed("chunks", "a list of sizes"))?;
        let (Some((&len, inner)), Some((&chunk_len, inner_chunks))) = (shape.split_first(), chunks.split_first()) else {
            return Err(malformed("shape", "at least one dimension"));
        };
        if inner.len() != inner_chunks.len() || chunks.contains(&0) {
            return Err(malformed("chunks", &format!("{} sizes above 0", shape.len())));
        }
        if inner != inner_chunks || shape.len() > 4 {
            return Err(refuse("chunks", &format!("chunks along the first dimension only, [.., {inner:?}]")));
        }
        if len > MAX_RECORDS {
            return Err(malformed("shape", &format!("at most {MAX_RECORDS} records")));
        }
        let inner = inner
            .iter()
            .map(|extent| u32::try_from(*extent).ok().filter(|extent| *extent > 0))
            .collect::<Option<Vec<u32>>>()
            .ok_or_else(|| malformed("shape", "inner sizes above 0, below 2^32"))?;
        let record_len = inner.iter().try_fold(dtype.record_len() as u64, |len, extent| {
            len.checked_mul(u64::from(*extent)).filter(|len| *len <= MAX_CHUNK)
        });
        if record_len.and_then(|len| len.checked_mul(chunk_len)).is_none_or(|bytes| bytes > MAX_CHUNK) {
            return Err(malformed("chunks", &format!("chunks of at most {MAX_CHUNK} bytes")));
        }
        let mut fill = fill_element(get("fill_value"), &dtype)?;
        let elements = inner.iter().map(|extent| *extent as usize).product();
        fill = fill.repeat(elements);
        Ok(Self { len, inner, chunk_len, dtype, compressor, fill, separator, text })
    }

    /// Returns the text of this array's `.zarray` for another number of records. The text of the same number stays as it is.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a JSON object.
    pub(super) fn text_of_len(&self, len: u64) -> Result<String> {
        if len == self.len {
            return Ok(self.text.clone());
        }
        let mut json: Value = serde_json::from_str(&self.text)
            .map_err(|error| Error::invalid(format!(".zarray: expected JSON, found {error}")).with_source(error))?;
        if let Some(first) = json.pointer_mut("/shape/0") {
            *first = len.into();
        }
        pretty(&json)
    }

    /// Returns the bytes of one record, with all inner dimensions.
    pub fn record_len(&self) -> usize {
        self.fill.len()
    }

    /// Returns the bytes of one decoded chunk.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_len as usize * self.record_len()
    }

    /// Returns the key of a chunk within the array.
    pub fn chunk_key(&self, chunk: u64) -> String {
        let mut key = chunk.to_string();
        for _ in &self.inner {
            key.push(self.separator);
            key.push('0');
        }
        key
    }
}

/// Formats JSON as zarr-python does: sorted keys, indented by 4 blanks.
pub(super) fn pretty(json: &Value) -> Result<String> {
    let mut text = Vec::new();
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut text, serde_json::ser::PrettyFormatter::with_indent(b"    "));
    json.serialize(&mut serializer).map_err(|error| Error::internal(format!("metadata: {error}")).with_source(error))?;
    String::from_utf8(text).map_err(|error| Error::internal(format!("metadata: {error}")).with_source(error))
}

fn compressor(json: &Value) -> Result<Option<Compressor>> {
    if json.is_null() {
        return Ok(None);
    }
    let id = json.get("id").and_then(Value::as_str);
    if id != Some("blosc") {
        return Err(Error::unsupported(format!(".zarray compressor: expected blosc or null, found {}", short(json))));
    }
    let level = json.get("clevel").and_then(Value::as_i64).unwrap_or(5).clamp(1, 9) as i32;
    let codec = match json.get("cname").and_then(Value::as_str) {
        Some("lz4" | "lz4hc") | None => Codec::Lz4,
        Some("zstd") => Codec::Zstd { level },
        Some(_) => {
            return Err(Error::unsupported(format!(
                ".zarray compressor: expected cname lz4, lz4hc or zstd, found {}",
                short(json)
            )));
        }
    };
    Ok(Some(Compressor { codec, shuffle: json.get("shuffle").and_then(Value::as_i64) != Some(0) }))
}

/// Returns the bytes of one element of the fill value.
fn fill_element(json: &Value, dtype: &Dtype) -> Result<Vec<u8>> {
    let len = dtype.record_len();
    let malformed =
        || Error::invalid(format!(".zarray fill_value: expected {} for the dtype, found {}", counted(len, "byte"), short(json)));
    if json.is_null() || (dtype.is_structured() && json.as_i64() == Some(0)) {
        return Ok(vec![0; len]);
    }
    let element = match dtype.fields() {
        [field] if !dtype.is_structured() => field.element,
        _ => return json.as_str().and_then(decode_base64).filter(|fill| fill.len() == len).ok_or_else(malformed),
    };
    let float = || match json.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        _ => json.as_f64(),
    };
    let signed = json.as_i64();
    let unsigned = json.as_u64();
    let Element::Primitive(primitive) = element else {
        let mut bytes = vec![0; len];
        super::dtype::encode_text(json.as_str().ok_or_else(malformed)?, &mut bytes)?;
        return Ok(bytes);
    };
    macro_rules! number {
        ($value:expr, $to:ty) => {
            $value.and_then(|value| <$to>::try_from(value).ok()).map(|value| value.to_le_bytes().to_vec())
        };
    }
    match primitive {
        Primitive::Bool => json.as_bool().or(unsigned.filter(|bit| *bit < 2).map(|bit| bit == 1)).map(|bit| vec![u8::from(bit)]),
        Primitive::I8 => number!(signed, i8),
        Primitive::I16 => number!(signed, i16),
        Primitive::I32 => number!(signed, i32),
        Primitive::I64 => number!(signed, i64),
        Primitive::U8 => number!(unsigned, u8),
        Primitive::U16 => number!(unsigned, u16),
        Primitive::U32 => number!(unsigned, u32),
        Primitive::U64 => number!(unsigned, u64),
        Primitive::F16 => float().map(|value| half::f16::from_f64(value).to_le_bytes().to_vec()),
        Primitive::Bf16 => float().map(|value| half::bf16::from_f64(value).to_le_bytes().to_vec()),
        Primitive::F32 => float().map(|value| (value as f32).to_le_bytes().to_vec()),
        Primitive::F64 => float().map(|value| value.to_le_bytes().to_vec()),
    }
    .ok_or_else(malformed)
}

/// Decodes standard base64 with padding (RFC 4648, section 4).
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut bits, mut bit_count) = (0_u32, 0);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push((bits >> bit_count) as u8);
        }
    }
    Some(bytes)
}

/// One array of a group.
#[derive(Clone, Debug)]
pub struct Array {
    name: String,
    source: ZarrGroup,
    meta: ArrayMeta,
}

impl Array {
    /// Opens the array `name`. Returns `None` if the group has no such array.
    ///
    /// # Errors
    /// The messages name the array.
    /// - `Unsupported`: the array uses a feature that this reader lacks.
    /// - `Invalid`: its `.zarray` does not describe an array.
    /// - Errors of the file system.
    pub fn open(source: &ZarrGroup, name: &str) -> Result<Option<Self>> {
        let Some(bytes) = source.read(&format!("{name}/.zarray"), MAX_METADATA)? else { return Ok(None) };
        let place = format!("{source}: array {name}");
        let text = String::from_utf8(bytes)
            .map_err(|error| Error::invalid(format!(".zarray: expected UTF-8, found {error}")).at(&place))?;
        let meta = ArrayMeta::parse(text).map_err(|error| error.at(&place))?;
        Ok(Some(Self { name: name.to_owned(), source: source.clone(), meta }))
    }

    /// Returns the numbers of the chunks that have no file or object, in ascending order: the first 10,000.
    ///
    /// # Errors
    /// - Errors of the file system or the store.
    pub fn missing(&self) -> Result<Vec<u64>> {
        let chunks = (0..self.chunks()).map(|chunk| (chunk, self.meta.chunk_key(chunk)));
        self.source.missing(&self.name, chunks)
    }

    /// Returns the number of chunks.
    pub(super) fn chunks(&self) -> u64 {
        self.meta.len.div_ceil(self.meta.chunk_len)
    }

    /// Returns the name within the group.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the content of its `.zarray`.
    pub fn meta(&self) -> &ArrayMeta {
        &self.meta
    }

    /// Returns the group of the array.
    pub(super) fn group(&self) -> &ZarrGroup {
        &self.source
    }

    /// Returns the place for error messages.
    pub(super) fn place(&self) -> String {
        format!("{}: array {}", self.source, self.name)
    }

    fn place_of(&self, chunk: u64) -> String {
        format!("{}, chunk {chunk}", self.place())
    }
}

/// Streams the records of one array. Forward reads decode each chunk once.
pub struct Cursor {
    array: Arc<Array>,
    chunk: Option<u64>,
    decoded: Vec<u8>,
    stored: Vec<u8>,
    decoder: Decoder,
}

impl Cursor {
    /// Creates a cursor that has decoded no chunk yet.
    pub fn new(array: Arc<Array>) -> Self {
        Self { array, chunk: None, decoded: Vec::new(), stored: Vec::new(), decoder: Decoder::default() }
    }

    /// Returns the array.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// Passes the bytes of the records in `range` to `show` in order, in pieces that end where chunks end.
    ///
    /// # Errors
    /// - `Corrupt`: records are outside of the array, or a chunk does not decode to its size. The message names array and chunk.
    /// - Errors of `show`.
    pub fn visit(&mut self, range: Range<u64>, mut show: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let len = self.array.meta.len;
        if range.start > range.end || range.end > len {
            return Err(Error::corrupt(format!("{}: expected records inside 0..{len}, found {range:?}", self.array.place())));
        }
        let (chunk_len, record_len) = (self.array.meta.chunk_len, self.array.meta.record_len());
        let mut at = range.start;
        while at < range.end {
            let chunk = at / chunk_len;
            let first = chunk * chunk_len;
            let end = range.end.min(first + chunk_len);
            self.load(chunk)?;
            show(&self.decoded[(at - first) as usize * record_len..(end - first) as usize * record_len])?;
            at = end;
        }
        Ok(())
    }

    /// Returns the bytes of the records in `range`.
    ///
    /// # Errors
    /// - `Corrupt`: records are outside of the array, or a chunk does not decode to its size. The message names array and chunk.
    pub fn records(&mut self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.visit(range, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(bytes)
    }

    fn load(&mut self, chunk: u64) -> Result<()> {
        if self.chunk == Some(chunk) {
            return Ok(());
        }
        self.chunk = None;
        let array = &self.array;
        let expected = array.meta.chunk_bytes();
        if self.decoded.len() != expected {
            // Fresh zero pages use no memory until they are written, so a small malicious chunk does not fill memory.
            self.decoded = vec![0; expected];
        }
        let key = format!("{}/{}", array.name, array.meta.chunk_key(chunk));
        let limit = expected as u64 + expected as u64 / 16 + (64 << 10);
        if !array.source.read_into(&key, limit, &mut self.stored)? {
            if !array.meta.fill.is_empty() {
                self.decoded.chunks_exact_mut(array.meta.fill.len()).for_each(|record| record.copy_from_slice(&array.meta.fill));
            }
        } else if array.meta.compressor.is_some() {
            self.decoder.decode(&self.stored, &mut self.decoded).map_err(|error| error.at(array.place_of(chunk)))?;
        } else if self.stored.len() == expected {
            std::mem::swap(&mut self.stored, &mut self.decoded);
        } else {
            let found = self.stored.len();
            return Err(Error::corrupt(format!(
                "{}: expected {}, found {found}",
                array.place_of(chunk),
                counted(expected, "byte")
            )));
        }
        self.chunk = Some(chunk);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
