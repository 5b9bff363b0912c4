//! The state of a change before it is published: the version that it starts from, the other tables (owners) whose chunks it
//! may use, and the blocks that it can reuse.
//!
//! ```text
//! base version -> pin owners -> read what owners delete -> collect known blocks -> (write) -> publish (publish.rs)
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures::{
    future::try_join,
    stream::{self, StreamExt, TryStreamExt},
};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    commit::{self, Borrower, Owners, Unpinned},
    error::{Error, ErrorKind, Result},
    format::{
        Collections, GroupSegment, LayoutRun, Lists, Manifest, Parent, Segment, SequenceTracker, index_reader, read_layout,
    },
    id::{ChunkId, Hash, Salt},
    machine,
    schema::ColumnType,
    store::Store,
    table::version::{
        objects::{is_missing, together},
        table::Table,
    },
    work::{boxed, offload_large},
    write::{Known, KnownBuilder, Reuse, WriteOptions},
};

/// Number of newest versions of the table whose blocks can be reused. Older versions are not read.
const OWN_VERSIONS: usize = 64;
/// Most bytes of hashes that an append reads by default.
const NEAR_HASHES: u64 = 1 << 20;
/// Number of layouts that are read concurrently in search of known blocks.
const LAYOUTS_AT_ONCE: usize = 4;

/// The kind of a session: it creates a table, appends rows, or replaces all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) enum SessionKind {
    Create,
    Append,
    Overwrite,
}

impl SessionKind {
    /// Returns the name of the operation, for the lineage.
    pub(in crate::table) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Append => "append",
            Self::Overwrite => "overwrite",
        }
    }
}

/// A change that is not published yet.
#[derive(Clone, Debug)]
pub(in crate::table) struct Session {
    pub(in crate::table) store: Store,
    /// The version it is made from; `None` for a new table.
    pub(in crate::table) base: Option<Table>,
    pub(in crate::table) table: Uuid,
    pub(in crate::table) commit_id: Uuid,
    pub(in crate::table) owners: Owners,
    /// Owners that could not be pinned.
    pub(in crate::table) unpinned: Vec<Unpinned>,
    /// Whether the change may continue if an owner cannot be pinned.
    pub(in crate::table) allow_unpinned: bool,
    /// The version and the commit that the pins name.
    pub(in crate::table) pinned: Option<(u64, Uuid)>,
    /// Blocks that can be reused.
    pub(in crate::table) known: Option<Arc<Known>>,
    /// Whether the change appends rows.
    pub(in crate::table) appends: bool,
    /// Whether the commit merges small segments at the end of the table (folding.rs).
    pub(in crate::table) folds: bool,
    /// The session of several processes to which this commit belongs; any of them may have committed it already.
    pub(in crate::table) shared: Option<Uuid>,
    /// The numbers of the owners that are references, in the order in which they were given.
    pub(in crate::table) references: Vec<u32>,
    /// The decisions of the garbage collection that this change is; `None` for other changes.
    pub(in crate::table) collects: Option<Collections>,
    /// The newest version when the change began, if there was a garbage collection since the base. What the base names may be deleted, so
    /// that blocks of this version are reused.
    pub(in crate::table) newest: Option<Table>,
    /// The version that was the newest one when the session began; `None` if that is the base.
    pub(in crate::table) since: Option<u64>,
}

impl Session {
    /// Starts a new table.
    pub(in crate::table) fn create(store: Store) -> Self {
        Self {
            owners: Owners::new(store.clone()),
            store,
            base: None,
            table: machine::new_id(),
            commit_id: machine::new_id(),
            unpinned: Vec::new(),
            allow_unpinned: false,
            pinned: None,
            known: None,
            appends: false,
            folds: false,
            shared: None,
            references: Vec::new(),
            collects: None,
            newest: None,
            since: None,
        }
    }

