//! Measures samples of the ego car and of agents, rasters and masks, over forty copies of the shared scene in one table.
//!
//! `cargo bench -p tetrys-l5 --bench samples`. Batches of 64 samples in random order, history 10, future 50; a local directory with a
//! warm page cache and a cache of decoded blocks that holds everything. *In memory* is the same computation over decoded arrays. The
//! contenders take turns for five rounds; rates are medians of one run.

use std::{path::Path, sync::Arc, time::Instant};

use tetrys::{Store, ingest::IngestOptions};
use tetrys_l5::{
    Dataset, Sampler, ingest,
    map::MapApi,
    mask::{Thresholds, valid_rows},
    raster::{AerialMap, BoxRasterizer, Rasterizer, RenderContext},
    reading::FrameTable,
    sampling::{Kind, SampleSettings, SampleShape},
    zarr::{
        array::{Array, Cursor},
        source::ZarrGroup,
    },
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const COPIES: usize = 40;
const BATCH: usize = 64;
const SAMPLES: usize = 64 * 40;
const ROUNDS: usize = 5;

fn main() -> Outcome<()> {
    let shared = std::env::var("TETRYS_SHARED").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared").into());
    let shared = Path::new(&shared).join("l5");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let folder = tempfile::tempdir()?;
        let dataset = Dataset::open(shared.join("artefacts/single_scene.zarr"))?;
        let url = folder.path().join("forty").display().to_string();
        let forty = folder.path().join("forty.zarr");
        copies(&shared.join("artefacts/single_scene.zarr"), &forty)?;
        let forty = Dataset::open(&forty)?;
        let table = ingest(&forty, Store::open(&url)?, &IngestOptions::default(), |_| {}).await?;
        let stored = FrameTable::open(&table, 1 << 30).await?;
        let blocks = FrameTable::open(&table, 80 << 20).await?;
        let memory = FrameTable::of_zarr(&dataset, 1 << 30)?;
        println!(
            "{} frames, {} agents in {} scenes\n",
            stored.len(),
            stored.agent_ends().last().unwrap_or(&0),
            stored.scenes().len()
        );

        let start = Instant::now();
        let (counts, _) = stored.select_agents(&Thresholds::new(0.5), 0, |_| {}).await?;
        let cold = counts.len() as f64 / start.elapsed().as_secs_f64();
        let start = Instant::now();
        stored.select_agents(&Thresholds::new(0.5), 0, |_| {}).await?;
        println!("select_agents: {cold:.0} rows/s, blocks cached: {:.0}", counts.len() as f64 / start.elapsed().as_secs_f64());
        let rows: Vec<u64> = valid_rows(&counts, 10, 1).map(|row| row as u64).collect();

        let context = RenderContext::new([224, 224], [0.5, 0.5], [0.25, 0.5], true)?;
        let boxes = BoxRasterizer { context, threshold: 0.5, history: 10, render_ego_history: true };
        let meta: serde_json::Value = serde_json::from_slice(&std::fs::read(shared.join("artefacts/meta.json"))?)?;
        let matrix = |name: &str| -> Outcome<[[f64; 4]; 4]> { Ok(serde_json::from_value(meta[name].clone())?) };
        let map = MapApi::parse(&std::fs::read(shared.join("golden/synth_semantic_map.pb"))?, matrix("world_to_ecef")?)?;
        let map = Arc::new(map.to_semantic_input()?);
        let picture = std::fs::File::open(shared.join("golden/synth_aerial_map.png"))?;
        let mut reader = png::Decoder::new(std::io::BufReader::new(picture)).read_info()?;
        let mut pixels = vec![0; reader.output_buffer_size().ok_or("a picture of unknown size")?];
        let info = reader.next_frame(&mut pixels)?;
        let size = [info.width as usize, info.height as usize];
        let aerial = Arc::new(AerialMap::new(pixels, size, &matrix("world_to_ecef")?, &matrix("ecef_to_aerial")?)?);
        println!("\n| samples | one thread /s | two threads /s | ratio | cache of 80 MiB /s | in memory, one thread /s |\n|---|---|---|---|---|---|");
        for (name, kind, rasterizer) in [
            ("ego, stub", Kind::Ego, Rasterizer::stub(context)),
            ("agents, stub", Kind::Agent, Rasterizer::stub(context)),
            ("ego, no picture (1 x 1)", Kind::Ego, Rasterizer::stub(RenderContext::new([1, 1], [0.5, 0.5], [0.25, 0.5], true)?)),
            (
                "agents, no picture (1 x 1)",
                Kind::Agent,
                Rasterizer::stub(RenderContext::new([1, 1], [0.5, 0.5], [0.25, 0.5], true)?),
            ),
            ("ego, box", Kind::Ego, Rasterizer::boxes(boxes)),
            ("ego, semantic", Kind::Ego, Rasterizer::semantic(context, Arc::clone(&map))),
            ("ego, satellite", Kind::Ego, Rasterizer::satellite(context, Arc::clone(&aerial))),
            ("ego, py_semantic", Kind::Ego, Rasterizer::semantic_boxes(boxes, map.clone())),
        ] {
            let raster_from_local = context.raster_from_local();
            let sampler = Sampler {
                shape: SampleShape { history: 10, future: 50, kind },
                settings: SampleSettings { step_time: 0.1, filter_threshold: 0.5, raster_from_local },
                rasterizer,
                faces: true,
                threads: 1,
            };
            let both = Sampler { threads: 2, ..sampler.clone() };
            // Frame 247 lies at the edge of the aerial picture.
            let frames: Vec<u64> = (0..stored.len()).filter(|frame| frame % 248 < 240).collect();
            let (all, in_scene): (&[u64], u64) = match kind {
                Kind::Ego => (&frames, 248),
                Kind::Agent => (&rows, 20_802),
            };
            let (mut one, mut two, mut part, mut from_memory) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for round in 0..=ROUNDS {
                let mut order = all.to_vec();
                fastrand::Rng::with_seed(round as u64).shuffle(&mut order);
                order.truncate(if name.contains("stub") || name.contains("no picture") { SAMPLES } else { SAMPLES / 4 });
                let of_one: Vec<u64> = order.iter().map(|place| place % in_scene).collect();
                let times = [
                    rate(&sampler, &stored, &order).await?,
                    rate(&both, &stored, &order).await?,
                    rate(&sampler, &blocks, &order).await?,
                    rate(&sampler, &memory, &of_one).await?,
                ];
                // The first round warms the caches.
                if round > 0 {
                    one.push(times[0]);
                    two.push(times[1]);
                    part.push(times[2]);
                    from_memory.push(times[3]);
                }
            }
            let (one, two, part, from_memory) = (median(one), median(two), median(part), median(from_memory));
            println!("| {name} | {one:.0} | {two:.0} | {:.2} | {part:.0} | {from_memory:.0} |", two / one);
        }
        Ok(())
    })
}

