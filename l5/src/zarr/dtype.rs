//! The record type of a zarr v2 array. The `dtype` of `.zarray` is a NumPy type string (`"<u4"`) or a list of fields
//! (`["centroid", "<f8", [2]]`). Records are packed and little-endian. Types are not widened; a type without counterpart is an
//! error that names it.

use std::fmt;

use serde_json::Value;

use crate::count::counted;
use tetrys::{
    error::{Error, Result},
    schema::Primitive,
};

/// Maximum bytes of a record.
const MAX_RECORD: usize = 1 << 20;
/// Maximum fields of a record.
const MAX_FIELDS: usize = 4096;

/// One element of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A number, or a bool of one byte with the value 0 or 1.
    Primitive(Primitive),
    /// UCS-4 text of a fixed number of characters, padded with NULs.
    Text {
        /// Number of characters, 4 bytes each.
        characters: usize,
    },
}

impl Element {
    /// Returns the bytes of one element.
    pub fn width(self) -> usize {
        match self {
            Self::Primitive(primitive) => primitive.width(),
            Self::Text { characters } => characters * 4,
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let unsupported = || {
            Error::unsupported(format!("dtype `{text}`: expected little-endian b1, i1..i8, u1..u8, f2..f8 or U, found `{text}`"))
        };
        let (order, kind) = text.split_at_checked(1).ok_or_else(unsupported)?;
        let (kind, size) = kind.split_at_checked(1).ok_or_else(unsupported)?;
        if !size.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(unsupported());
        }
        let size: usize = size.parse().map_err(|_| unsupported())?;
        let element = match (kind, size) {
            ("b", 1) => Self::Primitive(Primitive::Bool),
            ("i", 1) => Self::Primitive(Primitive::I8),
            ("i", 2) => Self::Primitive(Primitive::I16),
            ("i", 4) => Self::Primitive(Primitive::I32),
            ("i", 8) => Self::Primitive(Primitive::I64),
            ("u", 1) => Self::Primitive(Primitive::U8),
            ("u", 2) => Self::Primitive(Primitive::U16),
            ("u", 4) => Self::Primitive(Primitive::U32),
            ("u", 8) => Self::Primitive(Primitive::U64),
            ("f", 2) => Self::Primitive(Primitive::F16),
            ("f", 4) => Self::Primitive(Primitive::F32),
            ("f", 8) => Self::Primitive(Primitive::F64),
            ("U", 1..=MAX_RECORD) => Self::Text { characters: size },
            _ => return Err(unsupported()),
        };
        let one_byte = matches!(element, Self::Primitive(primitive) if primitive.width() == 1);
        match order {
            "<" => Ok(element),
            "|" if one_byte => Ok(element),
            ">" if one_byte => Ok(element),
            ">" => Err(Error::unsupported(format!("dtype `{text}`: expected little-endian `<`, found big-endian `>`"))),
            _ => Err(unsupported()),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primitive(primitive) => f.write_str(primitive.name()),
            Self::Text { characters } => write!(f, "U{characters}"),
        }
    }
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, unique within the record. Empty for a plain dtype.
    pub name: String,
    /// Offset in the record, in bytes.
    pub offset: usize,
    /// Type of its values.
    pub element: Element,
    /// Extents of the sub-array, the outermost first. Empty for a single element.
    pub shape: Vec<u32>,
    /// Bytes of the whole field.
    pub len: usize,
}

impl Field {
    /// Returns the field's bytes within a record.
    pub fn of<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        &record[self.offset..self.offset + self.len]
    }

    /// Returns the type as errors show it: `f64[3,3]`.
    pub fn type_name(&self) -> String {
        match self.shape.as_slice() {
            [] => self.element.to_string(),
            shape => {
                let extents: Vec<String> = shape.iter().map(u32::to_string).collect();
                format!("{}[{}]", self.element, extents.join(","))
            }
        }
    }
}

