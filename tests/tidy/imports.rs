//! Finds the files of a Python package that each file imports, also inside functions. Imports for the type checker alone
//! (`if TYPE_CHECKING:`) do not count, nor does what Python imports on the way to a module: the packages that it is in.

use std::collections::{BTreeMap, BTreeSet};

use crate::cycles::Uses;

/// The names of a module, from the package to the file.
type Module = Vec<String>;

/// Returns the files that each file imports. The input is a list of (path below the folder of the package, code). A stub (`.pyi`) stands
/// for the native module.
pub(crate) fn uses(files: &[(String, String)]) -> Uses<'_> {
    let modules: BTreeMap<Module, &str> = files.iter().map(|(path, _)| (module_of(path), path.as_str())).collect();
    let mut used = Uses::new();
    for (path, code) in files {
        let module = module_of(path);
        let package = if path.ends_with("__init__.py") { &module[..] } else { &module[..module.len() - 1] };
        let lines = if path.ends_with(".pyi") { Vec::new() } else { statements(code) };
        let targets: BTreeSet<&str> =
            lines.iter().flat_map(|line| imported(line, package, &modules)).filter(|file| file != path).collect();
        used.insert(path, targets);
    }
    used
}

fn module_of(path: &str) -> Module {
    let mut parts: Module = path.trim_end_matches(".pyi").trim_end_matches(".py").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "__init__") {
        parts.pop();
    }
    parts
}

/// Returns the files that a statement imports, if it is an import.
fn imported<'a>(line: &str, package: &[String], modules: &BTreeMap<Module, &'a str>) -> Vec<&'a str> {
    if let Some(names) = line.strip_prefix("import ") {
        let names = names.split(',').filter_map(|name| name.split_whitespace().next());
        return names.filter_map(|name| modules.get(&split(name)).copied()).collect();
    }
    let Some((from, names)) = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) else { return Vec::new() };
    let name = from.trim_start_matches('.');
    let base = match from.len() - name.len() {
        0 => split(name),
        dots => [&package[..(package.len() + 1).saturating_sub(dots)], split(name).as_slice()].concat(),
    };
    // A name is a module of the package, or something that the file of the package has.
    let names = names.split([',', '(', ')']).filter_map(|name| name.split_whitespace().next());
    let found = names.map(|name| modules.get(&[base.as_slice(), &[name.to_owned()]].concat()).or_else(|| modules.get(&base)));
    found.flatten().copied().collect()
}

fn split(name: &str) -> Module {
    name.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns the statements of some code, each on one line and without indentation. Leaves out those for the type checker alone.
fn statements(code: &str) -> Vec<String> {
    let (mut found, mut skipped) = (Vec::new(), None);
    for line in joined(code).lines() {
        let statement = line.trim();
        let depth = line.len() - line.trim_start().len();
        if statement.is_empty() || skipped.is_some_and(|outer| depth > outer) {
            continue;
        }
        skipped = (statement == "if TYPE_CHECKING:").then_some(depth);
        found.push(statement.to_owned());
    }
    found
}

/// Returns the code without comments and without the contents of texts, with each statement on one line.
fn joined(code: &str) -> String {
    let (mut out, mut depth, mut rest) = (String::new(), 0_usize, code);
    while let Some(first) = rest.chars().next() {
        let mut taken = first.len_utf8();
        match first {
            '#' => taken = rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                let quote = [3, 1].map(|count| first.to_string().repeat(count)).into_iter().find(|quote| rest.starts_with(quote));
                taken = length_of_text(rest, &quote.unwrap_or_default());
                out.push_str("\"\"");
            }
            '\\' if rest.starts_with("\\\n") => taken = 2,
            '\n' if depth > 0 => out.push(' '),
            _ => {
                depth = match first {
                    '(' | '[' | '{' => depth + 1,
                    ')' | ']' | '}' => depth.saturating_sub(1),
                    _ => depth,
                };
                out.push(first);
            }
        }
        rest = &rest[taken..];
    }
    out
}

/// Returns the length of a text literal with its quotes.
fn length_of_text(code: &str, quote: &str) -> usize {
    let mut at = quote.len();
    while at < code.len() && !code[at..].starts_with(quote) {
        at += code[at..].chars().take(if code[at..].starts_with('\\') { 2 } else { 1 }).map(char::len_utf8).sum::<usize>();
    }
    (at + quote.len()).min(code.len())
}
