//! One table under the new rules: writers, sessions, creates and collectors share its store. All decisions are those of
//! `tetrys_model::decisions` and `outcomes`. [`Rules`] leaves out steps of the protocol, to show why they are there.
//!
//! A step of an actor is one request, or one read with the decision that follows from it. Between two steps anything may happen.

mod borrowing;
mod collecting;
mod manifest;
mod writing;

use stateright::{Model, Property};
use tetrys_model::outcomes::{self, Fate};

use self::borrowing::{put_borrower, put_pin};
pub(crate) use self::manifest::{Change, Manifest, OBJECTS, VERSIONS, View};
use crate::{
    checking::Narrated,
    environment::full,
    requests::{Say, Way},
};

/// Which steps of the protocol are done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// A writer reads the newest version after its claim, whatever the answer was.
    pub(crate) look_after_claim: bool,
    /// A name that another manifest has decides nothing until the newest version was read.
    pub(crate) floor_decides: bool,
    /// An empty change takes the number of a claim that gets no answer.
    pub(crate) fill: bool,
    /// A change that began below the floor is not committed.
    pub(crate) fence: bool,
    /// A session that was committed before is not committed again.
    pub(crate) remember: bool,
    /// The floor stays at or below the version of the collection before.
    pub(crate) two_runs: bool,
    /// A collection waits for open sessions.
    pub(crate) wait: bool,
    /// A session begins anew if there was a collection since; otherwise, only if it is below the floor.
    pub(crate) begin_after_collection: bool,
    /// A manifest below the floor that no list has is void.
    pub(crate) know_void: bool,
    /// A manifest counts only if it has the id of the table at the root.
    pub(crate) root_decides: bool,
    /// The next number is the first free one after the newest version; otherwise, the one above the highest manifest.
    pub(crate) first_free: bool,
    /// A collection without a table takes version 1.
    pub(crate) take_first: bool,
    /// A commit takes back what the newest version gives up and the commit needs.
    pub(crate) withdraw: bool,
    /// A change reuses nothing that the version at which it began gives up.
    pub(crate) shun: bool,
    /// A commit that needs what is given up for good is a conflict.
    pub(crate) refuse_final: bool,
    /// A collector reads the newest version before it lists sessions and pins.
    pub(crate) list_after: bool,
    /// A collector whose claim was lost lists again if there was another collection since; otherwise, it never does.
    pub(crate) list_again: bool,
    /// A writer leaves its manifest where it finds another table; otherwise, it deletes it.
    pub(crate) leave_own: bool,
    /// A collector deletes only what a published version gives up.
    pub(crate) publish_first: bool,
    /// A borrower puts its pin before it reads what the owner gives up.
    pub(crate) pin_first: bool,
    /// A borrower refuses a version that is expired, also if that is not final.
    pub(crate) refuse_expired: bool,
    /// Each attempt of a commit has a pin of its own.
    pub(crate) own_pins: bool,
    /// A pin holds until its version is void or gone; otherwise, until the borrower has a version of that number.
    pub(crate) pins_of_commits: bool,
}

impl Rules {
    /// The protocol.
    pub(crate) const ALL: Self = Self {
        look_after_claim: true,
        floor_decides: true,
        fill: true,
        fence: true,
        remember: true,
        two_runs: true,
        wait: true,
        begin_after_collection: true,
        know_void: true,
        root_decides: true,
        first_free: true,
        take_first: true,
        withdraw: true,
        shun: true,
        refuse_final: true,
        list_after: true,
        list_again: true,
        leave_own: true,
        publish_first: true,
        pin_first: true,
        refuse_expired: true,
        own_pins: true,
        pins_of_commits: true,
    };
}

/// The change or the collection that an actor makes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Appends rows.
    Append,
    /// Replaces all rows.
    Overwrite,
    /// Gives a tag to version 1.
    Tag,
    /// Creates the table.
    Create,
    /// Commits a session that another actor started, with its ticket.
    Join(usize),
    /// Commits a version of another table, the borrower, that uses version 1 of this one, the owner.
    Borrow,
    /// Collects garbage.
    Collect,
}

/// An actor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Role {
    pub(crate) kind: Kind,
    /// Whether the change is a session that puts its `begin`.
    pub(crate) begins: bool,
    /// The object that it writes.
    pub(crate) object: Option<usize>,
    /// Whether it reuses the objects of its base.
    pub(crate) reuses: bool,
    /// How many changes it commits, or how many times it collects.
    pub(crate) rounds: u8,
    /// Whether it works at the table that replaces the first one.
    pub(crate) after: bool,
}

