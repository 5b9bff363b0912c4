//! Protobuf messages: descriptors to types, and payloads to values.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message as _;
use prost_reflect::{
    Cardinality, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage, Value as Proto,
};
use tetrys::{Error, Result, schema::Primitive};

use crate::types::{Field, MAX_DEPTH, Message, Type, Value};

/// Maximum fields of a type, counted through its messages.
const MAX_FIELDS: usize = 100_000;

/// Returns the descriptor of a message and its type, out of a `FileDescriptorSet`.
///
/// # Errors
/// - `Invalid`: the set cannot be read, or lacks the message.
/// - `Unsupported`: there are too many fields.
pub(crate) fn parse(name: &str, set: &[u8]) -> Result<(MessageDescriptor, Arc<Message>)> {
    let place = |why: String| Error::invalid(format!("the descriptor of {}: {why}", name.escape_debug()));
    let pool = DescriptorPool::decode(set).map_err(|error| place(error.to_string()))?;
    let descriptor = pool.get_message_by_name(name).ok_or_else(|| place("the set lacks this message".to_owned()))?;
    let mut budget = MAX_FIELDS;
    let message = message_of(&descriptor, &mut Vec::new(), &mut budget)?;
    match message {
        Some(message) => Ok((descriptor, message)),
        None => Err(place(format!("messages are over {MAX_DEPTH} levels deep"))),
    }
}

/// Returns `None` for a message that contains itself.
fn message_of(descriptor: &MessageDescriptor, open: &mut Vec<String>, budget: &mut usize) -> Result<Option<Arc<Message>>> {
    let name = descriptor.full_name().to_owned();
    if open.contains(&name) || open.len() > MAX_DEPTH {
        return Ok(None);
    }
    open.push(name.clone());
    let mut fields = Vec::new();
    for field in descriptor.fields() {
        *budget = budget.checked_sub(1).ok_or_else(|| Error::unsupported(format!("over {MAX_FIELDS} fields")))?;
        let item = match field.kind() {
            Kind::Double => Type::Number(Primitive::F64),
            Kind::Float => Type::Number(Primitive::F32),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 | Kind::Enum(_) => Type::Number(Primitive::I32),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Type::Number(Primitive::I64),
            Kind::Uint32 | Kind::Fixed32 => Type::Number(Primitive::U32),
            Kind::Uint64 | Kind::Fixed64 => Type::Number(Primitive::U64),
            Kind::Bool => Type::Number(Primitive::Bool),
            Kind::String => Type::Text,
            Kind::Bytes => Type::Bytes,
            Kind::Message(inner) => match inner.full_name() {
                "google.protobuf.Timestamp" => Type::Time,
                "google.protobuf.Duration" => Type::Duration,
                // A message inside itself stays bytes.
                _ => message_of(&inner, open, budget)?.map_or(Type::Bytes, Type::Message),
            },
        };
        let ty = if field.cardinality() == Cardinality::Repeated { Type::Array(Box::new(item), None) } else { item };
        fields.push(Field { name: field.name().to_owned(), ty });
    }
    open.pop();
    Ok(Some(Arc::new(Message { name, fields })))
}

/// Decodes a message.
///
/// # Errors
/// - `Corrupt`: the payload is no such message.
pub(crate) fn decode(descriptor: &MessageDescriptor, ty: &Message, bytes: &Bytes) -> Result<Value> {
    let message = DynamicMessage::decode(descriptor.clone(), bytes.clone()).map_err(|error| Error::corrupt(error.to_string()))?;
    value_of(&message, ty)
}

fn value_of(message: &DynamicMessage, ty: &Message) -> Result<Value> {
    let descriptor = message.descriptor();
    let fields = descriptor.fields().zip(&ty.fields);
    let values = fields.map(|(descriptor, field)| {
        let value = match descriptor.supports_presence() && !message.has_field(&descriptor) {
            true => Ok(Value::Null),
            false => field_value(&descriptor, &message.get_field(&descriptor), &field.ty),
        };
        value.map_err(|error| error.at(format!("field `{}`", field.name)))
    });
    Ok(Value::Message(values.collect::<Result<_>>()?))
}

