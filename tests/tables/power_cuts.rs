//! Power cuts: what a file system may leave of the writes that were not synced. A journal records every step on the disk. Then, for a
//! moment in between, any of the steps that no sync has made durable may be lost, in any combination: names in a folder that was not
//! synced, the content of a file that was not synced. Whatever is left, each table has the old or the new version, whole; and what was
//! acknowledged before the cut is there.
//!
//! No real disk is cut off: that a sync keeps what it promises is taken for granted.
#![cfg(feature = "frame")]

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    common::{
        self,
        tables::{Rng, block_on},
    },
    histories::{
        draw::Op,
        on_all_cores,
        world::{Home, Step, What, World},
    },
};
use arrow_array::{Int64Array, RecordBatch};
use bytes::Bytes;
use tetrys::{
    ErrorKind, Schema, Store, Table, TableWriter, WriteOptions, commit,
    id::Hash,
    store::{DiskStep, Journal},
    table::{GcSettings, Storage, VerifyReach, now_ms},
};

/// The most steps that are not durable of which all combinations are tried.
const ALL_BELOW: usize = 6;
/// Number of combinations that are drawn where there are more.
const DRAWN: usize = 12;

/// A file system: what its disk has, and what is done in memory only.
#[derive(Default)]
struct Disk {
    nodes: Vec<Node>,
}

enum Node {
    File {
        content: Bytes,
        is_synced: bool,
    },
    Folder {
        /// The names on the disk.
        durable: BTreeMap<String, usize>,
        /// The changes of names since, in order.
        waiting: Vec<Waiting>,
    },
}

/// A change of the names in a folder, which is on the disk as a whole or not at all: each name gets this file or folder, or goes.
struct Waiting {
    number: usize,
    names: Vec<(String, Option<usize>)>,
}

/// Something that a power cut may lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Loss {
    /// The change of names with this number.
    Names(usize),
    /// The content of this file.
    Content(usize),
}

impl Disk {
    /// Returns a disk on which a folder lies with all that is in it.
    fn of(folder: &Path) -> Self {
        let mut disk = Self { nodes: vec![Node::folder()] };
        disk.add(0, folder);
        disk
    }

