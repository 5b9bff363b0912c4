//! The requests of the page and their answers. Rows are Arrow IPC as `application/octet-stream`, everything else is JSON. Each answer is
//! bounded in rows and bytes. Dropping an answer ends the work on it: at once where it waits, at the next part where it computes. What computes
//! then keeps its turn until its part ends, so that requests that come and go do not pile up work.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use arrow_array::RecordBatch;
use bytes::Bytes;
use hyper::{
    StatusCode,
    body::{Body, Frame},
};
use serde_json::{Map, Value, json};
use tetrys::{Error, ErrorKind, Result, RowLoader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::{
    about,
    asked::{Asked, Choice},
    copies::copies,
    heads::Head,
    scene::{Ground, Scene, SceneRow},
    source::{Selected, Source},
    storage,
    wire::{self, MOST_BYTES, decoded_size},
    work::{Stop, Turn, on_blocking_thread},
};

/// Most rows of an answer.
const MOST_ROWS: u64 = 1_000;
/// Most rows of a window to each side.
const MOST_AROUND: u64 = 100;
/// Rows of an answer for the grid that are read at once: their texts may be long.
const PART_OF_GRID: usize = 32;
/// Rows of the first part of summaries, so that something is there soon, and of the others.
const FIRST_PART: u64 = 32 << 10;
const PART: u64 = 256 << 10;
/// How often summaries are sent.
const INTERVAL: Duration = Duration::from_millis(120);
/// Reads that run at the same time.
const READS: usize = 4;
/// Bytes of answers that are in memory, from before they are read until their readers have taken them.
const MAX_ANSWER_BYTES: u64 = 4 * MOST_BYTES;
/// Bytes of a permit for answers in memory.
const UNIT: u64 = 1 << 10;
/// Bytes of an answer that are handed to the connection at once. Those behind them are held until the reader has taken these.
const FRAME: usize = 64 << 10;

const CHOICE: [&str; 4] = ["where", "sort", "descending", "only"];

/// The sources, and what bounds work on them.
#[derive(Debug)]
pub(crate) struct Answers {
    sources: Vec<Arc<Source>>,
    /// Selections and summaries run one at a time.
    queries: Arc<Semaphore>,
    reads: Arc<Semaphore>,
    answer_bytes: Arc<Semaphore>,
}

/// An answer to a request for data.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) media_type: &'static str,
    pub(crate) body: Content,
}

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Content {
    /// Bytes, which count as held until they are taken.
    Whole(Bytes, #[expect(dead_code, reason = "dropping it frees the room")] Option<OwnedSemaphorePermit>),
    /// Parts that are made while they are sent.
    Parts(mpsc::Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes, _) => Poll::Ready(match bytes.len() {
                0 => None,
                len => Some(Ok(Frame::data(bytes.split_to(len.min(FRAME))))),
            }),
            Self::Parts(parts) => parts.poll_recv(context).map(|part| part.map(|part| Ok(Frame::data(part)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes, _) if bytes.is_empty())
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(bytes, _) => hyper::body::SizeHint::with_exact(bytes.len() as u64),
            Self::Parts(_) => hyper::body::SizeHint::default(),
        }
    }
}

impl Content {
    pub(crate) fn of(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(bytes.into(), None)
    }
}

impl Answer {
    pub(crate) fn json(status: StatusCode, value: &Value) -> Self {
        Self { status, media_type: "application/json", body: Content::of(value.to_string()) }
    }

    pub(crate) fn error(status: StatusCode, kind: &str, message: &str) -> Self {
        Self::json(status, &json!({"error": {"kind": kind, "message": message}}))
    }

    fn failed(error: &Error) -> Self {
        let status = match error.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::Unsupported => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut message = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(because) = cause {
            let error_text = because.to_string();
            if !message.contains(&error_text) {
                message = format!("{message}: {error_text}");
            }
            cause = because.source();
        }
        Self::error(status, &format!("{:?}", error.kind()), &message)
    }
}

impl Answers {
    pub(crate) fn new(sources: Vec<Source>) -> Self {
        Self {
            sources: sources.into_iter().map(Arc::new).collect(),
            queries: Arc::new(Semaphore::new(1)),
            reads: Arc::new(Semaphore::new(READS)),
            answer_bytes: Arc::new(Semaphore::new((MAX_ANSWER_BYTES / UNIT) as usize)),
        }
    }

