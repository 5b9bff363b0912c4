//! Where a store is and how it is opened, as `tetrys._places` describes it.

use std::collections::BTreeMap;

use pyo3::{PyResult, pyfunction};
use tetrys::{Store, StoreOptions, TableUrl};

use crate::error::IntoPython;

/// URL, options of the store, and the URLs that references may be followed to.
pub(crate) type Place = (String, Option<BTreeMap<String, String>>, Vec<String>);

/// Returns the URL and the options; those of the environment if none are given.
pub(crate) fn options_of((url, given, allow): Place) -> (String, StoreOptions) {
    let options = given.map_or_else(StoreOptions::from_env, StoreOptions::new);
    (url, options.allow(allow))
}

/// Opens the store.
pub(crate) fn store_of(place: Place) -> PyResult<Store> {
    let (url, options) = options_of(place);
    Store::open_with(&url, &options).py()
}

/// Returns the URL of a whole table, without the version or tag that it may end in.
#[pyfunction]
pub(crate) fn root_of(url: &str) -> &str {
    TableUrl::new(url).root()
}