    fn add(&mut self, into: usize, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let is_folder = entry.path().is_dir();
            let node = match is_folder {
                true => Node::folder(),
                false => Node::File { content: std::fs::read(entry.path()).unwrap().into(), is_synced: true },
            };
            let number = self.new_node(node);
            if is_folder {
                self.add(number, &entry.path());
            }
            if let Node::Folder { durable, .. } = &mut self.nodes[into] {
                durable.insert(entry.file_name().into_string().unwrap(), number);
            }
        }
    }

    fn new_node(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Returns the names in a folder, of which only those changes are made that `is_made` wants.
    fn names(&self, folder: usize, is_made: &dyn Fn(Loss) -> bool) -> BTreeMap<String, usize> {
        let Node::Folder { durable, waiting } = &self.nodes[folder] else { return BTreeMap::new() };
        let mut names = durable.clone();
        for change in waiting.iter().filter(|change| is_made(Loss::Names(change.number))) {
            change.make(&mut names);
        }
        names
    }

    /// Returns the file or folder of a name, as programs see it.
    fn find(&self, name: &str) -> usize {
        name.split('/').filter(|part| !part.is_empty()).fold(0, |folder, part| self.names(folder, &|_| true)[part])
    }

    /// Changes names in one folder. The folder is that of the first name.
    fn change(&mut self, number: usize, names: &[(&str, Option<usize>)]) {
        let folder = self.find(names[0].0.rsplit_once('/').map_or("", |(folder, _)| folder));
        let last = |name: &str| name.rsplit('/').next().unwrap().to_owned();
        let names = names.iter().map(|(name, node)| (last(name), *node)).collect();
        let Node::Folder { waiting, .. } = &mut self.nodes[folder] else { panic!("no folder") };
        waiting.push(Waiting { number, names });
    }

    /// Does a step. `number` is its place in the journal.
    fn step(&mut self, number: usize, step: &DiskStep) {
        match step {
            DiskStep::MakeFolder(name) => {
                let node = self.new_node(Node::folder());
                self.change(number, &[(name, Some(node))]);
            }
            DiskStep::Create(name) => {
                let node = self.new_node(Node::File { content: Bytes::new(), is_synced: false });
                self.change(number, &[(name, Some(node))]);
            }
            DiskStep::Write(name, written) => {
                let node = self.find(name);
                match &mut self.nodes[node] {
                    // A file of another writer that is synced once more.
                    Node::File { content, is_synced: true } => assert_eq!(content, written, "{name} changed"),
                    Node::File { content, .. } => content.clone_from(written),
                    Node::Folder { .. } => panic!("{name} is a folder"),
                }
            }
            DiskStep::SyncFile(name) => {
                let node = self.find(name);
                if let Node::File { is_synced, .. } = &mut self.nodes[node] {
                    *is_synced = true;
                }
            }
            DiskStep::Link { from, to } => {
                let node = self.find(from);
                self.change(number, &[(to, Some(node))]);
            }
            DiskStep::Rename { from, to } => {
                let node = self.find(from);
                self.change(number, &[(from, None), (to, Some(node))]);
            }
            DiskStep::Remove(name) | DiskStep::RemoveFolder(name) => self.change(number, &[(name, None)]),
            DiskStep::SyncFolder(name) => {
                let folder = self.find(name);
                if let Node::Folder { durable, waiting } = &mut self.nodes[folder] {
                    std::mem::take(waiting).iter().for_each(|change| change.make(durable));
                }
            }
            other => panic!("{other:?} is new to this test"),
        }
    }

    /// Returns what a power cut may lose now.
    fn losses(&self) -> Vec<Loss> {
        let mut found = BTreeSet::new();
        let mut folders = vec![0];
        while let Some(folder) = folders.pop() {
            let Node::Folder { durable, waiting } = &self.nodes[folder] else { continue };
            found.extend(waiting.iter().map(|change| Loss::Names(change.number)));
            let kept =
                durable.values().copied().chain(waiting.iter().flat_map(|change| &change.names).filter_map(|(_, node)| *node));
            for node in kept {
                match &self.nodes[node] {
                    Node::File { is_synced: false, content } if !content.is_empty() => drop(found.insert(Loss::Content(node))),
                    Node::File { .. } => {}
                    Node::Folder { .. } => folders.push(node),
                }
            }
        }
        found.into_iter().collect()
    }

    /// Returns the files that are left if these are lost: their names, and the numbers and lengths of what they have.
    fn left(&self, lost: &BTreeSet<Loss>) -> BTreeMap<String, (usize, usize)> {
        let mut left = BTreeMap::new();
        let mut folders = vec![(String::new(), 0)];
        while let Some((place, folder)) = folders.pop() {
            for (name, node) in self.names(folder, &|loss| !lost.contains(&loss)) {
                let name = if place.is_empty() { name } else { format!("{place}/{name}") };
                match &self.nodes[node] {
                    Node::File { content, .. } => {
                        // Half of it may be there.
                        let len =
                            if lost.contains(&Loss::Content(node)) { content.len() / 2 * (node % 2) } else { content.len() };
                        left.insert(name, (node, len));
                    }
                    Node::Folder { .. } => folders.push((name, node)),
                }
            }
        }
        left
    }

    /// Writes what is left into an empty folder.
    fn write(&self, left: &BTreeMap<String, (usize, usize)>, into: &Path) {
        for (name, (node, len)) in left {
            let Node::File { content, .. } = &self.nodes[*node] else { continue };
            let path = into.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content.get(..*len).unwrap()).unwrap();
        }
    }
}