impl Role {
    /// An actor that does this once, or collects three times.
    pub(crate) const fn of(kind: Kind) -> Self {
        let rounds = if matches!(kind, Kind::Collect) { 3 } else { 1 };
        Self { kind, begins: false, object: None, reuses: false, rounds, after: false }
    }

    /// Collects, or commits, this many times.
    pub(crate) const fn rounds(self, rounds: u8) -> Self {
        Self { rounds, ..self }
    }

    /// Writes this object.
    pub(crate) const fn writes(self, object: usize) -> Self {
        Self { object: Some(object), ..self }
    }

    /// Is a session, which puts its `begin` and reuses what its base names.
    pub(crate) const fn session(self) -> Self {
        Self { begins: true, reuses: true, ..self }
    }

    fn collects(&self) -> bool {
        matches!(self.kind, Kind::Collect)
    }
}

/// A claim of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim {
    ours: Manifest,
    /// How often the own manifest and the empty change were sent.
    sends: u8,
    fills: u8,
    /// Whether another process finishes the claim of one that died.
    resolves: bool,
}

/// The files of sessions and the objects that a collector found, and whether it found a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Listing {
    begins: [u8; 4],
    objects: u16,
    pinned: bool,
    /// The collection before, as the version said that was the newest one then.
    collected: u8,
}

/// The next step of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Next {
    /// Reads the newest version, its base.
    Start,
    /// Puts the `begin` of the session.
    Begin,
    /// Reads the newest version again.
    LookAgain,
    /// Writes its object.
    Write,
    /// Reads the newest version, and makes the next one.
    Prepare,
    /// Puts its manifest.
    Put(Claim),
    /// Puts an empty change in its place.
    Fill(Claim),
    /// Reads the newest version after the claim. Says whether the store answered that the manifest was created.
    Settle(Claim, Option<bool>),
    /// A collector lists sessions, versions and objects, and makes the next version from this newest one. The number is the one
    /// that was free then. Without `list_after` it has listed sessions and pins, and reads the newest version now.
    List(Option<Manifest>, u8, Option<Listing>),
    /// Without `take_first`, a collector that finds no table looks for version 1 once more.
    LookForFirst(Manifest),
    /// A collector deletes manifests, objects and files of sessions.
    Delete { manifests: u16, objects: u16, sessions: u16 },
    /// A session deletes its files.
    Sweep,
    /// Without `leave_own`, a writer deletes its manifest of this number.
    Remove(u8),
    /// A borrower puts its pin.
    Pin(Manifest),
    /// A borrower reads the newest version of the owner.
    CheckOwner(Manifest),
    /// A borrower puts the manifest of its version; so often it was sent.
    PutBorrower(Manifest, u8),
    /// A borrower reads its newest version after the claim.
    SettleBorrower(Manifest, u8),
    /// A borrower deletes the pin of this attempt. Says whether it tries again.
    Unpin(Manifest, bool),
    /// The process died, or it gave up because the store is silent; another one may finish the claim.
    Dead(Option<Claim>),
    /// Nothing is left to do.
    Ended,
}

/// An actor at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Actor {
    pub(crate) next: Next,
    /// The newest version when the change began.
    since: u8,
    /// The table that it works at; 0 if there is none yet.
    table: u8,
    /// The objects that it reuses or has written.
    holds: u16,
    /// Whether the change began: its objects must stay.
    began: bool,
    attempt: u8,
    round: u8,
    /// What a collector listed in this round.
    listed: Option<Listing>,
}

/// The table that creators make: the first one has put its id at the root, and all take it.
const CREATED: u8 = 9;

/// An actor before its first step.
const START: Actor = Actor { next: Next::Start, since: 0, table: 0, holds: 0, began: false, attempt: 0, round: 0, listed: None };

/// A request that may take effect later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Late {
    PutManifest(Manifest),
    DeleteManifest(u8),
    PutObject(u8),
    DeleteObject(u8),
    PutBegin(u8, u8),
    DeleteBegin(u8, u8),
    PutPin(Pin),
    DeletePin(u8),
    PutBorrower(Manifest),
}

