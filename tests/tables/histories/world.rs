//! A few tables and views, the model of each of their versions, and the claims that must hold after every step.

use std::collections::{BTreeMap, BTreeSet};

use tetrys::{
    ErrorKind, Merge, Receipt, Store, Table, TableWriter, commit,
    table::{GcSettings, Storage, now_ms},
};

use super::{
    arrays::values_of,
    draw::{self, Fresh, Op},
    model::{Change, Row, State, Value, Verdict, verdict},
    perform::{create, options, perform, write},
};
use crate::common::tables::{Rng, boxed};

/// A result whose error describes a violated claim.
pub(crate) type Checked<T = ()> = Result<T, String>;

/// The place of the tables of a history.
#[derive(Debug)]
pub(crate) enum Home {
    Memory(String),
    Folder(tempfile::TempDir),
}

impl Home {
    fn url(&self, table: &str) -> String {
        match self {
            Self::Memory(name) => format!("memory://{name}/{table}"),
            Self::Folder(folder) => folder.path().join(table).display().to_string(),
        }
    }
}

/// The content of a version, and how it was made.
#[derive(Debug)]
struct Version {
    state: State,
    tags: BTreeMap<String, u64>,
    /// The change that made the version from the version before; `None` for first versions, views, and versions of a garbage
    /// collection.
    change: Option<Change>,
    /// A garbage collection made the version; its rows are those of the version before.
    by_gc: bool,
    /// A garbage collection has given the version up and may delete it at any time.
    given_up: bool,
    /// Versions of other subjects that this version needs.
    uses: BTreeSet<(usize, u64)>,
}

/// A table or a view.
#[derive(Debug)]
struct Subject {
    store: Store,
    is_view: bool,
    versions: BTreeMap<u64, Version>,
    /// The versions that exist.
    live: BTreeSet<u64>,
}

impl Subject {
    fn newest(&self) -> u64 {
        self.versions.last_key_value().map_or(0, |(version, _)| *version)
    }

    fn newest_version(&self) -> &Version {
        &self.versions[&self.newest()]
    }

    /// Returns the versions that a user may still open, newest last.
    fn kept(&self) -> Vec<u64> {
        self.live.iter().copied().filter(|version| !self.versions[version].given_up).collect()
    }
}

/// A writer that was opened at some version and commits later.
#[derive(Debug)]
struct OpenTable {
    subject: usize,
    base: Table,
    /// The writer with the rows that it has written so far.
    begun: Option<(TableWriter, Vec<Receipt>, Change)>,
}

/// One step of a history. The details follow from `seed` and from the current tables, so a history stays valid if some of its
/// steps are removed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) what: What,
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Changes the newest version.
    Change(Op),
    /// Opens a writer at some version.
    Open,
    /// Opens a writer and writes rows.
    Begin,
    /// Makes this change with a writer that was opened before, or at any version.
    Late(Op),
    /// Commits a writer that has written its rows.
    Commit,
    /// Creates a table that shares blocks with a version of another table.
    Borrow,
    /// Saves a view of some rows of a version.
    Select,
    /// Saves a view of two merged tables.
    Merge,
    /// Saves the next version of a view.
    SaveOver,
    Gc,
}

/// Counts of events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) histories: u64,
    pub(crate) steps: u64,
    pub(crate) commits: u64,
    /// Commits by writers that were opened at an older version.
    pub(crate) late: u64,
    pub(crate) conflicts: u64,
    pub(crate) collections: u64,
    /// Versions that were compared with the model.
    pub(crate) checked: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.histories += 1;
        self.steps += other.steps;
        self.commits += other.commits;
        self.late += other.late;
        self.conflicts += other.conflicts;
        self.collections += other.collections;
        self.checked += other.checked;
    }
}

pub(crate) struct World {
    home: Home,
    subjects: Vec<Subject>,
    open_tables: Vec<OpenTable>,
    fresh: Fresh,
    pub(crate) tally: Tally,
    /// The log of the history, for error reports.
    pub(crate) log: Vec<String>,
}

