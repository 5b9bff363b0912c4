//! A log: one or several files that were recorded together, their topics, and their messages with their places.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use tetrys::{Error, ErrorKind, Result, StoreOptions};

use crate::{
    ahead::GAP,
    decoder::{Decoder, Described},
    definitions::Definitions,
    entries::{Entry, Sorter},
    folder::{self, Folder},
    input::{Cancel, Input},
    limits::{AHEAD, CACHE},
    recipe::{MAX_TIME, Time, Topic, ZeroStamp},
    recording::Recording,
    sqlite,
};

/// Where the files of a log are, before they are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSource {
    /// The name of the log, which its rows have in the column `log`.
    pub name: String,
    /// Paths or URLs of its files, in their order.
    pub files: Vec<String>,
}

/// How logs are opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Whether a cut or damaged file is an error. Otherwise it gives what can be read, and a warning.
    pub strict: bool,
    /// Options of the store of the files.
    pub store: StoreOptions,
    /// Folders of `.msg` and `.idl` files: the definitions of types that a recording lacks.
    pub msgs: Vec<String>,
}

/// An open log.
#[derive(Debug)]
pub struct Log {
    name: String,
    pub(crate) files: Vec<Recording>,
    pub(crate) topics: BTreeMap<String, TopicInfo>,
    cache: BlockCache,
    warnings: Vec<String>,
    /// Sentences about files that are left out.
    left_out: Vec<String>,
    definitions: Definitions,
    /// Chunks that were read, and had no CRC.
    unchecked: Mutex<BTreeSet<(u32, u32)>>,
}

/// A topic of a log.
#[derive(Debug)]
pub(crate) struct TopicInfo {
    /// Its channels: file and number.
    pub(crate) channels: Vec<(u32, u16)>,
    pub(crate) message_encoding: String,
    pub(crate) schema: String,
    /// The definition of the type, as the file has it.
    definition: Vec<u8>,
    /// Number of its messages.
    pub(crate) messages: u64,
    pub(crate) decoder: Decoder,
    /// The error of a topic whose channels have different types. Such a topic cannot be read.
    pub(crate) conflict: Option<String>,
}

/// A message: its three times and its bytes.
pub(crate) struct Message {
    pub(crate) log_time: i64,
    pub(crate) publish_time: i64,
    pub(crate) data: Bytes,
}

impl LogSource {
    /// Returns the log of one file or folder. Its name is that of the file, without `.mcap`, `.db3`, `.bag` or `.bag.active`, and
    /// without a `.zst` or `.zstd` behind it.
    ///
    /// # Errors
    /// - `Invalid`: there is no name in the path.
    pub fn of(url: &str) -> Result<Self> {
        let trimmed = url.trim_end_matches('/');
        let name = trimmed.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = folder::stem(name);
        if name.is_empty() || name == ".." || name == "." {
            return Err(Error::invalid(format!("{url}: expected the path of a log")));
        }
        Ok(Self { name: name.to_owned(), files: vec![trimmed.to_owned()] })
    }

    /// Returns one log of all these files or folders, with the name of the first.
    ///
    /// # Errors
    /// - `Invalid`: there are none, or there is no name in a path.
    pub fn joined(urls: &[String]) -> Result<Self> {
        let first = urls.first().ok_or_else(|| Error::invalid("expected a log"))?;
        Ok(Self { name: Self::of(first)?.name, files: urls.to_vec() })
    }

    /// Returns the files, with folders replaced by the recordings in them, and what is left out there.
    pub(crate) fn expanded(&self, strict: bool) -> Result<Folder> {
        let mut all = Folder::default();
        for url in &self.files {
            if url.contains("://") || !Path::new(url).is_dir() {
                all.files.push(url.clone());
                continue;
            }
            let folder = folder::open(url, strict)?;
            all.files.extend(folder.files);
            all.warnings.extend(folder.warnings);
        }
        Ok(all)
    }
}

