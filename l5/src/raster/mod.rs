//! Rasterizers: pictures of a frame and its history, with the values of L5Kit's rasterizers and without OpenCV.
//!
//! A [`Rasterizer`] draws one sample into a slice. It is made of the boxes of agents and ego ([`boxes`]) and of a map below them
//! ([`semantic`] or [`satellite`]). What OpenCV does in L5Kit is done, bit for bit, by [`draw`] and [`warp`].
//!
//! The input is a history of frames in the order of time, the current one last. Rasters are planes (channels, height, width) of values
//! in 0..=1.

pub mod boxes;
pub mod context;
pub mod draw;
pub(crate) mod pixels;
pub mod pose;
pub mod rasterizer;
pub(crate) mod rgb;
pub mod satellite;
pub mod semantic;
pub(crate) mod trig;
pub mod warp;

pub use boxes::{BoxRasterizer, BoxScratch};
pub use context::RenderContext;
pub use pose::{RasterInput, SelectedAgent};
pub use rasterizer::{MapType, Rasterizer, Scratch};
pub use satellite::AerialMap;
pub use semantic::{FaceColor, LaneControl, SemanticCrosswalk, SemanticLane, SemanticMap};
