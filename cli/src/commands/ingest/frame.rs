//! `tetrys ingest parquet`, `arrow`, `csv` and `ndjson`: creates a table from a file of rows and columns, a frame.

use std::{
    fs::File,
    io::{Read, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use tetrys::{
    ColumnType, Error, ErrorKind, Schema, Table,
    ingest::{
        Target,
        frame::{Blob, Content, Frame, FrameFormat, FrameSettings, Missing, MissingFiles, TextSettings, ingest},
    },
};

use super::{Writing, json_of, say_warnings, sharing_text, stored_bytes, table_text};
use crate::{
    commands::{named_once, write_json},
    failure::{Failure, Outcome, committed, say},
    numbers::{size, whole},
    progress, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Creates a new table from FRAME. With --append or --overwrite it makes a new version of an existing table, whose columns and groups are then the default. Rows stream through bounded memory.

Without --index and --group, small columns (numbers, times, text) become the index, and each other column becomes a column group of its own. Name columns by patterns: `lidar.*`. Set --sequence-by if you want to read windows: they contain rows of one sequence only.

Nested types become flat columns: a struct becomes a column for each field (`image.bytes`), a list of structs or a map becomes parallel lists, a list of numbers becomes a tensor, and a decimal becomes text. `tetrys export` gives the original types back. Types of CSV and NDJSON columns are inferred so that no value changes: 007 and +1 stay text, 1.50 becomes the number 1.5, and a column without any value becomes text. With --append the types are those of the table, and a value that would change is an error; only fractions are rounded to f32 and f16. --type reads a column as you say: --type price=utf8 keeps 1.50 as it is written, --type id=i64 makes 007 the number 7. In a CSV file of one column a blank line is a row with an empty cell; in other CSV files, and in NDJSON, blank lines are skipped.

--npy stores the arrays of .npy files as tensors. It reads the headers of all files first: if all arrays are f32 with 4 columns, the column has the type f32[?,4], or f32[64,4] if all have 64 rows too. With --append each array must have the type of the table's column. --type lidar.points='f32[?,4]' sets the type, for example where later rows will have other lengths.

Examples:
  tetrys ingest parquet frames.parquet drives --blob camera.jpeg=path --sequence-by log_id --order-by timestamp
  tetrys ingest parquet frames.parquet drives --index 'log_id,timestamp' --group ego='ego.*' --group lidar='lidar.*' --drop '__*'
  tetrys ingest arrow frames.arrow drives --blob image=path --blob sweep=lidar_path --root /data/nuscenes --missing null
  tetrys ingest parquet labels.parquet drives --npy lidar.points=sweep --drop sweep --sequence-by log_id
  tetrys ingest csv frames.csv drives --type zip=utf8 --sequence-by log_id
  tetrys ingest ndjson frames.ndjson drives --append
  tetrys schema drives && tetrys head drives"
)]
pub(crate) struct FrameCommand {
    /// The input file or a pipe; - is standard input
    frame: PathBuf,
    /// The new table: a path or URL without a table; with --append or --overwrite, an existing table
    table: String,
    #[command(flatten)]
    choices: Choices,
    /// Minimum rows of a partition, which one worker writes; a partition ends at the end of a sequence [default: 8192; 1024 with
    /// --blob or --npy]
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX))]
    partition_rows: Option<u64>,
    #[command(flatten)]
    writing: Writing,
}

/// Options that choose the columns of the index and of groups, and the files to read.
#[derive(Args, Debug)]
pub(crate) struct Choices {
    /// Index columns, as patterns: small columns that are held in memory and queried [default: each column of a small type that
    /// is in no --group]
    #[arg(long, value_name = "PATTERN,..", value_delimiter = ',')]
    index: Option<Vec<String>>,
    /// A column group and its columns, which are stored and read together: `ego='ego.*'`. A column in several groups is stored in
    /// each of them. May be repeated [default: a group for each other column]
    #[arg(long, value_name = "NAME=PATTERN,..", value_parser = group)]
    group: Vec<(String, Vec<String>)>,
    #[command(flatten)]
    pub(crate) files: Files,
    #[command(flatten)]
    pub(crate) text: Text,
    /// Columns whose equal values make a sequence, such as a log or a scene. The rows of a sequence must be consecutive
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    sequence_by: Vec<String>,
    /// Columns that order the rows of a sequence; their values must not decrease within it
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    order_by: Vec<String>,
}