impl Log {
    /// Opens a log. Must be called on a thread that may block; for files in an object store, inside a tokio runtime.
    ///
    /// # Errors
    /// - `NotFound`: a file or a folder is missing.
    /// - `Invalid`: a folder has files of several recordings; with `strict`, one that its metadata do not list.
    /// - `Corrupt`: a file is no recording; with `strict`, it is cut or damaged.
    /// - Errors of the file system or the store.
    pub fn open(source: &LogSource, options: &OpenOptions) -> Result<Self> {
        Self::open_with(source, options, &Cancel::default())
    }

    /// Opens a log, whose reads fail when the work is given up.
    pub(crate) fn open_with(source: &LogSource, options: &OpenOptions, cancel: &Cancel) -> Result<Self> {
        let Folder { files, warnings } = source.expanded(options.strict)?;
        let open = |url: &String| {
            let input = Input::open_with(url, &options.store, cancel)?;
            if input.size() == 0 {
                return Err(Error::corrupt(format!("{url}: the file is empty")));
            }
            let input = if sqlite::is_bag(url) { sqlite::converted(&input)? } else { input };
            Recording::open(input, options.strict)
        };
        let definitions = Definitions::find(&options.msgs).map_err(|error| error.at("msgs"))?;
        Self::new(&source.name, files.iter().map(open).collect::<Result<_>>()?, warnings, definitions)
    }

    /// Makes a log of open files: MCAP files, or ROS 1 bags.
    ///
    /// # Errors
    /// - `Invalid`: there are no files.
    pub fn of_files(name: &str, files: Vec<impl Into<Recording>>) -> Result<Self> {
        Self::new(name, files.into_iter().map(Into::into).collect(), Vec::new(), Definitions::default())
    }

    fn new(name: &str, files: Vec<Recording>, left_out: Vec<String>, definitions: Definitions) -> Result<Self> {
        if files.is_empty() {
            return Err(Error::not_found(format!("log {name}: expected recordings, found none")));
        }
        let mut log = Self {
            name: name.to_owned(),
            files,
            topics: BTreeMap::new(),
            cache: BlockCache::default(),
            warnings: Vec::new(),
            left_out,
            definitions,
            unchecked: Mutex::default(),
        };
        log.find_topics();
        Ok(log)
    }

    fn find_topics(&mut self) {
        let mut topics: BTreeMap<String, TopicInfo> = BTreeMap::new();
        self.warnings = self.files.iter().flat_map(Recording::warnings).cloned().collect();
        for (number, file) in (0_u32..).zip(&self.files) {
            for (id, channel) in file.channels() {
                let messages = file.statistics().by_channel.get(id).copied().unwrap_or(0);
                let schema = file.schemas().get(&channel.schema_id).filter(|_| channel.schema_id != 0);
                let (name, encoding) = schema.map_or(("", ""), |schema| (&schema.name, &schema.encoding));
                let data = schema.map_or(&[][..], |schema| &schema.data);
                // Channels without messages say nothing about the type of the messages.
                let mut channels = vec![(number, *id)];
                if let Some(topic) = topics.get_mut(&channel.topic) {
                    topic.channels.push((number, *id));
                    if topic.messages > 0 || messages == 0 {
                        let same = (topic.message_encoding.as_str(), topic.schema.as_str(), topic.definition.as_slice());
                        if same != (channel.message_encoding.as_str(), name, data) && messages > 0 {
                            let found = format!("messages of two types: {} and {name}, or two definitions of it", topic.schema);
                            topic.conflict = Some(found);
                        }
                        topic.messages += messages;
                        continue;
                    }
                    channels = std::mem::take(&mut topic.channels);
                }
                let described =
                    Described { message_encoding: &channel.message_encoding, name, schema_encoding: encoding, schema: data };
                let info = TopicInfo {
                    channels,
                    definition: data.to_vec(),
                    message_encoding: channel.message_encoding.clone(),
                    schema: name.to_owned(),
                    messages,
                    decoder: Decoder::with_definitions(described, &self.definitions),
                    conflict: None,
                };
                topics.insert(channel.topic.clone(), info);
            }
        }
        self.topics = topics;
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the files.
    pub fn files(&self) -> &[Recording] {
        &self.files
    }

    /// Returns the topics and the number of messages of each.
    pub fn topics(&self) -> Vec<(&str, u64)> {
        self.topics.iter().map(|(name, topic)| (name.as_str(), topic.messages)).collect()
    }

    /// Returns a sentence for each thing that is missing or damaged.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = [self.left_out.clone(), self.warnings.clone()].concat();
        let unchecked = self.unchecked.lock().unwrap_or_else(PoisonError::into_inner).len();
        if unchecked > 0 {
            let chunks = if unchecked == 1 { "chunk" } else { "chunks" };
            warnings.push(format!("log {}: {unchecked} {chunks} without a CRC: damage in them cannot be detected", self.name));
        }
        warnings
    }

