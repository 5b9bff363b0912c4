//! An L5 data set, opened for reading: its arrays, checked against each other, and the table that they become. Supports
//! format_version 1 and 2, with or without traffic lights and masks.
//!
//! Opening reads all scenes and streams over the frames once, so that an invalid interval is found before anything is written.
//! Timestamps are not checked: published data have timestamps outside of their scenes.

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};

use super::{
    array::{Array, Cursor},
    columns::{AGENT_INTERVAL, AGENTS, Columns, FRAMES, MASK_PREFIX, SCENES, TIMESTAMP, TL_FACES, TL_INTERVAL},
    dtype::Field,
    intervals::{Intervals, i64_at},
    scenes::{self, Scene},
    source::{MAX_METADATA, MAX_MISSING, ZarrGroup},
};
use tetrys::{
    StoreOptions,
    error::{Error, Result},
    schema::Schema,
};

/// Maximum bytes of the agents, or of the faces, of one frame.
const MAX_FRAME: u64 = 1 << 28;

/// An open L5 data set. Clones share it, and several threads may read rows at the same time.
///
/// ```no_run
/// use tetrys_l5::Dataset;
/// let dataset = Dataset::open("sample.zarr")?;
/// for partition in dataset.partitions(8192) {
///     for batch in dataset.rows(partition)? {
///         println!("{} frames", batch?.num_rows());
///     }
/// }
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    pub(super) scenes: Arc<[Scene]>,
    pub(super) frames: Arc<Array>,
    pub(super) agents: Arc<Array>,
    pub(super) tl_faces: Option<Arc<Array>>,
    pub(super) masks: Vec<Arc<Array>>,
    pub(super) columns: Arc<Columns>,
    schema: Schema,
    properties: Arc<Value>,
    warnings: Vec<String>,
}

/// Times, and the ends of agents and faces, of all frames.
type FrameColumns = (Vec<i64>, Vec<u64>, Option<Vec<u64>>);

