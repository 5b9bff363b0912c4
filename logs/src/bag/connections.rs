//! The connections of a bag as channels and schemas, as MCAP has them.

use std::collections::BTreeMap;

use tetrys::{Error, Result};

use super::records::Connection;
use crate::mcap::{Channel, Schema};

/// Channels and schemas of the connections that were found so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections {
    /// The number of the channel of each connection.
    pub(super) numbers: BTreeMap<u32, u16>,
    pub(super) channels: BTreeMap<u16, Channel>,
    pub(super) schemas: BTreeMap<u16, Schema>,
    /// The number of each type and its MD5 sum, or its definition where a connection has no sum.
    types: BTreeMap<(String, Vec<u8>), u16>,
}

impl Connections {
    /// Adds a connection. Every chunk names its connections again.
    ///
    /// # Errors
    /// - `Corrupt`: the number belongs to another topic.
    /// - `Unsupported`: there are over 65,535 connections.
    pub(super) fn add(&mut self, connection: Connection) -> Result<()> {
        let Connection { id, topic, ty, md5, definition } = connection;
        if let Some(known) = self.numbers.get(&id).and_then(|number| self.channels.get(number)) {
            return match known.topic == topic {
                true => Ok(()),
                false => {
                    let (one, other) = (known.topic.escape_debug(), topic.escape_debug());
                    Err(Error::corrupt(format!("connection {id} is of topic {one} and of topic {other}")))
                }
            };
        }
        let number = u16::try_from(self.channels.len() + 1).map_err(|_| Error::unsupported("over 65535 connections"))?;
        // Publishers in several languages write the same type with other blanks and comments.
        let key = if ["", "*"].contains(&md5.as_str()) { definition.clone() } else { md5.into_bytes() };
        let schema_id = *self.types.entry((ty.clone(), key)).or_insert(number);
        let new = Schema { id: schema_id, name: ty, encoding: "ros1msg".to_owned(), data: Vec::new() };
        let schema = self.schemas.entry(schema_id).or_insert(new);
        if schema.data.is_empty() {
            schema.data = definition;
        }
        let (message_encoding, metadata) = ("ros1".to_owned(), BTreeMap::new());
        self.channels.insert(number, Channel { id: number, schema_id, topic, message_encoding, metadata });
        self.numbers.insert(id, number);
        Ok(())
    }
}
