//! Guards calls of other libraries that may panic on damaged bytes or unusual requests: such a panic becomes an error, and
//! nothing is printed.

use std::{
    cell::Cell,
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

thread_local! {
    /// Whether [`guarded`] catches a panic of this thread.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, which calls a reader of untrusted bytes. Returns its error, or the message of its panic, as text.
///
/// Meanwhile the panic hook prints nothing for panics of this thread. For all other panics it calls the hook that was set before.
///
/// # Examples
/// ```
/// let page = |place: usize| -> Result<u8, String> { Ok([1, 2, 3][place]) };
/// assert_eq!(tetrys::ingest::guarded(|| page(0)), Ok(1));
/// assert!(tetrys::ingest::guarded(|| page(3)).unwrap_err().contains("out of bounds"));
/// ```
///
/// # Errors
/// The text of the error of `work`, or the message of its panic.
pub fn guarded<T, E: Display>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !EXPECTED.get() {
                before(panic);
            }
        }));
    });
    let outer = EXPECTED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(outer);
    match done {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
            Err(text.unwrap_or("a panic without a message").to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_inside_and_out() {
        let inner = guarded(|| {
            let inner: Result<(), _> = guarded(|| -> Result<(), String> { panic!("row {}", 7) });
            assert_eq!(inner, Err("row 7".to_owned()));
            Ok::<_, String>(EXPECTED.get())
        });
        assert_eq!((inner, EXPECTED.get()), (Ok(true), false));
        assert_eq!(guarded(|| Err::<(), _>("no")), Err("no".to_owned()));
    }
}
