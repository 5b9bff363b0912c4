//! Point clouds: `sensor_msgs/PointCloud2` and Foxglove's `PointCloud`, whose messages say which numbers each point has.

use serde_json::{Map, Value as Json, json};
use tetrys::{ColumnType, Error, Result, schema::Primitive};

use crate::{
    cells::Cell,
    types::{Message, Type, Value},
};

/// Maximum numbers of a point.
const MAX_FIELDS: usize = 1024;

/// The fields of a message that is a cloud.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cloud {
    fields: usize,
    /// Name, offset, type and count in an item of `fields`. Foxglove has no count.
    item: (usize, usize, usize, Option<usize>),
    data: usize,
    /// Bytes of a point.
    stride: usize,
    /// Height, width, bytes of a row, and whether numbers are big-endian. Foxglove has none of them.
    rows: Option<(usize, usize, usize, usize)>,
}

/// A cloud with the columns of its points.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    cloud: Cloud,
    columns: Vec<PointColumn>,
}

/// A column of points: its name, its element, and the names and counts of its fields.
type PointColumn = (String, Primitive, Vec<(String, usize)>);

/// A field of the points of a message.
struct Found {
    name: String,
    offset: usize,
    element: Primitive,
    count: usize,
}

/// Returns the fields of a cloud, if the type is one.
pub(crate) fn find(ty: &Message) -> Option<Cloud> {
    let short = ty.name.rsplit(['/', '.']).next().unwrap_or_default();
    let (names, stride) = match short {
        "PointCloud2" => (("name", "offset", "datatype", Some("count")), "point_step"),
        "PointCloud" => (("name", "offset", "type", None), "point_stride"),
        _ => return None,
    };
    let field = |name: &str| ty.field(name).map(|(at, _)| at);
    let (fields, Type::Array(item, _)) = ty.field("fields")? else { return None };
    let Type::Message(item) = &**item else { return None };
    let of_item = |name: &str| item.field(name).map(|(at, _)| at);
    let count = match names.3 {
        Some(name) => Some(of_item(name)?),
        None => None,
    };
    let rows = match short {
        "PointCloud2" => Some((field("height")?, field("width")?, field("row_step")?, field("is_bigendian")?)),
        _ => None,
    };
    let item = (of_item(names.0)?, of_item(names.1)?, of_item(names.2)?, count);
    Some(Cloud { fields, item, data: field("data")?, stride: field(stride)?, rows })
}

impl Cloud {
    fn found(&self, message: &Value) -> Result<Vec<Found>> {
        let Value::List(items) = message.at(&[self.fields]) else { return Ok(Vec::new()) };
        if items.len() > MAX_FIELDS {
            return Err(Error::unsupported(format!("a cloud with {} fields: expected at most {MAX_FIELDS}", items.len())));
        }
        let (name, offset, ty, count) = self.item;
        let is_ros = self.rows.is_some();
        let of = |item: &Value| {
            let name = item.at(&[name]).as_text().unwrap_or_default().to_owned();
            let number = |field: usize| item.at(&[field]).as_i64().map(|number| number & 0xffff_ffff).unwrap_or(0);
            let element = match (is_ros, number(ty)) {
                (true, 1) | (false, 2) => Primitive::I8,
                (true, 2) | (false, 1) => Primitive::U8,
                (true, 3) | (false, 4) => Primitive::I16,
                (true, 4) | (false, 3) => Primitive::U16,
                (true, 5) | (false, 6) => Primitive::I32,
                (true, 6) | (false, 5) => Primitive::U32,
                (_, 7) => Primitive::F32,
                (_, 8) => Primitive::F64,
                (_, other) => {
                    return Err(Error::invalid(format!("field `{}` of points has the type {other}", name.escape_debug())));
                }
            };
            let size = |number: i64| usize::try_from(number).unwrap_or(0);
            Ok(Found { name, offset: size(number(offset)), element, count: count.map_or(1, |count| size(number(count))) })
        };
        // Some writers say that a number is there no times, and mean once.
        let of = |item: &Value| of(item).map(|found| Found { count: found.count.max(1), ..found });
        items.iter().map(of).collect()
    }

    /// Returns the columns of the points of a message: its single `f32` together, every other field alone.
    pub(crate) fn layout(&self, sample: &Value) -> Result<Layout> {
        let mut columns: Vec<PointColumn> = Vec::new();
        for Found { name, element, count, .. } in self.found(sample)? {
            let together =
                (element == Primitive::F32 && count == 1).then(|| columns.iter_mut().find(|column| column.0 == "points"));
            match together {
                Some(Some((_, _, fields))) => fields.push((name, 1)),
                Some(None) => columns.insert(0, ("points".to_owned(), element, vec![(name, 1)])),
                None => columns.push((name.clone(), element, vec![(name, count)])),
            }
        }
        columns.dedup_by(|one, other| one.0 == other.0);
        Ok(Layout { cloud: self.clone(), columns })
    }
}

