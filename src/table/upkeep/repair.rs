//! Repairs a table with a copy of it: each object whose bytes are not those that its name states, and each manifest and pin that does not
//! end with its own hash, is replaced by that of the copy. Follows `format-spec/README.md#objects`.
//!
//! ```text
//! manifests, newest first -> indexes, layouts, hashes, attachments, join maps -> chunks that the layouts name -> pins
//! ```

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use serde::Serialize;

use super::{
    gc::{condemned_of, listed_pins, read_pin},
    verify::Damage,
};
use crate::{
    commit,
    error::{Error, ErrorKind, Result, counted},
    format::{MAX_PIN, Pin, manifest_name},
    id::Hash,
    store::{Listed, Store},
    table::version::{
        objects::{is_folder, read_layouts, readable_versions, small, together},
        table::Table,
    },
    work::offload_large,
};

/// The most objects that are compared at a time. A chunk may have a GiB.
const AT_ONCE: usize = 4;

/// Result of a repair.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Repair {
    /// Number of objects that were read and compared, with manifests.
    pub objects: u64,
    /// Number of their bytes.
    pub bytes: u64,
    /// Names of the objects that were damaged or missing and are whole now.
    pub repaired: Vec<String>,
    /// The objects that are still damaged: the copy lacks them, or they are damaged there too.
    pub damage: Vec<Damage>,
    /// Parts that were not compared: chunks and rows of other tables, and what a damaged manifest or layout names.
    pub not_checked: Vec<String>,
}

impl Repair {
    fn left(&mut self, object: String, problem: String) {
        self.damage.push(Damage { object, problem });
    }
}

impl Table {
    /// Does what `Storage::repair` says.
    pub(crate) async fn repair(store: &Store, copy: &Store, mut progress: impl FnMut(u64, u64)) -> Result<Repair> {
        if store.is_local() && store.url() == copy.url() {
            return Err(Error::invalid(format!("{}: expected a copy of the table, found the table itself", store.url())));
        }
        let (store, copy) = (&store.uncached(), &copy.uncached());
        if copy.lists() && copy.first_at_root(|name| !is_folder(name)).await?.is_none() {
            let (url, table) = (copy.url(), store.url());
            return Err(Error::not_found(format!("{url}: expected a copy of {table}, found no folder there that a table has")));
        }
        let mut repair = Repair::default();
        let tables = versions(store, copy, &mut repair).await?;
        for table in &tables {
            for foreign in &table.manifest().stores {
                let rest = format!("chunks and rows of {}", foreign.urls.first().map_or("another table", String::as_str));
                if !repair.not_checked.contains(&rest) {
                    repair.not_checked.push(rest);
                }
            }
        }
        let named: BTreeMap<String, u64> = tables.iter().flat_map(|table| small(table.manifest())).collect();
        let mut work = Work { done: 0, total: 0, report: &mut progress };
        repair.compare(store, copy, &named, &mut work).await?;
        let mut chunks = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for table in &tables {
            // Versions share most layouts, and each is read once.
            for (name, read) in read_layouts(table, |name| !seen.contains(name)).await? {
                chunks.extend(read.into_iter().flatten());
                seen.insert(name);
            }
        }
        repair.compare(store, copy, &chunks, &mut work).await?;
        if repair.damage.iter().any(|damage| ["manifests/", "layout/"].iter().any(|folder| damage.object.starts_with(folder))) {
            repair.not_checked.push("what the manifests and layouts name that are still damaged".to_owned());
        }
        repair.pins(store, copy).await?;
        Ok(repair)
    }
}

impl Repair {
    /// Adds what a version says of earlier ones: the newest version, or one with the hash that a later one states.
    async fn follow(
        &mut self,
        expected: &mut Option<Expected>,
        store: &Store,
        copy: &Store,
        table: &Table,
        hash: Option<Hash>,
    ) -> Result<()> {
        if let Some(Expected { floor, hashes, .. }) = expected {
            hashes.extend(stated(table).filter(|(parent, _)| hash.is_some() && floor.is_some_and(|floor| *parent > floor)));
            return Ok(());
        }
        let Expected { floor, hashes, given_up } = expected.get_or_insert_default();
        let Some(collections) = &table.manifest().collections else { return Ok(()) };
        if let Some(lists) = commit::lists_object(table.manifest())
            && matches!(mended(store, copy, &lists.name(), lists.object.bytes).await?, Mended::Replaced)
        {
            self.repaired.push(lists.name());
        }
        match commit::lists_of(store, table.manifest()).await {
            Ok(lists) => {
                hashes.extend(lists.kept.iter().map(|kept| (kept.version, kept.blake3)));
                given_up.extend(lists.expired.iter().map(|expired| expired.version));
            }
            Err(error) if says_nothing(&error) => return Err(error),
            // It is named with the other objects of this version.
            Err(_) => {}
        }
        *floor = Some(collections.floor);
        let recent = collections.recent.iter().map(|ancestor| (ancestor.version, ancestor.blake3));
        hashes.extend(recent.chain(stated(table)).filter(|(version, _)| *version > collections.floor));
        hashes.remove(&table.version());
        Ok(())
    }