    /// Returns the number of chunks of a file that were read and have no CRC.
    pub(crate) fn unchecked_of(&self, file: usize) -> u64 {
        let unchecked = self.unchecked.lock().unwrap_or_else(PoisonError::into_inner);
        unchecked.iter().filter(|(other, _)| *other as usize == file).count() as u64
    }

    pub(crate) fn topic(&self, name: &str) -> Result<&TopicInfo> {
        let topic = self.topics.get(name).ok_or_else(|| {
            let topics = self.topics.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            if topics.is_empty() {
                let why: String = self.warnings().iter().map(|warning| format!("; {warning}")).collect();
                return Error::not_found(format!(
                    "log {}: no topic {name}: the log has no messages that can be read{why}",
                    self.name
                ));
            }
            Error::not_found(format!("log {}: no topic {name}; there are: {topics}", self.name))
        })?;
        match &topic.conflict {
            Some(conflict) => Err(Error::invalid(format!("log {}: topic {name}: {conflict}", self.name))),
            None => Ok(topic),
        }
    }

    /// Calls `visit` with the number of the topic and the place of each of its messages. With `payload` also with their bytes;
    /// otherwise blocks are read only where the index has no messages.
    ///
    /// # Errors
    /// - `Corrupt`: a block is damaged.
    /// - Errors of `visit`, of the file system or the store.
    pub(crate) fn visit(
        &mut self,
        topics: &[&str],
        payload: &[bool],
        mut visit: impl FnMut(usize, Place, i64, Option<&Message>) -> Result<()>,
        mut restart: impl FnMut(),
    ) -> Result<()> {
        loop {
            let visited = self.visit_once(topics, payload, &mut visit);
            let is_wrong = |(file, channel): &(u32, u16), count: u64| {
                self.files[*file as usize].statistics().by_channel.get(channel).copied().unwrap_or(0) != count
            };
            // The index may miss messages, or have too many, and a chunk may be damaged. The whole file tells.
            let is_doubtful = match &visited {
                Ok(counts) => counts.iter().any(|(channel, count)| is_wrong(channel, *count)),
                Err(error) => error.kind() == ErrorKind::Corrupt,
            };
            if !is_doubtful || !self.is_indexed() {
                return visited.map(drop);
            }
            self.scan()?;
            restart();
        }
    }

    /// Whether the index of a file is used, so that [`Log::scan`] may find messages that the index does not lead to.
    pub(crate) fn is_indexed(&self) -> bool {
        self.files.iter().any(Recording::is_indexed)
    }

    /// Reads all files that have an index from front to back. Places of messages that were found before are no longer valid.
    ///
    /// # Errors
    /// - `Corrupt`: with `strict`, a file is cut or damaged.
    /// - Errors of the file system or the store.
    pub(crate) fn scan(&mut self) -> Result<()> {
        self.files.iter_mut().filter(|file| file.is_indexed()).try_for_each(Recording::scan)?;
        self.cache = BlockCache { bound: self.cache.bound, ..BlockCache::default() };
        self.unchecked = Mutex::default();
        self.find_topics();
        Ok(())
    }

