//! Reads and writes the files of ground truth and predictions, byte by byte as L5Kit's `csv_utils`.
//!
//! Both have a header, lines that end in `\r\n`, and one line per agent and frame, which timestamp and track id name. A line of ground
//! truth goes on with T availabilities and T positions, a line of predictions with three confidences and three times T positions.
//! Positions are in metres, with five decimals; all other numbers are written as Python prints them.

use std::io::{BufRead, Write};

use tetrys::{Error, Result};

use crate::evaluation::metrics::check_confidences;
use crate::evaluation::number::{Number, read, write_fixed};

/// The number of modes in a file of predictions. Fewer are filled up with zeros.
pub const MAX_MODES: usize = 3;

/// One line of ground truth.
#[derive(Clone, Debug, PartialEq)]
pub struct GroundTruthRow {
    /// The text of the timestamp.
    pub timestamp: String,
    /// The text of the track id.
    pub track_id: String,
    /// `[T, 2]`: the positions, in metres.
    pub coords: Vec<f64>,
    /// `[T]`: 1 for steps that count, 0 for others.
    pub avails: Vec<f64>,
}

/// One line of predictions.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionRow {
    /// The text of the timestamp.
    pub timestamp: String,
    /// The text of the track id.
    pub track_id: String,
    /// `[3, T, 2]`: the positions of each mode, in metres.
    pub coords: Vec<f64>,
    /// `[3]`: the confidence of each mode.
    pub confidences: Vec<f64>,
}

/// Writes the ground truth of N agents: `write_gt_csv`.
///
/// `coords` is `[N, T, 2]`, and `avails` is `[N, T]`, for T `steps`.
///
/// ```
/// let mut csv = Vec::new();
/// tetrys_l5::evaluation::write_gt_csv(&mut csv, &[5_i64], &[7_i64], &[1.5, -2.0], &[1.0_f32], 1)?;
/// assert_eq!(String::from_utf8_lossy(&csv), "timestamp,track_id,avail_0,coord_x00,coord_y00\r\n5,7,1.0,1.50000,-2.00000\r\n");
/// # Ok::<(), tetrys::Error>(())
/// ```
///
/// # Errors
/// `Invalid` if the lengths do not fit together: L5Kit raises `AssertionError`. Those of the writer.
pub fn write_gt_csv<T: Number, I: Number, A: Number>(
    mut out: impl Write,
    timestamps: &[T],
    track_ids: &[I],
    coords: &[f64],
    avails: &[A],
    steps: usize,
) -> Result<()> {
    let examples = same_len(timestamps.len(), track_ids.len())?;
    let expected = examples.checked_mul(steps);
    if Some(avails.len()) != expected || Some(coords.len()) != expected.and_then(|len| len.checked_mul(2)) {
        return Err(Error::invalid(format!(
            "{} availabilities and {} coordinates, expected {examples} times {steps}, and twice as many coordinates",
            avails.len(),
            coords.len()
        )));
    }
    let mut line = gt_header(steps).join(",");
    line.push_str("\r\n");
    for example in 0..examples {
        start_line(&mut line, timestamps[example], track_ids[example]);
        avails[example * steps..][..steps].iter().for_each(|avail| append(&mut line, *avail));
        coords[example * steps * 2..][..steps * 2].iter().for_each(|coord| append_fixed(&mut line, *coord));
        end_line(&mut line, &mut out)?;
    }
    Ok(out.write_all(line.as_bytes())?)
}

