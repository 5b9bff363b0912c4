//! An open data set: its schema and row-group indexes out of `_common_metadata`, and the row groups of its Parquet files.

use std::{collections::BTreeMap, sync::Arc};

use arrow_schema::{DataType, Fields};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use serde_json::{Value, json};
use tetrys::{Error, Result, extension::blocking};

use crate::{
    footer::{self, TAIL, guarded},
    row_groups::{self, RowGroupIndex},
    source::{FileReader, Listing, Source, Stamp},
    unischema::Unischema,
};

/// Files with the metadata of the whole data set. The second one is of Spark, and has them only if there is no first.
const METADATA: [&str; 2] = ["_common_metadata", "_metadata"];
const SCHEMA_KEY: &[u8] = b"dataset-toolkit.unischema.v1";
const INDEX_KEY: &[u8] = b"dataset-toolkit.rowgroups_index.v1";
const FILES_KEY: &[u8] = b"dataset-toolkit.num_row_groups_per_file.v1";
/// Name that Hive gives to the folder of rows without a value.
const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";
/// Maximum rows of a data set: a damaged footer may claim any number.
const MAX_ROWS: u64 = 1 << 42;
/// Threads that read the footers of files.
const FOOTER_THREADS: usize = 8;

/// A Petastorm data set, or a plain Parquet store, open for reading. Clones share it.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use tetrys::Store;
/// use tetrys_petastorm::{Dataset, IngestSettings, ingest};
/// let dataset = Dataset::open("s3://bucket/hello_world").await?;
/// let table = ingest(&dataset, Store::open("hello_world")?, &IngestSettings::default(), |_| {}).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    pub(crate) parts: Arc<Parts>,
}

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) source: Source,
    pub(crate) listing: Listing,
    pub(crate) schema: Option<Unischema>,
    index_pickle: Option<Vec<u8>>,
    pub(crate) files: Vec<DataFile>,
    /// Types of the Parquet columns: one for each different schema among the files, with the first file that has it.
    pub(crate) types: Vec<(Fields, usize)>,
    pub(crate) groups: Vec<Group>,
    warnings: Vec<String>,
}

/// A Parquet file with rows.
#[derive(Clone, Debug)]
pub(crate) struct DataFile {
    pub(crate) name: String,
    pub(crate) stamp: Stamp,
    /// Fields and their values in the names of its folders.
    pub(crate) folders: Vec<(String, Option<String>)>,
}

/// A row group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) file: usize,
    /// Number in its file.
    pub(crate) number: usize,
    pub(crate) rows: u64,
    /// Uncompressed bytes, as the file says.
    pub(crate) bytes: u64,
    /// First row in the data set.
    pub(crate) start: u64,
}

impl Dataset {
    /// Opens the data set at a path or URL: a folder of Parquet files, or one file. Reads the metadata and the footers of all
    /// files. A folder without a Petastorm schema is a plain Parquet store.
    ///
    /// # Errors
    /// The messages name the file.
    /// - `NotFound`: there are no files.
    /// - `Corrupt`: a footer or a pickle is damaged, or a file is missing that the metadata lists.
    /// - `Unsupported`: the schema is none that Petastorm writes. Nothing that a pickle names is called.
    /// - Errors of the file system or the store.
    pub async fn open(url: impl Into<String>) -> Result<Self> {
        Self::open_with(url, [("", ""); 0]).await
    }

