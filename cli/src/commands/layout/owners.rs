//! The owners of the blocks of a version: this version alone, this table with other versions, or tables that it refers to.

use std::collections::{BTreeMap, BTreeSet};

use tetrys::{Error, Table, table::ChunkId};

use super::{
    canvas::Colour,
    map::{Block, GroupMap},
};
use crate::text;

/// Colours of blocks of this version alone, of blocks shared with other versions, and of other tables in turn.
const ALONE: Colour = [0, 168, 180];
const SHARED: Colour = [60, 110, 220];
const OTHERS: [Colour; 6] = [[230, 140, 40], [190, 80, 200], [215, 70, 80], [110, 180, 60], [200, 190, 70], [150, 110, 80]];

/// The owners of the blocks of a version.
pub(crate) struct Owners {
    entries: Vec<Entry>,
    /// Chunks of this table that other versions also use.
    shared: BTreeSet<ChunkId>,
    places: BTreeMap<Kind, usize>,
}

/// One owner and its blocks.
pub(crate) struct Entry {
    pub(super) colour: Colour,
    /// Name in the legend: `this version alone`, `in ../sensors`.
    pub(crate) name: String,
    pub(crate) blocks: u64,
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Alone,
    Shared,
    Other(u32),
}

impl Owners {
    /// Returns the owners. `urls` are the tables that the version refers to, `shared` its own chunks that other versions also
    /// use.
    pub(super) fn of(maps: &[GroupMap], urls: &[String], shared: &BTreeSet<ChunkId>) -> Self {
        let mut owners = Self { entries: Vec::new(), shared: shared.clone(), places: BTreeMap::new() };
        let mut sums: BTreeMap<Kind, (u64, u64)> = BTreeMap::new();
        for map in maps {
            for block in &map.blocks {
                let (blocks, bytes) = sums.entry(owners.kind(map, block)).or_default();
                (*blocks, *bytes) = (*blocks + 1, *bytes + block.bytes);
            }
        }
        for (kind, (blocks, bytes)) in sums {
            let (name, colour) = match kind {
                Kind::Alone => ("this version alone".to_owned(), ALONE),
                Kind::Shared => ("this table, other versions too".to_owned(), SHARED),
                Kind::Other(owner) => {
                    let place = owner as usize - 1;
                    let url = urls.get(place).map_or("another table", String::as_str);
                    (format!("in {}", text::printable(url)), OTHERS[place % OTHERS.len()])
                }
            };
            owners.places.insert(kind, owners.entries.len());
            owners.entries.push(Entry { colour, name, blocks, bytes });
        }
        owners
    }

    /// Returns the owners that have a block, this version first.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the colour of a block.
    pub(super) fn colour(&self, map: &GroupMap, block: &Block) -> Colour {
        let entry = self.places.get(&self.kind(map, block)).and_then(|place| self.entries.get(*place));
        entry.map_or(ALONE, |entry| entry.colour)
    }

    fn kind(&self, map: &GroupMap, block: &Block) -> Kind {
        match block.owner {
            0 if map.chunk_of(block).is_some_and(|chunk| self.shared.contains(&chunk)) => Kind::Shared,
            0 => Kind::Alone,
            owner => Kind::Other(owner),
        }
    }
}

impl Entry {
    /// Describes the owner: `in ../sensors: 120 blocks, 9.60 MB`.
    pub(crate) fn describe(&self) -> String {
        format!("{}: {}, {}", self.name, text::counted(self.blocks, "block"), text::bytes(self.bytes))
    }
}

/// Returns the own chunks of a version that other versions also use.
pub(super) async fn shared(maps: &[GroupMap], table: &Table, versions: &[u64]) -> Result<BTreeSet<ChunkId>, Error> {
    let mut named = BTreeSet::new();
    for version in versions.iter().filter(|version| **version != table.version()) {
        let other = Table::open_version_in(table.store().clone(), *version).await?;
        named.extend(other.storage().objects().await?.into_keys());
    }
    let chunks =
        maps.iter().flat_map(|map| map.blocks.iter().filter(|block| block.owner == 0).filter_map(|block| map.chunk_of(block)));
    Ok(chunks.filter(|chunk| named.contains(&chunk.object_name())).collect())
}
