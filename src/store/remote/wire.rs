//! Rate control, timeouts and bounds between a remote backend and the network.
//!
//! An answer 429 or 503 halves the number of concurrent requests to a host, and each success increases it again. If it has the
//! header `Retry-After`, no request is sent there before that time. All stores at one host that one runtime drives share this.
//! The backoff of the backend spaces out the retries of one request. Time decides how long a request is sent again, not a count.
//! Timeouts follow progress: an answer must begin within a time that grows with the size of the upload, and each further piece
//! must come within the idle timeout. So a large body on a slow line is not cut off, and a dead connection is noticed.
//!
//! Requests that have the same effect once and twice are sent again after any failure of the connection; failures that cannot
//! change are not. Every body has a bound: that of a range is checked by its reader, an answer that succeeds has at most
//! [`LARGEST_ANSWER`] bytes, and of an error the first [`LARGEST_ERROR`] bytes are read. A listing ends if the store repeats itself.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, Uri, header::AUTHORIZATION};
use http_body::{Body, Frame, SizeHint};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use tokio::time::{Instant, Sleep, sleep, timeout};

use super::{
    batch,
    cause::{self, Again},
    client,
    pace::{Pace, pace_of},
    redirect::{HOPS, Redirects},
};
use crate::{
    ErrorKind,
    error::counted,
    machine,
    store::failure::{self, Known},
    work::Executor,
};

/// The longest time for which a host is obeyed that asks to send nothing.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
/// Minimum upload rate, in bytes per second.
const SLOWEST_UPLOAD: u64 = 32 << 10;
/// The first backoff of such a request. Each later one doubles, up to a maximum, and then up to a half of it is left out at random.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Maximum size of an answer that is no object. The largest page of a listing (5,000 names of Azure) is smaller.
const LARGEST_ANSWER: u64 = 32 << 20;
/// Bytes of the body of an error that are read.
const LARGEST_ERROR: usize = 64 << 10;
/// Pages without a name after which a listing ends.
const EMPTY_PAGES: usize = 1_000;

/// The timeouts of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Patience {
    /// Idle timeout of one attempt of a read.
    pub(in crate::store) read: Duration,
    /// Idle timeout of one attempt of a write.
    pub(in crate::store) write: Duration,
    /// A read that the store leaves without an answer or a further byte for this long is not sent again.
    pub(in crate::store) silence: Duration,
    /// A request that fails in another way is not sent again after this time: refusals, errors of the store, broken connections.
    pub(in crate::store) failures: Duration,
    /// The same if nothing listens at a host that has never answered: its name or port may be wrong.
    pub(in crate::store) unreached: Duration,
}

impl Patience {
    /// A read from a server that never answers ends after `silence` plus at most one backoff of 10 s and one more attempt of 15 s:
    /// within a minute.
    pub(in crate::store) const DEFAULT: Self = Self {
        read: Duration::from_secs(15),
        write: Duration::from_secs(30),
        silence: Duration::from_secs(30),
        failures: Duration::from_secs(120),
        unreached: Duration::from_secs(3),
    };
}

/// Mark of a request for an object: its reader knows how long the body is, and checks it.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Measured;

/// The pages of a listing that the store has answered.
#[derive(Default)]
struct Pages {
    tokens: HashSet<String>,
    /// Pages since the last name.
    empty: usize,
}

tokio::task_local! {
    /// Time of the last progress of the current read, and whether a body has timed out since.
    static PROGRESS: Cell<(Instant, bool)>;
    /// Pages of the current listing.
    static PAGES: RefCell<Pages>;
}

/// Runs a read. All its attempts share one timer for progress.
pub(in crate::store) async fn reading<T>(read: impl Future<Output = T>) -> T {
    PROGRESS.scope(Cell::new((machine::timer_now(), false)), read).await
}

/// Runs a listing: a read whose pages must not repeat.
pub(in crate::store) async fn listing<T>(read: impl Future<Output = T>) -> T {
    PAGES.scope(RefCell::default(), reading(read)).await
}

/// Resets the timer of the current read, because bytes arrived.
pub(in crate::store) fn progress() {
    let _ = PROGRESS.try_with(|last| last.set((machine::timer_now(), false)));
}

