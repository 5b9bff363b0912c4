//! Indexes put together: side by side by key or time, or one below the other. No payload is read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use polars::prelude::{Column, DataFrame, DataType, IdxCa, IdxSize, IntoLazy, PlSmallStr, SortMultipleOptions, col};

use super::index::{Index, IndexSource};
use crate::{
    error::{Error, Result, counted},
    index::{Merge, NO_PARTNER, collect, internal, is_locator, locate, locator_column, retag, without_locators},
    schema::ColumnId,
    table::{lists::Lists, reading::times::nanoseconds_per_tick, views::saving::unique_names},
};

impl Index {
    /// Puts the columns of another index beside those of this one, where keys or times say that rows belong together. Windows
    /// then follow the rows of this index's table through both.
    ///
    /// Keys are what the two frames say, also where they were changed. Rows that a filter took out of the left index stay out,
    /// and still have their partners where a window reaches them: by the keys that they had in the last frame of all rows of the
    /// table in their order. On the right, only the rows of the frame can be partners.
    ///
    /// Right columns whose names are taken on the left, be it in the index or in a column group, get a suffix.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{Merge, RowLoader, Table};
    /// let sensors = Table::open("/data/sensors").await?.index().await?;
    /// let labels = Table::open("s3://bucket/labels").await?.index().await?;
    /// let merged = sensors.merge(&labels, &Merge::on(["log_id", "timestamp"]))?;
    /// let history = RowLoader::new(&merged)?.columns(["lidar.*", "labels.*"])?.get_rows(0, -10..=0).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `NotFound` for a key that is not there (a key that the left frame lost is that of its table), `Invalid` for keys of
    /// different types, equal keys on the right without [`Merge::first`] or [`Merge::last`], a left index of tables one below the
    /// other, and keys that were changed in a left frame of some rows only: those of the others are not known.
    pub fn merge(&self, right: &Self, merge: &Merge) -> Result<Self> {
        let base = self.only_base()?;
        let rows = locate(&self.frame, self.sources[0].tag, self.table().rows(), self.sources.len() > 1)?;
        let right = match merge.list_keys()? {
            Some(keys) => right.grouped(&keys)?.apart_from(self)?,
            None => right.apart_from(self)?,
        };
        let unit = self.unit_of_times(&right, merge)?;
        let (of_frame, partners) = self.both_partners(base, &rows, |keys| merge.partners(keys, &right.frame, unit), merge)?;
        let names = names_beside(self, &right, merge);
        let mut frame = beside(&self.frame, &right.frame, &of_frame, &names)?;
        // Of a frame of all rows, in their order, the columns are shared.
        let is_whole = is_every_row(&rows, base.height());
        let whole = match is_whole && same_names(base, &self.frame) {
            true => without_locators(&frame)?,
            false => beside(base, &without_locators(&right.frame)?, &partners, &names)?,
        };
        if !merge.keeps_left() {
            let there: polars::prelude::BooleanChunked = of_frame.iter().map(|partner| Some(partner.is_some())).collect();
            frame = frame.filter(&there).map_err(internal)?;
        }
        let mut sources: Vec<IndexSource> = self.sources.to_vec();
        for source in right.sources.iter() {
            let named = |(name, id): &(String, ColumnId)| names.get(name).map(|name| (name.clone(), *id));
            let columns = source.columns.iter().filter_map(named).collect();
            let is_there = |(name, _): &&(String, ColumnId)| right.frame.column(name).is_ok() && !merge.is_right_key(name);
            let index = source.index.iter().filter(is_there).filter_map(named).collect();
            let rows = locate(&right.frame, source.tag, source.table.rows(), true)?;
            let row = |partner: &Option<IdxSize>| partner.and_then(|row| rows.get(row as usize)).copied().unwrap_or(NO_PARTNER);
            let partners = Some(partners.iter().map(row).collect());
            sources.push(IndexSource { base: 0, whole: None, columns, index, partners, ..source.clone() });
        }
        sources[0].whole = Some(whole);
        Ok(Self { frame, sources: sources.into() })
    }

