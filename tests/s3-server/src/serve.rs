//! HTTP front end of the service: counts and describes requests, asks the hook, and throttles bodies.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioIo, TokioTimer};
use s3s::auth::SimpleAuth;
use s3s::config::{HotReloadConfigProvider, S3Config};
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::time::{Instant, sleep, sleep_until};

use crate::faults::{Fault, Request};
use crate::objects::{Attributes, Object, Objects};
use crate::protocol::Protocol;
use crate::rest::{Ask, place};
use crate::service::{Access, Service};
use crate::{azure, google};

type Hook = Arc<dyn Fn(&Request) -> Option<Fault> + Send + Sync>;
type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// Maximum bytes of a piece of a body.
const PIECE: usize = 64 << 10;

/// A request, its arrival and the start of its answer.
#[derive(Clone, Debug)]
pub struct Served {
    /// The request.
    pub request: Request,
    /// Time of arrival.
    pub received: std::time::Instant,
    /// Start of the answer; `None` if it has not started.
    pub answered: Option<std::time::Instant>,
}

/// Returns the length of the longest chain of dependent requests. A request depends on another one if it arrived after the start
/// of the other's answer.
pub fn dependent(served: &[Served]) -> usize {
    let mut depths: Vec<(Option<std::time::Instant>, usize)> = Vec::new();
    for one in served {
        let before = depths.iter().filter(|(answered, _)| answered.is_some_and(|answered| answered <= one.received));
        let depth = before.map(|(_, depth)| *depth).max().unwrap_or(0) + 1;
        depths.push((one.answered, depth));
    }
    depths.into_iter().map(|(_, depth)| depth).max().unwrap_or(0)
}

/// Number of requests of each wave, and how many have arrived.
struct Waves {
    sizes: Vec<usize>,
    received: Vec<Request>,
    /// Sends the number of requests that have arrived.
    count: tokio::sync::watch::Sender<usize>,
}

/// How long the server waits for the rest of a wave. The client never sends it if a request of the wave depends on another one.
const WAVE_COMES: Duration = Duration::from_secs(60);

/// Simulated distance of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Delay before each answer.
    pub per_request: Duration,
    /// Bytes per second of each body; `None` is unlimited.
    pub bytes_per_second: Option<u64>,
}

/// A running server. Its access key is `tester`. Each server has its own secret and its own buckets.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    runtime: Option<tokio::runtime::Runtime>,
}

struct Shared {
    protocol: Protocol,
    secret: String,
    service: Service,
    s3: S3Service,
    config: Arc<HotReloadConfigProvider>,
    hook: Mutex<Option<Hook>>,
    latency: Mutex<Latency>,
    /// End of the stall of [`Server::stall`].
    stalled: Mutex<Option<Instant>>,
    waves: Mutex<Option<Waves>>,
    seen: Mutex<Vec<Served>>,
    number: AtomicU64,
    open: AtomicU64,
    most_open: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Starts a server on a free port of the loopback interface.
    ///
    /// # Panics
    /// If the machine has no free port or thread.
    pub fn start() -> Self {
        Self::start_as(Protocol::S3)
    }

