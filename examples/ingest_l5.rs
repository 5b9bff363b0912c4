//! Imports a Level 5 data set, reads a window of poses, and exports the data set again.

use std::sync::Arc;

use tetrys::{Store, Table, ingest::IngestOptions};
use tetrys_l5::{
    Dataset, GeneratorSettings, export_table, ingest,
    zarr::array::{Array, Cursor},
    zarr::source::ZarrGroup,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (zarr, back) = (folder.path().join("sample.zarr"), folder.path().join("back.zarr"));
    let url = folder.path().join("sample").display().to_string();

    // A generated data set; a recorded one opens the same way.
    GeneratorSettings { seed: 7, scenes: 3, frames_per_scene: 50, agents_per_frame: 20, ..Default::default() }.generate(&zarr)?;
    let dataset = Dataset::open(&zarr)?;
    assert_eq!((dataset.frames_len(), dataset.scenes().len()), (150, 3));

    // Each frame becomes a row, each scene a sequence.
    let table = ingest(&dataset, Store::open(&url)?, &IngestOptions::default(), |_| {}).await?;
    assert_eq!((table.rows(), table.sequence_count()), (150, 3));

    // The four columns of the poses are in one byte range.
    let loader = table.row_loader().columns(["agents.pose.*"])?;
    let cost = loader.explain(52, -10..=0).await?;
    assert_eq!((cost.ranges, cost.requests, cost.hops), (1, 1, 1));

    // Frame 52 is the third of its scene: two of the ten frames before it exist.
    let history = loader.get_rows(52, -10..=0).await?;
    assert_eq!(history.mask().iter().filter(|exists| **exists).count(), 3);
    let now = history.tensor::<f64>("agents.pose.centroid", 10)?;
    let yaw = history.tensor::<f32>("agents.pose.yaw", 10)?;
    assert_eq!((now.shape()[0], now.shape()[1]), (yaw.len(), 2));
    println!("{} agents in frame 52, the first at {:?}", yaw.len(), &now[..2]);

    // The export has every record, bit by bit.
    export_table(&Table::open(&url).await?, &back, |_| {}).await?;
    for array in ["scenes", "frames", "agents", "traffic_light_faces"] {
        assert_eq!(records(&zarr, array)?, records(&back, array)?, "{array}");
    }
    println!("{} frames and {} agents came back as they were", dataset.frames_len(), dataset.agents_len());
    Ok(())
}

/// Reads the decoded records of one zarr array.
fn records(zarr: &std::path::Path, name: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let array = Array::open(&ZarrGroup::open(zarr)?, name)?.ok_or("no such array")?;
    let len = array.meta().len;
    Ok(Cursor::new(Arc::new(array)).records(0..len)?)
}
