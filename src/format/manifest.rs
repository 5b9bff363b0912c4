//! The manifest: the one object that makes a version exist. Follows `format-spec/manifest.md#members`.
//!
//! It names every other object by size and BLAKE3 and ends with the BLAKE3 of its own bytes; it grows with segments and groups,
//! never with rows, chunks or partitions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::{
    cuts::Cuts,
    locator::Locator,
    sealed,
    view::{View, ViewSource},
};
use crate::{
    error::{Error, Result, counted, short},
    id::{Hash, ObjectRef},
    schema::{Column, ColumnGroup, ColumnId, Schema},
};

/// The format number that this build writes and reads.
pub const FORMAT: u32 = 1;
/// A segment has at most this many rows.
pub const MAX_SEGMENT_ROWS: u64 = 4 << 20;
/// A version has at most this many segments.
const MAX_SEGMENTS: usize = 1 << 20;

/// One version of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The table, the same in all its versions.
    pub table: Uuid,
    /// 1, 2, 3, ..; never handed out twice.
    pub version: u64,
    /// The version this one was made from.
    pub parent: Option<Parent>,
    /// Chosen by the committer; by it a lost answer is told from a lost race.
    pub commit_id: Uuid,
    /// Columns and groups.
    pub schema: Schema,
    /// The preset that chose the codec chains.
    pub preset: String,
    /// The constants of cutting.
    pub cuts: Cuts,
    /// In row order.
    pub segments: Vec<Segment>,
    /// Small objects beside the rows: maps, calibrations.
    pub attachments: BTreeMap<String, ObjectRef>,
    /// What the user says of the table.
    pub properties: BTreeMap<String, Value>,
    /// Names of versions of this table, by which they are opened.
    pub tags: BTreeMap<String, u64>,
    /// What wrote it, from which inputs.
    pub lineage: Value,
    /// The tables whose chunks this one points at; layouts name them by number, from 1.
    pub stores: Vec<ForeignTable>,
    /// Objects that garbage collection means to delete. A version that needs one again leaves it out here, unless
    /// [`Manifest::marked`] has it.
    pub condemned: Vec<Condemned>,
    /// Objects that garbage collection deletes: no later version may use them as long as they stand here. `Some` wherever this
    /// build condemned or marked something; `None` where nothing is, and in what older builds condemned.
    pub deleting: Option<Vec<Condemned>>,
    /// What a writer of the next version must know, sorted, beyond what follows from `stores`, `condemned` and `tags`.
    pub write_features: Vec<String>,
    /// Of a view: where its rows are.
    pub view: Option<View>,
}

/// A version of another table, some of whose chunks or rows this one uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignTable {
    /// The table.
    pub table: Uuid,
    /// The version that holds the chunks.
    pub version: u64,
    /// The BLAKE3 that ends its manifest.
    pub blake3: Hash,
    /// Where it may lie, best first; relative ones start at the root of this table.
    pub urls: Vec<String>,
}

/// An object that garbage collection means to delete, or deletes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condemned {
    /// The folder: `chunks`, `index`, `layout`, `hashes`, `joins` or `attachments`.
    pub folder: String,
    /// Its name and size.
    #[serde(flatten)]
    pub object: ObjectRef,
}

impl Condemned {
    /// The object's name below the root of the table.
    pub fn name(&self) -> String {
        self.object.name_in(&self.folder)
    }
}

/// Announces chunks of other tables.
const REFERENCES: &str = "references";
/// Announces columns whose copy in some group is not valid.
const MASKED_COPIES: &str = "masked-copies";
/// Announces objects about to be deleted.
const CONDEMNED: &str = "condemned";
/// Announces objects that are deleted only once they are marked.
const DELETING: &str = "deleting";
/// Announces rows of other tables.
const VIEWS: &str = "views";
/// Announces names of versions.
const TAGS: &str = "tags";
/// Announces ids of columns that were dropped.
const NEXT_COLUMN: &str = "next-column";
/// What this build can read.
const READ_FEATURES: [&str; 3] = [MASKED_COPIES, REFERENCES, VIEWS];
/// Names of attachments and properties are at most this long, in bytes.
const MAX_NAME: usize = 1024;
/// More than anybody has; each costs a look-up.
const MAX_STORES: usize = 4096;
/// More places than anybody keeps a table at; a reader may have to try each.
const MAX_URLS: usize = 16;

