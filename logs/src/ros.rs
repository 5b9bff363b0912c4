//! Payloads of ROS messages: bytes to values. ROS 1 has no padding; ROS 2 has CDR, which aligns numbers to their size.
//!
//! Follows the [CDR of the OMG](https://www.omg.org/spec/DDSI-RTPS/2.5), plain encoding, version 1, as ROS 2 writes it.

use bytes::Bytes;
use tetrys::{Error, Result, schema::Primitive};

use crate::{
    msg::Ros,
    types::{Message, Type, Value},
};

/// Maximum values of a message; an array of numbers is one. A value takes far more memory than its bytes in the message.
const MAX_VALUES: usize = 1 << 22;

/// Decodes a message.
///
/// # Errors
/// - `Corrupt`: the bytes end too early; a text is not UTF-8. The message names the field and the byte.
/// - `Unsupported`: the CDR header names another encoding.
pub(crate) fn decode(ty: &Message, bytes: &Bytes, ros: Ros) -> Result<Value> {
    let mut cursor = match ros {
        Ros::One => Cursor { bytes: bytes.clone(), at: 0, big: false, aligned: false, left: MAX_VALUES },
        Ros::Two => {
            let header =
                bytes.get(..4).ok_or_else(|| Error::corrupt(format!("expected a CDR header, found {} bytes", bytes.len())))?;
            let big = match header {
                [0, 0, ..] => true,
                [0, 1, ..] => false,
                _ => {
                    let found = format!("{:02x} {:02x}", header[0], header[1]);
                    return Err(Error::unsupported(format!("a CDR header of {found}: expected 00 00 or 00 01")));
                }
            };
            Cursor { bytes: bytes.slice(4..), at: 0, big, aligned: true, left: MAX_VALUES }
        }
    };
    cursor.message(ty)
}

struct Cursor {
    bytes: Bytes,
    at: usize,
    big: bool,
    /// Whether numbers are aligned to their size.
    aligned: bool,
    /// How many more values the message may have.
    left: usize,
}

impl Cursor {
    fn align(&mut self, width: usize) {
        if self.aligned {
            self.at = self.at.next_multiple_of(width);
        }
    }

