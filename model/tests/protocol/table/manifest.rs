//! The manifest of a version in the model. It has the members that the protocol adds, and for the properties the whole chain of
//! versions from which it descends.

use std::hash::{Hash, Hasher};

use tetrys_model::decisions::{Ancestor, Expired, Named, Newest, is_final};

/// One more than the highest version number.
pub(crate) const VERSIONS: usize = 10;
/// The number of objects.
pub(crate) const OBJECTS: usize = 4;

/// A manifest, by its hash. It is the id of the commit too: each attempt has its own.
pub(crate) type Id = u8;

/// The change that made a version: of which actor, and which of its changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Change(u8);

impl Change {
    /// No change of an actor: a first version, a collection, or an empty change.
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn of(actor: usize, round: u8) -> Self {
        Self(1 + actor as u8 * 4 + round)
    }

    /// The bit of the change in a set of changes.
    pub(crate) fn bit(self) -> Option<u16> {
        (self != Self::NONE).then(|| 1 << (self.0 - 1))
    }
}

/// A manifest. Most of what a state has is manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Manifest {
    pub(crate) version: u8,
    pub(crate) id: Id,
    /// Version and id of the parent; zeros in the first version.
    pub(crate) parent: (u8, Id),
    pub(crate) table: u8,
    /// Whether there is no table yet: a collection took version 1.
    pub(crate) is_empty: bool,
    /// The ids of the versions from which it descends, itself included, and the changes that made them.
    pub(crate) chain: [Id; VERSIONS],
    pub(crate) made: [Change; VERSIONS],
    pub(crate) floor: u8,
    pub(crate) collected: u8,
    /// The versions at or below the floor that are kept.
    pub(crate) kept: u16,
    /// For each version, the version that listed it as expired, and the hash that is listed; zeros if it is not.
    pub(crate) expired: [(u8, Id); VERSIONS],
    /// For each object, the version that condemned it; 0 if it is not condemned.
    pub(crate) condemned: [u8; OBJECTS],
    /// The objects that it names.
    pub(crate) names: u16,
    /// The versions that have tags.
    pub(crate) tags: u16,
    /// In a table that uses rows of this one: the versions of this one that it uses.
    pub(crate) uses: u16,
}

impl Hash for Manifest {
    /// Hashes all members at once: the checker does little else.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self {
            version,
            id,
            parent,
            table,
            is_empty,
            chain,
            made,
            floor,
            collected,
            kept,
            expired,
            condemned,
            names,
            tags,
            uses,
        } = self;
        let [kept, names, tags, uses] = [kept, names, tags, uses].map(|mask| mask.to_le_bytes());
        let few = [*version, *id, parent.0, parent.1, *table, u8::from(*is_empty), *floor, *collected];
        let mut bytes = [0; 20 + OBJECTS + 4 * VERSIONS];
        let parts = few.into_iter().chain(kept).chain(names).chain(tags).chain(uses).chain(*condemned).chain(*chain);
        let lists = made.iter().map(|change| change.0).chain(expired.iter().flat_map(|(at, hash)| [*at, *hash]));
        bytes.iter_mut().zip(parts.chain(lists)).for_each(|(byte, part)| *byte = part);
        hasher.write(&bytes);
    }
}

impl Manifest {
    /// The first version of a table. It names object 0.
    pub(crate) fn first(table: u8) -> Self {
        let mut first = Self::root(1, 200 + table * 10, table);
        first.names = 1;
        first
    }

    /// A version without a parent.
    pub(crate) fn root(version: u8, id: Id, table: u8) -> Self {
        let mut root = Self {
            version,
            id,
            parent: (0, 0),
            table,
            is_empty: false,
            chain: [0; VERSIONS],
            made: [Change::NONE; VERSIONS],
            floor: 0,
            collected: 0,
            kept: 0,
            expired: [(0, 0); VERSIONS],
            condemned: [0; OBJECTS],
            names: 0,
            tags: 0,
            uses: 0,
        };
        root.chain[version as usize] = id;
        root
    }

    /// A version after this one that changes nothing.
    pub(crate) fn child(&self, version: u8, id: Id, change: Change) -> Self {
        let mut child = Self { version, id, parent: (self.version, self.id), ..*self };
        child.chain[version as usize] = id;
        child.made[version as usize] = change;
        child
    }

    pub(crate) fn parent(&self) -> Option<Named<Id>> {
        (self.parent.0 > 0).then_some(Named { version: self.parent.0.into(), hash: self.parent.1 })
    }

    /// Returns the version that listed this one as expired first.
    pub(crate) fn expired_at(&self, version: usize) -> Option<u64> {
        Some(self.expired[version].0.into()).filter(|at| *at > 0)
    }

    /// Returns the version that condemned an object first.
    pub(crate) fn condemned_at(&self, object: usize) -> Option<u64> {
        Some(self.condemned[object].into()).filter(|at| *at > 0)
    }

    /// Whether a version of the chain must be there, with all that it names: it is not given up for good.
    pub(crate) fn must_stay(&self, version: usize) -> bool {
        match self.expired_at(version) {
            _ if self.tags & (1 << version) != 0 => true,
            Some(at) => !is_final(at, self.floor.into()),
            None => version > self.floor as usize || version == self.version as usize || self.kept & (1 << version) != 0,
        }
    }

    /// Returns the name of the version in counterexamples.
    pub(crate) fn describe(&self) -> String {
        format!("version {} (attempt {:#x})", self.version, self.id)
    }
}

/// A manifest with a limit to the ancestors that it lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) manifest: &'a Manifest,
    pub(crate) reach: u8,
}

impl Newest for View<'_> {
    type Hash = Id;
    type Change = Change;

    fn version(&self) -> u64 {
        self.manifest.version.into()
    }

    fn hash(&self) -> Id {
        self.manifest.id
    }

    fn change(&self) -> Change {
        self.manifest.made[self.manifest.version as usize]
    }

    fn floor(&self) -> u64 {
        self.manifest.floor.into()
    }

    fn collected(&self) -> u64 {
        self.manifest.collected.into()
    }

    fn recent(&self) -> impl Iterator<Item = Ancestor<Id, Change>> {
        let Manifest { chain, made, version, .. } = self.manifest;
        let before = (1..*version as usize).rev().filter(|version| chain[*version] != 0).take(self.reach.into());
        before.map(|version| Ancestor { version: version as u64, hash: chain[version], change: made[version] })
    }

    fn kept(&self) -> impl Iterator<Item = Named<Id>> {
        let Manifest { chain, kept, .. } = self.manifest;
        let kept = (1..VERSIONS).filter(move |version| kept & (1 << version) != 0);
        kept.map(|version| Named { version: version as u64, hash: chain[version] })
    }

    fn expired(&self) -> impl Iterator<Item = Expired<Id>> {
        let listed = (1..VERSIONS).zip(&self.manifest.expired[1..]).filter(|(_, (at, _))| *at > 0);
        listed.map(|(version, (at, hash))| Expired { version: version as u64, hash: *hash, at: (*at).into() })
    }
}
