//! Imports a frame as a table. A frame is a Parquet, Arrow, CSV or line-delimited JSON file. Its rows hold small values, bytes,
//! tensors, or paths of files with the values: bytes, or the arrays of `.npy` files.
//!
//! [`Frame`] reads the file in batches of bounded size. `columns` maps Arrow types to column types. [`FrameSettings`] chooses the
//! index columns, the column groups, and the columns of file paths. [`ingest`] writes the table.
//!
//! ```no_run
//! # async fn example() -> tetrys::Result<()> {
//! use tetrys::{Store, ingest::frame::{Frame, FrameSettings, ingest}};
//! // The frame has the columns path, log_id and timestamp, and one row per picture.
//! let frame = Frame::parquet("pictures.parquet")?;
//! let settings = FrameSettings::default().blob("camera.jpeg", "path").sequence_by(["log_id"]).order_by(["timestamp"]);
//! let table = ingest(&frame, Store::open("pictures")?, &settings, |_| {}).await?;
//! let row = table.row_loader().get_row(0).await?;
//! assert!(!row.bytes("camera.jpeg")?.is_empty());
//! # Ok(()) }
//! ```

mod array_types;
mod arrays;
mod blobs;
mod changes;
mod columns;
mod data;
mod infer;
mod lines;
mod nulls;
mod numbers;
mod settings;
mod source;
mod spool;
mod table;
mod text;
mod wanted;

pub use changes::{add_group, patch, replace_group};
pub use settings::{Blob, Content, FrameSettings, Missing, MissingFiles};
pub use source::{Frame, FrameFormat};
pub use table::{ingest, write_partition};
pub use text::TextSettings;
