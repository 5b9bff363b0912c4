//! Rasterizers.

use std::sync::Arc;

use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray3};
use pyo3::prelude::*;
use tetrys_l5::raster::{AerialMap, BoxRasterizer, MapType, Rasterizer, RenderContext};

use super::raise_as_l5kit;

/// Draws samples; `tetrys.l5.build_rasterizer` makes it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct L5Rasterizer(pub(super) Arc<Rasterizer>);

/// A 4x4 matrix, row by row.
type Matrix4 = [[f64; 4]; 4];

#[pymethods]
impl L5Rasterizer {
    /// `aerial` has the pixels, u8 [height, width, 3], `world_to_ecef` and `ecef_to_aerial`.
    #[new]
    #[pyo3(signature = (map_type, *, raster_size, pixel_size, center, set_origin_to_bottom, threshold, history, render_ego_history, map = None, aerial = None))]
    #[expect(clippy::too_many_arguments, reason = "the keys of a configuration")]
    fn new(
        map_type: &str,
        raster_size: [usize; 2],
        pixel_size: [f64; 2],
        center: [f64; 2],
        set_origin_to_bottom: bool,
        threshold: f64,
        history: usize,
        render_ego_history: bool,
        map: Option<&super::map::L5Map>,
        aerial: Option<(PyReadonlyArray3<'_, u8>, Matrix4, Matrix4)>,
    ) -> PyResult<Self> {
        let context = RenderContext::new(raster_size, pixel_size, center, set_origin_to_bottom).map_err(raise_as_l5kit)?;
        let boxes = BoxRasterizer { context, threshold, history, render_ego_history };
        let map = || -> tetrys::Result<_> {
            let map = map.ok_or_else(|| tetrys::Error::invalid(format!("map type {map_type}: expected a semantic map")))?;
            Ok(Arc::new(map.0.to_semantic_input()?))
        };
        let aerial = || -> tetrys::Result<_> {
            let (pixels, to_ecef, to_aerial) =
                aerial.ok_or_else(|| tetrys::Error::invalid(format!("map type {map_type}: expected an aerial map")))?;
            let shape = pixels.as_array().dim();
            if shape.2 != 3 {
                return Err(tetrys::Error::invalid(format!("the aerial map has {} channels, expected 3", shape.2)));
            }
            let bytes = pixels.as_array().iter().copied().collect();
            Ok(Arc::new(AerialMap::new(bytes, [shape.1, shape.0], &to_ecef, &to_aerial)?))
        };
        let made = || -> tetrys::Result<_> {
            Ok(match map_type.parse::<MapType>()? {
                MapType::Stub => Rasterizer::stub(context),
                MapType::Box => Rasterizer::boxes(boxes),
                MapType::Semantic => Rasterizer::semantic(context, map()?),
                MapType::Satellite => Rasterizer::satellite(context, aerial()?),
                MapType::SemanticBox => Rasterizer::semantic_boxes(boxes, map()?),
                MapType::SatelliteBox => Rasterizer::satellite_boxes(boxes, aerial()?),
            })
        };
        made().map(|rasterizer| Self(Arc::new(rasterizer))).map_err(raise_as_l5kit)
    }

    /// Number of channels.
    fn num_channels(&self) -> usize {
        self.0.num_channels()
    }

    /// Shape of an image: channels, height, width; for a stub, channels, width, height.
    fn shape(&self) -> [usize; 3] {
        self.0.shape()
    }

    /// From metres around the agent to pixels, f64 [3, 3].
    fn raster_from_local(&self) -> [[f64; 3]; 3] {
        self.0.context().raster_from_local()
    }

    /// The image [channels, height, width] as a picture, u8 [height, width, 3].
    fn to_rgb<'py>(&self, py: Python<'py>, image: PyReadonlyArray3<'_, f32>) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let values: Vec<f32> = image.as_array().iter().copied().collect();
        let [_, height, width] = self.0.shape();
        let mut picture = vec![0; height * width * 3];
        self.0.to_rgb(&values, &mut picture).map_err(raise_as_l5kit)?;
        PyArray1::from_vec(py, picture).reshape([height, width, 3])
    }
}
