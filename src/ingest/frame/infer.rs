//! Infers the types of text columns from all of their values: CSV cells and line-delimited JSON.
//!
//! A column gets a type only if the type reproduces every value exactly: `007` and `1e400` stay text, and so do numbers that no
//! float represents. An empty cell is null. If the user declares a type, every value must fit it exactly, because the readers
//! would silently cut off fractions and shift times.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fmt,
    io::{BufRead, Read},
    sync::Arc,
};

use arrow_schema::{DataType, Field, Schema as ArrowSchema, TimeUnit as ArrowUnit};
use chrono::{NaiveDate, NaiveDateTime};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::{
    error::{Error, Result, short},
    ingest::nested::TYPE,
    schema::{self, ColumnType, Primitive, TimeUnit},
};

/// Declared types by column name.
pub(super) type Types = BTreeMap<String, ColumnType>;

/// Beyond this limit some integers are not floats.
const EXACT: u64 = 1 << 53;

/// Returns the columns of a CSV file with a header line.
///
/// # Errors
/// - `Invalid`: a line has another number of cells or is not UTF-8; a cell does not fit the type in `types`. The message names
///   the line.
/// - `NotFound`: `types` names a column that does not exist.
/// - `Unsupported`: a type in `types` is not read from text.
pub(super) fn csv_schema(reader: impl Read, delimiter: u8, types: &Types) -> Result<ArrowSchema> {
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(reader);
    let unfit = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => Error::from(error),
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => Error::invalid(format!(
            "line {}: expected {expected_len} cells as in the first line, found {len}",
            pos.map_or(0, |pos| pos.line())
        )),
        csv::ErrorKind::Utf8 { pos, err } => {
            Error::invalid(format!("line {}: cell {} is not UTF-8", pos.map_or(0, |pos| pos.line()), err.field()))
        }
        other => Error::invalid(format!("not valid CSV: {other:?}")),
    };
    let names: Vec<String> = reader.headers().map_err(unfit)?.iter().map(str::to_owned).collect();
    let mut cells = vec![Cells::default(); names.len()];
    let said: Vec<Option<&ColumnType>> = names.iter().map(|name| types.get(name)).collect();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(unfit)? {
        for (place, (cells, cell)) in cells.iter_mut().zip(&record).enumerate() {
            match said[place] {
                None => cells.see(cell),
                Some(ty) if !fits(ty, cell) => {
                    let line = record.position().map_or(0, csv::Position::line);
                    let name = &names[place];
                    return Err(Error::invalid(format!("line {line}: column `{name}`: {}", unlike(ty, format!("`{cell}`")))));
                }
                Some(_) => {}
            }
        }
    }
    fields(names.into_iter().zip(cells.iter().map(Cells::arrow)), types)
}

/// Returns the fields, with declared types where there are any.
fn fields(found: impl Iterator<Item = (String, DataType)>, types: &Types) -> Result<ArrowSchema> {
    let found: Vec<(String, DataType)> = found.collect();
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    if let Some(name) = types.keys().find(|name| !names.contains(&name.as_str())) {
        schema::select(&names, &[], [name]).map_err(|error| error.at("type"))?;
        return Err(Error::not_found(format!("type: no column `{name}`")));
    }
    let field = |(name, found): (String, DataType)| match types.get(&name) {
        None => Ok(Field::new(name, found, true)),
        Some(ty) if ty.is_indexable() => {
            let arrow = match ty {
                ColumnType::Utf8 | ColumnType::Categorical => DataType::Utf8,
                ty => ty.arrow(),
            };
            Ok(Field::new(name, arrow, true).with_metadata(std::collections::HashMap::from([(TYPE.to_owned(), ty.to_string())])))
        }
        Some(ty) => Err(Error::unsupported(format!(
            "type: column `{name}`: {ty} cannot be read from text; use a number, bool, text, date, timestamp or duration"
        ))),
    };
    Ok(ArrowSchema::new(found.into_iter().map(field).collect::<Result<Vec<_>>>()?))
}

