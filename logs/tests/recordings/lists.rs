//! Lists and arrays in which values are missing.

use serde_json::{Value, json};

use crate::{
    decoders::values,
    rows::{stamped, topic},
    writing::{Message, Parts, Topic, write},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_a_list_of_json_lacks_is_null() {
    let list = |item: &Value| json!({"type": "array", "items": item});
    let (number, text) = (json!({"type": "number"}), json!({"type": "string"}));
    let item =
        json!({"type": "object", "properties": {"id": {"type": "integer"}, "name": text, "x": number, "xs": list(&number)}});
    let three = json!({"type": "array", "items": number, "minItems": 3, "maxItems": 3});
    let definition = json!({"type": "object", "properties": {"xs": list(&number), "three": three, "names": list(&text), "boxes": list(&item)}});
    let topics = [Topic { schema_encoding: "jsonschema", encoding: "json", ..topic("/all", "here/It", &definition.to_string()) }];
    let boxes = json!([{"id": 1, "name": "b", "x": 0.5, "xs": [null, 2]}, {"id": null}, null]);
    let data = [
        json!({"xs": [1.5, null], "three": [null, 2, 3], "names": ["a", null], "boxes": boxes}),
        json!({"xs": [], "three": [1, 2, 3], "boxes": []}),
        json!({"xs": [null], "names": [null]}),
    ];
    let message = |(at, json): (u64, &Value)| Message { data: json.to_string().into_bytes(), ..stamped(0, at, 1, 1) };
    let messages: Vec<Message> = (100..).zip(&data).map(message).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    std::fs::write(&path, write(&topics, &messages, &Parts::default())).unwrap();
    let found = values(&path, &folder.path().join("table")).await;
    let x = |number: f64| json!(format!("{:016x}", number.to_bits()));
    let (one, two, three) = (x(1.0), x(2.0), x(3.0));
    let nothing = Value::Null;
    for (name, expected) in [
        ("xs", [json!([x(1.5), null]), json!([]), json!([null])]),
        ("three", [json!([null, two, three]), json!([one, two, three]), nothing.clone()]),
        ("names", [json!(["a", null]), nothing.clone(), json!([null])]),
        ("boxes.id", [json!([1, null, null]), json!([]), nothing.clone()]),
        ("boxes.name", [json!(["b", null, null]), json!([]), nothing.clone()]),
        ("boxes.x", [json!([x(0.5), null, null]), json!([]), nothing.clone()]),
        ("boxes.xs", [json!([[null, two], null, null]), json!([]), nothing.clone()]),
    ] {
        let found: Vec<&Value> = found.iter().map(|row| &row[name]).collect();
        assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{name}");
    }
}
