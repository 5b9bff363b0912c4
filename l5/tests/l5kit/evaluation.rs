//! Compares metrics and files with values of an independent script: likelihoods in plain floats, and files by Python's `csv` module.

use tetrys::{ErrorKind, Result};
use tetrys_l5::evaluation::{
    Forecast, Metric, Modes, compute_metrics_csv, read_gt_csv, read_pred_csv, world_offsets, write_gt_csv, write_pred_csv,
};

/// A forecast from a small generator: ground truth, prediction, confidences and availabilities.
struct Case {
    truth: Vec<f64>,
    predicted: Vec<f64>,
    confidences: Vec<f64>,
    availabilities: Vec<f64>,
}

impl Case {
    fn new(mut state: u64, modes: usize, steps: usize) -> Self {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (((state >> 33) % 2001) as f64 - 1000.0) / 500.0
        };
        let truth = (0..2 * steps).map(|_| next()).collect();
        let predicted = (0..2 * steps * modes).map(|_| next()).collect();
        let mut confidences: Vec<f64> = (0..modes).map(|_| next().abs() + 0.1).collect();
        let sum: f64 = confidences.iter().sum();
        confidences.iter_mut().for_each(|confidence| *confidence /= sum);
        let availabilities = (0..steps).map(|_| if next() > -1.0 { 1.0 } else { 0.0 }).collect();
        Self { truth, predicted, confidences, availabilities }
    }

    fn forecast(&self) -> Forecast<'_> {
        Forecast::new(&self.truth, &self.predicted, &self.confidences, &self.availabilities, 2).unwrap()
    }
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{found}, expected {expected}");
    }
}

#[test]
fn metrics_are_those_of_the_formulas() {
    // Score, rmse, average displacement (oracle, mean), final displacement (oracle, mean).
    for (seed, modes, steps, expected) in [
        (
            1,
            3,
            4,
            [4.596490368411436, 1.51599643278133, 1.2509047480701927, 1.6183483904744627, 0.6127348529339587, 1.6140510999020499],
        ),
        (
            2,
            1,
            3,
            [
                1.7335460000000003,
                1.0750336428844138,
                0.9813822784257914,
                0.9813822784257914,
                1.5945218719101975,
                1.5945218719101975,
            ],
        ),
        (
            3,
            2,
            1,
            [
                1.655549214590564,
                1.819642390466085,
                1.4424479193371245,
                1.7129522490704527,
                1.4424479193371245,
                1.7129522490704527,
            ],
        ),
        (
            4,
            3,
            50,
            [
                100.61456787098044,
                2.0061362652719326,
                1.5761625138236643,
                1.6014745592312272,
                1.6328588426437844,
                1.8941178029845052,
            ],
        ),
    ] {
        let case = Case::new(seed, modes, steps);
        let forecast = case.forecast();
        let found = [
            forecast.neg_multi_log_likelihood(),
            forecast.rmse(),
            forecast.average_displacement_error(Modes::Oracle),
            forecast.average_displacement_error(Modes::Mean),
            forecast.final_displacement_error(Modes::Oracle),
            forecast.final_displacement_error(Modes::Mean),
        ];
        assert_close(&found, &expected);
    }
    let case = Case::new(1, 3, 4);
    assert_close(&case.forecast().prob_true_mode(), &[0.007531230089911344, 0.01647569288807955, 0.975993077022009]);
    let displaced = [1.1363696577611575, 2.1262660767419073, 1.1558315049208945, 0.638620131410142];
    assert_close(&case.forecast().time_displace(), &displaced);
}

#[test]
fn a_mode_without_confidence_and_far_modes_do_not_spoil_the_score() {
    let forecast = Forecast::new(&[0.0, 0.0], &[1e3, 0.0, 1e3, 1.0], &[1.0, 0.0], &[1.0], 2).unwrap();
    assert_eq!(forecast.neg_multi_log_likelihood(), 5e5);
    assert_eq!(forecast.prob_true_mode(), [1.0, 0.0]);
}

