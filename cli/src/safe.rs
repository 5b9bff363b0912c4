//! Escapes control characters, so that names and values from files of others cannot control the terminal.
//!
//! A control character is printed as `\u001b`, as JSON writes it. Line feeds and tabs stay.

use std::io::{self, Write};

/// A writer that escapes control characters and passes on all other text.
#[derive(Debug)]
pub(crate) struct Safe<W: Write> {
    inner: W,
    /// Whether [`LATIN`] was read and not yet passed on: the next byte decides whether the character is a control character.
    held: bool,
}

/// The first UTF-8 byte of the characters U+0080 to U+00BF; those below U+00A0 are control characters.
const LATIN: u8 = 0xc2;

impl<W: Write> Safe<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, held: false }
    }
}

impl<W: Write> Write for Safe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut start = 0;
        for (place, byte) in bytes.iter().enumerate() {
            let held = std::mem::take(&mut self.held);
            match byte {
                0x80..=0x9f if held => write!(self.inner, "\\u{byte:04x}")?,
                _ => {
                    if held {
                        self.inner.write_all(&[LATIN])?;
                    }
                    match *byte {
                        LATIN => self.held = true,
                        b'\n' | b'\t' => continue,
                        0..=0x1f | 0x7f => {
                            self.inner.write_all(bytes.get(start..place).unwrap_or_default())?;
                            write!(self.inner, "\\u{byte:04x}")?;
                            start = place + 1;
                        }
                        _ => {
                            if held {
                                self.inner.write_all(&[*byte])?;
                                start = place + 1;
                            }
                        }
                    }
                    if self.held {
                        self.inner.write_all(bytes.get(start..place).unwrap_or_default())?;
                        start = place + 1;
                    }
                    continue;
                }
            }
            start = place + 1;
        }
        self.inner.write_all(bytes.get(start..).unwrap_or_default())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Returns the text with control characters escaped, except line feeds and tabs.
pub(crate) fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => safe.push(character),
            _ if character.is_control() => safe.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_in_every_cut_comes_out_the_same_way() {
        let text = "a\u{1b}[1mb\u{9b}31m\u{7f}\u{c2}\u{a0}\u{80}\r\n\t\u{e9}\u{1f600}\u{9f}";
        let expected = "a\\u001b[1mb\\u009b31m\\u007f\u{c2}\u{a0}\\u0080\\u000d\n\t\u{e9}\u{1f600}\\u009f";
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
}