    /// Opens a data set with options of its object store, by the names of [`StoreOptions`](tetrys::StoreOptions):
    /// `("aws_region", "eu-west-1")`. They replace those of the environment.
    ///
    /// # Errors
    /// - Those of [`Dataset::open`].
    pub async fn open_with<N: Into<String>, V: Into<String>>(
        url: impl Into<String>,
        options: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self> {
        let options = options.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let source = Source::open(&url.into(), options)?;
        let parts = blocking(move || Parts::open(source)).await?;
        Ok(Self { parts: Arc::new(parts) })
    }

    /// Returns the path or URL.
    pub fn url(&self) -> String {
        self.parts.source.to_string()
    }

    /// Returns the schema; `None` for a plain Parquet store.
    pub fn schema(&self) -> Option<&Unischema> {
        self.parts.schema.as_ref()
    }

    /// Returns the number of rows.
    pub fn rows_len(&self) -> u64 {
        self.parts.groups.last().map_or(0, |group| group.start + group.rows)
    }

    /// Returns the bytes of all Parquet files.
    pub fn stored_bytes(&self) -> u64 {
        self.parts.files.iter().map(|file| file.stamp.bytes).sum()
    }

    /// Returns the files in the order of their rows, with their numbers of row groups.
    pub fn files(&self) -> Vec<(&str, usize)> {
        let mut counts = vec![0; self.parts.files.len()];
        for group in &self.parts.groups {
            counts[group.file] += 1;
        }
        self.parts.files.iter().map(|file| file.name.as_str()).zip(counts).collect()
    }

    /// Returns one sentence for each thing in the data set that is left out or looks wrong.
    pub fn warnings(&self) -> &[String] {
        &self.parts.warnings
    }

    /// Reads the row-group indexes: which row groups have a value. An import does not need them.
    ///
    /// # Errors
    /// - `Corrupt`, `Unsupported`: the pickle is damaged, or describes something else.
    pub fn row_group_indexes(&self) -> Result<Vec<RowGroupIndex>> {
        let read = self.parts.index_pickle.as_deref().map_or(Ok(Vec::new()), row_groups::parse);
        read.map_err(|error| error.at(self.parts.source.at(METADATA[0])))
    }

    /// Returns schema, files with their row groups, and row-group indexes as JSON.
    ///
    /// # Errors
    /// - Those of [`Dataset::row_group_indexes`].
    pub fn to_json(&self) -> Result<Value> {
        let indexes = self.row_group_indexes()?;
        let indexes: serde_json::Map<_, _> = indexes.iter().map(|index| (index.name.clone(), index.to_json())).collect();
        Ok(json!({"schema": self.schema().map(Unischema::to_json), "row_groups": self.files(), "indexes": indexes}))
    }
}

impl Parts {
    fn open(source: Source) -> Result<Self> {
        let listing = source.list()?;
        let mut warnings = Vec::new();
        let (mut schema, mut index_pickle, mut expected) = (None, None, BTreeMap::new());
        for name in METADATA {
            let Some(stamp) = listing.get(name) else { continue };
            let read = key_values(&source, name, stamp).and_then(|entries| {
                let Some(pickle) = entries.get(SCHEMA_KEY) else { return Ok(false) };
                schema = Some(Unischema::parse(pickle)?);
                index_pickle = entries.get(INDEX_KEY).cloned();
                expected = entries.get(FILES_KEY).map_or(Ok(BTreeMap::new()), |text| files_of(text))?;
                Ok(true)
            });
            if read.map_err(|error| error.at(source.at(name)))? {
                break;
            }
        }
        let mut files = Vec::new();
        for (name, stamp) in listing.iter().filter(|(name, _)| is_data(name)) {
            files.push(DataFile { name: name.clone(), stamp: stamp.clone(), folders: folders_of(name) });
        }
        if files.is_empty() {
            return Err(Error::not_found(format!("{source}: expected Parquet files, found none")));
        }
        if let Some(missing) = expected.keys().find(|name| !listing.contains_key(*name)) {
            let listed = format!("{} lists the file {missing}, and there is none", METADATA[0]);
            return Err(Error::corrupt(format!("{source}: {listed}; restore it, or write the metadata again")));
        }
        for file in &files {
            let keys = |file: &DataFile| file.folders.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
            if keys(file) != keys(&files[0]) {
                let (one, other) = (source.at(&files[0].name), source.at(&file.name));
                return Err(Error::invalid(format!("{other}: expected the same folders `field=value` as {one}")));
            }
        }
        let footers = footers(&source, &files)?;
        let (mut types, mut groups): (Vec<(Fields, usize)>, Vec<Group>) = (Vec::new(), Vec::new());
        let mut start = 0_u64;
        for (file, (fields, sizes)) in footers.into_iter().enumerate() {
            let name = &files[file].name;
            match expected.get(name) {
                Some(count) if *count != sizes.len() as u64 => {
                    warnings.push(format!("{}: has {} row groups, {} says {count}", source.at(name), sizes.len(), METADATA[0]))
                }
                None if !expected.is_empty() => {
                    warnings.push(format!("{}: is not in {}; its rows are imported too", source.at(name), METADATA[0]));
                }
                _ => {}
            }
            if !types.iter().any(|(known, _)| *known == fields) {
                types.push((fields, file));
            }
            for (number, (rows, bytes)) in sizes.into_iter().enumerate() {
                groups.push(Group { file, number, rows, bytes, start });
                start = start.checked_add(rows).filter(|rows| *rows <= MAX_ROWS).ok_or_else(|| {
                    Error::unsupported(format!("{}: a row group of {rows} rows: expected at most 2^42 in all", source.at(name)))
                })?;
            }
        }
        if u32::try_from(groups.len()).is_err() {
            return Err(Error::unsupported(format!("{source}: {} row groups: expected below 2^32", groups.len())));
        }
        if let (Some(schema), Some((fields, _))) = (&schema, types.first()) {
            let known = |name: &str| schema.field(name).is_some();
            let folders = files[0].folders.iter().map(|(key, _)| key.as_str());
            for name in fields.iter().map(|field| field.name().as_str()).chain(folders).filter(|name| !known(name)) {
                warnings.push(format!("{source}: column `{name}` is not in the schema and is left out"));
            }
        }
        Ok(Self { source, listing, schema, index_pickle, files, types, groups, warnings })
    }

