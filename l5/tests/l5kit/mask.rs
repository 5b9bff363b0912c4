//! Compares the counts of past and future with those that L5Kit computed (`agents_mask_0.5.npz`).

use crate::npz::Npz;
use crate::raw::Raw;
use tetrys_l5::mask::{Rejected, Thresholds, select_agents, valid_rows};

#[test]
fn counts_and_valid_rows_are_l5kits() {
    let (Some(golden), Some(npz)) = (Npz::golden("agents_mask_0.5.npz"), Npz::golden("raw.npz")) else { return };
    let raw = Raw::new(&npz);
    let mut counts = vec![[0; 2]; raw.track_ids.len()];
    let rejected = select_agents(&raw.frames(0..248), &Thresholds::new(0.5), &mut counts).unwrap();
    assert_eq!(counts.iter().flatten().map(|count| i64::from(*count)).collect::<Vec<_>>(), golden.i64("agents_mask_raw"));
    assert_eq!(rejected, Rejected { labels: 14_666, ego_distance: 2_341, hole: 0, yaw: 62, extent: 853 });
    let rows: Vec<i64> = valid_rows(&counts, 10, 1).map(|row| row as i64).collect();
    assert_eq!(rows, golden.i64("agents_indices"));
}
