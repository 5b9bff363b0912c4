//! Tables and stores by their URLs, reached with the options of the command line on top of the environment.

use std::sync::{Mutex, OnceLock, PoisonError};

use tetrys::{Error, Store, StoreOptions, Table, store::allow_flag};

use crate::text;

static OPTIONS: OnceLock<StoreOptions> = OnceLock::new();
/// The tables that this command names beside the first one: whoever names them has allowed that others refer to them.
static NAMED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps the options of this command: texts `name=value`; and the URLs that tables may refer to.
pub(crate) fn keep(options: &[String], allowed: &[String]) -> Result<(), Error> {
    let pairs = options.iter().map(|option| StoreOptions::parse_pair(option)).collect::<Result<Vec<_>, _>>();
    let options = StoreOptions::new(pairs.map_err(|error| error.at("--option"))?).allow(allowed);
    let _ = OPTIONS.set(options);
    Ok(())
}

/// Whether a URL is `abfss://container@account.host` and nothing more: what follows its `@` is no version.
fn is_container(url: &str) -> bool {
    let rest = url.strip_prefix("abfss://").or_else(|| url.strip_prefix("abfs://"));
    rest.is_some_and(|rest| !rest.contains('/'))
}

/// Says that the command names these tables, before any of them is opened.
pub(crate) fn named<'a>(urls: impl IntoIterator<Item = &'a String>) {
    let root = |url: &String| match url.rsplit_once('@') {
        // A version or a tag; `abfss://container@account.host` has none.
        Some((root, version)) if !root.is_empty() && !version.contains('/') && !is_container(url) => root.to_owned(),
        _ => url.clone(),
    };
    NAMED.lock().unwrap_or_else(PoisonError::into_inner).extend(urls.into_iter().map(root));
}

static ALLOW_UNPINNED: OnceLock<bool> = OnceLock::new();

/// Keeps whether this command goes on where a table cannot be told that it is used.
pub(crate) fn keep_unpinned(allowed: bool) {
    let _ = ALLOW_UNPINNED.set(allowed);
}

/// Whether this command goes on where a table cannot be told that it is used.
pub(crate) fn allow_unpinned() -> bool {
    let is_on = |value: String| value == "1" || value == "true";
    ALLOW_UNPINNED.get().copied().unwrap_or_default() || std::env::var("TETRYS_ALLOW_UNPINNED").is_ok_and(is_on)
}

/// How stores are reached by this command.
pub(crate) fn options() -> StoreOptions {
    let options = OPTIONS.get().cloned().unwrap_or_else(StoreOptions::from_env);
    options.allow(NAMED.lock().unwrap_or_else(PoisonError::into_inner).iter())
}

/// The table at `URL` or `URL@VERSION`.
pub(crate) async fn table(url: &str) -> Result<Table, Error> {
    let table = Table::open_with(url, &options()).await?;
    Ok(if allow_unpinned() { table.allow_unpinned() } else { table })
}

/// The store at a URL.
pub(crate) fn store(url: &str) -> Result<Store, Error> {
    Store::open_with(url, &options())
}

/// Says which URLs in other stores the readers of a table have to allow.
pub(crate) fn say_what_to_allow(table: &str, urls: &[String]) {
    if urls.is_empty() {
        return;
    }
    let flags: Vec<String> = urls.iter().map(|url| text::printable(&allow_flag(url))).collect();
    crate::failure::say(format_args!(
        "note: {} refers to other stores; whoever reads it has to allow them: {}",
        text::printable(table),
        flags.join(" ")
    ));
}
