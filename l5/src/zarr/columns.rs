//! Maps the fields of L5 records to columns and column groups. Reading and writing share this list.
//!
//! Element types and shapes come from the data (`.zarray`), so format_version 1 and 2 keep their widths. Fields with structural
//! meaning (timestamps, intervals, hosts) become index columns with fixed types.

use super::dtype::{Dtype, Element, Field};
use tetrys::{
    error::{Error, Result},
    schema::{ColumnType, Primitive, Schema, SchemaBuilder},
};

/// The index columns in order: name, type, description.
pub(super) const INDEX: [(&str, &str, &str); 11] = [
    ("scene_index", "u32", "record of `scenes`"),
    ("host", "utf8", "scenes.host"),
    ("frame_index", "u32", "frame within the scene, from 0"),
    ("timestamp", "i64", "frames.timestamp, ns; not reliable: may lie outside the scene's times"),
    ("scene_start_time", "i64", "scenes.start_time, ns"),
    ("scene_end_time", "i64", "scenes.end_time, ns"),
    ("agents_count", "u32", "agents in the frame"),
    ("tl_faces_count", "u32", "traffic light faces in the frame"),
    ("agents_start", "u64", "first record of `agents` of the frame"),
    ("tl_faces_start", "u64", "first record of `traffic_light_faces` of the frame"),
    ("frame", "u64", "record of `frames`"),
];

/// Index columns that are times, in nanoseconds since 1970.
const TIMES: [&str; 3] = ["timestamp", "scene_start_time", "scene_end_time"];

/// Names of the arrays.
pub(super) const SCENES: &str = "scenes";
pub(super) const FRAMES: &str = "frames";
pub(super) const AGENTS: &str = "agents";
pub(super) const TL_FACES: &str = "traffic_light_faces";
pub(super) const MASK_PREFIX: &str = "agents_mask/";

/// Names of the fields with structural meaning.
pub(super) const FRAME_INTERVAL: &str = "frame_index_interval";
pub(super) const HOST: &str = "host";
pub(super) const START_TIME: &str = "start_time";
pub(super) const END_TIME: &str = "end_time";
pub(super) const TIMESTAMP: &str = "timestamp";
pub(super) const AGENT_INTERVAL: &str = "agent_index_interval";
pub(super) const TL_INTERVAL: &str = "traffic_light_faces_index_interval";

/// Group, column and field of the values that a frame has once.
const EGO: [(&str, &str, &str); 2] = [("ego", "ego.translation", "ego_translation"), ("ego", "ego.rotation", "ego_rotation")];

/// Group, column and field of the values of each agent of a frame.
const AGENT: [(&str, &str, &str); 6] = [
    ("agents.pose", "agents.pose.centroid", "centroid"),
    ("agents.pose", "agents.pose.yaw", "yaw"),
    ("agents.pose", "agents.pose.extent", "extent"),
    ("agents.pose", "agents.pose.track_id", "track_id"),
    ("agents.velocity", "agents.velocity", "velocity"),
    ("agents.label_probabilities", "agents.label_probabilities", "label_probabilities"),
];

/// Group, column and field of the values of each traffic light face of a frame.
const TL_FACE: [(&str, &str, &str); 3] = [
    ("tl_faces", "tl_faces.face_id", "face_id"),
    ("tl_faces", "tl_faces.traffic_light_id", "traffic_light_id"),
    ("tl_faces", "tl_faces.status", "traffic_light_face_status"),
];

/// Group of all masks.
const MASK_GROUP: &str = "agents_mask";

/// One column that comes from one field.
#[derive(Clone, Debug)]
pub(super) struct FieldColumn {
    pub(super) group: &'static str,
    pub(super) name: String,
    pub(super) ty: ColumnType,
    pub(super) field: Field,
}

/// The columns of a data set, by the array that they come from.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) ego: Vec<FieldColumn>,
    pub(super) agents: Vec<FieldColumn>,
    pub(super) tl_faces: Vec<FieldColumn>,
    /// One for each mask, in the order of the mask arrays.
    pub(super) masks: Vec<FieldColumn>,
}

impl Columns {
    /// Returns the columns for arrays with these dtypes. `masks` has the name below `agents_mask/`, the dtype and the inner shape
    /// of each mask.
    pub(super) fn new(
        scenes: &Dtype,
        frames: &Dtype,
        agents: &Dtype,
        tl_faces: Option<&Dtype>,
        masks: &[(&str, &Dtype, &[u32])],
    ) -> Result<Self> {
        let interval = |dtype: &Dtype, name: &str| expect_type(dtype.require(name)?, "i64[2]");
        let time = |dtype: &Dtype, name: &str| expect_type(dtype.require(name)?, "i64");
        let in_array = |array: &'static str| move |error: Error| error.at(format!("array {array}: dtype"));
        interval(scenes, FRAME_INTERVAL)
            .and_then(|()| time(scenes, START_TIME))
            .and_then(|()| time(scenes, END_TIME))
            .and_then(|()| expect_text(scenes.require(HOST)?))
            .and_then(|()| no_others(scenes, &[FRAME_INTERVAL, START_TIME, END_TIME, HOST]))
            .map_err(in_array(SCENES))?;
        interval(frames, AGENT_INTERVAL)
            .and_then(|()| time(frames, TIMESTAMP))
            .and_then(|()| frames.field(TL_INTERVAL).map_or(Ok(()), |field| expect_type(field, "i64[2]")))
            .and_then(|()| no_others(frames, &[AGENT_INTERVAL, TIMESTAMP, TL_INTERVAL, EGO[0].2, EGO[1].2]))
            .map_err(in_array(FRAMES))?;
        no_others(agents, &AGENT.map(|(_, _, field)| field)).map_err(in_array(AGENTS))?;
        let ego = EGO.iter().map(|column| from_field(column, frames, false)).collect::<Result<_>>().map_err(in_array(FRAMES))?;
        let agents =
            AGENT.iter().map(|column| from_field(column, agents, true)).collect::<Result<_>>().map_err(in_array(AGENTS))?;
        let tl_faces = match tl_faces {
            None => Vec::new(),
            Some(dtype) => no_others(dtype, &TL_FACE.map(|(_, _, field)| field))
                .and_then(|()| TL_FACE.iter().map(|column| from_field(column, dtype, true)).collect())
                .map_err(in_array(TL_FACES))?,
        };
        let masks = masks.iter().map(|(name, dtype, inner)| mask(name, dtype, inner)).collect::<Result<_>>()?;
        Ok(Self { ego, agents, tl_faces, masks })
    }

