//! Decides which receipts make the table. Pure: receipts may arrive in any order and any number of times.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::{
    error::{Error, Result, counted},
    write::Receipt,
};

/// Returns the receipts of a session's partitions, in the order of their numbers. There must be one for each number below
/// `partitions`.
///
/// # Errors
/// - `Invalid`: a receipt belongs to another session, the receipt of a partition is missing, or a partition has two different
///   receipts. Equal receipts count as one.
pub fn in_order(session: Uuid, partitions: u32, receipts: impl IntoIterator<Item = Receipt>) -> Result<Vec<Receipt>> {
    in_order_without(session, partitions, &BTreeSet::new(), receipts)
}

/// Returns the receipts as [`in_order`] does, without the partitions that were abandoned. The rows of these are left out.
///
/// # Errors
/// - `Invalid`: a receipt belongs to another session or to an abandoned partition, the receipt of a partition is missing, or a
///   partition has two different receipts.
pub fn in_order_without(
    session: Uuid,
    partitions: u32,
    abandoned: &BTreeSet<u32>,
    receipts: impl IntoIterator<Item = Receipt>,
) -> Result<Vec<Receipt>> {
    let mut by_number: BTreeMap<u32, Receipt> = BTreeMap::new();
    for receipt in receipts {
        if receipt.session != session {
            return Err(Error::invalid(format!(
                "receipt of partition {} is of session {}, expected {session}",
                receipt.partition, receipt.session
            )));
        }
        let number = receipt.partition;
        if abandoned.contains(&number) {
            return Err(Error::invalid(format!(
                "partition {number} was abandoned, but its receipt was passed too: abandon it or pass its receipt"
            )));
        }
        match by_number.get(&number) {
            Some(held) if *held != receipt => {
                return Err(Error::invalid(format!(
                    "two different receipts for partition {number}, of {} and {}: it was written twice; keep one",
                    held.rows,
                    counted(receipt.rows, "row")
                )));
            }
            _ => by_number.insert(number, receipt),
        };
    }
    let expected = partitions.max(by_number.last_key_value().map_or(0, |(number, _)| number.saturating_add(1)));
    const NAMED: usize = 8;
    let mut missing = (0..expected).filter(|number| !by_number.contains_key(number) && !abandoned.contains(number));
    let named: Vec<String> = missing.by_ref().take(NAMED).map(|number| number.to_string()).collect();
    if named.is_empty() {
        return Ok(by_number.into_values().collect());
    }
    let more = if missing.next().is_some() { " and more" } else { "" };
    Err(Error::invalid(format!(
        "no receipt for partition {}{more} of {expected}: the store keeps the receipts of finished partitions, and the \
         session's `receipts` (--found) returns them; `abandon` (--abandon NUMBER) leaves out the rows of a partition",
        named.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(partition: u32, rows: u64) -> Receipt {
        Receipt { session: Uuid::nil(), partition, rows, parts: None, sharing: Default::default() }
    }

    #[test]
    fn receipts_arrive_in_any_order_and_any_number_of_times() {
        let arrived = [receipt(2, 5), receipt(0, 1), receipt(2, 5), receipt(1, 0)];
        let ordered = in_order(Uuid::nil(), 3, arrived).unwrap();
        assert_eq!(ordered.iter().map(|receipt| receipt.rows).collect::<Vec<_>>(), [1, 0, 5]);
    }

    #[test]
    fn missing_conflicting_and_foreign_receipts_are_named() {
        let message = |partitions, receipts: Vec<Receipt>| in_order(Uuid::nil(), partitions, receipts).unwrap_err().to_string();
        assert!(message(3, vec![receipt(0, 1), receipt(1, 1)]).starts_with("no receipt for partition 2 of 3: "));
        assert!(message(0, vec![receipt(1, 1)]).starts_with("no receipt for partition 0 of 2: "));
        assert!(message(20, vec![receipt(1, 1)]).starts_with("no receipt for partition 0, 2, 3, 4, 5, 6, 7, 8 and more of 20: "));
        assert!(message(1, vec![receipt(0, 1), receipt(0, 2)]).starts_with("two different receipts for partition 0"));
        let foreign = Receipt { session: Uuid::max(), ..receipt(0, 1) };
        assert!(message(1, vec![foreign]).starts_with("receipt of partition 0 is of session ffffffff"));
        let abandoned = BTreeSet::from([1, 2]);
        let without = |receipts: Vec<Receipt>| in_order_without(Uuid::nil(), 4, &abandoned, receipts);
        assert_eq!(without(vec![receipt(3, 1), receipt(0, 2)]).unwrap(), [receipt(0, 2), receipt(3, 1)]);
        assert!(without(vec![receipt(0, 1), receipt(1, 1)]).unwrap_err().to_string().contains("partition 1 was abandoned"));
    }
}
