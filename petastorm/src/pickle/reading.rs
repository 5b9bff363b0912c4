//! What a reader of a pickle asks its nodes for: texts, numbers, the entries of a dict, and the class and state of an object.

use std::borrow::Cow;

use super::{Call, Node, NodeId, Pickle};

/// An object: its class, the values of a tuple that it is, and its attributes.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// Module and name of the class.
    pub class: (Cow<'a, str>, &'a str),
    /// The arguments of its class, or the values of the named tuple that it is.
    pub values: Vec<NodeId>,
    /// The dict of its attributes.
    pub state: Option<NodeId>,
    /// Items that were appended to it.
    pub items: &'a [NodeId],
    /// Entries that were set in it.
    pub entries: &'a [(NodeId, NodeId)],
}

impl Object<'_> {
    /// Whether the object is of this class.
    pub fn is(&self, module: &str, name: &str) -> bool {
        self.class.0 == module && self.class.1 == name
    }

    /// Returns the full name of the class.
    pub fn class_name(&self) -> String {
        format!("{}.{}", self.class.0, self.class.1)
    }
}

/// Names that the modules of Petastorm had before it was published.
const FORMER: [&str; 2] = ["av.experimental.deepdrive.dataset_toolkit", "av.ml.dataset_toolkit"];

/// The current name of a module.
fn renamed(module: &str) -> Cow<'_, str> {
    for former in FORMER {
        if let Some(rest) = module.strip_prefix(former)
            && (rest.is_empty() || rest.starts_with('.'))
        {
            return format!("petastorm{rest}").into();
        }
    }
    match module {
        "__builtin__" => "builtins".into(),
        "copy_reg" => "copyreg".into(),
        _ => module.into(),
    }
}

impl Pickle {
    /// Returns module and name of a class or function.
    pub fn class(&self, id: NodeId) -> Option<(&str, &str)> {
        match self.node(id) {
            Node::Global { module, name } => Some((module, name)),
            _ => None,
        }
    }

    /// Returns the current name of a class or function, with its module.
    pub(crate) fn class_now(&self, id: NodeId) -> Option<(Cow<'_, str>, &str)> {
        self.class(id).map(|(module, name)| (renamed(module), name))
    }

