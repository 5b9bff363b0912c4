//! Columns of a frame that are allocated once and filled by several threads.
//!
//! The loader of an index decodes each row group directly into the memory of its column, so it never holds a column twice. That
//! memory has a fixed size for each row. So nulls, booleans and texts of more than 12 bytes are collected beside it, as
//! [`Leftovers`], and joined at the end. They are small beside the values.

use std::{collections::HashMap, fmt};

use arrow_array::{Array, ArrayRef, StringViewArray, cast::AsArray, types};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType as Arrow;
use polars::prelude::{
    BooleanChunked, Categorical32Type, CategoricalChunked, CategoricalMapping, Categories, DataFrame, DataType, Float32Chunked,
    Float64Chunked, Int8Chunked, Int16Chunked, Int32Chunked, Int64Chunked, IntoSeries, Series, StringChunked, UInt8Chunked,
    UInt16Chunked, UInt32Chunked, UInt64Chunked,
};
use polars_arrow::{
    array::{BooleanArray, Utf8ViewArray, View},
    bitmap::{Bitmap, BitmapBuilder},
    datatypes::ArrowDataType,
};

use super::{
    frame::{internal, milliseconds, shown_zone, unit_of, unsupported},
    lists::{item_of, lists_of},
};
use crate::{
    error::{Error, Result, counted},
    schema::{Column as TableColumn, ColumnType},
};

/// Columns of a frame that are filled row group by row group.
#[derive(Debug)]
pub struct Filling {
    rows: usize,
    /// Number of rows that are filled.
    filled: usize,
    columns: Vec<FillingColumn>,
}

#[derive(Debug)]
struct FillingColumn {
    name: String,
    /// The Arrow type of the index column. Batches have text as `Utf8View`.
    ty: Arrow,
    /// The type of the items if the texts are lists.
    item: Option<ColumnType>,
    values: Values,
    /// In the order of the rows.
    leftovers: Vec<Leftovers>,
}

/// Nulls, booleans and long texts of some rows of a column. They have no fixed number of bytes for each row.
#[derive(Debug)]
pub struct Leftovers {
    rows: usize,
    nulls: Option<NullBuffer>,
    booleans: Option<BooleanBuffer>,
    /// Texts of more than 12 bytes, each once, one after another.
    texts: Vec<Vec<u8>>,
}

/// Maximum bytes of a buffer of texts: offsets in it have 32 bits.
const MAX_TEXTS: usize = 1 << 30;

