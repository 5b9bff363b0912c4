//! Opens tables and stores by URL, with the options of the command line on top of those of the environment.

use std::sync::{Mutex, OnceLock, PoisonError};

use tetrys::{Error, ErrorKind, Store, StoreOptions, Table, TableUrl, store::allow_flag};

use crate::text;

static OPTIONS: OnceLock<StoreOptions> = OnceLock::new();
static ALLOWED: OnceLock<Vec<String>> = OnceLock::new();
/// Further tables that this command names. By naming a table, the user allows references to it.
static NAMED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Stores the options of this command (`name=value`) and the URLs that references may lead to.
pub(crate) fn keep(options: &[String], allowed: &[String]) -> Result<(), Error> {
    let pairs = options.iter().map(|option| StoreOptions::parse_pair(option)).collect::<Result<Vec<_>, _>>();
    let options = StoreOptions::new(pairs.map_err(|error| error.at("--option"))?).allow(allowed);
    let _ = OPTIONS.set(options);
    let _ = ALLOWED.set(allowed.to_vec());
    Ok(())
}

/// Allows references to these tables, which the command names. Call it before any of them is opened.
pub(crate) fn named<'a>(urls: impl IntoIterator<Item = &'a String>) {
    let roots = urls.into_iter().map(|url| TableUrl::new(url).root().to_owned());
    NAMED.lock().unwrap_or_else(PoisonError::into_inner).extend(roots);
}

static ALLOW_UNPINNED: OnceLock<bool> = OnceLock::new();

/// Stores whether this command continues if no pin can be written to a table that it refers to.
pub(crate) fn keep_unpinned(allowed: bool) {
    let _ = ALLOW_UNPINNED.set(allowed);
}

/// Whether this command continues if no pin can be written to a table that it refers to.
pub(crate) fn allow_unpinned() -> bool {
    let is_on = |value: String| value == "1" || value == "true";
    ALLOW_UNPINNED.get().copied().unwrap_or_default() || std::env::var("TETRYS_ALLOW_UNPINNED").is_ok_and(is_on)
}

/// Returns the storage options of this command.
pub(crate) fn options() -> StoreOptions {
    let options = OPTIONS.get().cloned().unwrap_or_else(StoreOptions::from_env);
    options.allow(NAMED.lock().unwrap_or_else(PoisonError::into_inner).iter())
}

/// Opens the table at `URL` or `URL@VERSION`.
pub(crate) async fn table(url: &str) -> Result<Table, Error> {
    let table = Table::open_with(url, &options()).await?;
    Ok(if allow_unpinned() { table.allow_unpinned() } else { table })
}

/// Opens the newest version of a table.
pub(crate) async fn newest(table: &Table) -> Result<Table, Error> {
    let newest = Table::open_in(table.store().clone()).await?;
    Ok(if allow_unpinned() { newest.allow_unpinned() } else { newest })
}

/// Opens the store at a URL.
pub(crate) fn store(url: &str) -> Result<Store, Error> {
    Store::open_with(url, &options())
}

/// Opens the store of a table, for a command that looks at all versions.
///
/// # Errors
/// - `Invalid`: the URL names a version of a table.
/// - Errors of the store.
pub(crate) async fn all_versions(url: &str) -> Result<Store, Error> {
    let here = store(url)?;
    let named = TableUrl::new(url);
    if named.name().is_none() {
        return Ok(here);
    }
    let root = named.root();
    // A folder may have a name such as `drives@3`.
    let is_empty = |opened: Result<Table, Error>| opened.is_err_and(|error| error.kind() == ErrorKind::NotFound);
    if is_empty(Table::open_in(here.clone()).await) && !is_empty(Table::open_in(store(root)?).await) {
        return Err(Error::invalid(format!(
            "{url}: this command looks at the whole table, with all versions: expected `{root}`, found the name of one version"
        )));
    }
    Ok(here)
}

/// Returns the references to other stores that the command line allowed.
pub(crate) fn allowed() -> &'static [String] {
    ALLOWED.get().map_or(&[], Vec::as_slice)
}

/// Prints the URLs in other stores that readers of a table must allow.
pub(crate) fn say_what_to_allow(table: &str, urls: &[String]) {
    if urls.is_empty() {
        return;
    }
    let flags: Vec<String> = urls.iter().map(|url| text::printable(&allow_flag(url))).collect();
    crate::failure::say(format_args!(
        "note: {} refers to tables in other stores; its readers must allow them: {}",
        text::printable(table),
        flags.join(" ")
    ));
}
