//! Decoders of messages: one for each encoding. A message that none of them reads stays bytes.

use std::{io::Read as _, sync::Arc};

use bytes::Bytes;
use prost_reflect::MessageDescriptor;
use tetrys::{Error, Result};

use crate::{
    definitions::Definitions,
    idl, json,
    limits::MAX_BYTES,
    msg::{self, Ros},
    proto, ros,
    types::{Field, Message, Type, Value},
};

/// The first bytes of a zstd frame.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Decodes the messages of a topic.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    ty: Arc<Message>,
    kind: Kind,
    stamp: Option<Stamp>,
    /// Whether rosbag2 may have compressed each message.
    is_cdr: bool,
    /// Why messages stay bytes.
    reason: Option<String>,
}

#[derive(Clone, Debug)]
enum Kind {
    Ros(Ros),
    Proto(MessageDescriptor),
    Json,
    Raw,
}

/// Where the stamp of a message is.
#[derive(Clone, Debug)]
struct Stamp {
    path: Vec<usize>,
    /// The path leads to a list of messages, whose first has the stamp there.
    first: Option<Vec<usize>>,
    /// The type without the fields behind the stamp.
    prefix: Arc<Message>,
}

/// The type of the messages of a topic, as the file describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Described<'a> {
    pub(crate) message_encoding: &'a str,
    pub(crate) name: &'a str,
    pub(crate) schema_encoding: &'a str,
    pub(crate) schema: &'a [u8],
}

impl Decoder {
    /// Makes the decoder of a topic. Where the recording has no definition that can be read, that of a `.msg` file of a folder counts, and
    /// then that of an `.idl` file; where the recording has none at all, and no folder has the type, that of the standard packages of ROS 2.
    pub(crate) fn with_definitions(of: Described<'_>, definitions: &Definitions) -> Self {
        let own = Self::new(of);
        let schema_encoding = match of.message_encoding {
            "ros1" => "ros1msg",
            "cdr" => "ros2msg",
            _ => return own,
        };
        if own.reason.is_none() {
            return own;
        }
        let standard = of.message_encoding == "cdr" && of.schema.is_empty();
        let found = match definitions.text_of(of.name, standard) {
            // A file without text defines a type without fields. Without the newline, the definition would count as missing.
            Ok(Some(text)) => Self::new(Described { schema_encoding, schema: format!("{text}\n").as_bytes(), ..of }),
            Ok(None) => own,
            Err(error) => Self { reason: Some(error.to_string()), ..own },
        };
        // A type that is only defined in IDL, or that uses one.
        let idl = match of.message_encoding {
            "cdr" if found.reason.is_some() => definitions.idl_of(of.name),
            _ => Ok(None),
        };
        match idl {
            Ok(Some(text)) => Self::new(Described { schema_encoding: "ros2idl", schema: text.as_bytes(), ..of }),
            Ok(None) => found,
            Err(error) => Self { reason: Some(error.to_string()), ..found },
        }
    }

    /// Makes the decoder of a topic. Messages of an unknown encoding, or with a definition that cannot be read, stay bytes.
    pub(crate) fn new(of: Described<'_>) -> Self {
        let is_ros =
            matches!((of.message_encoding, of.schema_encoding), ("ros1", "ros1msg" | "") | ("cdr", "ros2msg" | "ros2idl" | ""));
        let made = match (of.message_encoding, of.schema_encoding) {
            // An empty text is a definition only for `Empty`: all other usual types have fields, so theirs is missing.
            _ if is_ros && of.schema.is_empty() && !of.name.ends_with("/Empty") => Err(Error::invalid(format!(
                "the recording has no definition of {}; name a folder of .msg files that has it (`--msgs`, in Python `msgs=`)",
                of.name.escape_debug()
            ))),
            ("ros1", "ros1msg") => {
                text(of.schema).and_then(|text| Ok((Arc::new(msg::parse(of.name, text, Ros::One)?), Kind::Ros(Ros::One))))
            }
            ("cdr", "ros2msg") => {
                text(of.schema).and_then(|text| Ok((Arc::new(msg::parse(of.name, text, Ros::Two)?), Kind::Ros(Ros::Two))))
            }
            ("cdr", "ros2idl") => {
                text(of.schema).and_then(|text| Ok((Arc::new(idl::parse(of.name, text)?), Kind::Ros(Ros::Two))))
            }
            ("protobuf", "protobuf") => proto::parse(of.name, of.schema).map(|(descriptor, ty)| (ty, Kind::Proto(descriptor))),
            ("json", "jsonschema" | "") => json::parse(of.name, of.schema).map(|ty| (ty, Kind::Json)),
            (encoding, schema) => Err(Error::unsupported(format!(
                "messages in `{}`, described in `{}`",
                encoding.escape_debug(),
                schema.escape_debug()
            ))),
        };
        let is_cdr = of.message_encoding == "cdr";
        match made {
            Ok((ty, kind)) => Self { stamp: stamp(&ty), ty, kind, is_cdr, reason: None },
            Err(error) => {
                let fields = vec![Field { name: "data".to_owned(), ty: Type::Bytes }];
                let ty = Arc::new(Message { name: of.name.to_owned(), fields });
                Self { ty, kind: Kind::Raw, stamp: None, is_cdr, reason: Some(error.to_string()) }
            }
        }
    }

