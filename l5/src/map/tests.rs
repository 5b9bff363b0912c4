//! Small maps built from messages, whole and damaged.

use super::*;
use proto::{Control, Kind};
use tetrys::ErrorKind;

const IDENTITY: [[f64; 4]; 4] = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

fn id(id: &str) -> proto::GlobalId {
    proto::GlobalId { id: id.as_bytes().to_vec().into() }
}

fn element(name: &str, kind: Kind) -> Bytes {
    let element = proto::Element { kind: Some(kind) };
    proto::MapElement { id: Some(id(name)), element: Some(element) }.encode_to_vec().into()
}

fn lane(points: i32, controls: &[&str]) -> Kind {
    let boundary =
        |y| proto::Boundary { x: vec![100; points as usize], y: vec![y; points as usize], z: vec![0; points as usize] };
    let origin = proto::GeoLocation { latitude: 374_000_000, longitude: -1_221_000_000 };
    Kind::Lane(proto::Lane {
        parent: Some(id("road")),
        geo_frame: Some(proto::GeoFrame { origin: Some(origin) }),
        left_boundary: Some(boundary(100)),
        right_boundary: Some(boundary(-100)),
        lanes_ahead: vec![id("b")],
        adjacent_left: None,
        adjacent_right: Some(id("a")),
        traffic_controls: controls.iter().copied().map(id).collect(),
    })
}

fn control(control: Control, points: usize) -> Kind {
    let deltas = vec![7; points];
    let (x, y, z) = (deltas.clone(), deltas.clone(), deltas);
    Kind::TrafficControl(proto::TrafficControl { geo_frame: None, x, y, z, control: Some(control) })
}

fn face() -> Control {
    Control::LeftGreen(proto::Skipped {})
}

fn encode(elements: Vec<Bytes>) -> Vec<u8> {
    proto::MapFragment { elements }.encode_to_vec()
}

fn small() -> Vec<u8> {
    encode(vec![
        element("a", lane(3, &["light", "face", "face", "red"])),
        element("light", control(Control::TrafficLight(proto::TrafficLight { face_states: vec![id("face")] }), 0)),
        element("face", control(face(), 2)),
        element("red", control(Control::Red(proto::Skipped {}), 0)),
        element("b", lane(1, &[])),
        element("walk", control(Control::PedestrianCrosswalk(proto::Skipped {}), 4)),
        element("empty walk", control(Control::PedestrianCrosswalk(proto::Skipped {}), 0)),
        element("road", Kind::Segment(proto::Skipped {})),
    ])
}

