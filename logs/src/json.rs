//! JSON messages: JSON Schema to types, and payloads to values.

use std::sync::Arc;

use base64::Engine as _;
use serde_json::Value as Json;
use tetrys::{Error, Result, schema::Primitive};

use crate::types::{Field, MAX_DEPTH, Message, Type, Value};

/// Name of the column of a message that no schema describes.
const WHOLE: &str = "json";
/// Maximum types inside a type: few definitions may refer to each other in many ways.
const MAX_FIELDS: usize = 100_000;

/// Returns the type that a JSON Schema describes. Without a schema, a message is its text.
///
/// # Errors
/// - `Invalid`: the schema is no JSON, or describes no object.
pub(crate) fn parse(name: &str, schema: &[u8]) -> Result<Arc<Message>> {
    if schema.iter().all(u8::is_ascii_whitespace) {
        return Ok(whole(name));
    }
    let place = |why: String| Error::invalid(format!("the JSON Schema of {}: {why}", name.escape_debug()));
    let root: Json = serde_json::from_slice(schema).map_err(|error| place(error.to_string()))?;
    match type_of(name, &root, &root, 0, &mut 0).map_err(|error| place(error.to_string()))? {
        Type::Message(message) if !message.fields.is_empty() => Ok(message),
        Type::Message(_) => Ok(whole(name)),
        _ => Err(place("expected an object".to_owned())),
    }
}

fn whole(name: &str) -> Arc<Message> {
    let fields = vec![Field { name: WHOLE.to_owned(), ty: Type::Text }];
    Arc::new(Message { name: name.to_owned(), fields })
}

fn type_of(name: &str, schema: &Json, root: &Json, depth: usize, types: &mut usize) -> Result<Type> {
    *types += 1;
    if *types > MAX_FIELDS {
        return Err(Error::unsupported(format!("over {MAX_FIELDS} fields")));
    }
    if depth > MAX_DEPTH {
        return Err(Error::invalid(format!("over {MAX_DEPTH} levels, or a type that contains itself")));
    }
    if let Some(target) = schema.get("$ref").and_then(Json::as_str) {
        let pointer = target.strip_prefix('#').ok_or_else(|| Error::invalid(format!("a reference to `{target}`")))?;
        let found = root.pointer(pointer).ok_or_else(|| Error::invalid(format!("`{target}` is not there")))?;
        return type_of(name, found, root, depth + 1, types);
    }
    let stated = match schema.get("type") {
        Some(Json::Array(types)) => types.iter().filter_map(Json::as_str).find(|ty| *ty != "null"),
        Some(Json::String(ty)) => Some(ty.as_str()),
        _ => schema.get("properties").map(|_| "object"),
    };
    Ok(match stated {
        Some("number") => Type::Number(Primitive::F64),
        Some("integer") => Type::Number(Primitive::I64),
        Some("boolean") => Type::Number(Primitive::Bool),
        Some("string") if schema.get("contentEncoding").and_then(Json::as_str) == Some("base64") => Type::Bytes,
        Some("string") => Type::Text,
        Some("array") => {
            let item = match schema.get("items") {
                Some(item) => type_of(name, item, root, depth + 1, types)?,
                None => Type::Text,
            };
            let bound = |key: &str| schema.get(key).and_then(Json::as_u64);
            let length = bound("minItems").filter(|least| bound("maxItems") == Some(*least) && *least <= 1 << 20);
            Type::Array(Box::new(item), length.and_then(|length| usize::try_from(length).ok()))
        }
        Some("object") => {
            let empty = serde_json::Map::new();
            let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&empty);
            let names: Vec<&str> = properties.keys().map(String::as_str).collect();
            if matches!(names[..], ["nsec", "sec"]) {
                return Ok(if schema.get("title").and_then(Json::as_str) == Some("duration") {
                    Type::Duration
                } else {
                    Type::Time
                });
            }
            if names.is_empty() && depth > 0 {
                return Ok(Type::Text);
            }
            let mut field = |(key, schema): (&String, &Json)| {
                let ty = type_of(key, schema, root, depth + 1, types).map_err(|error| error.at(format!("property `{key}`")))?;
                Ok(Field { name: key.clone(), ty })
            };
            let fields = properties.iter().map(&mut field).collect::<Result<_>>()?;
            let title = schema.get("title").and_then(Json::as_str).unwrap_or(name);
            Type::Message(Arc::new(Message { name: title.to_owned(), fields }))
        }
        // Anything else keeps its text.
        _ => Type::Text,
    })
}

/// Decodes a message.
///
/// # Errors
/// - `Corrupt`: the payload is no JSON, or a value has another type than the schema says. The message names the property.
pub(crate) fn decode(ty: &Message, bytes: &[u8]) -> Result<Value> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::corrupt("expected JSON, found bytes that are not UTF-8"))?;
    if let [Field { name, ty: Type::Text }] = &ty.fields[..]
        && name == WHOLE
    {
        return Ok(Value::Message(vec![Value::Text(text.to_owned())]));
    }
    let json: Json = serde_json::from_str(text).map_err(|error| Error::corrupt(format!("no JSON: {error}")))?;
    message(ty, &json)
}

