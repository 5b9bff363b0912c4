//! Selects agents, traffic light faces and intervals of rows, as L5Kit's `l5kit.data.filter` does.
//!
//! Each function returns row numbers or ranges, in the order in which L5Kit returns the rows, so that a caller can select from any
//! columns. A row is a position in the slice that the caller gives.

use std::ops::Range;

use tetrys::{Error, Result};

/// The perception labels that make a row an agent: from car to animal.
pub const KEPT_LABELS: Range<usize> = 3..16;

/// A state of a traffic light face: the columns of `traffic_light_face_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaceStatus {
    /// The light is on.
    Active,
    /// The light is off.
    Inactive,
    /// The state was not recognised.
    Unknown,
}

impl std::str::FromStr for FaceStatus {
    type Err = Error;

    /// Parses L5Kit's name of a state: `ACTIVE`, `INACTIVE` or `UNKNOWN`.
    ///
    /// # Errors
    /// `NotFound` for any other name, where L5Kit raises `KeyError`.
    fn from_str(name: &str) -> Result<Self> {
        match name {
            "ACTIVE" => Ok(Self::Active),
            "INACTIVE" => Ok(Self::Inactive),
            "UNKNOWN" => Ok(Self::Unknown),
            _ => Err(Error::not_found(format!("status {name:?}: a traffic light face is ACTIVE, INACTIVE or UNKNOWN"))),
        }
    }
}

/// Returns the probability that a row is an agent: the sum over [`KEPT_LABELS`], added up in their order in `f32`, as NumPy does here.
pub fn kept_probability(label_probabilities: &[f32; 17]) -> f32 {
    label_probabilities[KEPT_LABELS].iter().fold(0.0, |sum, probability| sum + probability)
}

/// Whether a row is an agent with a probability above `threshold`, which NumPy rounds to `f32` first.
///
/// ```
/// let mut labels = [0.0; 17];
/// labels[3] = 0.5;
/// assert!(tetrys_l5::filter::keeps_labels(&labels, 0.4));
/// assert!(!tetrys_l5::filter::keeps_labels(&labels, 0.5), "strictly above");
/// ```
pub fn keeps_labels(label_probabilities: &[f32; 17], threshold: f64) -> bool {
    kept_probability(label_probabilities) > threshold as f32
}

/// Returns the rows of agents with a probability above `threshold`: `filter_agents_by_labels`.
pub fn filter_agents_by_labels(label_probabilities: &[[f32; 17]], threshold: f64) -> impl Iterator<Item = usize> {
    rows_where(label_probabilities, move |labels| keeps_labels(labels, threshold))
}

/// Returns the rows with a track id: `filter_agents_by_track_id`. A frame may hold a track id more than once.
pub fn filter_agents_by_track_id(track_ids: &[u64], track_id: u64) -> impl Iterator<Item = usize> {
    rows_where(track_ids, move |id| *id == track_id)
}

/// Returns the first row with a track id: `get_agent_by_track_id`.
pub fn first_with_track_id(track_ids: &[u64], track_id: u64) -> Option<usize> {
    // Eight at a time: the compiler turns the inner loop into vector instructions, which `position` prevents.
    let (blocks, rest) = track_ids.as_chunks::<8>();
    let found = blocks.iter().position(|block| block.iter().fold(false, |any, id| any | (*id == track_id)));
    let from = found.unwrap_or(blocks.len()) * 8;
    let candidates = if found.is_some() { track_ids.get(from..from + 8)? } else { rest };
    candidates.iter().position(|id| *id == track_id).map(|row| from + row)
}

/// Returns the rows of agents nearer to `centroid` than `max_distance` metres, the nearest first: `filter_agents_by_distance`.
///
/// Rows at equal distances have the order that NumPy's default sort gives them, which is not stable for more than 16 rows.
///
/// ```
/// let rows = tetrys_l5::filter::filter_agents_by_distance(&[[3.0, 4.0], [1.0, 0.0], [9.0, 9.0]], [0.0, 0.0], 6.0);
/// assert_eq!(rows, [1, 0]);
/// ```
pub fn filter_agents_by_distance(centroids: &[[f64; 2]], centroid: [f64; 2], max_distance: f64) -> Vec<usize> {
    let distance = |[x, y]: &[f64; 2]| ((x - centroid[0]) * (x - centroid[0]) + (y - centroid[1]) * (y - centroid[1])).sqrt();
    let (rows, distances): (Vec<usize>, Vec<f64>) =
        centroids.iter().map(distance).enumerate().filter(|(_, distance)| *distance < max_distance).unzip();
    numpy_argsort(&distances).into_iter().filter_map(|place| rows.get(place).copied()).collect()
}