/// Writes the predictions for N agents: `write_pred_csv`.
///
/// `coords` is `[N, M, T, 2]`, and `confidences` is `[N, M]` for M modes, three at most. Without confidences, there is one mode.
///
/// # Errors
/// `Invalid` if the lengths do not fit together, if there are more than three modes, or if confidences do not add up to 1: L5Kit raises
/// `AssertionError`. Those of the writer.
pub fn write_pred_csv<T: Number, I: Number, C: Number + Into<f64> + Default>(
    mut out: impl Write,
    timestamps: &[T],
    track_ids: &[I],
    coords: &[f64],
    confidences: Option<&[C]>,
    steps: usize,
) -> Result<()> {
    let examples = same_len(timestamps.len(), track_ids.len())?;
    let modes = match confidences {
        Some(confidences) if examples > 0 => modes_of(confidences.len(), examples)?,
        _ => 1,
    };
    let per_mode = steps.checked_mul(2).ok_or_else(|| Error::invalid(format!("{steps} steps are too many")))?;
    if examples.checked_mul(modes).and_then(|rows| rows.checked_mul(per_mode)) != Some(coords.len()) {
        let found = coords.len();
        return Err(Error::invalid(format!("{found} coordinates, expected {examples} times {modes} times {steps} times 2")));
    }
    for confidences in confidences.into_iter().flat_map(|confidences| confidences.chunks(modes)) {
        check_confidences(&confidences.iter().map(|confidence| (*confidence).into()).collect::<Vec<f64>>())?;
    }
    let mut line = pred_header(steps).join(",");
    line.push_str("\r\n");
    for example in 0..examples {
        start_line(&mut line, timestamps[example], track_ids[example]);
        match confidences {
            None => line.push_str(",1.0,0.0,0.0"),
            Some(confidences) => {
                let confidences = &confidences[example * modes..][..modes];
                let padded = confidences.iter().copied().chain(std::iter::repeat(C::default()));
                padded.take(MAX_MODES).for_each(|confidence| append(&mut line, confidence));
            }
        }
        let of_example = coords[example * modes * per_mode..][..modes * per_mode].iter().copied();
        let padded = of_example.chain(std::iter::repeat(0.0)).take(MAX_MODES * per_mode);
        padded.for_each(|coord| append_fixed(&mut line, coord));
        end_line(&mut line, &mut out)?;
    }
    Ok(out.write_all(line.as_bytes())?)
}

/// Reads a file of ground truth, line by line: `read_gt_csv`. Columns may have any order.
///
/// # Errors
/// `Invalid` if the header does not have the columns of ground truth (L5Kit raises `AssertionError` or `KeyError`), or if a line does not
/// have their numbers (`ValueError`). Those of the reader.
pub fn read_gt_csv<R: BufRead>(input: R) -> Result<impl Iterator<Item = Result<GroundTruthRow>>> {
    let (header, lines) = open(input)?;
    let steps = whole(header.len(), 2, 3)?;
    let columns = places(&header, &gt_header(steps))?;
    Ok(lines.map(move |line| {
        let (timestamp, track_id, mut avails) = line?.select(&columns)?;
        let coords = avails.split_off(steps);
        Ok(GroundTruthRow { timestamp, track_id, coords, avails })
    }))
}

/// Reads a file of predictions, line by line: `read_pred_csv`. Columns may have any order.
///
/// # Errors
/// Those of [`read_gt_csv`], for the columns of predictions.
pub fn read_pred_csv<R: BufRead>(input: R) -> Result<impl Iterator<Item = Result<PredictionRow>>> {
    let (header, lines) = open(input)?;
    let steps = whole(header.len(), 2 + MAX_MODES, 2 * MAX_MODES)?;
    let columns = places(&header, &pred_header(steps))?;
    Ok(lines.map(move |line| {
        let (timestamp, track_id, mut confidences) = line?.select(&columns)?;
        let coords = confidences.split_off(MAX_MODES);
        Ok(PredictionRow { timestamp, track_id, coords, confidences })
    }))
}

/// The fields of one line, and its number in the file.
struct Line {
    number: usize,
    fields: Vec<String>,
}

impl Line {
    /// Returns timestamp and track id, and all other columns as numbers. A field that is not there is NaN.
    fn select(&self, columns: &[usize]) -> Result<(String, String, Vec<f64>)> {
        let text = |column: usize| self.fields.get(column).map(String::as_str);
        let numbers = columns.iter().skip(2).map(|column| text(*column).map_or(Ok(f64::NAN), read));
        let numbers = numbers.collect::<Result<_>>().map_err(|error| error.at(format!("line {}", self.number)))?;
        let name = |place: usize| columns.get(place).and_then(|column| text(*column)).unwrap_or_default().to_owned();
        Ok((name(0), name(1), numbers))
    }
}

