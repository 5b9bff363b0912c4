//! Compares the rasterizers with pictures that L5Kit and OpenCV drew. The test counts values that differ and prints the counts.

use std::collections::HashMap;
use std::sync::Arc;

use crate::npz::Npz;
use tetrys_l5::arrays::{Agents, Faces, Frames};
use tetrys_l5::raster::draw::{Canvas, Edges, Point, draw_polyline, fill_polygons};
use tetrys_l5::raster::{
    AerialMap, BoxRasterizer, FaceColor, LaneControl, RasterInput, Rasterizer, RenderContext, Scratch, SelectedAgent,
    SemanticCrosswalk, SemanticLane, SemanticMap,
};

/// Returns rows of `N` values.
fn rows<const N: usize, T: Copy>(values: &[T]) -> Vec<[T; N]> {
    values.as_chunks::<N>().0.to_vec()
}

/// The columns of `raw.npz`.
struct Scene {
    timestamps: Vec<i64>,
    translations: Vec<[f64; 3]>,
    rotations: Vec<[[f64; 3]; 3]>,
    bounds: Vec<usize>,
    centroids: Vec<[f64; 2]>,
    extents: Vec<[f32; 3]>,
    yaws: Vec<f32>,
    velocities: Vec<[f32; 2]>,
    track_ids: Vec<u64>,
    labels: Vec<[f32; 17]>,
    face_bounds: Vec<usize>,
    face_ids: Vec<String>,
    statuses: Vec<[f32; 3]>,
}

/// The ids of [`Scene::face_ids`], borrowed.
type Ids<'a> = Vec<&'a str>;

impl Scene {
    fn golden() -> Option<Self> {
        let raw = Npz::golden("raw.npz")?;
        let bounds = |name: &str| {
            let intervals = rows::<2, i64>(&raw.i64(name));
            std::iter::once(0).chain(intervals.iter().map(|[_, end]| *end as usize)).collect()
        };
        Some(Self {
            timestamps: raw.i64("frames.timestamp"),
            translations: rows(&raw.f64("frames.ego_translation")),
            rotations: rows(&rows::<3, f64>(&raw.f64("frames.ego_rotation"))),
            bounds: bounds("frames.agent_index_interval"),
            face_bounds: bounds("frames.traffic_light_faces_index_interval"),
            face_ids: raw.text("tl_faces.face_id"),
            statuses: rows(&raw.f32("tl_faces.traffic_light_face_status")),
            centroids: rows(&raw.f64("agents.centroid")),
            extents: rows(&raw.f32("agents.extent")),
            yaws: raw.f32("agents.yaw"),
            velocities: rows(&raw.f32("agents.velocity")),
            track_ids: raw.u64("agents.track_id"),
            labels: rows(&raw.f32("agents.label_probabilities")),
        })
    }

    fn agents(&self) -> Agents<'_> {
        Agents {
            centroids: &self.centroids,
            extents: &self.extents,
            yaws: &self.yaws,
            velocities: &self.velocities,
            track_ids: &self.track_ids,
            label_probabilities: &self.labels,
        }
    }

    /// Returns the frame and up to `history` frames before.
    fn ego<'a>(&'a self, ids: &'a Ids<'a>, frame: usize, history: usize) -> RasterInput<'a> {
        let first = frame.saturating_sub(history);
        let frames = Frames {
            timestamps: &self.timestamps[first..=frame],
            translations: &self.translations[first..=frame],
            rotations: &self.rotations[first..=frame],
            agent_bounds: &self.bounds[first..=frame + 1],
            agents: self.agents(),
            face_bounds: &self.face_bounds[first..=frame + 1],
            faces: Faces { face_ids: ids, statuses: &self.statuses, ..Faces::default() },
        };
        RasterInput { frames, agent: None }
    }

    /// Returns the frame of an agent's row, the frames before, and the agent.
    fn agent<'a>(&'a self, ids: &'a Ids<'a>, row: usize, history: usize) -> RasterInput<'a> {
        let frame = self.bounds.partition_point(|bound| *bound <= row) - 1;
        let agent = SelectedAgent { centroid: self.centroids[row], yaw: self.yaws[row], track_id: self.track_ids[row] };
        RasterInput { agent: Some(agent), ..self.ego(ids, frame, history) }
    }

    fn ids(&self) -> Ids<'_> {
        self.face_ids.iter().map(String::as_str).collect()
    }
}

