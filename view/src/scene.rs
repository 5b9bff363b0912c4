//! Pictures of rows from above. What a row of a kind of table looks like is known to the crate of this kind, which implements [`Scene`].

use std::{fmt::Debug, pin::Pin};

use arrow_array::RecordBatch;
use serde_json::Value;
use tetrys::{Error, Result};

use crate::asked::Asked;

/// The longest distance from the middle to the side of the ground of an answer, m.
const MOST_RADIUS: f64 = 1_000.0;
/// The largest coordinate of the middle, m.
const FARTHEST: f64 = 1e9;

/// An answer for the page.
pub type SceneAnswer<'a> = Pin<Box<dyn Future<Output = Result<Value>> + Send + 'a>>;

/// The picture of each row of a source from above: [`Source::with_scene`](crate::Source::with_scene) adds it.
///
/// Coordinates are in metres, x to the east and y to the north, in one plane for all rows of a sequence; angles are in radians,
/// counter-clockwise from the x axis. 64-bit whole numbers are texts, since the numbers of JSON are inexact in browsers. An answer holds what
/// could be read, and for each part that could not its error in `failures`, by the name of the part: `ego`, `agents`, `velocity`, `labels`,
/// `lights`, `around`, `map`.
///
/// The page gives up requests that it no longer needs, so an answer may be dropped before it is ready. Work that goes on all the same, such
/// as that on a blocking thread, must be bounded: however many answers are dropped, one piece of it at a time.
pub trait Scene: Debug + Send + Sync {
    /// Answers with what is in a row, and with the places of these things in the rows around it:
    ///
    /// | member | content |
    /// |---|---|
    /// | `facts` | `[name, value, type]` of the row, as texts |
    /// | `there` | whether the table of a merge that has the scene has this row |
    /// | `ego` | `x`, `y`, `z`, `yaw` and `extent` (length, width, height) of the own car; null if it could not be read |
    /// | `agents` | `track`, `x`, `y`, `yaw`, `extent`, `velocity`, `kind`, `label` and `probability` of each |
    /// | `agent_count` | how many there are; more than in `agents` where these are cut |
    /// | `kinds` | the names of the kinds |
    /// | `lights` | `face`, `light`, `state`, `probabilities`, `colour`, and `ends`: places of lanes that the light is for |
    /// | `light_count` | how many there are |
    /// | `around` | `before`, `after`; `there`: a flag for each row from the first to the last; `ego`: `[offset, x, y]`; `tracks`: these of each agent; `cut` |
    /// | `map` | whether there is a map |
    /// | `hint` | how to give a map, if there is none |
    /// | `failures` | an error for each part that could not be read |
    /// | `read` | `requests` and `bytes` that the store was asked for |
    ///
    /// # Errors
    /// - `Invalid`: the row and those around it take more than [`SceneRow::most_bytes`].
    /// - Errors of the store that concern all parts.
    fn row<'a>(&'a self, asked: SceneRow<'a>) -> SceneAnswer<'a>;

    /// Answers with the ground around a place: `lanes` with `id`, `left` and `right`, `crosswalks` with `id` and `outline`, and `cut` where
    /// these are not all.
    ///
    /// # Errors
    /// Errors of the map.
    fn ground(&self, around: Ground) -> SceneAnswer<'_>;
}

/// A row that is asked for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SceneRow<'a> {
    /// The number of the row in its source.
    pub row: u64,
    /// The index columns of the row.
    pub index: &'a RecordBatch,
    /// How many rows before it are asked for.
    pub before: u64,
    /// How many rows after it are asked for.
    pub after: u64,
    /// The most bytes that may be read, and held once they are decoded.
    pub most_bytes: u64,
}

impl<'a> SceneRow<'a> {
    /// Asks for a row alone, and for at most 64 MiB.
    pub fn new(row: u64, index: &'a RecordBatch) -> Self {
        Self { row, index, before: 0, after: 0, most_bytes: crate::wire::MOST_BYTES }
    }
}

/// The ground that is asked for: a square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ground {
    /// Its middle, m.
    pub middle: [f64; 2],
    /// The distance from the middle to a side, m.
    pub radius: f64,
}

impl Ground {
    pub(crate) fn of(asked: &Asked) -> Result<Self> {
        let number = |name: &str, least: f64, most: f64| {
            let found = asked.number::<f64>(name, most)?;
            match found >= least {
                true => Ok(found),
                false => Err(Error::invalid(format!("{name}: expected a number from {least} to {most}, found {found}"))),
            }
        };
        let coordinate = |name: &str| number(name, -FARTHEST, FARTHEST);
        Ok(Self { middle: [coordinate("x")?, coordinate("y")?], radius: number("radius", 0.0, MOST_RADIUS)? })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    #[test]
    fn ground_is_a_finite_square() {
        let ground = |query: &str| Asked::parse(query, &["x", "y", "radius"]).and_then(|asked| Ground::of(&asked));
        assert_eq!(ground("x=-5.5&y=1e3&radius=0").unwrap(), Ground { middle: [-5.5, 1e3], radius: 0.0 });
        for query in [
            "",
            "x=1&y=1",
            "x=NaN&y=0&radius=1",
            "x=0&y=-inf&radius=1",
            "x=inf&y=0&radius=1",
            "x=0&y=0&radius=-1",
            "x=0&y=0&radius=1e4",
            "x=0&x=0&y=0&radius=1",
            "x=1e10&y=0&radius=1",
            "x=a&y=0&radius=1",
        ] {
            assert!(ground(query).is_err(), "{query}");
        }
    }
}
