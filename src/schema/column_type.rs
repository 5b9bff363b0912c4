//! The type of a column, its Arrow type in memory and its form as text (`f32[?,4]`). Follows `format-spec/manifest.md#types`.

use std::{fmt, str::FromStr, sync::Arc};

use arrow_schema::{DataType, Field};

use crate::error::{Error, Result, short};

/// The element of a scalar or a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the types")]
pub enum Primitive {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Primitive {
    /// All primitives, in the order of the format specification.
    pub const ALL: [Self; 13] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
    ];

    /// Returns the bytes of one stored element (a bool takes one).
    pub fn width(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Returns the name in schemas: `f32`, `u8`, `bool`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Returns the Arrow type of one element. Arrow has no bf16: its bits are read as `UInt16`.
    pub fn arrow(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::I8 => DataType::Int8,
            Self::I16 => DataType::Int16,
            Self::I32 => DataType::Int32,
            Self::I64 => DataType::Int64,
            Self::U8 => DataType::UInt8,
            Self::U16 => DataType::UInt16,
            Self::U32 => DataType::UInt32,
            Self::U64 => DataType::UInt64,
            Self::F16 => DataType::Float16,
            Self::Bf16 => DataType::UInt16,
            Self::F32 => DataType::Float32,
            Self::F64 => DataType::Float64,
        }
    }
}

/// The unit of a timestamp or duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the units")]
pub enum TimeUnit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl TimeUnit {
    fn name(self) -> &'static str {
        match self {
            Self::Second => "s",
            Self::Millisecond => "ms",
            Self::Microsecond => "us",
            Self::Nanosecond => "ns",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Second, Self::Millisecond, Self::Microsecond, Self::Nanosecond].into_iter().find(|unit| unit.name() == text)
    }

    /// Returns the number of ticks in a second.
    pub(crate) fn per_second(self) -> i64 {
        match self {
            Self::Second => 1,
            Self::Millisecond => 1_000,
            Self::Microsecond => 1_000_000,
            Self::Nanosecond => 1_000_000_000,
        }
    }

    /// Returns the length of a tick in nanoseconds.
    pub(crate) fn nanoseconds(self) -> i64 {
        1_000_000_000 / self.per_second()
    }

    /// Returns the unit of Arrow times in `unit`.
    pub(crate) fn of_arrow(unit: arrow_schema::TimeUnit) -> Self {
        match unit {
            arrow_schema::TimeUnit::Second => Self::Second,
            arrow_schema::TimeUnit::Millisecond => Self::Millisecond,
            arrow_schema::TimeUnit::Microsecond => Self::Microsecond,
            arrow_schema::TimeUnit::Nanosecond => Self::Nanosecond,
        }
    }

    fn arrow(self) -> arrow_schema::TimeUnit {
        match self {
            Self::Second => arrow_schema::TimeUnit::Second,
            Self::Millisecond => arrow_schema::TimeUnit::Millisecond,
            Self::Microsecond => arrow_schema::TimeUnit::Microsecond,
            Self::Nanosecond => arrow_schema::TimeUnit::Nanosecond,
        }
    }
}

/// The type of a column.
///
/// Its text form in schemas: `i64`, `utf8`, `binary`, `date`, `timestamp[ns]`, `timestamp[us,UTC]`, `duration[ms]`,
/// `list<utf8>`, `f32[3,3]` (fixed shape) and `f32[?,4]` (`?`: the extent differs from row to row).
///
/// ```
/// use tetrys::{ColumnType, schema::Primitive};
/// let points: ColumnType = "f32[?,4]".parse()?;
/// assert_eq!(points, ColumnType::tensor(Primitive::F32, [None, Some(4)]));
/// assert_eq!(points.to_string(), "f32[?,4]");
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColumnType {
    /// One element per row.
    Scalar(Primitive),
    /// `i32` days since 1970-01-01.
    Date,
    /// `i64` units since the Unix epoch, with a time zone (an IANA name or an offset) or without one.
    Timestamp(TimeUnit, Option<String>),
    /// `i64` units.
    Duration(TimeUnit),
    /// UTF-8 text.
    Utf8,
    /// UTF-8 text with few distinct values: stored as text, a categorical column in the frame.
    Categorical,
    /// Bytes of any content.
    Binary,
    /// Any number of values of one type.
    List(Box<ColumnType>),
    /// An n-dimensional array in C order; the extent of a `None` dimension differs from row to row.
    Tensor {
        /// Type of every element.
        element: Primitive,
        /// Extent of each dimension, outermost first.
        shape: Vec<Option<u32>>,
    },
}

