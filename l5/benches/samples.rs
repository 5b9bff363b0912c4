//! Measures samples of the ego car and of agents, rasters and masks, over forty copies of the shared scene in one table.
//!
//! `cargo bench -p tetrys-l5 --bench samples`. Batches of 64 samples in random order, history 10, future 50; a local directory with a
//! warm page cache and a cache of decoded blocks that holds everything. *In memory* is the same computation over decoded arrays. The
//! contenders take turns for five rounds; rates are medians of one run.

use std::{path::Path, sync::Arc, time::Instant};

use tetrys::{Store, Table, ingest::Target};
use tetrys_l5::{
    Dataset, IngestSettings, Sampler, ingest,
    map::MapApi,
    mask::{Thresholds, valid_rows},
    raster::{AerialMap, BoxRasterizer, Rasterizer, RenderContext},
    reading::FrameTable,
    sampling::{Kind, SampleSettings, SampleShape},
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
        let mut table: Option<Table> = None;
        for _ in 0..COPIES {
            let target = if table.is_some() { Target::Append } else { Target::New };
            table = Some(ingest(&dataset, Store::open(&url)?, &IngestSettings { target, ..Default::default() }, |_| {}).await?);
        }
        let table = table.ok_or("no table")?;
        let stored = FrameTable::open(&table, 1 << 30).await?;
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
        println!("\n| samples | one thread /s | two threads /s | ratio | in memory, one thread /s |\n|---|---|---|---|---|");
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
            let (mut one, mut two, mut held) = (Vec::new(), Vec::new(), Vec::new());
            for round in 0..=ROUNDS {
                let mut order = all.to_vec();
                fastrand::Rng::with_seed(round as u64).shuffle(&mut order);
                order.truncate(if name.contains("stub") || name.contains("no picture") { SAMPLES } else { SAMPLES / 4 });
                let of_one: Vec<u64> = order.iter().map(|place| place % in_scene).collect();
                let times = [
                    rate(&sampler, &stored, &order).await?,
                    rate(&both, &stored, &order).await?,
                    rate(&sampler, &memory, &of_one).await?,
                ];
                // The first round warms the caches.
                if round > 0 {
                    one.push(times[0]);
                    two.push(times[1]);
                    held.push(times[2]);
                }
            }
            let (one, two, held) = (median(one), median(two), median(held));
            println!("| {name} | {one:.0} | {two:.0} | {:.2} | {held:.0} |", two / one);
        }
        Ok(())
    })
}

async fn rate(sampler: &Sampler, table: &FrameTable, places: &[u64]) -> Outcome<f64> {
    let start = Instant::now();
    for batch in places.chunks(BATCH) {
        std::hint::black_box(match sampler.shape.kind {
            Kind::Ego => sampler.ego(table, batch).await?,
            Kind::Agent => sampler.agents(table, batch).await?,
        });
    }
    Ok(places.len() as f64 / start.elapsed().as_secs_f64())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