/// Writes a zarr group with copies of a scene, one chunk for each copy.
fn copies(source: &Path, target: &Path) -> Outcome<()> {
    let group = ZarrGroup::open(source)?;
    std::fs::create_dir_all(target)?;
    std::fs::copy(source.join(".zgroup"), target.join(".zgroup"))?;
    std::fs::copy(source.join(".zattrs"), target.join(".zattrs"))?;
    let open = |name: &str| -> Outcome<Arc<Array>> { Ok(Arc::new(Array::open(&group, name)?.ok_or("no such array")?)) };
    let (agents, faces) = (open("agents")?.meta().len, open("traffic_light_faces")?.meta().len);
    for name in ["scenes", "frames", "agents", "traffic_light_faces"] {
        let array = open(name)?;
        let (len, size) = (array.meta().len, array.meta().record_len());
        let mut meta: serde_json::Value = serde_json::from_str(&array.meta().text)?;
        meta["shape"] = serde_json::json!([len * COPIES as u64]);
        meta["chunks"] = serde_json::json!([len]);
        meta["compressor"] = serde_json::Value::Null;
        let folder = target.join(name);
        std::fs::create_dir(&folder)?;
        std::fs::write(folder.join(".zarray"), meta.to_string())?;
        let records = Cursor::new(array).records(0..len)?;
        for copy in 0..COPIES {
            let mut records = records.clone();
            // The places of intervals in a record, and the records that they count.
            let intervals: &[(usize, u64)] = match name {
                "scenes" => &[(0, 248)],
                "frames" => &[(8, agents), (24, faces)],
                _ => &[],
            };
            for record in records.chunks_exact_mut(size) {
                for (place, each) in intervals {
                    for bound in record[*place..*place + 16].as_chunks_mut::<8>().0 {
                        *bound = (u64::from_le_bytes(*bound) + copy as u64 * each).to_le_bytes();
                    }
                }
            }
            std::fs::write(folder.join(copy.to_string()), records)?;
        }
    }
    Ok(())
}

async fn rate(sampler: &Sampler, table: &FrameTable, places: &[u64]) -> Outcome<f64> {
    let start = Instant::now();
    let mut images = Vec::new();
    for batch in places.chunks(BATCH) {
        let made = match sampler.shape.kind {
            Kind::Ego => sampler.ego_in(table, batch, images).await?,
            Kind::Agent => sampler.agents_in(table, batch, images).await?,
        };
        images = std::hint::black_box(made).images;
    }
    Ok(places.len() as f64 / start.elapsed().as_secs_f64())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