    /// Starts a version after `base`, or a new table. The caller adds the owners.
    pub(in crate::table) fn first_or_next(store: &Store, base: Option<&Table>, allow_unpinned: bool) -> Self {
        let Some(base) = base else { return Self { allow_unpinned, ..Self::create(store.clone()) } };
        Self {
            base: Some(base.clone()),
            table: base.manifest().table,
            allow_unpinned: allow_unpinned || base.inner.allow_unpinned,
            ..Self::create(store.salted(salt_for(base.manifest())))
        }
    }

    /// Gives the change another commit id, which has no pins yet.
    pub(in crate::table) fn start_over(&mut self) {
        (self.commit_id, self.pinned) = (machine::new_id(), None);
    }

    /// Starts a change of this version. With `keeps_rows`, the new version keeps using the chunks of other tables that this one
    /// uses, so their owners are pinned.
    ///
    /// # Errors
    /// - `Unsupported`: the table is a view, or the version needs a later writer.
    /// - `Denied`: an owner cannot be pinned, and `allow_unpinned` is false.
    /// - Errors of the stores.
    pub(in crate::table) async fn change(base: &Table, keeps_rows: bool, allow_unpinned: bool) -> Result<Self> {
        Self::change_as(base, keeps_rows, allow_unpinned, machine::new_id()).await
    }

    /// Starts a change as [`Session::change`] does, with this commit id.
    pub(in crate::table) async fn change_as(
        base: &Table,
        keeps_rows: bool,
        allow_unpinned: bool,
        commit_id: Uuid,
    ) -> Result<Self> {
        if base.manifest().view.is_some() {
            return Err(Error::unsupported(format!(
                "{} version {} is a view: its rows belong to other tables; change those, or save another version of the view",
                base.url(),
                base.version()
            )));
        }
        Self::child_as(base, keeps_rows, allow_unpinned, commit_id).await
    }

    /// Starts a change as [`Session::change`] does, also of a view, for changes that do not touch rows.
    pub(in crate::table) async fn child_of(base: &Table, keeps_rows: bool, allow_unpinned: bool) -> Result<Self> {
        Self::child_as(base, keeps_rows, allow_unpinned, machine::new_id()).await
    }

    async fn child_as(base: &Table, keeps_rows: bool, allow_unpinned: bool, commit_id: Uuid) -> Result<Self> {
        base.next_version_may_be_written()?;
        let mut session = Self { commit_id, ..Self::first_or_next(base.store(), Some(base), allow_unpinned) };
        if keeps_rows {
            for (number, foreign) in (1..).zip(&base.manifest().stores) {
                session.owners.inherit(foreign.clone(), base.store_of(number).await);
            }
            session.pin(session.borrower()).await?;
        }
        Ok(session)
    }

    /// Starts a change of new rows as [`Session::change`] does, with the blocks that it can reuse. `newest` is the newest version, if there
    /// was a garbage collection since the base.
    pub(in crate::table) async fn rows(
        base: &Table,
        newest: Option<Table>,
        keeps_rows: bool,
        options: &WriteOptions,
    ) -> Result<Self> {
        let mut session = Self::change(base, keeps_rows, options.allow_unpinned).await?;
        if let Some(newest) = newest {
            session.store = session.store.salted(salt_for(newest.manifest()));
            session.since = Some(newest.version());
            session.newest = Some(newest);
        }
        session.appends = keeps_rows;
        session.know(&[], options).await?;
        Ok(session)
    }

    /// Returns the number of the version that the change makes, before any rebase.
    pub(in crate::table) fn version(&self) -> u64 {
        self.base.as_ref().map_or(1, |base| base.version() + 1)
    }

    fn borrower(&self) -> Borrower {
        Borrower { table: self.table, version: self.version(), commit_id: self.commit_id }
    }

