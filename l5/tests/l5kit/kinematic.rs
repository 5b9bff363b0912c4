//! The fits of the motion of a car against NumPy 2.4 and SciPy 1.17, which solved the same problems.

use tetrys_l5::kinematic::{ExactFit, ExactSettings, fit_ackerman_model_approximate, fit_ackerman_model_exact};

const STEPS: usize = 12;

/// A slow turn to the left: x, y, yaw and speed of twelve steps.
fn turn() -> [Vec<f64>; 4] {
    let steps = || (1..=STEPS).map(|step| step as f64);
    [
        steps().map(|step| step * 0.9).collect(),
        steps().map(|step| 0.02 * step * step).collect(),
        steps().map(|step| 0.03 * step).collect(),
        vec![0.9; STEPS],
    ]
}

/// Compares the values of the steps 0, 5 and 11.
fn check<const N: usize>(found: [&[f64]; N], expected: [[f64; 3]; N]) {
    for (column, (found, expected)) in found.into_iter().zip(expected).enumerate() {
        for (step, expected) in [0, 5, 11].into_iter().zip(expected) {
            let difference = (found[step] - expected).abs();
            assert!(difference < 1e-9, "column {column}, step {step}: found {}, expected {expected}", found[step]);
        }
    }
}

fn fit(start: [f64; 4]) -> ExactFit {
    let ([x, y, yaw, speed], one, zero) = (turn(), [1.0; STEPS], [0.0; STEPS]);
    fit_ackerman_model_exact(start, [&x, &y, &yaw, &speed], [&one, &one, &one, &zero], ExactSettings::default()).unwrap()
}

fn columns(fit: &ExactFit) -> [&[f64]; 6] {
    [&fit.x, &fit.y, &fit.yaw, &fit.speed, &fit.acceleration, &fit.steer]
}

#[test]
fn an_exact_fit_equals_that_of_scipy() {
    let expected = [
        [1.148692993831024, 5.414154786834909, 10.800303069662734],
        [-0.39279699263104373, 0.7702816774130096, 2.715890982964185],
        [0.23945925708801405, 0.2842581961270736, 0.37709338917590673],
        [0.873620560678723, 0.9115410052243734, 0.9718091805391679],
        [-0.026379439321277016, 0.016320082096261918, 0.0024058561885567883],
        [0.03945925708801403, 0.013477020448849167, 0.005251691220250995],
    ];
    check(columns(&fit([0.3, -0.6, 0.2, 0.9])), expected);
}

#[test]
fn an_exact_fit_at_its_bounds_equals_that_of_scipy() {
    let expected = [
        [-0.06046577867251731, 0.15102871800317352, 8.98757286624915],
        [-3.9203514619749606, -3.8349265755544093, -5.813703533877255],
        [-0.9214601836602552, -0.528761101961531, -0.057522203923062176],
        [-0.09999999999999992, 0.5779063250795271, 1.9485578845667173],
        [-0.29999999999999993, 0.29999999999999993, 0.05238496890393847],
        [0.07853981633974481, 0.07853981633974481, 0.07853981633974481],
    ];
    check(columns(&fit([0.0, -4.0, -1.0, 0.2])), expected);
}

#[test]
fn an_approximate_fit_equals_that_of_numpy() {
    let [x, mut y, yaw, speed] = turn();
    y[5] += 1.5;
    let (mut some, five, zero) = ([0.0; STEPS], [5.0; STEPS], [0.0; STEPS]);
    [0, 5, 11].into_iter().for_each(|step| some[step] = 5.0);
    let fitted = fit_ackerman_model_approximate(
        [&x, &y, &yaw, &speed],
        [&five; 4].map(|weights| &weights[..]),
        [&some, &some, &some, &zero],
    );
    let expected = [
        [0.8815056533132613, 5.419532717270292, 10.798961629416448],
        [0.08351692309230858, 2.1275011951961518, 2.908981881711539],
        [0.22665281212123023, 0.22685682279433325, 0.28582009569492406],
        [0.9966009349832584, 0.9452144478772166, 0.8860807406227135],
    ];
    check(fitted.unwrap().each_ref().map(|column| &column[..]), expected);
}
