//! Sessions beside garbage collection: sessions that write and reuse objects, their second committers, writers that replace rows,
//! and collectors that give up objects.

use crate::{
    checking::{fails, table_holds},
    environment::full,
    table::{self, Kind, Role, Rules, Table},
    today::{self, Today},
};

const COLLECT: Role = Role::of(Kind::Collect);
const SESSION: Role = Role::of(Kind::Append).writes(1).session();
const OVERWRITE: Role = Role::of(Kind::Overwrite);
const JOIN: Role = Role::of(Kind::Join(0));

#[test]
fn today_a_session_commits_an_object_that_was_deleted() {
    // A collection died after it had marked object 1, which the session writes again.
    let model = Today { ages: 1, objects: 0b11, marked: 0b10, ..Today::new(&[SESSION, COLLECT.rounds(2)]) };
    let words = fails("today, a session", model, today::WHOLE);
    assert!(words.contains("deletes object 1"), "{words}");
}

#[test]
fn today_a_session_is_committed_twice() {
    let roles = [SESSION, Role { begins: true, ..JOIN }, Role::of(Kind::Append), COLLECT.rounds(1)];
    let words = fails("today, two commits of a session", Today { ages: 1, crashes: 1, ..Today::new(&roles) }, today::ONCE);
    assert!(words.contains("deletes manifest 2"), "{words}");
}

#[test]
fn today_a_collector_robs_a_session_that_pauses() {
    // With a wrong clock or a right one: the files of the session are old, so they are deleted.
    let roles = [SESSION, Role { begins: true, ..JOIN }, COLLECT.rounds(1)];
    let words = fails("today, a pause", Today { ages: 1, ..Today::new(&roles) }, today::ROBBED);
    assert!(words.contains("deletes the files of session 0"), "{words}");
}

fn session() -> Table {
    Table { faults: if full() { 1 } else { 0 }, ..Table::new(&[SESSION, OVERWRITE, COLLECT.rounds(2)]) }
}

#[test]
fn what_a_session_needs_stays() {
    table_holds("session/gc, a session, an overwrite and a collector", session());
    table_holds("session/gc, a session and a collector", Table::new(&[SESSION, COLLECT.rounds(2)]));
    let roles = [SESSION, COLLECT.rounds(2), COLLECT.rounds(1)];
    let faults = if full() { 1 } else { 0 };
    table_holds("session/gc, a session and two collectors", Table { faults, ..Table::new(&roles) });
}

#[test]
fn a_session_is_committed_once() {
    table_holds("session/gc, two committers and a collector", Table::new(&[SESSION, JOIN, COLLECT.rounds(2)]));
}

#[test]
fn without_the_fence_a_session_commits_what_was_deleted() {
    let rules = Rules { fence: false, ..Rules::ALL };
    fails("no fence", Table { rules, faults: 0, ..Table::new(&[SESSION, OVERWRITE, COLLECT]) }, table::WHOLE);
}

#[test]
fn a_session_that_is_not_remembered_is_committed_twice() {
    let rules = Rules { remember: false, ..Rules::ALL };
    fails("not remembered", Table { rules, faults: 0, ..Table::new(&[SESSION, JOIN, COLLECT]) }, table::ONCE);
}

#[test]
fn without_waiting_a_collection_fences_sessions_that_are_at_work() {
    let rules = Rules { wait: false, ..Rules::ALL };
    fails("no waiting", Table { rules, faults: 0, ..Table::new(&[SESSION, OVERWRITE, COLLECT]) }, table::FENCED);
}

#[test]
fn a_session_that_begins_below_a_collection_may_be_fenced_while_it_works() {
    // A simpler rule: a session begins anew only if the floor is above `since`.
    let rules = Rules { begin_after_collection: false, ..Rules::ALL };
    fails("a begin below a collection", Table { rules, faults: 0, ..Table::new(&[SESSION, COLLECT]) }, table::FENCED);
}

#[test]
fn without_withdrawing_a_reused_object_is_deleted() {
    let rules = Rules { withdraw: false, ..Rules::ALL };
    let roles = [SESSION, OVERWRITE, COLLECT];
    fails("no withdrawal", Table { rules, faults: 0, ..Table::new(&roles) }, table::WHOLE);
}

#[test]
fn an_object_that_is_given_up_must_not_be_reused() {
    let rules = Rules { shun: false, ..Rules::ALL };
    let roles = [SESSION, OVERWRITE, COLLECT];
    fails("given up and reused", Table { rules, faults: 0, ..Table::new(&roles) }, table::WHOLE);
}

#[test]
fn names_must_be_born_once() {
    // Object 1 is what a session left that died long ago, and the session writes the same object. A late delete of the first one hits
    // the second one.
    fails("a name is born twice", Table { objects: 0b11, faults: 1, ..Table::new(&[SESSION, COLLECT]) }, table::WHOLE);
}

#[test]
fn a_collector_that_lists_sessions_before_it_reads_the_newest_version_misses_one() {
    let rules = Rules { list_after: false, ..Rules::ALL };
    let roles = [SESSION, COLLECT.rounds(1), COLLECT.rounds(1)];
    fails("sessions are listed first", Table { rules, faults: 0, ..Table::new(&roles) }, table::FENCED);
}

#[test]
fn a_collector_that_keeps_its_listings_over_another_collection_misses_a_session() {
    let rules = Rules { list_again: false, ..Rules::ALL };
    let roles = [SESSION, COLLECT.rounds(2), COLLECT.rounds(1)];
    let words = fails("listings are kept", Table { rules, faults: 0, keeps: true, ..Table::new(&roles) }, table::FENCED);
    assert!(words.contains("keeps what it listed"), "{words}");
}
