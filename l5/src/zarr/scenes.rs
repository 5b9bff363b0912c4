//! The scene records, which divide the frames into sequences. They fit in memory: there is one record for about 250 frames. The
//! table properties hold them as delta-encoded columns, about 20 bytes of JSON per scene.

use std::{collections::HashMap, ops::Range, sync::Arc};

use serde_json::{Value, json};

use super::{
    array::{Array, Cursor},
    columns::{END_TIME, FRAME_INTERVAL, FRAMES, HOST, START_TIME},
    dtype::decode_text,
    intervals::{Intervals, i64_at},
};
use tetrys::error::{Error, Result};

/// Maximum number of scenes. The largest published split has 134,622.
const MAX_SCENES: u64 = 1 << 24;

/// A scene: a recording of one vehicle, about 25 seconds long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene {
    /// Positions of its frames in the table, or its records of `frames`. A scene may have no frames.
    pub frames: Range<u64>,
    /// Name of the vehicle.
    pub host: Arc<str>,
    /// `scenes.start_time`, ns since 1970. Frames may lie outside of the times of their scene.
    pub start_time: i64,
    /// `scenes.end_time`, ns since 1970.
    pub end_time: i64,
}

/// Reads and checks all scenes of `array`, which refer to `frames` records.
pub(super) fn read(array: &Arc<Array>, frames: u64) -> Result<Vec<Scene>> {
    let dtype = &array.meta().dtype;
    let len = array.meta().len;
    if len > MAX_SCENES {
        return Err(Error::unsupported(format!("{}: expected at most {MAX_SCENES} records, found {len}", array.place())));
    }
    let (interval, host) = (dtype.require(FRAME_INTERVAL)?, dtype.require(HOST)?);
    let (start_time, end_time) = (dtype.require(START_TIME)?, dtype.require(END_TIME)?);
    let mut check = Intervals::new(FRAME_INTERVAL, FRAMES, frames);
    let mut scenes: Vec<Scene> = Vec::new();
    let mut text = String::new();
    Cursor::new(array.clone()).visit(0..len, |records| {
        for record in records.chunks_exact(dtype.record_len()) {
            let place = || format!("{}, record {}", array.place(), scenes.len());
            let frames = check.take(interval.of(record), place)?;
            if frames.end - frames.start > u64::from(u32::MAX) {
                return Err(Error::unsupported(format!("{}: expected fewer than 2^32 frames, found {frames:?}", place())));
            }
            text.clear();
            decode_text(host.of(record), &mut text).map_err(|error| error.at(format!("{}: {HOST}", place())))?;
            let host = match scenes.last() {
                Some(last) if *last.host == *text => last.host.clone(),
                _ => Arc::from(text.as_str()),
            };
            let (start_time, end_time) = (i64_at(start_time.of(record), 0), i64_at(end_time.of(record), 0));
            scenes.push(Scene { frames, host, start_time, end_time });
        }
        Ok(())
    })?;
    check.finish(|| array.place())?;
    Ok(scenes)
}

/// Encodes the scenes as columns: frame counts, hosts as runs `[host, scenes]` over a list, start times as differences from the
/// previous scene, and durations. Differences wrap around, so every i64 can be restored.
pub(super) fn to_json(scenes: &[Scene]) -> Value {
    let mut hosts: Vec<&str> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut runs: Vec<(usize, u64)> = Vec::new();
    for scene in scenes {
        let host = *known.entry(&scene.host).or_insert_with(|| {
            hosts.push(&scene.host);
            hosts.len() - 1
        });
        match runs.last_mut() {
            Some((last, scenes)) if *last == host => *scenes += 1,
            _ => runs.push((host, 1)),
        }
    }
    let frames: Vec<u64> = scenes.iter().map(|scene| scene.frames.end - scene.frames.start).collect();
    let before = std::iter::once(0).chain(scenes.iter().map(|scene| scene.start_time));
    let starts: Vec<i64> = scenes.iter().zip(before).map(|(scene, before)| scene.start_time.wrapping_sub(before)).collect();
    let durations: Vec<i64> = scenes.iter().map(|scene| scene.end_time.wrapping_sub(scene.start_time)).collect();
    json!({
        "count": scenes.len(), "frames": frames, "hosts": hosts, "host_runs": runs, "start_time_steps": starts, "durations": durations,
    })
}

