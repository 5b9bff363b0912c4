//! The records of a bag: bytes to checked structs. No I/O.
//!
//! A record is a header and data, each behind its length. The header has fields, `NAME=VALUE`, each behind its length.

use std::ops::ControlFlow;

use bytes::Bytes;
use tetrys::{Error, Result};

/// The first bytes of a bag.
pub(super) const MAGIC: &[u8] = b"#ROSBAG V2.0\n";
/// Bytes of a length.
pub(super) const LENGTH: usize = 4;

/// Kinds of records.
pub(super) mod op {
    pub(in crate::bag) const MESSAGE: u8 = 0x02;
    pub(in crate::bag) const BAG: u8 = 0x03;
    pub(in crate::bag) const INDEX: u8 = 0x04;
    pub(in crate::bag) const CHUNK: u8 = 0x05;
    pub(in crate::bag) const CHUNK_INFO: u8 = 0x06;
    pub(in crate::bag) const CONNECTION: u8 = 0x07;
}

/// The checked fields of a header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header<'a>(&'a [u8]);

impl<'a> Header<'a> {
    /// Checks the fields of a header.
    ///
    /// # Errors
    /// - `Corrupt`: a field is cut, or is not `NAME=VALUE`.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut at = 0;
        while at < bytes.len() {
            let (field, end) = part(bytes, at).ok_or_else(|| {
                let left = bytes.len() - at;
                Error::corrupt(format!("expected a field at byte {at} of the header, found {left} bytes"))
            })?;
            if !field.contains(&b'=') {
                return Err(Error::corrupt(format!("expected NAME=VALUE at byte {at} of the header, found no `=`")));
            }
            at = end;
        }
        Ok(Self(bytes))
    }

    /// Returns the value of a field.
    pub(super) fn get(self, name: &str) -> Option<&'a [u8]> {
        let mut at = 0;
        while let Some((field, end)) = part(self.0, at) {
            let value = field.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
            if value.is_some() {
                return value;
            }
            at = end;
        }
        None
    }

    fn number<const N: usize>(self, name: &str) -> Result<[u8; N]> {
        let found = self.get(name);
        found.and_then(|value| value.try_into().ok()).ok_or_else(|| {
            let found = found.map_or("no such field".to_owned(), |value| format!("{} bytes", value.len()));
            Error::corrupt(format!("expected a header with {N} bytes as `{name}`, found {found}"))
        })
    }

    /// Returns the kind of the record.
    pub(super) fn op(self) -> Result<u8> {
        self.number("op").map(u8::from_le_bytes)
    }

    pub(super) fn u32(self, name: &str) -> Result<u32> {
        self.number(name).map(u32::from_le_bytes)
    }

    pub(super) fn u64(self, name: &str) -> Result<u64> {
        self.number(name).map(u64::from_le_bytes)
    }

    /// Returns a time in nanoseconds since 1970.
    pub(super) fn time(self, name: &str) -> Result<u64> {
        self.number(name).map(nanoseconds)
    }

    pub(super) fn text(self, name: &str) -> Result<&'a str> {
        let value = self.get(name).ok_or_else(|| Error::corrupt(format!("expected a header with `{name}`, found none")))?;
        std::str::from_utf8(value).map_err(|_| Error::corrupt(format!("the field `{name}` of the header is not UTF-8")))
    }
}

/// Returns the header and the data of the record at `at`, and where it ends. `None`: the bytes end before.
pub(super) fn record(bytes: &[u8], at: usize) -> Option<(&[u8], &[u8], usize)> {
    let (header, behind) = part(bytes, at)?;
    let (data, end) = part(bytes, behind)?;
    Some((header, data, end))
}

/// Returns the bytes behind the length at `at`, and where they end.
fn part(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let (length, rest) = bytes.get(at..)?.split_first_chunk::<LENGTH>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    Some((rest.get(..length)?, at + LENGTH + length))
}

fn nanoseconds(time: [u8; 8]) -> u64 {
    let [a, b, c, d, e, f, g, h] = time;
    u64::from(u32::from_le_bytes([a, b, c, d])) * 1_000_000_000 + u64::from(u32::from_le_bytes([e, f, g, h]))
}

/// Calls `visit` with the place, the header and the data of each record, until it breaks.
///
/// # Errors
/// - `Corrupt`: the bytes end inside a record, or a header is damaged.
/// - Errors of `visit`.
pub(super) fn each(section: &Bytes, mut visit: impl FnMut(usize, Header<'_>, Bytes) -> Result<ControlFlow<()>>) -> Result<()> {
    let mut at = 0;
    while at < section.len() {
        let place = |error: Error| error.at(format!("record at {at}"));
        let short = || Error::corrupt(format!("the bytes end inside the record at {at} of {}", section.len()));
        let (header, data, end) = record(section, at).ok_or_else(short)?;
        let data = section.slice_ref(data);
        if visit(at, Header::parse(header).map_err(place)?, data).map_err(place)?.is_break() {
            return Ok(());
        }
        at = end;
    }
    Ok(())
}

/// A connection: a publisher of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    pub(super) id: u32,
    pub(super) topic: String,
    /// The type: `sensor_msgs/Imu`.
    pub(super) ty: String,
    /// MD5 sum of the type: ROS takes two types for the same if these are equal. Empty, or `*`: unknown.
    pub(super) md5: String,
    /// The definition of the type.
    pub(super) definition: Vec<u8>,
}