/// Whether a text reader keeps all of the text when it parses it as this type. Does not check whether it can parse it.
fn fits(ty: &ColumnType, text: &str) -> bool {
    let (unit, zone) = match ty {
        ColumnType::Timestamp(unit, zone) => (unit, zone),
        // A date reader would silently drop a time of day.
        ColumnType::Date => return text.trim().len() <= 10,
        _ => return true,
    };
    let most = match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    // The time of day starts after the date and one separator.
    let text = text.trim();
    let Some(time) = text.get(11..) else { return text.is_empty() || zone.is_none() };
    let end = time.find(|part: char| !part.is_ascii_digit() && !matches!(part, ':' | '.' | ',')).unwrap_or(time.len());
    let (time, behind) = time.split_at(end);
    let digits = time.split_once(['.', ',']).map_or(0, |(_, digits)| digits.trim_end_matches('0').len());
    digits <= most && behind.is_empty() == zone.is_none()
}

/// Returns the message for a value that does not fit the type of its column.
fn unlike(ty: &ColumnType, found: impl fmt::Display) -> String {
    let hint = match ty {
        ColumnType::Timestamp(_, None) => " (without a time zone, and without digits beyond its unit)",
        ColumnType::Timestamp(_, Some(_)) => " (with a time zone, and without digits beyond its unit)",
        ty if is_counted(ty) => " (a whole number)",
        _ => "",
    };
    format!("declared as {ty}{hint}, found {}", short(found))
}

/// Whether values of the type are whole numbers.
fn is_counted(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Scalar(primitive) => {
            !matches!(primitive, Primitive::Bool | Primitive::F16 | Primitive::Bf16 | Primitive::F32 | Primitive::F64)
        }
        ty => matches!(ty, ColumnType::Date | ColumnType::Timestamp(..) | ColumnType::Duration(_)),
    }
}

/// The types that fit all cells of a column so far.
#[derive(Clone, Debug)]
struct Cells {
    any: bool,
    bool: bool,
    i64: bool,
    u64: bool,
    f64: bool,
    date: bool,
    /// Whether all cells are dates with times; whether they end in `Z`; digits of the fraction of a second.
    time: bool,
    zoned: Option<bool>,
    digits: usize,
}

impl Default for Cells {
    fn default() -> Self {
        let digits = 0;
        Self { any: false, bool: true, i64: true, u64: true, f64: true, date: true, time: true, zoned: None, digits }
    }
}

impl Cells {
    fn see(&mut self, cell: &str) {
        if cell.is_empty() {
            return;
        }
        self.any = true;
        self.bool &= matches!(cell, "true" | "false");
        if self.i64 || self.u64 || self.f64 {
            let whole = is_whole(cell);
            self.i64 &= whole && cell.parse::<i64>().is_ok();
            self.u64 &= whole && cell.parse::<u64>().is_ok();
            self.f64 &= is_float(cell, whole);
        }
        self.date &= cell.len() == 10 && NaiveDate::parse_from_str(cell, "%Y-%m-%d").is_ok_and(|date| date.to_string() == cell);
        if self.time {
            match time_of(cell) {
                Some((zoned, digits)) if self.zoned.is_none_or(|other| other == zoned) => {
                    self.zoned = Some(zoned);
                    self.digits = self.digits.max(digits);
                }
                _ => self.time = false,
            }
        }
    }