/// Notes that the current listing gave a name.
pub(in crate::store) fn named() {
    progress();
    let _ = PAGES.try_with(|pages| pages.borrow_mut().empty = 0);
}

/// Notes that the current listing starts again, so that its pages may come again.
pub(in crate::store) fn restarted() {
    let _ = PAGES.try_with(|pages| pages.take());
}

/// Whether a request asks for a page of a listing. A listing may begin with a request for a token.
fn is_page(request: &HttpRequest) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|part| matches!(part, "list-type=2" | "comp=list"))
}

/// Notes that the store has answered a page of the current listing.
///
/// # Errors
/// - `Unavailable`: the store answers the same token again, or page after page without a name.
fn answered(request: &HttpRequest) -> Result<(), Known> {
    let query = request.uri().query().unwrap_or_default();
    let token = query.split('&').find_map(|part| part.strip_prefix("continuation-token=").or(part.strip_prefix("marker=")));
    let endless = |why: &str| {
        let text = format!("the listing would never end: {why}; this is a fault of the store");
        Err(Known { kind: ErrorKind::Unavailable, text })
    };
    let noted = PAGES.try_with(|pages| {
        let mut pages = pages.borrow_mut();
        pages.empty += 1;
        match token {
            Some(token) if !pages.tokens.insert(token.to_owned()) => endless("the store gave the same continuation token twice"),
            _ if pages.empty > EMPTY_PAGES => endless(&format!("{EMPTY_PAGES} pages have no name")),
            _ => Ok(()),
        }
    });
    noted.unwrap_or(Ok(()))
}

/// An HTTP connector over `reqwest` with rate control and timeouts.
#[derive(Clone)]
pub(in crate::store) struct Wire {
    sent: Arc<AtomicU64>,
    rules: Arc<Rules>,
}

/// What a connection of a store does and does not.
pub(in crate::store) struct Rules {
    pub(in crate::store) patience: Patience,
    /// Number of retries of a request.
    pub(in crate::store) retries: usize,
    pub(in crate::store) redirects: Redirects,
    /// The header `Authorization` of each request to a web server. No redirected request has it.
    pub(in crate::store) authorization: Option<HeaderValue>,
    /// Certificates of authorities that take the place of those of the system.
    pub(in crate::store) authorities: Option<Vec<reqwest::Certificate>>,
}

impl Wire {
    /// Creates a connector with these rules.
    pub(in crate::store) fn new(rules: Rules) -> Self {
        Self { sent: Arc::default(), rules: Arc::new(rules) }
    }

