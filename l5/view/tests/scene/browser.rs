//! The page in a browser, over recorded frames and a map. Needs what the suite `browser` of the viewer needs.

use tetrys::{Store, ingest::IngestOptions};
use tetrys_l5::{Dataset, GeneratorSettings, ingest, reading::FrameTable};
use tetrys_view::Source;

use crate::{
    common::{block_on, damage, map, served, table},
    road,
    runner::run,
};

#[test]
fn the_scene_is_accessible_in_both_themes_and_widths_and_looks_as_in_the_guide() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let zarr = folder.path().join("zarr");
        GeneratorSettings { seed: 7, agents_per_frame: 40, tl_faces_per_frame: 6, ..Default::default() }.generate(&zarr).unwrap();
        let store = Store::open(folder.path().join("sample").to_str().unwrap()).unwrap();
        let table = ingest(&Dataset::open(&zarr).unwrap(), store, &IngestOptions::default(), |_| {}).await.unwrap();
        let map = road::along(&FrameTable::open(&table, 0).await.unwrap()).await;
        let server = served(vec![Source::of_table(table)], Some(&map)).await;
        let url = server.url();
        tokio::task::spawn_blocking(move || run("sceneLooks", &[url])).await.unwrap();
    });
}

#[test]
fn frames_from_above_are_drawn_stepped_through_and_accessible() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (Some(table), Some(map)) = (table(folder.path(), "multi_scene.zarr").await, map()) else { return };
        let view = folder.path().join("late").display().to_string();
        table.index().await.unwrap().filter_sql("frame_index > 90").unwrap().save(&view).await.unwrap();
        let sources = vec![Source::of_table(table), Source::of_table(tetrys::Table::open(&view).await.unwrap())];
        let server = served(sources, Some(&map)).await;
        let url = server.url();
        tokio::task::spawn_blocking(move || run("scene", &[url])).await.unwrap();
    });
}

#[test]
fn a_damaged_frame_shows_its_error_and_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let Some(table) = table(folder.path(), "single_scene.zarr").await else { return };
        damage(&table, &folder.path().join("table"), "tl_faces", 50).await;
        let server = served(vec![Source::of_table(table)], None).await;
        let url = server.url();
        tokio::task::spawn_blocking(move || run("brokenScene", &[url])).await.unwrap();
    });
}
