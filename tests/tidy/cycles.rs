//! Finds files of a crate that depend on each other in a cycle. Follows `crate::`, `super::` and `self::` paths, through
//! re-exports, to the file that defines the name. It sees no method calls: only the compiler knows the type of a receiver, and many
//! methods that one file alone defines have names that types of other crates have too, such as `flatten`.

use std::collections::{BTreeMap, BTreeSet};

/// The path of a module from the root of its crate.
type Module = Vec<String>;

/// The files that each file uses.
pub(crate) type Uses<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Returns the files of a crate that each file uses. The input is a list of (path below the source folder, code).
pub(crate) fn uses(files: &[(String, String)]) -> Uses<'_> {
    let modules: BTreeMap<Module, &str> = files.iter().map(|(path, _)| (module_of(path), path.as_str())).collect();
    let codes: Vec<(Module, String)> =
        files.iter().map(|(path, code)| (module_of(path), without_tests_and_texts(code))).collect();
    let mut given = BTreeMap::new();
    // Several modules may re-export a name, one above the other.
    for _ in 0..4 {
        for (module, code) in &codes {
            for path in statements(code).filter_map(re_exported).flat_map(|tree| expand(&tree)) {
                let last = path.last().cloned().unwrap_or_default();
                let from = match path[0].as_str() {
                    "crate" | "self" | "super" => path,
                    _ => [vec!["self".to_owned()], path].concat(),
                };
                if let Some(target) = resolve(module, &from, &modules, &given).filter(|target| target != module) {
                    given.insert((module.clone(), last), target);
                }
            }
        }
    }
    let mut used = Uses::new();
    for (module, code) in &codes {
        let own: String = statements(code).filter(|statement| re_exported(statement).is_none()).collect::<Vec<_>>().join(";");
        let targets = named(&own).into_iter().filter_map(|path| resolve(module, &path, &modules, &given));
        used.entry(modules[module]).or_default().extend(targets.filter(|target| target != module).map(|target| modules[&target]));
    }
    used
}

/// Returns the groups of two or more files that reach each other, each group sorted.
pub(crate) fn cycles(used: &Uses<'_>) -> Vec<Vec<String>> {
    let reach: Uses<'_> = used.keys().map(|file| (*file, reached(file, used))).collect();
    let mut groups = BTreeSet::new();
    for (file, there) in &reach {
        let group: Vec<String> = there
            .iter()
            .filter(|other| reach.get(*other).is_some_and(|back| back.contains(file)))
            .map(|file| (*file).to_owned())
            .collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

/// Returns all files that a file uses directly or indirectly. The file itself is included only if another file uses it.
fn reached<'a>(file: &'a str, used: &Uses<'a>) -> BTreeSet<&'a str> {
    let (mut there, mut open) = (BTreeSet::new(), vec![file]);
    while let Some(next) = open.pop() {
        open.extend(used.get(next).into_iter().flatten().filter(|other| there.insert(**other)));
    }
    there
}

fn module_of(path: &str) -> Module {
    let mut parts: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// Returns the code before the unit tests, without the contents of string literals, which may look like code.
fn without_tests_and_texts(code: &str) -> String {
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default().replace("'\"'", "' '");
    code.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

fn statements(code: &str) -> impl Iterator<Item = &str> {
    code.split(';')
}

/// Returns the tree of paths of a `pub use` or `pub(..) use` statement.
fn re_exported(statement: &str) -> Option<String> {
    let at = statement.rfind(" use ")?;
    let before = statement[..at].split('\n').next_back()?.trim();
    (before.starts_with("pub") && !before.contains("fn ")).then(|| statement[at + " use ".len()..].to_owned())
}

/// Returns the paths in some code that begin with `crate`, `super` or `self`. A tree in braces gives each of its paths.
pub(crate) fn named(code: &str) -> Vec<Module> {
    let code: Vec<char> = code.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let (mut paths, mut rest, mut before) = (Vec::new(), code.as_slice(), ' ');
    while let Some((first, next)) = rest.split_first() {
        let starts = |word: &str| rest.len() > word.len() && rest.iter().zip(word.chars()).all(|(c, wanted)| *c == wanted);
        // The match is not part of `other_crate::`, or of `$crate::` in a macro.
        let is_word = !before.is_alphanumeric() && !['_', ':', '$'].contains(&before);
        if is_word && ["crate::", "super::", "self::"].into_iter().any(starts) {
            branch(&mut rest, &Vec::new(), &mut paths);
            before = ' ';
        } else {
            (before, rest) = (*first, next);
        }
    }
    paths.retain(|path| !path.is_empty());
    paths
}

/// Returns each path of a tree such as `a::{b, c::{d, e}}`, up to the end of the tree.
fn expand(tree: &str) -> Vec<Module> {
    let tree: Vec<char> = tree.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let mut paths = Vec::new();
    branch(&mut tree.as_slice(), &Vec::new(), &mut paths);
    paths.retain(|path| !path.is_empty());
    paths
}

fn branch(rest: &mut &[char], above: &Module, paths: &mut Vec<Module>) {
    let mut path = above.clone();
    loop {
        spaces(rest);
        if let Some(('{', inside)) = rest.split_first().map(|(c, inside)| (*c, inside)) {
            *rest = inside;
            loop {
                branch(rest, &path, paths);
                spaces(rest);
                match rest.split_first() {
                    Some((',', next)) => *rest = next,
                    Some(('}', next)) => {
                        *rest = next;
                        return;
                    }
                    _ => return,
                }
            }
        }
        let name: String = rest.iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
        if name.is_empty() {
            break;
        }
        *rest = &rest[name.chars().count()..];
        path.push(name);
        match rest {
            [':', ':', next @ ..] => *rest = next,
            [' ', 'a', 's', ' ', next @ ..] => {
                let length = next.iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
                *rest = &next[length..];
                break;
            }
            _ => break,
        }
    }
    if path != *above {
        paths.push(path);
    }
}

fn spaces(rest: &mut &[char]) {
    let count = rest.iter().take_while(|c| **c == ' ').count();
    *rest = &rest[count..];
}

/// Returns the file that defines the target of a path, as written in `module`.
fn resolve(
    module: &Module,
    path: &[String],
    modules: &BTreeMap<Module, &str>,
    given: &BTreeMap<(Module, String), Module>,
) -> Option<Module> {
    let mut at = module.clone();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => at.clear(),
        "self" => {}
        "super" => {
            at.pop();
        }
        _ => return None,
    }
    rest = &rest[1..];
    while let Some(("super", behind)) = rest.split_first().map(|(name, behind)| (name.as_str(), behind)) {
        at.pop();
        rest = behind;
    }
    for name in rest {
        let below = [at.clone(), vec![name.clone()]].concat();
        if modules.contains_key(&below) {
            at = below;
        } else {
            return Some(given.get(&(at.clone(), name.clone())).cloned().unwrap_or(at)).filter(|at| modules.contains_key(at));
        }
    }
    modules.contains_key(&at).then_some(at)
}
