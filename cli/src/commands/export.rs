//! `tetrys export`: a table becomes the data set it was made from.

use std::{io::Write, path::PathBuf, time::Instant};

use clap::{Args, Subcommand};
use tetrys::ingest::l5::export_table;

use crate::{
    failure::{Failure, Outcome},
    progress, text,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Export {
    /// A Level 5 prediction data set (zarr), record for record as it was taken in
    L5(L5),
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tetrys export l5 sample back.zarr")]
pub(crate) struct L5 {
    /// The table: a path or URL; TABLE@3 is its version 3
    table: String,
    /// The new zarr directory; it appears when it is complete
    target: PathBuf,
    /// No progress bar and no summary
    #[arg(long, short)]
    quiet: bool,
}

impl Export {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let Self::L5(command) = self;
        let started = Instant::now();
        let table = crate::opening::table(&command.table).await?;
        let bar = progress::rows("export", table.rows(), command.quiet);
        let done = export_table(&table, &command.target, |rows| bar.set_position(rows)).await;
        bar.finish_and_clear();
        done?;
        if !command.quiet {
            let frames = text::counted(table.rows(), "frame");
            writeln!(out, "{}: {frames} in {}", command.target.display(), text::time(started.elapsed()))?;
        }
        Ok(Outcome::Done)
    }
}
