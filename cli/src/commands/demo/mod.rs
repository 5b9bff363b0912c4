//! `tetrys demo`: a tour on generated data, offline. Writes a table, filters it, reads a window, shows the layout, shares blocks
//! with a second table, and finds damage.

mod sensors;
mod writing;

use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use arrow_array::cast::AsArray;
use clap::Args;
use polars::prelude::{col, lit};
use tetrys::{Edge, Error, Explain, Offsets, Result, RowLoader, Table, table::Verification};

use super::{
    layout::{self, Lit},
    write_json,
};
use crate::{
    failure::{Failure, Outcome},
    numbers::whole,
    reading::Choice,
    staging::{TemporaryFolder, require_empty},
    text,
};

/// Number of rows of the window before the row itself.
const BEFORE: i64 = 10;
/// Columns of the window.
const WINDOW: [&str; 3] = ["lidar.*", "camera.*", "agents.pose.*"];

#[derive(Args, Debug)]
#[command(
    after_help = "Generates drives of a car with a camera and a lidar, writes them as a table, filters the index, reads a window, draws where it is stored, writes the same data again with shared blocks, and finds a damaged byte. Needs no network and no data.

Examples:
  tetrys demo
  tetrys demo keep && tetrys info keep/drives"
)]
pub(crate) struct Demo {
    /// A new or empty folder that keeps the data [default: a temporary folder, removed at the end]
    dir: Option<PathBuf>,
    /// Number of scenes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = whole(1..=10_000_u32))]
    scenes: u32,
    /// Frames per scene; a frame has about 400 KB of sensor data
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole(1..=100_000_u32))]
    frames: u32,
    /// Print JSON: the same text as a list of lines
    #[arg(long)]
    json: bool,
}

