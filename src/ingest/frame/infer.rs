//! Infers the types of text columns from all of their values: CSV cells and line-delimited JSON.
//!
//! A column gets a type only if the type reproduces every value exactly: `007` and `1e400` stay text, and so do numbers that no
//! float represents. The spelling of a number may change: `1.50` is the float 1.5. An empty cell is null, and a column of nulls is
//! text. A column whose type is known ([`Types`]) has that type, which every value must fit.

use std::{cell::RefCell, collections::BTreeSet, fmt, io::BufRead, sync::Arc};

use arrow_schema::{DataType, Field, Schema as ArrowSchema, TimeUnit as ArrowUnit};
use chrono::NaiveDate;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{
    data::Data,
    lines,
    numbers::{EXACT, is_float, is_whole, time_of},
    wanted::{NO_TYPES, Types, Wanted, ZonedTimes},
};
use crate::{
    error::{Error, Result, json_fault, plain, short},
    schema::ColumnType,
};

/// The columns of a text.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) schema: ArrowSchema,
    /// Columns that stay text, although all their values are times with a zone: the name, and the type that would hold them.
    pub(super) times: Vec<(String, ColumnType)>,
}

/// Returns the columns of a CSV file with a header line.
///
/// # Errors
/// - `Invalid`: there is no header line; a line has another number of cells or is not UTF-8; a cell does not fit the type in
///   `types`. The message names the line.
pub(super) fn csv_columns(data: &Data, delimiter: u8, types: &Types) -> Result<Columns> {
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(lines::csv(data, delimiter)?);
    let line_of = |position: Option<&csv::Position>| lines::line_of(data, delimiter, position);
    let unfit = |error: csv::Error, names: &[String]| match error.into_kind() {
        csv::ErrorKind::Io(error) => Error::from(error),
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => Error::invalid(format!(
            "line {}: expected {expected_len} cells as in the first line, found {len}",
            line_of(pos.as_ref())
        )),
        csv::ErrorKind::Utf8 { pos, err } => {
            let line = line_of(pos.as_ref());
            Error::invalid(match names.get(err.field()) {
                Some(name) => format!("line {line}: column `{name}`: expected text in UTF-8"),
                None => format!("line {line}: cell {}: expected text in UTF-8", err.field() + 1),
            })
        }
        other => Error::invalid(format!("not valid CSV: {}", plain(&format!("{other:?}")))),
    };
    let names: Vec<String> = reader.headers().map_err(|error| unfit(error, &[]))?.iter().map(str::to_owned).collect();
    if names.is_empty() {
        return Err(Error::invalid("expected a line with the names of the columns, found an empty file"));
    }
    let mut cells = vec![Cells::default(); names.len()];
    // Text has no lists, so that the column of a list stays text, which does not fit the table.
    let single = |name: &String| types.below(name).wanted().filter(|wanted| wanted.is_single());
    let wanted: Vec<Option<&Wanted>> = names.iter().map(single).collect();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| unfit(error, &names))? {
        for (place, (cells, cell)) in cells.iter_mut().zip(&record).enumerate() {
            match wanted[place] {
                None => cells.see(cell),
                Some(wanted) if !cell.is_empty() && !wanted.takes(cell) => {
                    let line = line_of(record.position());
                    let name = &names[place];
                    return Err(Error::invalid(format!("line {line}: column `{name}`: {}", wanted.unlike(format!("`{cell}`")))));
                }
                Some(_) => {}
            }
        }
    }
    let field = |((name, cells), wanted): ((&String, &Cells), &Option<&Wanted>)| {
        let known = wanted.and_then(|wanted| wanted.field(name));
        known.unwrap_or_else(|| Field::new(name, cells.arrow(), true))
    };
    let schema = ArrowSchema::new(names.iter().zip(&cells).zip(&wanted).map(field).collect::<Vec<_>>());
    let times = names.iter().zip(&cells).filter_map(|(name, cells)| Some((name.clone(), cells.zoned_times()?)));
    Ok(Columns { times: times.collect(), schema })
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
    /// The zone and the digits that all times share, if all of them have a zone or an offset.
    offsets: Option<Option<ZonedTimes>>,
}

impl Default for Cells {
    fn default() -> Self {
        let (digits, zoned, offsets) = (0, None, None);
        Self { any: false, bool: true, i64: true, u64: true, f64: true, date: true, time: true, zoned, digits, offsets }
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
        self.offsets = Some(match self.offsets.take() {
            None => ZonedTimes::of(cell),
            Some(known) => known.and_then(|known| Some(known.and(ZonedTimes::of(cell)?))),
        });
    }

    /// Returns the type that would hold the times of this column, if it stays text only because they have offsets.
    fn zoned_times(&self) -> Option<ColumnType> {
        self.offsets.iter().flatten().next().filter(|_| !self.time).map(ZonedTimes::ty)
    }

