//! Reads over a faulty network and a faulty server return the written bytes or an error of the right kind; never other bytes.

use crate::common;
use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::common::{
    s3,
    tables::{self, Rng, Taste, assert_rows, block_on, cut_by, joined, rows_of, sensors, tiny_cuts},
};
use tetrys::{ErrorKind, Store, StoreOptions, Table, format::manifest_name, store::RangeRequest};
use tetrys_s3_server::{Fault, Server};

/// A time that no test waits for.
const NEVER: Duration = Duration::from_secs(86_400);

/// Returns a random fault of a single response.
fn faults(rng: &mut Rng) -> Fault {
    let bytes = 1 + rng.below(400) as usize;
    match rng.below(14) {
        0 => Fault::Cut(bytes),
        1 => Fault::Short(bytes),
        2 => Fault::Long(bytes),
        3 => Fault::Shifted(bytes as u64),
        4 => Fault::Whole,
        5 => Fault::Flip(bytes),
        6 => Fault::Drop,
        7 => Fault::Lose,
        8 => Fault::Hide,
        9 => Fault::Refuse(503, "SlowDown"),
        10 => Fault::Refuse(500, "InternalError"),
        11 => Fault::Refuse(429, "TooManyRequests"),
        12 => Fault::Refuse(400, "ExpiredToken"),
        _ => Fault::Stall(bytes, Duration::from_millis(20)),
    }
}

#[test]
fn under_any_fault_a_read_gives_what_was_written_or_an_error() {
    let server = s3::server();
    let mut rng = Rng(common::seed());
    let schema = sensors();
    let batches = [rows_of(&schema, &mut rng, &[("a", 40), ("b", 25)], Taste::NOISE)];
    block_on(tables::write(s3::store(&server, "t"), schema, cut_by(tiny_cuts()), &batches)).unwrap();
    let all = joined(&batches);
    let options = s3::options_and(&server, &[("read_timeout", "2s")]);
    let rolls = Arc::new(Mutex::new(rng.clone()));
    let counted = Arc::new(Mutex::new(std::collections::BTreeMap::<String, u32>::new()));
    let (right, wrong) = (Mutex::new(0), Mutex::new(std::collections::BTreeMap::<String, u32>::new()));
    let (faulty, kinds) = (Arc::clone(&rolls), Arc::clone(&counted));
    server.on_request(move |_| {
        let mut rng = faulty.lock().unwrap();
        let fault = rng.once_in(7).then(|| faults(&mut rng));
        if let Some(fault) = &fault {
            let name = format!("{fault:?}").split('(').next().unwrap().to_owned();
            *kinds.lock().unwrap().entry(name).or_default() += 1;
        }
        fault
    });
    block_on(async {
        for _ in 0..common::cases(60) {
            let result = async {
                let table = Table::open_with("s3://data/t", &options).await?;
                let row = rng.below(65);
                let window = table.row_loader().get_rows(row, -3..=2).await?;
                let some: Vec<u64> = (0..5).map(|_| rng.below(65)).collect();
                let rows = table.row_loader().columns(["lidar.*", "camera.jpeg"])?.take(&some).await?;
                Ok::<_, tetrys::Error>((window, rows, some))
            };
            match result.await {
                Ok((window, rows, some)) => {
                    let there = window.table_rows().to_vec();
                    assert_rows(&window, &all, &there);
                    assert_rows(&rows, &all, &some.into_iter().map(Some).collect::<Vec<_>>());
                    *right.lock().unwrap() += 1;
                }
                Err(error) => {
                    use ErrorKind as K;
                    // A store that hides first an object and then the manifest answers as one whose version was collected: `Conflict`.
                    let kinds = [K::Corrupt, K::Unavailable, K::Denied, K::NotFound, K::Unsupported, K::Conflict];
                    assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind());
                    assert!(error.to_string().contains("s3://data/t"), "{error}");
                    *wrong.lock().unwrap().entry(format!("{:?}", error.kind())).or_default() += 1;
                }
            }
        }
    });
    println!("right: {}, errors: {:?}, faults: {:?}", right.lock().unwrap(), wrong.lock().unwrap(), counted.lock().unwrap());
    assert!(*right.lock().unwrap() > 0 && !wrong.lock().unwrap().is_empty(), "both must occur for this to say anything");
}

