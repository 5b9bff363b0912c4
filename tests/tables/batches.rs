//! The data loader over real tables: every sample once an epoch with the values that a row loader reads, shared between ranks,
//! resumed anywhere, with damaged rows and failing stores.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{Arc, LazyLock},
};

use arrow_array::{Int64Array, RecordBatch};
use futures::{StreamExt, TryStreamExt};
use polars::prelude::{col, lit};
use tetrys::{
    Edge, ErrorKind, Offsets, Preset, RowLoader, Schema, Table, Window, WriteOptions,
    loader::{Batch, DataLoader, Last, LoaderOptions, LoaderState, OnError, Shuffle, Stop, Trace},
    store::{CountingStore, Fault, Faults, FaultyStore},
    table::Coalesce,
};

use crate::common::{
    self,
    tables::{self, Rng, Taste, cut_by, memory, over, rows_of, tiny_cuts},
};

/// Reads run ahead between two calls, so all calls of a loader are in one runtime.
static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| tokio::runtime::Runtime::new().unwrap());

fn block_on<T>(work: impl Future<Output = T>) -> T {
    RUNTIME.block_on(work)
}

const LOGS: [(&str, usize); 5] = [("a", 61), ("b", 1), ("c", 40), ("d", 7), ("e", 30)];
const ROWS: u64 = 139;

fn schema() -> Schema {
    Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("camera", [("camera.jpeg", "u8[?]"), ("camera.gain", "f32")])
        .group("ego", [("ego.pose", "f64[3,3]"), ("ego.note", "utf8")])
        .sequence_by(["log"])
        .order_by(["time"])
        .build()
        .unwrap()
}

fn written() -> RecordBatch {
    rows_of(&schema(), &mut Rng(common::seed()), &LOGS, Taste { nulls: 9, length: 300, smooth: false })
}

fn table() -> Table {
    let (_, store) = memory();
    block_on(tables::write(store, schema(), cut_by(tiny_cuts()).preset(Preset::Fast), &[written()])).unwrap()
}

/// Reads the rest of an epoch.
fn rest(loader: &mut DataLoader) -> Vec<Batch> {
    let mut batches = Vec::new();
    while let Some(batch) = block_on(loader.next()).unwrap() {
        batches.push(batch);
    }
    batches
}

fn positions(batches: &[Batch]) -> Vec<u64> {
    let real = |batch: &Batch| {
        batch.positions.iter().zip(&batch.padding).filter(|(_, fills)| !**fills).map(|(at, _)| *at).collect::<Vec<_>>()
    };
    batches.iter().flat_map(real).collect()
}

/// Compares a batch with what the row loader reads at its positions.
fn assert_batch(batch: &Batch, rows: &RowLoader, windows: &[(String, Window)]) {
    let of = |part: usize| batch.parts[part].rows().batch().clone();
    let names: Vec<String> = of(0).schema().fields().iter().map(|field| field.name().clone()).collect();
    let alone = block_on(rows.clone().columns(&names).unwrap().take(&batch.positions)).unwrap();
    assert_eq!(&of(0), alone.batch());
    for (part, (pattern, window)) in windows.iter().enumerate() {
        let read = rows.clone().edge(Edge::Pad).columns([pattern]).unwrap();
        let read = block_on(read.get_windows(&batch.positions, window)).unwrap();
        assert_eq!(&of(part + 1), read.rows().batch(), "{pattern}");
        assert_eq!((batch.parts[part + 1].starts(), batch.parts[part + 1].len()), (read.starts(), batch.positions.len()));
    }
}

#[test]
fn an_epoch_has_every_sample_once_with_its_values_whatever_the_mode_the_ranks_and_the_sizes() {
    let (table, mut rng) = (table(), Rng(common::seed()));
    let whole = block_on(table.index()).unwrap();
    let mut batches_seen = 0;
    for case in 0..common::cases(60) as u64 {
        // A filtered, sorted or repeated index, or the table itself.
        let index = match case % 4 {
            0 => whole.clone(),
            1 => whole.filter(col("time").gt(lit(rng.below(3) as i64 * 7))).unwrap(),
            2 => whole.sample(rng.below(ROWS) as usize + 1, case).unwrap(),
            _ => whole.with_frame(whole.frame().vstack(whole.frame()).unwrap()).unwrap(),
        };
        let rows = RowLoader::new(&index).unwrap().columns(["camera.*", "ego.*", "time"]).unwrap();
        let shuffle = *rng.pick(&[
            Shuffle::None,
            Shuffle::Global,
            Shuffle::Sequence,
            Shuffle::Block { rows: 0, window: 2 },
            Shuffle::Block { rows: 5, window: 3 },
        ]);
        let windows: Vec<(String, Window)> = match rng.below(3) {
            0 => vec![],
            1 => vec![("ego.pose".to_owned(), Window::Rows(Offsets::try_from(-2..=1).unwrap()))],
            _ => vec![
                ("camera.*".to_owned(), Window::Rows(Offsets::new([-7, 0]).unwrap())),
                ("ego.note".to_owned(), Window::Rows(Offsets::try_from(0..=2).unwrap())),
            ],
        };
        let (batch_size, world_size) = (rng.below(20) + 1, rng.below(3) + 1);
        let last = *rng.pick(&[Last::Drop, Last::Pad, Last::Short]);
        let prefetch = *rng.pick(&[1, 10_000, 1 << 30]);
        let options = |rank| {
            let options =
                LoaderOptions::new(batch_size).shuffle(shuffle).seed(case).rank(rank, world_size).last(last).prefetch(prefetch);
            windows.iter().fold(options, |options, (pattern, window)| options.window(pattern, window).unwrap())
        };
        let step = batch_size * world_size;
        let left = rows.len() % step;
        if last == Last::Short && left > 0 && left < world_size {
            let error = block_on(DataLoader::new(rows, options(0))).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            continue;
        }
        let (mut all, mut lens) = (Vec::new(), BTreeSet::new());
        for rank in 0..world_size {
            let mut loader = block_on(DataLoader::new(rows.clone(), options(rank))).unwrap();
            let batches = rest(&mut loader);
            assert_eq!((batches.len() as u64, loader.epoch()), (loader.len(), 1));
            lens.insert(batches.len());
            batches.iter().for_each(|batch| assert_batch(batch, &rows, &windows));
            batches_seen += batches.len();
            all.extend(positions(&batches));
        }
        assert_eq!(lens.len(), 1, "all ranks do the same number of steps");
        let (mut found, mut expected) = (BTreeMap::new(), rows.len());
        all.iter().for_each(|position| *found.entry(*position).or_insert(0) += 1);
        if last == Last::Drop {
            expected -= left;
        }
        assert!(found.values().all(|times| *times == 1) && found.len() as u64 == expected, "{shuffle:?} {last:?}: {found:?}");
    }
    println!("{batches_seen} batches compared");
}