    /// Answers a request for data.
    pub(crate) async fn answer(&self, path: &str, query: &str) -> Answer {
        let answer = match path {
            "/api/tables" => self.tables(query).await,
            "/api/select" => self.select(query).await,
            "/api/heads" => self.heads(query).await,
            "/api/rows" => self.rows(query).await,
            "/api/row" => self.row(query).await,
            "/api/series" => self.series(query).await,
            "/api/sequence" => self.sequence(query).await,
            "/api/copies" => self.copies(query).await,
            "/api/about" => self.about(query).await,
            "/api/users" => self.users(query).await,
            "/api/versions" => self.versions(query).await,
            "/api/layout" => self.layout(query).await,
            "/api/scene" => self.scene(query).await,
            "/api/ground" => self.ground(query).await,
            _ => return Answer::error(StatusCode::NOT_FOUND, "NotFound", "no such request"),
        };
        answer.unwrap_or_else(|error| Answer::failed(&error))
    }

    /// Waits until the largest answer has room in memory.
    async fn room(&self) -> Result<OwnedSemaphorePermit> {
        acquired(Arc::clone(&self.answer_bytes).acquire_many_owned((MOST_BYTES / UNIT) as u32).await)
    }

    /// Waits until this request may read.
    async fn read_turn(&self) -> Result<Turn> {
        acquired(Arc::clone(&self.reads).acquire_owned().await).map(Arc::new)
    }

    fn source(&self, asked: &Asked) -> Result<&Arc<Source>> {
        let last = self.sources.len().checked_sub(1).ok_or_else(|| Error::not_found("no table is shown"))?;
        let number = asked.number::<usize>("table", last)?;
        self.sources.get(number).ok_or_else(|| Error::not_found(format!("no table {number}")))
    }

    async fn tables(&self, query: &str) -> Result<Answer> {
        Asked::parse(query, &[])?;
        let mut parts = Vec::new();
        for source in &self.sources {
            parts.push(source.described().await?);
        }
        Ok(Answer::json(StatusCode::OK, &json!({"tables": parts, "format": env!("CARGO_PKG_VERSION")})))
    }

    /// Returns the rows of a choice: those that are kept, or new ones when it is their turn.
    async fn selected(&self, source: &Source, choice: &Choice) -> Result<Arc<Selected>> {
        if choice.is_everything() {
            return Ok(source.everything());
        }
        if let Some(found) = source.kept(choice) {
            return Ok(found);
        }
        let turn = acquired(Arc::clone(&self.queries).acquire_owned().await).map(Arc::new)?;
        source.select(choice, &turn).await
    }

