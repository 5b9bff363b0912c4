//! Columns of a message type: nested fields by their paths, vectors as tensors, headers as `stamp` and `frame_id`.

use serde_json::{Map, Value as Json, json};
use tetrys::{ColumnType, Error, Result, TimeUnit, schema::Primitive};

use crate::{
    cells::{Cell, stack, stacked},
    images::{self, Image},
    points::{self, Layout},
    types::{Message, Type, Value},
};

/// Maximum levels of lists: types of columns allow no more.
const MAX_LISTS: usize = 4;
/// Maximum columns of a type.
const MAX_COLUMNS: usize = 4096;

/// A column that a message type has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// Its name, without that of the match.
    pub(crate) name: String,
    pub(crate) ty: ColumnType,
    pub(crate) properties: Map<String, Json>,
    /// Whether the column is there if a recipe names no fields.
    pub(crate) is_default: bool,
    /// Whether it is a quaternion, which no straight line interpolates.
    pub(crate) is_rotation: bool,
    source: Source,
}

#[derive(Clone, Debug, PartialEq)]
enum Source {
    /// The value at the end of the steps.
    Leaf { steps: Vec<Step>, leaf: Leaf },
    /// The pixels of a picture.
    Image(Image),
    /// Some fields of the points of a cloud.
    Points(Layout, usize),
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(usize),
    /// All items of an array. The type is that of the columns of one item.
    Each(ColumnType),
}

#[derive(Clone, Debug, PartialEq)]
enum Leaf {
    Value,
    /// The numbers of a message, such as `x`, `y` and `z`, as one tensor: their fields in this order, and the bytes of each.
    Vector(Vec<usize>, usize),
    /// An array of numbers with this shape.
    Shaped(Vec<u32>),
}

/// Returns the columns of a type. `sample` is a message of the topic: pictures and point clouds say in each message what they have.
///
/// # Errors
/// - `Unsupported`: the type has too many fields.
/// - Errors of a picture or a cloud.
pub(crate) fn columns(ty: &Message, sample: Option<&Value>) -> Result<Vec<Column>> {
    let mut found = Vec::new();
    let special = match (images::find(ty), points::find(ty)) {
        (Some(image), _) => image.columns(sample)?.map(|(image, ty)| {
            let properties = Map::from_iter([("logs.encoding".to_owned(), json!(image.encoding()))]);
            vec![Column { source: Source::Image(image), ..Column::new("image", ty).with(properties) }]
        }),
        (_, Some(cloud)) => sample.map(|sample| cloud.layout(sample)).transpose()?.map(|layout| {
            let columns = layout.columns().into_iter().enumerate();
            let column = |(number, (name, ty, properties)): (usize, (String, ColumnType, _))| Column {
                source: Source::Points(layout.clone(), number),
                ..Column::new(&name, ty).with(properties)
            };
            columns.map(column).collect()
        }),
        _ => None,
    };
    let replaced: &[&str] = match &special {
        Some(_) if images::find(ty).is_some() => &["data", "step", "is_bigendian", "width", "height"],
        Some(_) => &["data", "fields", "point_step", "row_step", "is_bigendian", "width", "height", "is_dense", "point_stride"],
        None => &[],
    };
    let fields = ty.fields.iter().enumerate().filter(|(_, field)| !replaced.contains(&field.name.as_str()));
    for (number, field) in fields {
        walk(&field.name, &field.ty, vec![Step::Field(number)], ty, &mut found)?;
    }
    found.extend(special.into_iter().flatten());
    rename(&ty.name, &mut found);
    Ok(found)
}

/// Whether a message says what its pictures or points are. The columns of other types do not depend on a message.
pub(crate) fn is_telling(ty: &Message, sample: &Value) -> bool {
    match (images::find(ty), points::find(ty)) {
        (Some(image), _) => image.columns(Some(sample)).is_ok_and(|found| found.is_some()),
        (_, Some(cloud)) => cloud.layout(sample).is_ok_and(|layout| !layout.columns().is_empty()),
        _ => true,
    }
}

/// Whether the columns of a type are known. Those of pictures and points depend on a message, and one that is empty does not say them.
pub(crate) fn are_known(ty: &Message, sample: Option<&Value>) -> bool {
    match (images::find(ty), points::find(ty), sample) {
        (None, None, _) => true,
        (_, _, None) => false,
        (Some(image), _, Some(sample)) => !image.is_empty(sample),
        (None, Some(cloud), Some(sample)) => cloud.layout(sample).is_ok_and(|layout| !layout.columns().is_empty()),
    }
}

impl Column {
    /// Returns a column of a table, of whose messages a log has none.
    pub(crate) fn of_table(name: &str, ty: ColumnType) -> Self {
        Self::new(name, ty)
    }

    fn new(name: &str, ty: ColumnType) -> Self {
        let source = Source::Leaf { steps: Vec::new(), leaf: Leaf::Value };
        Self { name: name.to_owned(), ty, properties: Map::new(), is_default: true, is_rotation: false, source }
    }