    /// Collects the blocks that the change can reuse: those of the references and of the table's own newest versions. Owners
    /// are pinned before their layouts are read, so that no block found there can be deleted.
    ///
    /// # Errors
    /// - `Invalid`: a reference is a copy of this table.
    /// - `Denied`: an owner cannot be pinned, and `allow_unpinned` is false.
    /// - `Conflict`: a referenced version no longer exists.
    /// - Errors of the stores.
    pub(in crate::table) async fn know(&mut self, references: &[Table], options: &WriteOptions) -> Result<()> {
        if options.reuse == Reuse::None {
            return Ok(());
        }
        let lists = self.lists().await?;
        let sources = self.sources(references, options, &lists).await?;
        let mut numbered = Vec::new();
        for source in sources {
            let numbers = self.owners_of(&source).await?;
            if let Some(Some(own @ 1..)) = numbers.first()
                && references.iter().any(|table| table.manifest_hash() == source.manifest_hash())
                && !self.references.contains(own)
            {
                self.references.push(*own);
            }
            numbered.push((source, numbers));
        }
        self.allow_unpinned |= options.allow_unpinned;
        self.pin(self.borrower()).await?;
        self.collect(&numbered, options, &lists).await
    }

    /// Collects the blocks that the change can reuse, as [`Session::know`] does in the process that started the session. That
    /// process has numbered the owners and pinned them.
    ///
    /// # Errors
    /// - `Conflict`: a referenced version no longer exists.
    /// - Errors of the stores.
    pub(in crate::table) async fn know_again(&mut self, references: &[Table], options: &WriteOptions) -> Result<()> {
        if options.reuse == Reuse::None {
            return Ok(());
        }
        let numbered_by_starter = self.owners.clone();
        let mut numbered = Vec::new();
        let lists = self.lists().await?;
        for source in self.sources(references, options, &lists).await? {
            let numbers = self.owners_of(&source).await?;
            // A commit only knows the owners that the process which started the session has numbered.
            let is_known = |number: &u32| *number as usize <= numbered_by_starter.len();
            numbered.push((source, numbers.into_iter().map(|number| number.filter(is_known)).collect()));
        }
        self.owners = numbered_by_starter;
        self.collect(&numbered, options, &lists).await
    }

    /// Returns what garbage collections keep and give up, as the base version says.
    async fn lists(&self) -> Result<Lists> {
        match self.reused() {
            Some(base) => commit::lists_of(&self.store, base.manifest()).await,
            None => Ok(Lists::default()),
        }
    }

    /// Returns the version of the table whose blocks can be reused.
    fn reused(&self) -> Option<&Table> {
        self.newest.as_ref().or(self.base.as_ref())
    }

    /// Whether only the last segment of the table, and what the caller names, is searched for blocks to reuse.
    fn looks_near(&self, options: &WriteOptions) -> bool {
        self.appends && options.reuse == Reuse::Auto
    }

