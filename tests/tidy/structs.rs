//! Finds the structs of the library that users see, in its text: which of them anybody can build by a literal, and which are
//! builders. A struct is seen if its module is public, or if a public module gives it out again.

use std::collections::BTreeSet;

/// A public struct with fields in braces.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Struct {
    pub(crate) name: String,
    /// Its attributes, each on one line.
    pub(crate) attributes: Vec<String>,
    pub(crate) public_fields: usize,
    pub(crate) private_fields: usize,
}

impl Struct {
    /// Whether code of another crate can name all fields, and so breaks with each new one.
    pub(crate) fn is_literal(&self) -> bool {
        let closed = |attribute: &String| attribute.contains("non_exhaustive");
        self.public_fields > 0 && self.private_fields == 0 && !self.attributes.iter().any(closed)
    }

    /// Whether it derives `Default`, or some code implements it.
    pub(crate) fn has_default(&self, code: &str) -> bool {
        let derives = |attribute: &String| attribute.starts_with("#[derive(") && attribute.contains("Default");
        self.attributes.iter().any(derives) || code.contains(&format!("impl Default for {} ", self.name))
    }
}

/// Returns the public structs of a file.
pub(crate) fn structs(code: &str) -> Vec<Struct> {
    let (mut found, mut attributes, mut open) = (Vec::new(), Vec::new(), None::<Struct>);
    for line in code.split("#[cfg(test)]\nmod ").next().unwrap_or_default().lines() {
        if let Some(mut current) = open.take() {
            let field = line.trim();
            match field {
                _ if line == "}" => found.push(current),
                _ => {
                    let is_field = field.split_once(':').is_some_and(|(name, _)| name.split(' ').all(is_name));
                    current.public_fields += usize::from(is_field && field.starts_with("pub "));
                    current.private_fields += usize::from(is_field && !field.starts_with("pub ") || field.starts_with("pub("));
                    open = Some(current);
                }
            }
            continue;
        }
        if line.starts_with("#[") {
            attributes.push(line.to_owned());
            continue;
        }
        if let Some(rest) = line.strip_prefix("pub struct ") {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let current = Struct { name, attributes: std::mem::take(&mut attributes), public_fields: 0, private_fields: 0 };
            match line.ends_with('{') {
                true => open = Some(current),
                false => found.push(current),
            }
        } else if !line.starts_with("//") {
            attributes.clear();
        }
    }
    found
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Returns the structs of a file that have several methods which take `mut self` and return it: builders.
pub(crate) fn builders(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for block in code.split("\nimpl").skip(1) {
        let Some((head, body)) = block.split_once("{\n") else { continue };
        let body = format!("\n{}", body.split("\n}\n").next().unwrap_or_default());
        let name: String = head.rsplit(' ').find(|word| !word.is_empty()).unwrap_or_default().to_owned();
        let gives_back = |method: &&str| {
            let head = method.split_once(" {\n").map_or(*method, |(head, _)| head);
            head.contains("mut self")
                && !head.contains("&mut self")
                && ["-> Self", "-> Result<Self>"].iter().any(|end| head.ends_with(end))
        };
        if body.split("\n    pub fn ").skip(1).filter(gives_back).count() > 1 {
            found.insert(name.split('<').next().unwrap_or_default().to_owned());
        }
    }
    found
}

/// Returns the names that a file gives out again for everybody: those of `pub use` without a condition on `unstable`.
pub(crate) fn given(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for statement in code.split(';') {
        let Some((before, tree)) = statement.split_once("pub use ") else { continue };
        if !before.contains("feature = \"unstable\"") {
            let words = tree.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            found.extend(words.map(str::to_owned));
        }
    }
    found
}
