//! An inert interpreter of Python pickles, protocols 0 to 5: opcodes build data. Nothing is imported, called or executed.
//!
//! A pickle is a program for a stack machine. Python's machine imports classes and calls functions while it loads, so loading a
//! pickle runs code of whoever wrote it. This machine makes a [`Node`] of each import ([`Node::Global`]) and of each call
//! ([`Node::Call`]), and leaves it to its caller what they mean.
//!
//! Nodes lie in one arena and refer to each other by number. Size, nodes and depth are bounded, and nodes that contain themselves
//! are refused, so a caller may walk down from the root without counting.

mod machine;
mod reading;

pub use reading::Object;

use std::sync::Arc;

use tetrys::{Error, Result};

/// Maximum bytes of a pickle.
pub const MAX_PICKLE: usize = 64 << 20;
/// Maximum nodes of a pickle.
const MAX_NODES: usize = 4 << 20;
/// Maximum nesting of nodes. The row-group index of Petastorm needs 9.
const MAX_DEPTH: usize = 64;

/// The number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(u32);

/// A value that a pickle describes.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are those of Python's types")]
pub enum Node {
    None,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits: its bytes in two's complement, least significant first.
    BigInt(Vec<u8>),
    Float(f64),
    Text(Arc<str>),
    /// `bytes` or `bytearray` of Python 3, or `str` of Python 2.
    Bytes(Vec<u8>),
    Tuple(Vec<NodeId>),
    List(Vec<NodeId>),
    Set(Vec<NodeId>),
    Dict(Vec<(NodeId, NodeId)>),
    /// What Python would import: a class or a function.
    Global {
        module: Arc<str>,
        name: Arc<str>,
    },
    /// What Python would call, with all that it would then do to the result.
    Call(Box<Call>),
}

/// A call that Python would make while it loads the pickle.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The callable: usually a [`Node::Global`].
    pub callable: NodeId,
    /// The arguments: a tuple.
    pub args: NodeId,
    /// The state that Python would give to the result.
    pub state: Option<NodeId>,
    /// Items that Python would append or add to the result.
    pub items: Vec<NodeId>,
    /// Entries that Python would set in the result.
    pub entries: Vec<(NodeId, NodeId)>,
}

/// A parsed pickle.
///
/// ```
/// use tetrys_petastorm::pickle::{Node, Pickle};
/// // In Python this pickle would run `os.system("true")`.
/// let pickle = Pickle::parse(b"cos\nsystem\n(S'true'\ntR.")?;
/// let Node::Call(call) = pickle.root() else { panic!("a call") };
/// assert_eq!(pickle.class(call.callable), Some(("os", "system")));
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pickle {
    nodes: Vec<Node>,
    root: NodeId,
}

impl Pickle {
    /// Parses a pickle.
    ///
    /// # Errors
    /// The messages name the byte and the opcode.
    /// - `Corrupt`: the bytes end early, have no opcode, pop from an empty stack, or refer to what was not stored.
    /// - `Unsupported`: the pickle has over 64 MiB, 4 Mi nodes or 64 levels, contains itself, or needs objects from outside of it
    ///   (persistent ids, extension codes, out-of-band buffers).
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_PICKLE {
            return Err(Error::unsupported(format!("a pickle of {} bytes: expected at most {MAX_PICKLE}", bytes.len())));
        }
        let (nodes, root) = machine::run(bytes)?;
        let pickle = Self { nodes, root };
        pickle.check_depth()?;
        Ok(pickle)
    }

    /// Returns the value that the pickle describes.
    pub fn root(&self) -> &Node {
        self.node(self.root)
    }

    /// Returns the number of the root.
    pub fn root_id(&self) -> NodeId {
        self.root
    }

    /// Returns a node by its number.
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0 as usize).unwrap_or(&Node::None)
    }

    /// Refuses nodes that contain themselves, and nodes that are nested too deeply.
    fn check_depth(&self) -> Result<()> {
        /// How deep a node is known to be: unknown, in progress, or done.
        #[derive(Clone, Copy, PartialEq)]
        enum Height {
            Unknown,
            Open,
            Known(usize),
        }
        let mut heights = vec![Height::Unknown; self.nodes.len()];
        let mut path: Vec<(NodeId, Vec<NodeId>, usize)> = vec![(self.root, self.children(self.root), 0)];
        heights[self.root.0 as usize] = Height::Open;
        let too_deep = || Error::unsupported(format!("a pickle of more than {MAX_DEPTH} levels"));
        while let Some((id, children, deepest)) = path.last_mut() {
            let Some(child) = children.pop() else {
                let (height, id) = (*deepest + 1, *id);
                path.pop();
                heights[id.0 as usize] = Height::Known(height);
                if height > MAX_DEPTH {
                    return Err(too_deep());
                }
                if let Some((_, _, deepest)) = path.last_mut() {
                    *deepest = height.max(*deepest);
                }
                continue;
            };
            match heights[child.0 as usize] {
                Height::Known(height) => *deepest = height.max(*deepest),
                Height::Open => return Err(Error::unsupported("a pickle with an object that contains itself")),
                Height::Unknown if path.len() >= MAX_DEPTH => return Err(too_deep()),
                Height::Unknown => {
                    heights[child.0 as usize] = Height::Open;
                    path.push((child, self.children(child), 0));
                }
            }
        }
        Ok(())
    }

    fn children(&self, id: NodeId) -> Vec<NodeId> {
        let pairs = |entries: &[(NodeId, NodeId)]| entries.iter().flat_map(|(key, value)| [*key, *value]).collect::<Vec<_>>();
        match self.node(id) {
            Node::Tuple(items) | Node::List(items) | Node::Set(items) => items.clone(),
            Node::Dict(entries) => pairs(entries),
            Node::Call(call) => {
                let mut all = pairs(&call.entries);
                all.extend(&call.items);
                all.extend([call.callable, call.args]);
                all.extend(call.state);
                all
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