#[test]
fn forecasts_of_wrong_shape_or_value_are_invalid() {
    let (truth, one) = ([0.0, 0.0], [1.0]);
    for (truth, predicted, confidences, availabilities, coords) in [
        (&truth[..], &truth[..], &[0.5, 0.5][..], &one[..], 2),
        (&truth[..], &[][..], &[][..], &one[..], 2),
        (&truth[..1], &truth[..], &one[..], &one[..], 2),
        (&truth[..], &truth[..], &[0.9][..], &one[..], 2),
        (&truth[..], &[0.0, f64::NAN][..], &one[..], &one[..], 2),
        (&truth[..], &truth[..], &one[..], &[f64::INFINITY][..], 2),
        (&[][..], &[][..], &one[..], &[][..], 2),
        (&truth[..], &truth[..], &one[..], &one[..], 0),
    ] {
        let error = Forecast::new(truth, predicted, confidences, availabilities, coords).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert_eq!("rmse".parse::<Metric>().unwrap(), Metric::Rmse);
    assert!(Metric::ALL.iter().all(|metric| metric.name().parse::<Metric>().unwrap() == *metric));
    assert_eq!("mse".parse::<Metric>().unwrap_err().kind(), ErrorKind::NotFound);
}

const TIMESTAMPS: [i64; 2] = [1_572_643_684_801_892_606, 5];
const TRACKS: [u64; 2] = [7, (1 << 63) + 1];
const COORDS: [f64; 8] = [1.5, -2.25, 0.015625, 1e-9, -1e-9, 1_234_567.123_456_7, 3.0, 4.0];
const GROUND_TRUTH: &str = "timestamp,track_id,avail_0,avail_1,coord_x00,coord_y00,coord_x01,coord_y01\r\n\
    1572643684801892606,7,1.0,0.0,1.50000,-2.25000,0.01562,0.00000\r\n\
    5,9223372036854775809,1.0,1.0,-0.00000,1234567.12346,3.00000,4.00000\r\n";
const PREDICTIONS: &str = "timestamp,track_id,conf_0,conf_1,conf_2,coord_x00,coord_y00,coord_x01,coord_y01,\
    coord_x10,coord_y10,coord_x11,coord_y11,coord_x20,coord_y20,coord_x21,coord_y21\r\n\
    1572643684801892606,7,0.3,0.7,0.0,1.50000,-2.25000,0.01562,0.00000,2.50000,-1.25000,1.01562,1.00000,\
    0.00000,0.00000,0.00000,0.00000\r\n\
    5,9223372036854775809,1e-05,0.99999,0.0,-0.00000,1234567.12346,3.00000,4.00000,1.00000,1234568.12346,4.00000,5.00000,\
    0.00000,0.00000,0.00000,0.00000\r\n";

fn predictions() -> Result<String> {
    let modes: Vec<f64> =
        COORDS.chunks(4).flat_map(|mode| mode.iter().copied().chain(mode.iter().map(|coord| coord + 1.0))).collect();
    let mut csv = Vec::new();
    write_pred_csv(&mut csv, &TIMESTAMPS, &TRACKS, &modes, Some(&[0.3_f32, 0.7, 1e-5, 0.99999]), 2)?;
    Ok(String::from_utf8(csv).unwrap())
}

#[test]
fn files_have_the_bytes_that_python_writes() {
    let mut csv = Vec::new();
    write_gt_csv(&mut csv, &TIMESTAMPS, &TRACKS, &COORDS, &[1.0_f32, 0.0, 1.0, 1.0], 2).unwrap();
    assert_eq!(String::from_utf8(csv).unwrap(), GROUND_TRUTH);
    assert_eq!(predictions().unwrap(), PREDICTIONS);
    let mut csv = Vec::new();
    write_pred_csv(&mut csv, &[5_i64], &[7_i64], &[1.0, 2.0], None::<&[f64]>, 1).unwrap();
    assert!(String::from_utf8(csv).unwrap().ends_with("\r\n5,7,1.0,0.0,0.0,1.00000,2.00000,0.00000,0.00000,0.00000,0.00000\r\n"));
}

#[test]
fn arrays_that_do_not_fit_together_are_not_written() {
    let write = |confidences: &[f64], coords: usize| {
        write_pred_csv(Vec::new(), &[5_i64], &[7_i64], &vec![0.0; coords], Some(confidences), 1).map_err(|error| error.kind())
    };
    assert_eq!(write(&[0.5, 0.5], 4), Ok(()));
    assert_eq!(write(&[0.5, 0.5], 2), Err(ErrorKind::Invalid), "one mode of coordinates");
    assert_eq!(write(&[0.5, 0.4], 4), Err(ErrorKind::Invalid), "sum");
    assert_eq!(write(&[0.25; 4], 8), Err(ErrorKind::Invalid), "four modes");
    assert_eq!(write(&[], 0), Err(ErrorKind::Invalid), "no modes");
    assert!(write_gt_csv(Vec::new(), &[5_i64], &[7_i64, 8], &[0.0; 2], &[1.0], 1).is_err());
    assert!(write_gt_csv(Vec::new(), &[5_i64], &[7_i64], &[0.0; 3], &[1.0], 1).is_err());
    assert!(write_gt_csv(Vec::new(), &[5_i64], &[7_i64], &[0.0; 2], &[1.0], usize::MAX).is_err());
    assert!(write_pred_csv::<_, _, f64>(Vec::new(), &[5_i64], &[7_i64], &[0.0; 2], None, usize::MAX).is_err());
}

#[test]
fn files_are_read_by_the_names_of_their_columns() {
    let rows: Vec<_> = read_gt_csv(GROUND_TRUTH.as_bytes()).unwrap().collect::<Result<_>>().unwrap();
    assert_eq!((rows[0].timestamp.as_str(), rows[1].track_id.as_str()), ("1572643684801892606", "9223372036854775809"));
    assert_eq!((&rows[0].avails, &rows[0].coords), (&vec![1.0, 0.0], &vec![1.5, -2.25, 0.01562, 0.0]));
    let rows: Vec<_> = read_pred_csv(PREDICTIONS.as_bytes()).unwrap().collect::<Result<_>>().unwrap();
    assert_eq!((rows[1].coords.len(), &rows[1].confidences), (12, &vec![1e-5, 0.99999, 0.0]));

    let mixed = "coord_y00,\"track_id\",avail_0,coord_x00,timestamp\n\n2,7, 1 ,1e1,5\n3,8\n";
    let rows: Vec<_> = read_gt_csv(mixed.as_bytes()).unwrap().collect::<Result<_>>().unwrap();
    assert_eq!((rows[0].track_id.as_str(), &rows[0].coords, &rows[0].avails), ("7", &vec![10.0, 2.0], &vec![1.0]));
    assert!(rows[1].avails[0].is_nan(), "a field that is not there");
    for broken in ["", "timestamp,track_id,avail_0\n", "timestamp,track_id,avail_0,coord_x00,coord_z00\n"] {
        assert!(read_gt_csv(broken.as_bytes()).is_err(), "{broken:?}");
    }
    let word = "timestamp,track_id,avail_0,coord_x00,coord_y00\n5,7,1,here,2\n";
    let error = read_gt_csv(word.as_bytes()).unwrap().next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "line 2: could not convert \"here\" to a number");
}

