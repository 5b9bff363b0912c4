//! Garbage collection, writers and sessions leave alone what is not of the table: files of others beside its objects, neighbouring
//! tables, copies that are not complete, folders behind links, and pins of other tables.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use tetrys::{
    ErrorKind, Store, Table, TableWriter, WriteOptions, WritePlan,
    format::manifest_name,
    id::Hash,
    table::{GcSettings, Storage, now_ms},
};

use crate::common::{
    self,
    tables::{self, Rng, block_on, cut_by, joined, tiny_cuts, two_partitions},
};

const HOUR: Duration = Duration::from_secs(3600);

fn store(place: &Path) -> Store {
    Store::open(place.to_str().unwrap()).unwrap()
}

fn later(hours: i64) -> i64 {
    now_ms() + hours * 3_600_000
}

async fn table(place: &Path) -> Table {
    let (schema, partitions) = two_partitions(1);
    tables::write(store(place), schema, cut_by(tiny_cuts()), &partitions).await.unwrap()
}

/// Runs collections that keep one version, until everything that can be deleted is.
async fn collect(store: &Store) -> tetrys::Result<()> {
    for hours in [2, 4, 6] {
        Storage::of(store).collect_garbage(GcSettings { keep_versions: 1, age: HOUR }, later(hours)).await?;
    }
    Ok(())
}

/// Returns the files below a folder, with their content. Links are not followed.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let (path, kind) = {
                let entry = entry.unwrap();
                (entry.path(), entry.file_type().unwrap())
            };
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                let content = fs::read(&path).unwrap();
                found.insert(path, content);
            }
        }
    }
    found
}

/// Returns names that resemble those of a writer's files, but are not such names.
fn strange_names(rng: &mut Rng) -> Vec<String> {
    let (hash, id) = (Hash::of(b"strange").to_string(), uuid::Uuid::from_u128(7).to_string());
    let own = [
        format!("chunks/{}/{hash}", &hash[..2]),
        format!("index/{hash}.parquet"),
        format!("layout/{hash}.parquet"),
        format!("attachments/{hash}"),
        format!("sessions/{id}/plan.json"),
        format!("sessions/{id}/{hash}.parquet"),
        format!("sessions/{id}/0000000001-{id}.receipt"),
        format!("sessions/probe-{id}"),
        manifest_name(9),
    ];
    let mut names: Vec<String> =
        ["sessions/notes.txt", "sessions/2024/plan.json", "sessions/a/b/c/d/e", "chunks/readme", "chunks/aa/one#1"]
            .map(str::to_owned)
            .to_vec();
    for _ in 0..60 {
        let name = rng.pick(&own).clone();
        let place = name.find('/').unwrap() + 1 + rng.below((name.len() - name.find('/').unwrap() - 1) as u64) as usize;
        let (before, after) = name.split_at(place);
        let changed = match rng.below(5) {
            0 => format!("{before}Z{after}"),
            1 => format!("{before}x/{after}"),
            2 => format!("{name}.bak"),
            3 => format!("{before}{}", after.get(1..).unwrap_or_default()),
            _ => format!("{name}/{name}"),
        };
        let ending = if rng.once_in(3) { "#1" } else { "" };
        names.push(format!("{changed}{ending}"));
    }
    names.retain(|name| !own.contains(name) && !name.split('/').any(str::is_empty));
    names
}

#[test]
fn files_whose_names_no_writer_makes_stay() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let place = folder.path().join("table");
        let table = table(&place).await;
        let left: Vec<PathBuf> = {
            let writer = table.append(WriteOptions::default()).await.unwrap();
            let before = files(&place);
            let plan = writer.plan(None, Vec::new()).await.unwrap();
            assert_eq!(WritePlan::open_in(table.store()).await.unwrap(), [plan]);
            files(&place).into_keys().filter(|path| !before.contains_key(path)).collect()
        };
        let mut strange = BTreeMap::new();
        for name in strange_names(&mut Rng(common::seed())) {
            let path = place.join(&name);
            // Of two names, one may be a folder of the other.
            if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() && fs::write(&path, &name).is_ok() {
                strange.insert(path, name.into_bytes());
            }
        }
        assert!(strange.len() > 20, "{strange:?}");
        collect(table.store()).await.unwrap();
        let after = files(&place);
        for (path, content) in &strange {
            assert_eq!(after.get(path), Some(content), "{}", path.display());
        }
        assert!(left.iter().all(|path| !after.contains_key(path)), "what a session left is deleted: {left:?}");
    });
}

