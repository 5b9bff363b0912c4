//! [`selftest`]: checks whether a store has the properties that tables depend on. The objects of the test are in a folder of
//! their own and are deleted at the end.

use std::fs::File;
use std::io::{Seek, Write};
use std::ops::Range;
use std::time::{Duration, Instant};

use futures::future::try_join_all;

use super::{inner::Put, ranges::RangeRequest, store::Store};
use crate::{Error, Result, error::counted, machine};

/// The result of one check.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// The checked property, as a claim: `a second create-only put is refused`.
    pub claim: &'static str,
    /// Why the claim does not hold; `None` if it holds.
    pub problem: Option<String>,
    /// Duration of the check.
    pub time: Duration,
}

/// Number of writers that race for one name.
const RACERS: usize = 16;
/// Size of the large object: several parts and several range requests, and not a multiple of either size.
const LARGE: u64 = (25 << 20) + 7;

/// Runs all checks and calls `report` with each result as soon as it is known. Writes about 25 MiB, reads about 80 MiB, below
/// `selftest-` and a random number, and deletes the objects.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use tetrys::store::{Store, selftest};
///
/// let verdicts = selftest(&Store::open("memory://")?, |_| {}).await;
/// assert!(verdicts.iter().all(|verdict| verdict.problem.is_none()), "{verdicts:?}");
/// # Ok::<(), tetrys::Error>(()) }).unwrap();
/// ```
pub async fn selftest(store: &Store, mut report: impl FnMut(&Verdict)) -> Vec<Verdict> {
    let test = Test { store, folder: format!("selftest-{}", machine::new_id().simple()) };
    let mut verdicts: Vec<Verdict> = Vec::new();
    let mut heard = |claim, begun: Instant, result: Result<()>| {
        let verdict = Verdict { claim, problem: result.err().map(|error| error.to_string()), time: begun.elapsed() };
        report(&verdict);
        verdicts.push(verdict);
        verdicts.last().is_some_and(|verdict| verdict.problem.is_none())
    };
    let begun = machine::now();
    // If this check fails, all others would fail for the same reason.
    if heard("an object is written and read back", begun, test.writes_and_reads().await) {
        let begun = machine::now();
        heard("a second create-only put is refused and changes nothing", begun, test.refuses_the_second().await);
        let begun = machine::now();
        heard("of 16 writers of one name exactly one wins, and it is the one that is read", begun, test.has_one_winner().await);
        let begun = machine::now();
        heard("a large file is uploaded in parts", begun, test.takes_parts().await);
        let begun = machine::now();
        heard("concurrent range reads are exact, also at both ends", begun, test.answers_ranges().await);
        let begun = machine::now();
        heard("cancelled range reads do not disturb later ones", begun, test.survives_lost_ranges().await);
        let begun = machine::now();
        heard("a listing shows what was just written, with its size", begun, test.lists_at_once().await);
        let begun = machine::now();
        heard("an object that does not exist is not found", begun, test.misses().await);
    }
    let begun = machine::now();
    heard("objects are deleted, and a listing shows it at once", begun, test.cleans_up().await);
    verdicts
}

struct Test<'a> {
    store: &'a Store,
    folder: String,
}

/// Creates the error of a failed check.
fn wrong(text: impl Into<String>) -> Error {
    Error::unsupported(text)
}

