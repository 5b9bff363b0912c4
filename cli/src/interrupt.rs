//! Ends a command on SIGINT (Ctrl-C), SIGTERM and SIGHUP (its terminal was closed): removes the files and folders that are not
//! published yet, and ends the process by the same signal, as if nothing had caught it.
//!
//! A command that waits is dropped, which also removes its temporary files. A command that computes is not waited for.

use std::{
    collections::BTreeSet,
    fs, io,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

/// The files and folders that this process has staged. `Staged::create` holds the lock, so that an interrupt finds all of them.
static STAGED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file or folder that an interrupt removes, until this value is dropped.
#[derive(Debug)]
pub(crate) struct Staged(PathBuf);

impl Staged {
    /// Creates a file or folder. `create` returns it with its path.
    ///
    /// # Errors
    /// Those of `create`.
    pub(crate) fn create<T>(create: impl FnOnce() -> io::Result<(T, PathBuf)>) -> io::Result<(T, Self)> {
        let mut staged = STAGED.lock().unwrap_or_else(PoisonError::into_inner);
        let (created, path) = create()?;
        staged.insert(path.clone());
        Ok((created, Self(path)))
    }

    /// Runs `publish`, which renames what is staged, so that an interrupt removes nothing meanwhile.
    pub(crate) fn publishing<T>(&self, publish: impl FnOnce() -> T) -> T {
        let _staged = STAGED.lock().unwrap_or_else(PoisonError::into_inner);
        publish()
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        STAGED.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Removes everything that is staged, and never lets anything be staged again.
#[cfg(unix)]
fn remove_all() {
    let staged = STAGED.lock().unwrap_or_else(PoisonError::into_inner);
    for path in staged.iter() {
        // Another thread may add files to a folder while it is removed.
        let _ = (0..100).find(|_| match fs::symlink_metadata(path).map(|found| found.is_dir()) {
            Ok(true) => fs::remove_dir_all(path).is_ok(),
            Ok(false) => fs::remove_file(path).is_ok(),
            Err(_) => true,
        });
    }
    std::mem::forget(staged);
}

#[cfg(not(unix))]
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>, _message: Option<&'static str>) -> T {
    work.await
}

#[cfg(unix)]
pub(crate) use unix::unless_interrupted;

#[cfg(unix)]
mod unix {
    use std::{
        fs,
        sync::mpsc::{Receiver, Sender, channel},
        time::Duration,
    };

    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM},
        iterator::Signals,
        low_level::emulate_default_handler,
    };
    use tokio::sync::oneshot;

    use crate::failure::say;

    /// How long a command may compute before it notices that it is interrupted.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// The message of an interrupted command to the signal thread: the first when it notices, the second when it is dropped.
    struct Noticed;

    /// Runs a command. After SIGINT, SIGTERM or SIGHUP, drops it, removes what is staged, prints `message`, and ends the process by that
    /// signal.
    pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>, message: Option<&'static str>) -> T {
        // Without a listener, signals end the process at once.
        let Some((interrupted, notices)) = listen(message) else { return work.await };
        {
            let mut work = std::pin::pin!(work);
            tokio::select! {
                biased;
                done = &mut work => return done,
                Ok(()) = interrupted => {}
            }
            let _ = notices.send(Noticed);
        }
        let _ = notices.send(Noticed);
        std::future::pending().await
    }

    /// Starts the thread that waits for signals.
    fn listen(message: Option<&'static str>) -> Option<(oneshot::Receiver<()>, Sender<Noticed>)> {
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal))).ok()?;
        let ((interrupt, interrupted), (notices, noticed)) = (oneshot::channel(), channel());
        let wait = move || {
            if let Some(signal) = signals.forever().next() {
                wait_for_drop(interrupt, &noticed);
                super::remove_all();
                if let Some(message) = message {
                    say(message);
                }
                let _ = emulate_default_handler(signal);
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(wait).ok()?;
        Some((interrupted, notices))
    }

    /// Interrupts the command, and waits until it is dropped if it notices.
    fn wait_for_drop(interrupt: oneshot::Sender<()>, noticed: &Receiver<Noticed>) {
        if interrupt.send(()).is_ok() && noticed.recv_timeout(PATIENCE).is_ok() {
            let _ = noticed.recv_timeout(10 * PATIENCE);
        }
    }

    /// Whether the parent process wants this process to ignore a signal, as shells do for jobs in the background, and `nohup` does
    /// for SIGHUP. Only Linux tells; elsewhere SIGHUP alone counts as ignored.
    fn is_ignored(signal: i32) -> bool {
        let Ok(status) = fs::read_to_string("/proc/self/status") else { return signal == SIGHUP };
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        ignored.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).is_some_and(|bits| bits >> (signal - 1) & 1 == 1)
    }
}
