//! Changes, sessions and creates: they begin, write, claim a version, and find out whether the claim counts.

use tetrys_model::{
    decisions::{self, MayCommit, Withdraw},
    outcomes::{self, Fate},
};

use super::{CREATED, Change, Claim, Kind, Late, Manifest, Next, State, Table, VERSIONS};
use crate::requests::{Say, Way, bits};

/// How often a manifest is put that gets no answer and is not there.
const SENDS: u8 = 2;

impl Table {
    pub(super) fn start(&self, state: &mut State, actor: usize, say: &mut Say) {
        let newest = state.newest(&self.rules);
        match self.roles[actor].kind {
            Kind::Collect => {
                say.add(|| format!("{} finds {}", self.name(actor), found(newest.as_ref())));
                state.actors[actor].next = Next::List(
                    newest,
                    state.number_after(&self.rules, newest.as_ref()),
                    Some(self.listing(state, newest.as_ref())).filter(|_| !self.rules.list_after),
                );
            }
            Kind::Join(starter) => {
                say.add(|| format!("{} gets the ticket and the receipts", self.name(actor)));
                let ticket = state.actors[starter];
                let now = &mut state.actors[actor];
                (now.since, now.table, now.holds, now.began) = (ticket.since, ticket.table, ticket.holds, true);
                now.next = Next::Prepare;
            }
            Kind::Borrow => self.borrow(state, actor, say),
            _ => {
                say.add(|| format!("{} begins: it finds {}", self.name(actor), found(newest.as_ref())));
                self.base_on(state, actor, newest);
            }
        }
    }

    /// Makes this version the base of a change.
    fn base_on(&self, state: &mut State, actor: usize, newest: Option<Manifest>) {
        let role = &self.roles[actor];
        if matches!(role.kind, Kind::Create) && newest.is_some_and(|newest| !newest.is_empty) {
            return self.refuse(state, actor);
        }
        let given_up = newest.is_some_and(|newest| role.object.is_some_and(|object| newest.condemned[object] > 0));
        if given_up && self.rules.shun {
            // Only where two sessions may write the same name.
            return self.refuse(state, actor);
        }
        let holds = newest.filter(|_| role.reuses).map_or(0, |newest| self.reusable(state, &newest));
        let now = &mut state.actors[actor];
        now.since = newest.map_or(0, |newest| newest.version);
        now.table = newest.filter(|newest| !newest.is_empty).map_or(0, |newest| newest.table);
        (now.holds, now.began) = (holds, !role.begins);
        now.next = match role.object {
            _ if role.begins => Next::Begin,
            Some(_) => Next::Write,
            None => Next::Prepare,
        };
    }

    /// The objects that a change may reuse that begins at this version: those of the versions that are there.
    fn reusable(&self, state: &State, newest: &Manifest) -> u16 {
        let there = (1..=newest.version as usize).filter(|version| {
            let shunned = self.rules.shun && newest.expired[*version].0 > 0 && *version != newest.version as usize;
            !shunned
        });
        let names = there.filter_map(|version| state.manifests[version]).fold(newest.names, |all, found| all | found.names);
        let shunned = |object: &usize| self.rules.shun && newest.condemned[*object] > 0;
        bits(names).filter(|object| !shunned(object)).fold(0, |all, object| all | 1 << object) & state.objects
    }

    pub(super) fn begin(&self, state: &mut State, actor: usize, way: Way, say: &mut Say) {
        let since = state.actors[actor].since;
        say.add(|| format!("{} puts its begin, since version {since}", self.name(actor)));
        if way.acts() {
            state.begins[actor] = since + 1;
        }
        if way.stays() {
            state.late.push(Late::PutBegin(actor as u8, since));
        }
        if way.answers() {
            state.actors[actor].next = Next::LookAgain;
        }
    }

    pub(super) fn look_again(&self, state: &mut State, actor: usize, say: &mut Say) {
        let newest = state.newest(&self.rules);
        let since = u64::from(state.actors[actor].since);
        let may_begin = newest.as_ref().is_none_or(|newest| match self.rules.begin_after_collection {
            true => decisions::may_begin(&self.view(newest), since),
            false => !decisions::is_fenced(since, newest.floor.into()),
        });
        if !may_begin {
            say.add(|| format!("{} looks again, and begins anew: it finds {}", self.name(actor), found(newest.as_ref())));
            return self.base_on(state, actor, newest);
        }
        say.add(|| format!("{} looks again, and goes on", self.name(actor)));
        let now = &mut state.actors[actor];
        now.began = true;
        now.next = if self.roles[actor].object.is_some() { Next::Write } else { Next::Prepare };
    }

