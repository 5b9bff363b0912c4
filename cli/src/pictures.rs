//! Recognises pictures in binary columns by their headers, without decoding them.

use crate::text;

/// The format and size of a picture, from its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    /// `jpeg`, `png`, `gif` or `webp`.
    pub(crate) format: &'static str,
    /// Width and height in pixels, if the header has them.
    pub(crate) size: Option<(usize, usize)>,
}

/// Returns the format and size if the bytes are a picture.
pub(crate) fn picture(bytes: &[u8]) -> Option<Picture> {
    let format = match imagesize::image_type(bytes).ok()? {
        imagesize::ImageType::Jpeg => "jpeg",
        imagesize::ImageType::Png => "png",
        imagesize::ImageType::Gif => "gif",
        imagesize::ImageType::Webp => "webp",
        _ => return None,
    };
    let size = imagesize::blob_size(bytes).ok().map(|size| (size.width, size.height));
    Some(Picture { format, size })
}

/// Summarises many values: `76.1 kB..83.9 kB, jpeg 1920x1080`.
pub(crate) fn described<'a>(values: impl Iterator<Item = &'a [u8]> + Clone) -> String {
    let sizes = values.clone().map(|bytes| bytes.len() as u64);
    let (Some(least), Some(most)) = (sizes.clone().min(), sizes.max()) else { return String::new() };
    let bytes = match least == most {
        true => text::bytes(least),
        false => format!("{}..{}", text::bytes(least), text::bytes(most)),
    };
    let mut kinds: Vec<String> = Vec::new();
    for value in values {
        let kind = match picture(value) {
            Some(Picture { format, size: Some((width, height)) }) => format!("{format} {width}x{height}"),
            Some(Picture { format, size: None }) => format.to_owned(),
            None => continue,
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    std::iter::once(bytes).chain(kinds).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first bytes of a PNG of 640 by 480 pixels.
    const PNG: [u8; 24] = *b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0";

    #[test]
    fn a_picture_is_known_by_its_header() {
        assert_eq!(picture(&PNG), Some(Picture { format: "png", size: Some((640, 480)) }));
        assert_eq!(picture(&[0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap().size, None);
        assert_eq!(picture(b"no picture at all"), None);
        assert_eq!(described([PNG.as_slice(), b"none"].into_iter()), "4 B..24 B, png 640x480");
    }
}