#[test]
fn a_loader_resumes_behind_any_step_with_other_batch_sizes_and_ranks() {
    let (table, mut rng) = (table(), Rng(common::seed()));
    let rows = table.row_loader().columns(["ego.*"]).unwrap();
    for shuffle in [Shuffle::None, Shuffle::Global, Shuffle::Sequence, Shuffle::Block { rows: 0, window: 2 }] {
        let options = |batch_size| LoaderOptions::new(batch_size).shuffle(shuffle).seed(3).last(Last::Short);
        let mut loader = block_on(DataLoader::new(rows.clone(), options(8))).unwrap();
        rest(&mut loader);
        let order = positions(&rest(
            &mut block_on(DataLoader::new(rows.clone(), options(8)))
                .map(|mut one| {
                    rest(&mut one);
                    one
                })
                .unwrap(),
        ));
        let mut states = vec![(0, loader.state())];
        let mut done = 0;
        while let Some(batch) = block_on(loader.next()).unwrap() {
            done += batch.positions.len();
            states.push((done, loader.state()));
        }
        assert_eq!((done, states.len()), (ROWS as usize, 19));
        for (done, state) in states {
            let text = serde_json::to_string(&state).unwrap();
            assert!(text.len() < 1024, "{} bytes", text.len());
            let state: LoaderState = serde_json::from_str(&text).unwrap();
            let (batch_size, world_size) = (rng.below(30) + 1, 1);
            // Another seed: that of the state holds.
            let mut again = block_on(DataLoader::new(rows.clone(), options(batch_size).seed(99).rank(0, world_size))).unwrap();
            again.load_state(&state).unwrap();
            if done == ROWS as usize {
                assert_eq!(
                    (again.epoch(), again.remaining()),
                    (2, again.len()),
                    "a state behind the last step begins the next epoch"
                );
                continue;
            }
            assert_eq!(positions(&rest(&mut again)), order[done..], "{shuffle:?} behind {done} samples");
            // Several ranks share the rest, in the same order.
            let world_size = rng.below(4) + 2;
            let ranks: Vec<Vec<Batch>> = (0..world_size)
                .map(|rank| {
                    let options = options(batch_size).last(Last::Pad).rank(rank, world_size);
                    let mut again = block_on(DataLoader::new(rows.clone(), options)).unwrap();
                    again.load_state(&state).unwrap();
                    rest(&mut again)
                })
                .collect();
            let shared: Vec<u64> = (0..ranks[0].len())
                .flat_map(|step| (0..batch_size as usize).map(move |place| (step, place)))
                .flat_map(|(step, place)| ranks.iter().map(move |batches| &batches[step]).map(move |batch| (batch, place)))
                .filter(|(batch, place)| !batch.padding[*place])
                .map(|(batch, place)| batch.positions[place])
                .collect();
            assert_eq!(shared, order[done..], "{world_size} ranks");
        }
    }
}

#[test]
fn the_state_of_another_loader_is_refused_by_name() {
    let table = table();
    let rows = || table.row_loader().columns(["ego.*"]).unwrap();
    let of = |rows: RowLoader, options: LoaderOptions| block_on(DataLoader::new(rows, options)).unwrap();
    let plain = || LoaderOptions::new(8);
    let mut loader = of(rows(), plain());
    let longer = block_on(async {
        let writer = table.append(WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&rows_of(&schema(), &mut Rng(7), &[("f", 3)], Taste::SMALL)).await.unwrap();
        writer.commit([partition.finish().await.unwrap()]).await.unwrap()
    });
    let index = block_on(table.index()).unwrap().filter(col("log").neq(lit("b"))).unwrap();
    let filtered = RowLoader::new(&index).unwrap().columns(["ego.*"]).unwrap();
    let windowed = plain().window("ego.pose", -1..=0).unwrap();
    for (other, what) in [
        (of(self::table().row_loader().columns(["ego.*"]).unwrap(), plain()), "the tables"),
        (of(longer.row_loader().columns(["ego.*"]).unwrap(), plain()), "the content of the tables"),
        (of(filtered, plain()), "the rows of the index"),
        (of(rows().columns(["ego.pose"]).unwrap(), plain()), "the columns or windows"),
        (of(rows(), windowed), "the columns or windows"),
        (of(rows(), plain().shuffle(Shuffle::Sequence)), "the mode of the order"),
        (of(rows(), plain().weights(vec![1.0; ROWS as usize], true, None)), "the mode of the order"),
    ] {
        let error = loader.load_state(&other.state()).unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(what), "{what}: {error}");
    }
    let json = |from: &str, to: &str| {
        let text = serde_json::to_string(&loader.state()).unwrap().replace(from, to);
        serde_json::from_str::<LoaderState>(&text).unwrap()
    };
    let (later, beyond) = (json("\"format\":2", "\"format\":3"), json("\"offset\":0", "\"offset\":140"));
    assert_eq!(loader.load_state(&later).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(loader.load_state(&beyond).unwrap_err().to_string().contains("offset 140 in an epoch of 139 samples"));
    // The loader goes on as before.
    assert_eq!(rest(&mut loader).len(), 17);
}

/// Returns the samples of all reads in a trace.
fn read_in(trace: &Path) -> u64 {
    let text = fs::read_to_string(trace).unwrap();
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u64>().unwrap();
    let found = text.split("\"samples\":").skip(1).map(|rest| digits(rest.trim_start()));
    // Two events of each read: its begin and its end.
    found.sum::<u64>() / 2
}

