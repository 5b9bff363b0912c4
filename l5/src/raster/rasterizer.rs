//! One front for all rasterizers, with the channels in L5Kit's order.

use std::str::FromStr;
use std::sync::Arc;

use tetrys::{Error, Result};

use super::boxes::{BoxRasterizer, BoxScratch};
use super::context::RenderContext;
use super::pixels::check_len;
use super::pose::RasterInput;
use super::rgb::{boxes_to_rgb, planes_below};
use super::satellite::{AerialMap, SatelliteScratch, rasterize_satellite};
use super::semantic::{SemanticMap, SemanticScratch, rasterize_semantic};

/// The kinds of rasterizers: `raster_params.map_type` of L5Kit's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapType {
    /// `stub_debug`: zeros.
    Stub,
    /// `box_debug`: agents and ego.
    Box,
    /// `semantic_debug`: lanes and crosswalks.
    Semantic,
    /// `satellite_debug`: the aerial picture.
    Satellite,
    /// `py_semantic`: boxes, then lanes and crosswalks.
    SemanticBox,
    /// `py_satellite`: boxes, then the aerial picture.
    SatelliteBox,
}

impl MapType {
    /// Returns L5Kit's name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stub => "stub_debug",
            Self::Box => "box_debug",
            Self::Semantic => "semantic_debug",
            Self::Satellite => "satellite_debug",
            Self::SemanticBox => "py_semantic",
            Self::SatelliteBox => "py_satellite",
        }
    }
}

impl FromStr for MapType {
    type Err = Error;

    /// Parses L5Kit's name of a kind.
    ///
    /// # Errors
    /// `Invalid` for any other name.
    fn from_str(name: &str) -> Result<Self> {
        let all = [Self::Stub, Self::Box, Self::Semantic, Self::Satellite, Self::SemanticBox, Self::SatelliteBox];
        all.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            Error::invalid(format!("map_type {name:?}: expected one of {}", all.map(|kind| kind.name()).join(", ")))
        })
    }
}

/// Draws samples: boxes, a map below them, both or nothing.
///
/// It is shared by threads; each thread has its own [`Scratch`].
///
/// ```
/// use tetrys_l5::arrays::Frames;
/// use tetrys_l5::raster::{BoxRasterizer, RasterInput, Rasterizer, RenderContext, Scratch};
/// let context = RenderContext::new([64, 48], [0.5, 0.5], [0.25, 0.5], true)?;
/// let rasterizer = Rasterizer::boxes(BoxRasterizer { context, threshold: 0.5, history: 0, render_ego_history: true });
/// assert_eq!(rasterizer.shape(), [2, 48, 64]);
///
/// let frames = Frames {
///     timestamps: &[0],
///     translations: &[[10.0, 20.0, 0.0]],
///     rotations: &[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]],
///     agent_bounds: &[0, 0],
///     ..Frames::default()
/// };
/// let mut image = vec![0.0; rasterizer.len()];
/// rasterizer.rasterize(&RasterInput { frames, agent: None }, &mut Scratch::default(), &mut image)?;
/// let ego = &image[48 * 64..];
/// assert_eq!(ego[24 * 64 + 16], 1.0, "the ego is at the center");
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rasterizer {
    context: RenderContext,
    boxes: Option<BoxRasterizer>,
    ground: Ground,
}

/// The background, over which the boxes are drawn.
#[derive(Clone, Debug)]
enum Ground {
    Nothing,
    /// Zeros, of three channels.
    Stub,
    Semantic(Arc<SemanticMap>),
    Satellite(Arc<AerialMap>),
}

/// The memory that a [`Rasterizer`] works in. One per thread, kept between samples.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    boxes: BoxScratch,
    semantic: SemanticScratch,
    satellite: SatelliteScratch,
}

impl Rasterizer {
    /// Creates the rasterizer `stub_debug`, which draws nothing.
    pub fn stub(context: RenderContext) -> Self {
        Self { context, boxes: None, ground: Ground::Stub }
    }

    /// Creates the rasterizer `box_debug`.
    pub fn boxes(boxes: BoxRasterizer) -> Self {
        Self { context: boxes.context, boxes: Some(boxes), ground: Ground::Nothing }
    }

    /// Creates the rasterizer `semantic_debug`.
    pub fn semantic(context: RenderContext, map: Arc<SemanticMap>) -> Self {
        Self { context, boxes: None, ground: Ground::Semantic(map) }
    }

    /// Creates the rasterizer `satellite_debug`.
    pub fn satellite(context: RenderContext, map: Arc<AerialMap>) -> Self {
        Self { context, boxes: None, ground: Ground::Satellite(map) }
    }

    /// Creates the rasterizer `py_semantic`.
    pub fn semantic_boxes(boxes: BoxRasterizer, map: Arc<SemanticMap>) -> Self {
        Self { context: boxes.context, boxes: Some(boxes), ground: Ground::Semantic(map) }
    }

    /// Creates the rasterizer `py_satellite`.
    pub fn satellite_boxes(boxes: BoxRasterizer, map: Arc<AerialMap>) -> Self {
        Self { context: boxes.context, boxes: Some(boxes), ground: Ground::Satellite(map) }
    }

