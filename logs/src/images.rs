//! Pictures without compression: `sensor_msgs/Image` and Foxglove's `RawImage`, as tensors of pixels.

use bytes::Bytes;
use tetrys::{ColumnType, Error, Result, schema::Primitive};

use crate::{
    cells::Cell,
    types::{Message, Value},
};

/// The fields of a picture, and the type of its pixels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Image {
    height: usize,
    width: usize,
    encoding: usize,
    big: Option<usize>,
    step: usize,
    data: usize,
    pixels: Option<(String, Primitive, u32)>,
}

/// Returns the fields of a picture, if the type is one.
pub(crate) fn find(ty: &Message) -> Option<Image> {
    let short = ty.name.rsplit(['/', '.']).next().unwrap_or_default();
    if !["Image", "RawImage"].contains(&short) {
        return None;
    }
    let field = |name: &str| ty.field(name).map(|(at, _)| at);
    Some(Image {
        height: field("height")?,
        width: field("width")?,
        encoding: field("encoding")?,
        big: field("is_bigendian"),
        step: field("step")?,
        data: field("data")?,
        pixels: None,
    })
}

/// Returns the element and the channels of an encoding; `None` for one whose pixels do not lie side by side.
fn layout(encoding: &str) -> Option<(Primitive, u32)> {
    Some(match encoding {
        "mono8" | "8UC1" | "8UC" => (Primitive::U8, 1),
        "rgb8" | "bgr8" | "8UC3" => (Primitive::U8, 3),
        "rgba8" | "bgra8" | "8UC4" => (Primitive::U8, 4),
        "mono16" | "16UC1" | "16UC" => (Primitive::U16, 1),
        "rgb16" | "bgr16" | "16UC3" => (Primitive::U16, 3),
        "rgba16" | "bgra16" | "16UC4" => (Primitive::U16, 4),
        "8UC2" => (Primitive::U8, 2),
        "8SC1" => (Primitive::I8, 1),
        "16SC1" => (Primitive::I16, 1),
        "32SC1" => (Primitive::I32, 1),
        "32FC1" => (Primitive::F32, 1),
        "32FC2" => (Primitive::F32, 2),
        "32FC3" => (Primitive::F32, 3),
        "32FC4" => (Primitive::F32, 4),
        "64FC1" => (Primitive::F64, 1),
        bayer if bayer.starts_with("bayer_") && bayer.ends_with("16") => (Primitive::U16, 1),
        bayer if bayer.starts_with("bayer_") && bayer.ends_with('8') => (Primitive::U8, 1),
        _ => return None,
    })
}

impl Image {
    pub(crate) fn encoding(&self) -> &str {
        self.pixels.as_ref().map_or("", |(encoding, ..)| encoding)
    }

    /// Returns the type of the pixels of a sample; `None` if there is no sample, or if its bytes are no tensor.
    pub(crate) fn columns(mut self, sample: Option<&Value>) -> Result<Option<(Self, ColumnType)>> {
        let Some(encoding) = sample.and_then(|sample| sample.at(&[self.encoding]).as_text()) else { return Ok(None) };
        let Some((element, channels)) = layout(encoding) else { return Ok(None) };
        self.pixels = Some((encoding.to_owned(), element, channels));
        let mut shape = vec![None, None];
        shape.extend((channels > 1).then_some(Some(channels)));
        Ok(Some((self, ColumnType::Tensor { element, shape })))
    }

    /// Whether a message has no encoding and no bytes.
    pub(crate) fn is_empty(&self, message: &Value) -> bool {
        let encoding = message.at(&[self.encoding]).as_text().unwrap_or_default();
        encoding.is_empty() && message.at(&[self.data]).as_bytes().is_none_or(Bytes::is_empty)
    }

