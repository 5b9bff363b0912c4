//! The conventions of this repository as tests: floors, citations, file headers, sizes and links. The tests read the tree as
//! text, depend only on the standard library, and say which file is wrong and what to do.

#[path = "tidy/cycles.rs"]
mod cycles;
#[path = "tidy/imports.rs"]
mod imports;
#[path = "tidy/structs.rs"]
mod structs;
#[path = "tidy/words.rs"]
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The floors of `src/`, lowest first (see the section `Floors` of `ARCHITECTURE.md`). A module may use itself and lower floors.
const FLOORS: &[&[&str]] = &[
    &["error", "machine"],
    &["arrow", "environment", "id", "progress", "ranges", "work"],
    &["schema"],
    &["codec"],
    &["format"],
    &["store"],
    &["write", "commit", "index", "read"],
    &["table"],
    &["ingest", "blocking", "loader", "recipe"],
];

/// Modules that use another module of their own floor, `(user, used)`. `ARCHITECTURE.md` lists each as "`user` uses `used`".
const SIDEWAYS: &[(&str, &str)] = &[("commit", "write"), ("index", "read"), ("work", "environment")];

/// The modules that may use polars.
const POLARS: &[&str] = &["index", "recipe", "table"];

/// The modules that are public only with the feature `unstable`.
const UNSTABLE: &[&str] = &["codec", "commit", "format", "id", "index", "machine", "read", "write"];

/// The structs that users build field by field, `module::Name`. Each has `Default`, so that a literal ends with `..`, and a new field
/// breaks nobody.
const OPTIONS: &[&str] = &[
    "format::Cuts",
    "ingest::ExportSettings",
    "ingest::FrameSettings",
    "ingest::IngestOptions",
    "ingest::Roles",
    "ingest::TextSettings",
    "recipe::Join",
    "recipe::KeySplit",
    "recipe::Output",
    "recipe::Recipe",
    "table::DiffOptions",
    "table::GcSettings",
    "table::VerifyReach",
    "table::ViewOptions",
    "write::Locality",
];

/// Structs without `Default` whose literals need every field: two coordinates, and settings whose constants have the usual values.
const COMPLETE: &[&str] = &["read::BlockPlace", "read::Coalesce", "store::Latency"];

/// The most lines of a file under `src/`.
const MAX_LINES: usize = 700;

/// The most characters of a line of prose in a page. Rows of tables and fenced code may be longer.
const MAX_WIDTH: usize = 160;

/// Pages whose lines are not wrapped yet.
const NOT_WRAPPED: &[&str] = &["format-spec"];

/// The most bytes of `ARCHITECTURE.md`, which a newcomer reads from the first line to the last.
const MAX_ARCHITECTURE: usize = 16 << 10;

/// The headings of a decision, in their order.
const PARTS_OF_A_DECISION: [&str; 4] = ["Context", "Decision", "Consequences", "Measured"];

/// The most bytes of a file.
const MAX_BYTES: u64 = 1_000_000;

#[test]
fn modules_use_lower_floors_only() {
    let re_exported = re_exports(&code_of(&read(Path::new("src/lib.rs"))));
    let mut complaints = Vec::new();
    for file in sources("src") {
        let Some(module) = module_of(&file) else { continue };
        if floor(&module).is_none() {
            complaints.push(format!("{}: module `{module}` stands on no floor of tests/tidy.rs", file.display()));
            continue;
        }
        for name in used_modules(&file, &code_of(&read(&file))) {
            let used = re_exported.get(&name).cloned().unwrap_or(name);
            let allowed = match floor(&used) {
                _ if used == module => true,
                Some(below) if Some(below) == floor(&module) => SIDEWAYS.contains(&(&module, &used)),
                Some(below) => Some(below) < floor(&module),
                None => false,
            };
            if !allowed {
                complaints.push(format!("{}: `{module}` may not use `crate::{used}`", file.display()));
            }
        }
    }
    none(complaints);
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut complaints = Vec::<String>::new();
    for folder in ["src", "cli/src", "images/src", "l5/src", "l5/view/src", "logs/src", "petastorm/src", "python/src", "view/src"]
    {
        let files: Vec<_> = sources(folder).into_iter().map(|file| (below(folder, &file), code_of(&read(&file)))).collect();
        assert!(files.len() > 3, "{folder}: {} files", files.len());
        complaints
            .extend(cycles::cycles(&cycles::uses(&files)).into_iter().map(|group| format!("{folder}: {}", group.join(" "))));
    }
    for folder in ["python/python", "python/reader"] {
        let files = walk(Path::new(folder)).into_iter().filter(|file| has_extension(file, &["py", "pyi"]));
        let files: Vec<_> = files.map(|file| (below(folder, &file), read(&file))).collect();
        assert!(files.len() > 10, "{folder}: {} files", files.len());
        complaints
            .extend(cycles::cycles(&imports::uses(&files)).into_iter().map(|group| format!("{folder}: {}", group.join(" "))));
    }
    assert_eq!(complaints, Vec::<String>::new(), "files that use each other in a circle");
}

#[test]
fn versions_are_claimed_in_one_place() {
    let claims =
        |path: &Vec<String>| path.windows(2).any(|pair| pair[0] == "commit" && ["claim", "publish"].contains(&pair[1].as_str()));
    let found: Vec<PathBuf> = sources("src")
        .into_iter()
        .filter(|file| {
            let code = code_of(&read(file));
            cycles::named(&code).iter().any(claims)
                || ["commit::claim(", "commit::publish("].iter().any(|call| code.contains(call))
        })
        .collect();
    assert_eq!(found, [PathBuf::from("src/table/session/publish.rs")], "every other change goes through `Session::publish`");
}

