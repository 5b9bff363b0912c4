//! `tetrys generate`: generates data sets of any size from a seed.

use std::{io::Write, path::PathBuf, time::Instant};

use clap::{Args, Subcommand};
use tetrys_l5::GeneratorSettings;

use crate::{
    failure::{Failure, Outcome},
    numbers::whole,
    staging::folder_of,
    text,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// Generate a Level 5 prediction data set (zarr), format_version 2
    L5(L5),
}

#[derive(Args, Debug)]
#[command(after_help = "Use it to try Tetrys without data of your own. The same options give the same records on every machine.

Example:
  tetrys generate l5 ten.zarr --scenes 10
  tetrys ingest l5 ten.zarr ten")]
pub(crate) struct L5 {
    /// The new zarr directory; it appears when it is complete
    target: PathBuf,
    /// Number of scenes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u32::MAX))]
    scenes: u32,
    /// Frames per scene, 100 ms apart
    #[arg(long, value_name = "N", default_value_t = 248, value_parser = whole(0..=u32::MAX))]
    frames: u32,
    /// Average number of agents in a frame
    #[arg(long, value_name = "N", default_value_t = 79, value_parser = whole(0..=u32::MAX))]
    agents: u32,
    /// Seed of the random numbers; another seed gives other records
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// Also write a mask of agents, the array `agents_mask/0.5`
    #[arg(long)]
    mask: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Generate {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let Self::L5(command) = self;
        let started = Instant::now();
        let settings = GeneratorSettings {
            seed: command.seed,
            scenes: command.scenes,
            frames_per_scene: command.frames,
            agents_per_frame: command.agents,
            mask: command.mask,
            ..GeneratorSettings::default()
        };
        folder_of(&command.target, async |folder| settings.generate(folder)).await.map_err(Failure::Input)?;
        let frames = u64::from(command.scenes) * u64::from(command.frames);
        if command.json {
            let seconds = started.elapsed().as_secs_f64();
            let output = serde_json::json!({
                "target": command.target.display().to_string(), "frames": frames, "scenes": command.scenes, "seconds": seconds,
            });
            super::write_json(out, &output)?;
            return Ok(Outcome::Done);
        }
        writeln!(
            out,
            "{}: {} in {}, written in {}",
            command.target.display(),
            text::counted(frames, "frame"),
            text::counted(command.scenes.into(), "scene"),
            text::time(started.elapsed()),
        )?;
        Ok(Outcome::Done)
    }
}