/// Waits until reads that nobody waits for have read as many samples.
fn wait_for(trace: &Path, samples: u64) -> u64 {
    let begun = std::time::Instant::now();
    loop {
        let read = read_in(trace);
        if read >= samples {
            return read;
        }
        assert!(begun.elapsed().as_secs() < 600, "{read} samples are read, expected {samples}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn the_first_batches_of_the_next_epoch_are_read_before_an_epoch_ends_and_only_once() {
    let (table, folder) = (table(), tempfile::tempdir().unwrap());
    let rows = table.row_loader().columns(["ego.pose"]).unwrap();
    let options = || LoaderOptions::new(1).prefetch(1200).seed(5);
    let expected = |epoch: u64| {
        let mut alone = block_on(DataLoader::new(rows.clone(), options())).unwrap();
        alone.set_epoch(epoch);
        positions(&rest(&mut alone))
    };
    let trace = folder.path().join("trace.json");
    let mut loader = block_on(DataLoader::new(rows.clone(), options())).unwrap();
    loader.set_trace(Trace::create(&trace).unwrap());
    let mut rng = Rng(common::seed());
    assert_eq!(positions(&rest(&mut loader)), expected(0));
    // Half of the bound holds two plans of four samples of 72 bytes, which are less than a tenth of an epoch.
    let ahead = 8;
    assert_eq!(wait_for(&trace, ROWS + ahead), ROWS + ahead);
    // A clone, a loader with the state, or the loader itself runs the next epoch, with the batches that are there.
    for epoch in 1..6 {
        let clone = match rng.below(3) {
            0 => loader.clone(),
            1 => {
                let mut other = loader.clone();
                other.load_state(&loader.state()).unwrap();
                other
            }
            _ => std::mem::replace(&mut loader, block_on(DataLoader::new(rows.clone(), options())).unwrap()),
        };
        loader = clone;
        assert_eq!(positions(&rest(&mut loader)), expected(epoch), "epoch {epoch}");
        assert_eq!(
            wait_for(&trace, (epoch + 1) * ROWS + ahead),
            (epoch + 1) * ROWS + ahead,
            "epoch {epoch}: each batch is read once"
        );
    }
    // Another seed, and an epoch that does not follow, have batches of their own.
    let mut seeded = block_on(DataLoader::new(rows.clone(), options().seed(6))).unwrap();
    let state = seeded.state();
    let other = positions(&rest(&mut seeded));
    loader.load_state(&state).unwrap();
    assert_eq!(positions(&rest(&mut loader)), other);
    loader.set_epoch(9);
    assert_ne!(positions(&rest(&mut loader)), expected(9), "of the other seed");
}

#[test]
fn more_of_the_next_epoch_is_read_once_an_epoch_has_begun_with_what_was_read_before() {
    let (table, folder) = (table(), tempfile::tempdir().unwrap());
    let rows = table.row_loader().columns(["ego.pose"]).unwrap();
    let trace = folder.path().join("trace.json");
    // Half of the bound holds two plans of 13 samples of 72 bytes, of which one is less than a tenth of an epoch.
    let mut loader = block_on(DataLoader::new(rows, LoaderOptions::new(1).prefetch(4000).seed(5))).unwrap();
    loader.set_trace(Trace::create(&trace).unwrap());
    for (epoch, ahead) in [13, 26, 26, 26].into_iter().enumerate() {
        rest(&mut loader);
        let expected = (epoch as u64 + 1) * ROWS + ahead;
        assert_eq!(wait_for(&trace, expected), expected, "epoch {epoch}");
    }
}

#[test]
fn the_next_epoch_of_a_mix_is_that_of_its_weights_also_after_a_change_within_an_epoch() {
    let table = table();
    let rows = table.row_loader().columns(["ego.pose"]).unwrap();
    let options = || LoaderOptions::new(1).prefetch(1200).seed(5);
    let mixed = |weights: &[f64]| {
        let loaders = [options(), options().seed(6)].map(|options| block_on(DataLoader::new(rows.clone(), options)).unwrap());
        DataLoader::mix(&loaders, weights, Stop::First).unwrap()
    };
    let all = |batches: &[Batch]| -> Vec<_> {
        batches.iter().map(|batch| (batch.positions.clone(), batch.sources.clone(), batch.padding.clone())).collect()
    };
    let mut rng = Rng(common::seed());
    for _ in 0..6 {
        let (mut first, weights) = (mixed(&[9.0, 1.0]), [1.0 + rng.below(9) as f64, 1.0]);
        for _ in 0..rng.below(first.len()) {
            block_on(first.next()).unwrap();
        }
        let mut changed = mixed(&weights);
        changed.load_state(&first.state()).unwrap();
        rest(&mut changed);
        let mut alone = mixed(&weights);
        alone.set_epoch(1);
        assert_eq!(all(&rest(&mut changed)), all(&rest(&mut alone)), "{weights:?}");
    }
}

#[test]
fn impossible_options_are_refused_before_the_first_batch() {
    let table = table();
    let rows = || table.row_loader().columns(["ego.*"]).unwrap();
    let few = |weight: f64| vec![weight; 3];
    for (options, text) in [
        (LoaderOptions::new(0), "batch size 0"),
        (LoaderOptions::new(1).rank(0, 0), "world size 0"),
        (LoaderOptions::new(1).rank(2, 2), "rank 2: expected 0 to 1"),
        (
            LoaderOptions::new(70).rank(0, 2).last(Last::Short).shuffle(Shuffle::Block { rows: 3, window: 0 }),
            "window of 0 blocks",
        ),
        (LoaderOptions::new(69).rank(0, 2).last(Last::Short), "1 sample for 2 ranks"),
        (LoaderOptions::new(1).weights(few(1.0), true, None), "3 weights, expected one for each of 139 positions"),
        (LoaderOptions::new(1).balanced(vec![0; 3], None), "3 class numbers, expected"),
        (LoaderOptions::new(1).window("lidar.*", 0..=1).unwrap(), "lidar.*"),
        (LoaderOptions::new(1).window("ego.*", 0..=1).unwrap().window("ego.pose", 0..=0).unwrap(), "`ego.pose` has two windows"),
        (
            LoaderOptions::new(1).weights(vec![1.0; ROWS as usize], true, None).shuffle(Shuffle::None),
            "global shuffle, found no shuffle",
        ),
        (
            LoaderOptions::new(1).window("ego.*", 0..10_001).unwrap(),
            "10001 offsets: expected at most 10000, because the table has",
        ),
        (
            LoaderOptions::new(1000).window("ego.*", 0..200_000).unwrap(),
            "a batch of 139 windows of 200000 rows each: expected at most 16777216 rows in all",
        ),
    ] {
        let error = block_on(DataLoader::new(rows(), options)).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound) && error.to_string().contains(text),
            "{text}: {error}"
        );
    }
}

