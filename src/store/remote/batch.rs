//! Answers to batches, which are the requests with which Azure deletes objects. The status of the answer says nothing about the
//! deletions: each part of its body has a status of its own. `object_store` sends no part again, takes a part that is missing for a
//! success, and panics if a part names an object that the batch does not have. So this module reads the answer before: a batch with a
//! part that failed gets the status of this part, and a garbled answer is an error after which the batch is sent again. A deletion has
//! the same effect once and twice.
//!
//! Given: the answer and the number of deletions. The shape of an answer is on
//! <https://learn.microsoft.com/en-us/rest/api/storageservices/blob-batch>.

use std::io;

use http::{Method, StatusCode, header::CONTENT_TYPE};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse};

use crate::store::failure;

/// What an answer says about the parts of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BatchAnswer {
    /// Each object is deleted, or did not exist.
    Done,
    /// An object was not deleted: the status and the text of its part.
    Refused(StatusCode, String),
}

/// Returns the number of deletions in a batch; `None` if the request is no batch.
pub(super) fn deletions(request: &HttpRequest) -> Option<usize> {
    let query = request.uri().query().unwrap_or_default();
    let is_batch = request.method() == Method::POST && query.split('&').any(|part| part == "comp=batch");
    let body = request.body().as_bytes().filter(|_| is_batch)?;
    Some(String::from_utf8_lossy(body).matches("\r\nDELETE ").count())
}

/// Gives the answer to a batch the status and the body of a part that failed, if one did.
///
/// # Errors
/// The answer does not arrive, or is garbled. The backend sends the batch again.
pub(super) async fn unpacked(answer: HttpResponse, deletions: usize) -> Result<HttpResponse, HttpError> {
    let again = |why: String| HttpError::new(HttpErrorKind::Interrupted, io::Error::other(why));
    let (mut head, body) = answer.into_parts();
    let body = body.bytes().await.map_err(|error| match failure::known(&error) {
        Some(_) => error,
        None => again(failure::chain(&error)),
    })?;
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let boundary = kind.and_then(|kind| kind.strip_prefix("multipart/mixed; boundary=")).unwrap_or_default();
    let text = std::str::from_utf8(&body).unwrap_or_default();
    match parse(text, boundary, deletions) {
        Some(BatchAnswer::Done) => Ok(HttpResponse::from_parts(head, body.into())),
        Some(BatchAnswer::Refused(status, text)) => {
            head.status = status;
            Ok(HttpResponse::from_parts(head, text.into()))
        }
        None => Err(again(format!("the answer to a batch of {deletions} is garbled"))),
    }
}

/// Reads an answer; `None` if it is garbled. Of several parts that failed, the result is one after which the batch is sent again, so
/// that all deletions are tried.
fn parse(text: &str, boundary: &str, deletions: usize) -> Option<BatchAnswer> {
    let marker = format!("--{boundary}");
    let mut pieces = text.split(&marker).filter(|_| !boundary.is_empty());
    pieces.next().filter(|before| before.is_empty())?;
    let (mut answered, mut refused) = (vec![false; deletions], None);
    loop {
        let piece = pieces.next()?;
        if matches!(piece, "--" | "--\r\n") && pieces.next().is_none() {
            break;
        }
        let (id, status, text) = part(piece)?;
        match id {
            Some(id) => *answered.get_mut(id).filter(|answered| !**answered)? = true,
            // The store did not understand the batch, and says it once.
            None if is_failure(status) => answered.fill(true),
            None => return None,
        }
        if is_failure(status) && !matches!(&refused, Some((known, _)) if is_temporary(*known)) {
            refused = Some((status, text.to_owned()));
        }
    }
    let all = answered.into_iter().all(|answered| answered);
    all.then(|| refused.map_or(BatchAnswer::Done, |(status, text)| BatchAnswer::Refused(status, text)))
}

fn is_failure(status: StatusCode) -> bool {
    !status.is_success() && status != StatusCode::NOT_FOUND
}

/// Whether the backend sends a request again that has this status.
fn is_temporary(status: StatusCode) -> bool {
    status.is_server_error() || [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&status)
}