#[test]
fn the_time_and_random_ids_are_asked_for_in_one_place() {
    const ASKS: [&str; 4] = ["Instant::now(", "SystemTime::now(", "Uuid::new_v4(", "Uuid::now_v7("];
    let is_other =
        |file: &PathBuf| !file.ends_with("machine.rs") && !file.ends_with("tests.rs") && !file.starts_with("src/store/testing");
    let asks = |file: &PathBuf| {
        let text = read(file);
        let code = code_of(text.split("#[cfg(test)]").next().unwrap_or_default());
        ASKS.iter()
            .filter(|asks| code.contains(**asks))
            .map(|asks| format!("{}: {asks}): use `machine`", file.display()))
            .collect::<Vec<_>>()
    };
    none(sources("src").into_iter().filter(is_other).flat_map(|file| asks(&file)).collect());
}

#[test]
fn every_module_stands_on_its_floor_in_architecture() {
    let floors = section(&read(Path::new("ARCHITECTURE.md")), "Floors");
    // A row without a number is on the floor of the row above.
    let (mut named, mut number) = (BTreeMap::<String, String>::new(), String::new());
    for row in floors.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        number = cells.next().filter(|cell| !cell.is_empty()).map_or(number, str::to_owned);
        named.extend(spans(cells.next().unwrap_or_default()).map(|module| (module.to_owned(), number.clone())));
    }
    let tested = FLOORS.iter().enumerate().flat_map(|(number, modules)| modules.iter().map(move |module| (*module, number)));
    let tested: BTreeMap<String, String> = tested.map(|(module, number)| (module.to_owned(), number.to_string())).collect();
    assert_eq!(named, tested, "the table of floors in ARCHITECTURE.md, and `FLOORS` in tests/tidy.rs");
}

#[test]
fn process_ids_are_asked_for_in_one_place() {
    let asks = |file: &PathBuf| !file.ends_with("work/process.rs") && code_of(&read(file)).contains("process::id(");
    none(sources("src").into_iter().filter(asks).map(|file| format!("{}: use `work::Process`", file.display())).collect());
}

#[test]
fn the_number_of_threads_is_asked_for_in_one_place() {
    let folders =
        ["src", "cli/src", "images/src", "l5/src", "l5/view/src", "logs/src", "petastorm/src", "python/src", "view/src"];
    let asks = |file: &PathBuf| {
        let text = read(file);
        code_of(text.split("#[cfg(test)]").next().unwrap_or_default()).contains("available_parallelism")
    };
    let found: Vec<PathBuf> = folders.into_iter().flat_map(sources).filter(asks).collect();
    assert_eq!(found, [PathBuf::from("src/work/threads.rs")], "`extension::threads` reads `TETRYS_THREADS`");
}

#[test]
fn every_sideways_use_is_explained_in_architecture() {
    let floors = section(&read(Path::new("ARCHITECTURE.md")), "Floors");
    let sentence = |(user, used): &(&str, &str)| format!("`{user}` uses `{used}`");
    let missing: Vec<String> = SIDEWAYS.iter().map(sentence).filter(|sentence| !floors.contains(sentence)).collect();
    none(missing);
    let listed = floors.lines().filter(|line| line.starts_with("- `") && line.contains("` uses `")).count();
    assert_eq!(listed, SIDEWAYS.len(), "ARCHITECTURE.md explains uses that `SIDEWAYS` in tests/tidy.rs does not have");
}

#[test]
fn architecture_is_short_and_names_tests_that_exist() {
    let text = read(Path::new("ARCHITECTURE.md"));
    assert!(text.len() <= MAX_ARCHITECTURE, "ARCHITECTURE.md: {} bytes, at most {MAX_ARCHITECTURE}", text.len());
    let is_test = |name: &&str| name.matches('_').count() > 2 && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let tests: BTreeSet<&str> = spans(&text).filter(is_test).collect();
    let code: String = tracked().into_iter().filter(|file| has_extension(file, &["rs", "py"])).map(|file| read(&file)).collect();
    let is_there = |name: &&str| code.contains(&format!("fn {name}(")) || code.contains(&format!("def {name}("));
    none(tests.into_iter().filter(|name| !is_there(name)).map(|name| format!("ARCHITECTURE.md: no test `{name}`")).collect());
}

#[test]
fn every_decision_has_its_parts_and_is_listed() {
    let list = Path::new("docs/decisions/README.md");
    let listed = links(&read(list));
    let (mut complaints, mut count) = (Vec::new(), 0);
    for page in tracked().into_iter().filter(|file| file.starts_with("docs/decisions") && file != list) {
        count += 1;
        let text = read(&page);
        let parts: Vec<&str> = prose(&text).filter_map(|line| line.strip_prefix("## ")).collect();
        if parts != PARTS_OF_A_DECISION {
            complaints.push(format!("{}: its parts are {parts:?}, expected {PARTS_OF_A_DECISION:?}", page.display()));
        }
        let name = page.file_name().unwrap_or_default().display().to_string();
        if listed.iter().filter(|link| **link == name).count() != 1 {
            complaints.push(format!("{}: not listed once in {}", page.display(), list.display()));
        }
    }
    assert!(count > 20, "{count} decisions");
    none(complaints);
}

