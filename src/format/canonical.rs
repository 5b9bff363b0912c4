//! The canonical form of one column of one block: a structure section and a value stream. Equal values have exactly one canonical
//! form; logical hashes and stored pages use it. Follows `format-spec/canonical.md#canonical-form`.
//!
//! ```text
//! structure:  validity │ lengths │ validity │ lengths ..   (the nodes of the type in pre-order)
//! values:     element element element ..                   (little-endian, null slots zero or absent)
//! ```

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::{cursor::Cursor, lengths::PackedLengths};
use crate::{
    error::{Error, Result, counted},
    id::Hash,
    schema::ColumnType,
};

/// The canonical form of one column of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanonicalPage {
    /// The packed nodes of the structure section.
    pub structure: Vec<u8>,
    /// The value stream.
    pub values: Vec<u8>,
}

impl CanonicalPage {
    /// Returns the bytes of the canonical form.
    pub fn bytes(&self) -> u64 {
        self.structure.len() as u64 + self.values.len() as u64
    }
}

/// Computes the hash that identifies equal blocks. The hash covers the canonical form only, so codecs, compression levels and the
/// cuts into chunks do not change it (`format-spec/canonical.md#logical-block-hash`).
pub fn logical_block_hash<'a>(rows: u32, pages: impl ExactSizeIterator<Item = (&'a str, &'a CanonicalPage)>) -> Hash {
    let mut hasher = blake3::Hasher::new_derive_key("tetrys format 1 logical block");
    let length = |hasher: &mut blake3::Hasher, length: usize| {
        hasher.update(&(length as u64).to_le_bytes());
    };
    hasher.update(&rows.to_le_bytes());
    length(&mut hasher, pages.len());
    for (ty, page) in pages {
        for part in [ty.as_bytes(), &page.structure, &page.values] {
            length(&mut hasher, part.len());
            hasher.update(part);
        }
    }
    Hash(*hasher.finalize().as_bytes())
}

/// The kind of a node in the structure of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    /// Which slots hold a value.
    Validity,
    /// Number of items in each slot. The items are the slots of the next nodes.
    Lengths,
    /// Extent of one `?` dimension in each slot.
    Extents,
    /// Which elements of all tensors hold a value.
    Elements,
}

/// Returns the kinds of the nodes of a type, in pre-order.
pub(super) fn node_kinds(ty: &ColumnType) -> Vec<NodeKind> {
    let mut kinds = Vec::new();
    let mut ty = ty;
    loop {
        kinds.push(NodeKind::Validity);
        match ty {
            ColumnType::Scalar(_) | ColumnType::Date | ColumnType::Timestamp(..) | ColumnType::Duration(_) => break,
            ColumnType::Utf8 | ColumnType::Categorical | ColumnType::Binary => {
                kinds.push(NodeKind::Lengths);
                break;
            }
            ColumnType::List(item) => {
                kinds.push(NodeKind::Lengths);
                ty = item;
            }
            ColumnType::Tensor { shape, .. } => {
                kinds.extend(shape.iter().filter(|extent| extent.is_none()).map(|_| NodeKind::Extents));
                kinds.push(NodeKind::Elements);
                break;
            }
        }
    }
    kinds
}

/// Collects the slots of the nodes and the values of one page.
#[derive(Debug)]
pub struct PageBuilder {
    nodes: Vec<NodeSlots>,
    values: Vec<u8>,
}

#[derive(Debug)]
enum NodeSlots {
    Validity(BooleanBufferBuilder),
    Lengths(Vec<u32>),
}

impl PageBuilder {
    /// Creates an empty page of a column of this type.
    pub fn new(ty: &ColumnType) -> Self {
        let nodes = node_kinds(ty)
            .into_iter()
            .map(|kind| match kind {
                NodeKind::Validity | NodeKind::Elements => NodeSlots::Validity(BooleanBufferBuilder::new(0)),
                NodeKind::Lengths | NodeKind::Extents => NodeSlots::Lengths(Vec::new()),
            })
            .collect();
        Self { nodes, values: Vec::new() }
    }

    /// Appends slots to the validity node at `node`: `slots` valid slots, or the slots of `bits`.
    pub fn push_validity(&mut self, node: usize, slots: usize, bits: Option<BooleanBuffer>) {
        if let Some(NodeSlots::Validity(builder)) = self.nodes.get_mut(node) {
            match bits {
                Some(bits) => builder.append_buffer(&bits),
                None => builder.append_n(slots, true),
            }
        }
    }

