//! `tetrys layout`: shows where the rows of a table are stored: chunks and blocks of every column group, with the blocks that a
//! read would take highlighted.

mod canvas;
mod map;
mod owners;
mod picture;

use std::{
    fs::File,
    io::{BufWriter, Read, Write},
    ops::Range,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::{Value, json};
use tetrys::{Error, Explain, RowLoader, Table};

use self::{
    map::{Block, GroupMap},
    owners::Owners,
    picture::Tint,
};
use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    numbers::whole,
    reading::Choice,
    text,
};

/// Number of cells of the line of a group in the terminal.
const CELLS: u64 = 72;

#[derive(Args, Debug)]
#[command(
    after_help = "Draws one line for each column group, with the rows from left to right. Two shades alternate from chunk to chunk. `|` marks rows where every column group begins a chunk, as at the start of a partition. With ROW, the blocks that reading the row or window takes are highlighted. In the picture of --png, a block is as high as its bytes per row. A view has no layout: use one of the tables behind it.

Examples:
  tetrys layout sample
  tetrys layout sample 120 --columns 'agents.*' --offsets=-10..=0 --png sample.png
  tetrys layout sample 120 --rows 100..140"
)]
pub(crate) struct LayoutCommand {
    /// The table: a path or URL; TABLE@3 is version 3
    table: String,
    /// Highlight the blocks that reading this row takes
    #[arg(value_parser = whole(0..=u64::MAX))]
    row: Option<u64>,
    #[command(flatten)]
    choice: Choice,
    /// Show only rows A to B, without B: 100..140
    #[arg(long, value_name = "A..B", allow_hyphen_values = true, value_parser = rows)]
    rows: Option<Range<u64>>,
    /// Draw a picture into this PNG file
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    png: Option<PathBuf>,
    /// Print JSON: the chunks of every group, and the highlighted blocks (`lit`)
    #[arg(long)]
    json: bool,
}

/// Parses `100..140`.
fn rows(text: &str) -> Result<Range<u64>, String> {
    let ends = text.split_once("..").and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    ends.filter(|rows: &Range<u64>| rows.start < rows.end).ok_or_else(|| "expected A..B with A < B: 100..140".to_owned())
}

impl LayoutCommand {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let loader = self.choice.loader(&table)?;
        let lit = match self.row {
            Some(row) => Some(Lit::of(&table, &loader, row, &self.choice).await?),
            None => None,
        };
        let end = table.rows();
        let rows = self.rows.clone().unwrap_or(0..end);
        let rows = rows.start.min(end)..rows.end.min(end);
        if rows.is_empty() && end > 0 {
            return Err(Error::invalid(format!("--rows: the table has rows 0..{end}")).into());
        }
        let maps = maps(&table, lit.as_ref(), &rows).await?;
        if let Some(file) = &self.png {
            draw(file, &table, &maps, &rows, lit.as_ref())?;
            writeln!(out, "{}: {}", file.display(), table_text(&table, &rows))?;
            writeln!(out, "{}", picture::LEGEND)?;
            if let Some(lit) = &lit {
                writeln!(out, "bright: {}", lit.describe())?;
            }
        } else if self.json {
            write_json(out, &as_json(&table, &maps, lit.as_ref()))?;
        } else {
            print(out, &table, &maps, &rows, lit.as_ref())?;
        }
        Ok(Outcome::Done)
    }
}

/// The rows and the plan of the read to highlight.
pub(crate) struct Lit {
    what: String,
    rows: Vec<u64>,
    explain: Explain,
}

impl Lit {
    pub(crate) async fn of(table: &Table, loader: &RowLoader, row: u64, choice: &Choice) -> Result<Self, Error> {
        let (explain, rows, what) = match choice.window(table)? {
            Some(window) => {
                let rows: Vec<u64> = loader.window_rows(row, &window).await?.into_iter().flatten().collect();
                let what = match (rows.iter().min(), rows.iter().max()) {
                    (Some(first), Some(last)) => format!("row {row} with the window {first}..={last}"),
                    _ => format!("row {row}"),
                };
                (loader.explain(row, window).await?, rows, what)
            }
            None => (loader.explain_take(&[row]).await?, vec![row], format!("row {row}")),
        };
        Ok(Self { what, rows, explain })
    }

