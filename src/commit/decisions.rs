//! The decisions of the protocol: may a change be committed, does a claim count, what does a garbage collection give up, what may be
//! deleted, what may another table use. All functions are pure: no clock, no store, no randomness. They follow `docs/protocol.md`.
//!
//! The newest manifest of a table answers every question here. It is never deleted, and only a create-only write makes the next one,
//! so of two processes the later one sees what the earlier one decided.

/// A version of a table and the hash of its manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Named<H> {
    /// Number of the version.
    pub version: u64,
    /// Hash of its manifest.
    pub hash: H,
}

/// A version from which the newest one descends, as the newest manifest lists it in `recent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ancestor<H, C> {
    /// Number of the version.
    pub version: u64,
    /// Hash of its manifest.
    pub hash: H,
    /// The change that made it: the id of a session, or the id of a change that one process made alone.
    pub change: C,
}

/// A version that a garbage collection gives up, as the newest manifest lists it in `expired`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expired<H> {
    /// Number of the version.
    pub version: u64,
    /// Hash of its manifest.
    pub hash: H,
    /// The version that listed it first.
    pub at: u64,
}

/// The members of the newest manifest that decide.
pub trait Newest {
    /// Hash of a manifest.
    type Hash: Copy + Eq;
    /// Id of a change.
    type Change: Copy + Eq;

    /// Number of the newest version.
    fn version(&self) -> u64;
    /// Hash of the newest manifest.
    fn hash(&self) -> Self::Hash;
    /// The change that made the newest version.
    fn change(&self) -> Self::Change;
    /// The floor: no manifest above it was ever deleted, and nothing that is written from a version below it may be committed.
    fn floor(&self) -> u64;
    /// The version that the last garbage collection made; 0 if there was none.
    fn collected(&self) -> u64;
    /// The nearest ancestors, newest first.
    fn recent(&self) -> impl Iterator<Item = Ancestor<Self::Hash, Self::Change>>;
    /// The versions at or below the floor that are kept.
    fn kept(&self) -> impl Iterator<Item = Named<Self::Hash>>;
    /// The versions that are given up and may still be there.
    fn expired(&self) -> impl Iterator<Item = Expired<Self::Hash>>;
}

/// The answer of [`may_commit`]: how a writer goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MayCommit {
    /// It claims the next version.
    Claim,
    /// The change was committed before, as this version.
    Already(u64),
    /// A garbage collection no longer waits for the change: what it wrote or reused may be deleted.
    Over,
    /// `recent` does not reach back far enough: look for the change in the manifests from this version to the end of this range
    /// (exclusive). They are above the floor, so they are there.
    Search(u64, u64),
}

/// Whether a change may be committed on the newest version. `since` is the version that was the newest one when the change began;
/// 0 if there was none.
pub fn may_commit<N: Newest>(newest: &N, since: u64, change: N::Change) -> MayCommit {
    if newest.change() == change {
        return MayCommit::Already(newest.version());
    }
    let mut reached = newest.version();
    for ancestor in newest.recent() {
        if ancestor.change == change {
            return MayCommit::Already(ancestor.version);
        }
        reached = reached.min(ancestor.version);
    }
    match () {
        () if is_fenced(since, newest.floor()) => MayCommit::Over,
        () if since + 1 < reached => MayCommit::Search(since + 1, reached),
        () => MayCommit::Claim,
    }
}

/// Whether a change that began at `since` must not be committed any more.
pub fn is_fenced(since: u64, floor: u64) -> bool {
    floor > since
}

/// What the newest manifest tells of the manifest that a version number has in the chain of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numbered<H> {
    /// No version has the number yet.
    Later,
    /// The version with this number has this hash.
    Has(H),
    /// The chain steps over the number.
    Skipped,
    /// The manifests above the floor tell, which are all there.
    AskChain,
    /// The number was given up, and no list has it any more: nobody can tell.
    GivenUp,
}

/// Returns what the newest manifest tells of the version with this number.
pub fn numbered<N: Newest>(newest: &N, version: u64) -> Numbered<N::Hash> {
    if newest.version() <= version {
        return if newest.version() < version { Numbered::Later } else { Numbered::Has(newest.hash()) };
    }
    let mut reached = newest.version();
    for ancestor in newest.recent() {
        if ancestor.version == version {
            return Numbered::Has(ancestor.hash);
        }
        reached = reached.min(ancestor.version);
    }
    match listed(newest, version) {
        _ if reached < version || version == 0 => Numbered::Skipped,
        Some(found) => Numbered::Has(found),
        None if version > newest.floor() => Numbered::AskChain,
        None => Numbered::GivenUp,
    }
}

