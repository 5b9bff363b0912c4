//! Garbage collection under today's rules: `survey` of `src/table/upkeep/gc/plan.rs`, and `Survey::carry_out` and
//! `collect_abandoned` of `src/table/upkeep/gc.rs`.

use super::{GarbagePlan, Manifest, Next, OBJECTS, State, Today, VERSIONS};
use crate::requests::{Say, bits};

impl Today {
    /// `plan::survey` with `keep_versions` = 1.
    pub(super) fn survey(&self, state: &mut State, actor: usize, say: &mut Say) {
        let name = self.name(actor);
        let versions: Vec<Manifest> = state.manifests.iter().flatten().copied().collect();
        let Some(newest) = versions.last().copied() else { return self.abandoned(state, actor, say) };
        // A pin names version 1.
        let mut kept = kept(&versions);
        kept[0] |= state.pinned && versions[0].version == 1;
        let needed = versions.iter().zip(&kept).filter(|(_, kept)| **kept).fold(0, |all, (version, _)| all | version.names);
        let condemned_since = since(&versions, |manifest| manifest.condemned);
        let marked_since = since(&versions, |manifest| manifest.deleting);
        let unneeded = state.is_there() & !needed;
        let old = |since: &[Option<u8>; OBJECTS], object: usize| since[object].is_some_and(|since| state.is_old(since));
        let mut marks = bits(unneeded).filter(|object| old(&condemned_since, *object)).fold(0, |all, object| all | 1 << object);
        let is_marked = (0..OBJECTS).filter(|object| marked_since[*object].is_some()).fold(0, |all, object| all | 1 << object);
        let expired: Vec<(Manifest, u8)> = (versions.iter().zip(versions.iter().skip(1)).zip(&kept))
            .filter(|(_, kept)| !**kept)
            .map(|((version, successor), _)| (*version, successor.written))
            .collect();
        let mut plan = GarbagePlan::default();
        let needed_names = loop {
            let goes = !unneeded | marks | is_marked;
            let stays = |(version, successor): &&(Manifest, u8)| !state.is_old(*successor) || version.names & !goes != 0;
            let needed_names = expired.iter().filter(stays).fold(0, |all, (version, _)| all | version.names);
            let left = marks & !needed_names;
            if left == marks {
                let gone = expired.iter().filter(|version| !stays(version));
                plan.manifests = gone.fold(0, |all, (version, _)| all | 1 << version.version);
                break needed_names;
            }
            marks = left;
        };
        let (mut condemned, mut deleting) = (0, 0);
        for object in bits(unneeded) {
            let bit = 1 << object;
            match () {
                () if is_marked & bit != 0 => plan.objects |= bit & !needed_names,
                () if marks & bit != 0 => (plan.objects, deleting) = (plan.objects | bit, deleting | bit),
                () if condemned_since[object].is_some() || state.is_old(state.objects[object] - 1) => condemned |= bit,
                () => {}
            }
        }
        for object in bits(newest.deleting) {
            let is_over = old(&marked_since, object) && unneeded & (1 << object) == 0;
            deleting |= if is_over { 0 } else { 1 << object };
        }
        let old_sessions = (0..4).filter(|session| state.sessions[*session] > 0 && state.is_old(state.sessions[*session] - 1));
        plan.sessions = old_sessions.fold(0, |all, session| all | 1 << session);
        say.add(|| format!("{name} plans: delete {}, condemn [{}], mark [{}]", words(&plan), list(condemned), list(deleting)));
        let id = (actor as u8 + 1) * 32 + state.actors[actor].attempt;
        let lists = Manifest { version: newest.version + 1, id, by_gc: true, condemned, deleting, ..newest };
        state.actors[actor].next = match (condemned, deleting) == (newest.condemned, newest.deleting) {
            true => Next::Delete(GarbagePlan { looked: state.minutes, ..plan }),
            false => Next::Publish(lists, plan),
        };
    }

    /// `Survey::publish`: a commit that does not rebase.
    pub(super) fn publish(&self, state: &mut State, actor: usize, ours: Manifest, plan: GarbagePlan, say: &mut Say) {
        let name = self.name(actor);
        state.actors[actor].attempt += 1;
        if state.highest() >= ours.version {
            say.add(|| format!("{name} finds a newer version, and plans again"));
            state.actors[actor].next = Next::Survey;
            return;
        }
        say.add(|| format!("{name} publishes version {}", ours.version));
        state.manifests[ours.version as usize] = Some(Manifest { written: state.ages, ..ours });
        state.actors[actor].next = Next::Delete(GarbagePlan { looked: state.minutes, ..plan });
    }