    fn with(mut self, properties: Map<String, Json>) -> Self {
        self.properties = properties;
        self
    }

    /// Returns the value of the column in a message.
    ///
    /// # Errors
    /// - `Invalid`: a picture or a cloud has another type than those before.
    pub(crate) fn cell(&self, message: &Value) -> Result<Cell> {
        let cell = match &self.source {
            Source::Leaf { steps, leaf } => Ok(extract(message, steps, leaf, &self.ty)),
            Source::Image(image) => image.pixels(message),
            Source::Points(layout, number) => layout.cell(message, *number),
        };
        cell.map_err(|error| error.at(format!("column `{}`", self.name)))
    }
}

/// Whether a message is a vector, a point or a quaternion, which is one column. Returns its fields in the order `x`, `y`, `z`, `w`,
/// which a definition may name in another one.
fn vector(message: &Message) -> Option<(Primitive, Vec<usize>)> {
    let name = message.name.rsplit(['/', '.']).next().unwrap_or_default();
    let package = message.name.rsplit_once(['/', '.']).map_or("", |(package, _)| package);
    let known = ["Point", "Point32", "Point2", "Point3", "Vector2", "Vector3", "Quaternion"].contains(&name);
    if !known || !["geometry_msgs", "foxglove"].contains(&package) {
        return None;
    }
    let Type::Number(element) = message.fields.first()?.ty else { return None };
    let is_one_type = message.fields.iter().all(|field| field.ty == Type::Number(element));
    let names = ["x", "y", "z", "w"].get(..message.fields.len()).filter(|_| is_one_type)?;
    let places: Option<Vec<usize>> = names.iter().map(|name| message.field(name).map(|(at, _)| at)).collect();
    Some((element, places?))
}

fn walk(name: &str, ty: &Type, mut steps: Vec<Step>, root: &Message, found: &mut Vec<Column>) -> Result<()> {
    if found.len() >= MAX_COLUMNS {
        return Err(Error::unsupported(format!("{}: over {MAX_COLUMNS} fields", root.name)));
    }
    let add = |found: &mut Vec<Column>, ty: ColumnType, leaf: Leaf, steps: Vec<Step>| {
        found.push(Column { source: Source::Leaf { steps, leaf }, ..Column::new(name, ty) });
    };
    match ty {
        Type::Message(message) => {
            if let Some((element, fields)) = vector(message) {
                let ty = ColumnType::tensor(element, [u32::try_from(fields.len()).ok()]);
                add(found, ty, Leaf::Vector(fields, element.width()), steps);
                if let Some(column) = found.last_mut() {
                    column.is_rotation = message.name.ends_with("Quaternion");
                }
                return Ok(());
            }
            let is_header = message.name == "std_msgs/Header" && name == "header";
            for (number, field) in message.fields.iter().enumerate() {
                let inner = if is_header { field.name.clone() } else { format!("{name}.{}", field.name) };
                let steps = steps.iter().cloned().chain([Step::Field(number)]).collect();
                let from = found.len();
                walk(&inner, &field.ty, steps, root, found)?;
                if is_header && field.name == "seq" {
                    found[from..].iter_mut().for_each(|column| column.is_default = false);
                }
            }
        }
        Type::Array(_, Some(0)) => {}
        Type::Array(item, length) => match &**item {
            Type::Number(Primitive::U8) if length.is_none() && is_file(root, name) => {
                add(found, ColumnType::Binary, Leaf::Value, steps);
            }
            Type::Number(element) => {
                let matrix = length.and_then(|length| matrix(root, name, length));
                let shape = matrix.clone().map(|shape| shape.into_iter().map(Some).collect());
                let ty = match shape {
                    Some(shape) => ColumnType::Tensor { element: *element, shape },
                    None => stacked(&ColumnType::Scalar(*element), *length),
                };
                add(found, ty, matrix.map_or(Leaf::Value, Leaf::Shaped), steps);
            }
            item => {
                if steps.iter().filter(|step| matches!(step, Step::Each(_))).count() >= MAX_LISTS {
                    return Ok(());
                }
                // The columns of one item, and then each as a list.
                let from = found.len();
                walk(name, item, Vec::new(), root, found)?;
                for column in &mut found[from..] {
                    let Source::Leaf { steps: inner, .. } = &mut column.source else { continue };
                    let mut all = steps.clone();
                    all.push(Step::Each(column.ty.clone()));
                    all.append(inner);
                    *inner = all;
                    column.ty = stacked(&column.ty, *length);
                }
                let deep = |column: &Column| depth(&column.ty) > MAX_LISTS;
                let kept: Vec<Column> = found.drain(from..).filter(|column| !deep(column)).collect();
                found.extend(kept);
            }
        },
        Type::Number(element) => add(found, ColumnType::Scalar(*element), Leaf::Value, steps),
        Type::Text => add(found, ColumnType::Utf8, Leaf::Value, steps),
        Type::Bytes => add(found, ColumnType::Binary, Leaf::Value, steps),
        Type::Time => add(found, ColumnType::Timestamp(TimeUnit::Nanosecond, None), Leaf::Value, std::mem::take(&mut steps)),
        Type::Duration => add(found, ColumnType::Duration(TimeUnit::Nanosecond), Leaf::Value, steps),
    }
    Ok(())
}

