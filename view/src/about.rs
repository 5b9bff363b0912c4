//! Describes a table for its page: columns, properties, lineage, tags, versions, the tables that it reads, and the tables that read it. A long list
//! is cut, and its length is given.

use serde_json::{Value, json};
use tetrys::{Result, Table, schema::Column};

/// Most entries of a list.
const MOST: usize = 200;
/// Most bytes of a property or of the lineage.
const MOST_TEXT: usize = 16 << 10;

/// Describes a version of a table. Reads nothing but the manifests of the tables behind a view.
pub(crate) async fn about(table: &Table, url: &str) -> Value {
    let schema = table.schema();
    let index: Vec<Value> = schema.index().map(column).collect();
    let groups: Vec<Value> = schema
        .groups()
        .iter()
        .enumerate()
        .map(|(number, group)| {
            let bytes = table.storage().group_bytes(number);
            let shown = group.columns.iter().filter(|id| !group.masked.contains(id));
            let columns: Vec<Value> = shown.filter_map(|id| schema.column(*id)).map(column).collect();
            json!({"name": group.name, "stored": bytes.stored, "logical": bytes.logical, "columns": columns})
        })
        .collect();
    let names = |columns: &mut dyn Iterator<Item = &Column>| columns.map(|column| column.name.clone()).collect::<Vec<_>>();
    let owners = table.storage().owners().iter().take(MOST).map(
        |owner| json!({"url": owner.urls.first(), "urls": owner.urls, "version": owner.version, "id": owner.table.to_string()}),
    );
    let (stands_on, failure) = match table.is_view() {
        true => sources(table).await,
        false => (Vec::new(), None),
    };
    json!({
        "url": url,
        "id": table.id().to_string(),
        "version": table.version(),
        "view": table.is_view(),
        "rows": table.rows(),
        "sequences": table.sequence_count(),
        "segments": table.storage().segment_count(),
        "preset": table.preset(),
        "tags": table.versions().tags().iter().take(MOST).collect::<Vec<_>>(),
        "properties": table.properties().iter().take(MOST).map(|(name, value)| json!([name, shown(value)])).collect::<Vec<_>>(),
        "lineage": shown(table.lineage()),
        "attachments": table.attachments().take(MOST).collect::<Vec<_>>(),
        "sequence_by": names(&mut schema.sequence_by()),
        "order_by": names(&mut schema.order_by()),
        "index": index,
        "groups": groups,
        "owners": owners.collect::<Vec<_>>(),
        "owner_count": table.storage().owners().len(),
        "sources": stands_on,
        "sources_failure": failure,
    })
}

fn column(column: &Column) -> Value {
    let properties: Vec<Value> = column.properties.iter().take(MOST).map(|(name, value)| json!([name, shown(value)])).collect();
    json!({"name": column.name, "type": column.ty.to_string(), "properties": properties})
}

/// Returns a value, or the beginning of its text if it is long.
fn shown(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() <= MOST_TEXT {
        return value.clone();
    }
    let end = text.char_indices().map(|(place, _)| place).take_while(|place| *place <= MOST_TEXT).last().unwrap_or(0);
    format!("{}\u{2026}", &text[..end]).into()
}

/// Describes the tables behind a view. One that cannot be opened is an error of this list alone.
async fn sources(view: &Table) -> (Vec<Value>, Option<String>) {
    match view.sources().await {
        Ok(tables) => (tables.iter().take(MOST).map(short).collect(), None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    }
}

fn short(table: &Table) -> Value {
    json!({
        "url": table.url(), "version": table.version(), "rows": table.rows(), "view": table.is_view(),
        "groups": table.schema().groups().iter().map(|group| group.name.as_str()).collect::<Vec<_>>(),
    })
}

/// Lists the tables that use this one.
pub(crate) async fn users(table: &Table) -> Result<Value> {
    let users = table.storage().users().await?;
    let json: Vec<Value> = users
        .iter()
        .rev()
        .take(MOST)
        .map(|user| {
            json!({
                "version": user.version, "url": user.url, "user_version": user.user_version, "written_ms": user.written_ms,
                "state": user.state, "damage": user.damage,
            })
        })
        .collect();
    Ok(json!({"users": json, "count": users.len()}))
}

/// Lists the newest versions.
pub(crate) async fn versions(table: &Table) -> Result<Value> {
    let (versions, has_older) = table.versions().recent(MOST).await?;
    let json: Vec<Value> = versions
        .iter()
        .map(|version| {
            json!({
                "version": version.version, "parent": version.parent, "written_ms": version.written_ms,
                "operation": version.operation, "tags": version.tags, "rows": version.rows, "bytes_added": version.bytes_added,
                "writer": version.writer, "damage": version.damage,
            })
        })
        .collect();
    Ok(json!({"versions": json, "has_older": has_older}))
}
