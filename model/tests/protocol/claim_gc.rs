//! Claims beside garbage collection: writers that append and tag, and collectors that give up versions.

use crate::{
    checking::{fails, table_holds},
    environment::full,
    table::{self, Kind, Role, Rules, Table},
    today::{self, Today},
};

const APPEND: Role = Role::of(Kind::Append);
const TAG: Role = Role::of(Kind::Tag);
const COLLECT: Role = Role::of(Kind::Collect);

#[test]
fn today_a_late_put_makes_one_append_count_twice() {
    let model = Today { faults: 1, minutes: 1, ..Today::new(&[APPEND]) };
    let words = fails("today, a late put", model, today::ONCE);
    assert!(words.contains("looks again: version 2 is there, so another writer won"), "{words}");
}

#[test]
fn today_a_change_that_was_refused_is_committed_later() {
    // Each of the three attempts gets no answer.
    let words = fails("today, three late puts", Today { faults: 3, ..Today::new(&[APPEND]) }, today::NEVER);
    assert!(words.contains("so it says that it was not committed"), "{words}");
}

#[test]
fn today_a_version_number_is_used_twice_and_rows_are_lost() {
    let roles = [APPEND, APPEND.rounds(2), COLLECT.rounds(1)];
    let words = fails("today, a stalled writer", Today { ages: 1, ..Today::new(&roles) }, today::ONCE);
    assert!(words.contains("deletes manifest 2"), "{words}");
}

#[test]
fn claims_count_once_or_never() {
    let roles = [APPEND, APPEND, COLLECT.rounds(if full() { 3 } else { 2 })];
    table_holds("claim/gc, two writers and a collector", Table::new(&roles));
}

#[test]
fn claims_count_once_or_never_beside_two_collectors() {
    let roles = [APPEND, COLLECT.rounds(2), COLLECT.rounds(1)];
    table_holds("claim/gc, a writer and two collectors", Table::new(&roles));
}

#[test]
fn an_unknown_outcome_can_be_resolved() {
    // Both puts of a manifest and the empty change get no answer.
    table_holds("claim/gc, a store that is silent", Table { faults: 3, ..Table::new(&[APPEND, APPEND]) });
}

#[test]
fn a_tagged_version_stays() {
    let roles = [TAG, APPEND, COLLECT.rounds(if full() { 3 } else { 2 })];
    table_holds("claim/gc, a tag", Table::new(&roles));
}

#[test]
fn without_a_look_after_the_claim_a_stalled_writer_loses_its_rows() {
    let rules = Rules { look_after_claim: false, ..Rules::ALL };
    let roles = [APPEND, APPEND, COLLECT.rounds(2)];
    fails("no look after the claim", Table { rules, faults: 0, ..Table::new(&roles) }, table::ONCE);
}

#[test]
fn a_name_that_another_manifest_has_decides_nothing_below_the_floor() {
    // A simpler rule: if the name has other bytes, the own put can never count.
    let rules = Rules { floor_decides: false, ..Rules::ALL };
    let roles = [APPEND, APPEND, COLLECT.rounds(2)];
    fails("other bytes decide", Table { rules, recent: 1, faults: 1, ..Table::new(&roles) }, table::NEVER);
}

#[test]
fn without_an_empty_change_a_refused_claim_counts_later() {
    let rules = Rules { fill: false, ..Rules::ALL };
    fails("no empty change", Table { rules, faults: 2, ..Table::new(&[APPEND]) }, table::NEVER);
}

#[test]
fn a_collection_that_takes_void_manifests_for_versions_makes_them_count() {
    // A simpler rule: a collection lists what it finds as expired, and what is listed there was committed.
    let rules = Rules { know_void: false, ..Rules::ALL };
    let roles = [APPEND, APPEND, COLLECT.rounds(4)];
    fails("void manifests are listed", Table { rules, recent: 1, faults: 0, ..Table::new(&roles) }, table::ONCE);
}

#[test]
fn what_is_given_up_for_good_must_not_be_tagged() {
    let rules = Rules { refuse_final: false, ..Rules::ALL };
    fails("given up and tagged", Table { rules, faults: 0, ..Table::new(&[TAG, COLLECT]) }, table::WHOLE);
}

#[test]
fn a_collection_that_deletes_before_it_is_published_deletes_what_was_tagged() {
    let rules = Rules { publish_first: false, ..Rules::ALL };
    let roles = [TAG, COLLECT.rounds(2)];
    fails("deleted before it is published", Table { rules, faults: 0, ..Table::new(&roles) }, table::WHOLE);
}
