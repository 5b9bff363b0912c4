//! Types that columns of text must have: those that the user declares, and those of the table that the rows are for.
//!
//! Every value must fit the type exactly, because the readers of text would silently cut off fractions, shift times and round
//! numbers. Only fractions are rounded, to the nearest float: to `f64` if the user declares it, to a narrower type in any case.
//! Leading zeros and a plus sign are lost only if the user declares the type: `00789` is no number of a table.

use std::{collections::BTreeMap, fmt, sync::Arc};

use arrow_array::timezone::Tz;
use arrow_schema::{DataType, Field};
use chrono::{NaiveDate, NaiveTime, Timelike};
use half::f16;

use super::{
    columns::type_of,
    numbers::{comes_back, is_float, is_plain, is_whole, time_of},
    text::TextSettings,
};
use crate::{
    error::{Error, Result, short},
    ingest::{
        foreign::{Foreign, unlisted},
        nested::{self, Kind, TYPE},
    },
    schema::{Column, ColumnType, Primitive, TimeUnit},
};

/// The types that columns must have, by the parts of their names: `ego.speed` is below `ego`.
#[derive(Debug, Default)]
pub(super) struct Types {
    wanted: Option<Wanted>,
    below: BTreeMap<String, Types>,
}

/// No types.
pub(super) static NO_TYPES: Types = Types { wanted: None, below: BTreeMap::new() };

impl Types {
    /// Returns the declared types, and those of the table for all other columns.
    ///
    /// # Errors
    /// - `Unsupported`: a declared type is not read from text.
    pub(super) fn of(text: &TextSettings) -> Result<Self> {
        let mut types = Self::default();
        for column in text.table.iter().flat_map(|schema| schema.columns()) {
            if let Some(wanted) = Wanted::of_column(column) {
                types.insert(&column.name, wanted);
            }
        }
        for (name, ty) in &text.types {
            if !ty.is_indexable() {
                return Err(Error::unsupported(format!(
                    "type: column `{name}`: {ty} cannot be read from text; use a number, bool, text, date, timestamp or duration"
                )));
            }
            types.insert(name, Wanted { ty: ty.clone(), foreign: None, of_table: false });
        }
        Ok(types)
    }

    fn insert(&mut self, name: &str, wanted: Wanted) {
        let place = name.split('.').fold(self, |types, part| types.below.entry(part.to_owned()).or_default());
        place.wanted = Some(wanted);
    }

    /// Returns the types of the member `name` and below it.
    pub(super) fn below(&self, name: &str) -> &Self {
        name.split('.').try_fold(self, |types, part| types.below.get(part)).unwrap_or(&NO_TYPES)
    }

    pub(super) fn wanted(&self) -> Option<&Wanted> {
        self.wanted.as_ref()
    }
}

/// The type that a column must have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    ty: ColumnType,
    /// The Arrow type that the values of the table's column came from, if it has no column type of its own.
    foreign: Option<Foreign>,
    /// Whether the table has the type; otherwise the user declared it.
    of_table: bool,
}

impl Wanted {
    /// Returns the type of values inside the structs and lists of structs that enclose a column of the table. Returns `None` if no
    /// text has such values.
    fn of_column(column: &Column) -> Option<Self> {
        let (around, _) = nested::around(&column.name, &column.properties).unwrap_or_default();
        if around.iter().any(|within| within.kind == Kind::Map) {
            return None;
        }
        let lists = nested::lists(&around);
        let ty = (0..lists).try_fold(column.ty.clone(), |ty, _| unlisted(&ty))?;
        let foreign = Foreign::of_column(&column.ty, &column.properties);
        let wanted = Self { ty, foreign, of_table: true };
        (type_of(&wanted.field("")?).as_ref() == Some(&wanted.ty)).then_some(wanted)
    }

    /// Whether it is a type of single values, which CSV cells can have.
    pub(super) fn is_single(&self) -> bool {
        !matches!(self.ty, ColumnType::List(_) | ColumnType::Tensor { .. })
    }

    /// Returns the field that a reader of text parses.
    pub(super) fn field(&self, name: &str) -> Option<Field> {
        let field = Field::new(name, arrow(&self.ty, self.foreign)?, true);
        Some(match self.foreign {
            Some(_) => field,
            None => field.with_metadata([(TYPE.to_owned(), self.ty.to_string())]),
        })
    }

