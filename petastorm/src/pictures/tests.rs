//! Tests of the decoding of pictures: pixels, and pictures that lie about their size.

use png::{ColorType, Encoder};

use super::*;

fn png_of(width: u32, height: u32, color: ColorType, depth: BitDepth, samples: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.write_header().unwrap().write_image_data(samples).unwrap();
    file
}

#[test]
fn the_samples_of_a_png_are_exact() {
    for (color, channels) in [(ColorType::Grayscale, 1), (ColorType::Rgb, 3), (ColorType::Rgba, 4)] {
        for (depth, width, element) in [(BitDepth::Eight, 1, Primitive::U8), (BitDepth::Sixteen, 2, Primitive::U16)] {
            let little: Vec<u8> = (0..5 * 7 * channels * width).map(|byte| (byte * 37 % 251) as u8).collect();
            let mut stored = little.clone();
            stored.chunks_exact_mut(width).for_each(<[u8]>::reverse);
            let file = png_of(7, 5, color, depth, &stored);
            let mut declared = vec![Some(5), None];
            declared.extend((channels > 1).then_some(u32::try_from(channels).ok()));
            let mut shape = vec![5, 7];
            shape.extend((channels > 1).then_some(channels as u64));
            check(&file, element, &declared).unwrap();
            assert_eq!(decode(&file, element, &declared).unwrap(), (shape, little), "{color:?} {depth:?}");
        }
    }
}

#[test]
fn a_picture_of_another_shape_or_type_is_refused() {
    let file = png_of(7, 5, ColorType::Rgb, BitDepth::Eight, &[9; 105]);
    for (element, declared, says) in [
        (Primitive::U8, vec![Some(7), Some(5), Some(3)], "expected an array of shape [7, 5, 3], found [5, 7, 3]"),
        (Primitive::U8, vec![None, None], "found [5, 7, 3]"),
        (Primitive::U16, vec![None, None, Some(3)], "expected a picture of u16 samples, found one of 8 bits"),
    ] {
        for error in [check(&file, element, &declared).unwrap_err(), decode(&file, element, &declared).unwrap_err()] {
            assert!(error.to_string().contains(says), "{error}");
        }
    }
    for bytes in [&b""[..], b"GIF89a", &file[..20], b"\xff\xd8\xff", b"\xff\xd8\xff\xc0\x00\x02"] {
        assert_eq!(check(bytes, Primitive::U8, &[None, None]).unwrap_err().kind(), tetrys::ErrorKind::Corrupt);
    }
}

#[test]
fn a_picture_that_claims_more_pixels_than_it_has_is_damaged() {
    let mut file = png_of(7, 5, ColorType::Rgb, BitDepth::Eight, &[9; 105]);
    // 40,000 x 7 pixels, with the checksum that this needs.
    file[20..24].copy_from_slice(&40_000_u32.to_be_bytes());
    let sum = crc(&file[12..29]);
    file[29..33].copy_from_slice(&sum.to_be_bytes());
    check(&file, Primitive::U8, &[None, None, Some(3)]).unwrap();
    assert_eq!(decode(&file, Primitive::U8, &[None, None, Some(3)]).unwrap_err().kind(), tetrys::ErrorKind::Corrupt);
    // A picture beyond all bounds takes no memory.
    file[16..24].copy_from_slice(&[0x7f; 8]);
    let error = decode(&file, Primitive::U8, &[None, None, Some(3)]).unwrap_err();
    assert!(error.to_string().contains("expected at most 1073741824 bytes"), "{error}");
}

#[test]
fn cut_and_changed_files_are_errors_or_pictures() {
    let file = png_of(7, 5, ColorType::Grayscale, BitDepth::Eight, &[9; 35]);
    for end in 0..file.len() - 12 {
        assert!(decode(&file[..end], Primitive::U8, &[None, None]).is_err(), "{end}");
    }
    for at in 0..file.len() {
        let mut bytes = file.clone();
        bytes[at] ^= 0x55;
        let _ = decode(&bytes, Primitive::U8, &[None, None]);
    }
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
    })
}
