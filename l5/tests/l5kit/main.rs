//! The computations of L5Kit, compared with outputs of the real library and of NumPy, SciPy and OpenCV.

#[path = "../../../tests/common/environment.rs"]
mod environment;
mod evaluation;
mod geometry;
mod kinematic;
mod map;
mod mask;
mod npz;
mod raster;
mod raw;
mod reading;
mod samples;
mod vectorized;