/// The version before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Its number.
    pub version: u64,
    /// The BLAKE3 that ends its manifest.
    pub blake3: Hash,
}

/// Up to [`MAX_SEGMENT_ROWS`] rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Table row of its first row.
    pub first_row: u64,
    /// How many rows.
    pub rows: u64,
    /// How many sequences have rows here.
    pub sequences: u64,
    /// Whether the first of them began in the segment before.
    pub continues: bool,
    /// The index columns.
    pub index: ObjectRef,
    /// One for each index column, in index order.
    pub statistics: Vec<IndexStatistics>,
    /// One for each column group, in schema order.
    pub groups: Vec<GroupSegment>,
}

/// What an index column holds within a segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexStatistics {
    /// The column.
    pub column: ColumnId,
    /// The least value, where it is short enough to keep; NaN does not count.
    #[serde(deserialize_with = "Option::deserialize")]
    pub min: Option<Value>,
    /// The greatest value, likewise.
    #[serde(deserialize_with = "Option::deserialize")]
    pub max: Option<Value>,
    /// Rows without a value.
    pub nulls: u64,
}

/// A column group within a segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupSegment {
    /// The block map.
    pub layout: ObjectRef,
    /// The logical block hashes.
    pub hashes: ObjectRef,
    /// How many blocks.
    pub blocks: u64,
    /// How many runs of blocks; a fresh table has one a chunk.
    pub runs: u64,
    /// Stored bytes of all blocks.
    pub stored_bytes: u64,
    /// One for each column of the group.
    pub columns: Vec<ColumnBytes>,
}

/// What a column takes within a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnBytes {
    /// Bytes of its pages.
    pub stored: u64,
    /// Bytes of its canonical form.
    pub logical: u64,
}

/// Its JSON, less the hash at the end. Every member must be there, also one that may be null.
#[derive(Serialize, Deserialize)]
struct Record {
    format: u32,
    read_features: Vec<String>,
    write_features: Vec<String>,
    table: Uuid,
    version: u64,
    #[serde(deserialize_with = "Option::deserialize")]
    parent: Option<Parent>,
    commit_id: Uuid,
    schema: SchemaRecord,
    preset: String,
    cuts: Cuts,
    rows: u64,
    sequences: u64,
    segments: Vec<Segment>,
    stores: Vec<ForeignTable>,
    condemned: Vec<Condemned>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleting: Option<Vec<Condemned>>,
    attachments: BTreeMap<String, ObjectRef>,
    properties: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_column: Option<u32>,
    lineage: Value,
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    view: Option<View>,
}

/// A member that may be absent, and is no null.
fn there<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<View>, D::Error> {
    View::deserialize(deserializer).map(Some)
}

/// What is looked at first: a table from a later build is refused by the feature it needs, not by some member it lacks.
#[derive(Deserialize)]
struct Probe {
    format: u32,
    #[serde(default)]
    read_features: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct SchemaRecord {
    columns: Vec<ColumnRecord>,
    groups: Vec<GroupRecord>,
    index: Vec<ColumnId>,
    sequence_by: Vec<ColumnId>,
    order_by: Vec<ColumnId>,
}

#[derive(Serialize, Deserialize)]
struct ColumnRecord {
    id: ColumnId,
    name: String,
    #[serde(rename = "type")]
    ty: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    properties: BTreeMap<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct GroupRecord {
    name: String,
    columns: Vec<ColumnId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    masked: Vec<ColumnId>,
}

/// The name of a version's manifest: newest first in a listing.
pub fn manifest_name(version: u64) -> String {
    format!("manifests/{:020}.json", u64::MAX - version)
}

/// The version of a manifest's name; the first is 1.
pub fn version_of_name(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("manifests/")?.strip_suffix(".json")?;
    let number =
        (digits.len() == 20 && digits.bytes().all(|digit| digit.is_ascii_digit())).then(|| digits.parse::<u64>().ok())??;
    u64::MAX.checked_sub(number).filter(|version| *version > 0)
}

/// The hash that ends a manifest, checked against its bytes; what they say is not looked at.
///
/// # Errors
/// `Corrupt` where it is not that of the bytes.
pub fn manifest_hash(bytes: &[u8]) -> Result<Hash> {
    sealed::check("manifest", bytes)
}

impl Manifest {
    /// Rows of the version.
    pub fn rows(&self) -> u64 {
        self.segments.iter().map(|segment| segment.rows).sum()
    }

