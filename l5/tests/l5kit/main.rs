//! The computations of L5Kit, compared with outputs of the real library and of NumPy, SciPy and OpenCV.

#[path = "../../../tests/common/environment.rs"]
mod environment;
mod evaluation;
mod geometry;
mod kinematic;
mod map;
mod mask;
mod npz;
#[path = "../../../tests/common/npz.rs"]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "shared with other suites")]
mod numpy;
mod raster;
mod raw;
mod reading;
mod samples;
mod vectorized;