#[test]
fn every_citation_of_the_format_resolves_to_a_heading() {
    let mut complaints = Vec::new();
    for file in tracked().into_iter().filter(|file| has_extension(file, &["rs", "md", "toml", "py"])) {
        let text = read(&file);
        for (start, _) in text.match_indices("format-spec/") {
            let citation: String =
                text[start..].chars().take_while(|c| c.is_ascii_alphanumeric() || "/._-#".contains(*c)).collect();
            let citation = citation.trim_end_matches('.');
            let (page, anchor) = citation.split_once('#').map_or((citation, None), |(page, anchor)| (page, Some(anchor)));
            if !page.ends_with(".md") {
                continue;
            }
            let resolves = fs::read_to_string(root().join(page)).is_ok_and(|text| match anchor {
                Some(anchor) => anchors(&text).contains(anchor),
                None => true,
            });
            if !resolves {
                complaints.push(format!("{}: `{citation}` is no heading of the format", file.display()));
            }
        }
    }
    none(complaints);
}

#[test]
fn every_source_file_opens_by_saying_what_it_is() {
    let folders =
        ["src", "cli", "images", "l5", "logs", "model", "petastorm", "python", "view", "tests", "benches", "examples", "fuzz"];
    let silent = |file: &PathBuf| !read(file).starts_with("//! ");
    none(
        folders
            .into_iter()
            .flat_map(sources)
            .filter(silent)
            .map(|file| format!("{}: no `//!` paragraph", file.display()))
            .collect(),
    );
}

#[test]
fn a_new_field_of_a_struct_breaks_no_user() {
    let (mut complaints, mut options, mut count) = (Vec::new(), BTreeSet::new(), 0);
    let code: String = sources("src").iter().map(|file| read(file)).collect();
    for (module, found) in seen_structs() {
        count += usize::from(found.public_fields > 0);
        let path = format!("{module}::{}", found.name);
        if !found.is_literal() {
            continue;
        }
        match (OPTIONS.contains(&path.as_str()), COMPLETE.contains(&path.as_str())) {
            (true, _) if !found.has_default(&code) => complaints.push(format!("{path}: users build it, so it needs `Default`")),
            (false, false) => complaints.push(format!("{path}: `#[non_exhaustive]`, or `Default` and a place in `OPTIONS`")),
            _ => {
                options.insert(path);
            }
        }
    }
    none(complaints);
    let listed: BTreeSet<String> = OPTIONS.iter().chain(COMPLETE).map(|path| (*path).to_owned()).collect();
    assert_eq!(options, listed, "structs that can be built by a literal, and the lists of tests/tidy.rs");
    assert!(count > 50, "{count} structs with public fields");
}

#[test]
fn a_builder_that_is_dropped_is_a_warning() {
    let builders: BTreeSet<String> = sources("src").into_iter().flat_map(|file| structs::builders(&read(&file))).collect();
    assert!(builders.len() > 10, "{builders:?}");
    // An error is a value, not a builder.
    let is_lost = |found: &structs::Struct| {
        builders.contains(&found.name)
            && found.name != "Error"
            && !found.attributes.iter().any(|attribute| attribute.starts_with("#[must_use"))
    };
    let lost = seen_structs().into_iter().filter(|(_, found)| is_lost(found));
    none(lost.map(|(module, found)| format!("{module}::{}: a builder without `#[must_use]`", found.name)).collect());
}

/// Returns the structs that users of the stable modules see, each with its module.
fn seen_structs() -> Vec<(String, structs::Struct)> {
    let is_stable = |file: &PathBuf| module_of(file).is_none_or(|module| !UNSTABLE.contains(&module.as_str()));
    let given: BTreeSet<String> =
        sources("src").into_iter().filter(is_stable).flat_map(|file| structs::given(&read(&file))).collect();
    let of_file = |file: PathBuf| {
        let is_stable = is_stable(&file);
        let module = module_of(&file).unwrap_or_default();
        let found = structs::structs(&read(&file)).into_iter().filter(|found| is_stable || given.contains(&found.name));
        found.map(|found| (module.clone(), found)).collect::<Vec<_>>()
    };
    sources("src").into_iter().flat_map(of_file).collect()
}

#[test]
fn names_have_no_word_that_says_nothing() {
    let is_source = |file: &PathBuf| has_extension(file, &["rs", "py", "pyi"]);
    let files: Vec<PathBuf> = tracked().into_iter().filter(is_source).collect();
    assert!(files.len() > 500, "{} files", files.len());
    none(files.into_iter().flat_map(|file| words::complaints(&file, &read(&file))).collect());
}

#[test]
fn polars_is_named_where_frames_are_made_alone() {
    // The crate's front page gives polars out again.
    let names_it = |file: &PathBuf| code_of(&read(file)).replace("pub use polars;", "").contains("polars");
    let allowed = |file: &PathBuf| module_of(file).is_some_and(|module| POLARS.contains(&module.as_str()));
    let strangers = sources("src").into_iter().filter(|file| names_it(file) && !allowed(file));
    none(strangers.map(|file| format!("{}: names polars", file.display())).collect());
}

