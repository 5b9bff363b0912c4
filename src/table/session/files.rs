//! The files of write sessions: beginnings, plans, receipts, parts, and the probes of stores. The files are temporary and no part
//! of the format of tables: `format-spec/README.md#objects`. Nothing else in `sessions/` is ever deleted: a folder of that name may
//! belong to somebody else.

use uuid::Uuid;

use crate::{error::Result, id::Hash, store::Store};

/// Returns the name of the file by which a session begins.
pub(in crate::table) fn begin_name(session: Uuid, since: u64) -> String {
    format!("sessions/{session}/begin-{since}.json")
}

/// Returns the version from which a session begins, by the name of its file, without the folder.
pub(in crate::table) fn since_of(file: &str) -> Option<u64> {
    let digits = file.strip_prefix("begin-")?.strip_suffix(".json")?;
    let since: u64 = digits.parse().ok()?;
    (since.to_string() == digits).then_some(since)
}

/// Whether a name is that of a file that a write session makes, below the root of a table.
pub(in crate::table) fn is_session_file(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("sessions/") else { return false };
    match rest.split_once('/') {
        Some((session, file)) => {
            is_id(session) && (file == "plan.json" || since_of(file).is_some() || is_part(file) || is_receipt(file))
        }
        None => rest.strip_prefix("probe-").is_some_and(is_id),
    }
}

/// Whether a text is a UUID as a session writes it.
fn is_id(text: &str) -> bool {
    Uuid::try_parse(text).is_ok_and(|id| id.to_string() == text)
}

fn is_part(file: &str) -> bool {
    file.strip_suffix(".parquet").is_some_and(|hash| hash.parse::<Hash>().is_ok())
}

/// Whether a name is that of a receipt: ten digits, and the attempt unless an earlier build wrote it.
fn is_receipt(file: &str) -> bool {
    let Some(place) = file.strip_suffix(".receipt") else { return false };
    let (partition, attempt) = place.split_once('-').map_or((place, None), |(partition, attempt)| (partition, Some(attempt)));
    partition.len() == 10 && partition.bytes().all(|digit| digit.is_ascii_digit()) && attempt.is_none_or(is_id)
}

/// Removes the empty folders that ended sessions leave in a local directory.
pub(in crate::table) async fn remove_empty_folders(store: &Store) {
    store.remove_empty("sessions", is_id).await;
}

/// Deletes the files of a session: first its plan and its receipts, so that nobody commits what is half deleted. Files of others
/// stay.
pub(in crate::table) async fn sweep(store: &Store, session: Uuid) -> Result<()> {
    let listed = store.list(&format!("sessions/{session}")).await?;
    let listed = listed.into_iter().map(|(name, _)| name).filter(|name| is_session_file(name));
    let (parts, first): (Vec<_>, Vec<_>) = listed.partition(|name| name.ends_with(".parquet"));
    for names in [first, parts] {
        store.delete_all(names).await?;
    }
    remove_empty_folders(store).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{table::session::planned::plan_name, write::Receipt};

    #[test]
    fn the_name_of_the_file_has_the_version() {
        let name = begin_name(Uuid::nil(), 12);
        assert_eq!(since_of(name.rsplit('/').next().unwrap()), Some(12));
        assert_eq!(
            ["begin-.json", "begin-012.json", "begin--1.json", "begin-1", "begin-99999999999999999999.json"].map(since_of),
            [None; 5]
        );
    }

    #[test]
    fn only_what_a_session_writes_is_a_file_of_a_session() {
        let (session, attempt) = (Uuid::from_u128(7), Uuid::from_u128(8));
        let (label, note, parts, sharing) = (None, None, None, Default::default());
        let receipt = Receipt { session, partition: 4, attempt, label, note, rows: 0, parts, sharing };
        let part = Receipt::part_name(session, Hash::of(b"part"));
        let made = [plan_name(session), receipt.stored().unwrap().0, part, format!("sessions/probe-{attempt}")];
        assert!(made.iter().all(|name| is_session_file(name)), "{made:?}");
        let upper = format!("sessions/{}/plan.json", session.to_string().replace('0', "A").to_uppercase());
        let others = [
            upper,
            format!("sessions/{session}"),
            format!("sessions/{session}/notes.txt"),
            format!("sessions/{session}/deep/plan.json"),
            format!("sessions/{session}/{}.parquet#1", Hash::of(b"part")),
            format!("sessions/{session}/12.receipt"),
            "sessions/2024/plan.json".to_owned(),
            "sessions/probe-1".to_owned(),
            "sessions/manifests/18446744073709551614.json".to_owned(),
            format!("others/{session}/plan.json"),
        ];
        assert!(!others.iter().any(|name| is_session_file(name)), "{others:?}");
    }
}