    /// Returns the type of items, and how many there must be.
    pub(super) fn item(&self) -> Option<(Self, Option<usize>)> {
        let (ty, count) = match &self.ty {
            ColumnType::List(item) => ((**item).clone(), None),
            ColumnType::Tensor { element, shape } => {
                let (first, rest) = shape.split_first()?;
                let ty = if rest.is_empty() { ColumnType::Scalar(*element) } else { ColumnType::tensor(*element, rest) };
                (ty, first.map(|extent| extent as usize))
            }
            _ => return None,
        };
        Some((Self { ty, ..self.clone() }, count))
    }

    /// Whether values are `true` and `false`.
    pub(super) fn is_bool(&self) -> bool {
        self.ty == ColumnType::Scalar(Primitive::Bool) && self.foreign.is_none()
    }

    /// Whether a text, which is not empty, has a value of the type, and a reader keeps all of it.
    pub(super) fn takes(&self, text: &str) -> bool {
        match (self.foreign, &self.ty) {
            (Some(Foreign::Decimal { precision, scale, .. }), _) => self.spells(text) && is_decimal(text, precision, scale),
            (Some(Foreign::Time(unit)), _) => time_of_day(text.trim_ascii()).is_some_and(|(_, digits)| digits <= digits_of(unit)),
            (Some(Foreign::Date64), _) => is_time(text, TimeUnit::Millisecond, false),
            (Some(Foreign::Null | Foreign::Bytes(_)), _) => false,
            (None, ColumnType::Utf8 | ColumnType::Categorical) => true,
            (None, ColumnType::Scalar(Primitive::Bool)) => ["true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word)),
            (None, ColumnType::Scalar(element)) if is_float_type(*element) => {
                self.spells(text) && self.takes_float(text, *element)
            }
            (None, ColumnType::Scalar(element)) => (!self.of_table || is_whole(text)) && is_integer(text, *element),
            (None, ColumnType::Duration(_)) => (!self.of_table || is_whole(text)) && text.parse::<i64>().is_ok(),
            // A reader of dates would silently drop a time of day.
            (None, ColumnType::Date) => is_date(text.trim_ascii()),
            (None, ColumnType::Timestamp(unit, zone)) => is_time(text, *unit, zone.is_some()),
            (None, ColumnType::Binary | ColumnType::List(_) | ColumnType::Tensor { .. }) => false,
        }
    }

    /// Whether the spelling of a number is one that a table's column may lose.
    fn spells(&self, text: &str) -> bool {
        !self.of_table || is_plain(text)
    }

    /// Whether a number of JSON is a value of the type, and a reader keeps all of it.
    pub(super) fn takes_number(&self, text: &str) -> bool {
        let is_integral = || match is_whole(text) {
            true => text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok(),
            false => is_float(text, false) && text.parse::<f64>().is_ok_and(|number| number.fract() == 0.0),
        };
        match (self.foreign, &self.ty) {
            (Some(Foreign::Decimal { precision, scale, .. }), _) => is_decimal(text, precision, scale),
            (Some(_), _) => false,
            (None, ColumnType::Scalar(Primitive::Bool)) => false,
            (None, ColumnType::Scalar(element)) if is_float_type(*element) => self.takes_float(text, *element),
            (None, ColumnType::Scalar(element)) if is_whole(text) => is_integer(text, *element),
            (None, ColumnType::Scalar(_) | ColumnType::Date | ColumnType::Timestamp(..) | ColumnType::Duration(_)) => {
                is_integral()
            }
            (None, ColumnType::Utf8 | ColumnType::Categorical | ColumnType::Binary) => false,
            (None, ColumnType::List(_) | ColumnType::Tensor { .. }) => false,
        }
    }

    fn takes_float(&self, text: &str, element: Primitive) -> bool {
        let text = text.strip_prefix('+').unwrap_or(text);
        let Ok(value) = text.parse::<f64>() else { return false };
        if !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return true;
        }
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_fraction = mantissa.len() < text.len() || mantissa.contains('.');
        let nearest = match element {
            Primitive::F16 => f16::from_f64(value).to_f64(),
            Primitive::F32 => f64::from(value as f32),
            _ => value,
        };
        let is_exact = || comes_back(text, before.strip_prefix('-').unwrap_or(before), behind, exponent);
        nearest.is_finite()
            && match is_fraction {
                true => !self.of_table || element != Primitive::F64 || is_exact(),
                false => nearest.total_cmp(&value).is_eq() && is_exact(),
            }
    }