    /// Replaces pins that are damaged. A pin that is gone may have been deleted.
    async fn pins(&mut self, store: &Store, copy: &Store) -> Result<()> {
        let read = |listed: Listed| async move {
            let read = read_pin(store, &listed.name).await;
            Ok::<_, Error>((listed, read))
        };
        let reads: Vec<_> = listed_pins(store).await?.into_iter().map(read).collect();
        for (listed, read) in together(reads).await? {
            self.objects += 1;
            let error = match read {
                Err(error) if says_nothing(&error) => return Err(error),
                Err(error) => error,
                Ok(_) => continue,
            };
            let pin = match read_pin(copy, &listed.name).await {
                Ok(Some(_)) => match copy.get(&listed.name, MAX_PIN).await {
                    // Checked again, because this was another read.
                    Ok(bytes) => Pin::parse(&bytes, &listed.name).map(|_| bytes),
                    Err(error) => Err(error),
                },
                Ok(None) => Err(Error::not_found(format!("no {} in {}", listed.name, copy.url()))),
                Err(error) => Err(error),
            };
            match pin {
                Ok(bytes) => {
                    store.replace(&listed.name, bytes).await?;
                    self.repaired.push(listed.name);
                }
                Err(why) if says_nothing(&why) => return Err(why),
                Err(why) => self.left(listed.name, format!("{error}; the copy: {why}")),
            }
        }
        Ok(())
    }

    /// Compares objects of these names and sizes, and replaces those that are not whole.
    async fn compare(&mut self, store: &Store, copy: &Store, named: &BTreeMap<String, u64>, work: &mut Work<'_>) -> Result<()> {
        work.total += named.values().sum::<u64>();
        let compared = named
            .iter()
            .map(|(name, bytes)| async move { Ok::<_, Error>((name, *bytes, mended(store, copy, name, *bytes).await?)) });
        let mut compared = stream::iter(compared.collect::<Vec<_>>()).buffered(AT_ONCE);
        while let Some((name, bytes, mended)) = compared.try_next().await? {
            (self.objects, self.bytes) = (self.objects + 1, self.bytes + bytes);
            match mended {
                Mended::Sound => {}
                Mended::Replaced => self.repaired.push(name.clone()),
                Mended::Left(problem) => self.left(name.clone(), problem),
            }
            work.done += bytes;
            (work.report)(work.done, work.total);
        }
        Ok(())
    }
}

/// Progress of a repair, in bytes.
struct Work<'a> {
    done: u64,
    total: u64,
    report: &'a mut dyn FnMut(u64, u64),
}

/// The result for one object.
enum Mended {
    Sound,
    Replaced,
    /// It is still damaged, for this reason.
    Left(String),
}

/// Opens all versions, and replaces manifests that are damaged, lost or another one. The newest come first, because each states the hash of
/// the one before.
async fn versions(store: &Store, copy: &Store, repair: &mut Repair) -> Result<Vec<Table>> {
    let numbers = commit::versions(store).await?;
    if numbers.is_empty() {
        return Err(Error::not_found(format!(
            "{}: no table there (no manifest): copy the folder `manifests` of the copy first, and then repair",
            store.url()
        )));
    }
    let (opened, mut damaged) = readable_versions(store, numbers).await?;
    let mut opened: BTreeMap<u64, (Table, Bytes)> =
        opened.into_iter().map(|(table, bytes)| (table.version(), (table, bytes))).collect();
    // What the versions here say of the one before, whether they are in the chain of versions or not.
    let mut stated_hashes: BTreeMap<u64, Hash> = opened.values().filter_map(|(table, _)| stated(table)).collect();
    // What the newest version and its ancestors say of the versions that nothing deletes.
    let mut expected: Option<Expected> = None;
    let mut tables: Vec<Table> = Vec::new();
    loop {
        let lost = expected.as_ref().and_then(|expected| expected.hashes.keys().next_back().copied());
        let there = opened.keys().next_back().max(damaged.keys().next_back()).copied();
        let Some(version) = there.max(lost) else { return Ok(tables) };
        let hash = expected.as_mut().and_then(|expected| expected.hashes.remove(&version));
        let is_gone = !opened.contains_key(&version) && !damaged.contains_key(&version);
        if is_gone && expected.as_ref().is_some_and(|expected| expected.given_up.contains(&version)) {
            continue;
        }
        repair.objects += 1;
        let problem = match (opened.remove(&version), damaged.remove(&version)) {
            (Some((table, bytes)), _) if hash.is_none_or(|hash| hash == table.manifest_hash()) => {
                repair.bytes += bytes.len() as u64;
                repair.follow(&mut expected, store, copy, &table, hash).await?;
                tables.push(table);
                continue;
            }
            (Some(_), _) => Error::corrupt(format!("{}: version {version} is not the one that later versions name", store.url())),
            (None, Some(error)) => error,
            (None, None) => {
                Error::not_found(format!("{}: the manifest of version {version}, which is kept, is missing", store.url()))
            }
        };
        let name = manifest_name(version);
        match of_copy(store, copy, version, hash.or_else(|| stated_hashes.get(&version).copied())).await {
            Ok((table, bytes)) => {
                store.replace(&name, bytes).await?;
                stated_hashes.extend(stated(&table));
                repair.follow(&mut expected, store, copy, &table, hash).await?;
                tables.push(table);
                repair.repaired.push(name);
            }
            Err(why) if says_nothing(&why) => return Err(why),
            Err(why) => {
                // An earlier version does not know what was given up since.
                expected.get_or_insert_default();
                repair.left(name, format!("{problem}; the copy: {why}"));
            }
        }
    }
}