/// The layout of one record.
///
/// ```
/// use tetrys_l5::zarr::dtype::Dtype;
/// let dtype = Dtype::parse(&serde_json::json!([["centroid", "<f8", [2]], ["yaw", "<f4"]]))?;
/// assert_eq!(dtype.record_len(), 20);
/// assert_eq!(dtype.field("yaw").map(|yaw| (yaw.offset, yaw.type_name())), Some((16, "f32".to_owned())));
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dtype {
    fields: Vec<Field>,
    record_len: usize,
    structured: bool,
}

impl Dtype {
    /// Parses the `dtype` of a `.zarray`.
    ///
    /// # Errors
    /// The messages name the field, and what was expected and found.
    /// - `Unsupported`: a type has no counterpart (big-endian, complex, bytes, objects, nested records).
    /// - `Invalid`: the value is not a dtype, a field name is empty or occurs twice, or a record is longer than 1 MiB.
    pub fn parse(dtype: &Value) -> Result<Self> {
        match dtype {
            Value::String(text) => {
                let element = Element::parse(text)?;
                let len = element.width();
                let field = Field { name: String::new(), offset: 0, element, shape: Vec::new(), len };
                Ok(Self { record_len: checked_record(len)?, fields: vec![field], structured: false })
            }
            Value::Array(list) if !list.is_empty() && list.len() <= MAX_FIELDS => Self::parse_fields(list),
            other => Err(Error::invalid(format!(
                "dtype: expected a type string or a list of 1 to {MAX_FIELDS} fields, found {}",
                short(other)
            ))),
        }
    }

    fn parse_fields(list: &[Value]) -> Result<Self> {
        let mut fields: Vec<Field> = Vec::with_capacity(list.len());
        let mut record_len = 0_usize;
        for entry in list {
            let malformed =
                || Error::invalid(format!("dtype: expected [name, type] or [name, type, shape], found {}", short(entry)));
            let (name, ty, shape) = match entry.as_array().map(Vec::as_slice) {
                Some([Value::String(name), ty]) => (name, ty, None),
                Some([Value::String(name), ty, Value::Array(shape)]) => (name, ty, Some(shape)),
                _ => return Err(malformed()),
            };
            let place = format!("field `{name}`");
            let Value::String(ty) = ty else {
                return Err(Error::unsupported(format!("{place}: expected a type string, found {}", short(ty))));
            };
            if name.is_empty() || fields.iter().any(|field| field.name == *name) {
                return Err(Error::invalid(format!("dtype: {place} is empty or occurs twice")));
            }
            let element = Element::parse(ty).map_err(|error| error.at(&place))?;
            let extents = shape.map_or(&[][..], Vec::as_slice).iter();
            let shape = extents
                .map(|extent| extent.as_u64().and_then(|extent| u32::try_from(extent).ok()).filter(|extent| *extent > 0))
                .collect::<Option<Vec<u32>>>()
                .ok_or_else(malformed)?;
            let len = shape
                .iter()
                .try_fold(element.width(), |len, extent| len.checked_mul(*extent as usize).filter(|len| *len <= MAX_RECORD))
                .ok_or_else(|| Error::invalid(format!("{place}: expected at most {MAX_RECORD} bytes, found {}", short(entry))))?;
            fields.push(Field { name: name.clone(), offset: record_len, element, shape, len });
            record_len = checked_record(record_len + len)?;
        }
        Ok(Self { fields, record_len, structured: true })
    }

    /// Returns the bytes of one record.
    pub fn record_len(&self) -> usize {
        self.record_len
    }

    /// Returns the fields in record order: one field with an empty name for a plain dtype.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether records have named fields.
    pub fn is_structured(&self) -> bool {
        self.structured
    }

    /// Returns the field with this name, if there is one.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the field with this name.
    ///
    /// # Errors
    /// - `Unsupported`: there is no such field. The message names the existing fields.
    pub fn require(&self, name: &str) -> Result<&Field> {
        self.field(name).ok_or_else(|| {
            let names: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
            Error::unsupported(format!("expected a field `{name}`, found {}", names.join(", ")))
        })
    }
}

fn checked_record(len: usize) -> Result<usize> {
    if len > MAX_RECORD {
        return Err(Error::invalid(format!("dtype: expected records of at most {MAX_RECORD} bytes, found {len} and more")));
    }
    Ok(len)
}

