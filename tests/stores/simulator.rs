//! A simulator: several processes change, collect, tag, borrow and read a table at the same time, with the real code. A seed decides the
//! order in which their requests take effect and are answered, which of them are lost, come late or twice, and which process is killed
//! when. Afterwards, what each process was told must be true, and every version must be whole.
//!
//! A seed gives the same history each time. A history that fails is shortened, and printed with its seed.

mod scheduler;
mod store;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use self::world::{History, Tally, run};
use crate::common::{self, tables::Rng};

/// Runs a history. A panic is a failure too.
fn tried(history: &History) -> Result<Tally, (String, Vec<String>)> {
    catch_unwind(AssertUnwindSafe(|| run(history).map(|(tally, _)| tally))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err((format!("a panic: {}", text.unwrap_or_default()), Vec::new()))
    })
}

/// Removes as many processes as possible from a history that still fails.
fn shrunk(mut history: History) -> History {
    let mut again = true;
    while std::mem::take(&mut again) {
        for part in 0..history.parts.len() {
            let mut place = history.parts[part].tasks.len();
            while place > 0 {
                place -= 1;
                let mut fewer = history.clone();
                fewer.parts[part].tasks.remove(place);
                if tried(&fewer).is_err() {
                    history = fewer;
                    again = true;
                }
            }
        }
    }
    history.parts.retain(|part| !part.tasks.is_empty());
    history
}

fn failure(history: &History) -> Option<String> {
    tried(history).err()?;
    let shorter = shrunk(history.clone());
    let (error, log) = tried(&shorter).err().or_else(|| tried(history).err())?;
    let log = &log[log.len().saturating_sub(400)..];
    Some(format!("{error}\nTETRYS_SIMULATION={:#x}\n{shorter:#?}\n{}", history.seed, log.join("\n")))
}

#[test]
fn whatever_the_order_of_requests_what_processes_were_told_is_true() {
    // One history alone, by the seed that a failure prints.
    if let Ok(seed) = std::env::var("TETRYS_SIMULATION") {
        let seed = u64::from_str_radix(seed.trim_start_matches("0x"), 16).unwrap();
        assert_eq!(failure(&History::of(seed)), None);
        return;
    }
    let first = common::seed();
    let histories = if common::full() { 20_000 } else { 300 };
    let mut all = Tally::default();
    for number in 0..histories {
        let history = History::of(Rng(first.wrapping_add(number)).next());
        match tried(&history) {
            Ok(tally) => {
                all.done += tally.done;
                all.refused += tally.refused;
                all.unknown += tally.unknown;
                all.changed += tally.changed;
                all.restored += tally.restored;
                all.checks += tally.checks;
            }
            Err(_) => panic!("{}", failure(&history).unwrap()),
        }
    }
    println!(
        "{histories} histories, {} checks; appends: {} done, {} refused, {} unknown; {} deletes and patches done, {} restores",
        all.checks, all.done, all.refused, all.unknown, all.changed, all.restored
    );
    assert!(all.done > histories && all.changed > histories / 4 && all.restored > histories / 20 && all.refused > 0);
}

#[test]
fn a_seed_gives_the_same_history_each_time() {
    for seed in 0..4 {
        let history = History::of(Rng(seed).next());
        let log = || match run(&history) {
            Ok((tally, log)) => (format!("{tally:?}"), log),
            Err(failure) => failure,
        };
        assert_eq!(log(), log());
    }
}
