//! The schema of a Petastorm data set (`Unischema`), out of its pickle: field names, numpy types, shapes, codecs.

use serde_json::{Map, Value, json};
use tetrys::{Error, Result, schema::Primitive};

use crate::pickle::{Node, NodeId, Object, Pickle};

/// Maximum fields of a schema.
const MAX_FIELDS: usize = 1 << 16;
/// Maximum bytes of the name of a field: that of a column.
const MAX_NAME: usize = 1024;
/// Maximum dimensions, as in numpy.
const MAX_DIMENSIONS: usize = 32;
/// Maximum attributes of a codec or of a Spark type.
const MAX_ATTRIBUTES: usize = 64;

/// A schema: the name and the fields, in their stored order.
#[derive(Clone, Debug, PartialEq)]
pub struct Unischema {
    /// Name of the schema.
    pub name: String,
    /// Fields in stored order.
    pub fields: Vec<Field>,
}

/// A field of a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name of the field and of its Parquet column.
    pub name: String,
    /// Type of the values.
    pub dtype: Dtype,
    /// Extents; `None` is any extent. A scalar has no dimensions.
    pub shape: Vec<Option<u32>>,
    /// How values are stored.
    pub codec: Codec,
    /// Whether values may be null, as declared.
    pub nullable: bool,
}

/// The type of a field's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// A number or bool of numpy, or `int`, `float` or `bool` of Python.
    Primitive(Primitive, String),
    /// Text: `str_` or `str`.
    Text(String),
    /// Bytes: `bytes_` or `bytes`.
    Bytes(String),
    /// `decimal.Decimal`.
    Decimal,
    /// `datetime64`.
    Time,
    /// Any other type, by its name.
    Other(String),
}

/// How the values of a field are stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Codec {
    /// As the Parquet column has them.
    None,
    /// As the Parquet column has them, with the class and the attributes of their Spark type.
    Scalar(Option<SparkType>),
    /// As `.npy` files.
    Ndarray,
    /// As `.npz` files.
    CompressedNdarray,
    /// As pictures: the format without a dot (`png`), and the quality.
    Image(String, i64),
    /// By another class, of this name.
    Other(String),
}

/// A type of Spark: its class and attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct SparkType {
    /// Full name of the class.
    pub class: String,
    /// Attributes: numbers, bools and texts.
    pub attributes: Map<String, Value>,
}

impl Unischema {
    /// Reads the schema that a pickle describes.
    ///
    /// # Errors
    /// - `Corrupt`, `Unsupported`: the pickle cannot be parsed.
    /// - `Unsupported`: the pickle describes something else than a schema. The message names what was expected and what was
    ///   found. Nothing that the pickle names was called.
    pub fn parse(pickle: &[u8]) -> Result<Self> {
        let pickle = Pickle::parse(pickle)?;
        Self::read(&pickle).map_err(|error| error.at("pickle of the Unischema"))
    }

    fn read(pickle: &Pickle) -> Result<Self> {
        let root = pickle.root_id();
        let object = pickle.object(root).filter(|object| object.is("petastorm.unischema", "Unischema"));
        let unlike = |expected: &str| Error::unsupported(format!("expected {expected}, found {}", pickle.described(root)));
        let object = object.ok_or_else(|| unlike("a petastorm.unischema.Unischema"))?;
        let attribute = |name: &str| {
            let found = object.state.and_then(|state| pickle.attribute(state, name));
            found.ok_or_else(|| Error::unsupported(format!("expected an attribute `{name}`, found none")))
        };
        let name = attribute("_name")?;
        let name = pickle.text(name).filter(|name| name.len() <= MAX_NAME);
        let name = name.ok_or_else(|| Error::unsupported("expected a name of at most 1024 bytes"))?.to_owned();
        let fields = attribute("_fields")?;
        let entries = pickle.entries(fields);
        let entries =
            entries.ok_or_else(|| Error::unsupported(format!("_fields: expected a dict, found {}", pickle.described(fields))))?;
        if entries.len() > MAX_FIELDS {
            return Err(Error::unsupported(format!("{} fields: expected at most {MAX_FIELDS}", entries.len())));
        }
        let fields: Vec<Field> = entries.iter().map(|(_, field)| Field::read(pickle, *field)).collect::<Result<_>>()?;
        let mut names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::unsupported(format!("field `{}` occurs twice", pair[0])));
        }
        Ok(Self { name, fields })
    }

    /// Returns the field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the schema as JSON: `{"name", "fields": [{"name", "dtype", "shape", "codec", "nullable"}]}`.
    pub fn to_json(&self) -> Value {
        json!({"name": self.name, "fields": self.fields.iter().map(Field::to_json).collect::<Vec<_>>()})
    }
}

