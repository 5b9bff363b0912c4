//! The manifest: the object that makes a version exist. Follows `format-spec/manifest.md#members`.
//!
//! A manifest names every other object by size and BLAKE3 and ends with the BLAKE3 of its own bytes. Its size depends on the
//! number of segments and groups, not on the number of rows, chunks or partitions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::{
    collections::{self, Collections, Condemned, StoredLists},
    cuts::Cuts,
    locator::Locator,
    sealed::{self, there},
    view::{View, ViewSource},
};
use crate::{
    error::{Error, Result, counted, json_fault, short},
    id::{Hash, ObjectRef},
    schema::{Column, ColumnGroup, ColumnId, Schema},
};

/// The format number that this build writes and reads.
pub const FORMAT: u32 = 1;
/// Maximum number of rows of a segment.
pub const MAX_SEGMENT_ROWS: u64 = 4 << 20;
/// Maximum number of segments of a version.
const MAX_SEGMENTS: usize = 1 << 20;

/// One version of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Id of the table, the same in all versions.
    pub table: Uuid,
    /// Version number: 1, 2, 3, .. A number is never used twice.
    pub version: u64,
    /// The previous version; `None` for version 1.
    pub parent: Option<Parent>,
    /// Id chosen by the committer. By this id a committer without an answer from the store learns whether its own commit won.
    pub commit_id: Uuid,
    /// Columns and groups.
    pub schema: Schema,
    /// Preset that chose the codec chains.
    pub preset: String,
    /// Sizes that control the cuts into blocks and chunks.
    pub cuts: Cuts,
    /// Segments, in row order.
    pub segments: Vec<Segment>,
    /// Objects of any kind beside the rows, such as maps and calibrations, by name.
    pub attachments: BTreeMap<String, ObjectRef>,
    /// Properties of the table, set by the user.
    pub properties: BTreeMap<String, Value>,
    /// Tags: names of earlier versions of this table, by which users open them.
    pub tags: BTreeMap<String, u64>,
    /// Which program wrote the version, from which inputs.
    pub lineage: Value,
    /// Other tables whose chunks or rows this version uses. Layouts refer to them by number, from 1.
    pub stores: Vec<ForeignTable>,
    /// Objects that a garbage collection of an earlier build is going to delete. A version that needs such an object again removes it from
    /// this list, unless [`Manifest::marked`] has it.
    pub condemned: Vec<Condemned>,
    /// Objects that a garbage collection of an earlier build is deleting. No later version may use an object while it is in this list.
    /// `None` if no object is condemned, or a build condemned the objects that did not mark them.
    pub deleting: Option<Vec<Condemned>>,
    /// What garbage collections have decided; `None` before the first one. Where it is `Some`, `condemned` is empty and `deleting` is
    /// `None`: only earlier builds write those two.
    pub collections: Option<Collections>,
    /// Names of features that the writer of the next version must know, sorted. Features that follow from other fields, such as
    /// `stores`, `condemned` and `tags`, are not in this list.
    pub write_features: Vec<String>,
    /// The sources of the rows, if this version is a view.
    pub view: Option<View>,
}

/// A version of another table whose chunks or rows this table uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "unstable"), non_exhaustive)]
pub struct ForeignTable {
    /// Id of the table.
    pub table: Uuid,
    /// Version that has the chunks.
    pub version: u64,
    /// The BLAKE3 at the end of its manifest.
    pub blake3: Hash,
    /// Possible URLs of the table, best first. Relative URLs start at the root of the referring table.
    pub urls: Vec<String>,
}