impl Node {
    fn folder() -> Self {
        Self::Folder { durable: BTreeMap::new(), waiting: Vec::new() }
    }
}

impl Waiting {
    fn make(&self, names: &mut BTreeMap<String, usize>) {
        for (name, node) in &self.names {
            match node {
                Some(node) => drop(names.insert(name.clone(), *node)),
                None => drop(names.remove(name)),
            }
        }
    }
}

/// Returns combinations of losses: all of them if there are few, and otherwise nothing, everything, and what is drawn.
fn combinations(losses: &[Loss], rng: &mut Rng, drawn: usize) -> Vec<BTreeSet<Loss>> {
    let pick = |bits: &dyn Fn(usize) -> bool| {
        losses.iter().enumerate().filter(|(place, _)| bits(*place)).map(|(_, loss)| *loss).collect()
    };
    if losses.len() <= ALL_BELOW && 1 << losses.len() <= drawn {
        return (0..1_usize << losses.len()).map(|bits| pick(&|place| bits >> place & 1 == 1)).collect();
    }
    let mut found = vec![pick(&|_| true), pick(&|_| false)];
    for _ in 2..drawn {
        let bits: Vec<bool> = losses.iter().map(|_| rng.once_in(2)).collect();
        found.push(pick(&|place| bits[place]));
    }
    found
}

/// The versions of each table in a folder, with the hashes of their manifests.
type Tables = BTreeMap<String, BTreeMap<u64, Hash>>;

fn open(folder: &Path, table: &str) -> Store {
    Store::open(folder.join(table).to_str().unwrap()).unwrap()
}

async fn versions(store: &Store) -> Result<BTreeMap<u64, Hash>, String> {
    let mut found = BTreeMap::new();
    for version in commit::versions(store).await.map_err(|error| error.to_string())? {
        let hash = commit::hash_of(store, version).await;
        found.insert(version, hash.map_err(|error| format!("{} version {version}: {error}", store.url()))?);
    }
    Ok(found)
}

async fn tables_in(folder: &Path) -> Tables {
    let mut tables = Tables::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let found = versions(&open(folder, &name)).await.unwrap();
        tables.insert(name, found);
    }
    tables
}

/// Checks what a power cut left: nothing is damaged, what was acknowledged is there, and the tables can be changed.
async fn check(folder: &Path, before: &Tables, after: &Tables, is_done: bool, goes_on: bool) -> Result<(), String> {
    for (name, then) in after {
        let store = open(folder, name);
        let found = versions(&store).await?;
        let acknowledged = before.get(name).cloned().unwrap_or_default();
        let stays = acknowledged.iter().filter(|version| then.get(version.0) == Some(version.1));
        for (version, hash) in if is_done { then.iter().collect::<Vec<_>>() } else { stays.collect() } {
            if found.get(version) != Some(hash) {
                return Err(format!("{name}: version {version} was acknowledged, found {found:?}"));
            }
        }
        let Some(newest) = found.keys().next_back() else { continue };
        if Some(newest) < acknowledged.keys().next_back() {
            return Err(format!("{name}: the newest version is {newest}, acknowledged were {acknowledged:?}"));
        }
        sound(&store).await?;
        if goes_on {
            changed(&store).await.map_err(|error| format!("{name}: the next change: {error}"))?;
        }
    }
    // A collection in one table must not hurt another.
    for name in after.keys().filter(|_| goes_on) {
        let store = open(folder, name);
        if commit::newest_version(&store).await.map_err(|error| error.to_string())?.is_some() {
            sound(&store).await?;
        }
    }
    Ok(())
}

async fn sound(store: &Store) -> Result<(), String> {
    let table = Table::open_in(store.clone()).await.map_err(|error| error.to_string())?;
    let reach = VerifyReach { all_versions: true, sources: true };
    let verified = table.storage().verify_more(reach, |_, _| {}).await.map_err(|error| error.to_string())?;
    match verified.damage.as_slice() {
        [] => Ok(()),
        damage => Err(format!("{} is damaged: {damage:?}", store.url())),
    }
}

