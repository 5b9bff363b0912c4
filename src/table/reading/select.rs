//! Selects rows: turns positions of a loader, and windows around them, into rows of its source tables.

use std::{borrow::Cow, collections::BTreeSet};

use futures::future::{join, join_all};

use super::{source::LoaderSource, wanted::Wanted};
use crate::{
    error::{Error, Result},
    read::{Edge, Window, window},
};

/// The rows of a result: for each source, its row at each place of the result.
#[derive(Clone, Debug)]
pub(in crate::table) struct Slots {
    pub(in crate::table) of: Vec<Vec<Option<u64>>>,
}

impl Slots {
    /// Returns the number of rows of the result, including missing rows.
    pub(in crate::table) fn len(&self) -> usize {
        self.of.first().map_or(0, Vec::len)
    }

    /// Appends other slots.
    pub(in crate::table) fn extend(&mut self, more: Self) {
        self.of.iter_mut().zip(more.of).for_each(|(rows, more)| rows.extend(more));
    }
}

/// A part of a read: columns, by their indexes in the columns of the loader, at rows.
pub(in crate::table) struct Part<'a> {
    pub(in crate::table) columns: Vec<usize>,
    pub(in crate::table) slots: &'a Slots,
}

/// Returns the columns of all parts, each once.
pub(in crate::table) fn distinct<'a>(parts: &'a [Part<'_>]) -> Cow<'a, [usize]> {
    match parts {
        [only] => Cow::Borrowed(&only.columns),
        several => {
            let columns: BTreeSet<usize> = several.iter().flat_map(|part| &part.columns).copied().collect();
            Cow::Owned(columns.into_iter().collect())
        }
    }
}

/// The positions of a loader.
pub(super) struct Selection<'a> {
    /// The open source tables.
    pub(super) sources: &'a [LoaderSource],
    /// Number of positions.
    pub(super) len: u64,
    /// The rule for missing rows of windows.
    pub(super) edge: Edge,
}

impl Selection<'_> {
    /// Checks that there is such a position.
    ///
    /// # Errors
    /// - `Invalid`: there is not.
    pub(super) fn check(&self, position: u64) -> Result<()> {
        match position < self.len {
            true => Ok(()),
            false => Err(Error::invalid(format!("row {position} is outside 0..{}", self.len))),
        }
    }

    /// Returns the rows at positions.
    ///
    /// # Errors
    /// - `Invalid`: there is no such position.
    pub(super) fn rows(&self, positions: &[u64]) -> Result<Slots> {
        positions.iter().try_for_each(|position| self.check(*position))?;
        let rows = |source: &LoaderSource| positions.iter().map(|position| source.row_at(*position)).collect();
        Ok(Slots { of: self.sources.iter().map(rows).collect() })
    }

    /// Returns the first base that has a row at a position, and the window's rows there. Before it loads what it needs of a table, it asks
    /// for the layouts of the column groups that `groups` returns for each source: the read needs them, which saves a round trip.
    ///
    /// # Errors
    /// - `Invalid`: there is no such position, no table has a row there, or a row is missing under [`Edge::Error`].
    /// - Errors of the stores.
    pub(super) async fn window(
        &self,
        position: u64,
        wanted: &Window,
        groups: impl Fn(usize) -> Vec<usize>,
    ) -> Result<(usize, Vec<Option<u64>>)> {
        self.check(position)?;
        let bases = self.sources.iter().enumerate().filter(|(number, source)| source.base == *number);
        let there = bases.filter_map(|(number, source)| source.row_at(position).map(|row| (number, source, row))).next();
        let (base, source, row) =
            there.ok_or_else(|| Error::invalid(format!("row {position} of the frame is in no table: a window needs a row")))?;
        let sequences = match source.table.sequences_now() {
            Some(sequences) => sequences,
            None => {
                let sources = self.sources.iter().enumerate();
                let ahead = sources.map(|(number, source)| source.table.layouts_ahead(groups(number)));
                join(source.table.sequences(), join_all(ahead)).await.0?
            }
        };
        let rows = match wanted {
            Window::Rows(offsets) => window(&sequences, row, offsets, self.edge)?,
            Window::Times(times) => {
                let values = source.table.times(times.column()).await?;
                let sequence = sequences.around(row).ok_or_else(|| Error::internal(format!("row {row} in no sequence")))?;
                self.edge.apply(times.rows(&values, sequence.clone(), row)?, row, sequence)?
            }
        };
        Ok((base, rows))
    }

    /// Returns the rows of all sources for a window of a base around a position.
    ///
    /// # Errors
    /// - `Invalid`: one of the wanted columns belongs to a table that was joined by hand.
    pub(super) fn partners<'a>(
        &self,
        position: u64,
        base: usize,
        rows: &[Option<u64>],
        columns: impl Iterator<Item = &'a Wanted> + Clone,
    ) -> Result<Slots> {
        let mut of = Vec::with_capacity(self.sources.len());
        for (number, source) in self.sources.iter().enumerate() {
            let is_merged = source.base == base;
            if !is_merged
                && source.row_at(position).is_some()
                && let Some(column) = columns.clone().find(|column| column.is_stored_in(number))
            {
                return Err(source.no_join_map(&column.name));
            }
            of.push(match is_merged {
                true => rows.iter().map(|row| row.and_then(|row| source.partner(row))).collect(),
                false => vec![None; rows.len()],
            });
        }
        Ok(Slots { of })
    }
}
