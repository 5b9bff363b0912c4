//! JSON that ends with the BLAKE3 of its own bytes: manifests and pins. Follows `format-spec/manifest.md#bytes`.

use std::{borrow::Cow, collections::BTreeSet, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, MapAccess, SeqAccess, Visitor},
};

use crate::{
    error::{Error, Result, short},
    id::Hash,
};

/// What stands between the JSON and its hash.
const HASH_KEY: &[u8] = b",\"blake3\":\"";
/// What ends the object.
const HASH_END: &[u8] = b"\"}\n";

/// The bytes of a `what` with these members, and the hash that ends them.
///
/// # Errors
/// `Internal` where it cannot be written as JSON.
pub(super) fn seal(what: &str, record: &impl Serialize) -> Result<(Vec<u8>, Hash)> {
    let mut bytes = serde_json::to_vec(record).map_err(|error| Error::internal(format!("{what}: {error}")))?;
    bytes.pop(); // the closing brace, which follows the hash
    let hash = Hash::of(&bytes);
    bytes.extend(HASH_KEY);
    bytes.extend(hash.to_string().as_bytes());
    bytes.extend(HASH_END);
    Ok((bytes, hash))
}

/// The hash that ends these bytes, found right.
///
/// # Errors
/// `Corrupt` where it is not there, or another than that of the bytes.
pub(super) fn check(what: &str, bytes: &[u8]) -> Result<Hash> {
    let body = bytes.strip_suffix(HASH_END).and_then(|rest| {
        let (rest, hex) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
        Some((rest.strip_suffix(HASH_KEY)?, hex))
    });
    let (signed, hex) = body.ok_or_else(|| Error::corrupt(format!("{what}: does not end with its hash: cut or not a {what}")))?;
    let hash = Hash::of(signed);
    if hash.to_string().as_bytes() != hex {
        return Err(Error::corrupt(format!("{what}: blake3 {}, computed {hash}", String::from_utf8_lossy(hex))));
    }
    Ok(hash)
}

/// The members, none of them there twice.
///
/// # Errors
/// `Corrupt` where the bytes are no such object.
pub(super) fn read<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T> {
    let malformed = |error: serde_json::Error| Error::corrupt(format!("{what}: {}", short(error)));
    serde_json::from_slice::<UniqueMembers>(bytes).map_err(malformed)?;
    serde_json::from_slice(bytes).map_err(malformed)
}

/// Any JSON in which no object has a member twice: readers that took the first and readers that took the last would see two
/// different tables (`format-spec/manifest.md#bytes`).
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
                return Err(serde::de::Error::custom(format!("member `{shown}` is there twice")));
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

/// A member's name, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