    /// Opens a Parquet file. Its types come from Parquet alone: Arrow types that a writer noted are no types of Petastorm.
    pub(crate) fn open_file(&self, file: usize) -> Result<(FileReader, ArrowReaderMetadata)> {
        let file = &self.files[file];
        self.source.check(&file.name, &file.stamp)?;
        open_file(&self.source, file)
    }

    /// Checks that there are the same files as when the data set was opened.
    ///
    /// # Errors
    /// - `Conflict`: a file changed, was deleted or added.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        let now = self.source.list()?;
        if let Some(name) = now.keys().find(|name| !self.listing.contains_key(*name)) {
            return Err(self.source.changed(name, "it was added"));
        }
        for (name, stamp) in &self.listing {
            match now.get(name) {
                Some(now) if now == stamp => {}
                Some(_) => return Err(self.source.changed(name, "its size or time changed")),
                None => return Err(self.source.changed(name, "it was deleted")),
            }
        }
        Ok(())
    }
}

fn open_file(source: &Source, file: &DataFile) -> Result<(FileReader, ArrowReaderMetadata)> {
    let place = |error: Error| error.at(source.at(&file.name));
    let reader = source.reader(&file.name, &file.stamp)?;
    let len = footer_len(&reader, &file.stamp).map_err(place)?;
    let end = file.stamp.bytes;
    let reader = reader.ahead(end - (len + TAIL) as u64, end)?;
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = guarded(|| ArrowReaderMetadata::load(&reader, options)).map_err(place)?;
    Ok((reader, metadata))
}

fn footer_len(reader: &FileReader, stamp: &Stamp) -> Result<usize> {
    let tail = match stamp.bytes.checked_sub(TAIL as u64) {
        Some(start) => reader.read(start, TAIL)?,
        None => Default::default(),
    };
    footer::footer_len(&tail, stamp.bytes)
}

/// Fields of a file, and rows and bytes of its row groups.
type FileFooter = (Fields, Vec<(u64, u64)>);

