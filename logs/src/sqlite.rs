//! SQLite bags of rosbag2 (`.db3`): their messages are copied to a temporary MCAP file, which is read as any other.
//!
//! Follows the [schema of `rosbag2_storage_sqlite3`](https://github.com/ros2/rosbag2). Early versions store no definitions of types.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, Row, types::ValueRef};
use tempfile::TempDir;
use tetrys::{Error, Result, extension::LocalFile};

use crate::{
    input::Input,
    mcap::records::{MAGIC, op},
};

/// Bytes that are copied at a time.
const WINDOW: u64 = 4 << 20;
/// Maximum bytes of a name or of the definition of a type.
const MAX_TEXT: usize = 1 << 20;

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
    let open = open(bag).map_err(place)?;
    let file = tempfile::tempfile().map_err(here)?;
    let mut out = Out { file: BufWriter::with_capacity(1 << 20, file), size: 0 };
    let fault = copy(&open.connection, &mut Budget(open.size), &mut out, bag).map_err(place)?;
    let (file, size) = (out.file.into_inner().map_err(|error| here(error.into_error()))?, out.size);
    Ok(bag.replaced(file, size, fault))
}

fn damaged(error: rusqlite::Error) -> Error {
    Error::corrupt(format!("SQLite: {error}"))
}

/// A bag that is open for reading.
struct Open {
    connection: Connection,
    /// Bytes of its files.
    size: u64,
    /// The folder of the copy of a bag with a write-ahead log. The bag is closed before the folder is removed.
    _copy: Option<TempDir>,
}

/// The bytes that the texts and the messages of a bag may still have: together, no more than its files. Rows of a hostile bag may share
/// their pages, or compute what they have, and then they have no end.
struct Budget(u64);