/// Returns the rows of faces whose probability of a state is above 0: `filter_tl_faces_by_status`.
pub fn filter_faces_by_status(statuses: &[[f32; 3]], status: FaceStatus) -> impl Iterator<Item = usize> {
    rows_where(statuses, move |probabilities| probabilities[status as usize] > 0.0)
}

/// Returns the rows of each frame: `filter_agents_by_frames` and `filter_tl_faces_by_frames`.
///
/// `intervals` are those of the frames, `rows` is the number of agents or faces. An interval that goes beyond the rows is cut, as Python
/// cuts a slice.
pub fn rows_by_frame(intervals: &[[i64; 2]], rows: usize) -> impl Iterator<Item = Range<usize>> {
    intervals.iter().map(move |[start, end]| {
        let start = python_bound(*start, rows);
        start..python_bound(*end, rows).max(start)
    })
}

/// Returns the interval from the start of the first to the end of the last: `get_frames_slice_from_scenes`,
/// `get_agents_slice_from_frames` and `get_tl_faces_slice_from_frames`. Without a last, the first is the last too.
///
/// ```
/// use tetrys_l5::filter::joined_interval;
/// assert_eq!(joined_interval([5, 8], Some([8, 11])), [5, 11]);
/// assert_eq!(joined_interval([5, 8], None), [5, 8]);
/// ```
pub fn joined_interval(first: [i64; 2], last: Option<[i64; 2]>) -> [i64; 2] {
    [first[0], last.unwrap_or(first)[1]]
}

/// Returns the bound of a Python slice over `len` rows: negative ones count from the end, and all are cut to the rows.
fn python_bound(bound: i64, len: usize) -> usize {
    let distance = usize::try_from(bound.unsigned_abs()).unwrap_or(usize::MAX);
    if bound < 0 { len.saturating_sub(distance) } else { distance.min(len) }
}

/// Returns the rows for which `keeps` is true.
fn rows_where<T>(column: &[T], keeps: impl Fn(&T) -> bool) -> impl Iterator<Item = usize> {
    column.iter().enumerate().filter(move |(_, value)| keeps(value)).map(|(row, _)| row)
}

/// Returns the places of `values` in ascending order, with NaN last. Equal values have the order of NumPy's `argsort`.
///
/// NumPy sorts with introsort: quicksort on the median of three, insertion sort of up to 16 values, and heapsort where quicksort went
/// too deep. The order of equal values depends on each of these steps, so this function takes the same ones. (NumPy on a processor with
/// AVX-512, from version 1.25, and NumPy 2 sort otherwise; there, ties have another order than in L5Kit's own environment.)
///
/// ```
/// assert_eq!(tetrys_l5::filter::numpy_argsort(&[2.0, f64::NAN, 1.0, 1.0]), [2, 3, 0, 1]);
/// ```
pub fn numpy_argsort(values: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    let less = |a: usize, b: usize| values[a] < values[b] || (values[b].is_nan() && !values[a].is_nan());
    let mut parts = vec![(0, values.len(), 2 * i64::from(values.len().checked_ilog2().unwrap_or(0)))];
    while let Some((mut start, mut end, mut depth)) = parts.pop() {
        if depth < 0 {
            heapsort(&mut places[start..end], less);
            continue;
        }
        while end - start > 16 {
            let middle = start + partition(&mut places[start..end], less);
            depth -= 1;
            // The larger part waits, the smaller one goes on.
            if middle - start < end - 1 - middle {
                parts.push((middle + 1, end, depth));
                end = middle;
            } else {
                parts.push((start, middle, depth));
                start = middle + 1;
            }
        }
        insertion_sort(&mut places[start..end], less);
    }
    places
}

/// Partitions around the median of the first, middle and last place, and returns where it lies afterwards.
fn partition(places: &mut [usize], less: impl Fn(usize, usize) -> bool) -> usize {
    let last = places.len() - 1;
    let middle = last / 2;
    for (left, right) in [(0, middle), (middle, last), (0, middle)] {
        if less(places[right], places[left]) {
            places.swap(left, right);
        }
    }
    let pivot = places[middle];
    places.swap(middle, last - 1);
    let (mut left, mut right) = (0, last - 1);
    loop {
        left += 1;
        while less(places[left], pivot) {
            left += 1;
        }
        right -= 1;
        while less(pivot, places[right]) {
            right -= 1;
        }
        if left >= right {
            break;
        }
        places.swap(left, right);
    }
    places.swap(left, last - 1);
    left
}

