//! Tests tables that refer to tables in other stores: the commands of `docs/across-stores.md` work as described, a reader follows
//! only allowed references, and credentials of one store are sent to no other store.

use crate::common;
use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use crate::binary::Ran;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tetrys_s3_server::Server;

/// An S3 server with the buckets that the documentation uses, and a folder with two frames.
pub(crate) struct Lab {
    server: Server,
    pub(crate) folder: tempfile::TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let lab = Self { server: Server::start(), folder: tempfile::tempdir().unwrap() };
        ["lab", "team", "archive"].iter().for_each(|bucket| lab.server.create_bucket(bucket));
        for (name, column) in [("sensors", "lidar.text"), ("labels", "labels.text")] {
            let each = || (0..4).flat_map(|log| (0..50).map(move |row| (log, row)));
            let columns: [(&str, ArrayRef); 3] = [
                ("log", Arc::new(StringArray::from_iter_values(each().map(|(log, _)| format!("log-{log}"))))),
                ("time", Arc::new(each().map(|(_, row)| 100 * row).collect::<Int64Array>())),
                (
                    column,
                    Arc::new(StringArray::from_iter_values(each().map(|(log, row)| format!("{name} {log}.{row} ").repeat(40)))),
                ),
            ];
            let batch = RecordBatch::try_from_iter(columns).unwrap();
            let file = File::create(lab.folder.path().join(format!("{name}.parquet"))).unwrap();
            let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
        }
        lab
    }

    /// Returns a lab with the two tables of the chapter.
    pub(crate) fn with_tables() -> Self {
        let lab = Self::new();
        for (frame, url) in [("sensors", "s3://lab/sensors"), ("labels", "s3://team/labels")] {
            lab.run(&format!("ingest parquet {frame}.parquet {url} {CHOICES} -q")).ok();
        }
        lab
    }

    fn reached(&self, command: &mut Command) {
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("AWS_ENDPOINT_URL", self.server.endpoint()).env("AWS_SECRET_ACCESS_KEY", self.server.secret());
        command.env("AWS_ACCESS_KEY_ID", "tester").env("AWS_REGION", "us-east-1").env("HOME", self.folder.path());
        command.env("AWS_EC2_METADATA_DISABLED", "true");
        for name in ["TETRYS_ALLOW", "TETRYS_CACHE", "TETRYS_CONFIG", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
    }

    pub(crate) fn run(&self, arguments: &str) -> Ran {
        self.run_with(arguments, &[])
    }

    fn run_with(&self, arguments: &str, environment: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tetrys"));
        self.reached(&mut command);
        ended(command.args(arguments.split(' ')).envs(environment.iter().copied()))
    }

    /// Runs a script of the documentation in the folder, with the built binary as `tetrys`.
    pub(crate) fn script(&self, script: &str) -> Ran {
        let mut command = Command::new("sh");
        self.reached(&mut command);
        let binary = Path::new(env!("CARGO_BIN_EXE_tetrys")).parent().unwrap().display().to_string();
        command.env("PATH", format!("{binary}:{}", std::env::var("PATH").unwrap()));
        ended(command.args(["-e", "-c", script]))
    }

    /// Returns the requests since the last call. In the place of one that deletes many objects there is one for each.
    pub(crate) fn take_requests(&self) -> Vec<tetrys_s3_server::Request> {
        let mut requests = self.server.take_requests();
        let bulk = requests.extract_if(.., |request| request.method == "POST" && request.query == "delete").last();
        let deleted = self.server.take_deleted().into_iter();
        requests.extend(deleted.filter_map(|(bucket, key)| {
            let method = "DELETE".to_owned();
            Some(tetrys_s3_server::Request { method, bucket, key, ..bulk.clone()? })
        }));
        requests
    }

    /// Copies a table within the server.
    fn copy(&self, from: (&str, &str), to: (&str, &str)) {
        for name in self.server.names(from.0).into_iter().filter(|name| name.starts_with(&format!("{}/", from.1))) {
            self.server.put(to.0, &name.replacen(from.1, to.1, 1), self.server.get(from.0, &name).unwrap());
        }
    }
}

pub(crate) const CHOICES: &str = "--index log,time --sequence-by log --order-by time";

fn ended(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns the language and text of the fenced blocks of a page.
pub(crate) fn blocks(page: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(_), true) => open = false,
            (Some(language), false) => {
                found.push((language.to_owned(), String::new()));
                open = true;
            }
            (None, true) => {
                if let Some((_, text)) = found.last_mut() {
                    text.push_str(line);
                    text.push('\n');
                }
            }
            (None, false) => {}
        }
    }
    found
}

