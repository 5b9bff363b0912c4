//! Semantic maps: lanes, crosswalks and traffic lights, in the world frame of a data set (L5Kit's `MapAPI`).
//!
//! A map is a protobuf message. [`MapApi::parse`] computes all coordinates once, so all later calls only look up. Positions agree with
//! L5Kit's within 10^-8 m.
//!
//! One difference is intended. L5Kit's `get_lane_as_interpolation` overwrites the cached boundaries of the lane, so its results depend on
//! the calls before: a second call with another step interpolates the points of the first call. Here each call starts from the boundaries
//! in the file, which is what L5Kit returns for the first call.

mod element;
mod geodesy;
mod interpolate;
mod proto;
mod semantic;
#[cfg(test)]
mod tests;

pub use element::{Element, ElementKind, Lane};
pub use interpolate::{Interpolation, Point, interpolate};

use prost::Message;
use prost::bytes::Bytes;
use std::collections::{HashMap, HashSet};
use tetrys::{Error, Result};

/// The smallest and the largest x and y: `[[x_min, y_min], [x_max, y_max]]`, m.
pub type Bounds = [[f64; 2]; 2];

/// The boundaries of a lane in the world frame, m. They may have different numbers of points.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneCoords {
    /// The left boundary.
    pub left: Box<[Point]>,
    /// The right boundary.
    pub right: Box<[Point]>,
}

/// A lane as three chains of points in the world frame, m.
#[derive(Clone, Debug, PartialEq)]
pub struct LanePolylines {
    /// The left boundary.
    pub left: Vec<Point>,
    /// The right boundary.
    pub right: Vec<Point>,
    /// The line between the boundaries.
    pub middle: Vec<Point>,
}

/// The colour of a face of a traffic light, in the order in which L5Kit tries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TlColor {
    /// Red.
    Red,
    /// Green.
    Green,
    /// Yellow.
    Yellow,
}

impl TlColor {
    /// All colours.
    pub const ALL: [Self; 3] = [Self::Red, Self::Green, Self::Yellow];

    /// Returns L5Kit's name, such as `RED`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Red => "RED",
            Self::Green => "GREEN",
            Self::Yellow => "YELLOW",
        }
    }

    /// Returns the number that a lane has in the vectorized datasets if this is the strongest of its active faces.
    pub fn feature(self) -> u8 {
        match self {
            Self::Green => 1,
            Self::Yellow => 2,
            Self::Red => 3,
        }
    }
}

/// The ids and the bounds of all elements of one kind, in the order of the map.
#[derive(Clone, Debug, Default)]
pub struct BoundsInfo {
    /// The ids.
    pub ids: Vec<Box<str>>,
    /// The bounds, one per id.
    pub bounds: Vec<Bounds>,
    /// The index in the map of the element with this id.
    elements: Vec<usize>,
}

impl BoundsInfo {
    /// Returns the positions, in ascending order, of the bounds that intersect the square around `center` whose side is `2 * half_extent`
    /// metres long. Bounds that only touch the square do not count.
    pub fn indices_in_bounds(&self, center: [f64; 2], half_extent: f64) -> impl Iterator<Item = usize> + '_ {
        let [x, y] = center;
        let inside = move |[min, max]: &Bounds| {
            x > min[0] - half_extent && y > min[1] - half_extent && x < max[0] + half_extent && y < max[1] + half_extent
        };
        self.bounds.iter().enumerate().filter(move |(_, bounds)| inside(bounds)).map(|(index, _)| index)
    }

    fn push(&mut self, id: &str, element: usize, chains: &[&[Point]]) {
        let mut bounds = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
        for point in chains.iter().copied().flatten() {
            for axis in 0..2 {
                bounds[0][axis] = bounds[0][axis].min(point[axis]);
                bounds[1][axis] = bounds[1][axis].max(point[axis]);
            }
        }
        self.ids.push(id.into());
        self.bounds.push(bounds);
        self.elements.push(element);
    }
}

/// A semantic map.
///
/// The file has to fit into memory. The map takes at most about 100 bytes for each byte of the file, and real maps take 10.
#[derive(Clone, Debug)]
pub struct MapApi {
    elements: Vec<Element>,
    by_id: HashMap<Box<str>, usize>,
    lanes: BoundsInfo,
    crosswalks: BoundsInfo,
    world_from_ecef: geodesy::Affine,
}

impl MapApi {
    /// Reads a map: a protobuf message of type `MapFragment`. `world_to_ecef` is the matrix of the data set's `meta.json`, row by row.
    ///
    /// If two elements have the same id, the last one counts, as in L5Kit. The elements keep a copy of the bytes;
    /// [`MapApi::from_bytes`] makes none.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are no map: broken protobuf, an id that is not UTF-8, a lane without points, or coordinates of different
    /// lengths. `Invalid` if the matrix has no inverse.
    pub fn parse(bytes: &[u8], world_to_ecef: [[f64; 4]; 4]) -> Result<Self> {
        Self::from_bytes(bytes.to_vec(), world_to_ecef)
    }

