//! The listener: which connections it takes, what it answers, and what bounds connections that do nothing.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tetrys::{Error, Result};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::{JoinHandle, JoinSet},
};
use uuid::Uuid;

use crate::{
    answers::{Answer, Answers, Content},
    assets::{Asset, assets},
    guard::{Guard, HEADERS},
    slow::Patient,
    source::Source,
};

/// Where a server listens.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The port; 0 for any that is free.
    pub port: u16,
    /// The address. Another one than that of the loopback interface needs [`Options::allow_hosts`].
    pub bind: IpAddr,
    /// Further values of the `Host` header that are answered, each with its port: `localhost:9000` for a port that is forwarded.
    pub allow_hosts: Vec<String>,
    /// The bounds of connections.
    pub limits: Limits,
}

/// The bounds of connections.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Connections at the same time; further ones wait.
    pub connections: usize,
    /// Header timeout: how long a client may take to send the headers of its next request.
    pub header: Duration,
    /// Write timeout: how long a client may read nothing of its response.
    pub reader: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let limits = Limits { connections: 1_000, header: Duration::from_secs(20), reader: Duration::from_secs(30) };
        Self { port: 0, bind: IpAddr::V4(Ipv4Addr::LOCALHOST), allow_hosts: Vec::new(), limits }
    }
}

/// A running server. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    /// The host and port that browsers use.
    host: String,
    token: String,
    stop: watch::Sender<bool>,
    listening: JoinHandle<()>,
}

impl Server {
    /// Starts a server for these sources. Call it in a tokio runtime with several threads.
    ///
    /// # Errors
    /// - `Invalid`: there are no sources, the address is not of the loopback interface and no host is allowed, or a host is none.
    /// - Errors of the system, if the port is in use.
    pub async fn start(sources: Vec<Source>, options: Options) -> Result<Self> {
        let Options { port, bind, allow_hosts, limits } = options;
        if sources.is_empty() {
            return Err(Error::invalid("no table to show: expected at least one"));
        }
        if !bind.is_loopback() && allow_hosts.is_empty() {
            return Err(Error::invalid(format!(
                "--bind {bind} is not the loopback interface: name with --allow-host the hosts and ports that browsers will use"
            )));
        }
        if let Some(host) = allow_hosts.iter().find(|host| !is_host(host)) {
            return Err(Error::invalid(format!("--allow-host: expected HOST:PORT, found {host:?}")));
        }
        let listener = TcpListener::bind((bind, port))
            .await
            .map_err(|error| Error::from(error).at(format!("listening on {bind}:{port}")))?;
        let address = listener.local_addr().map_err(Error::from)?;
        // 244 random bits.
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let host = match allow_hosts.first() {
            Some(host) if !address.ip().is_loopback() => host.clone(),
            _ => address.to_string(),
        };
        let service = Arc::new(Service {
            guard: Guard::new(token.clone(), address, allow_hosts),
            answers: Answers::new(sources),
            assets: assets(),
        });
        let (stop, stopped) = watch::channel(false);
        let listening = tokio::spawn(listen(listener, service, limits, stopped));
        Ok(Self { address, host, token, stop, listening })
    }

    /// Returns the address of the page, with the token behind `#`, which browsers do not send. A server that listens beyond the loopback
    /// interface is named by the first of [`Options::allow_hosts`].
    pub fn url(&self) -> String {
        format!("http://{}/#token={}", self.host, self.token)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the server ends, which it does not by itself.
    pub async fn wait(mut self) {
        let _ = (&mut self.listening).await;
    }

    /// Ends the server and its connections, and waits until its port is free.
    pub async fn close(mut self) {
        let _ = self.stop.send(true);
        let _ = (&mut self.listening).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
    }
}

/// Whether a text may be a `Host` header with a port.
fn is_host(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_name = !host.is_empty() && host.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter));
    let is_address =
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).is_some_and(|host| host.parse::<Ipv6Addr>().is_ok());
    (is_name || is_address) && port.chars().all(|letter| letter.is_ascii_digit()) && port.parse::<u16>().is_ok()
}

#[derive(Debug)]
struct Service {
    guard: Guard,
    answers: Answers,
    assets: BTreeMap<String, Asset>,
}

async fn listen(listener: TcpListener, service: Arc<Service>, limits: Limits, mut stopped: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    let accept = async {
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            while connections.try_join_next().is_some() {}
            let Ok((stream, _)) = listener.accept().await else {
                // No file descriptor is free, or the connection is gone already.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let service = Arc::clone(&service);
            connections.spawn(async move {
                let answer = service_fn(move |request| {
                    let service = Arc::clone(&service);
                    async move { Ok::<_, Infallible>(service.answer(&request).await) }
                });
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(limits.header).max_buf_size(64 << 10).half_close(false);
                // A connection that breaks is the business of the browser.
                let _ = http.serve_connection(TokioIo::new(Patient::new(stream, limits.reader)), answer).await;
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
    drop(listener);
    connections.shutdown().await;
}

impl Service {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Content> {
        let (path, headers) = (request.uri().path(), request.headers());
        let checked = self.guard.check(request.method(), request.uri(), headers);
        let is_data = path.starts_with("/api/");
        let checked = checked.and_then(|()| if is_data { self.guard.check_data(headers) } else { Ok(()) });
        let answer = match (checked, self.assets.get(path)) {
            (Err(refusal), _) => Answer::error(refusal.status, "Refused", &refusal.message),
            (Ok(()), Some(asset)) => {
                let mut response = response(Answer {
                    status: StatusCode::OK,
                    media_type: asset.media_type,
                    body: Content::of(asset.gzipped.clone()),
                });
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                return response;
            }
            (Ok(()), None) if is_data => self.answers.answer(path, request.uri().query().unwrap_or_default()).await,
            (Ok(()), None) => Answer::error(StatusCode::NOT_FOUND, "NotFound", "no such file"),
        };
        response(answer)
    }
}

fn response(answer: Answer) -> Response<Content> {
    let mut response = Response::new(answer.body);
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.media_type));
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}