/// Each fault alone, on one range: the outcome with retries and without.
#[test]
fn each_fault_has_its_outcome() {
    let server = s3::server();
    let data: Vec<u8> = (0..100_000_u32).map(|i| (i ^ (i >> 8)) as u8).collect();
    server.put("data", "t/a", data.clone());
    let open = |retries: &str| {
        Store::open_with("s3://data/t", &s3::options_and(&server, &[("max_retries", retries), ("read_timeout", "1s")])).unwrap()
    };
    let (patient, hasty) = (open("6"), open("0"));
    let request = [RangeRequest::new("a", 100_000, 20_000..60_000)];
    use ErrorKind as K;
    // The fault, the error without retries, and whether one retry is enough if the fault happens once.
    let table = [
        (Fault::Cut(1_000), K::Unavailable, true),
        (Fault::Cut(0), K::Unavailable, true),
        (Fault::Short(1), K::Corrupt, false),
        (Fault::Long(1), K::Corrupt, false),
        (Fault::Shifted(1), K::Unavailable, false),
        (Fault::Whole, K::Unsupported, false),
        (Fault::Drop, K::Unavailable, true),
        (Fault::Lose, K::Unavailable, true),
        (Fault::Hide, K::NotFound, false),
        (Fault::Refuse(500, "InternalError"), K::Unavailable, true),
        (Fault::Refuse(503, "SlowDown"), K::Unavailable, true),
        (Fault::Refuse(429, "TooManyRequests"), K::Unavailable, true),
        (Fault::Refuse(400, "ExpiredToken"), K::Denied, false),
        (Fault::Refuse(403, "RequestTimeTooSkewed"), K::Denied, false),
        (Fault::Refuse(403, "AccessDenied"), K::Denied, false),
        (Fault::Stall(500, NEVER), K::Unavailable, true),
        (Fault::Wait(NEVER), K::Unavailable, true),
    ];
    block_on(async {
        for (fault, kind, mends) in table {
            let always = fault.clone();
            server.on_request(move |_| Some(always.clone()));
            let error = hasty.read(&request).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{fault:?}: {error}");
            assert!(error.to_string().contains("a in s3://data/t"), "{fault:?}: {error}");
            let left = Mutex::new(1);
            let once = fault.clone();
            server.on_request(move |_| {
                let mut left = left.lock().unwrap();
                (std::mem::take(&mut *left) == 1).then(|| once.clone())
            });
            match patient.read(&request).await {
                Ok(answer) => {
                    assert!(answer[0] == data[20_000..60_000], "{fault:?}");
                    assert!(mends, "{fault:?} was mended");
                }
                Err(error) => assert!(!mends && error.kind() == kind, "{fault:?}: {error}"),
            }
            server.behave();
        }
        // The server has the same clock as the client. They differ by less than a second, and the server now tolerates no
        // difference.
        server.tolerate_clocks(Duration::ZERO);
        let skewed = hasty.read(&request).await;
        server.behave();
        if let Err(error) = skewed {
            assert_eq!(error.kind(), K::Denied, "{error}");
            assert!(error.to_string().contains("RequestTimeTooSkewed"), "{error}");
        }
    });
}

#[test]
fn a_burst_of_refusals_is_waited_out() {
    let server = s3::server();
    let data: Vec<u8> = (0..200_000_u32).map(|i| (i ^ (i >> 8)) as u8).collect();
    server.put("data", "t/a", data.clone());
    let store = s3::store(&server, "t");
    let begin = std::time::Instant::now();
    server.on_request(move |_| (begin.elapsed() < Duration::from_millis(900)).then_some(Fault::Refuse(503, "SlowDown")));
    let requests: Vec<_> = (0..100_u64).map(|i| RangeRequest::new("a", 200_000, i * 2_000..(i + 1) * 2_000)).collect();
    let answers = block_on(store.read(&requests)).unwrap();
    assert!(answers.concat() == data);
    let sent = server.take_requests().len();
    assert!(sent < 1_500, "{sent} requests for 100 ranges: a burst is not answered with a burst");
}