    pub(super) fn write(&self, state: &mut State, actor: usize, way: Way, say: &mut Say) {
        let Some(object) = self.roles[actor].object else { return };
        say.add(|| format!("{} writes object {object}", self.name(actor)));
        if way.acts() {
            state.objects |= 1 << object;
        }
        if way.stays() {
            state.late.push(Late::PutObject(object as u8));
        }
        if way.answers() {
            state.actors[actor].holds |= 1 << object;
            state.actors[actor].next = Next::Prepare;
        }
    }

    /// Reads the newest version, and makes the next one.
    pub(super) fn prepare(&self, state: &mut State, actor: usize, say: &mut Say) {
        let (newest, now, change) = (state.newest(&self.rules), state.actors[actor], self.change(state, actor));
        let creates = matches!(self.roles[self.session(actor)].kind, Kind::Create);
        say.add(|| format!("{} looks: it finds {}", self.name(actor), found(newest.as_ref())));
        let Some(newest) = newest else {
            match creates && now.since == 0 && state.number_after(&self.rules, None) == 1 {
                true => {
                    let mut ours = Manifest::root(1, self.id(state, actor), CREATED);
                    (ours.made[1], ours.names) = (change, now.holds);
                    self.claim(state, actor, ours, say);
                }
                false => self.refuse(state, actor),
            }
            return;
        };
        let is_same = newest.table == now.table || creates && (newest.is_empty || newest.made.contains(&change));
        if !is_same {
            say.add(|| ", another table: refused".to_owned());
            return self.refuse(state, actor);
        }
        let claims = match decisions::may_commit(&self.view(&newest), now.since.into(), change) {
            MayCommit::Claim => true,
            MayCommit::Already(_) => !self.rules.remember,
            MayCommit::Over => !self.rules.fence,
            MayCommit::Search(first, end) => {
                let found = newest.made[first as usize..end as usize].contains(&change);
                if found && self.rules.remember {
                    say.add(|| ", and an earlier version has this change: done".to_owned());
                    return self.acknowledge(state, actor, false);
                }
                true
            }
        };
        if claims {
            return match self.next_version(state, actor, &newest) {
                Some(ours) => self.claim(state, actor, ours, say),
                None => {
                    say.add(|| ", which gives up what the change needs: refused".to_owned());
                    self.refuse(state, actor);
                }
            };
        }
        match decisions::may_commit(&self.view(&newest), now.since.into(), change) {
            MayCommit::Already(version) => {
                say.add(|| format!(", and version {version} has this change: done"));
                self.acknowledge(state, actor, false);
            }
            _ => {
                say.add(|| format!(", whose floor is {}: the change is over", newest.floor));
                // For a session, another process may have committed it.
                self.refuse(state, actor);
            }
        }
    }

    /// The next version with the change of an actor; `None` if the newest version gives up for good what it needs.
    fn next_version(&self, state: &State, actor: usize, newest: &Manifest) -> Option<Manifest> {
        let (now, role) = (state.actors[actor], &self.roles[self.session(actor)]);
        let mut ours =
            newest.child(state.number_after(&self.rules, Some(newest)), self.id(state, actor), self.change(state, actor));
        let mut needs = now.holds;
        match role.kind {
            Kind::Create => (ours.is_empty, ours.names) = (false, now.holds),
            Kind::Overwrite => ours.names = now.holds,
            Kind::Tag => {
                if newest.expired_at(1).is_none() && !newest.must_stay(1) || state.manifests[1].is_none() {
                    return None;
                }
                match decisions::withdraw(newest.expired_at(1), newest.floor.into()) {
                    Withdraw::Conflict if self.rules.refuse_final => return None,
                    Withdraw::LeaveOut if self.rules.withdraw => {
                        ours.expired[1] = (0, 0);
                        ours.kept |= u16::from(ours.floor >= 1) << 1;
                    }
                    _ => {}
                }
                ours.tags |= 1 << 1;
                needs |= state.manifests[1]?.names;
            }
            _ => ours.names |= now.holds,
        }
        for object in bits(ours.names | needs) {
            match decisions::withdraw(newest.condemned_at(object), newest.floor.into()) {
                Withdraw::Conflict if self.rules.refuse_final => return None,
                Withdraw::LeaveOut if self.rules.withdraw => ours.condemned[object] = 0,
                _ => {}
            }
        }
        Some(ours)
    }

