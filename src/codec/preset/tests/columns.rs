//! Columns whose best codec chain is known, for the tests of the choice and for `benches/codecs.rs`: constant and counter (i64),
//! millimetres (an f32 random walk), noise (i64), and three lidar sweeps of about 20,000 x 4 f32 with millimetre resolution. The
//! first sweep scans a room, so neighbouring points are similar. The second is the sweep of the demo. The third has independent
//! uniform numbers.

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