    /// Returns the type of the messages.
    pub(crate) fn ty(&self) -> &Arc<Message> {
        &self.ty
    }

    /// Returns why messages stay bytes, if they do.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Whether the messages have a stamp.
    pub(crate) fn has_stamp(&self) -> bool {
        self.stamp.is_some()
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// - `Corrupt`, `Unsupported`: the payload does not fit its definition.
    pub(crate) fn decode(&self, bytes: &Bytes) -> Result<Value> {
        self.decode_unpacked(&self.unpacked(bytes)?)
    }

    /// Decodes a message that is not compressed ([`Decoder::unpacked`]).
    ///
    /// # Errors
    /// - `Corrupt`, `Unsupported`: the payload does not fit its definition.
    pub(crate) fn decode_unpacked(&self, bytes: &Bytes) -> Result<Value> {
        self.decode_as(&self.ty, bytes)
    }

    fn decode_as(&self, ty: &Message, bytes: &Bytes) -> Result<Value> {
        match &self.kind {
            Kind::Ros(version) => ros::decode(ty, bytes, *version),
            Kind::Proto(descriptor) => proto::decode(descriptor, &self.ty, bytes),
            Kind::Json => json::decode(&self.ty, bytes),
            Kind::Raw => Ok(Value::Message(vec![Value::Bytes(bytes.clone())])),
        }
    }

    /// Returns the bytes of a message that rosbag2 may have compressed. Only its metadata say so, but no CDR header is the magic of zstd.
    ///
    /// # Errors
    /// - `Corrupt`: the message is damaged.
    /// - `Unsupported`: it is larger than 512 MiB, decompressed.
    pub(crate) fn unpacked(&self, bytes: &Bytes) -> Result<Bytes> {
        if !(self.is_cdr && bytes.starts_with(&ZSTD)) {
            return Ok(bytes.clone());
        }
        let mut unpacked = Vec::new();
        // A stated size is only a claim, so memory grows with what is found.
        let decoder = zstd::stream::read::Decoder::with_buffer(&bytes[..]);
        let read = decoder.and_then(|decoder| decoder.take(MAX_BYTES as u64 + 1).read_to_end(&mut unpacked));
        read.map_err(|error| Error::corrupt(format!("a message that rosbag2 compressed: zstd: {error}")))?;
        match unpacked.len() > MAX_BYTES {
            true => Err(Error::unsupported(format!("a compressed message: expected at most {MAX_BYTES} bytes, found more"))),
            false => Ok(unpacked.into()),
        }
    }

    /// Returns the stamp of a message in nanoseconds since 1970; `None` if it has no value.
    ///
    /// # Errors
    /// - `Invalid`: messages of this type have no stamp.
    /// - `Corrupt`, `Unsupported`: the payload does not fit its definition.
    pub(crate) fn stamp(&self, bytes: &Bytes) -> Result<Option<i64>> {
        let Some(stamp) = &self.stamp else {
            return Err(Error::invalid(format!("messages of type {} have no stamp; use time = \"log\"", self.ty.name)));
        };
        let value = self.decode_as(&stamp.prefix, &self.unpacked(bytes)?)?;
        let found = value.at(&stamp.path);
        Ok(match (&stamp.first, found) {
            (None, found) => found.as_i64(),
            (Some(path), Value::List(items)) => items.first().and_then(|item| item.at(path).as_i64()),
            (Some(_), _) => None,
        })
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| Error::invalid("the definition is not UTF-8"))
}

/// Finds the stamp of a type: that of its header, or of the header of its first transform.
fn stamp(ty: &Message) -> Option<Stamp> {
    let of = |ty: &Message| {
        let names = ["header.stamp", "timestamp", "stamp"];
        names.iter().find_map(|name| ty.path(name).filter(|(_, ty)| **ty == Type::Time).map(|(path, _)| path))
    };
    let cut = |end: usize| Arc::new(Message { name: ty.name.clone(), fields: ty.fields[..=end].to_vec() });
    if let Some(path) = of(ty) {
        return Some(Stamp { prefix: cut(path[0]), path, first: None });
    }
    let (at, Type::Array(item, _)) = ty.field("transforms")? else { return None };
    let Type::Message(item) = &**item else { return None };
    Some(Stamp { path: vec![at], first: Some(of(item)?), prefix: cut(at) })
}