    /// Describes the read: `row 120 takes 11 blocks of 2 groups: 2 ranges, 16.4 kB`.
    fn describe(&self) -> String {
        let blocks: u64 = self.explain.groups.iter().map(|group| group.blocks as u64).sum();
        format!(
            "{} takes {} of {}: {}, {}",
            self.what,
            text::counted(blocks, "block"),
            text::counted(self.explain.groups.len() as u64, "group"),
            text::counted(self.explain.ranges as u64, "range"),
            text::bytes(self.explain.bytes),
        )
    }
}

/// Returns the blocks of every group in the given rows.
pub(crate) async fn maps(table: &Table, lit: Option<&Lit>, rows: &Range<u64>) -> Result<Vec<GroupMap>, Error> {
    if table.is_view() {
        let tables = "a view has no chunks of its own: use one of the tables behind it, which `tetrys info` names";
        return Err(Error::invalid(format!("{}: {tables}", table.url())));
    }
    let mut maps = Vec::new();
    for (number, group) in table.schema().groups().iter().enumerate() {
        let layout = table.storage().layout(number).await?;
        let read = lit.filter(|lit| lit.explain.groups.iter().any(|read| read.name == group.name));
        let lit = read.map_or(&[][..], |lit| &lit.rows);
        maps.push(GroupMap::of(&group.name, &layout, lit, rows)?);
    }
    Ok(maps)
}

/// Writes the picture of the layout as PNG.
pub(crate) fn draw(file: &Path, table: &Table, maps: &[GroupMap], rows: &Range<u64>, lit: Option<&Lit>) -> Result<(), Error> {
    let description = lit.map(Lit::describe);
    draw_tinted(file, table, maps, rows, description.as_deref().map_or(Tint::Groups, Tint::Lit))
}

/// Writes the picture of who owns the blocks of a version. `versions` are all versions of the table. Returns the owners.
pub(crate) async fn draw_owners(file: &Path, table: &Table, versions: &[u64]) -> Result<Owners, Error> {
    let rows = 0..table.rows();
    let maps = maps(table, None, &rows).await?;
    let urls: Vec<String> =
        table.storage().owners().iter().map(|store| store.urls.first().cloned().unwrap_or_default()).collect();
    let owners = Owners::of(&maps, &urls, &owners::shared(&maps, table, versions).await?);
    draw_tinted(file, table, &maps, &rows, Tint::Owners(&owners))?;
    Ok(owners)
}

/// Checks that a file that a picture replaces is a picture, or empty, or no regular file.
///
/// # Errors
/// - `Exists`: it holds something else.
/// - Errors of the file system.
fn require_picture(file: &Path) -> Result<(), Error> {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
    if !file.is_file() {
        return Ok(());
    }
    let mut start = Vec::new();
    File::open(file)?.take(PNG.len() as u64).read_to_end(&mut start)?;
    match start.is_empty() || start == PNG {
        true => Ok(()),
        false => Err(Error::exists("expected a new file or a PNG picture to replace, found another file")),
    }
}

fn draw_tinted(file: &Path, table: &Table, maps: &[GroupMap], rows: &Range<u64>, tint: Tint<'_>) -> Result<(), Error> {
    let name = table.url().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let description = table_text(table, rows);
    let description = description.split_once(": ").map_or("", |(_, description)| description);
    let title = match tint {
        Tint::Owners(_) => format!("{name} version {}: {description}; colours: who owns the blocks", table.version()),
        _ => format!("{name}: {description}"),
    };
    let canvas = picture::picture(&title, maps, rows, tint);
    let place = |error: Error| error.at(file.display());
    require_picture(file).map_err(place)?;
    let out = File::create(file).map_err(|error| place(error.into()))?;
    canvas.write(BufWriter::new(out)).map_err(|error| place(Error::unavailable(error.to_string())))
}

