//! Reads the pins of a table: finds the versions that other tables use, and the dead pins, whose versions do not exist. Follows
//! `format-spec/pins.md#pin`.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    format::{MAX_PIN, Pin},
    store::{Listed, Store},
    table::{objects::together, table::Table},
};

/// Returns the versions that other tables use, and the dead pins with their sizes in bytes. A pin that was written after `before`
/// (in milliseconds since 1970) is never dead.
///
/// # Errors
/// - `Corrupt`: a pin cannot be read. It may keep any version, so nothing may be deleted.
/// - Errors of the store.
pub(super) async fn pins(store: &Store, newest: &Table, before: i64) -> Result<(BTreeSet<u64>, BTreeMap<String, u64>)> {
    let look = |listed: Listed| async move {
        let content = match store.get(&listed.name, MAX_PIN).await {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        let pin = Pin::parse(&content, &listed.name)
            .map_err(|error| unreadable(error.at(format!("{}: {}", store.url(), listed.name))))?;
        if pin.owner.table != newest.manifest().table {
            return Ok(None);
        }
        // The version behind a young pin may not be committed yet.
        let is_dead = listed.modified_ms <= before && is_gone(store, &pin).await;
        Ok(Some((listed, pin.owner.version, is_dead)))
    };
    let looks: Vec<_> = listed_pins(store).await?.into_iter().map(look).collect();
    let (mut versions, mut dead) = (BTreeSet::new(), BTreeMap::new());
    for (listed, version, is_dead) in together(looks).await?.into_iter().flatten() {
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
pub(super) async fn listed_pins(store: &Store) -> Result<Vec<Listed>> {
    let mut listed = store.list_all("pins").await?;
    listed.retain(|listed| Pin::is_name(&listed.name));
    Ok(listed)
}

/// Returns the error for a pin that cannot be read, with what to do.
fn unreadable(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Corrupt => Error::corrupt(format!(
            "{error}; a pin may keep any version, so nothing is deleted: restore this one, or delete it if no other table uses this table"
        )),
        _ => error,
    }
}

/// Whether the pinning version is known not to exist: its commit failed, or it was deleted. A version in a table that cannot be
/// reached counts as existing.
pub(in crate::table::upkeep) async fn is_gone(store: &Store, pin: &Pin) -> bool {
    for url in pin.urls.iter().filter(|url| !url.contains("://")) {
        let Ok(other) = store.neighbour(url).and_then(|url| store.open_other(&url)) else { continue };
        let newest = match commit::load_newest(&other).await {
            Ok(Some((manifest, _))) if manifest.table == pin.table => manifest.version,
            _ => continue,
        };
        return match commit::load(&other, pin.version).await {
            Ok((manifest, _)) => manifest.commit_id != pin.commit(),
            Err(error) => error.kind() == ErrorKind::NotFound && newest >= pin.version,
        };
    }
    false
}
