//! Garbage collection: it makes the next version with a new floor and new lists, and deletes what is final there.

use tetrys_model::decisions;

use super::{CREATED, Change, Late, Listing, Manifest, Next, OBJECTS, State, Table};
use crate::requests::{Say, Way, bits};

impl Table {
    /// Lists sessions, versions and objects, and makes the next version from the newest one that was read before.
    pub(super) fn list(&self, state: &mut State, actor: usize, idle: bool, say: &mut Say) {
        let Next::List(base, now, listed) = state.actors[actor].next else { return };
        let (base, now) = match listed {
            Some(_) => {
                let newest = state.newest(&self.rules);
                (newest, state.number_after(&self.rules, newest.as_ref()))
            }
            None => (base, now),
        };
        self.drop_dead_pins(state);
        // No collection can have fenced a session, or given up a version, that it does not know from what was listed after the last one.
        let is_valid = |listed: &Listing| !self.rules.list_again || base.is_some_and(|base| base.collected == listed.collected);
        let again = state.actors[actor].listed.filter(is_valid);
        let listed = listed.or(again).unwrap_or_else(|| self.listing(state, base.as_ref()));
        if let Some(again) = again {
            say.add(|| format!("{} keeps what it listed after collection {}; ", self.name(actor), again.collected));
        }
        state.actors[actor].listed = Some(listed).filter(|_| self.keeps && base.is_some());
        let floor = base.map_or(0, |base| base.floor);
        let open = |(session, since): &(usize, u8)| {
            let rounds = 0..self.roles[*session].rounds;
            let committed = rounds
                .map(|round| Change::of(*session, round))
                .any(|change| base.is_some_and(|base| base.made.contains(&change)));
            self.rules.wait && decisions::is_open((*since).into(), floor.into(), committed, idle)
        };
        let sessions: Vec<(usize, u8)> = listed.sessions().filter(open).collect();
        if idle {
            state.idle |= listed.sessions().fold(0, |all, (session, _)| all | 1 << session);
        }
        say.add(|| format!("{} lists: {}", self.name(actor), listed_words(&listed, &sessions, idle)));
        let Some(base) = base else {
            // Without a table too, a collection only lists at first. It takes version 1, which a create could claim otherwise.
            let mut first = Manifest { is_empty: true, collected: 1, ..Manifest::root(1, self.id(state, actor), CREATED) };
            for object in bits(state.objects) {
                first.condemned[object] = 1;
            }
            if !self.rules.take_first {
                state.ended |= listed.sessions().fold(0, |all, (session, _)| all | 1 << session);
                say.add(|| "; it puts `ended` into every session".to_owned());
                state.actors[actor].next = match sessions.is_empty() {
                    true => Next::LookForFirst(Manifest { floor: 1, ..first }),
                    false => Next::Ended,
                };
                return;
            }
            return self.claim(state, actor, first, say);
        };
        let mut ours = base.child(now, self.id(state, actor), Change::NONE);
        let open = sessions.iter().map(|(_, since)| u64::from(*since));
        ours.floor = match self.rules.two_runs {
            true => decisions::next_floor(&self.view(&base), open) as u8,
            false => open.fold(u64::from(now), u64::min).max(base.floor.into()) as u8,
        };
        ours.collected = now;
        let needed = self.give_up_versions(state, listed.pinned, &base, &mut ours);
        self.give_up_objects(listed.objects, &base, &mut ours, needed);
        let lists = |manifest: &Manifest| (manifest.expired, manifest.condemned);
        if lists(&ours) == lists(&base)
            && ours.expired.iter().all(|(at, _)| *at == 0 || *at <= base.floor)
            && nothing(&ours, &base)
        {
            say.add(|| "; nothing changes".to_owned());
            return self.after_collection(state, actor, &base);
        }
        say.add(|| format!("; floor {}, {}", ours.floor, lists_words(&ours)));
        self.claim(state, actor, ours, say);
    }