impl Demo {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        if !self.json {
            return self.run_steps(out).await;
        }
        let mut story = Vec::new();
        let outcome = self.run_steps(&mut story).await?;
        let lines: Vec<_> = String::from_utf8_lossy(&story).lines().map(str::to_owned).collect();
        write_json(out, &serde_json::json!({"folder": self.dir, "story": lines}))?;
        Ok(outcome)
    }

    async fn run_steps(&self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let (_temporary, folder) = match &self.dir {
            Some(dir) => {
                require_empty(dir)?;
                std::fs::create_dir_all(dir).map_err(|error| Error::from(error).at(dir.display()))?;
                (None, dir.clone())
            }
            None => {
                let temporary = TemporaryFolder::new(None)?;
                let folder = temporary.path().to_owned();
                (Some(temporary), folder)
            }
        };
        let root = folder.join("drives");
        self.show_writing(out, &folder, &root).await?;
        // Opens the table again, as another process would.
        let table = Table::open(&root.display().to_string()).await?;
        let loader = show_filter(out, &table).await?;
        let row = show_window(out, &loader).await?;
        self.show_picture(out, &table, row, &folder).await?;
        self.show_again(out, &table, &folder).await?;
        show_damage(out, &table, &root, &loader).await?;
        self.show_next(out, &root, row)?;
        Ok(Outcome::Done)
    }

    async fn show_writing(&self, out: &mut dyn Write, folder: &Path, root: &Path) -> Result<(), Failure> {
        writeln!(out, "Generated drives with a camera, a lidar and the agents around the car, in {}\n", folder.display())?;
        out.flush()?;
        let started = Instant::now();
        writing::generate(&folder.join("l5.zarr"), self.scenes, self.frames)?;
        let table = writing::write(&folder.join("l5.zarr"), root, None, &[]).await?;
        let took = started.elapsed();
        let info = table.info().await?;
        let stored: u64 = table.store().list("").await?.iter().map(|(_, bytes)| bytes).sum();
        let logical: u64 = info.column_groups.iter().map(|group| group.logical_bytes).sum();
        writeln!(
            out,
            "1. Written in {}: {}, {}, {} stored for {} uncompressed, ratio {}",
            text::time(took),
            text::counted(info.rows, "row"),
            text::counted(info.sequences, "sequence"),
            text::bytes(stored),
            text::bytes(logical),
            text::ratio(stored, logical),
        )?;
        let lines: Vec<_> = info
            .column_groups
            .iter()
            .map(|group| {
                let (bytes, ratio) = (text::bytes(group.bytes), text::ratio(group.bytes, group.logical_bytes));
                let names = group.columns.iter().map(|(name, ty)| format!("{name} {ty}")).collect::<Vec<_>>().join(", ");
                vec![String::new(), group.name.clone(), bytes, ratio, shortened(names, 62)]
            })
            .collect();
        write!(out, "{}", text::table(&["", "", ">", ">", ""], &lines))?;
        out.flush()?;
        Ok(())
    }

    /// Prints where the window is stored, and draws a picture of it if the folder is kept.
    async fn show_picture(&self, out: &mut dyn Write, table: &Table, row: u64, folder: &Path) -> Result<(), Failure> {
        let choice = Choice::of(&WINDOW, Offsets::try_from(-BEFORE..=0)?);
        let lit = Lit::of(table, &choice.loader(table)?, row, &choice).await?;
        let rows = 0..table.rows();
        let maps = layout::maps(table, Some(&lit), &rows).await?;
        if self.dir.is_some() {
            layout::draw(&folder.join("drives.png"), table, &maps, &rows, Some(&lit))?;
        }
        let read: Vec<_> = maps.into_iter().filter(|map| map.blocks.iter().any(|block| block.lit)).collect();
        write!(out, "{}", text::table(&["", "", ">", ">", ">"], &layout::drawn(&read, &rows, "   ")))?;
        match &self.dir {
            Some(_) => writeln!(out, "   Picture of all groups: {}", folder.join("drives.png").display())?,
            None => writeln!(out, "   █ marks what the window reads; `tetrys demo keep` also draws a picture of all groups")?,
        }
        Ok(())
    }

    /// Writes the same drives again without one frame, with the first table as reference: known blocks are not stored again.
    async fn show_again(&self, out: &mut dyn Write, table: &Table, folder: &Path) -> Result<(), Failure> {
        let lost = u64::from(self.frames) * u64::from(self.scenes / 2) + u64::from(self.frames / 3);
        let started = Instant::now();
        let references = std::slice::from_ref(table);
        let second = writing::write(&folder.join("l5.zarr"), &folder.join("again"), Some(lost), references).await?;
        let took = started.elapsed();
        let info = second.info().await?;
        // The smallest demo has one row, and leaves it out.
        if second.rows() > 0 {
            let row = second.row_loader().columns(["lidar.points"])?.get_row(0).await?;
            if *row.tensor::<f32>("lidar.points")? != sensors::points(u64::from(lost == 0)) {
                return Err(Error::internal("row 0 of the second table is not what was written").into());
            }
        }
        writeln!(
            out,
            "\n4. Written again without frame {lost}, the first table as reference, in {}: of {}\n   {} are references to the first table, {} are new",
            text::time(took),
            text::bytes(info.own_bytes + info.referenced_bytes),
            text::bytes(info.referenced_bytes),
            text::bytes(info.own_bytes),
        )?;
        out.flush()?;
        Ok(())
    }

    fn show_next(&self, out: &mut dyn Write, root: &Path, row: u64) -> Result<(), Failure> {
        let program = program();
        let root = match &self.dir {
            Some(_) => root.display().to_string(),
            None => "keep/drives".to_owned(),
        };
        if cfg!(debug_assertions) {
            writeln!(out, "\nThis is a debug build: it is many times slower than a release build, and its times mean nothing.")?;
        }
        writeln!(out, "\nNext:")?;
        if self.dir.is_none() {
            writeln!(out, "  {program} demo keep")?;
        }
        writeln!(out, "  {program} query {root} 'SELECT row, host, agents_count FROM t WHERE agents_count > 85'")?;
        writeln!(out, "  {program} explain {root} {row} --columns 'lidar.*' --offsets=-10..=0")?;
        writeln!(out, "  {program} get {root} {row} --columns '*.jpeg' --columns 'agents.*' --offsets=-10..=0 --out rows")?;
        writeln!(out, "  {program} verify {root}")?;
        writeln!(out, "and look at it in the browser:\n  {program} view {root}")?;
        Ok(())
    }
}

