//! Rate control and timeouts between a remote backend and the network.
//!
//! An answer 429 or 503 halves the number of concurrent requests of a store, and each success increases it again. The backoff of
//! the backend spaces out the retries of one request. Timeouts follow progress: an answer must begin within a time that grows
//! with the size of the upload, and each further piece must come within the idle timeout. So a large body on a slow line is not
//! cut off, and a dead connection is noticed.

use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
    ReqwestConnector,
};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::store::failure;

/// Number of concurrent requests: initial and maximum.
const FIRST: f64 = 64.0;
const MOST: f64 = 256.0;
/// Refusals within this time halve the number only once.
const ONE_BURST: Duration = Duration::from_millis(200);
/// Minimum upload rate, in bytes per second.
const SLOWEST_UPLOAD: u64 = 32 << 10;

/// The timeouts of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Patience {
    /// Idle timeout of one attempt of a read.
    pub(in crate::store) read: Duration,
    /// Idle timeout of one attempt of a write.
    pub(in crate::store) write: Duration,
    /// A read without progress for this long is not retried.
    pub(in crate::store) read_again: Duration,
}

impl Patience {
    /// A read from a server that never answers ends after `read_again` plus at most one backoff and one more attempt of 15 s
    /// each: within a minute.
    pub(in crate::store) const DEFAULT: Self =
        Self { read: Duration::from_secs(15), write: Duration::from_secs(30), read_again: Duration::from_secs(30) };
}

tokio::task_local! {
    /// Time of the last progress of the current read, and whether a body has timed out since.
    static PROGRESS: Cell<(Instant, bool)>;
}

/// Runs a read. All its attempts share one timer for progress.
pub(in crate::store) async fn reading<T>(read: impl Future<Output = T>) -> T {
    PROGRESS.scope(Cell::new((Instant::now(), false)), read).await
}

/// Resets the timer of the current read, because bytes arrived.
pub(in crate::store) fn progress() {
    let _ = PROGRESS.try_with(|last| last.set((Instant::now(), false)));
}

/// An HTTP connector over `reqwest` with rate control and timeouts. Clones and all their clients share one rate control.
#[derive(Clone)]
pub(in crate::store) struct Wire {
    pace: Arc<Pace>,
    patience: Patience,
}

impl Wire {
    /// Creates a connector with these timeouts.
    pub(in crate::store) fn new(patience: Patience) -> Self {
        Self { pace: Arc::new(Pace::new()), patience }
    }

    /// Returns the number of HTTP requests sent, including retries.
    pub(in crate::store) fn sent(&self) -> u64 {
        self.pace.sent.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

impl HttpConnector for Wire {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Paced { inner, wire: self.clone() }))
    }
}

struct Paced {
    inner: HttpClient,
    wire: Wire,
}

impl fmt::Debug for Paced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paced").finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpService for Paced {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let Wire { pace, patience } = &self.wire;
        let _turn = pace.turn().await;
        // The backend retries a body that times out, whatever the kind of the error. This check ends the retries.
        if let Ok((since, true)) = PROGRESS.try_with(Cell::get)
            && since.elapsed() >= patience.read_again
        {
            return given_up("the body made no progress", since.elapsed());
        }
        pace.sent.fetch_add(1, Ordering::Relaxed);
        let of_machine = is_metadata_service(request.uri());
        let waited = || PROGRESS.try_with(|last| last.get().0.elapsed()).ok();
        let each = if waited().is_some() { patience.read } else { patience.write };
        let limit = each + Duration::from_secs(request.body().content_length() as u64 / SLOWEST_UPLOAD);
        let answer = match timeout(limit, self.inner.execute(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(silence(limit, "no answer")),
        };
        let status = answer.as_ref().map(HttpResponse::status).ok();
        let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT];
        let failed = status.is_none_or(|status| status.is_server_error() || busy.contains(&status));
        match status {
            Some(StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) => pace.refused(Instant::now()),
            Some(status) if status.is_success() => pace.answered(),
            _ => {}
        }
        match (answer, waited().filter(|waited| failed && *waited >= patience.read_again)) {
            (Err(error), None) if of_machine => last(failure::chain(&error)),
            (answer, None) => {
                let answer = answer?;
                let patience = each;
                Ok(answer.map(|body| HttpResponseBody::new(Watched { body, patience, deadline: Box::pin(sleep(patience)) })))
            }
            (answer, Some(waited)) => {
                let what =
                    answer.map_or_else(|error| failure::chain(&error), |answer| format!("the store answers {}", answer.status()));
                given_up(&what, waited)
            }
        }
    }
}

