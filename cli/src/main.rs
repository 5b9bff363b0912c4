//! The `tetrys` command line: results on stdout, everything else on stderr.
//!
//! Exit codes: 0 done, 1 error, 2 wrong use, 3 damage found in a table, 4 differences found by `diff --exit-code`,
//! 5 something to mend found by `doctor`.

mod arrays;
mod cells;
mod commands;
mod failure;
mod interrupt;
mod npy;
mod numbers;
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
    ffi::OsString,
    io::{BufWriter, Write},
    process::ExitCode,
};

use clap::{CommandFactory, FromArgMatches, Parser};

use crate::{
    commands::Command,
    failure::{Failure, Outcome},
};

/// Immutable, versioned tables for recorded sensor data and other data with wide rows.
///
/// TABLE is a path or a URL. TABLE@3 is version 3 of it, TABLE@gold the version with the tag `gold`, and TABLE alone the newest
/// version. Rows are numbered from 0.
#[derive(Debug, Parser)]
#[command(
    name = "tetrys",
    version,
    arg_required_else_help = true,
    after_help = "Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 error, 2 wrong use of the command line, 3 damage found in a table, 4 differences found by `diff --exit-code`, 5 something to mend found by `doctor`. Every command but `view` prints JSON with --json, and its --help ends with examples.

Read about URLs, credentials, the cache, and references to other tables:
  tetrys help stores

Start with a tour on generated data, or with a table of your own:
  tetrys demo
  tetrys ingest parquet frames.parquet drives --blob camera.jpeg=path
  tetrys query drives 'SELECT * FROM t LIMIT 5'"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    // Plain text here, parsed later: clap repeats a refused value in its error message, and the value may be a secret.
    /// Set a storage option: region=eu-west-1. May be repeated; see `tetrys help stores`
    #[arg(long = "option", value_name = "NAME=VALUE", global = true)]
    options: Vec<String>,
    /// Follow references to tables in another store, at URL or below. May be repeated; see `tetrys help stores`
    #[arg(long = "allow", value_name = "URL", global = true)]
    allowed: Vec<String>,
    /// Continue if no pin can be left in a table that the result refers to; see `tetrys help stores`
    #[arg(long, global = true)]
    allow_unpinned: bool,
}

/// Returns the command, with values such as `-1` taken for numbers, so that their parsers refuse them and not clap.
fn command(command: clap::Command) -> clap::Command {
    let takes = |argument: clap::Arg| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    command.mut_args(takes).mut_subcommands(self::command)
}

fn parsed(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    Arguments::from_arg_matches(&command(Arguments::command()).try_get_matches_from(words)?)
}

fn main() -> ExitCode {
    let Arguments { command, options, allowed, allow_unpinned } = match parsed(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => return failure::report_misuse(&error),
    };
    // The warnings of polars are for those who call its functions.
    polars::error::set_warning_function(|_, _| {});
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
    let message = command.interrupted();
    let outcome = runtime.block_on(interrupt::unless_interrupted(command.run(&mut out), message))?;
    out.flush()?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every example of a command and of its subcommands.
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
            // Splits words as a shell does: every second piece is inside quotes and stays whole; `>` ends the arguments.
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
            if let Err(error) = parsed(words.map(OsString::from))
                && error.kind() != clap::error::ErrorKind::DisplayHelp
            {
                panic!("{example}: {error}");
            }
        }
    }

    /// Returns the words of a command and of its subcommands, and what is behind them: each option with its value, or only values.
    fn calls(command: &clap::Command, path: &[String], value: &str) -> Vec<Vec<String>> {
        let call = |words: &[String]| path.iter().chain(words).cloned().collect::<Vec<_>>();
        let options = command.get_arguments().filter(|argument| argument.get_action().takes_values());
        let options = options.filter_map(|argument| Some(call(&[format!("--{}", argument.get_long()?), value.to_owned()])));
        let own: Vec<_> = options.chain([call(&[value.to_owned(), value.to_owned(), value.to_owned()])]).collect();
        let inner = command.get_subcommands().flat_map(|inner| calls(inner, &call(&[inner.get_name().to_owned()]), value));
        own.into_iter().chain(inner).collect()
    }

    #[test]
    fn no_value_is_refused_in_words_of_rust() {
        let rust = include_str!("../../tests/rust_words.txt").lines().filter(|word| !word.is_empty() && !word.starts_with('#'));
        let rust: Vec<&str> = rust.chain(["tip: to pass '-1'"]).collect();
        let mut refused = 0;
        for value in
            ["x", "", "-1", "-1.5", "1.5", "1e999", "NaN", "99999999999999999999999", "\u{663}", "=", "a=", "a=x", "/", ".."]
        {
            for words in calls(&Arguments::command(), &["tetrys".to_owned()], value) {
                let Err(error) = parsed(words.iter().map(OsString::from)) else { continue };
                let message = error.render().to_string();
                refused += 1;
                let found: Vec<_> = rust.iter().filter(|word| message.contains(**word)).collect();
                // A second value may be one too many, which clap tells.
                let is_known =
                    words.iter().filter(|word| word.as_str() == value).count() > 1 && message.contains("unexpected argument");
                assert!(found.is_empty() || is_known, "{words:?}: {found:?} in {message}");
            }
        }
        assert!(refused > 500, "{refused} values were refused");
    }
}