impl World {
    pub(crate) async fn new(home: Home, rng: &mut Rng) -> Checked<Self> {
        let mut world = Self {
            home,
            subjects: Vec::new(),
            open_tables: Vec::new(),
            fresh: Fresh::default(),
            tally: Tally::default(),
            log: Vec::new(),
        };
        let mut state = world.fresh.columns("t0");
        let count = 6 + rng.below(12);
        state.rows = draw::rows(rng, &mut world.fresh, &state, count, None);
        world.make_table(state, None, rng).await?;
        world.check().await?;
        Ok(world)
    }

    pub(crate) async fn step(&mut self, step: Step) -> Checked {
        let mut rng = Rng(step.seed);
        self.tally.steps += 1;
        match step.what {
            What::Change(op) => {
                let subject = self.table(&mut rng, op);
                let base = self.open(subject, self.subjects[subject].newest()).await?;
                self.change(subject, base, op, &mut rng).await?;
            }
            What::Open => {
                let subject = self.table(&mut rng, Op::Append);
                let base = self.some_version(subject, &mut rng);
                let base = self.open(subject, base).await?;
                self.log.push(format!("open table {subject} version {}", base.version()));
                self.open_tables.push(OpenTable { subject, base, begun: None });
            }
            What::Begin => boxed(|| self.begin(&mut rng)).await?,
            What::Late(op) => {
                let waiting: Vec<usize> =
                    (0..self.open_tables.len()).filter(|number| self.open_tables[*number].begun.is_none()).collect();
                let (subject, base) = match waiting.get(rng.below(waiting.len() as u64) as usize) {
                    Some(place) => {
                        let OpenTable { subject, base, .. } = self.open_tables.swap_remove(*place);
                        (subject, base)
                    }
                    None => {
                        let subject = self.table(&mut rng, op);
                        (subject, self.open(subject, self.some_version(subject, &mut rng)).await?)
                    }
                };
                boxed(|| self.change(subject, base, op, &mut rng)).await?;
            }
            What::Commit => boxed(|| self.commit_begun(&mut rng)).await?,
            What::Borrow => boxed(|| self.borrow(&mut rng)).await?,
            What::Select => boxed(|| self.select(&mut rng, false)).await?,
            What::SaveOver => boxed(|| self.select(&mut rng, true)).await?,
            What::Merge => boxed(|| self.merge(&mut rng)).await?,
            What::Gc => boxed(|| self.collect(&mut rng)).await?,
        }
        boxed(|| self.check()).await
    }

    /// Makes two changes of one version of the last table. The second writer does not know the first change. Returns whether the
    /// second change was committed, or `None` if one of the changes could not be drawn.
    pub(crate) async fn pair(&mut self, one: Op, other: Op, rng: &mut Rng) -> Checked<Option<bool>> {
        let subject = self.subjects.len() - 1;
        let newest = async |world: &Self| world.open(subject, world.subjects[subject].newest()).await;
        let first = newest(self).await?;
        self.change(subject, first, Op::Tag, rng).await?;
        let base = newest(self).await?;
        self.change(subject, base.clone(), one, rng).await?;
        let between = self.subjects[subject].newest();
        let (commits, conflicts) = (self.tally.commits, self.tally.conflicts);
        self.change(subject, base.clone(), other, rng).await?;
        self.check().await?;
        let (commits, conflicts) = (self.tally.commits - commits, self.tally.conflicts - conflicts);
        Ok((between > base.version() && commits + conflicts == 1).then_some(commits == 1))
    }

    /// Picks a table that is not a view. The first table is picked more often, except for materialization, which matters for
    /// tables that share rows.
    fn table(&self, rng: &mut Rng, op: Op) -> usize {
        let tables: Vec<usize> = (0..self.subjects.len()).filter(|subject| !self.subjects[*subject].is_view).collect();
        if op != Op::Materialize && rng.once_in(2) { 0 } else { *rng.pick(&tables) }
    }

    /// Picks an existing version, often one with a tag.
    fn some_version(&self, subject: usize, rng: &mut Rng) -> u64 {
        let subject = &self.subjects[subject];
        let tagged: Vec<u64> =
            subject.newest_version().tags.values().copied().filter(|version| subject.live.contains(version)).collect();
        match tagged.is_empty() || rng.once_in(2) {
            true => *rng.pick(&subject.kept()),
            false => *rng.pick(&tagged),
        }
    }

    async fn open(&self, subject: usize, version: u64) -> Checked<Table> {
        let opened = Table::open_version_in(self.subjects[subject].store.clone(), version).await;
        opened.map_err(|error| format!("opening table {subject} version {version}: {error}"))
    }

