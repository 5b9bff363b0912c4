//! Pictures for training: decodes JPEG and PNG, crops, resizes and normalises them while a data loader reads.
//!
//! [`Image`] says what a model wants. It is a decoder of the data loader: the work is done on the threads that read, directly into the
//! batch. Random crops, flips and colours are those of torchvision, drawn for each sample of each epoch.
//!
//! ```no_run
//! # async fn example() -> tetrys::Result<()> {
//! use tetrys::{Table, loader::{DataLoader, LoaderOptions}};
//! use tetrys_images::{Image, Layout};
//!
//! let table = Table::open("drives").await?;
//! let pictures = Image::new().size(224, 224).layout(Layout::Chw).normalised([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
//! let options = LoaderOptions::new(64).decode("camera.jpeg", pictures);
//! let mut loader = DataLoader::new(table.row_loader().columns(["camera.jpeg"])?, options).await?;
//! while let Some(batch) = loader.next().await? {
//!     let pixels = batch.parts[0].rows().array::<f32>("camera.jpeg")?; // [64, 3, 224, 224]
//! }
//! # Ok(()) }
//! ```
//!
//! The pixels of a JPEG are those of libjpeg, and so those of Pillow. The pixels of a PNG are exact. Resizing is the bilinear
//! convolution of Pillow's `resize(.., Image.BILINEAR)`: each value is within one level of 256. Both round between the two passes, with
//! weights of another precision.

mod augment;
mod jpeg;
mod png;

use std::{cell::RefCell, sync::Arc};

use augment::{Augment, Drawn};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer, images::ImageRef};
use tetrys::{ColumnType, Error, Result, loader::Decode, schema::Primitive};

/// The largest picture in pixels, as in Pillow (twice its `MAX_IMAGE_PIXELS`): a small file may claim any size.
const MOST_PIXELS: u64 = 178_956_970;

/// The order of the dimensions of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Height, width, channels.
    #[default]
    Hwc,
    /// Channels, height, width.
    Chw,
}

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) top: u32,
    pub(crate) left: u32,
    pub(crate) height: u32,
    pub(crate) width: u32,
}

/// How pictures are decoded. The default: all pixels as u8 [height, width, 3], RGB.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    size: Option<(u32, u32)>,
    crop: Option<Area>,
    layout: Layout,
    /// Mean and standard deviation of each channel, for pixels between 0 and 1; u8 without them.
    normalised: Option<([f32; 3], [f32; 3])>,
    fast: bool,
    augment: Augment,
    /// The random number of the sample.
    random: u64,
}

/// Decoded pixels, RGB, row by row.
struct Pixels {
    width: u32,
    height: u32,
    /// How much smaller the pixels are than the picture: 1, 2, 4 or 8.
    scale: u32,
    /// Height and width of the picture.
    size: (u32, u32),
    rgb: Vec<u8>,
}

impl Image {
    /// Creates the default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Resizes pictures to `height` x `width` pixels, by bilinear convolution. All pictures of a batch are then one array.
    #[must_use]
    pub fn size(mut self, height: u32, width: u32) -> Self {
        self.size = Some((height, width));
        self
    }

    /// Takes a rectangle of each picture, in pixels of the picture, before it is resized.
    #[must_use]
    pub fn crop(mut self, top: u32, left: u32, height: u32, width: u32) -> Self {
        self.crop = Some(Area { top, left, height, width });
        self
    }

    /// Sets the order of the dimensions.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Makes pixels f32: (pixel / 255 - mean) / deviation, for each channel. Use means of 0 and deviations of 1 for pixels between 0
    /// and 1.
    #[must_use]
    pub fn normalised(mut self, mean: [f32; 3], deviation: [f32; 3]) -> Self {
        self.normalised = Some((mean, deviation));
        self
    }

    /// With a size: decodes JPEGs at a half, a quarter or an eighth of their size, as long as the result is not smaller than the
    /// wanted size, as Pillow's `draft` does. This is several times faster, and the pixels differ a little.
    #[must_use]
    pub fn fast(mut self, fast: bool) -> Self {
        self.fast = fast;
        self
    }

    /// Takes a random part of each picture before it is resized, as `RandomResizedCrop` of torchvision: `scale` has the bounds of its
    /// area, as a share of the picture (or of the part that [`Image::crop`] takes), and `ratio` those of its width divided by its
    /// height. All pictures of a sample, such as the frames of a window, get the same part if they have the same size. Needs a size.
    #[must_use]
    pub fn random_crop(mut self, scale: (f64, f64), ratio: (f64, f64)) -> Self {
        self.augment.crop = Some((scale, ratio));
        self
    }

    /// Exchanges left and right of the pictures of a sample with this probability, as `RandomHorizontalFlip` of torchvision.
    #[must_use]
    pub fn flip(mut self, probability: f64) -> Self {
        self.augment.flip = probability;
        self
    }

    /// Multiplies the brightness of the pictures of a sample by a random factor between these bounds, as `ColorJitter` of torchvision.
    /// Brightness, contrast and saturation are changed behind the resize, in random order.
    #[must_use]
    pub fn brightness(mut self, least: f64, most: f64) -> Self {
        self.augment.brightness = Some((least, most));
        self
    }