macro_rules! numbers {
    ($($kind:ident, $native:ty, $ty:ident, $arrow:ident, $polars:ident;)*) => {
        enum Values {
            $($kind(Vec<$native>),)*
            Booleans,
            Text(Vec<View>),
            Categories(Vec<u32>, DataType),
        }

        enum Place<'a> {
            $($kind(&'a mut [$native]),)*
            Booleans,
            Text(&'a mut [View]),
            Categories(&'a mut [u32], &'a CategoricalMapping),
        }

        impl Values {
            /// Allocates zeros for `rows` rows. The system provides the memory when it is first written.
            fn new(ty: &Arrow, categorical: bool, rows: usize) -> Option<Self> {
                Some(match ty {
                    $(Arrow::$ty => Self::$kind(vec![Default::default(); rows]),)*
                    Arrow::Date32 => Self::I32(vec![0; rows]),
                    Arrow::Timestamp(..) | Arrow::Duration(_) => Self::I64(vec![0; rows]),
                    Arrow::Boolean => Self::Booleans,
                    Arrow::LargeUtf8 if categorical => {
                        Self::Categories(vec![0; rows], DataType::from_categories(Categories::global()))
                    }
                    Arrow::LargeUtf8 => Self::Text(bytemuck::allocation::zeroed_vec(rows)),
                    _ => return None,
                })
            }

            /// Returns the places of the rows from `first` on.
            fn after(&mut self, first: usize) -> Option<Place<'_>> {
                Some(match self {
                    $(Self::$kind(values) => Place::$kind(values.get_mut(first..)?),)*
                    Self::Booleans => Place::Booleans,
                    Self::Text(views) => Place::Text(views.get_mut(first..)?),
                    Self::Categories(codes, ty) => Place::Categories(codes.get_mut(first..)?, ty.cat_mapping().ok()?),
                })
            }

            /// Returns the series of the values, without the meaning of times.
            fn series(self, name: &str, leftovers: Vec<Leftovers>) -> Result<Series> {
                let nulls = nulls(&leftovers);
                Ok(match self {
                    $(Self::$kind(values) => $polars::from_vec_validity(name.into(), values, nulls).into_series(),)*
                    Self::Booleans => {
                        let array = BooleanArray::new(ArrowDataType::Boolean, booleans(&leftovers), nulls);
                        BooleanChunked::with_chunk(name.into(), array).into_series()
                    }
                    Self::Text(mut views) => {
                        let texts = texts(&mut views, leftovers)?.into_iter().map(Into::into).collect();
                        let array = Utf8ViewArray::try_new(ArrowDataType::Utf8View, views.into(), texts, nulls);
                        StringChunked::with_chunk(name.into(), array.map_err(internal)?).into_series()
                    }
                    Self::Categories(codes, ty) => {
                        let codes = UInt32Chunked::from_vec_validity(name.into(), codes, nulls);
                        CategoricalChunked::<Categorical32Type>::from_cats_and_dtype(codes, ty).into_series()
                    }
                })
            }
        }

        impl<'a> Place<'a> {
            /// Splits off the first `rows` rows. Returns their place and the place of the others.
            fn split(self, rows: usize) -> Option<(Self, Self)> {
                Some(match self {
                    $(Self::$kind(values) => {
                        let (here, after) = values.split_at_mut_checked(rows)?;
                        (Self::$kind(here), Self::$kind(after))
                    })*
                    Self::Booleans => (Self::Booleans, Self::Booleans),
                    Self::Text(views) => {
                        let (here, after) = views.split_at_mut_checked(rows)?;
                        (Self::Text(here), Self::Text(after))
                    }
                    Self::Categories(codes, mapping) => {
                        let (here, after) = codes.split_at_mut_checked(rows)?;
                        (Self::Categories(here, mapping), Self::Categories(after, mapping))
                    }
                })
            }

            /// Copies an array of exactly the rows of this place, and returns its nulls, booleans and long texts.
            fn fill(self, name: &str, array: &dyn Array) -> Result<Leftovers> {
                let mut left = Leftovers { rows: array.len(), nulls: None, booleans: None, texts: Vec::new() };
                left.nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
                match (self, array.data_type()) {
                    $((Self::$kind(place), Arrow::$ty) => {
                        place.copy_from_slice(array.as_primitive::<types::$arrow>().values());
                    })*
                    (Self::I32(place), Arrow::Date32) => {
                        place.copy_from_slice(array.as_primitive::<types::Date32Type>().values());
                    }
                    (Self::I64(place), Arrow::Timestamp(unit, _) | Arrow::Duration(unit)) => ticks(place, name, array, *unit)?,
                    (Self::Booleans, Arrow::Boolean) => left.booleans = Some(array.as_boolean().values().clone()),
                    (Self::Text(place), Arrow::Utf8View) => left.texts = fill_texts(place, array.as_string_view())?,
                    (Self::Categories(place, mapping), Arrow::Utf8View) => {
                        let code = |text: &str| mapping.insert_cat(text).map_err(internal);
                        each_text(place, array.as_string_view(), code)?;
                    }
                    (_, found) => return Err(Error::corrupt(format!("index column `{name}`: found {found}"))),
                }
                Ok(left)
            }
        }
    };
}

numbers! {
    I8, i8, Int8, Int8Type, Int8Chunked;
    I16, i16, Int16, Int16Type, Int16Chunked;
    I32, i32, Int32, Int32Type, Int32Chunked;
    I64, i64, Int64, Int64Type, Int64Chunked;
    U8, u8, UInt8, UInt8Type, UInt8Chunked;
    U16, u16, UInt16, UInt16Type, UInt16Chunked;
    U32, u32, UInt32, UInt32Type, UInt32Chunked;
    U64, u64, UInt64, UInt64Type, UInt64Chunked;
    F32, f32, Float32, Float32Type, Float32Chunked;
    F64, f64, Float64, Float64Type, Float64Chunked;
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values")
    }
}