    /// The partner of each row of the frame, and of each row of the base: `rows` are those of the frame there. The keys are those
    /// of the frame.
    fn both_partners(
        &self,
        base: &DataFrame,
        rows: &[i64],
        partners_of: impl Fn(&DataFrame) -> Result<Partners>,
        merge: &Merge,
    ) -> Result<(Partners, Partners)> {
        let at: IdxCa = rows.iter().map(|row| IdxSize::try_from(*row).ok()).collect();
        let every = is_every_row(rows, base.height());
        let (mut keys, mut base_keys) = (Vec::new(), Vec::new());
        // Whether rows of the base have the keys that they have in the frame.
        let mut same = true;
        for name in merge.left_keys() {
            let of_base = base.column(name).ok();
            let column = match (self.frame.column(name), of_base) {
                (Ok(column), _) => column.clone(),
                (Err(_), Some(of_base)) => of_base.take(&at).map_err(internal)?,
                (Err(_), None) => {
                    let names: Vec<&str> = self.column_names().collect();
                    return Err(Error::not_found(format!(
                        "merge: no column `{name}` on the left; there are: {}",
                        names.join(", ")
                    )));
                }
            };
            if keys.iter().any(|held: &Column| held.name() == column.name()) {
                continue;
            }
            let cast = of_base.filter(|_| !every).and_then(|of_base| match of_base.dtype() == column.dtype() {
                true => Some(of_base.clone()),
                false => of_base.strict_cast(column.dtype()).ok(),
            });
            match cast {
                Some(cast) if cast.take(&at).map_err(internal)?.equals_missing(&column) => base_keys.push(cast),
                _ => same = false,
            }
            keys.push(column);
        }
        let frame = |height, columns| DataFrame::new(height, columns).map_err(internal);
        if same && !every {
            let partners = partners_of(&frame(base.height(), base_keys)?)?;
            let of = |row: &i64| usize::try_from(*row).ok().and_then(|row| partners.get(row).copied()).flatten();
            return Ok((rows.iter().map(of).collect(), partners));
        }
        let of_frame = partners_of(&frame(self.frame.height(), keys)?)?;
        let mut partners: Vec<Option<Option<IdxSize>>> = vec![None; base.height()];
        for (row, partner) in rows.iter().zip(&of_frame) {
            let slot = usize::try_from(*row).ok().and_then(|row| partners.get_mut(row));
            if slot.and_then(|slot| slot.replace(*partner)).is_some_and(|before| before != *partner) {
                return Err(Error::invalid(format!(
                    "merge: row {row} of {} is in the left frame twice, with different keys: windows would not know which \
                     partner is meant",
                    self.table().url()
                )));
            }
        }
        let known: Option<Partners> = partners.iter().copied().collect();
        let known = known.ok_or_else(|| {
            let keys: Vec<&str> = merge.left_keys().collect();
            Error::invalid(format!(
                "merge: the left frame has {} of {} of {}, and other values of {} than their table: the partners of the \
                 other rows, which windows reach, are not known; change the keys first, in a frame of all rows in their order, and \
                 filter or sort then",
                partners.iter().filter(|partner| partner.is_some()).count(),
                counted(partners.len(), "row"),
                self.table().url(),
                keys.join(", ")
            ))
        })?;
        Ok((of_frame, known))
    }

    /// The same index; where its frame has all rows of its one base, in their order, later merges know the columns of the frame.
    pub(in crate::table) fn knowing_its_frame(mut self, rows: Option<&[i64]>) -> Result<Self> {
        let [first, others @ ..] = &*self.sources else { return Ok(self) };
        let Some(whole) = &first.whole else { return Ok(self) };
        let one_base = others.iter().all(|source| source.base == 0);
        if !one_base || !rows.is_some_and(|rows| is_every_row(rows, whole.height())) || same_names(whole, &self.frame) {
            return Ok(self);
        }
        let mut columns = whole.columns().to_vec();
        for column in self.frame.columns().iter().filter(|column| !is_locator(column.name())) {
            match columns.iter_mut().find(|held| held.name() == column.name()) {
                Some(held) => *held = column.clone(),
                None => columns.push(column.clone()),
            }
        }
        let whole = DataFrame::new(whole.height(), columns).map_err(internal)?;
        let mut sources = self.sources.to_vec();
        sources[0].whole = Some(whole);
        self.sources = sources.into();
        Ok(self)
    }

