//! The viewer of Tetrys tables: a local, read-only server and the page that it serves.
//!
//! [`Server::start`] takes tables or selections of rows ([`Source`]) and listens on the loopback interface. [`Server::url`] is the address
//! of the page; it holds a token, without which no data is answered. Nothing is ever written.
//!
//! ```no_run
//! # async fn example() -> tetrys::Result<()> {
//! use tetrys::Table;
//! use tetrys_view::{Options, Server, Source};
//! let drives = Table::open("/data/drives").await?;
//! let server = Server::start(vec![Source::of_table(drives)], Options::default()).await?;
//! println!("{}", server.url());
//! server.wait().await;
//! # Ok(()) }
//! ```
//!
//! | module | content |
//! |---|---|
//! | `server` | the listener, and what bounds connections and slow readers |
//! | `guard` | who may ask: hosts, the token, the origin |
//! | `answers` | the requests of the page and their answers |
//! | `asked` | the parameters of a request |
//! | `source` | a table or an index, its rows and selections of them |
//! | `choose`, `order` | the rows of a selection, part by part, and their order |
//! | `work` | work that computes, and the flag that stops it |
//! | `heads` | histograms and frequent values of columns |
//! | `about` | what a table is, who uses it, and its versions |
//! | `storage` | where its rows are stored, and what a read takes |
//! | `wire` | rows as Arrow IPC |
//! | `scene` | rows from above, where another crate knows how they look |
//! | `copies` | a selection as Python, Rust or a command |
//! | `assets` | the files of the page |

mod about;
mod answers;
mod asked;
mod assets;
mod choose;
mod copies;
mod guard;
mod heads;
mod order;
mod scene;
mod server;
mod slow;
mod source;
mod storage;
mod wire;
mod work;

pub use scene::{Ground, Scene, SceneAnswer, SceneRow};
pub use server::{Limits, Options, Server};
pub use source::Source;