/// Changes a table and collects its garbage.
async fn changed(store: &Store) -> tetrys::Result<()> {
    let table = Table::open_in(store.clone()).await?;
    if table.manifest().view.is_none() {
        table.edit().set_property("after", "a power cut").commit().await?;
    }
    for _ in 0..3 {
        let settings = GcSettings { keep_versions: 0, age: Duration::ZERO };
        Storage::of(store).collect_garbage(settings, now_ms() + 1_000).await?;
    }
    Ok(())
}

/// Counts of what was tried.
#[derive(Default)]
struct Tally {
    cuts: AtomicU64,
    states: AtomicU64,
}

impl Tally {
    fn summary(&self) -> String {
        format!("{} cuts, {} states of the disk", self.cuts.load(Ordering::Relaxed), self.states.load(Ordering::Relaxed))
    }
}

/// A recorded history: all its steps on the disk, and the tables after each change with the number of steps until then.
struct Recorded {
    disk: Disk,
    steps: Vec<DiskStep>,
    marks: Vec<(usize, Tables, String)>,
}

impl Recorded {
    /// Cuts the power `cuts` times in each part, and at its end. Checks up to `drawn` states of the disk for each cut.
    fn cut(mut self, rng: &mut Rng, cuts: usize, drawn: usize, tally: &Tally) -> Result<(), String> {
        let mut seen = HashSet::new();
        let mut done = 0;
        for (part, pair) in self.marks.windows(2).enumerate() {
            let [(begin, before, _), (end, after, what)] = pair else { unreachable!() };
            let mut places: BTreeSet<usize> = match cuts >= end - begin {
                true => (begin + 1..=*end).collect(),
                false => (0..cuts).map(|_| begin + 1 + rng.below((end - begin) as u64) as usize).collect(),
            };
            places.insert(*end);
            for place in places {
                for (number, step) in self.steps.iter().enumerate().take(place).skip(done) {
                    self.disk.step(number, step);
                }
                done = done.max(place);
                tally.cuts.fetch_add(1, Ordering::Relaxed);
                for lost in combinations(&self.disk.losses(), rng, drawn) {
                    let left = self.disk.left(&lost);
                    if !seen.insert((part, place == *end, left.clone())) {
                        continue;
                    }
                    tally.states.fetch_add(1, Ordering::Relaxed);
                    let goes_on = rng.once_in(8);
                    let folder = tempfile::tempdir().unwrap();
                    self.disk.write(&left, folder.path());
                    block_on(check(folder.path(), before, after, place == *end, goes_on)).map_err(|error| {
                        let steps: Vec<String> =
                            (*begin..place).map(|step| format!("{step}: {}", step_text(&self.steps[step]))).collect();
                        format!("{error}\nin {what}, after {place} steps, of which {lost:?} are lost:\n{}", steps.join("\n"))
                    })?;
                }
            }
        }
        Ok(())
    }
}

fn step_text(step: &DiskStep) -> String {
    match step {
        DiskStep::Write(name, content) => format!("Write({name:?}, {} bytes)", content.len()),
        step => format!("{step:?}"),
    }
}

/// Runs these steps in a folder and records what they do on the disk.
fn recorded(seed: u64, steps: &[Step]) -> Result<Recorded, String> {
    let home = tempfile::tempdir().unwrap();
    let (folder, journal) = (home.path().to_owned(), Journal::watch(home.path()).unwrap());
    let disk = Disk::of(&folder);
    let mut marks = vec![(0, Tables::new(), String::new())];
    block_on(async {
        let mut world = World::new(Home::Folder(home), &mut Rng(seed)).await?;
        marks.push((journal.len(), tables_in(&folder).await, "create".to_owned()));
        for step in steps {
            let logged = world.log.len();
            world.step(*step).await?;
            let what = world.log[logged..].join(", ");
            marks.push((journal.len(), tables_in(&folder).await, format!("{:?}: {what}", step.what)));
        }
        Ok::<_, String>(())
    })?;
    Ok(Recorded { disk, steps: journal.steps(), marks })
}