impl Dataset {
    /// Opens the zarr directory or zip file at `path`, or at a URL in an object store, and checks it.
    ///
    /// # Errors
    /// The messages name array and record, and what was expected and found.
    /// - `NotFound`: nothing exists at `path`.
    /// - `Invalid`: it is not an L5 zarr group.
    /// - `Unsupported`: a type, compressor or order is not supported.
    /// - `Corrupt`: intervals have gaps, overlap or end outside of their array, a chunk has the wrong size, or a chunk of scenes,
    ///   frames, agents or faces is missing. A missing chunk of a mask is a [warning](Self::warnings).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::of(ZarrGroup::open(path)?)
    }

    /// Opens the data set at `path` as [`Self::open`] does, with options of its object store.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_with(path: impl AsRef<Path>, stores: &StoreOptions) -> Result<Self> {
        Self::of(ZarrGroup::open_with(path, stores)?)
    }

    /// Checks an open group, and takes it as a data set.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn of(source: ZarrGroup) -> Result<Self> {
        let names = source.arrays()?;
        let require = |name: &str| -> Result<Arc<Array>> {
            Array::open(&source, name)?.map(Arc::new).ok_or_else(|| {
                let found = if names.is_empty() { "no array".to_owned() } else { names.join(", ") };
                Error::invalid(format!("{source}: not an L5 data set: expected an array {name}, found {found}"))
            })
        };
        let (scene_array, frames, agents) = (require(SCENES)?, require(FRAMES)?, require(AGENTS)?);
        let tl_faces = Array::open(&source, TL_FACES)?.map(Arc::new);
        let mut masks = Vec::new();
        let mut warnings = Vec::new();
        for name in names.iter().filter(|name| ![SCENES, FRAMES, AGENTS, TL_FACES].contains(&name.as_str())) {
            match mask_name(name) {
                Some(_) => masks.push(require(name)?),
                None => warnings.push(format!("{source}: array {name} is not part of an L5 data set and is left out")),
            }
        }
        for array in [Some(&scene_array), Some(&frames), Some(&agents), tl_faces.as_ref()].into_iter().flatten() {
            if !array.meta().inner.is_empty() || !array.meta().dtype.is_structured() {
                return Err(Error::unsupported(format!("{}: expected one dimension of records with fields", array.place())));
            }
        }
        for array in [Some(&scene_array), Some(&frames), Some(&agents), tl_faces.as_ref()].into_iter().flatten() {
            if let Some(warning) = missing_chunks(array)? {
                return Err(Error::corrupt(format!(
                    "{warning}; records of fill values are no records of Level 5: copy the data set again"
                )));
            }
        }
        for mask in &masks {
            // A writer of zarr may leave out a chunk of fill values, and a chunk of a mask may have no agent.
            warnings
                .extend(missing_chunks(mask)?.map(|warning| format!("{warning}; their values are the fill value of the array")));
            if mask.meta().len != agents.meta().len {
                return Err(Error::corrupt(format!(
                    "{}: expected {} records, as agents has, found {}",
                    mask.place(),
                    agents.meta().len,
                    mask.meta().len
                )));
            }
        }
        let mask_types: Vec<_> = masks
            .iter()
            .map(|mask| (mask_name(mask.name()).unwrap_or_default(), &mask.meta().dtype, mask.meta().inner.as_slice()))
            .collect();
        let columns = Columns::new(
            &scene_array.meta().dtype,
            &frames.meta().dtype,
            &agents.meta().dtype,
            tl_faces.as_ref().map(|array| &array.meta().dtype),
            &mask_types,
        )
        .map_err(|error| error.at(&source))?;
        let schema = columns.schema()?;
        let scenes: Arc<[Scene]> = scenes::read(&scene_array, frames.meta().len)?.into();
        check_frames(&frames, &agents, tl_faces.as_ref())?;
        let arrays = [&scene_array, &frames, &agents].into_iter().chain(&tl_faces).chain(&masks);
        let properties = Arc::new(properties(&source, arrays.map(Arc::as_ref), &scenes)?);
        Ok(Self { scenes, frames, agents, tl_faces, masks, columns: Arc::new(columns), schema, properties, warnings })
    }

    /// Returns the schema of the table: one row per frame, one sequence per scene.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the table properties, an object with the one key `l5`: the original metadata objects of the zarr group, its
    /// attributes and all scene records. Together with the rows this is all that [`export`](super::export()) needs.
    pub fn properties(&self) -> &Value {
        &self.properties
    }

    /// Returns one sentence for each part of the data set that is left out, and for each mask that lacks chunks.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns all scenes, including those without frames.
    pub fn scenes(&self) -> &[Scene] {
        &self.scenes
    }

    /// Returns the number of frames, which are the rows of the table.
    pub fn frames_len(&self) -> u64 {
        self.frames.meta().len
    }

    /// Returns the time of each frame, and the number of agents and of traffic light faces up to the end of each frame. There are no
    /// numbers of faces if the data has none.
    ///
    /// # Errors
    /// - `Corrupt`: a chunk is damaged.
    /// - Errors of the file system.
    pub(crate) fn frame_columns(&self) -> Result<FrameColumns> {
        let dtype = &self.frames.meta().dtype;
        let (timestamp, agents, faces) = (dtype.require(TIMESTAMP)?, dtype.require(AGENT_INTERVAL)?, dtype.field(TL_INTERVAL));
        let (mut timestamps, mut agent_ends, mut face_ends) = (Vec::new(), Vec::new(), Vec::new());
        Cursor::new(Arc::clone(&self.frames)).visit(0..self.frames.meta().len, |records| {
            for record in records.chunks_exact(dtype.record_len()) {
                timestamps.push(i64_at(timestamp.of(record), 0));
                agent_ends.push(i64_at(agents.of(record), 8) as u64);
                face_ends.extend(faces.map(|field| i64_at(field.of(record), 8) as u64));
            }
            Ok(())
        })?;
        let has_faces = self.tl_faces.is_some() && faces.is_some();
        Ok((timestamps, agent_ends, has_faces.then_some(face_ends)))
    }

    /// Returns the zarr group.
    pub fn group(&self) -> &ZarrGroup {
        self.frames.group()
    }

    /// Returns the number of agents.
    pub fn agents_len(&self) -> u64 {
        self.agents.meta().len
    }

    /// Returns the number of traffic light faces: 0 if there is no such array.
    pub fn tl_faces_len(&self) -> u64 {
        self.tl_faces.as_ref().map_or(0, |array| array.meta().len)
    }

    /// Returns the decoded bytes of all arrays that [`rows`](Self::rows) reads, for progress and throughput.
    pub fn decoded_bytes(&self) -> u64 {
        [&self.frames, &self.agents]
            .into_iter()
            .chain(&self.tl_faces)
            .chain(&self.masks)
            .map(|array| array.meta().len * array.meta().record_len() as u64)
            .sum()
    }
}