impl Budget {
    /// Takes bytes. Returns whether there were as many.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes as u64);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// Opens a bag for reading. One that is not a local file is copied to one, which is gone when the bag is closed.
fn open(bag: &Input) -> Result<Open> {
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
        // The log is beside the file that a link leads to.
        let path = std::fs::canonicalize(path)?;
        // What a recorder that crashed had not yet moved into the file is in its write-ahead log.
        let log = log_of(&path);
        if !std::fs::metadata(&log).is_ok_and(|found| found.len() > 0) {
            return Ok(Open { connection: connect(&path, true)?, size: bag.size(), _copy: None });
        }
        // SQLite writes a file beside a bag with a log, so it opens a copy of both.
        let folder = tempfile::tempdir()?;
        let copy = folder.path().join("bag.db3");
        let size = copied(&path, &copy)? + copied(&log, &log_of(&copy))?;
        return Ok(Open { connection: connect(&copy, false)?, size, _copy: Some(folder) });
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
    Ok(Open { connection, size: bag.size(), _copy: None })
}

/// Returns the path of the write-ahead log of a SQLite file.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// Copies a file. Returns the number of its bytes.
fn copied(from: &Path, to: &Path) -> Result<u64> {
    let mut source = LocalFile::regular(from, "a file of SQLite")?;
    let place = |error: io::Error| Error::from(error).at(format!("{}: copying to a temporary folder", from.display()));
    let mut target = File::create(to).map_err(place)?;
    io::copy(&mut source, &mut target).map_err(place)
}

/// A topic of a bag: its number, its name, its type, and how its messages are encoded.
type Topic = (i64, String, String, String);

/// Returns the topics by their numbers, and one too many if there are over 65,535.
fn topics(connection: &Connection, budget: &mut Budget) -> Result<Vec<Topic>> {
    // With ORDER BY, SQLite may read all rows of a hostile table before it returns the first.
    let query = "SELECT id, name, type, serialization_format FROM topics LIMIT 65536";
    let mut query = connection.prepare(query).map_err(damaged)?;
    let mut rows = query.query([]).map_err(damaged)?;
    let mut found: Vec<Topic> = Vec::new();
    while let Some(row) = rows.next().map_err(damaged)? {
        let id = row.get(0).map_err(damaged)?;
        found.push((id, text(row, 1, budget)?, text(row, 2, budget)?, text(row, 3, budget)?));
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns a text of a row.
fn text(row: &Row<'_>, column: usize, budget: &mut Budget) -> Result<String> {
    let value = row.get_ref(column).map_err(damaged)?;
    let text = value.as_str().map_err(|error| Error::corrupt(format!("SQLite: expected a text: {error}")))?;
    if text.len() > MAX_TEXT {
        return Err(Error::corrupt(format!("a text of {} bytes, expected at most {MAX_TEXT}", text.len())));
    }
    match budget.take(text.len()) {
        true => Ok(text.to_owned()),
        false => Err(Error::corrupt("the topics and the definitions have more bytes than the bag")),
    }
}

/// Returns the encoding and the text of the definition of each type. Bags of ROS 2 Humble and before have none.
fn definitions(connection: &Connection, budget: &mut Budget) -> Result<BTreeMap<String, (String, String)>> {
    if !is_table(connection, "message_definitions")? {
        return Ok(BTreeMap::new());
    }
    let query = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions LIMIT 65536";
    let mut query = connection.prepare(query).map_err(damaged)?;
    let mut rows = query.query([]).map_err(damaged)?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next().map_err(damaged)? {
        found.insert(text(row, 0, budget)?, (text(row, 1, budget)?, text(row, 2, budget)?));
    }
    Ok(found)
}

/// Whether there is a table of this name. A view may be anything.
fn is_table(connection: &Connection, name: &str) -> Result<bool> {
    let text = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
    let count: i64 = connection.query_row(text, [name], |row| row.get(0)).map_err(damaged)?;
    Ok(count > 0)
}

/// Copies topics, definitions and messages. Returns what is wrong with the messages, if some are left out.
fn copy(connection: &Connection, budget: &mut Budget, out: &mut Out, bag: &Input) -> Result<Option<String>> {
    for table in ["topics", "messages"] {
        if !is_table(connection, table)? {
            return Err(Error::corrupt(format!("expected a bag of rosbag2, found a SQLite file without the table `{table}`")));
        }
    }
    let (topics, definitions) = (topics(connection, budget)?, definitions(connection, budget)?);
    out.write(&MAGIC)?;
    out.record(op::HEADER, &[&[0; 8]])?;
    let (mut channels, mut schemas) = (BTreeMap::new(), BTreeMap::new());
    for (number, (id, name, ty, encoding)) in (1_u32..).zip(&topics) {
        let Ok(number) = u16::try_from(number) else { return Err(Error::unsupported("over 65535 topics")) };
        let (schema_encoding, text) = definitions.get(ty).map_or(("", ""), |(encoding, text)| (encoding.as_str(), text.as_str()));
        let id_bytes = number.to_le_bytes();
        // Topics of one type share its definition.
        let schema = *schemas.entry(ty).or_insert(number);
        if schema == number {
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
        }
        let schema_bytes = schema.to_le_bytes();
        out.record(
            op::CHANNEL,
            &[&id_bytes, &schema_bytes, &long(name)?, name.as_bytes(), &long(encoding)?, encoding.as_bytes(), &[0; 4]],
        )?;
        channels.insert(*id, number);
    }
    let fault = messages(connection, &channels, budget, out, bag)?;
    out.record(op::DATA_END, &[&[0; 4]])?;
    out.record(op::FOOTER, &[&[0; 20]])?;
    out.write(&MAGIC)?;
    Ok(fault)
}

/// Copies the messages in the order in which they were recorded. Returns what is wrong with those that are left out.
fn messages(
    connection: &Connection,
    channels: &BTreeMap<i64, u16>,
    budget: &mut Budget,
    out: &mut Out,
    bag: &Input,
) -> Result<Option<String>> {
    // A table without an index is read in the order of its numbers. With ORDER BY, SQLite may read all rows of a hostile table before it
    // returns the first.
    let text = "SELECT id, topic_id, timestamp, data FROM messages NOT INDEXED";
    let mut query = connection.prepare(text).map_err(damaged)?;
    let mut rows = query.query([]).map_err(damaged)?;
    let (mut last, mut left_out) = (None::<i64>, 0_u64);
    let damage = loop {
        bag.check()?;
        let before = last.map_or_else(|| "before the first message".to_owned(), |id| format!("behind message {id}"));
        let row = match rows.next() {
            Ok(None) => break None,
            Ok(Some(row)) => row,
            Err(error) => break Some(format!("the bag is damaged {before}: SQLite: {error}")),
        };
        let fields = (row.get_ref(0), row.get_ref(1), row.get_ref(2), row.get_ref(3));
        let (Ok(ValueRef::Integer(id)), Ok(ValueRef::Integer(topic)), Ok(ValueRef::Integer(time)), Ok(ValueRef::Blob(data))) =
            fields
        else {
            break Some(format!("the bag is damaged {before}: expected the numbers and the bytes of a message"));
        };
        if last.is_some_and(|last| last >= id) {
            break Some(format!("the bag is damaged {before}: expected a larger number, found message {id}"));
        }
        if !budget.take(data.len()) {
            break Some(format!("the bag is damaged {before}: the messages have more bytes than the bag"));
        }
        last = Some(id);
        let (Some(channel), Ok(time)) = (channels.get(&topic), u64::try_from(time)) else {
            left_out += 1;
            continue;
        };
        // The bag does not say when a message was published.
        out.record(op::MESSAGE, &[&channel.to_le_bytes(), &[0; 4], &time.to_le_bytes(), &[0; 8], data])?;
    };
    let without = (left_out > 0)
        .then(|| format!("messages of topics that the bag does not have, or with a time before 1970: {left_out} are left out"));
    let faults: Vec<String> = damage.into_iter().chain(without).collect();
    Ok((!faults.is_empty()).then(|| faults.join("; ")))
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