fn depth(ty: &ColumnType) -> usize {
    if let ColumnType::List(item) = ty { 1 + depth(item) } else { 0 }
}

/// Whether an array of bytes is a file, such as a JPEG.
fn is_file(root: &Message, name: &str) -> bool {
    let short = root.name.rsplit(['/', '.']).next().unwrap_or_default();
    let files = ["CompressedImage", "CompressedVideo", "FFMPEGPacket", "Image", "RawImage", "PointCloud2", "PointCloud", "Log"];
    name == "data" && files.contains(&short)
}

/// Returns the shape of the matrices of a camera.
fn matrix(root: &Message, name: &str, length: usize) -> Option<Vec<u32>> {
    let short = root.name.rsplit(['/', '.']).next().unwrap_or_default();
    match (short, name, length) {
        ("CameraInfo" | "CameraCalibration", "K" | "k" | "R" | "r", 9) => Some(vec![3, 3]),
        ("CameraInfo" | "CameraCalibration", "P" | "p", 12) => Some(vec![3, 4]),
        _ => None,
    }
}

/// Gives columns of standard types their short names, where no other column has them.
fn rename(name: &str, columns: &mut [Column]) {
    let short = name.rsplit(['/', '.']).next().unwrap_or_default();
    let prefixes: &[&str] = match short {
        "PoseStamped" | "PoseInFrame" => &["pose."],
        "PoseWithCovarianceStamped" => &["pose.pose.", "pose."],
        "Odometry" => &["pose.pose.", "twist.twist."],
        "TransformStamped" => &["transform."],
        "TwistStamped" => &["twist."],
        _ => &[],
    };
    for number in 0..columns.len() {
        let renamed = match columns[number].name.as_str() {
            "timestamp" if matches!(columns[number].ty, ColumnType::Timestamp(..)) => Some("stamp".to_owned()),
            name => prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).map(str::to_owned),
        };
        if let Some(renamed) = renamed.filter(|renamed| columns.iter().all(|column| column.name != *renamed)) {
            columns[number].name = renamed;
        }
    }
}

fn extract(value: &Value, steps: &[Step], leaf: &Leaf, ty: &ColumnType) -> Cell {
    match steps.split_first() {
        Some((Step::Field(field), rest)) => extract(value.at(&[*field]), rest, leaf, ty),
        Some((Step::Each(item), rest)) => {
            let Value::List(values) = value else { return Cell::Null };
            stack(item, values.iter().map(|value| extract(value, rest, leaf, item)).collect())
        }
        None => end(value, leaf, ty),
    }
}

fn end(value: &Value, leaf: &Leaf, ty: &ColumnType) -> Cell {
    match (value, leaf) {
        (Value::Message(_), Leaf::Vector(fields, width)) => {
            let mut bytes = Vec::with_capacity(fields.len() * width);
            for field in fields {
                let Value::Number(number) = value.at(&[*field]) else { return Cell::Null };
                bytes.extend_from_slice(&number[..*width]);
            }
            Cell::Tensor(vec![u32::try_from(fields.len()).unwrap_or(0)], bytes.into())
        }
        (Value::Numbers(bytes), Leaf::Shaped(shape)) => Cell::Tensor(shape.clone(), bytes.clone()),
        (Value::Numbers(bytes), _) if *ty == ColumnType::Binary => Cell::Bytes(bytes.clone()),
        (Value::Numbers(bytes), _) => {
            let elements = bytes.len() / ty.element_width();
            Cell::Tensor(vec![u32::try_from(elements).unwrap_or(u32::MAX)], bytes.clone())
        }
        (Value::Number(number), _) => Cell::Fixed(*number),
        (Value::Text(text), _) => Cell::Text(text.clone()),
        (Value::Bytes(bytes), _) => Cell::Bytes(bytes.clone()),
        // A list of texts, of times or of bytes; of numbers where some are null.
        (Value::List(values), _) => match ty {
            ColumnType::List(item) => Cell::List(values.iter().map(|value| end(value, leaf, item)).collect()),
            ColumnType::Tensor { element, .. } => {
                let number = ColumnType::Scalar(*element);
                let found = stack(&number, values.iter().map(|value| end(value, &Leaf::Value, &number)).collect());
                match (leaf, found) {
                    (Leaf::Shaped(shape), Cell::Masked(_, bytes, valid)) => Cell::Masked(shape.clone(), bytes, valid),
                    (_, found) => found,
                }
            }
            _ => Cell::Null,
        },
        _ => Cell::Null,
    }
}
