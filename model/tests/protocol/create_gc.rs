//! Creates beside garbage collection: creators, collectors of what creates left, and roots that are replaced.

use crate::{
    checking::{fails, holds},
    environment::{self, full},
    table::{self, Kind, Role, Rules, Table},
    today::{self, Today},
};

const COLLECT: Role = Role::of(Kind::Collect);
const APPEND: Role = Role::of(Kind::Append);
const CREATE: Role = Role { begins: true, ..Role::of(Kind::Create).writes(1) };

#[test]
fn today_a_create_commits_a_version_without_its_object() {
    // A create that died long ago left object 1, and is run again beside `gc --abandoned`.
    let model = Today { table: false, objects: 0b10, ..Today::new(&[CREATE, COLLECT.rounds(1)]) };
    let words = fails("today, a create", model, today::WHOLE);
    assert!(words.contains("finds it there"), "{words}");
}

#[test]
fn today_a_table_gets_a_version_of_one_that_was_there_before() {
    let words = fails("today, a replaced table", Today { replacement: 1, ..Today::new(&[APPEND]) }, today::ONCE);
    assert!(words.contains("makes another one there"), "{words}");
}

#[test]
fn creates_commit_whole_tables() {
    // Object 3 is what a create left that died long ago.
    let model = Table { table: false, objects: 0b1000, ..Table::new(&[CREATE, COLLECT.rounds(2)]) };
    holds("create/gc, a creator and a collector", model.clone());
    if !full() {
        environment::leave_out("two creators and a collector", "TETRYS_FULL=1");
    } else {
        let roles = vec![CREATE, Role { object: Some(2), ..CREATE }, COLLECT.rounds(2)];
        holds("create/gc, two creators and a collector", Table { roles, faults: 1, ..model });
    }
}

#[test]
fn a_table_takes_no_version_of_one_that_was_there_before() {
    let roles = [APPEND, Role { after: true, ..APPEND }, Role { after: true, ..COLLECT.rounds(if full() { 2 } else { 1 }) }];
    for replacement in [1, 2] {
        let model = Table { replacement, ..Table::new(&roles) };
        holds(&format!("create/gc, a replaced root with {replacement} versions"), model);
    }
}

#[test]
fn without_a_version_of_its_own_a_collection_deletes_what_a_late_create_names() {
    // A simpler rule: a collection ends the sessions, and looks for version 1 once more. A put that is under way lands after that.
    let rules = Rules { take_first: false, ..Rules::ALL };
    let model = Table { table: false, rules, objects: 0, faults: 1, ..Table::new(&[CREATE, COLLECT]) };
    fails("version 1 is not taken", model, table::WHOLE);
}

#[test]
fn without_the_id_at_the_root_the_version_of_another_table_counts() {
    let rules = Rules { root_decides: false, ..Rules::ALL };
    let roles = [APPEND, Role { after: true, ..APPEND }];
    fails("no id at the root", Table { rules, replacement: 1, faults: 0, ..Table::new(&roles) }, table::ONCE);
}

#[test]
fn a_number_above_the_highest_manifest_forks_the_chain() {
    // A manifest of the old table takes a number above the next one, while one writer has looked before and one looks after that.
    let rules = Rules { first_free: false, ..Rules::ALL };
    let roles = [APPEND.rounds(2), Role { after: true, ..APPEND }, Role { after: true, ..APPEND }];
    let model = Table { rules, replacement: 1, faults: 0, ..Table::new(&roles) };
    fails("above the highest", model, table::ONCE);
}

#[test]
fn a_writer_that_deletes_its_own_manifest_hits_that_of_another_table() {
    // A simpler rule: a writer deletes its manifest where it finds another table. A second copy of the delete comes late.
    let rules = Rules { leave_own: false, ..Rules::ALL };
    let roles = [APPEND, Role { after: true, ..APPEND }];
    fails("the own manifest is deleted", Table { rules, replacement: 1, faults: 1, ..Table::new(&roles) }, table::ONCE);
}

#[test]
fn a_limit_a_delete_of_a_dropped_table_hits_the_one_that_replaces_it() {
    // The rules do not prevent this, and the page says so: both tables have the same names of manifests.
    let model = Table { replacement: 2, faults: 0, ..Table::new(&[APPEND, COLLECT]) };
    fails("a limit: a delete of a dropped table", model, table::WHOLE);
}
