//! Definitions of ROS 2 messages in IDL (`.idl`): text to the same types that a `.msg` file gives.
//!
//! Follows the [mapping of ROS 2](https://design.ros2.org/articles/idl_interface_definition.html) of the
//! [IDL 4.2 of the OMG](https://www.omg.org/spec/IDL/4.2). A recording has the files of a type and of all types that it uses one behind
//! the other, each behind a line of `=` and a line `IDL: package/msg/Type`.

mod declarations;
mod lexer;
mod values;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use tetrys::{Error, Result, schema::Primitive};

use crate::{
    msg::{self, MAX_FIELDS, MAX_FIXED, Ros, short},
    types::{Field, MAX_DEPTH, Message, Type},
};
use declarations::{Declaration, Member, Spec, find};

/// The member that ROS 2 gives a struct without members, because IDL has no empty ones.
const PLACEHOLDER: &str = "structure_needs_at_least_one_member";

/// Parses a definition.
///
/// # Errors
/// - `Invalid`: the text is no IDL; a type is not defined; types contain each other.
/// - `Unsupported`: a member is `@optional`, or of a type that ROS 2 has not, or a `wstring`.
///
/// ```
/// use tetrys_logs::{idl, msg::{self, Ros}};
/// let text = "module here { module msg {
///     typedef double double__3[3];
///     struct Point { @verbatim (language=\"comment\", text=\"// metres\") double__3 at; sequence<octet, 8> mask; };
/// }; };";
/// let point = idl::parse("here/msg/Point", text)?;
/// assert_eq!(point, msg::parse("here/msg/Point", "float64[3] at\nbyte[<=8] mask", Ros::Two)?);
/// # Ok::<(), tetrys::Error>(())
/// ```
pub fn parse(name: &str, text: &str) -> Result<Message> {
    let place = |error: Error| error.at(format!("the definition of {}", name.escape_debug()));
    let declarations = declarations::parse(text).map_err(place)?;
    let mut compiler = Compiler { declarations: &declarations, done: BTreeMap::new(), open: Vec::new(), fields: 0 };
    let full = name.replace('/', "::");
    // Some writers leave out `msg`.
    let others = full.rsplit_once("::").map(|(package, ty)| format!("{package}::msg::{ty}"));
    let is_struct = |name: &String| matches!(declarations.get(name), Some(Declaration::Struct { .. }));
    let root = [full].into_iter().chain(others).find(is_struct);
    let root = root.ok_or_else(|| place(Error::invalid(format!("there is no struct `{}`", name.escape_debug()))))?;
    compiler.message(&root).map(|message| Message::clone(&message)).map_err(place)
}

struct Compiler<'d, 'a> {
    declarations: &'d BTreeMap<String, Declaration<'a>>,
    /// Types, and their fields counted through their messages.
    done: BTreeMap<String, (Arc<Message>, usize)>,
    open: Vec<String>,
    fields: usize,
}