    /// Appends lengths or extents to the node at `node`.
    pub fn push_lengths(&mut self, node: usize, lengths: impl IntoIterator<Item = u32>) {
        if let Some(NodeSlots::Lengths(known)) = self.nodes.get_mut(node) {
            known.extend(lengths);
        }
    }

    /// Appends bytes to the value stream.
    pub fn push_values(&mut self, values: &[u8]) {
        self.values.extend_from_slice(values);
    }

    /// Returns the page and leaves an empty builder.
    pub fn finish(&mut self) -> CanonicalPage {
        let mut structure = Vec::new();
        for node in &mut self.nodes {
            match node {
                NodeSlots::Validity(builder) => write_validity(&builder.finish(), &mut structure),
                NodeSlots::Lengths(lengths) => {
                    PackedLengths::write(lengths, &mut structure);
                    lengths.clear();
                }
            }
        }
        CanonicalPage { structure, values: std::mem::take(&mut self.values) }
    }
}

const ALL_VALID: u8 = 0;
const MIXED: u8 = 1;
const ALL_NULL: u8 = 2;

fn write_validity(bits: &BooleanBuffer, out: &mut Vec<u8>) {
    match bits.count_set_bits() {
        set if set == bits.len() => out.push(ALL_VALID),
        0 => out.push(ALL_NULL),
        _ => {
            out.push(MIXED);
            let start = out.len();
            out.resize(start + bits.len().div_ceil(8), 0);
            let bytes = out.get_mut(start..).unwrap_or_default();
            for position in bits.set_indices() {
                if let Some(byte) = bytes.get_mut(position / 8) {
                    *byte |= 1 << (position % 8);
                }
            }
        }
    }
}

/// A checked structure section.
#[derive(Clone, Debug)]
pub struct Structure {
    pub(super) nodes: Vec<Node>,
    /// Number of slots of the innermost level.
    pub(super) slots: usize,
    /// Length of the value stream in bytes.
    pub(super) value_bytes: usize,
}

/// One node of a checked structure.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// `None` if all slots are valid.
    Validity(Option<BooleanBuffer>),
    /// Number of slots, all null. The bitmap is not allocated before the values are read: one byte can claim very many slots.
    AllNull(usize),
    Lengths(PackedLengths),
}

/// Slots that a page may have at any level, whatever its values. A structure of a few bytes can claim very many slots, so the
/// values that were read bound them.
const MAX_SLOTS_ALWAYS: usize = 1 << 20;
/// Slots that a page may have at any level for every byte of its values, if that is more.
const MAX_SLOTS_PER_BYTE: usize = 8;

impl Structure {
    /// Whether there is no null at any level, and no lengths.
    pub(crate) fn is_all_valid(&self) -> bool {
        self.nodes.iter().all(|node| matches!(node, Node::Validity(None)))
    }

    /// Parses and checks the structure of a page of `rows` rows whose value stream has `value_bytes` bytes.
    ///
    /// # Errors
    /// - `Corrupt`: a node is cut short or not canonical, the structure has too many slots, or it does not match the
    ///   value stream.
    pub fn parse(ty: &ColumnType, rows: u32, structure: &[u8], value_bytes: usize) -> Result<Self> {
        let mut cursor = Cursor::new(structure, "page structure");
        let bound = MAX_SLOTS_ALWAYS.max(value_bytes.saturating_mul(MAX_SLOTS_PER_BYTE));
        let mut slots = usize::try_from(rows).unwrap_or(usize::MAX);
        let mut nodes = Vec::new();
        for kind in node_kinds(ty) {
            if slots > bound {
                return Err(Error::corrupt(format!(
                    "page structure: {} for {} of values, at most {bound}",
                    counted(slots, "slot"),
                    counted(value_bytes, "byte")
                )));
            }
            nodes.push(match kind {
                NodeKind::Validity => read_validity(&mut cursor, slots)?,
                NodeKind::Lengths => {
                    let lengths = PackedLengths::read(&mut cursor, slots)?;
                    slots = usize::try_from(lengths.sum()).unwrap_or(usize::MAX);
                    Node::Lengths(lengths)
                }
                NodeKind::Extents => Node::Lengths(PackedLengths::read(&mut cursor, slots)?),
                NodeKind::Elements => {
                    let elements = checked_elements(ty, &nodes, slots, value_bytes)?;
                    read_validity(&mut cursor, elements)?
                }
            });
        }
        cursor.end()?;
        checked_elements(ty, &nodes, slots, value_bytes)?;
        Ok(Self { nodes, slots, value_bytes })
    }
}

