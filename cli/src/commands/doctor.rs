//! `tetrys doctor`: what is wrong with a table, and the command that mends it.

use std::{io::Write, time::Duration};

use clap::Args;
use serde_json::{Value, json};
use tetrys::{
    Error, TimeUnit,
    store::allow_flag,
    table::{Cure, Diagnosis, Finding, Storage, now_ms},
};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    numbers::whole,
    text, times,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Prints what is wrong, where, and since when, each followed by the command that mends it, or by the steps where no command does. It looks at all versions, the newest 256 of them: for manifests and pins that cannot be read, for indexes, layouts and hashes that are missing or have another size, and for chunks of the newest version that are. It also finds tables behind a view that are gone, sessions that nobody committed, condemned objects and pins that `tetrys gc` may delete, tags of versions that do not exist, and many versions, small segments or scattered blocks.

It reads no payload and sends at most about 2,000 requests, to a small table some twenty, and one more for each older version. `not checked` lists what it did not look at. A changed byte within an object, and lost chunks that only older versions use, are always among that: `tetrys verify TABLE --all-versions` reads everything. A `note` is no fault and does not change the exit code: it says what lies in the table and what to do with it. Nothing is changed or deleted.

Exits with 0 if nothing was found, with 3 if objects are missing or damaged, and with 5 if something else should be mended. With --json, each finding has a `command`, or `null` and the steps as `advice`.

Examples:
  tetrys doctor drives
  tetrys doctor s3://team/drives --json
  tetrys doctor drives || echo look at it"
)]
pub(crate) struct Doctor {
    /// The table or view, with all of its versions: a path or URL
    table: String,
    /// Sessions, pins and condemned objects are left behind if they are this many hours old
    #[arg(long, value_name = "HOURS", default_value_t = AGE, value_parser = whole(0..=u32::MAX))]
    age: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Age in hours that is meant where none is given, here and for `gc`.
const AGE: u32 = 168;

/// The command that mends a finding, or advice.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// This command mends it, as it is.
    Command(String),
    /// A person has to do this.
    Advice(String),
}