    fn visit_once(
        &self,
        topics: &[&str],
        payload: &[bool],
        visit: &mut impl FnMut(usize, Place, i64, Option<&Message>) -> Result<()>,
    ) -> Result<HashMap<(u32, u16), u64>> {
        let mut wanted: HashMap<(u32, u16), Vec<usize>> = HashMap::new();
        for (number, name) in topics.iter().enumerate() {
            for channel in &self.topic(name)?.channels {
                wanted.entry(*channel).or_default().push(number);
            }
        }
        let mut counts: HashMap<(u32, u16), u64> = wanted.keys().map(|channel| (*channel, 0)).collect();
        for (file_number, file) in (0_u32..).zip(&self.files) {
            let is_wanted = |channel: u16| wanted.contains_key(&(file_number, channel));
            let needs = |channel: u16| {
                wanted.get(&(file_number, channel)).is_some_and(|topics| topics.iter().any(|topic| payload[*topic]))
            };
            // Of a block that has none of the topics nothing is read, and of others all or the index.
            let reads = |number: u32| file.may_have(number, &is_wanted).then(|| file.may_have(number, &needs));
            let mut ahead = 0;
            for number in 0..file.blocks() {
                if !file.may_have(number, &is_wanted) {
                    continue;
                }
                if number >= ahead {
                    ahead = self.read_ahead(file_number, number, &reads);
                }
                let place = |channel, offset| Place { file: file_number, block: number, offset, channel };
                if !file.may_have(number, &needs)
                    && let Some(entries) = file.index_of(number, &is_wanted)?
                {
                    for (channel, time, offset) in entries {
                        *counts.entry((file_number, channel)).or_default() += 1;
                        for topic in wanted.get(&(file_number, channel)).into_iter().flatten() {
                            visit(*topic, place(channel, offset), nanoseconds(time)?, None)?;
                        }
                    }
                    continue;
                }
                let bytes = self.block(file_number, number)?;
                file.messages(number, &bytes, |offset, head, data| {
                    let Some(topics) = wanted.get(&(file_number, head.channel)) else { return Ok(()) };
                    *counts.entry((file_number, head.channel)).or_default() += 1;
                    let message =
                        Message { log_time: nanoseconds(head.log_time)?, publish_time: nanoseconds(head.publish_time)?, data };
                    topics
                        .iter()
                        .try_for_each(|topic| visit(*topic, place(head.channel, offset), message.log_time, Some(&message)))
                })?;
            }
            file.input().read_ahead(&[]);
        }
        Ok(counts)
    }