impl Field {
    fn read(pickle: &Pickle, id: NodeId) -> Result<Self> {
        let object =
            pickle.object(id).filter(|object| object.class.1 == "UnischemaField" && object.class.0.starts_with("petastorm."));
        let unlike =
            || Error::unsupported(format!("expected a petastorm.unischema.UnischemaField, found {}", pickle.described(id)));
        let values = object.ok_or_else(unlike)?.values;
        let (name, dtype, shape, rest) = match values.as_slice() {
            [name, dtype, shape, rest @ ..] if rest.len() <= 2 => (*name, *dtype, *shape, rest),
            _ => return Err(Error::unsupported(format!("a field: expected 3 to 5 values, found {}", values.len()))),
        };
        let name = pickle.text(name).filter(|name| name.len() <= MAX_NAME).ok_or_else(|| {
            Error::unsupported(format!("a field: expected a name of at most {MAX_NAME} bytes, found {}", pickle.described(name)))
        })?;
        let at = |error: Error| error.at(format!("field `{name}`"));
        Ok(Self {
            name: name.to_owned(),
            dtype: Dtype::read(pickle, dtype).map_err(at)?,
            shape: shape_of(pickle, shape).map_err(at)?,
            codec: rest.first().map_or(Ok(Codec::None), |codec| Codec::read(pickle, *codec)).map_err(at)?,
            nullable: match rest.get(1) {
                None => false,
                Some(value) => pickle.bool(*value).ok_or_else(|| {
                    at(Error::unsupported(format!("nullable: expected a bool, found {}", pickle.described(*value))))
                })?,
            },
        })
    }

    /// Whether the field has one value a row, not an array.
    pub fn is_scalar(&self) -> bool {
        self.shape.is_empty()
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name, "dtype": self.dtype.name(), "shape": self.shape, "codec": self.codec.to_json(),
            "nullable": self.nullable,
        })
    }
}

fn shape_of(pickle: &Pickle, id: NodeId) -> Result<Vec<Option<u32>>> {
    let unlike = || Error::unsupported(format!("shape: expected a tuple of extents, found {}", pickle.described(id)));
    let extents = match pickle.node(id) {
        Node::None => &[],
        _ => pickle.sequence(id).filter(|extents| extents.len() <= MAX_DIMENSIONS).ok_or_else(unlike)?,
    };
    let extent = |id: &NodeId| match pickle.node(*id) {
        Node::None => Ok(None),
        Node::Int(extent) => u32::try_from(*extent)
            .map(Some)
            .map_err(|_| Error::unsupported(format!("shape: expected extents of 0 to {}, found {extent}", u32::MAX))),
        _ => Err(Error::unsupported(format!("shape: expected an extent, found {}", pickle.described(*id)))),
    };
    extents.iter().map(extent).collect()
}

impl Dtype {
    fn read(pickle: &Pickle, id: NodeId) -> Result<Self> {
        if let Some((module, name)) = pickle.class_now(id) {
            return Ok(match &*module {
                "decimal" if name == "Decimal" => Self::Decimal,
                // numpy 2 calls its `bool_` so.
                "numpy" if name == "bool" => Self::named("bool_"),
                "numpy" | "builtins" => Self::named(name),
                module => Self::Other(format!("{module}.{name}")),
            });
        }
        // An instance of `numpy.dtype`, by the text that it is made of.
        if let Some(object) = pickle.object(id).filter(|object| object.is("numpy", "dtype"))
            && let Some(text) = object.values.first().and_then(|text| pickle.text(*text))
        {
            return Ok(Self::coded(text));
        }
        if matches!(pickle.node(id), Node::None) {
            return Ok(Self::Other("None".to_owned()));
        }
        Err(Error::unsupported(format!("numpy_dtype: expected a class of numpy, found {}", pickle.described(id))))
    }

