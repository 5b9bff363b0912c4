//! Work that goes on while something else is done.

use tokio::{runtime::Handle, task::JoinSet};

use crate::error::{Error, Result};

/// Work on its way; dropping it ends it.
#[derive(Debug)]
pub(crate) enum Ahead<T> {
    Running(JoinSet<Result<T>>),
    Done(Result<T>),
}

impl<T: Send + 'static> Ahead<T> {
    /// Starts `work` on the runtime; without one it is done here and now.
    pub(crate) async fn start(work: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        match Handle::try_current() {
            Ok(runtime) => {
                let mut tasks = JoinSet::new();
                tasks.spawn_on(work, &runtime);
                Self::Running(tasks)
            }
            Err(_) => Self::Done(work.await),
        }
    }

    /// What came of it.
    ///
    /// # Errors
    /// Those of the work; `Unavailable` where the runtime shuts down meanwhile.
    pub(crate) async fn done(self) -> Result<T> {
        match self {
            Self::Done(done) => done,
            Self::Running(mut tasks) => match tasks.join_next().await {
                Some(Ok(done)) => done,
                Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                _ => Err(Error::unavailable("the runtime is shutting down")),
            },
        }
    }
}
