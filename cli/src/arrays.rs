//! Writes rows as NumPy files: one array per column, and an array of offsets if rows differ in length.
//!
//! Arrays of a window have a leading axis of rows, and `mask.npy` says which rows exist. A single row has neither. Missing rows
//! and nulls hold zeros or no elements. `X.valid.npy` marks existing rows whose value of column X is null, and
//! `X.elements_valid.npy` marks null elements of tensors.

use std::{collections::BTreeMap, path::Path};

use arrow_array::{Array, ArrayRef, cast::AsArray, types};
use tetrys::{ColumnType, Error, Result, TimeUnit, schema::Primitive, table::Rows};

use crate::npy::Npy;

/// Writes the rows into `folder`. Returns the name and the array of each file.
///
/// # Errors
/// - `Unsupported`: a column has no representation as a NumPy array; the message names the column.
/// - `Invalid`: two arrays would have the same file name.
/// - Errors of the file system.
pub(crate) fn write(rows: &Rows, types: &[ColumnType], window: bool, folder: &Path) -> Result<Vec<(String, Npy)>> {
    let mask = rows.mask();
    let mut files = BTreeMap::new();
    let mut order = Vec::new();
    let mut add = |stem: &str, part: &str, npy: Npy| {
        let name = format!("{}{part}.npy", escaped(stem));
        if files.insert(name.clone(), ()).is_some() {
            return Err(Error::invalid(format!("two arrays would be called {name}; leave a column out with --columns")));
        }
        npy.write(&folder.join(&name))?;
        order.push((name, npy));
        Ok(())
    };
    let batch = rows.batch();
    for ((field, array), ty) in batch.schema_ref().fields().iter().zip(batch.columns()).zip(types) {
        let parts = column(ty, array, window).map_err(|error| error.at(format!("column `{}`", field.name())))?;
        for (part, npy) in parts {
            add(field.name(), part, npy)?;
        }
        let valid: Vec<bool> = (0..array.len()).map(|row| array.is_valid(row)).collect();
        if valid != mask {
            let mut valid = Npy::bools(&valid);
            valid.shape.truncate(usize::from(window));
            add(field.name(), ".valid", valid)?;
        }
    }
    if window {
        add("mask", "", Npy::bools(&mask))?;
    }
    Ok(order)
}

/// Returns a column name as a file name. Escapes a leading dot and all bytes except ASCII letters, digits, `_`, `-` and `.` as
/// `%2F`.
pub(crate) fn escaped(name: &str) -> String {
    let keep = |place: usize, byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte) || (byte == b'.' && place > 0);
    let escape = |(place, byte)| if keep(place, byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().enumerate().map(escape).collect()
}

fn column(ty: &ColumnType, array: &ArrayRef, window: bool) -> Result<Vec<(&'static str, Npy)>> {
    let leading = |extent: usize, inner: Vec<usize>| {
        if window { std::iter::once(extent).chain(inner).collect() } else { inner }
    };
    match ty {
        ColumnType::Tensor { element, shape } if ty.fixed_elements().is_some() => {
            let (descr, bytes) = elements(&ColumnType::Scalar(*element), array.as_fixed_size_list().values())?;
            let inner = shape.iter().flatten().map(|extent| *extent as usize).collect();
            let shape = leading(array.len(), inner);
            let mut parts = vec![("", Npy { descr, shape: shape.clone(), bytes })];
            parts.extend(fixed_element_validity(array, shape));
            Ok(parts)
        }
        ColumnType::Tensor { element, shape } => variable(*element, shape, array, window),
        ColumnType::Binary => {
            let array = array.as_binary::<i64>();
            let (first, last) = ends(array.value_offsets());
            let bytes = array.values().as_slice().get(first..last).unwrap_or_default().to_vec();
            let values = Npy { descr: "|u1".to_owned(), shape: vec![bytes.len()], bytes };
            Ok(with_offsets(values, array.value_offsets().iter().map(|offset| offset - first as i64), window))
        }
        ColumnType::List(item) => {
            let list = array.as_list::<i64>();
            let (first, last) = ends(list.value_offsets());
            let items = list.values().slice(first, last - first);
            let mut parts = match **item {
                ColumnType::List(_) | ColumnType::Binary => Err(Error::unsupported(format!("{ty} as one NumPy array"))),
                ref item if item.fixed_elements().is_none() && !matches!(item, ColumnType::Utf8 | ColumnType::Categorical) => {
                    Err(Error::unsupported(format!("{ty} as one NumPy array")))
                }
                _ if items.null_count() > 0 => Err(Error::unsupported("a null inside a list, as a NumPy array")),
                ref item => column(item, &items, true),
            }?;
            let (_, values) = parts.remove(0);
            Ok(with_offsets(values, list.value_offsets().iter().map(|offset| offset - first as i64), window))
        }
        _ => {
            let (descr, bytes) = elements(ty, array)?;
            Ok(vec![("", Npy { descr, shape: leading(array.len(), Vec::new()), bytes })])
        }
    }
}