#[test]
fn incomplete_windows_and_drawn_samples_are_chosen_as_asked() {
    let table = table();
    let rows = table.row_loader().columns(["ego.*"]).unwrap();
    let options = || LoaderOptions::new(4).last(Last::Short).window("ego.pose", -2..=1).unwrap().skip_incomplete(true);
    for shuffle in [Shuffle::Global, Shuffle::Sequence, Shuffle::Block { rows: 0, window: 2 }] {
        let mut loader = block_on(DataLoader::new(rows.clone(), options().shuffle(shuffle))).unwrap();
        let batches = rest(&mut loader);
        assert!(batches.iter().all(|batch| batch.parts[1].rows().mask().iter().all(|there| *there)));
        let mut found = positions(&batches);
        found.sort_unstable();
        let (mut expected, mut start) = (Vec::new(), 0);
        for (_, len) in LOGS {
            expected.extend((start..start + len as u64).filter(|row| *row >= start + 2 && row + 1 < start + len as u64));
            start += len as u64;
        }
        assert_eq!(found, expected);
    }
    let weights: Vec<f64> = (0..ROWS).map(|row| f64::from(u8::from(row % 10 == 0))).collect();
    let drawn = LoaderOptions::new(5).weights(weights, true, Some(50));
    let batches = rest(&mut block_on(DataLoader::new(rows, drawn)).unwrap());
    assert!(batches.len() == 10 && positions(&batches).iter().all(|row| row % 10 == 0));
}

#[test]
fn windows_over_a_gap_in_time_are_left_out_whatever_the_index_keeps() {
    let mut rng = Rng(common::seed());
    // Times with a step of 100 or 250 between rows; in a log they ascend.
    let times: Vec<i64> = (0..ROWS as i64)
        .scan(0, |time, _| {
            *time += if rng.once_in(6) { 250 } else { 100 };
            Some(*time)
        })
        .collect();
    let batch = written();
    let fields = batch.schema();
    let columns = fields.fields().iter().zip(batch.columns()).map(|(field, column)| {
        let column = if field.name() == "time" { Arc::new(Int64Array::from(times.clone())) } else { Arc::clone(column) };
        (field.name().clone(), column)
    });
    let batch = RecordBatch::try_from_iter(columns.collect::<Vec<_>>()).unwrap();
    let (_, store) = memory();
    let table = block_on(tables::write(store, schema(), cut_by(tiny_cuts()).preset(Preset::Fast), &[batch])).unwrap();
    let index = block_on(table.index()).unwrap();
    let kept = index.filter((col("time") % lit(4)).eq(lit(0)).not()).unwrap();
    let log = LOGS.iter().enumerate().flat_map(|(log, (_, len))| std::iter::repeat_n(log, *len)).collect::<Vec<_>>();
    for index in [index, kept] {
        let rows = RowLoader::new(&index).unwrap().columns(["ego.*"]).unwrap();
        let of: Vec<i64> = index.frame().column("time").unwrap().i64().unwrap().into_no_null_iter().collect();
        let of: Vec<i64> = of.iter().map(|time| times.binary_search(time).unwrap() as i64).collect();
        for (most, first, last) in [("100", -2_i64, 1_i64), ("249", 1, 2), ("250", -1, 0)] {
            let options = LoaderOptions::new(4).last(Last::Short).window("ego.pose", first..=last).unwrap();
            let options = options.max_step(most).unwrap();
            let mut found = positions(&rest(&mut block_on(DataLoader::new(rows.clone(), options)).unwrap()));
            found.sort_unstable();
            let most: i64 = most.parse().unwrap();
            let is_whole = |row: i64| {
                let (from, to) = ((row + first.min(0)) as usize, row + last.max(0));
                to < ROWS as i64
                    && row + first.min(0) >= 0
                    && log[from] == log[to as usize]
                    && (from..to as usize).all(|row| times[row + 1] - times[row] <= most)
            };
            let expected: Vec<u64> = (0..of.len() as u64).filter(|at| is_whole(of[*at as usize])).collect();
            assert!(!expected.is_empty() && expected.len() < of.len(), "{} of {}", expected.len(), of.len());
            assert_eq!(found, expected, "{most} {first} {last}");
        }
    }
    let rows = table.row_loader();
    let invalid = |most: &str| LoaderOptions::new(4).max_step(most).unwrap_err().to_string();
    assert!(invalid("-1").contains("max_step -1: expected 0 or more") && invalid("soon").contains("`soon`"));
    let options = LoaderOptions::new(4).window("ego.pose", -2..=1).unwrap().max_step("1ms").unwrap();
    let error = block_on(DataLoader::new(rows, options)).unwrap_err().to_string();
    assert!(error.contains("`time` has no unit of time"), "{error}");
}