    /// `Survey::carry_out` after the publication: one manifest, then one object, then the files of one session. Before and after the
    /// manifests it lists the pins again: `Survey::spare_wanted`.
    pub(super) fn delete(&self, state: &mut State, actor: usize, mut plan: GarbagePlan, say: &mut Say) {
        let name = self.name(actor);
        let spared = |plan: &GarbagePlan| plan.objects & !(if state.pinned { 1 } else { 0 });
        if plan.manifests & 0b10 != 0 && !plan.listed {
            say.add(|| format!("{name} lists the pins again: {}", if state.pinned { "version 1 is pinned" } else { "none" }));
            (plan.listed, plan.objects) = (true, spared(&plan));
            plan.manifests &= if state.pinned { !0b10 } else { u16::MAX };
        } else if let Some(version) = bits(plan.manifests).next() {
            say.add(|| format!("{name} deletes manifest {version}"));
            plan.manifests &= !(1 << version);
            plan.deleted = plan.deleted.or(state.manifests[version].filter(|_| version == 1));
            state.manifests[version] = None;
        } else if let Some(deleted) = plan.deleted {
            say.add(|| format!("{name} lists the pins{}", if state.pinned { ", and puts version 1 back" } else { ": none" }));
            (plan.deleted, plan.objects) = (None, spared(&plan));
            if state.pinned {
                state.manifests[1].get_or_insert(deleted);
            }
        } else if let Some(object) = bits(plan.objects).next() {
            if plan.looked < state.minutes {
                // `Survey::spare_unmarked`.
                plan.looked = state.minutes;
                plan.objects &= state.newest().map_or(0, |newest| newest.deleting) | self.unlisted(state);
            }
            if plan.objects & (1 << object) != 0 {
                say.add(|| format!("{name} deletes object {object}"));
                plan.objects &= !(1 << object);
                state.objects[object] = 0;
            } else {
                say.add(|| format!("{name} looks again, and spares object {object}"));
            }
        } else if let Some(session) = bits(plan.sessions).next() {
            say.add(|| format!("{name} deletes the files of session {session}"));
            plan.sessions &= !(1 << session);
            state.sessions[session] = 0;
        } else {
            say.add(|| format!("{name} is done"));
            let now = &mut state.actors[actor];
            now.round += 1;
            now.next = if now.round < self.roles[actor].rounds { Next::Survey } else { Next::Ended };
            return;
        }
        state.actors[actor].next = Next::Delete(plan);
    }

    /// Without a table, all that was listed goes.
    fn unlisted(&self, state: &State) -> u16 {
        if state.newest().is_none() { u16::MAX } else { 0 }
    }

    /// `plan::abandoned`: everything must be old.
    fn abandoned(&self, state: &mut State, actor: usize, say: &mut Say) {
        let name = self.name(actor);
        let young = |written: &u8| *written > 0 && !state.is_old(written - 1);
        let waits = state.objects.iter().any(young) || state.sessions.iter().any(young);
        say.add(|| format!("{name} finds no table{}", if waits { ", and something that is young" } else { "; all is old" }));
        let sessions = (0..4).filter(|session| state.sessions[*session] > 0).fold(0, |all, session| all | 1 << session);
        let plan = GarbagePlan { objects: state.is_there(), sessions, looked: state.minutes, ..GarbagePlan::default() };
        state.actors[actor].next = if waits { Next::Ended } else { Next::Again(plan) };
    }

    /// `collect_abandoned`: deletes the files of sessions, and looks again before it deletes objects.
    pub(super) fn abandoned_again(&self, state: &mut State, actor: usize, plan: GarbagePlan, say: &mut Say) {
        let name = self.name(actor);
        bits(plan.sessions).for_each(|session| state.sessions[session] = 0);
        let young = |written: &u8| *written > 0 && !state.is_old(written - 1);
        let nobody = state.highest() == 0 && !state.objects.iter().any(young) && !state.sessions.iter().any(young);
        say.add(|| format!("{name} deletes old sessions, and looks again: {}", if nobody { "all is old" } else { "it stops" }));
        state.actors[actor].next = if nobody { Next::Delete(GarbagePlan { sessions: 0, ..plan }) } else { Next::Ended };
    }
}

/// `plan::choose` with `keep` = 1: the newest version, and those with the same rows.
fn kept(versions: &[Manifest]) -> Vec<bool> {
    let mut contents = Vec::new();
    for (place, version) in versions.iter().enumerate() {
        contents.push(if place > 0 && version.by_gc { contents[place - 1] } else { place });
    }
    let last = contents.last().copied().unwrap_or(0);
    contents.iter().map(|content| *content >= last).collect()
}

/// `plan::since`: for each object on the list of the newest version, when the oldest version of the unbroken series was written.
fn since(versions: &[Manifest], list: impl Fn(&Manifest) -> u16) -> [Option<u8>; OBJECTS] {
    let mut since = [None; OBJECTS];
    let mut still = u16::MAX;
    for version in versions.iter().rev() {
        still &= list(version);
        bits(still).for_each(|object| since[object] = Some(version.written));
    }
    since
}

fn list(mask: u16) -> String {
    bits(mask).map(|bit| bit.to_string()).collect::<Vec<_>>().join(", ")
}

fn words(plan: &GarbagePlan) -> String {
    let GarbagePlan { manifests, objects, sessions, .. } = plan;
    format!("manifests [{}], objects [{}], sessions [{}]", list(*manifests), list(*objects), list(*sessions))
}

const _: () = assert!(VERSIONS <= 16 && OBJECTS <= 16);
