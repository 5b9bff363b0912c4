//! One element of a semantic map: what it is, its coordinates and the elements it points to.

use super::geodesy::{self, Affine};
use super::proto::{self, Control};
use super::{LaneCoords, Point, TlColor};
use prost::Message;
use prost::bytes::Bytes;
use tetrys::{Error, Result};

/// One element of a map.
#[derive(Clone, Debug)]
pub struct Element {
    pub(super) id: Box<str>,
    pub(super) kind: ElementKind,
    pub(super) bytes: Bytes,
}

/// The type of an element, with the data of that type.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ElementKind {
    /// A lane.
    Lane(Box<Lane>),
    /// A pedestrian crosswalk: its outline in the world frame, m.
    Crosswalk(Box<[Point]>),
    /// A traffic light: the ids of its faces.
    TrafficLight(Box<[Box<str>]>),
    /// A face of a traffic light.
    Face(TlColor),
    /// Another traffic control element, such as a stop sign.
    TrafficControl,
    /// A segment of a road.
    Segment,
    /// A node of the road network.
    Node,
    /// A junction.
    Junction,
    /// Something else.
    Other,
}

/// A lane. The ids are empty where the map has none.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The boundaries.
    pub coords: LaneCoords,
    /// The ids of the elements that control the traffic at the end of the lane, without repetitions, in the order of the map.
    pub traffic_controls: Box<[Box<str>]>,
    /// The id of the segment or of the junction that the lane is a part of.
    pub parent: Box<str>,
    /// The ids of the lanes that follow.
    pub lanes_ahead: Box<[Box<str>]>,
    /// The id of the lane that a change to the left leads to.
    pub change_left: Box<str>,
    /// The id of the lane that a change to the right leads to.
    pub change_right: Box<str>,
}

impl Element {
    /// Parses the message of one element.
    pub(super) fn parse(bytes: Bytes, world_from_ecef: &Affine) -> Result<Self> {
        let element = proto::MapElement::decode(bytes.clone()).map_err(|error| Error::corrupt(error.to_string()))?;
        let id = text(element.id)?;
        let kind = match element.element.and_then(|element| element.kind) {
            Some(proto::Kind::Lane(lane)) => {
                ElementKind::Lane(Box::new(Lane::new(lane, world_from_ecef).map_err(|e| e.at(&id))?))
            }
            Some(proto::Kind::TrafficControl(control)) => traffic_control(control, world_from_ecef).map_err(|e| e.at(&id))?,
            Some(proto::Kind::Segment(_)) => ElementKind::Segment,
            Some(proto::Kind::Node(_)) => ElementKind::Node,
            Some(proto::Kind::Junction(_)) => ElementKind::Junction,
            _ => ElementKind::Other,
        };
        Ok(Self { id, kind, bytes })
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns what the element is.
    pub fn kind(&self) -> &ElementKind {
        &self.kind
    }

    /// Returns the element's protobuf message of type `MapElement`, for the fields that this crate does not read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the element is a lane.
    pub fn is_lane(&self) -> bool {
        matches!(self.kind, ElementKind::Lane(_))
    }

    /// Whether the element is a crosswalk that has an outline.
    pub fn is_crosswalk(&self) -> bool {
        matches!(self.kind, ElementKind::Crosswalk(_))
    }

    /// Whether the element is a traffic light. A face of one is not.
    pub fn is_traffic_light(&self) -> bool {
        matches!(self.kind, ElementKind::TrafficLight(_))
    }

    /// Returns the colour if the element is a red, green or yellow face of a traffic light, with or without an arrow.
    pub fn face_color(&self) -> Option<TlColor> {
        match self.kind {
            ElementKind::Face(color) => Some(color),
            _ => None,
        }
    }

    /// Returns the lane if the element is one.
    pub fn lane(&self) -> Option<&Lane> {
        match &self.kind {
            ElementKind::Lane(lane) => Some(lane),
            _ => None,
        }
    }

    /// Returns the outline in the world frame, m, if the element is a crosswalk.
    pub fn crosswalk(&self) -> Option<&[Point]> {
        match &self.kind {
            ElementKind::Crosswalk(points) => Some(points),
            _ => None,
        }
    }
}

impl Lane {
    fn new(lane: proto::Lane, world_from_ecef: &Affine) -> Result<Self> {
        let boundary = |side: &str, boundary: Option<proto::Boundary>| {
            let boundary = boundary.unwrap_or_default();
            if boundary.x.is_empty() {
                return Err(Error::corrupt(format!("{side} boundary: expected at least 1 point, found 0")));
            }
            let deltas = [&boundary.x[..], &boundary.y, &boundary.z];
            geodesy::unpack(deltas, geodesy::origin_of(lane.geo_frame.as_ref()), world_from_ecef)
                .map_err(|error| error.at(format!("{side} boundary")))
        };
        let coords = LaneCoords { left: boundary("left", lane.left_boundary)?, right: boundary("right", lane.right_boundary)? };
        let mut traffic_controls: Vec<Box<str>> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for id in texts(lane.traffic_controls)? {
            if seen.insert(id.clone()) {
                traffic_controls.push(id);
            }
        }
        Ok(Self {
            coords,
            traffic_controls: traffic_controls.into(),
            parent: text(lane.parent)?,
            lanes_ahead: texts(lane.lanes_ahead)?,
            change_left: text(lane.adjacent_left)?,
            change_right: text(lane.adjacent_right)?,
        })
    }
}

fn traffic_control(control: proto::TrafficControl, world_from_ecef: &Affine) -> Result<ElementKind> {
    Ok(match control.control {
        Some(Control::PedestrianCrosswalk(_)) if !control.x.is_empty() => {
            let deltas = [&control.x[..], &control.y, &control.z];
            ElementKind::Crosswalk(geodesy::unpack(deltas, geodesy::origin_of(control.geo_frame.as_ref()), world_from_ecef)?)
        }
        Some(Control::TrafficLight(light)) => ElementKind::TrafficLight(texts(light.face_states)?),
        Some(other) => color(&other).map_or(ElementKind::TrafficControl, ElementKind::Face),
        None => ElementKind::TrafficControl,
    })
}

/// The colour of a face. Faces that flash and faces for turning round have none in L5Kit.
fn color(control: &Control) -> Option<TlColor> {
    use Control::*;
    match control {
        Red(_) | LeftRed(_) | RightRed(_) | UpperLeftRed(_) | UpperRightRed(_) => Some(TlColor::Red),
        Green(_) | LeftGreen(_) | RightGreen(_) | UpperLeftGreen(_) | UpperRightGreen(_) => Some(TlColor::Green),
        Yellow(_) | LeftYellow(_) | RightYellow(_) | UpperLeftYellow(_) | UpperRightYellow(_) => Some(TlColor::Yellow),
        PedestrianCrosswalk(_) | TrafficLight(_) => None,
    }
}

/// Reads an id. An id that is missing is the empty one.
fn text(id: Option<proto::GlobalId>) -> Result<Box<str>> {
    let id = id.unwrap_or_default().id;
    match std::str::from_utf8(&id) {
        Ok(id) => Ok(id.into()),
        Err(error) => Err(Error::corrupt(format!("an id is not UTF-8: {error}"))),
    }
}

fn texts(ids: Vec<proto::GlobalId>) -> Result<Box<[Box<str>]>> {
    ids.into_iter().map(|id| text(Some(id))).collect()
}