#[test]
fn each_element_says_what_it_is() {
    let map = MapApi::parse(&small(), IDENTITY).unwrap();
    assert_eq!((map.len(), map.is_empty()), (8, false));
    assert_eq!(map.lanes().ids.iter().map(|id| &**id).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(map.crosswalks().ids.len(), 1);
    assert!(map.is_traffic_light("light").unwrap() && !map.is_traffic_light("face").unwrap());
    assert!(map.is_traffic_face("face").unwrap() && !map.is_traffic_face("light").unwrap());
    assert!(map.is_traffic_face_color("face", TlColor::Green).unwrap());
    assert_eq!(map.color_for_face("red").unwrap().name(), "RED");
    assert_eq!(map.lane_traffic_control_ids("a").unwrap().len(), 3);
    assert_eq!(map.lane_traffic_control_ids("road").unwrap().len(), 0);
    assert_eq!(&*map.lane("a").unwrap().parent, "road");
    assert_eq!(map.face_ids().collect::<Vec<_>>(), ["face", "red"]);
    assert_eq!(map.element("walk").unwrap().crosswalk().unwrap().len(), 4);
    assert!(!map.element("empty walk").unwrap().is_crosswalk());
    assert_eq!(proto::MapElement::decode(map.element("a").unwrap().bytes()).unwrap().id, Some(id("a")));
}

#[test]
fn the_strongest_active_face_decides() {
    let map = MapApi::parse(&small(), IDENTITY).unwrap();
    let mut active = HashMap::new();
    assert_eq!(map.tl_feature_for_lane("b", &active).unwrap(), 4);
    assert_eq!(map.tl_feature_for_lane("a", &active).unwrap(), 0);
    active.insert("face".to_owned(), TlColor::Green);
    assert_eq!(map.tl_feature_for_lane("a", &active).unwrap(), 1);
    active.insert("red".to_owned(), TlColor::Red);
    assert_eq!(map.tl_feature_for_lane("a", &active).unwrap(), 3);
}

#[test]
fn an_interpolation_does_not_depend_on_earlier_calls() {
    let map = MapApi::parse(&small(), IDENTITY).unwrap();
    let first = map.lane_as_interpolation("a", Interpolation::EnsureLen(5)).unwrap();
    map.lane_as_interpolation("a", Interpolation::EnsureLen(2)).unwrap();
    assert_eq!(map.lane_as_interpolation("a", Interpolation::EnsureLen(5)).unwrap(), first);
    let meters = map.lane_as_interpolation("a", Interpolation::Meter(0.5)).unwrap();
    assert_eq!((meters.left.len(), meters.middle.len()), (6, 4));
}

#[test]
fn a_missing_element_is_not_found_and_a_wrong_one_is_invalid() {
    let map = MapApi::parse(&small(), IDENTITY).unwrap();
    assert_eq!(map.lane("none").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(map.lane_coords("road").unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(map.crosswalk_coords("a").unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(map.color_for_face("light").unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(map.color_for_face("none").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_map_keeps_the_bytes_that_it_is_given_without_a_copy() {
    let bytes = prost::bytes::Bytes::from(small());
    let (map, copied) = (MapApi::from_bytes(bytes.clone(), IDENTITY).unwrap(), MapApi::parse(&bytes, IDENTITY).unwrap());
    let given = bytes.as_ptr_range();
    for (element, other) in map.elements().iter().zip(copied.elements()) {
        let (inside, other_inside) = (element.bytes().as_ptr_range(), other.bytes().as_ptr_range());
        assert!(given.start <= inside.start && inside.end <= given.end, "{}", element.id());
        assert!(other_inside.end <= given.start || given.end <= other_inside.start, "{}", element.id());
        assert_eq!(element.bytes(), other.bytes());
    }
    assert_eq!((map.len(), map.is_empty()), (copied.len(), false));
}

#[test]
fn the_last_of_two_elements_with_one_id_counts() {
    let map = MapApi::parse(&encode(vec![element("a", lane(2, &[])), element("a", lane(5, &[]))]), IDENTITY).unwrap();
    assert_eq!(map.lanes().ids.len(), 2);
    assert_eq!(map.lanes().bounds[0], map.lanes().bounds[1]);
    assert_eq!(map.lane_coords("a").unwrap().left.len(), 5);
}

#[test]
fn a_map_that_contradicts_itself_is_corrupt() {
    let no_points = encode(vec![element("a", lane(0, &[]))]);
    let not_text = encode(vec![
        proto::MapElement { id: Some(proto::GlobalId { id: vec![255].into() }), element: None }.encode_to_vec().into(),
    ]);
    let mut deltas = lane(3, &[]);
    if let Kind::Lane(lane) = &mut deltas {
        lane.left_boundary.as_mut().unwrap().z.pop();
    }
    let lengths = encode(vec![element("a", deltas)]);
    let id_twice = encode(vec![element("a", lane(2, &[])), element("a", Kind::Node(proto::Skipped {}))]);
    for bytes in [no_points, not_text, lengths, id_twice, vec![0xff; 40]] {
        let error = MapApi::parse(&bytes, IDENTITY).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().starts_with("semantic map"), "{error}");
    }
    assert!(MapApi::parse(&[], IDENTITY).unwrap().is_empty());
}

#[test]
fn damaged_bytes_never_panic() {
    let whole = small();
    for end in 0..whole.len() {
        let _ = MapApi::parse(&whole[..end], IDENTITY);
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..=random() % 4 {
            let at = random() % bytes.len();
            bytes[at] ^= 1 << (random() % 8);
        }
        bytes.truncate(1 + random() % (2 * whole.len()));
        if let Ok(map) = MapApi::parse(&bytes, IDENTITY) {
            for id in &map.lanes().ids {
                let _ = map.lane_as_interpolation(id, Interpolation::EnsureLen(20));
                let _ = map.tl_feature_for_lane(id, &HashMap::new());
            }
        }
    }
}

#[test]
fn deep_nesting_ends_with_an_error() {
    // Groups (wire type 3) nest without lengths, so few bytes make a deep message.
    let mut bytes = vec![0x12, 0xa0, 0x9c, 0x01];
    bytes.resize(bytes.len() + 20_000, 0x1b);
    assert_eq!(MapApi::parse(&bytes, IDENTITY).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(MapApi::parse(&vec![0x1b; 1_000_000], IDENTITY).unwrap_err().kind(), ErrorKind::Corrupt);
}