/// A pin: a version of the borrower that uses version 1 of the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Pin {
    name: u8,
    version: u8,
    id: u8,
}

impl Listing {
    /// The sessions that have files, with their `since`.
    fn sessions(&self) -> impl Iterator<Item = (usize, u8)> {
        self.begins.iter().enumerate().filter(|(_, since)| **since > 0).map(|(session, since)| (session, since - 1))
    }
}

/// The store of the table, the actors, and what was said to users.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) manifests: [Option<Manifest>; VERSIONS],
    pub(crate) objects: u16,
    /// The `since` of each session that began, by actor, plus 1; 0 if there is no file.
    pub(crate) begins: [u8; 4],
    pub(crate) late: Vec<Late>,
    pub(crate) actors: Vec<Actor>,
    /// Faults that are left. A death of a process is one too.
    pub(crate) faults: u8,
    /// Changes that were acknowledged, and changes that were refused for ever.
    pub(crate) acknowledged: u16,
    pub(crate) refused: u16,
    /// Changes of which an outcome was unknown.
    pub(crate) unknown: u16,
    /// Sessions that a collector took for idle.
    pub(crate) idle: u16,
    /// Whether the root was replaced by another table.
    pub(crate) replaced: bool,
    /// Without `take_first`: the sessions that a collector ended.
    ended: u8,
    /// The id of the table in the object at the root.
    root: u8,
    /// The pins of the table, and the versions of the borrower.
    pub(crate) pins: Vec<Pin>,
    pub(crate) borrower: Vec<Manifest>,
}

/// One step of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// An actor does its next step; a request goes in this way.
    Step(usize, Way),
    /// A collector lists, and its clock says that all open sessions are idle.
    Idle(usize),
    /// The process of an actor dies.
    Crash(usize),
    /// A late request takes effect.
    Land(usize),
    /// Somebody deletes the table, and another one is made in its place.
    Replace,
}

/// The model.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) roles: Vec<Role>,
    pub(crate) rules: Rules,
    pub(crate) faults: u8,
    /// How many ancestors a manifest lists; 64 in a table.
    pub(crate) recent: u8,
    /// How often a writer or a collector claims a version before it gives up.
    pub(crate) attempts: u8,
    /// Whether there is a table at the beginning, and which objects.
    pub(crate) table: bool,
    pub(crate) objects: u16,
    /// How many versions the table has that replaces the first one; 0 if none does.
    pub(crate) replacement: u8,
    /// Whether there is a version 2, which names object 1 alone.
    pub(crate) overwritten: bool,
    /// Whether a collector whose claim was lost keeps its listings. It may always list again: then there are fewer states.
    pub(crate) keeps: bool,
}

impl Table {
    /// A table with one version, which names object 0.
    pub(crate) fn new(roles: &[Role]) -> Self {
        Self {
            roles: roles.to_vec(),
            rules: Rules::ALL,
            faults: if full() { 2 } else { 1 },
            recent: 2,
            attempts: 2,
            table: true,
            objects: 1,
            replacement: 0,
            overwritten: false,
            keeps: !full(),
        }
    }

    /// The same with one fault less, where a collector keeps its listings.
    pub(crate) fn keeping(self) -> Self {
        Self { keeps: true, faults: self.faults.saturating_sub(1), ..self }
    }

    /// The actor whose session this actor commits.
    fn session(&self, actor: usize) -> usize {
        match self.roles[actor].kind {
            Kind::Join(starter) => starter,
            _ => actor,
        }
    }

    /// The change that an actor makes now.
    fn change(&self, state: &State, actor: usize) -> Change {
        let round = if self.roles[actor].collects() { 0 } else { state.actors[actor].round };
        Change::of(self.session(actor), round)
    }

    pub(crate) fn view<'a>(&self, manifest: &'a Manifest) -> View<'a> {
        View { manifest, reach: self.recent }
    }
}

impl State {
    /// The highest number that a manifest has; 0 if there is none.
    fn highest(&self) -> usize {
        (1..VERSIONS).rev().find(|version| self.manifests[*version].is_some()).unwrap_or(0)
    }

    /// The newest version of the table at this root.
    pub(crate) fn newest(&self, rules: &Rules) -> Option<Manifest> {
        let found = (1..=self.highest()).rev().filter_map(|version| self.manifests[version]);
        let root = Some(self.root).filter(|_| rules.root_decides);
        found.into_iter().find(|manifest| outcomes::belongs_here(manifest.table, root))
    }

