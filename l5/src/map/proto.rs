//! The messages of a semantic map: the parts of L5Kit's `road_network.proto` that this crate reads.
//!
//! Each element stays a slice of the file's bytes until it is parsed on its own, so a large map is never held as messages. Fields that
//! are not listed are skipped. The nesting has a fixed depth, and `prost` limits the depth of what it skips.

use prost::bytes::Bytes;
use prost::{Message, Oneof};

/// The whole map.
#[derive(Clone, PartialEq, Message)]
pub(super) struct MapFragment {
    /// Messages of type [`MapElement`].
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(super) elements: Vec<Bytes>,
}

/// A message whose content is not read.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Skipped {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GlobalId {
    /// UTF-8.
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) id: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MapElement {
    #[prost(message, optional, tag = "1")]
    pub(super) id: Option<GlobalId>,
    #[prost(message, optional, tag = "2")]
    pub(super) element: Option<Element>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Element {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6, 8")]
    pub(super) kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Kind {
    #[prost(message, tag = "1")]
    Segment(Skipped),
    #[prost(message, tag = "2")]
    Node(Skipped),
    #[prost(message, tag = "3")]
    Lane(Lane),
    #[prost(message, tag = "4")]
    TrafficControl(TrafficControl),
    #[prost(message, tag = "5")]
    Junction(Skipped),
    #[prost(message, tag = "6")]
    SegmentSequence(Skipped),
    #[prost(message, tag = "8")]
    AnnotatedShape(Skipped),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Lane {
    #[prost(message, optional, tag = "1")]
    pub(super) parent: Option<GlobalId>,
    #[prost(message, optional, tag = "2")]
    pub(super) geo_frame: Option<GeoFrame>,
    #[prost(message, optional, tag = "3")]
    pub(super) left_boundary: Option<Boundary>,
    #[prost(message, optional, tag = "4")]
    pub(super) right_boundary: Option<Boundary>,
    #[prost(message, repeated, tag = "5")]
    pub(super) lanes_ahead: Vec<GlobalId>,
    #[prost(message, optional, tag = "6")]
    pub(super) adjacent_left: Option<GlobalId>,
    #[prost(message, optional, tag = "7")]
    pub(super) adjacent_right: Option<GlobalId>,
    #[prost(message, repeated, tag = "8")]
    pub(super) traffic_controls: Vec<GlobalId>,
}

/// Points as differences to the point before, cm.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Boundary {
    #[prost(sint32, repeated, tag = "1")]
    pub(super) x: Vec<i32>,
    #[prost(sint32, repeated, tag = "2")]
    pub(super) y: Vec<i32>,
    #[prost(sint32, repeated, tag = "3")]
    pub(super) z: Vec<i32>,
}

/// The place of an element's coordinates. L5Kit ignores its bearing, and so does this crate.
#[derive(Clone, PartialEq, Message)]
pub(super) struct GeoFrame {
    #[prost(message, optional, tag = "1")]
    pub(super) origin: Option<GeoLocation>,
}

/// Degrees multiplied by 10^7.
#[derive(Clone, PartialEq, Message)]
pub(super) struct GeoLocation {
    #[prost(sfixed32, tag = "1")]
    pub(super) latitude: i32,
    #[prost(sfixed32, tag = "2")]
    pub(super) longitude: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrafficControl {
    #[prost(message, optional, tag = "2")]
    pub(super) geo_frame: Option<GeoFrame>,
    #[prost(sint32, repeated, tag = "3")]
    pub(super) x: Vec<i32>,
    #[prost(sint32, repeated, tag = "4")]
    pub(super) y: Vec<i32>,
    #[prost(sint32, repeated, tag = "5")]
    pub(super) z: Vec<i32>,
    #[prost(oneof = "Control", tags = "11, 12, 13, 16, 29, 30, 31, 32, 33, 36, 37, 38, 39, 40, 41, 42, 43")]
    pub(super) control: Option<Control>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrafficLight {
    #[prost(message, repeated, tag = "3")]
    pub(super) face_states: Vec<GlobalId>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Control {
    #[prost(message, tag = "16")]
    PedestrianCrosswalk(Skipped),
    #[prost(message, tag = "29")]
    TrafficLight(TrafficLight),
    #[prost(message, tag = "11")]
    Red(Skipped),
    #[prost(message, tag = "12")]
    Yellow(Skipped),
    #[prost(message, tag = "13")]
    Green(Skipped),
    #[prost(message, tag = "30")]
    LeftRed(Skipped),
    #[prost(message, tag = "36")]
    LeftYellow(Skipped),
    #[prost(message, tag = "31")]
    LeftGreen(Skipped),
    #[prost(message, tag = "32")]
    RightRed(Skipped),
    #[prost(message, tag = "37")]
    RightYellow(Skipped),
    #[prost(message, tag = "33")]
    RightGreen(Skipped),
    #[prost(message, tag = "38")]
    UpperLeftRed(Skipped),
    #[prost(message, tag = "39")]
    UpperLeftYellow(Skipped),
    #[prost(message, tag = "40")]
    UpperLeftGreen(Skipped),
    #[prost(message, tag = "41")]
    UpperRightRed(Skipped),
    #[prost(message, tag = "42")]
    UpperRightYellow(Skipped),
    #[prost(message, tag = "43")]
    UpperRightGreen(Skipped),
}
