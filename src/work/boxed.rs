//! Boxes large futures.

use std::pin::Pin;

/// Boxes the future that `make` returns. An unoptimised build keeps the argument of `Box::pin` in the frame of its caller, as long as that
/// is polled; here, it is gone with the frame of this function. So use this for large futures: threads have a stack of 2 MiB.
#[inline(never)]
pub(crate) fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
