//! Recipes: which messages become which rows. TOML, or the same as JSON, to checked settings.

mod apart;
mod differing;
mod keys;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tetrys::{Error, Result};

pub(crate) use differing::difference;

/// Which clock makes rows, and which messages each row gets.
///
/// ```
/// use tetrys_logs::Recipe;
/// let text = "[clock]\nrate = \"10Hz\"\n[[match]]\nname = \"imu\"\ntopic = \"/imu\"\ntime = \"stamp\"\npolicy = \"last\"\n";
/// let recipe = Recipe::parse(&format!("{text}tolerance = \"20ms\""))?;
/// assert_eq!(recipe.matches[0].tolerance, Some(tetrys_logs::recipe::Bound::At(20_000_000)));
/// let error = Recipe::parse(text).unwrap_err();
/// assert_eq!(error.to_string(), "match `imu`: expected tolerance, such as \"50ms\" or \"none\"");
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The clock: each of its ticks makes a row.
    pub clock: Clock,
    /// The matches: each adds messages of a topic to the rows.
    #[serde(rename = "match", default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Match>,
    /// The transforms between coordinate frames, by the names of their columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tf: BTreeMap<String, Tf>,
    /// Settings of all topics that do not have their own.
    #[serde(default)]
    pub defaults: Topic,
}

/// The clock makes rows: from the messages of a topic, or at a rate.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Topic whose messages each make a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Begins the names of the columns of `topic`. By default the topic, with `_` between its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Columns of `topic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<String>>,
    /// Rows a second, instead of `topic`: `10Hz`, `30000/1001Hz`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// First tick of a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Edge>,
    /// Last tick of a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Edge>,
    /// The rule for messages of `topic` that have the same time.
    #[serde(default)]
    pub on_equal: OnEqual,
    /// A longer gap between two rows begins a new part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Bound>,
    /// Settings of the topic.
    #[serde(flatten)]
    pub of: Topic,
}

/// Chooses the messages of a topic that a row gets.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// Begins the names of the columns.
    pub name: String,
    /// The topic.
    pub topic: String,
    /// Which messages.
    pub policy: Policy,
    /// Maximum distance between the row and the message, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Bound>,
    /// Maximum distance between the two messages of `linear` and `slerp`, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_gap: Option<Bound>,
    /// Whether messages after the row may be used.
    #[serde(default)]
    pub future: bool,
    /// Whether `last` excludes a message at the time of the row.
    #[serde(default)]
    pub strict: bool,
    /// Columns. By default the good ones of the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<String>>,
    /// Whether there is a column of differences.
    #[serde(default = "yes")]
    pub dt: bool,
    /// The rule for a row that gets no message.
    #[serde(default)]
    pub missing: Missing,
    /// URL or path of a table of its own, with a row for each message of the topic. The table of the import is then a view, which
    /// joins the rows of both by their times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Settings of the topic.
    #[serde(flatten)]
    pub of: Topic,
}

fn yes() -> bool {
    true
}

/// The transform from one coordinate frame to another, T with p_target = T p_source, at the time of the row or of one of its messages.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tf {
    /// The frame whose coordinates it gives.
    pub target: String,
    /// The frame whose coordinates it takes.
    pub source: String,
    /// `row`, or the name of a match: the time of its message.
    #[serde(default = "row")]
    pub at: String,
    /// Maximum time between two samples, and from the last or first one to the row, inclusive.
    pub tolerance: Bound,
    /// Topic of the transforms that move. By default `/tf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Topic of the transforms that hold always. By default `/tf_static`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_topic: Option<String>,
    /// Which time counts. By default the stamp of each transform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// Nanoseconds that are added to the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Nanoseconds>,
}

fn row() -> String {
    "row".to_owned()
}

/// Settings of a topic, as they stand in `[clock]`, `[[match]]` and `[defaults]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Topic {
    /// Which time of its messages counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// Nanoseconds that are added to the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Nanoseconds>,
    /// The rule for a message whose stamp is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_stamp: Option<ZeroStamp>,
    /// How much older than the newest message before it a message may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_lateness: Option<Bound>,
    /// The rule for a message that is later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_late: Option<OnLate>,
    /// The rule for a step back of the time from one message to the next, as when somebody sets the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jump: Option<Jump>,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word:meta])* $variant:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$word])* $variant),* }
    };
}

