//! Generates L5 data sets of any size from a seed, in the layout of format_version 2: smooth trajectories, objects that appear
//! and disappear, one-hot probabilities, mostly zero velocities, coordinates of f32 precision. They compress about as
//! well as recorded data.
//!
//! The same settings give the same records on every machine: the generator only uses integer arithmetic and exactly rounded float
//! operations, and no sines. It streams: memory holds one chunk per array and the objects of one scene.

use std::path::Path;

use serde_json::json;

use super::{
    array::{ArrayMeta, pretty},
    array_writer::ArrayWriter,
    columns::{AGENTS, FRAMES, SCENES, TL_FACES},
    dtype::{Dtype, encode_text},
    staging::Staging,
};
use tetrys::error::{Error, Result};

/// Settings of a generated data set.
///
/// ```
/// use tetrys_l5::{Dataset, GeneratorSettings};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("two_scenes.zarr");
/// GeneratorSettings { seed: 7, scenes: 2, frames_per_scene: 5, ..Default::default() }.generate(&path)?;
/// assert_eq!(Dataset::open(&path)?.frames_len(), 10);
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorSettings {
    /// Seed of all records.
    pub seed: u64,
    /// Number of scenes.
    pub scenes: u32,
    /// Frames of each scene, 100 ms apart.
    pub frames_per_scene: u32,
    /// Average number of agents in a frame.
    pub agents_per_frame: u32,
    /// Average number of traffic light faces in a frame. Some scenes have none.
    pub tl_faces_per_frame: u32,
    /// Whether to write the mask `agents_mask/0.5`, with the numbers of past and future frames of each agent.
    pub mask: bool,
    /// Records per chunk, at least 1. Chunks of agents have twice as many.
    pub chunk_len: u32,
}

impl Default for GeneratorSettings {
    /// One scene like the published ones: 248 frames with 79 agents and 10 faces each, chunks of 10,000 records, no mask.
    fn default() -> Self {
        Self {
            seed: 0,
            scenes: 1,
            frames_per_scene: 248,
            agents_per_frame: 79,
            tl_faces_per_frame: 10,
            mask: false,
            chunk_len: 10_000,
        }
    }
}

const MASK: &str = "agents_mask/0.5";
/// Start of the published recordings, 2019-10-23, in ns.
const EPOCH: i64 = 1_571_846_863_319_362_048;
/// Scenes are 25 s apart. Frames lie 18 s after the start of their scene, as in the published data.
const SCENE_STEP: i64 = 25_000_000_000;
const CLOCK_OFFSET: i64 = 18_180_000_000;
/// Time between frames, in s.
const STEP: f64 = 0.1;

const UNKNOWN: usize = 1;
const CAR: usize = 3;
const CYCLIST: usize = 12;
const PEDESTRIAN: usize = 14;
const LABELS: [&str; 17] = [
    "PERCEPTION_LABEL_NOT_SET",
    "PERCEPTION_LABEL_UNKNOWN",
    "PERCEPTION_LABEL_DONTCARE",
    "PERCEPTION_LABEL_CAR",
    "PERCEPTION_LABEL_VAN",
    "PERCEPTION_LABEL_TRAM",
    "PERCEPTION_LABEL_BUS",
    "PERCEPTION_LABEL_TRUCK",
    "PERCEPTION_LABEL_EMERGENCY_VEHICLE",
    "PERCEPTION_LABEL_OTHER_VEHICLE",
    "PERCEPTION_LABEL_BICYCLE",
    "PERCEPTION_LABEL_MOTORCYCLE",
    "PERCEPTION_LABEL_CYCLIST",
    "PERCEPTION_LABEL_MOTORCYCLIST",
    "PERCEPTION_LABEL_PEDESTRIAN",
    "PERCEPTION_LABEL_ANIMAL",
    "AVRESEARCH_LABEL_DONTCARE",
];

impl GeneratorSettings {
    /// Writes the data set as a new zarr directory.
    ///
    /// # Errors
    /// - `Exists`: something exists at `target`.
    /// - `Invalid`: the chunk length is 0.
    /// - Errors of the file system.
    pub fn generate(&self, target: impl AsRef<Path>) -> Result<()> {
        if self.chunk_len == 0 {
            return Err(Error::invalid("chunk_len: expected at least 1, found 0"));
        }
        let group = Staging::new(target.as_ref())?;
        group.write(".zgroup", pretty(&json!({"zarr_format": 2}))?.as_bytes())?;
        group.write(".zattrs", pretty(&json!({"format_version": 2, "labels": LABELS}))?.as_bytes())?;
        let mut arrays = Arrays {
            scenes: self.array(&group, SCENES)?,
            frames: self.array(&group, FRAMES)?,
            agents: self.array(&group, AGENTS)?,
            tl_faces: self.array(&group, TL_FACES)?,
            mask: if self.mask { Some(self.array(&group, MASK)?) } else { None },
        };
        if self.mask {
            group.write("agents_mask/.zgroup", pretty(&json!({"zarr_format": 2}))?.as_bytes())?;
        }
        for number in 0..self.scenes {
            self.scene(number, &mut arrays)?;
        }
        for (name, writer) in [(SCENES, Some(arrays.scenes)), (FRAMES, Some(arrays.frames)), (AGENTS, Some(arrays.agents))]
            .into_iter()
            .chain([(TL_FACES, Some(arrays.tl_faces)), (MASK, arrays.mask)])
        {
            if let Some(writer) = writer {
                let meta = self.meta(name, writer.records())?;
                writer.finish_as(meta)?;
            }
        }
        group.publish()
    }

