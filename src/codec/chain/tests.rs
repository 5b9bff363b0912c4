//! Every chain: round trips over many lengths, hostile bytes, and the stored form of the chain itself.

use super::*;

const NUMBERS: [NumberType; 11] = [
    NumberType::U8,
    NumberType::I8,
    NumberType::U16,
    NumberType::I16,
    NumberType::F16,
    NumberType::U32,
    NumberType::I32,
    NumberType::F32,
    NumberType::U64,
    NumberType::I64,
    NumberType::F64,
];

/// Returns every kind of step, alone and before every compressor that may follow it.
fn chains() -> Vec<Chain> {
    let mut transforms = vec![vec![]];
    for width in [2, 3, 4, 8, 16, 68] {
        transforms.push(vec![Step::Shuffle(width)]);
    }
    for width in [1, 2, 4, 8] {
        transforms.push(vec![Step::BitShuffle(width)]);
        for components in [2, 3, 17] {
            transforms.push(vec![Step::Split { width, components }]);
        }
        transforms.push(vec![Step::Split { width, components: 4 }, Step::BitShuffle(width)]);
    }
    transforms.push(vec![Step::Split { width: 4, components: 4 }, Step::Shuffle(4)]);
    let mut chains = Vec::new();
    for transform in transforms {
        for compressor in [None, Some(Step::Lz4), Some(Step::Zstd(3))] {
            chains.push(transform.iter().copied().chain(compressor).collect::<Vec<_>>());
        }
    }
    for number in NUMBERS {
        let width = number.width() as u8;
        chains.push(vec![Step::Pco(number, 0)]);
        chains.push(vec![Step::Split { width, components: 3 }, Step::Pco(number, 8)]);
    }
    chains.push(vec![Step::Shuffle(4), Step::Pco(NumberType::U32, 1)]);
    chains.into_iter().map(|steps| Chain::new(steps).unwrap()).collect()
}

/// Returns values that compress: slowly growing little-endian words.
fn walk(len: usize) -> Vec<u8> {
    let words = (0..len as u64).flat_map(|i| (1000 + i * 3 + i * i % 7).to_le_bytes());
    words.take(len).collect()
}

#[test]
fn every_chain_gives_its_input_back() {
    for chain in chains() {
        for len in [0, 1, 2, 3, 7, 8, 9, 15, 64, 67, 68, 69, 1000, 4096, 65_537] {
            for values in [walk(len), (0..len).map(|i| (i * i / 7) as u8).collect()] {
                let stored = chain.encode(&values).unwrap();
                assert_eq!(chain.decode(stored.into(), len).unwrap(), values, "{chain} {len}");
            }
        }
        let mut bytes = Vec::new();
        chain.write(&mut bytes);
        bytes.push(9);
        assert_eq!(Chain::read(&bytes).unwrap(), (chain, &[9][..]));
    }
}

#[test]
fn floats_keep_their_bits() {
    for (number, specials) in [
        (NumberType::F32, [0x7fa0_0001_u32, 0xffc0_1234, 0x8000_0000, 0x0000_0001].map(u32::to_le_bytes).concat()),
        (NumberType::F16, [0x7d01_u16, 0xfe34, 0x8000, 1].map(u16::to_le_bytes).concat()),
        (NumberType::F64, [0x7ff4_0000_0000_0001_u64, 0xfff8_0000_0000_1234, 1 << 63, 1].map(u64::to_le_bytes).concat()),
    ] {
        for level in [0, 8, 12] {
            let chain = Chain::new([Step::Pco(number, level)]).unwrap();
            let values = specials.repeat(300);
            let stored = chain.encode(&values).unwrap();
            assert_eq!(chain.decode(stored.into(), values.len()).unwrap(), values, "{chain}");
        }
    }
}

#[test]
fn long_pages_are_several_pieces_of_pco() {
    let chain = Chain::new([Step::Split { width: 1, components: 3 }, Step::Pco(NumberType::U8, 0)]).unwrap();
    let values: Vec<u8> = (0..(3_usize << 18) + 700).map(|i| (i / 1000) as u8).collect();
    let stored = chain.encode(&values).unwrap();
    assert_eq!(chain.decode(stored.into(), values.len()).unwrap(), values);
}

#[test]
fn hostile_bytes_give_an_error_or_the_asked_length() {
    for chain in chains() {
        let values = walk(600);
        let stored = chain.encode(&values).unwrap();
        for cut in 0..stored.len() {
            assert!(chain.decode(Bytes::copy_from_slice(&stored[..cut]), values.len()).is_err(), "{chain} {cut}");
        }
        for position in 0..stored.len() {
            for flip in [0x41, 0x01, 0x80, 0xff] {
                let mut flipped = stored.clone();
                flipped[position] ^= flip;
                if let Ok(decoded) = chain.decode(flipped.into(), values.len()) {
                    assert_eq!(decoded.len(), values.len(), "{chain} {position}");
                }
            }
        }
        let mut longer = stored.clone();
        longer.push(0);
        assert!(chain.decode(longer.into(), values.len()).is_err(), "{chain}: one byte too many");
        for other in [values.len() - 1, values.len() + 1, values.len() * 2, 0] {
            assert!(chain.decode(stored.clone().into(), other).is_err(), "{chain}: {other} bytes");
        }
    }
}

#[test]
fn a_pco_file_is_not_believed() {
    let chain = Chain::new([Step::Pco(NumberType::U64, 0)]).unwrap();
    let values = walk(800);
    let stored = chain.encode(&values).unwrap();
    let refused = |at: usize, byte: u8, says: &str| {
        let mut file = stored.clone();
        file[at] = byte;
        let error = chain.decode(file.into(), values.len()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    // Magic, version, type, a hint of two bytes, format version; then type, count, mode.
    refused(4, 2, "expected");
    refused(5, 1, "a file of type 1, expected 2");
    refused(8, 5, "format version");
    refused(10, 1, "numbers of type 1, expected 100 of type 2");
    refused(13, 0xff, "expected 100 of type 2");
    refused(14, stored[14] & 0xf0 | 4, "mode Dict");
}

#[test]
fn every_parameter_outside_the_table_is_refused() {
    for id in 0..=255_u8 {
        for parameter in 0..=255_u8 {
            let code = [1, id, parameter];
            let read = Chain::read(&code);
            let allowed = match id {
                1 => parameter >= 2,
                2 => parameter == 0,
                3 => true,
                4 => [1, 2, 4, 8].contains(&parameter),
                5 => parameter & 0x3f > 0,
                6 => parameter >> 4 <= 12 && (1..=11).contains(&(parameter & 0xf)),
                _ => false,
            };
            assert_eq!(read.is_ok(), allowed, "{id} {parameter}: {read:?}");
            if let Ok((chain, _)) = read {
                let mut bytes = Vec::new();
                chain.write(&mut bytes);
                assert_eq!(bytes, code);
            }
        }
    }
}

#[test]
fn an_unknown_codec_is_refused_by_its_id() {
    assert_eq!(
        Chain::read(&[1, 77, 0]).unwrap_err().to_string(),
        "codec id 77: this build knows 1 (shuffle), 2 (lz4), 3 (zstd), 4 (bitshuffle), 5 (split), 6 (pco)"
    );
    assert!(Chain::read(&[2, 3, 1, 2, 0]).is_err(), "a compressor before the last step");
    assert!(Chain::read(&[2, 5, 0xc1, 6, 5]).is_err(), "a split into eight bytes before f32");
    assert!(Chain::read(&[1, 1]).is_err());
}