impl Filling {
    /// Allocates `rows` rows of the `described` index columns. If `categorical`, text becomes categorical.
    ///
    /// # Errors
    /// - `Unsupported`: a column has a type that frames lack, or the system does not have the memory.
    pub fn new(described: &[&TableColumn], rows: u64, categorical: bool) -> Result<Self> {
        let bytes = frame_bytes(described, rows, categorical);
        let fits = usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
        let (Ok(height), true) = (usize::try_from(rows), fits) else {
            return Err(Error::unsupported(format!(
                "an index of {} takes {} in memory, which the system does not have: load fewer columns",
                counted(rows, "row"),
                counted(bytes, "byte")
            )));
        };
        let columns = described.iter().map(|column| {
            let ty = column.ty.arrow();
            let item = item_of(column);
            let categorical = (categorical && item.is_none()) || column.ty == ColumnType::Categorical;
            let values = Values::new(&ty, categorical, height);
            let values = values.ok_or_else(|| unsupported(&column.name, &ty))?;
            Ok(FillingColumn { name: column.name.clone(), ty, item, values, leftovers: Vec::new() })
        });
        Ok(Self { rows: height, filled: 0, columns: columns.collect::<Result<_>>()? })
    }

    /// Returns the places of the next rows: for each row group, given by its number of rows, a part of every column.
    ///
    /// # Errors
    /// - `Corrupt`: there are more rows than the frame has.
    pub fn parts(&mut self, groups: &[u64]) -> Result<Vec<Vec<Part<'_>>>> {
        let mut parts: Vec<Vec<Part<'_>>> = groups.iter().map(|_| Vec::with_capacity(self.columns.len())).collect();
        let (first, rows) = (self.filled, self.rows);
        let too_many = || Error::corrupt(format!("index of more rows than the {rows} that the manifest says"));
        for column in &mut self.columns {
            let mut after = column.values.after(first).ok_or_else(too_many)?;
            for (parts, rows) in parts.iter_mut().zip(groups) {
                let (here, rest) = usize::try_from(*rows).ok().and_then(|rows| after.split(rows)).ok_or_else(too_many)?;
                parts.push(Part { name: &column.name, place: Some(here), leftovers: Vec::new() });
                after = rest;
            }
        }
        Ok(parts)
    }

    /// Keeps the leftovers of the next row groups. Each row group has those of every column.
    ///
    /// # Errors
    /// - `Corrupt`: a column has another number of rows than the row groups.
    pub fn keep(&mut self, groups: &[u64], leftovers: Vec<Vec<Vec<Leftovers>>>) -> Result<()> {
        let rows = |left: &[Leftovers]| left.iter().map(|left| left.rows as u64).sum::<u64>();
        for (expected, group) in groups.iter().zip(leftovers) {
            for (column, left) in self.columns.iter_mut().zip(group) {
                if rows(&left) != *expected {
                    let found = counted(rows(&left), "row");
                    return Err(Error::corrupt(format!("index column `{}`: {found}, expected {expected}", column.name)));
                }
                column.leftovers.extend(left);
            }
            self.filled += usize::try_from(*expected).unwrap_or(usize::MAX);
        }
        Ok(())
    }

    /// Returns the frame.
    ///
    /// # Errors
    /// - `Corrupt`: rows are missing.
    /// - `Internal`: polars refuses a column.
    pub fn finish(self) -> Result<DataFrame> {
        if self.filled != self.rows {
            return Err(Error::corrupt(format!("index of {}, the manifest says {}", counted(self.filled, "row"), self.rows)));
        }
        let columns = self.columns.into_iter().map(|FillingColumn { name, ty, item, values, leftovers }| {
            let mut series = values.series(&name, leftovers)?;
            if let Some(item) = item
                && let Some(lists) = lists_of(series.str().map_err(internal)?, &item)?
            {
                series = lists;
            }
            let ticks = || series.i64().cloned().map_err(internal);
            Ok(match &ty {
                Arrow::Date32 => series.i32().cloned().map_err(internal)?.into_date().into_series(),
                Arrow::Timestamp(unit, zone) => ticks()?.into_datetime(unit_of(*unit), shown_zone(zone.as_deref())).into_series(),
                Arrow::Duration(unit) => ticks()?.into_duration(unit_of(*unit)).into_series(),
                _ => series,
            }
            .into())
        });
        DataFrame::new(self.rows, columns.collect::<Result<_>>()?).map_err(internal)
    }
}

