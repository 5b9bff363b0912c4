//! Pco: one standalone file per page, with numbers of one type. Each component has pieces of its own. Follows
//! `format-spec/codecs.md#pco`.
//!
//! The length of the values alone determines the pieces. The decoder compares the claims of a file with them and never trusts
//! the claims. It refuses modes and windows that no writer uses before pco allocates memory for them.

use ::pco::{
    ChunkConfig,
    data_types::{Number as Pco, NumberType as PcoType},
    metadata::DeltaEncoding,
    standalone, wrapped,
};
use bytes::Bytes;
use half::f16;

use crate::error::{Error, Result, counted};

/// The number types of pco, with the codes of pco.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the types")]
pub enum NumberType {
    U32 = 1,
    U64,
    I32,
    I64,
    F32,
    F64,
    U16,
    I16,
    F16,
    U8,
    I8,
}

use NumberType::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

impl NumberType {
    const ALL: [Self; 11] = [U32, U64, I32, I64, F32, F64, U16, I16, F16, U8, I8];

    /// Returns the type with this code.
    pub(super) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|number| *number as u8 == code)
    }

    /// Returns the bytes of one number.
    pub fn width(self) -> usize {
        match self {
            U8 | I8 => 1,
            U16 | I16 | F16 => 2,
            U32 | I32 | F32 => 4,
            U64 | I64 | F64 => 8,
        }
    }

    /// Returns the name in the text form of chains, such as `f32`.
    pub fn name(self) -> &'static str {
        match self {
            U8 => "u8",
            I8 => "i8",
            U16 => "u16",
            I16 => "i16",
            F16 => "f16",
            U32 => "u32",
            I32 => "i32",
            F32 => "f32",
            U64 => "u64",
            I64 => "i64",
            F64 => "f64",
        }
    }
}

/// Maximum compression level.
pub(super) const MAX_LEVEL: u8 = 12;
/// Maximum number of numbers in a piece.
const PIECE: usize = 1 << 18;
/// Maximum initial capacity for decoded numbers, in bytes.
const ROOM: usize = 16 << 20;
/// Bytes of the header of a piece: type and count.
const PIECE_HEADER: usize = 4;
/// Start of a standalone file: the magic and the file version whose header has a type and a length hint.
const MAGIC: [u8; 5] = *b"pco!\x03";
/// Code of the mode with a dictionary, in the low four bits of a chunk. Pco would trust the size of a stored dictionary.
const DICT: u8 = 4;
/// Base-2 logarithm of the maximum lookback window, in numbers.
const MAX_WINDOW_LOG: u32 = 16;

/// Compresses the numbers, in `components` runs, at the given level.
pub(super) fn encode(values: &[u8], number: NumberType, level: u8, components: usize) -> Result<Vec<u8>> {
    match number {
        U8 => encode_numbers::<u8>(values, level, components),
        I8 => encode_numbers::<i8>(values, level, components),
        U16 => encode_numbers::<u16>(values, level, components),
        I16 => encode_numbers::<i16>(values, level, components),
        F16 => encode_numbers::<f16>(values, level, components),
        U32 => encode_numbers::<u32>(values, level, components),
        I32 => encode_numbers::<i32>(values, level, components),
        F32 => encode_numbers::<f32>(values, level, components),
        U64 => encode_numbers::<u64>(values, level, components),
        I64 => encode_numbers::<i64>(values, level, components),
        F64 => encode_numbers::<f64>(values, level, components),
    }
}

/// Decodes to exactly `len` bytes.
pub(super) fn decode(stored: &[u8], number: NumberType, components: usize, len: usize) -> Result<Bytes> {
    match number {
        U8 => decode_numbers::<u8>(stored, components, len),
        I8 => decode_numbers::<i8>(stored, components, len),
        U16 => decode_numbers::<u16>(stored, components, len),
        I16 => decode_numbers::<i16>(stored, components, len),
        F16 => decode_numbers::<f16>(stored, components, len),
        U32 => decode_numbers::<u32>(stored, components, len),
        I32 => decode_numbers::<i32>(stored, components, len),
        F32 => decode_numbers::<f32>(stored, components, len),
        U64 => decode_numbers::<u64>(stored, components, len),
        I64 => decode_numbers::<i64>(stored, components, len),
        F64 => decode_numbers::<f64>(stored, components, len),
    }
}

/// Returns the length of each piece of `count` numbers in `components` runs.
fn pieces(count: usize, components: usize) -> impl Iterator<Item = usize> {
    let runs = std::iter::repeat_n(count / components, components).chain([count % components]);
    runs.flat_map(|run| {
        let whole = std::iter::repeat_n(PIECE, run / PIECE);
        whole.chain([run % PIECE]).filter(|piece| *piece > 0)
    })
}

fn encode_numbers<T: Pco + bytemuck::Pod>(values: &[u8], level: u8, components: usize) -> Result<Vec<u8>> {
    let failed = |error: ::pco::errors::PcoError| Error::internal(format!("pco: {error}"));
    let (whole, rest) = values.split_at(values.len() / size_of::<T>() * size_of::<T>());
    let numbers: Vec<T> = bytemuck::allocation::pod_collect_to_vec(whole);
    let config = ChunkConfig::default().with_compression_level(usize::from(level)).with_enable_8_bit(true);
    let file = standalone::FileCompressor::default().with_n_hint(numbers.len()).with_uniform_type(Some(PcoType::new::<T>()));
    let mut out = Vec::new();
    file.write_header(&mut out).map_err(failed)?;
    let mut left = numbers.as_slice();
    for piece in pieces(numbers.len(), components) {
        let (piece, behind) = left.split_at(piece);
        file.chunk_compressor(piece, &config).and_then(|mut chunk| chunk.write(&mut out).map(|_| ())).map_err(failed)?;
        left = behind;
    }
    file.write_footer(&mut out).map_err(failed)?;
    out.extend_from_slice(rest);
    Ok(out)
}