    fn array(&self, group: &Staging, name: &str) -> Result<ArrayWriter> {
        ArrayWriter::create(group, name, self.meta(name, 0)?)
    }

    /// Returns the metadata of an array with `len` records, formatted as zarr-python does.
    fn meta(&self, name: &str, len: u64) -> Result<ArrayMeta> {
        let dtype = match name {
            SCENES => json!([["frame_index_interval", "<i8", [2]], ["host", "<U16"], ["start_time", "<i8"], ["end_time", "<i8"]]),
            FRAMES => json!([
                ["timestamp", "<i8"],
                ["agent_index_interval", "<i8", [2]],
                ["traffic_light_faces_index_interval", "<i8", [2]],
                ["ego_translation", "<f8", [3]],
                ["ego_rotation", "<f8", [3, 3]]
            ]),
            AGENTS => json!([
                ["centroid", "<f8", [2]],
                ["extent", "<f4", [3]],
                ["yaw", "<f4"],
                ["velocity", "<f4", [2]],
                ["track_id", "<u8"],
                ["label_probabilities", "<f4", [17]]
            ]),
            TL_FACES => json!([["face_id", "<U16"], ["traffic_light_id", "<U16"], ["traffic_light_face_status", "<f4", [3]]]),
            _ => json!("<u4"),
        };
        let chunk_len = u64::from(self.chunk_len) * if name == AGENTS { 2 } else { 1 };
        let (shape, chunks) =
            if name == MASK { (json!([len, 2]), json!([chunk_len, 2])) } else { (json!([len]), json!([chunk_len])) };
        let fill = match name {
            MASK => json!(0),
            _ => json!(base64_of_zeros(Dtype::parse(&dtype)?.record_len())),
        };
        // In key order, whether or not serde_json sorts keys.
        ArrayMeta::parse(pretty(&json!({
            "chunks": chunks,
            "compressor": {"blocksize": 0, "clevel": 5, "cname": "lz4", "id": "blosc", "shuffle": 1},
            "dtype": dtype,
            "fill_value": fill,
            "filters": null,
            "order": "C",
            "shape": shape,
            "zarr_format": 2,
        }))?)
    }

    fn scene(&self, number: u32, arrays: &mut Arrays) -> Result<()> {
        let mut random = Random::new(self.seed, number);
        let start = EPOCH + i64::from(number) * SCENE_STEP;
        let first = arrays.frames.records();
        let mut record = Record::default();
        record.u64s([first, first + u64::from(self.frames_per_scene)]);
        record.text(&format!("host-a{:03}", 101 + u64::from(number) / 50 % 20))?;
        record.u64s([start as u64, (start + SCENE_STEP) as u64]);
        arrays.scenes.push(&record.0)?;

        let mut ego = Ego::new(&mut random);
        let mut lights = Lights::new(self, &mut random);
        let mut tracks: Vec<Track> = Vec::new();
        let mut next_id = 1;
        let mut crowd = 1.0;
        let mut timestamp = start + CLOCK_OFFSET;
        let (mut agents, mut mask, mut faces) = (Record::default(), Record::default(), Record::default());
        for frame in 0..self.frames_per_scene {
            let left = self.frames_per_scene - frame;
            crowd = (crowd + 0.04 * random.noise()).clamp(0.6, 1.4);
            let wanted = (f64::from(self.agents_per_frame) * crowd + random.unit()) as usize;
            tracks.retain(|track| track.age < track.life);
            while tracks.len() < wanted {
                tracks.push(Track::new(next_id, left, &ego, &mut random));
                next_id += 1;
            }
            let (first_agent, first_face) = (arrays.agents.records(), arrays.tl_faces.records());
            agents.0.clear();
            mask.0.clear();
            for track in &mut tracks {
                track.write(&mut agents, &mut random);
                if self.mask {
                    track.write_mask(&mut mask);
                }
                track.advance(&mut random);
            }
            arrays.agents.push(&agents.0)?;
            if let Some(writer) = &mut arrays.mask {
                writer.push(&mask.0)?;
            }
            faces.0.clear();
            lights.write(&mut faces, &mut random)?;
            arrays.tl_faces.push(&faces.0)?;

            record.0.clear();
            record.u64s([timestamp as u64, first_agent, arrays.agents.records(), first_face, arrays.tl_faces.records()]);
            ego.write(&mut record, &mut random);
            arrays.frames.push(&record.0)?;
            ego.advance(&mut random);
            timestamp += 100_000_000 + (random.noise() * 200_000.0) as i64;
        }
        Ok(())
    }
}