    /// Without `take_first`: it looks for version 1 once more, and deletes if it is absent.
    pub(super) fn look_for_first(&self, state: &mut State, actor: usize, first: Manifest, say: &mut Say) {
        let absent = state.highest() == 0;
        say.add(|| format!("{} looks for version 1, and {}", self.name(actor), if absent { "goes on" } else { "ends" }));
        match absent {
            true => self.after_collection(state, actor, &first),
            false => state.actors[actor].next = Next::Ended,
        }
    }

    /// Lists versions as kept or expired. Only the newest version and tagged ones are kept. Returns the objects that are needed.
    fn give_up_versions(&self, state: &State, pinned: bool, base: &Manifest, ours: &mut Manifest) -> u16 {
        let mut needed = ours.names;
        for version in 1..=base.version as usize {
            let (id, bit) = (base.chain[version], 1 << version);
            let found = state.manifests[version];
            let at = base.expired_at(version);
            let is_gone = id == 0 || at.is_none() && !base.must_stay(version);
            if is_gone && (self.rules.know_void || found.is_none()) {
                continue;
            }
            // What a collection lists that cannot tell a void manifest from a version.
            let listed = match at {
                _ if self.rules.know_void => id,
                Some(_) => base.expired[version].1,
                None => found.map_or(id, |found| found.id),
            };
            // A pin names version 1.
            let wanted = base.tags & bit != 0 || version == 1 && pinned;
            let is_final = at.is_some_and(|at| decisions::is_final(at, base.floor.into()));
            ours.kept &= !bit;
            if is_final && found.is_none_or(|found| found.id != id && self.rules.know_void) {
                ours.expired[version] = (0, 0);
                continue;
            }
            match decisions::given_up(at, wanted, base.floor.into(), ours.version.into()) {
                Some(at) => ours.expired[version] = (at as u8, listed),
                None => {
                    ours.expired[version] = (0, 0);
                    ours.kept |= if version <= ours.floor as usize { bit } else { 0 };
                    needed |= found.map_or(0, |found| found.names);
                }
            }
        }
        needed
    }

    fn give_up_objects(&self, objects: u16, base: &Manifest, ours: &mut Manifest, needed: u16) {
        for object in 0..OBJECTS {
            let (is_there, is_needed) = (objects & (1 << object) != 0, needed & (1 << object) != 0);
            let at = base.condemned_at(object);
            let at = decisions::given_up(at, is_needed, base.floor.into(), ours.version.into()).filter(|_| is_there);
            ours.condemned[object] = at.unwrap_or(0) as u8;
        }
    }

    /// Lists again after the collection was published, and plans what to delete: what is final, void manifests, and the files of
    /// sessions that are over.
    pub(super) fn after_collection(&self, state: &mut State, actor: usize, made: &Manifest) {
        state.actors[actor].listed = None;
        let view = self.view(made);
        let floor = u64::from(made.floor);
        let is_final = |at: Option<u64>| at.is_some_and(|at| decisions::is_final(at, floor));
        let goes = |version: &usize| {
            let Some(found) = state.manifests[*version] else { return false };
            let void = self.rules.know_void && decisions::is_void(&view, *version as u64, found.id);
            *version < made.version as usize && (is_final(made.expired_at(*version)) || void)
        };
        let manifests = (1..made.version as usize).filter(goes).fold(0, |all, version| all | 1 << version);
        let goes = |object: &usize| state.objects & (1 << object) != 0 && is_final(made.condemned_at(*object));
        let objects = (0..OBJECTS).filter(goes).fold(0, |all, object| all | 1 << object);
        let over = |(session, since): &(usize, u8)| {
            let rounds = 0..self.roles[*session].rounds;
            let committed = rounds.map(|round| Change::of(*session, round)).any(|change| made.made.contains(&change));
            committed || decisions::is_fenced((*since).into(), floor)
        };
        let sessions = self.listing(state, Some(made)).sessions().filter(over).fold(0, |all, (session, _)| all | 1 << session);
        match manifests | objects | sessions {
            0 => self.next_collection(state, actor),
            _ => state.actors[actor].next = Next::Delete { manifests, objects, sessions },
        }
    }

