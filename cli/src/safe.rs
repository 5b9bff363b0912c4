//! Escapes control characters and hidden characters, so that names and values from files of others can neither control the terminal
//! nor look like other names.
//!
//! Such a character is printed as `\u001b`, as JSON writes it. Line feeds and tabs stay.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use crate::text::{escape, is_hidden};

/// A writer that escapes control characters and hidden characters, and passes on all other text.
#[derive(Debug)]
pub(crate) struct Safe<W: Write> {
    inner: W,
    /// The first bytes of a character whose other bytes were not written yet.
    begun: Vec<u8>,
}

impl<W: Write> Safe<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, begun: Vec::new() }
    }
}

impl<W: Write> Write for Safe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = std::mem::take(&mut self.begun);
        let text = match text.is_empty() {
            true => bytes,
            false => {
                text.extend_from_slice(bytes);
                text.as_slice()
            }
        };
        let mut chunks = text.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.inner.write_all(safe(chunk.valid()).as_bytes())?;
            let is_begun = || str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            match chunk.invalid() {
                [] => {}
                invalid if chunks.peek().is_none() && is_begun() => self.begun = invalid.to_vec(),
                _ => self.inner.write_all("\u{fffd}".as_bytes())?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Returns the text with control characters and hidden characters escaped, except line feeds and tabs.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    let is_unsafe = |character: char| !matches!(character, '\n' | '\t') && is_hidden(character);
    let mut safe = String::new();
    let mut rest = text;
    while let Some((place, character)) = rest.char_indices().find(|(_, character)| is_unsafe(*character)) {
        let (before, after) = rest.split_at(place);
        safe.push_str(before);
        safe.push_str(&escape(character));
        rest = after.strip_prefix(character).unwrap_or_default();
    }
    if safe.is_empty() {
        return text.into();
    }
    safe.push_str(rest);
    safe.into()
}

/// Returns random numbers below a bound, from the seed of all randomized tests (`TETRYS_SEED`).
#[cfg(test)]
pub(crate) fn random() -> impl FnMut(usize) -> usize {
    let seed_text = std::env::var("TETRYS_SEED").unwrap_or_default();
    let parsed = seed_text.strip_prefix("0x").map_or_else(|| seed_text.parse(), |digits| u64::from_str_radix(digits, 16));
    let mut state = parsed.unwrap_or(0x5eed);
    println!("TETRYS_SEED={state}");
    move |bound| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_in_every_cut_comes_out_the_same_way() {
        let text = "a\u{1b}[1mb\u{9b}31m\u{7f}\u{c2}\u{a0}\u{80}\r\n\t\u{e9}\u{1f600}\u{9f}\u{202e}\u{e0041}\u{200b}x";
        let expected =
            "a\\u001b[1mb\\u009b31m\\u007f\u{c2}\u{a0}\\u0080\\u000d\n\t\u{e9}\u{1f600}\\u009f\\u202e\\udb40\\udc41\\u200bx";
        assert_eq!(safe(text), expected);
        for cut in 0..=text.len() {
            for size in [1, 2, 3, text.len()] {
                let mut out = Vec::new();
                let mut writer = Safe::new(&mut out);
                writer.write_all(&text.as_bytes()[..cut]).unwrap();
                text.as_bytes()[cut..].chunks(size).for_each(|part| writer.write_all(part).unwrap());
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{cut} {size}");
            }
        }
    }

    #[test]
    fn any_bytes_in_any_cuts_come_out_as_safe_text() {
        let mut random = random();
        for case in 0..2_000 {
            let bytes: Vec<u8> =
                (0..random(40)).map(|_| [b'a', 0x1b, 0xc2, 0x9b, 0xe2, 0x80, 0xae, 0xf3, 0xff, 0xa0][random(10)]).collect();
            // A character that was begun and not finished is not written.
            let whole = [&bytes, b"".as_slice(), b".".as_slice()].concat();
            let mut out = Vec::new();
            let mut writer = Safe::new(&mut out);
            let mut rest = whole.as_slice();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(1 + random(rest.len()));
                writer.write_all(now).unwrap();
                rest = later;
            }
            assert_eq!(String::from_utf8(out).unwrap(), safe(&String::from_utf8_lossy(&whole)), "case {case}: {bytes:?}");
        }
    }
}
