//! `tetrys ingest parquet`, `arrow`, `csv` and `ndjson`: any frame becomes a new table.

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
    ColumnType, Error,
    ingest::frame::{Blob, Frame, FrameFormat, FrameSettings, Missing, MissingFiles, TextSettings, ingest},
};

use super::{Writing, byte_count, json_of, said_of, said_of_sharing, say_warnings};
use crate::{
    commands::write_json,
    failure::{Failure, Outcome, say},
    progress, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Small columns become the index, every other column a group of its own, unless said otherwise. With --append and --overwrite the default is what the table has. Columns are named as patterns: `lidar.*`. The fields of a struct are columns, `image.bytes`; so are those of a list of structs and the keys and values of a map, as parallel lists; lists of numbers are tensors; decimals are text. `tetrys export` gives all of them back.

Examples:
  tetrys ingest parquet frames.parquet drives --blob camera.jpeg=path --sequence-by log_id --order-by timestamp
  tetrys ingest parquet frames.parquet drives --index 'log_id,timestamp' --group ego='ego.*' --group lidar='lidar.*' --drop '__*'
  tetrys ingest arrow frames.arrow drives --blob image=path --blob sweep=lidar_path --root /data/nuscenes --missing null
  tetrys ingest csv frames.csv drives --type zip=utf8 --sequence-by log_id
  tetrys ingest ndjson frames.ndjson drives --append
  tetrys schema drives && tetrys head drives"
)]
pub(crate) struct FrameCommand {
    /// The file that holds the frame; - is standard input
    frame: PathBuf,
    /// The new table: a path or URL where no table is yet (or is, with --append and --overwrite)
    table: String,
    #[command(flatten)]
    choices: Choices,
    /// Rows a partition, at least; partitions end with sequences [default: 8192, and 1024 with --blob]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    partition_rows: Option<u64>,
    #[command(flatten)]
    writing: Writing,
}

/// Which columns of a frame stand where, and which files are read.
#[derive(Args, Debug)]
pub(crate) struct Choices {
    /// The index columns [default: every column of a small type that stands in no group]
    #[arg(long, value_name = "P,..", value_delimiter = ',')]
    index: Option<Vec<String>>,
    /// A column group and what it holds; may be given several times
    #[arg(long, value_name = "NAME=P,..", value_parser = group)]
    group: Vec<(String, Vec<String>)>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    pub(crate) text: Text,
    /// Rows with equal values of these columns make a sequence (a log, a scene); they must stand together in the frame
    #[arg(long, value_name = "C,..", value_delimiter = ',')]
    sequence_by: Vec<String>,
    /// Columns that order the rows of a sequence; they may not fall
    #[arg(long, value_name = "C,..", value_delimiter = ',')]
    order_by: Vec<String>,
}

/// How text is read.
#[derive(Args, Clone, Debug)]
pub(crate) struct Text {
    /// Of CSV and lines of JSON: the type of a column, whatever its values look like; may be given several times
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = typed)]
    types: Vec<(String, ColumnType)>,
    /// Of CSV: the character between cells; `tab` is one [default: a comma; a tab for a file called .tsv]
    #[arg(long, value_name = "C", value_parser = delimiter)]
    delimiter: Option<u8>,
}

/// The format of a file that holds a frame.
#[derive(Args, Debug)]
pub(crate) struct Kind {
    /// The format of the frame [default: by its first bytes or the ending of its name; if these do not tell, and for standard
    /// input, Parquet]
    #[arg(long, value_parser = kind())]
    format: Option<FrameFormat>,
}

impl Kind {
    /// The format of the frame in a file: Arrow by its first bytes, others by the ending of its name.
    pub(crate) fn of(&self, path: &Path) -> FrameFormat {
        let is_arrow = || {
            let mut magic = [0; 6];
            File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"ARROW1"
        };
        match self.format {
            Some(format) => format,
            None if path != Path::new("-") && path.is_file() && is_arrow() => FrameFormat::Arrow,
            None => FrameFormat::of_path(path),
        }
    }
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
    /// The frame in a file, or in standard input.
    pub(crate) fn open(&self, path: &Path, format: FrameFormat) -> Result<Frame, Failure> {
        let text = TextSettings { delimiter: self.delimiter, types: self.types.iter().cloned().collect() };
        let is_text = matches!(format, FrameFormat::Csv | FrameFormat::Ndjson);
        if !is_text && !self.types.is_empty() {
            return Err(Failure::Input(Error::invalid(format!("--type: {} says its types itself", path.display()))));
        }
        let frame = match path == Path::new("-") {
            true => Frame::read(std::io::stdin().lock(), format, &text),
            false => Frame::open(path, format, &text),
        };
        frame.map_err(Failure::Input)
    }
}

/// `zip=utf8`.
fn typed(text: &str) -> Result<(String, ColumnType), String> {
    match text.split_once('=') {
        Some((name, ty)) if !name.is_empty() => {
            Ok((name.to_owned(), ty.parse::<ColumnType>().map_err(|error| error.to_string())?))
        }
        _ => Err("expected COLUMN=TYPE: zip=utf8".to_owned()),
    }
}

