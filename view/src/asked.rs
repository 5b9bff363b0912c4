//! The parameters of a request: what follows `?`. Every one is checked here, and one that is not known is an error.

use std::{collections::BTreeSet, fmt::Display, str::FromStr};

use tetrys::{Error, Result};

/// Most parameters of a request, and most rows that are named one by one.
const MOST: usize = 2_000;

/// The rows of a source that are shown, and their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Choice {
    /// SQL conditions, all of which hold.
    pub(crate) conditions: Vec<String>,
    /// The column to sort by, and whether descending.
    pub(crate) sort: Option<(String, bool)>,
    /// Only these rows, ascending.
    pub(crate) only: Option<Vec<u64>>,
}

impl Choice {
    /// Whether all rows are shown in their order.
    pub(crate) fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the conditions as one.
    pub(crate) fn condition(&self) -> Option<String> {
        match self.conditions.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(several.iter().map(|condition| format!("({condition})")).collect::<Vec<_>>().join(" AND ")),
        }
    }
}

/// The parameters of a request, by name.
#[derive(Debug)]
pub(crate) struct Asked(Vec<(String, String)>);

impl Asked {
    /// Parses a query. Only `known` names may be in it.
    ///
    /// # Errors
    /// - `Invalid`: another name is in it, or it has too many parameters.
    pub(crate) fn parse(query: &str, known: &[&str]) -> Result<Self> {
        let pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().take(MOST + 1).collect();
        if pairs.len() > MOST {
            return Err(Error::invalid(format!("expected at most {MOST} parameters, found more")));
        }
        match pairs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(Error::invalid(format!("expected the parameters {}, found {name:?}", known.join(", ")))),
            None => Ok(Self(pairs)),
        }
    }

    /// Returns all values of a parameter.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(found, _)| found == name).map(|(_, value)| value.clone()).collect()
    }

    /// Returns the value of a parameter that may be there once.
    pub(crate) fn one(&self, name: &str) -> Result<Option<String>> {
        let mut found = self.all(name);
        match found.len() {
            0 | 1 => Ok(found.pop()),
            several => Err(Error::invalid(format!("{name}: expected one value, found {several}"))),
        }
    }

    /// Returns the number in a parameter that must be there.
    pub(crate) fn number<T: FromStr + PartialOrd + Display>(&self, name: &str, most: T) -> Result<T> {
        let text = self.one(name)?.ok_or_else(|| Error::invalid(format!("{name}: expected a number, found nothing")))?;
        match text.parse::<T>() {
            Ok(number) if number <= most => Ok(number),
            _ => Err(Error::invalid(format!("{name}: expected a number up to {most}, found {text:?}"))),
        }
    }

    /// Returns the row numbers in a parameter, separated by commas.
    pub(crate) fn rows(&self, name: &str) -> Result<Option<Vec<u64>>> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        let parts: Vec<&str> = text.split(',').filter(|part| !part.is_empty()).take(MOST + 1).collect();
        if parts.len() > MOST {
            return Err(Error::invalid(format!("{name}: expected at most {MOST} rows, found more")));
        }
        let row = |text: &&str| {
            text.parse::<u64>().map_err(|_| Error::invalid(format!("{name}: expected row numbers, found {text:?}")))
        };
        parts.iter().map(row).collect::<Result<_>>().map(Some)
    }

    /// Returns the rows that are shown.
    pub(crate) fn choice(&self) -> Result<Choice> {
        let conditions = self.all("where").into_iter().filter(|condition| !condition.trim().is_empty()).collect();
        let descending = match self.one("descending")?.as_deref() {
            None | Some("0") => false,
            Some("1") => true,
            Some(other) => return Err(Error::invalid(format!("descending: expected 0 or 1, found {other:?}"))),
        };
        let sort = self.one("sort")?.map(|column| (column, descending));
        let only = self.rows("only")?.map(|rows| rows.into_iter().collect::<BTreeSet<_>>().into_iter().collect());
        Ok(Choice { conditions, sort, only })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &["table", "where", "sort", "descending", "only"];

    #[test]
    fn a_choice_is_read_from_its_parameters() {
        let asked =
            Asked::parse("table=2&where=a+%3E+1&where=&where=b%20%3D%20'%26'&sort=t&descending=1&only=9,3,3", KNOWN).unwrap();
        assert_eq!(asked.number::<usize>("table", 5).unwrap(), 2);
        let choice = asked.choice().unwrap();
        assert_eq!(choice.condition().unwrap(), "(a > 1) AND (b = '&')");
        assert_eq!((choice.sort, choice.only), (Some(("t".to_owned(), true)), Some(vec![3, 9])));
        assert!(Asked::parse("", KNOWN).unwrap().choice().unwrap().is_everything());
    }

    #[test]
    fn silly_parameters_are_refused() {
        for query in ["tabel=1", "=", "where", "%FF=1"] {
            assert!(Asked::parse(query, &["table"]).is_err(), "{query}");
        }
        for query in
            ["only=x", "only=-1", "only=1.5", "only=18446744073709551616", "descending=yes", "sort=a&sort=b", "only=1&only=2"]
        {
            assert!(Asked::parse(query, KNOWN).unwrap().choice().is_err(), "{query}");
        }
        for query in ["", "table=", "table=-1", "table=6", "table=1&table=1", "table=1e3", "table=99999999999999999999999"] {
            assert!(Asked::parse(query, KNOWN).unwrap().number::<usize>("table", 5).is_err(), "{query}");
        }
        assert!(Asked::parse(&"where=1&".repeat(MOST + 1), KNOWN).is_err());
        assert!(Asked::parse(&format!("only={}", "1,".repeat(MOST + 1)), KNOWN).unwrap().choice().is_err());
    }
}