/// Every kind of change, in an order in which each has something to do.
const EVERY: [What; 20] = [
    What::Change(Op::Append),
    What::Borrow,
    What::Select,
    What::Change(Op::Patch),
    What::SaveOver,
    What::Merge,
    What::Change(Op::AddGroup),
    What::Change(Op::Tag),
    What::Gc,
    What::Change(Op::Replace),
    What::Change(Op::Rename),
    What::Change(Op::Drop),
    What::Change(Op::Delete),
    What::Change(Op::Compact),
    What::Change(Op::CompactRuns),
    What::Change(Op::Materialize),
    What::Gc,
    What::Change(Op::Overwrite),
    What::Gc,
    What::Gc,
];

#[test]
fn a_power_cut_leaves_the_old_or_the_new_version_whole() {
    let (first, tally) = (common::seed(), Tally::default());
    let (histories, cuts, drawn) = if common::full() { (4, 12, DRAWN) } else { (2, 3, 3) };
    let failed = Mutex::new(None);
    on_all_cores(histories, |number| {
        let seed = Rng(first.wrapping_add(number)).next();
        let mut rng = Rng(seed);
        let kinds: Vec<What> = match number % 2 {
            0 => EVERY.to_vec(),
            _ => (0..12).map(|_| *rng.pick(&EVERY)).collect(),
        };
        let steps: Vec<Step> = kinds.into_iter().map(|what| Step { what, seed: rng.next() }).collect();
        let done = recorded(seed, &steps).and_then(|recorded| recorded.cut(&mut rng, cuts, drawn, &tally));
        if let Err(error) = done {
            failed.lock().unwrap().get_or_insert(format!("seed {seed:#x}: {error}"));
            return false;
        }
        true
    });
    println!("{}", tally.summary());
    if let Some(error) = failed.into_inner().unwrap() {
        panic!("{error}");
    }
    assert!(tally.states.into_inner() > 100);
}

fn rows(from: i64) -> RecordBatch {
    let column = || Arc::new(Int64Array::from_iter_values(from..from + 20)) as _;
    RecordBatch::try_from_iter([("id", column()), ("x", column())]).unwrap()
}

async fn commit(writer: TableWriter, from: i64) -> tetrys::Result<Table> {
    let mut partition = writer.partition()?;
    partition.write(&rows(from)).await?;
    writer.commit([partition.finish().await?]).await
}

async fn create(url: &str, from: i64) -> tetrys::Result<Table> {
    let schema = Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build()?;
    commit(Table::create(url, schema, WriteOptions::default()).await?, from).await
}

