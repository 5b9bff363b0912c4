//! Every kind of change on S3, Azure and Google, under every kind of fault at each of its requests. A change succeeds if the client can
//! wait the fault out, or repeat the request. Under any other fault it succeeds, or ends with an error of the right kind and leaves every table as it was; where the outcome
//! is unknown, it may have been made. A garbled answer never leads to a wrong table. After the fault, the change succeeds.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tetrys::{Error, ErrorKind, Table, table::VerifyReach};
use tetrys_s3_server::{Fault, Protocol, Request, Server};

use crate::{
    changes::{Bucket, CHANGES, before, change, serving},
    common::{
        self, s3,
        tables::{Rng, block_on},
    },
};

/// The results that a change may have under a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The change succeeds.
    Made,
    /// The change succeeds, or ends with `Denied`. If it has made its version and cannot read it back, it ends with `OutcomeUnknown`.
    Denied,
    /// The change succeeds, or ends with an error that says that the answer is wrong, or that something is missing.
    Garbled,
}

/// Which requests have a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    All,
    /// Puts of new objects.
    Puts,
    /// Requests whose answer has a body that is read.
    Reads,
    /// Requests that delete many objects, and those with which Azure deletes one.
    Batches,
}

impl On {
    fn has(self, request: &Request) -> bool {
        match self {
            Self::All => true,
            Self::Puts => request.method == "PUT",
            Self::Reads => request.method == "GET",
            Self::Batches => request.method == "POST" && ["delete", "comp=batch"].iter().any(|asks| request.query.contains(asks)),
        }
    }
}

/// Returns the faults of a protocol. `conflict` is the code of a put that meets something else than an object of its name.
fn faults(protocol: Protocol) -> Vec<(Fault, On, Outcome)> {
    use Outcome::{Denied, Garbled, Made};
    let (busy, denied, expired, conflict) = match protocol {
        Protocol::S3 => ("SlowDown", (403, "AccessDenied"), (400, "ExpiredToken"), "ConditionalRequestConflict"),
        Protocol::Azure => {
            ("ServerBusy", (403, "AuthorizationPermissionMismatch"), (401, "InvalidAuthenticationInfo"), "ContainerBeingDeleted")
        }
        Protocol::Google => ("ServiceUnavailable", (403, "AccessDenied"), (401, "AuthenticationRequired"), "OperationAborted"),
    };
    let mut faults = vec![
        (Fault::Refuse(500, "InternalError"), On::All, Made),
        (Fault::Refuse(503, busy), On::All, Made),
        (Fault::RefuseFor(0), On::All, Made),
        (Fault::Refuse(429, "TooManyRequests"), On::All, Made),
        (Fault::Refuse(409, conflict), On::Puts, Made),
        (Fault::DoneBut(500, "InternalError"), On::All, Made),
        (Fault::DoneBut(503, busy), On::All, Made),
        (Fault::Drop, On::All, Made),
        (Fault::Lose, On::All, Made),
        (Fault::Reset, On::All, Made),
        (Fault::DoneAndReset, On::All, Made),
        (Fault::Wait(Duration::from_millis(30)), On::All, Made),
        (Fault::Stall(20, Duration::from_millis(30)), On::Reads, Made),
        (Fault::Cut(0), On::Reads, Made),
        (Fault::Cut(50), On::Reads, Made),
        (Fault::Refuse(denied.0, denied.1), On::All, Denied),
        (Fault::Refuse(expired.0, expired.1), On::All, Denied),
        (Fault::Short(7), On::Reads, Garbled),
        (Fault::Long(7), On::Reads, Garbled),
        (Fault::Shifted(3), On::Reads, Garbled),
        (Fault::Whole, On::Reads, Garbled),
        (Fault::Flip(33), On::Reads, Garbled),
        (Fault::Flip(250), On::Reads, Garbled),
        (Fault::Replace(120, b'0'), On::Reads, Garbled),
        (Fault::Hide, On::Reads, Garbled),
        (Fault::Cut(0), On::Batches, Made),
        (Fault::Cut(50), On::Batches, Made),
        (Fault::Short(7), On::Batches, Made),
        (Fault::Long(7), On::Batches, Made),
        (Fault::Flip(33), On::Batches, Garbled),
        (Fault::Flip(66), On::Batches, Garbled),
        (Fault::Replace(61, b'9'), On::Batches, Garbled),
    ];
    if protocol == Protocol::Azure {
        faults.extend([
            (Fault::RefuseInside(500, "InternalError"), On::Batches, Made),
            (Fault::RefuseInside(503, busy), On::Batches, Made),
            (Fault::RefuseInside(429, "TooManyRequests"), On::Batches, Made),
            (Fault::RefuseInside(denied.0, denied.1), On::Batches, Denied),
            (Fault::RefuseInside(expired.0, expired.1), On::Batches, Denied),
        ]);
    }
    faults
}

