//! Recipes: what they say, and what is refused.

use super::*;

const CLOCK: &str = "[clock]\ntopic = \"/a\"\ntime = \"log\"\n";

#[test]
fn durations_are_exact_and_rates_are_fractions() {
    let ns = |text: &str| Nanoseconds::try_from(Written::Text(text.to_owned())).map(|Nanoseconds(ns)| ns).ok();
    assert_eq!(
        ["1.5s", "-20ms", "7us", "0.000000001s", "2min", "1 ms"].map(ns).map(Option::unwrap),
        [1_500_000_000, -20_000_000, 7_000, 1, 120_000_000_000, 1_000_000]
    );
    for wrong in ["", "5", "ms", "1.5ns", "0.0000000001s", "1e3ms", "99999999999999h", "5 parsecs"] {
        assert_eq!(ns(wrong), None, "{wrong}");
    }
    let rate = |text: &str| Rate::try_from(Written::Text(text.to_owned())).ok();
    assert_eq!(rate("30000/1001Hz"), Some(Rate { rows: 30000, seconds: 1001 }));
    assert_eq!(rate("2.5Hz"), Some(Rate { rows: 5, seconds: 2 }));
    for wrong in ["0Hz", "-1Hz", "10", "1/0Hz", "2000000000Hz", "1.Hz1", ""] {
        assert_eq!(rate(wrong), None, "{wrong}");
    }
    assert_eq!([1_500_000_000, 20_000_000, 7, 0].map(written), ["1500ms", "20ms", "7ns", "0ns"]);
}

#[test]
fn a_recipe_is_the_same_as_toml_and_as_json() {
    let text = format!(
        "{CLOCK}gap = \"1s\"\n[defaults]\ntime = \"stamp\"\non_late = \"drop\"\n[[match]]\nname = \"b\"\ntopic = \"/b\"\n\
         policy = \"linear\"\nmax_gap = 5\nfuture = true\noffset = \"-3ms\"\njump = \"split\"\n"
    );
    let recipe = Recipe::parse(&text).unwrap();
    assert_eq!(recipe.clock.gap, Some(Bound::At(1_000_000_000)));
    assert_eq!(recipe.matches[0].of.or(&recipe.defaults).time, Some(Time::Stamp));
    assert_eq!(recipe.matches[0].of.offset, Some(Nanoseconds(-3_000_000)));
    assert_eq!(Recipe::from_json(&recipe.to_json().unwrap().to_string()).unwrap(), recipe);
}

#[test]
fn what_is_wrong_in_a_recipe_is_named() {
    let of = |lines: &str| format!("{CLOCK}[[match]]\nname = \"b\"\ntopic = \"/b\"\ntime = \"log\"\n{lines}");
    for (text, expected) in [
        (String::new(), "clock"),
        ("[clock]\ntopic = \"/a\"".to_owned(), "[clock]: expected time"),
        (format!("{CLOCK}rate = \"1Hz\""), "expected either topic or rate"),
        (format!("{CLOCK}strat = 5"), "strat"),
        (format!("{CLOCK}start = 5"), "start and end belong to a rate"),
        (format!("{CLOCK}[tf.lidar]\ntarget = \"map\""), "missing field `source`"),
        (format!("{CLOCK}[tf.lidar]\ntarget = \"map\"\nsource = \"a\""), "missing field `tolerance`"),
        (format!("{CLOCK}[tf.time]\ntarget = \"map\"\nsource = \"a\"\ntolerance = 1"), "transform `time`: expected a name"),
        (format!("{CLOCK}[tf.a]\ntarget = \"\"\nsource = \"a\"\ntolerance = 1"), "the names of two frames"),
        (format!("{CLOCK}[tf.a]\ntarget = \"b\"\nsource = \"a\"\ntolerance = 1\nat = \"b\""), "expected at = \"row\""),
        (of("policy = \"last\""), "expected tolerance"),
        (of("policy = \"last\"\ntolerance = -1"), "0 or more"),
        (of("policy = \"last\"\ntolerance = 1\njump = \"cut\""), "or \"split\""),
        (of("policy = \"last\"\ntolerance = 1\nfuture = true"), "leave out future"),
        (of("policy = \"next\"\ntolerance = 1"), "future = true"),
        (of("policy = \"linear\"\ntolerance = 1\nfuture = true"), "max_gap"),
        (of("policy = \"slerp\"\nfuture = true"), "expected max_gap"),
        (of("policy = \"slerp\"\nmax_gap = 1"), "future = true"),
        (of("policy = \"turn\""), "turn"),
        (
            of("policy = \"last\"\ntolerance = 1\njump = \"split\"")
                .replace("topic = \"/a\"\ntime = \"log\"", "rate = \"1Hz\"\nend = 5"),
            "a time may come twice",
        ),
        (of("policy = \"last\"\ntolerance = 1\nmax_latness = 5"), "max_latness"),
        (of("policy = \"last\"\ntolerance = 1\nfields = []"), "expected patterns of columns in fields"),
        (of("policy = \"all\"\nmissing = \"drop\""), "missing does not belong to all"),
        (of("policy = \"last\"\ntolerance = 0.05"), "floating point `0.05`, expected a text with a unit such as \"50ms\""),
        (of(&format!("policy = \"last\"\ntolerance = 1\noffset = {}", i64::MIN)), "expected a duration"),
        (of(&format!("policy = \"last\"\ntolerance = {}", 1_i64 << 62)), "expected a duration"),
        (format!("[clock]\nrate = \"1Hz\"\nstart = {}\n", i64::MIN), "nanoseconds since 1970"),
        ("[clock]\nrate = \"1Hz\"\nend = \"2250-01-01T00:00:00Z\"\n".to_owned(), "nanoseconds since 1970"),
        (of("policy = \"last\"\ntolerance = 1\n") + &of("policy = \"all\"")[CLOCK.len()..], "no other match"),
    ] {
        let error = Recipe::parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    }
}