    /// Returns the messages of topics with the times that their settings choose, to be sorted as they arrived, and the number left out. Of
    /// each topic, at most `bound` messages are in memory.
    ///
    /// # Errors
    /// - Errors of temporary files.
    /// - `Invalid`: a stamp is 0 or missing; a time is out of range. The message names log and topic.
    /// - Those of [`Log::visit`].
    pub(crate) fn entries(&mut self, topics: &[(&str, &Topic)], bound: usize) -> Result<Vec<(Sorter, u64)>> {
        let names: Vec<&str> = topics.iter().map(|(name, _)| *name).collect();
        let times: Vec<Time> = topics.iter().map(|(_, topic)| topic.time.unwrap_or(Time::Log)).collect();
        let payload: Vec<bool> = times.iter().map(|time| *time != Time::Log).collect();
        let decoders: Vec<Decoder> =
            names.iter().map(|name| self.topic(name).map(|topic| topic.decoder.clone())).collect::<Result<_>>()?;
        let log_name = self.name.clone();
        let none = || topics.iter().map(|_| (Sorter::new(Entry::by_arrival, bound), 0_u64)).collect::<Vec<_>>();
        let found = Mutex::new(none());
        let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
        let visit = |topic: usize, place: Place, log_time: i64, message: Option<&Message>| {
            let fail = |error: Error| error.at(format!("log {log_name}: topic {}: message logged at {log_time}", names[topic]));
            let settings = topics[topic].1;
            let time = match (times[topic], message) {
                (Time::Log, _) => log_time,
                (Time::Publish, Some(Message { publish_time: 0, .. })) => {
                    return Err(fail(Error::invalid("there is no publish time; use time = \"log\" or \"stamp\"")));
                }
                (Time::Publish, Some(message)) => message.publish_time,
                (Time::Stamp, Some(message)) => {
                    let stamp = decoders[topic].stamp(&message.data).map_err(fail)?.unwrap_or(0);
                    match (stamp, settings.zero_stamp) {
                        (0, None | Some(ZeroStamp::Error)) => {
                            return Err(fail(Error::invalid(
                                "the stamp is 0 or missing; set zero_stamp = \"drop\", or time = \"log\"",
                            )));
                        }
                        (0, Some(ZeroStamp::Drop)) => {
                            lock()[topic].1 += 1;
                            return Ok(());
                        }
                        (stamp, _) => stamp,
                    }
                }
                (_, None) => return Err(Error::internal("a message without its bytes")),
            };
            let offset = settings.offset.map_or(0, |offset| offset.0);
            let time = time.checked_add(offset).filter(|time| (-MAX_TIME..=MAX_TIME).contains(time));
            let time = time.ok_or_else(|| fail(Error::invalid("the time is more than 146 years from 1970")))?;
            let Place { file, block, offset, channel } = place;
            lock()[topic].0.push(Entry { part: 0, time, log_time, file, block, offset, channel })
        };
        let restart = || *lock() = none();
        self.visit(&names, &payload, visit, restart)?;
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Fetches together, if the file is in a store, what is read next of its blocks from `from` on. `reads` says of a block whether it is
    /// read, and whether all of it or its index. Returns the first block that is not among them.
    fn read_ahead(&self, number: u32, from: u32, reads: &dyn Fn(u32) -> Option<bool>) -> u32 {
        let file = &self.files[number as usize];
        if !file.input().is_remote() {
            return u32::MAX;
        }
        let (mut ranges, mut indexed, mut left, mut end) = (Vec::new(), Vec::new(), AHEAD, file.blocks());
        for block in from..file.blocks() {
            let parts = match reads(block) {
                Some(true) if !self.cache.has((number, block)) => vec![file.range(block)],
                Some(false) => file.index_parts(block),
                _ => continue,
            };
            // A gap before a range may be fetched with it.
            let more = parts.iter().fold(0_u64, |sum, (_, len)| sum.saturating_add(len.saturating_add(GAP)));
            if more > AHEAD {
                continue;
            }
            if more > left || ranges.len() >= MANY {
                end = block;
                break;
            }
            left -= more;
            if parts.len() > 1 {
                indexed.push(block);
            }
            ranges.extend(parts);
        }
        file.input().read_ahead(&ranges);
        // Where the indexes of chunks of a bag begin is known now.
        let mut indexes = Vec::new();
        for range in indexed.into_iter().filter_map(|block| file.index_range(block)) {
            let more = range.1.saturating_add(GAP);
            if more <= left && !ranges.contains(&range) {
                left -= more;
                indexes.push(range);
            }
        }
        if !indexes.is_empty() {
            ranges.extend(indexes);
            file.input().read_ahead(&ranges);
        }
        end
    }

    /// Whether files are in a store.
    pub(crate) fn is_remote(&self) -> bool {
        self.files.iter().any(|file| file.input().is_remote())
    }

    /// Returns how many bytes must be read for a block, with a gap before it, which may be fetched with it.
    pub(crate) fn left_to_read(&self, (file, block): (u32, u32)) -> u64 {
        match self.cache.has((file, block)) {
            true => 0,
            false => self.files[file as usize].range(block).1.saturating_add(GAP),
        }
    }

    /// Fetches together the blocks of files in a store that are read next.
    pub(crate) fn fetch(&self, blocks: &BTreeSet<(u32, u32)>) {
        let mut left = AHEAD;
        for (number, file) in (0_u32..).zip(&self.files) {
            let of_file = blocks.range((number, 0)..=(number, u32::MAX)).filter(|block| !self.cache.has(**block));
            let fits = |(_, len): &(u64, u64)| left.checked_sub(len.saturating_add(GAP)).inspect(|rest| left = *rest).is_some();
            let ranges: Vec<(u64, u64)> = of_file.map(|(_, block)| file.range(*block)).filter(fits).collect();
            file.input().read_ahead(&ranges);
        }
    }

    /// Bounds the bytes of the blocks that the log keeps, and drops those beyond at once.
    pub(crate) fn bound_cache(&mut self, bytes: usize) {
        self.cache.bound = bytes;
        self.cache.lock().evict(bytes);
    }

    fn block(&self, file: u32, block: u32) -> Result<Bytes> {
        if let Some(bytes) = self.cache.get((file, block)) {
            return Ok(bytes);
        }
        let of = &self.files[file as usize];
        let (bytes, checked) = of.read(block)?;
        if !checked {
            self.unchecked.lock().unwrap_or_else(PoisonError::into_inner).insert((file, block));
        }
        self.cache.put((file, block), bytes.clone());
        Ok(bytes)
    }

    /// Returns the bytes of a message.
    ///
    /// # Errors
    /// - `Corrupt`: the index leads to something else.
    /// - Errors of the file system or the store.
    pub(crate) fn message(&self, entry: &Entry) -> Result<Bytes> {
        let bytes = self.block(entry.file, entry.block)?;
        let file = &self.files[entry.file as usize];
        let (head, data) = file.message(entry.block, &bytes, entry.offset)?;
        if i64::try_from(head.log_time) != Ok(entry.log_time) || head.channel != entry.channel {
            let place = format!("{}: chunk at byte {}: message at {}", file.input().url(), file.start(entry.block), entry.offset);
            let (found, expected) = ((head.log_time, head.channel), (entry.log_time, entry.channel));
            let is = format!("log time {} of channel {}, the index says {} of {}", found.0, found.1, expected.0, expected.1);
            return Err(Error::corrupt(format!("{place}: {is}")));
        }
        // A part of a block keeps all of it in memory.
        Ok(if 2 * data.len() < bytes.len() { Bytes::copy_from_slice(&data) } else { data })
    }
}

/// Where a message is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) file: u32,
    pub(crate) block: u32,
    pub(crate) offset: u64,
    pub(crate) channel: u16,
}