#[test]
fn files_beside_the_pins_stay_and_a_pin_that_cannot_be_read_stops_the_collection() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let place = folder.path().join("table");
        let table = table(&place).await;
        let usage = table.storage().usage().await.unwrap();
        let pin = format!("pins/{}.json", uuid::Uuid::from_u128(10));
        let foreign = ["pins/README.md", "pins/.DS_Store", "pins/old/notes (1).txt", "pins/10.json", &format!("{pin}.bak")];
        for name in foreign {
            fs::create_dir_all(place.join(name).parent().unwrap()).unwrap();
            fs::write(place.join(name), "mine").unwrap();
        }
        table.edit().set_property("a", 1).commit().await.unwrap();
        collect(table.store()).await.unwrap();
        assert!(foreign.iter().all(|name| place.join(name).exists()));
        let with = table.storage().usage().await.unwrap();
        assert_eq!((with.pins, with.unnamed_bytes), (0, usage.unnamed_bytes + 4 * foreign.len() as u64));
        // A file with the name of a pin may be a damaged pin.
        for content in ["mine".to_owned(), "x".repeat(100_000)] {
            fs::write(place.join(&pin), content).unwrap();
            let before = files(&place);
            let error = collect(table.store()).await.unwrap_err();
            let text = error.to_string();
            assert!(error.kind() == ErrorKind::Corrupt && text.contains(&pin), "{text}");
            assert!(
                text.contains("nothing is deleted: repair this one with a copy of the table (`tetrys verify TABLE --repair"),
                "{text}"
            );
            assert_eq!(files(&place), before);
        }
        fs::remove_file(place.join(&pin)).unwrap();
        collect(table.store()).await.unwrap();
    });
}

#[test]
fn neighbouring_tables_survive_a_collection_one_folder_too_high() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        for name in ["sessions", "chunks", "drives"] {
            let neighbour = table(&folder.path().join(name)).await;
            neighbour.append(WriteOptions::default()).await.unwrap().plan(None, Vec::new()).await.unwrap();
        }
        let before = files(folder.path());
        let above = store(folder.path());
        for _ in 0..2 {
            assert_eq!(collect(&above).await.unwrap_err().kind(), ErrorKind::NotFound);
            let found = Storage::of(&above).collect_abandoned(HOUR, later(2)).await.map(|plan| plan.sweep);
            assert_eq!(found.unwrap_err().kind(), ErrorKind::NotFound);
            assert_eq!(files(folder.path()), before);
        }
        // Also where the folder above is a table itself: one that was copied there.
        assert!(Table::create_in(above.clone(), two_partitions(1).0, cut_by(tiny_cuts())).await.is_err());
        let elsewhere = tempfile::tempdir().unwrap();
        table(elsewhere.path()).await;
        for (path, content) in files(elsewhere.path()) {
            let copy = folder.path().join(path.strip_prefix(elsewhere.path()).unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::write(copy, content).unwrap();
        }
        collect(&above).await.unwrap();
        let after = files(folder.path());
        assert!(before.iter().all(|(path, content)| after.get(path) == Some(content)));
    });
}

#[test]
fn nothing_of_others_is_where_a_table_begins() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let source = table(&folder.path().join("source")).await;
        let create =
            async |place: &Path| Table::create_in(store(place), source.schema().clone(), cut_by(tiny_cuts())).await.map(drop);
        let save = async |place: &Path| source.index().await?.save(place.to_str().unwrap()).await.map(drop);
        for other in ["notes.txt", ".hidden", "chunks", "photos/1.jpg", "manifest/1.json", "sessions#1"] {
            let place = folder.path().join(other.replace(['/', '#'], "-"));
            fs::create_dir_all(place.join(other).parent().unwrap()).unwrap();
            fs::write(place.join(other), "mine").unwrap();
            let name = other.split_once('/').map_or(other.to_owned(), |(folder, _)| format!("{folder}/"));
            for error in [create(&place).await.unwrap_err(), save(&place).await.unwrap_err()] {
                assert!(error.kind() == ErrorKind::Exists && error.to_string().contains(&format!("found `{name}`")), "{error}");
            }
            assert_eq!(files(&place).len(), 1);
        }
        // A session of another writer, and what one left that was killed, keep nobody from being the first.
        let place = folder.path().join("begun");
        let first = Table::create_in(store(&place), source.schema().clone(), cut_by(tiny_cuts())).await.unwrap();
        first.plan(None, Vec::new()).await.unwrap();
        let mut partition = first.partition().unwrap();
        partition.write(&two_partitions(1).1[0]).await.unwrap();
        let receipt = partition.finish().await.unwrap();
        create(&place).await.unwrap();
        first.commit([receipt]).await.unwrap();
        assert_eq!(create(&place).await.unwrap_err().kind(), ErrorKind::Exists);
    });
}