/// Returns the parent of a version, with its hash.
fn stated(table: &Table) -> Option<(u64, Hash)> {
    table.manifest().parent.as_ref().map(|parent| (parent.version, parent.blake3))
}

/// The versions that must be there, as the newest one says; none where nobody knows.
#[derive(Default)]
struct Expected {
    /// Nothing deletes a manifest above it; `None` before the first garbage collection: another build may have deleted any.
    floor: Option<u64>,
    /// The versions that were not looked at yet.
    hashes: BTreeMap<u64, Hash>,
    /// The versions that were given up, and may be gone.
    given_up: BTreeSet<u64>,
}

/// Reads a version in the copy, if it is the one that is damaged here: the manifest after it states its hash, `stated`, or the end of the
/// damaged manifest still does.
async fn of_copy(store: &Store, copy: &Store, version: u64, stated: Option<Hash>) -> Result<(Table, Bytes)> {
    let (manifest, found, bytes) = commit::load_sealed(copy, version).await?;
    let stated = match stated {
        Some(stated) => Some(stated),
        None => commit::stated_hash(store, version).await?,
    };
    match stated {
        Some(stated) if stated == found => Ok((Table::of(store.clone(), manifest, found, Vec::new()), bytes)),
        Some(stated) => {
            Err(Error::corrupt(format!("its version {version} has the hash {found}, expected {stated}: it is another one")))
        }
        None => Err(Error::corrupt(format!(
            "nothing here tells whether its version {version} is this one; if you know that it is, copy {} by hand",
            manifest_name(version)
        ))),
    }
}

/// Reads an object, and replaces it by that of the copy if it is damaged or missing.
async fn mended(store: &Store, copy: &Store, name: &str, bytes: u64) -> Result<Mended> {
    let error = match whole(store, name, bytes).await {
        Ok(_) => return Ok(Mended::Sound),
        Err(error) if says_nothing(&error) => return Err(error),
        Err(error) => error,
    };
    let content = match whole(copy, name, bytes).await {
        Ok(content) => content,
        Err(why) if says_nothing(&why) => return Err(why),
        Err(why) => return Ok(Mended::Left(format!("{error}; the copy: {why}"))),
    };
    let replaced = match store.replace(name, content).await {
        Ok(()) => whole(store, name, bytes).await.map(drop),
        failed => failed,
    };
    match replaced {
        Ok(()) => Ok(Mended::Replaced),
        Err(why) if says_nothing(&why) => Err(why),
        Err(why) => Ok(Mended::Left(why.to_string())),
    }
}

/// Reads an object, and compares it with the hash in its name.
async fn whole(store: &Store, name: &str, bytes: u64) -> Result<Bytes> {
    let object = condemned_of(name, bytes).ok_or_else(|| Error::internal(format!("no object has the name {name}")))?.object;
    let read = || async {
        let content = store.get_exact(name, bytes).await?;
        let copy = content.clone();
        let found = offload_large(content.len(), move |_| Ok(Hash::of(&copy))).await?;
        match found == object.blake3 {
            true => Ok(content),
            false => Err(Error::corrupt(format!(
                "{name} in {}: {} with blake3 {found}, its name has {}",
                store.url(),
                counted(content.len(), "byte"),
                object.blake3
            ))),
        }
    };
    store.twice_where_damaged(read).await
}

/// Whether an error says nothing about the stored bytes: missing rights, or no answer.
fn says_nothing(error: &Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::Corrupt | ErrorKind::NotFound | ErrorKind::Unsupported | ErrorKind::Invalid | ErrorKind::Exists
    )
}