    async fn select(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &known(&["table"]))?;
        let (source, choice, start) = (self.source(&asked)?, asked.choice()?, Instant::now());
        let selected = self.selected(source, &choice).await?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        Ok(Answer::json(StatusCode::OK, &json!({"rows": selected.count, "of": source.rows(), "ms": ms})))
    }

    async fn rows(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &known(&["table", "start", "count", "rows"]))?;
        let source = self.source(&asked)?;
        let rows: Vec<u64> = match asked.rows("rows")? {
            Some(rows) => rows,
            None => {
                let (start, count) = (asked.number::<u64>("start", u64::MAX)?, asked.number::<u64>("count", MOST_ROWS)?);
                let selected = self.selected(source, &asked.choice()?).await?;
                let range = start.min(selected.count)..start.saturating_add(count).min(selected.count);
                match &selected.rows {
                    None => range.collect(),
                    Some(rows) => rows[range.start as usize..range.end as usize].to_vec(),
                }
            }
        };
        if rows.len() as u64 > MOST_ROWS {
            return Err(Error::invalid(format!("rows: expected at most {MOST_ROWS}, found {}", rows.len())));
        }
        let (room, turn) = (self.room().await?, self.read_turn().await?);
        let mut parts = Vec::new();
        for part in rows.chunks(PART_OF_GRID) {
            // What is cut off is not held.
            let batch = source.take(part, Some(&turn)).await?;
            parts.push(on_blocking_thread(Some(&turn), move |_| wire::cut(&batch)).await?);
        }
        if parts.is_empty() {
            parts.push(source.take(&[], Some(&turn)).await?);
        }
        sent(on_blocking_thread(Some(&turn), move |_| wire::index_rows(&parts, &rows)).await?, room)
    }

    async fn row(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &["table", "row", "columns", "before", "after"])?;
        let source = self.source(&asked)?;
        let row = row_of(&asked, source)?;
        let (before, after) = (around(&asked, "before")?, around(&asked, "after")?);
        let loader = loader_of(source, &asked.all("columns"))?;
        let window = -before.cast_signed()..=after.cast_signed();
        let what = format!("row {row} and the rows around it");
        let cost = loader.explain(row, window.clone()).await?;
        if cost.bytes > MOST_BYTES {
            return Err(wire::too_large(&what, cost.bytes));
        }
        let (room, turn) = (self.room().await?, self.read_turn().await?);
        let is_window = before + after > 0;
        let bytes = row_bytes(source, &loader, row, is_window).await?.saturating_mul(before + after + 1);
        if bytes > MOST_BYTES {
            return Err(wire::too_large(&what, bytes));
        }
        let start = Instant::now();
        let rows = match is_window {
            true => loader.get_rows(row, window).await?,
            false => loader.take(&[row]).await?,
        };
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let read = json!({"requests": cost.requests, "bytes": cost.bytes, "ms": ms});
        sent(on_blocking_thread(Some(&turn), move |_| wire::rows(&rows, row, is_window, read)).await?, room)
    }

    /// Answers with a row from above, and the places of what is in it in the rows around it.
    async fn scene(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &["table", "row", "before", "after"])?;
        let source = self.source(&asked)?;
        let (scene, row) = (scene_of(source)?, row_of(&asked, source)?);
        let (before, after) = (around(&asked, "before")?, around(&asked, "after")?);
        let (room, turn) = (self.room().await?, self.read_turn().await?);
        let start = Instant::now();
        let index = source.take(&[row], Some(&turn)).await?;
        let mut answer = scene.row(SceneRow { before, after, ..SceneRow::new(row, &index) }).await?;
        if let Some(read) = answer.get_mut("read").and_then(Value::as_object_mut) {
            read.insert("ms".to_owned(), json!(start.elapsed().as_secs_f64() * 1e3));
        }
        sent_json(answer, &turn, room).await
    }

    /// Answers with the ground around a place.
    async fn ground(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &["table", "x", "y", "radius"])?;
        let source = self.source(&asked)?;
        let (scene, around) = (scene_of(source)?, Ground::of(&asked)?);
        let (room, turn) = (self.room().await?, self.read_turn().await?);
        let answer = scene.ground(around).await?;
        sent_json(answer, &turn, room).await
    }

    async fn about(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &["table"])?;
        let source = self.source(&asked)?;
        Ok(Answer::json(StatusCode::OK, &about::about(source.table(), source.table().url()).await))
    }

    async fn users(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &["table"])?;
        let (source, _turn) = (self.source(&asked)?, self.read_turn().await?);
        Ok(Answer::json(StatusCode::OK, &about::users(source.table()).await?))
    }

    async fn versions(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &["table"])?;
        let (source, _turn) = (self.source(&asked)?, self.read_turn().await?);
        Ok(Answer::json(StatusCode::OK, &about::versions(source.table()).await?))
    }

    /// Answers with the layout of rows, and with the plan of a read, which lights up: of a row, and of some columns in a window around it.
    async fn layout(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &["table", "holder", "start", "end", "cells", "row", "before", "after", "window"])?;
        let (source, _turn) = (self.source(&asked)?, self.read_turn().await?);
        let holders = source.holders().await?;
        let number = match asked.one("holder")? {
            None => 0,
            Some(_) => asked.number::<usize>("holder", holders.len().saturating_sub(1))?,
        };
        let holder = holders.get(number).ok_or_else(|| Error::not_found("no table holds these rows"))?;
        let end = match asked.one("end")? {
            None => holder.rows(),
            Some(_) => asked.number::<u64>("end", holder.rows())?,
        };
        let start = match asked.one("start")? {
            None => 0,
            Some(_) => asked.number::<u64>("start", end)?,
        };
        let cells = asked.number::<u64>("cells", MOST_ROWS)?;
        let read = match asked.one("row")? {
            None => None,
            Some(_) => {
                let (row, before, after) = (row_of(&asked, source)?, around(&asked, "before")?, around(&asked, "after")?);
                // Without a cache: what a first read takes.
                let plain = |loader: RowLoader| loader.cache_bytes(0).explain_places();
                let alone = plain(source.loader().clone()).explain_take(&[row]).await?;
                let window = asked.all("window");
                Some(match window.as_slice() {
                    [] => alone,
                    names => {
                        let loader = plain(loader_of(source, names)?);
                        alone.and(loader.explain(row, -before.cast_signed()..=after.cast_signed()).await?)
                    }
                })
            }
        };
        let answer = json!({
            "holders": holders.iter().map(|table| json!({"url": table.url(), "version": table.version()})).collect::<Vec<_>>(),
            "holder": number,
            "layout": storage::layout(holder, start..end, cells, read.as_ref()).await?,
            "read": read.as_ref().map(storage::read),
        });
        Ok(Answer::json(StatusCode::OK, &answer))
    }

    /// Answers with the values of columns at rows that are spread over a range: as many as asked for, or as may be read.
    async fn series(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &["table", "columns", "index", "start", "end", "points"])?;
        let source = self.source(&asked)?;
        let (end, points) = (asked.number::<u64>("end", source.rows())?, asked.number::<u64>("points", MOST_ROWS)?);
        let start = asked.number::<u64>("start", end)?;
        let (names, index) = (asked.all("columns"), asked.all("index"));
        let (room, turn) = (self.room().await?, self.read_turn().await?);
        let mut points = points.max(1);
        let loader = if names.is_empty() { None } else { Some(loader_of(source, &names)?) };
        if let (Some(loader), true) = (&loader, start < end) {
            let one = row_bytes(source, loader, start, points > 1).await?;
            // Half, since nulls and row numbers take bytes too.
            points = points.min(MOST_BYTES / 2 / one.max(1)).max(1);
            while points > 1 && loader.explain_take(&spread(start, end, points)).await?.bytes > MOST_BYTES {
                points /= 2;
            }
        }
        let rows = spread(start, end, points);
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        if !index.is_empty() {
            let batch: RecordBatch = source.take(&rows, Some(&turn)).await?;
            for name in &index {
                let place =
                    batch.schema_ref().index_of(name).map_err(|_| Error::not_found(format!("no index column `{name}`")))?;
                fields.push(batch.schema_ref().field(place).clone());
                columns.push(Arc::clone(batch.column(place)));
            }
        }
        if let Some(loader) = loader {
            let found = loader.take(&rows).await?;
            fields.extend(found.batch().schema_ref().fields().iter().map(|field| field.as_ref().clone()));
            columns.extend(found.batch().columns().iter().cloned());
        }
        let work = move |_: &Stop| wire::written(fields, columns, rows.len(), [(wire::ROWS, json!(rows))]);
        sent(on_blocking_thread(Some(&turn), work).await?, room)
    }

    async fn sequence(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &["table", "row"])?;
        let source = self.source(&asked)?;
        let rows = source.sequence(row_of(&asked, source)?).await?;
        Ok(Answer::json(StatusCode::OK, &json!({"start": rows.start, "end": rows.end})))
    }

    async fn copies(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &known(&["table"]))?;
        let (source, choice) = (self.source(&asked)?, asked.choice()?);
        let answer = match source.url() {
            Some(url) => copies(&url, &choice, source.take(&[], None).await?.schema_ref()),
            None => Value::Null,
        };
        Ok(Answer::json(StatusCode::OK, &answer))
    }

    /// Answers with summaries of all index columns: a line of JSON whenever more rows are counted.
    async fn heads(&self, query: &str) -> Result<Answer> {
        let asked = Asked::parse(query, &known(&["table"]))?;
        let (source, choice) = (Arc::clone(self.source(&asked)?), asked.choice()?);
        let selected = self.selected(&source, &choice).await?;
        let (send, parts) = mpsc::channel(2);
        let queries = Arc::clone(&self.queries);
        tokio::spawn(async move {
            let summarise = summarise(&source, &selected, &queries, &send);
            tokio::select! {
                () = send.closed() => {}
                done = summarise => if let Err(error) = done {
                    let answer = json!({"error": {"kind": format!("{:?}", error.kind()), "message": error.to_string()}});
                    let _ = send.send(line(&answer)).await;
                }
            }
        });
        Ok(Answer { status: StatusCode::OK, media_type: "application/x-ndjson", body: Content::Parts(parts) })
    }
}