/// The newest version of each table in the bucket: its number, and its rows as text.
type State = BTreeMap<String, (u64, String)>;

/// Reads each table. Every version of it must be sound.
fn state(server: &Server) -> Result<State, String> {
    let names = server.names("data");
    let tables = names.iter().filter_map(|name| name.split_once("/manifests/")).map(|(table, _)| table.to_owned());
    let mut state = State::new();
    for name in tables {
        if state.contains_key(&name) {
            continue;
        }
        let read = async {
            let table = Table::open_with(&server.url("data", &name), &s3::options(server)).await?;
            let found = table.storage().verify_more(VerifyReach { all_versions: true, sources: false }, |_, _| {}).await?;
            let all: Vec<u64> = (0..table.rows()).collect();
            let rows = table.row_loader().take(&all).await?;
            Ok::<_, Error>((table.version(), found, format!("{rows:?}")))
        };
        let (version, found, rows) = block_on(read).map_err(|error| format!("{name} cannot be read: {error}"))?;
        if !found.damage.is_empty() {
            return Err(format!("{name} is damaged: {:?}", found.damage));
        }
        state.insert(name, (version, rows));
    }
    Ok(state)
}

/// A change without faults.
struct Plain {
    protocol: Protocol,
    what: &'static str,
    /// The requests that it sends.
    requests: Vec<Request>,
    after: State,
}

impl Plain {
    fn of(protocol: Protocol, what: &'static str, bucket: &Bucket) -> Self {
        let server = serving(protocol, bucket);
        server.take_requests();
        block_on(change(&server, what)).unwrap_or_else(|error| panic!("{what} on {protocol:?}: {error}"));
        let requests = server.take_requests();
        let after = state(&server).unwrap_or_else(|error| panic!("{what} on {protocol:?}: {error}"));
        Self { protocol, what, requests, after }
    }

