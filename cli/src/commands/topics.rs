//! `tetrys help stores` and `tetrys help recipe`: what the options of all commands, and the keys of a recipe, mean. A topic is a hidden
//! command, so that `tetrys help` finds it.

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
        print("stores", out)
    }
}

#[derive(Args, Debug)]
#[command(
    hide = true,
    disable_help_flag = true,
    help_template = "{about}{after-help}",
    after_help = "A recipe is a TOML file: the clock makes rows, and each match gives them messages of a topic. `tetrys logs plan` writes one to start from.

  [clock]                     # a row for each message of a topic
  topic = \"/camera\"
  name = \"camera\"             # begins the names of its columns
  time = \"stamp\"

  [[match]]
  name = \"odom\"
  topic = \"/odom\"
  time = \"stamp\"
  policy = \"last\"
  tolerance = \"50ms\"

[clock]
  topic                       A row for each message of this topic; or
  rate, start, end            rows at an exact rate: \"10Hz\", \"30000/1001Hz\". The ends are \"overlap\" of the topics,
                              \"any\", or a time
  name, fields                As in a match
  on_equal                    Of messages with one time: \"keep\" all rows, the \"first\", the \"last\", or \"error\"
  gap                         More time between two messages of the clock begins a new part

[[match]]
  name, topic                 The beginning of the names of its columns, and the topic
  policy                      \"last\": the last message that is not later. \"next\": the first that is not earlier.
                              \"nearest\". \"linear\", \"slerp\": a value between two messages. \"all\": all since the row
                              before
  tolerance                   Maximum time between the row and its message, or \"none\"
  max_gap                     Maximum time between the two messages of \"linear\" and \"slerp\", or \"none\"
  future                      true: messages after the row may be used. All policies but \"last\" and \"all\" need it
  strict                      true: \"last\" leaves out a message at the time of the row
  missing                     A row that gets nothing: \"null\" (default), \"drop\" the row, \"error\"
  fields                      Patterns of columns: [\"position\", \"pose.*\"]
  dt                          false: no column NAME.dt with the time of the message - time of the row
  table                       URL or path of a table that has all messages of the topic

[clock], [[match]], and [defaults] for all of them
  time                        Which time of a message counts: \"log\", \"publish\" or \"stamp\". It must be given
  offset                      Is added to each time
  zero_stamp                  A stamp of 0, or none: \"error\" (default), \"keep\", \"drop\"
  max_lateness, on_late       A message may be at most this much older than the newest before it (\"1s\"); then \"error\"
                              (default) or \"drop\"
  jump                        A longer step back of the time is an error (\"1s\"); \"none\" sorts all; \"split\" begins a
                              new part

[tf.NAME]                     The transform from one coordinate frame to another
  target, source              The names of the two frames
  at                          \"row\" (default), or the name of a match: the time of its message
  tolerance                   Maximum time between two samples, or \"none\"
  topic, static_topic         \"/tf\" and \"/tf_static\" by default
  time, offset                As in a match

Durations are text with a unit: \"50ms\", \"1.5s\", \"7us\", \"9ns\", \"2min\", \"1h\". A number without a unit is nanoseconds.

Example:
  tetrys ingest logs monday.mcap drives --recipe sync.toml"
)]
pub(crate) struct Recipe {}

impl Recipe {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        print("recipe", out)
    }
}

/// Prints a topic.
fn print(name: &str, out: &mut dyn Write) -> Result<Outcome, Failure> {
    let mut command = Arguments::command();
    if let Some(topic) = command.find_subcommand_mut(name) {
        writeln!(out, "{}", topic.render_long_help().to_string().trim_end())?;
    }
    Ok(Outcome::Done)
}