    async fn change(&mut self, number: usize, base: Table, op: Op, rng: &mut Rng) -> Checked {
        let subject = &self.subjects[number];
        let state = subject.versions[&base.version()].state.clone();
        // A tag names an existing version that the writer knows.
        let versions: Vec<u64> = subject.kept().into_iter().filter(|version| *version <= base.version()).collect();
        let tags: Vec<String> = base.manifest().tags.keys().cloned().collect();
        let Some(change) = draw::change(op, rng, &mut self.fresh, &state, &versions, &tags) else { return Ok(()) };
        self.log.push(format!("table {number} version {}: {}", base.version(), change_text(&change)));
        let done = boxed(|| perform(&base, &change, &state, rng)).await;
        boxed(|| self.settle(number, base.version(), change, done)).await
    }

    async fn begin(&mut self, rng: &mut Rng) -> Checked {
        let subject = self.table(rng, Op::Append);
        let base = self.open(subject, self.some_version(subject, rng)).await?;
        let state = self.subjects[subject].versions[&base.version()].state.clone();
        let Some(change) = draw::change(Op::Append, rng, &mut self.fresh, &state, &[], &[]) else { return Ok(()) };
        let Change::Append { rows, .. } = &change else { return Ok(()) };
        let failed = |error: tetrys::Error| format!("writing rows of table {subject}: {error}");
        self.log.push(format!("table {subject} version {}: begin {}", base.version(), change_text(&change)));
        let writer = base.append(options(rng)).await.map_err(failed)?;
        let receipts = write(&writer, &state, rows, 1).await.map_err(failed)?;
        self.open_tables.push(OpenTable { subject, base, begun: Some((writer, receipts, change)) });
        Ok(())
    }

    async fn commit_begun(&mut self, rng: &mut Rng) -> Checked {
        let begun: Vec<usize> = (0..self.open_tables.len()).filter(|number| self.open_tables[*number].begun.is_some()).collect();
        let Some(place) = begun.get(rng.below(begun.len() as u64) as usize) else { return Ok(()) };
        let OpenTable { subject, base, begun } = self.open_tables.swap_remove(*place);
        let Some((writer, receipts, change)) = begun else { return Ok(()) };
        self.log.push(format!("table {subject} version {}: commit {}", base.version(), change_text(&change)));
        let done = writer.commit(receipts).await;
        Box::pin(self.settle(subject, base.version(), change, done)).await
    }

