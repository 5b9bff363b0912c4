//! The words that no name in the code has, because they say nothing of the thing, or mean something else elsewhere. Each has the
//! words to use instead, which the glossary (`docs/guide/glossary.md`) and the field have. Names of more than four words, such as
//! those of tests, are sentences, and free.

use std::{iter::Peekable, path::Path, str::Chars};

/// A word that no name has.
struct Word {
    word: &'static str,
    instead: &'static str,
    /// Names that have the word all the same.
    names: &'static [&'static str],
    /// Parts of the paths of files where the word has its own meaning.
    files: &'static [&'static str],
}

/// A word without exceptions.
const fn word(word: &'static str, instead: &'static str) -> Word {
    Word { word, instead, names: &[], files: &[] }
}

const WORDS: &[Word] = &[
    word("said", "what it is: `message` of an error, `output` of a program, `answer` of a server, `text`, `setting`"),
    word(
        "held",
        "what it is: `guard` of a lock, `cached`, `buffered`, `pending`, `loaded`, or `existing` for an entry of a list",
    ),
    word("told", "what it is: `output`, `report`, `log`, `seen`"),
    word("untold", "`unpinned` for owners without a pin; else what is missing"),
    Word { names: &["CannotTell"], ..word("tell", "what it does: `report`, `record`, `print`, `warn`") },
    word("lent", "`pooled`, `PooledBuffer`"),
    word("board", "`join`: a read joins the requests of others"),
    word("boarded", "`joined`"),
    word("arrive", "`receive`, `wait` or `deliver`"),
    word("arrived", "`received`"),
    word("rebasing", "`rebase`"),
    // A lane of a road keeps its name.
    Word {
        files: ROADS,
        ..word("lane", "`Executor` for the process and the runtime of a future, `worker` for one of several tasks")
    },
    Word { files: ROADS, ..word("lanes", "`workers`") },
];

/// Files about maps, or with columns of drives.
const ROADS: &[&str] = &[
    "l5",
    "_tetrys.pyi",
    "fuzz/src/lib.rs",
    "tests/format/fuzz_corpus.rs",
    "tests/tables/lookups.rs",
    "view/tests/common/mod.rs",
];

/// Types whose name needs a word before it, because there are several kinds.
const QUALIFIED: &[Word] = &[
    // The types of the command line have the names of its commands.
    Word {
        files: &["cli/src/commands"],
        ..word("Plan", "what is planned: `ReadPlan`, `WritePlan`, `IndexPlan`, `MergePlan`, `GcPlan`")
    },
    word("Split", "`ReadSplit` for rows that one task reads, `KeySplit` for parts by the hash of a key"),
    word("Splits", "`ReadSplits`"),
];

/// Returns a complaint for each name of a file that has one of the words.
pub(crate) fn complaints(file: &Path, text: &str) -> Vec<String> {
    let path = file.display().to_string();
    let is_python = !path.ends_with(".rs");
    let (mut found, mut before) = (Vec::new(), String::new());
    for (line, name) in names(text, is_python) {
        let is_declared = ["struct", "enum", "type", "trait", "class"].contains(&before.as_str());
        let parts = parts(&name);
        let in_name = WORDS.iter().filter(|listed| parts.len() <= 4 && parts.iter().any(|part| part == listed.word));
        let as_type = QUALIFIED.iter().filter(|listed| is_declared && name == listed.word);
        for listed in in_name.chain(as_type) {
            let is_allowed = listed.names.contains(&name.as_str()) || listed.files.iter().any(|part| path.contains(part));
            if !is_allowed {
                found.push(format!("{path}:{line}: `{name}` has the word `{}`; use {}", listed.word, listed.instead));
            }
        }
        before = name;
    }
    found
}

