//! HTTP servers that answer byte by byte as a test wants, with and without TLS: redirects, answers that never end, foreign
//! certificates. They listen on the loopback interface and keep the heads of all requests.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// The answer to a request. The connection closes after it.
pub enum Answer {
    /// These bytes, from the status line on.
    Whole(String),
    /// These headers and this body.
    Body(String, Vec<u8>),
    /// The first text, and then the second again and again: until the client hangs up, or for a quarter of a GiB.
    Endless(String, String),
}

/// Returns an answer with a status, headers and a body.
pub fn answer(status: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    Answer::Whole(format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"))
}

/// Returns the head of an answer without a length, as endless ones have it.
pub fn head(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/xml\r\n\r\n")
}

/// Answers a request by its number and its text.
type Answers = Box<dyn Fn(usize, &str) -> Answer + Send + Sync>;

const MOST_SENT: u64 = 256 << 20;

struct Shared {
    answer: Answers,
    heads: Mutex<Vec<String>>,
    sent: AtomicU64,
    stop: AtomicBool,
    tls: Option<Arc<ServerConfig>>,
}

/// A running server.
pub struct Raw {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Raw {
    /// Starts a server. `answer` gets the number of the request, from 0, and its head.
    pub fn start(answer: impl Fn(usize, &str) -> Answer + Send + Sync + 'static) -> Self {
        Self::serve(None, Box::new(answer))
    }

    /// Starts a server with the certificate of `localhost` in `tests/common/tls`.
    pub fn start_tls(answer: impl Fn(usize, &str) -> Answer + Send + Sync + 'static) -> Self {
        tetrys::store::install_crypto_provider();
        let chain = vec![CertificateDer::from_pem_file(tls("localhost.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(tls("localhost.key")).unwrap();
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        Self::serve(Some(Arc::new(config)), Box::new(answer))
    }

    fn serve(tls: Option<Arc<ServerConfig>>, answer: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (heads, sent, stop) = (Mutex::default(), AtomicU64::new(0), AtomicBool::new(false));
        let shared = Arc::new(Shared { answer, heads, sent, stop, tls });
        let served = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if served.stop.load(Ordering::Relaxed) {
                    return;
                }
                let served = Arc::clone(&served);
                // A client that hangs up ends its thread with an error.
                thread::spawn(move || stream.and_then(|stream| served.talk(stream)));
            }
        });
        Self { address, shared }
    }

    /// Returns the URL of the server by its address, and by the name `localhost`.
    pub fn urls(&self) -> [String; 2] {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        ["127.0.0.1", "localhost"].map(|host| format!("{scheme}://{host}:{}", self.address.port()))
    }

    pub fn url(&self) -> String {
        self.urls()[0].clone()
    }

    /// Returns the heads of all requests since the last call, in lower case.
    pub fn take_heads(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.heads.lock().unwrap())
    }

    /// Returns the number of bytes sent since the last call.
    pub fn take_sent(&self) -> u64 {
        self.shared.sent.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn talk(&self, stream: TcpStream) -> std::io::Result<()> {
        match &self.tls {
            None => self.answer(stream),
            Some(config) => {
                let connection = ServerConnection::new(Arc::clone(config)).map_err(std::io::Error::other)?;
                self.answer(StreamOwned::new(connection, stream))
            }
        }
    }

    fn answer(&self, mut stream: impl Read + Write) -> std::io::Result<()> {
        let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
        let text = loop {
            let bytes = stream.read(&mut buffer)?;
            if bytes == 0 {
                return Ok(());
            }
            read.extend_from_slice(&buffer[..bytes]);
            if !read[0].is_ascii_uppercase() {
                // A client that speaks TLS to a plain server.
                return stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
            }
            let text = String::from_utf8_lossy(&read);
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let head = head.to_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                if body.len() >= length.unwrap_or(0) {
                    break head;
                }
            }
        };
        let number = {
            let mut heads = self.heads.lock().unwrap();
            heads.push(text.clone());
            heads.len() - 1
        };
        match (self.answer)(number, &text) {
            Answer::Whole(text) => stream.write_all(text.as_bytes())?,
            Answer::Body(head, body) => {
                stream.write_all(head.as_bytes())?;
                stream.write_all(&body)?;
            }
            Answer::Endless(first, again) => {
                stream.write_all(first.as_bytes())?;
                let piece = again.repeat(1 + (64 << 10) / again.len());
                while self.sent.fetch_add(piece.len() as u64, Ordering::Relaxed) < MOST_SENT {
                    stream.write_all(piece.as_bytes())?;
                }
            }
        }
        stream.flush()
    }
}

/// Returns the path of a file in `tests/common/tls`.
pub fn tls(name: &str) -> String {
    super::root().join("tests/common/tls").join(name).display().to_string()
}
