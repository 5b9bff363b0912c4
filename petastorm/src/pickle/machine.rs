//! The stack machine: runs the opcodes of a pickle into nodes. Follows `pickletools.py` of CPython, which documents each opcode.

use std::{collections::HashMap, sync::Arc};

use tetrys::{Error, Result};

use super::{Call, MAX_NODES, Node, NodeId};

/// Maximum bytes of a line of protocol 0: a number, a name, a text.
const MAX_LINE: usize = 16 << 20;

/// Maximum bytes of the name of a class or module.
const MAX_NAME: usize = 512;

/// Runs the opcodes. Returns all nodes, and the root.
pub(super) fn run(bytes: &[u8]) -> Result<(Vec<Node>, NodeId)> {
    let mut machine =
        Machine { input: Input { bytes, at: 0 }, nodes: Vec::new(), stack: Vec::new(), marks: Vec::new(), memo: HashMap::new() };
    loop {
        let at = machine.input.at;
        let opcode = machine.input.byte()?;
        match machine.step(opcode).map_err(|error| error.at(format!("pickle, byte {at}, opcode {}", name(opcode))))? {
            None => {}
            Some(root) => return Ok((machine.nodes, root)),
        }
    }
}

/// Shows an opcode: the character in Python's documentation, or its code.
fn name(opcode: u8) -> String {
    if opcode.is_ascii_graphic() { format!("`{}`", char::from(opcode)) } else { format!("0x{opcode:02x}") }
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| {
            Error::corrupt(format!(
                "expected {len} more bytes at {}, found the end of the pickle at {}",
                self.at,
                self.bytes.len()
            ))
        })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        self.take(1).map(|byte| byte[0])
    }

    /// A little-endian number of `len` bytes, at most 8.
    fn unsigned(&mut self, len: usize) -> Result<u64> {
        Ok(self.take(len)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn sized(&mut self, len: usize) -> Result<&'a [u8]> {
        let size = self.unsigned(len)?;
        self.take(usize::try_from(size).unwrap_or(usize::MAX))
    }

    /// The bytes up to the end of the line, without it.
    fn line(&mut self) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let len = rest.iter().take(MAX_LINE).position(|byte| *byte == b'\n');
        let len = len.ok_or_else(|| Error::corrupt("expected a line, found no end of it"))?;
        self.at += len + 1;
        Ok(&rest[..len])
    }

    fn line_text(&mut self) -> Result<&'a str> {
        text(self.line()?)
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| Error::corrupt(format!("expected UTF-8, found {error}")))
}

/// A text that may be copied often costs no memory again.
fn owned(bytes: &[u8]) -> Result<Node> {
    text(bytes).map(|text| Node::Text(text.into()))
}

struct Machine<'a> {
    input: Input<'a>,
    nodes: Vec<Node>,
    stack: Vec<NodeId>,
    /// Heights of the stack at the marks.
    marks: Vec<usize>,
    memo: HashMap<u32, NodeId>,
}

