//! Trees of coordinate frames: the transform that leads from one frame to another at a time. Pure.
//!
//! A transform maps points of its child frame to its parent frame: p_parent = R p_child + t.

use std::collections::{BTreeMap, HashMap};

use crate::{
    recipe::Bound,
    slerp::{Quaternion, normalised, slerp},
};

/// A rotation and a translation behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Transform {
    pub(crate) translation: [f64; 3],
    /// x, y, z, w.
    pub(crate) rotation: Quaternion,
}

/// The place of a message in the order of arrival: log time, file, block and offset.
pub(crate) type Arrival = (i64, u32, u32, u64);

/// A transform that a message says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) time: i64,
    pub(crate) arrival: Arrival,
    pub(crate) parent: u32,
    pub(crate) transform: Transform,
}

/// The frames of a log and all transforms between them.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    fixed: HashMap<u32, Sample>,
    /// The samples of each child frame that moves.
    moving: BTreeMap<u32, Vec<Sample>>,
    /// Where the parts of the log begin, but for the first one.
    cuts: Vec<Arrival>,
}

impl Transform {
    pub(crate) const IDENTITY: Self = Self { translation: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] };

    /// Returns the transform that does `inner` first, and then this one.
    fn after(self, inner: Self) -> Self {
        let turned = rotated(self.rotation, inner.translation);
        let mut translation = self.translation;
        translation.iter_mut().zip(turned).for_each(|(own, turned)| *own += turned);
        Self { translation, rotation: product(self.rotation, inner.rotation) }
    }

    fn inverse(self) -> Self {
        let [x, y, z, w] = self.rotation;
        let rotation = [-x, -y, -z, w];
        Self { translation: rotated(rotation, self.translation).map(|number| -number), rotation }
    }

    /// Returns the transform with a rotation of length 1. `None` if it is none, or a number is not finite.
    fn sound(self) -> Option<Self> {
        let is_finite = self.translation.iter().all(|number| number.is_finite());
        normalised(self.rotation).filter(|_| is_finite).map(|rotation| Self { rotation, ..self })
    }
}