    /// The rows of several indexes, one below the other; their columns must be the same.
    ///
    /// # Errors
    /// `Invalid` for none, and for columns that differ in name or type, naming them.
    pub fn concat<'a>(indexes: impl IntoIterator<Item = &'a Self>) -> Result<Self> {
        Self::concatenated(indexes, false)
    }

    /// As [`Index::concat`]; columns that are not in all of them are null where they are missing.
    ///
    /// # Errors
    /// `Invalid` for none, and for columns of one name and different types.
    pub fn concat_filling<'a>(indexes: impl IntoIterator<Item = &'a Self>) -> Result<Self> {
        Self::concatenated(indexes, true)
    }

    fn concatenated<'a>(indexes: impl IntoIterator<Item = &'a Self>, fill: bool) -> Result<Self> {
        let mut indexes = indexes.into_iter();
        let mut all = indexes.next().ok_or_else(|| Error::invalid("concat of no index"))?.clone();
        for next in indexes {
            let same =
                all.sources.len() == next.sources.len() && all.sources.iter().zip(next.sources.iter()).all(|(a, b)| a.is_same(b));
            if same {
                all = Self { frame: below(&all.frame, &next.frame, fill)?, sources: all.sources };
                continue;
            }
            let next = next.apart_from(&all)?;
            if !fill {
                same_columns(&all.sources, &next.sources)?;
            }
            let before = all.sources.len();
            let more = next.sources.iter().map(|source| IndexSource { base: before + source.base, ..source.clone() });
            let sources: Vec<IndexSource> = all.sources.iter().cloned().chain(more).collect();
            check_types(&sources)?;
            all = Self { frame: below(&all.frame, &next.frame, fill)?, sources: sources.into() };
            unique_names(&all).map_err(|error| error.at("concat"))?;
        }
        Ok(all)
    }

    /// The nanoseconds that integer times count in, as the properties of their columns say.
    fn unit_of_times(&self, right: &Self, merge: &Merge) -> Result<Option<i64>> {
        let Some((left_time, right_time)) = merge.times() else { return Ok(None) };
        let unit = |index: &Self, name: &str| index.stored_column(name).and_then(nanoseconds_per_tick);
        match (unit(self, left_time), unit(right, right_time)) {
            (Some(a), Some(b)) if a != b => Err(Error::invalid(format!(
                "merge: `{left_time}` counts units of {a} ns on the left and `{right_time}` of {b} ns on the right: convert one of them"
            ))),
            (a, b) => Ok(a.or(b)),
        }
    }

    /// One row for each combination of keys: the first row of its table with it, which stands for the list of all of them.
    fn grouped(&self, keys: &[&str]) -> Result<Self> {
        const ROWS: &str = "__rows";
        let [source] = &*self.sources else {
            let count = self.sources.len();
            return Err(Error::invalid(format!(
                "merge: lists of rows of {}: make them of each table by itself",
                counted(count, "table")
            )));
        };
        if source.lists.is_some() {
            return Err(Error::invalid("merge: the rows on the right are lists already"));
        }
        let locator = locator_column(source.tag);
        if let Some(missing) = keys.iter().find(|key| self.frame.column(key).is_err()) {
            let names: Vec<&str> = self.column_names().collect();
            return Err(Error::not_found(format!("merge: no column `{missing}` on the right; there are: {}", names.join(", "))));
        }
        // Columns go by numbers meanwhile: polars takes some names for patterns.
        let number = |place: usize| PlSmallStr::from(format!("__{place}"));
        let names: Vec<String> = self.column_names().map(str::to_owned).collect();
        let mut columns: Vec<Column> = vec![self.frame.column(&locator).map_err(internal)?.clone()];
        for (place, name) in names.iter().enumerate() {
            columns.push(self.frame.column(name).map_err(internal)?.clone().with_name(number(place)));
        }
        let is_key = |place: &usize| keys.contains(&names[*place].as_str());
        let by: Vec<PlSmallStr> = (0..names.len()).filter(is_key).map(number).collect();
        let others = (0..names.len()).filter(|place| !is_key(place)).map(|place| col(number(place)));
        let listed = others.chain([col(&locator).first(), col(&locator).alias(ROWS)]).collect::<Vec<_>>();
        let frame = DataFrame::new(self.frame.height(), columns).map_err(internal)?;
        let frame = frame.sort([locator.as_str()], SortMultipleOptions::default()).map_err(internal)?;
        let frame = frame.drop_nulls(Some(&by)).map_err(internal)?.lazy();
        let frame = frame.group_by_stable(by.iter().map(|key| col(key.clone())).collect::<Vec<_>>()).agg(listed);
        let frame = collect(frame).map_err(internal)?;
        let rows = usize::try_from(source.table.rows()).map_err(|_| Error::unsupported("rows in lists"))?;
        let mut firsts: Vec<Option<u64>> = vec![None; rows];
        let lists = frame.column(ROWS).map_err(internal)?.as_materialized_series().list().map_err(internal)?;
        for list in (0..lists.len()).filter_map(|group| lists.get_as_series(group)) {
            let list = DataFrame::new(list.len(), vec![list.with_name(locator.as_str().into()).into()]).map_err(internal)?;
            let located = locate(&list, source.tag, source.table.rows(), false)?;
            let first = located.first().and_then(|row| u64::try_from(*row).ok());
            for row in located {
                let slot = usize::try_from(row).ok().and_then(|row| firsts.get_mut(row));
                let slot = slot.ok_or_else(|| Error::internal(format!("row {row} in a list")))?;
                if slot.is_some() {
                    return Err(Error::invalid(format!(
                        "merge: row {row} of the right table is in its index twice: it cannot be in a list"
                    )));
                }
                *slot = first;
            }
        }
        let mut frame = frame.drop(ROWS).map_err(internal)?;
        for (place, name) in names.iter().enumerate() {
            frame.rename(&number(place), name.into()).map_err(internal)?;
        }
        let whole = None;
        let (index, lists) = (Arc::new([]), Some(Arc::new(Lists::new(&firsts))));
        Ok(Self { frame, sources: [IndexSource { index, lists, whole, ..source.clone() }].into() })
    }

    /// All rows of the one table that windows follow.
    fn only_base(&self) -> Result<&DataFrame> {
        match self.sources.iter().find(|source| source.base != 0) {
            Some(source) => Err(Error::invalid(format!(
                "merge: the left index has the rows of several tables ({} and {}): merge each of them, then concat",
                self.table().url(),
                source.table.url()
            ))),
            None => self.sources[0].whole.as_ref().ok_or_else(|| {
                Error::invalid(format!(
                    "merge: the left index is of a view with some rows of {}: load the others by `with_sources` first",
                    self.table().url()
                ))
            }),
        }
    }

    /// The same index, with other tags where `other` has them already.
    fn apart_from(&self, other: &Self) -> Result<Self> {
        let mut taken: Vec<u16> = other.sources.iter().chain(self.sources.iter()).map(|source| source.tag).collect();
        let mut found = self.clone();
        for number in 0..found.sources.len() {
            let tag = found.sources[number].tag;
            if !other.sources.iter().any(|source| source.tag == tag) {
                continue;
            }
            let free = (1..1 << 15).map(|step| tag.wrapping_add(step) & 0x7fff).find(|tag| !taken.contains(tag));
            let free = free.ok_or_else(|| Error::invalid("more tables in one index than there are tags"))?;
            taken.push(free);
            found.frame = retag(&found.frame, tag, free)?;
            let mut sources = found.sources.to_vec();
            sources[number].tag = free;
            found.sources = sources.into();
        }
        Ok(found)
    }
}