    /// Returns the kind.
    pub fn map_type(&self) -> MapType {
        match (&self.ground, &self.boxes) {
            (Ground::Stub, _) => MapType::Stub,
            (Ground::Nothing, _) => MapType::Box,
            (Ground::Semantic(_), None) => MapType::Semantic,
            (Ground::Satellite(_), None) => MapType::Satellite,
            (Ground::Semantic(_), Some(_)) => MapType::SemanticBox,
            (Ground::Satellite(_), Some(_)) => MapType::SatelliteBox,
        }
    }

    /// Returns the frame of the raster.
    pub fn context(&self) -> &RenderContext {
        &self.context
    }

    /// Returns the number of channels.
    pub fn num_channels(&self) -> usize {
        self.box_channels() + if matches!(self.ground, Ground::Nothing) { 0 } else { 3 }
    }

    /// Returns the shape of a sample: channels, height, width; but channels, width, height for a stub, as in L5Kit.
    pub fn shape(&self) -> [usize; 3] {
        let [width, height] = self.context.raster_size();
        match self.ground {
            Ground::Stub => [self.num_channels(), width, height],
            _ => [self.num_channels(), height, width],
        }
    }

    /// Returns the number of values of a sample.
    #[expect(clippy::len_without_is_empty, reason = "a raster has one value at least")]
    pub fn len(&self) -> usize {
        self.num_channels() * self.context.pixels()
    }

    /// Draws one sample to `out`: [`len`](Self::len) values in 0..=1, of the [`shape`](Self::shape) of a sample.
    ///
    /// All values are written. To draw a batch, split it into samples, and those among threads.
    ///
    /// # Errors
    /// Those of [`BoxRasterizer::rasterize`], [`rasterize_semantic`] and [`rasterize_satellite`]; `Invalid` if `out` has another length.
    pub fn rasterize(&self, input: &RasterInput<'_>, scratch: &mut Scratch, out: &mut [f32]) -> Result<()> {
        check_len(out, self.len())?;
        out[..self.box_channels() * self.context.pixels()].fill(0.0);
        self.rasterize_over_zeros(input, scratch, out)
    }

    /// Does what [`Self::rasterize`] does, where all values of `out` are 0 before; see [`BoxRasterizer::rasterize_over_zeros`].
    ///
    /// # Errors
    /// Those of [`Self::rasterize`].
    pub fn rasterize_over_zeros(&self, input: &RasterInput<'_>, scratch: &mut Scratch, out: &mut [f32]) -> Result<()> {
        check_len(out, self.len())?;
        let (channels, below) = out.split_at_mut(self.box_channels() * self.context.pixels());
        if let Some(boxes) = &self.boxes {
            boxes.rasterize_over_zeros(input, &mut scratch.boxes, channels)?;
        }
        match &self.ground {
            Ground::Nothing => Ok(()),
            Ground::Stub => {
                below.fill(0.0);
                Ok(())
            }
            Ground::Semantic(map) => rasterize_semantic(&self.context, map, input, &mut scratch.semantic, below),
            Ground::Satellite(map) => rasterize_satellite(&self.context, map, input, &mut scratch.satellite, below),
        }
    }

    /// Writes a sample as a picture to `out`: height x width x 3 bytes (width x height x 3 for a stub).
    ///
    /// Agents are blue, the ego or the selected agent is green, both fade with their age, and the map lies below.
    ///
    /// # Errors
    /// `Invalid` if `image` has not the number of values of a sample, or `out` not 3 bytes for each pixel.
    pub fn to_rgb(&self, image: &[f32], out: &mut [u8]) -> Result<()> {
        check_len(image, self.len())?;
        let pixels = self.context.pixels();
        if out.len() != 3 * pixels {
            return Err(Error::invalid(format!("the picture has {} bytes: expected {}", out.len(), 3 * pixels)));
        }
        let (channels, below) = image.split_at(self.box_channels() * pixels);
        boxes_to_rgb(channels, pixels, out);
        planes_below(below, pixels, out);
        Ok(())
    }

    /// Whether all values are 0.
    pub fn is_blank(&self) -> bool {
        matches!(self.ground, Ground::Stub)
    }

    /// Whether the agents of the history are drawn.
    pub fn draws_boxes(&self) -> bool {
        self.boxes.is_some()
    }

    /// Whether lanes are drawn, in the colours of the traffic light faces of the current frame.
    pub fn draws_faces(&self) -> bool {
        matches!(self.ground, Ground::Semantic(_))
    }

    fn box_channels(&self) -> usize {
        self.boxes.map_or(0, |boxes| boxes.num_channels())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_has_width_before_height_and_three_black_channels() {
        let rasterizer = Rasterizer::stub(RenderContext::new([7, 5], [1.0, 1.0], [0.5, 0.5], true).unwrap());
        assert_eq!((rasterizer.shape(), rasterizer.map_type().name()), ([3, 7, 5], "stub_debug"));
        let frames = crate::arrays::Frames::default();
        let (mut image, mut picture) = ([0.5; 105], [9; 105]);
        rasterizer.rasterize(&RasterInput { frames, agent: None }, &mut Scratch::default(), &mut image).unwrap();
        rasterizer.to_rgb(&image, &mut picture).unwrap();
        assert_eq!((image, picture), ([0.0; 105], [0; 105]));
    }

    #[test]
    fn names_of_kinds_lead_back_and_others_are_refused() {
        for name in ["stub_debug", "box_debug", "semantic_debug", "satellite_debug", "py_semantic", "py_satellite"] {
            assert_eq!(name.parse::<MapType>().unwrap().name(), name);
        }
        assert!("box".parse::<MapType>().is_err());
    }
}