/// Sorts a few places; equal values keep their order.
fn insertion_sort(places: &mut [usize], less: impl Fn(usize, usize) -> bool) {
    for sorted in 1..places.len() {
        let place = places[sorted];
        let mut to = sorted;
        while to > 0 && less(place, places[to - 1]) {
            places[to] = places[to - 1];
            to -= 1;
        }
        places[to] = place;
    }
}

/// Sorts places by building a heap and taking its largest value again and again.
fn heapsort(places: &mut [usize], less: impl Fn(usize, usize) -> bool) {
    for root in (0..places.len() / 2).rev() {
        sink(places, root, &less);
    }
    for len in (1..places.len()).rev() {
        places.swap(0, len);
        sink(&mut places[..len], 0, &less);
    }
}

/// Moves the value at the root of a heap down to where it belongs.
fn sink(heap: &mut [usize], root: usize, less: &impl Fn(usize, usize) -> bool) {
    let (mut hole, place) = (root, heap[root]);
    while 2 * hole + 1 < heap.len() {
        let mut child = 2 * hole + 1;
        if child + 1 < heap.len() && less(heap[child], heap[child + 1]) {
            child += 1;
        }
        if !less(place, heap[child]) {
            break;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values with many ties, from a small generator.
    fn values(seed: u64, len: usize, distinct: u64) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        (0..len).map(|_| (next() % distinct) as f64).collect()
    }

    /// FNV-1a over the places.
    fn hash(places: &[usize]) -> u64 {
        places.iter().fold(0xcbf2_9ce4_8422_2325, |hash, place| (hash ^ *place as u64).wrapping_mul(0x100_0000_01b3))
    }

    #[test]
    fn ties_have_numpys_order() {
        // Expected: the same hash over `numpy.argsort` of NumPy 1.26.4 without AVX-512.
        for (seed, len, distinct, expected) in [
            (1, 16, 4, 0xabee26cac5f318ff),
            (8, 17, 4, 0x906a9b8eda73d9c7),
            (2, 18, 4, 0x30b0b597df7b1dea),
            (3, 90, 10, 0x967b229426419fc8),
            (4, 300, 7, 0x3848196cdef84f4d),
            (5, 1000, 300, 0xfbc7aeaca46688c7),
            (6, 5000, 2, 0xc1d78c47bae379b5),
            (7, 3000, 1, 0x1aefc36c76d76b85),
        ] {
            assert_eq!(hash(&numpy_argsort(&values(seed, len, distinct))), expected, "{len} values, {distinct} distinct ones");
        }
    }

    #[test]
    fn a_deep_quicksort_becomes_a_heapsort_and_still_sorts() {
        let places: Vec<usize> = (0..40).collect();
        let mut sorted = places.clone();
        heapsort(&mut sorted, |a, b| a > b);
        assert_eq!(sorted, places.into_iter().rev().collect::<Vec<_>>());
    }

    #[test]
    fn a_track_id_is_found_where_it_comes_first() {
        let ids = [1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 11, 12, 9];
        for id in 0..14 {
            assert_eq!(first_with_track_id(&ids, id), ids.iter().position(|other| *other == id), "track {id}");
            assert_eq!(filter_agents_by_track_id(&ids, id).next(), first_with_track_id(&ids, id));
        }
    }

    #[test]
    fn intervals_are_cut_as_python_cuts_slices() {
        let ranges: Vec<_> = rows_by_frame(&[[0, 3], [3, 3], [3, 99], [7, 5], [-2, 5]], 5).collect();
        assert_eq!(ranges, [0..3, 3..3, 3..5, 5..5, 3..5]);
    }

    #[test]
    fn faces_are_chosen_by_the_column_of_their_status() {
        let statuses = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]];
        assert_eq!(filter_faces_by_status(&statuses, "ACTIVE".parse().unwrap()).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(filter_faces_by_status(&statuses, FaceStatus::Unknown).collect::<Vec<_>>(), [1]);
        assert!("RED".parse::<FaceStatus>().is_err());
    }
}
