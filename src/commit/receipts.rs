//! Decides which receipts make the table. Pure: receipts may arrive in any order and any number of times.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::{
    error::{Error, Result, counted},
    write::{Receipt, partition_place},
};

/// Most partitions that a message names.
const NAMED: usize = 8;

/// Returns the receipts of a session's partitions, in the order of their numbers. There must be one for each number below
/// `partitions`, but for those that were abandoned: their rows are left out.
///
/// # Errors
/// - `Invalid`: a receipt belongs to another session or to an abandoned partition, the receipt of a partition is missing, or a
///   partition has two different receipts. Receipts that differ only in their attempts count as one.
pub fn in_order(
    session: Uuid,
    partitions: u32,
    abandoned: &BTreeSet<u32>,
    receipts: impl IntoIterator<Item = Receipt>,
) -> Result<Vec<Receipt>> {
    let by_number = by_number(session, receipts)?;
    if let Some(number) = by_number.keys().find(|number| abandoned.contains(number)) {
        return Err(Error::invalid(format!(
            "partition {number} was abandoned, but its receipt was passed too: abandon it or pass its receipt"
        )));
    }
    let expected = partitions.max(by_number.last_key_value().map_or(0, |(number, _)| number.saturating_add(1)));
    let mut missing = (0..expected).filter(|number| !by_number.contains_key(number) && !abandoned.contains(number));
    let named: Vec<String> = missing.by_ref().take(NAMED).map(|number| number.to_string()).collect();
    if named.is_empty() {
        return Ok(by_number.into_values().collect());
    }
    let more = if missing.next().is_some() { " and more" } else { "" };
    Err(Error::invalid(format!(
        "no receipt for partition {}{more} of {expected}: the session keeps the receipts of finished partitions, and the \
         session's `receipts` (--found) returns them; `abandon` (--abandon NUMBER) leaves out the rows of a partition",
        named.join(", ")
    )))
}

/// Returns exactly these receipts, in the order of their partitions. If the number of partitions is planned, there must be one
/// for each; otherwise a partition without a receipt is left out. `labels` has the names of the planned partitions, or is empty.
///
/// # Errors
/// - `Invalid`: a receipt belongs to another session or to no planned partition, a planned partition has no receipt, or a
///   partition has two different receipts.
pub fn planned(
    session: Uuid,
    partitions: Option<u32>,
    labels: &[String],
    receipts: impl IntoIterator<Item = Receipt>,
) -> Result<Vec<Receipt>> {
    let by_number = by_number(session, receipts)?;
    let Some(partitions) = partitions else { return Ok(by_number.into_values().collect()) };
    if let Some((_, stranger)) = by_number.range(partitions..).next() {
        return Err(Error::invalid(format!(
            "{}: the plan of session {session} has {}, and its receipt was passed too; leave it out",
            stranger.place(),
            counted(partitions, "partition")
        )));
    }
    let mut missing = (0..partitions).filter(|number| !by_number.contains_key(number));
    let label = |number: &u32| labels.get(*number as usize).map(String::as_str);
    let named: Vec<String> = missing.by_ref().take(NAMED).map(|number| partition_place(number, label(&number))).collect();
    if named.is_empty() {
        return Ok(by_number.into_values().collect());
    }
    let more = missing.count();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(Error::invalid(format!(
        "no receipt for {}{more}, of {}: nothing was committed; write them and commit again, or abort session {session} (a \
         commit without receipts takes those that finished partitions left in the store)",
        named.join(", "),
        counted(partitions, "planned partition")
    )))
}

/// Returns one receipt for each partition: of several attempts the first, in the order of the names that the receipts have in the
/// store. So committers that see the same receipts choose the same.
pub fn first_attempts(receipts: impl IntoIterator<Item = Receipt>) -> Vec<Receipt> {
    let mut first: BTreeMap<u32, Receipt> = BTreeMap::new();
    for receipt in receipts {
        let number = receipt.partition;
        if first.get(&number).is_none_or(|existing| receipt.attempt < existing.attempt) {
            first.insert(number, receipt);
        }
    }
    first.into_values().collect()
}

