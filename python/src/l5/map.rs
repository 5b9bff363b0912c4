//! Semantic maps. Elements are chosen by their number in the file.

use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict},
};
use tetrys::ErrorKind;
use tetrys_l5::map::{Element, ElementKind, Interpolation, LanePolylines, MapApi, Point, interpolate};

use super::raise_as_l5kit;
use crate::error::{damaged_file, no_place, wrong_value};

/// A semantic map; `tetrys.l5.MapAPI` makes it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct L5Map(pub(super) Arc<MapApi>);

type Points<'py> = Bound<'py, PyArray2<f64>>;

#[pymethods]
impl L5Map {
    #[new]
    fn new(py: Python<'_>, file: &[u8], world_to_ecef: [[f64; 4]; 4]) -> PyResult<Self> {
        let found = py.detach(|| MapApi::parse(file, world_to_ecef));
        found.map(|map| Self(Arc::new(map))).map_err(|error| match error.kind() {
            ErrorKind::Corrupt => damaged_file(&error.to_string()),
            _ => raise_as_l5kit(error),
        })
    }

    /// The ids of all elements.
    fn ids(&self) -> Vec<&str> {
        self.0.elements().iter().map(Element::id).collect()
    }

    /// The type of an element, and its protobuf message.
    fn element<'py>(&self, py: Python<'py>, number: usize) -> PyResult<(&'static str, Bound<'py, PyBytes>)> {
        let element = self.at(number)?;
        let kind = match element.kind() {
            ElementKind::Lane(_) => "lane",
            ElementKind::Crosswalk(_) => "crosswalk",
            ElementKind::TrafficLight(_) => "traffic_light",
            ElementKind::Face(_) => "traffic_face",
            ElementKind::TrafficControl => "traffic_control",
            ElementKind::Segment => "segment",
            ElementKind::Node => "node",
            ElementKind::Junction => "junction",
            _ => "other",
        };
        Ok((kind, PyBytes::new(py, element.bytes())))
    }

    /// The neighbours and controls of a lane: ids by names. None for other elements.
    fn lane<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(lane) = self.at(number)?.lane() else { return Ok(None) };
        let (found, texts) = (PyDict::new(py), |ids: &[Box<str>]| ids.iter().map(|id| id.to_string()).collect::<Vec<_>>());
        found.set_item("parent", &*lane.parent)?;
        found.set_item("lanes_ahead", texts(&lane.lanes_ahead))?;
        found.set_item("change_left", &*lane.change_left)?;
        found.set_item("change_right", &*lane.change_right)?;
        found.set_item("traffic_controls", texts(&lane.traffic_controls))?;
        Ok(Some(found))
    }

    /// The left and the right boundary of a lane in the world frame, f64 [n, 3].
    fn lane_coords<'py>(&self, py: Python<'py>, number: usize) -> PyResult<(Points<'py>, Points<'py>)> {
        let coords = &self.lane_at(number)?.coords;
        Ok((points(py, &coords.left)?, points(py, &coords.right)?))
    }

    /// New points of the boundaries of a lane and of the line between them, f64 [n, 3]: so many, or one each so many metres.
    fn lane_points<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        step: f64,
        ensure_len: bool,
    ) -> PyResult<(Points<'py>, Points<'py>, Points<'py>)> {
        let lines = self.lane_at(number)?.coords.interpolate(method(step, ensure_len));
        let LanePolylines { left, right, middle } =
            lines.map_err(|error| raise_as_l5kit(error.at(self.0.elements()[number].id())))?;
        Ok((points(py, &left)?, points(py, &right)?, points(py, &middle)?))
    }

    /// The outline of a crosswalk in the world frame, f64 [n, 3].
    fn crosswalk_coords<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Points<'py>> {
        let element = self.at(number)?;
        match element.crosswalk() {
            Some(outline) => points(py, outline),
            None => Err(wrong_value(&format!("semantic map: element {:?} is not a crosswalk", element.id()))),
        }
    }

    /// The world coordinates of a chain of points, f64 [n, 3], of differences in centimetres to the point before.
    fn unpack_deltas<'py>(
        &self,
        py: Python<'py>,
        x: Vec<i32>,
        y: Vec<i32>,
        z: Vec<i32>,
        latitude: f64,
        longitude: f64,
    ) -> PyResult<Points<'py>> {
        let unpacked = self.0.unpack_deltas([&x, &y, &z], [latitude, longitude]);
        points(py, &unpacked.map_err(|error| wrong_value(&error.to_string()))?)
    }

    /// The colour of a face of a traffic light: RED, GREEN, YELLOW or None.
    fn color(&self, number: usize) -> PyResult<Option<&'static str>> {
        Ok(self.at(number)?.face_color().map(|color| color.name()))
    }

    /// The ids and the bounds of all lanes, f64 [n, 2, 2]; then those of all crosswalks.
    #[expect(clippy::type_complexity, reason = "two lists and two arrays")]
    fn bounds<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<((Vec<&str>, Bound<'py, PyArray3<f64>>), (Vec<&str>, Bound<'py, PyArray3<f64>>))> {
        let [lanes, crosswalks] = [self.0.lanes(), self.0.crosswalks()].map(|info| {
            let flat = info.bounds.iter().flatten().flatten().copied().collect();
            let bounds = PyArray1::from_vec(py, flat).reshape([info.bounds.len(), 2, 2])?;
            Ok::<_, PyErr>((info.ids.iter().map(|id| &**id).collect::<Vec<_>>(), bounds))
        });
        Ok((lanes?, crosswalks?))
    }

    /// New points along a chain of points, f64 [n, 3].
    #[staticmethod]
    fn interpolate<'py>(
        py: Python<'py>,
        chain: PyReadonlyArray2<'py, f64>,
        step: f64,
        ensure_len: bool,
    ) -> PyResult<Points<'py>> {
        let chain = chain.as_array();
        if chain.ncols() != 3 {
            return Err(wrong_value(&format!("expected points [n, 3], found the shape {:?}", chain.shape())));
        }
        let chain: Vec<Point> = chain.rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect();
        points(py, &interpolate(&chain, method(step, ensure_len)).map_err(raise_as_l5kit)?)
    }
}

impl L5Map {
    fn at(&self, number: usize) -> PyResult<&Element> {
        let elements = self.0.elements();
        elements.get(number).ok_or_else(|| no_place(&format!("element {number} is outside of the {} elements", elements.len())))
    }

    fn lane_at(&self, number: usize) -> PyResult<&tetrys_l5::map::Lane> {
        let element = self.at(number)?;
        element.lane().ok_or_else(|| wrong_value(&format!("semantic map: element {:?} is not a lane", element.id())))
    }
}

fn method(step: f64, ensure_len: bool) -> Interpolation {
    if ensure_len { Interpolation::EnsureLen(step as usize) } else { Interpolation::Meter(step) }
}

fn points<'py>(py: Python<'py>, points: &[Point]) -> PyResult<Points<'py>> {
    PyArray1::from_slice(py, points.as_flattened()).reshape([points.len(), 3])
}