#[test]
fn examples_and_pages_use_the_stable_modules_alone() {
    let pages = tracked().into_iter().filter(|file| file.starts_with("docs") || file.ends_with("README.md"));
    let files = pages.chain(sources("examples")).filter(|file| has_extension(file, &["rs", "md"]));
    let named = |file: &PathBuf| {
        let text = read(file);
        let paths =
            text.match_indices("tetrys::").flat_map(|(at, prefix)| first_names(&text[at + prefix.len()..])).collect::<Vec<_>>();
        let internal = paths.into_iter().filter(|name| UNSTABLE.contains(&name.as_str()));
        internal.map(|name| format!("{}: names `tetrys::{name}`", file.display())).collect::<Vec<_>>()
    };
    none(files.flat_map(|file| named(&file)).collect());
}

#[test]
fn no_message_names_a_function_of_rust() {
    // Users of the command line and of Python read the same messages. Their tests check the messages that they see against
    // tests/rust_words.txt.
    let mut complaints = Vec::new();
    let folders =
        ["src", "cli/src", "images/src", "l5/src", "l5/view/src", "logs/src", "petastorm/src", "python/src", "view/src"];
    // The viewer writes a selection as Rust, for users who ask for it.
    for file in folders.into_iter().flat_map(sources).filter(|file| !file.ends_with("view/src/copies.rs")) {
        let text = read(&file);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        complaints
            .extend(texts_of(code).into_iter().filter(|text| names_rust(text)).map(|text| format!("{}: {text}", file.display())));
    }
    none(complaints);
}

#[test]
fn no_message_counts_one_bytes() {
    let mut complaints = Vec::new();
    for file in sources("src").into_iter().filter(|file| !file.ends_with("tests.rs")) {
        let text = read(&file);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let wrong = texts_of(code).into_iter().filter(|text| counts_by_hand(text));
        complaints.extend(wrong.map(|text| format!("{}: {text}: use `error::counted`", file.display())));
    }
    none(complaints);
}

#[test]
fn no_source_file_is_longer_than_can_be_read() {
    let lengths = sources("src").into_iter().map(|file| (read(&file).lines().count(), file));
    none(
        lengths
            .filter(|(lines, _)| *lines > MAX_LINES)
            .map(|(lines, file)| format!("{}: {lines} lines, at most {MAX_LINES}", file.display()))
            .collect(),
    );
}

#[test]
fn no_line_of_a_page_is_longer_than_a_screen() {
    let pages = tracked().into_iter().filter(|file| has_extension(file, &["md"]));
    let mut complaints = Vec::new();
    for page in pages.filter(|page| !NOT_WRAPPED.iter().any(|other| page.starts_with(other))) {
        let text = read(&page);
        let long = prose(&text).filter(|line| !line.starts_with('|') && line.chars().count() > MAX_WIDTH);
        complaints.extend(long.map(|line| format!("{}: more than {MAX_WIDTH} characters: {line}", page.display())));
    }
    none(complaints);
}

#[test]
fn no_file_is_too_large_to_be_kept_for_ever() {
    let size = |file: &PathBuf| fs::metadata(root().join(file)).map_or(0, |file| file.len());
    let large = tracked().into_iter().filter(|file| size(file) > MAX_BYTES);
    none(large.map(|file| format!("{}: {} bytes, at most {MAX_BYTES}", file.display(), size(&file))).collect());
}

#[test]
fn no_file_names_a_path_of_the_machine_it_was_written_on() {
    // Each path is written in two parts, so that this file does not contain it.
    let paths = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];
    // A folder of the repository may have such a name: its path is relative, so a name stands in front.
    let names =
        |text: &str, path: &str| text.match_indices(path).any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric()));
    let mut complaints = Vec::new();
    for file in tracked() {
        let Ok(text) = fs::read_to_string(root().join(&file)) else { continue };
        complaints
            .extend(paths.iter().filter(|path| names(&text, path)).map(|path| format!("{}: names `{path}`", file.display())));
    }
    none(complaints);
}

#[test]
fn every_relative_link_in_markdown_resolves() {
    let mut complaints = Vec::new();
    for file in tracked().into_iter().filter(|file| has_extension(file, &["md"])) {
        for target in links(&read(&file)) {
            let (path, anchor) = target.split_once('#').map_or((target.as_str(), None), |(path, anchor)| (path, Some(anchor)));
            let linked = match path {
                "" => root().join(&file),
                path => root().join(&file).parent().map(|folder| folder.join(path)).unwrap_or_default(),
            };
            let resolves = match anchor {
                None => linked.exists(),
                Some(anchor) => fs::read_to_string(&linked).is_ok_and(|text| anchors(&text).contains(anchor)),
            };
            if !resolves {
                complaints.push(format!("{}: the link `{target}` leads nowhere", file.display()));
            }
        }
    }
    none(complaints);
}

#[test]
fn every_file_and_folder_that_a_page_names_in_backticks_exists() {
    // Names that pages use for files of tables, of users, and of other projects.
    let others = ["sessions/", "pins/", "petastorm-generate-metadata.py", "petastorm-throughput.py"];
    // The pages of users name folders of tables and files that the reader makes.
    let of_users = |page: &Path| page.starts_with("docs") || page.starts_with("format-spec");
    let known: Vec<String> = tracked().iter().map(|file| format!("/{}", file.display())).collect();
    let mut complaints = Vec::new();
    for page in tracked().into_iter().filter(|file| has_extension(file, &["md"])) {
        let text = read(&page);
        for name in spans(&text).filter(|name| !others.contains(name)) {
            let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c)) && !name.starts_with('/');
            let is_file = has_extension(Path::new(name), &["rs", "py", "sh"]);
            let is_folder = name.ends_with('/') && !of_users(&page);
            let names_it = |file: &String| match is_folder {
                true => file.contains(&format!("/{name}")),
                false => file.ends_with(&format!("/{name}")),
            };
            if is_plain && (is_folder || is_file) && !known.iter().any(names_it) {
                complaints.push(format!("{}: there is no `{name}`", page.display()));
            }
        }
    }
    none(complaints);
}

