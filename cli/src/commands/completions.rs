//! `tetrys completions` and `tetrys man`: completion scripts and manual pages, generated from the definitions of the commands.

use std::{io::Write, path::PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde_json::json;
use tetrys::Error;

use super::write_json;
use crate::{
    Arguments,
    failure::{Failure, Outcome},
    staging::Staging,
};

#[derive(Args, Debug)]
#[command(after_help = "Save the script where your shell looks for completions, and start a new shell.

Examples:
  tetrys completions bash > ~/.local/share/bash-completion/completions/tetrys
  tetrys completions zsh > ~/.zfunc/_tetrys
  tetrys completions fish > ~/.config/fish/completions/tetrys.fish")]
pub(crate) struct Completions {
    /// The shell that runs the script
    shell: Shell,
    /// Print JSON: an object with the script as text
    #[arg(long)]
    json: bool,
}

impl Completions {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        // Generates into memory first: the generator panics if it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "tetrys", &mut script);
        if self.json {
            let script = String::from_utf8_lossy(&script);
            write_json(out, &json!({"shell": self.shell.to_string(), "script": script}))?;
            return Ok(Outcome::Done);
        }
        out.write_all(&script)?;
        Ok(Outcome::Done)
    }
}

#[derive(Args, Debug)]
#[command(
    after_help = "Without DIR, prints the page of tetrys itself in the format of man (roff). With DIR, writes a page for every command.

Examples:
  tetrys man man1 && man -M . tetrys-ingest-l5
  tetrys man | man -l -"
)]
pub(crate) struct Man {
    /// The new folder for a page of every command [default: print the page of tetrys itself to stdout]
    dir: Option<PathBuf>,
    /// Print JSON: the page as text, or with DIR the number of pages
    #[arg(long)]
    json: bool,
}

impl Man {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let command = Arguments::command();
        let Some(dir) = self.dir else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(Error::from)?;
            if self.json {
                write_json(out, &json!({"page": String::from_utf8_lossy(&page)}))?;
                return Ok(Outcome::Done);
            }
            out.write_all(&page)?;
            return Ok(Outcome::Done);
        };
        let staging = Staging::new(&dir)?;
        clap_mangen::generate_to(command, staging.folder()).map_err(|error| Error::from(error).at(dir.display()))?;
        let pages = std::fs::read_dir(staging.folder()).map_err(Error::from)?.count() as u64;
        staging.publish()?;
        if self.json {
            write_json(out, &json!({"folder": dir.display().to_string(), "pages": pages}))?;
            return Ok(Outcome::Done);
        }
        writeln!(out, "{}: {}", dir.display(), crate::text::counted(pages, "page"))?;
        Ok(Outcome::Done)
    }
}
