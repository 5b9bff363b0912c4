//! `tetrys cache`: shows and clears the local cache of remote stores.

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
    /// Print the folder of the cache
    Path(Path),
    /// Show how much the cache holds, its limit, and how many processes write to it
    Stats(Stats),
    /// Delete all cached data; other files in the folder stay
    Clear(Clear),
}

#[derive(Args, Debug)]
#[command(
    after_help = "The cache keeps byte ranges that were read from remote stores on a local disk. It is off by default: TETRYS_CACHE names its folder, or --option cache=FOLDER for one command. Several processes may share the folder.

TETRYS_CACHE_SIZE (--option cache_size=20GiB) is its largest size on disk, 10 GiB by default; the least recently used ranges are evicted. TETRYS_CACHE_MEMORY (--option cache_memory=256MiB) is the memory that each process uses in addition for small ranges, 64 MiB by default.

Example:
  tetrys cache path --option cache=/var/cache/tetrys"
)]
pub(crate) struct Path {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Prints the bytes and byte ranges in the cache, its largest size, and the number of processes that write to it now. The cache is the folder that TETRYS_CACHE or --option cache=FOLDER names.

Example:
  tetrys cache stats
  tetrys cache stats --json --option cache=/var/cache/tetrys"
)]
pub(crate) struct Stats {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Processes that use the cache keep running and fill it again. The cache is the folder that TETRYS_CACHE or --option cache=FOLDER names.

Example:
  tetrys cache clear"
)]
pub(crate) struct Clear {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Cache {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let none = || tetrys::Error::not_found("no cache is configured: set TETRYS_CACHE or pass --option cache=FOLDER");
        let cache = CacheFolder::of(&opening::options())?.ok_or_else(none)?;
        let path = cache.path().display().to_string();
        let stats_json = |stats: CacheStats| {
            serde_json::json!({
                "path": path, "entries": stats.entries, "bytes": stats.bytes, "at_most": cache.at_most(), "writers": stats.writers,
            })
        };
        let stats_text = |stats: CacheStats| format!("{} in {}", text::bytes(stats.bytes), text::counted(stats.entries, "range"));
        match self {
            Self::Path(Path { json: true }) => write_json(out, &serde_json::json!({ "path": path }))?,
            Self::Path(Path { json: false }) => writeln!(out, "{path}")?,
            Self::Stats(Stats { json: true }) => write_json(out, &stats_json(cache.stats()?))?,
            Self::Stats(Stats { json: false }) => {
                let stats = cache.stats()?;
                let writers = text::counted(stats.writers, "writer");
                writeln!(out, "{path}: {}, at most {}, {writers} now", stats_text(stats), text::bytes(cache.at_most()))?;
            }
            Self::Clear(Clear { json: true }) => write_json(out, &stats_json(cache.clear()?))?,
            Self::Clear(Clear { json: false }) => writeln!(out, "{path}: deleted {}", stats_text(cache.clear()?))?,
        }
        Ok(Outcome::Done)
    }
}
