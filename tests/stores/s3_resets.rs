//! Every kind of change over connections that break: each request that writes or deletes is reset once, before or after its
//! effect. Each change succeeds all the same, and leaves what it leaves without resets.

use std::{
    collections::BTreeSet,
    fs::File,
    sync::{Arc, Mutex},
};

use tetrys::{
    Store,
    store::{Put, RangeRequest, selftest},
};
use tetrys_s3_server::{Fault, Protocol, Server};

use crate::{
    changes::{CHANGES, before, change, serving},
    common::{s3, tables::block_on},
};

/// Resets each request that writes or deletes, once. Returns the kinds of objects whose requests were reset.
fn reset_each(server: &Server, fault: Fault) -> Arc<Mutex<BTreeSet<String>>> {
    let seen = Mutex::new(BTreeSet::new());
    let kinds = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&kinds);
    server.on_request(move |request| {
        let writes = !matches!(request.method.as_str(), "GET" | "HEAD");
        let first = writes && seen.lock().unwrap().insert((request.method.clone(), request.key.clone(), request.query.clone()));
        let first = first.then(|| fault.clone())?;
        let kind = request.key.split('/').nth(1).unwrap_or_default().to_owned();
        noted.lock().unwrap().insert(format!("{} {kind}", request.method));
        Some(first)
    });
    kinds
}

#[test]
fn every_change_survives_a_reset_of_each_of_its_requests_before_and_after_the_effect() {
    let before = before();
    let (mut all, mut wrong) = (BTreeSet::new(), Vec::new());
    for what in CHANGES {
        let run = |fault: Option<Fault>| {
            let server = serving(Protocol::S3, &before);
            let kinds = fault.clone().map(|fault| reset_each(&server, fault));
            let made = block_on(change(&server, what)).map_err(|error| format!("{what} with {fault:?}: {error}"))?;
            server.behave();
            let mut read = Vec::new();
            for table in made {
                let verified = block_on(table.storage().verify(|_, _| {})).unwrap();
                assert!(verified.damage.is_empty(), "{what} with {fault:?}: {:?}", verified.damage);
                let all: Vec<u64> = (0..table.rows()).collect();
                let rows = block_on(table.row_loader().take(&all)).unwrap();
                read.push((table.version(), table.rows(), format!("{:?}", rows.table_rows())));
            }
            assert_eq!(server.open_uploads(), 0);
            let kinds = kinds.map(|kinds| std::mem::take(&mut *kinds.lock().unwrap())).unwrap_or_default();
            Ok::<_, String>((read, server.names("data").len(), kinds))
        };
        let (expected, objects) = match run(None) {
            Ok((expected, objects, _)) => (expected, objects),
            Err(error) => {
                wrong.push(error);
                continue;
            }
        };
        for fault in [Fault::Reset, Fault::DoneAndReset, Fault::Drop, Fault::Lose] {
            match run(Some(fault.clone())) {
                Ok((read, left, kinds)) if (&read, left) == (&expected, objects) && kinds.contains("PUT manifests") => {
                    all.extend(kinds);
                }
                Ok(other) => wrong.push(format!("{what} with {fault:?}: expected {:?}, found {other:?}", (&expected, objects))),
                Err(error) => wrong.push(error),
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    for kind in ["chunks", "index", "layout", "hashes", "pins", "sessions", "attachments", "manifests"] {
        assert!(all.contains(&format!("PUT {kind}")), "no {kind} among {all:?}");
    }
    // Many objects are deleted by one request to the bucket.
    for kind in ["POST ", "DELETE sessions"] {
        assert!(all.contains(kind), "no {kind} among {all:?}");
    }
}

#[test]
fn a_large_upload_survives_a_reset_of_each_of_its_requests() {
    for fault in [Fault::Reset, Fault::DoneAndReset] {
        let server = s3::server();
        let store = s3::store(&server, "t");
        let kinds = reset_each(&server, fault.clone());
        let bytes: Vec<u8> = (0..(17 << 20) + 5_u32).map(|place| (place ^ (place >> 9)) as u8).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        std::fs::write(&path, &bytes).unwrap();
        let put =
            |store: Store| async move { store.put_file("chunks/aa/large", File::open(&path).unwrap(), (17 << 20) + 5).await };
        assert_eq!(block_on(put(store.clone())).unwrap(), Put::Created, "{fault:?}");
        assert_eq!(kinds.lock().unwrap().len(), 2, "{kinds:?}: parts, and the begin and the end of the upload");
        server.behave();
        let request = RangeRequest::new("chunks/aa/large", bytes.len() as u64, 0..bytes.len() as u64);
        assert!(block_on(store.read(&[request])).unwrap()[0] == bytes, "{fault:?}");
    }
}

#[test]
fn the_selftest_holds_over_connections_that_break() {
    for fault in [Fault::Reset, Fault::DoneAndReset] {
        let server = s3::server();
        reset_each(&server, fault.clone());
        let verdicts = block_on(selftest(&s3::store(&server, "t"), |_| {}));
        let broken: Vec<_> = verdicts.iter().filter(|verdict| verdict.problem.is_some()).collect();
        assert!(broken.is_empty(), "{fault:?}: {broken:?}");
    }
}
