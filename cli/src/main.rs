//! The `tetrys` command line: results on stdout, everything else on stderr.
//!
//! Exit codes: 0 done, 1 error, 2 wrong use, 3 damage found in a table, 4 differences found by `diff --exit-code`.

mod arrays;
mod cells;
mod commands;
mod failure;
mod npy;
mod opening;
mod output;
mod pictures;
mod progress;
mod reading;
mod safe;
mod staging;
mod text;
mod times;

use std::{
    io::{BufWriter, Write},
    process::ExitCode,
};

use clap::Parser;

use crate::{
    commands::Command,
    failure::{Failure, Outcome},
};

/// Immutable, versioned tables of machine-learning data whose rows are wide.
///
/// A TABLE is a folder, given as a path or a URL (file://, s3://, gs://, az://, abfss://; http:// and https:// for reading);
/// TABLE@3 is its version 3. Rows are counted from 0.
#[derive(Debug, Parser)]
#[command(
    name = "tetrys",
    version,
    arg_required_else_help = true,
    after_help = "Results stand on stdout, everything else on stderr. Exit codes: 0 done, 1 error, 2 wrong use, 3 damage found in a table, 4 differences found by `diff --exit-code`.

Start with:
  tetrys demo

Then, with frames of your own:
  tetrys ingest parquet frames.parquet drives --blob camera.jpeg=path
  tetrys query drives 'SELECT * FROM t LIMIT 5'
  tetrys get drives 120 --columns 'camera.*' --offsets=-10..=0 --out rows
  tetrys help ingest parquet"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    // A text, checked later: what clap says of a value that it refuses repeats it, and it may be a secret.
    /// How stores are reached, on top of the environment (AWS_*, GOOGLE_*, AZURE_*): region=eu-west-1, endpoint=http://localhost:9000, aws_profile=lab, skip_signature=true; secrets belong into the environment
    #[arg(long = "option", value_name = "NAME=VALUE", global = true)]
    options: Vec<String>,
    /// Follow references of tables to this URL in another store, and to all below it; may be given several times, as may TETRYS_ALLOW with spaces between URLs, and `allow` in ~/.config/tetrys/config.toml
    #[arg(long = "allow", value_name = "URL", global = true)]
    allowed: Vec<String>,
    /// Go on where a table whose chunks or rows are used cannot be told so, being read-only: a garbage collection there may delete them
    #[arg(long, global = true)]
    allow_unpinned: bool,
}

fn main() -> ExitCode {
    let Arguments { command, options, allowed, allow_unpinned } = Arguments::parse();
    opening::keep_unpinned(allow_unpinned);
    match opening::keep(&options, &allowed).map_err(Failure::Table).and_then(|()| execute(command)) {
        Ok(outcome) => outcome.code(),
        Err(failure) => failure.report(),
    }
}

fn execute(command: Command) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| tetrys::Error::from(error).at("starting threads"))?;
    let mut out = BufWriter::new(safe::Safe::new(std::io::stdout()));
    let outcome = runtime.block_on(command.run(&mut out))?;
    out.flush()?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Every example of a command and of those below it.
    fn examples(command: &clap::Command) -> Vec<String> {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let own = text.split(['\n', '&', '|']).map(str::trim).filter(|line| line.starts_with("tetrys ")).map(str::to_owned);
        own.collect::<Vec<_>>().into_iter().chain(command.get_subcommands().flat_map(examples)).collect()
    }

    #[test]
    fn the_commands_fit_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_example_in_the_help_is_understood() {
        let examples = examples(&Arguments::command());
        assert!(examples.len() > 20, "{examples:?}");
        for example in examples {
            // What a shell makes of it: every second piece between quotes stands as it is, and what follows `>` is not ours.
            let mut words = vec![String::new()];
            for (place, piece) in example.split('\'').enumerate() {
                match place % 2 {
                    1 => words.last_mut().unwrap().push_str(piece),
                    _ => {
                        let mut parts = piece.split(' ');
                        words.last_mut().unwrap().push_str(parts.next().unwrap());
                        words.extend(parts.map(str::to_owned));
                    }
                }
            }
            let words = words.into_iter().take_while(|word| word != ">").filter(|word| !word.is_empty());
            if let Err(error) = Arguments::try_parse_from(words)
                && error.kind() != clap::error::ErrorKind::DisplayHelp
            {
                panic!("{example}: {error}");
            }
        }
    }
}