    /// Makes the change while the request with this number, among those that can have it, has a fault. Returns whether it succeeded.
    fn under(
        &self,
        bucket: &Bucket,
        before: &State,
        (fault, on, outcome): &(Fault, On, Outcome),
        number: usize,
    ) -> Result<bool, String> {
        let server = serving(self.protocol, bucket);
        let (seen, on, once) = (Arc::new(AtomicUsize::new(0)), *on, fault.clone());
        server.on_request(move |request| {
            let is_it = on.has(request) && seen.fetch_add(1, Ordering::Relaxed) == number;
            is_it.then(|| once.clone())
        });
        server.take_requests();
        let made = block_on(change(&server, self.what));
        server.behave();
        let sent = server.take_requests().len();
        if sent > 2 * self.requests.len() + 20 {
            return Err(format!("{sent} requests, {} without the fault", self.requests.len()));
        }
        let found = state(&server)?;
        let Err(error) = made else {
            return if found == self.after {
                Ok(true)
            } else {
                Err(format!("it said that it was made, and left {}", state_text(&found)))
            };
        };
        use ErrorKind as K;
        let is_right = match outcome {
            Outcome::Made => false,
            // Of several versions, the one whose outcome is unknown may be the first.
            Outcome::Denied => {
                let is_made = found == self.after || (makes_several(self.what) && found != *before);
                error.kind() == K::Denied || (error.kind() == K::OutcomeUnknown && is_made)
            }
            Outcome::Garbled => {
                matches!(
                    error.kind(),
                    K::Corrupt | K::Unavailable | K::NotFound | K::Conflict | K::Unsupported | K::OutcomeUnknown
                )
            }
        };
        if !is_right || !error.to_string().contains(&server.url("data", "")) {
            return Err(format!("{:?}: {error}", error.kind()));
        }
        // A change that makes several versions or tables may have made some of them.
        for (name, (version, rows)) in &found {
            let before = before.get(name);
            let after = self.after.get(name).ok_or_else(|| format!("{name} is new"))?;
            let is_before = before.is_some_and(|before| (before.0, &before.1) == (*version, rows));
            let is_between = (before.map_or(0, |before| before.0)..=after.0).contains(version)
                && (rows == &after.1 || before.is_some_and(|before| &before.1 == rows));
            let may_be_made = error.kind() == K::OutcomeUnknown || makes_several(self.what);
            if !(is_before || is_between && may_be_made) {
                return Err(format!("{name} was changed, after {:?}: {error}", error.kind()));
            }
        }
        if let Some(name) = before.keys().find(|name| !found.contains_key(*name)) {
            return Err(format!("{name} is gone, after {:?}: {error}", error.kind()));
        }
        if found == *before {
            block_on(change(&server, self.what)).map_err(|again| format!("after {error}: again: {again}"))?;
            let found = state(&server)?;
            if found != self.after {
                return Err(format!("after {error}: again: {}", state_text(&found)));
            }
        }
        Ok(false)
    }
}

fn state_text(state: &State) -> String {
    let versions: Vec<String> =
        state.iter().map(|(name, (version, rows))| format!("{name}@{version} ({} bytes)", rows.len())).collect();
    versions.join(", ")
}

/// Whether a change makes several versions or several tables.
fn makes_several(what: &str) -> bool {
    matches!(what, "collect garbage" | "save splits")
}

#[test]
fn whatever_fails_once_a_change_is_made_or_is_an_error_and_no_table_is_wrong() {
    let bucket = before();
    let before = state(&serving(Protocol::S3, &bucket)).unwrap();
    let plain: Vec<Plain> =
        Protocol::ALL.iter().flat_map(|of| CHANGES.iter().map(|what| Plain::of(*of, what, &bucket))).collect();
    let mut cases: Vec<(&Plain, (Fault, On, Outcome), usize)> = Vec::new();
    for plain in &plain {
        for fault in faults(plain.protocol) {
            let count = plain.requests.iter().filter(|request| fault.1.has(request)).count();
            cases.extend((0..count).map(|number| (plain, fault.clone(), number)));
        }
    }
    let (all, mut rng) = (cases.len(), Rng(common::seed()));
    let some = if common::full() { 4_000 } else { 500 }.min(all);
    for place in 0..some {
        let other = place + rng.below((all - place) as u64) as usize;
        cases.swap(place, other);
    }
    cases.truncate(some);
    let (mut made, mut wrong) = (0, Vec::new());
    for (plain, fault, number) in &cases {
        match plain.under(&bucket, &before, fault, *number) {
            Ok(is_made) => made += usize::from(is_made),
            Err(error) => {
                let on: Vec<&Request> = plain.requests.iter().filter(|request| fault.1.has(request)).collect();
                let request = on.get(*number).map(|request| format!("{} {}?{}", request.method, request.key, request.query));
                let (what, on) = (plain.what, plain.protocol);
                let error = format!("{what} on {on:?}, {:?} at request {number}, such as {request:?}: {error}", fault.0);
                println!("{error}");
                wrong.push(error);
            }
        }
    }
    println!("{} of {all} cases, {made} of them made, {} wrong", cases.len(), wrong.len());
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(made * 2 > cases.len() && made < cases.len(), "{made} of {}: both must occur", cases.len());
}
