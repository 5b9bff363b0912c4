//! Hostile manifests: every member gets extreme values; wrong statistics; deep, long and duplicated JSON; names of other tables.

use serde_json::{Value, json};
use tetrys::{Preset, id::Hash};

use super::{EDGES, Seen, Sound, Tally, Turns, alone, forge::Forged, sound};

/// Collects the path of every value of a JSON document.
fn paths(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| paths(value, format!("{path}/{name}"), found)),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, value)| paths(value, format!("{path}/{at}"), found)),
        _ => {}
    }
    found.push(path);
}

/// Returns a table with an attachment, properties, stores, condemned objects and a masked copy, and with the features that they
/// need.
fn with_everything() -> Sound {
    let mut sound = sound(Preset::Balanced);
    let Forged { manifest, objects } = &mut sound.forged;
    let digits = "ab".repeat(32);
    manifest["attachments"] = json!({"map": {"blake3": Hash::of(b"a map"), "bytes": 5}});
    objects.insert(format!("attachments/{}", Hash::of(b"a map")), b"a map".to_vec());
    manifest["properties"] = json!({"place": "Zurich", "count": 7});
    manifest["schema"]["columns"][3]["properties"] = json!({"unit": "m"});
    let store = |version: u64, url: &str| json!({"table": "00000000-0000-0000-0000-000000000007", "version": version, "blake3": digits, "urls": [url, "../b"]});
    manifest["stores"] = json!([store(3, "../a"), store(4, "memory://elsewhere/a")]);
    manifest["condemned"] = json!([{"folder": "chunks", "blake3": digits, "bytes": 1}]);
    // A second camera group, in which the pose is masked.
    let mut group = manifest["schema"]["groups"][0].clone();
    group["name"] = json!("again");
    group["masked"] = json!([group["columns"][1]]);
    manifest["schema"]["groups"].as_array_mut().unwrap().push(group);
    let stored = manifest["segments"][0]["groups"][0].clone();
    manifest["segments"][0]["groups"].as_array_mut().unwrap().push(stored);
    manifest["read_features"] = json!(["masked-copies", "references"]);
    manifest["write_features"] = json!(["condemned", "references", "views"]);
    assert_eq!(sound.look("everything", &sound.forged.sealed()), Seen::Harmless);
    sound
}

#[test]
fn every_member_of_the_manifest_at_every_edge_harms_nobody() {
    let _alone = alone();
    let sound = with_everything();
    let mut members = Vec::new();
    paths(&sound.forged.manifest, String::new(), &mut members);
    let (mut tally, mut numbers, mut turns) = (Tally::default(), 0, Turns::new(6));
    let others = [json!(null), json!([]), json!({}), json!(""), json!(true), json!(-1), json!(1.5), json!("a")];
    for path in &members {
        let is_number = sound.forged.manifest.pointer(path).unwrap().is_number();
        numbers += usize::from(is_number);
        let values: Vec<Value> =
            if is_number { EDGES.iter().map(|edge| json!(edge)).chain(others.clone()).collect() } else { others.to_vec() };
        for value in values.into_iter().filter(|_| turns.take()) {
            let mut forged = sound.forged.clone();
            *forged.manifest.pointer_mut(path).unwrap() = value.clone();
            tally.add(&sound.look(&format!("manifest, {path} = {value}"), &forged.sealed()));
        }
        // A member is also removed.
        if let Some((parent, name)) = path.rsplit_once('/') {
            let mut forged = sound.forged.clone();
            if let Some(members) = forged.manifest.pointer_mut(parent).and_then(Value::as_object_mut) {
                members.remove(name);
                tally.add(&sound.look(&format!("manifest without {path}"), &forged.sealed()));
            }
        }
    }
    println!("manifest: {} values, {numbers} of them numbers: {tally:?}", members.len());
    assert!(numbers > 60 && tally.refused > turns.of(1_500), "{numbers} {tally:?}");
}

#[test]
fn wrong_statistics_change_no_row_and_are_found() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let texts = [json!("zzz"), json!(""), json!(null)];
    let numbers = [json!(u64::MAX), json!(i64::MIN), json!(0), json!(1e308), json!(null)];
    let mut tally = Tally::default();
    for column in 0..3 {
        for value in if column == 0 { &texts[..] } else { &numbers[..] } {
            for bound in ["min", "max"] {
                let mut forged = sound.forged.clone();
                forged.manifest["segments"][0]["statistics"][column][bound] = value.clone();
                let what = format!("{bound} of column {column} = {value}");
                let seen = sound.look(&what, &forged.sealed());
                assert!(matches!(seen, Seen::Harmless | Seen::Reported), "{what}: {seen:?}");
                assert!(seen == Seen::Harmless || !value.is_null(), "{what}: a bound of null bounds nothing");
                tally.add(&seen);
            }
        }
        let mut forged = sound.forged.clone();
        forged.manifest["segments"][0]["statistics"].as_array_mut().unwrap().swap(column, (column + 1) % 3);
        sound.refused("statistics in another order", &forged.sealed());
    }
    assert!(tally.reported >= 6 && tally.harmless >= 6, "{tally:?}");
}

