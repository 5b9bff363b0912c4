//! The row-group indexes of a Petastorm data set, out of their pickle: which row groups have a value.
//!
//! An import does not need them, because the index of a table answers the same questions row by row. They are read to compare.

use serde_json::{Value, json};
use tetrys::{Error, Result};

use crate::pickle::{Node, NodeId, Object, Pickle};

/// Maximum row groups in all entries of all indexes: entries may share one set.
const MAX_ITEMS: usize = 32 << 20;
/// Maximum bytes of a value, and of all values: entries may share one value.
const MAX_VALUES: usize = 256 << 20;

/// An index: the row groups of each value.
#[derive(Clone, Debug, PartialEq)]
pub struct RowGroupIndex {
    /// Name of the index.
    pub name: String,
    /// Full name of its class: `petastorm.etl.rowgroup_indexers.SingleFieldIndexer`.
    pub class: String,
    /// Field that it indexes.
    pub column: String,
    /// Each value with its type in Python or numpy (`int64`, `str`) and its row groups. `FieldNotNullIndexer` has one entry with
    /// the value null.
    pub entries: Vec<(Value, String, Vec<u64>)>,
}

/// Reads the indexes that a pickle describes.
///
/// # Errors
/// - `Corrupt`, `Unsupported`: the pickle cannot be parsed, or describes something else.
pub fn parse(pickle: &[u8]) -> Result<Vec<RowGroupIndex>> {
    let pickle = Pickle::parse(pickle)?;
    let mut left = Left { items: MAX_ITEMS, bytes: MAX_VALUES };
    let root = pickle.root_id();
    let unlike = || Error::unsupported(format!("expected a dict of indexes, found {}", pickle.described(root)));
    let entries = pickle.entries(root).ok_or_else(unlike);
    let read = entries.and_then(|entries| entries.iter().map(|(name, index)| one(&pickle, *name, *index, &mut left)).collect());
    read.map_err(|error: Error| error.at("pickle of the row-group indexes"))
}

struct Left {
    items: usize,
    bytes: usize,
}

impl Left {
    fn take(&mut self, items: usize, bytes: usize) -> Result<()> {
        match (self.items.checked_sub(items), self.bytes.checked_sub(bytes)) {
            (Some(items), Some(bytes)) => {
                *self = Self { items, bytes };
                Ok(())
            }
            _ => Err(Error::unsupported(format!("over {MAX_ITEMS} row groups in all entries, or {MAX_VALUES} bytes of values"))),
        }
    }
}

fn one(pickle: &Pickle, name: NodeId, id: NodeId, left: &mut Left) -> Result<RowGroupIndex> {
    let text = |id: NodeId, left: &mut Left| -> Result<String> {
        let text =
            pickle.text(id).ok_or_else(|| Error::unsupported(format!("expected a name, found {}", pickle.described(id))))?;
        left.take(1, text.len())?;
        Ok(text.to_owned())
    };
    let name = text(name, left)?;
    let shown: String = name.chars().take(80).collect();
    let object = pickle.object(id).filter(|object| object.class.0.starts_with("petastorm."));
    let unlike =
        || Error::unsupported(format!("index `{shown}`: expected an indexer of Petastorm, found {}", pickle.described(id)));
    let object = object.ok_or_else(unlike)?;
    let attribute = |wanted: &str| {
        let found = object.state.and_then(|state| pickle.attribute(state, wanted));
        found.ok_or_else(|| Error::unsupported(format!("index `{shown}`: expected an attribute `{wanted}`, found none")))
    };
    let column = text(attribute("_column_name")?, left)?;
    let data = attribute("_index_data")?;
    let entries = match pickle.entries(data) {
        Some(entries) => entries.iter().map(|(key, groups)| entry(pickle, *key, *groups, left)).collect::<Result<_>>(),
        None => groups_of(pickle, data, left).map(|groups| vec![(Value::Null, "None".to_owned(), groups)]),
    };
    let entries = entries.map_err(|error| error.at(format!("index `{shown}`")))?;
    Ok(RowGroupIndex { name, class: object.class_name(), column, entries })
}

fn entry(pickle: &Pickle, key: NodeId, groups: NodeId, left: &mut Left) -> Result<(Value, String, Vec<u64>)> {
    let (value, kind) = value(pickle, key, left)?;
    Ok((value, kind, groups_of(pickle, groups, left)?))
}

fn groups_of(pickle: &Pickle, id: NodeId, left: &mut Left) -> Result<Vec<u64>> {
    let unlike = || Error::unsupported(format!("expected a set of row groups, found {}", pickle.described(id)));
    let items = pickle.set(id).ok_or_else(unlike)?;
    left.take(items.len(), 0)?;
    let group = |id: &NodeId| pickle.int(*id).and_then(|group| u64::try_from(group).ok());
    let mut groups: Vec<u64> = items.iter().map(group).collect::<Option<_>>().ok_or_else(unlike)?;
    groups.sort_unstable();
    Ok(groups)
}