/// Counts all rows of a selection, part by part.
async fn summarise(source: &Source, selected: &Selected, queries: &Arc<Semaphore>, send: &mpsc::Sender<Bytes>) -> Result<()> {
    let schema = source.take(&[], None).await?.schema();
    let mut heads: Vec<Head> = schema.fields().iter().map(|field| Head::of(field.data_type())).collect();
    // In their order in the table, the rows of a part stand side by side. All rows need no list.
    let ascending: Option<Vec<u64>> = selected.rows.as_ref().filter(|_| selected.count < source.rows()).map(|rows| {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows
    });
    let (mut done, mut sent_at) = (0, None::<Instant>);
    while done < selected.count || sent_at.is_none() {
        let end = (done + if done == 0 { FIRST_PART } else { PART }).min(selected.count);
        {
            let turn = acquired(Arc::clone(queries).acquire_owned().await).map(Arc::new)?;
            let batches = match &ascending {
                None if done == end => Vec::new(),
                None => source.slice(done..end, &turn).await?,
                Some(rows) => vec![source.take(&rows[done as usize..end as usize], Some(&turn)).await?],
            };
            heads = on_blocking_thread(Some(&turn), move |_| Ok(counted(heads, &batches))).await?;
        }
        done = end;
        if done == selected.count || sent_at.is_none_or(|sent_at| sent_at.elapsed() >= INTERVAL) {
            sent_at = Some(Instant::now());
            let columns: Map<String, Value> =
                schema.fields().iter().zip(&heads).map(|(field, head)| (field.name().clone(), head.json())).collect();
            if send.send(line(&json!({"done": done, "of": selected.count, "columns": columns}))).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Adds batches to the summaries of their columns, on as many threads as a read takes.
fn counted(mut heads: Vec<Head>, batches: &[RecordBatch]) -> Vec<Head> {
    let threads = tetrys::extension::threads().min(heads.len().max(1));
    let mut shares: Vec<Vec<(usize, &mut Head)>> = (0..threads).map(|_| Vec::new()).collect();
    for (place, head) in heads.iter_mut().enumerate() {
        shares[place % threads].push((place, head));
    }
    std::thread::scope(|scope| {
        for share in shares {
            scope.spawn(move || {
                for (place, head) in share {
                    batches.iter().for_each(|batch| head.add(batch.column(place)));
                }
            });
        }
    });
    heads
}

fn line(value: &Value) -> Bytes {
    format!("{value}\n").into()
}

fn known<'a>(more: &[&'a str]) -> Vec<&'a str> {
    more.iter().copied().chain(CHOICE).collect()
}

