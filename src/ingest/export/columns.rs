//! The columns of an export: which there are, their Arrow types, and their enclosing structs, lists and maps.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::ArrayRef;
use arrow_schema::Field;
use serde_json::Value;

use super::{
    settings::{ExportFormat, ExportSettings},
    values::{natural, natural_type},
};
use crate::{
    error::Result,
    ingest::{
        foreign::{ARROW, Foreign, PRECISION, SCALE, unlisted},
        nested::{JSON, Leaf, NESTED, NULLS, TYPE, Within, around, lists},
        seconds::{parquet_type, to_parquet},
    },
    schema::{self, Column, ColumnType, Primitive},
    table::Table,
};

/// An exported column.
pub(super) struct Exported {
    pub(super) name: String,
    /// Position among the index columns; `None` for a column of a group.
    pub(super) index: Option<usize>,
    ty: ColumnType,
    foreign: Option<Foreign>,
    format: ExportFormat,
    pub(super) leaf: Leaf,
}

/// A column of the table or view, with the properties from its source table.
struct Described {
    name: String,
    index: Option<usize>,
    ty: ColumnType,
    properties: BTreeMap<String, Value>,
    /// Number of the source table.
    origin: usize,
}

/// Returns the columns that the settings select.
pub(super) async fn chosen(table: &Table, format: ExportFormat, settings: &ExportSettings) -> Result<Vec<Exported>> {
    let all = described(table).await?;
    let names: Vec<&str> = all.iter().map(|column| column.name.as_str()).collect();
    let wanted: BTreeSet<usize> = match settings.columns.as_slice() {
        [] => (0..names.len()).collect(),
        patterns => schema::select(&names, &[], patterns).map_err(|error| error.at(table.url()))?.into_iter().collect(),
    };
    let columns: Vec<&Described> = wanted.iter().filter_map(|place| all.get(*place)).collect();
    let mut ways: Vec<Option<(Vec<Within>, String)>> = columns
        .iter()
        .map(|column| around(&column.name, &column.properties).filter(|(around, _)| !settings.flat && fits(&column.ty, around)))
        .collect();
    // Two top-level fields must not have the same name. Columns that would collide stay flat.
    let mut owners: BTreeMap<String, BTreeSet<Option<usize>>> = BTreeMap::new();
    for (column, way) in columns.iter().zip(&ways) {
        let (name, origin) = match way.as_ref().and_then(|(around, _)| around.first()) {
            Some(within) => (&within.name, Some(column.origin)),
            None => (&column.name, None),
        };
        owners.entry(name.clone()).or_default().insert(origin);
    }
    for way in &mut ways {
        let collides = |(around, _): &(Vec<Within>, String)| {
            around.first().and_then(|within| owners.get(&within.name)).is_some_and(|owners| owners.len() > 1)
        };
        *way = way.take().filter(|way| !collides(way));
    }
    Ok(columns.into_iter().zip(ways).map(|(column, way)| exported(column, way, format, settings.flat)).collect())
}

/// Whether the column's type contains all its enclosing lists.
fn fits(ty: &ColumnType, around: &[Within]) -> bool {
    (0..lists(around)).try_fold(ty.clone(), |ty, _| unlisted(&ty)).is_some()
}

