//! `tetrys completions` and `tetrys man`: what shells and `man` want to know, made from the commands themselves.

use std::{io::Write, path::PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use tetrys::Error;

use crate::{
    Arguments,
    failure::{Failure, Outcome},
    staging::Staging,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tetrys completions bash > ~/.local/share/bash-completion/completions/tetrys
  tetrys completions zsh > ~/.zfunc/_tetrys
  tetrys completions fish > ~/.config/fish/completions/tetrys.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        // Made first: the generator panics where it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "tetrys", &mut script);
        out.write_all(&script)?;
        Ok(Outcome::Done)
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tetrys man man1 && man -M . tetrys-ingest-l5
  tetrys man | man -l -")]
pub(crate) struct Man {
    /// Write a page for every command into this new folder [default: the page of tetrys itself, to stdout]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let command = Arguments::command();
        let Some(dir) = self.dir else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(Error::from)?;
            out.write_all(&page)?;
            return Ok(Outcome::Done);
        };
        let staging = Staging::new(&dir)?;
        clap_mangen::generate_to(command, staging.folder()).map_err(|error| Error::from(error).at(dir.display()))?;
        let pages = std::fs::read_dir(staging.folder()).map_err(Error::from)?.count() as u64;
        staging.publish()?;
        writeln!(out, "{}: {}", dir.display(), crate::text::counted(pages, "page"))?;
        Ok(Outcome::Done)
    }
}