    /// Starts a server of a protocol on a free port of the loopback interface.
    ///
    /// # Panics
    /// If the machine has no free port or thread.
    pub fn start_as(protocol: Protocol) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
        let secret = format!("canary-{}", uuid::Uuid::new_v4().simple());
        let service = Service(Arc::new(Mutex::new(Objects::default())));
        let config = Arc::new(HotReloadConfigProvider::new(Arc::new(S3Config::default())));
        let mut builder = S3ServiceBuilder::new(service.clone());
        builder.set_auth(SimpleAuth::from_single("tester", secret.as_str()));
        builder.set_config(config.clone());
        builder.set_access(Access(Arc::clone(&service.0)));
        let shared = Arc::new(Shared {
            protocol,
            secret,
            service,
            s3: builder.build(),
            config,
            hook: Mutex::new(None),
            latency: Mutex::new(Latency::default()),
            stalled: Mutex::new(None),
            waves: Mutex::new(None),
            seen: Mutex::new(Vec::new()),
            number: AtomicU64::new(0),
            open: AtomicU64::new(0),
            most_open: AtomicU64::new(0),
        });
        // Bound without the runtime, so that a server can also be started inside a runtime.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port of the loopback");
        listener.set_nonblocking(true).expect("a socket of tokio's kind");
        let address = listener.local_addr().expect("its address");
        runtime.spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, runtime: Some(runtime) }
    }

    /// Returns the URL of the server: `http://127.0.0.1:PORT`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the protocol of the server.
    pub fn protocol(&self) -> Protocol {
        self.shared.protocol
    }

    /// Returns the URL of a place in a bucket: `s3://bucket/path`, `az://bucket/path` or `gs://bucket/path`.
    pub fn url(&self, bucket: &str, path: &str) -> String {
        self.shared.protocol.url(bucket, path)
    }

    /// Returns the secret of the access key `tester`, or the token of Azure and Google.
    pub fn secret(&self) -> &str {
        &self.shared.secret
    }

    /// Returns the options that a client needs, with the usual names of clients of the protocol.
    pub fn options(&self) -> Vec<(String, String)> {
        self.shared.protocol.options(&self.endpoint(), self.secret())
    }

    /// Creates a bucket.
    pub fn create_bucket(&self, bucket: &str) {
        self.shared.service.lock().buckets.entry(bucket.to_owned()).or_default();
    }

    /// Puts an object without a request.
    ///
    /// # Panics
    /// If there is no such bucket.
    pub fn put(&self, bucket: &str, key: &str, bytes: impl Into<Bytes>) {
        let object = Object::new(bytes.into(), Attributes::default());
        self.shared.service.lock().buckets.get_mut(bucket).expect("a bucket").insert(key.to_owned(), object);
    }

    /// Returns the bytes of an object without a request.
    pub fn get(&self, bucket: &str, key: &str) -> Option<Bytes> {
        self.shared.service.lock().buckets.get(bucket)?.get(key).map(|object| object.bytes.clone())
    }

    /// Returns the names in a bucket, in order.
    pub fn names(&self, bucket: &str) -> Vec<String> {
        self.shared.service.lock().buckets.get(bucket).map(|objects| objects.keys().cloned().collect()).unwrap_or_default()
    }

    /// Returns the number of multipart uploads that are neither completed nor aborted.
    pub fn open_uploads(&self) -> usize {
        let objects = self.shared.service.lock();
        objects.uploads.len() + objects.blocks.len()
    }

    /// Sets the hook, which chooses the fault of each request. Requests reach it in the order in which they arrive.
    pub fn on_request(&self, hook: impl Fn(&Request) -> Option<Fault> + Send + Sync + 'static) {
        *lock(&self.shared.hook) = Some(Arc::new(hook));
    }

    /// Removes the hook and all other misbehaviour.
    pub fn behave(&self) {
        *lock(&self.shared.hook) = None;
        *lock(&self.shared.stalled) = None;
        self.shared.service.lock().ignores_conditions = false;
        self.tolerate_clocks(Duration::from_secs(900));
    }

    /// Ignores the conditions of conditional puts from now on.
    pub fn ignore_conditions(&self) {
        self.shared.service.lock().ignores_conditions = true;
    }

    /// Answers unsigned reads from now on, like a public bucket or any web server.
    pub fn let_anybody_read(&self) {
        self.shared.service.lock().anybody_reads = true;
    }

    /// Answers all other unsigned requests of Azure and Google from now on, like an emulator.
    pub fn let_anybody_write(&self) {
        self.shared.service.lock().anybody_writes = true;
    }

    /// Sets the maximum difference between the clocks of a request and of the server.
    pub fn tolerate_clocks(&self, most: Duration) {
        let mut config = S3Config::default();
        config.presigned_url_max_skew_time_secs = u32::try_from(most.as_secs()).unwrap_or(u32::MAX);
        self.shared.config.update(Arc::new(config));
    }

    /// Sets the simulated distance.
    pub fn set_latency(&self, latency: Latency) {
        *lock(&self.shared.latency) = latency;
    }

    /// Stalls for this time from now on: requests that arrive wait for their answers, and bodies that are on their way pause. A body of
    /// which the rate is not limited is sent whole, so it does not pause.
    pub fn stall(&self, time: Duration) {
        *lock(&self.shared.stalled) = Some(Instant::now() + time);
    }

    /// Answers the next requests wave by wave: the first `sizes[0]` of them once all of these have arrived, then the next
    /// `sizes[1]` once all of those have arrived, and so on. Further requests are answered at once. So a client that gets its
    /// answers sends no more than `sizes.len()` requests one after the other, however slow the machine is. A wave that does not
    /// come fails with status 400 after a minute.
    pub fn answer_in_waves(&self, sizes: &[usize]) {
        let (count, _) = tokio::sync::watch::channel(0);
        *lock(&self.shared.waves) = Some(Waves { sizes: sizes.to_vec(), received: Vec::new(), count });
    }

    /// Ends [`Server::answer_in_waves`]. Returns the requests of each wave; the last element has those after all waves.
    pub fn take_waves(&self) -> Vec<Vec<Request>> {
        let Some(Waves { sizes, mut received, .. }) = lock(&self.shared.waves).take() else { return Vec::new() };
        let mut waves: Vec<Vec<Request>> =
            sizes.iter().map(|size| received.drain(..(*size).min(received.len())).collect()).collect();
        waves.push(received);
        waves
    }

    /// Returns every request since the last call, in the order of arrival.
    pub fn take_requests(&self) -> Vec<Request> {
        self.shared.most_open.store(0, Ordering::Relaxed);
        self.take_served().into_iter().map(|served| served.request).collect()
    }

    /// Returns the bucket and the name of each object that a request for many has deleted since the last call.
    pub fn take_deleted(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.shared.service.lock().deleted)
    }

    /// Returns every request since the last call, with the times of arrival and answer.
    pub fn take_served(&self) -> Vec<Served> {
        std::mem::take(&mut lock(&self.shared.seen))
    }

    /// Returns the maximum number of concurrent requests since [`Server::take_requests`].
    pub fn most_at_once(&self) -> u64 {
        self.shared.most_open.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

async fn accept(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a socket of tokio's kind");
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let reset = AtomicBool::new(false);
            let answer = hyper::service::service_fn(|request| Box::pin(Arc::clone(&shared).answer(request, &reset)));
            let mut http = hyper::server::conn::http1::Builder::new();
            let mut connection = http.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), answer);
            // Faults end connections on purpose.
            let _ = std::future::poll_fn(|context| connection.poll_without_shutdown(context)).await;
            let mut stream = connection.into_parts().io.into_inner();
            if reset.load(Ordering::Relaxed) {
                let _ = stream.set_zero_linger();
            } else {
                let _ = tokio::io::AsyncWriteExt::shutdown(&mut stream).await;
            }
        });
    }
}