/// A writer is killed after each step. What it left in memory only must not make the next commit less durable: it finds
/// folders, and objects with the names of its own, that are not on the disk; and it appends to, or borrows from, a version that is not.
#[test]
fn what_a_killed_writer_left_is_durable_before_the_next_commit_counts() {
    let tally = Tally::default();
    for creates in [true, false] {
        for borrows in [true, false] {
            for step in (0..).step_by(if common::full() { 1 } else { 5 }) {
                let home = tempfile::tempdir().unwrap();
                // Folders above the root, which are made with it.
                let url = |name: &str| home.path().join("data/new").join(name).display().to_string();
                if !creates {
                    block_on(create(&url("t"), 0)).unwrap();
                }
                let (mut disk, journal) = (Disk::of(home.path()), Journal::watch(home.path()).unwrap());
                journal.stop_after(Some(step));
                let killed = block_on(async {
                    match creates {
                        true => create(&url("t"), 0).await,
                        false => commit(Table::open(&url("t")).await?.append(WriteOptions::default()).await?, 100).await,
                    }
                });
                journal.stop_after(None);
                let done = block_on(async {
                    let table = match Table::open(&url("t")).await {
                        // The same rows as those of the killed writer: the objects have the same names.
                        Err(error) if error.kind() == ErrorKind::NotFound => create(&url("t"), 0).await?,
                        found => found?,
                    };
                    if borrows {
                        let schema = table.schema().clone();
                        let writer = Table::create(&url("u"), schema, WriteOptions::default()).await?;
                        commit(writer.references([&table]).await?, 0).await
                    } else {
                        commit(table.append(WriteOptions::default()).await?, 100).await
                    }
                });
                done.unwrap_or_else(|error| panic!("creates: {creates}, borrows: {borrows}, killed after {step} steps: {error}"));
                for (number, step) in journal.steps().iter().enumerate() {
                    disk.step(number, step);
                }
                let after = block_on(tables_in(&home.path().join("data/new")));
                let mut rng = Rng(step as u64);
                tally.cuts.fetch_add(1, Ordering::Relaxed);
                for lost in combinations(&disk.losses(), &mut rng, if common::full() { DRAWN } else { 3 }) {
                    tally.states.fetch_add(1, Ordering::Relaxed);
                    let left = tempfile::tempdir().unwrap();
                    disk.write(&disk.left(&lost), left.path());
                    block_on(check(&left.path().join("data/new"), &after, &after, true, false)).unwrap_or_else(|error| {
                        let steps = journal.steps();
                        let steps: Vec<String> = steps.iter().map(step_text).collect();
                        panic!(
                            "creates: {creates}, borrows: {borrows}, killed after {step} steps, {lost:?} are lost: {error}\n{}",
                            steps.join("\n")
                        )
                    });
                }
                if killed.is_ok() {
                    break;
                }
            }
        }
    }
    println!("{}", tally.summary());
    assert!(tally.cuts.into_inner() > 20);
}

/// A collection is killed after each step, and another one goes on. Then the power is cut: a version whose manifest was deleted does not
/// come back without its objects.
#[test]
fn what_collections_deleted_does_not_come_back_in_part() {
    let tally = Tally::default();
    for step in 0.. {
        let home = tempfile::tempdir().unwrap();
        let url = home.path().join("t").display().to_string();
        let collect = || async {
            let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
            Storage::of(&Store::open(&url)?).collect_garbage(settings, now_ms() + 1_000).await
        };
        block_on(async {
            let mut table = create(&url, 0).await.unwrap();
            for from in [100, 200] {
                let schema = table.schema().clone();
                table = commit(table.overwrite(schema, WriteOptions::default()).await.unwrap(), from).await.unwrap();
            }
            collect().await.unwrap();
        });
        let (mut disk, journal) = (Disk::of(home.path()), Journal::watch(home.path()).unwrap());
        journal.stop_after(Some(step));
        let killed = block_on(collect());
        journal.stop_after(None);
        block_on(collect()).unwrap();
        for (number, step) in journal.steps().iter().enumerate() {
            disk.step(number, step);
        }
        let after = block_on(tables_in(home.path()));
        assert!(after["t"].len() < 5, "{after:?}");
        tally.cuts.fetch_add(1, Ordering::Relaxed);
        let drawn = if common::full() { DRAWN } else { 6 };
        for lost in combinations(&disk.losses(), &mut Rng(step as u64), drawn) {
            tally.states.fetch_add(1, Ordering::Relaxed);
            let left = tempfile::tempdir().unwrap();
            disk.write(&disk.left(&lost), left.path());
            block_on(check(left.path(), &after, &after, true, false)).unwrap_or_else(|error| {
                let steps: Vec<String> = journal.steps().iter().map(step_text).collect();
                panic!("killed after {step} steps, {lost:?} are lost: {error}\n{}", steps.join("\n"))
            });
        }
        if killed.is_ok() {
            break;
        }
    }
    println!("{}", tally.summary());
    assert!(tally.cuts.into_inner() > 8);
}