words! {
    /// A time of a message.
    Time {
        /// When the recorder received it.
        Log,
        /// When it was published.
        Publish,
        /// When it was measured, as the message says.
        Stamp,
    }
}
words! {
    /// The rule for messages of the clock that have the same time.
    #[derive(Default)]
    OnEqual {
        /// Each makes a row.
        #[default]
        Keep,
        /// The first makes a row.
        First,
        /// The last makes a row.
        Last,
        /// It is an error.
        Error,
    }
}
words! {
    /// Which messages a row gets.
    Policy {
        /// The last one that is not later.
        Last,
        /// The first one that is not earlier.
        Next,
        /// The nearest.
        Nearest,
        /// A straight line between the last and the next one.
        Linear,
        /// The rotation between the last and the next one: for quaternions.
        Slerp,
        /// All since the row before.
        All,
    }
}
words! {
    /// The rule for a row that gets no message.
    #[derive(Default)]
    Missing {
        /// Its values are null.
        #[default]
        Null,
        /// It is left out.
        Drop,
        /// It is an error.
        Error,
    }
}
words! {
    /// The rule for a message whose stamp is 0.
    ZeroStamp {
        /// It is an error.
        Error,
        /// It is a message at 1970-01-01.
        Keep,
        /// It is left out.
        Drop,
    }
}
words! {
    /// The rule for a late message.
    OnLate {
        /// It is an error.
        Error,
        /// It is left out.
        Drop,
    }
}

/// A duration: a number of nanoseconds, or a text such as `50ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Nanoseconds(pub i64);

/// A duration that is not negative, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Bound {
    /// Nanoseconds.
    At(i64),
    /// No bound.
    None,
}

/// The rule for a step back of the time of a topic from one message to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Jump {
    /// A step of more nanoseconds is an error.
    Error(i64),
    /// All messages are sorted.
    None,
    /// At a step of more than a second, a new part begins.
    Split,
}

/// Rows a second, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Rate {
    /// Rows in `seconds` seconds.
    pub rows: u32,
    /// Seconds.
    pub seconds: u32,
}

/// An end of a rate clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Edge {
    /// Where all matched topics have messages.
    Overlap,
    /// Where any matched topic has messages.
    Any,
    /// Nanoseconds since 1970.
    At(i64),
}

/// A number or a text, as TOML has it.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Written {
    Number(i64),
    Text(String),
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl serde::de::Visitor<'_> for Visitor {
            type Value = Written;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a text with a unit such as \"50ms\", or a whole number of nanoseconds")
            }

            fn visit_i64<E>(self, number: i64) -> Result<Written, E> {
                Ok(Written::Number(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Written, E> {
                let wrong = |_| E::invalid_value(serde::de::Unexpected::Unsigned(number), &self);
                i64::try_from(number).map(Written::Number).map_err(wrong)
            }

            fn visit_str<E>(self, text: &str) -> Result<Written, E> {
                Ok(Written::Text(text.to_owned()))
            }
        }

        from.deserialize_any(Visitor)
    }
}

/// Maximum distance of a time from 1970, so that differences of two times fit.
pub(crate) const MAX_TIME: i64 = (1 << 62) - 1;

fn is_time(ns: i64) -> bool {
    ns.unsigned_abs() <= MAX_TIME.unsigned_abs()
}

impl TryFrom<Written> for Nanoseconds {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let found = match &written {
            Written::Number(number) => Some(*number),
            Written::Text(text) => nanoseconds(text),
        };
        let wrong = || format!("expected a duration such as \"50ms\", or a number of nanoseconds, found {}", shown(&written));
        found.filter(|ns| is_time(*ns)).map(Self).ok_or_else(wrong)
    }
}

fn shown(written: &Written) -> String {
    match written {
        Written::Number(number) => number.to_string(),
        Written::Text(text) => format!("\"{}\"", text.escape_debug()),
    }
}