fn context() -> RenderContext {
    RenderContext::new([224, 224], [0.5, 0.5], [0.25, 0.5], true).unwrap()
}

/// Returns how many values differ, and the largest difference in 1/255.
fn differences(found: &[f32], expected: &[f32]) -> (usize, f32) {
    assert_eq!(found.len(), expected.len());
    let distances = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).filter(|distance| *distance != 0.0);
    distances.fold((0, 0.0), |(count, largest), distance| (count + 1, (distance * 255.0).max(largest)))
}

#[test]
fn polygons_and_lines_are_those_of_opencv() {
    let Some(golden) = Npz::golden("cv2_primitives.npz") else { return };
    let quads = rows::<2, i64>(&golden.i64("quads_fixed_shift9"));
    let quads: Vec<Point> = quads.iter().map(|point| point.map(|value| value as i32)).collect();
    let (filled, lines) = (golden.u8("fillpoly_64x64"), golden.u8("polylines_open_64x64"));
    let mut differing = [0; 2];
    for (at, quad) in quads.chunks(4).enumerate() {
        let mut pixels = vec![[0u8; 1]; 64 * 64];
        fill_polygons(&mut Canvas::new(&mut pixels, 64), [quad], [255], &mut Edges::default());
        differing[0] += pixels.iter().zip(&filled[at * 4096..]).filter(|([a], b)| a != *b).count();
        pixels.fill([0]);
        draw_polyline(&mut Canvas::new(&mut pixels, 64), quad, false, [255]);
        differing[1] += pixels.iter().zip(&lines[at * 4096..]).filter(|([a], b)| a != *b).count();
    }
    println!("cv2_primitives: {differing:?} of {} values differ in polygons and lines", filled.len());
    assert_eq!(differing, [0, 0]);
}

#[test]
fn matrices_are_those_of_the_render_context() {
    let Some(golden) = Npz::golden("unit_functions.npz") else { return };
    let contexts = [
        ("a", RenderContext::new([224, 224], [0.5, 0.5], [0.25, 0.5], true).unwrap()),
        ("b", RenderContext::new([300, 200], [0.25, 0.25], [0.5, 0.5], true).unwrap()),
        ("c", RenderContext::new([224, 224], [0.5, 0.5], [0.25, 0.5], false).unwrap()),
    ];
    let mut largest = 0.0_f64;
    for (name, context) in contexts {
        let local = golden.f64(&format!("raster_from_local_{name}"));
        assert_eq!(context.raster_from_local().as_flattened(), local);
        let world = rows::<9, f64>(&golden.f64(&format!("raster_from_world_{name}")));
        for (expected, (x, y, yaw)) in world.iter().zip([(-664.1, 1069.5, 2.3), (0.0, 0.0, 0.0), (10.5, -3.25, -1.2)]) {
            for (found, expected) in context.raster_from_world([x, y], yaw).as_flattened().iter().zip(expected) {
                largest = largest.max((found - expected).abs());
            }
        }
    }
    println!("unit_functions: raster_from_world differs by at most {largest:e}");
    assert!(largest <= 1e-11);
}

