//! Nothing: the manifest names the crate `mcap`, whose test data the tests read.