/// Error that closes the connection without an answer.
#[derive(Debug)]
struct Hangup;

impl std::fmt::Display for Hangup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("hung up")
    }
}

impl std::error::Error for Hangup {}

struct Open(Arc<Shared>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    async fn answer(self: Arc<Self>, request: http::Request<Incoming>, reset: &AtomicBool) -> Result<Response<Body>, Hangup> {
        let now = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_open.fetch_max(now, Ordering::Relaxed);
        let _open = Open(Arc::clone(&self));
        let described = self.describe(&request);
        let received = std::time::Instant::now();
        lock(&self.seen).push(Served { request: described.clone(), received, answered: None });
        let number = described.number;
        let answer = match self.wave(&described).await {
            true => Arc::clone(&self).serve(request, described, reset).await,
            false => Ok(self.refusal(400, "TheRestOfTheWaveDidNotCome")),
        };
        let mut seen = lock(&self.seen);
        if let Some(served) = seen.iter_mut().rev().find(|served| served.request.number == number) {
            served.answered = Some(std::time::Instant::now());
        }
        answer
    }

    /// Waits for the rest of the wave of a request. Returns whether it came.
    async fn wave(&self, request: &Request) -> bool {
        let (needed, mut received) = {
            let mut waves = lock(&self.waves);
            let Some(waves) = waves.as_mut() else { return true };
            let place = waves.received.len();
            waves.received.push(request.clone());
            waves.count.send_replace(place + 1);
            let ends = waves.sizes.iter().scan(0, |end, size| {
                *end += size;
                Some(*end)
            });
            let Some(needed) = ends.filter(|end| *end > place).min() else { return true };
            (needed, waves.count.subscribe())
        };
        tokio::time::timeout(WAVE_COMES, received.wait_for(|received| *received >= needed)).await.is_ok_and(|came| came.is_ok())
    }

    async fn serve(
        self: Arc<Self>,
        request: http::Request<Incoming>,
        described: Request,
        reset: &AtomicBool,
    ) -> Result<Response<Body>, Hangup> {
        let hook = lock(&self.hook).clone();
        let fault = hook.and_then(|hook| hook(&described));
        let latency = *lock(&self.latency);
        if !latency.per_request.is_zero() {
            sleep(latency.per_request).await;
        }
        self.stall_ends().await;
        match &fault {
            Some(Fault::Refuse(status, code)) => {
                let _ = BodyExt::collect(request.into_body()).await;
                return Ok(self.refusal(*status, code));
            }
            Some(Fault::RefuseFor(seconds)) => {
                let _ = BodyExt::collect(request.into_body()).await;
                let mut answer = self.refusal(503, self.protocol.busy());
                answer.headers_mut().insert(http::header::RETRY_AFTER, (*seconds).into());
                return Ok(answer);
            }
            Some(Fault::Hide) => return Ok(self.refusal(404, self.protocol.no_object())),
            Some(Fault::Drop) => return Err(Hangup),
            Some(Fault::Reset) => {
                reset.store(true, Ordering::Relaxed);
                return Err(Hangup);
            }
            Some(Fault::Wait(time)) => sleep(*time).await,
            _ => {}
        }
        let upload = latency.bytes_per_second.filter(|_| described.bytes > 0);
        if let Some(rate) = upload {
            sleep(Duration::from_secs_f64(described.bytes as f64 / rate.max(1) as f64)).await;
        }
        let whole = matches!(fault, Some(Fault::Whole | Fault::Shifted(_) | Fault::Long(_)));
        let object = whole.then(|| self.service.lock().buckets.get(&described.bucket)?.get(&described.key).cloned()).flatten();
        let (mut parts, body) = self.speak(request, fault.as_ref()).await?.into_parts();
        match &fault {
            Some(Fault::DoneBut(status, code)) => return Ok(self.refusal(*status, code)),
            Some(Fault::Lose) => return Err(Hangup),
            Some(Fault::DoneAndReset) => {
                reset.store(true, Ordering::Relaxed);
                return Err(Hangup);
            }
            _ => {}
        }
        let (body, end) = bend(&mut parts, body, described.range, object, fault.as_ref());
        if described.method != "HEAD" {
            parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(end.announced.unwrap_or(body.len())));
        }
        let flow = flow(body, latency.bytes_per_second, end, self);
        Ok(Response::from_parts(parts, flow))
    }

    /// Waits for the end of a stall.
    async fn stall_ends(&self) {
        let stalled = || {
            let until = *lock(&self.stalled);
            until.filter(|until| *until > Instant::now())
        };
        while let Some(until) = stalled() {
            sleep_until(until).await;
        }
    }

    /// Lets the protocol answer.
    async fn speak(&self, request: http::Request<Incoming>, fault: Option<&Fault>) -> Result<Response<Bytes>, Hangup> {
        if self.protocol == Protocol::S3 {
            let answer = hyper::service::Service::call(&self.s3, request).await.map_err(|_| Hangup)?;
            let (parts, body) = answer.into_parts();
            let body = BodyExt::collect(body).await.map_err(|_| Hangup)?.to_bytes();
            return Ok(Response::from_parts(parts, body));
        }
        let (head, body) = request.into_parts();
        let body = BodyExt::collect(body).await.map_err(|_| Hangup)?.to_bytes();
        let ask = Ask::new(head.method, &head.uri, head.headers, body);
        let inside = match fault {
            Some(Fault::RefuseInside(status, code)) => Some((*status, *code)),
            _ => None,
        };
        let mut objects = self.service.lock();
        let answer = match self.protocol {
            Protocol::Azure => azure::answer(&mut objects, &ask, &self.secret, inside),
            _ => google::answer(&mut objects, &ask, &self.secret),
        };
        Ok(answer.unwrap_or_else(|(status, code)| self.protocol.refusal(status, code)))
    }

    fn refusal(&self, status: u16, code: &str) -> Response<Body> {
        self.protocol.refusal(status, code).map(|body| Full::new(body).map_err(|never: Infallible| match never {}).boxed_unsync())
    }

    fn describe(&self, request: &http::Request<Incoming>) -> Request {
        let (bucket, key) = place(request.uri().path());
        let text = |name: header::HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
        let range = text(header::RANGE).and_then(|range| {
            let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
            Some((first.parse().ok()?, last.parse().ok()?))
        });
        Request {
            number: self.number.fetch_add(1, Ordering::Relaxed),
            method: request.method().to_string(),
            bucket,
            key,
            query: request.uri().query().unwrap_or_default().to_owned(),
            range,
            conditional: ["if-none-match", "if-match", "x-goog-if-generation-match"]
                .iter()
                .any(|name| request.headers().contains_key(*name)),
            bytes: text(header::CONTENT_LENGTH).and_then(|length| length.parse().ok()).unwrap_or(0),
        }
    }
}

