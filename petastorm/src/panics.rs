//! Guards calls of the Parquet reader, which may panic on damaged bytes: such a panic becomes an error, and nothing is printed.

use std::{
    cell::Cell,
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

use tetrys::{Error, Result};

thread_local! {
    /// Whether [`guarded`] catches a panic of this thread.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a Parquet reader. Its errors and panics become `Corrupt`.
///
/// Meanwhile the panic hook prints nothing for panics of this thread. For all other panics it calls the hook that was set before.
pub(crate) fn guarded<T, E: Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !EXPECTED.get() {
                before(panic);
            }
        }));
    });
    let corrupt = |said: &dyn Display| {
        Error::corrupt(format!("not a valid Parquet file: {}", said.to_string().chars().take(200).collect::<String>()))
    };
    let outer = EXPECTED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(read));
    EXPECTED.set(outer);
    match done {
        Ok(done) => done.map_err(|error| corrupt(&error)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
            Err(corrupt(&text.unwrap_or("the reader stopped")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_reader_is_an_error() {
        let error = guarded(|| -> Result<(), String> { panic!("page {}", 7) }).unwrap_err();
        assert_eq!((error.kind(), EXPECTED.get()), (tetrys::ErrorKind::Corrupt, false));
        assert!(error.to_string().ends_with("not a valid Parquet file: page 7"), "{error}");
    }
}
