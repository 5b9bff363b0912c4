//! Traces: what a loader did at which time, in a file for the viewer of Perfetto.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{self, Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    error::{Error, Result},
    machine,
    work::Process,
};

/// A trace of what a loader does. <https://ui.perfetto.dev> and `chrome://tracing` show the file.
///
/// The file has the JSON array format of Chrome's trace events (["Trace Event Format"][format]). It is valid JSON behind each event,
/// also if the process is killed at any moment.
///
/// [format]: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#[derive(Clone, Debug)]
pub struct Trace(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    began: Instant,
    /// A forked child records nothing: the file is its parent's.
    process: Process,
    next: AtomicU64,
    file: Mutex<Written>,
}

#[derive(Debug)]
enum Written {
    To(Events),
    /// A write failed; the error, until it is returned.
    Failed(Option<Error>),
}

impl Trace {
    /// Creates a trace in a new file.
    ///
    /// # Errors
    /// - `Exists`: there is a file at `path`.
    /// - Errors of the file system.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let at = |error| Error::from(error).at(format!("trace {}", path.display()));
        let file = Events::create(&path).map_err(at)?;
        let (began, process, next) = (machine::now(), Process::current(), AtomicU64::new(0));
        Ok(Self(Arc::new(Inner { path, began, process, next, file: Mutex::new(Written::To(file)) })))
    }

    /// Records that `name` ran from `began` to `ended`. Events of one name may overlap. `counts` are shown with the event. After an
    /// error, which [`Trace::check`] returns, nothing more is recorded.
    pub fn record(&self, name: &str, began: Instant, ended: Instant, counts: &[(&str, u64)]) {
        if !self.0.process.is_current() {
            return;
        }
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let counts: serde_json::Map<_, _> = counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        let process = self.0.process.id();
        let event = |phase: &str, at: Instant| {
            let time = micros(at.saturating_duration_since(self.0.began));
            json!({"name": name, "cat": name, "ph": phase, "id": id, "pid": process, "tid": 1, "ts": time, "args": counts})
        };
        let mut guard = self.0.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Written::To(file) = &mut *guard else { return };
        // Two lines of one event: an asynchronous event may overlap others of its name.
        if let Err(error) = file.add(&format!("{},\n{}", event("b", began), event("e", ended))) {
            *guard = Written::Failed(Some(Error::from(error).at(format!("trace {}", self.0.path.display()))));
        }
    }

    /// Returns the error that ended the trace, once.
    ///
    /// # Errors
    /// - Errors of the file system.
    pub fn check(&self) -> Result<()> {
        if !self.0.process.is_current() {
            return Ok(());
        }
        match &mut *self.0.file.lock().unwrap_or_else(PoisonError::into_inner) {
            Written::To(_) => Ok(()),
            Written::Failed(error) => error.take().map_or(Ok(()), Err),
        }
    }
}

/// Bytes within which the system writes all or nothing when the process is killed: a page of its cache.
const PAGE: u64 = 4096;
/// The fewest spaces in front of the closing bracket of a new file.
const RESERVE: u64 = 64 << 10;

/// A JSON array in a file: `[`, the events, a reserve of spaces, and `]`.
///
/// An event is written over spaces, so that the bracket stays. A kill may cut a write where a page of the system's cache ends, so an
/// event does not cross such a place. An event that does not fit the reserve goes to a copy with a larger reserve, which replaces the
/// file by a rename.
#[derive(Debug)]
struct Events {
    path: PathBuf,
    file: File,
    /// The end of the last event.
    end: u64,
    /// The end of the spaces.
    bracket: u64,
}

/// Returns the name of the next copy of a trace.
fn replacement(path: &Path) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(".new");
    name.into()
}

impl Events {
    /// Creates the file with an empty array.
    fn create(path: &Path) -> io::Result<Self> {
        // Absolute, because the program may change its folder before the file is replaced.
        let path = path::absolute(path)?;
        let mut file = File::create_new(&path)?;
        // A process that was killed may have left the next copy of an earlier trace.
        let _ = fs::remove_file(replacement(&path));
        file.write_all(b"[\n]")?;
        Ok(Self { path, file, end: 1, bracket: 1 })
    }

    /// Adds the text of one or more events.
    fn add(&mut self, text: &str) -> io::Result<()> {
        let event = format!("{}\n{text}", if self.end == 1 { "" } else { "," });
        let bytes = event.len() as u64;
        let place = match self.end % PAGE + bytes <= PAGE {
            true => self.end,
            false => self.end.next_multiple_of(PAGE),
        };
        if bytes > PAGE || place + bytes > self.bracket {
            return self.replace(&event);
        }
        self.file.seek(SeekFrom::Start(place))?;
        self.file.write_all(event.as_bytes())?;
        self.end = place + bytes;
        Ok(())
    }

    /// Replaces the file by a copy with one more event and a new reserve.
    fn replace(&mut self, event: &str) -> io::Result<()> {
        let new = replacement(&self.path);
        let reserve = RESERVE.max(self.end / 4);
        let mut file = File::create_new(&new)?;
        let written = self.copy_to(&mut file, event, reserve).and_then(|()| fs::rename(&new, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written?;
        self.file = file;
        self.end += event.len() as u64;
        self.bracket = self.end + reserve;
        Ok(())
    }

    fn copy_to(&mut self, file: &mut File, event: &str, reserve: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        io::copy(&mut (&self.file).take(self.end), file)?;
        file.write_all(event.as_bytes())?;
        io::copy(&mut io::repeat(b' ').take(reserve), file)?;
        file.write_all(b"\n]")
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_valid_json_behind_every_event_and_no_event_crosses_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let mut events = Events::create(&path).unwrap();
        let mut rng = fastrand::Rng::with_seed(7);
        for number in 0..400_usize {
            let parsed: Vec<String> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            assert_eq!(parsed.len(), number);
            let length = rng.usize(1..if number % 50 == 0 { 2 * RESERVE as usize } else { 900 });
            let (before, bracket) = (events.end, events.bracket);
            events.add(&format!("{:?}", "x".repeat(length))).unwrap();
            assert!(
                events.bracket != bracket
                    || before / PAGE == (events.end - 1) / PAGE
                    || before % PAGE == 0
                    || events.end - before > PAGE - before % PAGE
            );
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no copy is left");
    }
}
