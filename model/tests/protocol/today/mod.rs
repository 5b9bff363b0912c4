//! One table under today's rules, those of the library: a look that is at most a minute old, ages in the clock of the store, lists of
//! condemned and marked objects. Each step names the function that it mirrors. The models find what goes wrong with these rules.
//!
//! Time has two hands: minutes pass, and ages pass. What was written before an age passed is old.

mod borrowing;
mod collecting;

use stateright::{Model, Property};

use crate::{
    checking::Narrated,
    requests::{Say, Way, bits},
    table::{Change, Kind, Role},
};

/// One more than the highest version number.
pub(crate) const VERSIONS: usize = 8;
/// The number of objects.
pub(crate) const OBJECTS: usize = 4;
/// `ATTEMPTS` of `src/commit/claim.rs`.
const ATTEMPTS: u8 = 3;

/// A manifest as today's builds write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Manifest {
    pub(crate) version: u8,
    pub(crate) id: u8,
    pub(crate) table: u8,
    /// The changes that its rows come from, by the version that added them.
    pub(crate) made: [Change; VERSIONS],
    pub(crate) names: u16,
    pub(crate) condemned: u16,
    pub(crate) deleting: u16,
    /// Whether a collection made it.
    by_gc: bool,
    /// The age in which it was written.
    pub(crate) written: u8,
}

/// A claim of a version: `commit::claim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim {
    ours: Manifest,
    attempts: u8,
    /// The minute of the look that it relies on.
    looked: u8,
}

/// The next step of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Next {
    /// Opens its base: `Table::open`.
    Start,
    /// Writes its object: `Store::put_content`.
    Write,
    /// Writes a receipt: `PartitionWriter::finish`.
    Receipt,
    /// Looks for the newest version: `Look::take`.
    Look,
    /// Makes the next version from that one: `Session::prepared`.
    Prepare(u8, u8),
    /// Looks again if its look is over a minute old: `commit::claim`.
    Attempt(Claim),
    /// Puts its manifest.
    Put(Claim),
    /// Reads the name back.
    ReadBack(Claim),
    /// Deletes the files of its session: `writer::sweep`.
    Sweep,
    /// A collector reads everything and makes a plan: `plan::survey`.
    Survey,
    /// It publishes the lists: `Survey::publish`.
    Publish(Manifest, GarbagePlan),
    /// It deletes: `Survey::carry_out`.
    Delete(GarbagePlan),
    /// It looks again, after the receipts, whether nobody creates the table: `collect_abandoned`.
    Again(GarbagePlan),
    /// A borrower that has put its pin (`Owners::pin`) looks whether the owner keeps what it uses: `Owners::marked`.
    CheckOwner,
    /// It claims its version.
    ClaimBorrower,
    /// It takes its pin back: `Owners::unpin`.
    Unpin,
    Ended,
}

/// The manifests, objects and sessions that a collector deletes, as bit masks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct GarbagePlan {
    manifests: u16,
    objects: u16,
    sessions: u16,
    /// The minute of the last look.
    looked: u8,
    /// Whether pins were listed before manifests are deleted, and the manifest of version 1 if it was deleted since.
    listed: bool,
    deleted: Option<Manifest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Actor {
    next: Next,
    /// The base version, or the version that the session began with.
    since: u8,
    /// The base as the process holds it.
    base: Option<Manifest>,
    table: u8,
    attempt: u8,
    round: u8,
}

/// The store of the table, the actors, and what was said to users.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) manifests: [Option<Manifest>; VERSIONS],
    /// The age in which each object was written, plus 1; 0 if it is not there.
    pub(crate) objects: [u8; OBJECTS],
    /// The age in which the last file of each session was written, plus 1.
    sessions: [u8; 4],
    late: Vec<Manifest>,
    actors: Vec<Actor>,
    faults: u8,
    crashes: u8,
    minutes: u8,
    ages: u8,
    acknowledged: u16,
    refused: u16,
    replaced: bool,
    /// Whether the committers' pin is there, and the version of the borrower that uses version 1.
    pinned: bool,
    borrowed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Step(usize, Way),
    Crash(usize),
    /// A late put lands.
    Land(usize),
    /// More than a minute passes.
    Minute,
    /// More than an age passes.
    Age,
    Replace,
}

