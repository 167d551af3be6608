//! The sizes that an Arrow IPC file states, checked before memory is allocated.
//!
//! arrow-ipc believes them, and a damaged one can ask for more memory than there is, which ends the
//! process without a word of ours. What it will ask for is the body of each message, and the stated
//! size of each compressed buffer.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use anyhow::{Result, anyhow, bail};
use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{Message, RecordBatch, root_as_footer, root_as_message};

use super::ipc::FORMAT;
use super::{Expansion, cannot_read};

/// Stands before the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];
const FOOTER_END: usize = 10;

/// Checks all messages that the footer of a file lists; returns the number of rows of each record
/// batch.
pub(crate) fn check_file(file: &mut File, expansion: Expansion) -> Result<Vec<u64>> {
    let file_length = length(file)?;
    let Some(end) = file_length.checked_sub(FOOTER_END as u64) else { bail!(damaged()) };
    let mut ending = [0; FOOTER_END];
    ending.copy_from_slice(&read(file, end, FOOTER_END as u64)?);
    let footer_length = read_footer_length(ending).map_err(|error| cannot_read(FORMAT)(Box::new(error)))? as u64;
    let footer = read(file, end.checked_sub(footer_length).ok_or_else(damaged)?, footer_length)?;
    let footer = root_as_footer(&footer).map_err(|_| damaged())?;
    let (mut n_rows, mut n_bytes) = (Vec::new(), 0_u64);
    for block in footer.dictionaries().into_iter().flatten().chain(footer.recordBatches().into_iter().flatten()) {
        let (start, metadata, body) =
            (size(block.offset())?, size(block.metaDataLength().into())?, size(block.bodyLength())?);
        let body_start = start.checked_add(metadata).ok_or_else(damaged)?;
        if body_start.checked_add(body).is_none_or(|end| end > file_length) {
            bail!(damaged());
        }
        let bytes = read(file, start, metadata)?;
        let prefix = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
        let message = root_as_message(bytes.get(prefix..).ok_or_else(damaged)?).map_err(|_| damaged())?;
        n_bytes = check_buffers(file, &message, body_start, body)?.saturating_add(n_bytes);
        expansion.check(n_bytes)?;
        n_rows.extend(rows(&message)?);
    }
    Ok(n_rows)
}

/// Checks the messages of a stream, one after the other; returns the number of rows of each record
/// batch.
pub(crate) fn check_stream(file: &mut File, expansion: Expansion) -> Result<Vec<u64>> {
    let file_length = length(file)?;
    let mut place = 0;
    let (mut n_rows, mut n_bytes) = (Vec::new(), 0_u64);
    while place < file_length {
        let mut prefix = read(file, place, 4)?;
        place += 4;
        if prefix == CONTINUATION {
            prefix = read(file, place, 4)?;
            place += 4;
        }
        let metadata = prefix.try_into().map(i32::from_le_bytes).map_err(|_| damaged())?;
        if metadata == 0 {
            break;
        }
        let bytes = read(file, place, size(metadata.into())?)?;
        let message = root_as_message(&bytes).map_err(|_| damaged())?;
        place += bytes.len() as u64;
        let body = size(message.bodyLength())?;
        let end = place.checked_add(body).filter(|end| *end <= file_length).ok_or_else(damaged)?;
        n_bytes = check_buffers(file, &message, place, body)?.saturating_add(n_bytes);
        expansion.check(n_bytes)?;
        n_rows.extend(rows(&message)?);
        place = end;
    }
    Ok(n_rows)
}

/// The number of rows of a record batch; `None` for other messages.
fn rows(message: &Message<'_>) -> Result<Option<u64>> {
    message.header_as_record_batch().map(|batch| size(batch.length())).transpose()
}

/// Each compressed buffer begins with the size that it will have; returns that of all.
fn check_buffers(file: &mut File, message: &Message<'_>, body_start: u64, body: u64) -> Result<u64> {
    let of_dictionary = || message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let batch: Option<RecordBatch<'_>> = message.header_as_record_batch().or_else(of_dictionary);
    let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else { return Ok(0) };
    let mut n_bytes = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (offset, length) = (size(buffer.offset())?, size(buffer.length())?);
        if offset.checked_add(length).is_none_or(|end| end > body) {
            bail!(damaged());
        }
        if length < 8 {
            continue;
        }
        let stated = read(file, body_start + offset, 8)?.try_into().map(i64::from_le_bytes).map_err(|_| damaged())?;
        // -1 means that the buffer is as it is.
        if stated != -1 {
            n_bytes = n_bytes.saturating_add(size(stated)?);
            let stated = usize::try_from(stated).map_err(|_| damaged())?;
            Vec::<u8>::new().try_reserve_exact(stated).map_err(|_| damaged())?;
        }
    }
    Ok(n_bytes)
}

fn length(file: &mut File) -> Result<u64> {
    file.seek(SeekFrom::End(0)).map_err(|error| anyhow!("cannot read: {error}"))
}

/// Some bytes, if the file has them: never more than the file has.
fn read(file: &mut File, start: u64, length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start)).map_err(|_| damaged())?;
    file.take(length).read_to_end(&mut bytes).map_err(|error| anyhow!("cannot read: {error}"))?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(damaged()) }
}

fn size(stated: i64) -> Result<u64> {
    u64::try_from(stated).map_err(|_| damaged())
}

fn damaged() -> anyhow::Error {
    anyhow!("cannot read as {FORMAT}: the file is damaged")
}
