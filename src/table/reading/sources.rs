//! The state that a loader and its clones share about their source tables: which they are, and whether they are open.

use std::sync::Arc;

use super::source::LoaderSource;
use crate::{error::Result, table::version::table::Table, work::Once};

/// The source tables of a loader. Those of a view are opened by the first read.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    open: Arc<Once<Arc<[LoaderSource]>>>,
    view: Option<Table>,
}

impl Sources {
    /// Creates the state of open tables.
    pub(super) fn of(sources: Arc<[LoaderSource]>) -> Self {
        Self { open: Arc::new(Once::from(sources)), view: None }
    }

    /// Creates the state of a view whose tables are not open yet.
    pub(super) fn of_view(view: &Table) -> Self {
        Self { open: Arc::default(), view: Some(view.clone()) }
    }

    /// Returns the source tables; none before [`Sources::open`] has opened those of a view.
    pub(super) fn get(&self) -> &[LoaderSource] {
        self.open.get().map(|sources| &**sources).unwrap_or_default()
    }

    /// Opens the source tables of a view.
    ///
    /// # Errors
    /// Those of opening a table.
    pub(super) async fn open(&self) -> Result<()> {
        if let Some(view) = &self.view {
            let view = view.clone();
            self.open.get_or_load(|| view.bound_sources()).await?;
        }
        Ok(())
    }

    /// Returns the table whose rows the positions are, in its order: a view, or the only source if position p is row p.
    pub(super) fn table(&self) -> Option<&Table> {
        match (&self.view, self.get()) {
            (Some(view), _) => Some(view),
            (None, [only]) => {
                let is_whole = only.at.is_none() && only.partners.is_none() && only.lists.is_none();
                is_whole.then_some(&only.table)
            }
            (None, _) => None,
        }
    }

    /// Returns the open source tables, and the view.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.get().iter().map(|source| &source.table).chain(&self.view)
    }
}