/// Reads the footers of all files with a few threads.
fn footers(source: &Source, files: &[DataFile]) -> Result<Vec<FileFooter>> {
    let one = |file: &DataFile| {
        let (_, metadata) = open_file(source, file)?;
        let sizes = metadata.metadata().row_groups().iter().map(|group| {
            let rows = u64::try_from(group.num_rows());
            let rows = rows.map_err(|_| Error::corrupt(format!("{}: a row group of negative length", source.at(&file.name))));
            Ok((rows?, u64::try_from(group.total_byte_size()).unwrap_or(0)))
        });
        Ok((metadata.schema().fields().clone(), sizes.collect::<Result<_>>()?))
    };
    let share = files.len().div_ceil(FOOTER_THREADS).max(1);
    let read = |files: &[DataFile]| files.iter().map(one).collect::<Result<Vec<FileFooter>>>();
    let parts: Vec<Result<Vec<FileFooter>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = files.chunks(share).map(|files| scope.spawn(move || read(files))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(Error::internal("a reader stopped")))).collect()
    });
    Ok(parts.into_iter().collect::<Result<Vec<_>>>()?.concat())
}

fn key_values(source: &Source, name: &str, stamp: &Stamp) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let reader = source.reader(name, stamp)?;
    let len = footer_len(&reader, stamp)?;
    let footer = reader.read(stamp.bytes - (len + TAIL) as u64, len)?;
    Ok(footer::key_values(&footer)?.into_iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect())
}

/// Parses the numbers of row groups by file.
fn files_of(text: &[u8]) -> Result<BTreeMap<String, u64>> {
    serde_json::from_slice(text).map_err(|error| Error::corrupt(format!("the row groups of the files: {error}")))
}

/// Whether a file has rows: neither it nor a folder of it is hidden, as for Petastorm and Spark.
fn is_data(name: &str) -> bool {
    let (folders, file) = name.rsplit_once('/').unwrap_or(("", name));
    let hidden = |part: &str| part.starts_with(['_', '.']);
    let is_folder_hidden = |part: &str| hidden(part) && !part.contains('=');
    !hidden(file) && !file.ends_with(".crc") && !file.ends_with("_$folder$") && !folders.split('/').any(is_folder_hidden)
}

/// Returns the fields and values in the names of folders: `field=value`.
fn folders_of(name: &str) -> Vec<(String, Option<String>)> {
    let folders = name.rsplit_once('/').map_or("", |(folders, _)| folders).split('/');
    let named = folders.filter_map(|folder| folder.split_once('='));
    named.map(|(key, value)| (unescaped(key), (value != NULL_FOLDER).then(|| unescaped(value)))).collect()
}

/// Decodes `%20`, as Spark writes what a file system may not allow. Leaves what is no such code.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('%') {
        bytes.extend_from_slice(plain.as_bytes());
        match escape.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &escape[2..];
            }
            None => {
                bytes.push(b'%');
                rest = escape;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The type of a Parquet column.
pub(crate) fn type_of(fields: &Fields, name: &str) -> Option<DataType> {
    fields.iter().find(|field| field.name() == name).map(|field| field.data_type().clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_files_have_no_rows() {
        for name in ["a.parquet", "key=_1/part-0", "_key=1/part-0", "a/b/c"] {
            assert!(is_data(name), "{name}");
        }
        for name in
            ["_SUCCESS", "_common_metadata", ".part.crc", "a/.b", "_temporary/0/part", "a/part.crc", "a_$folder$", ".x/part"]
        {
            assert!(!is_data(name), "{name}");
        }
    }

    #[test]
    fn the_names_of_folders_have_values() {
        let found = folders_of("a=1/x/b%20c=2%3A%zz%/d=__HIVE_DEFAULT_PARTITION__/part-0");
        let of = |key: &str, value: Option<&str>| (key.to_owned(), value.map(str::to_owned));
        assert_eq!(found, [of("a", Some("1")), of("b c", Some("2:%zz%")), of("d", None)]);
        assert_eq!(folders_of("part=0"), []);
    }
}
