//! Columns whose best codec chain is known, for the tests of the choice and for `benches/codecs.rs`: constant and counter (i64),
//! millimetres (an f32 random walk), noise (i64), and three lidar sweeps of about 20,000 x 4 f32 with millimetre resolution. The
//! first sweep scans a room, so neighbouring points are similar. The second is the sweep of the demo. The third has independent
//! uniform numbers. Then what a recording has beside its sensors: poses of a vehicle (f64), boxes of its surroundings (f32), token
//! numbers of a text, common ones small (u32), and the class of each point of a sweep (u8).

/// Returns name, type and values of each column.
pub(crate) fn columns() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut position = 0;
    let walk = std::iter::repeat_with(|| {
        position += random.i32(-50..=50);
        position as f32 * 0.001
    });
    let walk = walk.take(40_000).flat_map(f32::to_le_bytes).collect();
    let counter = (0..20_000).flat_map(|i| (1_600_000_000_000_000_000 + i * 100_000_000_i64).to_le_bytes()).collect();
    let noise = std::iter::repeat_with(|| random.u8(..)).take(160_000).collect();
    let (scanning, demo) = (scanning(&mut random), sweep(&mut random));
    let uniform = (0..80_000).flat_map(|_| (random.i32(-80_000..80_000) as f32 * 0.001).to_le_bytes()).collect();
    vec![
        ("constant", "i64", 1_234_567_i64.to_le_bytes().repeat(20_000)),
        ("counter", "i64", counter),
        ("millimetres", "f32", walk),
        ("noise", "i64", noise),
        ("lidar, scanning", "f32[?,4]", scanning),
        ("lidar, demo", "f32[?,4]", demo),
        ("lidar, random", "f32[?,4]", uniform),
        ("poses", "f64[3,4]", poses(&mut random)),
        ("boxes", "f32[?,7]", boxes(&mut random)),
        ("tokens", "u32[200]", tokens(&mut random)),
        ("labels", "u8[?]", labels(&mut random)),
    ]
}

/// Returns points (x, y, z, intensity) of 32 beams in 625 directions of a room with a ground, with two centimetres of noise.
fn scanning(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut out = Vec::new();
    for step in 0..625 {
        let azimuth = f64::from(step) / 625.0 * std::f64::consts::TAU;
        let wall = 18.0 + 9.0 * (3.0 * azimuth).sin() + 4.0 * (7.0 * azimuth + 1.0).cos();
        for beam in 0..32 {
            let elevation = (-25.0 + f64::from(beam) * 40.0 / 31.0).to_radians();
            let ground = if elevation < -0.01 { 1.8 / -elevation.sin() } else { f64::MAX };
            let range = wall.min(ground) + 0.02 * (random.f64() + random.f64() - 1.0);
            let intensity = (40.0 + 30.0 * (5.0 * azimuth).sin() + random.f64() * 20.0).floor() / 255.0;
            let flat = range * elevation.cos();
            for value in [flat * azimuth.cos(), flat * azimuth.sin(), range * elevation.sin(), intensity] {
                out.extend(((value * 1000.0).round() as f32 * 0.001).to_le_bytes());
            }
        }
    }
    out
}

/// Returns the points of the demo's lidar: 64 beams per direction that hit the same wall or the ground. The distance of the wall
/// is random in each direction.
fn sweep(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut out = Vec::new();
    for step in 0..318 {
        let wall = 8.0 + 50.0 * random.f32() * random.f32();
        let (sine, cosine) = (step as f32 * std::f32::consts::TAU / 318.0).sin_cos();
        for beam in 0..64 {
            let slope = (beam as f32 - 44.0) / 150.0;
            let ground = if slope < 0.0 { -1.8 / slope } else { f32::INFINITY };
            let range = wall.min(ground) + 0.02 * (random.f32() - 0.5);
            let place = [range * cosine, range * sine, range * slope + 1.8].map(|metres| (metres * 1000.0).round() / 1000.0);
            for value in place.into_iter().chain([random.u8(..120).into()]) {
                out.extend(value.to_le_bytes());
            }
        }
    }
    out
}

/// Returns the poses of a vehicle on a winding road at 10 Hz: rotation and translation, with noise of the localisation.
fn poses(random: &mut fastrand::Rng) -> Vec<u8> {
    let (mut x, mut y, mut out) = (650.0, -1_200.0, Vec::new());
    for step in 0..1_500 {
        let time = f64::from(step) / 10.0;
        let (sine, cosine) = (0.4 * (time / 20.0).sin() + 1e-4 * random.f64()).sin_cos();
        let speed = 12.0 + 3.0 * (time / 7.0).sin();
        (x, y) = (x + cosine * speed / 10.0, y + sine * speed / 10.0);
        let height = 210.0 + (time / 30.0).cos() + 1e-3 * random.f64();
        for value in [cosine, -sine, 0.0, x, sine, cosine, 0.0, y, 0.0, 0.0, 1.0, height] {
            out.extend(value.to_le_bytes());
        }
    }
    out
}

/// Returns boxes of 40 tracked objects at 100 times: centre, size and heading.
fn boxes(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut objects: Vec<[f32; 8]> = Vec::new();
    for _ in 0..40 {
        let place = [120.0 * (random.f32() - 0.5), 120.0 * (random.f32() - 0.5), random.f32()];
        let size = [4.2 + random.f32(), 1.7 + 0.3 * random.f32(), 1.5 + 0.4 * random.f32()];
        objects.push([
            place[0],
            place[1],
            place[2],
            size[0],
            size[1],
            size[2],
            std::f32::consts::TAU * random.f32(),
            10.0 * random.f32(),
        ]);
    }
    let mut out = Vec::new();
    for _ in 0..100 {
        for object in &mut objects {
            let (sine, cosine) = object[6].sin_cos();
            object[0] += 0.1 * object[7] * cosine + 0.02 * (random.f32() - 0.5);
            object[1] += 0.1 * object[7] * sine + 0.02 * (random.f32() - 0.5);
            object[6] += 0.01 * (random.f32() - 0.5);
            object[..7].iter().for_each(|value| out.extend(value.to_le_bytes()));
        }
    }
    out
}

/// Returns numbers of words: number n is about n times as rare as number 1.
fn tokens(random: &mut fastrand::Rng) -> Vec<u8> {
    (0..40_000).flat_map(|_| (50_000_f64.powf(random.f64()) as u32).to_le_bytes()).collect()
}

/// Returns classes of points: long runs of few classes, and single points of others.
fn labels(random: &mut fastrand::Rng) -> Vec<u8> {
    let (mut class, mut out) = (0, Vec::new());
    while out.len() < 80_000 {
        class = if random.u8(..4) == 0 { random.u8(..20) } else { class };
        let run = random.usize(1..40);
        out.extend(std::iter::repeat_n(class, run));
        if random.u8(..3) == 0 {
            out.push(random.u8(..20));
        }
    }
    out
}