impl Doctor {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let age = Duration::from_secs(u64::from(self.age) * 3600);
        let found = Storage::of(&crate::opening::all_versions(&self.table).await?).diagnose(age, now_ms()).await?;
        let outcome = match found.findings.as_slice() {
            [] => Outcome::Done,
            _ if found.is_damaged() => Outcome::Damage,
            _ => Outcome::Findings,
        };
        if self.json {
            write_json(out, &self.as_json(&found)?)?;
            return Ok(outcome);
        }
        for finding in &found.findings {
            let since = since(finding).map(|since| format!(", since {since}")).unwrap_or_default();
            writeln!(out, "{}: {}{since}", text::printable(&finding.place), text::printable(&finding.what))?;
            let (Step::Command(step) | Step::Advice(step)) = self.step(finding);
            writeln!(out, "  {}", text::printable(&step))?;
        }
        for note in &found.notes {
            writeln!(out, "note: {}", text::printable(note))?;
        }
        let url = text::printable(&found.url);
        let version = found.version.map(|version| format!(" version {version}")).unwrap_or_default();
        match found.findings.len() as u64 {
            0 => writeln!(out, "{url}{version}: nothing found")?,
            count => writeln!(out, "{url}{version}: {}", text::counted(count, "finding"))?,
        }
        for rest in &found.not_checked {
            writeln!(out, "not checked: {}", text::printable(rest))?;
        }
        Ok(outcome)
    }

    fn as_json(&self, found: &Diagnosis) -> Result<Value, Failure> {
        let findings = found.findings.iter().map(|finding| {
            let cure = serde_json::to_value(&finding.cure).map_err(|error| Error::internal(error.to_string()))?;
            let (command, advice) = match self.step(finding) {
                Step::Command(command) => (Some(command), None),
                Step::Advice(advice) => (None, Some(advice)),
            };
            Ok::<_, Error>(json!({
                "what": finding.what, "where": finding.place, "since": since(finding), "cure": cure, "command": command,
                "advice": advice,
            }))
        });
        let findings = findings.collect::<Result<Vec<_>, _>>()?;
        let (notes, not_checked) = (&found.notes, &found.not_checked);
        Ok(json!({"url": found.url, "version": found.version, "findings": findings, "notes": notes, "not_checked": not_checked}))
    }

    /// Returns the command that mends a finding, or the steps that do.
    fn step(&self, finding: &Finding) -> Step {
        let table = quoted(&self.table);
        let allowed: String = crate::opening::allowed().iter().map(|url| format!(" {}", allow_flag(url))).collect();
        let age = if self.age == AGE { String::new() } else { format!(" --age {}", self.age) };
        let command = |command: String| Step::Command(format!("{command}{allowed}"));
        let again = format!("tetrys doctor {table}{age}{allowed}");
        let repair = format!("tetrys verify {table} --repair --from COPY{allowed}");
        match &finding.cure {
            Cure::Copy => Step::Advice(format!("with a copy of the table: {repair}")),
            Cure::CopyOrMove(newest) => Step::Advice(format!(
                "with a copy of the table: {repair}; if there is none, give its version up, so that version {newest} is the newest: {}, \
                 then: {again}",
                self.moves(finding)
            )),
            Cure::GiveUp(version) => Step::Advice(format!(
                "with a copy of the table: {repair}; if there is none: tetrys gc {table} --give-up {version} --yes{allowed}, then: {again}"
            )),
            Cure::Move(newest) => Step::Advice(format!(
                "move it out of the table, so that version {newest} is the newest: {}, then: {again}",
                self.moves(finding)
            )),
            Cure::CollectGarbage => command(format!("tetrys gc {table}{age} --yes")),
            // Both delete what somebody may still want: the command shows its plan, and says how to go on.
            Cure::KeepFewer => command(format!("tetrys gc {table} --keep 100{age}")),
            Cure::CollectAbandoned => command(format!("tetrys gc {table} --abandoned{age}")),
            Cure::Compact => command(format!("tetrys compact {table}")),
            Cure::CompactRuns => command(format!("tetrys compact {table} --runs")),
            Cure::Rebind => {
                Step::Advice(format!("tetrys rebind {table} NEW_PLACE, if the other table, with that version, is at NEW_PLACE"))
            }
            Cure::Allow(url) => command(format!("tetrys doctor {table}{age} {}", allow_flag(url))),
            Cure::Permit => Step::Advice(format!("give this user the right to read that table, then: {again}")),
            Cure::Retry => Step::Advice(format!("once that store answers: {again}")),
            Cure::MakeAnew(user) => {
                Step::Advice(format!("make {} anew from a version that exists: tetrys versions {table}", quoted(user)))
            }
            Cure::Materialize => {
                Step::Advice(format!("make that table writable, then: tetrys rebind {table} {}", quoted(&finding.place)))
            }
            Cure::Untag(tag) => command(format!("tetrys edit {table} --untag {}", quoted(tag))),
            _ => Step::Advice("install a newer build of Tetrys".to_owned()),
        }
    }

    /// Returns how to move an object out of the table: a command of the shell for a path.
    fn moves(&self, finding: &Finding) -> String {
        let (table, place) = (self.table.trim_end_matches('/'), &finding.place);
        match table.contains("://") {
            true => format!("move {table}/{place} to a place outside of the table"),
            false => {
                let aside = format!("{table}-{}", place.replace('/', "-"));
                format!("mv {} {}", quoted(&format!("{table}/{place}")), quoted(&aside))
            }
        }
    }
}

fn since(finding: &Finding) -> Option<String> {
    let when = times::timestamp(finding.since_ms? / 1000, TimeUnit::Second, true);
    when.as_str().map(str::to_owned)
}

/// Returns a word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-:@=+,".contains(character);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("s3://team/drives"), "s3://team/drives");
        assert_eq!(quoted("it's $HOME; rm"), r"'it'\''s $HOME; rm'");
        assert_eq!(quoted(""), "''");
    }
}