#[test]
fn a_copy_whose_manifests_are_not_there_yet_survives() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let place = folder.path().join("table");
        let table = table(&place).await;
        fs::rename(place.join("manifests"), folder.path().join("on-their-way")).unwrap();
        let before = files(&place);
        let error = collect(table.store()).await.unwrap_err();
        assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("nothing is deleted"), "{error}");
        assert_eq!(files(&place), before);
        // Only who asks for it deletes the objects.
        assert!(!table.storage().plan_abandoned(HOUR, later(2)).await.unwrap().sweep.is_empty());
        fs::rename(folder.path().join("on-their-way"), place.join("manifests")).unwrap();
        assert!(table.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
        assert_eq!(table.storage().collect_abandoned(HOUR, later(2)).await.unwrap_err().kind(), ErrorKind::Exists);
    });
}

#[cfg(unix)]
#[test]
fn no_folder_behind_a_link_is_written_listed_or_emptied() {
    use std::os::unix::fs::symlink;
    for linked in ["sessions", "chunks", "index", "hashes", "layout", "pins", "attachments", "manifests"] {
        let folder = tempfile::tempdir().unwrap();
        block_on(async {
            let (place, victim) = (folder.path().join("table"), folder.path().join("victim"));
            let table = table(&place).await;
            // The victim has files with names of the table's own, which no version needs.
            let hash = Hash::of(b"left").to_string();
            let session = format!("sessions/{}/plan.json", uuid::Uuid::from_u128(7));
            let names = [
                session,
                format!("chunks/{}/{hash}", &hash[..2]),
                format!("{linked}/{hash}.parquet"),
                format!("{linked}/{hash}"),
            ];
            let there = place.join(linked);
            if there.exists() {
                fs::rename(&there, &victim).unwrap();
            }
            for name in names.iter().filter_map(|name| name.strip_prefix(&format!("{linked}/"))) {
                fs::create_dir_all(victim.join(name).parent().unwrap()).unwrap();
                fs::write(victim.join(name), "mine").unwrap();
                fs::write(victim.join(format!("{name}#1")), "mine").unwrap();
            }
            symlink("../victim", &there).unwrap();
            let before = files(&victim);
            let refused = |what: &str, error: tetrys::Error| {
                let text = error.to_string();
                assert!(error.kind() == ErrorKind::Denied, "{linked}: {what}: {text}");
                assert!(text.contains(linked) && text.contains("symbolic link"), "{linked}: {what}: {text}");
            };
            refused("gc", collect(table.store()).await.unwrap_err());
            let partitions = two_partitions(2).1;
            let replaced = async {
                let writer = table.overwrite(table.schema().clone(), cut_by(tiny_cuts())).await?;
                let mut partition = writer.partition()?;
                partition.write(&partitions[0]).await?;
                writer.commit([partition.finish().await?]).await
            };
            match replaced.await {
                // This writes no pin and no attachment.
                Ok(_) => assert!(["pins", "attachments"].contains(&linked), "{linked}"),
                Err(error) => refused("overwrite", error),
            }
            let writer = Table::create_in(store(&folder.path().join("new")), table.schema().clone(), cut_by(tiny_cuts())).await;
            drop(writer.unwrap());
            for name in ["aa", "aa/bb"].map(|name| format!("{linked}/{name}")) {
                refused("put", table.store().put_new(&name, "x".into()).await.unwrap_err());
                refused("delete", table.store().delete(&name).await.unwrap_err());
            }
            refused("list", table.store().list(linked).await.unwrap_err());
            refused("unfinished files", table.store().list_unfinished(&[linked]).await.unwrap_err());
            assert_eq!(files(&victim), before, "{linked}");
        });
    }
}