    /// The number of the version after this one; 0 for the first version.
    fn number_after(&self, rules: &Rules, newest: Option<&Manifest>) -> u8 {
        let newest = newest.map_or(0, |newest| newest.version);
        let taken = |version: u64| self.manifests.get(version as usize).is_some_and(Option::is_some);
        match rules.first_free {
            true => outcomes::next_version(newest.into(), taken) as u8,
            false => self.highest() as u8 + 1,
        }
    }
}

impl Model for Table {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut manifests = [None; VERSIONS];
        if self.table {
            manifests[1] = Some(Manifest::first(1));
        }
        if self.overwritten {
            manifests[2] = Some(Manifest { names: 2, ..Manifest::first(1).child(2, 202, Change::NONE) });
        }
        let borrows = self.roles.iter().any(|role| matches!(role.kind, Kind::Borrow));
        let borrower = if borrows { vec![Manifest::first(5)] } else { Vec::new() };
        vec![State {
            manifests,
            objects: self.objects,
            begins: [0; 4],
            late: Vec::new(),
            actors: vec![START; self.roles.len()],
            faults: self.faults,
            acknowledged: 0,
            refused: 0,
            unknown: 0,
            idle: 0,
            replaced: false,
            ended: 0,
            root: if self.table { 1 } else { CREATED },
            pins: Vec::new(),
            borrower,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (number, actor) in state.actors.iter().enumerate() {
            if self.roles[number].after && !state.replaced {
                continue;
            }
            if let Kind::Join(starter) = self.roles[number].kind
                && actor.next == Next::Start
                && !self.may_join(state, starter)
            {
                continue;
            }
            match actor.next {
                Next::Begin
                | Next::Write
                | Next::Put(_)
                | Next::Fill(_)
                | Next::Delete { .. }
                | Next::Sweep
                | Next::Remove(_)
                | Next::Pin(_)
                | Next::PutBorrower(..)
                | Next::Unpin(..) => {
                    actions.extend(Way::all(state.faults).iter().map(|way| Action::Step(number, *way)));
                }
                Next::List(..) => {
                    actions.push(Action::Step(number, Way::Done));
                    if state.begins.iter().any(|since| *since > 0) {
                        actions.push(Action::Idle(number));
                    }
                }
                Next::Ended | Next::Dead(None) => continue,
                Next::Start
                | Next::LookAgain
                | Next::Prepare
                | Next::Settle(..)
                | Next::Dead(Some(_))
                | Next::LookForFirst(_)
                | Next::CheckOwner(_)
                | Next::SettleBorrower(..) => {
                    actions.push(Action::Step(number, Way::Done));
                }
            }
            if state.faults > 0 && !matches!(actor.next, Next::Start | Next::Dead(_)) {
                actions.push(Action::Crash(number));
            }
        }
        actions.extend((0..state.late.len()).map(Action::Land));
        if self.replacement > 0 && !state.replaced {
            actions.push(Action::Replace);
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        self.step(state, &action, &mut Say::nothing())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![
            Property::always(ONCE, |model: &Table, state: &State| model.once(state)),
            Property::always(NEVER, |model: &Table, state: &State| model.never(state)),
            Property::always(WHOLE, |model: &Table, state: &State| model.whole(state)),
            Property::always(FENCED, |model: &Table, state: &State| model.fenced_if_idle(state)),
            Property::always(TRUE, |model: &Table, state: &State| model.tells_the_truth(state)),
            Property::always(BORROWED, |model: &Table, state: &State| model.can_be_read(state)),
        ];
        if self.rules.wait && !self.roles.iter().all(Role::collects) {
            all.push(Property::sometimes(COMMITTED, |model: &Table, state: &State| model.all_committed(state)));
        }
        if self.roles.iter().any(Role::collects) && self.table && self.replacement == 0 {
            all.push(Property::sometimes(DELETED, |_, state: &State| state.manifests[1].is_none()));
        }
        if self.faults > 2 {
            all.push(Property::sometimes(UNKNOWN_COMMITTED, |_, state: &State| state.unknown & state.acknowledged != 0));
            all.push(Property::sometimes(UNKNOWN_REFUSED, |_, state: &State| state.unknown & state.refused != 0));
        }
        let overwrites = self.overwritten || self.roles.iter().any(|role| matches!(role.kind, Kind::Overwrite));
        if overwrites || !self.table && self.objects != 0 {
            all.push(Property::sometimes(FREED, |model: &Table, state: &State| model.objects & !state.objects != 0));
        }
        all
    }
}

pub(crate) const ONCE: &str = "each acknowledged commit is in the chain once, and no change is there twice";
pub(crate) const NEVER: &str = "a change that was refused is never committed";
pub(crate) const WHOLE: &str = "no manifest and no object is deleted that a kept version or a live change needs";
pub(crate) const FENCED: &str = "a session that is not idle is never fenced";
pub(crate) const TRUE: &str = "what the newest version tells of a claim is so";
pub(crate) const BORROWED: &str = "what a version of a borrower uses is there";
pub(crate) const COMMITTED: &str = "all changes are committed";
pub(crate) const UNKNOWN_COMMITTED: &str = "an unknown outcome is resolved as committed";
pub(crate) const UNKNOWN_REFUSED: &str = "an unknown outcome is resolved as not committed";
pub(crate) const FREED: &str = "a collection deletes an object";
pub(crate) const DELETED: &str = "a collection deletes a version";

impl Table {
    /// Whether the ticket of a session and the receipts of its parts are there.
    fn may_join(&self, state: &State, starter: usize) -> bool {
        let actor = &state.actors[starter];
        actor.began && matches!(actor.next, Next::Prepare | Next::Put(_) | Next::Fill(_) | Next::Settle(..) | Next::Dead(_))
    }

    /// Whether another actor commits the session of this one.
    fn is_joined(&self, actor: usize) -> bool {
        self.roles.iter().any(|role| matches!(role.kind, Kind::Join(starter) if starter == actor))
    }

    fn once(&self, state: &State) -> bool {
        let Some(newest) = state.newest(&self.rules) else { return state.acknowledged == 0 };
        let (mut once, mut twice) = (0u16, 0u16);
        for change in newest.made.iter().filter_map(|change| change.bit()) {
            twice |= once & change;
            once |= change;
        }
        // The replacement has a first version of its own.
        let own = newest.table == 1 + u8::from(state.replaced) || !self.table || newest.is_empty;
        own && twice == 0 && state.acknowledged & !once == 0
    }

    /// Whether `fate` tells the truth about every claim that was sent, whoever asks it, and when.
    fn tells_the_truth(&self, state: &State) -> bool {
        let Some(newest) = state.newest(&self.rules) else { return true };
        state.actors.iter().all(|actor| {
            let (Next::Put(claim) | Next::Fill(claim) | Next::Settle(claim, _) | Next::Dead(Some(claim))) = actor.next else {
                return true;
            };
            let (version, id) = (claim.ours.version, claim.ours.id);
            let is_there = newest.chain[version as usize] == id;
            match outcomes::fate(&self.view(&newest), version.into(), id) {
                Fate::Committed => is_there,
                Fate::Void => !is_there && newest.version >= version,
                Fate::Open => newest.version < version,
                Fate::AskChain => version > newest.floor,
                Fate::GivenUp => version <= newest.floor && !newest.must_stay(version.into()),
            }
        })
    }

    fn never(&self, state: &State) -> bool {
        let Some(newest) = state.newest(&self.rules) else { return true };
        newest.made.iter().filter_map(|change| change.bit()).all(|change| state.refused & change == 0)
    }

    fn whole(&self, state: &State) -> bool {
        let Some(newest) = state.newest(&self.rules) else {
            let creates = |(number, _): &(usize, &Actor)| matches!(self.roles[*number].kind, Kind::Create);
            let live = |number: usize, actor: &Actor| {
                actor.began && !matches!(actor.next, Next::Ended | Next::Dead(_)) && state.ended & (1 << number) == 0
            };
            let mut creators = state.actors.iter().enumerate().filter(creates);
            return creators.all(|(number, actor)| !live(number, actor) || actor.holds & !state.objects == 0);
        };
        let versions = (1..=newest.version as usize).all(|version| {
            let id = newest.chain[version];
            id == 0
                || !newest.must_stay(version)
                || state.manifests[version].is_some_and(|found| found.id == id && found.names & !state.objects == 0)
        });
        let live = |(number, actor): (usize, &Actor)| {
            let ended = matches!(actor.next, Next::Ended | Next::Sweep | Next::Start) || self.roles[number].collects();
            let committed = newest.made.contains(&self.change(state, number));
            let fenced = newest.floor > actor.since && self.rules.fence;
            let creates = matches!(self.roles[number].kind, Kind::Create) && newest.is_empty;
            ended
                || committed
                || fenced
                || actor.table != newest.table && !creates
                || !actor.began
                || actor.holds & !state.objects == 0
        };
        versions && state.actors.iter().enumerate().all(live)
    }

    fn fenced_if_idle(&self, state: &State) -> bool {
        let Some(newest) = state.newest(&self.rules) else { return true };
        state.actors.iter().enumerate().all(|(number, actor)| {
            let role = &self.roles[number];
            let live = role.begins && actor.began && !matches!(actor.next, Next::Ended | Next::Sweep | Next::Dead(_));
            !live
                || newest.floor <= actor.since
                || state.idle & (1 << number) != 0
                || newest.made.contains(&self.change(state, number))
                || newest.table != actor.table
        })
    }

    fn all_committed(&self, state: &State) -> bool {
        let working =
            |number: &usize| !self.roles[*number].collects() && !matches!(self.roles[*number].kind, Kind::Create | Kind::Borrow);
        let rounds = |number: usize| (0..self.roles[number].rounds).map(move |round| Change::of(self.session(number), round));
        let creates = self.roles.iter().any(|role| matches!(role.kind, Kind::Create));
        let all = (0..self.roles.len()).filter(working).flat_map(rounds).filter_map(|change| change.bit());
        let old_table = |number: &usize| self.replacement > 0 && !self.roles[*number].after;
        let excused: u16 = (0..self.roles.len()).filter(old_table).flat_map(rounds).filter_map(|change| change.bit()).sum();
        let borrowers = self.roles.iter().filter(|role| matches!(role.kind, Kind::Borrow)).count();
        let borrowed = state.borrower.iter().filter(|version| version.uses != 0).count();
        borrowed == borrowers
            && all.fold(0, |all, change| all | change) & !excused & !state.acknowledged == 0
            && (!creates || state.acknowledged != 0)
    }
}

impl Narrated for Table {
    fn step(&self, before: &State, action: &Action, say: &mut Say) -> Option<State> {
        let mut state = before.clone();
        match *action {
            Action::Step(actor, way) => {
                state.faults -= way.cost();
                self.act(&mut state, actor, way, say);
                say.add(|| way.describe().to_owned());
            }
            Action::Idle(actor) => self.list(&mut state, actor, true, say),
            Action::Crash(actor) => {
                state.faults -= 1;
                say.add(|| format!("the process of {} dies", self.name(actor)));
                let now = &mut state.actors[actor];
                now.next = match now.next {
                    _ if self.roles[actor].collects() && now.round + 1 < self.roles[actor].rounds => {
                        now.round += 1;
                        now.attempt += 1;
                        now.listed = None;
                        Next::Start
                    }
                    _ if self.roles[actor].collects() => Next::Ended,
                    Next::Put(claim) | Next::Fill(claim) if claim.sends > 0 => Next::Dead(Some(claim)),
                    Next::Settle(claim, _) => Next::Dead(Some(claim)),
                    _ if self.is_joined(actor) => Next::Dead(None),
                    _ => Next::Ended,
                };
            }
            Action::Land(place) => self.land(&mut state, place, say),
            Action::Replace => {
                say.add(|| format!("somebody deletes the table, and makes another one there with {} versions", self.replacement));
                (state.replaced, state.root) = (true, 2);
                state.manifests = [None; VERSIONS];
                let mut manifest = Manifest::first(2);
                for version in 1..=self.replacement {
                    if version > 1 {
                        manifest = manifest.child(version, 200 + version, Change::NONE);
                    }
                    state.manifests[version as usize] = Some(manifest);
                }
                (state.objects, state.begins, state.acknowledged) = (1, [0; 4], 0);
            }
        }
        state.late.sort_unstable();
        // What an actor knew that has ended makes no difference.
        let ended = Actor { next: Next::Ended, ..START };
        state.actors.iter_mut().filter(|actor| actor.next == Next::Ended).for_each(|actor| *actor = ended);
        Some(state)
    }
}

impl Table {
    /// How an actor is called.
    fn name(&self, actor: usize) -> String {
        match self.roles[actor].kind {
            Kind::Append => format!("writer {actor}"),
            Kind::Overwrite => format!("overwriter {actor}"),
            Kind::Tag => format!("tagger {actor}"),
            Kind::Create => format!("creator {actor}"),
            Kind::Join(starter) => format!("committer {actor} (of the session of {starter})"),
            Kind::Borrow => format!("borrower {actor}"),
            Kind::Collect => format!("collector {actor}"),
        }
    }

    fn land(&self, state: &mut State, place: usize, say: &mut Say) {
        match state.late.remove(place) {
            Late::PutManifest(manifest) => {
                let free = state.manifests[manifest.version as usize].is_none();
                say.add(|| {
                    let answer = if free { "lands" } else { "lands, and finds the name taken" };
                    format!("a late put of {} {answer}", manifest.describe())
                });
                state.manifests[manifest.version as usize].get_or_insert(manifest);
            }
            Late::DeleteManifest(version) => {
                say.add(|| format!("a late delete of manifest {version} lands"));
                state.manifests[version as usize] = None;
            }
            Late::PutObject(object) => {
                say.add(|| format!("a late put of object {object} lands"));
                state.objects |= 1 << object;
            }
            Late::DeleteObject(object) => {
                say.add(|| format!("a late delete of object {object} lands"));
                state.objects &= !(1 << object);
            }
            Late::PutBegin(session, since) => {
                say.add(|| format!("a late put of the begin of session {session} lands"));
                if state.begins[session as usize] == 0 {
                    state.begins[session as usize] = since + 1;
                }
            }
            Late::DeleteBegin(session, since) => {
                say.add(|| format!("a late delete of the begin of session {session} lands"));
                // A session that begins anew has another id.
                if state.begins[session as usize] == since + 1 {
                    state.begins[session as usize] = 0;
                }
            }
            Late::PutPin(pin) => {
                say.add(|| format!("a late put of pin {:#x} lands", pin.name));
                put_pin(state, pin);
            }
            Late::DeletePin(name) => {
                say.add(|| format!("a late delete of pin {name:#x} lands"));
                state.pins.retain(|pin| pin.name != name);
            }
            Late::PutBorrower(manifest) => {
                say.add(|| format!("a late put of {} of the borrower lands", manifest.describe()));
                put_borrower(state, manifest);
            }
        }
    }

    fn act(&self, state: &mut State, actor: usize, way: Way, say: &mut Say) {
        match state.actors[actor].next {
            Next::Start => self.start(state, actor, say),
            Next::Begin => self.begin(state, actor, way, say),
            Next::LookAgain => self.look_again(state, actor, say),
            Next::Write => self.write(state, actor, way, say),
            Next::Prepare => self.prepare(state, actor, say),
            Next::Put(claim) => self.put(state, actor, claim, way, say),
            Next::Fill(claim) => self.fill(state, actor, claim, way, say),
            Next::Settle(claim, created) => self.settle(state, actor, claim, created, say),
            Next::List(..) => self.list(state, actor, false, say),
            Next::LookForFirst(first) => self.look_for_first(state, actor, first, say),
            Next::Delete { manifests, objects, sessions } => {
                self.delete(state, actor, [manifests, objects, sessions], way, say);
            }
            Next::Sweep => self.sweep(state, actor, way, say),
            Next::Remove(version) => self.remove(state, actor, version, way, say),
            Next::Pin(ours) => self.pin(state, actor, ours, way, say),
            Next::CheckOwner(ours) => self.check_owner(state, actor, ours, say),
            Next::PutBorrower(ours, sends) => self.put_borrower(state, actor, ours, sends, way, say),
            Next::SettleBorrower(ours, sends) => self.settle_borrower(state, actor, ours, sends, say),
            Next::Unpin(ours, again) => self.unpin(state, actor, ours, again, way, say),
            Next::Dead(Some(claim)) => {
                say.add(|| format!("somebody resolves what became of {}", claim.ours.describe()));
                state.actors[actor].next = Next::Settle(Claim { resolves: true, ..claim }, None);
            }
            Next::Dead(None) | Next::Ended => {}
        }
    }

    /// Lists sessions, objects and pins. `base` is the newest version.
    fn listing(&self, state: &State, base: Option<&Manifest>) -> Listing {
        let collected = base.map_or(0, |base| base.collected);
        Listing { begins: state.begins, objects: state.objects, pinned: !state.pins.is_empty(), collected }
    }
}
