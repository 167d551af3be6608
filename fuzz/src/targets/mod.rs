//! One file for each decoder.

mod answers;
#[cfg(feature = "command")]
mod files;
mod map_json;
mod monitor_json;
mod options;
mod sketch_answers;
mod sketch_bytes;
mod sketch_rows;
mod sketch_words;
mod temperature_bytes;

use crate::Target;

/// Of the core first, then those of the command.
pub(crate) fn all() -> Vec<&'static Target> {
    #[cfg_attr(not(feature = "command"), allow(unused_mut))]
    let mut all: Vec<&'static Target> = vec![
        &sketch_bytes::TARGET,
        &sketch_rows::TARGET,
        &sketch_words::TARGET,
        &sketch_answers::TARGET,
        &temperature_bytes::TARGET,
        &map_json::TARGET,
        &monitor_json::TARGET,
        &options::TARGET,
    ];
    #[cfg(feature = "command")]
    all.extend(files::TARGETS);
    all
}

/// The bytes with the checksum that both kinds of sketches end with.
///
/// An engine would not find it: so inputs are without, and every one of them gets past the check.
fn with_checksum(content: &[u8]) -> Vec<u8> {
    let mut bytes = content.to_vec();
    bytes.extend(crc32fast::hash(content).to_le_bytes());
    bytes
}

/// What is printed of an error is one line, and is no empty one.
#[track_caller]
fn check_error(error: &impl std::fmt::Display) {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "an error of other than one line: {text:?}");
}
