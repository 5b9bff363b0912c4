//! Compares the counts of past and future with those that L5Kit computed (`agents_mask_0.5.npz`).

use crate::npz::Npz;
use crate::raw::Raw;
use tetrys::Result;
use tetrys_l5::arrays::Frames;
use tetrys_l5::mask::{Rejected, Thresholds, select_agents, select_agents_of, select_scenes, valid_rows};

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

#[test]
fn several_threads_give_the_rows_of_each_scene_in_its_place() {
    let (Some(golden), Some(npz)) = (Npz::golden("agents_mask_0.5.npz"), Npz::golden("raw.npz")) else { return };
    let raw = Raw::new(&npz);
    let expected = golden.i64("agents_mask_raw");
    for threads in [0, 1, 3, 100] {
        let mut seen = vec![0; 7];
        let visit = |_: usize, select: &mut dyn FnMut(&Frames<'_>) -> Result<()>| select(&raw.frames(0..248));
        let rejected = select_scenes(7, &Thresholds::new(0.5), threads, visit, |scene, counts| {
            assert_eq!(counts.iter().flatten().map(|count| i64::from(*count)).collect::<Vec<_>>(), expected);
            seen[scene] += 1;
            Ok(())
        });
        assert_eq!(rejected.unwrap().total(), 7 * 17_922);
        assert_eq!(seen, [1; 7]);
    }
    let (counts, _) = select_agents_of(&[raw.frames(0..248); 3], &Thresholds::new(0.5), 2).unwrap();
    assert_eq!(counts.iter().flatten().map(|count| i64::from(*count)).collect::<Vec<_>>(), expected.repeat(3));
}