impl IndexSource {
    /// Whether its locators, and what stands around its rows, mean the same.
    fn is_same(&self, other: &Self) -> bool {
        let same_table =
            (self.table.manifest_hash(), self.tag, self.base) == (other.table.manifest_hash(), other.tag, other.base);
        let same_whole = match (&self.whole, &other.whole) {
            (None, None) => true,
            (Some(a), Some(b)) => a.columns().len() == b.columns().len() && a.equals_missing(b),
            _ => false,
        };
        let same_partners = self.partners == other.partners && self.lists == other.lists;
        same_table && self.columns == other.columns && same_whole && same_partners
    }
}

/// Whether the second frame has the columns of the first, and locators beside them.
fn same_names(whole: &DataFrame, frame: &DataFrame) -> bool {
    let named = frame.columns().iter().filter(|column| !is_locator(column.name()));
    // Columns that polars made anew under an old name are others.
    let same = |(a, b): (&Column, &Column)| a.name() == b.name() && a.equals_missing(b);
    named.clone().count() == whole.columns().len() && whole.columns().iter().zip(named).all(same)
}

/// The row of the right frame for each row on the left.
type Partners = Vec<Option<IdxSize>>;

/// Whether these are all rows of a table, in their order.
fn is_every_row(rows: &[i64], height: usize) -> bool {
    rows.len() == height && rows.iter().zip(0..).all(|(row, place)| *row == place)
}

/// The names that the columns of `right` get beside those of `left`, index columns and group columns: none is there twice.
fn names_beside(left: &Index, right: &Index, merge: &Merge) -> BTreeMap<String, String> {
    let grouped = |index: &Index| -> Vec<String> {
        index.sources.iter().flat_map(|source| source.columns.iter()).map(|(name, _)| name.clone()).collect()
    };
    let whole = left.sources.iter().filter_map(|source| source.whole.as_ref()).flat_map(DataFrame::columns);
    let of_frames = left.frame.columns().iter().chain(whole).map(|column| column.name().to_string());
    let taken: BTreeSet<String> = of_frames.chain(grouped(left)).collect();
    let of_right = right.column_names().filter(|name| !merge.is_right_key(name)).map(str::to_owned);
    let mut wanted: Vec<String> = of_right.chain(grouped(right)).collect();
    let mut seen = BTreeSet::new();
    wanted.retain(|name| seen.insert(name.clone()));
    // A name that nothing is put behind stays with its column.
    let mut held: BTreeSet<String> = taken.union(&seen).cloned().collect();
    let mut names = BTreeMap::new();
    for name in wanted {
        let renamed = match taken.contains(&name) {
            true => merge.renamed(&name, |name| held.contains(name)),
            false => name.clone(),
        };
        held.insert(renamed.clone());
        names.insert(name, renamed);
    }
    names
}

