//! The columns of a column group as reads need them. A table makes them once for each group.

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use crate::{
    error::{Error, Result},
    schema::{ColumnId, ColumnType, Primitive, Schema},
};

/// The columns of a result.
pub(super) type Columns = Vec<(ColumnId, ArrayRef)>;

/// The columns of a column group, in page order.
#[derive(Debug)]
pub struct GroupColumns {
    group: usize,
    /// The name of the group, for error messages.
    pub(super) name: String,
    columns: Vec<Column>,
}

#[derive(Debug)]
struct Column {
    id: ColumnId,
    ty: ColumnType,
    arrow: DataType,
    /// Bytes of the values of a row, if all rows have as many.
    width: Option<usize>,
}

impl GroupColumns {
    /// Returns the columns of group number `group` of a schema.
    ///
    /// # Errors
    /// - `Internal`: there is no such group.
    pub fn new(schema: &Schema, group: usize) -> Result<Self> {
        let described = schema.groups().get(group).ok_or_else(|| Error::internal(format!("no column group {group}")))?;
        let columns = described.columns.iter().filter_map(|id| schema.column(*id)).map(|column| {
            let ty = column.ty.clone();
            Column { id: column.id, arrow: ty.arrow(), width: row_bytes(&ty), ty }
        });
        Ok(Self { group, name: described.name.clone(), columns: columns.collect() })
    }

    /// Returns the number of the group in the schema.
    pub fn group(&self) -> usize {
        self.group
    }

    /// Returns the number of columns of the group.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    fn column(&self, page: usize) -> Result<&Column> {
        self.columns.get(page).ok_or_else(|| Error::internal(format!("no column {page}")))
    }

    /// Returns the id of the column of a page.
    pub(crate) fn id(&self, page: usize) -> Result<ColumnId> {
        Ok(self.column(page)?.id)
    }

    /// Returns the type of the column of a page.
    pub(super) fn ty(&self, page: usize) -> Result<&ColumnType> {
        Ok(&self.column(page)?.ty)
    }

    /// Returns the Arrow type of the column of a page.
    pub(super) fn arrow(&self, page: usize) -> Result<&DataType> {
        Ok(&self.column(page)?.arrow)
    }

    /// Returns the number of bytes of the values of each row of a page, if all rows have as many and Arrow stores the same bytes.
    pub(super) fn width(&self, page: usize) -> Option<usize> {
        self.columns.get(page)?.width
    }
}

/// Returns the bytes of the values of a row. `None` if rows differ in length, or if Arrow packs the values as bits.
fn row_bytes(ty: &ColumnType) -> Option<usize> {
    let are_bits = matches!(ty, ColumnType::Scalar(Primitive::Bool) | ColumnType::Tensor { element: Primitive::Bool, .. });
    let elements = usize::try_from(ty.fixed_elements()?).ok()?;
    elements.checked_mul(ty.element_width()).filter(|bytes| *bytes > 0 && !are_bits)
}