#[test]
fn mixed_loaders_give_their_samples_by_weight_with_their_values_and_continue_anywhere() {
    let mut rng = Rng(common::seed());
    let (one, other) = (table(), table());
    let whole = block_on(other.index()).unwrap();
    let few = whole.sample(41, 3).unwrap();
    for case in 0..common::cases(30) as u64 {
        let modes = [Shuffle::None, Shuffle::Global, Shuffle::Sequence, Shuffle::Block { rows: 5, window: 3 }];
        let (ranks, batch_size) = (rng.below(3) + 1, rng.below(9) + 1);
        let last = *rng.pick(&[Last::Drop, Last::Pad]);
        let stop = *rng.pick(&[Stop::First, Stop::Longest, Stop::Samples(333)]);
        let weights = *rng.pick(&[[3.0, 1.0], [1.0, 1.0], [0.2, 5.0]]);
        let (mode, other_mode) = (*rng.pick(&modes), *rng.pick(&modes));
        let windows = vec![("ego.pose".to_owned(), Window::Rows(Offsets::try_from(-2..=1).unwrap()))];
        let rows = [one.row_loader(), RowLoader::new(&few).unwrap()].map(|rows| rows.columns(["camera.*", "ego.*"]).unwrap());
        let loader = |rank: u64, world: u64, weights: [f64; 2]| {
            let options = |seed, mode| {
                let options =
                    LoaderOptions::new(batch_size * ranks / world).shuffle(mode).seed(seed).rank(rank, world).last(last);
                options.window("ego.pose", -2..=1).unwrap()
            };
            let [a, b] = [(0, options(case, mode)), (1, options(case + 9, other_mode))]
                .map(|(number, options)| block_on(DataLoader::new(rows[number].clone(), options)).unwrap());
            DataLoader::mix([&a, &b], &weights, stop).unwrap()
        };
        let epoch = |loader: &mut DataLoader| {
            let batches = rest(loader);
            for batch in &batches {
                for source in 0..2_u32 {
                    assert_mixed(batch, source, &rows[source as usize], &windows);
                }
            }
            batches
        };
        // Each sample of each rank's batches, in the order of the epoch.
        let drawn = |batches: &[Vec<Batch>]| -> Vec<(u32, u64)> {
            let samples = |batch: &Batch, place: usize| Some((*batch.sources.get(place)?, *batch.positions.get(place)?));
            let steps = batches[0].len();
            let size = usize::try_from(batch_size).unwrap();
            let places = (0..steps).flat_map(|step| (0..size).map(move |place| (step, place)));
            places
                .flat_map(|(step, place)| {
                    batches.iter().filter_map(move |rank| {
                        let batch = &rank[step];
                        samples(batch, place).filter(|_| !batch.padding[place])
                    })
                })
                .collect()
        };
        let mut all: Vec<DataLoader> = (0..ranks).map(|rank| loader(rank, ranks, weights)).collect();
        let first = drawn(&all.iter_mut().map(epoch).collect::<Vec<_>>());
        let second = drawn(&all.iter_mut().map(epoch).collect::<Vec<_>>());
        let in_order = matches!((mode, other_mode), (Shuffle::None, Shuffle::None));
        assert!(in_order || first.len() < 20 || first != second);
        let total = all[0].samples() as usize;
        assert_eq!(
            first.len(),
            if last == Last::Drop { total / (ranks * batch_size) as usize * (ranks * batch_size) as usize } else { total }
        );
        // One rank alone sees the same samples, and continues where others were.
        let mut alone = loader(0, 1, weights);
        let steps = rng.below(alone.len() + 1);
        let before: Vec<Batch> = (0..steps).map(|_| block_on(alone.next()).unwrap().unwrap()).collect();
        let state: LoaderState = serde_json::from_str(&serde_json::to_string(&alone.state()).unwrap()).unwrap();
        assert!(serde_json::to_string(&state).unwrap().len() <= 1024 + 2 * 256);
        let of = |batches: &[Batch]| -> Vec<(u32, u64)> {
            let pairs = |batch: &Batch| {
                let all = batch.sources.iter().copied().zip(batch.positions.iter().copied()).zip(batch.padding.clone());
                all.filter(|(_, fills)| !fills).map(|(pair, _)| pair).collect::<Vec<_>>()
            };
            batches.iter().flat_map(pairs).collect()
        };
        assert_eq!(of(&before), first[..of(&before).len()]);
        if steps < alone.len() {
            let mut resumed: Vec<DataLoader> = (0..ranks).map(|rank| loader(rank, ranks, weights)).collect();
            resumed.iter_mut().for_each(|loader| loader.load_state(&state).unwrap());
            assert_eq!(drawn(&resumed.iter_mut().map(epoch).collect::<Vec<_>>()), first[of(&before).len()..]);
            // With other weights, no sample of the first pass comes twice before its loader has given all.
            let mut changed = loader(0, 1, [1.0, 2.0]);
            changed.load_state(&state).unwrap();
            // The epoch may be over with these weights: the next batch is then of another epoch, in another order.
            let after = if steps < changed.len() { of(&epoch(&mut changed)) } else { Vec::new() };
            let mut counts = [0_usize; 2];
            let mut seen: [BTreeSet<u64>; 2] = Default::default();
            for (source, position) in of(&before).into_iter().chain(after) {
                let (count, len) = (&mut counts[source as usize], [ROWS as usize, 41][source as usize]);
                *count += 1;
                assert!(seen[source as usize].insert(position) || *count > len);
            }
        }
    }
    // What cannot be mixed is refused.
    let loader = |columns: &str, size| {
        block_on(DataLoader::new(one.row_loader().columns([columns]).unwrap(), LoaderOptions::new(size))).unwrap()
    };
    let refused =
        |a: &DataLoader, b: &DataLoader, weights: &[f64]| DataLoader::mix([a, b], weights, Stop::First).unwrap_err().to_string();
    let (ego, camera) = (loader("ego.*", 4), loader("camera.*", 4));
    assert!(refused(&ego, &camera, &[1.0, 1.0]).contains("loader 1 of a mix has columns camera.jpeg"));
    assert!(refused(&ego, &loader("ego.*", 5), &[1.0, 1.0]).contains("loader 1 of a mix has batches of 5 on rank 0 of 1"));
    assert!(refused(&ego, &ego, &[1.0]).contains("2 loaders with 1 weights"));
    assert!(refused(&ego, &ego, &[1.0, -1.0]).contains("weight of loader 1: -1"));
    let mixed = DataLoader::mix([&ego, &ego], &[1.0, 1.0], Stop::First).unwrap();
    assert!(refused(&ego, &mixed, &[1.0, 1.0]).contains("loader 1 of a mix is a mix itself"));
    let error = loader("ego.*", 4).load_state(&mixed.state()).unwrap_err().to_string();
    assert!(error.contains("loader state"), "{error}");
    assert!(DataLoader::mix([], &[], Stop::First).is_err());
}

/// Compares the samples of one source in a batch with what its row loader reads.
fn assert_mixed(batch: &Batch, source: u32, rows: &RowLoader, windows: &[(String, Window)]) {
    let places: Vec<usize> = (0..batch.positions.len()).filter(|place| batch.sources[*place] == source).collect();
    let positions: Vec<u64> = places.iter().map(|place| batch.positions[*place]).collect();
    for (part, part_windows) in batch.parts.iter().enumerate() {
        let names: Vec<String> = part_windows.rows().batch().schema().fields().iter().map(|field| field.name().clone()).collect();
        let rows = rows.clone().edge(Edge::Pad).columns(&names).unwrap();
        let read = match part.checked_sub(1) {
            None => block_on(rows.take(&positions)).unwrap(),
            Some(window) => block_on(rows.get_windows(&positions, &windows[window].1)).unwrap().rows().clone(),
        };
        let wide = read.len() / places.len().max(1);
        for (number, place) in places.iter().enumerate() {
            let ours = part_windows.get(*place).unwrap();
            assert_eq!(ours.batch(), &read.batch().slice(number * wide, wide));
            assert_eq!(ours.mask(), read.mask()[number * wide..(number + 1) * wide]);
        }
    }
}