/// Creates an error of a kind that the backend does not retry.
fn last<T>(text: String) -> Result<T, HttpError> {
    Err(HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(text)))
}

fn given_up<T>(what: &str, waited: Duration) -> Result<T, HttpError> {
    last(format!("{what}; given up after {:.1} s (store option retry_timeout)", waited.as_secs_f64()))
}

/// Whether this is the metadata service for credentials. If it does not answer, a retry does not help.
fn is_metadata_service(uri: &http::Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    host.starts_with("169.254.") || host == "metadata.google.internal"
}

fn silence(limit: Duration, what: &str) -> HttpError {
    let text = format!("{what} for {:.1} s (store option read_timeout)", limit.as_secs_f64());
    HttpError::new(HttpErrorKind::Timeout, std::io::Error::new(std::io::ErrorKind::TimedOut, text))
}

/// A body with an idle timeout.
struct Watched {
    body: HttpResponseBody,
    patience: Duration,
    deadline: Pin<Box<Sleep>>,
}

impl Body for Watched {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                if matches!(frame, Some(Ok(_))) {
                    progress();
                }
                this.deadline.as_mut().reset(Instant::now() + this.patience);
                Poll::Ready(frame)
            }
            Poll::Pending => match this.deadline.as_mut().poll(cx) {
                Poll::Ready(()) => {
                    let _ = PROGRESS.try_with(|last| last.set((last.get().0, true)));
                    Poll::Ready(Some(Err(silence(this.patience, "the body made no progress"))))
                }
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Limits the number of concurrent requests: more after each success, half after a burst of refusals.
struct Pace {
    state: Mutex<State>,
    freed: Notify,
    sent: AtomicU64,
}

struct State {
    limit: f64,
    waiting: usize,
    halved: Option<Instant>,
}

struct Turn<'a>(&'a Pace);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
        self.0.freed.notify_one();
    }
}

impl Pace {
    fn new() -> Self {
        Self {
            state: Mutex::new(State { limit: FIRST, waiting: 0, halved: None }),
            freed: Notify::new(),
            sent: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn turn(&self) -> Turn<'_> {
        loop {
            // Created before the check, so that a turn that is freed in between is not missed.
            let freed = self.freed.notified();
            {
                let mut state = self.lock();
                if (state.waiting as f64) < state.limit.floor() {
                    state.waiting += 1;
                    if (state.waiting as f64) < state.limit.floor() {
                        self.freed.notify_one();
                    }
                    return Turn(self);
                }
            }
            freed.await;
        }
    }

    fn refused(&self, now: Instant) {
        let mut state = self.lock();
        if state.halved.is_none_or(|last| now - last > ONE_BURST) {
            state.limit = (state.limit / 2.0).max(1.0);
            state.halved = Some(now);
        }
    }

    fn answered(&self) {
        let mut state = self.lock();
        state.limit = (state.limit + 1.0 / state.limit).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_without_an_answer_ends_within_a_minute() {
        let longest_wait_between_tries = object_store::BackoffConfig::default().max_backoff;
        let Patience { read, read_again, .. } = Patience::DEFAULT;
        assert!(read_again + longest_wait_between_tries + read <= Duration::from_secs(60));
    }

    #[test]
    fn refusals_halve_the_pace_once_a_burst_and_successes_raise_it() {
        let (pace, now) = (Pace::new(), Instant::now());
        (0..10).for_each(|_| pace.refused(now));
        assert_eq!(pace.lock().limit, 32.0);
        (1..20).for_each(|burst| pace.refused(now + ONE_BURST * 2 * burst));
        assert_eq!(pace.lock().limit, 1.0);
        (0..100_000).for_each(|_| pace.answered());
        assert_eq!(pace.lock().limit, MOST);
    }

    #[tokio::test]
    async fn no_more_wait_than_the_pace_allows_and_all_get_their_turn() {
        let pace = Pace::new();
        pace.lock().limit = 3.0;
        let most = AtomicU64::new(0);
        let jobs = (0..200).map(|_| async {
            let _turn = pace.turn().await;
            let now = pace.lock().waiting as u64;
            most.fetch_max(now, Ordering::Relaxed);
            tokio::task::yield_now().await;
        });
        timeout(Duration::from_secs(10), futures::future::join_all(jobs)).await.expect("nobody waits for ever");
        assert_eq!((most.into_inner(), pace.lock().waiting), (3, 0));
    }
}
