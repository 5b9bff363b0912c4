//! The cryptography of HTTPS.

/// Installs `ring` as the cryptography provider of rustls for the whole process, unless a provider is installed.
///
/// [`Store::open`](crate::Store::open) does this for remote URLs. Call this function before you build a client of `object_store`
/// yourself: without a provider the client panics. A program that installs another provider does so before it opens a store.
///
/// ```
/// tetrys::store::install_crypto_provider();
/// let objects = tetrys::object_store::http::HttpBuilder::new().with_url("https://localhost/tables").build()?;
/// let store = tetrys::Store::new(std::sync::Arc::new(objects), "one".into(), "https://localhost/tables/one");
/// # Ok::<(), tetrys::object_store::Error>(())
/// ```
pub fn install_crypto_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Fails if another thread was faster, whose provider serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