/// The place of the rows of one row group in one column.
pub struct Part<'a> {
    name: &'a str,
    /// The rows that are not filled yet.
    place: Option<Place<'a>>,
    leftovers: Vec<Leftovers>,
}

impl Part<'_> {
    /// Copies the next rows.
    ///
    /// # Errors
    /// - `Corrupt`: there are too many rows, they have another type, or text is not UTF-8.
    /// - `Unsupported`: a time in seconds does not fit into 64-bit milliseconds.
    pub fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let split = self.place.take().and_then(|place| place.split(array.len()));
        let (here, after) = split.ok_or_else(|| Error::corrupt(format!("index column `{}`: too many rows", self.name)))?;
        self.place = Some(after);
        self.leftovers.push(here.fill(self.name, array)?);
        Ok(())
    }

    /// Returns the nulls, booleans and long texts of the rows.
    pub fn finish(self) -> Vec<Leftovers> {
        self.leftovers
    }
}

/// Returns the bytes of a frame of the `described` index columns, without nulls and texts of more than 12 bytes.
pub fn frame_bytes(described: &[&TableColumn], rows: u64, categorical: bool) -> u64 {
    let bits = |column: &&TableColumn| match column.ty.arrow() {
        Arrow::Boolean => 1,
        Arrow::LargeUtf8 if categorical || column.ty == ColumnType::Categorical => 32,
        Arrow::LargeUtf8 => 128,
        ty => ty.primitive_width().unwrap_or(8) as u64 * 8,
    };
    (described.iter().map(bits).sum::<u64>()).saturating_mul(rows.div_ceil(8))
}

/// Copies times. Seconds become milliseconds.
fn ticks(place: &mut [i64], name: &str, array: &dyn Array, unit: arrow_schema::TimeUnit) -> Result<()> {
    let data = array.to_data();
    let values = data.buffer::<i64>(0).get(..array.len()).unwrap_or_default();
    if unit != arrow_schema::TimeUnit::Second {
        place.copy_from_slice(values);
        return Ok(());
    }
    for (row, (place, value)) in place.iter_mut().zip(values).enumerate() {
        if array.is_valid(row) {
            *place = milliseconds(name, *value)?;
        }
    }
    Ok(())
}

/// Number of texts that [`each_text`] remembers.
const REMEMBERED: usize = 512;