/// Decodes the result of [`to_json`].
pub(crate) fn from_json(json: &Value) -> Result<Vec<Scene>> {
    let malformed = |what: &str| Error::invalid(format!("property l5.scenes.{what}: not as the ingest wrote it"));
    let list = |key: &str| json.get(key).and_then(Value::as_array).ok_or_else(|| malformed(key));
    let integers =
        |key: &str| -> Result<Vec<i64>> { list(key)?.iter().map(|value| value.as_i64().ok_or_else(|| malformed(key))).collect() };
    let count = json.get("count").and_then(Value::as_u64).ok_or_else(|| malformed("count"))?;
    let (frames, starts, durations) = (integers("frames")?, integers("start_time_steps")?, integers("durations")?);
    if [&frames, &starts, &durations].iter().any(|column| column.len() as u64 != count) {
        return Err(malformed("count"));
    }
    let hosts: Vec<Arc<str>> = list("hosts")?
        .iter()
        .map(|host| host.as_str().map(Arc::from).ok_or_else(|| malformed("hosts")))
        .collect::<Result<_>>()?;
    let mut host_of = Vec::with_capacity(frames.len());
    for run in list("host_runs")? {
        let run = run.as_array().map(Vec::as_slice);
        let Some([host, scenes]) = run else { return Err(malformed("host_runs")) };
        let host = host.as_u64().and_then(|host| hosts.get(usize::try_from(host).ok()?)).ok_or_else(|| malformed("host_runs"))?;
        let scenes = scenes.as_u64().filter(|scenes| *scenes <= count - host_of.len() as u64);
        host_of.extend(std::iter::repeat_n(host, scenes.ok_or_else(|| malformed("host_runs"))? as usize));
    }
    if host_of.len() as u64 != count {
        return Err(malformed("host_runs"));
    }
    let (mut frame, mut start_time) = (0_u64, 0_i64);
    let mut scenes = Vec::with_capacity(frames.len());
    for (((frames, step), duration), host) in frames.into_iter().zip(starts).zip(durations).zip(host_of) {
        let end = u64::try_from(frames).ok().and_then(|frames| frame.checked_add(frames)).ok_or_else(|| malformed("frames"))?;
        start_time = start_time.wrapping_add(step);
        scenes.push(Scene { frames: frame..end, host: host.clone(), start_time, end_time: start_time.wrapping_add(duration) });
        frame = end;
    }
    Ok(scenes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_come_back_from_their_columns() {
        let scene =
            |frames: Range<u64>, host: &str, start_time, end_time| Scene { frames, host: host.into(), start_time, end_time };
        let scenes = [
            scene(0..3, "a", 7, 9),
            scene(3..3, "a", i64::MIN, i64::MAX),
            scene(3..10, "", i64::MAX, 0),
            scene(10..11, "a", -1, -1),
        ];
        assert_eq!(from_json(&to_json(&scenes)).unwrap(), scenes);
        assert_eq!(from_json(&to_json(&[])).unwrap(), []);
    }

    #[test]
    fn malformed_columns_are_named() {
        let mut json = to_json(&[Scene { frames: 0..3, host: "a".into(), start_time: 0, end_time: 1 }]);
        json["host_runs"] = json!([[0, u64::MAX]]);
        let error = from_json(&json).unwrap_err();
        assert_eq!(error.to_string(), "property l5.scenes.host_runs: not as the ingest wrote it");
        assert!(from_json(&Value::Null).is_err());
    }
}