/// The position where a body ends or pauses, and its announced length.
#[derive(Default)]
struct End {
    announced: Option<usize>,
    cut: Option<usize>,
    stall: Option<(usize, Duration)>,
}

/// Applies the fault to the head and the body.
fn bend(
    parts: &mut http::response::Parts,
    body: Bytes,
    range: Option<(u64, u64)>,
    object: Option<Object>,
    fault: Option<&Fault>,
) -> (Bytes, End) {
    let plain = End::default();
    if !parts.status.is_success() {
        return (body, plain);
    }
    match (fault, object, range) {
        (Some(Fault::Cut(bytes)), ..) => (
            body.clone(),
            End { announced: Some(body.len()), cut: Some((*bytes).min(body.len().saturating_sub(1))), stall: None },
        ),
        (Some(Fault::Stall(bytes, time)), ..) => (body, End { stall: Some((*bytes, *time)), ..plain }),
        (Some(Fault::Short(bytes)), ..) => (body.slice(..body.len().saturating_sub(*bytes)), plain),
        (Some(Fault::Long(bytes)), Some(object), Some((first, last))) => {
            let end = (last as usize + 1 + bytes).min(object.bytes.len());
            (object.bytes.slice(first as usize..end), plain)
        }
        (Some(Fault::Long(bytes)), ..) => ([&body[..], &vec![0; *bytes]].concat().into(), plain),
        (Some(Fault::Shifted(by)), Some(object), Some((first, last))) => {
            let total = object.bytes.len() as u64;
            let (first, last) = ((first + by).min(total - 1), (last + by).min(total - 1));
            if let Ok(text) = HeaderValue::from_str(&format!("bytes {first}-{last}/{total}")) {
                parts.headers.insert(header::CONTENT_RANGE, text);
            }
            (object.bytes.slice(first as usize..=last as usize), plain)
        }
        (Some(Fault::Whole), Some(object), _) => {
            parts.status = StatusCode::OK;
            parts.headers.remove(header::CONTENT_RANGE);
            (object.bytes, plain)
        }
        (Some(Fault::Flip(place)), ..) if !body.is_empty() => {
            let mut bytes = body.to_vec();
            let (round, place) = (place / bytes.len() % 8, place % bytes.len());
            bytes[place] ^= 1 << round;
            (bytes.into(), plain)
        }
        (Some(Fault::Replace(place, byte)), ..) if !body.is_empty() => {
            let mut bytes = body.to_vec();
            let place = place % bytes.len();
            bytes[place] = *byte;
            (bytes.into(), plain)
        }
        _ => (body, plain),
    }
}