/// Reads the header, and prepares to read the lines after it. Empty lines are left out.
fn open<R: BufRead>(input: R) -> Result<(Vec<String>, impl Iterator<Item = Result<Line>>)> {
    let lines = input.lines().enumerate().map(|(place, line)| Ok(Line { number: place + 1, fields: fields(&line?) }));
    let mut lines = lines.filter(|line: &Result<Line>| line.as_ref().map_or(true, |line| !line.fields.is_empty()));
    let header = lines.next().ok_or_else(|| Error::invalid("the file has no header"))??.fields;
    Ok((header, lines))
}

/// Splits a line at its commas. Quotes around a field are taken off; fields of these files hold neither commas nor quotes.
fn fields(line: &str) -> Vec<String> {
    let line = line.trim_end_matches('\r');
    if line.is_empty() {
        return Vec::new();
    }
    let unquoted = |field: &str| field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field).to_owned();
    line.split(',').map(unquoted).collect()
}

/// Returns the number of steps of a file with so many columns.
fn whole(columns: usize, others: usize, per_step: usize) -> Result<usize> {
    match columns.checked_sub(others) {
        Some(rest) if rest.is_multiple_of(per_step) => Ok(rest / per_step),
        _ => Err(Error::invalid(format!("{columns} columns, expected {others} and {per_step} per step"))),
    }
}

/// Returns where columns lie in the header. Of two columns with one name, the last one counts.
fn places(header: &[String], expected: &[String]) -> Result<Vec<usize>> {
    let places: std::collections::HashMap<&str, usize> = header.iter().map(String::as_str).zip(0..).collect();
    let place = |name: &String| places.get(name.as_str()).copied().ok_or_else(|| Error::invalid(format!("no column {name}")));
    expected.iter().map(place).collect()
}

fn gt_header(steps: usize) -> Vec<String> {
    let mut header = vec!["timestamp".to_owned(), "track_id".to_owned()];
    header.extend((0..steps).map(|step| format!("avail_{step}")));
    header.extend(coord_names(0, steps));
    header
}

fn pred_header(steps: usize) -> Vec<String> {
    let mut header = vec!["timestamp".to_owned(), "track_id".to_owned()];
    header.extend((0..MAX_MODES).map(|mode| format!("conf_{mode}")));
    header.extend((0..MAX_MODES).flat_map(|mode| coord_names(mode, steps)));
    header
}

fn coord_names(mode: usize, steps: usize) -> impl Iterator<Item = String> {
    (0..steps).flat_map(move |step| ["x", "y"].map(|axis| format!("coord_{axis}{mode}{step}")))
}

fn same_len(timestamps: usize, track_ids: usize) -> Result<usize> {
    if timestamps == track_ids {
        return Ok(timestamps);
    }
    Err(Error::invalid(format!("{timestamps} timestamps and {track_ids} track ids")))
}

/// Returns the number of modes of so many confidences.
fn modes_of(confidences: usize, examples: usize) -> Result<usize> {
    let modes = confidences / examples;
    if confidences == modes * examples && (1..=MAX_MODES).contains(&modes) {
        return Ok(modes);
    }
    Err(Error::invalid(format!("{confidences} confidences for {examples} examples, expected 1 to {MAX_MODES} each")))
}

fn start_line<T: Number, I: Number>(line: &mut String, timestamp: T, track_id: I) {
    timestamp.write(line);
    append(line, track_id);
}

fn append<N: Number>(line: &mut String, number: N) {
    line.push(',');
    number.write(line);
}

fn append_fixed(line: &mut String, number: f64) {
    line.push(',');
    write_fixed(number, line);
}

/// Ends a line, and writes all lines so far once they are many.
fn end_line(line: &mut String, out: &mut impl Write) -> Result<()> {
    line.push_str("\r\n");
    if line.len() > 1 << 16 {
        out.write_all(line.as_bytes())?;
        line.clear();
    }
    Ok(())
}
