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
//! | `heads` | histograms and frequent values of columns |
//! | `wire` | rows as Arrow IPC |
//! | `copies` | a selection as Python, Rust or a command |
//! | `assets` | the files of the page |

mod answers;
mod asked;
mod assets;
mod copies;
mod guard;
mod heads;
mod server;
mod slow;
mod source;
mod wire;

pub use server::{Limits, Options, Server};
pub use source::Source;