/// Returns what a shell runs this program by: its name if the `PATH` finds it, else its path.
fn program() -> String {
    let Ok(own) = std::env::current_exe() else { return "tetrys".to_owned() };
    let on_path = std::env::var_os("PATH").is_some_and(|folders| {
        let found = std::env::split_paths(&folders).map(|folder| folder.join("tetrys")).find(|file| file.is_file());
        found.is_some_and(|file| file.canonicalize().ok() == own.canonicalize().ok())
    });
    if on_path {
        return "tetrys".to_owned();
    }
    let below = std::env::current_dir().ok().and_then(|folder| own.strip_prefix(folder).ok().map(Path::to_owned));
    let path = below.unwrap_or(own).display().to_string();
    let path = if path.contains('/') { path } else { format!("./{path}") };
    // Quoted where a shell would split or expand it.
    let is_plain = path.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c));
    if is_plain { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

async fn show_filter(out: &mut dyn Write, table: &Table) -> Result<RowLoader, Failure> {
    let index = table.index().await?;
    let started = Instant::now();
    let mut busy = index.filter(col("agents_count").gt(lit(85)).and(col("frame_index").gt_eq(lit(BEFORE))))?;
    let took = started.elapsed();
    writeln!(
        out,
        "\n2. The index is a polars frame in memory: agents_count > 85 and frame_index >= {BEFORE}\n   finds {} of {} rows in {}",
        text::count(busy.len() as u64),
        text::count(index.len() as u64),
        text::time(took),
    )?;
    // A small demo may have no matching row.
    if busy.is_empty() {
        busy = index;
    }
    Ok(RowLoader::new(&busy)?.edge(Edge::Skip))
}

/// Reads the window of the first row and prints its cost. Returns the row number.
async fn show_window(out: &mut dyn Write, loader: &RowLoader) -> Result<u64, Failure> {
    let loader = loader.clone().columns(WINDOW)?;
    let Explain { ranges, requests, bytes, payload_bytes, .. } = loader.explain(0, -BEFORE..=0).await?;
    let started = Instant::now();
    let rows = loader.get_rows(0, -BEFORE..=0).await?;
    let took = started.elapsed();
    let jpegs = rows.column("camera.jpeg")?.as_binary_opt::<i64>();
    let jpegs = jpegs.ok_or_else(|| Error::internal("camera.jpeg is not binary"))?;
    for (place, row) in rows.table_rows().iter().enumerate() {
        let Some(row) = row else { continue };
        let points = rows.tensor::<f32>("lidar.points", place)?;
        let intrinsics = rows.tensor::<f64>("camera.intrinsics", place)?;
        if *points != sensors::points(*row) || jpegs.value(place) != sensors::jpeg(*row) || *intrinsics != sensors::INTRINSICS {
            return Err(Error::internal(format!("row {row} is not what was written")).into());
        }
    }
    let there: Vec<u64> = rows.table_rows().iter().flatten().copied().collect();
    writeln!(
        out,
        "\n3. A window, rows {}..={} of lidar.* camera.* agents.pose.*, one range per column group:\n   {}, {}, {} of which {} are payload, {}; camera and lidar are what was written",
        there.first().copied().unwrap_or_default(),
        there.last().copied().unwrap_or_default(),
        text::counted(ranges as u64, "range"),
        text::counted(requests as u64, "request"),
        text::bytes(bytes),
        text::bytes(payload_bytes),
        text::time(took),
    )?;
    Ok(there.last().copied().unwrap_or_default())
}

async fn show_damage(out: &mut dyn Write, table: &Table, root: &Path, loader: &RowLoader) -> Result<(), Failure> {
    let loader = loader.clone().columns(["lidar.points"])?;
    let row = loader.get_row(0).await?.as_rows().table_rows().first().copied().flatten().unwrap_or_default();
    let group = table.schema().groups().iter().position(|group| group.name == "lidar").unwrap_or_default();
    let layout = table.storage().layout(group).await?;
    let block = layout.locate(row)?.block;
    let range = layout.byte_range(block)?;
    let chunk = layout.chunk_run(block)?.chunk();
    let (name, hash) = (chunk.object_name(), chunk.to_string());
    let byte = range.start + (range.end - range.start) / 2;
    let file = root.join(&name);
    flip(&file, byte)?;
    let refused = loader.get_row(0).await;
    let found = timed_verify(table).await;
    flip(&file, byte)?;
    let Err(refused) = refused else { return Err(Error::internal("a flipped byte went unnoticed").into()) };
    let (found, _) = found?;
    let (sound, took) = timed_verify(table).await?;
    if found.damage.len() != 1 || !sound.damage.is_empty() {
        return Err(
            Error::internal(format!("verify found {} damaged places, then {}", found.damage.len(), sound.damage.len())).into()
        );
    }
    let message = refused.to_string();
    let message = message.strip_prefix(&format!("{} version {}: ", table.url(), table.version())).unwrap_or(&message);
    let short = format!("{}..", hash.get(..8).unwrap_or_default());
    writeln!(out, "\n5. After flipping byte {byte} of {}, reading row {row} fails:", name.replace(&hash, &short))?;
    writeln!(out, "   {}", shortened(message.replace(&hash, &short), 120))?;
    writeln!(
        out,
        "   `tetrys verify` finds {}; after flipping it back, all {} are sound, checked in {}",
        text::counted(found.damage.len() as u64, "damaged object"),
        text::bytes(sound.bytes),
        text::time(took),
    )?;
    Ok(())
}

async fn timed_verify(table: &Table) -> Result<(Verification, Duration)> {
    let started = Instant::now();
    Ok((table.storage().verify(|_, _| {}).await?, started.elapsed()))
}

/// Inverts the bits of one byte. A second call restores it.
fn flip(path: &Path, byte: u64) -> Result<()> {
    let flip = |mut file: File| -> std::io::Result<()> {
        let mut content = [0];
        file.seek(SeekFrom::Start(byte))?;
        file.read_exact(&mut content)?;
        file.seek(SeekFrom::Start(byte))?;
        file.write_all(&[!content[0]])
    };
    let done = OpenOptions::new().read(true).write(true).open(path).and_then(flip);
    done.map_err(|error| Error::from(error).at(path.display()))
}

fn shortened(text: String, most: usize) -> String {
    if text.chars().count() <= most { text } else { text.chars().take(most).chain("..".chars()).collect() }
}