    /// Multiplies the contrast by a random factor, as [`Image::brightness`] does the brightness.
    #[must_use]
    pub fn contrast(mut self, least: f64, most: f64) -> Self {
        self.augment.contrast = Some((least, most));
        self
    }

    /// Multiplies the saturation by a random factor, as [`Image::brightness`] does the brightness.
    #[must_use]
    pub fn saturation(mut self, least: f64, most: f64) -> Self {
        self.augment.saturation = Some((least, most));
        self
    }

    /// Sets a seed that is mixed with the random number of the sample. Columns with the same seed, 0 by default, get the same random
    /// crop, flip and factors in a sample.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.augment.seed = seed;
        self
    }

    /// Sets the random number of the sample that the next pictures belong to, as [`Decode::of_sample`] does.
    #[must_use]
    pub fn random(mut self, random: u64) -> Self {
        self.random = random;
        self
    }

    /// Checks the sizes and numbers.
    ///
    /// # Errors
    /// - `Invalid`: a size is 0 or too large, a mean or deviation is not a number above 0 (a mean may be 0 or below), or a bound or
    ///   a probability of a random change is impossible.
    pub fn check(&self) -> Result<()> {
        let of = |what: &str, height: u32, width: u32| match u64::from(height) * u64::from(width) {
            1..=MOST_PIXELS => Ok(()),
            _ => Err(Error::invalid(format!("{what} {height} x {width}: expected 1 to {MOST_PIXELS} pixels"))),
        };
        self.size.map_or(Ok(()), |(height, width)| of("size", height, width))?;
        self.crop.map_or(Ok(()), |area| of("crop", area.height, area.width))?;
        self.augment.check(self.size.is_some())?;
        let Some((mean, deviation)) = self.normalised else { return Ok(()) };
        match mean.iter().all(|mean| mean.is_finite()) && deviation.iter().all(|each| each.is_finite() && *each > 0.0) {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "mean {mean:?}, deviation {deviation:?}: expected finite numbers, deviations above 0"
            ))),
        }
    }

    /// Decodes the pixels, crops and resizes them. Returns height, width and the RGB values, row by row.
    fn pixels(&self, file: &[u8]) -> Result<(u32, u32, Vec<u8>)> {
        let (wanted, drawn) = (self.fast.then_some(self.size).flatten(), self.augment.drawn(self.random));
        let pixels = match file {
            [0xff, 0xd8, 0xff, ..] => jpeg::decode(file, |height, width| self.scale(&drawn, wanted, height, width))?,
            [0x89, b'P', b'N', b'G', ..] => png::decode(file)?,
            _ => {
                let start: Vec<String> = file.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
                return Err(Error::corrupt(format!(
                    "{} that start with `{}`: expected a JPEG or a PNG",
                    size_of(file),
                    start.join(" ")
                )));
            }
        };
        let area = self.area(&drawn, pixels.size)?;
        let (pixels, area) = if pixels.scale == 1 { cut(pixels, area) } else { (pixels, area) };
        let (height, width, mut rgb) = match self.size {
            None => (pixels.height, pixels.width, pixels.rgb),
            Some((height, width)) => (height, width, resized(&pixels, area, height, width)?),
        };
        drawn.apply(&mut rgb, width);
        Ok((height, width, rgb))
    }

    /// The part of a picture that is taken.
    fn area(&self, drawn: &Drawn, (height, width): (u32, u32)) -> Result<Area> {
        let area = self.crop.unwrap_or(Area { top: 0, left: 0, height, width });
        let fits = |start: u32, len: u32, whole: u32| start.checked_add(len).is_some_and(|end| end <= whole);
        match fits(area.top, area.height, height) && fits(area.left, area.width, width) {
            true => Ok(drawn.crop(area)),
            false => Err(Error::corrupt(format!("a picture of {height} x {width} pixels has no area {area:?}"))),
        }
    }

    /// The largest scale at which the wanted part of a picture is not smaller than the wanted size.
    fn scale(&self, drawn: &Drawn, wanted: Option<(u32, u32)>, height: u32, width: u32) -> u32 {
        let Some((wanted_height, wanted_width)) = wanted else { return 1 };
        // A crop that does not fit is an error of the decoded picture.
        let (height, width) = self.area(drawn, (height, width)).map_or((height, width), |area| (area.height, area.width));
        let fits = |scale: &u32| height / scale >= wanted_height && width / scale >= wanted_width;
        [8, 4, 2].into_iter().find(fits).unwrap_or(1)
    }

    /// Writes RGB pixels in the wanted layout and type.
    fn write(&self, rgb: &[u8], elements: &mut [u8]) -> Result<()> {
        let pixels = rgb.len() / 3;
        let place = |pixel: usize, channel: usize| match self.layout {
            Layout::Hwc => pixel * 3 + channel,
            Layout::Chw => channel * pixels + pixel,
        };
        match self.normalised {
            None if self.layout == Layout::Hwc => elements.copy_from_slice(rgb),
            None => {
                for (channel, plane) in elements.chunks_exact_mut(pixels.max(1)).enumerate() {
                    plane.iter_mut().zip(rgb.chunks_exact(3)).for_each(|(element, pixel)| *element = pixel[channel]);
                }
            }
            Some((mean, deviation)) => {
                let floats: &mut [f32] = bytemuck::try_cast_slice_mut(elements)
                    .map_err(|error| Error::internal(format!("a batch that is not aligned: {error}")))?;
                let table: [[f32; 256]; 3] = std::array::from_fn(|channel| {
                    #[expect(clippy::cast_precision_loss, reason = "256 levels")]
                    std::array::from_fn(|level| (level as f32 / 255.0 - mean[channel]) / deviation[channel])
                });
                for (number, pixel) in rgb.chunks_exact(3).enumerate() {
                    for (channel, level) in pixel.iter().enumerate() {
                        floats[place(number, channel)] = table[channel][usize::from(*level)];
                    }
                }
            }
        }
        Ok(())
    }
}

