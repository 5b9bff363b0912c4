//! The lanes and the crosswalks of a sample: those around the agent, in its frame.

use super::{LaneSettings, Slot};
use crate::arrays::Faces;
use crate::filter::{FaceStatus, filter_faces_by_status, numpy_argsort};
use crate::geometry::{Matrix3, transform_point};
use crate::map::{Interpolation, MapApi, Point, TlColor};
use std::sync::Arc;
use tetrys::{Error, Result};

/// The feature of a lane without traffic lights.
const NO_LIGHT: u8 = 4;

/// All lanes and crosswalks of a map, with the number of points that the settings ask for. World frame, m.
#[derive(Clone, Debug)]
pub(super) struct LaneTable {
    map: Arc<MapApi>,
    settings: LaneSettings,
    /// `max_points_per_lane` points for each lane, in the order of the map.
    left: Vec<[f64; 2]>,
    right: Vec<[f64; 2]>,
    middle: Vec<[f64; 2]>,
    controls: Vec<Controls>,
}

/// The traffic control elements of a lane.
#[derive(Clone, Debug)]
enum Controls {
    /// No traffic light.
    NoLight,
    /// The indices in the map of all controlling elements, among which is a traffic light.
    Light(Box<[usize]>),
    /// This element is not in the map.
    Missing(Box<str>),
}

impl LaneTable {
    pub(super) fn new(map: Arc<MapApi>, settings: LaneSettings) -> Result<Self> {
        let (mut left, mut right, mut middle, mut controls) = (vec![], vec![], vec![], vec![]);
        let flat = |points: &[Point]| -> Vec<[f64; 2]> { points.iter().map(|[x, y, _]| [*x, *y]).collect() };
        // The request is checked even if the map has no lanes.
        let method = Interpolation::EnsureLen(settings.max_points_per_lane);
        crate::map::interpolate(&[[0.0; 3]], method).map_err(|error| error.at("max_points_per_lane"))?;
        for (position, id) in map.lanes().ids.iter().enumerate() {
            let Some(lane) = map.lane_at(position) else { continue };
            let lines = lane.coords.interpolate(method).map_err(|error| error.at(id))?;
            left.extend(flat(&lines.left));
            right.extend(flat(&lines.right));
            middle.extend(flat(&lines.middle));
            controls.push(Controls::new(&map, &lane.traffic_controls));
        }
        Ok(Self { map, settings, left, right, middle, controls })
    }

    /// Writes the columns of the map.
    pub(super) fn write(&self, faces: Faces<'_>, centroid: [f64; 2], transform: &Matrix3, slot: &mut Slot<'_>) -> Result<()> {
        let active = self.active_faces(faces)?;
        let limit = self.settings.max_retrieval_distance_m;
        let len = self.settings.max_points_per_lane;
        let near = |point: &[f32; 3]| (point[0] * point[0] + point[1] * point[1]).sqrt() < limit as f32;
        for (row, lane) in self.nearest(centroid).into_iter().take(self.settings.max_num_lanes).enumerate() {
            let feature = f32::from(self.controls[lane].feature(&active)?);
            let world = lane * len..(lane + 1) * len;
            let sides = [(&self.left[world.clone()], 2 * row), (&self.right[world.clone()], 2 * row + 1)];
            for (points, side) in sides {
                let out = &mut slot.lanes[side * len * 3..][..len * 3];
                let available = &mut slot.lanes_availabilities[side * len..][..len];
                put(points, transform, 0.0, out, available, near);
            }
            let out = &mut slot.lanes_mid[row * len * 3..][..len * 3];
            let available = &mut slot.lanes_mid_availabilities[row * len..][..len];
            put(&self.middle[world], transform, feature, out, available, near);
        }
        let len = self.settings.max_points_per_crosswalk;
        let crosswalks = self.map.crosswalks().indices_in_bounds(centroid, limit).take(self.settings.max_num_crosswalks);
        for (row, crosswalk) in crosswalks.enumerate() {
            let out = &mut slot.crosswalks[row * len * 3..][..len * 3];
            let available = &mut slot.crosswalks_availabilities[row * len..][..len];
            let points = self.map.crosswalk_at(crosswalk).unwrap_or_default();
            let out = out.as_chunks_mut::<3>().0.iter_mut().zip(available);
            for ((out, available), [x, y, _]) in out.zip(points) {
                let [x, y] = transform_point(transform, [*x, *y]);
                *out = [x as f32, y as f32, 0.0];
                *available = true;
            }
        }
        Ok(())
    }

    /// Returns the lanes around a place, the nearest first. The distance of a lane is that of the nearest point of its middle.
    fn nearest(&self, [x, y]: [f64; 2]) -> Vec<usize> {
        let len = self.settings.max_points_per_lane;
        let lanes: Vec<usize> = self.map.lanes().indices_in_bounds([x, y], self.settings.max_retrieval_distance_m).collect();
        let square = |point: &[f64; 2]| {
            let (dx, dy) = (point[0] - x, point[1] - y);
            dx * dx + dy * dy
        };
        let distance = |lane: &usize| self.middle[lane * len..][..len].iter().map(square).fold(f64::INFINITY, f64::min).sqrt();
        let distances: Vec<f64> = lanes.iter().map(distance).collect();
        numpy_argsort(&distances).into_iter().map(|place| lanes[place]).collect()
    }

    /// Returns the active faces: their index in the map and their colour. Faces that are not in the map do not count.
    fn active_faces(&self, faces: Faces<'_>) -> Result<Vec<(usize, TlColor)>> {
        let mut active: Vec<(usize, TlColor)> = Vec::new();
        for row in filter_faces_by_status(faces.statuses, FaceStatus::Active) {
            let id = faces.face_ids[row];
            let Some(index) = self.map.find(id) else { continue };
            if active.iter().all(|(other, _)| *other != index) {
                active.push((index, self.map.color_for_face(id)?));
            }
        }
        Ok(active)
    }
}

impl Controls {
    fn new(map: &MapApi, ids: &[Box<str>]) -> Self {
        let mut indices = Vec::with_capacity(ids.len());
        for id in ids {
            match map.find(id) {
                Some(index) => indices.push(index),
                None => return Self::Missing(id.clone()),
            }
        }
        let light = indices.iter().any(|index| map.elements()[*index].is_traffic_light());
        if light { Self::Light(indices.into()) } else { Self::NoLight }
    }

    /// Returns the number that stands for the state of the traffic lights. See [`MapApi::tl_feature_for_lane`].
    fn feature(&self, active: &[(usize, TlColor)]) -> Result<u8> {
        match self {
            Self::NoLight => Ok(NO_LIGHT),
            Self::Light(indices) => {
                let colors = active.iter().filter(|(face, _)| indices.contains(face)).map(|(_, color)| color.feature());
                Ok(colors.max().unwrap_or(0))
            }
            Self::Missing(id) => Err(Error::not_found(format!("semantic map: no element {id:?}, which controls a lane"))),
        }
    }
}

/// Writes points in the agent's frame with a third value, and which of them are near enough.
fn put(
    points: &[[f64; 2]],
    transform: &Matrix3,
    third: f32,
    out: &mut [f32],
    available: &mut [bool],
    near: impl Fn(&[f32; 3]) -> bool,
) {
    for ((point, out), available) in points.iter().zip(out.as_chunks_mut::<3>().0).zip(available) {
        let [x, y] = transform_point(transform, *point);
        *out = [x as f32, y as f32, third];
        *available = near(out);
    }
}