#[test]
fn the_chapters_of_the_guide_lead_from_one_to_the_next() {
    let guide = Path::new("docs/guide/README.md");
    let text = read(guide);
    let chapters: Vec<String> =
        text.lines().filter(|line| line.starts_with("| [")).flat_map(|line| links(line).into_iter().take(1)).collect();
    let path_of = |chapter: &str| match chapter.strip_prefix("../") {
        Some(above) => Path::new("docs").join(above),
        None => Path::new("docs/guide").join(chapter),
    };
    let pages: Vec<PathBuf> = chapters.iter().map(|chapter| path_of(chapter)).collect();
    let mut complaints = Vec::new();
    for (number, page) in pages.iter().enumerate() {
        let text = read(page);
        let last = text.lines().rfind(|line| !line.is_empty()).unwrap_or_default();
        let expected = match pages.get(number + 1) {
            Some(next) => {
                let title = read(next).lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
                let file = next.file_name().unwrap_or_default().display().to_string();
                let folder = match (page.parent() == next.parent(), next.starts_with("docs/guide")) {
                    (true, _) => "",
                    (false, true) => "guide/",
                    (false, false) => "../",
                };
                format!("Next: [{title}]({folder}{file}).")
            }
            None => "Back to the [guide](README.md).".to_owned(),
        };
        if last != expected {
            complaints.push(format!("{}: the last line is not: {expected}", page.display()));
        }
    }
    // Every page is a chapter or stands below the chapters, and the front page and llms.txt name all of them. Decisions have a list of
    // their own.
    let beside: Vec<PathBuf> = links(&text).iter().map(|page| path_of(page)).collect();
    let is_decision = |file: &PathBuf| file.starts_with("docs/decisions") && !file.ends_with("README.md");
    let written = tracked().into_iter().filter(|file| file.starts_with("docs") && has_extension(file, &["md"]) && file != guide);
    let written = written.filter(|file| !is_decision(file));
    for page in written {
        if !beside.contains(&page) {
            complaints.push(format!("{}: no link in {}", page.display(), guide.display()));
        }
        for list in ["README.md", "llms.txt"] {
            if !read(Path::new(list)).contains(&format!("]({})", page.display())) {
                complaints.push(format!("{list}: no link to {}", page.display()));
            }
        }
    }
    let listed = read(Path::new("llms.txt"));
    complaints
        .extend(links(&listed).into_iter().filter(|link| !root().join(link).exists()).map(|link| format!("llms.txt: no {link}")));
    none(complaints);
}

#[test]
fn every_suite_and_test_that_the_guarantees_name_exists() {
    let files = tracked();
    let mut complaints = Vec::new();
    let text = read(Path::new("GUARANTEES.md"));
    let cells = text.lines().filter(|line| line.starts_with("| ")).filter_map(|line| line.split(" | ").nth(1));
    for cell in cells {
        let mut suites = Vec::<&PathBuf>::new();
        for name in spans(cell).filter(|name| !name.contains(' ')) {
            if let Some(prefix) = name.strip_suffix("..") {
                let has_it = |suite: &&PathBuf| read(suite).contains(&format!("fn {prefix}"));
                if !suites.iter().any(has_it) {
                    complaints.push(format!("GUARANTEES.md: none of the suites in {} has a test `{name}`", cell.trim()));
                }
                continue;
            }
            let is_suite = |file: &&PathBuf| match name.split_once('/') {
                Some(("cli", rest)) => **file == Path::new("cli/tests/cli").join(rest).with_extension("rs"),
                Some(_) if name.contains('.') => **file == Path::new(name),
                Some(_) => **file == Path::new("tests").join(name).with_extension("rs"),
                None => file.starts_with("tests") && file.ends_with(format!("{name}.rs")),
            };
            let before = suites.len();
            suites.extend(files.iter().filter(is_suite));
            if suites.len() == before {
                complaints.push(format!("GUARANTEES.md: there is no suite `{name}`"));
            }
        }
    }
    none(complaints);
}

#[test]
fn every_figure_that_missed_is_marked_and_listed() {
    let page = read(Path::new("benches/README.md"));
    let (_, listed_and_rest) = page.split_once("\n## What missed\n").expect("a section `What missed`");
    let (listed, rest) = listed_and_rest.split_once("\n## ").expect("sections of results");
    let row_with = |text: &str, word: &str| text.lines().filter(|line| line.starts_with('|') && line.contains(word)).count();
    for part in [listed, rest] {
        assert_eq!(row_with(part, "missed"), row_with(part, "**missed**"), "benches/README.md: a miss is marked `**missed**`");
    }
    // One row of a result is listed once; so every mark has its line at the top, and the other way round.
    assert_eq!(
        row_with(listed, "**missed**"),
        row_with(rest, "**missed**"),
        "benches/README.md: `What missed` lists the rows with marks"
    );
}

