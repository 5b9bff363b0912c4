//! The Blosc container: encoded data can be decoded, and no stored byte does harm.

use super::*;
use tetrys::error::ErrorKind;

/// Returns records of `element` bytes whose columns vary slowly, as sensor records do.
fn records(element: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| ((at / element / 7) as u8).wrapping_mul((at % element) as u8 | 1)).collect()
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn decode(stored: &[u8], len: usize) -> Result<Vec<u8>> {
    let mut decoded = vec![0xaa; len];
    Decoder::default().decode(stored, &mut decoded)?;
    Ok(decoded)
}

/// Builds a container with split blocks of 512 bytes, as c-blosc writes it for narrow elements.
fn split(plain: &[u8], element: usize, flags: u8, filter: impl Fn(&[u8], &mut [u8])) -> Vec<u8> {
    let blocksize = 512;
    let mut stored = vec![2, 1, flags, element as u8];
    for size in [plain.len(), blocksize, 0] {
        stored.extend_from_slice(&(size as u32).to_le_bytes());
    }
    let blocks: Vec<&[u8]> = plain.chunks(blocksize).collect();
    stored.resize(HEADER + blocks.len() * 4, 0);
    for (number, block) in blocks.into_iter().enumerate() {
        let start = stored.len() as u32;
        stored[HEADER + number * 4..][..4].copy_from_slice(&start.to_le_bytes());
        let mut filtered = vec![0; block.len()];
        filter(block, &mut filtered);
        let streams = if block.len() == blocksize && flags & NOT_SPLIT == 0 { element } else { 1 };
        for stream in filtered.chunks(block.len() / streams) {
            let packed = lz4::block::compress(stream, None, false).unwrap();
            let packed = if packed.len() < stream.len() { &packed } else { stream };
            stored.extend_from_slice(&(packed.len() as u32).to_le_bytes());
            stored.extend_from_slice(packed);
        }
    }
    let cbytes = stored.len() as u32;
    stored[12..16].copy_from_slice(&cbytes.to_le_bytes());
    stored
}

#[test]
fn what_is_encoded_comes_back_for_every_width_codec_and_filter() {
    for element in [1, 2, 3, 4, 7, 8, 9, 16, 24, 96, 116, 140, 255, 256, 1000] {
        for len in [0, 1, element, 10 * element + 3, 131_072 / element * element * 2 + 5 * element] {
            for codec in [Codec::Lz4, Codec::Zstd { level: 1 }] {
                for shuffle in [false, true] {
                    let plain = records(element, len);
                    let stored = encode(&plain, element, codec, shuffle).unwrap();
                    assert_eq!(decode(&stored, len).unwrap(), plain, "{element} {len} {codec:?} {shuffle}");
                }
            }
        }
    }
}

#[test]
fn noise_is_stored_plain_at_16_bytes_more() {
    let plain = noise(5000);
    let stored = encode(&plain, 4, Codec::Lz4, true).unwrap();
    assert_eq!((stored.len(), stored[2] & MEMCPYED), (plain.len() + HEADER, MEMCPYED));
    assert_eq!(decode(&stored, plain.len()).unwrap(), plain);
}

#[test]
fn split_blocks_decode_and_the_last_short_block_is_whole() {
    let plain = records(4, 512 * 3 + 100);
    let shuffled = |block: &[u8], filtered: &mut [u8]| shuffle(block, 4, filtered);
    assert_eq!(decode(&split(&plain, 4, 0x21, shuffled), plain.len()).unwrap(), plain);
    assert_eq!(decode(&split(&plain, 4, 0x31, shuffled), plain.len()).unwrap(), plain);
    assert_eq!(decode(&split(&plain, 4, 0x20, |block, filtered| filtered.copy_from_slice(block)), plain.len()).unwrap(), plain);
}

#[test]
fn shuffle_is_the_transpose_and_unshuffle_its_inverse() {
    for element in [2, 4, 5, 8, 12, 17, 116] {
        for n in [0, 1, TILE - 1, TILE, TILE + 1, 3 * TILE + 5] {
            let plain = noise(element * n + element - 1);
            let (mut shuffled, mut back) = (vec![0; plain.len()], vec![0; plain.len()]);
            shuffle(&plain, element, &mut shuffled);
            for i in 0..n {
                for j in 0..element {
                    assert_eq!(shuffled[j * n + i], plain[i * element + j]);
                }
            }
            unshuffle(&shuffled, element, &mut back);
            assert_eq!(back, plain);
        }
    }
}

#[test]
fn unsupported_codecs_are_named() {
    let mut stored = encode(&records(4, 4000), 4, Codec::Lz4, true).unwrap();
    for (number, name) in [(0, "blosclz"), (2, "snappy"), (3, "zlib"), (7, "codec number 7")] {
        stored[2] = stored[2] & 0x1f | number << 5;
        let error = decode(&stored, 4000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_wrong_size_names_expected_and_found() {
    let stored = encode(&records(4, 4000), 4, Codec::Lz4, true).unwrap();
    let error = decode(&stored, 3999).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.to_string(), "blosc: expected 3999 decoded bytes, the header says 4000");
}

#[test]
fn no_cut_and_no_flipped_byte_panics_or_changes_the_size() {
    let plain = records(4, 1500);
    let shuffled = |block: &[u8], filtered: &mut [u8]| shuffle(block, 4, filtered);
    for stored in [
        encode(&plain, 4, Codec::Lz4, true).unwrap(),
        encode(&plain, 4, Codec::Zstd { level: 3 }, true).unwrap(),
        encode(&noise(1500), 4, Codec::Lz4, true).unwrap(),
        split(&plain, 4, 0x21, shuffled),
        split(&plain, 4, 0x24, |block, filtered| filtered.copy_from_slice(block)),
    ] {
        for cut in 0..stored.len() {
            assert!(decode(&stored[..cut], plain.len()).is_err(), "cut at {cut}");
        }
        for at in 0..stored.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut stored = stored.clone();
                stored[at] ^= mask;
                // Blosc has no checksum: a container with a flipped byte may decode, but never to another size.
                let _ = decode(&stored, plain.len()).map(|decoded| assert_eq!(decoded.len(), plain.len()));
            }
        }
    }
}

#[test]
fn bits_are_transposed_both_ways() {
    // Element 3 of 8 single-byte elements has bit 5 set, so byte 5 of the shuffled block has bit 3 set.
    let mut shuffled = [0; 8];
    shuffled[5] = 1 << 3;
    let mut plain = [0; 8];
    bit_unshuffle(&shuffled, 1, &mut plain);
    assert_eq!(plain, [0, 0, 0, 1 << 5, 0, 0, 0, 0]);
}