/// Of two requests one is refused with 503.
#[test]
fn refusals_of_every_second_request_cost_a_request_each() {
    let (server, mut rng) = (s3::server(), Rng(common::seed()));
    let data: Vec<u8> = (0..200_000_u32).map(|i| (i ^ (i >> 8)) as u8).collect();
    server.put("data", "t/a", data.clone());
    let store = s3::store(&server, "t");
    server.take_requests();
    let seen = AtomicUsize::new(0);
    server.on_request(move |_| seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(2).then_some(Fault::Refuse(503, "SlowDown")));
    const READS: usize = 60;
    for _ in 0..READS {
        let from = rng.below(190_000);
        let answer = block_on(store.read(&[RangeRequest::new("a", 200_000, from..from + 10)])).unwrap();
        assert_eq!(answer[0], data[from as usize..from as usize + 10]);
    }
    assert_eq!(server.take_requests().len(), 2 * READS);
}

/// The server refuses every request of the first two seconds and asks to wait for two. A client that obeys sends two requests.
#[test]
fn nothing_is_sent_to_a_host_before_the_time_that_it_asks_for() {
    let server = s3::server();
    server.put("data", "t/a", b"0123456789".to_vec());
    let store = s3::store(&server, "t");
    let first = std::sync::OnceLock::new();
    server.on_request(move |_| {
        let is_early = first.get_or_init(std::time::Instant::now).elapsed() < Duration::from_secs(2);
        is_early.then_some(Fault::RefuseFor(2))
    });
    server.take_requests();
    let answer = block_on(store.read(&[RangeRequest::new("a", 10, 2..4)])).unwrap();
    assert_eq!((answer[0].as_ref(), server.take_requests().len()), (&b"23"[..], 2));
}

#[test]
fn a_body_cut_again_and_again_goes_on_where_it_was_cut() {
    let server = s3::server();
    let data: Vec<u8> = (0..300_000_u32).map(|i| (i ^ (i >> 8)) as u8).collect();
    server.put("data", "t/a", data.clone());
    let store = s3::store(&server, "t");
    server.on_request(|request| (request.number % 4 != 3).then_some(Fault::Cut(60_000)));
    let answer = block_on(store.read(&[RangeRequest::new("a", 300_000, 0..300_000)])).unwrap();
    assert!(answer[0] == data);
    let seen = server.take_requests();
    assert!(seen.windows(2).all(|pair| pair[0].range.unwrap().0 < pair[1].range.unwrap().0), "{seen:?}");
}

#[test]
fn a_listing_cut_again_and_again_goes_on_where_it_was_cut() {
    let server = s3::server();
    let names: Vec<String> = (0..2_500).map(|number| format!("a/{number:05}")).collect();
    names.iter().for_each(|name| server.put("data", &format!("t/{name}"), name.clone()));
    let store = s3::store(&server, "t");
    // Two of three responses break off: within a name, before the first name, or with a length that is too short.
    server.on_request(|request| match request.number % 3 {
        0 => Some(Fault::Cut(1_000 * (request.number as usize % 5))),
        1 => Some(Fault::Short(40)),
        _ => None,
    });
    block_on(async {
        let listed = store.list("a").await.unwrap();
        assert!(listed.iter().map(|(name, _)| name).eq(&names), "{} names", listed.len());
        assert!(server.take_requests().len() >= 7);
        assert_eq!(store.list_first("a", 3).await.unwrap(), names[..3]);
        // Retries end at their limit, and do not happen if they are turned off.
        server.on_request(|_| Some(Fault::Cut(100)));
        for retries in ["0", "2"] {
            let hasty = Store::open_with("s3://data/t", &s3::options_and(&server, &[("max_retries", retries)])).unwrap();
            server.take_requests();
            let error = hasty.list("a").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert!(error.to_string().contains("listing a in s3://data/t"), "{error}");
            assert_eq!(server.take_requests().len(), retries.parse::<usize>().unwrap() + 1);
        }
    });
}

/// A fault of listings, and whether all listings have it.
type Garbling = (Fault, bool);

