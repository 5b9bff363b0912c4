//! Maps the fields of a Petastorm schema to columns: the column type of each field, how its values are decoded, and the
//! properties from which readers restore the schema.

use arrow_schema::{DataType, TimeUnit as ArrowUnit};
use serde_json::{Value, json};
use tetrys::{ColumnType, Error, Result, TimeUnit, schema::Primitive};

use crate::{
    npy::MAX_ARRAY,
    unischema::{Codec, Dtype, Field, Unischema},
};

/// Index column with the ordinal of the row group that a row came from.
pub const ROW_GROUP: &str = "petastorm.row_group";
/// Table property with the name of the schema and the order of its fields.
pub const SCHEMA: &str = "petastorm.schema";
/// Table property with the names of the row-group indexes: `{name: {"class": .., "columns": [field]}}`.
pub const INDEXES: &str = "petastorm.indexes";

/// A field and the columns that it becomes.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Name of the field, of its first column, and of its Parquet column.
    pub(crate) name: String,
    pub(crate) stored: Stored,
    /// Where values come from.
    pub(crate) origin: Origin,
    properties: Vec<(&'static str, Value)>,
}

/// Where the values of a field come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A column of the Parquet files.
    Parquet,
    /// The names of folders: `field=value`.
    Folder,
}

/// How values are stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stored {
    Number(Primitive),
    Text,
    Bytes,
    /// Text with as many digits after the point as the scale.
    Decimal {
        precision: u8,
        scale: i8,
    },
    Date,
    Time(TimeUnit, Option<String>),
    /// The numbers of an array, out of a `.npy` or `.npz` file or a Parquet list.
    Tensor {
        element: Primitive,
        shape: Vec<Option<u32>>,
        file: Array,
    },
    /// The texts of an array, with its shape and the width of its elements.
    Texts {
        bytes: bool,
        shape: Vec<Option<u32>>,
        file: Array,
    },
    /// The file of an array whose elements no column has: numpy's kind and width of an element, and the shape, which are checked.
    File {
        element: (u8, usize),
        shape: Vec<Option<u32>>,
        file: Array,
    },
    /// A picture: its file, or with `decode` its pixels.
    Picture {
        element: Primitive,
        shape: Vec<Option<u32>>,
        decode: bool,
    },
}

/// The form of an array in Parquet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Array {
    Npy,
    Npz,
    List,
}

impl Stored {
    /// Returns the type of the first column.
    pub(crate) fn column_type(&self) -> ColumnType {
        match self {
            Self::Number(primitive) => ColumnType::Scalar(*primitive),
            Self::Text | Self::Decimal { .. } => ColumnType::Utf8,
            Self::Bytes | Self::File { .. } | Self::Picture { decode: false, .. } => ColumnType::Binary,
            Self::Date => ColumnType::Date,
            Self::Time(unit, zone) => ColumnType::Timestamp(*unit, zone.clone()),
            Self::Tensor { element, shape, .. } if shape.is_empty() => ColumnType::Scalar(*element),
            Self::Tensor { element, shape, .. } | Self::Picture { element, shape, .. } => {
                ColumnType::tensor(*element, shape.clone())
            }
            Self::Texts { bytes: true, .. } => ColumnType::list(ColumnType::Binary),
            Self::Texts { .. } => ColumnType::list(ColumnType::Utf8),
        }
    }
}

impl Column {
    /// Returns the names and types of the columns, the main one first.
    pub(crate) fn columns(&self) -> Vec<(String, ColumnType)> {
        let mut columns = vec![(self.name.clone(), self.stored.column_type())];
        if let Stored::Texts { shape, file: Array::Npy | Array::Npz, .. } = &self.stored {
            let dimensions = u32::try_from(shape.len()).unwrap_or(u32::MAX);
            columns.push((format!("{}.shape", self.name), ColumnType::tensor(Primitive::I32, [Some(dimensions)])));
            columns.push((format!("{}.width", self.name), ColumnType::Scalar(Primitive::I32)));
        }
        columns
    }

    #[cfg(test)]
    pub(crate) fn for_tests(name: &str, stored: Stored) -> Self {
        Self { name: name.to_owned(), stored, origin: Origin::Parquet, properties: Vec::new() }
    }

