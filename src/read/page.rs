//! Decoded pages, and the stores that a plan reads them from.

use std::{collections::BTreeMap, sync::Arc};

use arrow_data::ArrayData;

use crate::{
    error::{Error, ErrorKind, Result},
    store::Store,
};

/// The decoded values of one column in one block.
pub type Page = Arc<ArrayData>;

/// Returns the store of an owner that a plan names.
pub(super) fn store_of(stores: &BTreeMap<u32, Store>, owner: u32) -> Result<&Store> {
    stores.get(&owner).ok_or_else(|| Error::internal(format!("no store of owner {owner}")))
}

/// Makes `Corrupt` of `NotFound`: an object that the layout names is missing, because it was lost or deleted.
pub(super) fn lost(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::corrupt(error.to_string()).with_source(error),
        _ => error,
    }
}