#[test]
fn the_roadmap_has_what_the_front_page_says_is_missing() {
    let missing = |page: &str| {
        let text = read(Path::new(page));
        let section = text.split("# What is missing\n").nth(1).and_then(|rest| rest.split("\n#").next()).unwrap_or_default();
        let rows = section.lines().filter(|line| line.starts_with("| "));
        rows.filter_map(|line| line.split(" | ").next()).map(str::to_owned).collect::<Vec<_>>()
    };
    let listed = missing("README.md");
    assert!(listed.len() > 4, "README.md: what is missing?");
    assert_eq!(missing("docs/roadmap.md"), listed);
}

#[test]
fn nothing_tells_a_user_to_install_a_package_that_nobody_has_published() {
    // Written in two parts, so that this file does not contain them.
    let commands = [concat!("pip install ", "tetrys"), concat!("pip install '", "tetrys"), concat!("cargo install ", "tetrys")];
    let mut complaints = Vec::new();
    for file in tracked().into_iter().filter(|file| has_extension(file, &["rs", "md", "py", "pyi", "ipynb", "toml"])) {
        let text = read(&file);
        let wrong = commands.iter().filter(|command| text.contains(**command));
        complaints.extend(
            wrong.map(|command| format!("{}: `{command}`: name the wheel, or the package that is needed", file.display())),
        );
    }
    none(complaints);
}

/// `cargo package` removes missing benchmarks from the manifest. The source distribution of the Python package keeps the manifest as it
/// is, and cargo refuses it if a file is missing.
#[test]
fn every_benchmark_that_the_manifest_names_is_packaged() {
    let manifest = read(Path::new("Cargo.toml"));
    let included = manifest.lines().find(|line| line.starts_with("include = ")).unwrap();
    let named = targets(&manifest, "bench");
    let is_lost = |name: &&String| !root().join("benches").join(format!("{name}.rs")).exists();
    let mut complaints: Vec<String> =
        named.iter().filter(is_lost).map(|name| format!("Cargo.toml: there is no benches/{name}.rs")).collect();
    if !included.contains("\"/benches/*.rs\"") {
        complaints.push("Cargo.toml: benches/ is not in `include`".to_owned());
    }
    assert!(named.len() > 10, "{}", named.len());
    none(complaints);
}

#[test]
fn every_example_is_a_program_of_the_package_that_has_no_unstable_feature() {
    let manifest = read(Path::new("examples/Cargo.toml"));
    let files: BTreeSet<String> =
        sources("examples").iter().map(|file| file.file_stem().unwrap_or_default().display().to_string()).collect();
    assert_eq!(targets(&manifest, "example"), files, "examples/Cargo.toml names each file of examples/");
    let features = manifest.lines().filter(|line| line.starts_with("tetrys") && line.contains("features"));
    none(features.map(|line| format!("examples/Cargo.toml: {line}: users have the default features")).collect());
}

/// Returns the names of the targets of a kind that a manifest lists.
fn targets(manifest: &str, kind: &str) -> BTreeSet<String> {
    let header = format!("[[{kind}]]");
    let tables = manifest.split(&header).skip(1);
    tables.filter_map(|table| table.split('"').nth(1)).map(str::to_owned).collect()
}

#[test]
fn the_rust_of_the_readme_runs_in_an_example() {
    let page = read(Path::new("README.md"));
    let code = page.split("```rust").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
    let code: Vec<&str> = code.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()).collect();
    let example = read(Path::new("examples/readme.rs"));
    let lines: Vec<&str> = example.lines().map(str::trim).collect();
    assert!(code.len() > 4, "README.md has no Rust");
    none(
        code.into_iter()
            .filter(|line| !lines.contains(line))
            .map(|line| format!("examples/readme.rs does not run: {line}"))
            .collect(),
    );
}