#[test]
fn a_manifest_that_is_deep_long_doubled_or_no_text_is_refused() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let json = serde_json::to_string(&sound.forged.manifest).unwrap();
    let with = |member: &str| format!("{},{member}}}", json.strip_suffix('}').unwrap()).into_bytes();
    let refused = |what: &str, bytes: &[u8], text: &str| {
        let error = sound.refused(what, &sound.forged.sealed_with(bytes));
        assert!(error.contains(text), "{what}: {error}");
    };
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    refused("deep arrays in a new member", &with(&format!("\"new\":{}", deep("[", "]"))), "recursion limit");
    refused(
        "deep objects",
        json.replace("\"properties\":{}", &format!("\"properties\":{{\"a\":{}}}", deep("{\"a\":", "}").replace(":}", ":0}")))
            .as_bytes(),
        "recursion limit",
    );
    refused("arrays that never end", "[".repeat(1_000_000).as_bytes(), "");
    refused("a member twice", &with("\"rows\":10"), "`rows` appears twice");
    refused("an unknown member twice", &with("\"new\":1,\"new\":2"), "`new` appears twice");
    refused(
        "a property twice",
        json.replace("\"properties\":{}", r#""properties":{"a":1,"\u0061":2}"#).as_bytes(),
        "`a` appears twice",
    );
    refused(
        "an unknown read feature",
        json.replace("\"read_features\":[]", "\"read_features\":[\"encryption\"]").as_bytes(),
        "read feature `encryption`",
    );
    refused("another format", json.replace("\"format\":1", "\"format\":2").as_bytes(), "format 2");
    refused(
        "a store without a name",
        json.replace("\"stores\":[]", "\"stores\":[{\"url\":\"http://127.0.0.1\"}]").as_bytes(),
        "the member `table` is missing",
    );
    refused(
        "a condemned object in no folder",
        json.replace("\"condemned\":[]", "\"condemned\":[\"chunks/aa/bb\"]").as_bytes(),
        "expected an object, found string",
    );
    refused("a number with a fraction", json.replace("\"rows\":10", "\"rows\":10.0").as_bytes(), "manifest");
    refused(
        "a number of a thousand digits",
        json.replace("\"rows\":10", &format!("\"rows\":{}", "9".repeat(1000))).as_bytes(),
        "manifest",
    );
    refused("a mark before the JSON", &[b"\xef\xbb\xbf", json.as_bytes()].concat(), "manifest");
    refused(
        "no UTF-8 in a name",
        &[
            json.split("camera.pose").next().unwrap().as_bytes(),
            b"\xff\xfe",
            json.split_once("camera.pose").unwrap().1.as_bytes(),
        ]
        .concat(),
        "manifest",
    );
    refused("half a surrogate in a name", json.replace("camera.pose", "\\ud83d").as_bytes(), "manifest");
    let long = "n".repeat(10 << 20);
    for (what, from) in [
        ("column", "camera.pose"),
        ("group", "\"name\":\"lidar\""),
        ("type", "f32[?,4]"),
        ("feature", "\"read_features\":[]"),
        ("uuid", "\"table\":\""),
    ] {
        let to = match what {
            "group" => format!("\"name\":\"{long}\""),
            "feature" => format!("\"read_features\":[\"{long}\"]"),
            "uuid" => format!("\"table\":\"{long}"),
            _ => long.clone(),
        };
        refused(&format!("a {what} of 10 MiB"), json.replace(from, &to).as_bytes(), "");
    }
    // An unknown member may be long.
    let harmless = with(&format!("\"new\":\"{long}\""));
    assert_eq!(sound.look("an unknown member of 10 MiB", &sound.forged.sealed_with(&harmless)), Seen::Harmless);
}

#[test]
fn very_many_columns_with_scattered_ids_are_looked_up_quickly() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let mut forged = sound.forged.clone();
    let schema = &mut forged.manifest["schema"];
    let mut ids: Vec<u32> = (10..40_010).collect();
    ids.reverse();
    let index = schema["index"].as_array_mut().unwrap();
    index.extend(ids.iter().map(|id| json!(id)));
    let columns = schema["columns"].as_array_mut().unwrap();
    columns.extend(ids.iter().map(|id| json!({"id": id, "name": format!("c{id}"), "type": "i64"})));
    sound.refused("40,000 index columns", &forged.sealed());
}