/// Returns the hash of a version in `kept` or `expired`.
pub fn listed<N: Newest>(newest: &N, version: u64) -> Option<N::Hash> {
    let kept = newest.kept().find(|kept| kept.version == version).map(|kept| kept.hash);
    kept.or_else(|| newest.expired().find(|expired| expired.version == version).map(|expired| expired.hash))
}

/// Whether a manifest at or below the floor is no version: a late write put it where a version was given up. Above the floor only
/// the chain of parents tells, and nothing is deleted.
pub fn is_void<N: Newest>(newest: &N, version: u64, hash: N::Hash) -> bool {
    version <= newest.floor() && version != newest.version() && listed(newest, version) != Some(hash)
}

/// Whether a garbage collection waits for a session. `idle` is the one decision that a clock takes.
pub fn is_open(since: u64, floor: u64, committed: bool, idle: bool) -> bool {
    !committed && !idle && !is_fenced(since, floor)
}

/// Whether a session may begin: it put the file that says `since`, and read the newest version again. After this, a collection that
/// could fence it lists its file.
pub fn may_begin<N: Newest>(newest: &N, since: u64) -> bool {
    newest.collected() <= since
}

/// The floor of the version that a garbage collection makes. `open` has the `since` of every session that is open ([`is_open`]).
pub fn next_floor<N: Newest>(newest: &N, open: impl Iterator<Item = u64>) -> u64 {
    open.fold(newest.collected(), u64::min).max(newest.floor())
}

/// Whether what `at` listed as given up is final: no later version takes it back, and it may be deleted.
pub fn is_final(at: u64, floor: u64) -> bool {
    at <= floor
}

/// The entry of a version or an object in the lists of the version `now` that a garbage collection makes, as the version that listed
/// it first; `None` if it is not given up. `at` is its entry in the newest manifest, `floor` the floor there.
pub fn given_up(at: Option<u64>, needed: bool, floor: u64, now: u64) -> Option<u64> {
    match at {
        Some(at) if is_final(at, floor) => Some(at),
        _ if needed => None,
        Some(at) => Some(at),
        None => Some(now),
    }
}

/// The answer of [`withdraw`]: how a commit treats the entry of an object, or of a version, that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Withdraw {
    /// There is no entry.
    Nothing,
    /// The commit leaves the entry out.
    LeaveOut,
    /// The entry is final: the commit is a conflict.
    Conflict,
}

/// Whether a commit may use what has this entry in the newest manifest.
pub fn withdraw(at: Option<u64>, floor: u64) -> Withdraw {
    match at {
        None => Withdraw::Nothing,
        Some(at) if is_final(at, floor) => Withdraw::Conflict,
        Some(_) => Withdraw::LeaveOut,
    }
}

/// Whether another table may begin to use this version, whose manifest it has found with this hash. It has put its pin before it read
/// the newest manifest.
pub fn may_borrow<N: Newest>(newest: &N, version: u64, hash: N::Hash) -> bool {
    let expired = newest.expired().any(|expired| expired.version == version);
    let kept = newest.kept().any(|kept| kept.version == version && kept.hash == hash);
    !expired && (version > newest.floor() || kept || version == newest.version())
}