    /// Returns the tables whose blocks can be reused: the base version, earlier versions of the table that are not given up, and the
    /// references.
    async fn sources(&self, references: &[Table], options: &WriteOptions, lists: &Lists) -> Result<Vec<Table>> {
        let mut sources: Vec<Table> = self.reused().cloned().into_iter().collect();
        // A manifest at or below the floor that is not listed is no version, or is being deleted.
        let is_reused = |version: u64| {
            self.reused().is_some_and(|base| {
                let is_kept = version > base.manifest().floor() || lists.is_kept(version);
                version < base.version() && is_kept && lists.expired_at(version).is_none()
            })
        };
        if self.reused().is_some() && !self.looks_near(options) {
            let mut versions = commit::versions(&self.store).await?;
            versions.sort_unstable_by_key(|version| std::cmp::Reverse(*version));
            versions.retain(|version| is_reused(*version));
            let store = &self.store;
            let open = |version: u64| async move {
                match commit::load(store, version).await {
                    Ok((manifest, hash)) => Ok(Some(Table::of(store.clone(), manifest, hash, Vec::new()))),
                    // A version that was collected, is damaged, or is of a later build has nothing to reuse.
                    Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported | ErrorKind::Corrupt) => {
                        Ok(None)
                    }
                    Err(error) => Err(error),
                }
            };
            let opened: Vec<_> = versions.into_iter().take(OWN_VERSIONS - 1).map(open).collect();
            sources.extend(together(opened).await?.into_iter().flatten());
        }
        for reference in references {
            if self.is_here(reference) {
                let is_new = !sources.iter().any(|source| self.is_here(source) && source.version() == reference.version());
                if is_new && is_reused(reference.version()) {
                    sources.push(reference.clone());
                }
                continue;
            }
            if reference.manifest().table == self.table {
                return Err(Error::invalid(format!(
                    "{} is a copy of {}: the same table in another place cannot be its reference",
                    reference.url(),
                    self.store.url()
                )));
            }
            sources.push(reference.clone());
        }
        Ok(sources)
    }

    /// Reads the layouts of the sources, which have these owner numbers, and collects their blocks.
    async fn collect(&mut self, numbered: &[(Table, Vec<Option<u32>>)], options: &WriteOptions, lists: &Lists) -> Result<()> {
        let condemned = self.owners.condemned().await?;
        let mut builder = KnownBuilder::new(options.reuse, options.preset, options.known_memory);
        let marked = self.reused().into_iter().flat_map(|base| base.manifest().marked());
        let own =
            marked.chain(lists.condemned.iter().map(|given_up| &given_up.object)).filter(|object| object.folder == "chunks");
        builder.owner(0, self.store.clone(), own.map(|object| ChunkId(object.object.blake3)));
        for (number, condemned) in (1..).zip(condemned) {
            if let Some(store) = self.owners.store(number) {
                builder.owner(number, store.clone(), condemned);
            }
        }
        let mut seen = BTreeSet::new();
        let mut wanted = Vec::new();
        for (source, numbers) in numbered {
            let segments = source.manifest().segments.as_slice();
            let is_base = self.is_here(source) && self.reused().is_some_and(|base| base.version() == source.version());
            let segments = match self.looks_near(options) && is_base {
                true => near(segments),
                false => segments,
            };
            wanted.extend(new_groups(source, segments, numbers, &mut seen));
        }
        // Layouts are read concurrently and added in order, so that the result does not depend on timing.
        let this = &*self;
        let reads = wanted.into_iter().map(|wanted| async move {
            match wanted.read().await {
                Ok(blocks) => Ok(Some((wanted, blocks))),
                // A version that is being collected has nothing to reuse.
                Err(error) if this.is_here(wanted.source) && is_missing(&error) => Ok(None),
                Err(error) => Err(error),
            }
        });
        let mut reads = stream::iter(reads.collect::<Vec<_>>()).buffered(LAYOUTS_AT_ONCE);
        while let Some(read) = reads.try_next().await? {
            let Some((StoredGroup { source, numbers, types, .. }, (runs, hashes))) = read else { continue };
            let (mut kept, mut kept_hashes, mut block) = (Vec::new(), Vec::new(), 0);
            for run in runs {
                let end = block + run.lengths.len();
                if let (Some(Some(owner)), Some(of_run)) = (numbers.get(run.owner as usize), hashes.get(block..end)) {
                    kept.push(LayoutRun { owner: *owner, ..run });
                    kept_hashes.extend_from_slice(of_run);
                }
                block = end;
            }
            builder.add(&types, kept, &kept_hashes, this.is_here(source))?;
        }
        drop(reads);
        self.known = builder.finish()?;
        Ok(())
    }

    fn is_here(&self, table: &Table) -> bool {
        table.manifest().table == self.table && table.url() == self.store.url()
    }

    /// Maps the owner numbers of `source` (0 is `source` itself) to the owner numbers of this change. `None` stands for an owner
    /// that cannot be reached.
    async fn owners_of(&mut self, source: &Table) -> Result<Vec<Option<u32>>> {
        let manifest = source.manifest();
        let own = match self.is_here(source) {
            true => 0,
            false => self.owners.add(source.store(), manifest.table, manifest.version, source.manifest_hash())?,
        };
        let mut numbers = vec![Some(own)];
        for (number, foreign) in (1..).zip(&manifest.stores) {
            numbers.push(match source.store_of(number).await {
                Ok(store) if foreign.table == self.table && store.url() == self.store.url() => Some(0),
                Ok(store) => Some(self.owners.add(&store, foreign.table, foreign.version, foreign.blake3)?),
                Err(_) => None,
            });
        }
        Ok(numbers)
    }

    /// Drops the owners that are not used, except those that the base version names. Returns the number of each kept owner in the
    /// new manifest.
    pub(in crate::table) async fn settle_owners(
        &mut self,
        used: impl IntoIterator<Item = u32>,
        keeps_rows: bool,
    ) -> BTreeMap<u32, u32> {
        let inherited = self.base.iter().filter(|_| keeps_rows).map(|base| base.manifest().stores.len() as u32).sum::<u32>();
        let mut kept: Vec<u32> = (1..=inherited).collect();
        let used: BTreeSet<u32> = used.into_iter().filter(|owner| *owner > inherited).collect();
        kept.extend(used);
        self.owners.retain(&kept).await;
        kept.into_iter().zip(1..).collect()
    }

    /// Returns the published version as a table. It may follow the URLs that its base may follow, and those of the change's
    /// owners.
    pub(in crate::table) fn made(&self, manifest: Manifest, hash: Hash) -> Table {
        let owners = (1..=self.owners.len() as u32).filter_map(|number| self.owners.store(number));
        let base = self.base.iter().flat_map(Table::allowed).cloned();
        Table::of(self.store.salted(Salt::NONE), manifest, hash, base.chain(owners.map(|store| store.url().to_owned())).collect())
    }

    /// Returns the manifest of the next version, still with the content of the base.
    pub(in crate::table) fn child(&self) -> Result<Manifest> {
        let base = self.base.as_ref().ok_or_else(|| Error::internal("a child of no version"))?;
        Ok(Manifest {
            version: base.version() + 1,
            parent: Some(Parent { version: base.version(), blake3: base.manifest_hash() }),
            commit_id: self.commit_id,
            stores: self.owners.stores(),
            ..base.manifest().clone()
        })
    }
}