/// Concatenates tensors along the first axis, if only that extent differs from row to row. Otherwise returns flat elements and an
/// array with the shape of each row.
fn variable(element: Primitive, shape: &[Option<u32>], array: &ArrayRef, window: bool) -> Result<Vec<(&'static str, Npy)>> {
    let parts = array.as_struct();
    let data = parts.column(0).as_list::<i64>();
    let (first, last) = ends(data.value_offsets());
    let (descr, bytes) = elements(&ColumnType::Scalar(element), &data.values().slice(first, last - first))?;
    let extents = parts.column(1).as_fixed_size_list().values().as_primitive::<types::Int32Type>().values().clone();
    let extents: Vec<usize> = extents.iter().map(|extent| *extent as usize).collect();
    let rank = shape.len();
    let items = data.values().slice(first, last - first);
    if !window {
        let mut parts = vec![("", Npy { descr, shape: extents.clone(), bytes })];
        parts.extend(element_validity(&items, extents));
        return Ok(parts);
    }
    if let [None, inner @ ..] = shape
        && inner.iter().all(Option::is_some)
    {
        let mut offsets = vec![0];
        for (row, shape) in extents.chunks_exact(rank).enumerate() {
            let extent = if array.is_valid(row) { shape[0] } else { 0 };
            offsets.push(offsets[row] + extent as i64);
        }
        let shape = std::iter::once(offsets[array.len()] as usize).chain(inner.iter().flatten().map(|extent| *extent as usize));
        let shape: Vec<usize> = shape.collect();
        let mut parts = with_offsets(Npy { descr, shape: shape.clone(), bytes }, offsets, window);
        parts.extend(element_validity(&items, shape));
        return Ok(parts);
    }
    let total = last - first;
    let mut parts = with_offsets(
        Npy { descr, shape: vec![total], bytes },
        data.value_offsets().iter().map(|offset| offset - first as i64),
        window,
    );
    parts.extend(element_validity(&items, vec![total]));
    parts.push((".shapes", Npy::i64s(extents.iter().map(|extent| *extent as i64), vec![array.len(), rank])));
    Ok(parts)
}

/// Returns the mask of elements that are not null, or `None` if no element is null.
fn element_validity(items: &ArrayRef, shape: Vec<usize>) -> Option<(&'static str, Npy)> {
    let nulls = items.nulls().filter(|nulls| nulls.null_count() > 0)?;
    some_null(nulls.iter().collect(), shape)
}

/// Returns the element mask of tensors of a fixed shape. Elements of a null or missing row count as valid: the row mask covers
/// them.
fn fixed_element_validity(array: &ArrayRef, shape: Vec<usize>) -> Option<(&'static str, Npy)> {
    let list = array.as_fixed_size_list();
    let nulls = list.values().nulls().filter(|nulls| nulls.null_count() > 0)?;
    let size = usize::try_from(list.value_length()).unwrap_or(0).max(1);
    some_null(nulls.iter().enumerate().map(|(element, valid)| valid || array.is_null(element / size)).collect(), shape)
}

