//! Averages metrics over a file of ground truth and a file of predictions: `compute_metrics_csv`.

use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;

use tetrys::{Error, Result};

use crate::evaluation::csv::{GroundTruthRow, PredictionRow, read_gt_csv, read_pred_csv};
use crate::evaluation::metrics::{Forecast, Metric};
use crate::geometry::{Matrix3, transform_point};

/// The number of agents that an error message names.
const NAMED: usize = 5;

/// Returns the average of each metric over all agents: one value, or one per mode or step. A file without agents gives no averages.
///
/// As in L5Kit, the texts of track id and timestamp, one after the other, name an agent; of two lines with one name, the last one counts.
///
/// # Errors
/// `Invalid` if the files do not have the same agents, where L5Kit raises `ValueError`; if no metric is given; and for lines that
/// [`Forecast::new`] does not take. Those of [`read_gt_csv`] and [`read_pred_csv`].
pub fn compute_metrics_csv(
    ground_truth: impl BufRead,
    predictions: impl BufRead,
    metrics: &[Metric],
) -> Result<Vec<(Metric, Vec<f64>)>> {
    if metrics.is_empty() {
        return Err(Error::invalid("no metric to compute"));
    }
    let truth = by_agent(read_gt_csv(ground_truth).map_err(of_truth)?, |row: &GroundTruthRow| (&row.track_id, &row.timestamp));
    let truth = truth.map_err(of_truth)?;
    let predicted =
        by_agent(read_pred_csv(predictions).map_err(of_predictions)?, |row: &PredictionRow| (&row.track_id, &row.timestamp));
    let predicted = predicted.map_err(of_predictions)?;
    check_same_agents(&truth, &predicted)?;

    let mut averages: Vec<(Metric, Vec<f64>)> = Vec::new();
    for metric in metrics {
        if averages.iter().all(|(other, _)| other != metric) {
            averages.push((*metric, Vec::new()));
        }
    }
    for (name, truth) in &truth.rows {
        let Some(row) = predicted.places.get(name).and_then(|place| predicted.rows.get(*place)) else { continue };
        let forecast = Forecast::new(&truth.coords, &row.1.coords, &row.1.confidences, &truth.avails, 2)
            .map_err(|error| error.at(format!("track {} at {}", truth.track_id, truth.timestamp)))?;
        for (metric, sums) in &mut averages {
            let values = metric.compute(&forecast);
            sums.resize(values.len(), 0.0);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
    let agents = truth.rows.len();
    averages.retain(|_| agents > 0);
    averages.iter_mut().flat_map(|(_, sums)| sums).for_each(|sum| *sum /= agents as f64);
    Ok(averages)
}

/// Writes the ground truth of an agent as offsets in the directions of the world, in metres: `[T, 2]`, as files of ground truth hold it.
///
/// `positions` are `target_positions` of its sample, `centroid` and `world_from_agent` its pose. The shorter of both slices sets the count.
pub fn world_offsets(positions: &[f32], world_from_agent: &Matrix3, centroid: [f64; 2], out: &mut [f64]) {
    for (offset, position) in out.as_chunks_mut::<2>().0.iter_mut().zip(positions.as_chunks::<2>().0) {
        let [x, y] = transform_point(world_from_agent, position.map(f64::from));
        *offset = [x - centroid[0], y - centroid[1]];
    }
}

/// The rows of a file, in the order in which their agents come first.
struct Agents<T> {
    rows: Vec<(String, T)>,
    places: HashMap<String, usize>,
}

fn by_agent<T>(rows: impl Iterator<Item = Result<T>>, name: impl Fn(&T) -> (&String, &String)) -> Result<Agents<T>> {
    let mut agents = Agents { rows: Vec::new(), places: HashMap::new() };
    for row in rows {
        let row = row?;
        let (track_id, timestamp) = name(&row);
        let name = format!("{track_id}{timestamp}");
        match agents.places.get(&name).and_then(|place| agents.rows.get_mut(*place)) {
            Some((_, before)) => *before = row,
            None => {
                agents.places.insert(name.clone(), agents.rows.len());
                agents.rows.push((name, row));
            }
        }
    }
    Ok(agents)
}

fn check_same_agents<A, B>(truth: &Agents<A>, predicted: &Agents<B>) -> Result<()> {
    let truth: BTreeSet<&String> = truth.places.keys().collect();
    let predicted: BTreeSet<&String> = predicted.places.keys().collect();
    if truth == predicted {
        return Ok(());
    }
    let some = |names: Vec<&&String>| match names.len() {
        0 => "none".to_owned(),
        len => format!("{len}, such as {:?}", &names[..len.min(NAMED)]),
    };
    Err(Error::invalid(format!(
        "the predictions have {} agents, expected the {} of the ground truth. Missing: {}. Unknown: {}",
        predicted.len(),
        truth.len(),
        some(truth.difference(&predicted).collect()),
        some(predicted.difference(&truth).collect())
    )))
}

fn of_truth(error: Error) -> Error {
    error.at("ground truth")
}

fn of_predictions(error: Error) -> Error {
    error.at("predictions")
}