fn row_of(asked: &Asked, source: &Source) -> Result<u64> {
    match source.rows().checked_sub(1) {
        Some(last) => asked.number::<u64>("row", last),
        None => Err(Error::invalid("the table has no rows")),
    }
}

fn scene_of(source: &Source) -> Result<&dyn Scene> {
    source
        .scene()
        .ok_or_else(|| Error::not_found("this table has no picture from above: it is not of a kind that the viewer knows"))
}

/// Returns the number of rows of a window to one side.
fn around(asked: &Asked, name: &str) -> Result<u64> {
    match asked.one(name)? {
        None => Ok(0),
        Some(_) => asked.number(name, MOST_AROUND),
    }
}

/// Returns at most `points` rows of a range: its first, its last, and others at equal distances.
fn spread(start: u64, end: u64, points: u64) -> Vec<u64> {
    let rows = end.saturating_sub(start);
    if rows <= points {
        return (start..end).collect();
    }
    if points < 2 {
        return vec![start];
    }
    let place = |point: u64| start + (u128::from(point) * u128::from(rows - 1) / u128::from(points - 1)) as u64;
    (0..points).map(place).collect()
}

/// Returns the loader of these columns, by their whole names.
fn loader_of(source: &Source, names: &[String]) -> Result<RowLoader> {
    let loader = source.loader().clone();
    match names.iter().find(|name| loader.column_names().all(|other| other != *name)) {
        Some(name) => Err(Error::not_found(format!("no column `{name}`"))),
        None => loader.columns(names),
    }
}