/// One byte.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [one] if one.is_ascii() && !matches!(one, b'"' | b'\n' | b'\r') => Ok(*one),
        _ if text == "tab" => Ok(b'\t'),
        _ => Err("expected one ASCII character, or `tab`".to_owned()),
    }
}

/// Which columns are left out, and which files are read.
#[derive(Args, Clone, Debug)]
pub(crate) struct Files {
    /// A new column whose values are the files that a text column names; may be given several times
    #[arg(long, value_name = "COLUMN=PATHS", value_parser = blob)]
    blob: Vec<Blob>,
    /// Columns to leave out
    #[arg(long, value_name = "P,..", value_delimiter = ',')]
    drop: Vec<String>,
    /// Leave out every column whose type a table cannot hold; each is named
    #[arg(long)]
    skip_unsupported: bool,
    /// Where relative paths begin; files outside are not read, by links neither [default: the folder of the frame]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// What a file that is not there becomes
    #[arg(long, default_value = "error", value_parser = missing())]
    missing: Missing,
    /// The largest file that is read, in bytes: 16MiB [default: 1GiB, which is the most]
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    max_blob: Option<u64>,
}

impl Files {
    /// The same, for the library.
    pub(crate) fn settings(self) -> FrameSettings {
        FrameSettings {
            blobs: self.blob,
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
    /// The same, for the library.
    pub(crate) fn settings(self) -> FrameSettings {
        FrameSettings {
            index: self.index,
            groups: self.group,
            sequence_by: self.sequence_by,
            order_by: self.order_by,
            ..self.files.settings()
        }
    }
}

fn missing() -> impl TypedValueParser<Value = Missing> {
    PossibleValuesParser::new(["error", "null"]).map(|text| if text == "null" { Missing::Null } else { Missing::Error })
}

/// `camera.jpeg=path`.
fn blob(text: &str) -> Result<Blob, String> {
    match text.split_once('=') {
        Some((column, paths)) if !column.is_empty() && !paths.is_empty() => {
            Ok(Blob { column: column.to_owned(), paths: paths.to_owned() })
        }
        _ => Err("expected COLUMN=PATHS, the new column and the column of paths: camera.jpeg=path".to_owned()),
    }
}

/// `ego=ego.*,speed`.
fn group(text: &str) -> Result<(String, Vec<String>), String> {
    match text.split_once('=') {
        Some((name, patterns)) if !name.is_empty() && !patterns.is_empty() => {
            Ok((name.to_owned(), patterns.split(',').map(str::to_owned).collect()))
        }
        _ => Err("expected NAME=COLUMN,.., the group and what it holds: ego=ego.*,speed".to_owned()),
    }
}

/// Which columns `--skip-unsupported` leaves out.
pub(crate) fn say_left_out(frame: &Frame, settings: &FrameSettings) {
    if settings.skip_unsupported {
        for (name, ty) in frame.unsupported() {
            say(format_args!("note: column `{}` is left out: no column type for {ty}", text::printable(name)));
        }
    }
}

/// How many files were not there, of each blob.
pub(crate) fn say_missing(missing: &MissingFiles) {
    for (blob, count) in missing.counts() {
        let count = text::counted(count, "file");
        say(format_args!("note: {count} of `{}` not there, null instead", text::printable(&blob)));
    }
}

impl FrameCommand {
    /// Takes the frame in.
    pub(crate) async fn run(self, out: &mut dyn Write, format: FrameFormat) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let text = self.choices.text.clone();
        let settings = FrameSettings {
            write: self.writing.options(&self.table).await?,
            workers: self.writing.workers(),
            partition_rows: self.partition_rows.unwrap_or(0),
            references: self.writing.references().await?,
            target: self.writing.target(),
            ..self.choices.settings()
        };
        let store = crate::opening::store(&self.table)?;
        let frame = text.open(&self.frame, format)?;
        say_left_out(&frame, &settings);
        let bar = progress::rows("ingest", frame.rows(), self.writing.quiet);
        let moved = bar.clone();
        let table = ingest(&frame, store, &settings, move |rows| moved.set_position(rows)).await;
        bar.finish_and_clear();
        let table = table.map_err(Failure::Input)?;
        crate::opening::say_what_to_allow(table.url(), &table.must_allow().await);
        // A script that wants no summary is to know of these all the same.
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
        writeln!(out, "{} in {}", said_of(&table), text::time(started.elapsed()))?;
        let stored: u64 = table.store().list("").await?.iter().map(|(_, bytes)| bytes).sum();
        let names: Vec<&str> = table.schema().index().map(|column| column.name.as_str()).collect();
        let mut lines = vec![vec!["index".to_owned(), text::bytes(info.index_bytes), text::printable(&names.join(", "))]];
        lines.extend(info.column_groups.iter().map(|group| {
            let names: Vec<String> = group.columns.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
            vec![text::printable(&group.name), text::bytes(group.bytes), text::printable(&names.join(", "))]
        }));
        write!(out, "{}", text::table(&["", ">", ""], &lines))?;
        writeln!(out, "stored  {}", text::bytes(stored))?;
        if let Some(shared) = said_of_sharing(&table) {
            writeln!(out, "{shared}")?;
        }
        Ok(Outcome::Done)
    }
}