#[test]
fn averages_are_taken_over_the_same_agents_of_both_files() {
    let cases = [Case::new(1, 3, 4), Case::new(5, 3, 4)];
    let all = |part: fn(&Case) -> &Vec<f64>| cases.iter().flat_map(|case| part(case).clone()).collect::<Vec<f64>>();
    let (mut truth, mut predicted) = (Vec::new(), Vec::new());
    write_gt_csv(&mut truth, &[5_i64, 6], &[7_i64, 7], &all(|case| &case.truth), &all(|case| &case.availabilities), 4).unwrap();
    let confidences = all(|case| &case.confidences);
    write_pred_csv(&mut predicted, &[5_i64, 6], &[7_i64, 7], &all(|case| &case.predicted), Some(&confidences), 4).unwrap();
    let averages = compute_metrics_csv(&truth[..], &predicted[..], &Metric::ALL).unwrap();
    assert_eq!(averages.iter().map(|(metric, _)| *metric).collect::<Vec<_>>(), Metric::ALL);
    for (metric, found) in averages {
        let [a, b] = [0, 1].map(|case: usize| metric.compute(&cases[case].forecast()));
        let expected: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (a + b) / 2.0).collect();
        assert_close(&found, &expected);
    }

    let mut other = Vec::new();
    write_gt_csv(&mut other, &[5_i64, 8], &[7_i64, 7], &all(|case| &case.truth), &all(|case| &case.availabilities), 4).unwrap();
    let error = compute_metrics_csv(&other[..], &predicted[..], &[Metric::Rmse]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the predictions have 2 agents, expected the 2 of the ground truth. Missing: 1, such as [\"78\"]. Unknown: 1, such as [\"76\"]"
    );
    assert!(compute_metrics_csv(&truth[..], &predicted[..], &[]).is_err());
    let (no_truth, no_predictions) = (first_line(&truth), first_line(&predicted));
    assert_eq!(compute_metrics_csv(no_truth, no_predictions, &[Metric::Rmse]).unwrap(), []);
}

fn first_line(csv: &[u8]) -> &[u8] {
    csv.split_inclusive(|byte| *byte == b'\n').next().unwrap()
}

#[test]
fn offsets_of_the_world_are_turned_but_not_shifted() {
    let mut offsets = [0.0; 4];
    let pose = [[0.0, -1.0, 100.0], [1.0, 0.0, 200.0], [0.0, 0.0, 1.0]];
    world_offsets(&[1.0, 0.0, 0.0, 2.0], &pose, [100.0, 200.0], &mut offsets);
    assert_eq!(offsets, [0.0, 1.0, -2.0, 0.0]);
}
