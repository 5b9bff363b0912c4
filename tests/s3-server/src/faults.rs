//! What can go wrong between a client and the server, request by request.

use std::time::Duration;

/// A request as a hook sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number since the server started, from 0.
    pub number: u64,
    /// `GET`, `PUT`, ...
    pub method: String,
    /// The bucket.
    pub bucket: String,
    /// The name of the object, decoded; empty for requests to the bucket.
    pub key: String,
    /// What follows `?`.
    pub query: String,
    /// First and last byte asked for, where there is a range.
    pub range: Option<(u64, u64)>,
    /// True where the request has a condition (`If-None-Match`, `If-Match`).
    pub conditional: bool,
    /// The body's length.
    pub bytes: u64,
}

impl Request {
    /// True for a listing.
    pub fn is_list(&self) -> bool {
        self.method == "GET" && self.query.contains("list-type=2")
    }
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not done; the answer is this status, with an S3 error of this code.
    Refuse(u16, &'static str),
    /// It is done, and the answer is this status, with an S3 error of this code.
    DoneBut(u16, &'static str),
    /// It is not done; the connection ends without an answer.
    Drop,
    /// It is done; the connection ends without an answer.
    Lose,
    /// The body ends, with the connection, after so many bytes; its length was announced whole.
    Cut(usize),
    /// The body stands still for so long after so many bytes.
    Stall(usize, Duration),
    /// The answer waits for so long.
    Wait(Duration),
    /// The body is so many bytes shorter, and its length says so while the range says what was asked.
    Short(usize),
    /// The body is so many bytes longer, and its length says so while the range says what was asked.
    Long(usize),
    /// The body and its range are so many bytes further on than asked.
    Shifted(u64),
    /// Status 200 and the whole object where a range was asked for.
    Whole,
    /// One bit of the body is flipped: the lowest one of this byte; counting on past the last byte, the next higher one of each.
    Flip(usize),
    /// This byte of the body, counted from its start again past the end, is another one.
    Replace(usize, u8),
    /// No such object, whatever there is.
    Hide,
}