/// Returns the server's response to a listing request.
fn listing(server: &Server, prefix: &str) -> String {
    let address = server.endpoint();
    let address = address.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    let ask = format!("GET /data?list-type=2&prefix={prefix} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("<Key>"), "{answer}");
    body.to_owned()
}

#[test]
fn a_flipped_bit_or_a_wrong_byte_in_a_listing_never_gives_an_older_version() {
    const NEWEST: u64 = 12;
    const WORKERS: usize = 16;
    let (server, mut rng) = (s3::server(), Rng(common::seed()));
    let schema = sensors();
    let batches = [rows_of(&schema, &mut rng, &[("a", 3)], Taste::NOISE)];
    let (options, hasty) = (s3::options(&server), s3::options_and(&server, &[("max_retries", "1")]));
    server.let_anybody_read();
    // The fault of each worker, for its first listing or for all of its listings.
    let faults: Arc<Mutex<Vec<Option<Garbling>>>> = Arc::new(Mutex::new(vec![None; WORKERS]));
    let tables: Vec<(&str, &[u64])> =
        vec![("few", &[10, 11, 12]), ("gaps", &[5, 8, 12]), ("one", &[12]), ("many", &[1, 2, 3, 4])];
    block_on(async {
        let mut table = tables::write(s3::store(&server, "t"), schema, cut_by(tiny_cuts()), &batches).await.unwrap();
        for version in 2..=NEWEST {
            table = table.edit().set_property("version", version).commit().await.unwrap();
        }
        let from = table.store().clone();
        for (name, versions) in &tables {
            for version in *versions {
                let manifest = manifest_name(*version);
                let bytes = from.get(&manifest, 1 << 20).await.unwrap();
                (0..WORKERS).for_each(|worker| server.put("data", &format!("{name}/{worker}/{manifest}"), bytes.clone()));
            }
        }
        // An object with an unexpected name is not an error.
        server.put("data", "few/0/manifests/README", "");
        server.take_requests();
        for (worker, asked) in [(1, 3), (0, 4)] {
            let opened = Table::open_with(&format!("s3://data/few/{worker}"), &options).await.unwrap();
            let seen = server.take_requests();
            assert_eq!((opened.version(), seen.len()), (NEWEST, asked), "a listing, the manifest and its successor: {seen:?}");
        }
        let of_workers = Arc::clone(&faults);
        server.on_request(move |request| {
            let worker = || {
                request
                    .query
                    .split("prefix=")
                    .nth(1)?
                    .split(['/', '%', '&'])
                    .find_map(|part| part.trim_start_matches("2F").parse().ok())
            };
            let worker: usize = worker().filter(|_| request.is_list())?;
            let fault = &mut of_workers.lock().unwrap()[worker];
            let (now, stays) = fault.take()?;
            *fault = stays.then(|| (now.clone(), true));
            Some(now)
        });
        for (name, versions) in &tables {
            let newest = versions.last().copied().unwrap();
            let body = listing(&server, &format!("{name}/1/manifests/"));
            let length = body.len();
            // All bits of the digits that differ between versions, because a flip there gives another version; and random other
            // bits.
            let digits = body.match_indices(".json").flat_map(|(end, _)| end - 2..end);
            let mut cases: Vec<Garbling> = match common::full() {
                true => (0..8 * length).map(|bit| (Fault::Flip(bit), false)).collect(),
                false => digits.flat_map(|place| (0..8).map(move |bit| (Fault::Flip(place + bit * length), false))).collect(),
            };
            for number in 0..common::cases(40) {
                let place = rng.below(length as u64) as usize;
                let fault = match number % 2 {
                    0 => Fault::Flip(place + rng.below(8) as usize * length),
                    _ => Fault::Replace(place, b"0123456789<>&/ \"x"[rng.below(17) as usize]),
                };
                cases.push((fault, number % 4 > 1));
            }
            let workers = (0..WORKERS).map(|worker| {
                let (faults, hasty, cases) = (&faults, &hasty, &cases);
                async move {
                    let url = format!("s3://data/{name}/{worker}");
                    for (fault, stays) in cases.iter().skip(worker).step_by(WORKERS) {
                        // If versions are missing in between, a reader cannot detect what all listings hide.
                        let stays = *stays && *name != "gaps";
                        faults.lock().unwrap()[worker] = Some((fault.clone(), stays));
                        match Table::open_with(&url, hasty).await {
                            Ok(table) => assert_eq!(table.version(), newest, "{name}: {fault:?}, always: {stays}"),
                            Err(error) => assert!(stays, "{name}: {fault:?}: {error}"),
                        }
                        faults.lock().unwrap()[worker] = None;
                    }
                }
            });
            futures::future::join_all(workers).await;
        }
    });
}

#[test]
fn what_was_garbled_once_on_the_way_is_read_once_more_and_what_is_damaged_is_reported() {
    let (server, mut rng) = (s3::server(), Rng(common::seed()));
    let schema = sensors();
    let batches = [rows_of(&schema, &mut rng, &[("a", 9)], Taste::NOISE)];
    block_on(tables::write(s3::store(&server, "t"), schema, cut_by(tiny_cuts()), &batches)).unwrap();
    let all = joined(&batches);
    let options = s3::options(&server);
    let read = || async {
        let table = Table::open_with("s3://data/t@1", &options).await?;
        let loader = table.row_loader().columns(["lidar.*"])?;
        loader.get_rows(0, 0..=0).await
    };
    block_on(async {
        for folder in ["manifests", "layout", "index", "chunks"] {
            for (times, asked) in [(0, 1), (1, 2), (usize::MAX, 2)] {
                let flipped = Arc::new(AtomicUsize::new(0));
                let count = Arc::clone(&flipped);
                server.on_request(move |request| {
                    let here = request.key.starts_with(&format!("t/{folder}/"));
                    (here && count.fetch_add(1, Ordering::Relaxed) < times).then_some(Fault::Flip(40))
                });
                match read().await {
                    Ok(rows) => {
                        assert!(times <= 1, "{folder}");
                        assert_rows(&rows, &all, &[Some(0)]);
                    }
                    Err(error) => {
                        assert!(times > 1, "{folder} {times}: {error}");
                        assert_eq!(error.kind(), ErrorKind::Corrupt, "{folder}: {error}");
                    }
                }
                assert_eq!(flipped.load(Ordering::Relaxed), asked, "requests for {folder}, of which {times} were garbled");
            }
        }
        // A single flipped bit in the transfer of each object does not make a table damaged either.
        let seen = Mutex::new(std::collections::BTreeSet::new());
        server.on_request(move |request| {
            let first = request.method == "GET" && !request.is_list() && seen.lock().unwrap().insert(request.key.clone());
            first.then_some(Fault::Flip(40))
        });
        let verified = Table::open_with("s3://data/t", &options).await.unwrap().storage().verify(|_, _| {}).await.unwrap();
        assert!(verified.damage.is_empty() && verified.chunks > 0, "{:?}", verified.damage);
    });
}

#[test]
fn a_bucket_that_is_not_there_is_not_found_by_its_name() {
    let server = s3::server();
    let (endpoint, s3) = (server.endpoint(), s3::options(&server));
    server.let_anybody_read();
    let google = StoreOptions::only([("endpoint", endpoint.as_str())]);
    let azure = [("azure_endpoint", endpoint.as_str()), ("azure_storage_account_name", "a"), ("azure_skip_signature", "true")];
    block_on(async {
        for (url, options) in [("s3://nobody/t", &s3), ("gs://nobody/t", &google), ("az://nobody/t", &StoreOptions::only(azure))]
        {
            let store = Store::open_with(url, options).unwrap();
            let mut errors = vec![Table::open_with(&format!("{url}@3"), options).await.unwrap_err()];
            if !url.starts_with("az") {
                errors.push(Table::open_with(url, options).await.unwrap_err());
                errors.push(store.list("manifests").await.unwrap_err());
            }
            errors.push(store.get("a", 9).await.unwrap_err());
            if url.starts_with("s3") {
                errors.push(store.put_new("a", "x".into()).await.unwrap_err());
            }
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::NotFound, "{url}: {error}");
                assert!(error.to_string().contains("no such bucket: `nobody`"), "{url}: {error}");
            }
        }
    });
}

#[test]
fn a_server_that_never_answers_is_given_up_and_the_options_are_named() {
    let server = s3::server();
    server.put("data", "t/a", vec![7; 1_000]);
    let options = s3::options_and(&server, &[("read_timeout", "200ms"), ("retry_timeout", "500ms")]);
    let store = Store::open_with("s3://data/t", &options).unwrap();
    block_on(async {
        // The answer never comes, so a call ends only because it gives up. A try takes 0.2 s, and none starts after 0.5 s.
        for fault in [Fault::Wait(NEVER), Fault::Stall(0, NEVER)] {
            server.on_request(move |_| Some(fault.clone()));
            server.take_requests();
            let range = [RangeRequest::new("a", 1_000, 0..500)];
            let errors = [
                store.get("a", 5_000).await.err(),
                store.read(&range).await.err(),
                store.list("").await.err(),
                Table::open_with("s3://data/t", &options).await.err(),
            ];
            for error in errors {
                let error = error.expect("no answer");
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                let text = error.to_string();
                assert!(text.contains("option read_timeout") || text.contains("option retry_timeout"), "{text}");
            }
            let tries = server.take_requests().len();
            assert!((4..=12).contains(&tries), "{tries} tries of four calls");
        }
    });
}