    /// Compares the result of a change with the rules, and records the version that it made.
    async fn settle(&mut self, number: usize, base: u64, change: Change, done: tetrys::Result<Table>) -> Checked {
        let subject = &self.subjects[number];
        let newest = subject.newest();
        let since: Vec<&Version> = subject.versions.range(base + 1..).map(|(_, version)| version).collect();
        let known = since.iter().filter_map(|version| version.change.as_ref());
        // Values that were written and are as before, or whose columns were dropped again or are newer than the writer's version, force
        // no conflict.
        let (then, now) = (&subject.versions[&base], subject.newest_version());
        let judged = known.map(|other| match other {
            Change::Patch { cells, .. } | Change::Replace { cells, .. } if !now.state.has_other_values(cells, &then.state) => {
                verdict(&change, other).min(Verdict::Either)
            }
            _ => verdict(&change, other),
        });
        let mut allowed = judged.max().unwrap_or(Verdict::Succeeds);
        // A garbage collection since then may force a conflict. So may one that has given up the version that the writer began
        // with.
        if since.iter().any(|version| version.by_gc) || subject.versions[&base].given_up {
            allowed = allowed.max(Verdict::Either);
        }
        // The library compares contents, not changes: what others changed and changed back is as it was, and where no row is left,
        // no row can differ. A change that makes a tag what it is already is no change, so that what others made of the tag stands;
        // and others may have made the tag what this change makes it.
        let is_no_change = matches!(&change, Change::Tag { name, version } if then.tags.get(name) == version.as_ref());
        let is_as_it_was = match &change {
            Change::Tag { name, version } => {
                is_no_change || [version.as_ref(), then.tags.get(name)].contains(&now.tags.get(name))
            }
            Change::Rename { column, .. } => then.state.name_of(column) == now.state.name_of(column),
            Change::Patch { cells, .. } | Change::Replace { cells, .. } => !now.state.has_other_values(cells, &then.state),
            Change::AddGroup { .. } => now.state.has_only_rows_of(&then.state),
            _ => then.state.begins(&now.state),
        };
        if is_as_it_was || now.state.rows.is_empty() {
            allowed = allowed.min(Verdict::Either);
        }
        // A layout numbers the tables whose blocks it uses. Appended rows that share blocks with other tables cannot be rebased if
        // these tables have changed.
        let appends = |change: &Change| matches!(change, Change::Append { .. });
        let appended = appends(&change) || since.iter().filter_map(|version| version.change.as_ref()).any(appends);
        if appended && then.uses != now.uses {
            allowed = allowed.max(Verdict::Either);
        }
        // Content that the newest version marks for deletion cannot be written again before a later collection removes the mark.
        if let Err(error) = &done
            && error.kind() == ErrorKind::Conflict
        {
            let newest = self.open(number, newest).await?;
            let mut marks = newest.manifest().deleting.iter().flatten();
            if marks.any(|mark| error.to_string().contains(&mark.object.blake3.to_string())) {
                allowed = allowed.max(Verdict::Either);
            }
        }
        let table = match done {
            Ok(table) if table.version() == base => {
                let nothing = is_no_change || matches!(change, Change::Compact | Change::CompactRuns | Change::Materialize);
                return if nothing { Ok(()) } else { Err(format!("{} made no version", change_text(&change))) };
            }
            Ok(table) if allowed == Verdict::Conflict => {
                return Err(format!("{} became version {}, expected a conflict", change_text(&change), table.version()));
            }
            Ok(table) => table,
            Err(error) if error.kind() == ErrorKind::Conflict && allowed >= Verdict::Either => {
                self.tally.conflicts += 1;
                self.log.push(format!("  a conflict: {error}"));
                return Ok(());
            }
            Err(error) => {
                let chain: Vec<String> = since.iter().filter_map(|version| version.change.as_ref().map(change_text)).collect();
                return Err(format!("{} failed ({:?}): {error}; since then: {chain:?}", change_text(&change), error.kind()));
            }
        };
        self.tally.commits += 1;
        self.tally.late += u64::from(base != newest);
        if table.version() <= newest {
            return Err(format!("{} became version {}, but {newest} was there before", change_text(&change), table.version()));
        }
        let parent = table.manifest().parent.as_ref().map(|parent| parent.version);
        if parent != Some(newest) {
            return Err(format!("version {} was made of version {parent:?}, the newest was {newest}", table.version()));
        }
        let before = &subject.versions[&newest];
        let state = before.state.after(&change, &subject.versions[&base].state);
        let mut tags = before.tags.clone();
        match &change {
            _ if is_no_change => {}
            Change::Tag { name, version: Some(version) } => drop(tags.insert(name.clone(), *version)),
            Change::Tag { name, version: None } => drop(tags.remove(name)),
            _ => {}
        }
        // The version may refer to blocks of other tables.
        let uses = match change {
            Change::Materialize => BTreeSet::new(),
            _ if table.manifest().stores.is_empty() => BTreeSet::new(),
            _ => self.owners_of(&table)?,
        };
        self.log.push(format!("  became version {}", table.version()));
        let version = Version { state, tags, change: Some(change), by_gc: false, given_up: false, uses };
        self.subjects[number].versions.insert(table.version(), version);
        Ok(())
    }

    /// Returns the versions of other subjects that the manifest of a version names.
    fn owners_of(&self, table: &Table) -> Checked<BTreeSet<(usize, u64)>> {
        let owner = |foreign: &tetrys::format::ForeignTable| {
            let url = table.store().neighbour(&foreign.urls[0]).map_err(|error| error.to_string())?;
            let found = self.subjects.iter().position(|subject| subject.store.url().trim_end_matches('/') == url);
            found.map(|subject| (subject, foreign.version)).ok_or_else(|| format!("{url} is none of the tables"))
        };
        table.manifest().stores.iter().map(owner).collect()
    }

    fn next_store(&self) -> Checked<Store> {
        let url = self.home.url(&format!("t{}", self.subjects.len()));
        Store::open(&url).map_err(|error| error.to_string())
    }