    /// Returns a text: of Python 3, or one of Python 2 that is UTF-8.
    pub fn text(&self, id: NodeId) -> Option<&str> {
        match self.node(id) {
            Node::Text(text) => Some(text),
            Node::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Returns bytes. Protocols below 3 write them as a call of `_codecs.encode` with Latin-1 text.
    pub fn bytes(&self, id: NodeId) -> Option<Cow<'_, [u8]>> {
        match self.node(id) {
            Node::Bytes(bytes) => Some(bytes.into()),
            Node::Call(call) if self.class(call.callable) == Some(("_codecs", "encode")) => {
                let Node::Text(text) = self.node(*self.sequence(call.args)?.first()?) else { return None };
                text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect::<Option<Vec<u8>>>().map(Cow::Owned)
            }
            // `bytes()` of nothing.
            Node::Call(call) if self.class_now(call.callable) == Some(("builtins".into(), "bytes")) => {
                self.sequence(call.args)?.is_empty().then(|| Vec::new().into())
            }
            _ => None,
        }
    }

    /// Returns an integer.
    pub fn int(&self, id: NodeId) -> Option<i64> {
        match self.node(id) {
            Node::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a bool. Protocol 0 and 1 of Python 2 write 0 and 1.
    pub fn bool(&self, id: NodeId) -> Option<bool> {
        match self.node(id) {
            Node::Bool(value) => Some(*value),
            Node::Int(0) => Some(false),
            Node::Int(1) => Some(true),
            _ => None,
        }
    }

    /// Returns the items of a tuple or list.
    pub fn sequence(&self, id: NodeId) -> Option<&[NodeId]> {
        match self.node(id) {
            Node::Tuple(items) | Node::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries of a dict, an `OrderedDict` or a `defaultdict`, in order.
    pub fn entries(&self, id: NodeId) -> Option<Vec<(NodeId, NodeId)>> {
        let call = match self.node(id) {
            Node::Dict(entries) => return Some(entries.clone()),
            Node::Call(call) => call,
            _ => return None,
        };
        let (module, name) = self.class_now(call.callable)?;
        if module != "collections" {
            return None;
        }
        let mut entries = Vec::new();
        // The argument of a `defaultdict` is the class of its values; that of an `OrderedDict` of Python 2 is the list of its
        // entries.
        if name == "OrderedDict"
            && let Some(first) = self.sequence(call.args)?.first()
        {
            for pair in self.sequence(*first)? {
                let [key, value] = self.sequence(*pair)? else { return None };
                entries.push((*key, *value));
            }
        } else if name != "OrderedDict" && name != "defaultdict" {
            return None;
        }
        entries.extend(&call.entries);
        Some(entries)
    }

    /// Returns the items of a set: of one that is written as such, or as a call of `set` with a list.
    pub fn set(&self, id: NodeId) -> Option<&[NodeId]> {
        match self.node(id) {
            Node::Set(items) => Some(items),
            Node::Call(call) => {
                let (module, name) = self.class_now(call.callable)?;
                if module != "builtins" || !matches!(name, "set" | "frozenset") {
                    return None;
                }
                match self.sequence(call.args)? {
                    [] => Some(&[]),
                    [list] => self.sequence(*list),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the value of an attribute in the state of an object, or of an entry of a dict, by its name.
    pub fn attribute(&self, state: NodeId, name: &str) -> Option<NodeId> {
        let Node::Dict(entries) = self.node(state) else { return None };
        // A later entry replaces an earlier one.
        entries.iter().rev().find(|(key, _)| self.text(*key) == Some(name)).map(|(_, value)| *value)
    }

    /// Returns an object: the result of a call of a class, in any of the forms that Python writes.
    pub fn object(&self, id: NodeId) -> Option<Object<'_>> {
        let Node::Call(call) = self.node(id) else { return None };
        let args = self.sequence(call.args)?;
        let Call { state, items, entries, .. } = &**call;
        let of = |class, values| Some(Object { class, values, state: *state, items, entries });
        let (module, name) = self.class_now(call.callable)?;
        match (&*module, name, args) {
            // Protocols 0 and 1: the class, its base, and the value of the base.
            ("copyreg", "_reconstructor", [class, _, base]) => {
                of(self.class_now(*class)?, self.sequence(*base).unwrap_or_default().to_vec())
            }
            ("copyreg", "__newobj__", [class, values @ ..]) => of(self.class_now(*class)?, values.to_vec()),
            // Spark's patch of named tuples: the name of the class, its fields, its values.
            ("pyspark.serializers", "_restore", [name, _, values]) => {
                let values = self.sequence(*values)?.to_vec();
                of(("petastorm.unischema".into(), self.text(*name)?), values)
            }
            _ => of((module, name), args.to_vec()),
        }
    }

    /// Describes a node for messages: `a dict`, `a call of os.system`.
    pub fn described(&self, id: NodeId) -> String {
        let shown = |text: &str| text.chars().take(80).collect::<String>();
        match self.node(id) {
            Node::Global { module, name } => format!("{}.{}", shown(module), shown(name)),
            Node::Call(call) => match self.class(call.callable) {
                Some((module, name)) => format!("a call of {}.{}, which was not made", shown(module), shown(name)),
                None => format!("a call of {}, which was not made", self.node(call.callable).kind()),
            },
            Node::Text(text) => format!("the text `{}`", shown(text)),
            Node::Int(number) => number.to_string(),
            other => other.kind().to_owned(),
        }
    }
}

impl Node {
    /// Returns the kind of value for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a bool",
            Self::Int(_) | Self::BigInt(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text(_) => "a text",
            Self::Bytes(_) => "bytes",
            Self::Tuple(_) => "a tuple",
            Self::List(_) => "a list",
            Self::Set(_) => "a set",
            Self::Dict(_) => "a dict",
            Self::Global { .. } => "a class",
            Self::Call(_) => "a call",
        }
    }
}
