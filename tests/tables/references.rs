//! Chunks of other tables: a table whose layouts refer to them reads the same rows, follows only URLs that are allowed, and
//! detects changed chunks.

use crate::common;
use crate::common::tables::{self, Rng, assert_rows, block_on, cut_by, joined, tiny_cuts, two_partitions};
use serde_json::Value;
use tetrys::{
    ErrorKind, Store, StoreOptions, Table,
    format::{ForeignTable, LayoutWriter, Manifest, manifest_name, read_layout},
    id::{Hash, ObjectRef},
};
use uuid::Uuid;

/// Writes a table in `folder/referring` whose chunks are all in the table in `folder/original`, found by `urls`.
async fn referring(folder: &std::path::Path, urls: &[String]) -> (Table, Store, arrow_array::RecordBatch) {
    let store = |name: &str| Store::open(folder.join(name).to_str().unwrap()).unwrap();
    let (schema, partitions) = two_partitions(5);
    let original = tables::write(store("original"), schema, cut_by(tiny_cuts()), &partitions).await.unwrap();
    let target = store("referring");
    let mut segments = original.manifest().segments.clone();
    for segment in &mut segments {
        for (folder, object) in
            [("index", &segment.index)].into_iter().chain(segment.groups.iter().map(|group| ("hashes", &group.hashes)))
        {
            let name = format!("{folder}/{}.parquet", object.blake3);
            let bytes = original.store().get_exact(&name, object.bytes).await.unwrap();
            target.put_content(&name, bytes).await.unwrap();
        }
        for group in &mut segment.groups {
            let name = format!("layout/{}.parquet", group.layout.blake3);
            let bytes = original.store().get_exact(&name, group.layout.bytes).await.unwrap();
            let mut runs = read_layout(bytes, group.columns.len(), segment.rows, 0).unwrap();
            runs.iter_mut().for_each(|run| run.owner = 1);
            let bytes = LayoutWriter::write(&runs).unwrap();
            group.layout = ObjectRef { blake3: Hash::of(&bytes), bytes: bytes.len() as u64 };
            target.put_content(&format!("layout/{}.parquet", group.layout.blake3), bytes.into()).await.unwrap();
        }
    }
    let (table, version, blake3) = (original.manifest().table, original.version(), original.manifest_hash());
    let stores = vec![ForeignTable { table, version, blake3, urls: urls.to_vec() }];
    let table = Uuid::from_u128(7);
    let manifest = Manifest { table, commit_id: Uuid::from_u128(8), segments, stores, ..original.manifest().clone() };
    let (bytes, _) = manifest.to_bytes().unwrap();
    target.put_new(&manifest_name(1), bytes.into()).await.unwrap();
    (Table::open_in(target).await.unwrap(), original.store().clone(), joined(&partitions))
}

#[test]
fn rows_come_out_of_the_chunks_of_a_neighbour() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, _, written) = referring(folder.path(), &["../absent".to_owned(), "../original".to_owned()]).await;
        let all: Vec<u64> = (0..table.rows()).collect();
        let rows: Vec<_> = all.iter().copied().map(Some).collect();
        assert_rows(&table.row_loader().take(&all).await.unwrap(), &written, &rows);
        let verified = table.storage().verify(|_, _| {}).await.unwrap();
        assert!(verified.damage.is_empty() && verified.chunks > 0, "{:?}", verified.damage);
        let info = table.info().await.unwrap();
        assert_eq!(
            (info.own_chunk_bytes, info.references.as_slice()),
            (0, &["../absent".to_owned(), "../original".to_owned()][..1])
        );
        assert!(info.referenced_chunk_bytes > 0);
        assert!(!folder.path().join("referring/chunks").exists());
    });
}

#[test]
fn a_changed_or_missing_chunk_of_a_neighbour_is_found() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, original, _) = referring(folder.path(), &["../original".to_owned()]).await;
        let (name, _) = original.list("chunks").await.unwrap().remove(0);
        let path = folder.path().join("original").join(&name);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(table.storage().verify(|_, _| {}).await.unwrap().damage.len(), 1);
        std::fs::remove_file(&path).unwrap();
        let all: Vec<u64> = (0..table.rows()).collect();
        let error = Table::open(folder.path().join("referring").to_str().unwrap()).await.unwrap();
        let error = error.row_loader().take(&all).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(&name), "{error}");
    });
}

#[test]
fn no_url_is_followed_that_the_reader_did_not_allow() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let url = format!("file://{}/original", folder.path().display());
        let (table, _, _) = referring(folder.path(), std::slice::from_ref(&url)).await;
        let error = table.row_loader().get_row(0).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains(&url), "{error}");
        let parent = url.trim_end_matches("original");
        assert!(table.allow([parent]).row_loader().get_row(0).await.is_ok());
        // An allowed URL covers whole path names only, and a path that leaves it by `..` is not below it.
        let beginning = url.trim_end_matches("inal");
        assert_eq!(table.allow([beginning]).row_loader().get_row(0).await.unwrap_err().kind(), ErrorKind::Denied);
        assert!(table.allow([&url]).row_loader().get_row(0).await.is_ok());
        let error = table.allow(["file:///elsewhere/"]).row_loader().get_row(0).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    });
}

