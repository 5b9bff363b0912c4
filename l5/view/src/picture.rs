//! Makes the JSON of a frame for the page from the values of its row. Pure functions.

use std::collections::HashMap;

use arrow_array::{Array, RecordBatch, cast::AsArray, types};
use serde_json::{Map, Value, json};
use tetrys::Result;
use tetrys_l5::{
    arrays::Agents,
    geometry::yaw_of_rotation,
    reading::{Face, FrameRows},
    sampling::sample::EGO_EXTENT,
};

use crate::{
    ground::SceneMap,
    labels::{KINDS, LABELS, kind_of, label_of, state_of},
};

/// Most agents and most traffic light faces of an answer.
const MOST_AGENTS: usize = 2_000;
/// Most places of all tracks of an answer.
const MOST_PLACES: usize = 60_000;
/// The index columns that a picture has, and how they are shown.
const FACTS: [(&str, &str, &str); 4] = [
    ("scene_index", "scene", "u32"),
    ("frame_index", "frame of the scene", "u32"),
    ("timestamp", "time", "timestamp[ns]"),
    ("host", "host", "utf8"),
];

/// Returns the facts of a row of the index: those that its source has.
pub(crate) fn facts(index: &RecordBatch) -> Value {
    let fact = |(column, name, ty): &(&str, &str, &str)| {
        let column = index.column_by_name(column).filter(|column| !column.is_empty() && !column.is_null(0))?;
        let whole = column.as_primitive_opt::<types::Int64Type>().map(|values| values.value(0).to_string());
        let small = || column.as_primitive_opt::<types::UInt32Type>().map(|values| values.value(0).to_string());
        let text = || column.as_string_opt::<i64>().map(|values| values.value(0).to_owned());
        Some(json!([name, whole.or_else(small).or_else(text)?, ty]))
    };
    FACTS.iter().filter_map(fact).collect()
}

/// Returns the ego car of a row.
pub(crate) fn ego(frames: &FrameRows, row: usize) -> Value {
    let car = frames
        .ego(row)
        .map(|([x, y, z], rotation)| json!({"x": x, "y": y, "z": z, "yaw": yaw_of_rotation(&rotation), "extent": EGO_EXTENT}));
    car.unwrap_or_default()
}

/// Returns the agents of a row. Velocities and labels may not have been read.
pub(crate) fn agents(agents: &Agents<'_>) -> Value {
    let agent = |row: usize| {
        let ([x, y], velocity) = (*agents.centroids.get(row)?, agents.velocities.get(row));
        let mut agents_json = json!({
            "track": agents.track_ids.get(row)?.to_string(), "x": x, "y": y, "yaw": agents.yaws.get(row)?,
            "extent": agents.extents.get(row)?, "velocity": velocity, "kind": kind_of(0), "label": null, "probability": null,
        });
        if let Some((label, probability)) = agents.label_probabilities.get(row).map(label_of) {
            agents_json["kind"] = kind_of(label).into();
            agents_json["label"] = LABELS[label].into();
            agents_json["probability"] = json!(probability);
        }
        Some(agents_json)
    };
    (0..agents.centroids.len().min(MOST_AGENTS)).filter_map(agent).collect()
}

/// Returns the traffic light faces of a row.
pub(crate) fn lights(faces: &[Face<'_>], map: Option<&SceneMap>) -> Value {
    let light = |face: &Face<'_>| {
        json!({
            "face": face.face_id, "light": face.traffic_light_id, "state": state_of(face.status), "probabilities": face.status,
            "colour": map.and_then(|map| map.colour(face.face_id)),
            "ends": map.map_or(&[][..], |map| map.ends(face.face_id)),
        })
    };
    faces.iter().take(MOST_AGENTS).map(light).collect()
}

/// The rows around a row: what was read of them, and which of them there are.
pub(crate) struct Around<'a> {
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) ego: Option<(&'a FrameRows, &'a [bool])>,
    pub(crate) poses: Option<(&'a FrameRows, &'a [bool])>,
}

/// Returns where the ego car and the agents of a row are in the rows around it: of each row, the first agent with the track. The nearest
/// rows come first, so that these are there if there are too many places.
pub(crate) fn around(around: &Around<'_>, agents: &Agents<'_>) -> Result<Value> {
    let (before, after) = (around.before, around.after);
    let nearest = || {
        let mut rows: Vec<usize> = (0..=before + after).filter(|row| *row != before).collect();
        rows.sort_by_key(|row| row.abs_diff(before));
        rows
    };
    let offset = |row: usize| row as i64 - before as i64;
    let mut ego: Vec<(i64, [f64; 2])> = Vec::new();
    if let Some((frames, there)) = around.ego {
        let read = nearest().into_iter().filter(|row| there.get(*row) == Some(&true));
        ego.extend(read.filter_map(|row| frames.ego(row).map(|([x, y, _], _)| (offset(row), [x, y]))));
    }
    let shown = agents.track_ids.len().min(MOST_AGENTS);
    let mut tracks: Vec<Vec<(i64, [f64; 2])>> = vec![Vec::new(); shown];
    let (mut taken, mut is_cut) = (0, false);
    if let Some((frames, there)) = around.poses {
        let mut place_of: HashMap<u64, usize> = HashMap::new();
        for (place, track) in agents.track_ids.iter().take(shown).enumerate() {
            place_of.entry(*track).or_insert(place);
        }
        for row in nearest().into_iter().filter(|row| there.get(*row) == Some(&true)) {
            let found = frames.agents(row)?;
            for (track, centroid) in found.track_ids.iter().zip(found.centroids) {
                let Some(track) = place_of.get(track).and_then(|place| tracks.get_mut(*place)) else { continue };
                if track.last().is_some_and(|(last, _)| *last == offset(row)) {
                    continue;
                }
                if taken == MOST_PLACES {
                    is_cut = true;
                    continue;
                }
                taken += 1;
                track.push((offset(row), *centroid));
            }
        }
    }
    let places = |mut places: Vec<(i64, [f64; 2])>| -> Value {
        places.sort_by_key(|(offset, _)| *offset);
        places.into_iter().map(|(offset, [x, y])| json!([offset, x, y])).collect()
    };
    let there = around.ego.or(around.poses).map(|(_, there)| there);
    Ok(json!({
        "before": before, "after": after, "there": there, "ego": places(ego),
        "tracks": tracks.into_iter().map(places).collect::<Vec<_>>(), "cut": is_cut,
    }))
}

/// Returns an answer for a row that its table does not have.
pub(crate) fn nothing() -> Map<String, Value> {
    let empty = json!({
        "facts": [], "there": false, "ego": null, "agents": [], "agent_count": 0, "kinds": KINDS, "lights": [], "light_count": 0,
        "around": null, "map": false, "hint": null, "failures": {}, "read": {"requests": 0, "bytes": 0},
    });
    empty.as_object().cloned().unwrap_or_default()
}
