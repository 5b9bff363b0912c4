//! SQLite bags of rosbag2 (`.db3`): their messages are copied to a temporary MCAP file, which is read as any other.
//!
//! Follows the [schema of `rosbag2_storage_sqlite3`](https://github.com/ros2/rosbag2). Early versions store no definitions of types.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use rusqlite::{Connection, OpenFlags, types::ValueRef};
use tetrys::{Error, Result};

use crate::{
    input::Input,
    mcap::records::{MAGIC, op},
};

/// Bytes that are copied at a time.
const WINDOW: u64 = 4 << 20;

/// Whether a file with this name is a SQLite bag, or a compressed one.
pub(crate) fn is_bag(name: &str) -> bool {
    [".db3", ".db3.zst", ".db3.zstd"].iter().any(|end| name.ends_with(end))
}

/// Copies a bag to an MCAP file without a name. A bag that is damaged gives the messages before the damage, and a fault.
///
/// # Errors
/// - `Corrupt`: the file is no SQLite file, or has no table of topics and of messages.
/// - `Unsupported`: it has over 65,535 topics.
/// - Errors of the file system or the store.
pub(crate) fn converted(bag: &Input) -> Result<Input> {
    let place = |error: Error| error.at(bag.url());
    let here = |error: io::Error| Error::from(error).at(format!("{}: copying to a temporary file", bag.url()));
    let connection = open(bag).map_err(place)?;
    let file = tempfile::tempfile().map_err(here)?;
    let mut out = Out { file: BufWriter::with_capacity(1 << 20, file), size: 0 };
    let fault = copy(&connection, &mut out, bag).map_err(place)?;
    let (file, size) = (out.file.into_inner().map_err(|error| here(error.into_error()))?, out.size);
    Ok(bag.replaced(file, size, fault))
}

fn damaged(error: rusqlite::Error) -> Error {
    Error::corrupt(format!("SQLite: {error}"))
}

/// Opens a bag for reading. One that is not a local file is copied to one, which is gone when the bag is closed.
fn open(bag: &Input) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connect = |path: &Path, is_still: bool| {
        let path = std::path::absolute(path)?;
        let text = path.to_str().ok_or_else(|| Error::unsupported("a path that is not UTF-8"))?;
        let escaped = text.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let immutable = if is_still { "&immutable=1" } else { "" };
        let connection = Connection::open_with_flags(format!("file:{escaped}?mode=ro{immutable}"), flags).map_err(damaged)?;
        // The file comes from anybody: its schema runs nothing.
        connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON").map_err(damaged)?;
        Ok::<_, Error>(connection)
    };
    if let Some(path) = bag.local_path() {
        // What a recorder that crashed had not yet moved into the file is beside it.
        let log = format!("{path}-wal");
        return connect(Path::new(path), !Path::new(&log).exists());
    }
    let mut copy = tempfile::NamedTempFile::new()?;
    let mut at = 0;
    while at < bag.size() {
        let bytes = bag.read(at, WINDOW.min(bag.size() - at))?;
        copy.write_all(&bytes)?;
        at += bytes.len() as u64;
    }
    let connection = connect(copy.path(), true)?;
    // SQLite opens a file when it needs it first.
    is_table(&connection, "topics")?;
    Ok(connection)
}

/// A topic of a bag: its number, its name, its type, and how its messages are encoded.
type Topic = (i64, String, String, String);

fn topics(connection: &Connection) -> Result<Vec<Topic>> {
    let text = "SELECT id, name, type, serialization_format FROM topics ORDER BY id";
    let mut query = connection.prepare(text).map_err(damaged)?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).map_err(damaged)?;
    rows.collect::<rusqlite::Result<_>>().map_err(damaged)
}

/// Returns the encoding and the text of the definition of each type. Bags of ROS 2 Humble and before have none.
fn definitions(connection: &Connection) -> Result<BTreeMap<String, (String, String)>> {
    if !is_table(connection, "message_definitions")? {
        return Ok(BTreeMap::new());
    }
    let text = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions";
    let mut query = connection.prepare(text).map_err(damaged)?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))).map_err(damaged)?;
    rows.collect::<rusqlite::Result<_>>().map_err(damaged)
}

/// Whether there is a table of this name. A view may be anything.
fn is_table(connection: &Connection, name: &str) -> Result<bool> {
    let text = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
    let count: i64 = connection.query_row(text, [name], |row| row.get(0)).map_err(damaged)?;
    Ok(count > 0)
}