#[test]
fn a_url_that_climbs_out_of_what_is_allowed_is_not_followed() {
    for climbing in ["allowed/../original", "allowed/%2e%2e/original", "allowed/..%2foriginal", "allowed/./../original"] {
        let folder = tempfile::tempdir().unwrap();
        let root = format!("file://{}", folder.path().display());
        block_on(async {
            let (table, _, _) = referring(folder.path(), &[format!("{root}/{climbing}")]).await;
            let error = table.allow([format!("{root}/allowed/")]).row_loader().get_row(0).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{climbing}: {error}");
        });
    }
}

#[test]
fn a_relative_url_cannot_leave_its_store_or_hide_a_host() {
    let store = Store::open("memory://bucket/tables/one").unwrap();
    assert_eq!(store.neighbour("../two").unwrap(), "memory://bucket/tables/two");
    assert_eq!(store.neighbour("deep/er").unwrap(), "memory://bucket/tables/one/deep/er");
    for refused in ["/etc", "../../../x", "..\\x", "//host/x", "file:x", "a?b", "a#b"] {
        assert_eq!(store.neighbour(refused).unwrap_err().kind(), ErrorKind::Invalid, "{refused}");
    }
}

#[test]
fn what_a_manifest_uses_it_announces_and_what_it_announces_it_uses() {
    let folder = tempfile::tempdir().unwrap();
    let (table, ..) = block_on(referring(folder.path(), &["../original".to_owned()]));
    let (bytes, _) = table.manifest().to_bytes().unwrap();
    let json: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(json["read_features"], serde_json::json!(["references"]));
    assert_eq!(json["write_features"], serde_json::json!(["references"]));
    let signed = |edit: &dyn Fn(&mut Value)| {
        let mut json = json.clone();
        json.as_object_mut().unwrap().remove("blake3");
        edit(&mut json);
        let mut bytes = serde_json::to_vec(&json).unwrap();
        bytes.pop();
        let hash = Hash::of(&bytes);
        bytes.extend(format!(",\"blake3\":\"{hash}\"}}\n").bytes());
        Manifest::parse(&bytes, 1).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(signed(&|_| {}), Ok(()));
    for (edit, expected) in [
        (&(|json: &mut Value| json["read_features"] = serde_json::json!([])) as &dyn Fn(&mut Value), "does not announce it"),
        (&|json: &mut Value| json["stores"] = serde_json::json!([]), "does not use it"),
        (&|json: &mut Value| json["stores"][0]["urls"] = serde_json::json!([]), "store 1: version 1 of table"),
        (&|json: &mut Value| json["read_features"] = serde_json::json!(["references", "references"]), "or a duplicate"),
        (
            &|json: &mut Value| json["read_features"] = serde_json::json!(["encryption", "references"]),
            "read feature `encryption`",
        ),
        (
            &|json: &mut Value| {
                json["condemned"] = serde_json::json!([{"folder": "chunks", "blake3": Hash::of(b""), "bytes": 1}])
            },
            "`condemned`",
        ),
    ] {
        let error = signed(edit).unwrap_err();
        assert!(error.contains(expected), "{error}: expected {expected}");
    }
}

/// A place in the model: scheme, host and path names, independent of their spelling.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    scheme: &'static str,
    host: String,
    names: Vec<String>,
}

impl Place {
    fn any(rng: &mut Rng) -> Self {
        const NAMES: [&str; 9] = ["t", "t2", "T", "a.b", "a b", "ü", "t%41", "..t", "%"];
        let scheme = ["s3", "gs", "az", "https", "file"][rng.below(5) as usize];
        let host = if scheme == "file" { "" } else { ["b", "b2", "lab.example"][rng.below(3) as usize] };
        let names = (0..rng.below(4)).map(|_| NAMES[rng.below(9) as usize].to_owned()).collect();
        Self { scheme, host: host.to_owned(), names }
    }

