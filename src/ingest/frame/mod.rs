//! Any frame becomes a table: a Parquet or Arrow file, CSV or lines of JSON, whose rows hold small values, bytes, tensors, or the
//! paths of the files that do.
//!
//! [`Frame`] reads the file in batches of bounded size; `columns` says what its Arrow types are here; [`FrameSettings`] says
//! which columns are the index, which stand in groups and whose files are read; [`ingest`] writes the table.
//!
//! ```no_run
//! # async fn example() -> tetrys::Result<()> {
//! use tetrys::{Store, ingest::frame::{Frame, FrameSettings, ingest}};
//! // path, log_id, timestamp: a row a picture.
//! let frame = Frame::parquet("pictures.parquet")?;
//! let settings = FrameSettings::default().blob("camera.jpeg", "path").sequence_by(["log_id"]).order_by(["timestamp"]);
//! let table = ingest(&frame, Store::open("pictures")?, &settings, |_| {}).await?;
//! let row = table.row_loader().get_row(0).await?;
//! assert!(!row.bytes("camera.jpeg")?.is_empty());
//! # Ok(()) }
//! ```

mod blobs;
mod changes;
mod columns;
mod infer;
mod settings;
mod source;
mod spool;
mod table;

pub use changes::{add_group, patch, replace_group};
pub use settings::{Blob, FrameSettings, Missing, MissingFiles};
pub use source::{Frame, FrameFormat, TextSettings};
pub use table::{ingest, write_partition};
