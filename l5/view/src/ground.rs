//! The semantic map: its files, the lanes and crosswalks around a place, and where the lanes end that a traffic light is for.

use std::{
    collections::HashMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use tetrys::{Error, Result, Table};
use tetrys_l5::map::{BoundsInfo, MapApi, Point, TlColor};
use tetrys_view::Ground;

/// Most points of an answer.
const MOST_POINTS: usize = 60_000;
/// Most lanes of an answer that cover its square, or smaller ones that cover it as often: the page fills each.
const MOST_COVERS: f64 = 256.0;
/// Most crosswalks of an answer that are as wide or as long as its square, or smaller ones that are so together: the page stripes each.
const MOST_CROSSINGS: f64 = 64.0;
/// Most ends of lanes of a traffic light face.
const MOST_ENDS: usize = 16;
/// Most bytes of a map that a table has as an attachment: in memory, a map takes up to 100 times as much.
const MOST_ATTACHED: u64 = 32 << 20;
/// Most bytes of a map that the user names.
const MOST_GIVEN: u64 = 1 << 30;
/// Most bytes of a `meta.json`.
const MOST_META: u64 = 1 << 20;

/// The attachments of a table that has its map.
const MAP: &str = "semantic_map.pb";
const META: &str = "meta.json";

/// The semantic map of a data set. Clones share it.
#[derive(Clone, Debug)]
pub struct SceneMap {
    map: Arc<MapApi>,
    /// For each face of a traffic light, the ends of the lanes that it is for.
    ends: Arc<HashMap<String, Vec<[f64; 2]>>>,
}

impl SceneMap {
    /// Reads a map from files: a protobuf message of lanes and crosswalks, and the `meta.json` of its data set. Without `meta`, that is the
    /// file of this name beside the map, or in the folder above.
    ///
    /// # Errors
    /// - `NotFound`: a file is missing; the message names it.
    /// - `Invalid`, `Corrupt`: a file is not what it should be, or has more than 1 GiB (`meta.json`: 1 MiB); the message names it.
    pub fn read(map: impl AsRef<Path>, meta: Option<&Path>) -> Result<Self> {
        let map = map.as_ref();
        let bytes = read_file(map, MOST_GIVEN)?;
        let meta = match meta {
            Some(meta) => meta.to_owned(),
            None => meta_of(map).ok_or_else(|| {
                Error::not_found(format!("{}: expected {META} beside it or in the folder above, found none", map.display()))
            })?,
        };
        let matrix = world_to_ecef(&read_file(&meta, MOST_META)?).map_err(|error| error.at(meta.display()))?;
        MapApi::from_bytes(bytes, matrix).map(Self::of).map_err(|error| error.at(map.display()))
    }

    /// Reads a map that is in memory: a protobuf message, and `world_to_ecef` of the `meta.json` of its data set.
    ///
    /// # Errors
    /// The errors of [`MapApi::parse`].
    pub fn parse(bytes: &[u8], world_to_ecef: [[f64; 4]; 4]) -> Result<Self> {
        MapApi::parse(bytes, world_to_ecef).map(Self::of)
    }

    fn of(map: MapApi) -> Self {
        let mut ends: HashMap<String, Vec<[f64; 2]>> = HashMap::new();
        for lane in map.elements().iter().filter_map(|element| element.lane()) {
            let (Some(left), Some(right)) = (lane.coords.left.last(), lane.coords.right.last()) else { continue };
            let end = [(left[0] + right[0]) / 2.0, (left[1] + right[1]) / 2.0];
            for control in lane.traffic_controls.iter() {
                let ends = ends.entry(control.to_string()).or_default();
                if ends.len() < MOST_ENDS {
                    ends.push(end);
                }
            }
        }
        Self { map: Arc::new(map), ends: Arc::new(ends) }
    }

    /// Returns the map of the attachments of the first table that has one, itself or behind a view; `None` if there is none.
    pub(crate) async fn of_attachments(tables: &[Table]) -> Result<Option<Self>> {
        let Some(table) = with_map(tables).await? else { return Ok(None) };
        let at = |name: &str| format!("{}: attachment {name}", table.url());
        for (name, most) in [(MAP, MOST_ATTACHED), (META, MOST_META)] {
            if let Some(bytes) = attached_bytes(&table, name).filter(|bytes| *bytes > most) {
                return Err(Error::invalid(format!("{}: expected at most {most} bytes, found {bytes}", at(name))));
            }
        }
        let (map, meta) = (table.attachment(MAP).await?, table.attachment(META).await?);
        let (of_map, of_meta) = (at(MAP), at(META));
        let parse = move || {
            let matrix = world_to_ecef(&meta).map_err(|error| error.at(of_meta))?;
            MapApi::from_bytes(map, matrix).map(Self::of).map_err(|error| error.at(of_map))
        };
        let parsed = tokio::task::spawn_blocking(parse).await;
        parsed.map_err(|error| Error::internal(format!("the map of a table: {error}")))?.map(Some)
    }

    /// Returns the colour of a traffic light face; `None` if the map has no red, green or yellow face of this id.
    pub(crate) fn colour(&self, face: &str) -> Option<&'static str> {
        self.map.element(face).ok()?.face_color().map(|colour| match colour {
            TlColor::Red => "red",
            TlColor::Green => "green",
            TlColor::Yellow => "yellow",
        })
    }

    /// Returns the ends of the lanes that a traffic light face is for, m.
    pub(crate) fn ends(&self, face: &str) -> &[[f64; 2]] {
        self.ends.get(face).map_or(&[], Vec::as_slice)
    }

    /// Returns the lanes and crosswalks that touch a square, from its middle outwards, up to a number of points and as much as a page draws in
    /// time.
    pub(crate) fn around(&self, around: Ground) -> Value {
        let distance = |bounds: &[[f64; 2]; 2]| {
            let aside = |axis: usize| {
                let (middle, least, most) = (around.middle[axis], bounds[0][axis], bounds[1][axis]);
                (least - middle).max(middle - most).max(0.0)
            };
            aside(0).hypot(aside(1))
        };
        let (lanes, crosswalks) = (self.map.lanes(), self.map.crosswalks());
        let near = |info: &BoundsInfo, is_lane: bool| -> Vec<(f64, bool, String, [f64; 2])> {
            let places = info.indices_in_bounds(around.middle, around.radius);
            let found = places.filter_map(|place| Some((info.bounds.get(place)?, info.ids.get(place)?)));
            found.map(|(bounds, id)| (distance(bounds), is_lane, id.to_string(), shares(bounds, around))).collect()
        };
        let mut found = near(lanes, true);
        found.extend(near(crosswalks, false));
        found.sort_by(|left, right| left.0.total_cmp(&right.0));
        let (mut points, mut covers, mut crossings, mut is_cut) = (0, 0.0, 0.0, false);
        let (mut of_lanes, mut of_crosswalks) = (Vec::new(), Vec::new());
        for (_, is_lane, id, [wide, long]) in &found {
            let (drawn, more, most) = match is_lane {
                true => (&mut covers, wide * long, MOST_COVERS),
                false => (&mut crossings, wide.max(*long), MOST_CROSSINGS),
            };
            if *drawn + more > most {
                is_cut = true;
                continue;
            }
            *drawn += more;
            let (outlines, taken): (Vec<Value>, usize) = match is_lane {
                true => match self.map.lane_coords(id) {
                    Ok(coords) => (vec![flat(&coords.left), flat(&coords.right)], coords.left.len() + coords.right.len()),
                    Err(_) => continue,
                },
                false => match self.map.crosswalk_coords(id) {
                    Ok(outline) => (vec![flat(outline)], outline.len()),
                    Err(_) => continue,
                },
            };
            points += taken;
            if points > MOST_POINTS {
                is_cut = true;
                break;
            }
            match outlines.as_slice() {
                [left, right] => of_lanes.push(json!({"id": id, "left": left, "right": right})),
                [outline] => of_crosswalks.push(json!({"id": id, "outline": outline})),
                _ => {}
            }
        }
        json!({"lanes": of_lanes, "crosswalks": of_crosswalks, "cut": is_cut})
    }
}