    fn note_first(&mut self, table: &Table, state: State, is_view: bool) -> Checked {
        let uses = self.owners_of(table)?;
        self.log.push(format!("  became table {} version {}", self.subjects.len(), table.version()));
        let version = Version { state, tags: BTreeMap::new(), change: None, by_gc: false, given_up: false, uses };
        let versions = BTreeMap::from([(table.version(), version)]);
        self.subjects.push(Subject { store: table.store().clone(), is_view, versions, live: BTreeSet::new() });
        Ok(())
    }

    async fn make_table(&mut self, state: State, reference: Option<Table>, rng: &mut Rng) -> Checked {
        let references: Vec<&Table> = reference.iter().collect();
        let made = create(self.next_store()?, &state, &references, rng).await;
        let table = made.map_err(|error| format!("creating table {}: {error}", self.subjects.len()))?;
        self.note_first(&table, state, false)
    }

    async fn borrow(&mut self, rng: &mut Rng) -> Checked {
        if self.subjects.iter().filter(|subject| !subject.is_view).count() >= 3 {
            return Ok(());
        }
        let number = self.table(rng, Op::Append);
        let version = self.some_version(number, rng);
        let reference = self.open(number, version).await?;
        let source = self.subjects[number].versions[&version].state.clone();
        let name = format!("t{}", self.subjects.len());
        self.log.push(format!("a table with rows of table {number} version {version}"));
        // The columns have other names and the same types; most of the rows are those of the reference.
        let mut renamed: BTreeMap<u64, u64> = BTreeMap::new();
        let mut state = State::default();
        for column in &source.index {
            let shared = self.fresh.column(column.name.replacen('t', &name, usize::from(state.index.len() > 1)), column.kind);
            renamed.insert(column.id, shared.id);
            state.index.push(shared);
        }
        for (place, group) in source.groups.iter().enumerate() {
            let kinds: Vec<_> = group.columns.iter().map(|column| column.kind).collect();
            let made = self.fresh.group(&format!("{name}_{place}"), &kinds);
            renamed.extend(group.columns.iter().map(|column| column.id).zip(made.columns.iter().map(|column| column.id)));
            state.groups.push(made);
        }
        for row in &source.rows {
            if !rng.once_in(8) {
                let cells = row.cells.iter().filter_map(|(id, value)| Some((*renamed.get(id)?, value.clone()))).collect();
                state.rows.push(Row { id: self.fresh.next(), cells });
            }
        }
        let count = 1 + rng.below(3);
        let more = draw::rows(rng, &mut self.fresh, &state, count, None);
        state.rows.extend(more);
        self.make_table(state, Some(reference), rng).await
    }

    async fn select(&mut self, rng: &mut Rng, over: bool) -> Checked {
        let views: Vec<usize> = (0..self.subjects.len()).filter(|subject| self.subjects[*subject].is_view).collect();
        if (over && views.is_empty()) || (!over && views.len() >= 2) {
            return Ok(());
        }
        let number = rng.below(self.subjects.len() as u64) as usize;
        let version = self.some_version(number, rng);
        let state = self.subjects[number].versions[&version].state.clone();
        let source = self.open(number, version).await?;
        let failed = |error: tetrys::Error| format!("a view of table {number} version {version}: {error}");
        let (start, rows) = (rng.below(state.rows.len() as u64), rng.below(12) as usize);
        let mut index = source.index().await.map_err(failed)?.slice(start as i64, rows);
        let end = state.rows.len().min(start as usize + rows);
        let mut seen = State { rows: state.rows[start as usize..end].to_vec(), ..state };
        if rng.once_in(3) {
            index = index.sort(["time"], true).map_err(failed)?;
            let time = seen.index[1].clone();
            seen.rows.sort_by_key(|row| std::cmp::Reverse(row.value(&time).clone()));
        }
        self.log.push(format!("a view of rows {start}..{end} of table {number} version {version}"));
        let view = over.then(|| *rng.pick(&views));
        self.save(index, seen, view, &[(number, version)]).await
    }

