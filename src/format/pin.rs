//! Pins: objects by which a table tells the owner of chunks that it uses these chunks. Follows `format-spec/pins.md#pin`.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{manifest::FORMAT, sealed};
use crate::{
    error::{Error, Result, counted},
    id::Hash,
};

/// Maximum size of a pin in bytes.
pub const MAX_PIN: u64 = 64 << 10;

/// A pin: a version of another table uses chunks of the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The version of the owner that names the chunks.
    pub owner: PinOwner,
    /// The table that uses them.
    pub table: Uuid,
    /// The version of `table` that uses them.
    pub version: u64,
    /// Identifies the pin: the commit of that version, or an identifier of the pin alone if [`Pin::of_commit`] has the commit.
    pub commit_id: Uuid,
    /// The commit, if the commit left several pins at one owner: one for each version of the owner that it uses.
    pub of_commit: Option<Uuid>,
    /// Possible URLs of `table`, best first.
    pub urls: Vec<String>,
}

/// A version of the table whose root holds the pin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinOwner {
    /// Id of the table.
    pub table: Uuid,
    /// Version number.
    pub version: u64,
    /// The BLAKE3 at the end of its manifest.
    pub blake3: Hash,
}

#[derive(Serialize, Deserialize)]
struct Record {
    format: u32,
    owner: PinOwner,
    table: Uuid,
    version: u64,
    commit_id: Uuid,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_commit: Option<Uuid>,
    urls: Vec<String>,
}

/// The member that is parsed before all others.
#[derive(Deserialize)]
struct Probe {
    format: u64,
}

impl Pin {
    /// Returns the name of the pin below the root of the owner.
    pub fn name(&self) -> String {
        format!("pins/{}.json", self.commit_id)
    }

    /// Whether a name below the root of a table is that of a pin. Other files in `pins/` are not of the table.
    pub(crate) fn is_name(name: &str) -> bool {
        let id = name.strip_prefix("pins/").and_then(|rest| rest.strip_suffix(".json"));
        id.is_some_and(|id| Uuid::try_parse(id).is_ok_and(|parsed| parsed.to_string() == id))
    }

    /// Returns the commit that needs the chunks.
    pub fn commit(&self) -> Uuid {
        self.of_commit.unwrap_or(self.commit_id)
    }

    /// Returns the stored bytes.
    ///
    /// # Errors
    /// - `Invalid`: the pin has more than [`MAX_PIN`] bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (owner, urls) = (self.owner.clone(), self.urls.clone());
        let Self { table, version, commit_id, of_commit, .. } = *self;
        let record = Record { format: FORMAT, owner, table, version, commit_id, of_commit, urls };
        let (bytes, _) = sealed::seal("pin", &record)?;
        match bytes.len() as u64 <= MAX_PIN {
            true => Ok(bytes),
            false => Err(Error::invalid(format!("pin: {}, at most {MAX_PIN}", counted(bytes.len(), "byte")))),
        }
    }

    /// Parses and checks the stored bytes of the pin with this name.
    ///
    /// # Errors
    /// - `Corrupt`: the bytes are damaged, or belong to another name.
    /// - `Unsupported`: the pin has another format number.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self> {
        if bytes.len() as u64 > MAX_PIN {
            return Err(Error::corrupt(format!("pin: {}, at most {MAX_PIN}", counted(bytes.len(), "byte"))));
        }
        sealed::check("pin", bytes)?;
        let probe: Probe = sealed::read("pin", bytes)?;
        if probe.format != u64::from(FORMAT) {
            return Err(Error::unsupported(format!("pin: format {}, this build reads {FORMAT}", probe.format)));
        }
        let Record { owner, table, version, commit_id, of_commit, urls, .. } = sealed::read("pin", bytes)?;
        let pin = Self { owner, table, version, commit_id, of_commit, urls };
        if pin.name() != name || version == 0 || pin.owner.version == 0 {
            return Err(Error::corrupt(format!("pin: commit {commit_id} of version {version} under the name `{name}`")));
        }
        Ok(pin)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_pin_comes_back_and_a_damaged_one_does_not() {
        let owner = PinOwner { table: Uuid::from_u128(1), version: 7, blake3: Hash::of(b"manifest") };
        let (table, commit_id, urls) = (Uuid::from_u128(2), Uuid::from_u128(3), vec!["../labels".into()]);
        let pin = Pin { owner, table, version: 3, commit_id, of_commit: None, urls };
        let bytes = pin.to_bytes().unwrap();
        let second = Pin { of_commit: Some(Uuid::from_u128(4)), ..pin.clone() };
        assert_eq!(Pin::parse(&second.to_bytes().unwrap(), &second.name()).unwrap(), second);
        assert_eq!((pin.commit(), second.commit()), (commit_id, Uuid::from_u128(4)));
        assert_eq!(Pin::parse(&bytes, &pin.name()).unwrap(), pin);
        assert!(Pin::is_name(&pin.name()));
        let name = pin.name();
        let upper = format!("pins/{}.json", pin.table.to_string().replace('0', "A"));
        for other in
            ["pins/other.json", &upper, &format!("{name}.bak"), &format!("{name}#1"), &name[5..], &format!("pins/{name}")]
        {
            assert!(!Pin::is_name(other), "{other}");
        }
        assert!(Pin::parse(&bytes, "pins/other.json").unwrap_err().to_string().contains("under the name"));
        for byte in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[byte] ^= 1;
            Pin::parse(&flipped, &pin.name()).unwrap_err();
            Pin::parse(&bytes[..byte], &pin.name()).unwrap_err();
        }
        let urls = vec!["x".repeat(MAX_PIN as usize)];
        assert!(Pin { urls, ..pin }.to_bytes().unwrap_err().to_string().contains("at most 65536"));
    }
}
