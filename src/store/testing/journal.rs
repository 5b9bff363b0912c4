//! [`Journal`]: records what stores do to the files below a folder, so that a test can replay what a power cut may leave of it.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;

/// One change of the files below a folder. All names are relative to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskStep {
    /// A folder was made.
    MakeFolder(String),
    /// An empty folder was removed.
    RemoveFolder(String),
    /// An empty file was made.
    Create(String),
    /// A file has this content, which need not be on the disk yet.
    Write(String, Bytes),
    /// The content of a file is on the disk.
    SyncFile(String),
    /// A file got a second name.
    Link {
        /// The first name.
        from: String,
        /// The second name.
        to: String,
    },
    /// A file was given a name that another file had.
    Rename {
        /// The name before.
        from: String,
        /// The name now.
        to: String,
    },
    /// A name of a file was removed.
    Remove(String),
    /// The names in a folder are on the disk.
    SyncFolder(String),
}

/// Records what all stores of this process do to the files below a folder, if they were opened after [`Journal::watch`].
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use tetrys::store::{DiskStep, Journal, Store};
/// let folder = tempfile::tempdir()?;
/// let journal = Journal::watch(folder.path())?;
/// let store = Store::open(folder.path().join("table").to_str().unwrap())?;
/// store.put_new("attachments/a", "a map".into()).await?;
/// assert!(journal.steps().contains(&DiskStep::SyncFolder("table/attachments".into())));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Journal(Arc<Record>);

/// The journals of the process.
static WATCHED: Mutex<Vec<Weak<Record>>> = Mutex::new(Vec::new());
/// Whether a journal was ever started. Without one, opening a store takes no lock.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
struct Record {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    steps: Vec<DiskStep>,
    /// Number of steps after which every further one fails.
    end: Option<usize>,
}

#[cfg_attr(not(feature = "unstable"), expect(dead_code, reason = "tests start it"))]
impl Journal {
    /// Starts to record.
    ///
    /// # Errors
    /// - The folder does not exist.
    pub fn watch(folder: &Path) -> io::Result<Self> {
        let record = Arc::new(Record { folder: folder.canonicalize()?, state: Mutex::default() });
        lock(&WATCHED).push(Arc::downgrade(&record));
        IS_WATCHED.store(true, Ordering::Relaxed);
        Ok(Self(record))
    }

    /// Returns the steps so far, in order.
    pub fn steps(&self) -> Vec<DiskStep> {
        lock(&self.0.state).steps.clone()
    }

    /// Returns the number of steps so far.
    pub fn len(&self) -> usize {
        lock(&self.0.state).steps.len()
    }

    /// Whether there are no steps yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets the next `steps` steps succeed and every further one fail, as if the processes were killed then. `None` ends that.
    pub fn stop_after(&self, steps: Option<usize>) {
        let mut state = lock(&self.0.state);
        state.end = steps.map(|steps| state.steps.len() + steps);
    }
}

/// The journal of a folder, as a store below it sees it.
pub(in crate::store) struct Watched {
    record: Arc<Record>,
    /// The name of the root of the store below the folder of the journal.
    root: String,
}

impl Watched {
    /// Returns the journal that records what happens in `root`.
    pub(in crate::store) fn of(root: &Path) -> Option<Self> {
        if !IS_WATCHED.load(Ordering::Relaxed) {
            return None;
        }
        let mut watched = lock(&WATCHED);
        watched.retain(|record| record.strong_count() > 0);
        watched.iter().rev().filter_map(Weak::upgrade).find_map(|record| {
            let root = root.strip_prefix(&record.folder).ok()?.to_str()?.to_owned();
            (!root.is_empty()).then_some(Self { record, root })
        })
    }

    /// Does a step and records it. `step` gets a function that turns a name below the root of the store into one below the folder of the
    /// journal.
    pub(in crate::store) fn act<T>(
        &self,
        step: impl FnOnce(&dyn Fn(&str) -> String) -> DiskStep,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        // Held while the step is done, so that the order of the steps is that of the record.
        let mut state = lock(&self.record.state);
        if state.end.is_some_and(|end| state.steps.len() >= end) {
            return Err(io::Error::other("the journal was told to stop here"));
        }
        let done = act()?;
        let place =
            |name: &str| [self.root.as_str(), name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        state.steps.push(step(&place));
        Ok(done)
    }

    /// Returns the name of a path below the folder of the journal; `None` if it lies elsewhere.
    pub(in crate::store) fn name_of(&self, path: &Path) -> Option<String> {
        Some(path.strip_prefix(&self.record.folder).ok()?.to_str()?.to_owned())
    }

    /// Records the content of a file.
    pub(in crate::store) fn wrote(&self, name: &str, file: &mut File) -> io::Result<()> {
        let mut content = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut content)?;
        self.act(|place| DiskStep::Write(place(name), content.into()), || Ok(()))
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