#[test]
fn a_damaged_row_fails_its_batch_or_is_left_out_and_the_loader_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (table, bad) = damaged(folder.path());
    let blocks = Shuffle::Block { rows: 5, window: 3 };
    for (batch, shuffle) in [(4, Shuffle::Global), (4, blocks), (40, blocks)] {
        damaged_rows_are_left_out(&table, &bad, batch, shuffle);
    }
}

fn damaged_rows_are_left_out(table: &Table, bad: &BTreeSet<u64>, batch: usize, shuffle: Shuffle) {
    let rows = table.row_loader();
    let loader = |on_error| {
        // Few windows of 15 rows fit into a plan, so that batches are read in parts.
        let options =
            LoaderOptions::new(batch as u64).last(Last::Short).seed(1).shuffle(shuffle).prefetch(50_000).on_error(on_error);
        block_on(DataLoader::new(rows.clone(), options)).unwrap()
    };
    let (mut raising, mut failed, mut good) = (loader(OnError::Raise), 0, Vec::new());
    loop {
        match block_on(raising.next()) {
            Ok(Some(batch)) => good.extend(batch.positions),
            Ok(None) => break,
            Err(error) => {
                assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains("sample at position"), "{error}");
                failed += 1;
            }
        }
    }
    assert!(failed > 0 && good.len() + batch * failed >= ROWS as usize && good.iter().all(|row| !bad.contains(row)));
    let mut skipping = loader(OnError::Skip { limit: bad.len() as u64 });
    let mut found = positions(&rest(&mut skipping));
    found.sort_unstable();
    assert_eq!(found, (0..ROWS).filter(|row| !bad.contains(row)).collect::<Vec<_>>());
    assert_eq!(skipping.stats().skipped, bad.len() as u64);
    let mut limited = loader(OnError::Skip { limit: bad.len() as u64 - 1 });
    let errors = (0..35).filter_map(|_| block_on(limited.next()).err()).collect::<Vec<_>>();
    assert!(errors.first().is_some_and(|error| error.to_string().contains("could not be read, at most")), "{errors:?}");
}

/// Writes a table with a damaged chunk. Returns it with the rows that cannot be read.
fn damaged(folder: &Path) -> (Table, BTreeSet<u64>) {
    let url = folder.join("t").display().to_string();
    let store = tetrys::Store::open(&url).unwrap();
    block_on(tables::write(store, schema(), cut_by(tiny_cuts()).preset(Preset::Fast), &[written()])).unwrap();
    damage_a_chunk(&folder.join("t/chunks"));
    let table = block_on(Table::open(&url)).unwrap();
    let rows = table.row_loader();
    let bad: BTreeSet<u64> = (0..ROWS).filter(|row| block_on(rows.take(&[*row])).is_err()).collect();
    assert!(!bad.is_empty() && bad.len() < 100, "{} damaged rows", bad.len());
    (table, bad)
}

/// Flips a bit in the middle of the largest chunk.
fn damage_a_chunk(folder: &Path) {
    let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let chunks = folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let largest = chunks.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let mut bytes = fs::read(&largest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::remove_file(&largest).unwrap();
    fs::write(&largest, bytes).unwrap();
}

#[test]
fn a_caller_that_stops_waiting_loses_no_batch_and_sequences_stay_together_in_any_index() {
    let table = table();
    let rows = table.row_loader();
    let blocks = Shuffle::Block { rows: 3, window: 7 };
    for (prefetch, shuffle) in [(1, Shuffle::Global), (1 << 30, Shuffle::Global), (50_000, blocks), (1 << 30, blocks)] {
        let options = || LoaderOptions::new(8).last(Last::Short).seed(2).prefetch(prefetch).shuffle(shuffle);
        let order = positions(&rest(&mut block_on(DataLoader::new(rows.clone(), options())).unwrap()));
        let mut loader = block_on(DataLoader::new(rows.clone(), options())).unwrap();
        let (mut found, mut given_up) = (Vec::new(), 0);
        loop {
            let next = block_on(async { tokio::time::timeout(std::time::Duration::from_micros(300), loader.next()).await });
            match next {
                Ok(batch) => match batch.unwrap() {
                    Some(batch) => found.extend(batch.positions),
                    None => break,
                },
                Err(_) => given_up += 1,
            }
        }
        assert_eq!(found, order, "{given_up} calls were given up");
    }
    // An index in which the rows of the logs alternate.
    let index = block_on(table.index()).unwrap().sort(["time"], false).unwrap();
    let logs: Vec<String> = index.frame().column("log").unwrap().str().unwrap().iter().flatten().map(str::to_owned).collect();
    let mixed = RowLoader::new(&index).unwrap().columns(["ego.*"]).unwrap();
    let options = LoaderOptions::new(1).shuffle(Shuffle::Sequence);
    let order = positions(&rest(&mut block_on(DataLoader::new(mixed, options)).unwrap()));
    let mut of_logs: Vec<&str> = order.iter().map(|position| logs[*position as usize].as_str()).collect();
    of_logs.dedup();
    assert_eq!((of_logs.len(), order.len()), (LOGS.len(), ROWS as usize), "each log once, whole");
}

#[test]
fn a_store_that_fails_now_and_then_delays_batches_and_loses_none() {
    let (objects, store) = memory();
    block_on(tables::write(store, schema(), WriteOptions::default(), &[written()])).unwrap();
    let every_seventh = (0..100_000).step_by(7).fold(Faults::none(), |faults, operation| faults.at(operation + 3, Fault::Before));
    let faulty = FaultyStore::new(objects);
    let table = block_on(Table::open_in(over(Arc::new(faulty.clone())))).unwrap();
    faulty.arm(every_seventh);
    // Without coalescing, every row is a request.
    let rows = table.row_loader().cache_bytes(0).coalesce(Coalesce { max_gap: 0, ..Coalesce::REMOTE });
    let made = || block_on(DataLoader::new(rows.clone(), LoaderOptions::new(16).last(Last::Short)));
    let mut loader = (0..10).find_map(|_| made().ok()).unwrap();
    let (mut found, mut failed) = (Vec::new(), 0);
    let mut state = loader.state();
    while loader.epoch() < 8 {
        match block_on(loader.next()) {
            Ok(Some(batch)) => {
                found.extend(batch.positions);
                state = loader.state();
            }
            Ok(None) => state = loader.state(),
            // The next call tries again; a training script may also go back to a state that it saved.
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
                failed += 1;
                if failed % 2 == 0 {
                    loader.load_state(&state).unwrap();
                }
            }
        }
    }
    found.sort_unstable();
    let expected: Vec<u64> = (0..ROWS).flat_map(|row| [row; 8]).collect();
    assert_eq!(found, expected, "{failed} batches failed and were read again");
    assert!(faulty.operations() > 20, "{} operations", faulty.operations());
}

