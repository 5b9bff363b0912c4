//! Definitions of ROS messages (`.msg`): text to types. Follows the
//! [interfaces of ROS 2](https://docs.ros.org/en/rolling/Concepts/Basic/About-Interfaces.html) and
//! [`msg` of ROS 1](https://wiki.ros.org/msg).
//!
//! A definition has the text of a type, and after a line of `=` and a line `MSG: package/Type` those of the types that it uses.

use std::{collections::BTreeMap, sync::Arc};

use tetrys::{Error, Result, schema::Primitive};

use crate::types::{Field, MAX_DEPTH, Message, Type};

/// Maximum elements of a fixed array.
pub(crate) const MAX_FIXED: usize = 1 << 24;
/// Maximum fields of a type, counted through its messages: few definitions may name many.
pub(crate) const MAX_FIELDS: usize = 100_000;

/// Which ROS a definition is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ros {
    /// `time` is a primitive, `byte` an `i8`.
    One,
    /// Times are messages, `byte` is a `u8`.
    Two,
}

/// Parses a definition.
///
/// # Errors
/// - `Invalid`: a line is no field and no constant; a type is not defined; types contain each other.
/// - `Unsupported`: a field is a `wstring`.
///
/// ```
/// use tetrys_logs::{msg::{Ros, parse}, types::Type};
/// let text = "Point a\nPoint[2] b\n====\nMSG: here/Point\nfloat64 x # metres\nfloat64 y\n";
/// let line = parse("here/Line", text, Ros::One)?;
/// assert_eq!(line.fields[1].name, "b");
/// let Type::Array(_, Some(2)) = &line.fields[1].ty else { panic!() };
/// # Ok::<(), tetrys::Error>(())
/// ```
pub fn parse(name: &str, text: &str, ros: Ros) -> Result<Message> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let (mut own, mut current) = (String::new(), None::<String>);
    let mut expects_name = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.len() >= 3 && trimmed.bytes().all(|byte| byte == b'=') {
            expects_name = true;
            continue;
        }
        if let Some(named) = trimmed.strip_prefix("MSG:").filter(|_| expects_name) {
            current = Some(short(named.trim()));
            texts.entry(current.clone().unwrap_or_default()).or_default();
            expects_name = false;
            continue;
        }
        let target = match &current {
            None => &mut own,
            Some(named) => texts.entry(named.clone()).or_default(),
        };
        target.push_str(line);
        target.push('\n');
    }
    let mut parser = Parser { texts: &texts, ros, done: BTreeMap::new(), open: Vec::new(), fields: 0 };
    let place = |error: Error| error.at(format!("the definition of {}", name.escape_debug()));
    parser.message(&short(name), &own).map(|message| Message::clone(&message)).map_err(place)
}

/// Returns `package/Type` of `package/msg/Type`.
pub(crate) fn short(name: &str) -> String {
    name.replace("/msg/", "/")
}

/// Returns the definition of a type that some writers leave out.
fn known(name: &str, ros: Ros) -> Option<&'static str> {
    match (name, ros) {
        ("std_msgs/Header", Ros::One) => Some("uint32 seq\ntime stamp\nstring frame_id\n"),
        ("std_msgs/Header", Ros::Two) => Some("builtin_interfaces/Time stamp\nstring frame_id\n"),
        _ => None,
    }
}

struct Parser<'a> {
    texts: &'a BTreeMap<String, String>,
    ros: Ros,
    /// Types, and their fields counted through their messages.
    done: BTreeMap<String, (Arc<Message>, usize)>,
    open: Vec<String>,
    fields: usize,
}

