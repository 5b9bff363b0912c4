//! The `tetrys` command line: results on stdout, everything else on stderr.
//!
//! Exit codes: 0 done, 1 error, 2 wrong use, 3 damage found in a table.

mod arrays;
mod cells;
mod commands;
mod failure;
mod hints;
mod npy;
mod output;
mod pictures;
mod progress;
mod reading;
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
/// A TABLE is a folder, given as a path or a file:// URL; TABLE@3 is its version 3. Rows are counted from 0.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done, 1 error, 2 wrong use, 3 damage found in a table.\n\nStart with:\n  tetrys demo"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    match execute(command) {
        Ok(outcome) => outcome.code(),
        Err(failure) => failure.report(),
    }
}

fn execute(command: Command) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| tetrys::Error::from(error).at("starting threads"))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let outcome = runtime.block_on(command.run(&mut out))?;
    out.flush()?;
    Ok(outcome)
}