#[test]
fn the_checks_see_what_they_should_see() {
    let used = used_modules(
        Path::new("src/read/plan.rs"),
        &code_of(
            "use crate::{error::{Error, Result}, id, table::Table}; // crate::loader\nfn f() { crate::store::get(super::super::commit::x) }",
        ),
    );
    assert_eq!(used, ["commit", "error", "id", "store", "table"].map(str::to_owned).into());
    assert_eq!(used_modules(Path::new("src/read/plan.rs"), "use super::window;"), BTreeSet::new());
    let re_exported = re_exports("pub mod error;\npub use error::{Error, Result};\npub use schema::Schema;");
    assert_eq!(
        re_exported.into_iter().map(|(name, module)| name + module.as_str()).collect::<Vec<_>>(),
        ["Errorerror", "Resulterror", "Schemaschema"]
    );
    let page = "# Canonical form\n```text\n# no heading\n```\n## `get_row`, twice\n## Byte shuffle\n## Byte shuffle\n";
    let expected = ["canonical-form", "get_row-twice", "byte-shuffle", "byte-shuffle-1"];
    assert_eq!(anchors(page), expected.map(str::to_owned).into());
    assert_eq!(links("[a](b.md#c) `[x](no)` [d](https://example.org)\n```\n[x](no)\n```\n"), ["b.md#c"]);
    assert_eq!(spans("`a.rs`, b `c`\n```\n`d`\n```\n").collect::<Vec<_>>(), ["a.rs", "c"]);
    let texts = texts_of("let a = \"one\\\" two\"; // \"x\n// \"three\"\nf(\"Merge::first\")");
    assert!(
        counts_by_hand("of {len}\n   bytes,") && counts_by_hand("{} rows") && counts_by_hand("{0:?} 3 {n.m()} logical hashes")
    );
    assert!(!counts_by_hand("at most {MAX_NAME} bytes, {} bytesize, 3 rows, {bytes}") && !counts_by_hand("{row} of rows"));
    assert!(texts.iter().any(|text| names_rust(text)) && texts[0] == "one\" two" && !names_rust("[::1], a::b"));
    let files =
        |files: &[(&str, &str)]| files.iter().map(|(path, code)| (path.to_string(), code.to_string())).collect::<Vec<_>>();
    let circle = files(&[
        ("lib.rs", "mod a; pub mod b; pub use b::c::Deep;"),
        ("a.rs", "use crate::{x, b::{self, Given as Other}}; fn f() {}"),
        ("b/mod.rs", "mod c;\npub(crate) use c::Given;\nmod d;"),
        ("b/c.rs", "fn g() { super::super::a::f() }"),
        (
            "b/d.rs",
            "const TEXT: &str = \"super::c::g\"; use super::{c::g, super::b::c};\n#[cfg(test)]\nmod tests { use crate::a; }",
        ),
    ]);
    assert_eq!(cycles::cycles(&cycles::uses(&circle)), [["a.rs", "b/c.rs"]]);
    assert_eq!(cycles::cycles(&cycles::uses(&circle[2..])), Vec::<Vec<String>>::new());
    let package = files(&[
        (
            "p/__init__.py",
            "from . import _native, a as a\nfrom .b import (\n    Given,  # from .c import x\n    Other as Another,\n)\n",
        ),
        ("p/_native.pyi", "from .a import f"),
        ("p/a.py", "from ._native import g\ndef f():\n    if g():\n        from .b import Given\n    return Given"),
        ("p/b/__init__.py", "if TYPE_CHECKING:\n    from ..a import f\n\n    from .. import a\nfrom .c import Given"),
        ("p/b/c.py", "\"\"\"It's\nfrom ..d import text\n\"\"\"\nimport os, p.a as a\nx = 'from p import d'"),
        ("p/d.py", "import p.b.c as c, p.d\nfrom p import a\nfrom p.b import nothing"),
    ]);
    assert_eq!(cycles::cycles(&imports::uses(&package)), [["p/a.py", "p/b/__init__.py", "p/b/c.py"]]);
    let of_one = |file: &str| imports::uses(&package)[file].iter().copied().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(of_one("p/__init__.py"), ["p/_native.pyi", "p/a.py", "p/b/__init__.py"]);
    assert_eq!(of_one("p/d.py"), ["p/a.py", "p/b/__init__.py", "p/b/c.py"]);
    let code = "/// A result.\n#[derive(Default)]\n#[non_exhaustive]\npub struct A {\n    /// b: c\n    pub b: u64,\n}\n\npub struct C {\n    pub d: u64,\n    \
                pub(super) e: u64,\n    f: u64,\n}\n\npub struct G {\n    pub h: u64,\n}\n\nimpl<'a> C {\n    pub fn i(mut self) -> Self {\n        self\n    }\n\n    pub fn j(\n        \
                mut self,\n    ) -> Result<Self> {\n    }\n}\n";
    let found = structs::structs(code);
    let fields: Vec<_> = found.iter().map(|found| (found.name.as_str(), found.public_fields, found.private_fields)).collect();
    assert_eq!(fields, [("A", 1, 0), ("C", 1, 2), ("G", 1, 0)]);
    assert_eq!(found.iter().map(structs::Struct::is_literal).collect::<Vec<_>>(), [false, false, true]);
    assert!(found[0].has_default(code) && !found[1].has_default(code));
    assert_eq!(structs::builders(code), ["C".to_owned()].into());
    let given = "pub use a::{B, c::D};\n#[cfg(feature = \"unstable\")]\npub use e::F;\npub(crate) use g::H;";
    assert!(structs::given(given).is_superset(&["B", "D"].map(str::to_owned).into()) && !structs::given(given).contains("F"));
    assert!(sources("src").len() > 4 && tracked().contains(&PathBuf::from("Cargo.toml")));
}

// ---------------------------------------------------------------------------------------------------------------- helpers

/// Returns the string literals of a file, without those of attributes on one line.
fn texts_of(code: &str) -> Vec<String> {
    let is_attribute = |line: &&str| line.trim_start().starts_with("#[") && line.matches('"').count().is_multiple_of(2);
    let lines: Vec<&str> = code.lines().filter(|line| !is_attribute(line)).collect();
    let code = lines.join("\n").replace("'\"'", "");
    let (mut texts, mut inside, mut rest) = (Vec::new(), None::<String>, code.chars().peekable());
    while let Some(c) = rest.next() {
        match (c, &mut inside) {
            ('\\', Some(text)) => text.extend(rest.next()),
            ('"', Some(_)) => texts.extend(inside.take()),
            (c, Some(text)) => text.push(c),
            ('"', None) => inside = Some(String::new()),
            ('/', None) if rest.peek() == Some(&'/') => while rest.next().is_some_and(|c| c != '\n') {},
            _ => {}
        }
    }
    texts
}

/// Whether a text contains a Rust path such as `Merge::first`.
fn names_rust(text: &str) -> bool {
    text.match_indices("::").any(|(at, _)| {
        let word: String = text[..at].chars().rev().take_while(|c| c.is_ascii_alphanumeric()).collect();
        word.ends_with(|c: char| c.is_ascii_uppercase()) && text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
    })
}

/// Nouns that messages count.
const COUNTED: &str = "batches bits blocks bytes chains characters chunks columns digits dimensions elements entries files groups \
    hashes items keys lists names objects pages partitions parts patterns pieces places ranges receipts rows runs segments \
    sequences slots tables values versions";

