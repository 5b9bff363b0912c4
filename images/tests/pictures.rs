//! Pictures of known pixels, written by the encoders of the same formats: sizes, crops, layouts, reduced scales, and damage. The tests of the
//! Python package compare the pixels with Pillow's.

use tetrys::{ColumnType, ErrorKind, loader::Decode, schema::Primitive};
use tetrys_images::{Image, Layout};

/// A picture whose colours change smoothly.
fn scene(height: usize, width: usize) -> Vec<u8> {
    let pixel = |y: usize, x: usize| [x * 255 / width, y * 255 / height, (x + y) * 127 / (width + height)];
    (0..height).flat_map(|y| (0..width).flat_map(move |x| pixel(y, x))).map(|level| u8::try_from(level).unwrap()).collect()
}

fn png(rgb: &[u8], height: usize, width: usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width.try_into().unwrap(), height.try_into().unwrap());
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(rgb).unwrap();
    file
}

fn jpeg(rgb: &[u8], height: usize, width: usize) -> Vec<u8> {
    let mut encoder = mozjpeg::Compress::new(mozjpeg::ColorSpace::JCS_RGB);
    encoder.set_size(width, height);
    encoder.set_quality(95.0);
    let mut encoder = encoder.start_compress(Vec::new()).unwrap();
    encoder.write_scanlines(rgb).unwrap();
    encoder.finish().unwrap()
}

fn mean_difference(one: &[u8], other: &[u8]) -> f64 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(one, other)| f64::from(one.abs_diff(*other))).sum::<f64>() / one.len() as f64
}

#[test]
fn pictures_keep_their_pixels_or_get_the_wanted_size_and_type() {
    let rgb = scene(60, 80);
    for (file, most) in [(png(&rgb, 60, 80), 0.0), (jpeg(&rgb, 60, 80), 2.0)] {
        let (shape, pixels) = Image::new().decode(&file).unwrap();
        assert_eq!(shape, [60, 80, 3]);
        assert!(mean_difference(&pixels, &rgb) <= most);
        let (shape, part) = Image::new().crop(10, 20, 5, 7).decode(&file).unwrap();
        assert_eq!(shape, [5, 7, 3]);
        assert_eq!(part[..21], pixels[(10 * 80 + 20) * 3..(10 * 80 + 27) * 3]);
        let (shape, planes) = Image::new().layout(Layout::Chw).decode(&file).unwrap();
        assert_eq!(shape, [3, 60, 80]);
        assert!((0..60 * 80 * 3).all(|place| planes[place % 3 * 4800 + place / 3] == pixels[place]));
        // Halving a smooth picture is about taking every second pixel, and a reduced scale about the same.
        for fast in [false, true] {
            let small = Image::new().size(30, 40).fast(fast);
            assert_eq!(small.column_type(), ColumnType::tensor(Primitive::U8, [Some(30), Some(40), Some(3)]));
            let mut half = vec![0; 30 * 40 * 3];
            small.decode_into(&file, &mut half).unwrap();
            assert!(mean_difference(&half, &scene(30, 40)) < 4.0);
            let floats = small.layout(Layout::Chw).normalised([0.5; 3], [0.25; 3]);
            assert_eq!(floats.column_type(), ColumnType::tensor(Primitive::F32, [Some(3), Some(30), Some(40)]));
            let (_, bytes) = floats.decode(&file).unwrap();
            let value = |place: usize| f32::from_ne_bytes(bytes[place * 4..place * 4 + 4].try_into().unwrap());
            assert!(
                (0..1200).all(|pixel| (value(1200 + pixel) - (f32::from(half[pixel * 3 + 1]) / 255.0 - 0.5) / 0.25).abs() < 1e-5)
            );
        }
    }
}

#[test]
fn what_is_no_picture_is_an_error() {
    let rgb = scene(24, 32);
    let refused = |image: &Image, file: &[u8]| {
        let error = image.decode(file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        error.to_string()
    };
    for file in [png(&rgb, 24, 32), jpeg(&rgb, 24, 32)] {
        for end in 0..file.len() - 1 {
            refused(&Image::new(), &file[..end]);
        }
        assert!(refused(&Image::new().crop(20, 0, 5, 5), &file).contains("no area"));
        for place in 0..file.len() {
            for bit in [1, 16, 128] {
                let mut damaged = file.clone();
                damaged[place] ^= bit;
                match Image::new().size(8, 8).fast(true).decode(&damaged) {
                    Ok((shape, pixels)) => assert_eq!((shape, pixels.len()), (vec![8, 8, 3], 192)),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt),
                }
            }
        }
    }
    assert!(refused(&Image::new(), b"GIF89a").contains("6 bytes that start with `47 49 46 38`"));
    assert!(refused(&Image::new(), b"").contains("0 bytes"));
    for image in [Image::new().size(0, 1), Image::new().crop(0, 0, 1, 0), Image::new().normalised([f32::NAN; 3], [1.0; 3])] {
        assert_eq!(image.check().unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn random_changes_depend_on_the_sample_alone() {
    let rgb = scene(60, 80);
    let file = png(&rgb, 60, 80);
    assert!(Image::new().size(20, 24).seed(7).of_sample(1).is_none(), "nothing is random");
    let varied =
        Image::new().size(20, 24).random_crop((0.2, 1.0), (0.75, 1.25)).flip(0.5).brightness(0.5, 1.5).contrast(0.5, 1.5);
    let of = |image: &Image, random| {
        let decoder = image.of_sample(random).unwrap();
        assert_eq!(decoder.column_type(), image.column_type());
        let mut pixels = vec![0; 20 * 24 * 3];
        decoder.decode_into(&file, &mut pixels).unwrap();
        assert_eq!(decoder.decode(&file).unwrap(), (vec![20, 24, 3], pixels.clone()));
        pixels
    };
    let found: Vec<_> = (0..20).map(|random| of(&varied, random)).collect();
    assert!((0..20).all(|random| of(&varied, random) == found[random as usize]));
    assert!((1..20).all(|random| found[random] != found[random - 1]));
    assert!(of(&varied.clone().seed(1), 0) != found[0]);
    // With a flip for certain, and nothing else, each row is reversed.
    let flipped = Image::new().flip(1.0).of_sample(3).unwrap().decode(&file).unwrap().1;
    for (row, before) in flipped.chunks(80 * 3).zip(rgb.chunks(80 * 3)) {
        assert!(row.chunks(3).eq(before.chunks(3).rev()));
    }
}

#[test]
fn impossible_random_changes_are_invalid() {
    for image in [
        Image::new().random_crop((0.5, 1.0), (0.75, 1.25)),
        Image::new().size(4, 4).random_crop((0.0, 1.0), (0.75, 1.25)),
        Image::new().size(4, 4).random_crop((0.5, 1.0), (2.0, 1.0)),
        Image::new().flip(f64::NAN),
        Image::new().brightness(-0.5, 1.0),
        Image::new().saturation(1.0, f64::INFINITY),
    ] {
        assert_eq!(image.check().unwrap_err().kind(), ErrorKind::Invalid);
    }
}