    /// Returns the properties of the main column.
    pub(crate) fn properties(&self) -> &[(&'static str, Value)] {
        &self.properties
    }
}

/// Returns the columns of a schema. `parquet` returns the type of a Parquet column; `folders` are the fields in names of folders.
/// Each sentence of the second result warns of a field that is kept in another form than its codec says.
///
/// # Errors
/// - `Invalid`: a field is neither in the Parquet files nor in the names of folders, or its type does not fit. The message names
///   the
///   field.
pub(crate) fn plan(
    schema: &Unischema,
    parquet: impl Fn(&str) -> Option<DataType>,
    folders: &[String],
    decode: bool,
) -> Result<(Vec<Column>, Vec<String>)> {
    let mut warnings = Vec::new();
    let column = |field: &Field| {
        let (origin, found) = match parquet(&field.name) {
            Some(found) => (Origin::Parquet, found),
            None if folders.contains(&field.name) => (Origin::Folder, DataType::Utf8),
            None => {
                return Err(Error::invalid("expected a Parquet column or a folder of this name, found neither"));
            }
        };
        let stored = stored(field, &found, decode, &mut warnings)?;
        if let ColumnType::Tensor { element, shape } = stored.column_type() {
            let bytes =
                shape.iter().try_fold(element.width() as u64, |bytes, extent| bytes.checked_mul(u64::from(extent.unwrap_or(1))));
            if bytes.is_none_or(|bytes| bytes > MAX_ARRAY) {
                return Err(Error::unsupported(format!("an array of shape {shape:?}: expected at most {MAX_ARRAY} bytes")));
            }
        }
        let mut properties = vec![
            ("petastorm.dtype", field.dtype.name().into()),
            ("petastorm.shape", json!(field.shape)),
            ("petastorm.nullable", field.nullable.into()),
            ("petastorm.codec", field.codec.to_json()),
        ];
        if let Stored::Decimal { precision, scale } = stored {
            let bits = if precision > 38 { 256 } else { 128 };
            properties.extend([
                ("arrow", format!("decimal{bits}").into()),
                ("precision", precision.into()),
                ("scale", scale.into()),
            ]);
        }
        Ok(Column { name: field.name.clone(), stored, origin, properties })
    };
    let mut column = column;
    let columns = schema.fields.iter().map(|field| column(field).map_err(|error| error.at(format!("field `{}`", field.name))));
    let columns = columns.collect::<Result<_>>()?;
    Ok((columns, warnings))
}

fn stored(field: &Field, found: &DataType, decode: bool, warnings: &mut Vec<String>) -> Result<Stored> {
    // Petastorm takes 0 as any extent.
    let shape: Vec<Option<u32>> = field.shape.iter().map(|extent| extent.filter(|extent| *extent > 0)).collect();
    let file = if field.codec == Codec::CompressedNdarray { Array::Npz } else { Array::Npy };
    match (&field.codec, &field.dtype) {
        (Codec::None | Codec::Scalar(_), _) if shape.is_empty() => scalar(field, found),
        (Codec::None | Codec::Scalar(_), _) => native(found),
        (Codec::Ndarray | Codec::CompressedNdarray, Dtype::Primitive(element, _)) => {
            Ok(Stored::Tensor { element: *element, shape, file })
        }
        (Codec::Ndarray | Codec::CompressedNdarray, Dtype::Text(_)) if !shape.is_empty() => {
            Ok(Stored::Texts { bytes: false, shape, file })
        }
        (Codec::Ndarray | Codec::CompressedNdarray, Dtype::Bytes(_)) if !shape.is_empty() => {
            Ok(Stored::Texts { bytes: true, shape, file })
        }
        (Codec::Ndarray | Codec::CompressedNdarray, dtype) => {
            let ending = if file == Array::Npz { ".npz" } else { ".npy" };
            warnings.push(format!("field `{}`: an array of {} is kept as its {ending} file", field.name, dtype.name()));
            let element = match dtype.name() {
                "complex64" => (b'c', 8),
                "complex128" => (b'c', 16),
                "datetime64" => (b'M', 8),
                "timedelta64" => (b'm', 8),
                _ => return Ok(Stored::Bytes),
            };
            Ok(Stored::File { element, shape, file })
        }
        (Codec::Image(format, _), Dtype::Primitive(element @ (Primitive::U8 | Primitive::U16), _))
            if matches!(format.as_str(), "png" | "jpeg" | "jpg") && matches!(shape.len(), 2 | 3) =>
        {
            Ok(Stored::Picture { element: *element, shape, decode })
        }
        (Codec::Image(format, _), dtype) => {
            if decode {
                let (name, dtype) = (&field.name, dtype.name());
                warnings.push(format!("field `{name}`: a picture of format {format} and type {dtype} is kept as its file"));
            }
            Ok(Stored::Bytes)
        }
        (Codec::Other(class), _) => {
            warnings.push(format!("field `{}`: codec {class} is unknown: values are kept as stored", field.name));
            native(found)
        }
    }
}

/// Returns how a scalar of the declared type is stored.
fn scalar(field: &Field, found: &DataType) -> Result<Stored> {
    match &field.dtype {
        Dtype::Primitive(primitive, _) => Ok(Stored::Number(*primitive)),
        Dtype::Text(_) => Ok(Stored::Text),
        Dtype::Bytes(_) => Ok(Stored::Bytes),
        Dtype::Decimal => match native(found)? {
            decimal @ Stored::Decimal { .. } => Ok(decimal),
            // Text holds any digits, and so do the names of folders.
            _ => Ok(Stored::Text),
        },
        Dtype::Time | Dtype::Other(_) => native(found),
    }
}

/// Returns how the values of a Parquet column are stored as they are.
fn native(found: &DataType) -> Result<Stored> {
    let unit = |unit: &ArrowUnit| match unit {
        ArrowUnit::Second => TimeUnit::Second,
        ArrowUnit::Millisecond => TimeUnit::Millisecond,
        ArrowUnit::Microsecond => TimeUnit::Microsecond,
        ArrowUnit::Nanosecond => TimeUnit::Nanosecond,
    };
    let number =
        |ty: &DataType| Primitive::ALL.into_iter().find(|primitive| *primitive != Primitive::Bf16 && primitive.arrow() == *ty);
    let shape = || vec![None];
    Ok(match found {
        DataType::Utf8 | DataType::LargeUtf8 => Stored::Text,
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => Stored::Bytes,
        DataType::Date32 => Stored::Date,
        DataType::Timestamp(ticks, zone) => Stored::Time(unit(ticks), zone.as_deref().map(str::to_owned)),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => Stored::Decimal { precision: *precision, scale: *scale },
        DataType::List(item) | DataType::LargeList(item) => match (item.data_type(), number(item.data_type())) {
            (_, Some(element)) => Stored::Tensor { element, shape: shape(), file: Array::List },
            (DataType::Utf8 | DataType::LargeUtf8, _) => Stored::Texts { bytes: false, shape: shape(), file: Array::List },
            (DataType::Binary | DataType::LargeBinary, _) => Stored::Texts { bytes: true, shape: shape(), file: Array::List },
            (other, _) => return Err(Error::unsupported(format!("a Parquet list of {other}: expected numbers, text or bytes"))),
        },
        other => match number(other) {
            Some(primitive) => Stored::Number(primitive),
            None => return Err(Error::unsupported(format!("a Parquet column of type {other}: Petastorm has no such values"))),
        },
    })
}

/// Checks a shape against the declared one.
pub(crate) fn shape_fits(found: &[u64], declared: &[Option<u32>]) -> Result<()> {
    let fits = |(found, declared): (&u64, &Option<u32>)| declared.is_none_or(|declared| u64::from(declared) == *found);
    if found.len() == declared.len() && found.iter().zip(declared).all(fits) {
        return Ok(());
    }
    let declared: Vec<String> =
        declared.iter().map(|extent| extent.map_or("?".to_owned(), |extent| extent.to_string())).collect();
    Err(Error::invalid(format!("expected an array of shape [{}], found {found:?}", declared.join(", "))))
}