pub(super) fn connection(header: Header<'_>, data: &[u8]) -> Result<Connection> {
    let of = Header::parse(data)?;
    // Comments of old definitions are in any encoding. Names and types are ASCII.
    let definition = String::from_utf8_lossy(of.get("message_definition").unwrap_or_default()).into_owned().into_bytes();
    let md5 = of.get("md5sum").map(|_| of.text("md5sum")).transpose()?.unwrap_or_default().to_owned();
    Ok(Connection {
        id: header.u32("conn")?,
        topic: header.text("topic")?.to_owned(),
        ty: of.text("type")?.to_owned(),
        md5,
        definition,
    })
}

/// The entry of a chunk in the index of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChunkInfo {
    pub(super) start: u64,
    /// The messages of each connection.
    pub(super) counts: Vec<(u32, u32)>,
    pub(super) times: (u64, u64),
}

pub(super) fn chunk_info(header: Header<'_>, data: &[u8]) -> Result<ChunkInfo> {
    check_version(header)?;
    let counts = pairs::<4, 4>(data, header.u32("count")?)?;
    let counts = counts.map(|(connection, count)| (u32::from_le_bytes(connection), u32::from_le_bytes(count)));
    let times = (header.time("start_time")?, header.time("end_time")?);
    Ok(ChunkInfo { start: header.u64("chunk_pos")?, counts: counts.collect(), times })
}

/// Returns the connection of an index, and the log time and the offset in the chunk of each of its messages.
pub(super) fn index(header: Header<'_>, data: &[u8]) -> Result<(u32, Vec<(u64, u64)>)> {
    check_version(header)?;
    let entries = pairs::<8, 4>(data, header.u32("count")?)?;
    let entries = entries.map(|(time, offset)| (nanoseconds(time), u64::from(u32::from_le_bytes(offset))));
    Ok((header.u32("conn")?, entries.collect()))
}

fn check_version(header: Header<'_>) -> Result<()> {
    match header.u32("ver")? {
        1 => Ok(()),
        version => Err(Error::corrupt(format!("an index of version {version}: expected 1"))),
    }
}

/// Returns pairs of values of fixed lengths.
fn pairs<const A: usize, const B: usize>(data: &[u8], count: u32) -> Result<impl Iterator<Item = ([u8; A], [u8; B])>> {
    if u64::from(count) * (A + B) as u64 != data.len() as u64 {
        let found = data.len();
        return Err(Error::corrupt(format!(
            "an index of {count} entries: expected {} bytes for each, found {found} for all",
            A + B
        )));
    }
    Ok(data
        .chunks_exact(A + B)
        .filter_map(|pair| pair.split_first_chunk::<A>().and_then(|(a, b)| Some((*a, b.try_into().ok()?)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, value: &[u8]) -> Vec<u8> {
        let field = [name.as_bytes(), b"=", value].concat();
        [&u32::try_from(field.len()).unwrap().to_le_bytes()[..], &field].concat()
    }

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let bytes =
            [field("opx", b"no"), field("op", &[2]), field("time", &[1, 0, 0, 0, 7, 0, 0, 0]), field("v", b"a=b")].concat();
        let header = Header::parse(&bytes).unwrap();
        assert_eq!((header.op().unwrap(), header.time("time").unwrap()), (2, 1_000_000_007));
        assert_eq!(header.text("v").unwrap(), "a=b");
        assert_eq!(header.get("tim"), None);
        let error = header.u32("conn").unwrap_err().to_string();
        assert_eq!(error, "expected a header with 4 bytes as `conn`, found no such field");
        assert!(header.u32("op").unwrap_err().to_string().ends_with("found 1 bytes"));
        for cut in 1..bytes.len() {
            // A cut between two fields leaves a sound header.
            drop(Header::parse(&bytes[..cut]));
        }
        assert!(Header::parse(&bytes[..bytes.len() - 1]).is_err() && Header::parse(&[1, 0, 0, 0, b'x']).is_err());
    }

    #[test]
    fn a_count_that_does_not_fit_its_entries_is_refused() {
        let of = |count: u32| {
            [field("ver", &[1, 0, 0, 0]), field("conn", &[3, 0, 0, 0]), field("count", &count.to_le_bytes())].concat()
        };
        let entry = [2_u32.to_le_bytes(), 5_u32.to_le_bytes(), 9_u32.to_le_bytes()].concat();
        assert_eq!(index(Header::parse(&of(1)).unwrap(), &entry).unwrap(), (3, vec![(2_000_000_005, 9)]));
        for count in [0, 2, u32::MAX] {
            assert!(index(Header::parse(&of(count)).unwrap(), &entry).unwrap_err().to_string().contains("entries"));
        }
    }
}