    fn arrow(&self) -> DataType {
        match self {
            Self { any: false, .. } => DataType::Utf8,
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

/// Returns the columns of line-delimited JSON, in the order in which their names first appear.
///
/// # Errors
/// - `Invalid`: a line is not an object, or has a key twice; a value has no common type with earlier values, or does not fit the
///   type in `types`. The message names the line.
pub(super) fn json_columns(mut reader: impl BufRead, types: &Types) -> Result<Columns> {
    let mut all = Kind::Object(Vec::new());
    let mut line = Vec::new();
    let mut number = 0_u64;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let line = line.trim_ascii_end();
        if line.is_empty() {
            continue;
        }
        if !line.trim_ascii_start().starts_with(b"{") {
            return Err(Error::invalid(format!("line {number}: expected an object on every line")));
        }
        let mut json = serde_json::Deserializer::from_slice(line);
        let numbers = RefCell::new(numbers(line).into_iter());
        let seen = All { kind: &mut all, numbers: &numbers, types }.deserialize(&mut json);
        seen.and_then(|()| json.end()).map_err(|error| {
            let message = json_fault(&error);
            // The place in the text of one line is said below. Other faults have none.
            let place = message.rsplit_once(" at line ").filter(|_| !error.is_data());
            let message = short(place.map_or(message.as_str(), |(message, _)| message));
            Error::invalid(match error.is_data() {
                true => format!("line {number}: {message}"),
                false => format!("line {number}, column {}: {message}", error.column()),
            })
        })?;
    }
    let Kind::Object(columns) = all else { return Err(Error::internal("lines that are no objects")) };
    if columns.is_empty() {
        return Err(Error::invalid("expected a line for each row, found none with a column"));
    }
    let field = |(name, kind): &(String, Kind)| kind.field(name).map_err(|error| error.at(format!("column `{name}`")));
    let schema = ArrowSchema::new(columns.iter().map(field).collect::<Result<Vec<_>>>()?);
    let times = columns.into_iter().filter_map(|(name, kind)| match kind {
        Kind::Text(Some(times)) => Some((name, times.ty())),
        _ => None,
    });
    Ok(Columns { schema, times: times.collect() })
}

/// Returns the numbers in a line of JSON, in order.
fn numbers(line: &[u8]) -> Vec<&str> {
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
                numbers.push(str::from_utf8(&line[place..end]).unwrap_or_default());
                place = end;
            }
            _ => place += 1,
        }
    }
    numbers
}

/// Whether some type reproduces a number of JSON exactly.
fn is_exact(text: &str) -> bool {
    match is_whole(text) {
        true => text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok(),
        false => is_float(text, false),
    }
}

