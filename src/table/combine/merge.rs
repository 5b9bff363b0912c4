//! Combines indexes: merges join columns by key or time, and concatenation appends rows. No chunk is read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use polars::prelude::{Column, DataFrame, DataType, IdxCa, IdxSize, IntoLazy, ListChunked, PlSmallStr, SortMultipleOptions, col};

use super::new_view::unique_names;
use crate::{
    error::{Error, Mark, Result, counted},
    index::{
        Merge, NO_PARTNER, check_process, collect, internal, is_locator, locate, locator_column, retag, type_text,
        without_locators,
    },
    schema::ColumnId,
    table::{
        index::index::{Index, IndexSource},
        reading::times::nanoseconds_per_tick,
        version::lists::Lists,
    },
};

impl Index {
    /// Joins the columns of another index to this index, by keys or times. This index is the left side, the other index is the
    /// right side. The row on the right that belongs to a row on the left is its partner. A window follows the rows of the left
    /// table, and reads their partners on the right.
    ///
    /// The key values come from the two frames, also if the caller has changed them. Rows that a filter has removed from the left
    /// index are not in the result, but a window still contains them and their partners. The keys of such rows come from the last
    /// frame that had all rows of the table in table order. On the right, only rows of the frame can be partners.
    ///
    /// A right column gets a suffix if the left side has an index column or a group column of the same name.
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
    /// - `NotFound`: a key column does not exist. A key column that the left frame no longer has is taken from its table.
    /// - `Invalid`: the key types differ, keys on the right are equal without [`Merge::first`] or [`Merge::last`], the left index
    ///   has rows of concatenated tables, or keys were changed in a left frame that has only some of the rows of its table. In
    ///   that last case, the keys of the other rows are unknown.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn merge(&self, right: &Self, merge: &Merge) -> Result<Self> {
        check_process()?;
        let base = self.only_base()?;
        let left = self.to_frame();
        let rows = locate(&left, self.sources[0].tag, self.table().rows(), self.sources.len() > 1)?;
        let right = match merge.list_keys()? {
            Some(keys) => right.grouped(&keys)?.apart_from(self)?,
            None => right.apart_from(self)?,
        };
        let (of_right, unit) = (right.to_frame(), self.unit_of_times(&right, merge)?);
        let (of_frame, partners) = self.both_partners(base, &rows, |keys| merge.partners(keys, &of_right, unit), merge)?;
        let names = names_beside(self, &right, merge);
        let mut frame = beside(&left, &of_right, &of_frame, &names)?;
        // A frame that has all rows in table order shares its columns with `whole`.
        let is_whole = is_every_row(&rows, base.height());
        let whole = match is_whole && same_names(base, &left) {
            true => without_locators(&frame)?,
            false => beside(base, &without_locators(&of_right)?, &partners, &names)?,
        };
        if !merge.keeps_left() {
            let there: polars::prelude::BooleanChunked = of_frame.iter().map(|partner| Some(partner.is_some())).collect();
            frame = frame.filter(&there).map_err(internal)?;
        }
        let mut sources: Vec<IndexSource> = self.sources.to_vec();
        for source in right.sources.iter() {
            let named = |(name, id): &(String, ColumnId)| names.get(name).map(|name| (name.clone(), *id));
            let columns = source.columns.iter().filter_map(named).collect();
            let is_there = |(name, _): &&(String, ColumnId)| of_right.column(name).is_ok() && !merge.is_right_key(name);
            let index = source.index.iter().filter(is_there).filter_map(named).collect();
            let rows = locate(&of_right, source.tag, source.table.rows(), true)?;
            let row = |partner: &Option<IdxSize>| partner.and_then(|row| rows.get(row as usize)).copied().unwrap_or(NO_PARTNER);
            let partners = Some(partners.iter().map(row).collect());
            sources.push(IndexSource { base: 0, whole: None, columns, index, partners, ..source.clone() });
        }
        sources[0].whole = Some(whole);
        Ok(Self::of(frame, sources.into()))
    }

    /// Returns the partner of each row of the frame, and the partner of each row of the base. `rows` has the base row of each
    /// frame row. The key values are those of the frame.
    ///
    /// # Errors
    /// - `NotFound`: a key column is in neither the frame nor the base.
    /// - `Invalid`: a base row is in the frame twice with different partners, or the frame has changed keys and only some rows.
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
        // Whether the keys of the frame are equal to those of the base.
        let mut same = true;
        for name in merge.left_keys() {
            let of_base = base.column(name).ok();
            let column = match (self.frame.bare().column(name), of_base) {
                (Ok(column), _) => column.clone(),
                (Err(_), Some(of_base)) => of_base.take(&at).map_err(internal)?,
                (Err(_), None) => {
                    let names: Vec<&str> = self.column_names().collect();
                    return Err(Error::not_found(format!(
                        "merge: no column `{name}` on the left; there are: {}",
                        names.join(", ")
                    ))
                    .marked(Mark::Merge));
                }
            };
            if keys.iter().any(|existing: &Column| existing.name() == column.name()) {
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
                    "merge: row {row} of {} is in the left frame twice, with different keys: its partner in a window would be \
                     ambiguous",
                    self.table().url()
                ))
                .marked(Mark::Merge));
            }
        }
        let known: Option<Partners> = partners.iter().copied().collect();
        let known = known.ok_or_else(|| {
            let keys: Vec<&str> = merge.left_keys().collect();
            Error::invalid(format!(
                "merge: the left frame has {} of {} of {}, and its values of {} differ from those of the table: the partners of \
                 the other rows, which windows need, are not known; change the keys in a frame of all rows in table order, and \
                 filter or sort after that",
                partners.iter().filter(|partner| partner.is_some()).count(),
                counted(partners.len(), "row"),
                self.table().url(),
                keys.join(", ")
            ))
            .marked(Mark::Merge)
        })?;
        Ok((of_frame, known))
    }

    /// Stores the columns of the frame as those of the base, if the frame has all rows of its single base in table order. Later
    /// merges then use these columns. `rows` has the base row of each frame row.
    pub(in crate::table) fn knowing_its_frame(mut self, rows: Option<&[i64]>) -> Result<Self> {
        let [first, others @ ..] = &*self.sources else { return Ok(self) };
        let Some(whole) = &first.whole else { return Ok(self) };
        let one_base = others.iter().all(|source| source.base == 0);
        if !one_base || !rows.is_some_and(|rows| is_every_row(rows, whole.height())) || same_names(whole, self.frame.bare()) {
            return Ok(self);
        }
        let mut columns = whole.columns().to_vec();
        for column in self.frame.bare().columns().iter().filter(|column| !is_locator(column.name())) {
            match columns.iter_mut().find(|existing| existing.name() == column.name()) {
                Some(existing) => *existing = column.clone(),
                None => columns.push(column.clone()),
            }
        }
        let whole = DataFrame::new(whole.height(), columns).map_err(internal)?;
        let mut sources = self.sources.to_vec();
        sources[0].whole = Some(whole);
        self.sources = sources.into();
        Ok(self)
    }

    /// Concatenates the rows of several indexes, which must have the same columns.
    ///
    /// # Errors
    /// - `Invalid`: there are no indexes, or a column is missing in an index or differs in type; the message names the column.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn concat<'a>(indexes: impl IntoIterator<Item = &'a Self>) -> Result<Self> {
        Self::concatenated(indexes, false)
    }

    /// Concatenates the rows of several indexes. A column that an index does not have is null in the rows of that index.
    ///
    /// # Errors
    /// - `Invalid`: there are no indexes, or columns of the same name differ in type; the message names the column.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn concat_filling<'a>(indexes: impl IntoIterator<Item = &'a Self>) -> Result<Self> {
        Self::concatenated(indexes, true)
    }

    fn concatenated<'a>(indexes: impl IntoIterator<Item = &'a Self>, fill: bool) -> Result<Self> {
        check_process()?;
        let mut indexes = indexes.into_iter();
        let mut all = indexes.next().ok_or_else(|| Error::invalid("concat: no index: expected at least one"))?.clone();
        for next in indexes {
            let same =
                all.sources.len() == next.sources.len() && all.sources.iter().zip(next.sources.iter()).all(|(a, b)| a.is_same(b));
            if same {
                all = Self::of(below(&all.to_frame(), &next.to_frame(), fill)?, all.sources);
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
            all = Self::of(below(&all.to_frame(), &next.to_frame(), fill)?, sources.into());
            unique_names(&all).map_err(|error| error.at("concat"))?;
        }
        Ok(all)
    }

    /// Returns the nanoseconds of a unit of integer times, from the properties of the time columns.
    ///
    /// # Errors
    /// - `Invalid`: the left and the right time column have different units.
    pub(in crate::table) fn unit_of_times(&self, right: &Self, merge: &Merge) -> Result<Option<i64>> {
        let Some((left_time, right_time)) = merge.times() else { return Ok(None) };
        let unit = |index: &Self, name: &str| index.stored_column(name).and_then(nanoseconds_per_tick);
        match (unit(self, left_time), unit(right, right_time)) {
            (Some(a), Some(b)) if a != b => Err(Error::invalid(format!(
                "merge: the unit of `{left_time}` on the left is {a} ns, that of `{right_time}` on the right is {b} ns: convert \
                 one of them"
            ))
            .marked(Mark::Merge)),
            (a, b) => Ok(a.or(b)),
        }
    }

    /// Groups the rows into lists, one for each combination of key values. The first row of each list stands for the list in the
    /// frame.
    ///
    /// # Errors
    /// - `NotFound`: a key column does not exist.
    /// - `Invalid`: the index has several tables or lists already, or a row is in the index twice.
    fn grouped(&self, keys: &[&str]) -> Result<Self> {
        let [source] = &*self.sources else {
            let count = self.sources.len();
            return Err(Error::invalid(format!(
                "merge: cannot make lists of rows of {}: make the lists of each table separately",
                counted(count, "table")
            ))
            .marked(Mark::Merge));
        };
        if source.lists.is_some() {
            return Err(Error::invalid("merge: the rows on the right are lists already").marked(Mark::Merge));
        }
        let (locator, frame) = (locator_column(source.tag), self.to_frame());
        if let Some(missing) = keys.iter().find(|key| frame.column(key).is_err()) {
            let names: Vec<&str> = self.column_names().collect();
            return Err(Error::not_found(format!("merge: no column `{missing}` on the right; there are: {}", names.join(", ")))
                .marked(Mark::Merge));
        }
        let (frame, lists) = into_lists(&frame, &locator, keys)?;
        // A merge part by part makes no lists here.
        let rows = if lists.is_empty() { 0 } else { source.table.rows() };
        let rows = usize::try_from(rows).map_err(|_| Error::unsupported("rows in lists"))?;
        let mut firsts: Vec<Option<u64>> = vec![None; rows];
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
                    ))
                    .marked(Mark::Merge));
                }
                *slot = first;
            }
        }
        let whole = None;
        let (index, lists) = (Arc::new([]), Some(Arc::new(Lists::new(&firsts))));
        Ok(Self::of(frame, [IndexSource { index, lists, whole, ..source.clone() }].into()))
    }

    /// Whether a merge with this index on the left needs [`Index::with_sources`] first: its table has rows that are not loaded.
    pub fn lacks_rows(&self) -> bool {
        self.sources.iter().all(|source| source.base == 0) && self.sources[0].whole.is_none()
    }

    /// Returns the frame of all rows of the base, the table whose rows windows follow.
    ///
    /// # Errors
    /// - `Invalid`: the index has several bases, or not all rows of the base are loaded.
    fn only_base(&self) -> Result<&DataFrame> {
        match self.sources.iter().find(|source| source.base != 0) {
            Some(source) => Err(Error::invalid(format!(
                "merge: the left index has the rows of several tables ({} and {}): merge each of them, then concat",
                self.table().url(),
                source.table.url()
            ))
            .marked(Mark::Merge)),
            None => self.sources[0].whole.as_ref().ok_or_else(|| {
                Error::invalid(format!(
                    "merge: the left index has only some of the rows of {}: load the others by `with_sources` first",
                    self.table().url()
                ))
                .marked(Mark::Merge)
            }),
        }
    }

    /// Returns the same index, with new tags for sources whose tags `other` already uses.
    pub(in crate::table) fn apart_from(&self, other: &Self) -> Result<Self> {
        let mut taken: Vec<u16> = other.sources.iter().chain(self.sources.iter()).map(|source| source.tag).collect();
        let mut found = self.clone();
        for number in 0..found.sources.len() {
            let tag = found.sources[number].tag;
            if !other.sources.iter().any(|source| source.tag == tag) {
                continue;
            }
            let free = (1..1 << 15).map(|step| tag.wrapping_add(step) & 0x7fff).find(|tag| !taken.contains(tag));
            let free = free.ok_or_else(|| Error::invalid("the index has more tables than there are locator tags"))?;
            taken.push(free);
            let frame = retag(&found.to_frame(), tag, free)?;
            let mut sources = found.sources.to_vec();
            sources[number].tag = free;
            found = Self::of(frame, sources.into());
        }
        Ok(found)
    }
}