impl Machine<'_> {
    /// Runs one opcode. Returns the root at the end of the pickle.
    fn step(&mut self, opcode: u8) -> Result<Option<NodeId>> {
        match opcode {
            // Frames only group reads, and the protocol says nothing that an opcode does not say.
            0x95 => drop(self.input.take(8)?),
            0x80 => match self.input.byte()? {
                0..=5 => {}
                other => return Err(Error::unsupported(format!("expected protocol 0 to 5, found {other}"))),
            },
            b'.' => return self.pop().map(Some),
            b'(' => self.marks.push(self.stack.len()),
            b'0' => self.discard()?,
            b'1' => drop(self.pop_mark()?),
            b'2' => {
                let top = self.top()?;
                self.push_id(top)?;
            }
            b'N' | 0x88 | 0x89 | b'I' | b'J' | b'K' | b'M' | b'L' | 0x8a | 0x8b | b'F' | b'G' => {
                let number = self.number(opcode)?;
                self.push(number)?;
            }
            b'S' | b'T' | b'U' | b'V' | b'X' | 0x8c | 0x8d | b'B' | b'C' | 0x8e | 0x96 => {
                let text = self.text(opcode)?;
                self.push(text)?;
            }
            b'}' => self.push(Node::Dict(Vec::new()))?,
            b']' => self.push(Node::List(Vec::new()))?,
            b')' => self.push(Node::Tuple(Vec::new()))?,
            0x8f => self.push(Node::Set(Vec::new()))?,
            b't' | b'l' | b'd' | 0x91 => {
                let items = self.pop_mark()?;
                let node = match opcode {
                    b't' => Node::Tuple(items),
                    b'l' => Node::List(items),
                    b'd' => Node::Dict(pairs(&items)?),
                    _ => Node::Set(items),
                };
                self.push(node)?;
            }
            0x85..=0x87 => {
                let len = usize::from(opcode - 0x84);
                let first = self.stack.len().checked_sub(len).filter(|first| *first >= self.floor()).ok_or_else(empty)?;
                let items = self.stack.split_off(first);
                self.push(Node::Tuple(items))?;
            }
            b'a' => {
                let item = self.pop()?;
                self.extend(vec![item])?;
            }
            b'e' | 0x90 => {
                let items = self.pop_mark()?;
                self.extend(items)?;
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(vec![(key, value)])?;
            }
            b'u' => {
                let entries = pairs(&self.pop_mark()?)?;
                self.set(entries)?;
            }
            b'b' => self.build()?,
            b'p' | b'q' | b'r' | 0x94 => {
                let key = match opcode {
                    b'p' => self.key()?,
                    b'q' => u32::from(self.input.byte()?),
                    b'r' => self.key_of(4)?,
                    _ => u32::try_from(self.memo.len()).unwrap_or(u32::MAX),
                };
                let top = self.top()?;
                self.memo.insert(key, top);
            }
            b'g' | b'h' | b'j' => {
                let key = match opcode {
                    b'g' => self.key()?,
                    b'h' => u32::from(self.input.byte()?),
                    _ => self.key_of(4)?,
                };
                let found = self.memo.get(&key).copied();
                self.push_id(found.ok_or_else(|| Error::corrupt(format!("the memo has no entry {key}")))?)?;
            }
            b'c' | 0x93 | b'i' | b'o' | b'R' | 0x81 | 0x92 => self.global_or_call(opcode)?,
            b'P' | b'Q' | 0x82..=0x84 | 0x97 | 0x98 => {
                return Err(Error::unsupported("the pickle needs an object from outside of it, which cannot be known"));
            }
            _ => return Err(Error::corrupt("no such opcode")),
        }
        Ok(None)
    }

    fn number(&mut self, opcode: u8) -> Result<Node> {
        let unlike = |found: &str| Error::corrupt(format!("expected a number, found `{}`", shown(found)));
        Ok(match opcode {
            b'N' => Node::None,
            0x88 => Node::Bool(true),
            0x89 => Node::Bool(false),
            b'J' => Node::Int(i64::from(i32::from_le_bytes(self.input.take(4)?.try_into().unwrap_or_default()))),
            b'K' => Node::Int(i64::from(self.input.byte()?)),
            b'M' => Node::Int(self.input.unsigned(2)?.cast_signed()),
            b'I' | b'L' => {
                let line = self.input.line_text()?;
                match (opcode, line) {
                    (b'I', "01") => Node::Bool(true),
                    (b'I', "00") => Node::Bool(false),
                    _ => Node::Int(line.strip_suffix('L').unwrap_or(line).trim().parse().map_err(|_| unlike(line))?),
                }
            }
            0x8a => of_long(self.input.sized(1)?),
            0x8b => of_long(self.input.sized(4)?),
            b'F' => {
                let line = self.input.line_text()?;
                Node::Float(line.trim().parse().map_err(|_| unlike(line))?)
            }
            _ => Node::Float(f64::from_be_bytes(self.input.take(8)?.try_into().unwrap_or_default())),
        })
    }

    fn text(&mut self, opcode: u8) -> Result<Node> {
        match opcode {
            b'S' => quoted(self.input.line()?).map(Node::Bytes),
            b'V' => unescaped(self.input.line()?).map(|text| Node::Text(text.into())),
            b'X' => owned(self.input.sized(4)?),
            0x8c => owned(self.input.sized(1)?),
            0x8d => owned(self.input.sized(8)?),
            b'U' | b'C' => Ok(Node::Bytes(self.input.sized(1)?.to_vec())),
            b'T' | b'B' => Ok(Node::Bytes(self.input.sized(4)?.to_vec())),
            _ => Ok(Node::Bytes(self.input.sized(8)?.to_vec())),
        }
    }

    fn global_or_call(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            b'c' => {
                let (module, name) = (self.input.line_text()?.into(), self.input.line_text()?.into());
                self.push(global(module, name)?)
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let text = |id: NodeId| match self.node(id) {
                    Node::Text(text) => Ok(Arc::clone(text)),
                    other => Err(Error::corrupt(format!("expected the name of a class, found {}", other.kind()))),
                };
                let global = global(text(module)?, text(name)?)?;
                self.push(global)
            }
            b'i' => {
                let (module, name) = (self.input.line_text()?.into(), self.input.line_text()?.into());
                let args = self.pop_mark()?;
                self.push(global(module, name)?)?;
                let callable = self.pop()?;
                self.call(callable, args)
            }
            b'o' => {
                let mut args = self.pop_mark()?;
                if args.is_empty() {
                    return Err(empty());
                }
                let callable = args.remove(0);
                self.call(callable, args)
            }
            0x92 => {
                let (named, args, callable) = (self.pop()?, self.pop()?, self.pop()?);
                match self.node(named) {
                    Node::Dict(entries) if entries.is_empty() => self.call_with(callable, args),
                    other => Err(Error::unsupported(format!("an object with arguments by name ({})", other.kind()))),
                }
            }
            _ => {
                let (args, callable) = (self.pop()?, self.pop()?);
                self.call_with(callable, args)
            }
        }
    }

    fn call(&mut self, callable: NodeId, args: Vec<NodeId>) -> Result<()> {
        self.push(Node::Tuple(args))?;
        let args = self.pop()?;
        self.call_with(callable, args)
    }

    fn call_with(&mut self, callable: NodeId, args: NodeId) -> Result<()> {
        match self.node(args) {
            Node::Tuple(_) => {
                self.push(Node::Call(Box::new(Call { callable, args, state: None, items: Vec::new(), entries: Vec::new() })))
            }
            other => Err(Error::corrupt(format!("expected a tuple of arguments, found {}", other.kind()))),
        }
    }

    /// Appends items to the list, set or call on top of the stack.
    fn extend(&mut self, new: Vec<NodeId>) -> Result<()> {
        let top = self.top()?;
        match self.nodes.get_mut(top.0 as usize) {
            Some(Node::List(items) | Node::Set(items)) => items.extend(new),
            Some(Node::Call(call)) => call.items.extend(new),
            other => return Err(unlike("a list or a set", other.as_deref())),
        }
        Ok(())
    }

    /// Sets entries in the dict or call on top of the stack.
    fn set(&mut self, new: Vec<(NodeId, NodeId)>) -> Result<()> {
        let top = self.top()?;
        match self.nodes.get_mut(top.0 as usize) {
            Some(Node::Dict(entries)) => entries.extend(new),
            Some(Node::Call(call)) => call.entries.extend(new),
            other => return Err(unlike("a dict", other.as_deref())),
        }
        Ok(())
    }

    /// Notes the state of the object on top of the stack.
    fn build(&mut self) -> Result<()> {
        let state = self.pop()?;
        let top = self.top()?;
        match self.nodes.get_mut(top.0 as usize) {
            Some(Node::Call(call)) if call.state.is_none() => {
                call.state = Some(state);
                Ok(())
            }
            Some(Node::Call(_)) => Err(Error::unsupported("an object with two states")),
            other => Err(unlike("an object", other.as_deref())),
        }
    }

    fn key(&mut self) -> Result<u32> {
        let line = self.input.line_text()?;
        line.trim()
            .parse()
            .map_err(|_| Error::corrupt(format!("expected the number of an entry of the memo, found `{}`", shown(line))))
    }

    fn key_of(&mut self, len: usize) -> Result<u32> {
        Ok(u32::try_from(self.input.unsigned(len)?).unwrap_or(u32::MAX))
    }

    fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0 as usize).unwrap_or(&Node::None)
    }

    fn push(&mut self, node: Node) -> Result<()> {
        if self.nodes.len() >= MAX_NODES {
            return Err(Error::unsupported(format!("a pickle of more than {MAX_NODES} values")));
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        self.push_id(id)
    }

    fn push_id(&mut self, id: NodeId) -> Result<()> {
        self.stack.push(id);
        Ok(())
    }

    /// The height below which only `POP_MARK` and its kin reach.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<NodeId> {
        if self.stack.len() <= self.floor() {
            return Err(empty());
        }
        self.stack.pop().ok_or_else(empty)
    }

    fn top(&self) -> Result<NodeId> {
        if self.stack.len() <= self.floor() {
            return Err(empty());
        }
        self.stack.last().copied().ok_or_else(empty)
    }

    /// Drops the top value, or the mark if that is on top.
    fn discard(&mut self) -> Result<()> {
        if self.marks.last() == Some(&self.stack.len()) {
            self.marks.pop();
            return Ok(());
        }
        self.pop().map(drop)
    }

    fn pop_mark(&mut self) -> Result<Vec<NodeId>> {
        let mark = self.marks.pop().ok_or_else(|| Error::corrupt("the stack has no mark"))?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }
}