impl ColumnType {
    /// Returns the type of a tensor of `element` with the given extents, outermost first.
    pub fn tensor(element: Primitive, shape: impl Into<Vec<Option<u32>>>) -> Self {
        Self::Tensor { element, shape: shape.into() }
    }

    /// Returns the type of a list of `item`.
    pub fn list(item: Self) -> Self {
        Self::List(Box::new(item))
    }

    /// Returns the bytes of one element of the value stream (1 for text and bytes).
    pub fn element_width(&self) -> usize {
        match self {
            Self::Scalar(element) | Self::Tensor { element, .. } => element.width(),
            Self::Date => 4,
            Self::Timestamp(..) | Self::Duration(_) => 8,
            Self::Utf8 | Self::Categorical | Self::Binary => 1,
            Self::List(item) => item.element_width(),
        }
    }

    /// Whether a column of this type may be in the index.
    pub fn is_indexable(&self) -> bool {
        match self {
            Self::Scalar(element) => !matches!(element, Primitive::F16 | Primitive::Bf16),
            Self::Date | Self::Timestamp(..) | Self::Duration(_) | Self::Utf8 | Self::Categorical => true,
            Self::Binary | Self::List(_) | Self::Tensor { .. } => false,
        }
    }

    /// Whether an index column of this type may have bloom filters. Equal floats may have different bytes (-0.0 and 0.0), and a
    /// boolean has two values.
    pub fn may_have_bloom_filter(&self) -> bool {
        match self {
            Self::Scalar(Primitive::Bool | Primitive::F32 | Primitive::F64) => false,
            _ => self.is_indexable(),
        }
    }

    /// Returns the Arrow type of this column in results of reads. Offsets have 64 bits. A tensor of fixed shape is a
    /// `FixedSizeList`. A tensor of variable shape is `Struct{data: LargeList, shape: FixedSizeList<Int32>}`, the storage type of
    /// Arrow's canonical tensor extension.
    pub fn arrow(&self) -> DataType {
        match self {
            Self::Scalar(element) => element.arrow(),
            Self::Date => DataType::Date32,
            Self::Timestamp(unit, zone) => DataType::Timestamp(unit.arrow(), zone.as_deref().map(Arc::from)),
            Self::Duration(unit) => DataType::Duration(unit.arrow()),
            Self::Utf8 | Self::Categorical => DataType::LargeUtf8,
            Self::Binary => DataType::LargeBinary,
            Self::List(item) => DataType::LargeList(Arc::new(Field::new("item", item.arrow(), true))),
            Self::Tensor { element, shape } => match self.fixed_elements() {
                Some(elements) => DataType::FixedSizeList(
                    Arc::new(Field::new("item", element.arrow(), true)),
                    i32::try_from(elements).unwrap_or(i32::MAX),
                ),
                None => DataType::Struct(
                    vec![
                        Field::new("data", DataType::LargeList(Arc::new(Field::new("item", element.arrow(), true))), true),
                        Field::new(
                            "shape",
                            DataType::FixedSizeList(
                                Arc::new(Field::new("item", DataType::Int32, true)),
                                i32::try_from(shape.len()).unwrap_or(i32::MAX),
                            ),
                            true,
                        ),
                    ]
                    .into(),
                ),
            },
        }
    }

    /// Returns the Arrow field of this column in results of reads; for tensors, the metadata has the canonical extension name.
    pub fn arrow_field(&self, name: &str) -> Field {
        let field = Field::new(name, self.arrow(), true);
        let Self::Tensor { shape, .. } = self else { return field };
        let (extension, metadata) = match self.fixed_elements() {
            Some(_) => ("arrow.fixed_shape_tensor", serde_json::json!({"shape": shape})),
            None => ("arrow.variable_shape_tensor", serde_json::json!({"uniform_shape": shape})),
        };
        field.with_metadata([
            ("ARROW:extension:name".to_owned(), extension.to_owned()),
            ("ARROW:extension:metadata".to_owned(), metadata.to_string()),
        ])
    }