    /// Returns the number of HTTP requests sent, including retries.
    pub(in crate::store) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns the rate control of the host of a request.
    fn pace(uri: &Uri) -> Arc<Pace> {
        uri.authority().map_or_else(|| Arc::new(Pace::new()), |host| pace_of(Executor::current(), host))
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

impl HttpConnector for Wire {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = client::connect(options, self.rules.authorities.as_deref())?;
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
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        cause::check_runtime().map_err(cause::last)?;
        if let Some(authorization) = &self.wire.rules.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        let mut next = Some(request.clone());
        for _ in 0..=HOPS {
            let Some(sent) = next.take() else { break };
            let asked = sent.uri().clone();
            let answer = self.send_patiently(sent).await?;
            match self.wire.rules.redirects.next(&request, &asked, &answer).map_err(cause::last)? {
                Some(further) => next = Some(further),
                None if answer.status().is_success() => {
                    if is_page(&request) {
                        answered(&request).map_err(cause::last)?;
                    }
                    let measured = request.extensions().get::<Measured>().is_some() || request.method() == http::Method::HEAD;
                    let start = is_page(&request).then(Vec::new);
                    return if measured { Ok(answer) } else { bounded(answer, start) };
                }
                None => return Ok(answer.map(|body| HttpResponseBody::new(Excerpt { body: Some(body), read: Vec::new() }))),
            }
        }
        let text = format!("the server redirects more than {}", counted(HOPS, "time"));
        Err(cause::last(Known { kind: ErrorKind::Invalid, text }))
    }
}

impl Paced {
    /// Sends a request, and sends it again for a while if nothing listens or the host name has no address.
    async fn send_patiently(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (uri, idempotent) = (request.uri().clone(), cause::is_idempotent(&request));
        let Rules { patience, retries, .. } = &*self.wire.rules;
        let pace = Wire::pace(&uri);
        let limit = if pace.reached.load(Ordering::Relaxed) { patience.failures } else { patience.unreached };
        let (begin, mut wait, mut tries) = (machine::timer_now(), FIRST_WAIT, 0);
        loop {
            let error = match self.send(request.clone(), &pace).await {
                Err(error) if failure::known(&error).is_none() => error,
                done => return done,
            };
            tries += 1;
            match cause::of(&error, &uri) {
                Some((_, Again::ForAWhile)) if tries <= *retries && begin.elapsed() + wait <= limit => {
                    sleep(wait.mul_f64(1.0 - machine::share() / 2.0)).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                Some((Known { kind, text }, Again::ForAWhile)) => {
                    let tried = match tries > *retries {
                        true => format!("{} tried; store option max_retries", counted(tries, "request")),
                        false => format!("tried again for {} s; store option retry_timeout", limit.as_secs_f64()),
                    };
                    return Err(cause::last(Known { kind, text: format!("{text} ({tried})") }));
                }
                Some((known, Again::Never)) => return Err(cause::last(known)),
                None => return Err(cause::with_cause(&error, idempotent)),
            }
        }
    }

    async fn send(&self, request: HttpRequest, pace: &Pace) -> Result<HttpResponse, HttpError> {
        let patience = &self.wire.rules.patience;
        let (_turn, paused) = match pace.turn(patience.failures).await {
            Ok(turn) => turn,
            Err(left) => {
                let (left, most) = (left.as_secs_f64().ceil(), patience.failures.as_secs_f64());
                return last(format!(
                    "the store asks to send nothing for {left} s (Retry-After), longer than the {most} s of the store option \
                     retry_timeout"
                ));
            }
        };
        // That the host was obeyed does not count as silence.
        let _ = PROGRESS.try_with(|progress| progress.set((progress.get().0 + paused, progress.get().1)));
        // The backend retries a body that times out, whatever the kind of the error. This check ends the retries.
        if let Ok((since, true)) = PROGRESS.try_with(Cell::get)
            && since.elapsed() >= patience.silence
        {
            return given_up("the body made no progress", since.elapsed());
        }
        self.wire.sent.fetch_add(1, Ordering::Relaxed);
        let of_machine = is_metadata_service(request.uri());
        let waited = || PROGRESS.try_with(|last| last.get().0.elapsed()).ok();
        let each = if waited().is_some() { patience.read } else { patience.write };
        let deletions = batch::deletions(&request);
        let limit = each + Duration::from_secs(request.body().content_length() as u64 / SLOWEST_UPLOAD);
        let (answer, until) = match timeout(limit, self.inner.execute(request)).await {
            Ok(answer) => {
                let is_silent = matches!(&answer, Err(error) if error.kind() == HttpErrorKind::Timeout);
                (answer, if is_silent { patience.silence } else { patience.failures })
            }
            Err(_) => (Err(silence(limit, "no answer")), patience.silence),
        };
        let watched = |body| HttpResponseBody::new(Watched { body, patience: each, deadline: Box::pin(sleep(each)) });
        let answer = match (answer, deletions) {
            (Ok(answer), Some(deletions)) if answer.status().is_success() => {
                batch::unpacked(bounded(answer.map(watched), None)?, deletions).await
            }
            (answer, _) => answer,
        };
        let status = answer.as_ref().map(HttpResponse::status).ok();
        if status.is_some() {
            pace.reached.store(true, Ordering::Relaxed);
        }
        let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT];
        let failed = status.is_none_or(|status| status.is_server_error() || busy.contains(&status));
        match status {
            Some(StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) => {
                let after = answer.as_ref().ok().and_then(retry_after).unwrap_or_default().min(LONGEST_PAUSE);
                pace.refused(machine::timer_now(), after);
            }
            // The backend would send it again: its status is above 500.
            Some(StatusCode::NOT_IMPLEMENTED) => {
                let text = "the store answers 501 Not Implemented".to_owned();
                return Err(cause::last(Known { kind: ErrorKind::Unsupported, text }));
            }
            Some(status) if status.is_success() => pace.answered(),
            _ => {}
        }
        match (answer, waited().filter(|waited| failed && *waited >= until)) {
            (Err(error), None) if of_machine => last(failure::chain(&error)),
            (answer, None) => Ok(answer?.map(watched)),
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
    Err(cause::last(Known { kind: ErrorKind::Unavailable, text }))
}

/// Returns how long the store asks to wait, in its header `Retry-After`. A date there is not read: the clocks may differ.
fn retry_after(answer: &HttpResponse) -> Option<Duration> {
    let text = answer.headers().get(http::header::RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
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
                this.deadline.as_mut().reset(machine::timer_now() + this.patience);
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

/// Returns an answer whose body has a bound. With `start`, the body is a page of a listing.
fn bounded(answer: HttpResponse, start: Option<Vec<u8>>) -> Result<HttpResponse, HttpError> {
    // Backends allocate as many bytes as the answer announces.
    if answer.body().size_hint().lower() > LARGEST_ANSWER {
        return Err(too_large());
    }
    Ok(answer.map(|body| HttpResponseBody::new(Bounded { body, left: LARGEST_ANSWER, start })))
}

fn too_large() -> HttpError {
    let text = format!("an answer has over {LARGEST_ANSWER} bytes where the store sends a list or a confirmation");
    cause::last(Known { kind: ErrorKind::Unavailable, text })
}

/// A body that fails once it is longer than its bound, or if it is to be a listing and does not begin as one. The parsers of the
/// backends take a page of HTML for an empty listing.
struct Bounded {
    body: HttpResponseBody,
    left: u64,
    /// The beginning of a page of a listing, until it has shown that it is one.
    start: Option<Vec<u8>>,
}

impl Bounded {
    /// Looks at the next piece of a page; `None` is its end.
    fn is_listing(&mut self, piece: Option<&[u8]>) -> bool {
        const ROOTS: [&[u8]; 2] = [b"<ListBucketResult", b"<EnumerationResults"];
        const LONGEST_START: usize = 1 << 10;
        let Some(start) = &mut self.start else { return true };
        let piece = piece.map(|piece| piece.get(..LONGEST_START).unwrap_or(piece));
        start.extend_from_slice(piece.unwrap_or_default());
        if ROOTS.iter().any(|root| start.windows(root.len()).any(|bytes| bytes == *root)) {
            self.start = None;
            return true;
        }
        piece.is_some() && start.len() < LONGEST_START
    }
}

impl Body for Bounded {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let is_listing = match &polled {
            Poll::Pending | Poll::Ready(Some(Err(_))) => return polled,
            Poll::Ready(None) => self.is_listing(None),
            Poll::Ready(Some(Ok(frame))) => {
                let data = frame.data_ref().map_or(&[][..], |data| data);
                match self.left.checked_sub(data.len() as u64) {
                    Some(left) => self.left = left,
                    None => return Poll::Ready(Some(Err(too_large()))),
                }
                self.is_listing(Some(data))
            }
        };
        if is_listing {
            return polled;
        }
        self.start = None;
        Poll::Ready(Some(Err(HttpError::new(HttpErrorKind::Decode, std::io::Error::other(failure::NO_LISTING)))))
    }

    fn is_end_stream(&self) -> bool {
        self.start.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The beginning of the body of an error, as text.
struct Excerpt {
    body: Option<HttpResponseBody>,
    read: Vec<u8>,
}

impl Body for Excerpt {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        while let Some(body) = &mut self.body {
            match Pin::new(body).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(frame))) => {
                    let data = frame.into_data().unwrap_or_default();
                    let left = LARGEST_ERROR - self.read.len();
                    self.read.extend_from_slice(data.get(..left).unwrap_or(&data));
                    if data.len() >= left {
                        self.body = None;
                    }
                }
                // A body that breaks off does not hide the status of the error.
                Poll::Ready(Some(Err(_)) | None) => self.body = None,
            }
        }
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.read)).into_owned();
        Poll::Ready((!text.is_empty()).then(|| Ok(Frame::data(text.into()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_without_an_answer_ends_within_a_minute() {
        let Patience { read, silence, .. } = Patience::DEFAULT;
        assert!(silence + LONGEST_WAIT + read <= Duration::from_secs(60));
    }

    #[tokio::test]
    async fn bodies_end_at_their_bounds() {
        let answer = |bytes: usize| HttpResponse::new(vec![b'x'; bytes].into());
        let most = usize::try_from(LARGEST_ANSWER).expect("a size");
        assert_eq!(bounded(answer(most), None).expect("fits").into_body().bytes().await.expect("fits").len(), most);
        assert!(bounded(answer(most + 1), None).is_err(), "refused by its announced length");
        let body = Bounded { body: vec![b'x'; 11].into(), left: 10, start: None };
        let error = HttpResponseBody::new(body).bytes().await.expect_err("too long");
        assert!(failure::known(&error).is_some_and(|known| known.text.contains("over 33554432 bytes")), "{error}");
        let cut = Excerpt { body: Some("\u{fc}".repeat(LARGEST_ERROR).into()), read: Vec::new() };
        let cut = HttpResponseBody::new(cut).bytes().await.expect("a text");
        assert_eq!(cut.len(), LARGEST_ERROR, "cut, and still UTF-8: {:?}", std::str::from_utf8(&cut).map(str::len));
    }

    #[tokio::test]
    async fn only_a_listing_is_read_as_one() {
        let read = |body: String| async {
            let body = HttpResponseBody::from(body);
            HttpResponseBody::new(Bounded { body, left: LARGEST_ANSWER, start: Some(Vec::new()) }).bytes().await
        };
        for root in ["ListBucketResult xmlns=\"x\"", "EnumerationResults"] {
            let text = format!("<?xml version=\"1.0\"?>\n<{root}></{root}>");
            assert_eq!(read(text.clone()).await.expect(root), text);
        }
        for text in ["", "{}", "<html>Please log in</html>", "<?xml version=\"1.0\"?><Other/>"] {
            let error = read(text.to_owned()).await.expect_err(text);
            assert!(failure::chain(&error).contains(failure::NO_LISTING), "{error}");
        }
        let late = format!("{}<ListBucketResult>", " ".repeat(2_000));
        assert!(read(late).await.is_err());
    }

    #[tokio::test]
    async fn a_listing_that_repeats_itself_ends() {
        let page = |token: &str| {
            let mut request = HttpRequest::new(object_store::client::HttpRequestBody::empty());
            *request.uri_mut() = format!("http://h/b?list-type=2{token}").parse().expect("a URL");
            answered(&request)
        };
        assert!(page("&continuation-token=a").is_ok() && page("&continuation-token=a").is_ok(), "outside of a listing");
        listing(async {
            assert!(page("").is_ok() && page("&continuation-token=a").is_ok() && page("&continuation-token=b").is_ok());
            assert!(page("&continuation-token=a").is_err());
            restarted();
            assert!(page("&continuation-token=a").is_ok(), "a listing that starts again asks for the same pages");
            (0..10 * EMPTY_PAGES).for_each(|number| {
                named();
                assert!(page(&format!("&marker={number}")).is_ok());
            });
            let ended = (0..2 * EMPTY_PAGES).position(|number| page(&format!("&marker=more{number}")).is_err());
            assert_eq!(ended, Some(EMPTY_PAGES - 1));
        })
        .await;
    }

    #[tokio::test]
    async fn stores_at_one_host_share_their_pace_in_one_runtime() {
        let pace = |text: &str| Wire::pace(&text.parse::<Uri>().expect("a URL"));
        let shared = pace("http://shared-host:9000/a");
        assert!(Arc::ptr_eq(&shared, &pace("http://shared-host:9000/b")));
        assert!(!Arc::ptr_eq(&shared, &pace("http://shared-host:9001/a")));
        let elsewhere = std::thread::spawn(move || pace("http://shared-host:9000/a")).join().expect("a pace");
        assert!(!Arc::ptr_eq(&shared, &elsewhere), "outside of the runtime");
    }
}