/// A class or function. Its names are short, because messages and schemas copy them.
fn global(module: Arc<str>, name: Arc<str>) -> Result<Node> {
    match module.len().max(name.len()) {
        0..=MAX_NAME => Ok(Node::Global { module, name }),
        found => Err(Error::unsupported(format!("expected the name of a class of at most {MAX_NAME} bytes, found {found}"))),
    }
}

fn empty() -> Error {
    Error::corrupt("the stack is empty")
}

fn unlike(expected: &str, found: Option<&Node>) -> Error {
    Error::corrupt(format!("expected {expected}, found {}", found.map_or("nothing", Node::kind)))
}

fn pairs(items: &[NodeId]) -> Result<Vec<(NodeId, NodeId)>> {
    let (pairs, rest) = items.as_chunks::<2>();
    match rest {
        [] => Ok(pairs.iter().map(|[key, value]| (*key, *value)).collect()),
        _ => Err(Error::corrupt(format!("expected keys and values, found {} values", items.len()))),
    }
}

/// Shortens stored text for a message.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// An integer in two's complement, least significant byte first.
fn of_long(bytes: &[u8]) -> Node {
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 8];
    match wide.get_mut(..bytes.len()) {
        Some(start) => {
            start.copy_from_slice(bytes);
            Node::Int(i64::from_le_bytes(wide))
        }
        None => Node::BigInt(bytes.to_vec()),
    }
}

