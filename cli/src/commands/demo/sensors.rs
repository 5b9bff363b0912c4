//! Generates the camera and lidar data of the demo, deterministically for each row. Pictures compress as little as recorded
//! ones, lidar sweeps rather better.

/// Returns bytes like those of a JPEG: its markers around about 80 KB of incompressible bytes.
pub(super) fn jpeg(row: u64) -> Vec<u8> {
    let mut random = Random(row ^ 0x6a70_6567);
    let len = 76_000 + random.below(8_000);
    let mut bytes = vec![0xff, 0xd8, 0xff, 0xe0];
    while bytes.len() < len {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.extend_from_slice(&[0xff, 0xd9]);
    bytes
}

/// Camera matrix in row-major order: focal lengths and centre, in pixels.
pub(super) const INTRINSICS: [f64; 9] = [1266.4, 0.0, 816.3, 0.0, 1266.4, 491.5, 0.0, 0.0, 1.0];

const BEAMS: usize = 64;
const STEPS: usize = 318;

/// Returns about 20,000 points of x, y, z in metres, rounded to millimetres, and intensity.
pub(super) fn points(row: u64) -> Vec<f32> {
    let mut random = Random(row ^ 0x6c69_6461);
    let mut points = Vec::with_capacity(4 * BEAMS * STEPS);
    let walls: Vec<f32> = (0..STEPS).map(|_| 8.0 + 50.0 * random.unit() * random.unit()).collect();
    for (step, wall) in walls.iter().enumerate() {
        let (sine, cosine) = (step as f32 * std::f32::consts::TAU / STEPS as f32).sin_cos();
        for beam in 0..BEAMS {
            // One beam in fifty has no return.
            if random.below(50) == 0 {
                continue;
            }
            let slope = (beam as f32 - 44.0) / 150.0;
            let ground = if slope < 0.0 { -1.8 / slope } else { f32::INFINITY };
            let range = wall.min(ground) + 0.02 * (random.unit() - 0.5);
            // One by one: iterators are slow in a debug build, which is what newcomers run.
            points.push(millimetres(range * cosine));
            points.push(millimetres(range * sine));
            points.push(millimetres(range * slope + 1.8));
            points.push(random.below(120) as f32);
        }
    }
    points
}

/// Rounds metres to millimetres.
fn millimetres(metres: f32) -> f32 {
    (metres * 1000.0).round() / 1000.0
}

/// Random numbers of SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }
}