fn message(ty: &Message, json: &Json) -> Result<Value> {
    let Json::Object(object) = json else { return Err(unfit("an object", json)) };
    let field = |field: &Field| match object.get(&field.name) {
        None | Some(Json::Null) => Ok(Value::Null),
        Some(json) => value(&field.ty, json).map_err(|error| error.at(format!("property `{}`", field.name))),
    };
    Ok(Value::Message(ty.fields.iter().map(field).collect::<Result<_>>()?))
}

fn unfit(expected: &str, found: &Json) -> Error {
    let found: String = found.to_string().chars().take(40).collect();
    Error::corrupt(format!("expected {expected}, found {found}"))
}

fn value(ty: &Type, json: &Json) -> Result<Value> {
    Ok(match ty {
        Type::Number(primitive) => Value::Number(number(*primitive, json)?),
        Type::Text => Value::Text(match json {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        }),
        Type::Bytes => {
            let text = json.as_str().ok_or_else(|| unfit("base64", json))?;
            let decoded = base64::engine::general_purpose::STANDARD.decode(text).map_err(|_| unfit("base64", json))?;
            Value::Bytes(decoded.into())
        }
        Type::Time | Type::Duration => {
            let part = |name: &str| json.get(name).and_then(Json::as_i64).ok_or_else(|| unfit("`sec` and `nsec`", json));
            let (sec, nsec) = (part("sec")?, part("nsec")?);
            let ns = sec.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(nsec));
            Value::nanoseconds(ns.ok_or_else(|| unfit("a time of 64 bits of nanoseconds", json))?)
        }
        Type::Array(item, length) => {
            let Json::Array(items) = json else { return Err(unfit("a list", json)) };
            if length.is_some_and(|length| length != items.len()) {
                return Err(Error::corrupt(format!("expected {} items, found {}", length.unwrap_or(0), items.len())));
            }
            let place = |at: usize| move |error: Error| error.at(format!("item {at}"));
            if let Type::Number(primitive) = &**item
                && !items.contains(&Json::Null)
            {
                let mut bytes = Vec::with_capacity(items.len() * primitive.width());
                for (at, json) in items.iter().enumerate() {
                    bytes.extend_from_slice(&number(*primitive, json).map_err(place(at))?[..primitive.width()]);
                }
                return Ok(Value::Numbers(bytes.into()));
            }
            let item = |(at, json): (usize, &Json)| match json {
                Json::Null => Ok(Value::Null),
                json => value(item, json).map_err(place(at)),
            };
            Value::List(items.iter().enumerate().map(item).collect::<Result<_>>()?)
        }
        Type::Message(ty) => message(ty, json)?,
    })
}

fn number(primitive: Primitive, json: &Json) -> Result<[u8; 8]> {
    Ok(match primitive {
        Primitive::Bool => [u8::from(json.as_bool().ok_or_else(|| unfit("true or false", json))?), 0, 0, 0, 0, 0, 0, 0],
        Primitive::I64 => {
            #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
            let of_float = |float: f64| (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64);
            let whole = json.as_i64().or_else(|| json.as_f64().and_then(of_float));
            whole.ok_or_else(|| unfit("a whole number of 64 bits", json))?.to_le_bytes()
        }
        _ => json.as_f64().ok_or_else(|| unfit("a number", json))?.to_le_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_in_lists_stay_null() {
        let text = r#"{"properties": {"xs": {"type": "array", "items": {"type": "number"}},
            "names": {"type": "array", "items": {"type": "string"}},
            "boxes": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}}}"#;
        let ty = parse("here.It", text.as_bytes()).unwrap();
        let names: Vec<&str> = ty.fields.iter().map(|field| field.name.as_str()).collect();
        let found = decode(&ty, br#"{"xs": [1, null], "names": ["a", null], "boxes": [null, {"id": null}, {"id": 7}]}"#).unwrap();
        let number = |bits: u64| Value::Number(bits.to_le_bytes());
        let at = |name: &str| found.at(&[names.iter().position(|other| *other == name).unwrap()]).clone();
        assert_eq!(at("xs"), Value::List(vec![number(1.0_f64.to_bits()), Value::Null]));
        assert_eq!(at("names"), Value::List(vec![Value::Text("a".to_owned()), Value::Null]));
        let item = |id: Value| Value::Message(vec![id]);
        assert_eq!(at("boxes"), Value::List(vec![Value::Null, item(Value::Null), item(number(7))]));
        let error = decode(&ty, br#"{"xs": [null, "a"]}"#).unwrap_err().to_string();
        assert_eq!(error, "property `xs`: item 1: expected a number, found \"a\"");
    }

    #[test]
    fn definitions_that_multiply_are_refused() {
        let level = |at: usize| {
            format!(r##""l{at}": {{"properties": {{"a": {{"$ref": "#/l{0}"}}, "b": {{"$ref": "#/l{0}"}}}}}}"##, at + 1)
        };
        let levels: Vec<String> = (0..14).map(level).collect();
        let schema = format!(r##"{{{}, "l14": {{"type": "number"}}, "$ref": "#/l0"}}"##, levels.join(", "));
        let error = parse("here.It", schema.as_bytes());
        assert!(error.is_ok(), "{error:?}");
        // Every level twice as many: 2^15 * 3 types.
        let schema =
            schema.replace(r##""l14": {"type": "number"}"##, &format!("{}, {}", level(14), r#""l15": {"type": "number"}"#));
        let error = parse("here.It", schema.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("the JSON Schema of here.It: ") && error.contains("over 100000 fields"), "{error}");
    }
}
