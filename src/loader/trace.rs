//! Traces: what a loader did at which time, in a file for the viewer of Perfetto.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;

use crate::error::{Error, Result};

/// A trace of what a loader does. <https://ui.perfetto.dev> and `chrome://tracing` show the file.
///
/// The file has the JSON array format of Chrome's trace events (["Trace Event Format"][format]), whose closing bracket may be missing:
/// the trace of a killed process can be read.
///
/// [format]: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#[derive(Clone, Debug)]
pub struct Trace(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    began: Instant,
    /// A forked child records nothing: the file is its parent's.
    process: u32,
    next: AtomicU64,
    file: Mutex<Written>,
}

#[derive(Debug)]
enum Written {
    To(BufWriter<File>),
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
        let mut file = BufWriter::new(File::create_new(&path).map_err(at)?);
        file.write_all(b"[\n").map_err(at)?;
        let (began, process, next) = (Instant::now(), std::process::id(), AtomicU64::new(0));
        Ok(Self(Arc::new(Inner { path, began, process, next, file: Mutex::new(Written::To(file)) })))
    }

    /// Records that `name` ran from `began` to `ended`. Events of one name may overlap. `counts` are shown with the event. After an
    /// error, which [`Trace::check`] returns, nothing more is recorded.
    pub fn record(&self, name: &str, began: Instant, ended: Instant, counts: &[(&str, u64)]) {
        let process = std::process::id();
        if process != self.0.process {
            return;
        }
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let counts: serde_json::Map<_, _> = counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        let event = |phase: &str, at: Instant| {
            let time = micros(at.saturating_duration_since(self.0.began));
            json!({"name": name, "cat": name, "ph": phase, "id": id, "pid": process, "tid": 1, "ts": time, "args": counts})
        };
        let mut held = self.0.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Written::To(file) = &mut *held else { return };
        // Two lines of one event: an asynchronous event may overlap others of its name.
        let written = writeln!(file, "{},\n{},", event("b", began), event("e", ended)).and_then(|()| file.flush());
        if let Err(error) = written {
            *held = Written::Failed(Some(Error::from(error).at(format!("trace {}", self.0.path.display()))));
        }
    }

    /// Returns the error that ended the trace, once.
    ///
    /// # Errors
    /// - Errors of the file system.
    pub fn check(&self) -> Result<()> {
        if std::process::id() != self.0.process {
            return Ok(());
        }
        match &mut *self.0.file.lock().unwrap_or_else(PoisonError::into_inner) {
            Written::To(_) => Ok(()),
            Written::Failed(error) => error.take().map_or(Ok(()), Err),
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