/// The model.
#[derive(Clone, Debug)]
pub(crate) struct Today {
    pub(crate) roles: Vec<Role>,
    pub(crate) faults: u8,
    pub(crate) crashes: u8,
    pub(crate) minutes: u8,
    pub(crate) ages: u8,
    pub(crate) table: bool,
    /// Objects that are there at the beginning, and those that version 1 marks for deletion.
    pub(crate) objects: u16,
    pub(crate) marked: u16,
    pub(crate) replacement: u8,
    /// Whether there is a version 2 with the objects of version 1.
    pub(crate) appended: bool,
}

impl Today {
    /// A table with one version, which names object 0.
    pub(crate) fn new(roles: &[Role]) -> Self {
        Self {
            roles: roles.to_vec(),
            faults: 0,
            crashes: 0,
            minutes: 0,
            ages: 0,
            table: true,
            objects: 1,
            marked: 0,
            replacement: 0,
            appended: false,
        }
    }

    fn session(&self, actor: usize) -> usize {
        match self.roles[actor].kind {
            Kind::Join(starter) => starter,
            _ => actor,
        }
    }

    fn change(&self, state: &State, actor: usize) -> Change {
        Change::of(self.session(actor), state.actors[actor].round)
    }

    fn name(&self, actor: usize) -> String {
        match self.roles[actor].kind {
            Kind::Join(starter) => format!("committer {actor} (of the session of {starter})"),
            Kind::Collect => format!("collector {actor}"),
            Kind::Create => format!("creator {actor}"),
            Kind::Borrow => format!("borrower {actor}"),
            _ => format!("writer {actor}"),
        }
    }
}

impl State {
    fn highest(&self) -> u8 {
        (1..VERSIONS).rev().find(|version| self.manifests[*version].is_some()).unwrap_or(0) as u8
    }

    fn newest(&self) -> Option<Manifest> {
        self.manifests[self.highest() as usize]
    }

    fn is_there(&self) -> u16 {
        (0..OBJECTS).filter(|object| self.objects[*object] > 0).fold(0, |all, object| all | 1 << object)
    }

    /// Whether an age has passed since.
    fn is_old(&self, written: u8) -> bool {
        written < self.ages
    }
}

pub(crate) const ONCE: &str = "each acknowledged commit is in the chain once, and no change is there twice";
pub(crate) const NEVER: &str = "a change that was refused is never committed";
pub(crate) const WHOLE: &str = "no version names an object that is not there";
pub(crate) const ROBBED: &str = "a session at work keeps its receipts";
pub(crate) const BORROWED: &str = "when all processes have ended, what a version of a borrower uses is there";

impl Model for Today {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut manifests = [None; VERSIONS];
        if self.table {
            manifests[1] = Some(Manifest { deleting: self.marked, ..first(1) });
        }
        if self.appended {
            manifests[2] = Some(Manifest { version: 2, id: 202, ..first(1) });
        }
        let mut objects = [0; OBJECTS];
        bits(self.objects).for_each(|object| objects[object] = 1);
        let start = |role: &Role| {
            let next = if matches!(role.kind, Kind::Collect) { Next::Survey } else { Next::Start };
            Actor { next, since: 0, base: None, table: 0, attempt: 0, round: 0 }
        };
        vec![State {
            manifests,
            objects,
            sessions: [0; 4],
            late: Vec::new(),
            actors: self.roles.iter().map(start).collect(),
            faults: self.faults,
            crashes: self.crashes,
            minutes: 0,
            // What is there at the beginning is old.
            ages: 1,
            acknowledged: 0,
            refused: 0,
            replaced: false,
            pinned: false,
            borrowed: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (number, actor) in state.actors.iter().enumerate() {
            if let Kind::Join(starter) = self.roles[number].kind
                && actor.next == Next::Start
                && state.sessions[starter] == 0
            {
                continue;
            }
            match actor.next {
                Next::Ended => continue,
                Next::Put(_) => actions.extend(Way::all(state.faults).iter().map(|way| Action::Step(number, *way))),
                _ => actions.push(Action::Step(number, Way::Done)),
            }
            if state.crashes > 0 {
                actions.push(Action::Crash(number));
            }
        }
        actions.extend((0..state.late.len()).map(Action::Land));
        if state.minutes < self.minutes {
            actions.push(Action::Minute);
        }
        if state.ages <= self.ages {
            actions.push(Action::Age);
        }
        if self.replacement > 0 && !state.replaced {
            actions.push(Action::Replace);
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        self.step(state, &action, &mut Say::nothing())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONCE, |_, state: &State| {
                let Some(newest) = state.newest() else { return state.acknowledged == 0 };
                let (mut once, mut twice) = (0u16, 0u16);
                for change in newest.made.iter().filter_map(|change| change.bit()) {
                    twice |= once & change;
                    once |= change;
                }
                twice == 0 && state.acknowledged & !once == 0 && (!state.replaced || newest.table == 2)
            }),
            Property::always(NEVER, |_, state: &State| {
                let made = state.newest().map(|newest| newest.made).unwrap_or_default();
                made.iter().filter_map(|change| change.bit()).all(|change| state.refused & change == 0)
            }),
            Property::always(WHOLE, |_, state: &State| {
                state.manifests.iter().flatten().all(|manifest| manifest.names & !state.is_there() == 0)
            }),
            Property::always(ROBBED, |model: &Today, state: &State| model.keeps_receipts(state)),
            Property::always(BORROWED, |_, state: &State| {
                let ended = state.actors.iter().all(|actor| actor.next == Next::Ended);
                let there = state.manifests[1].is_some_and(|found| found.names & !state.is_there() == 0);
                !ended || !state.borrowed || there
            }),
        ]
    }
}

