//! The labels of agents, and the kinds of things that they make.

/// The names of the labels, in the order of `label_probabilities`.
pub(crate) const LABELS: [&str; 17] = [
    "not set",
    "unknown",
    "don't care",
    "car",
    "van",
    "tram",
    "bus",
    "truck",
    "emergency vehicle",
    "other vehicle",
    "bicycle",
    "motorcycle",
    "cyclist",
    "motorcyclist",
    "pedestrian",
    "animal",
    "don't care (AVResearch)",
];

/// The names of the kinds.
pub(crate) const KINDS: [&str; 4] = ["vehicles", "cyclists", "pedestrians", "others"];

/// Returns the most probable label, the first of equal ones, and its probability.
pub(crate) fn label_of(probabilities: &[f32; 17]) -> (usize, f32) {
    let mut found = (0, probabilities[0]);
    for (label, probability) in probabilities.iter().enumerate().skip(1) {
        if *probability > found.1 || (found.1.is_nan() && !probability.is_nan()) {
            found = (label, *probability);
        }
    }
    found
}

/// Returns the kind of a label, as its place in [`KINDS`].
pub(crate) fn kind_of(label: usize) -> usize {
    match label {
        3..=9 => 0,
        10..=13 => 1,
        14 => 2,
        _ => 3,
    }
}

/// The states of a traffic light face, in the order of their probabilities.
pub(crate) const STATES: [&str; 3] = ["active", "inactive", "unknown"];

/// Returns the most probable state of a traffic light face, the first of equal ones.
pub(crate) fn state_of(status: [f32; 3]) -> &'static str {
    let mut found = 0;
    for state in 1..STATES.len() {
        if status[state] > status[found] || (status[found].is_nan() && !status[state].is_nan()) {
            found = state;
        }
    }
    STATES[found]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_labels_counts_and_nan_is_no_label() {
        let mut probabilities = [0.0; 17];
        assert_eq!(label_of(&probabilities), (0, 0.0));
        (probabilities[3], probabilities[12]) = (0.5, 0.5);
        assert_eq!(label_of(&probabilities), (3, 0.5));
        probabilities[0] = f32::NAN;
        assert_eq!(label_of(&probabilities), (3, 0.5));
        assert_eq!(state_of([0.2, 0.2, 0.1]), "active");
        assert_eq!(state_of([f32::NAN, 0.0, 0.1]), "unknown");
    }

    #[test]
    fn each_label_has_a_kind() {
        let of = |kind: &str| -> Vec<&str> {
            (0..LABELS.len()).filter(|label| KINDS[kind_of(*label)] == kind).map(|label| LABELS[label]).collect()
        };
        assert_eq!(of("cyclists"), ["bicycle", "motorcycle", "cyclist", "motorcyclist"]);
        assert_eq!(of("pedestrians"), ["pedestrian"]);
        assert_eq!(of("others"), ["not set", "unknown", "don't care", "animal", "don't care (AVResearch)"]);
        assert_eq!(of("vehicles").len(), 7);
    }
}
