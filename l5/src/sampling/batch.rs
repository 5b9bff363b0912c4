//! The arrays of a batch of samples: one array per key of L5Kit's samples, with the samples along its first axis.
//!
//! The key `image` is left out, because rasterizers write it. `world_to_image` is left out, because it is `raster_from_world` by another
//! name. Arrays are flat: the last axis varies fastest.

use tetrys::{Error, Result};

/// The length of a host name in `host_id`, in bytes.
pub const HOST_BYTES: usize = 70;

/// The kind of the samples of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The ego car's.
    Ego,
    /// Agents'.
    Agent,
}

/// The lengths of the arrays of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampleShape {
    /// `history_num_frames`: the number H of frames before the current one.
    pub history: usize,
    /// `future_num_frames`: the number F of frames after the current one.
    pub future: usize,
    /// The ego car or agents.
    pub kind: Kind,
}

/// Declares the arrays once, for the batch and for parts of it. Each line is a name, a type, and the number of values per sample.
macro_rules! arrays {
    ($($(#[$doc:meta])* $name:ident: $type:ty = |$shape:ident| $len:expr;)*) => {
        /// A batch of B samples. H is the number of history frames and F that of future frames.
        ///
        /// ```
        /// use tetrys_l5::sampling::{Kind, SampleShape, Samples};
        /// let shape = SampleShape { history: 10, future: 50, kind: Kind::Ego };
        /// let samples = Samples::new(shape, 64)?;
        /// assert_eq!(samples.target_positions.len(), 64 * 50 * 2);
        /// # Ok::<(), tetrys::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        pub struct Samples {
            /// The shape of each sample.
            pub shape: SampleShape,
            /// The number B of samples.
            pub len: usize,
            $($(#[$doc])* pub $name: Vec<$type>,)*
        }

        /// The places of consecutive samples in a batch. Parts of a batch can be filled by several threads.
        #[derive(Debug)]
        pub struct SampleSlots<'a> {
            /// The shape of each sample.
            pub shape: SampleShape,
            /// The number B of samples.
            pub len: usize,
            $($(#[$doc])* pub $name: &'a mut [$type],)*
        }

        impl Samples {
            /// Creates a batch of `len` samples of zeros.
            ///
            /// # Errors
            /// `Invalid` if an array would not fit into memory.
            pub fn new(shape: SampleShape, len: usize) -> Result<Self> {
                check(&shape, len)?;
                Ok(Self { shape, len, $($name: vec![Default::default(); len * per_sample::$name(&shape)],)* })
            }

            /// Returns the places of all samples.
            pub fn slots(&mut self) -> SampleSlots<'_> {
                SampleSlots { shape: self.shape, len: self.len, $($name: &mut self.$name,)* }
            }
        }

        impl<'a> SampleSlots<'a> {
            /// Returns the first `len` samples and the others.
            ///
            /// # Errors
            /// `Invalid` if there are fewer samples, or if an array is too short for its samples.
            pub fn split_at(self, len: usize) -> Result<(Self, Self)> {
                let rest = self.len.checked_sub(len).ok_or_else(|| too_short("batch", self.len, len))?;
                let shape = self.shape;
                $(
                    let found = self.$name.len();
                    let expected = len * per_sample::$name(&shape);
                    let $name = self.$name.split_at_mut_checked(expected);
                    let $name = $name.ok_or_else(|| too_short(stringify!($name), found, expected))?;
                )*
                Ok((Self { shape, len, $($name: $name.0,)* }, Self { shape, len: rest, $($name: $name.1,)* }))
            }

            /// Returns the place of one sample.
            ///
            /// # Errors
            /// `Invalid` if there is no such sample, or if an array is too short for it.
            pub fn one(&mut self, sample: usize) -> Result<SampleSlots<'_>> {
                let shape = self.shape;
                if sample >= self.len {
                    return Err(too_short("batch", self.len, sample + 1));
                }
                $(
                    let found = self.$name.len();
                    let len = per_sample::$name(&shape);
                    let $name = self.$name.get_mut(sample * len..(sample + 1) * len);
                    let $name = $name.ok_or_else(|| too_short(stringify!($name), found, (sample + 1) * len))?;
                )*
                Ok(SampleSlots { shape, len: 1, $($name,)* })
            }
        }

        /// The number of values per sample in each array.
        mod per_sample {
            use super::{Kind, SampleShape, HOST_BYTES};
            $(pub(super) fn $name($shape: &SampleShape) -> usize { $len })*
        }

        /// Checks that all arrays fit into memory.
        fn check(shape: &SampleShape, len: usize) -> Result<()> {
            let steps = shape.history.checked_add(shape.future).and_then(|steps| steps.checked_add(HOST_BYTES));
            let bytes = steps.and_then(|steps| steps.checked_mul(16)).and_then(|bytes| bytes.checked_mul(len));
            if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
                return Err(Error::invalid(format!("{len} samples of {shape:?} do not fit into memory")));
            }
            Ok(())
        }
    };
}

arrays! {
    /// `[B]`: the state: the place of the current frame in its scene.
    frame_index: i64 = |_shape| 1;
    /// `[B, F, 2]`: the positions in the next frames, in metres in the frame of the agent.
    target_positions: f32 = |shape| shape.future * 2;
    /// `[B, F, 1]`: the turns until the next frames, in radians.
    target_yaws: f32 = |shape| shape.future;
    /// `[B, F, 2]`: the velocities in the next frames, in m/s: differences of positions, 0 where unavailable.
    target_velocities: f32 = |shape| shape.future * 2;
    /// `[B, F]`: 1 where the agent is in the frame, otherwise 0.
    target_availabilities: f32 = |shape| shape.future;
    /// `[B, H + 1, 2]`: the positions in the current frame and those before it, the current one first.
    history_positions: f32 = |shape| (shape.history + 1) * 2;
    /// `[B, H + 1, 1]`: the turns since the current frame and those before it.
    history_yaws: f32 = |shape| shape.history + 1;
    /// `[B, H, 2]`: the velocities from the frame before to each of these frames.
    history_velocities: f32 = |shape| shape.history * 2;
    /// `[B, H + 1]`: 1 where the agent is in the frame, otherwise 0.
    history_availabilities: f32 = |shape| shape.history + 1;
    /// `[B, 3, 3]`: from the world to pixels.
    raster_from_world: f64 = |_shape| 9;
    /// `[B, 3, 3]`: from the frame of the agent to pixels.
    raster_from_agent: f64 = |_shape| 9;
    /// `[B, 3, 3]`: from the world to the frame of the agent.
    agent_from_world: f64 = |_shape| 9;
    /// `[B, 3, 3]`: from the frame of the agent to the world.
    world_from_agent: f64 = |_shape| 9;
    /// `[B, 2]`: the current position in the world, in metres.
    centroid: f64 = |_shape| 2;
    /// `[B]`: the current heading in the world, in radians.
    yaw: f64 = |_shape| 1;
    /// `[B, 3]`: `extent` of the ego car: length, width and height in metres. Empty for agents.
    ego_extent: f64 = |shape| if shape.kind == Kind::Ego { 3 } else { 0 };
    /// `[B, 3]`: `extent` of an agent: length, width and height in metres. Empty for the ego car.
    agent_extent: f32 = |shape| if shape.kind == Kind::Agent { 3 } else { 0 };
    /// `[B, H + 1, 2]`: length and width in the current frame and those before it, 0 where unavailable.
    history_extents: f32 = |shape| (shape.history + 1) * 2;
    /// `[B, F, 2]`: length and width in the next frames, 0 where unavailable.
    future_extents: f32 = |shape| shape.future * 2;
    /// `[B]`: the length of the first of `history_velocities`, in m/s. Empty if H is 0, where samples do not have this key.
    curr_speed: f32 = |shape| usize::from(shape.history > 0);
    /// `[B]`: the scene.
    scene_index: i64 = |_shape| 1;
    /// `[B, 70]`: the host of the scene in ASCII, then zeros.
    host_id: u8 = |_shape| HOST_BYTES;
    /// `[B]`: the time of the current frame, in ns.
    timestamp: i64 = |_shape| 1;
    /// `[B]`: the track id, or -1 for the ego car.
    track_id: i64 = |_shape| 1;
}

/// Returns the error of an array that cannot hold its samples.
fn too_short(array: &str, found: usize, expected: usize) -> Error {
    Error::invalid(format!("array {array} of a batch has the length {found}, expected at least {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: SampleShape = SampleShape { history: 2, future: 3, kind: Kind::Agent };

    #[test]
    fn parts_of_a_batch_do_not_overlap() {
        let mut samples = Samples::new(SHAPE, 5).unwrap();
        let (mut first, second) = samples.slots().split_at(2).unwrap();
        let (mut second, third) = second.split_at(2).unwrap();
        assert_eq!((first.len, second.len, third.len), (2, 2, 1));
        first.one(1).unwrap().target_yaws.fill(1.0);
        second.one(0).unwrap().target_yaws.fill(2.0);
        third.target_yaws.fill(3.0);
        assert_eq!(samples.target_yaws, [0., 0., 0., 1., 1., 1., 2., 2., 2., 0., 0., 0., 3., 3., 3.]);
    }

    #[test]
    fn places_beyond_the_batch_and_impossible_sizes_are_errors() {
        let mut samples = Samples::new(SHAPE, 2).unwrap();
        assert!(samples.slots().one(2).is_err());
        assert!(samples.slots().split_at(3).is_err());
        samples.yaw.clear();
        assert_eq!(samples.slots().one(1).unwrap_err().to_string(), "array yaw of a batch has the length 0, expected at least 2");
        assert!(Samples::new(SampleShape { future: usize::MAX, ..SHAPE }, 1).is_err());
        assert!(Samples::new(SHAPE, usize::MAX / 8).is_err());
    }
}