/// Returns a sentence that names the chunks of an array that are missing: `.. array agents: chunks 3 and 5..=7 of 0..9 are missing`.
fn missing_chunks(array: &Array) -> Result<Option<String>> {
    const SHOWN: usize = 10;
    let missing = array.missing()?;
    let runs = missing.chunk_by(|before, after| before + 1 == *after).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}..={last}"),
        [] => String::new(),
    });
    let (first, last) = match missing.as_slice() {
        [] => return Ok(None),
        [one] => (format!("chunk {one}"), "is"),
        _ => {
            let runs: Vec<String> = runs.collect();
            let more = match runs.len().saturating_sub(SHOWN) {
                _ if missing.len() == MAX_MISSING => " and more".to_owned(),
                0 => String::new(),
                more => format!(" and {more} more places"),
            };
            (format!("chunks {}{more}", runs[..runs.len().min(SHOWN)].join(", ")), "are")
        }
    };
    Ok(Some(format!("{}: {first} of 0..{} {last} missing", array.place(), array.chunks())))
}

/// Returns the name of a mask below `agents_mask/`, if it is safe as a column name and a folder name.
pub(super) fn mask_name(array: &str) -> Option<&str> {
    let name = array.strip_prefix(MASK_PREFIX)?;
    let safe = |character: char| character.is_ascii_alphanumeric() || "._-+".contains(character);
    (!name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.chars().all(safe)).then_some(name)
}

/// Returns the bytes of the traffic light interval. Data without this field have no faces.
pub(super) fn tl_interval<'a>(field: Option<&Field>, record: &'a [u8]) -> &'a [u8] {
    field.map_or(&[0; 16], |field| field.of(record))
}

fn check_frames(frames: &Arc<Array>, agents: &Array, tl_faces: Option<&Arc<Array>>) -> Result<()> {
    let dtype = &frames.meta().dtype;
    let (agent_field, tl_field) = (dtype.require(AGENT_INTERVAL)?, dtype.field(TL_INTERVAL));
    let mut agent_check = Intervals::new(AGENT_INTERVAL, AGENTS, agents.meta().len);
    let mut tl_check = Intervals::new(TL_INTERVAL, TL_FACES, tl_faces.map_or(0, |array| array.meta().len));
    let mut number = 0_u64;
    Cursor::new(frames.clone()).visit(0..frames.meta().len, |records| {
        for record in records.chunks_exact(dtype.record_len()) {
            let place = || format!("{}, record {number}", frames.place());
            let agents_here = agent_check.take(agent_field.of(record), place)?;
            let tl_here = tl_check.take(tl_interval(tl_field, record), place)?;
            for (here, array) in [(agents_here, Some(agents)), (tl_here, tl_faces.map(Arc::as_ref))] {
                let record_len = array.map_or(0, |array| array.meta().record_len() as u64);
                if (here.end - here.start).saturating_mul(record_len) > MAX_FRAME {
                    let name = array.map_or("", Array::name);
                    return Err(Error::unsupported(format!(
                        "{}: expected at most {MAX_FRAME} bytes of {name}, found {here:?}",
                        place()
                    )));
                }
            }
            number += 1;
        }
        Ok(())
    })?;
    agent_check.finish(|| frames.place())?;
    tl_check.finish(|| frames.place())
}

fn properties<'a>(source: &ZarrGroup, arrays: impl Iterator<Item = &'a Array>, scenes: &[Scene]) -> Result<Value> {
    let mut objects = serde_json::Map::new();
    let mut add = |key: String| -> Result<Option<String>> {
        let Some(bytes) = source.read(&key, MAX_METADATA)? else { return Ok(None) };
        let text = String::from_utf8(bytes)
            .map_err(|error| Error::invalid(format!("{source}: {key}: expected UTF-8, found {error}")))?;
        objects.insert(key, Value::String(text.clone()));
        Ok(Some(text))
    };
    add(".zgroup".to_owned())?;
    let attributes: Value = match add(".zattrs".to_owned())? {
        None => Value::Null,
        Some(text) => serde_json::from_str(&text)
            .map_err(|error| Error::invalid(format!("{source}: .zattrs: expected JSON, found {error}")).with_source(error))?,
    };
    add(format!("{MASK_PREFIX}.zgroup"))?;
    for array in arrays {
        add(format!("{}/.zarray", array.name()))?;
        add(format!("{}/.zattrs", array.name()))?;
    }
    Ok(json!({"l5": {"objects": objects, "attributes": attributes, "scenes": scenes::to_json(scenes)}}))
}
