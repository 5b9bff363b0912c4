//! Fits the motion of a car to a trajectory: the two fits of L5Kit's `ackerman_steering_model`, which its perturbation uses.
//!
//! A trajectory has a position, a yaw and a speed for each step. The speed is the way of one step, so the model of the motion is
//! `x[i + 1] = x[i] + cos(r[i]) v[i]` and `y[i + 1] = y[i] + sin(r[i]) v[i]`. The results agree with
//! those of NumPy and SciPy to 10^-9 in all but a few cases. A long search for the exact fit amplifies rounding: there, SciPy's own
//! result moves by up to 2 mm if an input changes in its last place, and ours differs as much, at the same cost.

mod approximate;
mod exact;
mod trust_region;

pub use approximate::fit_ackerman_model_approximate;
pub use exact::{ExactFit, ExactSettings, fit_ackerman_model_exact, fit_ackerman_model_exact_until};

use tetrys::{Error, Result};

/// One value per step for each of x (m), y (m), yaw (rad) and speed (m per step).
pub type Columns<'a> = [&'a [f64]; 4];

/// The names of [`Columns`].
const NAMES: [&str; 4] = ["x", "y", "yaw", "speed"];

/// Checks that all columns have as many steps as the first one of `columns`, at least one, and that all values are finite.
fn check_columns(columns: &[(&str, Columns<'_>)]) -> Result<usize> {
    let steps = columns.first().map_or(0, |(_, columns)| columns[0].len());
    if steps == 0 {
        return Err(Error::invalid("trajectory: expected at least 1 step, found 0"));
    }
    for (what, columns) in columns {
        for (column, name) in columns.iter().zip(NAMES) {
            if column.len() != steps {
                return Err(Error::invalid(format!("{what} of {name}: expected {steps} steps, found {}", column.len())));
            }
            if let Some(step) = column.iter().position(|value| !value.is_finite()) {
                return Err(Error::invalid(format!(
                    "{what} of {name}, step {step}: expected a finite number, found {}",
                    column[step]
                )));
            }
        }
    }
    Ok(steps)
}