    /// Returns the message for a value that does not fit.
    pub(super) fn unlike(&self, found: impl fmt::Display) -> String {
        let hint = match (self.foreign, &self.ty, self.of_table) {
            (Some(Foreign::Decimal { .. }), _, true) => " (without leading zeros or a plus sign)",
            (Some(_), ..) => "",
            (None, ColumnType::Timestamp(_, None), _) => " (without a time zone, and without digits beyond its unit)",
            (None, ColumnType::Timestamp(_, Some(_)), _) => " (with a time zone, and without digits beyond its unit)",
            (None, ColumnType::Scalar(Primitive::Bool), _) => "",
            (None, ColumnType::Scalar(Primitive::F64), true) => {
                " (a number that it holds exactly, without leading zeros or a plus sign)"
            }
            (None, ColumnType::Scalar(element), true) if is_float_type(*element) => {
                " (a number without leading zeros or a plus sign)"
            }
            (None, ColumnType::Scalar(element), false) if is_float_type(*element) => "",
            (None, ColumnType::Scalar(_) | ColumnType::Duration(_), true) => {
                " (a whole number without leading zeros or a plus sign)"
            }
            (None, ColumnType::Scalar(_) | ColumnType::Duration(_), false) => " (a whole number)",
            _ => "",
        };
        let (says, found) = (if self.of_table { "the table has" } else { "declared as" }, short(found));
        match self.foreign {
            Some(foreign) => format!("{says} {}{hint}, found {found}", foreign.arrow()),
            None => format!("{says} {}{hint}, found {found}", self.ty),
        }
    }
}

/// Returns the Arrow type that readers of text parse for a column type; `None` if there is none.
fn arrow(ty: &ColumnType, foreign: Option<Foreign>) -> Option<DataType> {
    let item = |ty: &ColumnType| Some(Arc::new(Field::new("item", arrow(ty, foreign)?, true)));
    match ty {
        ColumnType::List(inner) => Some(DataType::List(item(inner)?)),
        ColumnType::Tensor { element, shape } => {
            let (first, rest) = shape.split_first()?;
            let inner = if rest.is_empty() { ColumnType::Scalar(*element) } else { ColumnType::tensor(*element, rest) };
            Some(match first {
                None => DataType::List(item(&inner)?),
                Some(size) => DataType::FixedSizeList(item(&inner)?, i32::try_from(*size).ok()?),
            })
        }
        _ if let Some(foreign) = foreign => match foreign {
            Foreign::Null | Foreign::Bytes(_) => None,
            Foreign::Decimal { scale, .. } if scale < 0 => None,
            foreign => Some(foreign.arrow()),
        },
        ColumnType::Binary | ColumnType::Scalar(Primitive::Bf16) => None,
        ColumnType::Utf8 | ColumnType::Categorical => Some(DataType::Utf8),
        ty => Some(ty.arrow()),
    }
}

fn is_float_type(element: Primitive) -> bool {
    matches!(element, Primitive::F16 | Primitive::Bf16 | Primitive::F32 | Primitive::F64)
}

fn is_integer(text: &str, element: Primitive) -> bool {
    match element {
        Primitive::I8 => text.parse::<i8>().is_ok(),
        Primitive::I16 => text.parse::<i16>().is_ok(),
        Primitive::I32 => text.parse::<i32>().is_ok(),
        Primitive::I64 => text.parse::<i64>().is_ok(),
        Primitive::U8 => text.parse::<u8>().is_ok(),
        Primitive::U16 => text.parse::<u16>().is_ok(),
        Primitive::U32 => text.parse::<u32>().is_ok(),
        Primitive::U64 => text.parse::<u64>().is_ok(),
        _ => false,
    }
}

/// Whether a text is a decimal of at most `precision` digits, `scale` of them after the point.
fn is_decimal(text: &str, precision: u8, scale: i8) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let scale = usize::try_from(scale).unwrap_or(0);
    let all = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let before = usize::from(precision).saturating_sub(scale);
    !whole.is_empty() && all(whole) && all(fraction) && fraction.len() <= scale && whole.trim_start_matches('0').len() <= before
}

/// Whether a text is a date that readers of text understand: `2020-02-29`, `2020-2-29` or `20200229`.
fn is_date(text: &str) -> bool {
    let format = match text.as_bytes() {
        [_, _, _, _, b'-', ..] if text.len() <= 10 => "%Y-%m-%d",
        [_, _, _, _, _, _, _, _] => "%Y%m%d",
        _ => return false,
    };
    let is_part = |part: u8| part.is_ascii_digit() || part == b'-';
    text.as_bytes().first().is_some_and(u8::is_ascii_digit)
        && text.bytes().all(is_part)
        && NaiveDate::parse_from_str(text, format).is_ok()
}

