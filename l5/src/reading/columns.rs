//! Typed columns of frames: numbers as slices, whatever width they are stored in, and texts.

use std::ops::Range;

use arrow_array::{
    Array, ArrayRef, LargeListArray, LargeStringArray, PrimitiveArray, StructArray,
    cast::AsArray,
    types::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, UInt64Type},
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use tetrys::{Error, Result};

use super::wanted::Wanted;

/// The columns that windows are made of. Frame i is row i.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) translations: Column<f64>,
    pub(super) rotations: Column<f64>,
    pub(super) agents: Option<Poses>,
    pub(super) labels: Option<Column<f32>>,
    pub(super) faces: Option<FaceColumns>,
}

/// The tracks and poses of agents, and their sizes.
#[derive(Clone, Debug)]
pub(super) struct Poses {
    pub(super) track_ids: Column<u64>,
    pub(super) centroids: Column<f64>,
    pub(super) extents: Column<f32>,
    pub(super) yaws: Column<f32>,
}

#[derive(Clone, Debug)]
pub(super) struct FaceColumns {
    pub(super) face_ids: Texts,
    pub(super) traffic_light_ids: Texts,
    pub(super) statuses: Column<f32>,
}

impl Columns {
    /// Takes the columns that are wanted. `column` returns an array by its name.
    pub(super) fn of(column: &dyn Fn(&str) -> Result<ArrayRef>, wanted: &Wanted) -> Result<Self> {
        let labels = || f32s(&column("agents.label_probabilities")?, "agents.label_probabilities", 17);
        Ok(Self {
            translations: f64s(&column("ego.translation")?, "ego.translation", 3)?,
            rotations: f64s(&column("ego.rotation")?, "ego.rotation", 9)?,
            agents: wanted.agents.map(|_| Poses::of(column)).transpose()?,
            labels: wanted.labels.then(labels).transpose()?,
            faces: wanted.faces.then(|| FaceColumns::of(column)).transpose()?,
        })
    }

    /// Returns the memory that the numbers take.
    pub(super) fn bytes(&self) -> u64 {
        let poses = self.agents.as_ref().map_or(0, |poses| poses.track_ids.values.len() * (8 + 16 + 12 + 4));
        let labels = self.labels.as_ref().map_or(0, |labels| labels.values.len() * 4);
        let faces = self.faces.as_ref().map_or(0, |faces| faces.statuses.values.len() * 24);
        (self.translations.values.len() * 32 + poses + labels + faces) as u64 + 1024
    }
}

impl Poses {
    /// Takes the columns of poses. `column` returns an array by its name.
    pub(super) fn of(column: &dyn Fn(&str) -> Result<ArrayRef>) -> Result<Self> {
        Ok(Self {
            track_ids: u64s(&column("agents.pose.track_id")?, "agents.pose.track_id")?,
            centroids: f64s(&column("agents.pose.centroid")?, "agents.pose.centroid", 2)?,
            extents: f32s(&column("agents.pose.extent")?, "agents.pose.extent", 3)?,
            yaws: f32s(&column("agents.pose.yaw")?, "agents.pose.yaw", 1)?,
        })
    }
}

impl FaceColumns {
    /// Takes the columns of traffic light faces. `column` returns an array by its name.
    pub(super) fn of(column: &dyn Fn(&str) -> Result<ArrayRef>) -> Result<Self> {
        Ok(Self {
            face_ids: Texts::of(&column("tl_faces.face_id")?, "tl_faces.face_id")?,
            traffic_light_ids: Texts::of(&column("tl_faces.traffic_light_id")?, "tl_faces.traffic_light_id")?,
            statuses: f32s(&column("tl_faces.status")?, "tl_faces.status", 3)?,
        })
    }
}

/// Values of a column with some numbers for each record, and the records of each row.
#[derive(Clone, Debug)]
pub(super) struct Column<T: arrow_buffer::ArrowNativeType> {
    pub(super) values: ScalarBuffer<T>,
    /// One more than rows, in numbers and not in records. `None`: each row has one record.
    offsets: Option<OffsetBuffer<i64>>,
    /// Numbers of a record.
    width: usize,
}

impl<T: arrow_buffer::ArrowNativeType> Column<T> {
    /// Makes a column of numbers in memory: `ends` has the number of records up to the end of each row, or each row has one.
    pub(super) fn of_values(values: Vec<T>, width: usize, ends: Option<&[u64]>) -> Self {
        let offsets = ends.map(|ends| {
            let offsets = std::iter::once(0).chain(ends.iter().map(|end| *end as i64 * width as i64));
            OffsetBuffer::new(offsets.collect())
        });
        Self { values: values.into(), offsets, width }
    }