/// Draws all samples of a golden file, and returns how many values differ, how many there are, and the largest difference in 1/255.
fn compare(file: &str, rasterizer: &Rasterizer, history: usize) -> Option<(usize, usize, f32)> {
    let (scene, golden) = (Scene::golden()?, Npz::golden(file)?);
    let (ids, mut scratch) = (scene.ids(), Scratch::default());
    let egos = golden.i64("ego_index").into_iter().map(|frame| scene.ego(&ids, frame as usize, history));
    let agents = golden.i64("agent_row").into_iter().map(|row| scene.agent(&ids, row as usize, history));
    let mut image = vec![f32::NAN; rasterizer.len()];
    let mut picture = vec![0; 3 * 224 * 224];
    let (mut differing, mut total, mut largest, mut pictures) = (0, 0, 0.0_f32, 0);
    for (mode, inputs) in [("ego", egos.collect::<Vec<_>>()), ("agent", agents.collect())] {
        let expected = golden.f32(&format!("{mode}_image"));
        assert_eq!(golden.shape(&format!("{mode}_image"))[1..], rasterizer.shape());
        for (at, input) in inputs.iter().enumerate() {
            rasterizer.rasterize(input, &mut scratch, &mut image).unwrap();
            let expected = &expected[at * image.len()..][..image.len()];
            let (count, by) = differences(&image, expected);
            if count > 0 {
                println!("{file} {mode} {at}: {count} values differ by up to {by}/255");
            }
            (differing, total, largest) = (differing + count, total + image.len(), largest.max(by));
            if mode == "ego" {
                rasterizer.to_rgb(expected, &mut picture).unwrap();
                let expected = &golden.u8("ego_rgb")[at * picture.len()..][..picture.len()];
                pictures += picture.iter().zip(expected).filter(|(a, b)| a != b).count();
            }
        }
    }
    println!("{file}: {differing} of {total} values differ, by up to {largest}/255; {pictures} bytes of pictures differ");
    assert_eq!(pictures, 0, "{file}");
    Some((differing, total, largest))
}

fn boxes(history: usize) -> BoxRasterizer {
    BoxRasterizer { context: context(), threshold: 0.5, history, render_ego_history: true }
}

#[test]
fn boxes_are_those_of_l5kit() {
    for (file, history) in [("ras_box_h0.npz", 0), ("ras_box_h10.npz", 10)] {
        let Some((differing, ..)) = compare(file, &Rasterizer::boxes(boxes(history)), history) else { return };
        assert_eq!(differing, 0, "{file}");
    }
}

#[test]
fn maps_are_those_of_l5kit_up_to_rounding() {
    let Some(map) = semantic_map().map(Arc::new) else { return };
    let rasterizers = [
        ("ras_semantic_synth.npz", 0, Rasterizer::semantic(context(), map.clone())),
        ("ras_sembox_synth.npz", 10, Rasterizer::semantic_boxes(boxes(10), map)),
    ];
    for (file, history, rasterizer) in rasterizers {
        let Some((differing, total, largest)) = compare(file, &rasterizer, history) else { return };
        assert!(differing * 10_000 <= total && largest <= 8.0, "{file}");
    }
}

#[test]
fn aerial_pictures_are_those_of_l5kit() {
    let Some(map) = aerial_map().map(Arc::new) else { return };
    let rasterizer = Rasterizer::satellite(context(), map.clone());
    let Some((differing, ..)) = compare("ras_sat_synth.npz", &rasterizer, 0) else { return };
    assert_eq!(differing, 0);

    // The last channels of `py_satellite` are those of `satellite_debug`, the first those of `box_debug`.
    let Some(scene) = Scene::golden() else { return };
    let (both, boxes) = (Rasterizer::satellite_boxes(boxes(2), map), Rasterizer::boxes(boxes(2)));
    let images = [&both, &boxes, &rasterizer].map(|rasterizer| {
        let mut image = vec![f32::NAN; rasterizer.len()];
        rasterizer.rasterize(&scene.ego(&scene.ids(), 40, 2), &mut Scratch::default(), &mut image).unwrap();
        image
    });
    assert!(images[0] == [&images[1][..], &images[2]].concat());
    // L5Kit cannot draw this frame either.
    let mut image = vec![0.0; rasterizer.len()];
    let error = rasterizer.rasterize(&scene.ego(&scene.ids(), 247, 0), &mut Scratch::default(), &mut image).unwrap_err();
    println!("frame 247: {error}");
    assert_eq!(error.kind(), tetrys::ErrorKind::NotFound);
}