/// Parses `1.5s`, `-20ms`, `7us`, `9ns`, `2min`, `1h` exactly.
fn nanoseconds(text: &str) -> Option<i64> {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = rest.split_at(end);
    let unit: i128 = match unit.trim_start() {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    if whole.is_empty() || whole.len() > 18 || fraction.len() > 18 {
        return None;
    }
    let whole: i128 = whole.parse().ok()?;
    let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    // A fraction of a nanosecond is refused, not rounded.
    let part = fraction * unit;
    let total = (part % scale == 0).then(|| whole * unit + part / scale)?;
    i64::try_from(if negative { -total } else { total }).ok()
}

/// Writes a duration with the largest unit that keeps it whole.
pub(crate) fn written(ns: i64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let unit = units.into_iter().find(|(_, unit)| ns != 0 && ns % unit == 0);
    unit.map_or_else(|| format!("{ns}ns"), |(name, unit)| format!("{}{name}", ns / unit))
}

impl From<Nanoseconds> for Written {
    fn from(Nanoseconds(ns): Nanoseconds) -> Self {
        Self::Text(written(ns))
    }
}

impl TryFrom<Written> for Bound {
    type Error = String;

    fn try_from(found: Written) -> Result<Self, String> {
        if matches!(&found, Written::Text(text) if text == "none") {
            return Ok(Self::None);
        }
        let Nanoseconds(ns) = Nanoseconds::try_from(found.clone())?;
        match ns {
            0.. => Ok(Self::At(ns)),
            _ => Err(format!("expected a duration of 0 or more, or \"none\", found {}", shown(&found))),
        }
    }
}

impl From<Bound> for Written {
    fn from(bound: Bound) -> Self {
        match bound {
            Bound::At(ns) => Nanoseconds(ns).into(),
            Bound::None => Self::Text("none".to_owned()),
        }
    }
}

impl TryFrom<Written> for Jump {
    type Error = String;

    fn try_from(found: Written) -> Result<Self, String> {
        if matches!(&found, Written::Text(text) if text == "split") {
            return Ok(Self::Split);
        }
        match Bound::try_from(found) {
            Ok(Bound::At(ns)) => Ok(Self::Error(ns)),
            Ok(Bound::None) => Ok(Self::None),
            Err(error) => Err(format!("{error}; or \"split\"")),
        }
    }
}

impl From<Jump> for Written {
    fn from(jump: Jump) -> Self {
        match jump {
            Jump::Error(ns) => Nanoseconds(ns).into(),
            Jump::None => Self::Text("none".to_owned()),
            Jump::Split => Self::Text("split".to_owned()),
        }
    }
}

impl TryFrom<Written> for Rate {
    type Error = String;

    fn try_from(found: Written) -> Result<Self, String> {
        let parse = |text: &str| {
            let number = text.strip_suffix("Hz")?.trim_end();
            let (rows, seconds) = number.split_once('/').unwrap_or((number, "1"));
            let (whole, fraction) = rows.split_once('.').unwrap_or((rows, ""));
            let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            let rows: u64 = format!("{whole}{fraction}").parse().ok()?;
            let seconds = seconds.parse::<u64>().ok()?.checked_mul(scale)?;
            let divisor = divisor(rows, seconds).max(1);
            let (rows, seconds) = (u32::try_from(rows / divisor).ok()?, u32::try_from(seconds / divisor).ok()?);
            (rows > 0 && seconds > 0 && u64::from(rows) <= 1_000_000_000 * u64::from(seconds)).then_some(Self { rows, seconds })
        };
        let rate = if let Written::Text(text) = &found { parse(text) } else { None };
        rate.ok_or_else(|| format!("expected a rate such as \"10Hz\" or \"30000/1001Hz\", found {}", shown(&found)))
    }
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

impl From<Rate> for Written {
    fn from(Rate { rows, seconds }: Rate) -> Self {
        Self::Text(if seconds == 1 { format!("{rows}Hz") } else { format!("{rows}/{seconds}Hz") })
    }
}

impl TryFrom<Written> for Edge {
    type Error = String;

    fn try_from(found: Written) -> Result<Self, String> {
        let edge = match &found {
            Written::Number(number) if is_time(*number) => Some(Self::At(*number)),
            Written::Number(_) => None,
            Written::Text(text) if text == "overlap" => Some(Self::Overlap),
            Written::Text(text) if text == "any" => Some(Self::Any),
            Written::Text(text) => crate::times::parse(text).filter(|ns| is_time(*ns)).map(Self::At),
        };
        let expected = "expected \"overlap\", \"any\", nanoseconds since 1970, or a time such as \"2026-05-01T12:00:00Z\"";
        edge.ok_or_else(|| format!("{expected}, found {}", shown(&found)))
    }
}

impl From<Edge> for Written {
    fn from(edge: Edge) -> Self {
        match edge {
            Edge::Overlap => Self::Text("overlap".to_owned()),
            Edge::Any => Self::Text("any".to_owned()),
            Edge::At(ns) => Self::Number(ns),
        }
    }
}

impl Recipe {
    /// Parses the TOML of a recipe.
    ///
    /// # Errors
    /// - `Invalid`: the text is no TOML, or a key or a value is wrong. The message names it.
    pub fn parse(text: &str) -> Result<Self> {
        keys::check(text)?;
        let recipe: Self = toml::from_str(text).map_err(|error| keys::error(text, &error))?;
        recipe.checked()
    }

    /// Parses a recipe as JSON, with the same keys.
    ///
    /// # Errors
    /// - `Invalid`: the text is no JSON, or a key or a value is wrong. The message names it.
    pub fn from_json(text: &str) -> Result<Self> {
        let recipe: Self = serde_json::from_str(text).map_err(|error| Error::invalid_json(&error))?;
        recipe.checked()
    }

    /// Returns the recipe as JSON. Equal recipes have equal texts.
    ///
    /// # Errors
    /// - `Internal`: never.
    pub fn to_json(&self) -> Result<serde_json::Value> {
        serde_json::to_value(self).map_err(|error| Error::internal(format!("a recipe: {error}")))
    }

    /// Returns the settings of each topic.
    fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.clock.topic.iter().map(|_| &self.clock.of).chain(self.matches.iter().map(|matched| &matched.of))
    }

    /// Checks what types of keys do not say.
    fn checked(self) -> Result<Self> {
        let clock = &self.clock;
        let place = |error: Error| error.at("[clock]");
        match (&clock.topic, &clock.rate) {
            (Some(_), None) if clock.start.is_some() || clock.end.is_some() => {
                return Err(place(Error::invalid("start and end belong to a rate, and there is a topic")));
            }
            (Some(_), None) => {}
            (None, Some(_))
                if clock.name.is_some()
                    || clock.fields.is_some()
                    || clock.on_equal != OnEqual::Keep
                    || clock.of != Topic::default() =>
            {
                return Err(place(Error::invalid(
                    "name, fields, on_equal and the settings of a topic need a topic, and there is a rate",
                )));
            }
            (None, Some(_)) => {}
            _ => return Err(place(Error::invalid("expected either topic or rate"))),
        }
        // The two clocks of a log are easily mixed up, so each recipe says which one counts.
        let timeless = |topic: &Topic| topic.or(&self.defaults).time.is_none();
        let no_time = "expected time: \"stamp\", \"log\" or \"publish\", here or in [defaults]";
        if clock.topic.is_some() && timeless(&clock.of) {
            return Err(place(Error::invalid(no_time)));
        }
        let mut names: Vec<&str> = clock.name.as_deref().into_iter().collect();
        for matched in &self.matches {
            let place = |error: Error| error.at(format!("match `{}`", matched.name.escape_debug()));
            let fail = |message: &str| Err(place(Error::invalid(message)));
            if matched.name.is_empty() || names.contains(&matched.name.as_str()) {
                return fail("expected a name that no other match and not the clock has");
            }
            names.push(&matched.name);
            if ["log", "part", "time"].contains(&matched.name.as_str()) {
                return fail("`log`, `part` and `time` are names of index columns");
            }
            match (matched.policy, matched.tolerance, matched.max_gap) {
                (Policy::All, _, None) => {}
                (policy, tolerance, max_gap) if policy.is_between() => match (tolerance, max_gap) {
                    (None, Some(_)) => {}
                    (_, None) => return fail("expected max_gap, such as \"200ms\" or \"none\""),
                    (Some(_), _) => return fail("linear and slerp have a max_gap instead of a tolerance"),
                },
                (_, _, Some(_)) => return fail("max_gap belongs to linear and slerp"),
                (_, None, None) => return fail("expected tolerance, such as \"50ms\" or \"none\""),
                (_, Some(_), None) => {}
            }
            if timeless(&matched.of) {
                return fail(no_time);
            }
            let sees_future = matches!(matched.policy, Policy::Next | Policy::Nearest) || matched.policy.is_between();
            if sees_future && !matched.future {
                return fail("this policy uses messages after the row; say so with future = true");
            }
            if matched.future && !sees_future {
                return fail("this policy uses no messages after the row; leave out future");
            }
            if matched.policy == Policy::All && matched.missing != Missing::Null {
                return fail("missing does not belong to all, which gives an empty list");
            }
            if matched.strict && matched.policy != Policy::Last {
                return fail("strict belongs to last");
            }
            if matched.fields.as_ref().is_some_and(Vec::is_empty) {
                return fail("expected patterns of columns in fields, such as [\"position\"]; leave it out for all");
            }
            self.check_table(matched).map_err(place)?;
        }
        for (name, tf) in &self.tf {
            let fail = |message: &str| Err(Error::invalid(format!("transform `{}`: {message}", name.escape_debug())));
            let is_taken = names.contains(&name.as_str()) || ["log", "part", "time"].contains(&name.as_str());
            if name.is_empty() || is_taken {
                return fail("expected a name that no match, not the clock and no index column has");
            }
            if tf.target.is_empty() || tf.source.is_empty() {
                return fail("expected the names of two frames in target and source");
            }
            let is_one = |matched: &Match| matched.name == tf.at && matched.policy != Policy::All;
            if tf.at != "row" && !self.matches.iter().any(is_one) {
                return fail("expected at = \"row\", or the name of a match that gives one message");
            }
        }
        let splits = |topic: &Topic| topic.or(&self.defaults).jump == Some(Jump::Split);
        let has_time = [&clock.start, &clock.end].into_iter().any(|edge| matches!(edge, Some(Edge::At(_))));
        if has_time && self.matches.iter().any(|matched| splits(&matched.of)) {
            let why = "with jump = \"split\", a time may come twice: expected \"overlap\" or \"any\" for start and end";
            return Err(place(Error::invalid(why)));
        }
        match self.matches.is_empty() && self.clock.topic.is_none() {
            true => Err(Error::invalid("a rate without a [[match]] makes rows without values")),
            false => Ok(self),
        }
    }
}

/// Returns the name of a topic as the beginning of column names: `/lidar/top` is `lidar_top`.
pub(crate) fn name_of(topic: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let name: String = topic.trim_matches('/').chars().map(word).collect();
    match name.as_str() {
        "" => "clock".to_owned(),
        "log" | "part" | "time" => format!("{name}_"),
        _ => name,
    }
}

impl Policy {
    /// Whether a row gets a value between those of two messages.
    pub(crate) fn is_between(self) -> bool {
        matches!(self, Self::Linear | Self::Slerp)
    }
}

impl Topic {
    /// Returns the settings, with `defaults` where there are none.
    pub(crate) fn or(&self, defaults: &Self) -> Self {
        Self {
            time: self.time.or(defaults.time),
            offset: self.offset.or(defaults.offset),
            zero_stamp: self.zero_stamp.or(defaults.zero_stamp),
            max_lateness: self.max_lateness.or(defaults.max_lateness),
            on_late: self.on_late.or(defaults.on_late),
            jump: self.jump.or(defaults.jump),
        }
    }
}

impl Bound {
    /// Whether a distance is within the bound.
    pub(crate) fn allows(self, ns: i64) -> bool {
        match self {
            Self::At(bound) => ns <= bound,
            Self::None => true,
        }
    }
}

#[cfg(test)]
mod tests;