    /// Returns the records of a row.
    pub(super) fn records(&self, row: usize) -> Range<usize> {
        match &self.offsets {
            Some(offsets) => offsets[row] as usize / self.width..offsets[row + 1] as usize / self.width,
            None => row..row + 1,
        }
    }

    /// Returns the numbers of some records.
    pub(super) fn of(&self, records: Range<usize>) -> &[T] {
        &self.values[records.start * self.width..records.end * self.width]
    }
}

/// Returns a column of f64. Early data sets have f32.
pub(super) fn f64s(column: &ArrayRef, name: &str, width: usize) -> Result<Column<f64>> {
    numbers(column, name, width, |values| {
        let narrow = || Some(values.as_primitive_opt::<Float32Type>()?.values().iter().map(|value| f64::from(*value)).collect());
        exact::<Float64Type>(values).or_else(narrow)
    })
}

/// Returns a column of f32.
pub(super) fn f32s(column: &ArrayRef, name: &str, width: usize) -> Result<Column<f32>> {
    numbers(column, name, width, exact::<Float32Type>)
}

/// Returns a column of u64. Early data sets have i32.
pub(super) fn u64s(column: &ArrayRef, name: &str) -> Result<Column<u64>> {
    numbers(column, name, 1, |values| {
        let narrow = || Some(values.as_primitive_opt::<Int32Type>()?.values().iter().map(|value| *value as u64).collect());
        exact::<UInt64Type>(values).or_else(narrow)
    })
}

fn exact<P: ArrowPrimitiveType>(values: &ArrayRef) -> Option<ScalarBuffer<P::Native>> {
    values.as_any().downcast_ref::<PrimitiveArray<P>>().map(|array| array.values().clone())
}

fn numbers<T: arrow_buffer::ArrowNativeType>(
    column: &ArrayRef,
    name: &str,
    width: usize,
    typed: impl FnOnce(&ArrayRef) -> Option<ScalarBuffer<T>>,
) -> Result<Column<T>> {
    let refused =
        || Error::invalid(format!("column `{name}` is not as the ingest of Level 5 data wrote it, found {}", column.data_type()));
    let (values, offsets) = match column.data_type() {
        DataType::FixedSizeList(_, len) if *len as usize == width => (column.as_fixed_size_list().values().clone(), None),
        DataType::Struct(_) => {
            let list = list_of(column.as_struct()).ok_or_else(refused)?;
            (list.values().clone(), Some(list.offsets().clone()))
        }
        DataType::LargeList(_) => {
            let list = column.as_list::<i64>();
            (list.values().clone(), Some(list.offsets().clone()))
        }
        _ => return Err(refused()),
    };
    let values = typed(&values).ok_or_else(refused)?;
    if let Some(offsets) = &offsets
        && offsets.iter().any(|offset| !(*offset as usize).is_multiple_of(width) || *offset as usize > values.len())
    {
        return Err(Error::corrupt(format!("column `{name}`: a row ends within a record of {width} numbers")));
    }
    Ok(Column { values, offsets, width })
}

/// Returns the list of a tensor of variable shape.
fn list_of(tensor: &StructArray) -> Option<&LargeListArray> {
    tensor.column_by_name("data")?.as_list_opt::<i64>()
}

/// A column with a list of texts in each row.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    values: LargeStringArray,
    offsets: OffsetBuffer<i64>,
}

impl Texts {
    pub(super) fn of(column: &ArrayRef, name: &str) -> Result<Self> {
        let list = column.as_list_opt::<i64>();
        let found = list.and_then(|list| {
            Some(Self { values: list.values().as_string_opt::<i64>()?.clone(), offsets: list.offsets().clone() })
        });
        found.ok_or_else(|| {
            Error::invalid(format!("column `{name}` is not as the ingest of Level 5 data wrote it, found {}", column.data_type()))
        })
    }

    /// Makes a column of texts in memory.
    pub(super) fn of_values(values: Vec<String>, ends: &[u64]) -> Self {
        let offsets = std::iter::once(0).chain(ends.iter().map(|end| *end as i64));
        Self { values: LargeStringArray::from_iter_values(values), offsets: OffsetBuffer::new(offsets.collect()) }
    }

    /// Returns the texts of a row.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = &str> {
        (self.offsets[row] as usize..self.offsets[row + 1] as usize).map(|at| self.values.value(at))
    }
}