/// Options for text formats.
#[derive(Args, Clone, Debug)]
pub(crate) struct Text {
    /// CSV and NDJSON: set the type of a column instead of inferring it or taking that of the table: zip=utf8. --npy: set the type
    /// of COLUMN instead of taking that of the table or the files: lidar.points=f32[?,4]. May be repeated
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = typed)]
    types: Vec<(String, ColumnType)>,
    /// CSV: the character between cells, or `tab` [default: a comma; a tab for .tsv files]
    #[arg(long, value_name = "C", value_parser = delimiter)]
    delimiter: Option<u8>,
}

/// The format of the input file.
#[derive(Args, Debug)]
pub(crate) struct Kind {
    /// The format of FRAME [default: Arrow if its first bytes say so, else by the ending of its name (.csv, .tsv, .ndjson,
    /// .jsonl, .arrow, .feather, .ipc), else Parquet; a pipe has no such name]
    #[arg(long, value_parser = kind())]
    format: Option<FrameFormat>,
}

impl Kind {
    /// Opens the frame in a file, a pipe or standard input. `table` is the schema of the table that the rows are for: text columns
    /// get its types.
    pub(crate) fn open(&self, path: &Path, text: &Text, files: &Files, table: Option<&Schema>) -> Result<Frame, Failure> {
        let is_stdin = path == Path::new("-");
        let (format, is_known) = match self.format {
            Some(format) => (format, true),
            None if !is_stdin && path.is_file() && is_arrow(path) => (FrameFormat::Arrow, true),
            None => (FrameFormat::of_path(path), path.extension().is_some()),
        };
        text.open(path, format, files, table).map_err(|failure| match failure {
            Failure::Input(error) if !is_known && error.kind() == ErrorKind::Corrupt => {
                let message = format!("{error}; it was read as Parquet, because its name has no ending: set --format");
                Failure::Input(Error::new(error.kind(), message).with_source(error))
            }
            failure => failure,
        })
    }
}

/// Whether a file begins as an Arrow file does.
fn is_arrow(path: &Path) -> bool {
    let mut magic = [0; 6];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"ARROW1"
}

fn kind() -> impl TypedValueParser<Value = FrameFormat> {
    PossibleValuesParser::new(["parquet", "arrow", "csv", "ndjson"]).map(|text| match text.as_str() {
        "arrow" => FrameFormat::Arrow,
        "csv" => FrameFormat::Csv,
        "ndjson" => FrameFormat::Ndjson,
        _ => FrameFormat::Parquet,
    })
}

impl Text {
    /// Opens the frame in a file, a pipe or standard input. `table` is the schema of the table that the rows are for.
    fn open(&self, path: &Path, format: FrameFormat, files: &Files, table: Option<&Schema>) -> Result<Frame, Failure> {
        let mut types = named_once(self.types.iter().cloned(), "--type").map_err(Failure::Input)?;
        // The types of arrays are settings of their columns.
        types.retain(|name, _| files.npy.iter().all(|(column, _)| column != name));
        let is_text = matches!(format, FrameFormat::Csv | FrameFormat::Ndjson);
        if !is_text && let Some(name) = types.keys().next() {
            return Err(Failure::Input(Error::invalid(format!(
                "--type {name}: {} has its own types; use it for CSV, NDJSON, or a column of --npy",
                path.display()
            ))));
        }
        let settings = TextSettings { delimiter: self.delimiter, types, table: table.cloned() };
        let frame = match path == Path::new("-") {
            true => Frame::read(std::io::stdin().lock(), format, &settings),
            false => Frame::open(path, format, &settings),
        };
        let frame = frame.map_err(Failure::Input)?;
        for (name, ty) in frame.times_as_text() {
            let name = text::printable(name);
            say(format_args!(
                "note: column `{name}` stays text; its times have a zone: --type '{name}={ty}' stores them as times"
            ));
        }
        Ok(frame)
    }
}

