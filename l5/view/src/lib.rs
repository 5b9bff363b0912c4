//! Level 5 frames from above, in the viewer of Tetrys tables: the ego car, agents with their past and future, traffic lights, and the map.
//!
//! [`with_scene`] adds the picture to a source whose table an ingest of Level 5 data made. It reads a row, and the rows around it, through
//! the loader of the source. So it shows what the viewer shows: rows of a table, of a view or of a selection, and windows that follow the
//! recording also where a view left rows out.
//!
//! ```no_run
//! # async fn example() -> tetrys::Result<()> {
//! use tetrys::Table;
//! use tetrys_l5_view::{SceneMap, with_scene};
//! use tetrys_view::{Options, Server, Source};
//! let map = SceneMap::read("semantic_map.pb", None)?;
//! let source = with_scene(Source::of_table(Table::open("sample").await?), Some(&map))?;
//! let server = Server::start(vec![source], Options::default()).await?;
//! # Ok(()) }
//! ```
//!
//! | module | content |
//! |---|---|
//! | `scene` | reads the parts of a row, each for itself, so that one that is damaged does not hide the others |
//! | `picture` | what a row looks like, as JSON: pure functions of what was read |
//! | `labels` | the names of labels, and the kinds that they make |
//! | `ground` | the map: its files, the ends of lanes for lights, and the lanes around a place |

mod ground;
mod labels;
mod picture;
mod scene;

use std::sync::Arc;

use tetrys::Result;
use tetrys_l5::reading::missing_column;
use tetrys_view::Source;

pub use ground::SceneMap;

/// Adds the picture of each row from above to a source that has the columns of Level 5 frames. Another source stays as it is. Without a
/// map, that of the attachments `semantic_map.pb` and `meta.json` of the table is used; of a merge, that of the first table that has them.
///
/// # Errors
/// - `Invalid`: an index column has different types in the tables of an index.
pub fn with_scene(source: Source, map: Option<&SceneMap>) -> Result<Source> {
    if missing_column(source.loader().column_names()).is_some() {
        return Ok(source);
    }
    let scene = scene::FrameScene::new(source.tables().into_iter().cloned().collect(), source.loader(), map.cloned())?;
    Ok(source.with_scene(Arc::new(scene)))
}