/// Returns the words of a name in lower case: `is_lane`, `SceneCache` and `MAX_BYTES` have two.
fn parts(name: &str) -> Vec<String> {
    let (mut parts, mut was_lower) = (vec![String::new()], false);
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && was_lower) {
            parts.push(String::new());
        }
        was_lower = letter.is_lowercase() || letter.is_ascii_digit();
        if letter != '_' {
            parts.last_mut().expect("one part at least").extend(letter.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns the names of a source file with their lines, without comments and texts.
fn names(text: &str, is_python: bool) -> Vec<(usize, String)> {
    let (mut found, mut line) = (Vec::new(), 1);
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\n' => line += 1,
            '#' if is_python => skip_line(&mut rest),
            '/' if !is_python && rest.peek() == Some(&'/') => skip_line(&mut rest),
            '/' if !is_python && rest.peek() == Some(&'*') => line += skip_comment(&mut rest),
            '"' => line += skip_text(&mut rest, '"', 0, is_python, false),
            '\'' if is_python => line += skip_text(&mut rest, '\'', 0, true, false),
            // A character, or else a lifetime, whose name is read as any other.
            '\'' => skip_character(&mut rest),
            _ if letter.is_alphabetic() || letter == '_' => {
                let mut name = String::from(letter);
                while let Some(next) = rest.next_if(|next| next.is_alphanumeric() || *next == '_') {
                    name.push(next);
                }
                let is_raw = !is_python && ["r", "br", "cr"].contains(&name.as_str());
                match rest.peek() {
                    Some('#') if is_raw => {
                        let mut hashes = 0;
                        while rest.next_if_eq(&'#').is_some() {
                            hashes += 1;
                        }
                        // Else a raw name, such as `r#type`.
                        if rest.next_if_eq(&'"').is_some() {
                            line += skip_text(&mut rest, '"', hashes, false, true);
                        }
                    }
                    Some('"') if is_raw => {
                        rest.next();
                        line += skip_text(&mut rest, '"', 0, false, true);
                    }
                    _ => found.push((line, name)),
                }
            }
            _ => {}
        }
    }
    found
}

fn skip_line(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|next| *next != '\n').is_some() {}
}

/// Skips a comment behind `/`, up to the first `*/`. Returns its number of line ends.
fn skip_comment(rest: &mut Peekable<Chars<'_>>) -> usize {
    let (mut lines, mut before) = (0, '/');
    rest.next();
    for letter in rest.by_ref() {
        lines += usize::from(letter == '\n');
        if before == '*' && letter == '/' {
            break;
        }
        before = letter;
    }
    lines
}

/// Skips `x'` or `\n'` behind the first quote, and nothing of a lifetime.
fn skip_character(rest: &mut Peekable<Chars<'_>>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('\\') => {
            ahead.next();
            while ahead.next().is_some_and(|next| next != '\'') {}
        }
        Some(_) if ahead.next() == Some('\'') => {}
        _ => return,
    }
    *rest = ahead;
}

/// Skips a text behind its first quote. `hashes` follow the last quote of a raw text. Returns its number of line ends.
fn skip_text(rest: &mut Peekable<Chars<'_>>, quote: char, hashes: usize, is_python: bool, is_raw: bool) -> usize {
    // Python has texts with three quotes at either end.
    let more = if is_python && follow(rest, quote, 2) { 2 } else { 0 };
    rest.by_ref().take(more).for_each(drop);
    let mut lines = 0;
    while let Some(letter) = rest.next() {
        lines += usize::from(letter == '\n');
        if letter == '\\' && !is_raw {
            lines += usize::from(rest.next() == Some('\n'));
        } else if letter == quote && follow(rest, quote, more) && follow(rest, '#', hashes) {
            rest.by_ref().take(more + hashes).for_each(drop);
            break;
        }
    }
    lines
}

/// Whether the next characters are `count` times this one.
fn follow(rest: &Peekable<Chars<'_>>, letter: char, count: usize) -> bool {
    rest.clone().take(count).filter(|next| *next == letter).count() == count
}

#[test]
fn words_are_found_in_names_alone() {
    let found = |name: &str, text: &str| complaints(Path::new(name), text);
    let code = [
        "/* said",
        "*/ let said = \"held\"; // told",
        "let c = '\"'; fn is_told<'a>() {}",
        "let r = r#\"a \"said\" b\"#; struct Plan;",
        "lane.arrived();",
    ];
    let lines = |found: Vec<String>| found.iter().map(|text| text.split(": ").next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(
        lines(found("src/a.rs", &code.join("\n"))),
        ["src/a.rs:2", "src/a.rs:3", "src/a.rs:4", "src/a.rs:5", "src/a.rs:5"]
    );
    assert_eq!(lines(found("l5/src/a.rs", "lane.of(&'a said)")), ["l5/src/a.rs:1"]);
    assert!(
        found("src/a.rs", "fn what_the_user_is_told_is_true() { Fate::CannotTell; plan.split(2); splits::Split }").is_empty()
    );
    let python = "'''said\n'''\nx = \"\"\"held \" said\"\"\"  # told\nsaid = '\\'held'\nclass Split: pass\n";
    assert_eq!(lines(found("python/a.py", python)), ["python/a.py:4", "python/a.py:5"]);
    assert_eq!(parts("MAX_HELD_Bytes"), ["max", "held", "bytes"]);
}
