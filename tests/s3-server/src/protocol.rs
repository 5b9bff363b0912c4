//! The protocols that a server speaks: their URLs, the options of their clients, and the shape of their errors.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

/// The protocol of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// S3, as its API reference describes it.
    S3,
    /// The REST API of Azure Blob Storage.
    Azure,
    /// The XML API of Google Cloud Storage.
    Google,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 3] = [Self::S3, Self::Azure, Self::Google];

    /// Returns the URL of a place in a bucket (Azure: in a container).
    pub fn url(self, bucket: &str, path: &str) -> String {
        let scheme = match self {
            Self::S3 => "s3",
            Self::Azure => "az",
            Self::Google => "gs",
        };
        format!("{scheme}://{bucket}/{path}")
    }

    /// Returns the options that a client needs, with the usual names of clients of this protocol.
    pub(crate) fn options(self, endpoint: &str, secret: &str) -> Vec<(String, String)> {
        let options: &[(&str, &str)] = match self {
            Self::S3 => &[
                ("aws_endpoint", endpoint),
                ("aws_region", "us-east-1"),
                ("aws_access_key_id", "tester"),
                ("aws_secret_access_key", secret),
            ],
            Self::Azure => {
                &[("azure_storage_endpoint", endpoint), ("azure_storage_account_name", "tester"), ("azure_storage_token", secret)]
            }
            Self::Google => &[("google_base_url", endpoint), ("google_bearer_token", secret)],
        };
        options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The code of an object that does not exist.
    pub(crate) fn no_object(self) -> &'static str {
        match self {
            Self::S3 | Self::Google => "NoSuchKey",
            Self::Azure => "BlobNotFound",
        }
    }

    /// The code of a store that asks for fewer requests.
    pub(crate) fn busy(self) -> &'static str {
        match self {
            Self::S3 => "SlowDown",
            Self::Azure => "ServerBusy",
            Self::Google => "ServiceUnavailable",
        }
    }

    /// Returns an error. All three protocols have the same root, with `Code` and `Message` in it: "Error responses" of the S3 API,
    /// "Status and error codes" of Azure Storage, "HTTP status and error codes for XML" of Google.
    pub(crate) fn refusal(self, status: u16, code: &str) -> Response<Bytes> {
        let more = match self {
            Self::S3 => "<AWSAccessKeyId>tester</AWSAccessKeyId>",
            Self::Azure => "<AuthenticationErrorDetail>tester</AuthenticationErrorDetail>",
            Self::Google => "<Details>tester</Details>",
        };
        let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
        let text = format!("{head}<Error><Code>{code}</Code><Message>as the test has it</Message>{more}</Error>");
        let mut answer = Response::new(Bytes::from(text));
        *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        // The only place of the code in an answer to HEAD: "Status and error codes" of Azure Storage.
        if let (Self::Azure, Ok(code)) = (self, HeaderValue::from_str(code)) {
            answer.headers_mut().insert("x-ms-error-code", code);
        }
        answer
    }
}