    pub(super) fn claim(&self, state: &mut State, actor: usize, ours: Manifest, say: &mut Say) {
        assert!((ours.version as usize) < VERSIONS, "more versions than the model has");
        say.add(|| format!("; it makes {}", ours.describe()));
        state.actors[actor].next = Next::Put(Claim { ours, sends: 0, fills: 0, resolves: false });
    }

    /// The id of the attempt of an actor. Each attempt has its own.
    pub(super) fn id(&self, state: &State, actor: usize) -> u8 {
        (actor as u8 + 1) * 32 + state.actors[actor].attempt * 2 + 1
    }

    pub(super) fn put(&self, state: &mut State, actor: usize, claim: Claim, way: Way, say: &mut Say) {
        say.add(|| format!("{} puts {}", self.name(actor), claim.ours.describe()));
        let created = put_new(state, claim.ours, way);
        if created == Some(false) {
            say.add(|| ": the name is taken".to_owned());
        }
        state.actors[actor].next = Next::Settle(Claim { sends: claim.sends + 1, ..claim }, created);
    }

    /// Puts an empty change where the own manifest is not there.
    pub(super) fn fill(&self, state: &mut State, actor: usize, claim: Claim, way: Way, say: &mut Say) {
        let (version, id) = (claim.ours.version, claim.ours.id + 1);
        let parent = state.manifests[claim.ours.parent.0 as usize].filter(|parent| parent.id == claim.ours.parent.1);
        let empty = match (claim.ours.parent(), parent) {
            (Some(_), Some(parent)) => Some(parent.child(version, id, Change::NONE)),
            (Some(_), None) => None,
            (None, _) => Some(Manifest { is_empty: true, ..Manifest::root(version, id, claim.ours.table) }),
        };
        say.add(|| format!("{} puts an empty change as version {version}", self.name(actor)));
        if let Some(empty) = empty {
            put_new(state, empty, way);
        }
        state.actors[actor].next = Next::Settle(Claim { fills: claim.fills + 1, ..claim }, None);
    }

    /// Reads the newest version after a claim, and decides whether it counts.
    pub(super) fn settle(&self, state: &mut State, actor: usize, claim: Claim, created: Option<bool>, say: &mut Say) {
        let (rules, ours) = (&self.rules, claim.ours);
        let holder = state.manifests[ours.version as usize].map(|holder| holder.id);
        let newest = state.newest(rules);
        let by_name = match (created, holder) {
            (Some(true), _) if !rules.look_after_claim => Some(Fate::Committed),
            (_, Some(id)) if !rules.look_after_claim && id == ours.id => Some(Fate::Committed),
            (Some(false) | None, Some(id)) if !(rules.look_after_claim && rules.floor_decides) && id != ours.id => {
                Some(Fate::Void)
            }
            (_, None) if !rules.look_after_claim => Some(Fate::Open),
            _ => None,
        };
        let fate = by_name.unwrap_or_else(|| match &newest {
            Some(newest) if newest.table != ours.table && !newest.is_empty && ours.parent.0 > 0 => Fate::Void,
            Some(newest) => match outcomes::fate(&self.view(newest), ours.version.into(), ours.id) {
                Fate::AskChain if newest.chain[ours.version as usize] == ours.id => Fate::Committed,
                Fate::AskChain => Fate::Void,
                // A manifest of another table has the number.
                Fate::Open if holder.is_some_and(|holder| holder != ours.id) => Fate::Void,
                other => other,
            },
            None if ours.parent.0 > 0 => Fate::Void,
            None => Fate::Open,
        });
        let seen = || match by_name {
            Some(_) => "the name".to_owned(),
            None => found(newest.as_ref()),
        };
        say.add(|| format!("{} reads {}", self.name(actor), seen()));
        match fate {
            Fate::Committed if self.roles[actor].collects() => {
                say.add(|| ": its collection is published".to_owned());
                self.after_collection(state, actor, &ours);
            }
            Fate::Committed if state.ended & (1 << actor) != 0 => {
                say.add(|| ", and `ended`: it deletes its version 1".to_owned());
                state.manifests[1] = None;
                self.refuse(state, actor);
            }
            Fate::Committed => {
                say.add(|| ": its change is committed".to_owned());
                self.acknowledge(state, actor, claim.resolves);
            }
            Fate::Void if self.roles[actor].collects() && !rules.publish_first => {
                say.add(|| ": its collection is not published, and it deletes nevertheless".to_owned());
                self.after_collection(state, actor, &ours);
            }
            Fate::Void if !rules.leave_own && holder == Some(ours.id) => {
                say.add(|| ": another table is there now".to_owned());
                state.actors[actor].next = Next::Remove(ours.version);
            }
            Fate::Void => {
                say.add(|| ": its claim does not count".to_owned());
                self.lost(state, actor, claim.resolves);
            }
            Fate::GivenUp => {
                say.add(|| ": nobody can tell, the version was given up".to_owned());
                state.unknown |= self.change(state, actor).bit().unwrap_or(0);
                state.actors[actor].next = Next::Ended;
            }
            Fate::Open if claim.sends < SENDS && !claim.resolves => {
                say.add(|| ": its manifest is not there".to_owned());
                state.actors[actor].next = Next::Put(claim);
            }
            Fate::Open if claim.fills == 0 && rules.fill => {
                say.add(|| ": its manifest is not there".to_owned());
                state.actors[actor].next = Next::Fill(claim);
            }
            Fate::Open if rules.fill => {
                say.add(|| ": the store is silent, and the outcome is unknown until somebody resolves it".to_owned());
                state.unknown |= self.change(state, actor).bit().unwrap_or(0);
                state.actors[actor].next = Next::Dead(Some(Claim { fills: 0, ..claim }));
            }
            Fate::Open | Fate::AskChain => {
                say.add(|| ": its manifest is not there, so it says that it was not committed".to_owned());
                self.refuse(state, actor);
            }
        }
    }

