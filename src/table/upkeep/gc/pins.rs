//! Reads the pins of a table: finds the versions that other tables use, and the dead pins, whose versions do not exist. Follows
//! `format-spec/pins.md#pin`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    format::{MAX_PIN, Pin},
    store::{Listed, Place, Store},
    table::version::{objects::together, table::Table},
};

/// Returns the versions that other tables use, and the dead pins with their sizes in bytes. A pin that was written after `before`
/// (in milliseconds since 1970) is never dead.
///
/// # Errors
/// - `Corrupt`: a pin cannot be read. It may keep any version, so nothing may be deleted.
/// - Errors of the store.
pub(super) async fn pins(store: &Store, newest: &Table, before: i64) -> Result<(BTreeSet<u64>, BTreeMap<String, u64>)> {
    let look = |listed: Listed| async move {
        let Some(pin) = read_pin(store, &listed.name).await.map_err(unreadable)? else { return Ok(None) };
        if pin.owner.table != newest.manifest().table {
            return Ok(None);
        }
        // The version behind a young pin may not be committed yet.
        let found = if listed.modified_ms <= before { look_up(store, &pin).await } else { (User::Unknown, None) };
        Ok(Some((listed, pin.owner.version, found)))
    };
    let looks: Vec<_> = listed_pins(store).await?.into_iter().map(look).collect();
    let (mut versions, mut dead) = (BTreeSet::new(), BTreeMap::new());
    let mut settled: BTreeMap<String, bool> = BTreeMap::new();
    for (listed, version, (user, deleted_in)) in together(looks).await?.into_iter().flatten() {
        let mut is_dead = user == User::Gone;
        if let Some(other) = deleted_in {
            // A power cut must not bring the version back once what it used is deleted.
            is_dead = match settled.get(other.url()) {
                Some(settled) => *settled,
                None => *settled.entry(other.url().to_owned()).or_insert(other.settle("manifests").await.is_ok()),
            };
        }
        match is_dead {
            true => drop(dead.insert(listed.name, listed.bytes)),
            false => drop(versions.insert(version)),
        }
    }
    Ok((versions, dead))
}

/// Lists the pins of a table. Files in `pins/` that have no name of a pin are not of the table.
///
/// # Errors
/// - Errors of the store.
pub(in crate::table::upkeep) async fn listed_pins(store: &Store) -> Result<Vec<Listed>> {
    let mut listed = store.list_all("pins").await?;
    listed.retain(|listed| Pin::is_name(&listed.name));
    Ok(listed)
}

/// Reads a pin, twice where it is damaged. Returns `None` if it was deleted since it was listed.
///
/// # Errors
/// - `Corrupt`: the pin cannot be read.
/// - Errors of the store.
pub(in crate::table::upkeep) async fn read_pin(store: &Store, name: &str) -> Result<Option<Pin>> {
    let read = || async {
        let content = store.get(name, MAX_PIN).await?;
        Pin::parse(&content, name).map_err(|error| error.at(format!("{}: {name}", store.url())))
    };
    match store.twice_where_damaged(read).await {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Returns the error for a pin that cannot be read, with what to do.
fn unreadable(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Corrupt => Error::corrupt(format!(
            "{error}; a pin may keep any version, so nothing is deleted: repair this one with a copy of the table (`tetrys verify TABLE --repair --from COPY`), or delete it if no \
             other table uses this table"
        )),
        _ => error,
    }
}

/// The state of a version of another table that has left a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum User {
    /// It does not exist: its commit failed, or it was deleted.
    Gone,
    /// Its table is at none of the places that the pin names. It was deleted, or moved elsewhere.
    NotThere,
    /// It exists.
    Exists,
    /// Its table cannot be reached from here, or is in another store that is not allowed; or the version is not committed yet, or
    /// damaged.
    Unknown,
}

/// Looks for the pinning version of a pin. URLs that lead to other stores are followed where the options of the store allow them.
pub(in crate::table::upkeep) async fn user(store: &Store, pin: &Pin) -> User {
    look_up(store, pin).await.0
}

/// Looks for the pinning version as [`user`] does. Returns with `Gone` also the store from which it was deleted, unless another commit
/// made that version.
async fn look_up(store: &Store, pin: &Pin) -> (User, Option<Store>) {
    let mut is_nowhere = !pin.urls.is_empty();
    for url in &pin.urls {
        let other = match url.contains("://") {
            true => Place::of(url).and_then(|place| match store.allows(&place) {
                true => store.open_other(url),
                false => Err(Error::denied(format!("{url} is in another store and not allowed"))),
            }),
            false => store.neighbour(url).and_then(|url| store.open_other(&url)),
        };
        let newest = match other {
            Ok(other) => commit::load_newest(&other).await.map(|newest| (other, newest)),
            Err(error) => Err(error),
        };
        match newest {
            Ok((other, Some((newest, _)))) if newest.table == pin.table => {
                return match commit::load(&other, pin.version).await {
                    Ok((manifest, _)) if manifest.commit_id != pin.commit() => (User::Gone, None),
                    Err(error) if error.kind() == ErrorKind::NotFound && newest.version >= pin.version => {
                        (User::Gone, Some(other))
                    }
                    Ok(_) => (User::Exists, None),
                    Err(_) => (User::Unknown, None),
                };
            }
            // No table is there, or another one.
            Ok(_) => {}
            Err(_) => is_nowhere = false,
        }
    }
    (if is_nowhere { User::NotThere } else { User::Unknown }, None)
}