    /// Reads a map as [`MapApi::parse`] does, and keeps these bytes: a `Vec<u8>`, or the `Bytes` of an attachment.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn from_bytes(bytes: impl Into<Bytes>, world_to_ecef: [[f64; 4]; 4]) -> Result<Self> {
        let bytes: Bytes = bytes.into();
        let world_from_ecef = geodesy::invert(&world_to_ecef)?;
        let len = bytes.len();
        let corrupt = |error: prost::DecodeError| Error::corrupt(format!("semantic map of {len} bytes: {error}"));
        let fragment = proto::MapFragment::decode(bytes).map_err(corrupt)?;
        let parse = |(index, bytes)| {
            Element::parse(bytes, &world_from_ecef).map_err(|error| error.at(format!("semantic map: element {index}")))
        };
        let elements: Vec<Element> = fragment.elements.into_iter().enumerate().map(parse).collect::<Result<_>>()?;
        let by_id = elements.iter().enumerate().map(|(index, element)| (element.id.clone(), index)).collect();
        let mut map = Self { elements, by_id, lanes: BoundsInfo::default(), crosswalks: BoundsInfo::default(), world_from_ecef };
        let (mut lanes, mut crosswalks) = (BoundsInfo::default(), BoundsInfo::default());
        for element in &map.elements {
            // The element is looked up again by its id, because the last one with this id counts.
            let id = element.id();
            let another = |error: Error| Error::corrupt(format!("semantic map: two elements have one id: {error}"));
            if element.is_lane() {
                let coords = map.lane_coords(id).map_err(another)?;
                lanes.push(id, map.by_id[id], &[&coords.left, &coords.right]);
            }
            if element.is_crosswalk() {
                crosswalks.push(id, map.by_id[id], &[map.crosswalk_coords(id).map_err(another)?]);
            }
        }
        (map.lanes, map.crosswalks) = (lanes, crosswalks);
        Ok(map)
    }

    /// Turns a chain of points into world coordinates, m: L5Kit's `unpack_deltas_cm`. `deltas` are the x, y and z differences to the point
    /// before, in cm to the east, to the north and up; `origin` is the latitude and longitude of the local frame in degrees.
    ///
    /// # Errors
    /// `Corrupt` if the three columns do not have the same length.
    pub fn unpack_deltas(&self, deltas: [&[i32]; 3], origin: [f64; 2]) -> Result<Box<[Point]>> {
        geodesy::unpack(deltas, origin, &self.world_from_ecef)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Returns all elements, in the order of the map.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// Returns the element with this id.
    ///
    /// # Errors
    /// `NotFound` if there is none (L5Kit raises `KeyError`).
    pub fn element(&self, id: &str) -> Result<&Element> {
        self.index_of(id).map(|index| &self.elements[index])
    }

    /// Returns the index of the element with this id.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    pub fn index_of(&self, id: &str) -> Result<usize> {
        self.find(id).ok_or_else(|| Error::not_found(format!("semantic map of {} elements: no element {id:?}", self.len())))
    }

    /// Returns the index of the element with this id, if there is one.
    pub(crate) fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Returns the ids and the bounds of the lanes.
    pub fn lanes(&self) -> &BoundsInfo {
        &self.lanes
    }

    /// Returns the ids and the bounds of the crosswalks.
    pub fn crosswalks(&self) -> &BoundsInfo {
        &self.crosswalks
    }

    /// Returns the lane at a position of [`lanes`](Self::lanes).
    pub(crate) fn lane_at(&self, position: usize) -> Option<&Lane> {
        self.lanes.elements.get(position).and_then(|element| self.elements[*element].lane())
    }

    /// Returns the outline of the crosswalk at a position of [`crosswalks`](Self::crosswalks).
    pub(crate) fn crosswalk_at(&self, position: usize) -> Option<&[Point]> {
        self.crosswalks.elements.get(position).and_then(|element| self.elements[*element].crosswalk())
    }

    /// Returns a lane.
    ///
    /// # Errors
    /// `NotFound` if there is no such element, `Invalid` if it is no lane.
    pub fn lane(&self, id: &str) -> Result<&Lane> {
        self.element(id)?.lane().ok_or_else(|| Error::invalid(format!("semantic map: element {id:?} is not a lane")))
    }

    /// Returns the boundaries of a lane.
    ///
    /// # Errors
    /// As [`lane`](Self::lane).
    pub fn lane_coords(&self, id: &str) -> Result<&LaneCoords> {
        Ok(&self.lane(id)?.coords)
    }

    /// Returns the ids of the elements that control the traffic at the end of a lane, without repetitions, in the order of the map. An
    /// element that is not a lane has none.
    ///
    /// # Errors
    /// `NotFound` if there is no such element.
    pub fn lane_traffic_control_ids(&self, id: &str) -> Result<&[Box<str>]> {
        Ok(self.element(id)?.lane().map_or(&[], |lane| &lane.traffic_controls))
    }

    /// Returns the boundaries of a lane and the line between them as new points. The result does not depend on earlier calls.
    ///
    /// # Errors
    /// As [`lane`](Self::lane) and [`interpolate`].
    pub fn lane_as_interpolation(&self, id: &str, method: Interpolation) -> Result<LanePolylines> {
        self.lane_coords(id)?.interpolate(method)
    }

    /// Returns the outline of a crosswalk in the world frame, m.
    ///
    /// # Errors
    /// `NotFound` if there is no such element, `Invalid` if it is no crosswalk.
    pub fn crosswalk_coords(&self, id: &str) -> Result<&[Point]> {
        self.element(id)?.crosswalk().ok_or_else(|| Error::invalid(format!("semantic map: element {id:?} is not a crosswalk")))
    }

    /// Whether an element is a traffic light. A face of one is not.
    ///
    /// # Errors
    /// `NotFound` if there is no such element.
    pub fn is_traffic_light(&self, id: &str) -> Result<bool> {
        Ok(self.element(id)?.is_traffic_light())
    }

    /// Whether an element is a red, green or yellow face of a traffic light.
    ///
    /// # Errors
    /// `NotFound` if there is no such element.
    pub fn is_traffic_face(&self, id: &str) -> Result<bool> {
        Ok(self.element(id)?.face_color().is_some())
    }

    /// Whether an element is a face of a traffic light of this colour.
    ///
    /// # Errors
    /// `NotFound` if there is no such element.
    pub fn is_traffic_face_color(&self, id: &str, color: TlColor) -> Result<bool> {
        Ok(self.element(id)?.face_color() == Some(color))
    }

    /// Returns the colour of a face of a traffic light.
    ///
    /// # Errors
    /// `NotFound` if there is no such element, `Invalid` if it is no red, green or yellow face (L5Kit raises `ValueError`).
    pub fn color_for_face(&self, id: &str) -> Result<TlColor> {
        let color = self.element(id)?.face_color();
        color.ok_or_else(|| Error::invalid(format!("semantic map: face {id:?} has no valid color among RED, GREEN and YELLOW")))
    }

    /// Returns the number that stands for the state of the traffic lights of a lane: 4 if it has none, else the strongest of its active
    /// faces (green 1, yellow 2, red 3), else 0. `active` holds the active faces.
    ///
    /// # Errors
    /// `NotFound` if there is no such lane, or if an element that controls it is not in the map.
    pub fn tl_feature_for_lane(&self, id: &str, active: &HashMap<String, TlColor>) -> Result<u8> {
        let controls = self.lane_traffic_control_ids(id)?;
        let mut light = false;
        for control in controls {
            light |= self.is_traffic_light(control)?;
        }
        if !light {
            return Ok(4);
        }
        Ok(controls.iter().filter_map(|control| active.get(&**control)).map(|color| color.feature()).max().unwrap_or(0))
    }

    /// Returns the ids of the faces of all traffic lights of the map, without repetitions.
    pub fn face_ids(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        self.elements.iter().filter(|element| element.face_color().is_some()).map(Element::id).filter(move |id| seen.insert(*id))
    }
}

impl LaneCoords {
    /// Returns the boundaries and the line between them as new points. See [`MapApi::lane_as_interpolation`].
    ///
    /// # Errors
    /// As [`interpolate`].
    pub fn interpolate(&self, method: Interpolation) -> Result<LanePolylines> {
        let left = interpolate(&self.left, method)?;
        let right = interpolate(&self.right, method)?;
        let middle = |left: &[Point], right: &[Point]| -> Vec<Point> {
            left.iter().zip(right).map(|(a, b)| std::array::from_fn(|axis| (a[axis] + b[axis]) / 2.0)).collect()
        };
        let middle = match method {
            Interpolation::EnsureLen(_) => middle(&left, &right),
            // The boundaries may now have different numbers of points, so they get the same number to take the mean of.
            Interpolation::Meter(_) => {
                let same = Interpolation::EnsureLen(self.left.len().max(self.right.len()));
                middle(&interpolate(&self.left, same)?, &interpolate(&self.right, same)?)
            }
        };
        Ok(LanePolylines { middle: interpolate(&middle, method)?, left, right })
    }
}