    /// Tells the user that the change was committed.
    fn acknowledge(&self, state: &mut State, actor: usize, resolves: bool) {
        state.acknowledged |= self.change(state, actor).bit().unwrap_or(0);
        let (role, now) = (&self.roles[actor], &mut state.actors[actor]);
        (now.attempt, now.round) = (now.attempt + 1, now.round + 1);
        now.next = match () {
            () if resolves => Next::Ended,
            () if self.roles[self.session(actor)].begins => Next::Sweep,
            () if now.round < role.rounds => Next::Start,
            () => Next::Ended,
        };
        if now.next != Next::Start {
            now.round -= 1;
        }
    }

    /// Tells the user that the change was not committed, or, if other processes share it, that the session is over here.
    pub(super) fn refuse(&self, state: &mut State, actor: usize) {
        let session = self.session(actor);
        let is_shared = self.roles.iter().enumerate().any(|(other, _)| other != actor && self.session(other) == session);
        if !is_shared && !self.roles[actor].collects() {
            state.refused |= self.change(state, actor).bit().unwrap_or(0);
        }
        state.actors[actor].next = Next::Ended;
    }

    /// A claim does not count: the actor tries again with another id, or ends.
    fn lost(&self, state: &mut State, actor: usize, resolves: bool) {
        let now = &mut state.actors[actor];
        now.attempt += 1;
        if resolves || now.attempt >= self.attempts + now.round {
            return self.refuse(state, actor);
        }
        now.next = if self.roles[actor].collects() { Next::Start } else { Next::Prepare };
    }

    /// Without `leave_own`: a writer deletes its own manifest, and its change was not committed.
    pub(super) fn remove(&self, state: &mut State, actor: usize, version: u8, way: Way, say: &mut Say) {
        say.add(|| format!("{} deletes its manifest {version}", self.name(actor)));
        if way.acts() {
            state.manifests[version as usize] = None;
        }
        if way.stays() {
            state.late.push(Late::DeleteManifest(version));
        }
        self.refuse(state, actor);
    }

    /// A session deletes its files after its commit.
    pub(super) fn sweep(&self, state: &mut State, actor: usize, way: Way, say: &mut Say) {
        let session = self.session(actor);
        say.add(|| format!("{} deletes the files of its session", self.name(actor)));
        let since = state.begins[session].saturating_sub(1);
        if way.acts() {
            state.begins[session] = 0;
        }
        if way.stays() {
            state.late.push(Late::DeleteBegin(session as u8, since));
        }
        state.actors[actor].next = Next::Ended;
    }
}

/// A create-only put. Returns whether the store answered that it created the object; `None` without an answer.
fn put_new(state: &mut State, manifest: Manifest, way: Way) -> Option<bool> {
    let name = &mut state.manifests[manifest.version as usize];
    let free = name.is_none();
    if way.acts() {
        name.get_or_insert(manifest);
    }
    if way.stays() {
        state.late.push(Late::PutManifest(manifest));
    }
    way.answers().then_some(free)
}

/// Describes the newest version that a process found, for a counterexample.
fn found(newest: Option<&Manifest>) -> String {
    match newest {
        None => "no table".to_owned(),
        Some(newest) if newest.is_empty => format!("no table, and an empty version {}", newest.version),
        Some(newest) => format!("version {} of table {} with floor {}", newest.version, newest.table, newest.floor),
    }
}