    fn arrow(&self) -> DataType {
        match self {
            Self { any: false, .. } => DataType::Null,
            Self { bool: true, .. } => DataType::Boolean,
            Self { i64: true, .. } => DataType::Int64,
            Self { u64: true, .. } => DataType::UInt64,
            Self { f64: true, .. } => DataType::Float64,
            Self { date: true, .. } => DataType::Date32,
            Self { time: true, zoned, digits, .. } => {
                let unit = match digits {
                    0..=3 => ArrowUnit::Millisecond,
                    4..=6 => ArrowUnit::Microsecond,
                    _ => ArrowUnit::Nanosecond,
                };
                DataType::Timestamp(unit, zoned.filter(|zoned| *zoned).map(|_| "UTC".into()))
            }
            _ => DataType::Utf8,
        }
    }
}

/// Whether a cell is a whole number in canonical form: no `+`, no leading zeros.
fn is_whole(cell: &str) -> bool {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let canonical = digits == "0" && digits == cell || digits.starts_with(|first: char| ('1'..='9').contains(&first));
    canonical && digits.bytes().all(|digit| digit.is_ascii_digit())
}

fn is_float(cell: &str, whole: bool) -> bool {
    if whole {
        return cell.trim_start_matches('-').parse::<u64>().is_ok_and(|number| number <= EXACT);
    }
    if matches!(cell, "NaN" | "nan" | "inf" | "-inf") {
        return true;
    }
    let (mantissa, exponent) = cell.split_once(['e', 'E']).unwrap_or((cell, "0"));
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let before = before.strip_prefix('-').unwrap_or(before);
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let sound = (before == "0" || before.is_empty() || !before.starts_with('0'))
        && digits(before)
        && digits(behind)
        && before.len() + behind.len() > usize::from(!mantissa.contains('.'))
        && !exponent.is_empty()
        && digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    sound && comes_back(cell, before, behind, exponent)
}

/// Whether the nearest float to a number, printed with as many digits, gives back the number's digits.
fn comes_back(cell: &str, before: &str, behind: &str, exponent: &str) -> bool {
    let all = format!("{before}{behind}");
    let significant = all.trim_start_matches('0');
    let zeros = all.len() - significant.len();
    let digits = significant.trim_end_matches('0');
    let Some(value) = cell.parse::<f64>().ok().filter(|value| value.is_finite()) else { return false };
    if digits.is_empty() {
        return true;
    }
    let Some(exponent) = exponent.parse::<i64>().ok().and_then(|exponent| {
        exponent.checked_add(i64::try_from(before.len()).ok()?)?.checked_sub(i64::try_from(zeros).ok()?.checked_add(1)?)
    }) else {
        return false;
    };
    match digits.len() {
        // Every float of usual magnitude preserves this many digits.
        ..=15 if (-300..=300).contains(&exponent) => true,
        // No float has more digits.
        768.. => false,
        // A digit exactly between two values may be rounded either way.
        count => [format!("{:.*e}", count - 1, value.abs()), format!("{:e}", value.abs())].iter().any(|given| {
            let (mantissa, power) = given.split_once('e').unwrap_or((given, "0"));
            mantissa.replace('.', "") == digits && power.parse() == Ok(exponent)
        }),
    }
}

/// Parses `2020-02-29T12:00:00.25`, optionally with a blank instead of `T` and with a final `Z`. Returns whether there is a `Z`,
/// and the digits of the fraction.
fn time_of(cell: &str) -> Option<(bool, usize)> {
    let naive = cell.strip_suffix('Z').unwrap_or(cell);
    let date_and_time = naive.get(10..11).filter(|middle| matches!(*middle, "T" | " "));
    if date_and_time.is_none() || naive.len() < 19 {
        return None;
    }
    let digits = match naive.as_bytes().get(19) {
        None => 0,
        Some(b'.') => naive.len() - 20,
        Some(_) => return None,
    };
    let format = if naive.contains('T') { "%Y-%m-%dT%H:%M:%S%.f" } else { "%Y-%m-%d %H:%M:%S%.f" };
    let time = NaiveDateTime::parse_from_str(naive, format).ok()?;
    // Nanosecond timestamps cover the years 1677 to 2262 and no leap seconds.
    let fits = digits <= 6 || time.and_utc().timestamp_nanos_opt().is_some();
    (digits <= 9 && fits && !naive.get(17..19)?.starts_with('6')).then_some((naive.len() < cell.len(), digits))
}

