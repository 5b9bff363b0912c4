//! Chooses the column groups to read for a set of columns. A column may be stored in several groups; the cheapest set of groups
//! wins.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    error::{Error, Result},
    schema::ColumnId,
};

/// A column group and its cost, the input of [`cover`].
#[derive(Clone, Debug)]
pub struct GroupCost {
    /// The columns that the group holds.
    pub columns: Vec<ColumnId>,
    /// The cost of reading one row of the group, e.g. stored bytes of a row plus the cost of one request, expressed in bytes.
    pub cost: u64,
}

/// The most candidate groups for which every combination is tried. With more candidates, the choice is greedy: it takes the group
/// with the lowest cost for each column that is still missing, until no column is missing.
const EXACT: usize = 12;

/// Returns the cheapest set of groups that holds all `columns`, as ascending indexes into `groups`.
///
/// Of sets with the same cost, the set with the smaller indexes wins. The choice is greedy, and may not be the cheapest, if more
/// than 12 groups compete.
///
/// # Errors
/// - `Internal`: a column is in no group.
pub fn cover(columns: &[ColumnId], groups: &[GroupCost]) -> Result<Vec<usize>> {
    // A single pass over the groups, because a table may have 100,000 columns.
    let mut holders: BTreeMap<ColumnId, Vec<usize>> = columns.iter().map(|column| (*column, Vec::new())).collect();
    for (number, group) in groups.iter().enumerate() {
        for column in &group.columns {
            if let Some(holders) = holders.get_mut(column).filter(|holders| holders.last() != Some(&number)) {
                holders.push(number);
            }
        }
    }
    let mut forced = BTreeSet::new();
    let mut open: Vec<Vec<usize>> = Vec::new();
    for (column, holders) in &holders {
        match holders.as_slice() {
            [] => return Err(Error::internal(format!("column id {} is in no group", column.0))),
            [only] => {
                forced.insert(*only);
            }
            several => open.push(several.to_vec()),
        }
    }
    open.retain(|holders| !holders.iter().any(|group| forced.contains(group)));
    let candidates: Vec<usize> = open.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let cost = |number: usize| groups.get(number).map_or(u64::MAX, |group| group.cost);
    let chosen = if candidates.len() <= EXACT { exact(&open, &candidates, cost) } else { greedy(open, &candidates, cost) };
    forced.extend(chosen);
    Ok(forced.into_iter().collect())
}

fn exact(open: &[Vec<usize>], candidates: &[usize], cost: impl Fn(usize) -> u64) -> Vec<usize> {
    // The holders of a column become a bit mask over the candidates. Columns with the same holders give the same mask, checked
    // once.
    let place = |number: &usize| candidates.binary_search(number).map_or(0, |place| 1_u32 << place);
    let questions: BTreeSet<u32> = open.iter().map(|holders| holders.iter().map(place).sum()).collect();
    let sets = (0_u32..1 << candidates.len()).filter(|bits| questions.iter().all(|holders| bits & holders != 0));
    let numbers = |bits: u32| {
        let set = candidates.iter().enumerate().filter(move |(place, _)| bits >> place & 1 == 1);
        set.map(|(_, number)| *number).collect::<Vec<_>>()
    };
    sets.map(numbers)
        .min_by_key(|set| (set.iter().fold(0_u64, |sum, number| sum.saturating_add(cost(*number))), set.clone()))
        .unwrap_or_default()
}

fn greedy(mut open: Vec<Vec<usize>>, candidates: &[usize], cost: impl Fn(usize) -> u64) -> Vec<usize> {
    // `gains` counts the open columns of each group. A column leaves all counts when the first group that holds the column is
    // chosen.
    let mut gains: BTreeMap<usize, u64> = candidates.iter().map(|number| (*number, 0)).collect();
    open.iter().flatten().for_each(|number| *gains.entry(*number).or_default() += 1);
    let mut chosen = Vec::new();
    while !open.is_empty() {
        let worth = gains.iter().filter(|(_, gain)| **gain > 0);
        let Some((&best, _)) = worth.min_by_key(|(number, gain)| (cost(**number) / **gain, **number)) else { break };
        for holders in open.extract_if(.., |holders| holders.binary_search(&best).is_ok()) {
            holders.iter().for_each(|number| *gains.entry(*number).or_default() -= 1);
        }
        chosen.push(best);
    }
    chosen
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    fn group(columns: &[u32], cost: u64) -> GroupCost {
        GroupCost { columns: columns.iter().copied().map(ColumnId).collect(), cost }
    }

    #[test]
    fn the_cheapest_groups_are_chosen() {
        let groups = [group(&[1, 2, 3], 100), group(&[1], 5), group(&[2], 5), group(&[3, 4], 50)];
        let cover = |columns: &[u32]| cover(&columns.iter().copied().map(ColumnId).collect::<Vec<_>>(), &groups).unwrap();
        assert_eq!(cover(&[1]), [1]);
        assert_eq!(cover(&[1, 2]), [1, 2]);
        assert_eq!(cover(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(cover(&[3, 4]), [3]);
        assert_eq!(cover(&[]), [0_usize; 0]);
    }

    #[test]
    fn a_good_choice_is_also_made_among_many_groups() {
        let mut groups: Vec<GroupCost> = (0..40).map(|column| group(&[column], 10)).collect();
        groups.push(group(&(0..40).collect::<Vec<_>>(), 11));
        let columns: Vec<ColumnId> = (0..40).map(ColumnId).collect();
        assert_eq!(cover(&columns, &groups).unwrap(), [40]);
    }
}