impl Layout {
    /// Returns the names, types and properties of the columns.
    pub(crate) fn columns(&self) -> Vec<(String, ColumnType, Map<String, Json>)> {
        let of = |(name, element, fields): &PointColumn| {
            let total: usize = fields.iter().map(|(_, count)| count).sum();
            let is_points = name == "points";
            let mut shape = vec![None];
            shape.extend((is_points || total > 1).then(|| u32::try_from(total).ok()));
            let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
            let properties = is_points.then(|| ("logs.fields".to_owned(), json!(names)));
            (name.clone(), ColumnType::Tensor { element: *element, shape }, Map::from_iter(properties))
        };
        self.columns.iter().map(of).collect()
    }

    /// Returns the values of a column in a message; null for a message without fields and without bytes.
    ///
    /// # Errors
    /// - `Invalid`: the points have other fields than those of the sample, or the data are shorter than the cloud.
    pub(crate) fn cell(&self, message: &Value, column: usize) -> Result<Cell> {
        let Cloud { data, stride, rows, .. } = self.cloud;
        let number = |field: usize| message.at(&[field]).as_i64().map(|number| number & 0xffff_ffff);
        let size = |field: usize| number(field).and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
        let data = message.at(&[data]).as_bytes().cloned().unwrap_or_default();
        let stride = size(stride);
        let (height, width, row, is_big) = match rows {
            Some((height, width, row, big)) => (size(height), size(width), size(row), size(big) != 0),
            None => (1, data.len() / stride.max(1), data.len(), false),
        };
        let short = || {
            let found = data.len();
            Error::invalid(format!(
                "a cloud of {width} x {height} points of {stride} bytes, rows of {row} bytes, has {found} bytes"
            ))
        };
        // Rows that overlap would make points out of nothing.
        let filled = width.checked_mul(stride).filter(|filled| *filled <= row || height <= 1).ok_or_else(short)?;
        let end = height.checked_sub(1).map_or(Some(0), |rows| rows.checked_mul(row)?.checked_add(filled));
        end.filter(|end| *end <= data.len()).ok_or_else(short)?;
        let height = if width == 0 { 0 } else { height };
        let (name, element, fields) = &self.columns[column];
        let found = self.cloud.found(message)?;
        if found.is_empty() && data.is_empty() {
            return Ok(Cell::Null);
        }
        let mut places = Vec::new();
        for (field, count) in fields {
            let here = found.iter().find(|found| found.name == *field && found.element == *element && found.count == *count);
            let here = here.ok_or_else(|| {
                let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
                Error::invalid(format!("expected points with {count} {} `{field}`, found {}", element.name(), names.join(", ")))
            })?;
            let len = count * element.width();
            if here.offset.checked_add(len).is_none_or(|end| end > stride) {
                return Err(Error::invalid(format!("field `{field}` of points ends behind the {stride} bytes of a point")));
            }
            places.push((here.offset, len));
        }
        let lone = places.iter().map(|(_, len)| len).sum::<usize>();
        // Fields that overlap would make more numbers than there are bytes.
        if lone > stride {
            return Err(Error::invalid(format!("fields of `{name}` have {lone} bytes: a point has {stride}")));
        }
        let mut bytes = Vec::with_capacity(lone * width * height);
        for y in 0..height {
            for x in 0..width {
                let point = y * row + x * stride;
                for (offset, len) in &places {
                    bytes.extend_from_slice(&data[point + offset..point + offset + len]);
                }
            }
        }
        let bytes = if is_big { crate::images::swapped(&bytes, element.width()) } else { bytes.into() };
        let points = bytes.len() / lone.max(1);
        let total = lone / element.width();
        let mut shape = vec![u32::try_from(points).unwrap_or(u32::MAX)];
        shape.extend((name == "points" || total > 1).then_some(u32::try_from(total).unwrap_or(u32::MAX)));
        Ok(Cell::Tensor(shape, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        columns::columns,
        msg::{Ros, parse},
    };

    const CLOUD: &str = "Header header\nuint32 height\nuint32 width\nsensor_msgs/PointField[] fields\nbool is_bigendian\n\
        uint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense\n===\nMSG: sensor_msgs/PointField\nstring name\n\
        uint32 offset\nuint8 datatype\nuint32 count\n";

    fn number(number: u32) -> Value {
        Value::Number(u64::from(number).to_le_bytes())
    }

    /// A cloud of fields (name, offset, type, count), with 2 rows of 2 points of `step` bytes.
    fn cloud(fields: &[(&str, u32, u32, u32)], step: u32, row: u32, big: u32, data: Vec<u8>) -> Value {
        let field = |(name, offset, ty, count): &(&str, u32, u32, u32)| {
            Value::Message(vec![Value::Text((*name).to_owned()), number(*offset), number(*ty), number(*count)])
        };
        let fields = fields.iter().map(field).collect();
        let header = Value::Message(vec![number(0), number(0), Value::Text("lidar".to_owned())]);
        Value::Message(vec![
            header,
            number(2),
            number(2),
            Value::List(fields),
            number(big),
            number(step),
            number(row),
            Value::Numbers(data.into()),
            number(1),
        ])
    }

    fn cells(message: &Value) -> Vec<(String, String, Result<Cell>)> {
        let ty = parse("sensor_msgs/PointCloud2", CLOUD, Ros::One).unwrap();
        let columns = columns(&ty, Some(message)).unwrap();
        let of_points = columns.iter().filter(|column| column.ty.to_string().contains('?'));
        of_points.map(|column| (column.name.clone(), column.ty.to_string(), column.cell(message))).collect()
    }

    #[test]
    fn floats_are_together_and_every_other_field_is_a_column_of_its_own() {
        let fields = [("x", 0, 7, 1), ("ring", 4, 4, 1), ("y", 6, 7, 1), ("pair", 10, 2, 2)];
        // Rows of two points of 12 bytes, and three bytes of padding.
        let mut data = Vec::new();
        for point in 0..4_u8 {
            data.extend(f32::from(point).to_le_bytes());
            data.extend(u16::from(point).to_le_bytes());
            data.extend((-f32::from(point)).to_le_bytes());
            data.extend([point, point + 10]);
            if point % 2 == 1 {
                data.extend([9; 3]);
            }
        }
        let message = cloud(&fields, 12, 27, 0, data);
        let found: Vec<_> = cells(&message).into_iter().map(|(name, ty, cell)| (name, ty, cell.unwrap())).collect();
        let floats: Vec<u8> =
            (0..4_u8).flat_map(|point| [f32::from(point), -f32::from(point)]).flat_map(f32::to_le_bytes).collect();
        let expected = [
            ("points".to_owned(), "f32[?,2]".to_owned(), Cell::Tensor(vec![4, 2], floats.into())),
            ("ring".to_owned(), "u16[?]".to_owned(), Cell::Tensor(vec![4], vec![0, 0, 1, 0, 2, 0, 3, 0].into())),
            ("pair".to_owned(), "u8[?,2]".to_owned(), Cell::Tensor(vec![4, 2], vec![0, 10, 1, 11, 2, 12, 3, 13].into())),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn big_endian_numbers_are_turned() {
        let data: Vec<u8> = (0..4).flat_map(|point| (point as f32).to_be_bytes()).collect();
        let message = cloud(&[("x", 0, 7, 1)], 4, 8, 1, data);
        let expected: Vec<u8> = (0..4).flat_map(|point| (point as f32).to_le_bytes()).collect();
        assert_eq!(cells(&message)[0].2.as_ref().unwrap(), &Cell::Tensor(vec![4, 1], expected.into()));
    }

    #[test]
    fn clouds_that_do_not_fit_their_data_are_refused() {
        let x = [("x", 0, 7, 1)];
        for (message, expected) in [
            (cloud(&x, 4, 8, 0, vec![0; 15]), "a cloud of 2 x 2 points of 4 bytes, rows of 8 bytes, has 15 bytes"),
            (cloud(&x, 4, 0, 0, vec![0; 16]), "rows of 0 bytes"),
            (cloud(&x, 4, u32::MAX, 0, vec![0; 16]), "rows of 4294967295 bytes"),
            (cloud(&x, u32::MAX, 8, 0, vec![0; 16]), "points of 4294967295 bytes"),
            (cloud(&[("x", 2, 7, 1)], 4, 8, 0, vec![0; 16]), "field `x` of points ends behind the 4 bytes of a point"),
            (cloud(&[("x", 0, 7, 1), ("y", 0, 7, 1)], 4, 8, 0, vec![0; 16]), "fields of `points` have 8 bytes: a point has 4"),
            (cloud(&[("x", 0, 7, u32::MAX)], 4, 8, 0, vec![0; 16]), "field `x` of points ends behind"),
        ] {
            let found = cells(&message);
            let error = found[0].2.as_ref().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