/// Returns the columns of line-delimited JSON, in the order in which their names first appear.
///
/// # Errors
/// - `Invalid`: a line is not an object; a value has no common type with earlier values, or does not fit the type in `types`. The
///   message names the line.
/// - `NotFound`: `types` names a column that does not exist.
/// - `Unsupported`: a type in `types` is not read from text.
pub(super) fn json_schema(mut reader: impl BufRead, types: &Types) -> Result<ArrowSchema> {
    let mut all = Kind::Object(Vec::new());
    let mut line = Vec::new();
    let mut number = 0_u64;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let place = |said: &dyn fmt::Display| Error::invalid(format!("line {number}: {}", short(said)));
        if !line.trim_ascii_start().starts_with(b"{") {
            return Err(place(&"expected an object on every line"));
        }
        let mut json = serde_json::Deserializer::from_slice(&line);
        let exact = RefCell::new(exact_numbers(&line).into_iter());
        let seen = All { kind: &mut all, exact: &exact, types }.deserialize(&mut json);
        seen.and_then(|()| json.end()).map_err(|error| place(&error))?;
    }
    let Kind::Object(columns) = all else { return Err(Error::internal("lines that are no objects")) };
    let typed = columns
        .into_iter()
        .map(|(name, kind)| Ok((name.clone(), kind.arrow().map_err(|error| error.at(format!("column `{name}`")))?)));
    fields(typed.collect::<Result<Vec<_>>>()?.into_iter(), types)
}

/// Returns for each number in a line of JSON, in order, whether some type reproduces it exactly.
fn exact_numbers(line: &[u8]) -> Vec<bool> {
    let mut numbers = Vec::new();
    let mut place = 0;
    while let Some(byte) = line.get(place) {
        match byte {
            b'"' => {
                place += 1;
                while line.get(place).is_some_and(|byte| *byte != b'"') {
                    place += if line[place] == b'\\' { 2 } else { 1 };
                }
                place += 1;
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                let end = place + line[place..].iter().take_while(is_part).count();
                let text = str::from_utf8(&line[place..end]).unwrap_or_default();
                numbers.push(match is_whole(text) {
                    true => text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok(),
                    false => is_float(text, false),
                });
                place = end;
            }
            _ => place += 1,
        }
    }
    numbers
}

/// The types that fit all values at one place so far.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Null,
    /// A column with a declared type.
    Said(ColumnType),
    Bool,
    /// Minimum and maximum of the whole numbers; whether all numbers are whole; and whether floats represent all of them exactly.
    Number {
        least: i64,
        greatest: u64,
        whole: bool,
        exact: bool,
    },
    Text,
    List(Box<Kind>),
    Object(Vec<(String, Kind)>),
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Self::Null | Self::Said(_) => "null",
            Self::Bool => "a bool",
            Self::Number { .. } => "a number",
            Self::Text => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    fn arrow(&self) -> Result<DataType> {
        Ok(match self {
            Self::Null | Self::Said(_) => DataType::Null,
            Self::Bool => DataType::Boolean,
            Self::Number { whole: true, greatest, .. } if i64::try_from(*greatest).is_ok() => DataType::Int64,
            Self::Number { whole: true, least, .. } if *least >= 0 => DataType::UInt64,
            Self::Number { exact: true, .. } => DataType::Float64,
            Self::Number { .. } => {
                return Err(Error::invalid("numbers that no type holds exactly: write them as text"));
            }
            Self::Text => DataType::Utf8,
            Self::List(item) => DataType::List(Arc::new(Field::new("item", item.arrow()?, true))),
            Self::Object(parts) => {
                let fields = parts.iter().map(|(name, kind)| Ok(Field::new(name, kind.arrow()?, true)));
                DataType::Struct(fields.collect::<Result<Vec<_>>>()?.into())
            }
        })
    }

    fn and<E: de::Error>(&mut self, seen: Self) -> Result<(), E> {
        match (&mut *self, seen) {
            (Self::Null, seen) => *self = seen,
            (Self::Said(ty), seen @ (Self::List(_) | Self::Object(_))) => return Err(E::custom(unlike(ty, seen.name()))),
            (Self::Said(_), _) => {}
            (Self::Bool, Self::Bool) | (Self::Text, Self::Text) | (Self::List(_), Self::List(_)) => {}
            (Self::Object(_), Self::Object(_)) => {}
            (
                Self::Number { least, greatest, whole, exact },
                Self::Number { least: less, greatest: more, whole: also, exact: too },
            ) => {
                *least = (*least).min(less);
                *greatest = (*greatest).max(more);
                *whole &= also;
                *exact &= too;
            }
            (found, seen) => {
                return Err(E::custom(format!("expected {} as before, found {}; write both as text", found.name(), seen.name())));
            }
        }
        Ok(())
    }
}

