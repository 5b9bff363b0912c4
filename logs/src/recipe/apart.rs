//! Checks what a recipe says of a match with a table of its own.

use tetrys::{Error, Result, TableUrl};

use super::{Jump, Match, Policy, Recipe, name_of};

impl Recipe {
    /// Checks that a view can join the table of a match to the rows.
    pub(super) fn check_table(&self, matched: &Match) -> Result<()> {
        let Some(table) = &matched.table else { return Ok(()) };
        let fail = |message: &str| Err(Error::invalid(message));
        if table.is_empty() || TableUrl::new(table).name().is_some() {
            return fail("table: expected the URL or path of a table, without a version");
        }
        if matched.strict || !matches!(matched.policy, Policy::Last | Policy::Next | Policy::Nearest) {
            return fail("table: a view joins by last without strict, next or nearest; choose one of these, or leave out table");
        }
        if self.topics().any(|topic| topic.or(&self.defaults).jump == Some(Jump::Split)) {
            return fail("table: with jump = \"split\", a time may come twice, and a view joins by time alone");
        }
        let others = move || self.matches.iter().filter(move |other| other.name != matched.name);
        if others().any(|other| other.table.as_ref() == Some(table)) {
            return fail("table: another match has this table, too");
        }
        // Columns of two tables have different names. A clock without a name has that of its topic.
        let clock = self.clock.name.clone().or_else(|| self.clock.topic.as_deref().map(name_of));
        if clock.as_ref() == Some(&matched.name) {
            return fail("table: the clock has this name, too; give it another one");
        }
        let is_below = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'));
        let mut names = others().map(|other| &other.name).chain(&clock).chain(self.tf.keys());
        match names.find(|name| is_below(name, &matched.name) || is_below(&matched.name, name)) {
            Some(name) => Err(Error::invalid(format!("table: the name `{name}` begins like this one; rename one of them"))),
            None => Ok(()),
        }
    }
}