/// The first version of a table. It names object 0.
fn first(table: u8) -> Manifest {
    Manifest {
        version: 1,
        id: 200 + table * 10,
        table,
        made: [Change::NONE; VERSIONS],
        names: 1,
        condemned: 0,
        deleting: 0,
        by_gc: false,
        written: 0,
    }
}

impl Narrated for Today {
    fn step(&self, before: &State, action: &Action, say: &mut Say) -> Option<State> {
        let mut state = before.clone();
        match *action {
            Action::Step(actor, way) => {
                state.faults -= way.cost();
                self.act(&mut state, actor, way, say);
                say.add(|| way.describe().to_owned());
            }
            Action::Crash(actor) => {
                say.add(|| format!("the process of {} dies", self.name(actor)));
                state.crashes -= 1;
                state.actors[actor].next = Next::Ended;
            }
            Action::Land(place) => {
                let manifest = state.late.remove(place);
                let name = &mut state.manifests[manifest.version as usize];
                let outcome = if name.is_none() { "lands" } else { "lands, and finds the name taken" };
                say.add(|| format!("a late put of version {} (attempt {:#x}) {outcome}", manifest.version, manifest.id));
                name.get_or_insert(manifest);
            }
            Action::Minute => {
                say.add(|| "more than a minute passes".to_owned());
                state.minutes += 1;
            }
            Action::Age => {
                say.add(|| "more than an age passes".to_owned());
                (state.minutes, state.ages) = (state.minutes + 1, state.ages + 1);
            }
            Action::Replace => {
                say.add(|| "somebody deletes the table, and makes another one there".to_owned());
                state.manifests = [None; VERSIONS];
                state.manifests[1] = Some(first(2));
                (state.replaced, state.acknowledged) = (true, 0);
            }
        }
        state.late.sort_unstable();
        Some(state)
    }
}

