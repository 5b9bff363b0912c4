//! `tetrys doctor`: what is wrong with a table, and the command that mends it.

use std::{io::Write, time::Duration};

use clap::Args;
use serde_json::{Value, json};
use tetrys::{
    Error, Table, TimeUnit,
    store::allow_flag,
    table::{Cure, Diagnosis, Finding, now_ms},
};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    numbers::whole,
    text, times,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Prints what is wrong, where, and since when, each followed by the command that mends it. It looks for objects of the newest version that are missing or have another size, manifests and pins that cannot be read, tables behind a view that are gone, sessions that nobody committed, condemned objects and pins that `tetrys gc` may delete, tags of versions that do not exist, and many versions, small segments or scattered blocks.

It reads no payload and sends at most about 2,000 requests, to a small table some twenty; it lists what these bounds leave out. A changed byte within an object, and lost objects that only older versions use, are not found: `tetrys verify TABLE --all-versions` reads everything. Nothing is changed or deleted.

Exits with 0 if nothing was found, with 3 if objects are missing or damaged, and with 5 if something else should be mended.

Examples:
  tetrys doctor drives
  tetrys doctor s3://team/drives --json
  tetrys doctor drives || echo look at it"
)]
pub(crate) struct Doctor {
    /// The table or view: a path or URL
    table: String,
    /// Sessions, pins and condemned objects are left behind if they are this many hours old
    #[arg(long, value_name = "HOURS", default_value_t = 168, value_parser = whole(0..=u32::MAX))]
    age: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let age = Duration::from_secs(u64::from(self.age) * 3600);
        let found = Table::diagnose(&crate::opening::store(&self.table)?, age, now_ms()).await?;
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
            writeln!(out, "  {}", text::printable(&self.mends(finding)))?;
        }
        let url = text::printable(&found.url);
        let version = found.version.map(|version| format!(" version {version}")).unwrap_or_default();
        match found.findings.len() as u64 {
            0 => writeln!(out, "{url}{version}: sound")?,
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
            Ok::<_, Error>(json!({
                "what": finding.what, "where": finding.place, "since": since(finding), "cure": cure, "command": self.mends(finding),
            }))
        });
        let findings = findings.collect::<Result<Vec<_>, _>>()?;
        Ok(json!({"url": found.url, "version": found.version, "findings": findings, "not_checked": found.not_checked}))
    }

    /// Returns the command that mends it, or what to do.
    fn mends(&self, finding: &Finding) -> String {
        let table = quoted(&self.table);
        match &finding.cure {
            Cure::Copy => format!("copy it from a copy of the table, then: tetrys verify {table}"),
            Cure::CollectGarbage => format!("tetrys gc {table} --yes"),
            // Both delete what somebody may still want: the command shows its plan, and says how to go on.
            Cure::KeepFewer => format!("tetrys gc {table} --keep 100"),
            Cure::CollectAbandoned => format!("tetrys gc {table} --abandoned"),
            Cure::Compact => format!("tetrys compact {table}"),
            Cure::CompactRuns => format!("tetrys compact {table} --runs"),
            Cure::Rebind => format!("tetrys rebind {table} NEW_PLACE"),
            Cure::Allow(url) => format!("tetrys doctor {table} {}", allow_flag(url)),
            Cure::MakeAnew(user) => format!("make {} anew from a version that exists: tetrys versions {table}", quoted(user)),
            Cure::Materialize => format!("make that table writable, then: tetrys rebind {table} {}", quoted(&finding.place)),
            Cure::Untag(tag) => format!("tetrys edit {table} --untag {}", quoted(tag)),
            _ => "install a newer build of Tetrys".to_owned(),
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
