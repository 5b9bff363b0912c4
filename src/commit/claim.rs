//! Claims a version, and finds out the outcome of a claim. Neither the answer of the store nor a clock decides, but the newest version
//! and the versions that it descends from. Follows `format-spec/manifest.md#commit`.

use std::fmt;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    decided::{Decided, next_collections},
    decisions::{self, Numbered},
    versions::{LOOKS, MAX_MANIFEST, hash_of, load, newest_version},
};
use crate::{
    error::{Error, ErrorKind, Result, counted},
    format::{Manifest, Parent, manifest_name},
    id::Hash,
    machine,
    store::{Put, Store, was_sent_again},
};

/// The lineage member that lists the owners that could not be pinned.
pub(crate) const NOT_PINNED: &str = "not_pinned";
/// The lineage member of a garbage collection that lists the owners that it could not pin.
pub(crate) const WITHOUT_PINS: &str = "without_pins";

/// Maximum attempts to put a manifest that is absent after an unclear answer.
const ATTEMPTS: usize = 3;

/// The outcome of a commit, as the versions that are there tell it: see [`Versions::fate_of`](crate::table::Versions::fate_of).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is a version of the table.
    Committed,
    /// It is no version, and never becomes one: another commit has its number.
    NotCommitted,
    /// No version has its number yet. A request that is under way may still make it one.
    Open,
    /// The version with this number, or one after it, was deleted: nobody can tell whether the commit made it.
    CannotTell,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Committed => "committed",
            Self::NotCommitted => "not committed",
            Self::Open => "open",
            Self::CannotTell => "cannot tell",
        })
    }
}

/// The manifest that the chain of parents has for a number.
enum InChain {
    /// The newest version has a smaller number, this one; 0 if there is no table.
    Later(u64),
    /// The number has this manifest, made by this commit where that is known.
    Has(Hash, Option<Uuid>),
    /// The chain steps over the number.
    Skips,
    /// The number has a manifest that is damaged, or is none.
    Unreadable(Error),
    /// The chain cannot be followed to the number: a version on the way was deleted.
    Cut,
}