impl Today {
    fn act(&self, state: &mut State, actor: usize, way: Way, say: &mut Say) {
        let name = self.name(actor);
        match state.actors[actor].next {
            Next::Start => self.start(state, actor, say),
            Next::Write => {
                let object = self.roles[actor].object.unwrap_or_default();
                // `put_content` adopts an object of this name, whoever wrote it and however old it is.
                let found = state.objects[object] > 0;
                say.add(|| format!("{name} writes object {object}{}", if found { ", and finds it there" } else { "" }));
                if !found {
                    state.objects[object] = state.ages + 1;
                }
                state.actors[actor].next = if self.roles[actor].begins { Next::Receipt } else { Next::Look };
            }
            Next::Receipt => {
                let session = self.session(actor);
                say.add(|| format!("{name} writes a receipt"));
                state.sessions[session] = state.ages + 1;
                state.actors[actor].next = Next::Look;
            }
            Next::Look => {
                let newest = state.highest();
                say.add(|| format!("{name} looks: the newest version is {newest}"));
                state.actors[actor].next = Next::Prepare(newest, state.minutes);
            }
            Next::Prepare(newest, looked) => self.prepare(state, actor, newest, looked, say),
            Next::Attempt(mut claim) => {
                if claim.looked < state.minutes {
                    let newest = state.highest();
                    claim.looked = state.minutes;
                    if newest >= claim.ours.version {
                        say.add(|| format!("{name} looks again: version {newest} is there, so another writer won"));
                        return self.lost(state, actor);
                    }
                    say.add(|| format!("{name} looks again: version {} is still free", claim.ours.version));
                } else {
                    say.add(|| format!("{name} finds its look young enough"));
                }
                state.actors[actor].next = Next::Put(claim);
            }
            Next::Put(claim) => {
                let ours = Manifest { written: state.ages, ..claim.ours };
                let slot = &mut state.manifests[ours.version as usize];
                let free = slot.is_none();
                say.add(|| format!("{name} puts version {} (attempt {:#x})", ours.version, ours.id));
                if way.acts() {
                    slot.get_or_insert(ours);
                }
                if way.stays() {
                    state.late.push(ours);
                }
                if way.answers() && free {
                    say.add(|| ": created, so it says that its change is committed".to_owned());
                    return self.acknowledge(state, actor);
                }
                state.actors[actor].next = Next::ReadBack(Claim { attempts: claim.attempts + 1, ..claim });
            }
            Next::ReadBack(claim) => match state.manifests[claim.ours.version as usize] {
                Some(found) if found.id == claim.ours.id => {
                    say.add(|| format!("{name} reads its own manifest: its change is committed"));
                    self.acknowledge(state, actor);
                }
                Some(_) => {
                    say.add(|| format!("{name} reads the manifest of another writer"));
                    self.lost(state, actor);
                }
                None if claim.attempts < ATTEMPTS => {
                    say.add(|| format!("{name} reads the name back: nothing is there"));
                    state.actors[actor].next = Next::Attempt(claim);
                }
                None => {
                    say.add(|| format!("{name} reads the name back: nothing is there, so it says that it was not committed"));
                    self.refuse(state, actor);
                }
            },
            Next::Sweep => {
                let session = self.session(actor);
                say.add(|| format!("{name} deletes the files of its session"));
                state.sessions[session] = 0;
                state.actors[actor].next = Next::Ended;
            }
            Next::Survey => self.survey(state, actor, say),
            Next::Publish(ours, plan) => self.publish(state, actor, ours, plan, say),
            Next::Delete(plan) => self.delete(state, actor, plan, say),
            Next::Again(plan) => self.abandoned_again(state, actor, plan, say),
            Next::CheckOwner | Next::ClaimBorrower | Next::Unpin => self.borrow(state, actor, say),
            Next::Ended => {}
        }
    }

    fn keeps_receipts(&self, state: &State) -> bool {
        state.actors.iter().enumerate().all(|(number, actor)| {
            let at_work = matches!(actor.next, Next::Look | Next::Prepare(..) | Next::Attempt(_) | Next::Put(_));
            let committed = || state.newest().is_some_and(|newest| newest.made.contains(&self.change(state, number)));
            !at_work || !self.roles[number].begins || state.sessions[self.session(number)] > 0 || committed()
        })
    }

    fn start(&self, state: &mut State, actor: usize, say: &mut Say) {
        let (newest, name) = (state.newest(), self.name(actor));
        if matches!(self.roles[actor].kind, Kind::Borrow) {
            return self.borrow(state, actor, say);
        }
        if let Kind::Join(starter) = self.roles[actor].kind {
            say.add(|| format!("{name} gets the ticket, and writes its partition again"));
            let ticket = state.actors[starter];
            let now = &mut state.actors[actor];
            (now.since, now.table, now.next) = (ticket.since, ticket.table, Next::Receipt);
            return;
        }
        let now = &mut state.actors[actor];
        match newest {
            Some(newest) if !matches!(self.roles[actor].kind, Kind::Create) => {
                say.add(|| format!("{name} begins with version {}", newest.version));
                (now.since, now.base, now.table) = (newest.version, Some(newest), newest.table);
            }
            None if matches!(self.roles[actor].kind, Kind::Create) => say.add(|| format!("{name} begins: there is no table")),
            _ => {
                say.add(|| format!("{name} is refused"));
                return self.refuse(state, actor);
            }
        }
        now.next = if self.roles[actor].object.is_some() { Next::Write } else { Next::Look };
    }

