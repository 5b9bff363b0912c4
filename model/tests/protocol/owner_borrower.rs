//! Owners and borrowers: versions of one table that use rows of another one, the pins that they put there, and collectors there.

use crate::{
    checking::{fails, table_holds},
    environment::full,
    table::{self, Kind, Role, Rules, Table},
    today::{self, Today},
};

const COLLECT: Role = Role::of(Kind::Collect);
const BORROW: Role = Role::of(Kind::Borrow);

#[test]
fn today_a_borrower_becomes_unreadable() {
    let model = Today { appended: true, crashes: 1, ..Today::new(&[BORROW, COLLECT.rounds(1)]) };
    let words = fails("today, a borrower", model, today::BORROWED);
    assert!(words.contains("deletes manifest 1"), "{words}");
}

#[test]
fn today_a_committer_deletes_the_pin_of_another_one() {
    let model = Today { appended: true, ..Today::new(&[BORROW, BORROW, COLLECT.rounds(1)]) };
    let words = fails("today, a shared pin", model, today::BORROWED);
    assert!(words.contains("deletes the pin"), "{words}");
}

fn borrowers() -> Table {
    let roles = [BORROW, BORROW, COLLECT.rounds(3)];
    Table { overwritten: true, objects: 0b11, ..Table::new(&roles) }
}

#[test]
fn what_a_borrower_uses_stays() {
    table_holds("owner/borrower, two borrowers and a collector", borrowers());
}

#[test]
fn what_a_borrower_uses_stays_beside_two_collectors() {
    let roles = vec![BORROW, COLLECT.rounds(2), COLLECT.rounds(if full() { 2 } else { 1 })];
    table_holds("owner/borrower, a borrower and two collectors", Table { roles, ..borrowers() });
}

fn without(rules: Rules) -> Table {
    Table { rules, faults: 0, ..borrowers() }
}

#[test]
fn a_borrower_that_looks_before_it_pins_is_not_seen() {
    fails("a pin after the look", without(Rules { pin_first: false, ..Rules::ALL }), table::BORROWED);
}

#[test]
fn a_collection_that_deletes_what_it_gives_up_itself_misses_a_pin() {
    fails("one run", without(Rules { two_runs: false, ..Rules::ALL }), table::BORROWED);
}

#[test]
fn a_version_that_is_given_up_must_not_be_borrowed() {
    fails("given up and borrowed", without(Rules { refuse_expired: false, ..Rules::ALL }), table::BORROWED);
}

#[test]
fn committers_that_share_a_pin_lose_it() {
    fails("one pin for two", without(Rules { own_pins: false, ..Rules::ALL }), table::BORROWED);
}

#[test]
fn a_pin_must_not_die_with_the_number_of_its_version() {
    fails("pins die early", without(Rules { pins_of_commits: false, ..Rules::ALL }), table::BORROWED);
}

#[test]
fn a_collector_that_lists_pins_before_it_reads_the_newest_version_misses_one() {
    let rules = Rules { list_after: false, ..Rules::ALL };
    let roles = vec![BORROW, COLLECT.rounds(1), COLLECT.rounds(1)];
    fails("pins are listed first", Table { roles, ..without(rules) }, table::BORROWED);
}

#[test]
fn a_collector_that_keeps_its_listings_over_another_collection_misses_a_pin() {
    let rules = Rules { list_again: false, ..Rules::ALL };
    let roles = vec![BORROW, COLLECT.rounds(2), COLLECT.rounds(1)];
    let words = fails("listings are kept", Table { roles, keeps: true, ..without(rules) }, table::BORROWED);
    assert!(words.contains("keeps what it listed"), "{words}");
}
