//! Guards calls of other libraries that may panic on damaged bytes or unusual requests: such a panic becomes an error, and
//! nothing is printed. Their messages come in plain words.

use std::{
    cell::Cell,
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::{
        Once, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::words::plain;

thread_local! {
    /// Whether [`guarded`] catches a panic of this thread.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Number of calls of [`guarded`] that run now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// How the names of the threads begin that pass on their panics to the thread that called [`guarded`].
static HELPERS: OnceLock<&str> = OnceLock::new();

/// Names the threads that pass on their panics to the thread that called [`guarded`], by the beginning of their names. Their panics
/// are not printed while such a call runs.
#[cfg(feature = "frame")]
pub(crate) fn expect_of_threads(prefix: &'static str) {
    HELPERS.get_or_init(|| prefix);
}

/// Whether a call of [`guarded`] catches a panic of this thread.
fn is_expected() -> bool {
    let of_helper = |prefix: &&str| thread::current().name().is_some_and(|name| name.starts_with(*prefix));
    EXPECTED.get() || (RUNNING.load(Ordering::Relaxed) > 0 && HELPERS.get().is_some_and(of_helper))
}

/// Runs `work`, which calls a reader of untrusted bytes. Returns its error, or the message of its panic, as text in plain words.
///
/// Meanwhile the panic hook prints nothing for panics of this thread, and of threads that pass on their panics to it. For all other
/// panics it calls the hook that was set before.
///
/// # Examples
/// ```
/// let page = |place: usize| -> Result<u8, String> { Ok([1, 2, 3][place]) };
/// assert_eq!(tetrys::extension::guarded(|| page(0)), Ok(1));
/// assert!(tetrys::extension::guarded(|| page(3)).unwrap_err().contains("out of bounds"));
/// ```
///
/// # Errors
/// The text of the error of `work`, or the message of its panic.
pub fn guarded<T, E: Display>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !is_expected() {
                before(panic);
            }
        }));
    });
    let outer = EXPECTED.replace(true);
    RUNNING.fetch_add(1, Ordering::Relaxed);
    let done = catch_unwind(AssertUnwindSafe(work));
    RUNNING.fetch_sub(1, Ordering::Relaxed);
    EXPECTED.set(outer);
    match done {
        Ok(done) => done.map_err(|error| plain(&error.to_string())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
            Err(plain(text.unwrap_or("a panic without a message")))
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