/// Feature: the version uses chunks or rows of other tables.
const REFERENCES: &str = "references";
/// Feature: the copy of a column in some group is not valid.
const MASKED_COPIES: &str = "masked-copies";
/// Feature: `condemned` has objects.
const CONDEMNED: &str = "condemned";
/// Feature: garbage collection deletes an object only after it is in `deleting`.
const DELETING: &str = "deleting";
/// Feature: the version has `collections`.
const COLLECTIONS: &str = "collections";
/// Feature: the version is a view.
const VIEWS: &str = "views";
/// Feature: versions have tags.
const TAGS: &str = "tags";
/// Feature: parts of index segments can be verified.
const INDEX_TAILS: &str = "index-tails";
/// Feature: columns with the highest ids were dropped.
const NEXT_COLUMN: &str = "next-column";
/// Read features that this build knows.
const READ_FEATURES: [&str; 3] = [MASKED_COPIES, REFERENCES, VIEWS];
/// Maximum length of the name of an attachment or property, in bytes.
const MAX_NAME: usize = 1024;
/// Maximum number of other tables: more than any table has. Each one costs a look-up.
const MAX_STORES: usize = 4096;
/// Maximum number of URLs of another table: more than any table has. A reader may have to try each URL.
const MAX_URLS: usize = 16;

/// The previous version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Version number.
    pub version: u64,
    /// The BLAKE3 at the end of its manifest.
    pub blake3: Hash,
}

/// A segment: up to [`MAX_SEGMENT_ROWS`] consecutive rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Row number of its first row within the table.
    pub first_row: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of sequences with rows in this segment.
    pub sequences: u64,
    /// Whether the first of these sequences began in the previous segment.
    pub continues: bool,
    /// Object with the index columns.
    pub index: ObjectRef,
    /// Length and hash of the last bytes of that object, by which a reader verifies parts of the rest; `None` if it is only read as
    /// a whole.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub tail: Option<ObjectRef>,
    /// Statistics of each index column, in index order.
    pub statistics: Vec<IndexStatistics>,
    /// Objects and sizes of each column group, in schema order.
    pub groups: Vec<GroupSegment>,
}

/// Statistics of an index column within a segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexStatistics {
    /// Id of the column.
    pub column: ColumnId,
    /// Smallest value, if it is short enough to store. NaN does not count.
    #[serde(deserialize_with = "Option::deserialize")]
    pub min: Option<Value>,
    /// Largest value, if it is short enough to store. NaN does not count.
    #[serde(deserialize_with = "Option::deserialize")]
    pub max: Option<Value>,
    /// Number of nulls.
    pub nulls: u64,
}

/// A column group within a segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupSegment {
    /// Layout: the positions of the blocks.
    pub layout: ObjectRef,
    /// Logical hashes of the blocks.
    pub hashes: ObjectRef,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of runs of blocks. A newly written table has one run per chunk.
    pub runs: u64,
    /// Stored bytes of all blocks.
    pub stored_bytes: u64,
    /// Sizes of each column of the group.
    pub columns: Vec<ColumnBytes>,
}

/// Sizes of a column within a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnBytes {
    /// Stored bytes of its pages.
    pub stored: u64,
    /// Bytes of its canonical form.
    pub logical: u64,
}

/// The JSON of a manifest without the hash at the end. Members without a default are required, even if they may be null.
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
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    collections: Option<collections::Record>,
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

/// The members that are parsed first: a table of a later format must fail with the name of the feature that it needs, not with a
/// member that this build does not find.
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

/// Returns the name of the manifest of a version. In a listing the newest version comes first.
pub fn manifest_name(version: u64) -> String {
    format!("manifests/{:020}.json", u64::MAX - version)
}

/// Parses the version from the name of a manifest; `None` for any other name.
pub fn version_of_name(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("manifests/")?.strip_suffix(".json")?;
    let number =
        (digits.len() == 20 && digits.bytes().all(|digit| digit.is_ascii_digit())).then(|| digits.parse::<u64>().ok())??;
    u64::MAX.checked_sub(number).filter(|version| *version > 0)
}

/// Verifies the hash at the end of a manifest and returns the hash. The members are not parsed.
///
/// # Errors
/// - `Corrupt`: the hash is missing or does not match the bytes.
pub fn manifest_hash(bytes: &[u8]) -> Result<Hash> {
    sealed::check("manifest", bytes)
}

/// Returns the hash that the end of a manifest states, also of a damaged one.
pub fn stated_hash(bytes: &[u8]) -> Option<Hash> {
    sealed::stated(bytes)
}

impl Manifest {
    /// Returns the number of rows of the version.
    pub fn rows(&self) -> u64 {
        self.segments.iter().map(|segment| segment.rows).sum()
    }

