//! Scores predictions against the ground truth, as L5Kit's `l5kit.evaluation` does.
//!
//! [`metrics`] has the competition's metrics of one forecast, [`csv`] the files with ground truth and predictions, and [`report`] the
//! averages over two files. [`closed_loop`] has the metrics of closed-loop evaluation.

pub mod closed_loop;
pub mod csv;
pub mod metrics;
pub mod number;
pub mod report;

pub use csv::{GroundTruthRow, PredictionRow, read_gt_csv, read_pred_csv, write_gt_csv, write_pred_csv};
pub use metrics::{Forecast, Metric, Modes};
pub use report::{compute_metrics_csv, world_offsets};
