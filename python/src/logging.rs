//! Spans and events of the library and of `object_store` as records for Python's `logging`.
//!
//! A thread of the library must not wait for the GIL to say what it does. It puts a record into a queue, and a thread of Python
//! (`python/tetrys/_logging.py`) takes the records from there. A process that was forked has no such thread: what it does is not
//! recorded until it calls [`record_spans`] itself.

use std::{
    collections::VecDeque,
    fmt::{self, Write},
    process,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use pyo3::prelude::*;
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span::{Attributes, Id, Record as Values},
};
use tracing_subscriber::{
    Registry,
    layer::{Context, Layer, SubscriberExt},
    registry::LookupSpan,
};

use crate::error::{Invalid, Unsupported};

/// Records that wait for Python at most. Further ones are counted and left out.
const WAITING: usize = 10_000;

/// The least level of Python's `logging` that is recorded.
static LEVEL: AtomicU8 = AtomicU8::new(u8::MAX);

/// The queue of the process that called [`record_spans`] last. No lock guards it: a fork may happen at any time.
static QUEUE: ArcSwapOption<Queue> = ArcSwapOption::const_empty();

/// Level, name of the logger, and message.
type Record = (u8, &'static str, String);

struct Queue {
    process: u32,
    waiting: Mutex<Waiting>,
    filled: Condvar,
}

#[derive(Default)]
struct Waiting {
    records: VecDeque<Record>,
    left_out: u64,
}

impl Queue {
    fn put(&self, record: Record) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.records.len() < WAITING {
            true => waiting.records.push_back(record),
            false => waiting.left_out += 1,
        }
        self.filled.notify_one();
    }

    fn take(&self, patience: Duration) -> Vec<Record> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = |waiting: &mut Waiting| waiting.records.is_empty();
        let (mut waiting, _) = self.filled.wait_timeout_while(waiting, patience, empty).unwrap_or_else(PoisonError::into_inner);
        let mut records: Vec<Record> = waiting.records.drain(..).collect();
        match std::mem::take(&mut waiting.left_out) {
            0 => {}
            more => records.push((30, "tetrys", format!("{more} records are left out: {WAITING} waited for Python already"))),
        }
        records
    }
}

/// Returns the queue of this process, if it has one.
fn queue() -> Option<Arc<Queue>> {
    QUEUE.load_full().filter(|queue| queue.process == process::id())
}

/// The level that Python's `logging` has for a level of `tracing`.
fn level_of(level: Level) -> u8 {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        Level::DEBUG => 10,
        Level::TRACE => 5,
    }
}

/// Returns the logger of a record. Returns `None` for other packages, and for the progress of long work, which has an event for
/// each batch of rows.
fn logger_of(target: &str) -> Option<&'static str> {
    if target == "tetrys::progress" {
        return None;
    }
    match target.split("::").next()? {
        "object_store" => Some("tetrys.object_store"),
        package if package.starts_with("tetrys") || package == "_tetrys" => Some("tetrys"),
        _ => None,
    }
}

fn put(metadata: &Metadata<'_>, message: impl FnOnce() -> String) {
    if let (Some(queue), Some(logger)) = (queue(), logger_of(metadata.target())) {
        queue.put((level_of(*metadata.level()), logger, message()));
    }
}

/// The fields of a span or an event as `name=value, ..`; a field `message` as it is.
#[derive(Default)]
struct Fields {
    message: String,
    others: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Only a value that cannot be formatted fails here.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.others, "{}{name}={value:?}", if self.others.is_empty() { "" } else { ", " }),
        };
    }
}

/// A span that is open.
struct Open {
    since: Instant,
    fields: Fields,
}

struct ToPython;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ToPython {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        level_of(*metadata.level()) >= LEVEL.load(Ordering::Relaxed) && logger_of(metadata.target()).is_some()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let least = LEVEL.load(Ordering::Relaxed);
        let levels = [Level::TRACE, Level::DEBUG, Level::INFO, Level::WARN, Level::ERROR];
        Some(levels.into_iter().find(|level| level_of(*level) >= least).map_or(LevelFilter::OFF, LevelFilter::from_level))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut open = Open { since: Instant::now(), fields: Fields::default() };
            attributes.record(&mut open.fields);
            span.extensions_mut().insert(open);
        }
    }

    fn on_record(&self, id: &Id, values: &Values<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            values.record(&mut open.fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        put(event.metadata(), || {
            let mut fields = Fields::default();
            event.record(&mut fields);
            match fields.others.is_empty() {
                true => fields.message,
                false => format!("{} ({})", fields.message, fields.others),
            }
        });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if let Some(span) = context.span(&id)
            && let Some(open) = span.extensions().get::<Open>()
        {
            let took = open.since.elapsed().as_secs_f64() * 1e3;
            put(span.metadata(), || format!("{} took {took:.1} ms ({})", span.name(), open.fields.others));
        }
    }
}

/// Records spans and events from a level of Python's `logging` on.
#[pyfunction]
pub(crate) fn record_spans(level: u8) -> PyResult<()> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    if queue().is_none() {
        let queue = Queue { process: process::id(), waiting: Mutex::default(), filled: Condvar::new() };
        QUEUE.store(Some(Arc::new(queue)));
    }
    LEVEL.store(level, Ordering::Relaxed);
    let mut installed = INSTALLED.try_lock().map_err(|_| Invalid::new_err("another thread calls this now: call it again"))?;
    match *installed {
        true => tracing::callsite::rebuild_interest_cache(),
        false => {
            let subscriber = Registry::default().with(ToPython);
            tracing::subscriber::set_global_default(subscriber)
                .map_err(|_| Unsupported::new_err("this process has another subscriber of `tracing`: read its output"))?;
            *installed = true;
        }
    }
    Ok(())
}

/// Returns the records that were made since the last call, each with level, logger and message. Without any, waits this many
/// seconds for one.
#[pyfunction]
pub(crate) fn spans(py: Python<'_>, patience: f64) -> Vec<Record> {
    let patience = Duration::from_secs_f64(patience.clamp(0.0, 60.0));
    py.detach(|| queue().map_or_else(Vec::new, |queue| queue.take(patience)))
}