impl IndexSource {
    /// Whether the locators, the rows of windows and the partners of both sources are equal.
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

/// Groups rows into lists, one for each combination of key values. `row` is the column that identifies a row: its locator, or its number.
/// Returns the keys, the lists of the other columns, and the first row of each list; and the rows of each list, ascending. A row with a null
/// key is in no list.
///
/// # Errors
/// - `Internal`: polars refuses a column.
pub(in crate::table) fn into_lists(frame: &DataFrame, row: &str, keys: &[&str]) -> Result<(DataFrame, ListChunked)> {
    const ROW: &str = "__row";
    const ROWS: &str = "__rows";
    // The columns are renamed to numbers during the grouping, because polars reads some names as patterns.
    let number = |place: usize| PlSmallStr::from(format!("__{place}"));
    let names: Vec<String> =
        frame.columns().iter().map(|column| column.name().to_string()).filter(|name| name != row && !is_locator(name)).collect();
    let mut columns: Vec<Column> = vec![frame.column(row).map_err(internal)?.clone().with_name(ROW.into())];
    for (place, name) in names.iter().enumerate() {
        columns.push(frame.column(name).map_err(internal)?.clone().with_name(number(place)));
    }
    let is_key = |place: &usize| keys.contains(&names[*place].as_str());
    let by: Vec<PlSmallStr> = (0..names.len()).filter(is_key).map(number).collect();
    let others = (0..names.len()).filter(|place| !is_key(place)).map(|place| col(number(place)));
    let listed = others.chain([col(ROW).first(), col(ROW).alias(ROWS)]).collect::<Vec<_>>();
    let sorted = DataFrame::new(frame.height(), columns).map_err(internal)?;
    let sorted = sorted.sort([ROW], SortMultipleOptions::default()).map_err(internal)?;
    let grouped = sorted.drop_nulls(Some(&by)).map_err(internal)?.lazy();
    let grouped = grouped.group_by_stable(by.iter().map(|key| col(key.clone())).collect::<Vec<_>>()).agg(listed);
    let grouped = collect(grouped).map_err(internal)?;
    let lists = grouped.column(ROWS).map_err(internal)?.as_materialized_series().list().map_err(internal)?.clone();
    let mut frame = grouped.drop(ROWS).map_err(internal)?;
    frame.rename(ROW, row.into()).map_err(internal)?;
    for (place, name) in names.iter().enumerate() {
        frame.rename(&number(place), name.into()).map_err(internal)?;
    }
    Ok((frame, lists))
}

/// Whether `frame` has exactly the columns of `whole`, not counting locator columns.
fn same_names(whole: &DataFrame, frame: &DataFrame) -> bool {
    let named = frame.columns().iter().filter(|column| !is_locator(column.name()));
    // The values are compared too, because the caller may have replaced a column under its old name.
    let same = |(a, b): (&Column, &Column)| a.name() == b.name() && a.equals_missing(b);
    named.clone().count() == whole.columns().len() && whole.columns().iter().zip(named).all(same)
}

/// The partner of each row on the left: a row of the right frame, or `None`.
pub(in crate::table) type Partners = Vec<Option<IdxSize>>;

/// Whether `rows` are all rows of a table of `height` rows, in table order.
fn is_every_row(rows: &[i64], height: usize) -> bool {
    rows.len() == height && rows.iter().zip(0..).all(|(row, place)| *row == place)
}

/// Returns the new name of each index column and group column of `right`, so that no name of the merged index occurs twice.
pub(in crate::table) fn names_beside(left: &Index, right: &Index, merge: &Merge) -> BTreeMap<String, String> {
    let grouped = |index: &Index| -> Vec<String> {
        index.sources.iter().flat_map(|source| source.columns.iter()).map(|(name, _)| name.clone()).collect()
    };
    let whole = left.sources.iter().filter_map(|source| source.whole.as_ref()).flat_map(DataFrame::columns);
    let of_frames = left.frame.bare().columns().iter().chain(whole).map(|column| column.name().to_string());
    let taken: BTreeSet<String> = of_frames.chain(grouped(left)).collect();
    let of_right = right.column_names().filter(|name| !merge.is_right_key(name)).map(str::to_owned);
    let mut wanted: Vec<String> = of_right.chain(grouped(right)).collect();
    let mut seen = BTreeSet::new();
    wanted.retain(|name| seen.insert(name.clone()));
    // A renamed column must not get the name of a right column that keeps its name.
    let mut used: BTreeSet<String> = taken.union(&seen).cloned().collect();
    let mut names = BTreeMap::new();
    for name in wanted {
        let renamed = match taken.contains(&name) {
            true => merge.renamed(&name, |name| used.contains(name)),
            false => name.clone(),
        };
        used.insert(renamed.clone());
        names.insert(name, renamed);
    }
    names
}

/// Joins the columns of `right` to those of `left`. `partners` has the row of `right` for each row of `left`, and `names` the new
/// names. A column of `right` without a new name is left out.
pub(in crate::table) fn beside(
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

/// Appends the rows of `lower` to those of `upper`. If `fill`, a missing column is null; otherwise it is an error.
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
            return Err(Error::invalid(format!("concat: column `{name}` is {} above and {} below", type_text(a), type_text(b))));
        }
        if !fill && !is_locator(&name) && (a.is_none() || b.is_none()) {
            return Err(Error::invalid(format!(
                "concat: column `{name}` is not in all indexes; set `fill` to fill it with nulls"
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

/// Checks that both sets of sources have group columns of the same names.
fn same_columns(upper: &Arc<[IndexSource]>, lower: &Arc<[IndexSource]>) -> Result<()> {
    let has = |sources: &[IndexSource], name: &str| {
        sources.iter().flat_map(|source| source.columns.iter()).any(|(existing, _)| existing == name)
    };
    let of = |sources: &[IndexSource], other: &[IndexSource]| -> Option<String> {
        sources.iter().flat_map(|source| source.columns.iter()).find(|(name, _)| !has(other, name)).map(|(name, _)| name.clone())
    };
    match of(upper, lower).or_else(|| of(lower, upper)) {
        Some(name) => {
            Err(Error::invalid(format!("concat: column `{name}` is not in all tables; set `fill` to fill it with nulls")))
        }
        None => Ok(()),
    }
}

/// Checks that group columns of the same name have the same type.
fn check_types(sources: &[IndexSource]) -> Result<()> {
    let mut seen: Vec<(&str, String)> = Vec::new();
    for source in sources {
        for (name, id) in source.columns.iter() {
            let ty = source.table.schema().column(*id).map(|column| match source.lists {
                Some(_) => format!("list<{}>", column.ty),
                None => column.ty.to_string(),
            });
            let ty = ty.unwrap_or_default();
            match seen.iter().find(|(existing, _)| existing == name) {
                Some((_, existing)) if *existing != ty => {
                    return Err(Error::invalid(format!(
                        "concat: column `{name}` is {existing} in one table and {ty} in another"
                    )));
                }
                Some(_) => {}
                None => seen.push((name, ty)),
            }
        }
    }
    Ok(())
}