fn exported(column: &Described, way: Option<(Vec<Within>, String)>, format: ExportFormat, flat: bool) -> Exported {
    let (around, name) = way.unwrap_or_else(|| (Vec::new(), column.name.clone()));
    let depth = lists(&around);
    let bottom = (0..depth).fold(column.ty.clone(), |ty, _| unlisted(&ty).unwrap_or(ty));
    // A flat export writes stored values, so the properties need not fit them.
    let foreign = Foreign::of_column(&column.ty, &column.properties).filter(|_| !flat);
    let plain = natural_type(&bottom, depth == 0);
    let original = foreign.map_or(plain.clone(), |foreign| foreign.given_type(&plain));
    let arrow = if format == ExportFormat::Parquet { parquet_type(&original) } else { original.clone() };
    let is_nulls = !around.is_empty() && bottom == ColumnType::Scalar(Primitive::Bool) && column.properties.contains_key(NULLS);
    let own = [ARROW, NESTED, PRECISION, SCALE];
    // The Arrow type of the field says what these properties say, except of a date in Parquet.
    let is_in_field = foreign.is_some() && (arrow == original || foreign != Some(Foreign::Date64));
    let is_own = |key: &str| own.contains(&key) && (key == NESTED || is_in_field);
    let other_properties: Vec<(&String, &Value)> = column.properties.iter().filter(|(key, _)| !is_own(key)).collect();
    let other: Vec<&String> = other_properties.iter().filter(|(_, value)| !value.is_string()).map(|(key, _)| *key).collect();
    let other = (!other.is_empty()).then(|| (JSON.to_owned(), Value::from_iter(other.into_iter().cloned()).to_string()));
    let mut metadata: std::collections::HashMap<String, String> = other_properties
        .iter()
        .map(|(key, value)| ((*key).clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    metadata.extend(other);
    let field = bottom.arrow_field(&name);
    if field.data_type() == &arrow && needs_extension(&bottom) {
        metadata.extend(field.metadata().iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    if is_ambiguous(&bottom) || arrow != original {
        metadata.insert(TYPE.to_owned(), bottom.to_string());
    }
    let field = Arc::new(Field::new(name, arrow, true).with_metadata(metadata));
    Exported {
        name: column.name.clone(),
        index: column.index,
        ty: column.ty.clone(),
        foreign,
        format,
        leaf: Leaf { around, field, is_nulls },
    }
}

impl Exported {
    /// Converts values that were read to the exported type.
    pub(super) fn given(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let array = natural(&self.ty, array, true)?;
        let array = match self.foreign {
            Some(foreign) => foreign.given(&array)?,
            None => array,
        };
        if self.format == ExportFormat::Parquet { to_parquet(&array) } else { Ok(array) }
    }
}

/// Whether the Arrow type lacks the shape, so that the field needs an extension type.
fn needs_extension(ty: &ColumnType) -> bool {
    matches!(ty, ColumnType::Tensor { shape, .. } if shape.len() != 1)
}

/// Whether several column types share this Arrow type.
fn is_ambiguous(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Categorical | ColumnType::Scalar(Primitive::Bf16) => true,
        ColumnType::Tensor { element, .. } => *element == Primitive::Bf16,
        ColumnType::List(item) => is_ambiguous(item),
        _ => false,
    }
}

async fn described(table: &Table) -> Result<Vec<Described>> {
    let of = |column: &Column, index, origin| Described {
        name: column.name.clone(),
        index,
        ty: column.ty.clone(),
        properties: column.properties.clone(),
        origin,
    };
    let index = table.schema().index().enumerate().map(|(place, column)| of(column, Some(place), 0));
    let mut columns: Vec<Described> = index.collect();
    let loader = table.row_loader();
    let Some(view) = table.view() else {
        columns
            .extend(loader.column_names().filter_map(|name| table.schema().column_named(name)).map(|column| of(column, None, 0)));
        return Ok(columns);
    };
    let tables = table.sources().await?;
    // An index column of a view belongs to the first source table with the same index column.
    for column in &mut columns {
        let is_it = |other: &Column| other.name == column.name && other.properties == column.properties;
        column.origin = tables.iter().position(|table| table.schema().index().any(is_it)).map_or(0, |number| number + 1);
    }
    let mut seen = BTreeSet::new();
    for (number, (source, owner)) in view.sources.iter().zip(tables.iter()).enumerate() {
        for column in source.columns.iter().filter(|column| seen.insert(column.name.as_str())) {
            let ty = source.type_of(column);
            // A column that was renamed or has another type in the view has no properties.
            let own = owner.schema().column(column.id).filter(|own| own.name == column.name && own.ty == ty);
            let properties = own.map(|own| own.properties.clone()).unwrap_or_default();
            columns.push(Described { name: column.name.clone(), index: None, ty, properties, origin: number + 1 });
        }
    }
    Ok(columns)
}