impl<'a> Compiler<'_, 'a> {
    fn message(&mut self, name: &str) -> Result<Arc<Message>> {
        if let Some((done, fields)) = self.done.get(name).cloned() {
            self.count(fields)?;
            return Ok(done);
        }
        if self.open.iter().any(|open| open == name) || self.open.len() > MAX_DEPTH {
            return Err(Error::invalid(format!("`{name}` contains itself, or types are over {MAX_DEPTH} levels deep")));
        }
        let before = self.fields;
        self.open.push(name.to_owned());
        let mut fields = Vec::new();
        self.add(name, &mut fields, &mut BTreeSet::new(), 0)?;
        if let [Field { name, ty: Type::Number(Primitive::U8) }] = &fields[..]
            && name == PLACEHOLDER
        {
            fields.clear();
        }
        self.count(fields.len())?;
        self.open.pop();
        let message = Arc::new(Message { name: short(&name.replace("::", "/")), fields });
        self.done.insert(name.to_owned(), (Arc::clone(&message), self.fields - before));
        Ok(message)
    }

    /// Adds the members of a struct, behind those of the struct that it is based on.
    fn add(&mut self, name: &str, fields: &mut Vec<Field>, names: &mut BTreeSet<&'a str>, depth: usize) -> Result<()> {
        let declarations = self.declarations;
        let Some(Declaration::Struct { base, members }) = declarations.get(name) else {
            return Err(Error::invalid(format!("`{name}` is no struct")));
        };
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("`{name}` is based on itself, or on over {MAX_DEPTH} structs")));
        }
        if let Some(base) = base {
            let (base, _) = find(declarations, base, name).ok_or_else(|| undefined(base))?;
            self.add(&base, fields, names, depth + 1)?;
        }
        for Member { name: member, spec, line } in members {
            let place = |error: Error| error.at(format!("{}, line {line}", short(&name.replace("::", "/"))));
            if !names.insert(*member) {
                return Err(place(Error::invalid(format!("two fields `{member}`"))));
            }
            fields.push(Field { name: (*member).to_owned(), ty: self.ty(spec, name, 0).map_err(place)? });
            if fields.len() > MAX_FIELDS {
                return Err(place(Error::unsupported(format!("over {MAX_FIELDS} fields"))));
            }
        }
        Ok(())
    }

    fn count(&mut self, fields: usize) -> Result<()> {
        self.fields += fields;
        match self.fields > MAX_FIELDS {
            true => Err(Error::unsupported(format!("over {MAX_FIELDS} fields"))),
            false => Ok(()),
        }
    }

    fn ty(&mut self, spec: &Spec<'_>, scope: &str, depth: usize) -> Result<Type> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("aliases of each other, or over {MAX_DEPTH} levels deep")));
        }
        match spec {
            Spec::Number(primitive) => Ok(Type::Number(*primitive)),
            Spec::Text => Ok(Type::Text),
            Spec::Sequence(item) => Ok(Type::Array(Box::new(self.ty(item, scope, depth + 1)?), None)),
            Spec::Array(item, length) => {
                let found = values::evaluate(self.declarations, length, scope)?;
                let length = usize::try_from(found).ok().filter(|length| (1..=MAX_FIXED).contains(length));
                let length =
                    length.ok_or_else(|| Error::invalid(format!("an array of {found} elements: expected 1 to {MAX_FIXED}")))?;
                Ok(Type::Array(Box::new(self.ty(item, scope, depth + 1)?), Some(length)))
            }
            Spec::Refused(why) => Err(Error::unsupported(why.clone())),
            Spec::Named(name) => self.named(name, scope, depth),
        }
    }

    fn named(&mut self, name: &str, scope: &str, depth: usize) -> Result<Type> {
        let declarations = self.declarations;
        let found = find(declarations, name, scope);
        let full = found.as_ref().map_or_else(|| name.trim_start_matches("::").to_owned(), |(full, _)| full.clone());
        match (full.as_str(), found.map(|(_, declaration)| declaration)) {
            ("builtin_interfaces::msg::Time", _) => Ok(Type::Time),
            ("builtin_interfaces::msg::Duration", _) => Ok(Type::Duration),
            (_, Some(Declaration::Struct { .. })) => self.message(&full).map(Type::Message),
            (_, Some(Declaration::Alias(spec))) => {
                let scope = full.rsplit_once("::").map_or("", |(scope, _)| scope);
                self.ty(spec, scope, depth + 1)
            }
            // CDR writes an enumerator as 32 bits.
            (_, Some(Declaration::Enum)) => Ok(Type::Number(Primitive::U32)),
            (_, Some(Declaration::Refused(why))) => Err(Error::unsupported(why.clone())),
            (_, Some(Declaration::Constant(_))) => Err(Error::invalid(format!("`{name}` is a constant, expected a type"))),
            // Some writers leave it out.
            ("std_msgs::msg::Header", None) => {
                let header = msg::parse("std_msgs/Header", "builtin_interfaces/Time stamp\nstring frame_id\n", Ros::Two)?;
                self.count(header.fields.len())?;
                Ok(Type::Message(Arc::new(header)))
            }
            (_, None) => Err(undefined(name)),
        }
    }
}

fn undefined(name: &str) -> Error {
    Error::invalid(format!("the type `{name}` is not defined"))
}

#[cfg(test)]
mod tests;