#[test]
fn stores_without_number_in_many_places_or_behind_odd_urls_are_refused() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let with = |stores: Value| {
        let mut forged = sound.forged.clone();
        forged.manifest["stores"] = stores;
        forged.manifest["read_features"] = json!(["references"]);
        forged.manifest["write_features"] = json!(["references"]);
        // All chunks claim to be in the first store.
        for group in 0..3 {
            let mut rows = forged.layout(group);
            rows.iter_mut().for_each(|row| row.owner = 1);
            forged.set_layout(group, &rows);
        }
        forged
    };
    let store = |urls: Value| json!({"table": "00000000-0000-0000-0000-000000000007", "version": 3, "blake3": "ab".repeat(32), "urls": urls});
    let refused = |what: &str, stores: Value, text: &str| {
        let error = sound.refused(what, &with(stores).sealed());
        assert!(error.contains(text), "{what}: {error}");
    };
    refused("4,097 stores", json!(vec![store(json!(["../a"])); 4097]), "at most 4096");
    refused("100,000 places", json!([store(json!(vec!["../a"; 100_000]))]), "store 1");
    refused("no place", json!([store(json!([]))]), "store 1");
    refused("a place without a name", json!([store(json!([""]))]), "store 1");
    let long = format!("../{}", "a/".repeat(1 << 20));
    for url in [
        "http://127.0.0.1/",
        "s3://bucket/a",
        "file:///etc",
        "file:///etc/../",
        "FILE:///etc",
        "memory://",
        "memory://table",
        "javascript:alert(1)",
        "://",
        "file:/etc",
        "/etc",
        "//host/share",
        "../../../../../../etc",
        "..\\..\\etc",
        "%2e%2e/%2e%2e/etc",
        "..%2F..%2Fetc",
        "../a?b",
        "../a#b",
        "\u{0}",
        "../\u{0}",
        "..",
        ".",
        "a",
        long.as_str(),
    ] {
        let what = format!("store at {url:.60}");
        let error = sound.refused(&what, &with(json!([store(json!([url]))])).sealed());
        println!("{what}: {error}");
    }
}

#[test]
fn very_wide_groups_and_very_many_groups_are_looked_up_quickly() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let many = 20_000_u32;
    let wide = |index: bool, masked: bool| {
        let mut forged = sound.forged.clone();
        let manifest = &mut forged.manifest;
        let ids: Vec<u32> = (10..10 + many).rev().collect();
        let columns = ids.iter().map(|id| json!({"id": id, "name": format!("c{id}"), "type": "i64"}));
        manifest["schema"]["columns"].as_array_mut().unwrap().extend(columns);
        if index {
            manifest["schema"]["index"].as_array_mut().unwrap().extend(ids.iter().map(|id| json!(id)));
            let statistics = ids.iter().map(|id| json!({"column": id, "min": null, "max": null, "nulls": 0}));
            manifest["segments"][0]["statistics"].as_array_mut().unwrap().extend(statistics);
            return forged;
        }
        let mut sorted = ids.clone();
        sorted.reverse();
        let stored = |bytes: u64| {
            let mut stored = manifest["segments"][0]["groups"][1].clone();
            stored["columns"] = json!(vec![json!({"stored": bytes, "logical": 0}); many as usize]);
            stored
        };
        let stored = [stored(1), stored(2)];
        for (number, stored) in stored.into_iter().enumerate() {
            let mut group = json!({"name": format!("wide {number}"), "columns": ids});
            if masked && number == 0 {
                group["masked"] = json!(sorted);
            }
            manifest["schema"]["groups"].as_array_mut().unwrap().push(group);
            manifest["segments"][0]["groups"].as_array_mut().unwrap().push(stored);
        }
        if masked {
            manifest["read_features"] = json!(["masked-copies"]);
        }
        forged
    };
    for (what, forged) in [
        ("20,000 index columns that are not there", wide(true, false)),
        ("two groups of 20,000 columns", wide(false, false)),
        ("20,000 masked columns", wide(false, true)),
    ] {
        println!("{what}: {}", sound.refused(what, &forged.sealed()));
    }
    // 150 columns, each in 150 groups.
    let mut forged = sound.forged.clone();
    let ids: Vec<u32> = (10..160).collect();
    let columns = ids.iter().map(|id| json!({"id": id, "name": format!("c{id}"), "type": "i64"}));
    forged.manifest["schema"]["columns"].as_array_mut().unwrap().extend(columns);
    let mut stored = forged.manifest["segments"][0]["groups"][1].clone();
    stored["columns"] = json!(vec![json!({"stored": 1, "logical": 0}); ids.len()]);
    for number in 0..150 {
        forged.manifest["schema"]["groups"].as_array_mut().unwrap().push(json!({"name": format!("g{number}"), "columns": ids}));
        forged.manifest["segments"][0]["groups"].as_array_mut().unwrap().push(stored.clone());
    }
    println!("150 groups: {}", sound.refused("150 groups of 150 columns", &forged.sealed()));
}
