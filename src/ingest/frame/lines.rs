//! The bytes of CSV files and of line-delimited JSON, as their readers take them: without a byte order mark, and with a cell on each
//! line that is a row.

use std::io::{self, BufRead, BufReader, Read};

use super::data::{Data, DataReader};
use crate::error::Result;

/// Opens a text behind its byte order mark, which some programs write.
pub(super) fn text(data: &Data) -> Result<BufReader<DataReader>> {
    let mut text = BufReader::new(data.open()?);
    if text.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        text.consume(3);
    }
    Ok(text)
}

/// Opens a CSV file for the readers of CSV, which skip blank lines. In a file of one column, a blank line is a row with an empty
/// cell, so it becomes `""`.
pub(super) fn csv(data: &Data, delimiter: u8) -> Result<Box<dyn Read>> {
    let mut header = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(text(data)?);
    // The caller reads the header again, and finds what is wrong with it.
    let is_one = header.byte_headers().is_ok_and(|names| names.len() == 1);
    let text = text(data)?;
    Ok(if is_one { Box::new(Cells { text, place: Place::Before, pending: Vec::new(), taken: 0 }) } else { Box::new(text) })
}

/// Returns the line of a record, from 1. A reader of CSV knows where it began to look for the record: blank lines may follow.
pub(super) fn line_of(data: &Data, delimiter: u8, position: Option<&csv::Position>) -> u64 {
    let Some(position) = position else { return 1 };
    let blank = || -> Result<usize> {
        let mut text = csv(data, delimiter)?;
        io::copy(&mut text.by_ref().take(position.byte()), &mut io::sink())?;
        let blank = BufReader::new(text).bytes().map_while(Result::ok).take_while(|byte| matches!(byte, b'\n' | b'\r'));
        Ok(blank.filter(|byte| *byte == b'\n').count())
    };
    // A file that cannot be read any more does not change what was wrong with it.
    position.line() + blank().unwrap_or(0) as u64
}

/// A CSV text of one column. Each blank line behind its header becomes `""`.
struct Cells<R> {
    text: R,
    place: Place,
    pending: Vec<u8>,
    taken: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the header.
    Before,
    /// At the start of a line that is a row.
    Start,
    /// Behind a carriage return, which a line feed may follow.
    Return,
    Cell,
    Quoted,
    /// Behind a quote in a quoted cell: its last quote, or the first one of two.
    Quote,
}

impl<R: BufRead> Read for Cells<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Self { text, place, pending, taken } = self;
        if *taken == pending.len() {
            pending.clear();
            *taken = 0;
            let bytes = text.fill_buf()?;
            for byte in bytes {
                let is_blank = match place {
                    Place::Start => matches!(byte, b'\n' | b'\r'),
                    Place::Return => *byte == b'\r',
                    _ => false,
                };
                if is_blank {
                    pending.extend_from_slice(b"\"\"");
                }
                pending.push(*byte);
                *place = match (*place, byte) {
                    (Place::Before, b'\n' | b'\r') => Place::Before,
                    (Place::Quoted, b'"') => Place::Quote,
                    (Place::Quoted, _) | (Place::Quote | Place::Before | Place::Start | Place::Return, b'"') => Place::Quoted,
                    (_, b'\n') => Place::Start,
                    (_, b'\r') => Place::Return,
                    _ => Place::Cell,
                };
            }
            let count = bytes.len();
            text.consume(count);
        }
        let count = (&pending[*taken..]).read(into)?;
        *taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_of_one_column_are_empty_cells_however_the_bytes_arrive() {
        for (given, taken) in [
            ("a\n1\n\n2\n", "a\n1\n\"\"\n2\n"),
            ("a\r\n1\r\n\r\n\r\n2", "a\r\n1\r\n\"\"\r\n\"\"\r\n2"),
            ("a\r1\r\r2\r", "a\r1\r\"\"\r2\r"),
            ("\n\r\na\n\n", "\n\r\na\n\"\"\n"),
            ("a\n\"x\n\n\"\"\n\ny\"\n\n", "a\n\"x\n\n\"\"\n\ny\"\n\"\"\n"),
            ("\"a\n\nb\"\n\n1", "\"a\n\nb\"\n\"\"\n1"),
            ("a\nx\"\n\n\"\"\n", "a\nx\"\n\"\"\n\"\"\n"),
            ("a\n \n", "a\n \n"),
            ("", ""),
        ] {
            for size in 1..=given.len().max(1) {
                let text = BufReader::with_capacity(size, given.as_bytes());
                let mut cells = Cells { text, place: Place::Before, pending: Vec::new(), taken: 0 };
                let mut found = String::new();
                cells.read_to_string(&mut found).unwrap();
                assert_eq!(found, taken, "{given:?}, {size} bytes at a time");
            }
        }
    }
}