/// Visits a value and merges its type into `kind`.
struct All<'a> {
    kind: &'a mut Kind,
    /// For each remaining number of the line, whether some type reproduces it exactly.
    exact: &'a RefCell<std::vec::IntoIter<bool>>,
    /// Declared types of the members of an object at this place.
    types: &'a Types,
}

/// Types are declared for top-level columns only.
static NO_TYPES: Types = Types::new();

impl All<'_> {
    fn is_exact(&self) -> bool {
        self.exact.borrow_mut().next().unwrap_or(true)
    }
}

impl<'de> DeserializeSeed<'de> for All<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for All<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        self.kind.and(Kind::Bool)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<(), E> {
        self.is_exact();
        let greatest = u64::try_from(number).unwrap_or(0);
        self.kind.and(Kind::Number { least: number, greatest, whole: true, exact: number.unsigned_abs() <= EXACT })
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<(), E> {
        self.is_exact();
        self.kind.and(Kind::Number { least: 0, greatest: number, whole: true, exact: number <= EXACT })
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<(), E> {
        let exact = self.is_exact();
        match self.kind {
            Kind::Said(ty) if is_counted(ty) && !(exact && number.fract() == 0.0) => Err(E::custom(unlike(ty, number))),
            kind => kind.and(Kind::Number { least: 0, greatest: 0, whole: false, exact }),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        match self.kind {
            Kind::Said(ty) if !fits(ty, text) => Err(E::custom(unlike(ty, format!("`{text}`")))),
            kind => kind.and(Kind::Text),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.kind.and(Kind::List(Box::new(Kind::Null)))?;
        if let Kind::List(kind) = self.kind {
            while items.next_element_seed(All { kind, exact: self.exact, types: &NO_TYPES })?.is_some() {}
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.kind.and(Kind::Object(Vec::new()))?;
        if let Kind::Object(parts) = self.kind {
            while let Some(name) = members.next_key::<String>()? {
                let place = parts.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                    parts.push((name.clone(), self.types.get(&name).cloned().map_or(Kind::Null, Kind::Said)));
                    parts.len() - 1
                });
                members
                    .next_value_seed(All { kind: &mut parts[place].1, exact: self.exact, types: &NO_TYPES })
                    .map_err(|error| de::Error::custom(format!("`{name}`: {error}")))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_cells(cells: &[&str]) -> DataType {
        let mut seen = Cells::default();
        cells.iter().for_each(|cell| seen.see(cell));
        seen.arrow()
    }

    #[test]
    fn cells_have_the_type_from_which_each_comes_back() {
        let ms = DataType::Timestamp(ArrowUnit::Millisecond, None);
        let utc = DataType::Timestamp(ArrowUnit::Nanosecond, Some("UTC".into()));
        for (cells, ty) in [
            (&["", ""][..], DataType::Null),
            (&["1", "", "-3"], DataType::Int64),
            (&["0", "18446744073709551615"], DataType::UInt64),
            (&["-1", "18446744073709551615"], DataType::Utf8),
            (&["18446744073709551616"], DataType::Utf8),
            (&["007"], DataType::Utf8),
            (&["+1"], DataType::Utf8),
            (&["-0"], DataType::Float64),
            (&["1", "0.5", "-1e-3", "NaN"], DataType::Float64),
            (&["0.5", "9007199254740993"], DataType::Utf8),
            (&["1e400"], DataType::Utf8),
            (&["1e-400"], DataType::Utf8),
            (&["4e-324"], DataType::Utf8),
            (&["9007199254740993.0"], DataType::Utf8),
            (&["0.1234567890123456789"], DataType::Utf8),
            (
                &[
                    "0.30000000000000004",
                    "-0.0e-999",
                    "5e-324",
                    "1.7976931348623157e308",
                    "0.10000000000000001",
                    "1e22",
                    "2.50000000000000000000",
                ],
                DataType::Float64,
            ),
            (&["1.5.2"], DataType::Utf8),
            (&["."], DataType::Utf8),
            (&["true", "false"], DataType::Boolean),
            (&["true", "1"], DataType::Utf8),
            (&["2020-02-29"], DataType::Date32),
            (&["2021-02-29"], DataType::Utf8),
            (&["2020-02-29T12:00:00", "2020-02-29T12:00:00.5"], ms),
            (&["2020-02-29 12:00:00.123456789Z"], utc),
            (&["2020-02-29T12:00:00", "2020-02-29T12:00:00Z"], DataType::Utf8),
            (&["3020-02-29T12:00:00.123456789"], DataType::Utf8),
            (&["2020-02-29T12:00:00+01:00"], DataType::Utf8),
            (&["2020-02-29T12:00:00.\u{e9}"], DataType::Utf8),
        ] {
            assert_eq!(of_cells(cells), ty, "{cells:?}");
        }
    }

    #[test]
    fn values_of_json_have_a_type_in_common_or_the_line_is_named() {
        let schema = |lines: &str| json_schema(lines.as_bytes(), &Types::new());
        let found =
            schema("{\"b\":1,\"a\":null}\n\n{\"a\":[{\"x\":1.5}],\"b\":-2,\"c\":{\"d\":\"t\"}}\n{\"a\":[{\"x\":2}]}").unwrap();
        let types: Vec<String> = found.fields().iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect();
        assert_eq!(types[0], "b Int64");
        assert!(types[1].contains("\"x\": Float64") && types[2].contains("\"d\": Utf8"), "{types:?}");
        for (lines, says) in [
            ("{\"a\":1}\n{\"a\":\"x\"}", "line 2: `a`: expected a number as before, found text"),
            ("{\"a\":1}\n[1]", "line 2: expected an object"),
            ("{\"a\":1", "line 1: EOF"),
            ("{\"a\":1}{\"a\":2}", "line 1: trailing"),
            ("{\"a\":9007199254740993}\n{\"a\":0.5}", "column `a`: numbers that no type holds exactly"),
            ("{\"a\":-1}\n{\"a\":18446744073709551615}", "column `a`: numbers that no type holds exactly"),
            ("{\"b-1\":0.5,\"a\":18446744073709551617}", "column `a`: numbers that no type holds exactly"),
            ("{\"b\":\"1,\\\"2\",\"a\":1e-400}", "column `a`: numbers that no type holds exactly"),
            ("{\"a\":9007199254740993.0}", "column `a`: numbers that no type holds exactly"),
        ] {
            let error = schema(lines).unwrap_err().to_string();
            assert!(error.contains(says), "{lines}: {error}");
        }
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert!(schema(&deep).is_err());
    }
}