/// Returns the map of the goldens: places from `mapapi_synth.npz`, controls from the map itself.
fn semantic_map() -> Option<SemanticMap> {
    let golden = Npz::golden("mapapi_synth.npz")?;
    let bytes = std::fs::read(crate::npz::golden("golden/synth_semantic_map.pb")?).unwrap();
    let mut controls_of = HashMap::new();
    let mut color_of = HashMap::new();
    for element in fields(&bytes, 2) {
        let id = |bytes: &[u8]| String::from_utf8(fields(bytes, 1).concat()).unwrap();
        let name = fields(element, 1).iter().map(|bytes| id(bytes)).collect::<String>();
        let kind = fields(element, 2).concat();
        if let [lane] = fields(&kind, 3)[..] {
            controls_of.insert(name, fields(lane, 8).into_iter().map(id).collect::<Vec<_>>());
        } else if let [control] = fields(&kind, 4)[..] {
            let colors = [
                (FaceColor::Red, [11, 30, 32, 38, 41]),
                (FaceColor::Yellow, [12, 36, 37, 39, 42]),
                (FaceColor::Green, [13, 31, 33, 40, 43]),
            ];
            let color = colors.iter().find(|(_, tags)| tags.iter().any(|tag| !fields(control, *tag).is_empty()));
            color_of.insert(name, color.map(|(color, _)| *color));
        }
    }
    let border = |name: &str, lane: usize| -> [[f64; 2]; 20] {
        std::array::from_fn(|point| {
            let values = golden.f64(name);
            [values[(lane * 20 + point) * 3], values[(lane * 20 + point) * 3 + 1]]
        })
    };
    let bounds = |name: &str| rows::<2, [f64; 2]>(&rows::<2, f64>(&golden.f64(name)));
    let lanes =
        golden.text("lane_ids").into_iter().zip(bounds("lane_bounds")).enumerate().map(|(at, (name, bounds))| SemanticLane {
            left: border("interp20_xyz_left", at),
            right: border("interp20_xyz_right", at),
            bounds,
            controls: (controls_of[&name].iter())
                .map(|id| LaneControl { face_id: id.clone(), color: color_of.get(id).copied().flatten() })
                .collect(),
        });
    let crosswalks =
        golden.text("crosswalk_ids").into_iter().zip(bounds("crosswalk_bounds")).map(|(name, bounds)| SemanticCrosswalk {
            points: rows::<3, f64>(&golden.f64(&format!("crosswalk.{name}"))).iter().map(|[x, y, _]| [*x, *y]).collect(),
            bounds,
        });
    Some(SemanticMap::new(lanes.collect(), crosswalks.collect()))
}

/// Returns the parts with a tag of a protocol buffer.
fn fields(mut bytes: &[u8], wanted: u64) -> Vec<&[u8]> {
    fn number(bytes: &mut &[u8]) -> u64 {
        let len = bytes.iter().position(|byte| byte & 128 == 0).unwrap() + 1;
        let value = bytes[..len].iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 127));
        *bytes = &bytes[len..];
        value
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = number(&mut bytes);
        let len = match key & 7 {
            0 => {
                number(&mut bytes);
                continue;
            }
            1 => 8,
            5 => 4,
            _ => number(&mut bytes) as usize,
        };
        let (part, rest) = bytes.split_at(len);
        if key >> 3 == wanted {
            found.push(part);
        }
        bytes = rest;
    }
    found
}

/// Returns the aerial picture of the goldens, with the matrices of `meta.json`.
fn aerial_map() -> Option<AerialMap> {
    let file = std::fs::File::open(crate::npz::golden("golden/synth_aerial_map.png")?).unwrap();
    let mut reader = png::Decoder::new(std::io::BufReader::new(file)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    let meta = std::fs::read_to_string(crate::npz::golden("artefacts/meta.json")?).unwrap();
    let matrix = |name: &str| {
        let text = meta.split_once(name).unwrap().1;
        let values: Vec<f64> =
            text.split([',', '[', ']', ':', '\n', ' ']).filter_map(|part| part.parse().ok()).take(16).collect();
        std::array::from_fn(|row| std::array::from_fn(|column| values[row * 4 + column]))
    };
    let size = [info.width as usize, info.height as usize];
    Some(AerialMap::new(pixels, size, &matrix("world_to_ecef"), &matrix("ecef_to_aerial")).unwrap())
}
