//! `tetrys help stores`: what the options of all commands mean. A topic is a hidden command, so that `tetrys help` finds it.

use std::io::Write;

use clap::{Args, CommandFactory};

use crate::{
    Arguments,
    failure::{Failure, Outcome},
};

#[derive(Args, Debug)]
#[command(
    hide = true,
    disable_help_flag = true,
    help_template = "{about}{after-help}",
    after_help = "A TABLE is a path or a URL: file://, s3://, gs://, az://, abfss://, and http:// and https:// for reading only. TABLE@3 is version 3, TABLE@gold the version with the tag `gold`. A folder whose own name ends in @3 is TABLE@3/, with a slash.

Storage options:
  --option NAME=VALUE sets an option of the store for one command, and may be repeated. It overrides the environment (AWS_*, GOOGLE_*, AZURE_*). Keep secrets in the environment: other users of the machine can see command lines.

  --option region=eu-west-1
  --option endpoint=http://localhost:9000
  --option aws_profile=lab
  --option skip_signature=true
  --option cache=/var/cache/tetrys

References to other tables:
  Views, and tables written with --reference, refer to other tables. References to neighbours are always followed. --allow URL lets a command follow references to tables in another store, at this URL or below it, and may be repeated. TETRYS_ALLOW (URLs separated by spaces) and `allow` in ~/.config/tetrys/config.toml allow further URLs. Tables that the command itself names are allowed.

Pins:
  A result that refers to another table leaves a pin there, a small object that keeps what the result needs from garbage collection. If that table is read-only, the command stops. With --allow-unpinned, or TETRYS_ALLOW_UNPINNED=1, it continues, and a garbage collection of that table may delete what the result needs.

Examples:
  tetrys head s3://lab/drives --option region=eu-west-1
  tetrys query labelled 'SELECT COUNT(*) FROM t' --allow s3://lab/sensors
  tetrys merge s3://archive/drives labels --on log_id,timestamp --out labelled --allow-unpinned"
)]
pub(crate) struct Stores {}

impl Stores {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let mut command = Arguments::command();
        if let Some(topic) = command.find_subcommand_mut("stores") {
            writeln!(out, "{}", topic.render_long_help().to_string().trim_end())?;
        }
        Ok(Outcome::Done)
    }
}