/// Reads a part: the place of its deletion in the batch, its status, and its body.
fn part(piece: &str) -> Option<(Option<usize>, StatusCode, &str)> {
    let (fields, answer) = piece.strip_prefix("\r\n")?.split_once("\r\n\r\n")?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let (line, headers) = head.split_once("\r\n").unwrap_or((head, ""));
    let is_plain = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_field = |line: &str| line.split_once(':').is_some_and(|(name, value)| is_name(name) && is_plain(value));
    if !(is_plain(line) && fields.split("\r\n").chain(headers.split("\r\n").filter(|line| !line.is_empty())).all(is_field)) {
        return None;
    }
    let mut fields = fields.split("\r\n").filter_map(|line| line.split_once(':'));
    let id = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-id"));
    let id = id.map(|(_, id)| id.trim().parse()).transpose().ok()?;
    let (status, reason) = line.strip_prefix("HTTP/1.1 ")?.split_at_checked(3)?;
    let status = StatusCode::from_bytes(status.as_bytes()).ok().filter(|_| reason.is_empty() || reason.starts_with(' '))?;
    let is_final = status.is_success() || status.is_client_error() || status.is_server_error();
    is_final.then_some((id, status, body.trim_end()))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the page of Azure, with other statuses.
    fn answer(statuses: &[&str]) -> String {
        let parts = statuses.iter().enumerate().map(|(id, status)| {
            format!(
                "--batchresponse_66925647\r\nContent-Type: application/http\r\nContent-ID: {id}\r\n\r\nHTTP/1.1 {status}\r\n\
                 x-ms-version: 2018-11-09\r\n\r\n"
            )
        });
        parts.collect::<String>() + "--batchresponse_66925647--\r\n"
    }

    fn of(text: &str, deletions: usize) -> Option<BatchAnswer> {
        parse(text, "batchresponse_66925647", deletions)
    }

    #[test]
    fn a_batch_is_done_if_each_object_is_deleted_or_did_not_exist() {
        assert_eq!(of(&answer(&["202 Accepted"; 3]), 3), Some(BatchAnswer::Done));
        assert_eq!(of(&answer(&["202 Accepted", "404 The specified blob does not exist."]), 2), Some(BatchAnswer::Done));
        assert_eq!(of(answer(&["202 Accepted"]).trim_end(), 1), Some(BatchAnswer::Done), "without the last end of a line");
        for deletions in [0, 1, 3, 100] {
            assert_eq!(of(&answer(&["202 Accepted"; 2]), deletions), None, "{deletions}: a part is missing, or too many");
        }
        assert_eq!(parse(&answer(&["202 Accepted"]), "", 1), None, "no boundary");
    }

    #[test]
    fn of_the_parts_that_failed_one_counts_after_which_the_batch_is_sent_again() {
        let status = |statuses: &[&str]| match of(&answer(statuses), statuses.len()) {
            Some(BatchAnswer::Refused(status, _)) => status.as_u16(),
            other => panic!("{other:?}"),
        };
        assert_eq!(status(&["202 Accepted", "403 This request is not authorized", "202 Accepted"]), 403);
        assert_eq!(status(&["403 No", "503 Server busy", "401 No"]), 503);
        assert_eq!(status(&["429 Slow", "403 No"]), 429);
        let refused =
            "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 400 Bad\r\nA: b\r\n\r\n<Error>why</Error>\r\n--b--\r\n";
        let expected = BatchAnswer::Refused(StatusCode::BAD_REQUEST, "<Error>why</Error>".to_owned());
        assert_eq!(parse(refused, "b", 7), Some(expected), "the store did not understand the batch");
        assert_eq!(parse(&refused.replace("400 Bad", "202 Accepted"), "b", 7), None);
    }

    /// What `object_store` gets has each number once, below the number of deletions, and fields that are those of HTTP.
    #[test]
    fn a_garbled_answer_is_never_a_success_that_the_store_did_not_say() {
        let text = answer(&["202 Accepted", "500 Error"]);
        for place in 0..text.len() {
            assert_eq!(of(&text[..place], 2).is_some(), place + 2 == text.len(), "cut after {place}");
            for bit in 0..7 {
                let mut bytes = text.clone().into_bytes();
                bytes[place] ^= 1 << bit;
                let flipped = String::from_utf8(bytes).expect("ASCII");
                let found = of(&flipped, 2);
                let is_accepted = flipped.contains("HTTP/1.1 2") && flipped.matches("HTTP/1.1 2").count() == 2;
                assert!(found != Some(BatchAnswer::Done) || is_accepted || flipped.contains("404"), "{place} {bit}: {flipped}");
            }
        }
    }

    #[test]
    fn only_a_batch_is_one() {
        let request = |method: Method, query: &str, body: &str| {
            let mut request = HttpRequest::new(body.to_owned().into_bytes().into());
            (*request.method_mut(), *request.uri_mut()) = (method, format!("http://h/data?{query}").parse().expect("a URL"));
            deletions(&request)
        };
        let body = "--b\r\nContent-ID: 0\r\n\r\nDELETE /data/a HTTP/1.1\r\n\r\n--b\r\nContent-ID: 1\r\n\r\nDELETE /data/b HTTP/1.1\r\n\r\n--b--";
        assert_eq!(request(Method::POST, "restype=container&comp=batch", body), Some(2));
        assert_eq!(request(Method::POST, "delete", body), None);
        assert_eq!(request(Method::GET, "restype=container&comp=list", ""), None);
    }
}