    /// Sequences of the version.
    pub fn sequences(&self) -> u64 {
        self.segments.iter().map(|segment| segment.sequences - u64::from(segment.continues)).sum()
    }

    /// Everything that stands in `condemned` or `deleting`.
    fn given_up(&self) -> impl Iterator<Item = &Condemned> {
        self.condemned.iter().chain(self.deleting.iter().flatten())
    }

    /// The objects that no version may use: those that are being deleted. What older builds condemned, they delete without a
    /// mark, so it counts as marked.
    pub fn marked(&self) -> impl Iterator<Item = &Condemned> {
        self.deleting.as_ref().unwrap_or(&self.condemned).iter()
    }

    /// The objects that a later version may use again: condemned, and not marked.
    pub fn withdrawable(&self) -> impl Iterator<Item = &Condemned> {
        self.condemned.iter().filter(|_| self.deleting.is_some())
    }

    /// The id of the next new column, where columns with the highest ids were dropped.
    fn next_column(&self) -> Option<u32> {
        let above = self.schema.columns().iter().map(|column| column.id.0.saturating_add(1)).max().unwrap_or(0);
        Some(self.schema.next_id()).filter(|next| *next > above)
    }

    /// A sorted list of features: those in use, and others.
    fn features(used: &[(&str, bool)], others: &[String]) -> Vec<String> {
        let used = used.iter().filter(|(_, used)| *used).map(|(name, _)| (*name).to_owned());
        used.chain(others.iter().cloned()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The stored bytes, and the BLAKE3 that ends them.
    ///
    /// # Errors
    /// `Internal` where a property cannot be written as JSON.
    pub fn to_bytes(&self) -> Result<(Vec<u8>, Hash)> {
        let schema = SchemaRecord {
            columns: self
                .schema
                .columns()
                .iter()
                .map(|column| ColumnRecord {
                    id: column.id,
                    name: column.name.clone(),
                    ty: column.ty.to_string(),
                    properties: column.properties.clone(),
                })
                .collect(),
            groups: self
                .schema
                .groups()
                .iter()
                .map(|group| GroupRecord {
                    name: group.name.clone(),
                    columns: group.columns.clone(),
                    masked: group.masked.clone(),
                })
                .collect(),
            index: self.schema.index().map(|column| column.id).collect(),
            sequence_by: self.schema.sequence_by().map(|column| column.id).collect(),
            order_by: self.schema.order_by().map(|column| column.id).collect(),
        };
        let record = Record {
            format: FORMAT,
            read_features: Self::features(
                &[
                    (REFERENCES, !self.stores.is_empty()),
                    (MASKED_COPIES, self.schema.has_masked_copies()),
                    (VIEWS, self.view.is_some()),
                ],
                &[],
            ),
            write_features: Self::features(
                &[
                    (REFERENCES, !self.stores.is_empty()),
                    (CONDEMNED, !self.condemned.is_empty()),
                    (DELETING, self.deleting.is_some()),
                    (TAGS, !self.tags.is_empty()),
                    (NEXT_COLUMN, self.next_column().is_some()),
                ],
                &self.write_features,
            ),
            table: self.table,
            version: self.version,
            parent: self.parent.clone(),
            commit_id: self.commit_id,
            schema,
            preset: self.preset.clone(),
            cuts: self.cuts,
            rows: self.rows(),
            sequences: self.sequences(),
            segments: self.segments.clone(),
            stores: self.stores.clone(),
            condemned: self.condemned.clone(),
            deleting: self.deleting.clone(),
            attachments: self.attachments.clone(),
            properties: self.properties.clone(),
            tags: self.tags.clone(),
            next_column: self.next_column(),
            lineage: self.lineage.clone(),
            view: self.view.clone(),
        };
        sealed::seal("manifest", &record)
    }

    /// Checks the stored bytes of version `version`, the hash before anything else.
    ///
    /// # Errors
    /// `Corrupt`, or `Unsupported` naming the format number or feature this build does not know.
    pub fn parse(bytes: &[u8], version: u64) -> Result<(Self, Hash)> {
        let hash = sealed::check("manifest", bytes)?;
        let malformed = |error: serde_json::Error| Error::corrupt(format!("manifest: {}", short(error)));
        let probe: Probe = serde_json::from_slice(bytes).map_err(malformed)?;
        if probe.format != FORMAT {
            return Err(Error::unsupported(format!("manifest: format {}, this build reads {FORMAT}", probe.format)));
        }
        if let Some(feature) = probe.read_features.iter().find(|feature| !READ_FEATURES.contains(&feature.as_str())) {
            return Err(Error::unsupported(format!("manifest: read feature `{}` is not known to this build", short(feature))));
        }
        let record: Record = sealed::read("manifest", bytes)?;
        if record.version != version {
            return Err(Error::corrupt(format!("manifest: version {} under the name of version {version}", record.version)));
        }
        let (read_features, write_features) = (record.read_features, record.write_features);
        let known = [REFERENCES, CONDEMNED, DELETING, TAGS, NEXT_COLUMN];
        let manifest = Self {
            table: record.table,
            version,
            parent: record.parent,
            commit_id: record.commit_id,
            schema: parse_schema(record.schema)?.with_next_id(record.next_column.unwrap_or(0)),
            preset: record.preset,
            cuts: record.cuts.check().map_err(|error| Error::corrupt(format!("manifest: {error}")))?,
            segments: record.segments,
            attachments: record.attachments,
            properties: record.properties,
            tags: record.tags,
            lineage: record.lineage,
            stores: record.stores,
            condemned: record.condemned,
            deleting: record.deleting,
            write_features: write_features.iter().filter(|feature| !known.contains(&feature.as_str())).cloned().collect(),
            view: record.view,
        };
        for (list, features) in [("read", &read_features), ("write", &write_features)] {
            if !features.is_sorted_by(|a, b| a < b) {
                let features = short(format_args!("{features:?}"));
                return Err(Error::corrupt(format!("manifest: {list} features {features}: not sorted, or one twice")));
            }
        }
        let announced = |feature: &str, list: &[String], used: bool| match used == list.iter().any(|name| name == feature) {
            true => Ok(()),
            false if used => Err(Error::corrupt(format!("manifest: it uses `{feature}` and does not announce it"))),
            false => Err(Error::corrupt(format!("manifest: it announces `{feature}` and does not use it"))),
        };
        announced(REFERENCES, &read_features, !manifest.stores.is_empty())?;
        announced(REFERENCES, &write_features, !manifest.stores.is_empty())?;
        announced(MASKED_COPIES, &read_features, manifest.schema.has_masked_copies())?;
        announced(CONDEMNED, &write_features, !manifest.condemned.is_empty())?;
        announced(DELETING, &write_features, manifest.deleting.is_some())?;
        announced(VIEWS, &read_features, manifest.view.is_some())?;
        announced(TAGS, &write_features, !manifest.tags.is_empty())?;
        announced(NEXT_COLUMN, &write_features, record.next_column.is_some())?;
        if record.next_column != manifest.next_column() {
            let next = record.next_column;
            return Err(Error::corrupt(format!("manifest: next column {next:?} is not above the ids of all columns")));
        }
        manifest.check(record.rows, record.sequences)?;
        Ok((manifest, hash))
    }

    fn check(&self, rows: u64, sequences: u64) -> Result<()> {
        if self.segments.len() > MAX_SEGMENTS {
            return Err(Error::corrupt(format!("manifest: {}, at most {MAX_SEGMENTS}", counted(self.segments.len(), "segment"))));
        }
        let before = self.parent.as_ref().map(|parent| parent.version);
        if before.is_some_and(|before| before == 0 || before >= self.version) || before.is_none() != (self.version == 1) {
            return Err(Error::corrupt(format!("manifest: version {} with parent {before:?}", self.version)));
        }
        if self.stores.len() > MAX_STORES {
            return Err(Error::corrupt(format!("manifest: {} stores, at most {MAX_STORES}", self.stores.len())));
        }
        for (number, store) in self.stores.iter().enumerate() {
            let itself = store.table == self.table && store.version >= self.version;
            let urls = (1..=MAX_URLS).contains(&store.urls.len()) && !store.urls.iter().any(String::is_empty);
            if !urls || store.version == 0 || itself {
                return Err(Error::corrupt(format!(
                    "manifest: store {}: version {} of table {} at {}",
                    number + 1,
                    store.version,
                    store.table,
                    short(format_args!("{:?}", store.urls))
                )));
            }
        }
        for (tag, version) in &self.tags {
            if *version == 0 || *version >= self.version || !is_tag(tag) {
                return Err(Error::corrupt(format!("manifest: tag `{}` of version {version}", short(tag))));
            }
        }
        let folders = ["attachments", "chunks", "hashes", "index", "joins", "layout"];
        if let Some(condemned) = self.given_up().find(|condemned| !folders.contains(&condemned.folder.as_str())) {
            return Err(Error::corrupt(format!("manifest: a condemned object in `{}`", short(&condemned.folder))));
        }
        let mut given_up = BTreeSet::new();
        if self.deleting.is_some()
            && let Some(twice) = self.given_up().find(|object| !given_up.insert((&object.folder, object.object.blake3)))
        {
            let name = twice.name();
            return Err(Error::corrupt(format!("manifest: {name} is condemned twice, or condemned and being deleted")));
        }
        let of_columns = self.schema.columns().iter().flat_map(|column| column.properties.keys());
        let mut names = self.attachments.keys().chain(self.properties.keys()).chain(of_columns);
        if let Some(name) = names.find(|name| !(1..=MAX_NAME).contains(&name.len())) {
            return Err(Error::corrupt(format!(
                "manifest: attachment or property `{}`: a name of {}, expected 1 to {MAX_NAME}",
                short(name),
                counted(name.len(), "byte")
            )));
        }
        // So that nobody behind this has to ask whether a sum of sizes fits.
        let sizes = self.segments.iter().flat_map(|segment| {
            let groups = segment.groups.iter().flat_map(|group| {
                let columns = group.columns.iter().flat_map(|column| [column.stored, column.logical]);
                [group.layout.bytes, group.hashes.bytes, group.stored_bytes].into_iter().chain(columns)
            });
            [segment.index.bytes].into_iter().chain(groups)
        });
        let others = self.attachments.values().chain(self.given_up().map(|condemned| &condemned.object));
        let of_view = self.view.iter().flat_map(|view| &view.sources);
        let others = others.chain(of_view.flat_map(ViewSource::maps));
        let sizes = sizes.chain(others.map(|object| object.bytes));
        if sizes.chain([0]).try_fold(0_u64, u64::checked_add).is_none() {
            return Err(Error::corrupt("manifest: sizes that add up to 2^64 bytes and more"));
        }
        let index: Vec<ColumnId> = self.schema.index().map(|column| column.id).collect();
        let mut next = 0_u64;
        for (number, segment) in self.segments.iter().enumerate() {
            let columns_fit = segment.groups.len() == self.schema.groups().len()
                && segment.groups.iter().zip(self.schema.groups()).all(|(stored, group)| {
                    stored.columns.len() == group.columns.len()
                        && stored.blocks <= segment.rows
                        && (1..=stored.blocks).contains(&stored.runs)
                });
            if segment.first_row != next
                || segment.rows == 0
                || segment.rows > MAX_SEGMENT_ROWS
                || segment.sequences == 0
                || segment.sequences > segment.rows
                || (segment.continues && number == 0)
                || !segment.statistics.iter().map(|statistics| statistics.column).eq(index.iter().copied())
                || segment.statistics.iter().any(|statistics| statistics.nulls > segment.rows)
                || !columns_fit
            {
                return Err(Error::corrupt(format!(
                    "manifest: segment {number}: rows {}..+{} after {next}, {}, {}: does not fit the schema",
                    segment.first_row,
                    segment.rows,
                    counted(segment.sequences, "sequence"),
                    counted(segment.groups.len(), "group")
                )));
            }
            next += segment.rows;
        }
        if next != rows || self.sequences() != sequences || rows > Locator::MAX_ROWS {
            return Err(Error::corrupt(format!(
                "manifest: {} and {}, its segments have {}",
                counted(rows, "row"),
                counted(sequences, "sequence"),
                counted(next, "row")
            )));
        }
        if let Some(view) = &self.view {
            let one = |(number, segment): (usize, &Segment)| segment.sequences == 1 && segment.continues == (number > 0);
            view.check(self.stores.len(), &self.schema, self.segments.iter().enumerate().all(one))?;
        }
        Ok(())
    }
}

/// Whether a version can have this name: 1 to 64 letters, digits, `.`, `_` and `-`, not digits alone.
pub fn is_tag(text: &str) -> bool {
    let character = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(character) && !text.bytes().all(|byte| byte.is_ascii_digit())
}

fn parse_schema(record: SchemaRecord) -> Result<Schema> {
    let columns = record
        .columns
        .into_iter()
        .map(|column| {
            let ty = column.ty.parse().map_err(|error: Error| error.at(format!("column `{}`", short(&column.name))))?;
            Ok(Column { id: column.id, name: column.name, ty, properties: column.properties })
        })
        .collect::<Result<Vec<_>>>()?;
    let groups = record.groups.into_iter();
    let groups = groups.map(|group| ColumnGroup { name: group.name, columns: group.columns, masked: group.masked }).collect();
    Schema::from_parts(columns, groups, record.index, record.sequence_by, record.order_by)
        .map_err(|error| Error::corrupt(format!("manifest: schema: {error}")))
}

impl ViewSource {
    /// Compares what the view says of the source with what the source says itself.
    ///
    /// # Errors
    /// `Corrupt` where they differ, or the source is a view.
    pub fn check_against(&self, source: &Manifest) -> Result<()> {
        if source.view.is_some() {
            return Err(Error::corrupt("a source that is a view itself"));
        }
        if source.rows() != self.rows {
            return Err(Error::corrupt(format!("{}, the view says {}", counted(source.rows(), "row"), self.rows)));
        }
        let grouped: BTreeSet<ColumnId> = source.schema.groups().iter().flat_map(|group| &group.columns).copied().collect();
        for column in &self.columns {
            let found = source.schema.column(column.id).filter(|found| grouped.contains(&found.id));
            if found.is_none_or(|found| found.ty != column.ty) {
                return Err(Error::corrupt(format!(
                    "no group column {} of type {}, the view has it as `{}`",
                    column.id.0,
                    column.ty,
                    short(&column.name)
                )));
            }
        }
        let index: BTreeSet<ColumnId> = source.schema.index().map(|column| column.id).collect();
        match self.index.iter().find(|column| !index.contains(&column.id)) {
            Some(column) => {
                Err(Error::corrupt(format!("no index column {}, the view has it as `{}`", column.id.0, short(&column.name))))
            }
            None => Ok(()),
        }
    }
}
