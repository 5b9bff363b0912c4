//! `tetrys l5`: shows what a Level 5 table holds.

use std::{
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use serde_json::json;
use tetrys::Error;
use tetrys_l5::{
    Sampler,
    picture::draw_sample,
    raster::{BoxRasterizer, Rasterizer, RenderContext},
    reading::{FrameTable, Scratch, Wanted},
    sampling::{Kind, SampleSettings, SampleShape},
};

use crate::{
    failure::{Failure, Outcome},
    numbers::{number, whole},
    staging::StagedFile,
    text,
};

#[derive(Debug, Subcommand)]
pub(crate) enum L5 {
    /// Draw a frame as a picture: boxes, past and future of the ego car or an agent, traffic lights
    Show(Show),
}

#[derive(Args, Debug)]
#[command(
    after_help = "The ego car (or the agent of --agent) is green, other agents are blue, and older boxes fade. The past is an orange line, the future a pink one. Each traffic light face is a square in the upper left corner: white if active, grey if inactive, olive if unknown. The picture looks along the heading of the ego car, to the right.

Examples:
  tetrys l5 show sample 120 --png frame.png
  tetrys l5 show sample 120 --agent 17 --size 600 --pixel-size 0.2 --png agent.png"
)]
pub(crate) struct Show {
    /// The table or view that `tetrys ingest l5` made: a path or URL; TABLE@3 is version 3
    table: String,
    /// Row of the frame, from 0
    #[arg(value_parser = whole(0..=u64::MAX))]
    frame: u64,
    /// Draw around the agent with this track id instead of the ego car
    #[arg(long, value_name = "TRACK", value_parser = whole(0..=u64::MAX))]
    agent: Option<u64>,
    /// The new picture. An existing file is never replaced
    #[arg(long, value_name = "FILE")]
    png: PathBuf,
    /// Width and height of the picture, in pixels
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = whole(16..=8192_u16))]
    size: u16,
    /// Side of a pixel, in metres
    #[arg(long, value_name = "M", default_value_t = 0.25, value_parser = number)]
    pixel_size: f64,
    /// Frames before this one whose boxes are drawn
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole(0..=u16::MAX))]
    history: u16,
    /// Frames after this one whose positions are drawn
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole(0..=u16::MAX))]
    future: u16,
    /// Smallest probability of being a road user, of the agents that are drawn
    #[arg(long, value_name = "P", default_value_t = 0.5, value_parser = number)]
    threshold: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl L5 {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let Self::Show(command) = self;
        command.run(out).await
    }
}

impl Show {
    async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let frames = FrameTable::open(&table, 0).await.map_err(Failure::Input)?;
        let (scene, number) = frames.scene_of(self.frame).map_err(Failure::Input)?;
        let size = usize::from(self.size);
        let context =
            RenderContext::new([size, size], [self.pixel_size, self.pixel_size], [0.25, 0.5], true).map_err(Failure::Input)?;
        let history = usize::from(self.history);
        let boxes = BoxRasterizer { context, threshold: self.threshold, history, render_ego_history: true };
        let kind = if self.agent.is_some() { Kind::Agent } else { Kind::Ego };
        let sampler = Sampler {
            shape: SampleShape { history, future: usize::from(self.future), kind },
            settings: SampleSettings {
                step_time: 0.1,
                filter_threshold: self.threshold,
                raster_from_local: context.raster_from_local(),
            },
            rasterizer: Rasterizer::boxes(boxes),
            faces: false,
            threads: 1,
        };
        // The agents and faces of the frame alone.
        let here = Wanted { agents: Some(0), faces: true, ..Default::default() };
        let windows = frames.windows(&[self.frame], here).await.map_err(Failure::Input)?;
        let mut scratch = Scratch::default();
        let (found, current) = windows.frames(0, &mut scratch).map_err(Failure::Input)?;
        let (agents, faces) = (found.agents_of(current), found.faces_of(current));
        let batch = match self.agent {
            None => sampler.ego(&frames, &[self.frame]).await,
            Some(track) => {
                let place = agents.track_ids.iter().position(|id| *id == track).ok_or_else(|| {
                    let shown: Vec<String> = agents.track_ids.iter().take(20).map(u64::to_string).collect();
                    let more = if agents.track_ids.len() > 20 { ", .." } else { "" };
                    Failure::Input(Error::not_found(format!(
                        "frame {}: no agent with track {track}; there are: {}{more}",
                        self.frame,
                        shown.join(", ")
                    )))
                })?;
                sampler.agents(&frames, &[frames.agents_of(self.frame).start + place as u64]).await
            }
        };
        let batch = batch.map_err(Failure::Input)?;
        let pixels = draw_sample(&sampler.rasterizer, &batch, 0, faces.statuses).map_err(Failure::Input)?;
        write_png(&self.png, &pixels, u32::from(self.size))?;
        let future = batch.samples.target_availabilities.iter().filter(|available| **available > 0.0).count();
        if self.json {
            let output = json!({
                "png": self.png.display().to_string(), "frame": self.frame, "scene": scene, "frame_in_scene": number,
                "agents": agents.track_ids.len(), "traffic_light_faces": faces.statuses.len(), "future_frames": future,
            });
            super::write_json(out, &output)?;
            return Ok(Outcome::Done);
        }
        writeln!(
            out,
            "{}: frame {number} of scene {scene}, {}, {}, {} of the future",
            self.png.display(),
            text::counted(agents.track_ids.len() as u64, "agent"),
            text::counted(faces.statuses.len() as u64, "traffic light face"),
            text::counted(future as u64, "frame"),
        )?;
        Ok(Outcome::Done)
    }
}

/// Writes a picture that appears when it is complete. An existing file stays.
fn write_png(path: &Path, pixels: &[u8], side: u32) -> Result<(), Failure> {
    let failed = |error: Error| Failure::Input(error.at(path.display()));
    if path.exists() {
        return Err(failed(Error::exists("expected a new file, found something there")));
    }
    let mut file = StagedFile::new(path).map_err(|error| failed(error.into()))?;
    let mut buffer = BufWriter::new(file.file());
    let mut encoder = png::Encoder::new(&mut buffer, side, side);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels).and_then(|()| writer.finish()));
    written.map_err(|error| failed(Error::internal(format!("PNG: {error}"))))?;
    buffer.flush().map_err(|error| failed(error.into()))?;
    drop(buffer);
    file.publish(path, false).map_err(|error| failed(error.into()))
}