    /// Returns the number of sequences of the version.
    pub fn sequences(&self) -> u64 {
        self.segments.iter().map(|segment| segment.sequences - u64::from(segment.continues)).sum()
    }

    /// Whether a segment has a tail. Writers of the next version then write tails too.
    pub fn has_tails(&self) -> bool {
        self.segments.iter().any(|segment| segment.tail.is_some())
    }

    /// Returns all objects in `condemned` and `deleting`.
    fn given_up(&self) -> impl Iterator<Item = &Condemned> {
        self.condemned.iter().chain(self.deleting.iter().flatten())
    }

    /// Returns the floor of the garbage collections; 0 before the first one.
    pub fn floor(&self) -> u64 {
        self.collections.as_ref().map_or(0, |collections| collections.floor)
    }

    /// Returns the version that the last garbage collection made; 0 before the first one.
    pub fn last_collection(&self) -> u64 {
        self.collections.as_ref().map_or(0, |collections| collections.last)
    }

    /// Returns the objects that no later version may use, because garbage collection is deleting them. Older builds delete
    /// condemned objects without marking them, so objects that an older build condemned count as marked.
    pub fn marked(&self) -> impl Iterator<Item = &Condemned> {
        self.deleting.as_ref().unwrap_or(&self.condemned).iter()
    }

    /// Returns the id of the next new column if columns with the highest ids were dropped.
    fn next_column(&self) -> Option<u32> {
        let above = self.schema.columns().iter().map(|column| column.id.0.saturating_add(1)).max().unwrap_or(0);
        Some(self.schema.next_id()).filter(|next| *next > above)
    }

    /// Returns the sorted list of the used features and of `others`.
    fn features(used: &[(&str, bool)], others: &[String]) -> Vec<String> {
        let used = used.iter().filter(|(_, used)| *used).map(|(name, _)| (*name).to_owned());
        used.chain(others.iter().cloned()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the stored bytes and the BLAKE3 at their end.
    ///
    /// # Errors
    /// - `Internal`: a property cannot be written as JSON.
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
                    (COLLECTIONS, self.collections.is_some()),
                    (TAGS, !self.tags.is_empty()),
                    (INDEX_TAILS, self.has_tails()),
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
            collections: self.collections.as_ref().map(collections::Record::of),
            attachments: self.attachments.clone(),
            properties: self.properties.clone(),
            tags: self.tags.clone(),
            next_column: self.next_column(),
            lineage: self.lineage.clone(),
            view: self.view.clone(),
        };
        sealed::seal("manifest", &record)
    }