/// Whether a table whose newest version uses this version, and has a pin for it, may go on to use it. Collections see that pin, and
/// take back what is not final.
pub fn may_go_on_borrowing<N: Newest>(newest: &N, version: u64, hash: N::Hash) -> bool {
    match newest.expired().find(|expired| expired.version == version && expired.hash == hash) {
        Some(expired) => !is_final(expired.at, newest.floor()),
        None => may_borrow(newest, version, hash),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Version 9, made by change 90, with hash 90: its ancestors are 8 and 6 (7 is of another table).
    pub(crate) struct Version9 {
        pub(crate) floor: u64,
    }

    pub(crate) const NINE: Version9 = Version9 { floor: 4 };

    impl Newest for Version9 {
        type Hash = u64;
        type Change = u64;

        fn version(&self) -> u64 {
            9
        }

        fn hash(&self) -> u64 {
            90
        }

        fn change(&self) -> u64 {
            90
        }

        fn floor(&self) -> u64 {
            self.floor
        }

        fn collected(&self) -> u64 {
            6
        }

        fn recent(&self) -> impl Iterator<Item = Ancestor<u64, u64>> {
            [8, 6].into_iter().map(|version| Ancestor { version, hash: version * 10, change: version * 10 })
        }

        fn kept(&self) -> impl Iterator<Item = Named<u64>> {
            [Named { version: 2, hash: 20 }].into_iter()
        }

        fn expired(&self) -> impl Iterator<Item = Expired<u64>> {
            [Expired { version: 3, hash: 30, at: 4 }, Expired { version: 8, hash: 80, at: 9 }].into_iter()
        }
    }

    #[test]
    fn the_newest_version_tells_which_manifest_has_a_number() {
        let found = |version: u64| numbered(&NINE, version);
        assert_eq!([10, 7, 5].map(found), [Numbered::Later, Numbered::Skipped, Numbered::AskChain]);
        for version in [9, 8, 6, 3, 2] {
            assert_eq!(found(version), Numbered::Has(version * 10), "version {version}");
        }
        assert_eq!([4, 1].map(found), [Numbered::GivenUp; 2]);
    }

    #[test]
    fn a_change_is_committed_once_and_not_below_the_floor() {
        let may = |since, change| may_commit(&NINE, since, change);
        assert_eq!([may(3, 90), may(3, 60)], [MayCommit::Already(9), MayCommit::Already(6)]);
        assert_eq!([may(3, 1), may(4, 1)], [MayCommit::Over, MayCommit::Search(5, 6)]);
        assert_eq!([may(5, 1), may(9, 1)], [MayCommit::Claim; 2]);
        assert_eq!([5, 6].map(|since| may_begin(&NINE, since)), [false, true]);
    }

    #[test]
    fn only_what_no_list_has_is_void_and_only_at_the_floor_or_below() {
        assert!(is_void(&NINE, 4, 40) && is_void(&NINE, 2, 21) && is_void(&NINE, 1, 10));
        assert!(!is_void(&NINE, 2, 20) && !is_void(&NINE, 3, 30) && !is_void(&NINE, 5, 1) && !is_void(&NINE, 9, 90));
    }

    #[test]
    fn a_floor_waits_for_the_collection_before_and_for_open_sessions() {
        let floor = |open: &[u64]| next_floor(&NINE, open.iter().copied());
        assert_eq!([floor(&[]), floor(&[9, 5]), floor(&[4])], [6, 5, 4]);
        assert!(is_open(4, 4, false, false) && !is_open(3, 4, false, false));
        assert!(!is_open(4, 4, true, false) && !is_open(4, 4, false, true));
    }

    #[test]
    fn what_is_final_is_never_taken_back() {
        assert_eq!([given_up(Some(4), true, 4, 10), given_up(Some(5), true, 4, 10)], [Some(4), None]);
        assert_eq!(
            [given_up(Some(5), false, 4, 10), given_up(None, false, 4, 10), given_up(None, true, 4, 10)],
            [Some(5), Some(10), None]
        );
        assert_eq!(
            [withdraw(None, 4), withdraw(Some(5), 4), withdraw(Some(4), 4)],
            [Withdraw::Nothing, Withdraw::LeaveOut, Withdraw::Conflict]
        );
    }

    #[test]
    fn a_version_may_be_borrowed_that_stays() {
        assert!(may_borrow(&NINE, 2, 20) && may_borrow(&NINE, 9, 90) && may_borrow(&NINE, 6, 60));
        assert!(!may_borrow(&NINE, 2, 21) && !may_borrow(&NINE, 3, 30) && !may_borrow(&NINE, 8, 80) && !may_borrow(&NINE, 4, 40));
        // 8 is expired and not final, 3 is final.
        let may_go_on = |version, hash| may_go_on_borrowing(&NINE, version, hash);
        assert!(may_go_on(8, 80) && may_go_on(2, 20) && may_go_on(9, 90) && may_go_on(6, 60));
        assert!(!may_go_on(3, 30) && !may_go_on(8, 81) && !may_go_on(4, 40) && !may_go_on(2, 21));
    }
}