/// Returns how much of the width and of the length of a square some bounds take, from 0 to 1.
fn shares([least, most]: &[[f64; 2]; 2], around: Ground) -> [f64; 2] {
    [0, 1].map(|axis| {
        let (from, to) = (around.middle[axis] - around.radius, around.middle[axis] + around.radius);
        let share = (most[axis].min(to) - least[axis].max(from)) / (to - from);
        // A square without a size has no parts.
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    })
}

/// Returns the first table that has a map as an attachment: one of these, or one of those behind a view.
async fn with_map(tables: &[Table]) -> Result<Option<Table>> {
    for table in tables {
        if attached_bytes(table, MAP).is_some() {
            return Ok(Some(table.clone()));
        }
        if table.is_view() {
            let sources = table.sources().await?;
            if let Some(found) = sources.iter().find(|table| attached_bytes(table, MAP).is_some()) {
                return Ok(Some(found.clone()));
            }
        }
    }
    Ok(None)
}

/// Returns the bytes of an attachment of a table; `None` if it has none of this name.
fn attached_bytes(table: &Table, name: &str) -> Option<u64> {
    table.attachments().find(|(found, _)| *found == name).map(|(_, bytes)| bytes)
}

/// Returns x and y of points.
fn flat(points: &[Point]) -> Value {
    points.iter().map(|[x, y, _]| json!([x, y])).collect()
}

/// Reads a file of at most some bytes.
fn read_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::from(error).at(path.display());
    let mut bytes = Vec::new();
    fs::File::open(path).map_err(failed)?.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > most {
        true => Err(Error::invalid(format!("expected at most {most} bytes, found more")).at(path.display())),
        false => Ok(bytes),
    }
}

/// Returns the `meta.json` beside a map or in the folder above, as data sets have it.
fn meta_of(map: &Path) -> Option<PathBuf> {
    let folder = map.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    [folder.join(META), folder.join("..").join(META)].into_iter().find(|path| path.is_file())
}

/// Reads the matrix of a `meta.json`.
fn world_to_ecef(meta: &[u8]) -> Result<[[f64; 4]; 4]> {
    let meta: Value = serde_json::from_slice(meta).map_err(|error| Error::invalid(format!("expected JSON: {error}")))?;
    let matrix = serde_json::from_value(meta.get("world_to_ecef").cloned().unwrap_or_default());
    matrix.map_err(|_| Error::invalid("world_to_ecef: expected a matrix of 4 x 4 numbers"))
}
