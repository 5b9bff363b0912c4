//! Lists the pins of a table: which versions of other tables use which versions of this one.

use serde::Serialize;

use super::gc::{User, listed_pins, user};
use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    format::{MAX_PIN, Pin},
    store::{Listed, Store},
    table::{objects::together, table::Table},
};

/// A version of another table that uses a version of this one: what a pin says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserInfo {
    /// Name of the pin below the root of the table.
    pub pin: String,
    /// The version that it keeps; `None` if the pin cannot be read.
    pub version: Option<u64>,
    /// URL of the other table, relative to this one if it was near; `None` if the pin has none.
    pub url: Option<String>,
    /// Id of the other table.
    pub table: Option<String>,
    /// The version of the other table that uses this one.
    pub user_version: Option<u64>,
    /// Time when the pin was written, by the clock of the store, in milliseconds since 1970-01-01T00:00Z.
    pub written_ms: i64,
    /// Whether the version of the other table exists; `None` if the pin cannot be read.
    pub state: Option<User>,
    /// What is wrong with the pin, if it cannot be read. It may keep any version, so that no garbage is collected.
    pub damage: Option<String>,
}

impl Table {
    /// Returns the versions of other tables that use versions of the table in `store`, oldest pin first. Reads the pins, and looks for
    /// each of the other tables that is in the same store.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{Store, Table};
    /// for user in Table::users(&Store::open("/data/sensors")?).await? {
    ///     println!("version {:?} is used by {:?}: {:?}", user.version, user.url, user.state);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: there is no table.
    /// - Errors of the store.
    pub async fn users(store: &Store) -> Result<Vec<UserInfo>> {
        let read = |listed: Listed| async move {
            let pin = match store.get(&listed.name, MAX_PIN).await {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
                read => read.and_then(|content| Pin::parse(&content, &listed.name)),
            };
            let (name, written_ms) = (listed.name, listed.modified_ms);
            Ok(Some(match pin {
                Ok(pin) => UserInfo {
                    pin: name,
                    version: Some(pin.owner.version),
                    url: pin.urls.first().cloned(),
                    table: Some(pin.table.to_string()),
                    user_version: Some(pin.version),
                    written_ms,
                    state: Some(user(store, &pin).await),
                    damage: None,
                },
                Err(error) => {
                    let (version, url, table, user_version, state) = Default::default();
                    UserInfo { pin: name, version, url, table, user_version, written_ms, state, damage: Some(error.to_string()) }
                }
            }))
        };
        let reads: Vec<_> = listed_pins(store).await?.into_iter().map(read).collect();
        let mut users: Vec<UserInfo> = together(reads).await?.into_iter().flatten().collect();
        users.sort_by_key(|user| user.written_ms);
        if users.is_empty() && commit::newest_version(store).await?.is_none() {
            return Err(Error::not_found(format!("{}: no table there (no manifest)", store.url())));
        }
        Ok(users)
    }
}
