//! Tensor columns of `.npy` files: the type of an array, and the builder of a column.

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBuffer;

use crate::{
    error::{Error, Result, counted},
    format::{PageBuilder, Structure, page_to_array},
    ingest::npy::{self, Descr, Header},
    schema::{ColumnType, Primitive},
};

/// Returns the type that this array alone has.
pub(super) fn type_of(header: &Header) -> Result<ColumnType> {
    let Descr { kind, width, .. } = header.descr;
    let is_kind = |element: &Primitive| {
        let of_element = match element {
            Primitive::Bool => b'b',
            Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => b'i',
            Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64 => b'u',
            Primitive::F16 | Primitive::F32 | Primitive::F64 => b'f',
            Primitive::Bf16 => return false,
        };
        (of_element, element.width()) == (kind, width)
    };
    let element = Primitive::ALL.into_iter().find(is_kind).ok_or_else(|| {
        Error::unsupported(format!(
            "expected booleans, integers or floats of at most 64 bits, found elements of numpy's kind `{}` with {}; a binary column \
             takes the file as it is",
            char::from(kind),
            counted(width, "byte")
        ))
    })?;
    let extent = |extent: &u64| u32::try_from(*extent).ok().filter(|extent| *extent <= i32::MAX as u32).map(Some);
    let shape = header.shape.iter().map(extent).collect::<Option<Vec<_>>>();
    let shape = shape.ok_or_else(|| Error::unsupported(format!("expected extents below 2^31, found {:?}", header.shape)))?;
    Ok(ColumnType::tensor(element, shape))
}

/// Returns the type of an array that has any extents.
fn of_any_extents(ty: &ColumnType) -> ColumnType {
    match ty {
        ColumnType::Tensor { element, shape } => ColumnType::tensor(*element, vec![None; shape.len()]),
        ty => ty.clone(),
    }
}

/// Returns the type of arrays of both types.
pub(super) fn joined(earlier: ColumnType, this: &ColumnType) -> Result<ColumnType> {
    let any = of_any_extents(&earlier);
    match (earlier, this) {
        (ColumnType::Tensor { element, mut shape }, ColumnType::Tensor { shape: other, .. }) if any == of_any_extents(this) => {
            shape.iter_mut().zip(other).for_each(|(extent, other)| *extent = extent.filter(|extent| Some(*extent) == *other));
            Ok(ColumnType::Tensor { element, shape })
        }
        _ => Err(Error::invalid(format!("expected {any}, as in the rows before, found {this}"))),
    }
}

/// Whether a column of type `ty` can hold arrays of the type `found`.
pub(super) fn has_room(ty: &ColumnType, found: &ColumnType) -> bool {
    match (ty, found) {
        (ColumnType::Tensor { shape, .. }, ColumnType::Tensor { shape: other, .. }) => {
            of_any_extents(ty) == of_any_extents(found)
                && shape.iter().zip(other).all(|(extent, found)| extent.is_none() || extent == found)
        }
        _ => false,
    }
}

/// Builds a tensor column from the files of its rows.
#[derive(Debug)]
pub(super) struct Tensors {
    ty: ColumnType,
    element: Primitive,
    shape: Vec<Option<u32>>,
    page: PageBuilder,
    rows: u32,
}

impl Tensors {
    pub(super) fn new(ty: ColumnType) -> Result<Self> {
        let ColumnType::Tensor { element, shape } = ty.clone() else {
            return Err(Error::internal(format!("arrays of type {ty}")));
        };
        Ok(Self { page: PageBuilder::new(&ty), ty, element, shape, rows: 0 })
    }

    /// Appends the array of a file.
    ///
    /// # Errors
    /// - `Invalid`: the array has another type or shape than the column.
    /// - `Corrupt`, `Unsupported`: the file is no array that a table can hold.
    pub(super) fn append(&mut self, file: &[u8]) -> Result<()> {
        let (header, elements) = npy::parse(file)?;
        let found = type_of(&header)?;
        if !has_room(&self.ty, &found) {
            return Err(Error::invalid(format!("expected {}, found {found}", self.ty)));
        }
        let ColumnType::Tensor { shape: extents, .. } = &found else { return Err(Error::internal("an array without a shape")) };
        let elements = npy::in_c_order(&header, elements);
        self.push_slot(true, |axis| extents.get(axis).copied().flatten().unwrap_or(0), elements.len() / self.element.width());
        match self.element {
            // As in numpy, any byte but 0 is true.
            Primitive::Bool => self.page.push_values(&elements.iter().map(|byte| u8::from(*byte != 0)).collect::<Vec<_>>()),
            _ => self.page.push_values(&elements),
        }
        Ok(())
    }

    /// Appends a null. Returns the bytes that it takes: a column of one shape has zeros there.
    pub(super) fn append_null(&mut self) -> usize {
        let elements = self.ty.fixed_elements().and_then(|elements| usize::try_from(elements).ok()).unwrap_or(0);
        self.push_slot(false, |_| 0, elements);
        let bytes = elements * self.element.width();
        self.page.push_values(&vec![0; bytes]);
        bytes
    }

    fn push_slot(&mut self, is_valid: bool, extent: impl Fn(usize) -> u32, elements: usize) {
        self.page.push_validity(0, 1, (!is_valid).then(|| BooleanBuffer::new_unset(1)));
        let variable = self.shape.iter().enumerate().filter(|(_, extent)| extent.is_none());
        let mut node = 1;
        for (axis, _) in variable {
            self.page.push_lengths(node, [extent(axis)]);
            node += 1;
        }
        self.page.push_validity(node, elements, None);
        self.rows += 1;
    }

    /// Returns the column.
    pub(super) fn finish(mut self) -> Result<ArrayRef> {
        let page = self.page.finish();
        let structure = Structure::parse(&self.ty, self.rows, &page.structure, page.values.len())?;
        page_to_array(&self.ty, &structure, page.values.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(text: &str) -> ColumnType {
        text.parse().unwrap()
    }

    #[test]
    fn extents_that_differ_vary() {
        for (earlier, this, both) in [
            ("f32[5,4]", "f32[5,4]", Some("f32[5,4]")),
            ("f32[5,4]", "f32[6,4]", Some("f32[?,4]")),
            ("f32[?,4]", "f32[6,3]", Some("f32[?,?]")),
            ("u8[]", "u8[]", Some("u8[]")),
            ("f32[5,4]", "f64[5,4]", None),
            ("f32[5,4]", "f32[5]", None),
        ] {
            let found = joined(ty(earlier), &ty(this));
            assert_eq!(found.as_ref().ok(), both.map(ty).as_ref(), "{earlier} {this}");
            if let Some(both) = both {
                assert!(has_room(&ty(both), &ty(earlier)) && has_room(&ty(both), &ty(this)));
            }
        }
        assert_eq!(
            joined(ty("f32[?,4]"), &ty("f64[6]")).unwrap_err().to_string(),
            "expected f32[?,?], as in the rows before, found f64[6]"
        );
        assert!(!has_room(&ty("f32[5,4]"), &ty("f32[?,4]")) && !has_room(&ty("f32[?]"), &ty("f64[3]")));
    }
}
