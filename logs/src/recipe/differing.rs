//! Names the first key in which two recipes differ.

use std::collections::BTreeSet;

use serde_json::Value as Json;

/// Returns the first key in which a recipe differs from that of a table, with both values. Both are recipes as JSON.
pub(crate) fn difference(recipe: &Json, of_table: &Json) -> Option<String> {
    let (path, here, there) = first("", Some(recipe), Some(of_table))?;
    let shown = |value: Option<&Json>| value.map_or_else(|| "missing".to_owned(), Json::to_string);
    Some(format!("`{path}` is {} in the recipe, and {} in that of the table", shown(here), shown(there)))
}

type Found<'a> = (String, Option<&'a Json>, Option<&'a Json>);

fn first<'a>(path: &str, here: Option<&'a Json>, there: Option<&'a Json>) -> Option<Found<'a>> {
    match (here, there) {
        (Some(here), Some(there)) if here == there => None,
        (Some(Json::Object(one)), Some(Json::Object(other))) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            keys.into_iter().find_map(|key| first(&below(key), one.get(key), other.get(key)))
        }
        (Some(Json::Array(one)), Some(Json::Array(other))) if is_of_names(one) && is_of_names(other) => {
            (0..one.len().max(other.len())).find_map(|at| {
                let (here, there) = (name_at(one, at), name_at(other, at));
                match here == there {
                    true => {
                        first(&format!("{path} {}", here.and_then(Json::as_str).unwrap_or_default()), one.get(at), other.get(at))
                    }
                    false => Some((format!("{path}[{at}].name"), here, there)),
                }
            })
        }
        (None, None) => None,
        _ => Some((path.to_owned(), here, there)),
    }
}

/// Whether these are matches.
fn is_of_names(items: &[Json]) -> bool {
    items.iter().all(|item| item.get("name").is_some())
}

fn name_at(items: &[Json], at: usize) -> Option<&Json> {
    items.get(at)?.get("name")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recipe;

    #[test]
    fn the_first_key_that_differs_is_named_with_both_values() {
        let text = "[clock]\ntopic = \"/a\"\ntime = \"log\"\n[[match]]\nname = \"b\"\ntopic = \"/b\"\ntime = \"log\"\npolicy = \"last\"\n\
                    tolerance = \"50ms\"\n";
        let json = |text: &str| Recipe::parse(text).unwrap().to_json().unwrap();
        let of = |changed: &str| difference(&json(changed), &json(text));
        assert_eq!(of(text), None);
        for (changed, expected) in [
            (text.replace("50ms", "51ms"), "`match b.tolerance` is \"51ms\" in the recipe, and \"50ms\" in that of the table"),
            (
                text.replace("[[match]]", "gap = \"1s\"\n[[match]]"),
                "`clock.gap` is \"1s\" in the recipe, and missing in that of the table",
            ),
            (text.replace("\"b\"", "\"c\""), "`match[0].name` is \"c\" in the recipe, and \"b\" in that of the table"),
            (text[..text.find("[[").unwrap()].to_owned(), "`match` is missing in the recipe, and [{"),
        ] {
            let found = of(&changed).unwrap();
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