    async fn merge(&mut self, rng: &mut Rng) -> Checked {
        let tables: Vec<usize> = (0..self.subjects.len()).filter(|subject| !self.subjects[*subject].is_view).collect();
        let views = self.subjects.len() - tables.len();
        let (left, right) = (*rng.pick(&tables), *rng.pick(&tables));
        if left == right || views >= 2 {
            return Ok(());
        }
        let versions = [self.some_version(left, rng), self.some_version(right, rng)];
        let failed = |error: tetrys::Error| format!("a merge of tables {left} and {right}, versions {versions:?}: {error}");
        let tables = [self.open(left, versions[0]).await?, self.open(right, versions[1]).await?];
        let indexes = [tables[0].index().await.map_err(failed)?, tables[1].index().await.map_err(failed)?];
        let keeps_left = rng.once_in(2);
        let how = Merge::on(["log", "time"]);
        let index = indexes[0].merge(&indexes[1], &if keeps_left { how.left() } else { how.inner() }).map_err(failed)?;
        let [mut seen, other] = [(left, versions[0]), (right, versions[1])]
            .map(|(subject, version)| self.subjects[subject].versions[&version].state.clone());
        let key = |state: &State, row: &Row| [row.value(&state.index[0]).clone(), row.value(&state.index[1]).clone()];
        let partners: BTreeMap<[Value; 2], &Row> = other.rows.iter().map(|row| (key(&other, row), row)).collect();
        let mut rows = Vec::new();
        for row in &seen.rows {
            match partners.get(&key(&seen, row)) {
                Some(partner) => {
                    let cells = row.cells.iter().chain(&partner.cells).map(|(id, value)| (*id, value.clone()));
                    rows.push(Row { id: row.id, cells: cells.collect() });
                }
                None if keeps_left => rows.push(row.clone()),
                None => {}
            }
        }
        seen.rows = rows;
        seen.index.extend(other.index.into_iter().skip(2));
        seen.groups.extend(other.groups);
        self.log.push(format!("a merge of table {left} version {} with table {right} version {}", versions[0], versions[1]));
        self.save(index, seen, None, &[(left, versions[0]), (right, versions[1])]).await
    }

    async fn save(&mut self, index: tetrys::Index, state: State, over: Option<usize>, sources: &[(usize, u64)]) -> Checked {
        let given_up = sources.iter().any(|(subject, version)| self.subjects[*subject].versions[version].given_up);
        let saved = match over {
            Some(view) => {
                let newest = self.open(view, self.subjects[view].newest()).await?;
                index.save(&newest).await
            }
            None => index.save(self.next_store()?).await,
        };
        let saved = match saved {
            Err(error) if error.kind() == ErrorKind::Conflict && given_up => {
                self.tally.conflicts += 1;
                return Ok(());
            }
            Err(error) => return Err(format!("saving a view: {error}")),
            Ok(saved) => saved,
        };
        if !saved.unpinned.is_empty() {
            return Err(format!("a view whose sources were not told: {:?}", saved.unpinned));
        }
        let Some(view) = over else { return self.note_first(&saved.table, state, true) };
        let uses = self.owners_of(&saved.table)?;
        let tags = self.subjects[view].newest_version().tags.clone();
        if saved.table.version() <= self.subjects[view].newest() {
            return Err(format!("view {view} became version {} once more", saved.table.version()));
        }
        self.log.push(format!("  became table {view} version {}", saved.table.version()));
        let version = Version { state, tags, change: None, by_gc: false, given_up: false, uses };
        self.subjects[view].versions.insert(saved.table.version(), version);
        Ok(())
    }

    async fn collect(&mut self, rng: &mut Rng) -> Checked {
        let number = if rng.once_in(2) { 0 } else { rng.below(self.subjects.len() as u64) as usize };
        let keep = rng.below(4) as usize;
        self.collect_in(number, keep).await
    }