    /// The type of a class of numpy, or of Python.
    fn named(name: &str) -> Self {
        use Primitive::{Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let (primitive, name) = match name {
            "bool_" | "bool8" => (Bool, "bool_"),
            "bool" => (Bool, "bool"),
            "int8" | "byte" => (I8, "int8"),
            "int16" | "short" => (I16, "int16"),
            "int32" | "intc" => (I32, "int32"),
            "int64" | "int_" | "longlong" | "intp" => (I64, "int64"),
            "int" | "long" => (I64, "int"),
            "uint8" | "ubyte" => (U8, "uint8"),
            "uint16" | "ushort" => (U16, "uint16"),
            "uint32" | "uintc" => (U32, "uint32"),
            "uint64" | "uint" | "ulonglong" | "uintp" => (U64, "uint64"),
            "float16" | "half" => (F16, "float16"),
            "float32" | "single" => (F32, "float32"),
            "float64" | "double" | "float_" => (F64, "float64"),
            "float" => (F64, "float"),
            "str_" | "unicode_" => return Self::Text("str_".to_owned()),
            "str" | "unicode" => return Self::Text("str".to_owned()),
            "bytes_" | "string_" => return Self::Bytes("bytes_".to_owned()),
            "bytes" => return Self::Bytes("bytes".to_owned()),
            "datetime64" => return Self::Time,
            other => return Self::Other(other.to_owned()),
        };
        Self::Primitive(primitive, name.to_owned())
    }

    /// The type of a text such as `f4` or `<U10`.
    fn coded(text: &str) -> Self {
        let plain = text.trim_start_matches(['<', '>', '=', '|']);
        match plain {
            "b1" | "?" => Self::named("bool_"),
            "i1" => Self::named("int8"),
            "i2" => Self::named("int16"),
            "i4" => Self::named("int32"),
            "i8" => Self::named("int64"),
            "u1" => Self::named("uint8"),
            "u2" => Self::named("uint16"),
            "u4" => Self::named("uint32"),
            "u8" => Self::named("uint64"),
            "f2" => Self::named("float16"),
            "f4" => Self::named("float32"),
            "f8" => Self::named("float64"),
            _ if plain.starts_with('U') => Self::named("str_"),
            _ if plain.starts_with('S') => Self::named("bytes_"),
            _ if plain.starts_with("M8") => Self::Time,
            _ => Self::Other(plain.chars().take(64).collect()),
        }
    }

    /// Returns the name: that of numpy 1 without `numpy.`, `Decimal`, or that of a Python type.
    pub fn name(&self) -> &str {
        match self {
            Self::Primitive(_, name) | Self::Text(name) | Self::Bytes(name) | Self::Other(name) => name,
            Self::Decimal => "Decimal",
            Self::Time => "datetime64",
        }
    }
}

impl Codec {
    fn read(pickle: &Pickle, id: NodeId) -> Result<Self> {
        if matches!(pickle.node(id), Node::None) {
            return Ok(Self::None);
        }
        let unlike = || Error::unsupported(format!("codec: expected an object, found {}", pickle.described(id)));
        let object = pickle.object(id).ok_or_else(unlike)?;
        let attribute = |name: &str| attributes(pickle, &object).find(|(key, _)| *key == name).map(|(_, value)| value);
        if object.class.0 != "petastorm.codecs" {
            return Ok(Self::Other(object.class_name()));
        }
        Ok(match object.class.1 {
            "ScalarCodec" => Self::Scalar(attribute("_spark_type").and_then(|id| SparkType::read(pickle, id))),
            "NdarrayCodec" => Self::Ndarray,
            "CompressedNdarrayCodec" => Self::CompressedNdarray,
            "CompressedImageCodec" => {
                let format = attribute("_image_codec").and_then(|id| pickle.text(id)).filter(|format| format.len() <= 16);
                let format =
                    format.ok_or_else(|| Error::unsupported("codec: expected the format of pictures in `_image_codec`"))?;
                let quality = attribute("_quality").and_then(|id| pickle.int(id)).unwrap_or(80);
                Self::Image(format.trim_start_matches('.').to_ascii_lowercase(), quality)
            }
            _ => Self::Other(object.class_name()),
        })
    }

    /// Returns the codec as JSON: `{"class": "petastorm.codecs.NdarrayCodec"}`; null without one.
    pub fn to_json(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Scalar(spark) => {
                let spark = spark.as_ref().map(|spark| json!({"class": spark.class, "attrs": spark.attributes}));
                json!({"class": "petastorm.codecs.ScalarCodec", "spark_type": spark})
            }
            Self::Ndarray => json!({"class": "petastorm.codecs.NdarrayCodec"}),
            Self::CompressedNdarray => json!({"class": "petastorm.codecs.CompressedNdarrayCodec"}),
            Self::Image(format, quality) => {
                json!({"class": "petastorm.codecs.CompressedImageCodec", "image_codec": format, "quality": quality})
            }
            Self::Other(class) => json!({"class": class}),
        }
    }
}

impl SparkType {
    fn read(pickle: &Pickle, id: NodeId) -> Option<Self> {
        let object = pickle.object(id)?;
        let attributes = attributes(pickle, &object).filter_map(|(name, value)| {
            let value = match pickle.node(value) {
                Node::Int(number) => (*number).into(),
                Node::Bool(value) => (*value).into(),
                Node::Float(number) => (*number).into(),
                Node::Text(_) | Node::Bytes(_) => pickle.text(value).filter(|text| text.len() <= MAX_NAME)?.into(),
                _ => return None,
            };
            Some((name.to_owned(), value))
        });
        Some(Self { class: object.class_name(), attributes: attributes.collect() })
    }

    /// Returns an attribute that is an integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.attributes.get(name)?.as_i64()
    }
}

/// The attributes of an object, by their names.
fn attributes<'a>(pickle: &'a Pickle, object: &Object<'a>) -> impl Iterator<Item = (&'a str, NodeId)> {
    let entries = match object.state.map(|state| pickle.node(state)) {
        Some(Node::Dict(entries)) => entries.as_slice(),
        _ => &[],
    };
    let named = |(key, value): &(NodeId, NodeId)| Some((pickle.text(*key).filter(|key| key.len() <= MAX_NAME)?, *value));
    entries.iter().take(MAX_ATTRIBUTES).filter_map(named)
}

#[cfg(test)]
mod tests;
