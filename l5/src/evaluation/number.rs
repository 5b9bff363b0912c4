//! Writes numbers as Python does, and reads them.

use std::fmt::Write as _;

use tetrys::{Error, Result};

/// A number that Python's `csv` module writes as `str(number)`.
pub trait Number: Copy {
    /// Appends the text of the number.
    fn write(self, text: &mut String);
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn write(self, text: &mut String) {
                let _ = write!(text, "{self}");
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Number for bool {
    fn write(self, text: &mut String) {
        text.push_str(if self { "True" } else { "False" });
    }
}

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Number for $type {
            /// Appends the shortest text that means this number, with an exponent below 1e-4 and from 1e16 on.
            fn write(self, text: &mut String) {
                if !self.is_finite() {
                    text.push_str(if self.is_nan() { "nan" } else if self > 0.0 { "inf" } else { "-inf" });
                    return;
                }
                let magnitude = f64::from(self.abs());
                if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
                    let scientific = format!("{self:e}");
                    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
                    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
                    let _ = write!(text, "{mantissa}e{sign}{digits:0>2}");
                } else {
                    let start = text.len();
                    let _ = write!(text, "{self}");
                    if !text[start..].contains('.') {
                        text.push_str(".0");
                    }
                }
            }
        }
    )*};
}
floats!(f32, f64);

/// Appends a number with five decimals, as Python's format `.5f` does.
pub(crate) fn write_fixed(number: f64, text: &mut String) {
    if number.is_finite() {
        let _ = write!(text, "{number:.5}");
    } else {
        number.write(text);
    }
}

/// Reads a number, with blanks around it.
pub(crate) fn read(text: &str) -> Result<f64> {
    text.trim().parse().map_err(|_| Error::invalid(format!("could not convert {text:?} to a number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<N: Number>(number: N) -> String {
        let mut text = String::new();
        number.write(&mut text);
        text
    }

    #[test]
    fn numbers_look_like_pythons() {
        let found = [0.0, -0.0, 1.0, 0.1, 1e-4, 1e-5, 1.5e-7, 123456789.0, 1e15, 1e16, 1.25e22, -1e300, f64::NAN, -f64::INFINITY];
        let expected =
            ["0.0", "-0.0", "1.0", "0.1", "0.0001", "1e-05", "1.5e-07", "123456789.0", "1000000000000000.0", "1e+16", "1.25e+22"];
        assert_eq!(found.map(text)[..11], expected);
        assert_eq!(found.map(text)[11..], ["-1e+300", "nan", "-inf"]);
        assert_eq!([0.3_f32, 1e-4, 1.1e-4, 1e16, 123_456_789.0].map(text), ["0.3", "1e-04", "0.00011", "1e+16", "123456790.0"]);
        assert_eq!((text(true), text(-7_i64), text(u64::MAX)), ("True".into(), "-7".into(), "18446744073709551615".into()));
    }

    #[test]
    fn five_decimals_round_half_to_even_as_python() {
        let fixed = |number: f64| {
            let mut text = String::new();
            write_fixed(number, &mut text);
            text
        };
        let found = [0.015625, 0.046875, 1.0, -1e-9, 123456.789012, f64::NAN].map(fixed);
        assert_eq!(found, ["0.01562", "0.04688", "1.00000", "-0.00000", "123456.78901", "nan"]);
    }
}