fn field_value(descriptor: &FieldDescriptor, value: &Proto, ty: &Type) -> Result<Value> {
    let Type::Array(item, _) = ty else { return item_value(value, ty) };
    match (value, &**item) {
        (Proto::List(items), Type::Number(primitive)) => {
            let mut bytes = Vec::with_capacity(items.len() * primitive.width());
            for value in items {
                let Value::Number(number) = item_value(value, item)? else {
                    return Err(Error::internal("a number of another type"));
                };
                bytes.extend_from_slice(&number[..primitive.width()]);
            }
            Ok(Value::Numbers(bytes.into()))
        }
        (Proto::List(items), _) => Ok(Value::List(items.iter().map(|value| item_value(value, item)).collect::<Result<_>>()?)),
        (Proto::Map(entries), Type::Message(entry)) => {
            let [_, value_field] = &entry.fields[..] else { return Err(Error::internal("a map entry without two fields")) };
            // A map has no order: entries are sorted by their keys.
            let mut sorted: Vec<(&MapKey, &Proto)> = entries.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            let of =
                |(key, value): (&MapKey, &Proto)| Ok(Value::Message(vec![key_value(key), item_value(value, &value_field.ty)?]));
            Ok(Value::List(sorted.into_iter().map(of).collect::<Result<_>>()?))
        }
        _ => Err(Error::internal(format!("field `{}` has another type", descriptor.name()))),
    }
}

fn key_value(key: &MapKey) -> Value {
    match key {
        MapKey::Bool(value) => number(&[u8::from(*value)]),
        MapKey::I32(value) => number(&value.to_le_bytes()),
        MapKey::I64(value) => number(&value.to_le_bytes()),
        MapKey::U32(value) => number(&value.to_le_bytes()),
        MapKey::U64(value) => number(&value.to_le_bytes()),
        MapKey::String(text) => Value::Text(text.clone()),
    }
}

fn number(bytes: &[u8]) -> Value {
    let mut number = [0; 8];
    number[..bytes.len()].copy_from_slice(bytes);
    Value::Number(number)
}

fn item_value(value: &Proto, ty: &Type) -> Result<Value> {
    Ok(match (value, ty) {
        (Proto::Bool(value), _) => number(&[u8::from(*value)]),
        (Proto::I32(value) | Proto::EnumNumber(value), _) => number(&value.to_le_bytes()),
        (Proto::I64(value), _) => number(&value.to_le_bytes()),
        (Proto::U32(value), _) => number(&value.to_le_bytes()),
        (Proto::U64(value), _) => number(&value.to_le_bytes()),
        (Proto::F32(value), _) => number(&value.to_le_bytes()),
        (Proto::F64(value), _) => number(&value.to_le_bytes()),
        (Proto::String(text), _) => Value::Text(text.clone()),
        (Proto::Bytes(bytes), _) => Value::Bytes(bytes.clone()),
        (Proto::Message(message), Type::Time | Type::Duration) => {
            let part =
                |name: &str| message.get_field_by_name(name).and_then(|value| value.as_i64().or(value.as_i32().map(i64::from)));
            let (seconds, nanos) = (part("seconds").unwrap_or(0), part("nanos").unwrap_or(0));
            let ns = seconds.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(nanos));
            Value::nanoseconds(
                ns.ok_or_else(|| Error::corrupt(format!("a time of {seconds} seconds: beyond 64 bits of nanoseconds")))?,
            )
        }
        (Proto::Message(message), Type::Message(ty)) => value_of(message, ty)?,
        (Proto::Message(message), _) => Value::Bytes(message.encode_to_vec().into()),
        _ => return Err(Error::internal("a value of another type")),
    })
}