#[cfg(unix)]
#[test]
fn a_listing_of_the_root_follows_no_folder_that_is_a_link() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (place, victim) = (folder.path().join("table"), folder.path().join("victim"));
        let table = table(&place).await;
        fs::create_dir_all(victim.join("deep")).unwrap();
        for name in ["one", "deep/two", "deep/two#1"] {
            fs::write(victim.join(name), "mine").unwrap();
        }
        let listed = async || {
            let (store, names) = (table.store(), |listed: Vec<(String, u64)>| listed.into_iter().map(|(name, _)| name));
            let unfinished = store.list_unfinished(&[""]).await.unwrap();
            let all: Vec<String> = names(store.list("").await.unwrap()).collect();
            assert_eq!(store.list_first("", usize::MAX).await.unwrap(), all);
            (all, unfinished, Storage::of(store).usage().await.unwrap().stored_bytes)
        };
        let before = listed().await;
        symlink("../victim", place.join("elsewhere")).unwrap();
        symlink("../../victim", place.join("index/elsewhere")).unwrap();
        symlink("..", place.join("loop")).unwrap();
        symlink("nowhere", place.join("nothing")).unwrap();
        assert_eq!(listed().await, before);
        // A file may be a link.
        symlink("../victim/one", place.join("one")).unwrap();
        let (all, _, stored) = listed().await;
        assert!(all.contains(&"one".to_owned()) && all.len() == before.0.len() + 1 && stored == before.2 + 4, "{all:?}");
    });
}

#[cfg(unix)]
#[test]
fn a_link_deep_below_a_folder_is_refused_and_the_root_may_be_a_link() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (place, victim) = (folder.path().join("table"), folder.path().join("victim"));
        let rows = joined(&two_partitions(1).1);
        table(&place).await;
        symlink("table", folder.path().join("root")).unwrap();
        let by_link = store(&folder.path().join("root"));
        let next = Table::open_in(by_link.clone()).await.unwrap().edit().set_property("a", 1).commit().await.unwrap();
        tables::assert_reads(&next, &rows).await;
        collect(&by_link).await.unwrap();
        let session = uuid::Uuid::from_u128(9).to_string();
        fs::create_dir_all(&victim).unwrap();
        fs::write(victim.join("plan.json"), "mine").unwrap();
        fs::create_dir_all(place.join("sessions")).unwrap();
        symlink(&victim, place.join("sessions").join(&session)).unwrap();
        let error = collect(&by_link).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Denied && error.to_string().contains(&format!("sessions/{session}")), "{error}");
        assert!(victim.join("plan.json").exists());
        // Files may be links; deleting one leaves the file behind it.
        fs::remove_file(place.join("sessions").join(&session)).unwrap();
        fs::create_dir(place.join("sessions").join(&session)).unwrap();
        symlink(victim.join("plan.json"), place.join("sessions").join(&session).join("plan.json")).unwrap();
        collect(&by_link).await.unwrap();
        assert!(!place.join("sessions").exists() && victim.join("plan.json").exists());
    });
}

/// Returns a plan with other values in the manifest of its ticket.
fn changed(plan: &WritePlan, change: impl FnOnce(&mut Value)) -> String {
    let mut record: Value = serde_json::from_str(&plan.to_json()).unwrap();
    let mut ticket: Value = serde_json::from_str(record["ticket"].as_str().unwrap()).unwrap();
    let mut manifest: Value = serde_json::from_str(ticket["plan"].as_str().unwrap()).unwrap();
    manifest.as_object_mut().unwrap().remove("blake3");
    change(&mut manifest);
    let json = serde_json::to_string(&manifest).unwrap();
    let body = json.strip_suffix('}').unwrap();
    ticket["plan"] = format!("{body},\"blake3\":\"{}\"}}\n", Hash::of(body.as_bytes())).into();
    record["ticket"] = ticket.to_string().into();
    record.to_string()
}