fn nanoseconds(time: u64) -> Result<i64> {
    i64::try_from(time).map_err(|_| Error::unsupported(format!("a time of {time} ns: beyond the year 2262")))
}

/// Maximum ranges that are read ahead together.
const MANY: usize = 64;

/// Blocks that were read last.
#[derive(Debug)]
struct BlockCache {
    /// Maximum bytes, but for those of the last block.
    bound: usize,
    blocks: Mutex<Blocks>,
}

#[derive(Debug, Default)]
struct Blocks {
    by_place: HashMap<(u32, u32), Bytes>,
    /// The block that was used last is at the end.
    order: VecDeque<(u32, u32)>,
    bytes: usize,
}

impl Default for BlockCache {
    fn default() -> Self {
        Self { bound: CACHE, blocks: Mutex::default() }
    }
}

impl BlockCache {
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has(&self, key: (u32, u32)) -> bool {
        self.lock().by_place.contains_key(&key)
    }

    fn get(&self, key: (u32, u32)) -> Option<Bytes> {
        let mut blocks = self.lock();
        let found = blocks.by_place.get(&key).cloned()?;
        if blocks.order.back() != Some(&key) {
            blocks.order.retain(|other| *other != key);
            blocks.order.push_back(key);
        }
        Some(found)
    }

    fn put(&self, key: (u32, u32), bytes: Bytes) {
        let mut blocks = self.lock();
        blocks.bytes += bytes.len();
        match blocks.by_place.insert(key, bytes) {
            Some(old) => blocks.bytes -= old.len(),
            None => blocks.order.push_back(key),
        }
        blocks.evict(self.bound);
    }
}

impl Blocks {
    /// Drops the blocks that were used longest ago beyond a bound of bytes, but for the last one.
    fn evict(&mut self, bound: usize) {
        while self.bytes > bound && self.order.len() > 1 {
            if let Some(old) = self.order.pop_front().and_then(|oldest| self.by_place.remove(&oldest)) {
                self.bytes -= old.len();
            }
        }
    }
}
