//! The declarations of a definition in IDL: tokens to structs, aliases and constants by their full names, `package::msg::Type`.

use std::collections::BTreeMap;

use tetrys::{Error, Result, schema::Primitive};

use super::lexer::{Placed, Token, tokens};
use crate::types::MAX_DEPTH;

/// The declaration of a name.
#[derive(Clone, Debug)]
pub(super) enum Declaration<'a> {
    Struct {
        /// The struct whose members come first.
        base: Option<String>,
        members: Vec<Member<'a>>,
    },
    Alias(Spec<'a>),
    Enum,
    /// The tokens of its value.
    Constant(Vec<Placed<'a>>),
    /// A kind of type that ROS 2 has not.
    Refused(String),
}

/// A member of a struct.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    pub(super) name: &'a str,
    pub(super) spec: Spec<'a>,
    pub(super) line: usize,
}

/// A type as it is written.
#[derive(Clone, Debug)]
pub(super) enum Spec<'a> {
    Number(Primitive),
    Text,
    Sequence(Box<Spec<'a>>),
    /// The tokens of its length.
    Array(Box<Spec<'a>>, Vec<Placed<'a>>),
    /// A name, as it is written.
    Named(String),
    /// A type that cannot be read.
    Refused(String),
}

/// Returns the declarations of a text.
///
/// # Errors
/// - `Invalid`: the text is no IDL. The message names the line.
/// - `Unsupported`: a member is optional; sequences are too deep.
pub(super) fn parse(text: &str) -> Result<BTreeMap<String, Declaration<'_>>> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, scope: Vec::new(), found: BTreeMap::new() };
    while parser.at < tokens.len() {
        parser.declaration()?;
    }
    match parser.scope.last() {
        None => Ok(parser.found),
        Some(module) => Err(Error::invalid(format!("module `{module}` has no end"))),
    }
}

struct Parser<'a, 't> {
    tokens: &'t [Placed<'a>],
    at: usize,
    scope: Vec<&'a str>,
    found: BTreeMap<String, Declaration<'a>>,
}