/// Returns the rotation that does `b` first, and then `a`.
fn product([ax, ay, az, aw]: Quaternion, [bx, by, bz, bw]: Quaternion) -> Quaternion {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

fn cross([ax, ay, az]: [f64; 3], [bx, by, bz]: [f64; 3]) -> [f64; 3] {
    [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]
}

fn rotated([x, y, z, w]: Quaternion, of: [f64; 3]) -> [f64; 3] {
    let twice = cross([x, y, z], of).map(|number| 2.0 * number);
    let turned = cross([x, y, z], twice);
    let mut found = of;
    found.iter_mut().zip(twice.iter().zip(turned)).for_each(|(found, (twice, turned))| *found += w * twice + turned);
    found
}

impl Frames {
    /// Returns the number of a frame. Names of ROS 1 may begin with a slash.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        let name = name.trim_start_matches('/');
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Adds a transform that holds always. Of several the last one counts.
    pub(crate) fn fix(&mut self, child: u32, sample: Sample) {
        let known = self.fixed.get(&child);
        if known.is_none_or(|known| known.arrival <= sample.arrival) {
            self.fixed.insert(child, sample);
        }
    }

    /// Adds a transform that holds at its time.
    pub(crate) fn add(&mut self, child: u32, sample: Sample) {
        self.moving.entry(child).or_default().push(sample);
    }

    /// Sorts the transforms, of which those with equal times keep the first. Those that arrive behind a cut are of the next part.
    pub(crate) fn settle(&mut self, cuts: Vec<Arrival>) {
        for samples in self.moving.values_mut() {
            let part = |sample: &Sample| cuts.partition_point(|cut| *cut <= sample.arrival);
            // A stable sort: a message may have a child frame twice.
            samples.sort_by_key(|sample| (part(sample), sample.time, sample.arrival));
            samples.dedup_by_key(|sample| (part(sample), sample.time));
        }
        self.cuts = cuts;
    }

    /// Returns T with p_target = T p_source at a time of a part.
    ///
    /// # Errors
    /// The reason why there is none. Equal reasons have equal texts, whatever the time.
    pub(crate) fn lookup(
        &self,
        part: usize,
        target: &str,
        source: &str,
        time: i64,
        tolerance: Bound,
    ) -> Result<Transform, String> {
        let number = |name: &str| {
            let found = self.numbers.get(name.trim_start_matches('/')).copied();
            found.ok_or_else(|| format!("no transform has the frame `{}`", name.escape_debug()))
        };
        let (target_frame, source_frame) = (number(target)?, number(source)?);
        let (ways, why_source) = self.way(part, source_frame, target_frame, time, tolerance);
        let mut seen: HashMap<u32, Transform> = HashMap::new();
        ways.into_iter().for_each(|(frame, transform)| {
            seen.entry(frame).or_insert(transform);
        });
        let mut of_target = (target_frame, Transform::IDENTITY);
        let mut why_target = None;
        for _ in 0..=self.names.len() {
            let (frame, from_target) = of_target;
            if let Some(from_source) = seen.get(&frame) {
                return Ok(from_target.inverse().after(*from_source));
            }
            match self.edge(part, frame, time, tolerance) {
                Ok(Some((parent, transform))) => of_target = (parent, transform.after(from_target)),
                Ok(None) => break,
                Err(why) => {
                    why_target = Some(why);
                    break;
                }
            }
        }
        let none = || format!("no transforms lead from `{}` to `{}`", source.escape_debug(), target.escape_debug());
        Err(why_source.or(why_target).unwrap_or_else(none))
    }

    /// Returns the frames from one up to its root, or up to `end`, each with the transform from the first one. Also why it ends before.
    fn way(&self, part: usize, from: u32, end: u32, time: i64, tolerance: Bound) -> (Vec<(u32, Transform)>, Option<String>) {
        let mut way = vec![(from, Transform::IDENTITY)];
        let mut current = (from, Transform::IDENTITY);
        // No way has more frames than there are, but for one that leads round a circle.
        while current.0 != end && way.len() <= self.names.len() {
            match self.edge(part, current.0, time, tolerance) {
                Ok(Some((parent, transform))) => current = (parent, transform.after(current.1)),
                Ok(None) => return (way, None),
                Err(why) => return (way, Some(why)),
            }
            way.push(current);
        }
        (way, None)
    }

    /// Returns the parent of a frame and the transform to it; `None` for a root.
    fn edge(&self, part: usize, child: u32, time: i64, tolerance: Bound) -> Result<Option<(u32, Transform)>, String> {
        let name = || self.names.get(child as usize).map(|name| name.escape_debug().to_string()).unwrap_or_default();
        let whole = |sample: &Sample| {
            let sound = sample.transform.sound();
            let why = || format!("the transform of `{}` is not finite, or its rotation is zero", name());
            sound.map(|transform| Some((sample.parent, transform))).ok_or_else(why)
        };
        if let Some(sample) = self.fixed.get(&child) {
            return whole(sample);
        }
        let Some(all) = self.moving.get(&child) else { return Ok(None) };
        let (from, to) =
            (all.partition_point(|sample| self.part(sample) < part), all.partition_point(|sample| self.part(sample) <= part));
        let samples = all.get(from..to).unwrap_or_default();
        let hole = || format!("no transform of `{}` within the tolerance", name());
        let next = samples.partition_point(|sample| sample.time <= time);
        let near = |sample: &Sample| match tolerance.allows(sample.time.abs_diff(time).try_into().unwrap_or(i64::MAX)) {
            true => whole(sample),
            false => Err(hole()),
        };
        match (next.checked_sub(1).and_then(|last| samples.get(last)), samples.get(next)) {
            (None, None) => Ok(None),
            (Some(a), _) if a.time == time => whole(a),
            (Some(a), Some(b)) if a.parent == b.parent => {
                if !tolerance.allows(b.time - a.time) {
                    return Err(hole());
                }
                let (Some((parent, one)), Some((_, other))) = (whole(a)?, whole(b)?) else { return Ok(None) };
                #[expect(clippy::cast_precision_loss, reason = "the rule of interpolation")]
                let weight = (time - a.time) as f64 / (b.time - a.time) as f64;
                let mut translation = one.translation;
                translation.iter_mut().zip(other.translation).for_each(|(a, b)| *a += (b - *a) * weight);
                let rotation = slerp(one.rotation, other.rotation, weight).ok_or_else(hole)?;
                Ok(Some((parent, Transform { translation, rotation })))
            }
            // Between two parents there is no way: the nearer sample holds, of two the earlier.
            (Some(a), Some(b)) => near(if b.time - time < time - a.time { b } else { a }),
            (Some(one), None) | (None, Some(one)) => near(one),
        }
    }

    fn part(&self, sample: &Sample) -> usize {
        self.cuts.partition_point(|cut| *cut <= sample.arrival)
    }
}