#[test]
fn the_commands_of_the_chapter_do_what_it_says() {
    let lab = Lab::with_tables();
    lab.copy(("lab", "sensors"), ("archive", "sensors"));
    let page = fs::read_to_string(common::root().join("docs/across-stores.md")).unwrap();
    let blocks = blocks(&page);
    let mut scripts = 0;
    for (number, (language, script)) in blocks.iter().enumerate().filter(|(_, (language, _))| language == "sh") {
        let ran = lab.script(script);
        let output = format!("{}{}", ran.err, ran.out);
        assert_eq!(ran.code, 0, "{language}: {script}{output}");
        if let Some((_, expected)) = blocks.get(number + 1).filter(|(language, _)| language == "text") {
            for line in expected.lines() {
                assert!(output.contains(line), "{script}: expected `{line}` in\n{output}");
            }
        }
        // Removes the configuration file of a script, so that each script allows its own references.
        let _ = fs::remove_dir_all(lab.folder.path().join(".config"));
        scripts += 1;
    }
    assert!(scripts >= 8, "{scripts} scripts");
}

#[test]
fn a_view_across_stores_is_refused_with_the_flag_that_opens_it_in_every_reading_command() {
    let lab = Lab::with_tables();
    let made = lab.run("merge s3://lab/sensors s3://team/labels --on log,time --out view");
    let note = "--allow s3://lab/sensors --allow s3://team/labels";
    assert!(made.code == 0 && made.err.contains(note), "{}{}", made.out, made.err);
    let commands = [
        "get view 7 --json",
        "explain view 7 --offsets=-3..=0 --json",
        "query view SELECT\u{a0}count(*)\u{a0}AS\u{a0}n\u{a0}FROM\u{a0}t --json",
        "select view --where time>100 --out more --dry-run --json",
        "verify view",
    ];
    for command in commands {
        let refused = lab.run(command);
        let output = format!("{}{}", refused.out, refused.err);
        assert_ne!(refused.code, 0, "{command}: {output}");
        assert!(output.contains("not allowed") && output.contains("`--allow s3://"), "{command}: {output}");
        // Uses the flags exactly as the message has them.
        let mut flags = String::new();
        for _ in 0..2 {
            let ran = lab.run(&format!("{command}{flags}"));
            let output = format!("{}{}", ran.out, ran.err);
            if let Some((_, rest)) = output.split_once("`--allow ") {
                flags.push_str(&format!(" --allow {}", rest.split('`').next().unwrap()));
            }
        }
        assert_eq!(lab.run(&format!("{command}{flags}")).code, 0, "{command}{flags}");
        assert_eq!(lab.run_with(command, &[("TETRYS_ALLOW", "s3://lab s3://team/labels")]).code, 0, "{command}");
        assert_ne!(lab.run_with(command, &[("TETRYS_ALLOW", "s3://lab/sens s3://team/labels/x")]).code, 0, "{command}");
    }
    // The configuration file allows references; a wrong file is an error before anything is read.
    let config = lab.folder.path().join("allowed.toml");
    fs::write(&config, "allow = ['s3://lab', 's3://team']").unwrap();
    let path = config.display().to_string();
    lab.run_with("get view 7 --json", &[("TETRYS_CONFIG", &path)]).ok();
    fs::write(&config, "alow = ['s3://lab']").unwrap();
    assert!(lab.run_with("get view 7 --json", &[("TETRYS_CONFIG", &path)]).fails(1).contains("alow"));
    assert!(lab.run_with("get view 7 --json", &[("TETRYS_CONFIG", "absent.toml")]).fails(1).contains("absent.toml"));
    assert!(lab.run("get view 7 --json --allow s3://").fails(1).contains("allowed URL `s3://`"));
}

#[test]
fn who_names_two_tables_in_one_command_has_allowed_them() {
    let lab = Lab::with_tables();
    assert_eq!(lab.run("merge s3://lab/sensors s3://team/labels --on log,time --out s3://team/view").code, 0);
    // The other source of the view is a neighbour of it and needs no permission.
    let merged = lab.run("merge s3://team/view s3://lab/sensors --on log,time --out s3://team/again --json");
    assert_eq!(merged.code, 0, "{}", merged.err);
    let output: serde_json::Value = serde_json::from_str(&merged.out).unwrap();
    assert_eq!(output["must_allow"], serde_json::json!(["s3://lab/sensors"]));
    fs::write(
        lab.folder.path().join("recipe.toml"),
        "from = 'view'\n[sources]\nview = 's3://team/view'\nsensors = 's3://lab/sensors@1'\n[[join]]\nwith = 'sensors'\non = ['log', 'time']\n[output]\nview = 'third'\n",
    )
    .unwrap();
    assert_eq!(lab.run("run recipe.toml").code, 0);
}