    /// Returns one of the many spellings of the place.
    fn written(&self, rng: &mut Rng) -> String {
        let aliases: &[&str] = match self.scheme {
            "s3" => &["s3", "s3a", "S3"],
            "gs" => &["gs", "gcs"],
            "az" => &["az", "azure", "adl", "AZ"],
            "https" => &["https", "HTTPS"],
            _ => &["file"],
        };
        let scheme = aliases[rng.below(aliases.len() as u64) as usize];
        let host = match (self.scheme, rng.below(3)) {
            ("https", 0) => format!("{}:443", self.host),
            ("https", 1) => self.host.to_uppercase(),
            _ => self.host.clone(),
        };
        let mut path = String::new();
        for name in &self.names {
            match rng.below(6) {
                0 => path.push_str("/detour/.."),
                1 => path.push_str("/."),
                _ => {}
            }
            path.push('/');
            for character in name.chars() {
                let plain = character.is_ascii_alphanumeric() || character == '.';
                // A dot is never percent-encoded here, because encoded dots are refused.
                match plain && (character == '.' || rng.below(3) > 0) {
                    true => path.push(character),
                    false => {
                        let mut bytes = [0; 4];
                        let bytes = character.encode_utf8(&mut bytes).bytes();
                        path.extend(bytes.map(|byte| format!("%{byte:02X}")));
                    }
                }
            }
        }
        if path.is_empty() || rng.below(3) == 0 {
            path.push('/');
        }
        format!("{scheme}://{host}{path}")
    }

    fn holds(&self, other: &Self) -> bool {
        (self.scheme, &self.host) == (other.scheme, &other.host) && other.names.starts_with(&self.names)
    }
}

#[test]
fn a_url_is_allowed_where_its_names_begin_with_those_of_an_allowed_one_however_both_are_written() {
    let mut rng = Rng(common::seed());
    let (mut yes, mut no) = (0, 0);
    for _ in 0..common::cases(4_000) {
        let allowed: Vec<Place> = (0..1 + rng.below(2)).map(|_| Place::any(&mut rng)).collect();
        let mut asked = Place::any(&mut rng);
        if rng.below(2) == 0 {
            // Random places rarely match, so half of the URLs are at or below an allowed place, or almost so.
            let near = allowed[0].clone();
            let more = asked.names.len().min(1);
            asked = Place { names: [near.names, asked.names[..more].to_vec()].concat(), ..near };
            if rng.below(4) == 0
                && let Some(last) = asked.names.last_mut()
            {
                last.push('2');
            }
        }
        let options = StoreOptions::only([("region", "r")]).allow(allowed.iter().map(|place| place.written(&mut rng)));
        let url = asked.written(&mut rng);
        let expected = allowed.iter().any(|place| place.holds(&asked));
        assert_eq!(options.allows(&url).unwrap(), expected, "{options:?} {allowed:?}: {url}");
        if expected {
            yes += 1
        } else {
            no += 1
        }
        for climbing in ["/../../..", "/..%2f..", "/%2e%2e/x", "/..\\x", "?a", "#a", "//x"] {
            let url = format!("{}{climbing}", url.trim_end_matches('/'));
            let up = asked.names.len() as i64 - 3 + i64::from(asked.names.is_empty());
            // Literal dots are resolved; encoded dots and separators are refused.
            let resolved = Place { names: asked.names[..up.max(0) as usize].to_vec(), ..asked.clone() };
            let expected = climbing == "/../../.." && allowed.iter().any(|place| place.holds(&resolved));
            assert_eq!(options.allows(&url).unwrap(), expected, "{allowed:?}: {url}");
        }
    }
    assert!(yes > 100 && no > 100, "{yes} {no}");
}

#[test]
fn what_is_allowed_and_is_no_url_is_named() {
    for wrong in ["s3://", "s3://b/t?sig=hunter2", "", "https://user:hunter2@host/", "https://host/t#hunter2", "s3://b/%2e%2e"] {
        let options = StoreOptions::only([("region", "r")]).allow([wrong]);
        let error = options.allows("s3://b/t").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{wrong}: {error}");
        assert!(error.to_string().contains("allowed URL") && !error.to_string().contains("hunter2"), "{error}");
        assert_eq!(Store::open_with("memory://", &options).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn the_error_of_a_url_that_is_not_allowed_has_the_flag_that_allows_it_and_is_safe_to_copy() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, ..) = referring(folder.path(), &["s3://lab/it's $(rm -rf) `x`".to_owned()]).await;
        let error = table.row_loader().get_row(0).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains("`--allow 's3://lab/it%27s $(rm -rf) `x`'`"), "{error}");
    });
}

#[test]
fn a_table_says_what_its_readers_have_to_allow_and_a_path_allows_its_url() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    block_on(async {
        let url = format!("file://{}", place("original"));
        let (table, ..) = referring(folder.path(), std::slice::from_ref(&url)).await;
        assert_eq!(table.must_allow().await, [url.as_str()]);
        let open = |allowed: String| {
            let (options, place) = (StoreOptions::only([("region", "r")]).allow([allowed]), place("referring"));
            async move { Table::open_with(&place, &options).await.unwrap().row_loader().get_row(0).await.map(drop) }
        };
        open(place("original")).await.unwrap();
        open(url).await.unwrap();
        assert_eq!(open(place("orig")).await.unwrap_err().kind(), ErrorKind::Denied);
        // An allowed link allows its target, and nothing else.
        std::os::unix::fs::symlink(place("original"), place("link")).unwrap();
        open(place("link")).await.unwrap();
    });
}