impl Decode for Image {
    fn check(&self) -> Result<()> {
        Self::check(self)
    }

    fn column_type(&self) -> ColumnType {
        let element = if self.normalised.is_some() { Primitive::F32 } else { Primitive::U8 };
        let (height, width) = (self.size.map(|size| size.0), self.size.map(|size| size.1));
        match self.layout {
            Layout::Hwc => ColumnType::tensor(element, [height, width, Some(3)]),
            Layout::Chw => ColumnType::tensor(element, [Some(3), height, width]),
        }
    }

    fn of_sample(&self, random: u64) -> Option<Arc<dyn Decode>> {
        self.augment.is_on().then(|| Arc::new(self.clone().random(random)) as Arc<dyn Decode>)
    }

    fn decode_into(&self, value: &[u8], elements: &mut [u8]) -> Result<()> {
        self.write(&self.pixels(value)?.2, elements)
    }

    fn decode(&self, value: &[u8]) -> Result<(Vec<u32>, Vec<u8>)> {
        let (height, width, rgb) = self.pixels(value)?;
        let shape = match self.layout {
            Layout::Hwc => vec![height, width, 3],
            Layout::Chw => vec![3, height, width],
        };
        if self.normalised.is_none() && self.layout == Layout::Hwc {
            return Ok((shape, rgb));
        }
        if self.normalised.is_none() {
            let mut elements = vec![0; rgb.len()];
            self.write(&rgb, &mut elements)?;
            return Ok((shape, elements));
        }
        let mut floats = vec![0_f32; rgb.len()];
        self.write(&rgb, bytemuck::cast_slice_mut(&mut floats))?;
        Ok((shape, bytemuck::cast_slice(&floats).to_vec()))
    }
}

/// The length of a file for messages.
fn size_of(file: &[u8]) -> String {
    format!("{} byte{}", file.len(), if file.len() == 1 { "" } else { "s" })
}

/// Checks the size that a file claims.
fn check_size(height: u64, width: u64) -> Result<()> {
    match height * width {
        1..=MOST_PIXELS => Ok(()),
        _ => Err(Error::corrupt(format!("a picture of {height} x {width} pixels: expected 1 to {MOST_PIXELS} pixels"))),
    }
}

/// Takes an area of pixels that were decoded whole. Returns it, and where it is in itself.
fn cut(pixels: Pixels, area: Area) -> (Pixels, Area) {
    let Area { top, left, height, width } = area;
    if (height, width) == (pixels.height, pixels.width) {
        return (pixels, area);
    }
    let rows = pixels.rgb.chunks_exact(pixels.width as usize * 3).skip(top as usize).take(height as usize);
    let rgb = rows.flat_map(|row| row.iter().skip(left as usize * 3).take(width as usize * 3)).copied().collect();
    (Pixels { width, height, scale: 1, size: (height, width), rgb }, Area { top: 0, left: 0, ..area })
}

thread_local! {
    /// Keeps its buffers from picture to picture.
    static RESIZER: RefCell<Resizer> = RefCell::new(Resizer::new());
}

fn resized(pixels: &Pixels, area: Area, height: u32, width: u32) -> Result<Vec<u8>> {
    let internal = |error: &dyn std::fmt::Display| Error::internal(format!("resizing to {height} x {width} pixels: {error}"));
    let source = ImageRef::new(pixels.width, pixels.height, &pixels.rgb, PixelType::U8x3).map_err(|error| internal(&error))?;
    let mut target = fast_image_resize::images::Image::new(width, height, PixelType::U8x3);
    let scaled = |length: u32| f64::from(length) / f64::from(pixels.scale);
    // Reduced sizes are rounded up, so the area lies inside.
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear)).crop(
        scaled(area.left),
        scaled(area.top),
        scaled(area.width),
        scaled(area.height),
    );
    RESIZER.with_borrow_mut(|resizer| resizer.resize(&source, &mut target, &options)).map_err(|error| internal(&error))?;
    Ok(target.into_vec())
}