/// Returns the salt of a change of this version: one of its own after the first garbage collection, so that it makes no object that a
/// collection may be deleting.
fn salt_for(manifest: &Manifest) -> Salt {
    let is_collected = manifest.collections.is_some() || !manifest.condemned.is_empty() || manifest.deleting.is_some();
    Salt(is_collected.then(machine::new_id))
}

/// A column group of a segment whose blocks can be reused.
struct StoredGroup<'a> {
    source: &'a Table,
    /// The number of each of the source's owners among those of the change.
    numbers: &'a [Option<u32>],
    types: Vec<ColumnType>,
    segment: &'a Segment,
    group: &'a GroupSegment,
}

/// Returns the last of these segments, unless its hashes take more than an append reads.
fn near(segments: &[Segment]) -> &[Segment] {
    let bytes = |segment: &Segment| segment.groups.iter().map(|group| group.hashes.bytes).sum::<u64>();
    match segments {
        [.., last] if bytes(last) <= NEAR_HASHES => std::slice::from_ref(last),
        _ => &[],
    }
}

/// Returns the column groups of these segments of a version whose layouts were not seen in other versions.
fn new_groups<'a>(
    source: &'a Table,
    segments: &'a [Segment],
    numbers: &'a [Option<u32>],
    seen: &mut BTreeSet<(Hash, Hash, &'a [Option<u32>])>,
) -> Vec<StoredGroup<'a>> {
    let mut new = Vec::new();
    for segment in segments {
        for (described, group) in source.schema().groups().iter().zip(&segment.groups) {
            if seen.insert((group.layout.blake3, group.hashes.blake3, numbers)) {
                let columns = described.columns.iter().filter_map(|id| source.schema().column(*id));
                let types = columns.map(|column| column.ty.clone()).collect();
                new.push(StoredGroup { source, numbers, types, segment, group });
            }
        }
    }
    new
}