/// Whether a text is a time that a reader of text keeps whole in this unit, with a zone or without one. A date alone is a time
/// without a zone.
fn is_time(text: &str, unit: TimeUnit, zoned: bool) -> bool {
    let Some((date, rest)) = text.split_at_checked(10).filter(|(date, _)| is_date(date)) else { return false };
    let Ok(date) = NaiveDate::parse_from_str(date, "%Y-%m-%d") else { return false };
    let time = rest.strip_prefix(['T', 't', ' ']);
    let (time, zone) = match time {
        None if rest.is_empty() => ("00:00:00", ""),
        None => return false,
        Some(time) => {
            time.split_at(time.find(|part: char| !part.is_ascii_digit() && !matches!(part, ':' | '.')).unwrap_or(time.len()))
        }
    };
    let read = match time.as_bytes() {
        [_, _, b':', _, _, b':', _, _] | [_, _, b':', _, _, b':', _, _, b'.', ..] => time_of_day(time),
        [_, _, _, _, _, _] => {
            NaiveTime::parse_from_str(time, "%H%M%S").ok().filter(|time| !is_leap_second(*time)).map(|time| (time, 0))
        }
        _ => None,
    };
    let is_zone = || matches!(zone, "z" | "Z") || zone.trim_start().parse::<Tz>().is_ok();
    // Nanoseconds cover the years 1677 to 2262.
    let fits = |time| unit != TimeUnit::Nanosecond || date.and_time(time).and_utc().timestamp_nanos_opt().is_some();
    read.is_some_and(|(time, digits)| digits <= digits_of(unit) && fits(time)) && if zoned { is_zone() } else { zone.is_empty() }
}

/// Parses a time of day, `12:00` or `12:00:00.25`. Returns it with the digits of its fraction without final zeros.
fn time_of_day(text: &str) -> Option<(NaiveTime, usize)> {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let parts: Vec<&str> = whole.split(':').collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let format = match (parts.len(), fraction) {
        (2, None) => "%H:%M",
        (3, _) => "%H:%M:%S",
        _ => return None,
    };
    let is_sound = parts[0].len() <= 2
        && parts[1..].iter().all(|part| part.len() == 2)
        && parts.iter().copied().chain(fraction).all(is_number);
    let time = NaiveTime::parse_from_str(whole, format).ok().filter(|time| is_sound && !is_leap_second(*time))?;
    Some((time, fraction.map_or(0, |digits| digits.trim_end_matches('0').len())))
}

/// Whether the seconds are 60, which Arrow stores as the next minute.
fn is_leap_second(time: NaiveTime) -> bool {
    time.nanosecond() >= 1_000_000_000
}

fn digits_of(unit: TimeUnit) -> usize {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// The zone and the digits that all times of a text column share, if all its values are times with a zone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ZonedTimes {
    /// The offset that all of them have; `None` if they have several.
    offset: Option<String>,
    digits: usize,
}

impl ZonedTimes {
    /// Returns the offset and the digits of `2020-02-29T12:00:00.25+01:00`, or of a time that ends in `Z`.
    pub(super) fn of(text: &str) -> Option<Self> {
        let (naive, offset) = match text.strip_suffix('Z') {
            Some(naive) => (naive, "UTC"),
            None => text.split_at_checked(text.len().checked_sub(6)?)?,
        };
        let is_offset = |offset: &str| match offset.as_bytes() {
            [b'+' | b'-', rest @ ..] => {
                matches!(rest, [h, i, b':', m, n] if [h, i, m, n].iter().all(|digit| digit.is_ascii_digit()))
            }
            _ => offset == "UTC",
        };
        let digits = time_of(naive).filter(|(zoned, _)| !zoned && is_offset(offset)).map(|(_, digits)| digits)?;
        Some(Self { offset: Some(offset.to_owned()), digits })
    }

    /// Returns what both have in common.
    pub(super) fn and(self, other: Self) -> Self {
        let offset = self.offset.filter(|offset| other.offset.as_ref() == Some(offset));
        Self { offset, digits: self.digits.max(other.digits) }
    }

    /// Returns the type that holds these times. It has the offset of all of them, or UTC.
    pub(super) fn ty(&self) -> ColumnType {
        let unit = match self.digits {
            0..=3 => TimeUnit::Millisecond,
            4..=6 => TimeUnit::Microsecond,
            _ => TimeUnit::Nanosecond,
        };
        ColumnType::Timestamp(unit, Some(self.offset.clone().unwrap_or_else(|| "UTC".to_owned())))
    }
}
