//! Between a remote backend and the network: how many requests wait for an answer at a time, and how long one waits.
//!
//! A store that answers "slow down" (429, 503) halves the number of requests on their way, each success lets it grow again;
//! the backend's own back-off spaces out the retries of one request. Deadlines follow progress: an answer must begin within a
//! time that grows with what is sent, and each further piece of it must come within that of the one before, so that a large
//! body on a slow line is not cut off and a dead one is noticed.

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

/// Requests that wait for an answer: at first, and at most.
const FIRST: f64 = 64.0;
const MOST: f64 = 256.0;
/// A burst of refusals halves the number once.
const ONE_BURST: Duration = Duration::from_millis(200);
/// How long a dead line is waited for, and the slowest upload that is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
const SLOWEST_UPLOAD: u64 = 32 << 10;

/// Connects as `reqwest` does, and keeps pace and deadlines. Clones, and all clients it makes, share one pace.
#[derive(Clone)]
pub(super) struct Wire {
    pace: Arc<Pace>,
    patience: Duration,
}

impl Wire {
    /// A wire that waits `patience` for each sign of life.
    pub(super) fn new(patience: Duration) -> Self {
        Self { pace: Arc::new(Pace::new()), patience }
    }

    /// HTTP requests sent so far, retries included.
    pub(super) fn sent(&self) -> u64 {
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
        pace.sent.fetch_add(1, Ordering::Relaxed);
        let sending = Duration::from_secs(request.body().content_length() as u64 / SLOWEST_UPLOAD);
        let limit = *patience + sending;
        let answer = match timeout(limit, self.inner.execute(request)).await {
            Ok(answer) => answer?,
            Err(_) => return Err(silence(limit, "no answer")),
        };
        match answer.status() {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => pace.refused(Instant::now()),
            status if status.is_success() => pace.answered(),
            _ => {}
        }
        let patience = *patience;
        Ok(answer.map(|body| HttpResponseBody::new(Watched { body, patience, deadline: Box::pin(sleep(patience)) })))
    }
}

fn silence(limit: Duration, what: &str) -> HttpError {
    let text = format!("{what} for {:.1} s", limit.as_secs_f64());
    HttpError::new(HttpErrorKind::Timeout, std::io::Error::new(std::io::ErrorKind::TimedOut, text))
}

/// A body whose pieces each have a deadline.
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
                this.deadline.as_mut().reset(Instant::now() + this.patience);
                Poll::Ready(frame)
            }
            Poll::Pending => match this.deadline.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(Some(Err(silence(this.patience, "the body stood still")))),
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

/// How many requests may wait for an answer: more after each success, half after a burst of refusals.
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
            // Made before the look, so that a turn given back in between is not missed.
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