    /// Returns the number of elements of one value if it is the same in every row; `None` for variable shapes, text, bytes
    /// and lists.
    pub fn fixed_elements(&self) -> Option<u64> {
        match self {
            Self::Scalar(_) | Self::Date | Self::Timestamp(..) | Self::Duration(_) => Some(1),
            Self::Utf8 | Self::Categorical | Self::Binary | Self::List(_) => None,
            Self::Tensor { shape, .. } => {
                shape.iter().try_fold(1_u64, |product, extent| product.checked_mul(u64::from((*extent)?)))
            }
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(element) => f.write_str(element.name()),
            Self::Date => f.write_str("date"),
            Self::Timestamp(unit, None) => write!(f, "timestamp[{}]", unit.name()),
            Self::Timestamp(unit, Some(zone)) => write!(f, "timestamp[{},{zone}]", unit.name()),
            Self::Duration(unit) => write!(f, "duration[{}]", unit.name()),
            Self::Utf8 => f.write_str("utf8"),
            Self::Categorical => f.write_str("categorical"),
            Self::Binary => f.write_str("binary"),
            Self::List(item) => write!(f, "list<{item}>"),
            Self::Tensor { element, shape } => {
                write!(f, "{}[", element.name())?;
                for (axis, extent) in shape.iter().enumerate() {
                    if axis > 0 {
                        f.write_str(",")?;
                    }
                    match extent {
                        Some(extent) => write!(f, "{extent}")?,
                        None => f.write_str("?")?,
                    }
                }
                f.write_str("]")
            }
        }
    }
}

/// Maximum nesting of lists, so that a hostile type cannot exhaust the stack.
const MAX_NESTING: usize = 8;
/// Maximum number of dimensions of a tensor.
const MAX_RANK: usize = 32;

impl FromStr for ColumnType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text, 0).ok_or_else(|| {
            Error::unsupported(format!(
                "column type `{}`: expected one of bool, i8..i64, u8..u64, f16, bf16, f32, f64, date, timestamp[unit], \
                 timestamp[unit,zone], duration[unit], utf8, categorical, binary, list<type>, element[extent,..]",
                short(text)
            ))
        })
    }
}

fn parse(text: &str, depth: usize) -> Option<ColumnType> {
    if depth > MAX_NESTING {
        return None;
    }
    match text {
        "date" => return Some(ColumnType::Date),
        "utf8" => return Some(ColumnType::Utf8),
        "categorical" => return Some(ColumnType::Categorical),
        "binary" => return Some(ColumnType::Binary),
        _ => {}
    }
    if let Some(item) = text.strip_prefix("list<").and_then(|rest| rest.strip_suffix('>')) {
        return parse(item, depth + 1).map(ColumnType::list);
    }
    let primitive = |name: &str| Primitive::ALL.into_iter().find(|primitive| primitive.name() == name);
    let Some((name, arguments)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) else {
        return primitive(text).map(ColumnType::Scalar);
    };
    match name {
        "timestamp" => match arguments.split_once(',') {
            None => Some(ColumnType::Timestamp(TimeUnit::parse(arguments)?, None)),
            Some((_, "")) => None,
            Some((unit, zone)) => Some(ColumnType::Timestamp(TimeUnit::parse(unit)?, Some(zone.to_owned()))),
        },
        "duration" => Some(ColumnType::Duration(TimeUnit::parse(arguments)?)),
        _ => {
            let element = primitive(name)?;
            if arguments.is_empty() {
                return Some(ColumnType::tensor(element, []));
            }
            let shape = arguments
                .split(',')
                .map(|extent| match extent {
                    "?" => Some(None),
                    // `u32::parse` also accepts `+4` and `04`, but each shape has exactly one spelling.
                    _ if extent != "0" && !extent.starts_with(|c: char| ('1'..='9').contains(&c)) => None,
                    _ => extent.parse::<u32>().ok().filter(|extent| *extent <= i32::MAX as u32).map(Some),
                })
                .collect::<Option<Vec<_>>>()?;
            (shape.len() <= MAX_RANK).then_some(ColumnType::Tensor { element, shape })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_type_are_one_to_one() {
        for text in [
            "bool",
            "i64",
            "f16",
            "bf16",
            "bf16[?,2]",
            "date",
            "timestamp[ns]",
            "timestamp[us,Europe/Berlin]",
            "duration[ms]",
            "utf8",
            "categorical",
            "binary",
            "list<utf8>",
            "list<list<f32[?,4]>>",
            "f32[]",
            "f64[3,3]",
            "u8[?,?,3]",
            "f32[0]",
        ] {
            assert_eq!(text.parse::<ColumnType>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_wrong_type_is_refused_by_name() {
        for text in
            ["", "f33", "f32[", "f32[+4]", "f32[04]", "f32[4294967296]", "list<>", "timestamp[]", "timestamp[ns,]", "utf8[3]"]
        {
            let error = text.parse::<ColumnType>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
        }
        let deep = format!("{}i8{}", "list<".repeat(100_000), ">".repeat(100_000));
        assert!(deep.parse::<ColumnType>().is_err());
    }
}