#[test]
fn clones_go_on_by_themselves_from_where_the_loader_stands() {
    let rows = table().row_loader();
    let options = || LoaderOptions::new(8).last(Last::Short).seed(3);
    let order = positions(&rest(&mut block_on(DataLoader::new(rows.clone(), options())).unwrap()));
    let mut loader = block_on(DataLoader::new(rows, options())).unwrap();
    for taken in 0..18 {
        let mut clone = loader.clone();
        let next = block_on(loader.next()).unwrap().unwrap();
        assert_eq!(next.positions, order[taken * 8..order.len().min(taken * 8 + 8)]);
        assert_eq!(positions(&rest(&mut clone)), order[taken * 8..], "the loader has gone on meanwhile");
        assert_eq!((clone.epoch(), loader.epoch(), clone.stats().samples), (1, 0, loader.stats().samples));
    }
}

#[test]
fn a_batch_of_which_nothing_can_be_read_becomes_a_step_of_padding_on_every_rank() {
    let folder = tempfile::tempdir().unwrap();
    let (table, bad) = damaged(folder.path());
    let rows = table.row_loader();
    let good = |row: &u64| !bad.contains(row);
    let blocks = Shuffle::Block { rows: 2, window: 3 };
    for (ranks, batch, last, shuffle) in [
        (1, 1, Last::Short, Shuffle::None),
        (2, 1, Last::Drop, Shuffle::None),
        (3, 2, Last::Pad, Shuffle::None),
        (1, 4, Last::Short, blocks),
        (3, 2, Last::Pad, blocks),
    ] {
        let (mut found, mut steps) = (Vec::new(), Vec::new());
        for rank in 0..ranks {
            let skip = OnError::Skip { limit: bad.len() as u64 };
            let options = LoaderOptions::new(batch).last(last).shuffle(shuffle).rank(rank, ranks).prefetch(20_000).on_error(skip);
            let mut loader = block_on(DataLoader::new(rows.clone(), options)).unwrap();
            let batches = rest(&mut loader);
            assert!(batches.iter().all(|batch| !batch.positions.is_empty() && batch.positions.iter().all(good)));
            assert!(ranks > 1 || loader.stats().skipped == bad.len() as u64);
            found.extend(positions(&batches));
            steps.push(batches.len() as u64 - loader.len());
        }
        assert!(steps.iter().all(|beyond| *beyond == 0), "no rank stops earlier");
        found.sort_unstable();
        assert_eq!(found, (0..ROWS - if last == Last::Drop { ROWS % 2 } else { 0 }).filter(good).collect::<Vec<_>>());
    }
    // Where nothing at all can be read, there is nothing to fill a batch with.
    let index = block_on(table.index()).unwrap();
    let alone = bad.iter().fold(index.filter(lit(false)).unwrap(), |selected, row| {
        let one = index.frame().slice(i64::try_from(*row).unwrap(), 1);
        selected.with_frame(selected.frame().vstack(&one).unwrap()).unwrap()
    });
    let options = LoaderOptions::new(1).on_error(OnError::Skip { limit: u64::MAX });
    let mut loader = block_on(DataLoader::new(RowLoader::new(&alone).unwrap(), options)).unwrap();
    let error = block_on(loader.next()).unwrap_err();
    assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains("none at the start of the epoch"), "{error}");
}

#[test]
fn a_mix_of_one_loader_by_blocks_begins_again_behind_its_end() {
    let options = LoaderOptions::new(8).last(Last::Short).shuffle(Shuffle::Block { rows: 5, window: 3 });
    let one = block_on(DataLoader::new(table().row_loader(), options)).unwrap();
    let mut mix = DataLoader::mix([&one], &[1.0], Stop::Samples(2 * ROWS)).unwrap();
    let mut found = positions(&rest(&mut mix));
    found.sort_unstable();
    assert_eq!(found, (0..ROWS).flat_map(|row| [row; 2]).collect::<Vec<_>>());
}

#[test]
fn the_last_epoch_of_all_ends_too() {
    let mut loader = block_on(DataLoader::new(table().row_loader(), LoaderOptions::new(128))).unwrap();
    loader.set_epoch(u64::MAX);
    assert_eq!((rest(&mut loader).len(), loader.epoch()), (1, 0));
}

#[test]
fn requests_that_were_sent_are_those_that_the_store_saw() {
    let objects = CountingStore::new(object_store::memory::InMemory::new());
    let taste = cut_by(tiny_cuts()).preset(Preset::Fast);
    let table = block_on(tables::write(over(Arc::new(objects.clone())), schema(), taste, &[written()])).unwrap();
    // Reads of neighbours share blocks, some of which the block cache holds, and requests in flight.
    for prefetch in [1, 1 << 30] {
        objects.reset();
        let options = LoaderOptions::new(4).seed(5).prefetch(prefetch);
        let mut loader = block_on(DataLoader::new(table.row_loader(), options)).unwrap();
        for _ in 0..2 {
            rest(&mut loader);
        }
        let (stats, planned) = (loader.stats(), loader.planned_reads());
        let gets: Vec<u64> =
            objects.snapshot().gets.iter().filter(|get| get.path.contains("chunks/")).map(|get| get.bytes).collect();
        assert_eq!((stats.requests, stats.requested_bytes), (gets.len() as u64, gets.iter().sum()));
        assert!(planned.requests >= stats.requests && planned.bytes >= stats.requested_bytes && stats.requests > 0);
    }
}

