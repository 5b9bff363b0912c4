//! The column type that values of an Arrow type get when Python hands them over.

use arrow_schema::{DataType, Field, TimeUnit};
use tetrys::{ColumnType, schema::Primitive};

/// Returns the column type for an Arrow field, or the reason why there is none.
pub(crate) fn known_type(field: &Field) -> Result<ColumnType, String> {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => tetrys::TimeUnit::Second,
        TimeUnit::Millisecond => tetrys::TimeUnit::Millisecond,
        TimeUnit::Microsecond => tetrys::TimeUnit::Microsecond,
        TimeUnit::Nanosecond => tetrys::TimeUnit::Nanosecond,
    };
    let scalar = |ty: &DataType| Primitive::ALL.into_iter().find(|one| *one != Primitive::Bf16 && one.arrow() == *ty);
    if let Some(element) = scalar(field.data_type()) {
        return Ok(ColumnType::Scalar(element));
    }
    let none = |advice: &str| Err(format!("no column type for Arrow's {}{advice}", family(field.data_type())));
    Ok(match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => ColumnType::Utf8,
        DataType::Dictionary(..) => ColumnType::Categorical,
        DataType::Binary | DataType::LargeBinary => ColumnType::Binary,
        DataType::Date32 => ColumnType::Date,
        DataType::Timestamp(found, zone) => ColumnType::Timestamp(unit(found), zone.as_deref().map(str::to_owned)),
        DataType::Duration(found) => ColumnType::Duration(unit(found)),
        // A list of numbers, or of tensors of one shape, is a tensor whose first extent differs between rows.
        DataType::List(item) | DataType::LargeList(item) => match known_type(item)? {
            ColumnType::Scalar(element) => ColumnType::tensor(element, [None]),
            ColumnType::Tensor { element, shape } if shape.iter().all(Option::is_some) => {
                ColumnType::tensor(element, [vec![None], shape].concat())
            }
            item => ColumnType::list(item),
        },
        // `Rows` exports tensors of variable shape as this struct: the values and the shape of each row.
        DataType::Struct(fields) => match &fields[..] {
            [data, shape] if (data.name().as_str(), shape.name().as_str()) == ("data", "shape") => {
                let found = match (data.data_type(), shape.data_type()) {
                    (DataType::LargeList(item), DataType::FixedSizeList(extent, rank))
                        if *extent.data_type() == DataType::Int32 =>
                    {
                        scalar(item.data_type()).zip(usize::try_from(*rank).ok())
                    }
                    _ => None,
                };
                let Some((element, rank)) = found else { return none(": make each field a column of its own") };
                ColumnType::tensor(element, vec![None; rank])
            }
            _ => return none(": make each field a column of its own"),
        },
        DataType::FixedSizeList(item, size) => {
            let size = u32::try_from(*size).unwrap_or_default();
            match known_type(item)? {
                ColumnType::Scalar(element) => ColumnType::tensor(element, shape_of(field, size)?),
                ColumnType::Tensor { element, shape } => ColumnType::tensor(element, [vec![Some(size)], shape].concat()),
                _ => return none(""),
            }
        }
        DataType::Null => return Err("no value suggests a type: declare it in `schema`".to_owned()),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            return none(": cast it to floats, integers or text");
        }
        DataType::Time32(_) | DataType::Time64(_) => return none(": cast it to a duration or an integer"),
        _ => return none(""),
    })
}

/// Returns the name of an Arrow type for messages: that of its column type, if there is one.
pub(crate) fn named(ty: &DataType) -> String {
    known_type(&Field::new("item", ty.clone(), true)).map_or_else(|_| format!("Arrow's {}", family(ty)), |ty| ty.to_string())
}

/// Returns the kind of an Arrow type without a column type, as users of any language call it.
fn family(ty: &DataType) -> String {
    let kind = match ty {
        DataType::Null => "null",
        DataType::Struct(_) => "struct",
        DataType::Map(..) => "map",
        DataType::Union(..) => "union",
        DataType::Interval(_) => "interval",
        DataType::Time32(_) | DataType::Time64(_) => "time of day",
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => "decimal",
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            return format!("list of {}", known_type(item).map_or_else(|_| family(item.data_type()), |ty| ty.to_string()));
        }
        other => return other.to_string().to_lowercase(),
    };
    kind.to_owned()
}

/// Returns the shape of a canonical fixed-shape tensor of `size` elements; one dimension without such metadata.
fn shape_of(field: &Field, size: u32) -> Result<Vec<Option<u32>>, String> {
    let metadata = field.metadata().get("ARROW:extension:metadata");
    let Some(parsed) = metadata.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok()) else {
        return Ok(vec![Some(size)]);
    };
    let list = |key: &str| parsed.get(key).and_then(|found| serde_json::from_value::<Vec<u32>>(found.clone()).ok());
    if list("permutation").is_some_and(|order| !order.iter().copied().eq(0..order.len() as u32)) {
        return Err("a tensor with permuted dimensions: expected C order".to_owned());
    }
    let fits = |shape: &Vec<u32>| shape.iter().try_fold(1_u32, |all, one| all.checked_mul(*one)) == Some(size);
    Ok(list("shape").filter(fits).map_or(vec![Some(size)], |shape| shape.into_iter().map(Some).collect()))
}