/// Sets the place of each text to a value that `value` returns for it. Equal texts of a dictionary have equal views, so `value` is
/// called about once for each distinct text. The places of nulls stay.
fn each_text<T: Copy>(place: &mut [T], texts: &StringViewArray, mut value: impl FnMut(&str) -> Result<T>) -> Result<()> {
    let bytes = texts.clone().to_binary_view();
    let mut all: HashMap<u128, T> = HashMap::new();
    // In front of the map, because most columns have few texts or long runs of one.
    let mut recent: Vec<Option<(u128, T)>> = vec![None; REMEMBERED];
    for (row, (place, view)) in place.iter_mut().zip(texts.views()).enumerate() {
        if texts.is_null(row) {
            continue;
        }
        let mixed = (view ^ (view >> 64)) as u64;
        let slot = recent.get_mut((mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize);
        if let Some(Some((key, value))) = &slot
            && key == view
        {
            *place = *value;
            continue;
        }
        // A short text is in its view.
        let is_long = (*view as u32) > View::MAX_INLINE_SIZE;
        *place = match all.get(view).filter(|_| is_long) {
            Some(value) => *value,
            None => {
                let text = std::str::from_utf8(bytes.value(row));
                value(text.map_err(|error| Error::corrupt(format!("segment: {error}")))?)?
            }
        };
        if is_long {
            all.insert(*view, *place);
        }
        if let Some(slot) = slot {
            *slot = Some((*view, *place));
        }
    }
    Ok(())
}

/// Sets the views of texts. Returns buffers with the texts of more than 12 bytes; a view has the number of its buffer here.
fn fill_texts(place: &mut [View], texts: &StringViewArray) -> Result<Vec<Vec<u8>>> {
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    each_text(place, texts, |text| {
        let text = text.as_bytes();
        if text.len() <= View::MAX_INLINE_SIZE as usize {
            return Ok(View::new_inline(text));
        }
        match buffers.last() {
            Some(buffer) if buffer.len() + text.len() <= MAX_TEXTS => {}
            _ => buffers.push(Vec::new()),
        }
        let number = buffers.len().saturating_sub(1);
        let Some(buffer) = buffers.last_mut() else { return Err(Error::internal("no buffer for a text")) };
        let mut prefix = [0; 4];
        prefix.iter_mut().zip(text).for_each(|(prefix, byte)| *prefix = *byte);
        let view = View {
            length: text.len() as u32,
            prefix: u32::from_le_bytes(prefix),
            buffer_idx: number as u32,
            offset: buffer.len() as u32,
        };
        buffer.extend_from_slice(text);
        Ok(view)
    })?;
    buffers.iter_mut().for_each(Vec::shrink_to_fit);
    Ok(buffers)
}

/// Gives the buffers of all parts numbers of their own, and returns them.
fn texts(views: &mut [View], leftovers: Vec<Leftovers>) -> Result<Vec<Vec<u8>>> {
    let (mut all, mut rest) = (Vec::new(), views);
    for left in leftovers {
        let before = u32::try_from(all.len()).map_err(|_| Error::unsupported("more than 4 billion buffers of text"))?;
        let (here, after) = rest.split_at_mut_checked(left.rows).ok_or_else(|| Error::internal("a part without its rows"))?;
        if before > 0 && !left.texts.is_empty() {
            here.iter_mut().filter(|view| !view.is_inline()).for_each(|view| view.buffer_idx += before);
        }
        all.extend(left.texts);
        rest = after;
    }
    Ok(all)
}

/// Joins the nulls of all parts; `None` if there are none.
fn nulls(leftovers: &[Leftovers]) -> Option<Bitmap> {
    leftovers.iter().find(|left| left.nulls.is_some())?;
    let mut valid = BitmapBuilder::with_capacity(leftovers.iter().map(|left| left.rows).sum());
    for left in leftovers {
        match &left.nulls {
            Some(nulls) => valid.extend_from_slice(nulls.validity(), nulls.offset(), nulls.len()),
            None => valid.extend_constant(left.rows, true),
        }
    }
    Some(valid.freeze())
}

/// Joins the booleans of all parts.
fn booleans(leftovers: &[Leftovers]) -> Bitmap {
    let mut all = BitmapBuilder::with_capacity(leftovers.iter().map(|left| left.rows).sum());
    for left in leftovers {
        match &left.booleans {
            Some(values) => all.extend_from_slice(values.values(), values.offset(), values.len()),
            None => all.extend_constant(left.rows, false),
        }
    }
    all.freeze()
}
