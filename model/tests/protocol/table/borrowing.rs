//! Borrowers: commits of another table that uses version 1 of this one, and the pins that they put here.

use tetrys_model::{
    decisions,
    outcomes::{self, Fate},
};

use super::{Change, Late, Manifest, Next, Pin, State, Table};
use crate::requests::{Say, Way};

/// How often a borrower puts a manifest that gets no answer.
const SENDS: u8 = 2;

impl State {
    /// The newest version of the borrower.
    fn newest_of_borrower(&self) -> Manifest {
        self.borrower.last().copied().unwrap_or(Manifest::first(5))
    }
}

impl Table {
    /// Reads the newest version of the borrower, and makes the next one.
    pub(super) fn borrow(&self, state: &mut State, actor: usize, say: &mut Say) {
        let newest = state.newest_of_borrower();
        let change = Change::of(actor, 0);
        let mut ours = newest.child(newest.version + 1, self.id(state, actor), change);
        ours.uses = 1 << 1;
        say.add(|| format!("{} makes {} of its table, which uses version 1 of the owner", self.name(actor), ours.describe()));
        state.actors[actor].next = if self.rules.pin_first { Next::Pin(ours) } else { Next::CheckOwner(ours) };
    }

    /// The name of the pin of an attempt.
    fn pin_name(&self, ours: &Manifest) -> u8 {
        if self.rules.own_pins { ours.id } else { 1 }
    }

    pub(super) fn pin(&self, state: &mut State, actor: usize, ours: Manifest, way: Way, say: &mut Say) {
        let pin = Pin { name: self.pin_name(&ours), version: ours.version, id: ours.id };
        say.add(|| format!("{} puts pin {:#x} for {}", self.name(actor), pin.name, ours.describe()));
        if way.acts() {
            put_pin(state, pin);
        }
        if way.stays() {
            state.late.push(Late::PutPin(pin));
        }
        if way.answers() {
            state.actors[actor].next = if self.rules.pin_first { Next::CheckOwner(ours) } else { Next::PutBorrower(ours, 0) };
        }
    }

    pub(super) fn check_owner(&self, state: &mut State, actor: usize, ours: Manifest, say: &mut Say) {
        let Some(newest) = state.newest(&self.rules) else { return self.refuse(state, actor) };
        let floor = newest.floor.into();
        let is_given_up = newest.expired_at(1).is_some_and(|at| self.rules.refuse_expired || decisions::is_final(at, floor));
        let may = match self.rules.refuse_expired {
            true => decisions::may_borrow(&self.view(&newest), 1, newest.chain[1]),
            false => !is_given_up && newest.must_stay(1),
        };
        let answer = if may { "and goes on" } else { "which gives up version 1: refused" };
        say.add(|| format!("{} reads version {} of the owner, {answer}", self.name(actor), newest.version));
        state.actors[actor].next = match (may, self.rules.pin_first) {
            (true, true) => Next::PutBorrower(ours, 0),
            (true, false) => Next::Pin(ours),
            (false, true) => Next::Unpin(ours, false),
            (false, false) => Next::Ended,
        };
    }

    pub(super) fn put_borrower(&self, state: &mut State, actor: usize, ours: Manifest, sends: u8, way: Way, say: &mut Say) {
        say.add(|| format!("{} puts {} of its table", self.name(actor), ours.describe()));
        if way.acts() {
            put_borrower(state, ours);
        }
        if way.stays() {
            state.late.push(Late::PutBorrower(ours));
        }
        state.actors[actor].next = Next::SettleBorrower(ours, sends + 1);
    }

    pub(super) fn settle_borrower(&self, state: &mut State, actor: usize, ours: Manifest, sends: u8, say: &mut Say) {
        let newest = state.newest_of_borrower();
        say.add(|| format!("{} reads version {} of its table", self.name(actor), newest.version));
        let fate = match outcomes::fate(&self.view(&newest), ours.version.into(), ours.id) {
            Fate::AskChain if newest.chain[ours.version as usize] == ours.id => Fate::Committed,
            Fate::AskChain => Fate::Void,
            other => other,
        };
        let now = &mut state.actors[actor];
        match fate {
            Fate::Committed => {
                say.add(|| ": committed".to_owned());
                now.next = Next::Ended;
            }
            Fate::Void => {
                say.add(|| ": another writer won".to_owned());
                now.attempt += 1;
                now.next = Next::Unpin(ours, now.attempt < self.attempts);
            }
            _ if sends < SENDS => {
                say.add(|| ": its manifest is not there".to_owned());
                now.next = Next::PutBorrower(ours, sends);
            }
            // The claims are those of the model of claims. The pin stays.
            _ => {
                say.add(|| ": the outcome stays unknown".to_owned());
                now.next = Next::Ended;
            }
        }
    }

    /// Deletes the pin of an attempt that does not count.
    pub(super) fn unpin(&self, state: &mut State, actor: usize, ours: Manifest, again: bool, way: Way, say: &mut Say) {
        let name = self.pin_name(&ours);
        say.add(|| format!("{} deletes pin {name:#x}", self.name(actor)));
        if way.acts() {
            state.pins.retain(|pin| pin.name != name);
        }
        if way.stays() {
            state.late.push(Late::DeletePin(name));
        }
        state.actors[actor].next = if again { Next::Start } else { Next::Ended };
    }

    /// A collector drops the pins that hold nothing any more.
    pub(super) fn drop_dead_pins(&self, state: &mut State) {
        let newest = state.newest_of_borrower();
        let view = self.view(&newest);
        state.pins.retain(|pin| match self.rules.pins_of_commits {
            true => !outcomes::is_dead(&view, pin.version.into(), pin.id),
            false => newest.version < pin.version,
        });
    }

    /// Whether the borrower can read what its versions use.
    pub(super) fn can_be_read(&self, state: &State) -> bool {
        let there = state.manifests[1].is_some_and(|found| found.names & !state.objects == 0);
        there || state.borrower.iter().all(|version| version.uses == 0)
    }
}

/// A create-only put of a version of the borrower.
pub(super) fn put_borrower(state: &mut State, manifest: Manifest) {
    if state.borrower.iter().all(|found| found.version != manifest.version) {
        state.borrower.push(manifest);
        state.borrower.sort_unstable();
    }
}

/// A create-only put of a pin.
pub(super) fn put_pin(state: &mut State, pin: Pin) {
    if state.pins.iter().all(|found| found.name != pin.name) {
        state.pins.push(pin);
        state.pins.sort_unstable();
    }
}