#[test]
fn a_forged_plan_deletes_no_pin_of_another_table() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let owner = table(&folder.path().join("owner")).await;
        let pins = async || owner.store().list("pins").await.unwrap();
        let user =
            Table::create_in(store(&folder.path().join("user")), owner.schema().clone(), cut_by(tiny_cuts())).await.unwrap();
        let user = user.references([&owner]).await.unwrap();
        let mut partition = user.partition().unwrap();
        partition.write(&joined(&two_partitions(1).1)).await.unwrap();
        let user = user.commit([partition.finish().await.unwrap()]).await.unwrap();
        let [(pin, _)] = &pins().await[..] else { panic!("one pin") };
        let commit = pin.trim_start_matches("pins/").trim_end_matches(".json");
        // Whoever can write to another table, or to an empty folder, forges a plan there that names the pin.
        let other = table(&folder.path().join("other")).await;
        let empty = store(&folder.path().join("empty"));
        let begun: [TableWriter; 2] = [
            other.append(WriteOptions::default()).await.unwrap().references([&owner]).await.unwrap(),
            Table::create_in(empty, owner.schema().clone(), cut_by(tiny_cuts()))
                .await
                .unwrap()
                .references([&owner])
                .await
                .unwrap(),
        ];
        for (writer, place) in begun.into_iter().zip(["other", "empty"]) {
            let own = pins().await;
            let plan = writer.plan(None, Vec::new()).await.unwrap();
            let there = store(&folder.path().join(place));
            for table in [None, Some(user.id().to_string())] {
                let forged = changed(&plan, |manifest| {
                    manifest["commit_id"] = commit.into();
                    if let Some(table) = table {
                        manifest["table"] = table.into();
                    }
                });
                let name = format!("sessions/{}/plan.json", plan.session());
                fs::create_dir_all(folder.path().join(place).join(&name).parent().unwrap()).unwrap();
                fs::write(folder.path().join(place).join(&name), &forged).unwrap();
                WritePlan::open_in(&there).await.unwrap()[0].abort(&there).await.unwrap();
                assert_eq!(pins().await, own, "{place}");
            }
            // The plan that was not forged deletes its own pin.
            fs::create_dir_all(folder.path().join(place).join("sessions").join(plan.session().to_string())).unwrap();
            fs::write(folder.path().join(place).join(format!("sessions/{}/plan.json", plan.session())), plan.to_json()).unwrap();
            plan.abort(&there).await.unwrap();
            assert_eq!(pins().await.len(), own.len() - 1, "{place}");
        }
        assert!(pins().await.iter().any(|(name, _)| name == pin));
    });
}

#[test]
fn a_plan_in_the_folder_of_another_session_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let table = table(&folder.path().join("table")).await;
        let plan = table.append(WriteOptions::default()).await.unwrap().plan(None, Vec::new()).await.unwrap();
        let wrong = format!("sessions/{}/plan.json", uuid::Uuid::from_u128(5));
        table.store().put_new(&wrong, plan.to_json().into()).await.unwrap();
        let error = WritePlan::open_in(table.store()).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains(&wrong), "{error}");
    });
}

#[test]
fn changes_of_nothing_make_no_version() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let table = table(&folder.path().join("table")).await;
        let table = table.edit().set_property("license", "CC0").commit().await.unwrap();
        let rows = joined(&two_partitions(1).1);
        let keys = rows.project(&[0, 1, rows.schema().index_of("labels.count").unwrap()]).unwrap();
        let names: Vec<&str> = table.schema().index().map(|column| column.name.as_str()).take(2).collect();
        let same = [
            ("delete", table.delete([], WriteOptions::default()).await.unwrap()),
            ("patch", table.patch(&names, &keys.slice(0, 0), WriteOptions::default()).await.unwrap()),
            ("edit", table.edit().commit().await.unwrap()),
            ("the same property", table.edit().set_property("license", "CC0").commit().await.unwrap()),
            ("compact", table.storage().compact(1 << 20).await.unwrap()),
            ("materialize", table.storage().materialize(|_, _| {}).await.unwrap()),
        ];
        for (what, version) in same {
            assert_eq!(version.manifest_hash(), table.manifest_hash(), "{what}");
        }
        assert_eq!(Table::open_in(table.store().clone()).await.unwrap().version(), 2);
    });
}