    /// Parses and checks the stored bytes of version `version`. The hash is verified first.
    ///
    /// # Errors
    /// - `Corrupt`: the bytes are damaged, inconsistent, or belong to another version.
    /// - `Unsupported`: this build does not know the format number, a feature, a column type or a codec.
    pub fn parse(bytes: &[u8], version: u64) -> Result<(Self, Hash)> {
        let hash = sealed::check("manifest", bytes)?;
        let malformed = |error: serde_json::Error| Error::corrupt(format!("manifest: {}", short(json_fault(&error))));
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
        let parent = record.parent.as_ref().map(|parent| (parent.version, parent.blake3));
        let known = [REFERENCES, CONDEMNED, DELETING, COLLECTIONS, TAGS, INDEX_TAILS, NEXT_COLUMN];
        let manifest = Self {
            table: record.table,
            version,
            collections: record.collections.map(|found| found.checked(version, parent)).transpose()?,
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
                return Err(Error::corrupt(format!("manifest: {list} features {features}: not sorted, or a duplicate")));
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
        announced(COLLECTIONS, &write_features, manifest.collections.is_some())?;
        if manifest.collections.is_some() && (!manifest.condemned.is_empty() || manifest.deleting.is_some()) {
            return Err(Error::corrupt("manifest: it has both `collections` and objects that another build condemned or marked"));
        }
        announced(VIEWS, &read_features, manifest.view.is_some())?;
        announced(TAGS, &write_features, !manifest.tags.is_empty())?;
        announced(INDEX_TAILS, &write_features, manifest.has_tails())?;
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
                    "manifest: store {}: version {} of table {} at {}: not a valid reference",
                    number + 1,
                    store.version,
                    store.table,
                    short(format_args!("{:?}", store.urls))
                )));
            }
        }
        for (tag, version) in &self.tags {
            if *version == 0 || *version >= self.version || !is_tag(tag) {
                return Err(Error::corrupt(format!("manifest: tag `{}` of version {version}: not valid", short(tag))));
            }
        }
        // A build that condemned objects here had no folder `collections`.
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
        // After this check, no sum of sizes in a manifest can overflow.
        let sizes = self.segments.iter().flat_map(|segment| {
            let groups = segment.groups.iter().flat_map(|group| {
                let columns = group.columns.iter().flat_map(|column| [column.stored, column.logical]);
                [group.layout.bytes, group.hashes.bytes, group.stored_bytes].into_iter().chain(columns)
            });
            [segment.index.bytes].into_iter().chain(groups)
        });
        let others = self.attachments.values().chain(self.given_up().map(|condemned| &condemned.object));
        let of_collections = self.collections.iter().flat_map(|collections| match &collections.lists {
            StoredLists::Here(lists) => lists.condemned.iter().map(|given_up| &given_up.object.object).collect(),
            StoredLists::Object(object) => vec![object],
        });
        let others = others.chain(of_collections);
        let of_view = self.view.iter().flat_map(|view| &view.sources);
        let others = others.chain(of_view.flat_map(ViewSource::maps));
        let sizes = sizes.chain(others.map(|object| object.bytes));
        if sizes.chain([0]).try_fold(0_u64, u64::checked_add).is_none() {
            return Err(Error::corrupt("manifest: the sizes of all objects sum to 2^64 bytes or more"));
        }
        let index: Vec<ColumnId> = self.schema.index().map(|column| column.id).collect();
        let (mut next, mut indexes) = (0_u64, BTreeMap::new());
        for (number, segment) in self.segments.iter().enumerate() {
            // A sequence occurs once. Without this check, one object would stand for any number of sequences.
            let first = *indexes.entry(segment.index.blake3).or_insert(number);
            if first < number && segment.sequences > 1 {
                return Err(Error::corrupt(format!(
                    "manifest: segments {first} and {number} have the same index object, so its {} would occur twice",
                    counted(segment.sequences, "sequence")
                )));
            }
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
                || segment.tail.as_ref().is_some_and(|tail| tail.bytes == 0 || tail.bytes >= segment.index.bytes)
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
                "manifest: {} and {} do not match its segments, which have {}",
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

/// Whether `text` is a valid tag: 1 to 64 ASCII letters, digits, `.`, `_` and `-`, but not digits alone.
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
    /// Checks that the manifest of the source matches its description in the view.
    ///
    /// # Errors
    /// - `Corrupt`: the two differ, or the source is a view.
    pub fn check_against(&self, source: &Manifest) -> Result<()> {
        if source.view.is_some() {
            return Err(Error::corrupt("the source of the view is a view itself"));
        }
        if source.rows() != self.rows {
            return Err(Error::corrupt(format!("{}, the view says {}", counted(source.rows(), "row"), self.rows)));
        }
        let grouped: BTreeSet<ColumnId> = source.schema.groups().iter().flat_map(|group| &group.columns).copied().collect();
        for column in &self.columns {
            let found = source.schema.column(column.id).filter(|found| grouped.contains(&found.id));
            if found.is_none_or(|found| found.ty != column.ty) {
                return Err(Error::corrupt(format!(
                    "no group column {} of type {}; the view names it `{}`",
                    column.id.0,
                    column.ty,
                    short(&column.name)
                )));
            }
        }
        let index: BTreeSet<ColumnId> = source.schema.index().map(|column| column.id).collect();
        match self.index.iter().find(|column| !index.contains(&column.id)) {
            Some(column) => {
                Err(Error::corrupt(format!("no index column {}; the view names it `{}`", column.id.0, short(&column.name))))
            }
            None => Ok(()),
        }
    }
}