    /// Returns the columns that come from fields, in schema order.
    pub(super) fn all(&self) -> impl Iterator<Item = &FieldColumn> {
        [&self.ego, &self.agents, &self.tl_faces, &self.masks].into_iter().flatten()
    }

    /// Returns the schema of the table.
    pub(super) fn schema(&self) -> Result<Schema> {
        let mut builder: SchemaBuilder = Schema::builder();
        for (name, ty, says) in INDEX {
            builder = builder.index(name, ty).property(name, "description", says);
            if TIMES.contains(&name) {
                builder = builder.property(name, "unit", "ns");
            }
        }
        let mut groups: Vec<(&str, Vec<(&str, &ColumnType)>)> = Vec::new();
        for column in self.all() {
            let member = (column.name.as_str(), &column.ty);
            match groups.last_mut() {
                Some((group, members)) if *group == column.group => members.push(member),
                _ => groups.push((column.group, vec![member])),
            }
        }
        for (group, members) in groups {
            builder = builder.group(group, members);
        }
        builder.sequence_by(["scene_index"]).order_by(["frame_index"]).build()
    }
}

fn expect_type(field: &Field, expected: &str) -> Result<()> {
    if field.type_name() == expected {
        return Ok(());
    }
    Err(Error::unsupported(format!("field `{}`: expected {expected}, found {}", field.name, field.type_name())))
}

fn expect_text(field: &Field) -> Result<()> {
    if matches!(field.element, Element::Text { .. }) && field.shape.is_empty() {
        return Ok(());
    }
    Err(Error::unsupported(format!("field `{}`: expected text (U16), found {}", field.name, field.type_name())))
}

/// Refuses fields that no column takes, because they would be lost.
fn no_others(dtype: &Dtype, known: &[&str]) -> Result<()> {
    match dtype.fields().iter().find(|field| !known.contains(&field.name.as_str())) {
        None => Ok(()),
        Some(field) => Err(Error::unsupported(format!(
            "expected the fields {}, found `{}` ({})",
            known.join(", "),
            field.name,
            field.type_name()
        ))),
    }
}

fn from_field((group, name, field): &(&'static str, &str, &str), dtype: &Dtype, many: bool) -> Result<FieldColumn> {
    let field = dtype.require(field)?.clone();
    let ty = column_type(&field, many)?;
    Ok(FieldColumn { group, name: (*name).to_owned(), ty, field })
}

/// Returns the type of a column with one value of `field` per row, or with `many` any number of values.
fn column_type(field: &Field, many: bool) -> Result<ColumnType> {
    let primitive = match field.element {
        Element::Primitive(primitive) => primitive,
        Element::Text { .. } if many && field.shape.is_empty() => return Ok(ColumnType::list(ColumnType::Utf8)),
        Element::Text { .. } => {
            return Err(Error::unsupported(format!("field `{}`: expected numbers, found {}", field.name, field.type_name())));
        }
    };
    let inner = field.shape.iter().map(|extent| Some(*extent));
    let shape: Vec<Option<u32>> = many.then_some(None).into_iter().chain(inner).collect();
    Ok(if shape.is_empty() { ColumnType::Scalar(primitive) } else { ColumnType::tensor(primitive, shape) })
}

fn mask(name: &str, dtype: &Dtype, inner: &[u32]) -> Result<FieldColumn> {
    let refuse =
        |found: String| Error::unsupported(format!("array {MASK_PREFIX}{name}: dtype: expected u4 (N,2) or b1, found {found}"));
    let [field] = dtype.fields() else { return Err(refuse("a record of fields".to_owned())) };
    if dtype.is_structured() {
        return Err(refuse("a record of fields".to_owned()));
    }
    let mut field = field.clone();
    field.shape = inner.to_vec();
    field.len *= inner.iter().map(|extent| *extent as usize).product::<usize>();
    if !matches!(field.element, Element::Primitive(Primitive::U32 | Primitive::Bool)) {
        return Err(refuse(field.type_name()));
    }
    let ty = column_type(&field, true)?;
    Ok(FieldColumn { group: MASK_GROUP, name: format!("{MASK_GROUP}.{name}"), ty, field })
}
