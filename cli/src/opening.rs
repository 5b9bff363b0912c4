//! Tables and stores by their URLs, reached with the options of the command line on top of the environment.

use std::sync::OnceLock;

use tetrys::{Error, Store, StoreOptions, Table};

static OPTIONS: OnceLock<StoreOptions> = OnceLock::new();

/// Keeps the options of this command: texts `name=value`.
pub(crate) fn keep(options: &[String]) -> Result<(), Error> {
    let pairs = options.iter().map(|option| StoreOptions::parse_pair(option)).collect::<Result<Vec<_>, _>>();
    let _ = OPTIONS.set(StoreOptions::new(pairs.map_err(|error| error.at("--option"))?));
    Ok(())
}

/// How stores are reached by this command.
pub(crate) fn options() -> StoreOptions {
    OPTIONS.get().cloned().unwrap_or_else(StoreOptions::from_env)
}

/// The table at `URL` or `URL@VERSION`.
pub(crate) async fn table(url: &str) -> Result<Table, Error> {
    Table::open_with(url, &options()).await
}

/// The store at a URL.
pub(crate) fn store(url: &str) -> Result<Store, Error> {
    Store::open_with(url, &options())
}