/// Parses `zip=utf8`.
fn typed(text: &str) -> Result<(String, ColumnType), String> {
    match text.split_once('=') {
        Some((name, ty)) if !name.is_empty() => {
            Ok((name.to_owned(), ty.parse::<ColumnType>().map_err(|error| error.to_string())?))
        }
        _ => Err("expected COLUMN=TYPE: zip=utf8".to_owned()),
    }
}

/// Parses the delimiter, one byte.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [one] if one.is_ascii() && !matches!(one, b'"' | b'\n' | b'\r') => Ok(*one),
        _ if text == "tab" => Ok(b'\t'),
        _ => Err("expected one ASCII character, or `tab`".to_owned()),
    }
}

/// Options that leave out columns, and that read files.
#[derive(Args, Clone, Debug)]
pub(crate) struct Files {
    /// Add a binary column COLUMN with the contents of the files whose paths are in the text column PATHS. May be repeated
    #[arg(long, value_name = "COLUMN=PATHS", value_parser = blob)]
    blob: Vec<(String, String)>,
    /// Add a tensor column COLUMN with the arrays of the .npy files whose paths are in the text column PATHS. May be repeated
    #[arg(long, value_name = "COLUMN=PATHS", value_parser = blob)]
    npy: Vec<(String, String)>,
    /// Columns to leave out, as patterns
    #[arg(long, value_name = "PATTERN,..", value_delimiter = ',')]
    drop: Vec<String>,
    /// Leave out columns of types that a table cannot hold, and print a note for each; without it they are an error
    #[arg(long)]
    skip_unsupported: bool,
    /// Folder of relative paths. Files outside it are refused, also behind symbolic links [default: the folder of FRAME;
    /// for a pipe or standard input, the current folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// How to treat a missing file: stop with an error, or store null
    #[arg(long, default_value = "error", value_parser = missing())]
    missing: Missing,
    /// Size of the largest file that is read, in bytes: 16MiB; a larger file is an error [default and maximum: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = blob_size)]
    max_blob: Option<u64>,
}

impl Files {
    /// Converts the options to settings of the library. `text` has the types of arrays.
    pub(crate) fn settings(self, text: &Text) -> FrameSettings {
        let bytes = self.blob.into_iter().map(|(column, paths)| Blob::new(column, paths, Content::Bytes));
        let arrays = self.npy.into_iter().map(|(column, paths)| {
            let ty = text.types.iter().find(|(name, _)| *name == column).map(|(_, ty)| ty.clone());
            Blob::new(column, paths, Content::Npy(ty))
        });
        FrameSettings {
            blobs: bytes.chain(arrays).collect(),
            drop: self.drop,
            skip_unsupported: self.skip_unsupported,
            root: self.root,
            missing: self.missing,
            max_blob: self.max_blob,
            ..FrameSettings::default()
        }
    }
}

impl Choices {
    /// Converts the options to settings of the library.
    pub(crate) fn settings(self) -> FrameSettings {
        FrameSettings {
            index: self.index,
            groups: self.group,
            sequence_by: self.sequence_by,
            order_by: self.order_by,
            ..self.files.settings(&self.text)
        }
    }
}

fn missing() -> impl TypedValueParser<Value = Missing> {
    PossibleValuesParser::new(["error", "null"]).map(|text| if text == "null" { Missing::Null } else { Missing::Error })
}

