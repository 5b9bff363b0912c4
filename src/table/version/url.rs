//! The URL of a table, which may end in the name of a version: `drives`, `drives@7`, `drives@gold`.

use crate::format::is_tag;

/// The URL of a table, cut at the `@` before a version or a tag.
///
/// A folder may be called `drives@7`, too: [`Table::open`](crate::Table::open) looks which of the two is there. In
/// `abfss://container@account.host` the account follows the `@`, so the URL names no version.
///
/// ```
/// use tetrys::TableUrl;
/// let url = TableUrl::new("s3://lab/drives@7");
/// assert_eq!((url.root(), url.version(), url.tag()), ("s3://lab/drives", Some(7), None));
/// assert_eq!(TableUrl::new("drives@gold").tag(), Some("gold"));
/// assert_eq!(TableUrl::new("drives@2/labels").root(), "drives@2/labels");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableUrl<'a> {
    root: &'a str,
    name: Option<&'a str>,
}

impl<'a> TableUrl<'a> {
    /// Cuts a URL or path. Text after an `@` that is neither a version nor a tag belongs to the root.
    pub fn new(url: &'a str) -> Self {
        let is_version = |name: &str| name.bytes().all(|digit| digit.is_ascii_digit()) && name.parse::<u64>().is_ok();
        let is_account = url.split_once("://").is_some_and(|(scheme, rest)| scheme.starts_with("abfs") && !rest.contains('/'));
        match url.rsplit_once('@') {
            Some((root, name)) if !root.is_empty() && !is_account && (is_version(name) || is_tag(name)) => {
                Self { root, name: Some(name) }
            }
            _ => Self { root: url, name: None },
        }
    }

    /// Returns the URL of the whole table, with all its versions.
    pub fn root(self) -> &'a str {
        self.root
    }

    /// Returns the version or the tag, as it is written; `None` if the URL names neither.
    pub fn name(self) -> Option<&'a str> {
        self.name
    }

    /// Returns the version, if the URL names one by its number.
    pub fn version(self) -> Option<u64> {
        self.name?.parse().ok()
    }

    /// Returns the tag, if the URL names a version by one.
    pub fn tag(self) -> Option<&'a str> {
        self.name.filter(|_| self.version().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_version_or_a_tag_is_cut_off() {
        let parts = |url| (TableUrl::new(url).root().to_owned(), TableUrl::new(url).version(), TableUrl::new(url).tag());
        let whole = |url: &str| (url.to_owned(), None, None);
        assert_eq!(parts("a@1@2"), ("a@1".to_owned(), Some(2), None));
        assert_eq!(parts("a@007"), ("a".to_owned(), Some(7), None));
        assert_eq!(parts("s3://bucket@v1.2"), ("s3://bucket".to_owned(), None, Some("v1.2")));
        assert_eq!(parts("abfss://data@account.host/a@3"), ("abfss://data@account.host/a".to_owned(), Some(3), None));
        for url in ["", "a", "@7", "a@", "a@b c", "a@99999999999999999999", "a@1/b", "abfss://data@account.host"] {
            assert_eq!(parts(url), whole(url));
        }
    }
}