    fn take(&mut self, len: usize) -> Result<Bytes> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let Some(end) = end else {
            let left = self.bytes.len().saturating_sub(self.at);
            return Err(Error::corrupt(format!("expected {len} bytes at {}, found {left}", self.at)));
        };
        let taken = self.bytes.slice(self.at..end);
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self, width: usize) -> Result<[u8; 8]> {
        self.align(width);
        let end = self.at.checked_add(width).filter(|end| *end <= self.bytes.len());
        let mut number = [0; 8];
        let Some(end) = end else { return self.take(width).map(|_| number) };
        number[..width].copy_from_slice(&self.bytes[self.at..end]);
        if self.big {
            number[..width].reverse();
        }
        self.at = end;
        Ok(number)
    }

    fn u32(&mut self) -> Result<u32> {
        self.number(4).map(|number| u32::from_le_bytes([number[0], number[1], number[2], number[3]]))
    }

    fn message(&mut self, ty: &Message) -> Result<Value> {
        // CDR has no empty structs: ROS 2 gives them a field of one byte.
        if ty.fields.is_empty() && self.aligned {
            self.take(1)?;
        }
        let mut fields = Vec::with_capacity(ty.fields.len());
        for field in &ty.fields {
            fields.push(self.value(&field.ty).map_err(|error| error.at(format!("field `{}`", field.name)))?);
        }
        Ok(Value::Message(fields))
    }

    fn value(&mut self, ty: &Type) -> Result<Value> {
        let more = || Error::unsupported(format!("a message of more than {MAX_VALUES} values"));
        self.left = self.left.checked_sub(1).ok_or_else(more)?;
        match ty {
            Type::Number(primitive) => {
                let mut number = self.number(primitive.width())?;
                if *primitive == Primitive::Bool {
                    number[0] = u8::from(number[0] != 0);
                }
                Ok(Value::Number(number))
            }
            Type::Text => self.text().map(Value::Text),
            Type::Bytes => {
                let len = self.u32()?;
                self.take(len as usize).map(Value::Bytes)
            }
            // ROS 1 times are unsigned; of all else the seconds are signed.
            Type::Time if !self.aligned => {
                let (seconds, rest) = (i64::from(self.u32()?), i64::from(self.u32()?));
                Ok(Value::nanoseconds(seconds * 1_000_000_000 + rest))
            }
            Type::Duration if !self.aligned => {
                let (seconds, rest) = (i64::from(self.u32()?.cast_signed()), i64::from(self.u32()?.cast_signed()));
                Ok(Value::nanoseconds(seconds * 1_000_000_000 + rest))
            }
            Type::Time | Type::Duration => {
                let (seconds, rest) = (i64::from(self.u32()?.cast_signed()), i64::from(self.u32()?));
                Ok(Value::nanoseconds(seconds * 1_000_000_000 + rest))
            }
            Type::Array(item, length) => {
                let length = match length {
                    Some(length) => *length,
                    None => self.u32()? as usize,
                };
                self.array(item, length)
            }
            Type::Message(message) => self.message(message),
        }
    }

    fn text(&mut self) -> Result<String> {
        let len = self.u32()? as usize;
        let mut bytes = self.take(len)?;
        // CDR counts the NUL at the end. Some writers leave it out of empty texts.
        if self.aligned && bytes.last() == Some(&0) {
            bytes.truncate(len - 1);
        }
        String::from_utf8(bytes.into())
            .map_err(|_| Error::corrupt(format!("the text of {len} bytes before {} is not UTF-8", self.at)))
    }

    fn array(&mut self, item: &Type, length: usize) -> Result<Value> {
        if let Type::Number(primitive) = item {
            let width = primitive.width();
            // An empty sequence has no padding behind its length.
            if length > 0 {
                self.align(width);
            }
            let len = length.checked_mul(width).ok_or_else(|| Error::corrupt(format!("an array of {length} elements")))?;
            let bytes = self.take(len)?;
            let swapped = self.big && width > 1;
            if !swapped && *primitive != Primitive::Bool {
                return Ok(Value::Numbers(bytes));
            }
            let mut bytes = Vec::from(bytes);
            match swapped {
                true => bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse),
                false => bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0)),
            }
            return Ok(Value::Numbers(bytes.into()));
        }
        // Every other item has a byte or more, but for messages without fields in ROS 1. A length is only a claim.
        if length > self.bytes.len().saturating_sub(self.at) {
            let left = self.bytes.len().saturating_sub(self.at);
            return Err(Error::corrupt(format!("an array of {length} elements at {}, where {left} bytes are left", self.at)));
        }
        if length > self.left {
            let at = self.at;
            let why = format!("an array of {length} elements at {at}: a message may have {MAX_VALUES} values");
            return Err(Error::unsupported(why));
        }
        let mut items = Vec::with_capacity(length);
        for number in 0..length {
            items.push(self.value(item).map_err(|error| error.at(format!("element {number}")))?);
        }
        Ok(Value::List(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::parse;

    fn decoded(definition: &str, bytes: &[u8], ros: Ros) -> Result<Value> {
        decode(&parse("here/It", definition, ros).unwrap(), &Bytes::copy_from_slice(bytes), ros)
    }

    #[test]
    fn an_empty_sequence_has_no_padding_and_a_full_one_has() {
        let empty = [0, 1, 0, 0, 0, 0, 0, 0, 7];
        let Value::Message(fields) = decoded("float64[] xs\nuint8 y", &empty, Ros::Two).unwrap() else { panic!() };
        assert_eq!(fields, [Value::Numbers(Bytes::new()), Value::Number([7, 0, 0, 0, 0, 0, 0, 0])]);
        let mut full = vec![0, 1, 0, 0, 1, 0, 0, 0, 9, 9, 9, 9];
        full.extend(1.5_f64.to_le_bytes());
        full.push(7);
        let Value::Message(fields) = decoded("float64[] xs\nuint8 y", &full, Ros::Two).unwrap() else { panic!() };
        assert_eq!(fields[0], Value::Numbers(Bytes::copy_from_slice(&1.5_f64.to_le_bytes())));
    }

    #[test]
    fn a_message_without_fields_has_one_byte_in_ros_2_and_none_in_ros_1() {
        let text = "Empty e\nuint8 y\n===\nMSG: here/Empty\n";
        let fields = |value: Value| if let Value::Message(fields) = value { fields[1].as_i64() } else { None };
        assert_eq!(fields(decoded(text, &[0, 1, 0, 0, 0, 7], Ros::Two).unwrap()), Some(7));
        assert_eq!(fields(decoded(text, &[7], Ros::One).unwrap()), Some(7));
    }

    #[test]
    fn a_bool_is_true_for_every_byte_but_zero() {
        let value = decoded("bool a\nbool[3] b", &[5, 0, 255, 1], Ros::One).unwrap();
        assert_eq!(value, Value::Message(vec![Value::Number([1, 0, 0, 0, 0, 0, 0, 0]), Value::Numbers(vec![0, 1, 1].into())]));
    }

    #[test]
    fn payloads_that_do_not_fit_are_refused_with_their_field() {
        for (text, bytes, ros, expected) in [
            ("int32 x", &[0, 3, 0, 0, 1, 0, 0, 0][..], Ros::Two, "a CDR header of 00 03: expected 00 00 or 00 01"),
            ("int32 x", &[0, 1], Ros::Two, "expected a CDR header, found 2 bytes"),
            ("int32 x", &[1, 0], Ros::One, "field `x`: expected 4 bytes at 0, found 2"),
            ("string s", &[1, 0, 0, 0, 255], Ros::One, "field `s`: the text of 1 bytes before 5 is not UTF-8"),
            ("string s", &[255, 255, 255, 255], Ros::One, "field `s`: expected 4294967295 bytes at 4, found 0"),
            ("float64[] s", &[255, 255, 255, 255], Ros::One, "field `s`: expected 34359738360 bytes at 4, found 0"),
            ("string[] s", &[255, 255, 255, 255], Ros::One, "an array of 4294967295 elements at 4, where 0 bytes are left"),
            ("A[] s\n===\nMSG: here/A\n", &[255, 255, 255, 255], Ros::One, "an array of 4294967295 elements"),
        ] {
            let error = decoded(text, bytes, ros).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_message_of_too_many_values_is_refused() {
        let many = u32::try_from(MAX_VALUES).unwrap() / 2;
        let text = "A[] s\n===\nMSG: here/A\nuint8 x\n";
        let bytes = |count: u32| [&count.to_le_bytes()[..], &vec![7; count as usize]].concat();
        assert!(decoded(text, &bytes(many / 2), Ros::One).is_ok());
        for count in [many + 1, 3 * many] {
            let error = decoded(text, &bytes(count), Ros::One).unwrap_err();
            assert_eq!(error.kind(), tetrys::ErrorKind::Unsupported, "{error}");
            assert!(error.to_string().contains("field `s`: "), "{error}");
        }
        // Numbers are one value.
        assert!(decoded("uint8[] s", &bytes(3 * many), Ros::One).is_ok());
    }

    #[test]
    fn random_bytes_never_stop_the_decoder() {
        let text = "string s\nfloat64[] xs\nA[] as\nbool[3] b\n===\nMSG: here/A\nint16 n\nstring[] t\ntime w\n";
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..2000 {
            let mut bytes: Vec<u8> = (0..rng.usize(..60)).map(|_| if rng.bool() { rng.u8(..4) } else { 0 }).collect();
            drop(decoded(text, &bytes, Ros::One));
            bytes.splice(..0, [0, rng.u8(..2), 0, 0]);
            drop(decoded(&text.replace("time w", "int64 w"), &bytes, Ros::Two));
        }
    }
}