    async fn collect_in(&mut self, number: usize, keep: usize) -> Checked {
        self.log.push(format!("gc of table {number}, keep {keep}"));
        self.tally.collections += 1;
        // With an age of 0, a garbage collection may delete the objects of commits in progress, so those writers are dropped.
        self.open_tables.retain(|open| open.subject != number || open.begun.is_none());
        let subject = &self.subjects[number];
        let settings = GcSettings { keep_versions: keep, age: std::time::Duration::ZERO };
        let collected = Storage::of(&subject.store).collect_garbage(settings, now_ms() + 1_000).await;
        collected.map_err(|error| format!("gc of table {number}: {error}"))?;
        let mut pinned: BTreeSet<u64> = BTreeSet::new();
        for user in &self.subjects {
            let there = versions_of(&user.store).await?;
            let uses = there.iter().filter_map(|version| user.versions.get(version)).flat_map(|version| &version.uses);
            pinned.extend(uses.filter(|(owner, _)| *owner == number).map(|(_, version)| *version));
        }
        let subject = &mut self.subjects[number];
        let tagged: BTreeSet<u64> = subject.newest_version().tags.values().copied().collect();
        let with_content = subject.versions.iter().rev().filter(|(version, made)| !made.by_gc && subject.live.contains(version));
        let count = if keep == 0 { usize::MAX } else { keep };
        let last: BTreeSet<u64> = with_content.map(|(version, _)| *version).take(count).collect();
        // A tag that was made what it was makes a version with nothing new, which may count as one of a garbage collection.
        let mut nothing_new = BTreeSet::new();
        let mut before: Option<&Version> = None;
        for (version, made) in &subject.versions {
            if matches!(made.change, Some(Change::Tag { .. })) && before.is_some_and(|before| before.tags == made.tags) {
                nothing_new.insert(*version);
            }
            before = Some(made);
        }
        let newest = subject.newest();
        let stays = |version: &u64| {
            let is_kept = last.contains(version) && !nothing_new.contains(version);
            *version == newest || pinned.contains(version) || tagged.contains(version) || is_kept || keep == 0
        };
        let mut content_stays = false;
        for (version, made) in &mut subject.versions {
            // A version of a garbage collection stays as long as the version whose rows it repeats.
            if !made.by_gc {
                content_stays = stays(version) && !made.given_up;
            }
            made.given_up |= !(stays(version) || (made.by_gc && content_stays));
        }
        for version in versions_of(&subject.store).await?.range(newest + 1..) {
            let Version { state, tags, uses, .. } = &subject.versions[&newest];
            let (state, tags, uses) = (state.clone(), tags.clone(), uses.clone());
            subject.versions.insert(*version, Version { state, tags, change: None, by_gc: true, given_up: false, uses });
        }
        Ok(())
    }

    /// Compares every existing version of every table with the model.
    async fn check(&mut self) -> Checked {
        for number in 0..self.subjects.len() {
            let found = versions_of(&self.subjects[number].store).await?;
            let subject = &self.subjects[number];
            if let Some(stranger) = found.iter().find(|version| !subject.versions.contains_key(version)) {
                return Err(format!("table {number} has version {stranger}, which nobody made"));
            }
            let was_there =
                |version: &u64| subject.live.is_empty() || subject.live.contains(version) || *version == subject.newest();
            let missing =
                subject.versions.iter().find(|(version, made)| !made.given_up && !found.contains(version) && was_there(version));
            if let Some((version, _)) = missing {
                return Err(format!("version {version} of table {number} is gone"));
            }
            for version in &found {
                let subject = &self.subjects[number];
                let matched = matches(&subject.store, *version, &subject.versions[version]).await;
                matched.map_err(|error| format!("version {version} of table {number}: {error}"))?;
                self.tally.checked += 1;
            }
            self.subjects[number].live = found;
        }
        Ok(())
    }

    /// Ends a history: all remaining bytes are sound, and garbage collection leaves only objects that an existing version names.
    pub(crate) async fn finish(&mut self) -> Checked {
        self.open_tables.clear();
        // Users are collected before owners, so that pins are deleted together with the versions that need them.
        for _ in 0..2 {
            for number in (0..self.subjects.len()).rev() {
                for _ in 0..3 {
                    self.collect_in(number, 1).await?;
                }
            }
            self.check().await?;
        }
        for (number, subject) in self.subjects.iter().enumerate() {
            let place = |error: tetrys::Error| format!("table {number}: {error}");
            let table = Table::open_in(subject.store.clone()).await.map_err(place)?;
            let damage = table.storage().verify(|_, _| {}).await.map_err(place)?.damage;
            if !damage.is_empty() {
                return Err(format!("table {number}: {damage:?}"));
            }
            let usage = Storage::of(&subject.store).usage().await.map_err(place)?;
            if usage.unnamed_bytes > 0 {
                return Err(format!("table {number}: {} bytes that nobody names stay for ever", usage.unnamed_bytes));
            }
        }
        Ok(())
    }
}

