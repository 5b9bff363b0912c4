//! Where a new table may be made: an empty place, with a name that can be opened later.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::try_join;

use crate::{
    commit,
    error::{Error, Result, short},
    store::Store,
    table::version::{objects::is_folder, url::TableUrl},
};

/// The answer of [`is_vacant`].
pub(in crate::table) struct Vacant {
    /// Whether writers that never committed have left something.
    pub(in crate::table) is_something_left: bool,
}

/// Checks that a new table can be written to a store: there is no table, and nothing of others. What writers left that never
/// committed may be there. `instead` says what to do if there is a table.
///
/// # Errors
/// - `Exists`: something is there; the message names it.
/// - Errors of the store.
pub(in crate::table) async fn is_vacant(store: &Store, instead: &str) -> Result<Vacant> {
    let (newest, (first, is_something_left)) = try_join(commit::newest_version(store), first_of_others(store)).await?;
    let url = store.url();
    if let Some(version) = newest {
        return Err(Error::exists(format!("{url}: a table is there already, at version {version}{instead}")));
    }
    // A bit of a name may have flipped on its way, and files come and go.
    match first {
        Some(name) if first_of_others(store).await?.0.as_ref() == Some(&name) => Err(Error::exists(format!(
            "{url}: expected a new or empty folder for the table, found `{}`, which no table has; name another folder, or a new one \
             in it",
            short(name)
        ))),
        _ => Ok(Vacant { is_something_left }),
    }
}

/// Returns the first name at the root that no table has, no self-test, and no file system that was just made; and whether folders of a
/// table are there.
async fn first_of_others(store: &Store) -> Result<(Option<String>, bool)> {
    let is_something_left = AtomicBool::new(false);
    let is_ours = |name: &str| {
        is_something_left.fetch_or(is_folder(name), Ordering::Relaxed);
        is_folder(name) || name == "lost+found/" || name.starts_with("selftest-")
    };
    let first = store.first_at_root(is_ours).await?;
    Ok((first, is_something_left.into_inner()))
}

/// Checks that a new table of this name can be opened later: text after an `@` would be read as a version or tag.
pub(in crate::table) fn is_new_name(store: &Store) -> Result<()> {
    let url = TableUrl::new(store.url());
    match url.name() {
        Some(name) => Err(Error::invalid(format!(
            "{}: expected a new table, found the name of a version: `@{name}` would be read as version or tag `{name}` of {}; \
             leave it out",
            store.url(),
            url.root()
        ))),
        None => Ok(()),
    }
}
