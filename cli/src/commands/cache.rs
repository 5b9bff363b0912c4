//! `tetrys cache`: the folder in which what was read of remote stores is kept.

use std::io::Write;

use clap::{Args, Subcommand};
use tetrys::store::{CacheFolder, CacheStats};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    opening, text,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Cache {
    /// Where it is
    Path(Path),
    /// What it holds
    Stats(Stats),
    /// Delete what it holds; files of others in the folder stay
    Clear(Clear),
}

#[derive(Args, Debug)]
#[command(
    after_help = "There is no cache unless one is named: by TETRYS_CACHE, or by --option cache=FOLDER for one command. TETRYS_CACHE_SIZE (--option cache_size=20GiB) says how much it may hold, 10 GiB if nothing does; TETRYS_CACHE_MEMORY how much small answers take in memory beside it, 64 MiB. Processes may share a folder.

Example:
  tetrys cache path --option cache=/var/cache/tetrys"
)]
pub(crate) struct Path {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tetrys cache stats --json")]
pub(crate) struct Stats {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Processes that use the cache go on, and fill it again.

Example:
  tetrys cache clear")]
pub(crate) struct Clear {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Cache {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let none = || tetrys::Error::not_found("no cache is named; TETRYS_CACHE or --option cache=FOLDER names one");
        let cache = CacheFolder::of(&opening::options())?.ok_or_else(none)?;
        let path = cache.path().display().to_string();
        let said = |stats: CacheStats| {
            serde_json::json!({
                "path": path, "entries": stats.entries, "bytes": stats.bytes, "at_most": cache.at_most(), "writers": stats.writers,
            })
        };
        let held = |stats: CacheStats| format!("{} of {}", text::bytes(stats.bytes), text::counted(stats.entries, "range"));
        match self {
            Self::Path(Path { json: true }) => write_json(out, &serde_json::json!({ "path": path }))?,
            Self::Path(Path { json: false }) => writeln!(out, "{path}")?,
            Self::Stats(Stats { json: true }) => write_json(out, &said(cache.stats()?))?,
            Self::Stats(Stats { json: false }) => {
                let stats = cache.stats()?;
                let writers = text::counted(stats.writers, "writer");
                writeln!(out, "{path}: {}, at most {}, {writers} now", held(stats), text::bytes(cache.at_most()))?;
            }
            Self::Clear(Clear { json: true }) => write_json(out, &said(cache.clear()?))?,
            Self::Clear(Clear { json: false }) => writeln!(out, "{path}: deleted {}", held(cache.clear()?))?,
        }
        Ok(Outcome::Done)
    }
}