fn some_null(valid: Vec<bool>, shape: Vec<usize>) -> Option<(&'static str, Npy)> {
    valid.contains(&false).then(|| (".elements_valid", Npy { shape, ..Npy::bools(&valid) }))
}

fn with_offsets(values: Npy, offsets: impl IntoIterator<Item = i64>, window: bool) -> Vec<(&'static str, Npy)> {
    let mut parts = vec![("", values)];
    if window {
        let offsets: Vec<i64> = offsets.into_iter().collect();
        let shape = vec![offsets.len()];
        parts.push((".offsets", Npy::i64s(offsets, shape)));
    }
    parts
}

fn ends(offsets: &[i64]) -> (usize, usize) {
    let [first, .., last] = offsets else { return (0, 0) };
    (*first as usize, *last as usize)
}

/// Returns NumPy's name of the element type and the contiguous bytes of the elements.
fn elements(ty: &ColumnType, array: &ArrayRef) -> Result<(String, Vec<u8>)> {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    let kind = |ty: &Primitive| match ty {
        Primitive::Bool => 'b',
        Primitive::F16 | Primitive::Bf16 | Primitive::F32 | Primitive::F64 => 'f',
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => 'i',
        Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64 => 'u',
    };
    match ty {
        ColumnType::Scalar(Primitive::Bool) => {
            let bools = array.as_boolean();
            Ok(("|b1".to_owned(), (0..bools.len()).map(|place| u8::from(bools.is_valid(place) && bools.value(place))).collect()))
        }
        // NumPy has no bf16; f32 represents every bf16 exactly.
        ColumnType::Scalar(Primitive::Bf16) => {
            let bits = array.as_primitive::<types::UInt16Type>().values().iter();
            Ok(("<f4".to_owned(), bits.flat_map(|bits| (u32::from(*bits) << 16).to_le_bytes()).collect()))
        }
        ColumnType::Scalar(ty) => {
            let order = if ty.width() == 1 { '|' } else { '<' };
            Ok((format!("{order}{}{}", kind(ty), ty.width()), raw(array, ty.width())))
        }
        ColumnType::Date => {
            let days = array.as_primitive::<types::Date32Type>().values().iter();
            Ok(("<M8[D]".to_owned(), days.flat_map(|day| i64::from(*day).to_le_bytes()).collect()))
        }
        ColumnType::Timestamp(of, _) => Ok((format!("<M8[{}]", unit(of)), raw(array, 8))),
        ColumnType::Duration(of) => Ok((format!("<m8[{}]", unit(of)), raw(array, 8))),
        ColumnType::Utf8 | ColumnType::Categorical => {
            let texts: Vec<&str> = array.as_string::<i64>().iter().map(Option::unwrap_or_default).collect();
            // NumPy strips zero characters at the end of a text as padding.
            if texts.iter().any(|text| text.ends_with('\0')) {
                return Err(Error::unsupported("text that ends in a zero character, as a NumPy array"));
            }
            let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
            let padded = |text: &&str| {
                text.chars()
                    .map(u32::from)
                    .chain(std::iter::repeat(0))
                    .take(width)
                    .flat_map(u32::to_le_bytes)
                    .collect::<Vec<u8>>()
            };
            Ok((format!("<U{width}"), texts.iter().flat_map(padded).collect()))
        }
        _ => Err(Error::unsupported(format!("{ty} as the elements of a NumPy array"))),
    }
}

/// Returns the bytes of a primitive array. Readers leave zeros in null slots.
fn raw(array: &ArrayRef, width: usize) -> Vec<u8> {
    let data = array.to_data();
    let buffer = data.buffers().first().map(|buffer| buffer.as_slice()).unwrap_or_default();
    buffer.get(data.offset() * width..(data.offset() + data.len()) * width).unwrap_or_default().to_vec()
}