/// Returns the bytes of a row in memory, whatever it takes in the store: by the types of its columns, or where these do not say it and it is
/// one of several rows, by reading the row.
async fn row_bytes(source: &Source, loader: &RowLoader, row: u64, is_one_of_several: bool) -> Result<u64> {
    let types = loader.column_names().map(|name| source.column_type(name).and_then(|ty| decoded_size(&ty)));
    let sizes: Vec<Option<u64>> = types.collect();
    let known = sizes.iter().flatten().fold(0, |sum: u64, size| sum.saturating_add(*size));
    if known > MOST_BYTES || !is_one_of_several || sizes.iter().all(Option::is_some) {
        return Ok(known);
    }
    Ok(wire::size(loader.take(&[row]).await?.batch().columns()))
}

fn acquired<T>(permit: std::result::Result<T, tokio::sync::AcquireError>) -> Result<T> {
    permit.map_err(|error| Error::internal(format!("a turn of the viewer: {error}")))
}

/// Sends bytes, which keep of their room in memory what they take.
fn sent(bytes: Vec<u8>, mut room: OwnedSemaphorePermit) -> Result<Answer> {
    let taken = (bytes.len() as u64).div_ceil(UNIT) as usize;
    drop(room.split(room.num_permits().saturating_sub(taken)));
    let body = Content::Whole(bytes.into(), Some(room));
    Ok(Answer { status: StatusCode::OK, media_type: "application/octet-stream", body })
}

/// Sends JSON, which keeps of its room in memory what it takes.
///
/// # Errors
/// - `Invalid`: it is larger than an answer may be.
async fn sent_json(json: Value, turn: &Turn, room: OwnedSemaphorePermit) -> Result<Answer> {
    let bytes = on_blocking_thread(Some(turn), move |_| Ok(json.to_string().into_bytes())).await?;
    match bytes.len() as u64 {
        len if len > MOST_BYTES => Err(wire::too_large("the picture of this row", len)),
        _ => Ok(Answer { media_type: "application/json", ..sent(bytes, room)? }),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    #[test]
    fn an_answer_keeps_its_room_until_its_last_bytes_are_taken() {
        let semaphore = Arc::new(Semaphore::new(1_000));
        let room = Arc::clone(&semaphore).try_acquire_many_owned(900).unwrap();
        let bytes: Vec<u8> = (0..150_000_u32).map(|place| place as u8).collect();
        let mut body = sent(bytes.clone(), room).unwrap().body;
        assert_eq!(semaphore.available_permits(), 1_000 - 147, "what it does not take is free");
        let (mut context, mut found) = (Context::from_waker(std::task::Waker::noop()), Vec::new());
        while !body.is_end_stream() {
            let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) else { panic!("no frame") };
            let part = frame.into_data().unwrap();
            assert!(!part.is_empty() && part.len() <= FRAME, "{} bytes at once", part.len());
            assert_eq!(semaphore.available_permits(), 1_000 - 147);
            found.extend_from_slice(&part);
        }
        assert_eq!(found, bytes);
        drop(body);
        assert_eq!(semaphore.available_permits(), 1_000);
    }

    #[test]
    fn rows_are_spread_over_a_range() {
        assert_eq!(spread(5, 5, 10), [0; 0]);
        assert_eq!(spread(5, 8, 10), [5, 6, 7]);
        assert_eq!(spread(0, 101, 3), [0, 50, 100]);
        assert_eq!(spread(7, 100, 1), [7]);
        assert_eq!(spread(0, u64::MAX, 2), [0, u64::MAX - 1]);
        for rows in [999, 1000, 1001, 12_345] {
            let found = spread(10, 10 + rows, 1000);
            assert!(found.windows(2).all(|pair| pair[0] < pair[1]) && found[0] == 10 && found.last() == Some(&(9 + rows)));
        }
    }
}
