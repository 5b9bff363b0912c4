//! The native module of the Python package `tetrys`: handles of the library, numpy arrays over its buffers, and Arrow streams of
//! its frames. Users see the modules of `python/tetrys/`. Neither has table logic.

mod arrays;
mod batches;
mod capsule;
mod change;
mod cluster;
mod column;
mod diff;
mod error;
mod exact;
mod images;
mod index;
mod json;
mod known_type;
mod l5;
mod loader;
mod logging;
mod logs;
mod petastorm;
mod pickle;
mod place;
mod runtime;
mod table;
mod view;
mod write;

use pyo3::prelude::*;

/// glibc returns freed buffers of megabytes to the system, so that each window would fault its pages in again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
fn _tetrys(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::add(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<table::Table>()?;
    module.add_class::<diff::Diff>()?;
    module.add_class::<view::Viewer>()?;
    module.add_class::<index::Index>()?;
    module.add_class::<index::IndexScan>()?;
    module.add_class::<index::IndexPart>()?;
    module.add_class::<loader::RowLoader>()?;
    module.add_class::<batches::DataLoader>()?;
    module.add_class::<images::Image>()?;
    module.add_function(wrap_pyfunction!(batches::shared_prefetch, module)?)?;
    module.add_function(wrap_pyfunction!(images::sample_random, module)?)?;
    module.add_class::<loader::Rows>()?;
    module.add_class::<loader::Scan>()?;
    module.add_class::<loader::Times>()?;
    module.add_class::<arrays::Ragged>()?;
    module.add_class::<column::Column>()?;
    module.add_class::<write::Receipt>()?;
    module.add_class::<write::TableWriter>()?;
    module.add_class::<write::Partition>()?;
    module.add_class::<write::RowsWriter>()?;
    module.add_class::<change::GroupReplacer>()?;
    module.add_function(wrap_pyfunction!(index::concat, module)?)?;
    module.add_function(wrap_pyfunction!(index::run, module)?)?;
    module.add_function(wrap_pyfunction!(logging::record_spans, module)?)?;
    module.add_function(wrap_pyfunction!(logging::spans, module)?)?;
    module.add_function(wrap_pyfunction!(change::patch, module)?)?;
    module.add_function(wrap_pyfunction!(column::columns_of, module)?)?;
    cluster::add(module)?;
    l5::add(module)?;
    logs::add(module)?;
    petastorm::add(module)?;
    module.add_function(wrap_pyfunction!(loader::restore_rows, module)?)?;
    module.add_function(wrap_pyfunction!(place::root_of, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::restore_ragged, module)?)?;
    Ok(())
}

/// Whether to continue if a table cannot be pinned: the caller or `TETRYS_ALLOW_UNPINNED=1` allows it.
pub(crate) fn unpinned_if(allowed: bool) -> bool {
    allowed || std::env::var("TETRYS_ALLOW_UNPINNED").is_ok_and(|value| value == "1" || value == "true")
}