async fn versions_of(store: &Store) -> Checked<BTreeSet<u64>> {
    let found = commit::versions(store).await.map_err(|error| format!("{}: {error}", store.url()))?;
    Ok(found.into_iter().collect())
}

/// Compares a version with the model.
async fn matches(store: &Store, version: u64, made: &Version) -> Checked {
    let failed = |error: tetrys::Error| error.to_string();
    let state = &made.state;
    let table = Table::open_version_in(store.clone(), version).await.map_err(failed)?;
    if table.manifest().tags != made.tags {
        return Err(format!("tags {:?}, expected {:?}", table.manifest().tags, made.tags));
    }
    if table.rows() != state.rows.len() as u64 {
        return Err(format!("{} rows, expected {}", table.rows(), state.rows.len()));
    }
    let named: Vec<&str> = table.schema().index().map(|column| column.name.as_str()).collect();
    let expected: Vec<&str> = state.index.iter().map(|column| column.name.as_str()).collect();
    if named != expected {
        return Err(format!("index columns {named:?}, expected {expected:?}"));
    }
    let index: Vec<_> = table.index_batches().await.map_err(failed)?.collect::<tetrys::Result<_>>().map_err(failed)?;
    let all: Vec<u64> = (0..table.rows()).collect();
    let loader = table.row_loader();
    let payload = loader.take(&all).await.map_err(failed)?;
    let mut found = values_of(&index);
    found.extend(values_of([payload.batch()]));
    for column in state.columns() {
        let expected: Vec<Value> = state.rows.iter().map(|row| row.value(column).clone()).collect();
        let values = found.remove(&column.name).unwrap_or_default();
        if let Some(row) = (0..expected.len()).find(|row| values.get(*row) != Some(&expected[*row])) {
            let name = &column.name;
            return Err(format!("row {row} has {:?} in `{name}`, expected {:?}", values.get(row), expected[row]));
        }
    }
    if let Some((name, _)) = found.first_key_value() {
        return Err(format!("a column `{name}`, which is not expected"));
    }
    if table.view().is_none() {
        if table.manifest().sequences() != state.sequences() {
            return Err(format!("{} sequences, expected {}", table.manifest().sequences(), state.sequences()));
        }
        let row = version % table.rows().max(1);
        if table.rows() > 0 {
            let window = loader.window_rows(row, -2..=2).await.map_err(failed)?;
            let wanted = window_of(state, row);
            if window != wanted {
                return Err(format!("the window around row {row} has rows {window:?}, expected {wanted:?}"));
            }
        }
    }
    Ok(())
}

/// Returns the window `-2..=2` of a row, within its log.
fn window_of(state: &State, row: u64) -> Vec<Option<u64>> {
    let log = |row: u64| state.rows.get(row as usize).map(|row| state.log(row));
    let near =
        (-2..=2).map(|offset| row.checked_add_signed(offset).filter(|other| log(*other).is_some() && log(*other) == log(row)));
    near.collect()
}

fn change_text(change: &Change) -> String {
    match change {
        Change::Append { rows, goes_on } => {
            format!("append {} rows{}", rows.len(), if *goes_on { " to the last log" } else { "" })
        }
        Change::Overwrite { rows } => format!("overwrite with {} rows", rows.len()),
        Change::Delete { rows } => format!("delete {} rows", rows.len()),
        Change::Patch { group, cells } => format!("patch {} rows of {group}", cells.len()),
        Change::Replace { group, cells } => format!("replace {group}, {} rows differ", cells.len()),
        Change::AddGroup { group, .. } => format!("add {} with {} columns", group.name, group.columns.len()),
        Change::Drop { column, from_group, whole_group } => {
            let whole = if *whole_group { "the whole of " } else { "" };
            format!("drop {} from {whole}{}", column.name, from_group.as_deref().unwrap_or("the index"))
        }
        Change::Rename { column, name } => format!("rename {} to {name}", column.name),
        Change::Compact => "compact".to_owned(),
        Change::CompactRuns => "compact runs".to_owned(),
        Change::Materialize => "materialize".to_owned(),
        Change::Tag { name, version: Some(version) } => format!("tag {version} as {name}"),
        Change::Tag { name, version: None } => format!("untag {name}"),
    }
}
