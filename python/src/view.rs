//! The viewer of the crate `tetrys-view`, which this process serves. The docstrings for users are in `python/tetrys/_view.py`.

use std::{
    path::PathBuf,
    process,
    sync::{Mutex, PoisonError},
};

use pyo3::prelude::*;
use tetrys_l5_view::{SceneMap, with_scene};
use tetrys_view::{Options, Server, Source};

use crate::{
    index::Index,
    runtime::{wait, with_frames},
    table::Table,
};

/// A running viewer; `tetrys.Viewer` wraps it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Viewer {
    url: String,
    /// `None` once it is closed.
    server: Mutex<Option<Server>>,
    /// The process that serves.
    process: u32,
}

#[derive(FromPyObject)]
enum Shown<'py> {
    Table(PyRef<'py, Table>),
    Index(PyRef<'py, Index>),
}

/// What is shown, without Python's lock.
enum Handle {
    Table(tetrys::Table),
    Index(tetrys::Index),
}

impl Shown<'_> {
    fn handle(&self) -> Handle {
        match self {
            Self::Table(table) => Handle::Table(table.table.clone()),
            Self::Index(index) => Handle::Index(index.0.clone()),
        }
    }
}

#[pymethods]
impl Viewer {
    /// Starts to serve tables and indexes on a port; 0 for any that is free. A map is shown below the frames of Level 5 tables.
    #[new]
    fn new(
        py: Python<'_>,
        shown: Vec<Shown<'_>>,
        port: u16,
        l5_map: Option<PathBuf>,
        l5_meta: Option<PathBuf>,
    ) -> PyResult<Self> {
        let handles: Vec<Handle> = shown.iter().map(Shown::handle).collect();
        let sources = with_frames(py, || {
            let map = l5_map.map(|map| SceneMap::read(map, l5_meta.as_deref())).transpose()?;
            let source = |handle| {
                let source = match handle {
                    Handle::Table(table) => Source::of_table(table),
                    Handle::Index(index) => tetrys::Index::check_process().and_then(|()| Source::of_index(index))?,
                };
                with_scene(source, map.as_ref())
            };
            handles.into_iter().map(source).collect::<tetrys::Result<Vec<_>>>()
        })?;
        let mut options = Options::default();
        options.port = port;
        let server = wait(py, Server::start(sources, options))?;
        Ok(Self { url: server.url(), server: Mutex::new(Some(server)), process: process::id() })
    }

    /// Address of the page.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Whether this process still serves the page.
    #[getter]
    fn is_open(&self) -> bool {
        self.process == process::id() && self.server.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Ends the server, and waits until its port is free.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        // Only the process that serves may end it; a forked child has none of its threads.
        if self.process != process::id() {
            return Ok(());
        }
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        match server {
            Some(server) => wait(py, async {
                server.close().await;
                Ok(())
            }),
            None => Ok(()),
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        if self.process != process::id() {
            // The threads of the server were not forked, so nothing may be sent to them.
            std::mem::forget(self.server.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}