/// The types that fit all values at one place so far.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Null,
    /// Values of a known type.
    Known(Wanted),
    Bool,
    /// Minimum and maximum of the whole numbers; whether all numbers are whole; and whether floats represent all of them exactly.
    Number {
        least: i64,
        greatest: u64,
        whole: bool,
        exact: bool,
    },
    /// The zone and the digits that all texts share, if all of them are times with a zone.
    Text(Option<ZonedTimes>),
    List(Box<Kind>),
    Object(Vec<(String, Kind)>),
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Self::Null | Self::Known(_) => "null",
            Self::Bool => "a bool",
            Self::Number { .. } => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    fn field(&self, name: &str) -> Result<Field> {
        match self {
            Self::Known(wanted) if let Some(field) = wanted.field(name) => Ok(field),
            // Later rows may have any text here.
            Self::Null => Ok(Field::new(name, DataType::Utf8, true)),
            _ => Ok(Field::new(name, self.arrow()?, true)),
        }
    }

    fn arrow(&self) -> Result<DataType> {
        Ok(match self {
            Self::Null | Self::Known(_) => DataType::Null,
            Self::Bool => DataType::Boolean,
            Self::Number { whole: true, greatest, .. } if i64::try_from(*greatest).is_ok() => DataType::Int64,
            Self::Number { whole: true, least, .. } if *least >= 0 => DataType::UInt64,
            Self::Number { exact: true, .. } => DataType::Float64,
            Self::Number { .. } => {
                return Err(Error::invalid("numbers that no type holds exactly: write them as text"));
            }
            Self::Text(_) => DataType::Utf8,
            Self::List(item) => DataType::List(Arc::new(Field::new("item", item.arrow()?, true))),
            Self::Object(parts) => {
                let fields = parts.iter().map(|(name, kind)| kind.field(name));
                DataType::Struct(fields.collect::<Result<Vec<_>>>()?.into())
            }
        })
    }

    fn and<E: de::Error>(&mut self, seen: Self) -> Result<(), E> {
        match (&mut *self, seen) {
            (Self::Null, seen) => *self = seen,
            (Self::Known(wanted), seen) => return Err(E::custom(wanted.unlike(seen.name()))),
            (Self::Text(known), Self::Text(seen)) => {
                *known = known.take().zip(seen).map(|(known, seen)| known.and(seen));
            }
            (Self::Bool, Self::Bool) | (Self::List(_), Self::List(_)) => {}
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
struct All<'a, 'l> {
    kind: &'a mut Kind,
    /// The remaining numbers of the line.
    numbers: &'a RefCell<std::vec::IntoIter<&'l str>>,
    /// Types of the members of an object at this place.
    types: &'a Types,
}

impl All<'_, '_> {
    /// Merges the next number of the line: a whole number, or any other one.
    fn number<E: de::Error>(self, whole: Option<(i64, u64)>) -> Result<(), E> {
        let text = self.numbers.borrow_mut().next().unwrap_or_default();
        match self.kind {
            Kind::Known(wanted) if wanted.takes_number(text) => Ok(()),
            Kind::Known(wanted) => Err(E::custom(wanted.unlike(text))),
            kind => {
                let (least, greatest) = whole.unwrap_or_default();
                let exact = match whole {
                    Some(_) => least.unsigned_abs().max(greatest) <= EXACT,
                    None => is_exact(text),
                };
                kind.and(Kind::Number { least, greatest, whole: whole.is_some(), exact })
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for All<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for All<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        match self.kind {
            Kind::Known(wanted) if wanted.is_bool() => Ok(()),
            kind => kind.and(Kind::Bool),
        }
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<(), E> {
        self.number(Some((number, u64::try_from(number).unwrap_or(0))))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<(), E> {
        self.number(Some((0, number)))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        self.number(None)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        match self.kind {
            Kind::Known(wanted) if wanted.takes(text) => Ok(()),
            Kind::Known(wanted) => Err(E::custom(wanted.unlike(format!("`{text}`")))),
            kind => kind.and(Kind::Text(ZonedTimes::of(text))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let numbers = self.numbers;
        if let Kind::Known(wanted) = self.kind {
            let Some((item, count)) = wanted.item() else { return Err(de::Error::custom(wanted.unlike("a list"))) };
            let (mut item, mut found) = (Kind::Known(item), 0);
            while items.next_element_seed(All { kind: &mut item, numbers, types: &NO_TYPES })?.is_some() {
                found += 1;
            }
            return match count {
                Some(count) if count != found => Err(de::Error::custom(wanted.unlike(format!("a list of {found}")))),
                _ => Ok(()),
            };
        }
        self.kind.and(Kind::List(Box::new(Kind::Null)))?;
        if let Kind::List(kind) = self.kind {
            // The types of a list of objects are those of the objects.
            while items.next_element_seed(All { kind, numbers, types: self.types })?.is_some() {}
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.kind.and(Kind::Object(Vec::new()))?;
        if let Kind::Object(parts) = self.kind {
            let mut seen = BTreeSet::new();
            while let Some(name) = members.next_key::<String>()? {
                let types = self.types.below(&name);
                let place = parts.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                    parts.push((name.clone(), types.wanted().cloned().map_or(Kind::Null, Kind::Known)));
                    parts.len() - 1
                });
                if !seen.insert(place) {
                    return Err(de::Error::custom(format!("the object has the key `{name}` twice")));
                }
                members
                    .next_value_seed(All { kind: &mut parts[place].1, numbers: self.numbers, types })
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
            (&["", ""][..], DataType::Utf8),
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
        let schema = |lines: &str| json_columns(lines.as_bytes(), &NO_TYPES).map(|columns| columns.schema);
        let found =
            schema("{\"b\":1,\"a\":null}\n\n{\"a\":[{\"x\":1.5}],\"b\":-2,\"c\":{\"d\":\"t\"}}\n{\"a\":[{\"x\":2}]}").unwrap();
        let types: Vec<String> = found.fields().iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect();
        assert_eq!(types[0], "b Int64");
        assert!(types[1].contains("\"x\": Float64") && types[2].contains("\"d\": Utf8"), "{types:?}");
        for (lines, says) in [
            ("{\"a\":1}\n{\"a\":\"x\"}", "line 2: `a`: expected a number as before, found text"),
            ("{\"a\":1}\n[1]", "line 2: expected an object"),
            ("{\"a\":1\n", "line 1, column 6: the text ends inside an object"),
            ("{\"a\":1}\n\n{\"a\" 2}", "line 3: `a`: expected `:`"),
            ("{\"a\":1}{\"a\":2}", "line 1, column 8: trailing"),
            ("{\"a\":1}\n{\"a\":1,\"b\":2,\"\\u0061\":3}", "line 2: the object has the key `a` twice"),
            ("{\"a\":[{\"b\":1},{\"b\":1,\"b\":1}]}", "line 1: `a`: the object has the key `b` twice"),
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