impl Parser<'_> {
    fn message(&mut self, name: &str, text: &str) -> Result<Arc<Message>> {
        if let Some((done, fields)) = self.done.get(name).cloned() {
            self.count(fields)?;
            return Ok(done);
        }
        let before = self.fields;
        if self.open.iter().any(|open| open == name) || self.open.len() > MAX_DEPTH {
            return Err(Error::invalid(format!("`{name}` contains itself, or types are over {MAX_DEPTH} levels deep")));
        }
        self.open.push(name.to_owned());
        let package = name.rsplit_once('/').map_or("", |(package, _)| package);
        let mut fields: Vec<Field> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let place = |error: Error| error.at(format!("{name}, line {}", number + 1));
            if let Some(field) = self.line(line, package).map_err(place)? {
                if fields.iter().any(|other| other.name == field.name) {
                    return Err(place(Error::invalid(format!("two fields `{}`", field.name))));
                }
                fields.push(field);
            }
        }
        self.count(fields.len())?;
        self.open.pop();
        let message = Arc::new(Message { name: name.to_owned(), fields });
        self.done.insert(name.to_owned(), (Arc::clone(&message), self.fields - before));
        Ok(message)
    }

    fn count(&mut self, fields: usize) -> Result<()> {
        self.fields += fields;
        match self.fields > MAX_FIELDS {
            true => Err(Error::unsupported(format!("over {MAX_FIELDS} fields"))),
            false => Ok(()),
        }
    }

    /// Returns the field of a line; `None` for an empty line, a comment or a constant.
    fn line(&mut self, line: &str, package: &str) -> Result<Option<Field>> {
        let code = line.split('#').next().unwrap_or_default().trim();
        if code.is_empty() {
            return Ok(None);
        }
        let wrong = || Error::invalid(format!("expected a type and a name, found `{}`", code.escape_debug()));
        let (ty, rest) = code.split_once(char::is_whitespace).ok_or_else(wrong)?;
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(wrong());
        }
        // `NAME=VALUE` is a constant, `name value` a field with a default, `string<=5 name` has its `=` in the type.
        if behind.trim_start().starts_with('=') {
            return Ok(None);
        }
        if !behind.is_empty() && (self.ros == Ros::One || !behind.starts_with(char::is_whitespace)) {
            return Err(wrong());
        }
        Ok(Some(Field { name: name.to_owned(), ty: self.ty(ty, package)? }))
    }

    fn ty(&mut self, text: &str, package: &str) -> Result<Type> {
        let wrong = || Error::invalid(format!("expected a type, found `{}`", text.escape_debug()));
        let Some(open) = text.find('[') else { return self.element(text, package) };
        let length = text[open + 1..].strip_suffix(']').ok_or_else(wrong)?;
        let length = match length.strip_prefix("<=") {
            Some(bound) => bound.parse::<u64>().map(|_| None).map_err(|_| wrong())?,
            None if length.is_empty() => None,
            None => Some(length.parse::<usize>().ok().filter(|length| *length <= MAX_FIXED).ok_or_else(wrong)?),
        };
        Ok(Type::Array(Box::new(self.element(&text[..open], package)?), length))
    }

    fn element(&mut self, name: &str, package: &str) -> Result<Type> {
        let name = name.split_once("<=").map_or(name, |(name, _)| name);
        let signed = |one, two| Type::Number(if self.ros == Ros::One { one } else { two });
        Ok(match name {
            "bool" => Type::Number(Primitive::Bool),
            "byte" => signed(Primitive::I8, Primitive::U8),
            "char" | "uint8" => Type::Number(Primitive::U8),
            "int8" => Type::Number(Primitive::I8),
            "int16" => Type::Number(Primitive::I16),
            "uint16" => Type::Number(Primitive::U16),
            "int32" => Type::Number(Primitive::I32),
            "uint32" => Type::Number(Primitive::U32),
            "int64" => Type::Number(Primitive::I64),
            "uint64" => Type::Number(Primitive::U64),
            "float32" => Type::Number(Primitive::F32),
            "float64" => Type::Number(Primitive::F64),
            "string" => Type::Text,
            "wstring" => return Err(Error::unsupported("a field of type `wstring`")),
            "time" if self.ros == Ros::One => Type::Time,
            "duration" if self.ros == Ros::One => Type::Duration,
            "builtin_interfaces/Time" | "builtin_interfaces/msg/Time" => Type::Time,
            "builtin_interfaces/Duration" | "builtin_interfaces/msg/Duration" => Type::Duration,
            "Time" if package == "builtin_interfaces" => Type::Time,
            "Duration" if package == "builtin_interfaces" => Type::Duration,
            "Header" => self.named("std_msgs/Header")?,
            name if name.contains('/') => self.named(&short(name))?,
            name => self.named(&format!("{package}/{name}"))?,
        })
    }

    fn named(&mut self, name: &str) -> Result<Type> {
        let texts = self.texts;
        let text = texts.get(name).map(String::as_str).or_else(|| known(name, self.ros));
        let text = text.ok_or_else(|| Error::invalid(format!("the type `{}` is not defined", name.escape_debug())))?;
        Ok(Type::Message(self.message(name, text)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str, ros: Ros) -> Vec<String> {
        let message = parse("here/It", text, ros).unwrap();
        message.fields.into_iter().map(|field| format!("{} {:?}", field.name, field.ty)).collect()
    }

    #[test]
    fn constants_defaults_bounds_and_comments_are_read() {
        let text =
            "# all\nint32 X=1 # one\nstring S = a # b\nfloat64  y  1.5\nstring<=5 z\nuint8[<=3] w\nbyte[2] b\n\tbool  q#c\n";
        let two = fields(text, Ros::Two);
        let number = |primitive: &str| format!("Number({primitive})");
        let expected = [
            format!("y {}", number("F64")),
            "z Text".to_owned(),
            format!("w Array({}, None)", number("U8")),
            format!("b Array({}, Some(2))", number("U8")),
            format!("q {}", number("Bool")),
        ];
        assert_eq!(two, expected);
        assert_eq!(fields("byte b\ntime t\nduration d", Ros::One), ["b Number(I8)", "t Time", "d Duration"]);
    }

    #[test]
    fn wrong_definitions_are_refused_with_their_line() {
        for (text, expected) in [
            ("int32 x\nint33 y", "here/It, line 2: the type `here/int33` is not defined"),
            ("int32", "here/It, line 1: expected a type and a name, found `int32`"),
            ("int32[99999999999] x", "expected a type"),
            ("int32[ x", "expected a type"),
            ("int32 x\nint32 x", "line 2: two fields `x`"),
            ("wstring x", "`wstring`"),
            ("Me x\n===\nMSG: here/Me\nMe again", "contains itself"),
        ] {
            let error = parse("here/It", text, Ros::Two).unwrap_err().to_string();
            assert!(error.starts_with("the definition of here/It: ") && error.contains(expected), "{error}");
        }
        // Each type has two of the next one.
        let wide: String = (0..30).map(|i| format!("T{} a\nT{} b\n===\nMSG: here/T{i}\n", i, i)).collect::<Vec<_>>().concat();
        assert!(parse("here/It", &format!("{wide}int8 x"), Ros::One).is_err());
    }
}