    /// Returns the pixels of a message, without the padding of its rows; null for a message without an encoding and without bytes.
    ///
    /// # Errors
    /// - `Invalid`: the encoding has other pixels than that of the sample, or the data are shorter than the picture.
    pub(crate) fn pixels(&self, message: &Value) -> Result<Cell> {
        let Some((first, element, channels)) = &self.pixels else { return Ok(Cell::Null) };
        if self.is_empty(message) {
            return Ok(Cell::Null);
        }
        let encoding = message.at(&[self.encoding]).as_text().unwrap_or_default();
        if layout(encoding) != Some((*element, *channels)) {
            return Err(Error::invalid(format!("expected a picture in {first}, found `{}`", encoding.escape_debug())));
        }
        let number = |field: usize| message.at(&[field]).as_i64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
        let (height, width, step) = (number(self.height), number(self.width), number(self.step));
        let data = message.at(&[self.data]).as_bytes().cloned().unwrap_or_default();
        let row = width.checked_mul(*channels as usize).and_then(|row| row.checked_mul(element.width()));
        let short = || {
            let found = data.len();
            Error::invalid(format!(
                "a picture of {width} x {height} pixels in {encoding}, rows of {step} bytes, has {found} bytes"
            ))
        };
        let row = row.filter(|row| *row <= step || height == 0).ok_or_else(short)?;
        let needed = height.checked_sub(1).map_or(Some(0), |rows| rows.checked_mul(step)?.checked_add(row)).ok_or_else(short)?;
        if needed > data.len() {
            return Err(short());
        }
        let pixels: Bytes = match row == step || height <= 1 {
            true => data.slice(..row * height),
            false => (0..height).flat_map(|y| &data[y * step..y * step + row]).copied().collect(),
        };
        let is_big = self.big.is_some_and(|field| number(field) != 0);
        let pixels = if is_big && element.width() > 1 { swapped(&pixels, element.width()) } else { pixels };
        let extent = |extent: usize| u32::try_from(extent).unwrap_or(u32::MAX);
        let mut shape = vec![extent(height), extent(width)];
        shape.extend((*channels > 1).then_some(*channels));
        Ok(Cell::Tensor(shape, pixels))
    }
}

/// Returns numbers with their bytes in the other order.
pub(crate) fn swapped(bytes: &[u8], width: usize) -> Bytes {
    let mut bytes = bytes.to_vec();
    bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        columns::columns,
        msg::{Ros, parse},
    };

    fn picture(encoding: &str, size: (u32, u32), step: u32, big: u32, data: Vec<u8>) -> Value {
        let number = |number: u32| Value::Number(u64::from(number).to_le_bytes());
        let text = Value::Text(encoding.to_owned());
        Value::Message(vec![number(size.0), number(size.1), text, number(big), number(step), Value::Numbers(data.into())])
    }

    fn pixels(sample: &Value, message: &Value) -> (String, Result<Cell>) {
        let text = "uint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n";
        let ty = parse("sensor_msgs/Image", text, Ros::One).unwrap();
        let columns = columns(&ty, Some(sample)).unwrap();
        let column = columns.iter().find(|column| ["image", "data"].contains(&column.name.as_str())).unwrap();
        (column.ty.to_string(), column.cell(message))
    }

    #[test]
    fn pixels_are_a_tensor_without_the_padding_of_rows() {
        let grey = picture("mono8", (2, 3), 4, 0, vec![1, 2, 3, 0, 4, 5, 6]);
        let (ty, cell) = pixels(&grey, &grey);
        assert_eq!((ty.as_str(), cell.unwrap()), ("u8[?,?]", Cell::Tensor(vec![2, 3], vec![1, 2, 3, 4, 5, 6].into())));
        let depth = picture("16UC1", (1, 2), 4, 1, vec![1, 2, 3, 4]);
        let (ty, cell) = pixels(&depth, &depth);
        assert_eq!((ty.as_str(), cell.unwrap()), ("u16[?,?]", Cell::Tensor(vec![1, 2], vec![2, 1, 4, 3].into())));
        let colour = picture("bgr8", (1, 1), 3, 0, vec![1, 2, 3]);
        assert_eq!(pixels(&colour, &colour).0, "u8[?,?,3]");
        let other = picture("nv12", (1, 1), 3, 0, vec![1, 2, 3]);
        let (ty, cell) = pixels(&other, &other);
        assert_eq!((ty.as_str(), cell.unwrap()), ("binary", Cell::Bytes(vec![1, 2, 3].into())));
    }

    #[test]
    fn pictures_that_do_not_fit_their_data_are_refused() {
        let grey = picture("mono8", (2, 3), 3, 0, vec![0; 6]);
        for (message, expected) in [
            (picture("mono8", (2, 3), 3, 0, vec![0; 5]), "a picture of 3 x 2 pixels in mono8, rows of 3 bytes, has 5 bytes"),
            (picture("mono8", (2, 3), 2, 0, vec![0; 9]), "rows of 2 bytes"),
            (picture("mono8", (u32::MAX, 3), 3, 0, vec![0; 9]), "has 9 bytes"),
            (picture("rgb8", (1, 1), 3, 0, vec![0; 3]), "expected a picture in mono8, found `rgb8`"),
        ] {
            let error = pixels(&grey, &message).1.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
