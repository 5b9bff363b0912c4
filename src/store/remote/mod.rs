//! Stores on the network: from a URL to a backend of `object_store`, its credentials, its requests, and its listings.

pub(in crate::store) mod backend;
mod batch;
mod cause;
pub(in crate::store) mod client;
pub(in crate::store) mod credentials;
mod crypto;
pub(in crate::store) mod listing;
mod pace;
mod profile;
mod redirect;
pub(in crate::store) mod wire;

pub use crypto::install_crypto_provider;
pub use listing::Listed;