fn decode_numbers<T: Pco + bytemuck::Pod>(stored: &[u8], components: usize, len: usize) -> Result<Bytes> {
    let count = len / size_of::<T>();
    let (file, rest) = stored
        .split_at_checked(stored.len().saturating_sub(len % size_of::<T>()))
        .filter(|(_, rest)| rest.len() == len % size_of::<T>())
        .ok_or_else(cut)?;
    let code = PcoType::new::<T>() as u8;
    let (wrapped, mut file) = read_header(file, code)?;
    let expected_pieces = pieces(count, components).count();
    if expected_pieces * (PIECE_HEADER + 1) > file.len() {
        return Err(Error::corrupt(format!("pco: {} exceed {}", counted(expected_pieces, "piece"), counted(file.len(), "byte"))));
    }
    // Capacity grows piece by piece, after the previous piece is decoded: a few bytes can claim a gigabyte of numbers.
    let mut numbers = Vec::with_capacity(count.min(ROOM / size_of::<T>()));
    for expected in pieces(count, components) {
        let (&[found_code, a, b, c], chunk) = file.split_first_chunk().ok_or_else(cut)?;
        let found = u32::from_le_bytes([a, b, c, 0]) as usize + 1;
        if (found_code, found) != (code, expected) {
            return Err(Error::corrupt(format!("pco: {found} numbers of type {found_code}, expected {expected} of type {code}")));
        }
        if chunk.first().is_some_and(|byte| byte & 0xf == DICT) {
            return Err(Error::corrupt("pco: mode Dict, which no writer uses"));
        }
        let start = numbers.len();
        numbers.resize(start + expected, T::zeroed());
        file = decode_piece(&wrapped, chunk, &mut numbers[start..]).map_err(corrupt)??;
    }
    if file != [0] {
        return Err(Error::corrupt(format!("pco: {} after the last piece, expected a closing 0", counted(file.len(), "byte"))));
    }
    if rest.is_empty() {
        return Ok(Bytes::from_owner(Numbers(numbers)));
    }
    let mut out = bytemuck::cast_slice::<T, u8>(&numbers).to_vec();
    out.extend_from_slice(rest);
    Ok(out.into())
}

/// Checks the header. Returns the decompressor and the bytes that follow the header.
fn read_header(file: &[u8], code: u8) -> Result<(wrapped::FileDecompressor, &[u8])> {
    let (magic, rest) = file.split_first_chunk().ok_or_else(cut)?;
    if *magic != MAGIC {
        return Err(Error::corrupt(format!("pco: a file that starts with {magic:02x?}, expected {MAGIC:02x?}")));
    }
    let (&[uniform, hint], _) = rest.split_first_chunk().ok_or_else(cut)?;
    if uniform != code && uniform != 0 {
        return Err(Error::corrupt(format!("pco: a file of type {uniform}, expected {code}")));
    }
    // The hint is 6 bits that hold a count n, then n + 1 bits.
    let hint_bytes = (6 + usize::from(hint & 63) + 1).div_ceil(8);
    let rest = rest.get(1 + hint_bytes..).ok_or_else(cut)?;
    if rest.first() != Some(&4) {
        return Err(Error::unsupported(format!("pco: format version {:?}, this build reads 4", rest.first())));
    }
    wrapped::FileDecompressor::new(rest).map_err(corrupt)
}

/// Decodes one chunk into `out`. Returns the bytes that follow the chunk.
fn decode_piece<'a, T: Pco>(
    file: &wrapped::FileDecompressor,
    chunk: &'a [u8],
    out: &mut [T],
) -> ::pco::errors::PcoResult<Result<&'a [u8]>> {
    let (mut chunk, rest) = file.chunk_decompressor::<T, _>(chunk)?;
    if let DeltaEncoding::Lookback { config, .. } = &chunk.meta().delta_encoding
        && config.window_n_log > MAX_WINDOW_LOG
    {
        return Ok(Err(Error::corrupt(format!(
            "pco: a lookback window of 2^{} numbers, expected at most 2^{MAX_WINDOW_LOG}",
            config.window_n_log
        ))));
    }
    let expected = out.len();
    let mut page = chunk.page_decompressor(rest, expected)?;
    let progress = page.read(out)?;
    if !progress.finished || progress.n_processed != expected {
        return Ok(Err(Error::corrupt(format!("pco: {} numbers, expected {expected}", progress.n_processed))));
    }
    Ok(Ok(page.into_src()))
}

/// Decoded numbers, as the owner of a `Bytes`.
struct Numbers<T>(Vec<T>);

impl<T: bytemuck::Pod> AsRef<[u8]> for Numbers<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

fn cut() -> Error {
    Error::corrupt("pco: cut short")
}

fn corrupt(error: ::pco::errors::PcoError) -> Error {
    Error::corrupt(format!("pco: {error}"))
}