    /// Deletes one manifest, then one object, then the files of one session.
    pub(super) fn delete(&self, state: &mut State, actor: usize, masks: [u16; 3], way: Way, say: &mut Say) {
        let [mut manifests, mut objects, mut sessions] = masks;
        let late = if let Some(version) = bits(manifests).next() {
            say.add(|| format!("{} deletes manifest {version}", self.name(actor)));
            manifests &= !(1 << version);
            if way.acts() {
                state.manifests[version] = None;
            }
            Late::DeleteManifest(version as u8)
        } else if let Some(object) = bits(objects).next() {
            say.add(|| format!("{} deletes object {object}", self.name(actor)));
            objects &= !(1 << object);
            if way.acts() {
                state.objects &= !(1 << object);
            }
            Late::DeleteObject(object as u8)
        } else if let Some(session) = bits(sessions).next() {
            say.add(|| format!("{} deletes the files of session {session}", self.name(actor)));
            sessions &= !(1 << session);
            // A session that begins anew has another id, and its files stay.
            let newest = state.newest(&self.rules);
            let fenced = |since: u8| newest.is_some_and(|newest| decisions::is_fenced(since.into(), newest.floor.into()));
            let committed = newest.is_some_and(|newest| newest.made.contains(&Change::of(session, 0)));
            let since = state.begins[session].saturating_sub(1);
            if way.acts() && (committed || fenced(since)) {
                state.begins[session] = 0;
            }
            Late::DeleteBegin(session as u8, since)
        } else {
            return self.next_collection(state, actor);
        };
        if way.stays() {
            state.late.push(late);
        }
        match manifests | objects | sessions {
            0 => self.next_collection(state, actor),
            _ => state.actors[actor].next = Next::Delete { manifests, objects, sessions },
        }
    }

    fn next_collection(&self, state: &mut State, actor: usize) {
        let now = &mut state.actors[actor];
        (now.round, now.attempt, now.listed) = (now.round + 1, now.attempt + 1, None);
        now.next = if now.round < self.roles[actor].rounds { Next::Start } else { Next::Ended };
    }
}

/// Describes the listing of a collector, for a counterexample.
fn listed_words(listed: &Listing, open: &[(usize, u8)], idle: bool) -> String {
    let objects = bits(listed.objects).map(|object| object.to_string()).collect::<Vec<_>>().join(", ");
    let sessions = match (open.len(), idle) {
        (_, true) => "it takes all sessions for idle".to_owned(),
        (0, _) => "no open sessions".to_owned(),
        (open, _) => format!("open sessions: {open}"),
    };
    format!("objects {objects}; {sessions}")
}

/// Whether a collection that made `ours` would change nothing that a later one needs.
fn nothing(ours: &Manifest, base: &Manifest) -> bool {
    let pending = ours.condemned.iter().any(|at| *at > base.floor) || ours.expired.iter().any(|(at, _)| *at > base.floor);
    !pending
}

/// Describes the versions and objects that a manifest gives up, for a counterexample.
fn lists_words(manifest: &Manifest) -> String {
    let expired = manifest.expired.iter().enumerate().filter(|(_, (at, _))| *at > 0);
    let expired = expired.map(|(version, (at, _))| format!("{version} at {at}")).collect::<Vec<_>>().join(", ");
    let condemned = manifest.condemned.iter().enumerate().filter(|(_, at)| **at > 0);
    let condemned = condemned.map(|(object, at)| format!("{object} at {at}")).collect::<Vec<_>>().join(", ");
    format!("versions given up: [{expired}], objects given up: [{condemned}]")
}