/// Finds out which manifest has this number in the chain of versions. Lists once, and reads the manifests of the later versions.
///
/// # Errors
/// - `Corrupt`, `Unsupported`: this build cannot read a version after this one.
/// - Errors of the store.
async fn in_chain(store: &Store, version: u64) -> Result<InChain> {
    let mut missing = None;
    for _ in 0..LOOKS {
        let newest = newest_version(store).await?.unwrap_or(0);
        if newest <= version {
            // Where a listing lags, the name itself tells.
            match hash_of(store, version).await {
                Ok(hash) => return Ok(InChain::Has(hash, None)),
                Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(InChain::Unreadable(error)),
                Err(error) if error.kind() == ErrorKind::NotFound && newest < version => return Ok(InChain::Later(newest)),
                // The listing has a name that does not exist, or there is a newer version by now.
                Err(error) if error.kind() == ErrorKind::NotFound => missing = Some(error),
                Err(error) => return Err(error),
            }
            continue;
        }
        match load(store, newest).await {
            Ok((newest, hash)) => return below(store, newest, hash, version).await,
            Err(error) if error.kind() == ErrorKind::NotFound => missing = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(missing.unwrap_or_else(|| Error::unavailable(format!("{}: versions come and go; retry", store.url()))))
}

/// Finds out which manifest has this number, which is smaller than that of the newest version.
async fn below(store: &Store, newest: Manifest, hash: Hash, version: u64) -> Result<InChain> {
    match decisions::numbered(&Decided::by(store, &newest, hash).await?, version) {
        Numbered::Later => return Ok(InChain::Later(newest.version)),
        Numbered::Has(found) => {
            let mut recent = newest.collections.iter().flat_map(|collections| &collections.recent);
            let commit = recent.find(|ancestor| ancestor.version == version).map(|ancestor| ancestor.commit_id);
            return Ok(InChain::Has(found, commit));
        }
        Numbered::Skipped => return Ok(InChain::Skips),
        Numbered::GivenUp => return Ok(InChain::Cut),
        Numbered::AskChain => {}
    }
    // The manifests of the nearest ancestors need not be read.
    let last = newest.collections.as_ref().and_then(|collections| collections.recent.last()).cloned();
    let from = match last {
        None => newest,
        Some(last) => match load(store, last.version).await {
            Ok((manifest, found)) if found == last.blake3 => manifest,
            Ok(_) => return Ok(InChain::Cut),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(InChain::Cut),
            Err(error) => return Err(error),
        },
    };
    among_parents(store, from, version).await
}

/// Follows the parents of a version down to a smaller number.
async fn among_parents(store: &Store, mut child: Manifest, version: u64) -> Result<InChain> {
    while let Some(parent) = child.parent.take() {
        match parent.version {
            number if number == version => return Ok(InChain::Has(parent.blake3, None)),
            number if number < version => break,
            _ => {}
        }
        child = match load(store, parent.version).await {
            Ok((manifest, hash)) if hash == parent.blake3 => manifest,
            // A late put has used the number of a version that was deleted.
            Ok(_) => return Ok(InChain::Cut),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(InChain::Cut),
            Err(error) => return Err(error),
        };
    }
    Ok(InChain::Skips)
}

/// See [`Versions::fate_of`](crate::table::Versions::fate_of).
pub(crate) async fn fate_of(store: &Store, version: u64, commit: Uuid) -> Result<Fate> {
    match in_chain(store, version).await? {
        InChain::Later(0) if version > 1 => Err(Error::not_found(format!("{}: no table there (no manifest)", store.url()))),
        InChain::Later(_) => Ok(Fate::Open),
        InChain::Skips => Ok(Fate::NotCommitted),
        InChain::Cut => Ok(Fate::CannotTell),
        InChain::Unreadable(error) => Err(error),
        InChain::Has(_, Some(found)) => Ok(if found == commit { Fate::Committed } else { Fate::NotCommitted }),
        InChain::Has(hash, None) => match load(store, version).await {
            Ok((manifest, found)) if found == hash => {
                Ok(if manifest.commit_id == commit { Fate::Committed } else { Fate::NotCommitted })
            }
            // A late put has used the number of a version that was deleted.
            Ok(_) => Ok(Fate::CannotTell),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Fate::CannotTell),
            Err(error) => Err(error),
        },
    }
}

/// Finds out whether this manifest is a version of the table, or only lies under the name of one.
///
/// # Errors
/// - `Corrupt`, `Unsupported`: this build cannot read the manifest with this number, or a version after it.
/// - Errors of the store.
pub(crate) async fn fate_of_hash(store: &Store, version: u64, hash: Hash) -> Result<Fate> {
    Ok(match in_chain(store, version).await? {
        InChain::Later(_) => Fate::Open,
        InChain::Has(found, _) if found == hash => Fate::Committed,
        InChain::Has(..) | InChain::Skips => Fate::NotCommitted,
        InChain::Unreadable(error) => return Err(error),
        InChain::Cut => Fate::CannotTell,
    })
}

/// Whether the store has refused a put, so that it will not arrive late. A refusal of a second request says nothing about the first.
fn is_refusal(store: &Store, error: &Error) -> bool {
    match error.kind() {
        ErrorKind::OutcomeUnknown => false,
        ErrorKind::Denied | ErrorKind::Invalid | ErrorKind::NotFound => !was_sent_again(error),
        // A store without this kind of request refuses it each time that the client sends it.
        ErrorKind::Unsupported => true,
        _ => store.is_local(),
    }
}

/// See [`Versions::rule_out`](crate::table::Versions::rule_out).
pub(crate) async fn rule_out(store: &Store, version: u64, commit: Uuid) -> Result<Fate> {
    let fate = fate_of(store, version, commit).await?;
    if fate != Fate::Open || version <= 1 {
        return Ok(fate);
    }
    let (newest, blake3) = load(store, version - 1).await.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::invalid(format!(
            "{}: version {version} cannot be ruled out: the version before it does not exist; expected the version that the message \
             of the commit names",
            store.url()
        )),
        _ => error,
    })?;
    if let Some(feature) = newest.write_features.first() {
        let url = store.url();
        return Err(Error::unsupported(format!("{url}: version {} needs a writer that knows `{feature}`", newest.version)));
    }
    take_number(store, &newest, blake3, commit).await?;
    fate_of(store, version, commit).await
}

