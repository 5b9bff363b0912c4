//! Work that runs in the background while the caller does other work.

use tokio::{
    runtime::Handle,
    task::{JoinError, JoinSet},
};

use crate::error::{Error, Result};

/// Background work. Dropping the value cancels the work.
#[derive(Debug)]
pub(crate) enum Ahead<T> {
    Running(JoinSet<Result<T>>),
    Done(Result<T>),
}

impl<T: Send + 'static> Ahead<T> {
    /// Starts `work` on the runtime. Without a runtime, the call itself does the work.
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

    /// Waits for the work, whose result [`Ahead::done`] then returns at once. Dropping the future loses nothing.
    pub(crate) async fn ready(&mut self) {
        if let Self::Running(tasks) = self {
            *self = Self::Done(result(tasks.join_next().await));
        }
    }

    /// Whether the work is under way.
    pub(crate) fn is_running(&mut self) -> bool {
        if let Self::Running(tasks) = self
            && let Some(joined) = tasks.try_join_next()
        {
            *self = Self::Done(result(Some(joined)));
        }
        matches!(self, Self::Running(_))
    }

    /// Waits for the work and returns its result.
    ///
    /// # Errors
    /// - `Unavailable`: the runtime shuts down before the work is done.
    /// - Errors of the work.
    pub(crate) async fn done(mut self) -> Result<T> {
        self.ready().await;
        match self {
            Self::Done(done) => done,
            Self::Running(_) => Err(Error::internal("background work that is ready has no result")),
        }
    }
}

/// Returns the result of a task that has ended. A panic goes on in the caller.
fn result<T>(joined: Option<std::result::Result<Result<T>, JoinError>>) -> Result<T> {
    match joined {
        Some(Ok(done)) => done,
        Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        _ => Err(Error::unavailable("the runtime is shutting down")),
    }
}
