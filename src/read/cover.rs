//! Which column groups to read for some columns: a column may live in several groups, the cheapest set of groups wins.

use std::collections::BTreeSet;

use crate::{
    error::{Error, Result},
    schema::ColumnId,
};

/// A column group as the choice sees it.
#[derive(Clone, Debug)]
pub struct GroupCost {
    /// The columns it holds.
    pub columns: Vec<ColumnId>,
    /// What reading one row of it costs, e.g. stored bytes a row plus the bytes that one request is worth.
    pub cost: u64,
}

/// Up to this many groups with a choice every combination is tried; beyond, the best ratio is taken again and again.
const EXACT: usize = 12;

/// The cheapest set of groups that holds all `columns`, ascending. Equal costs: the one with the smaller numbers.
///
/// # Errors
/// `Internal` for a column in no group.
pub fn cover(columns: &[ColumnId], groups: &[GroupCost]) -> Result<Vec<usize>> {
    let holders = |column: &ColumnId| {
        groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.columns.contains(column))
            .map(|(number, _)| number)
            .collect::<Vec<_>>()
    };
    let mut forced = BTreeSet::new();
    let mut open: Vec<Vec<usize>> = Vec::new();
    for column in columns {
        match holders(column).as_slice() {
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
    let sets = (0_u32..1 << candidates.len()).map(|bits| {
        candidates.iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1).map(|(_, number)| *number).collect::<Vec<_>>()
    });
    sets.filter(|set| open.iter().all(|holders| holders.iter().any(|group| set.contains(group))))
        .min_by_key(|set| (set.iter().fold(0_u64, |sum, number| sum.saturating_add(cost(*number))), set.clone()))
        .unwrap_or_default()
}

fn greedy(mut open: Vec<Vec<usize>>, candidates: &[usize], cost: impl Fn(usize) -> u64) -> Vec<usize> {
    let mut chosen = Vec::new();
    while !open.is_empty() {
        let gain = |number: usize| open.iter().filter(|holders| holders.contains(&number)).count() as u64;
        let best = candidates
            .iter()
            .copied()
            .filter(|number| gain(*number) > 0)
            .min_by_key(|number| (cost(*number) / gain(*number), *number));
        let Some(best) = best else { break };
        open.retain(|holders| !holders.contains(&best));
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
