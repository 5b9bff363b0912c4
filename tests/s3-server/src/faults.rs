//! Faults between a client and the server, request by request.

use std::time::Duration;

/// A request as the hook sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number since the server started, from 0.
    pub number: u64,
    /// HTTP method: `GET`, `PUT`, ...
    pub method: String,
    /// Bucket.
    pub bucket: String,
    /// Decoded name of the object. Empty for requests to the bucket.
    pub key: String,
    /// Query string, after `?`.
    pub query: String,
    /// First and last requested byte, if there is a range.
    pub range: Option<(u64, u64)>,
    /// Whether the request has a condition (`If-None-Match`, `If-Match`, `x-goog-if-generation-match`).
    pub conditional: bool,
    /// Length of the body.
    pub bytes: u64,
}

impl Request {
    /// Whether the request is a listing.
    pub fn is_list(&self) -> bool {
        self.method == "GET" && ["list-type=2", "comp=list"].iter().any(|asks| self.query.contains(asks))
    }
}

/// How a request fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is not done. The answer has this status and an error of the protocol with this code.
    Refuse(u16, &'static str),
    /// The request is not done. The answer is 503, and says that the client should wait for so many seconds (`Retry-After`).
    RefuseFor(u64),
    /// The request is done. The answer has this status and an error of the protocol with this code.
    DoneBut(u16, &'static str),
    /// The request is not done. The connection closes without an answer.
    Drop,
    /// The request is done. The connection closes without an answer.
    Lose,
    /// The request is not done. The connection is reset: the client gets no answer, and an error of TCP.
    Reset,
    /// The request is done. The connection is reset.
    DoneAndReset,
    /// The body and the connection end after this many bytes, although the full length was announced.
    Cut(usize),
    /// The body pauses after this many bytes, for this long.
    Stall(usize, Duration),
    /// The answer is delayed by this time.
    Wait(Duration),
    /// The body is this many bytes shorter. Its length says so, but the range is the requested one.
    Short(usize),
    /// The body is this many bytes longer. Its length says so, but the range is the requested one.
    Long(usize),
    /// The body and its range start this many bytes later than requested.
    Shifted(u64),
    /// A range request gets status 200 and the whole object.
    Whole,
    /// One bit of the body is flipped: the lowest bit of this byte. Numbers beyond the last byte wrap around and flip the next
    /// higher bit.
    Flip(usize),
    /// This byte of the body has this value. Numbers beyond the last byte wrap around.
    Replace(usize, u8),
    /// The answer is that the object does not exist.
    Hide,
    /// No deletion of a batch of Azure is done. The batch succeeds; each answer in it has this status and an error with this code.
    RefuseInside(u16, &'static str),
}