/// Parses `camera.jpeg=path`.
fn blob(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((column, paths)) if !column.is_empty() && !paths.is_empty() => Ok((column.to_owned(), paths.to_owned())),
        _ => Err("expected COLUMN=PATHS, the new column and the column of paths: camera.jpeg=path".to_owned()),
    }
}

/// Parses the size of the largest file.
fn blob_size(text: &str) -> Result<u64, String> {
    let size = size(text)?;
    if size <= 1 << 30 { Ok(size) } else { Err("expected at most 1GiB".to_owned()) }
}

/// Parses `ego=ego.*,speed`.
pub(super) fn group(text: &str) -> Result<(String, Vec<String>), String> {
    match text.split_once('=') {
        Some((name, patterns)) if !name.is_empty() && !patterns.is_empty() => {
            Ok((name.to_owned(), patterns.split(',').map(str::to_owned).collect()))
        }
        _ => Err("expected NAME=COLUMN,.., the group and its columns: ego=ego.*,speed".to_owned()),
    }
}

/// Prints the columns that `--skip-unsupported` leaves out.
pub(crate) fn say_left_out(frame: &Frame, settings: &FrameSettings) {
    if settings.skip_unsupported {
        for (name, ty) in frame.unsupported() {
            say(format_args!("note: column `{}` is left out: a table cannot hold its type {ty}", text::printable(name)));
        }
    }
}

/// Prints the number of missing files for each blob column.
pub(crate) fn say_missing(missing: &MissingFiles) {
    for (blob, count) in missing.counts() {
        let count = text::counted(count, "file");
        say(format_args!("note: {count} of `{}` missing, stored as null", text::printable(&blob)));
    }
}

impl FrameCommand {
    /// Ingests the frame.
    pub(crate) async fn run(self, out: &mut dyn Write, format: FrameFormat) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let (text, files) = (self.choices.text.clone(), self.choices.files.clone());
        let settings = FrameSettings {
            options: self.writing.ingest(&self.table, self.partition_rows.unwrap_or(0)).await?,
            ..self.choices.settings()
        };
        let store = crate::opening::store(&self.table)?;
        let table = match settings.options.target {
            Target::Append => Some(Table::open_in(store.clone()).await?),
            Target::New | Target::Overwrite => None,
        };
        let frame = text.open(&self.frame, format, &files, table.as_ref().map(Table::schema))?;
        say_left_out(&frame, &settings);
        let bar = progress::rows("ingest", frame.rows(), self.writing.quiet);
        let moved = bar.clone();
        let table = ingest(&frame, store, &settings, move |rows| moved.set_position(rows)).await;
        bar.finish_and_clear();
        let table = table.map_err(Failure::Input)?;
        committed(table.url(), table.version());
        crate::opening::say_what_to_allow(table.url(), &table.must_allow().await);
        // Warnings are also printed with --quiet and --json.
        say_warnings(&table);
        if !self.writing.quiet {
            say_missing(&settings.missing_files);
        }
        if self.writing.json {
            write_json(out, &json_of(&table))?;
            return Ok(Outcome::Done);
        }
        if self.writing.quiet {
            return Ok(Outcome::Done);
        }
        let info = table.info().await?;
        writeln!(out, "{} in {}", table_text(&table), text::time(started.elapsed()))?;
        let names: Vec<&str> = table.schema().index().map(|column| column.name.as_str()).collect();
        let mut lines = vec![vec!["index".to_owned(), text::bytes(info.index_bytes), text::printable(&names.join(", "))]];
        lines.extend(info.column_groups.iter().map(|group| {
            let names: Vec<String> = group.columns.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
            vec![text::printable(&group.name), text::bytes(group.bytes), text::printable(&names.join(", "))]
        }));
        write!(out, "{}", text::table(&["", ">", ""], &lines))?;
        writeln!(out, "stored  {}", text::bytes(stored_bytes(&table)))?;
        if let Some(shared) = sharing_text(&table) {
            writeln!(out, "{shared}")?;
        }
        Ok(Outcome::Done)
    }
}
