//! Lists the pins of a table: which versions of other tables use which versions of this one.

use serde::Serialize;

use super::gc::{User, listed_pins, read_pin, user};
use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    store::{Listed, Store},
    table::version::{objects::together, table::Table},
};

/// A version of another table that uses a version of this one: what a pin says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
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
    /// The error of the pin, if it cannot be read. It may keep any version, so that no garbage is collected.
    pub damage: Option<String>,
}

impl Table {
    /// Does what `Storage::users` says.
    pub(crate) async fn users(store: &Store) -> Result<Vec<UserInfo>> {
        let read = |listed: Listed| async move {
            let mut info = UserInfo { written_ms: listed.modified_ms, ..UserInfo::default() };
            match read_pin(store, &listed.name).await {
                Ok(None) => return Ok(None),
                Ok(Some(pin)) => {
                    info.version = Some(pin.owner.version);
                    info.url = pin.urls.first().cloned();
                    info.table = Some(pin.table.to_string());
                    info.user_version = Some(pin.version);
                    info.state = Some(user(store, &pin).await);
                }
                Err(error) if error.kind() == ErrorKind::Corrupt => info.damage = Some(error.to_string()),
                Err(error) => return Err(error),
            }
            Ok(Some(UserInfo { pin: listed.name, ..info }))
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