    /// `Session::prepared`, with `Session::spare`, `Session::were_marks` and `Session::committed_after`.
    fn prepare(&self, state: &mut State, actor: usize, looked_at: u8, looked: u8, say: &mut Say) {
        let (name, now, change) = (self.name(actor), state.actors[actor], self.change(state, actor));
        let session = self.session(actor);
        let role = &self.roles[session];
        let id = (actor as u8 + 1) * 32 + now.attempt;
        if matches!(role.kind, Kind::Create) {
            if looked_at > 0 {
                say.add(|| format!("{name} finds a table there: refused"));
                return self.refuse(state, actor);
            }
            let mut ours = Manifest { version: 1, id, table: 3, names: own(role), ..first(3) };
            ours.made[1] = change;
            say.add(|| format!("{name} makes version 1"));
            state.actors[actor].next = Next::Attempt(Claim { ours, attempts: 0, looked });
            return;
        }
        // A session that was committed before is found by its id in the versions that are still there.
        let is_shared = self.roles.iter().any(|role| matches!(role.kind, Kind::Join(starter) if starter == session));
        let later = state.manifests.iter().flatten().filter(|found| found.version > now.since);
        if is_shared && later.clone().any(|found| found.made[found.version as usize] == change) {
            say.add(|| format!("{name} finds the session in a version: it is committed"));
            return self.acknowledge(state, actor);
        }
        if role.begins && state.sessions[session] == 0 {
            say.add(|| format!("{name} finds no receipts: refused"));
            return self.refuse(state, actor);
        }
        // On some stores a listing lags behind; the base is known to exist.
        let newest = looked_at.max(if role.begins { 0 } else { now.since });
        // The base is not read again. A session is committed by a process that joined it, which opens the newest version:
        // `Joined::begin_commit`.
        let known = now.base.filter(|base| base.version == newest && !role.begins);
        let Some(theirs) = known.or(state.manifests[newest as usize]) else {
            say.add(|| format!("{name} finds version {newest} gone, and looks again"));
            state.actors[actor].next = Next::Look;
            return;
        };
        if theirs.table != now.table {
            say.add(|| format!("{name} finds another table: refused"));
            return self.refuse(state, actor);
        }
        let mut ours = Manifest { version: newest + 1, id, by_gc: false, written: state.ages, ..theirs };
        ours.made[ours.version as usize] = change;
        ours.names = match role.kind {
            Kind::Overwrite => own(role),
            _ => theirs.names | own(role),
        };
        // `since` alone is not looked at: the base of a session's commit is the newest version.
        let base = if role.begins { newest } else { now.since };
        let between = now.since.min(base) + 1..theirs.version;
        let marks = |version: u8| state.manifests[version as usize].is_none_or(|found| found.deleting != 0);
        let base_marks = state.manifests[base as usize].is_none_or(|base| base.deleting != 0);
        let collected = theirs.deleting != 0 || base_marks || between.into_iter().any(marks);
        let needed = ours.names & !theirs.names;
        if needed & theirs.deleting != 0 {
            say.add(|| format!("{name} needs what version {newest} marks: refused"));
            return self.refuse(state, actor);
        }
        ours.condemned &= !needed;
        if collected && needed & !state.is_there() != 0 {
            say.add(|| format!("{name} finds that what it needs was deleted: refused"));
            return self.refuse(state, actor);
        }
        say.add(|| format!("{name} makes version {} from version {newest}", ours.version));
        state.actors[actor].next = Next::Attempt(Claim { ours, attempts: 0, looked });
    }

    fn acknowledge(&self, state: &mut State, actor: usize) {
        state.acknowledged |= self.change(state, actor).bit().unwrap_or(0);
        let (role, now) = (&self.roles[actor], &mut state.actors[actor]);
        now.attempt += 1;
        now.next = match () {
            () if role.begins => Next::Sweep,
            () if now.round + 1 < role.rounds => Next::Start,
            () => Next::Ended,
        };
        now.round += u8::from(now.next == Next::Start);
    }

    /// `Session::publish_with` ends with an error that is definite.
    fn refuse(&self, state: &mut State, actor: usize) {
        if !matches!(self.roles[actor].kind, Kind::Join(_)) {
            state.refused |= self.change(state, actor).bit().unwrap_or(0);
        }
        state.actors[actor].next = Next::Ended;
    }

    /// A conflict: `Session::claim` rebases onto the newest version, with another commit id.
    fn lost(&self, state: &mut State, actor: usize) {
        let now = &mut state.actors[actor];
        now.attempt += 1;
        match now.attempt < 4 && !matches!(self.roles[actor].kind, Kind::Create) {
            true => now.next = Next::Look,
            false => self.refuse(state, actor),
        }
    }
}

fn own(role: &Role) -> u16 {
    role.object.map_or(0, |object| 1 << object)
}