/// Whether a text has a number, which may be 1, before a plural noun: `{len} bytes`. Constants are never 1.
fn counts_by_hand(text: &str) -> bool {
    text.match_indices('}').any(|(at, _)| {
        let name: String = text[..at].chars().rev().take_while(|c| *c != '{').collect();
        let is_constant = !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let mut words = text[at + 1..].split_whitespace().map(|word| word.trim_end_matches(|c: char| c.is_ascii_punctuation()));
        let is_apart = text[at + 1..].starts_with(char::is_whitespace);
        let word = words.next().filter(|word| !["logical", "stored"].contains(word)).or_else(|| words.next());
        !is_constant && is_apart && word.is_some_and(|word| COUNTED.split_whitespace().any(|counted| counted == word))
    })
}

fn none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &Path) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn has_extension(file: &Path, extensions: &[&str]) -> bool {
    file.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| extensions.contains(&extension))
}

/// Returns all files that are in the repository or about to be added, relative to its root.
fn tracked() -> Vec<PathBuf> {
    let listed =
        Command::new("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root()).output();
    let files: Vec<PathBuf> = match listed {
        Ok(listed) if listed.status.success() => {
            String::from_utf8_lossy(&listed.stdout).split_terminator('\0').map(PathBuf::from).collect()
        }
        // An unpacked archive has no git data, so all its files count.
        _ => walk(Path::new("")),
    };
    files.into_iter().filter(|file| root().join(file).is_file()).collect()
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join(folder)).into_iter().flatten().flatten() {
        let path = folder.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_file() => files.push(path),
            Ok(kind) if kind.is_dir() && ![".git", "target"].iter().any(|skipped| path.ends_with(skipped)) => {
                files.extend(walk(&path));
            }
            _ => {}
        }
    }
    files.sort();
    files
}

/// Returns the path of a file below a folder, as text.
fn below(folder: &str, file: &Path) -> String {
    file.strip_prefix(folder).map(|file| file.display().to_string()).unwrap_or_default()
}

fn sources(folder: &str) -> Vec<PathBuf> {
    walk(Path::new(folder)).into_iter().filter(|file| has_extension(file, &["rs"])).collect()
}

/// Returns the module below the crate root that a file of `src/` belongs to; `None` for `lib.rs`, which names all modules.
fn module_of(file: &Path) -> Option<String> {
    let first = file.strip_prefix("src").ok()?.components().next()?.as_os_str().to_str()?;
    Some(first.trim_end_matches(".rs").to_owned()).filter(|module| module != "lib")
}

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|modules| modules.contains(&module))
}

/// Returns the text without line comments. A `//` after a colon is part of a URL.
fn code_of(text: &str) -> String {
    let cut = |line: &str| {
        let comment = line.match_indices("//").map(|(at, _)| at).find(|at| !line[..*at].ends_with(':'));
        line[..comment.unwrap_or(line.len())].to_owned() + "\n"
    };
    text.lines().map(cut).collect()
}

/// Returns the modules of the crate that some code names, by `crate::` or by enough `super::`.
fn used_modules(file: &Path, code: &str) -> BTreeSet<String> {
    let compact: String = code.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut used = BTreeSet::new();
    for (at, prefix) in compact.match_indices("crate::") {
        used.extend(first_names(&compact[at + prefix.len()..]));
    }
    let in_folder = file.components().count().saturating_sub(2);
    let depth = if file.ends_with("mod.rs") { in_folder } else { in_folder + 1 };
    let to_the_root = "super::".repeat(depth);
    for (at, prefix) in compact.match_indices(&to_the_root) {
        used.extend(first_names(&compact[at + prefix.len()..]).into_iter().filter(|name| floor(name).is_some()));
    }
    used
}

/// Returns the names that `lib.rs` re-exports, and the module of each.
fn re_exports(code: &str) -> BTreeMap<String, String> {
    let statements = code.split(';').filter_map(|statement| statement.trim().strip_prefix("pub use "));
    let paths = statements.filter_map(|path| path.split_once("::"));
    paths.flat_map(|(module, names)| first_names(names.trim()).into_iter().map(|name| (name, module.to_owned()))).collect()
}

/// Returns the first name of a path, or of each path in braces.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(list) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(&list[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns the lines of a Markdown text outside fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Returns the text below a heading `## name`, up to the next heading of that level.
fn section(text: &str, name: &str) -> String {
    let below = text.split(&format!("\n## {name}\n")).nth(1).and_then(|rest| rest.split("\n## ").next());
    below.unwrap_or_default().to_owned()
}

/// Returns the anchors of the headings of a Markdown text, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let headings =
        prose(text).filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    headings
        .map(|heading| {
            let kept =
                heading.trim().to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
            let anchor = kept.replace(' ', "-");
            let count = seen.entry(anchor.clone()).or_default();
            *count += 1;
            if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
        })
        .collect()
}

/// Returns what stands between backticks in the prose of a Markdown text.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Returns the targets of the links of a Markdown text that lead to other files.
fn links(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in prose(text) {
        // Every second piece between backticks is code.
        for piece in line.split('`').step_by(2) {
            for (at, opening) in piece.match_indices("](") {
                let target: String = piece[at + opening.len()..].chars().take_while(|c| *c != ')').collect();
                if !target.contains("://") && !target.starts_with("mailto:") {
                    targets.push(target);
                }
            }
        }
    }
    targets
}