/// Puts an empty version after `newest`, in place of a commit that may arrive late. It has no pins of its own: garbage collection keeps
/// the version that it repeats as long as it is kept.
async fn take_number(store: &Store, newest: &Manifest, blake3: Hash, commit: Uuid) -> Result<()> {
    let version = newest.version + 1;
    let mut lineage = json!({
        "writer": concat!("tetrys ", env!("CARGO_PKG_VERSION")),
        "operation": "empty",
        "instead_of": commit.to_string(),
    });
    if let Some(urls) = newest.lineage.get(NOT_PINNED) {
        lineage[NOT_PINNED] = Value::clone(urls);
    }
    let parent = Some(Parent { version: newest.version, blake3 });
    let collections = next_collections(newest, blake3, None, None);
    let empty = Manifest { version, parent, commit_id: machine::new_id(), lineage, collections, ..newest.clone() };
    let (bytes, _) = empty.to_bytes()?;
    store.ensure_create_only().await?;
    match store.put_new(&manifest_name(version), bytes.into()).await {
        Ok(_) => Ok(()),
        Err(error) if is_refusal(store, &error) => Err(error),
        Err(error) => Err(Error::outcome_unknown(format!(
            "{}: whether commit {commit} makes version {version} is still unknown: {error}; retry",
            store.url()
        ))
        .with_source(error)),
    }
}

/// A claim: this manifest as this version.
struct Claim<'a> {
    store: &'a Store,
    manifest: &'a Manifest,
    bytes: Bytes,
    hash: Hash,
    /// URL and version, for messages.
    place: String,
}

/// Makes a version exist, exactly once.
///
/// Whatever the store answers, the versions that are there afterwards decide: the version counts if the newest one is it or descends
/// from it. If the store gives no clear answer and no version has the number, the writer puts the manifest again, and after that a
/// version without a change: whoever has the number then decides. So "was not committed" means never, also where a request arrives
/// late. If the manifest may not be durable, the outcome stays unknown even if it can be read back, because a power failure may still
/// lose it.
///
/// # Errors
/// - `Unsupported`: the store ignores create-only conditions, so that two writers could both believe that they won.
/// - `Conflict`: another writer made this version.
/// - `OutcomeUnknown`: it is unknown whether the version exists, or it may not be durable. [`Versions::fate_of`](crate::table::Versions::fate_of) tells later.
/// - `Invalid`: readers would refuse the manifest, because it is too large or nested too deep.
/// - Other errors of the store: the version was not committed, and never will be.
pub async fn publish(store: &Store, manifest: &Manifest) -> Result<Hash> {
    let (bytes, hash) = manifest.to_bytes()?;
    // A manifest that readers refuse (too large, or properties nested too deep) must not become a version.
    let parsed = Manifest::parse(&bytes, manifest.version).map(drop);
    let fits = if bytes.len() as u64 <= MAX_MANIFEST {
        Ok(())
    } else {
        Err(Error::invalid(format!("{}, expected at most {MAX_MANIFEST}", counted(bytes.len(), "byte"))))
    };
    fits.and(parsed).map_err(|error| {
        Error::invalid(format!("{}: readers would refuse version {}: {error}", store.url(), manifest.version)).with_source(error)
    })?;
    let place = format!("{}: version {}", store.url(), manifest.version);
    store.ensure_create_only().await.map_err(|error| error.at(&place))?;
    Claim { store, manifest, bytes: bytes.into(), hash, place }.publish().await
}

