//! `tetrys view`: shows tables in the browser.

use std::{
    io::Write,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use clap::Args;
use tempfile::NamedTempFile;
use tetrys::Error;
use tetrys_l5_view::{SceneMap, with_scene};
use tetrys_view::{Options, Server, Source};

use crate::{
    commands::logs::is_log,
    failure::{Failure, Outcome, say},
    numbers::whole,
    opening, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Starts a server on this machine that only reads, prints the address of its page and opens it. The page shows the rows of a table with a summary of each column, filters and sorts them, and shows the pictures, points, numbers and texts of a row. Ctrl-C ends the server. It works without a network.

The frames of tables that `tetrys ingest l5` made are also shown from above: agents with their past and future, traffic lights, and the lanes of --l5-map or of the attachments semantic_map.pb and meta.json of the table.

The address holds a token: who does not have it gets no data. Browsers on other machines need a port that is forwarded (`ssh -L 8000:localhost:8000 HOST`), or --bind and --allow-host, whose connections are not encrypted.

Examples:
  tetrys view drives
  tetrys view drives@3 busy --port 8000 --no-open
  tetrys view sample --l5-map maps/semantic_map.pb --l5-meta meta.json
  tetrys view s3://lab/drives --option region=eu-central-1"
)]
pub(crate) struct View {
    /// The tables or views: paths or URLs; TABLE@3 is version 3
    #[arg(required = true, value_name = "TABLE")]
    tables: Vec<String>,
    /// Listen on this port; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0..=u16::MAX))]
    port: u16,
    /// Print the address and open no browser
    #[arg(long)]
    no_open: bool,
    /// Also answer browsers that reach the server under this name, such as localhost:9000 for a forwarded port. May be repeated
    #[arg(long, value_name = "HOST:PORT")]
    allow_host: Vec<String>,
    /// Listen on another address than 127.0.0.1. Needs --allow-host
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    bind: Option<IpAddr>,
    /// Show the lanes and crosswalks of this semantic map below the frames of Level 5 tables
    #[arg(long, value_name = "FILE")]
    l5_map: Option<PathBuf>,
    /// The meta.json of the data set of --l5-map. Without it, the one beside the map or in the folder above is used
    #[arg(long, value_name = "FILE", requires = "l5_map")]
    l5_meta: Option<PathBuf>,
}

fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "expected an IP address, as in 127.0.0.1 or 0.0.0.0".to_owned())
}

impl View {
    /// Checks what clap does not check.
    ///
    /// # Errors
    /// - `Misuse`: a host has no port, the address needs --allow-host, or a table is a log.
    fn check(&self) -> Result<(), Failure> {
        let is_port = |port: &str| port.parse::<u16>().is_ok();
        let is_host = |host: &str| host.rsplit_once(':').is_some_and(|(name, port)| !name.is_empty() && is_port(port));
        if let Some(host) = self.allow_host.iter().find(|host| !is_host(host)) {
            let host = text::printable(host);
            return Err(Failure::Misuse(format!("--allow-host: expected HOST:PORT, such as gpu7:8000, found {host}")));
        }
        if let Some(bind) = self.bind.filter(|bind| !bind.is_loopback() && self.allow_host.is_empty()) {
            return Err(Failure::Misuse(format!(
                "--bind {bind} is not the loopback interface: name with --allow-host the hosts and ports that browsers will use, as in \
                 `tetrys view TABLE --bind {bind} --port 8000 --allow-host gpu7:8000`"
            )));
        }
        match self.tables.iter().find(|table| is_log(table) && Path::new(table).is_file()) {
            Some(log) => Err(Failure::Misuse(format!(
                "{}: this is a log: `tetrys logs info` shows it, and `tetrys ingest logs` makes a table of it",
                text::printable(log)
            ))),
            None => Ok(()),
        }
    }

    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        self.check()?;
        opening::named(&self.tables);
        let read = |file: &PathBuf| SceneMap::read(file, self.l5_meta.as_deref());
        let map = self.l5_map.as_ref().map(read).transpose().map_err(Failure::Input)?;
        let mut sources = Vec::new();
        for url in &self.tables {
            let source = Source::of_table(opening::table(url).await?);
            sources.push(with_scene(source, map.as_ref()).map_err(Failure::Input)?);
        }
        let mut options = Options::default();
        options.port = self.port;
        options.bind = self.bind.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        options.allow_hosts = self.allow_host;
        let server = Server::start(sources, options).await?;
        writeln!(out, "{}", server.url())?;
        out.flush()?;
        let _page = match self.no_open {
            true => None,
            false => open(&server.url()),
        };
        say(format_args!("showing {}; Ctrl-C ends it", text::counted(self.tables.len() as u64, "table")));
        server.wait().await;
        Ok(Outcome::Done)
    }
}

/// Opens the browser of the user with a file that leads to the page, and returns the file. The address itself would stand in the list of
/// processes, where other users of the machine would see the token.
fn open(url: &str) -> Option<NamedTempFile> {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => {
            let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            if !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") && !is_set("BROWSER") {
                say(format_args!("open the address above in a browser"));
                return None;
            }
            "xdg-open"
        }
    };
    let page = || -> std::io::Result<NamedTempFile> {
        // Only the user may read it.
        let mut file = tempfile::Builder::new().prefix("tetrys-view-").suffix(".html").tempfile()?;
        write!(file, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={url}\"><a href=\"{url}\">Tetrys</a>")?;
        file.flush()?;
        Command::new(program).arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(file)
    };
    match page() {
        Ok(file) => Some(file),
        Err(error) => {
            say(format_args!("note: no browser opened: {}", Error::from(error)));
            None
        }
    }
}
