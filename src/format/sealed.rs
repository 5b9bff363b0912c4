//! JSON that ends with the BLAKE3 of its own bytes: manifests and pins. Follows `format-spec/manifest.md#bytes`.

use std::{borrow::Cow, collections::BTreeSet, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, MapAccess, SeqAccess, Visitor},
};

use crate::{
    error::{Error, Result, json_fault, short},
    id::Hash,
};

/// Bytes between the members and their hash.
const HASH_KEY: &[u8] = b",\"blake3\":\"";
/// Bytes after the hash.
const HASH_END: &[u8] = b"\"}\n";

/// Writes the members as JSON with the hash at the end. Returns the bytes and the hash. `what` names the kind of object
/// in errors.
///
/// # Errors
/// - `Internal`: a member cannot be written as JSON.
pub(super) fn seal(what: &str, record: &impl Serialize) -> Result<(Vec<u8>, Hash)> {
    let mut bytes = serde_json::to_vec(record).map_err(|error| Error::internal(format!("{what}: {error}")))?;
    bytes.pop(); // the closing brace, which follows the hash
    let hash = Hash::of(&bytes);
    bytes.extend(HASH_KEY);
    bytes.extend(hash.to_string().as_bytes());
    bytes.extend(HASH_END);
    Ok((bytes, hash))
}

/// Verifies the hash at the end of the bytes and returns the hash.
///
/// # Errors
/// - `Corrupt`: the hash is missing or does not match the bytes.
pub(super) fn check(what: &str, bytes: &[u8]) -> Result<Hash> {
    let (signed, hex) =
        parts(bytes).ok_or_else(|| Error::corrupt(format!("{what}: does not end with its hash: cut or not a {what}")))?;
    let hash = Hash::of(signed);
    if hash.to_string().as_bytes() != hex {
        return Err(Error::corrupt(format!("{what}: blake3 {}, computed {hash}", String::from_utf8_lossy(hex))));
    }
    Ok(hash)
}

/// Returns the hash that the end of the bytes states, whether they have it or not.
pub(super) fn stated(bytes: &[u8]) -> Option<Hash> {
    std::str::from_utf8(parts(bytes)?.1).ok()?.parse().ok()
}

/// Returns the bytes before the hash, and the hash as it is written.
fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = bytes.strip_suffix(HASH_END)?;
    let (rest, hex) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
    Some((rest.strip_suffix(HASH_KEY)?, hex))
}

/// Deserializes a member that may be absent but not null.
pub(super) fn there<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Parses the members and refuses duplicates.
///
/// # Errors
/// - `Corrupt`: the bytes are not such an object, or have a duplicate member.
pub(super) fn read<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T> {
    let malformed = |error: serde_json::Error| Error::corrupt(format!("{what}: {}", short(json_fault(&error))));
    serde_json::from_slice::<UniqueMembers>(bytes).map_err(malformed)?;
    serde_json::from_slice(bytes).map_err(malformed)
}

/// Any JSON without duplicate members. Parsers differ in whether the first or the last duplicate counts, so two readers would see
/// two different tables (`format-spec/manifest.md#bytes`).
struct UniqueMembers;

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueMembersVisitor)
    }
}

struct UniqueMembersVisitor;

impl<'de> Visitor<'de> for UniqueMembersVisitor {
    type Value = UniqueMembers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueMembers, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(Name(name)) = map.next_key()? {
            map.next_value::<UniqueMembers>()?;
            if names.contains(&name) {
                let shown: String = name.chars().take(40).collect();
                return Err(serde::de::Error::custom(format!("member `{shown}` appears twice")));
            }
            names.insert(name);
        }
        Ok(UniqueMembers)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<UniqueMembers, A::Error> {
        while seq.next_element::<UniqueMembers>()?.is_some() {}
        Ok(UniqueMembers)
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_unit<E>(self) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }
}

/// Name of a member, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
