//! Decoders of pictures.

use numpy::PyArray1;
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyTuple},
};
use tetrys::{ColumnType, loader::Decode, schema::Primitive};
use tetrys_images::Layout;

use crate::error::{IntoPython, Invalid};

/// How pictures are decoded; `tetrys.image` makes it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Image {
    image: tetrys_images::Image,
    made_of: Arguments,
}

/// Size, crop, whether channels come first, mean and deviation, fast, and random changes.
type Arguments = (Option<(u32, u32)>, Option<(u32, u32, u32, u32)>, bool, Option<([f32; 3], [f32; 3])>, bool, Augment);

/// Lower and upper bound.
type Bounds = (f64, f64);

/// Scale and ratio of the random crop, probability of a flip, brightness, contrast, saturation, and the seed.
type Augment = (Option<(Bounds, Bounds)>, f64, Option<Bounds>, Option<Bounds>, Option<Bounds>, u64);

#[pymethods]
impl Image {
    #[new]
    #[pyo3(signature = (*, size, crop, chw, normalised, fast, augment))]
    fn new(
        size: Option<(u32, u32)>,
        crop: Option<(u32, u32, u32, u32)>,
        chw: bool,
        normalised: Option<([f32; 3], [f32; 3])>,
        fast: bool,
        augment: Augment,
    ) -> PyResult<Self> {
        let mut image = tetrys_images::Image::new().layout(if chw { Layout::Chw } else { Layout::Hwc }).fast(fast);
        if let Some((height, width)) = size {
            image = image.size(height, width);
        }
        if let Some((top, left, height, width)) = crop {
            image = image.crop(top, left, height, width);
        }
        if let Some((mean, deviation)) = normalised {
            image = image.normalised(mean, deviation);
        }
        let (random_crop, flip, brightness, contrast, saturation, seed) = augment;
        image = image.flip(flip).seed(seed);
        if let Some((scale, ratio)) = random_crop {
            image = image.random_crop(scale, ratio);
        }
        if let Some((least, most)) = brightness {
            image = image.brightness(least, most);
        }
        if let Some((least, most)) = contrast {
            image = image.contrast(least, most);
        }
        if let Some((least, most)) = saturation {
            image = image.saturation(least, most);
        }
        image.check().py()?;
        Ok(Self { image, made_of: (size, crop, chw, normalised, fast, augment) })
    }

    /// Pickles the arguments.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let (size, crop, chw, normalised, fast, augment) = self.made_of;
        let arguments = PyDict::new(py);
        arguments.set_item("size", size)?;
        arguments.set_item("crop", crop)?;
        arguments.set_item("chw", chw)?;
        arguments.set_item("normalised", normalised.map(|(mean, deviation)| (mean.to_vec(), deviation.to_vec())))?;
        arguments.set_item("fast", fast)?;
        arguments.set_item("augment", augment)?;
        Ok((PyTuple::empty(py), arguments))
    }

    /// Type of the decoded values, as in a schema.
    #[getter]
    fn r#type(&self) -> String {
        self.image.column_type().to_string()
    }

    /// Decodes a picture of a sample. Returns its shape and its elements, u8 or f32, one after another. `random` is the number of the
    /// sample that random changes are drawn with.
    #[pyo3(signature = (file, random = 0))]
    fn decode<'py>(&self, py: Python<'py>, file: &Bound<'py, PyBytes>, random: u64) -> PyResult<(Vec<usize>, Bound<'py, PyAny>)> {
        let file = file.as_bytes();
        let (shape, elements) = py.detach(|| decoded(self.image.clone().random(random), file)).py()?;
        let floats = matches!(self.image.column_type(), ColumnType::Tensor { element: Primitive::F32, .. });
        let array = match floats {
            true => {
                let values = elements.chunks_exact(4).map(|bytes| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
                PyArray1::from_iter(py, values).into_any()
            }
            false => PyArray1::from_vec(py, elements).into_any(),
        };
        Ok((shape, array))
    }

    /// Shows the arguments as `tetrys.image` takes them.
    fn __repr__(&self) -> String {
        let (size, crop, chw, normalised, fast, (random_crop, flip, brightness, contrast, saturation, seed)) = self.made_of;
        let mut parts = Vec::new();
        parts.extend(size.map(|size| format!("{size:?}")));
        parts.extend(crop.map(|crop| format!("crop={crop:?}")));
        parts.extend(chw.then(|| r#"layout="chw""#.to_owned()));
        parts.extend(normalised.map(|(mean, std)| format!(r#"dtype="float32", mean={mean:?}, std={std:?}"#)));
        parts.extend(fast.then(|| "fast=True".to_owned()));
        parts.extend(random_crop.map(|(scale, ratio)| format!("crop_scale={scale:?}, crop_ratio={ratio:?}")));
        parts.extend((flip > 0.0).then(|| format!("flip={flip:?}")));
        for (name, bounds) in [("brightness", brightness), ("contrast", contrast), ("saturation", saturation)] {
            parts.extend(bounds.map(|bounds| format!("{name}={bounds:?}")));
        }
        parts.extend((seed > 0).then(|| format!("seed={seed}")));
        format!("tetrys.image({})", parts.join(", "))
    }
}

fn decoded(image: tetrys_images::Image, file: &[u8]) -> tetrys::Result<(Vec<usize>, Vec<u8>)> {
    let (shape, elements) = image.decode(file)?;
    Ok((shape.into_iter().map(|extent| extent as usize).collect(), elements))
}

/// Returns the random number of a sample: see `tetrys::loader::sample_random`.
#[pyfunction]
pub(crate) fn sample_random(seed: u64, epoch: u64, sample: u64) -> u64 {
    tetrys::loader::sample_random(seed, epoch, sample)
}

/// Returns the decoder of a column.
pub(crate) fn decoder_of(decoder: &Bound<'_, PyAny>) -> PyResult<tetrys_images::Image> {
    decoder
        .cast::<Image>()
        .map(|image| image.get().image.clone())
        .map_err(|_| Invalid::new_err(format!("decode: expected tetrys.image(..), found {}", decoder.get_type())))
}
