//! Work that is divided among threads.

use std::thread;

use tetrys::{Error, Result, extension};

/// Does the work for each part and returns the results in order: for the first part on this thread, for each other one on a thread of
/// its own.
///
/// # Errors
/// The first error in the order of the parts.
pub(crate) fn each<P: Send, T: Send>(parts: impl IntoIterator<Item = P>, work: impl Fn(P) -> Result<T> + Sync) -> Result<Vec<T>> {
    let mut parts = parts.into_iter();
    let Some(own) = parts.next() else { return Ok(Vec::new()) };
    thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let mut done = vec![work(own)];
        let stopped = || Err(Error::internal("a thread of the Level 5 computations panicked"));
        done.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|_| stopped())));
        done.into_iter().collect()
    })
}

/// Returns the number of threads for a setting: 0 stands for `TETRYS_THREADS`, or the number of threads of the machine.
pub(crate) fn threads(setting: usize) -> usize {
    if setting == 0 { extension::threads() } else { setting }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_setting_there_are_as_many_threads_as_in_the_library() {
        assert_eq!([threads(0), threads(3)], [extension::threads(), 3]);
    }
}