/// Returns the body in pieces, throttled to the rate.
fn flow(body: Bytes, rate: Option<u64>, end: End, shared: Arc<Shared>) -> Body {
    if rate.is_none() && end.cut.is_none() && end.stall.is_none() {
        return Full::new(body).map_err(|never: Infallible| match never {}).boxed_unsync();
    }
    StreamBody::new(pieces(body, rate, end, shared)).boxed_unsync()
}

fn pieces(
    body: Bytes,
    rate: Option<u64>,
    end: End,
    shared: Arc<Shared>,
) -> impl Stream<Item = Result<Frame<Bytes>, std::io::Error>> + Send {
    let begin = Instant::now();
    futures::stream::unfold((0, end), move |(sent, mut end)| {
        let (body, shared) = (body.clone(), Arc::clone(&shared));
        async move {
            if let Some((_, time)) = end.stall.take_if(|(place, _)| *place <= sent) {
                sleep(time).await;
            }
            if end.cut == Some(sent) {
                // Let the bytes written so far be sent first. An immediate reset would discard them.
                sleep(Duration::from_millis(5)).await;
                return Some((Err(std::io::ErrorKind::ConnectionReset.into()), (body.len(), End { cut: None, ..end })));
            }
            if sent >= body.len() {
                return None;
            }
            let stop = [end.cut, end.stall.map(|(place, _)| place)].into_iter().flatten().filter(|place| *place > sent).min();
            let next = (sent + PIECE).min(body.len()).min(stop.unwrap_or(usize::MAX));
            if let Some(rate) = rate {
                sleep_until(begin + Duration::from_secs_f64(next as f64 / rate.max(1) as f64)).await;
            }
            shared.stall_ends().await;
            Some((Ok(Frame::data(body.slice(sent..next))), (next, end)))
        }
    })
    .boxed()
}