impl StoredGroup<'_> {
    async fn read(&self) -> Result<(Vec<LayoutRun>, Vec<Hash>)> {
        let layout = self.source.object("layout", &self.group.layout);
        let (layout, hashes) = try_join(layout, self.source.block_hashes(self.group)).await?;
        let (columns, rows, stores) = (self.types.len(), self.segment.rows, self.source.manifest().stores.len());
        let runs = offload_large(layout.len(), move |_| read_layout(layout, columns, rows, stores)).await?;
        Ok((runs, hashes))
    }
}

/// Sets `continues` of each segment of a manifest that was rebased onto `theirs`: whether its first row continues the last sequence of the
/// segment before. If the manifest begins with the rows of `theirs`, only the rows after them are read.
///
/// # Errors
/// - `Invalid`: a sequence reappears after it ended.
/// - `Corrupt`: the index is damaged.
/// - Errors of the store.
pub(in crate::table) async fn join_sequences(theirs: &Table, manifest: &mut Manifest) -> Result<()> {
    let (theirs_segments, schema) = (&theirs.manifest().segments, manifest.schema.clone());
    let is_kept = |(ours, theirs): (&Segment, &Segment)| ours.index == theirs.index && ours.rows == theirs.rows;
    let begins = manifest.segments.len() >= theirs_segments.len() && manifest.segments.iter().zip(theirs_segments).all(is_kept);
    let is_named_alike = theirs.manifest().schema.index().eq(schema.index());
    let (kept, mut tracker) = match begins && is_named_alike && theirs.rows() > 0 {
        true if manifest.segments.len() == theirs_segments.len() => (theirs_segments.len(), SequenceTracker::new(&schema)),
        true => (theirs_segments.len(), boxed(|| theirs.tracker_after_last_row()).await?),
        false => (0, SequenceTracker::new(&schema)),
    };
    for (segment, theirs) in manifest.segments.iter_mut().zip(theirs_segments).take(kept) {
        segment.continues = theirs.continues;
    }
    let table = Table::of(theirs.store().clone(), manifest.clone(), Hash::of(b""), Vec::new());
    for number in kept..manifest.segments.len() {
        let starts = follow(&table, number, &mut tracker).await?;
        manifest.segments[number].continues = !starts;
    }
    match kept {
        0 => Ok(()),
        _ => boxed(|| theirs.check_followed(&tracker, &[])).await,
    }
}

/// Feeds the rows of a segment to the tracker. Returns whether the first row starts a sequence.
async fn follow(table: &Table, number: usize, tracker: &mut SequenceTracker) -> Result<bool> {
    let manifest = table.manifest();
    let segment: &Segment = &manifest.segments[number];
    let bytes = table.object("index", &segment.index).await?;
    let mut first = None;
    for batch in index_reader(bytes, &manifest.schema, segment.rows)? {
        let starts = tracker.push(&batch?)?;
        first.get_or_insert(starts.first() == Some(&0));
    }
    Ok(first.unwrap_or(true))
}

/// Returns the lineage of a version: the writer, the operation, and `more`.
pub(in crate::table) fn lineage(operation: &str, mut more: BTreeMap<String, Value>) -> Result<Value> {
    more.insert("writer".to_owned(), concat!("tetrys ", env!("CARGO_PKG_VERSION")).into());
    more.insert("operation".to_owned(), operation.into());
    serde_json::to_value(more).map_err(|error| Error::internal(error.to_string()))
}