impl Claim<'_> {
    async fn publish(self) -> Result<Hash> {
        let name = manifest_name(self.manifest.version);
        // Why the manifest may still arrive, or may not be durable.
        let mut doubt: Option<Error> = None;
        for _ in 0..ATTEMPTS {
            match self.store.put_new(&name, self.bytes.clone().into()).await {
                Ok(Put::Created) => {
                    return match self.counts().await {
                        // Only a listing that lags lacks what was just created.
                        Ok(Fate::Committed | Fate::Open) => Ok(self.hash),
                        Ok(Fate::NotCommitted) => Err(self.by_another()),
                        Ok(Fate::CannotTell) => Err(self.deleted()),
                        Err(error) => {
                            Err(self.unknown("its manifest was put, and the newest version cannot be read").with_source(error))
                        }
                    };
                }
                // Also the answer to a put that arrived twice, or whose first answer was lost.
                Ok(Put::AlreadyThere) => {
                    let taken = || Error::unavailable(format!("{}: the name is taken and cannot be read back", self.place));
                    doubt.get_or_insert_with(taken);
                }
                Err(error) if doubt.is_none() && is_refusal(self.store, &error) => return Err(self.not_committed(error)),
                Err(error) if doubt.as_ref().is_some_and(|doubt| doubt.kind() == ErrorKind::OutcomeUnknown) => drop(error),
                Err(error) => doubt = Some(error),
            }
            match self.fate().await {
                Ok(Fate::Committed) => {
                    return match doubt {
                        Some(error) if error.kind() == ErrorKind::OutcomeUnknown => {
                            Err(self.unknown("its manifest exists, but may not be durable").with_source(error))
                        }
                        _ => Ok(self.hash),
                    };
                }
                Ok(Fate::NotCommitted) => return Err(self.by_another()),
                Ok(Fate::CannotTell) => return Err(self.deleted()),
                Ok(Fate::Open) => {}
                Err(error) => {
                    let unknown = self.unknown("the store's answer was unclear, and the versions there cannot be read");
                    return Err(unknown.with_source(doubt.unwrap_or(error)));
                }
            }
        }
        self.rule_out(doubt.unwrap_or_else(|| Error::unavailable("no answer"))).await
    }

    /// Ends a claim that got no clear answer: an empty version takes its number. Nothing can take the number of the first version.
    async fn rule_out(&self, doubt: Error) -> Result<Hash> {
        if let Some(parent) = &self.manifest.parent
            && let Ok((before, found)) = load(self.store, parent.version).await
            && found == parent.blake3
            && take_number(self.store, &before, found, self.manifest.commit_id).await.is_ok()
        {
            match self.fate().await {
                Ok(Fate::Committed) if doubt.kind() != ErrorKind::OutcomeUnknown => return Ok(self.hash),
                Ok(Fate::NotCommitted) => return Err(self.not_committed(doubt)),
                _ => {}
            }
        }
        Err(self.unknown("the store gave no clear answer").with_source(doubt))
    }

    /// Returns the outcome of the claim after the store has said that it created the manifest.
    async fn counts(&self) -> Result<Fate> {
        let version = self.manifest.version;
        match newest_version(self.store).await? {
            Some(newest) if newest > version => self.fate().await,
            Some(newest) if newest == version => Ok(Fate::Committed),
            _ => Ok(Fate::Open),
        }
    }

    async fn fate(&self) -> Result<Fate> {
        fate_of_hash(self.store, self.manifest.version, self.hash).await
    }

    fn deleted(&self) -> Error {
        self.unknown("a version after it was deleted meanwhile")
    }

    fn by_another(&self) -> Error {
        Error::conflict(format!("{} was committed by another writer; reload and retry", self.place))
    }

    fn not_committed(&self, cause: Error) -> Error {
        Error::new(cause.kind(), format!("{} was not committed: {cause}", self.place)).with_source(cause)
    }

    fn unknown(&self, why: &str) -> Error {
        let Manifest { version, commit_id, .. } = self.manifest;
        let url = self.store.url();
        Error::outcome_unknown(format!(
            "{}: {why}; `tetrys resolve {url} --version {version} --commit {commit_id}` tells whether it was committed: look before \
             you repeat it",
            self.place
        ))
    }
}