#[test]
fn a_table_that_uses_chunks_of_another_store_is_read_where_that_is_allowed() {
    let lab = Lab::with_tables();
    let taken = lab.run(&format!("ingest parquet sensors.parquet copy {CHOICES} --reference s3://lab/sensors"));
    assert!(taken.code == 0 && taken.err.contains("--allow s3://lab/sensors"), "{}{}", taken.out, taken.err);
    assert!(!lab.folder.path().join("copy/chunks").exists(), "{}", taken.out);
    assert!(lab.run("get copy 3 --json").fails(1).contains("`--allow s3://lab/sensors`"));
    let here = lab.run("get copy 3 --json --allow s3://lab/sensors").ok();
    assert_eq!(here, lab.run("get s3://lab/sensors 3 --json").ok());
    assert_eq!(lab.run("verify copy --allow s3://lab").code, 0);
    // In the other direction, a table on S3 uses chunks on a disk.
    lab.run(&format!("ingest parquet labels.parquet disk {CHOICES} -q")).ok();
    let taken = lab.run(&format!("ingest parquet labels.parquet s3://team/more {CHOICES} --reference disk"));
    let disk = format!("file://{}/disk", lab.folder.path().canonicalize().unwrap().display());
    assert!(taken.code == 0 && taken.err.contains(&format!("--allow {disk}")), "{}{}", taken.out, taken.err);
    assert!(lab.run("get s3://team/more 3 --json").fails(1).contains("not allowed"));
    let there = lab.run("get s3://team/more 3 --json --allow disk").ok();
    assert_eq!(there, lab.run("get disk 3 --json").ok());
}

#[test]
fn a_view_of_views_across_stores_is_read_moved_and_mended() {
    let lab = Lab::with_tables();
    assert_eq!(lab.run("merge s3://lab/sensors s3://team/labels --on log,time --out s3://team/inner").code, 0);
    let outer = lab.run("select s3://team/inner --where time<2000 --out outer --allow s3://lab/sensors");
    // The outer view refers to tables, not to views: each table must be allowed.
    assert!(outer.code == 0 && outer.err.contains("--allow s3://lab/sensors"), "{}{}", outer.out, outer.err);
    let flags = outer.err.split_once("allow them: ").unwrap().1.trim_end().to_owned();
    let rows = lab.run(&format!("get outer 7 --offsets=-2..=0 --json {flags}")).ok();
    // The sensors move to another bucket.
    lab.copy(("lab", "sensors"), ("archive", "moved"));
    let moved = lab.run("rebind outer s3://archive/moved --allow s3://team/labels");
    assert!(moved.code == 0 && moved.err.contains("--allow s3://archive/moved"), "{}{}", moved.out, moved.err);
    let flags = moved.err.split_once("allow them: ").unwrap().1.trim_end().to_owned();
    assert_eq!(lab.run(&format!("get outer 7 --offsets=-2..=0 --json {flags}")).ok(), rows);
    assert!(lab.run("get outer 7 --json").fails(1).contains("`--allow s3://"));
}

#[test]
fn options_of_a_call_go_to_its_own_store_and_of_a_local_table_to_those_that_it_refers_to() {
    let lab = Lab::with_tables();
    assert_eq!(lab.run("select s3://lab/sensors --where time<2000 --out local").code, 0);
    assert_eq!(lab.run("select s3://lab/sensors --where time<2000 --out s3://team/far").code, 0);
    let options = format!(
        "--option endpoint={} --option access_key_id=tester --option secret_access_key={} --option region=us-east-1",
        lab.server.endpoint(),
        lab.server.secret()
    );
    // The environment of these commands has no settings for the server.
    let bare = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tetrys"));
        lab.reached(&mut command);
        for name in ["AWS_ENDPOINT_URL", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"] {
            command.env_remove(name);
        }
        ended(command.args(format!("{arguments} {options} --allow s3://lab").split(' ')))
    };
    bare("get local 7 --json").ok();
    lab.server.take_requests();
    let refused = bare("get s3://team/far 7 --json").fails(1);
    assert!(refused.contains("no credentials found"), "{refused}");
    let buckets: Vec<String> = lab.server.take_requests().into_iter().map(|request| request.bucket).collect();
    assert!(!buckets.is_empty() && buckets.iter().all(|bucket| bucket == "team"), "{buckets:?}");
}
