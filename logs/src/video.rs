//! Encoded video: frames that are differences to other frames, so a decoder needs all of them. Tetrys decodes none: their bytes are
//! stored as they are, and a log of whose frames some may lack gets a warning.

use crate::{
    layout::Stream,
    recipe::{OnEqual, Policy},
};

/// Numbers of frames of a topic.
pub(crate) struct Frames {
    pub(crate) all: u64,
    /// Frames that no row has.
    pub(crate) skipped: u64,
    /// Frames that were late, or had no stamp.
    pub(crate) left_out: u64,
}

/// Whether messages of this type are frames of encoded video.
pub(crate) fn is_video(schema: &str) -> bool {
    ["CompressedVideo", "FFMPEGPacket"].contains(&schema.rsplit(['/', '.']).next().unwrap_or_default())
}

/// Returns a sentence about the frames of a topic of encoded video that the rows of a log may lack. `dropped` is the number of rows that
/// another match has left out.
///
/// A clock with `on_equal = "keep"` has a row for each frame. A match has the frames that the rows of another clock choose; only `all`
/// may give each frame to one row. The frames of a match with a table of its own are the clock of that table.
pub(crate) fn warning(stream: &Stream, frames: &Frames, on_equal: OnEqual, dropped: u64) -> Option<String> {
    let Frames { all, skipped, left_out } = frames;
    let is_whole = match stream.policy() {
        _ if stream.is_apart() => true,
        // The rows of an import may be bounded (`--from`): frames outside are not missed.
        None => on_equal == OnEqual::Keep && dropped == 0 && *left_out == 0,
        Some(Policy::All) => skipped + left_out == 0,
        Some(_) => false,
    };
    let advice = match stream.matched {
        None => {
            "keep them with on_equal = \"keep\", zero_stamp = \"keep\", max_lateness = \"none\", and without missing = \"drop\""
        }
        Some(_) => "make the topic the clock with on_equal = \"keep\", or give the match a table of its own (table = \"URL\")",
    };
    (!is_whole).then(|| {
        format!(
            "topic {}: a decoder of encoded video needs all frames in their order, and {} of {all} are in no row: {advice}",
            stream.topic,
            skipped + left_out,
        )
    })
}