/// The columns of `right` that have a name, by the number of its row for each row of `left`, beside those of `left`.
fn beside(
    left: &DataFrame,
    right: &DataFrame,
    partners: &[Option<IdxSize>],
    names: &BTreeMap<String, String>,
) -> Result<DataFrame> {
    let partners: IdxCa = partners.iter().copied().collect();
    let mut columns: Vec<Column> = left.columns().to_vec();
    for column in right.columns() {
        let name = column.name().as_str();
        if is_locator(name) {
            let found = column.take(&partners).map_err(internal)?;
            let rows = found.as_materialized_series().i64().map_err(internal)?;
            let rows: Vec<i64> = rows.iter().map(|row| row.unwrap_or(NO_PARTNER)).collect();
            columns.push(Column::new(name.into(), rows));
        } else if let Some(named) = names.get(name) {
            columns.push(column.take(&partners).map_err(internal)?.with_name(named.into()));
        }
    }
    DataFrame::new(left.height(), columns).map_err(internal)
}

/// The rows of `upper`, and below them those of `lower`.
fn below(upper: &DataFrame, lower: &DataFrame, fill: bool) -> Result<DataFrame> {
    let names = |frame: &DataFrame| -> Vec<String> { frame.columns().iter().map(|column| column.name().to_string()).collect() };
    let mut all = names(upper);
    for name in names(lower) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    let mut columns = Vec::with_capacity(all.len());
    for name in all {
        let (a, b) = (upper.column(&name).ok(), lower.column(&name).ok());
        let ty = a.or(b).map_or(DataType::Null, |column| column.dtype().clone());
        if let (Some(a), Some(b)) = (a, b)
            && a.dtype() != b.dtype()
        {
            return Err(Error::invalid(format!("concat: column `{name}` is {} above and {} below", a.dtype(), b.dtype())));
        }
        if !fill && !is_locator(&name) && (a.is_none() || b.is_none()) {
            return Err(Error::invalid(format!(
                "concat: column `{name}` is not in all indexes; fill it with nulls by concat_filling"
            )));
        }
        let part = |column: Option<&Column>, rows: usize| match column {
            Some(column) => column.clone(),
            None if is_locator(&name) => Column::new(name.as_str().into(), vec![NO_PARTNER; rows]),
            None => Column::full_null(name.as_str().into(), rows, &ty),
        };
        let mut column = part(a, upper.height());
        column.append(&part(b, lower.height())).map_err(internal)?;
        columns.push(column.rechunk());
    }
    DataFrame::new(upper.height() + lower.height(), columns).map_err(internal)
}

/// Group columns are the same by name.
fn same_columns(upper: &Arc<[IndexSource]>, lower: &Arc<[IndexSource]>) -> Result<()> {
    let has = |sources: &[IndexSource], name: &str| {
        sources.iter().flat_map(|source| source.columns.iter()).any(|(held, _)| held == name)
    };
    let of = |sources: &[IndexSource], other: &[IndexSource]| -> Option<String> {
        sources.iter().flat_map(|source| source.columns.iter()).find(|(name, _)| !has(other, name)).map(|(name, _)| name.clone())
    };
    match of(upper, lower).or_else(|| of(lower, upper)) {
        Some(name) => {
            Err(Error::invalid(format!("concat: column `{name}` is not in all tables; fill it with nulls by concat_filling")))
        }
        None => Ok(()),
    }
}

/// Group columns of one name have one type.
fn check_types(sources: &[IndexSource]) -> Result<()> {
    let mut seen: Vec<(&str, String)> = Vec::new();
    for source in sources {
        for (name, id) in source.columns.iter() {
            let ty = source.table.schema().column(*id).map(|column| match source.lists {
                Some(_) => format!("list<{}>", column.ty),
                None => column.ty.to_string(),
            });
            let ty = ty.unwrap_or_default();
            match seen.iter().find(|(held, _)| held == name) {
                Some((_, held)) if *held != ty => {
                    return Err(Error::invalid(format!("concat: column `{name}` is {held} in one table and {ty} in another")));
                }
                Some(_) => {}
                None => seen.push((name, ty)),
            }
        }
    }
    Ok(())
}