struct Arrays {
    scenes: ArrayWriter,
    frames: ArrayWriter,
    agents: ArrayWriter,
    tl_faces: ArrayWriter,
    mask: Option<ArrayWriter>,
}

/// Bytes of a record being built.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn u64s<const N: usize>(&mut self, values: [u64; N]) {
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
    }

    /// Appends numbers of f32 precision as f64, like the published coordinates.
    fn f64s<const N: usize>(&mut self, values: [f64; N]) {
        values.iter().for_each(|value| self.0.extend_from_slice(&f64::from(*value as f32).to_le_bytes()));
    }

    fn f32s<const N: usize>(&mut self, values: [f64; N]) {
        values.iter().for_each(|value| self.0.extend_from_slice(&(*value as f32).to_le_bytes()));
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let start = self.0.len();
        self.0.resize(start + 64, 0);
        encode_text(text, &mut self.0[start..])
    }
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
struct Random(u64);

impl Random {
    /// Creates the random stream of one scene.
    fn new(seed: u64, scene: u32) -> Self {
        let mut random = Self(seed ^ u64::from(scene).wrapping_mul(0xd1b5_4a32_d192_ed03));
        Self(random.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number in (-1, 1), mostly near 0: the sum of two uniform numbers.
    fn noise(&mut self) -> f64 {
        let bits = self.next();
        ((bits >> 32) as f64 + (bits as u32) as f64) / (1_u64 << 32) as f64 - 1.0
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// A direction and its angle. Turns without sines: the Cayley transform of a small angle is a rotation by nearly this angle.
#[derive(Clone, Copy)]
struct Heading {
    cos: f64,
    sin: f64,
    yaw: f64,
}

impl Heading {
    fn new(random: &mut Random) -> Self {
        let half = random.between(-1.0, 1.0);
        let norm = 1.0 + half * half;
        // Half a circle is enough. The angle is a cubic approximation of 2 atan(half), which only has to look plausible.
        Self { cos: (1.0 - half * half) / norm, sin: 2.0 * half / norm, yaw: half * (2.0 - 0.43 * half * half) }
    }

    fn turn(&mut self, angle: f64) {
        let half = angle / 2.0;
        let norm = 1.0 + half * half;
        let (cos, sin) = ((1.0 - half * half) / norm, 2.0 * half / norm);
        (self.cos, self.sin) = (self.cos * cos - self.sin * sin, self.cos * sin + self.sin * cos);
        self.yaw += angle;
        let pi = std::f64::consts::PI;
        if self.yaw.abs() > pi {
            self.yaw -= self.yaw.signum() * 2.0 * pi;
        }
    }
}

struct Ego {
    position: [f64; 3],
    heading: Heading,
    speed: f64,
}

impl Ego {
    fn new(random: &mut Random) -> Self {
        let position = [random.between(-1500.0, 1500.0), random.between(-2500.0, 2500.0), random.between(200.0, 300.0)];
        Self { position, heading: Heading::new(random), speed: random.between(0.0, 15.0) }
    }

    fn write(&self, record: &mut Record, random: &mut Random) {
        let Heading { cos, sin, .. } = self.heading;
        let (pitch, roll) = (0.01 + 0.002 * random.noise(), 0.02 + 0.002 * random.noise());
        record.f64s(self.position);
        record.f64s([cos, -sin, pitch, sin, cos, roll, -pitch, -roll, 1.0 - (pitch * pitch + roll * roll) / 2.0]);
    }

    fn advance(&mut self, random: &mut Random) {
        self.heading.turn(0.01 * random.noise());
        self.speed = (self.speed + 0.2 * random.noise()).clamp(0.0, 20.0);
        self.position[0] += self.heading.cos * self.speed * STEP;
        self.position[1] += self.heading.sin * self.speed * STEP;
        self.position[2] += 0.02 * random.noise();
    }
}

/// One object while it is visible.
struct Track {
    id: u64,
    label: usize,
    age: u32,
    life: u32,
    position: [f64; 2],
    extent: [f64; 3],
    heading: Heading,
    speed: f64,
}

impl Track {
    fn new(id: u64, frames_left: u32, ego: &Ego, random: &mut Random) -> Self {
        let label = match random.unit() {
            x if x < 0.70 => UNKNOWN,
            x if x < 0.98 => CAR,
            x if x < 0.995 => PEDESTRIAN,
            _ => CYCLIST,
        };
        // Half of all objects are visible for at most 5 frames, one in twenty for 30 or more.
        let life = match random.unit() {
            x if x < 0.5 => random.between(1.0, 6.0),
            x if x < 0.95 => random.between(6.0, 30.0),
            _ => random.between(30.0, 250.0),
        };
        let moving = random.unit() < if label == UNKNOWN { 0.2 } else { 0.45 };
        let (length, speed) = match label {
            CAR => (random.between(3.8, 5.5), 14.0),
            CYCLIST => (random.between(1.5, 1.9), 6.0),
            PEDESTRIAN => (random.between(0.5, 0.9), 1.6),
            _ => (random.between(0.3, 5.0), 3.0),
        };
        Self {
            id,
            label,
            age: 0,
            life: (life as u32).clamp(1, frames_left),
            position: [ego.position[0] + 60.0 * random.noise(), ego.position[1] + 60.0 * random.noise()],
            extent: [length, 0.45 * length + 0.2 * random.unit(), random.between(1.0, 2.0)],
            heading: if random.unit() < 0.5 { ego.heading } else { Heading::new(random) },
            speed: if moving { speed * random.unit() } else { 0.0 },
        }
    }

    fn write(&self, record: &mut Record, random: &mut Random) {
        let [x, y] = self.position;
        record.f64s([x + 0.03 * random.noise(), y + 0.03 * random.noise()]);
        let stretch = 1.0 + 0.03 * random.noise();
        record.f32s(self.extent.map(|extent| extent * stretch));
        record.f32s([self.heading.yaw + 0.03 * random.noise()]);
        let still = self.speed == 0.0;
        let jitter = if still { 0.0 } else { 0.2 };
        record.f32s([
            self.heading.cos * self.speed + jitter * random.noise(),
            self.heading.sin * self.speed + jitter * random.noise(),
        ]);
        record.u64s([self.id]);
        let mut probabilities = [0.0; LABELS.len()];
        if random.next().is_multiple_of(500) {
            let sure = random.between(0.5, 1.0);
            probabilities[self.label] = sure;
            probabilities[if self.label == CAR { UNKNOWN } else { CAR }] = 1.0 - sure;
        } else {
            probabilities[self.label] = 1.0;
        }
        record.f32s(probabilities);
    }

    /// Writes the numbers of past and future frames of the object. Unknown objects have zeros, because they are not selected.
    fn write_mask(&self, record: &mut Record) {
        let selected = self.label != UNKNOWN;
        for count in [self.age, self.life - 1 - self.age] {
            record.0.extend_from_slice(&if selected { count } else { 0 }.to_le_bytes());
        }
    }

    fn advance(&mut self, random: &mut Random) {
        self.age += 1;
        if self.speed > 0.0 {
            self.heading.turn(0.02 * random.noise());
            self.position[0] += self.heading.cos * self.speed * STEP;
            self.position[1] += self.heading.sin * self.speed * STEP;
        }
    }
}

/// The traffic lights of a scene: three faces per light, each recorded twice in a frame.
struct Lights {
    faces: Vec<(String, String)>,
    rows: usize,
    green: bool,
}

impl Lights {
    fn new(settings: &GeneratorSettings, random: &mut Random) -> Self {
        // Two of three scenes have lights, so these scenes have one and a half times the average.
        let seen = settings.tl_faces_per_frame > 0 && random.unit() < 2.0 / 3.0;
        let rows = if seen { settings.tl_faces_per_frame as usize * 3 / 2 } else { 0 };
        let mut name = || -> String {
            const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            (0..4).map(|_| char::from(LETTERS[(random.next() % 64) as usize])).collect()
        };
        let mut light = String::new();
        let mut faces = Vec::new();
        for face in 0..rows.div_ceil(2) {
            if face % 3 == 0 {
                light = name();
            }
            faces.push((name(), light.clone()));
        }
        Self { faces, rows, green: false }
    }

    fn write(&mut self, record: &mut Record, random: &mut Random) -> Result<()> {
        if random.next().is_multiple_of(100) {
            self.green = !self.green;
        }
        for (number, (face, light)) in self.faces.iter().chain(&self.faces).take(self.rows).enumerate() {
            record.text(face)?;
            record.text(light)?;
            let active = self.green == (number % 3 == 0);
            record.f32s(if active { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] });
        }
        Ok(())
    }
}

/// Returns the base64 text of `len` zero bytes.
fn base64_of_zeros(len: usize) -> String {
    let digits = (len * 4).div_ceil(3);
    format!("{}{}", "A".repeat(digits), "=".repeat(digits.next_multiple_of(4) - digits))
}