/// Returns the innermost type, below all lists.
pub(super) fn innermost(ty: &ColumnType) -> &ColumnType {
    let mut ty = ty;
    while let ColumnType::List(item) = ty {
        ty = item;
    }
    ty
}

/// Returns the number of elements of the value stream, after a check that they fill the stream exactly.
fn checked_elements(ty: &ColumnType, nodes: &[Node], slots: usize, value_bytes: usize) -> Result<usize> {
    let elements = elements(ty, nodes, slots).ok_or_else(|| Error::corrupt("page structure: over 2^64 elements"))?;
    let expected = elements.checked_mul(ty.element_width() as u64);
    if expected != Some(value_bytes as u64) {
        return Err(Error::corrupt(format!(
            "page of {ty}: {} of values, the structure says {}",
            counted(value_bytes, "byte"),
            expected.map_or("over 2^64".to_owned(), |bytes| bytes.to_string())
        )));
    }
    Ok(value_bytes / ty.element_width().max(1))
}

/// Computes the number of elements of the value stream from the structure; `None` on overflow.
fn elements(ty: &ColumnType, nodes: &[Node], slots: usize) -> Option<u64> {
    match innermost(ty) {
        ColumnType::Utf8 | ColumnType::Categorical | ColumnType::Binary => Some(slots as u64),
        ColumnType::Tensor { shape, .. } => {
            let variable = shape.iter().filter(|extent| extent.is_none()).count();
            let fixed = shape.iter().flatten().try_fold(1_u64, |product, extent| product.checked_mul(u64::from(*extent)))?;
            // The validity node of the elements may not be parsed yet.
            let extents = tensor_extents(nodes, variable)?;
            if variable == 0 {
                return fixed.checked_mul(slots as u64);
            }
            // A few bytes can claim very many tensors of equal shape, so these are not iterated. Tensors of different shapes
            // take bits each.
            if extents.iter().all(|node| matches!(node, Node::Lengths(lengths) if lengths.is_uniform())) {
                let each = if slots == 0 { Some(0) } else { slot_elements(extents, 0, fixed) };
                return each?.checked_mul(slots as u64);
            }
            let mut total = 0_u64;
            for slot in 0..slots {
                total = total.checked_add(slot_elements(extents, slot, fixed)?)?;
            }
            Some(total)
        }
        _ => Some(slots as u64),
    }
}

/// Returns the nodes of the `variable` extents: the last nodes of the structure, apart from the validity of the elements.
fn tensor_extents(nodes: &[Node], variable: usize) -> Option<&[Node]> {
    let lengths = nodes.iter().rposition(|node| matches!(node, Node::Lengths(_))).map_or(0, |last| last + 1);
    nodes.get(lengths.checked_sub(variable)?..lengths)
}

/// Returns the number of elements of one tensor: the product of its extents.
pub(super) fn slot_elements(extents: &[Node], slot: usize, fixed: u64) -> Option<u64> {
    extents.iter().try_fold(fixed, |product, node| match node {
        Node::Lengths(lengths) => product.checked_mul(u64::from(lengths.get(slot))),
        Node::Validity(_) | Node::AllNull(_) => None,
    })
}

fn read_validity(cursor: &mut Cursor<'_>, slots: usize) -> Result<Node> {
    match cursor.u8()? {
        ALL_VALID => Ok(Node::Validity(None)),
        ALL_NULL if slots > 0 => Ok(Node::AllNull(slots)),
        MIXED => {
            let bytes = cursor.take(slots.div_ceil(8))?;
            let bits = BooleanBuffer::new(bytes.to_vec().into(), 0, slots);
            let unused = slots.next_multiple_of(8) - slots;
            let tail = bytes.last().copied().unwrap_or(0);
            let set = bits.count_set_bits();
            if set == 0 || set == slots || (unused > 0 && tail >> (8 - unused) != 0) {
                return Err(Error::corrupt("page structure: a validity bitmap is not canonical"));
            }
            Ok(Node::Validity(Some(bits)))
        }
        kind => Err(Error::corrupt(format!(
            "page structure: validity kind {kind} for {}, expected 0, 1 or 2",
            counted(slots, "slot")
        ))),
    }
}
