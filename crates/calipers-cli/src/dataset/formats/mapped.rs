//! Bytes of a file without a copy: the one place with `unsafe`.
#![allow(unsafe_code)]

use std::fs::File;

use bytes::Bytes;
use memmap2::MmapOptions;

/// Some bytes of a regular file, mapped for as long as the result lives.
///
/// Only the part that is being worked on is mapped, so that a long file does not count as resident
/// memory.
pub(super) fn window(file: &File, start: u64, length: usize) -> std::io::Result<Bytes> {
    if length == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is private to this process and read-only, `Bytes` keeps it until its last
    // user is gone, and every bit pattern is a valid value of the numbers that are read from it
    // (booleans and text are converted from bytes). What no program can rule out is that another
    // one changes the file meanwhile: values are then those of neither version (all indexing of
    // this command is checked, so nothing else follows), and where the file has become shorter the
    // system ends this process with SIGBUS. Files are checked to be long enough before they are
    // mapped.
    let map = unsafe { MmapOptions::new().offset(start).len(length).map(file)? };
    Ok(Bytes::from_owner(map))
}