impl<'a> Parser<'a, '_> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|placed| placed.token)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |placed| placed.line)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Takes a token if it is the next one.
    fn has(&mut self, token: Token<'_>) -> bool {
        let has = self.peek() == Some(token);
        self.at += usize::from(has);
        has
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        match self.has(Token::Mark(mark)) {
            true => Ok(()),
            false => Err(self.wrong(&format!("`{mark}`"))),
        }
    }

    fn wrong(&self, expected: &str) -> Error {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(Token::Word(text) | Token::Number(text)) => format!("`{text}`"),
            Some(Token::Quoted) => "a text in quotes".to_owned(),
            Some(Token::Scope) => "`::`".to_owned(),
            Some(Token::Mark(mark)) => format!("`{}`", mark.escape_debug()),
        };
        Error::invalid(format!("line {}: expected {expected}, found {found}", self.line()))
    }

    fn name(&mut self) -> Result<&'a str> {
        match self.peek() {
            Some(Token::Word(name)) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.wrong("a name")),
        }
    }

    /// Takes tokens up to one of these marks, outside of parentheses. The mark stays.
    fn until(&mut self, ends: &[char]) -> Result<Vec<Placed<'a>>> {
        let (start, mut depth) = (self.at, 0_usize);
        while let Some(token) = self.peek() {
            match token {
                Token::Mark(mark) if depth == 0 && ends.contains(&mark) => {
                    return Ok(self.tokens.get(start..self.at).unwrap_or_default().to_vec());
                }
                Token::Mark('(') => depth += 1,
                Token::Mark(')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
        Err(self.wrong(&format!("`{}`", ends.first().copied().unwrap_or(';'))))
    }

    fn full(&self, name: &str) -> String {
        self.scope.iter().copied().chain([name]).collect::<Vec<_>>().join("::")
    }

    /// Adds a declaration. Recordings may have one twice.
    fn add(&mut self, name: &str, declaration: Declaration<'a>) {
        let name = self.full(name);
        self.found.entry(name).or_insert(declaration);
    }

    fn declaration(&mut self) -> Result<()> {
        let line = self.line();
        if self.has(Token::Mark('}')) {
            self.scope.pop().ok_or_else(|| Error::invalid(format!("line {line}: a `}}` without its `{{`")))?;
            self.has(Token::Mark(';'));
            return Ok(());
        }
        self.annotations()?;
        let kind = self.name().map_err(|_| self.wrong("a declaration"))?;
        match kind {
            "module" => {
                let name = self.name()?;
                self.expect('{')?;
                self.scope.push(name);
                return match self.scope.len() > MAX_DEPTH {
                    true => Err(Error::unsupported(format!("line {line}: modules over {MAX_DEPTH} levels deep"))),
                    false => Ok(()),
                };
            }
            "struct" => self.structure()?,
            "typedef" => {
                let spec = self.spec(0)?;
                for (name, spec) in self.declarators(&spec)? {
                    self.add(name, Declaration::Alias(spec));
                }
            }
            "const" => {
                self.spec(0)?;
                let name = self.name()?;
                self.expect('=')?;
                let value = self.until(&[';'])?;
                self.add(name, Declaration::Constant(value));
            }
            "enum" => {
                let name = self.name()?;
                self.expect('{')?;
                self.until(&['}'])?;
                self.expect('}')?;
                self.add(name, Declaration::Enum);
            }
            "union" | "bitset" | "bitmask" | "interface" | "valuetype" | "exception" | "native" => {
                let name = self.name()?;
                self.add(name, Declaration::Refused(format!("`{name}` is a {kind}, which ROS 2 has not")));
                self.skip_body()?;
            }
            _ => {
                self.at -= 1;
                return Err(self.wrong("a declaration"));
            }
        }
        self.expect(';')
    }

    /// Skips everything up to the `;` behind a body.
    fn skip_body(&mut self) -> Result<()> {
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            match token {
                Token::Mark(';') if depth == 0 => return Ok(()),
                Token::Mark('{') => depth += 1,
                Token::Mark('}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
        Err(self.wrong("`;`"))
    }

    fn structure(&mut self) -> Result<()> {
        let name = self.name()?;
        if self.peek() == Some(Token::Mark(';')) {
            return Ok(());
        }
        let base = if self.has(Token::Mark(':')) { Some(self.scoped()?) } else { None };
        self.expect('{')?;
        let mut members = Vec::new();
        while !self.has(Token::Mark('}')) {
            let line = self.line();
            let annotations = self.annotations()?;
            let spec = self.spec(0)?;
            for (name, spec) in self.declarators(&spec)? {
                if annotations.contains(&"optional") {
                    let why = format!("line {line}: `{name}` is @optional, whose encoding is not read");
                    return Err(Error::unsupported(why));
                }
                members.push(Member { name, spec, line });
            }
            self.expect(';')?;
        }
        self.add(name, Declaration::Struct { base, members });
        Ok(())
    }

    /// Takes annotations, and returns their names. One with the value `FALSE` says that it does not hold.
    fn annotations(&mut self) -> Result<Vec<&'a str>> {
        let mut names = Vec::new();
        while self.has(Token::Mark('@')) {
            let mut name = self.name()?;
            while self.has(Token::Scope) {
                name = self.name()?;
            }
            let mut value = Vec::new();
            if self.has(Token::Mark('(')) {
                value = self.until(&[')'])?;
                self.expect(')')?;
            }
            let is_false = value.len() == 1 && matches!(value[0].token, Token::Word("FALSE" | "false"));
            names.extend((!is_false).then_some(name));
        }
        Ok(names)
    }

    /// Takes names with their lengths, such as `a, b[3]`, of members or aliases of a type.
    fn declarators(&mut self, spec: &Spec<'a>) -> Result<Vec<(&'a str, Spec<'a>)>> {
        let mut found = Vec::new();
        loop {
            let name = self.name()?;
            let mut lengths = Vec::new();
            while self.has(Token::Mark('[')) {
                lengths.push(self.until(&[']'])?);
                self.expect(']')?;
                if lengths.len() > MAX_DEPTH {
                    return Err(Error::unsupported(format!("an array of over {MAX_DEPTH} dimensions")));
                }
            }
            // `a[2][3]` is two times three values.
            let spec = lengths.into_iter().rev().fold(spec.clone(), |spec, length| Spec::Array(Box::new(spec), length));
            found.push((name, spec));
            if !self.has(Token::Mark(',')) {
                return Ok(found);
            }
        }
    }

    fn scoped(&mut self) -> Result<String> {
        let mut name = if self.has(Token::Scope) { "::".to_owned() } else { String::new() };
        name.push_str(self.name()?);
        while self.has(Token::Scope) {
            name.push_str("::");
            name.push_str(self.name()?);
        }
        Ok(name)
    }

    fn spec(&mut self, depth: usize) -> Result<Spec<'a>> {
        if depth > MAX_DEPTH {
            let line = self.line();
            return Err(Error::unsupported(format!("line {line}: sequences over {MAX_DEPTH} levels deep")));
        }
        if self.peek() == Some(Token::Scope) {
            return self.scoped().map(Spec::Named);
        }
        let line = self.line();
        let word = self.name().map_err(|_| self.wrong("a type"))?;
        let long = Token::Word("long");
        let refused = |what: &str| Spec::Refused(format!("line {line}: a field of type `{what}`"));
        Ok(match word {
            "boolean" => Spec::Number(Primitive::Bool),
            "octet" | "uint8" | "char" => Spec::Number(Primitive::U8),
            "int8" => Spec::Number(Primitive::I8),
            "short" | "int16" => Spec::Number(Primitive::I16),
            "uint16" => Spec::Number(Primitive::U16),
            "int32" => Spec::Number(Primitive::I32),
            "uint32" => Spec::Number(Primitive::U32),
            "int64" => Spec::Number(Primitive::I64),
            "uint64" => Spec::Number(Primitive::U64),
            "float" => Spec::Number(Primitive::F32),
            "double" => Spec::Number(Primitive::F64),
            "long" if self.has(Token::Word("double")) => refused("long double"),
            "long" if self.has(long) => Spec::Number(Primitive::I64),
            "long" => Spec::Number(Primitive::I32),
            "unsigned" if self.has(Token::Word("short")) => Spec::Number(Primitive::U16),
            "unsigned" if self.has(long) => match self.has(long) {
                true => Spec::Number(Primitive::U64),
                false => Spec::Number(Primitive::U32),
            },
            "string" | "wstring" => {
                if self.has(Token::Mark('<')) {
                    self.until(&['>'])?;
                    self.expect('>')?;
                }
                if word == "string" { Spec::Text } else { refused(word) }
            }
            "sequence" => {
                self.expect('<')?;
                let item = self.spec(depth + 1)?;
                if self.has(Token::Mark(',')) {
                    // A bound does not change how a sequence is written.
                    self.until(&['>'])?;
                }
                self.expect('>')?;
                Spec::Sequence(Box::new(item))
            }
            "wchar" | "any" => refused(word),
            "map" | "fixed" => {
                // Behind `<` may be types with their own `>`.
                self.expect('<')?;
                let mut open = 1;
                while open > 0 {
                    match self.next().ok_or_else(|| self.wrong("`>`"))? {
                        Token::Mark('<') => open += 1,
                        Token::Mark('>') => open -= 1,
                        _ => {}
                    }
                }
                refused(word)
            }
            "struct" | "union" | "enum" => {
                return Err(Error::unsupported(format!("line {line}: a {word} inside of another declaration")));
            }
            _ => {
                self.at -= 1;
                Spec::Named(self.scoped()?)
            }
        })
    }
}

/// Finds a name from inside of a scope: the innermost one that has it.
pub(super) fn find<'d, 'a>(
    declarations: &'d BTreeMap<String, Declaration<'a>>,
    name: &str,
    scope: &str,
) -> Option<(String, &'d Declaration<'a>)> {
    if let Some(name) = name.strip_prefix("::") {
        return declarations.get(name).map(|found| (name.to_owned(), found));
    }
    let mut scope = scope;
    loop {
        let full = if scope.is_empty() { name.to_owned() } else { format!("{scope}::{name}") };
        if let Some(found) = declarations.get(&full) {
            return Some((full, found));
        }
        if scope.is_empty() {
            return None;
        }
        scope = scope.rsplit_once("::").map_or("", |(outer, _)| outer);
    }
}
