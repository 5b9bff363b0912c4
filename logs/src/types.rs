//! Types of messages, and decoded messages. Decoders of all encodings give the same ones.

use std::sync::Arc;

use bytes::Bytes;
use tetrys::schema::Primitive;

/// Maximum levels of messages inside messages.
pub(crate) const MAX_DEPTH: usize = 32;

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number or a bool.
    Number(Primitive),
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// Nanoseconds since 1970.
    Time,
    /// Nanoseconds.
    Duration,
    /// Values of one type: a fixed number of them, or any.
    Array(Box<Type>, Option<usize>),
    /// A message.
    Message(Arc<Message>),
}

/// The type of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its name: `geometry_msgs/Point`, `foxglove.Vector3`.
    pub name: String,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A decoded value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// The message has no value.
    Null,
    /// The little-endian bytes of a number, padded with zeros; a bool is 0 or 1. Also nanoseconds.
    Number([u8; 8]),
    Text(String),
    Bytes(Bytes),
    /// The little-endian bytes of an array of numbers.
    Numbers(Bytes),
    List(Vec<Value>),
    /// The fields of a message.
    Message(Vec<Value>),
}

impl Value {
    pub(crate) fn nanoseconds(ns: i64) -> Self {
        Self::Number(ns.to_le_bytes())
    }

    /// Returns the value at a path of fields.
    pub(crate) fn at(&self, path: &[usize]) -> &Self {
        path.iter().fold(self, |value, field| match value {
            Self::Message(fields) => fields.get(*field).unwrap_or(&Self::Null),
            _ => &Self::Null,
        })
    }

    pub(crate) fn as_i64(&self) -> Option<i64> {
        if let Self::Number(bytes) = self { Some(i64::from_le_bytes(*bytes)) } else { None }
    }

    /// Returns the bytes of a value of bytes, or of an array of numbers.
    pub(crate) fn as_bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Bytes(bytes) | Self::Numbers(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl Message {
    /// Returns the number and the type of a field.
    pub(crate) fn field(&self, name: &str) -> Option<(usize, &Type)> {
        let at = self.fields.iter().position(|field| field.name == name)?;
        Some((at, &self.fields[at].ty))
    }

    /// Returns the path and the type of a field by its name: `header.stamp`.
    pub(crate) fn path(&self, name: &str) -> Option<(Vec<usize>, &Type)> {
        let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
        let (at, ty) = self.field(first)?;
        match (rest, ty) {
            (None, ty) => Some((vec![at], ty)),
            (Some(rest), Type::Message(message)) => {
                let (mut path, ty) = message.path(rest)?;
                path.insert(0, at);
                Some((path, ty))
            }
            _ => None,
        }
    }
}
