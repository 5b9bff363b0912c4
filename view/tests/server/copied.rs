//! The Rust code that the page offers to copy, compiled: each function has the text of one copy, with the URL of a table of drives as `url`. The test
//! compares the texts, and the rows with those of the page.

use std::error::Error;

use serde_json::Value;
use tetrys::{Index, RowLoader};

use crate::{
    common::{ask, block_on},
    requests::{drives, encoded, numbers},
};

type Copied = Result<(Index, RowLoader), Box<dyn Error>>;

async fn everything(url: &str) -> Copied {
    let table = tetrys::Table::open(url).await?;
    let index = table.index().await?;
    let loader = tetrys::RowLoader::new(&index)?;
    Ok((index, loader))
}

async fn filtered(url: &str) -> Copied {
    let table = tetrys::Table::open(url).await?;
    let index = table.index().filter_sql("(speed > 9.5) AND (weather <> 'it''s \"fog\"\n' AND night)").await?;
    let index = index.sort(["speed"], true)?;
    let loader = tetrys::RowLoader::new(&index)?;
    Ok((index, loader))
}

async fn flagged(url: &str) -> Copied {
    let table = tetrys::Table::open(url).await?;
    let index = table.index().await?;
    let numbered = index.to_frame().with_row_index("row".into(), None)?;
    let index = index.with_frame(numbered)?.filter_sql("(row IN (3, 9, 150)) AND (frame < MAX(frame) - 29)")?;
    let index = index.sort(["weather"], false)?;
    let loader = tetrys::RowLoader::new(&index)?;
    Ok((index, loader))
}

/// Returns the text of a function above, without white space.
fn text_of(name: &str) -> String {
    let rest = include_str!("copied.rs").split_once(&format!("async fn {name}(url: &str) -> Copied {{")).unwrap().1;
    without_space(rest.split_once("Ok((index, loader))").unwrap().0)
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn copied_rust_compiles_and_gives_the_rows_that_the_page_shows() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, server) = drives(folder.path()).await;
        let url = format!("{}@{}", table.url(), table.version());
        let several = format!(
            "&where={}&where={}&sort=speed&descending=1",
            encoded("speed > 9.5"),
            encoded("weather <> 'it''s \"fog\"\n' AND night")
        );
        let only = format!("&only=9,3,150&where={}&sort=weather", encoded("frame < MAX(frame) - 29"));
        for (name, copied, choice, count) in [
            ("everything", everything(&url).await, String::new(), 180),
            ("filtered", filtered(&url).await, several, 22),
            // An aggregation looks at all rows, and not at those with a flag alone.
            ("flagged", flagged(&url).await, only, 2),
        ] {
            let (index, loader) = copied.unwrap();
            let answer: Value = ask(&server, &format!("/api/copies?table=0{choice}")).json();
            let expected = without_space(&answer["rust"].as_str().unwrap().replace(&format!("{url:?}"), "url"));
            assert_eq!(text_of(name), expected);
            let shown = numbers(&ask(&server, &format!("/api/rows?table=0&start=0&count=1000{choice}")));
            assert_eq!((index.rows_of(&table).unwrap(), loader.len()), (shown.clone(), shown.len() as u64), "{name}");
            assert_eq!(shown.len(), count, "{name}");
        }
    });
}