/// Copies topics, definitions and messages. Returns what is wrong with the messages, if they end early.
fn copy(connection: &Connection, out: &mut Out, bag: &Input) -> Result<Option<String>> {
    for table in ["topics", "messages"] {
        if !is_table(connection, table)? {
            return Err(Error::corrupt(format!("expected a bag of rosbag2, found a SQLite file without the table `{table}`")));
        }
    }
    let (topics, definitions) = (topics(connection)?, definitions(connection)?);
    out.write(&MAGIC)?;
    out.record(op::HEADER, &[&[0; 8]])?;
    let mut channels = BTreeMap::new();
    for (number, (id, name, ty, encoding)) in (1_u32..).zip(&topics) {
        let Ok(number) = u16::try_from(number) else { return Err(Error::unsupported("over 65535 topics")) };
        let (schema_encoding, text) = definitions.get(ty).map_or(("", ""), |(encoding, text)| (encoding.as_str(), text.as_str()));
        let id_bytes = number.to_le_bytes();
        out.record(
            op::SCHEMA,
            &[
                &id_bytes,
                &long(ty)?,
                ty.as_bytes(),
                &long(schema_encoding)?,
                schema_encoding.as_bytes(),
                &long(text)?,
                text.as_bytes(),
            ],
        )?;
        out.record(
            op::CHANNEL,
            &[&id_bytes, &id_bytes, &long(name)?, name.as_bytes(), &long(encoding)?, encoding.as_bytes(), &[0; 4]],
        )?;
        channels.insert(*id, number);
    }
    let fault = messages(connection, &channels, out, bag)?;
    out.record(op::DATA_END, &[&[0; 4]])?;
    out.record(op::FOOTER, &[&[0; 20]])?;
    out.write(&MAGIC)?;
    Ok(fault)
}

/// Copies the messages in the order in which they were recorded.
fn messages(connection: &Connection, channels: &BTreeMap<i64, u16>, out: &mut Out, bag: &Input) -> Result<Option<String>> {
    let text = "SELECT id, topic_id, timestamp, data FROM messages ORDER BY id";
    let mut query = connection.prepare(text).map_err(damaged)?;
    let mut rows = query.query([]).map_err(damaged)?;
    let mut last = None::<i64>;
    loop {
        bag.check()?;
        let before = last.map_or_else(|| "before the first message".to_owned(), |id| format!("behind message {id}"));
        let row = match rows.next() {
            Ok(None) => return Ok(None),
            Ok(Some(row)) => row,
            Err(error) => return Ok(Some(format!("the bag is damaged {before}: SQLite: {error}"))),
        };
        let fields = (row.get_ref(0), row.get_ref(1), row.get_ref(2), row.get_ref(3));
        let (Ok(ValueRef::Integer(id)), Ok(ValueRef::Integer(topic)), Ok(ValueRef::Integer(time)), Ok(ValueRef::Blob(data))) =
            fields
        else {
            return Ok(Some(format!("the bag is damaged {before}: expected the numbers and the bytes of a message")));
        };
        let (Some(channel), Ok(time)) = (channels.get(&topic), u64::try_from(time)) else {
            return Ok(Some(format!(
                "message {id} has the topic {topic} and the time {time}: expected a topic of the bag and a time of 0 or more"
            )));
        };
        // The bag does not say when a message was published.
        out.record(op::MESSAGE, &[&channel.to_le_bytes(), &[0; 4], &time.to_le_bytes(), &[0; 8], data])?;
        last = Some(id);
    }
}

fn long(text: &str) -> Result<[u8; 4]> {
    u32::try_from(text.len()).map(u32::to_le_bytes).map_err(|_| Error::unsupported(format!("a text of {} bytes", text.len())))
}

/// An MCAP file that is being written.
struct Out {
    file: BufWriter<File>,
    size: u64,
}

impl Out {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| Error::from(error).at("copying to a temporary file"))?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    fn record(&mut self, opcode: u8, body: &[&[u8]]) -> Result<()> {
        let len: usize = body.iter().map(|part| part.len()).sum();
        self.write(&[opcode])?;
        self.write(&(len as u64).to_le_bytes())?;
        body.iter().try_for_each(|part| self.write(part))
    }
}