/// Returns the start of a JSON value, short enough for a message.
pub(super) fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

/// Decodes UCS-4 text without its NUL padding.
///
/// # Errors
/// - `Corrupt`: a character is not a code point. The message names both.
pub(super) fn decode_text(bytes: &[u8], text: &mut String) -> Result<()> {
    let end = bytes.chunks_exact(4).rposition(|code| code != [0; 4]).map_or(0, |last| (last + 1) * 4);
    for (number, code) in bytes[..end].chunks_exact(4).enumerate() {
        let code = u32::from_le_bytes([code[0], code[1], code[2], code[3]]);
        text.push(
            char::from_u32(code)
                .ok_or_else(|| Error::corrupt(format!("character {number}: expected a Unicode code point, found {code:#x}")))?,
        );
    }
    Ok(())
}

/// Encodes `text` as UCS-4 into `bytes` and pads it with NULs. The inverse of [`decode_text`].
///
/// # Errors
/// - `Invalid`: the text is longer than the field.
pub(super) fn encode_text(text: &str, bytes: &mut [u8]) -> Result<()> {
    let room = bytes.len() / 4;
    let found = text.chars().count();
    if found > room {
        return Err(Error::invalid(format!("text `{text}`: expected at most {}, found {found}", counted(room, "character"))));
    }
    bytes.fill(0);
    for (code, character) in bytes.chunks_exact_mut(4).zip(text.chars()) {
        code.copy_from_slice(&u32::from(character).to_le_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tetrys::error::ErrorKind;

    #[test]
    fn fields_are_packed_in_order() {
        let dtype = Dtype::parse(&json!([["host", "<U16"], ["rotation", "<f8", [3, 3]], ["seen", "|b1"]])).unwrap();
        let layout: Vec<_> = dtype.fields().iter().map(|field| (field.offset, field.len, field.type_name())).collect();
        assert_eq!(layout, [(0, 64, "U16".into()), (64, 72, "f64[3,3]".into()), (136, 1, "bool".into())]);
        assert_eq!(dtype.record_len(), 137);
    }

    #[test]
    fn unknown_types_are_refused_by_field_expected_and_found() {
        for (ty, kind) in [("<c8", ErrorKind::Unsupported), (">f4", ErrorKind::Unsupported), ("|O", ErrorKind::Unsupported)] {
            let error = Dtype::parse(&json!([["yaw", ty]])).unwrap_err();
            assert_eq!(error.kind(), kind);
            assert!(error.to_string().contains("field `yaw`") && error.to_string().contains(ty), "{error}");
            assert!(error.to_string().contains("expected"), "{error}");
        }
    }

    #[test]
    fn lists_that_are_no_dtype_are_refused_without_a_panic() {
        let cases = [
            json!([]),
            json!(7),
            json!([["a"]]),
            json!([["a", "<f4", [0]]]),
            json!([["a", "<f4", [-1]]]),
            json!([["a", "<f4", [4294967295_u32, 4294967295_u32, 4294967295_u32]]]),
            json!([["a", "<f4"], ["a", "<f4"]]),
            json!([["", "<f4"]]),
            json!([["a", [["b", "<f4"]]]]),
            json!("<U99999999999999999999"),
            json!("<U4000000"),
            json!("é4"),
            json!("<"),
            json!(""),
        ];
        for case in cases {
            assert!(Dtype::parse(&case).is_err(), "{case}");
        }
    }

    #[test]
    fn text_keeps_inner_nuls_and_drops_padding() {
        let mut bytes = [0; 16];
        encode_text("a\0+", &mut bytes).unwrap();
        let mut text = String::new();
        decode_text(&bytes, &mut text).unwrap();
        assert_eq!(text, "a\0+");
        assert!(encode_text("abcde", &mut bytes).is_err());
        bytes[4..8].copy_from_slice(&0xd800_u32.to_le_bytes());
        let error = decode_text(&bytes, &mut text).unwrap_err();
        assert_eq!(error.to_string(), "character 1: expected a Unicode code point, found 0xd800");
    }
}