/// Returns the receipts by partition.
fn by_number(session: Uuid, receipts: impl IntoIterator<Item = Receipt>) -> Result<BTreeMap<u32, Receipt>> {
    let mut by_number: BTreeMap<u32, Receipt> = BTreeMap::new();
    for receipt in receipts {
        if receipt.session != session {
            return Err(Error::invalid(format!(
                "receipt of {} is of session {}, expected {session}: pass the receipts of this session alone",
                receipt.place(),
                receipt.session
            )));
        }
        match by_number.get(&receipt.partition) {
            Some(existing) if !existing.is_same_partition(&receipt) => {
                return Err(Error::invalid(format!(
                    "two different receipts for {}, of {} and {}: it was written twice; keep one",
                    receipt.place(),
                    existing.rows,
                    counted(receipt.rows, "row")
                )));
            }
            Some(_) => {}
            None => drop(by_number.insert(receipt.partition, receipt)),
        }
    }
    Ok(by_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(partition: u32, rows: u64) -> Receipt {
        let (session, attempt, label, note) = (Uuid::nil(), Uuid::nil(), None, None);
        Receipt { session, partition, attempt, label, note, rows, parts: None, sharing: Default::default() }
    }

    fn attempt(number: u128, receipt: Receipt) -> Receipt {
        Receipt { attempt: Uuid::from_u128(number), ..receipt }
    }

    #[test]
    fn attempts_that_wrote_the_same_count_as_one() {
        let received = [attempt(7, receipt(0, 5)), attempt(3, receipt(0, 5)), attempt(5, receipt(0, 5))];
        assert_eq!(in_order(Uuid::nil(), 1, &BTreeSet::new(), received.clone()).unwrap(), received[..1]);
        assert_eq!(planned(Uuid::nil(), Some(1), &[], received.clone()).unwrap(), received[..1]);
        let different = [attempt(1, receipt(0, 5)), attempt(2, receipt(0, 6))];
        let error = planned(Uuid::nil(), None, &[], different).unwrap_err().to_string();
        assert!(error.starts_with("two different receipts for partition 0, of 5 and 6 rows"), "{error}");
    }

    #[test]
    fn of_several_attempts_the_first_by_name_is_taken_in_any_order_of_arrival() {
        let mut received =
            [attempt(7, receipt(1, 5)), attempt(3, receipt(1, 6)), attempt(9, receipt(0, 2)), attempt(5, receipt(1, 7))];
        for _ in 0..4 {
            received.rotate_left(1);
            let chosen = first_attempts(received.clone());
            assert_eq!(chosen, [attempt(9, receipt(0, 2)), attempt(3, receipt(1, 6))]);
            let mut names: Vec<_> = received.iter().map(|receipt| receipt.stored().unwrap().0).collect();
            names.sort();
            assert_eq!(names[..2], chosen.iter().map(|receipt| receipt.stored().unwrap().0).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_plan_names_the_labels_of_missing_partitions_and_refuses_strangers() {
        let labels = ["a.zarr".to_owned(), "b.zarr".to_owned()];
        let message = |receipts: Vec<Receipt>| planned(Uuid::nil(), Some(2), &labels, receipts).unwrap_err().to_string();
        let missing = message(vec![receipt(0, 1)]);
        assert!(missing.starts_with("no receipt for partition 1 (`b.zarr`), of 2 planned partitions: "), "{missing}");
        assert!(message(vec![]).starts_with("no receipt for partition 0 (`a.zarr`), partition 1 (`b.zarr`), of 2 planned"));
        assert!(message(vec![receipt(0, 1), receipt(2, 1)]).starts_with("partition 2: the plan of session"));
        let many = planned(Uuid::nil(), Some(20), &[], [receipt(19, 1)]).unwrap_err().to_string();
        assert!(many.contains("partition 7 and 11 more, of 20 planned partitions"), "{many}");
        assert_eq!(planned(Uuid::nil(), None, &[], [receipt(7, 1), receipt(2, 0)]).unwrap(), [receipt(2, 0), receipt(7, 1)]);
    }

    #[test]
    fn a_receipt_of_an_earlier_build_is_read() {
        let text = r#"{"session":"00000000-0000-0000-0000-000000000000","partition":4,"rows":0,"parts":null}"#;
        assert_eq!(serde_json::from_str::<Receipt>(text).unwrap(), receipt(4, 0));
    }

    #[test]
    fn receipts_arrive_in_any_order_and_any_number_of_times() {
        let received = [receipt(2, 5), receipt(0, 1), receipt(2, 5), receipt(1, 0)];
        let ordered = in_order(Uuid::nil(), 3, &BTreeSet::new(), received).unwrap();
        assert_eq!(ordered.iter().map(|receipt| receipt.rows).collect::<Vec<_>>(), [1, 0, 5]);
    }

    #[test]
    fn missing_conflicting_and_foreign_receipts_are_named() {
        let message = |partitions, receipts: Vec<Receipt>| {
            in_order(Uuid::nil(), partitions, &BTreeSet::new(), receipts).unwrap_err().to_string()
        };
        assert!(message(3, vec![receipt(0, 1), receipt(1, 1)]).starts_with("no receipt for partition 2 of 3: "));
        assert!(message(0, vec![receipt(1, 1)]).starts_with("no receipt for partition 0 of 2: "));
        assert!(message(20, vec![receipt(1, 1)]).starts_with("no receipt for partition 0, 2, 3, 4, 5, 6, 7, 8 and more of 20: "));
        assert!(message(1, vec![receipt(0, 1), receipt(0, 2)]).starts_with("two different receipts for partition 0"));
        let foreign = Receipt { session: Uuid::max(), ..receipt(0, 1) };
        assert!(message(1, vec![foreign]).starts_with("receipt of partition 0 is of session ffffffff"));
        let abandoned = BTreeSet::from([1, 2]);
        let without = |receipts: Vec<Receipt>| in_order(Uuid::nil(), 4, &abandoned, receipts);
        assert_eq!(without(vec![receipt(3, 1), receipt(0, 2)]).unwrap(), [receipt(0, 2), receipt(3, 1)]);
        assert!(without(vec![receipt(0, 1), receipt(1, 1)]).unwrap_err().to_string().contains("partition 1 was abandoned"));
    }
}