#[test]
fn a_shuffle_of_blocks_reads_each_block_once_with_one_request() {
    const BYTES: u64 = 20_000;
    // A window has more than a tenth of the rows, so that no reads of the next epoch count.
    let (rows, block) = (320, 10);
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").group("picture", [("picture", "u8[20000]")]);
    let schema = schema.build().unwrap();
    let batch = rows_of(&schema, &mut Rng(common::seed()), &[("a", rows as usize)], Taste { nulls: 0, length: 1, smooth: false });
    let (_, store) = memory();
    let table = block_on(tables::write(store, schema, WriteOptions::default().preset(Preset::Fast), &[batch])).unwrap();
    for (batch, ranks, window) in [(16, 1, 4), (7, 1, 4), (3, 4, 8), (64, 1, 4), (30, 2, 8)] {
        let mut requests = 0;
        for rank in 0..ranks {
            // A window fits into a plan, two do not. The first batch of all is read alone, before the size of a sample is known.
            let prefetch = 4 * window * block * BYTES / ranks;
            let options = LoaderOptions::new(batch).last(Last::Short).rank(rank, ranks).prefetch(prefetch);
            let options = options.shuffle(Shuffle::Block { rows: block, window });
            let rows = table.row_loader().cache_bytes(0).coalesce(Coalesce { max_gap: 0, ..Coalesce::REMOTE });
            let mut loader = block_on(DataLoader::new(rows, options)).unwrap();
            let first = rest(&mut loader);
            let before = loader.planned_reads().requests;
            loader.set_epoch(0);
            assert_eq!(positions(&rest(&mut loader)), positions(&first));
            requests += loader.planned_reads().requests - before;
        }
        // Blocks of a window may be neighbours. The places of a rank begin and end within blocks.
        let most = rows / block + (ranks - 1) * 2 * rows / block / window;
        assert!(requests <= most, "{requests} requests, at most {most}: batches of {batch} on {ranks} ranks");
    }
}

#[test]
fn rows_of_an_endless_iterator_come_however_many_are_asked_for_ahead() {
    let rows = table().row_loader().columns(["camera.gain"]).unwrap();
    block_on(async {
        let mut endless = rows.rows(std::iter::repeat(7), usize::MAX);
        assert!(endless.try_next().await.unwrap().is_some());
        let few: Vec<_> = rows.rows([1, 5, 1], usize::MAX).try_collect().await.unwrap();
        assert_eq!(few.len(), 3);
        assert_eq!(rows.scan(usize::MAX).count().await, 1);
        assert!(rows.clone().cache_bytes(usize::MAX).take(&[3]).await.is_ok());
    });
}

/// States of format 2, of loaders over golden tables. What a training job has saved must load for ever.
#[test]
fn states_that_were_saved_once_are_made_and_loaded_alike() {
    let golden = common::root().join("tests/golden");
    let open = |name: &str| block_on(Table::open(golden.join("v1").join(name).join("table").to_str().unwrap())).unwrap();
    let first_column = |table: &Table| table.row_loader().column_names().next().unwrap().to_owned();
    let mut found = BTreeMap::new();
    for name in ["two-segments", "every-type", "view"] {
        let table = open(name).allow([format!("file://{}/", golden.display())]);
        let column = first_column(&table);
        let weights = (1..=table.rows()).map(|row| row as f64).collect();
        let classes = (0..table.rows()).map(|row| row as u32 % 2).collect();
        let options = [
            ("all", LoaderOptions::new(2)),
            ("blocks", LoaderOptions::new(2).shuffle(Shuffle::Block { rows: 2, window: 3 })),
            ("in order", LoaderOptions::new(1).shuffle(Shuffle::None).window(&column, [-3, 0, 1]).unwrap()),
            ("weights", LoaderOptions::new(1).weights(weights, false, Some(2))),
            ("classes", LoaderOptions::new(1).balanced(classes, None)),
        ];
        for (what, options) in options {
            let rows = table.row_loader().columns([&column]).unwrap();
            let mut loader = block_on(DataLoader::new(rows, options)).unwrap();
            found.insert(format!("{name}, {what}"), serde_json::to_value(loader.state()).unwrap());
            let state = loader.state();
            loader.load_state(&state).unwrap();
        }
    }
    let file = golden.join("loader-states.json");
    if std::env::var_os("TETRYS_REWRITE").is_some() {
        fs::write(&file, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
    }
    let stored: BTreeMap<String, serde_json::Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(found, stored);
}

#[test]
fn a_state_goes_on_with_a_version_of_equal_rows() {
    let table = table();
    let of = |table: &Table, columns: &str| {
        block_on(DataLoader::new(table.row_loader().columns([columns]).unwrap(), LoaderOptions::new(8))).unwrap()
    };
    let mut loader = of(&table, "ego.*");
    let order = positions(&rest(&mut loader.clone()));
    block_on(loader.next()).unwrap().unwrap();
    let state = loader.state();
    // Versions in which other column groups and properties changed.
    let edited = block_on(table.edit().set_property("place", "Zurich").commit()).unwrap();
    let patch = RecordBatch::try_from_iter([
        ("log", Arc::new(arrow_array::LargeStringArray::from(vec!["a"])) as arrow_array::ArrayRef),
        ("time", Arc::new(Int64Array::from(vec![first_time(&table)]))),
        ("camera.gain", Arc::new(arrow_array::Float32Array::from(vec![0.5]))),
    ]);
    let patched = block_on(edited.patch(&["log", "time"], &patch.unwrap(), WriteOptions::default())).unwrap();
    for version in [&edited, &patched] {
        let mut again = of(version, "ego.*");
        again.load_state(&state).unwrap();
        assert_eq!(positions(&rest(&mut again)), order[8..], "version {}", version.version());
    }
    let error = of(&patched, "camera.*").load_state(&of(&table, "camera.*").state()).unwrap_err();
    assert!(error.to_string().contains("the content of the tables"), "{error}");
    // A state of format 1, as earlier builds have saved it.
    let old = r#"{"format":1,"seed":0,"epoch":0,"offset":8,"tables":"0123456789abcdef","versions":"0123456789abcdef",
        "rows":"0123456789abcdef","columns":"0123456789abcdef","order":"0123456789abcdef"}"#;
    let error = loader.load_state(&serde_json::from_str(old).unwrap()).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Unsupported, "loader state: format 1, this build reads 2")
    );
}

/// Returns the time of the first row.
fn first_time(table: &Table) -> i64 {
    let row = block_on(table.take_index(&[0])).unwrap();
    row.column(1).as_any().downcast_ref::<Int64Array>().unwrap().value(0)
}