/// The value of an entry as JSON, and the name of its type.
fn value(pickle: &Pickle, id: NodeId, left: &mut Left) -> Result<(Value, String)> {
    let unlike = || Error::unsupported(format!("expected a value of an index, found {}", pickle.described(id)));
    let of = |value: Value, kind: &str| Ok((value, kind.to_owned()));
    match pickle.node(id) {
        Node::None => of(Value::Null, "NoneType"),
        Node::Bool(value) => of((*value).into(), "bool"),
        Node::Int(value) => of((*value).into(), "int"),
        Node::Float(value) => of(float(*value), "float"),
        Node::Text(text) => {
            left.take(1, text.len())?;
            of((&**text).into(), "str")
        }
        Node::Bytes(bytes) => {
            left.take(1, bytes.len())?;
            of(latin1(bytes).into(), "bytes")
        }
        Node::Call(_) => {
            let object = pickle.object(id).ok_or_else(unlike)?;
            scalar(pickle, &object, left)?.ok_or_else(unlike)
        }
        _ => Err(unlike()),
    }
}

/// A scalar of numpy (its type and its bytes), a `Decimal` (its text), or a `date` (as `2020-12-31`).
fn scalar(pickle: &Pickle, object: &Object<'_>, left: &mut Left) -> Result<Option<(Value, String)>> {
    let values = object.values.as_slice();
    if object.is("decimal", "Decimal")
        && let [text] = values
        && let Some(text) = pickle.text(*text)
    {
        left.take(1, text.len())?;
        return Ok(Some((text.into(), "Decimal".to_owned())));
    }
    if object.is("datetime", "date")
        && let [bytes] = values
        && let Some(&[high, low, month, day]) = pickle.bytes(*bytes).as_deref()
    {
        let year = u16::from_be_bytes([high, low]);
        return Ok(Some((format!("{year:04}-{month:02}-{day:02}").into(), "date".to_owned())));
    }
    let is_scalar = object.class.1 == "scalar" && matches!(&*object.class.0, "numpy.core.multiarray" | "numpy._core.multiarray");
    let [dtype, bytes] = values else { return Ok(None) };
    let (Some(dtype), Some(bytes), true) = (pickle.object(*dtype), pickle.bytes(*bytes), is_scalar) else { return Ok(None) };
    if !dtype.is("numpy", "dtype") {
        return Ok(None);
    }
    left.take(1, bytes.len())?;
    let state = dtype.state.and_then(|state| pickle.sequence(state)).unwrap_or_default();
    let order = state.get(1).and_then(|order| pickle.text(*order));
    // The unit of times: `({}, (b"us", 1, 1, 1))`.
    let unit = state.get(8).and_then(|unit| pickle.text(*pickle.sequence(*pickle.sequence(*unit)?.get(1)?)?.first()?));
    let unit = unit.filter(|unit| unit.len() <= 8);
    let code = dtype.values.first().and_then(|code| pickle.text(*code));
    Ok(code.and_then(|code| decoded(code, unit.unwrap_or("generic"), order == Some(">"), &bytes)))
}

/// The value of a numpy scalar of the type `code` (`i8`). A time is the number of its units since 1970.
fn decoded(code: &str, unit: &str, big_endian: bool, bytes: &[u8]) -> Option<(Value, String)> {
    let mut ordered = bytes.to_vec();
    if big_endian {
        let unit = if code.starts_with('U') { 4 } else { ordered.len().max(1) };
        if !code.starts_with('S') {
            ordered.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
        }
    }
    let bytes = ordered.as_slice();
    macro_rules! number {
        ($ty:ty, $name:literal) => {
            (Value::from(<$ty>::from_le_bytes(bytes.try_into().ok()?)), $name.to_owned())
        };
    }
    Some(match code {
        "b1" => (Value::from(*bytes.first()? != 0), "bool_".to_owned()),
        "i1" => number!(i8, "int8"),
        "i2" => number!(i16, "int16"),
        "i4" => number!(i32, "int32"),
        "i8" => number!(i64, "int64"),
        "u1" => number!(u8, "uint8"),
        "u2" => number!(u16, "uint16"),
        "u4" => number!(u32, "uint32"),
        "u8" => number!(u64, "uint64"),
        "f2" => (float(half::f16::from_le_bytes(bytes.try_into().ok()?).to_f64()), "float16".to_owned()),
        "f4" => (float(f32::from_le_bytes(bytes.try_into().ok()?).into()), "float32".to_owned()),
        "f8" => (float(f64::from_le_bytes(bytes.try_into().ok()?)), "float64".to_owned()),
        "M8" => (i64::from_le_bytes(bytes.try_into().ok()?).into(), format!("datetime64[{unit}]")),
        "m8" => (i64::from_le_bytes(bytes.try_into().ok()?).into(), format!("timedelta64[{unit}]")),
        _ if code.starts_with('U') => (crate::npy::text(bytes)?.into(), "str_".to_owned()),
        _ if code.starts_with('S') => (latin1(crate::npy::without_nuls(bytes)).into(), "bytes_".to_owned()),
        _ => return None,
    })
}

/// A number as JSON. JSON has no infinities and no NaN: they become the texts `inf`, `-inf` and `nan`, as Python writes them.
fn float(value: f64) -> Value {
    if value.is_finite() { value.into() } else { value.to_string().to_lowercase().into() }
}

/// Bytes as text, one character a byte: JSON has no bytes.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

impl RowGroupIndex {
    /// Returns the index as JSON: `{"class", "column", "values": [[value, type, [row groups]]]}`.
    pub fn to_json(&self) -> Value {
        let values: Vec<Value> = self.entries.iter().map(|(value, kind, groups)| json!([value, kind, groups])).collect();
        json!({"class": self.class, "column": self.column, "values": values})
    }
}

#[cfg(test)]
mod tests;