/// The bytes of a string literal of Python 2: `'a\x00b'`.
fn quoted(line: &[u8]) -> Result<Vec<u8>> {
    let inner = match line {
        [first @ (b'\'' | b'"'), inner @ .., last] if first == last => inner,
        _ => return Err(Error::corrupt("expected a text in quotes")),
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.iter().copied();
    let broken = || Error::corrupt("a text with an escape that Python does not have");
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match rest.next().ok_or_else(broken)? {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'x' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16)).ok_or_else(broken);
                let value = digit()? * 16 + digit()?;
                out.push(u8::try_from(value).unwrap_or(0));
            }
            same @ (b'\\' | b'\'' | b'"') => out.push(same),
            _ => return Err(broken()),
        }
    }
    Ok(out)
}

/// The text of a line in `raw-unicode-escape`: Latin-1 with `\u` and `\U`.
fn unescaped(line: &[u8]) -> Result<String> {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let broken = || Error::corrupt("a text with an escape of no character");
    let unit = |rest: &mut &[u8], digits: usize| {
        let (code, after) = rest.split_at_checked(digits).ok_or_else(broken)?;
        *rest = after;
        u32::from_str_radix(text(code)?, 16).map_err(|_| broken())
    };
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let digits = match (first, after.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => {
                out.push(char::from(*first));
                continue;
            }
        };
        rest = &rest[1..];
        let mut code = unit(&mut rest, digits)?;
        // Python 2 wrote characters beyond 16 bits as two escapes.
        if (0xd800..0xdc00).contains(&code)
            && let Some(mut low) = rest.strip_prefix(b"\\u")
        {
            let half = unit(&mut low, 4)?;
            if (0xdc00..0xe000).contains(&half) {
                code = 0x1_0000 + ((code - 0xd800) << 10) + (half - 0xdc00);
                rest = low;
            }
        }
        out.push(char::from_u32(code).ok_or_else(broken)?);
    }
    Ok(out)
}
