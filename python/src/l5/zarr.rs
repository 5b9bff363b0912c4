//! Records of a zarr group, read directly.

use std::sync::Arc;

use pyo3::{prelude::*, types::PyBytes};
use tetrys::{ErrorKind, schema::Primitive};
use tetrys_l5::{
    Dataset,
    zarr::{
        array::{Array, Cursor},
        dtype::Element,
        source::ZarrGroup,
    },
};

use crate::error::{IntoPython, Invalid};

/// A data set in zarr; `tetrys.l5.ChunkedDataset` opens it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct L5Zarr {
    dataset: Dataset,
    group: ZarrGroup,
}

/// Name, type as numpy writes it, and shape of a field.
type FieldType = (String, String, Vec<u32>);

impl L5Zarr {
    pub(super) fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    fn array(&self, name: &str) -> PyResult<Array> {
        Array::open(&self.group, name).py()?.ok_or_else(|| Invalid::new_err(format!("{}: no array {name}", self.group)))
    }
}

#[pymethods]
impl L5Zarr {
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<Self> {
        let open = || Dataset::open(path).map(|dataset| Self { group: dataset.group().clone(), dataset });
        py.detach(open).py()
    }

    /// Whether there is a zarr group, or a zip file with one, at a path or URL.
    #[staticmethod]
    fn exists(py: Python<'_>, path: &str) -> PyResult<bool> {
        match py.detach(|| ZarrGroup::open(path)) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Invalid) => Ok(false),
            Err(error) => Err(error).py(),
        }
    }

    /// The metadata of the group and all its scenes, as JSON.
    fn properties(&self) -> String {
        self.dataset.properties().to_string()
    }

    /// Names of the arrays, such as `agents` and `agents_mask/0.5`.
    fn arrays(&self) -> PyResult<Vec<String>> {
        self.group.arrays().py()
    }

    /// Number of records, records of a chunk, and the fields of an array. An array without fields has one with an empty name.
    fn meta(&self, name: &str) -> PyResult<(u64, u64, Vec<FieldType>)> {
        let array = self.array(name)?;
        let meta = array.meta();
        let fields = meta.dtype.fields().iter().map(|field| {
            let kind = match field.element {
                Element::Text { characters } => format!("<U{characters}"),
                Element::Primitive(Primitive::Bool) => "|b1".to_owned(),
                Element::Primitive(element) => format!("<{}{}", &element.name()[..1], element.width()),
            };
            (field.name.clone(), kind, meta.inner.iter().chain(&field.shape).copied().collect())
        });
        Ok((meta.len, meta.chunk_len, fields.collect()))
    }

    /// The bytes of the records of a range.
    fn records<'py>(&self, py: Python<'py>, name: &str, start: u64, stop: u64) -> PyResult<Bound<'py, PyBytes>> {
        let array = Arc::new(self.array(name)?);
        let bytes = py.detach(|| Cursor::new(array).records(start..stop)).py()?;
        Ok(PyBytes::new(py, &bytes))
    }
}
