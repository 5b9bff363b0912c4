//! Decides for the models whether a claim or a pin is still alive, and which number a version gets, from the newest manifest. The library
//! decides the same with several requests to its store, one answer at a time.

use crate::decisions::{Newest, Numbered, listed, numbered};

/// Whether a manifest belongs to the table at this root. `table` is the id of its table, `root` the id that the object at the root
/// has, which the first create put; `None` at a root that a build made which put none. A writer of a table that was at this root
/// before may put its manifest late.
pub fn belongs_here<T: Eq>(table: T, root: Option<T>) -> bool {
    root.is_none_or(|root| root == table)
}

/// The number of the next version: the first free one after the newest version. Manifests that do not belong here may have taken the
/// numbers before it. All writers that start from one version claim the same number, unless such a manifest has taken it meanwhile.
pub fn next_version(newest: u64, is_taken: impl Fn(u64) -> bool) -> u64 {
    (newest + 1..).find(|version| !is_taken(*version)).unwrap_or(u64::MAX)
}

/// Whether a manifest that was put is a version of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is a version.
    Committed,
    /// It is no version and never becomes one.
    Void,
    /// No version has its number yet. If the name has a manifest of another table ([`belongs_here`]), this one is void.
    Open,
    /// The manifests above the floor tell: it is a version if the chain of parents from the newest version to the floor has it.
    AskChain,
    /// Its number was given up, and no list has it any more: nobody can tell.
    GivenUp,
}

/// Finds out whether a claim was committed. The claim put a manifest with this hash as this version. The caller reads the newest
/// manifest after the store has answered the put, or after it has given up waiting for the answer.
pub fn fate<N: Newest>(newest: &N, version: u64, hash: N::Hash) -> Fate {
    match numbered(newest, version) {
        Numbered::Later => Fate::Open,
        Numbered::Has(found) if found == hash => Fate::Committed,
        Numbered::Has(_) | Numbered::Skipped => Fate::Void,
        Numbered::AskChain => Fate::AskChain,
        Numbered::GivenUp => Fate::GivenUp,
    }
}

/// Whether a pin holds nothing any more. `newest` is the newest manifest of the table that put it for this version and this commit.
pub fn is_dead<N: Newest>(newest: &N, version: u64, hash: N::Hash) -> bool {
    match fate(newest, version, hash) {
        Fate::Void | Fate::GivenUp => true,
        Fate::Open | Fate::AskChain => false,
        Fate::Committed => version != newest.version() && version <= newest.floor() && listed(newest, version).is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decisions::tests::{NINE, Version9};

    #[test]
    fn the_newest_version_tells_what_became_of_a_claim() {
        let fates = |version: u64| [fate(&NINE, version, version * 10), fate(&NINE, version, 1)];
        assert_eq!(fates(10), [Fate::Open; 2]);
        for version in [9, 8, 6, 3, 2] {
            assert_eq!(fates(version), [Fate::Committed, Fate::Void], "version {version}");
        }
        assert_eq!(fates(7), [Fate::Void; 2], "the chain steps over 7");
        assert_eq!(fates(5), [Fate::AskChain; 2]);
        assert_eq!([fates(4), fates(1)], [[Fate::GivenUp; 2]; 2]);
    }

    #[test]
    fn a_pin_dies_with_its_attempt_or_its_version() {
        assert!(is_dead(&NINE, 9, 1) && is_dead(&NINE, 4, 40) && is_dead(&NINE, 7, 70));
        assert!(!is_dead(&NINE, 9, 90) && !is_dead(&NINE, 10, 1) && !is_dead(&NINE, 5, 50) && !is_dead(&NINE, 2, 20));
        // Version 6 is remembered as an ancestor, and is gone once the floor is there.
        assert!(!is_dead(&Version9 { floor: 5 }, 6, 60) && is_dead(&Version9 { floor: 6 }, 6, 60));
        assert!(!is_dead(&Version9 { floor: 8 }, 8, 80), "it is listed");
    }

    #[test]
    fn numbers_of_another_table_are_stepped_over() {
        assert_eq!([next_version(9, |_| false), next_version(9, |version| version < 12)], [10, 12]);
        assert!(belongs_here(1, None) && belongs_here(1, Some(1)) && !belongs_here(1, Some(2)));
    }
}
