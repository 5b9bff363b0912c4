//! Runs the checker over a model, prints counterexamples in plain words, and tells how many states there are.

use std::{
    fmt::Debug,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use stateright::{Checker, HasDiscoveries, Model};

use crate::{
    environment,
    requests::Say,
    table::{Kind, Table},
};

/// A model that can tell a step in plain words.
pub(crate) trait Narrated: Model + Clone + Send + Sync + 'static {
    /// Does a step, and says what happens.
    fn step(&self, state: &Self::State, action: &Self::Action, say: &mut Say) -> Option<Self::State>;
}

/// The long suites check one model at a time: each takes all cores, and up to 3 GB.
static ALONE: Mutex<()> = Mutex::new(());

/// Checks that all properties of a model hold: nothing bad happens in any state, and the good things happen in some.
pub(crate) fn holds<M>(name: &str, model: M)
where
    M: Narrated,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let _alone = environment::full().then(|| ALONE.lock().unwrap_or_else(PoisonError::into_inner));
    let threads = if environment::full() { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    let start = Instant::now();
    let checker = model.clone().checker().threads(threads).spawn_bfs().join();
    println!(
        "{name}: {} states, {} of them different, in {:.1} s",
        checker.state_count(),
        checker.unique_state_count(),
        start.elapsed().as_secs_f64()
    );
    let mut failed = Vec::new();
    for property in model.properties() {
        let found = checker.discovery(property.name);
        match (property.expectation.discovery_is_failure(), found) {
            (true, Some(path)) => failed.push(format!("not so: {}\n{}", property.name, words(&model, path.into_actions()))),
            (false, None) => failed.push(format!("never happens: {}", property.name)),
            _ => {}
        }
    }
    assert!(checker.is_done(), "{name}: not all states were seen");
    assert!(failed.is_empty(), "{name}:\n{}", failed.join("\n"));
}

/// Checks a table under the rules as [`holds`] does. The long suite checks it twice, once with collectors that keep their listings.
pub(crate) fn table_holds(name: &str, table: Table) {
    holds(name, table.clone());
    if environment::full() && table.roles.iter().any(|role| matches!(role.kind, Kind::Collect)) {
        holds(&format!("{name}, whose listings are kept"), table.keeping());
    }
}

/// Checks that a model finds a counterexample to this property, prints it, and returns it in plain words.
pub(crate) fn fails<M>(name: &str, model: M, property: &'static str) -> String
where
    M: Narrated,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    assert!(model.properties().iter().any(|known| known.name == property), "{name}: no property `{property}`");
    let start = Instant::now();
    let wanted = HasDiscoveries::AllOf([property].into());
    // One thread finds the same counterexample each time.
    let checker = model.clone().checker().threads(1).finish_when(wanted).spawn_bfs().join();
    let states = checker.unique_state_count();
    let Some(path) = checker.discovery(property) else {
        panic!("{name}: no counterexample to `{property}` in {states} states");
    };
    // The checker goes on for a moment after it has found one: without what follows.
    let condition = model.property(property).condition;
    let so = path.clone().into_states().iter().take_while(|state| condition(&model, state)).count();
    let words = words(&model, path.into_actions().into_iter().take(so).collect());
    println!("{name}: not so: {property} ({states} states, {:.1} s)\n{words}", start.elapsed().as_secs_f64());
    words
}

/// Tells the steps of a path, one a line.
fn words<M: Narrated>(model: &M, actions: Vec<M::Action>) -> String {
    let mut state = model.init_states().into_iter().next().expect("a first state");
    let mut lines = Vec::new();
    for (number, action) in (1..).zip(actions) {
        let mut say = Say::aloud();
        state = model.step(&state, &action, &mut say).expect("the path is one of the model");
        lines.push(format!("  {number}. {}", say.into_words()));
    }
    lines.join("\n")
}