impl Test<'_> {
    fn name(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    async fn writes_and_reads(&self) -> Result<()> {
        let name = self.name("first");
        // "Already there" is the answer to a put that was sent again after a broken connection.
        self.store.put_new(&name, "first".into()).await?;
        match self.store.get(&name, 64).await? {
            bytes if bytes == "first" => Ok(()),
            bytes => Err(wrong(format!("expected the written bytes, found {} other bytes", bytes.len()))),
        }
    }

    async fn refuses_the_second(&self) -> Result<()> {
        let name = self.name("first");
        if self.store.put_new(&name, "second".into()).await? == Put::Created {
            return Err(wrong(
                "it succeeded: the store ignores If-None-Match, so two concurrent committers would both win; tables can be read \
                here, but only be written with the store option single_writer=true",
            ));
        }
        match self.store.get(&name, 64).await? {
            bytes if bytes == "first" => Ok(()),
            _ => Err(wrong("it was refused, but it changed the object")),
        }
    }

    async fn has_one_winner(&self) -> Result<()> {
        let name = self.name("race");
        let racers = (0..RACERS).map(|racer| {
            let name = name.clone();
            async move { self.store.put_new(&name, format!("{racer}").into()).await }
        });
        let puts = try_join_all(racers).await?;
        let winners: Vec<usize> = (0..RACERS).filter(|racer| puts.get(*racer) == Some(&Put::Created)).collect();
        let read = self.store.get(&name, 64).await?;
        match winners.as_slice() {
            [winner] if read == winner.to_string() => Ok(()),
            [winner] => Err(wrong(format!("writer {winner} was told that it won, but the object is from writer {read:?}"))),
            // If the first answer is lost and the put is retried, the winner sees "already there". A commit then reads the
            // object back.
            [] => Ok(()),
            several => Err(wrong(format!("{} writers were told that they won", several.len()))),
        }
    }

    async fn takes_parts(&self) -> Result<()> {
        let file = large_file()?;
        self.store.put_file(&self.name("large"), file, LARGE).await?;
        match self.store.size(&self.name("large")).await? {
            LARGE => Ok(()),
            found => Err(wrong(format!("expected {LARGE} bytes, found {found}"))),
        }
    }

    async fn read(&self, ranges: &[Range<u64>]) -> Result<()> {
        let name = self.name("large");
        let requests: Vec<_> = ranges.iter().map(|range| RangeRequest::new(&*name, LARGE, range.clone())).collect();
        for (range, answer) in ranges.iter().zip(self.store.read(&requests).await?) {
            if !range.clone().map(byte).eq(answer.iter().copied()) {
                return Err(wrong(format!("range {}..{} holds other bytes than were written", range.start, range.end)));
            }
        }
        Ok(())
    }

    async fn answers_ranges(&self) -> Result<()> {
        let whole = 0..LARGE;
        let odd = (0..40).map(|number| number * 600_011..number * 600_011 + 1 + number * 977);
        let ranges: Vec<Range<u64>> = [0..1, LARGE - 1..LARGE, 5..5, whole].into_iter().chain(odd).collect();
        self.read(&ranges).await
    }

    async fn survives_lost_ranges(&self) -> Result<()> {
        let name = self.name("large");
        for wait in [1, 5, 20, 60] {
            let requests: Vec<_> = (0..8).map(|part| RangeRequest::new(&*name, LARGE, part << 20..(part + 3) << 20)).collect();
            let given_up = tokio::time::timeout(Duration::from_millis(wait), self.store.read(&requests)).await;
            drop(given_up);
            let after = wait * 1_000..wait * 1_000 + 50_000;
            self.read(std::slice::from_ref(&after)).await?;
        }
        Ok(())
    }

    async fn lists_at_once(&self) -> Result<()> {
        self.store.put_new(&self.name("listed"), "1234567".into()).await?;
        let listed = self.store.list(&self.folder).await?;
        let expected = [("first", 5), ("large", LARGE), ("listed", 7)];
        match expected.into_iter().find(|(name, bytes)| !listed.contains(&(self.name(name), *bytes))) {
            None => Ok(()),
            Some((name, bytes)) => {
                Err(wrong(format!("expected {name} of {} among {}", counted(bytes, "byte"), counted(listed.len(), "name"))))
            }
        }
    }

    async fn misses(&self) -> Result<()> {
        match self.store.get(&self.name("nothing"), 64).await {
            Err(error) if error.kind() == crate::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(wrong("an object was read that was never written")),
        }
    }

    async fn cleans_up(&self) -> Result<()> {
        for (name, _) in self.store.list(&self.folder).await? {
            self.store.delete(&name).await?;
        }
        match self.store.list(&self.folder).await?.len() {
            0 => Ok(()),
            left => Err(wrong(format!("{} still listed below {}", counted(left, "object"), self.folder))),
        }
    }
}

/// Returns the byte at an offset of the large file. Neighbouring ranges differ.
fn byte(place: u64) -> u8 {
    let mixed = (place ^ (place >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.to_le_bytes()[7]
}

fn large_file() -> Result<File> {
    let disk = |error: std::io::Error| Error::from(error).at("a temporary file");
    let mut file = tempfile::tempfile().map_err(disk)?;
    let bytes: Vec<u8> = (0..LARGE).map(byte).collect();
    file.write_all(&bytes).map_err(disk)?;
    file.rewind().map_err(disk)?;
    Ok(file)
}