fn table_text(table: &Table, rows: &Range<u64>) -> String {
    let shown = if rows.start == 0 && rows.end == table.rows() {
        String::new()
    } else {
        format!(", shown {}..{}", text::count(rows.start), text::count(rows.end))
    };
    let groups = table.schema().groups().len() as u64;
    format!("{}: {} in {}{shown}", table.url(), text::counted(table.rows(), "row"), text::counted(groups, "column group"))
}

fn print(out: &mut dyn Write, table: &Table, maps: &[GroupMap], rows: &Range<u64>, lit: Option<&Lit>) -> Result<(), Failure> {
    writeln!(out, "{}\n", table_text(table, rows))?;
    let headings = ["column group", "rows", ">chunks", ">blocks", ">bytes"];
    write!(out, "{}", text::table(&headings, &drawn(maps, rows, "")))?;
    match lit {
        Some(lit) => writeln!(out, "\n█ {}", lit.describe())?,
        None => writeln!(out, "\n░▒ alternate chunks, | every group begins a chunk; ROW highlights the blocks that it takes")?,
    }
    Ok(())
}

/// Returns the cells of a line for each group: its name after `indent`, its marks, and its numbers of chunks, blocks and bytes.
pub(crate) fn drawn(maps: &[GroupMap], rows: &Range<u64>, indent: &str) -> Vec<Vec<String>> {
    let count = rows.end.saturating_sub(rows.start).max(1);
    let cells = CELLS.min(count);
    let cell_of = |row: u64| {
        let cell = u128::from(row.saturating_sub(rows.start).min(count - 1)) * u128::from(cells) / u128::from(count);
        usize::try_from(cell).unwrap_or(0)
    };
    let mut seams = vec![' '; cells as usize];
    map::seams(maps).into_iter().for_each(|row| seams[cell_of(row)] = '|');
    let mut lines = vec![vec![indent.to_owned(), seams.iter().collect()]];
    lines.retain(|_| seams.contains(&'|'));
    for map in maps {
        let mut marks = vec![' '; cells as usize];
        // Highlighted blocks last, because a cell may stand for many blocks.
        for lit in [false, true] {
            for block in map.blocks.iter().filter(|block| block.lit == lit) {
                let mark = match (lit, block.chunk % 2) {
                    (true, _) => '█',
                    (false, 0) => '░',
                    (false, _) => '▒',
                };
                marks[cell_of(block.rows.start)..=cell_of(block.rows.end - 1)].fill(mark);
            }
        }
        lines.push(vec![
            format!("{indent}{}", text::printable(&map.name)),
            marks.into_iter().collect(),
            text::count(map.chunks),
            text::count(map.blocks.len() as u64),
            text::bytes(map.blocks.iter().map(|block| block.bytes).sum()),
        ]);
    }
    let (first, last) = (text::count(rows.start), text::count(rows.end));
    let width = (cells as usize).saturating_sub(first.chars().count());
    lines.push(vec![indent.to_owned(), format!("{first}{last:>width$}")]);
    lines
}

fn as_json(table: &Table, maps: &[GroupMap], lit: Option<&Lit>) -> Value {
    let block = |block: &Block| json!({"first_row": block.rows.start, "rows": block.rows.end - block.rows.start, "chunk": block.chunk, "bytes": block.bytes});
    let groups: Vec<Value> = maps
        .iter()
        .map(|map| {
            let mut chunks: Vec<Value> = Vec::new();
            for part in map.blocks.chunk_by(|a, b| a.chunk == b.chunk) {
                let (first, last) = (&part[0], &part[part.len() - 1]);
                chunks.push(json!({
                    "chunk": first.chunk,
                    "name": map.names.get(first.chunk as usize).map(ToString::to_string),
                    "first_row": first.rows.start,
                    "rows": last.rows.end - first.rows.start,
                    "blocks": part.len(),
                    "bytes": part.iter().map(|block| block.bytes).sum::<u64>(),
                }));
            }
            let lit: Vec<Value> = map.blocks.iter().filter(|block| block.lit).map(block).collect();
            json!({"name": map.name, "blocks": map.blocks.len(), "chunks": chunks, "lit": lit})
        })
        .collect();
    json!({"url": table.url(), "version": table.version(), "rows": table.rows(), "groups": groups, "read": lit.map(|lit| &lit.explain)})
}
