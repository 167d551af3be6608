//! Some bytes of a file, read by their place: several threads share the file, and a file that
//! becomes shorter is an error. A map of it would end the process with SIGBUS.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};

use bytes::Bytes;

/// Bytes that the file must have.
pub(super) fn window(file: &File, start: u64, length: usize) -> Result<Bytes> {
    let mut bytes = vec![0; length];
    match read_exact_at(file, &mut bytes, start) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Err(Error::new(ErrorKind::UnexpectedEof, "the file became shorter while it was read"))
        }
        result => result.map(|()| bytes.into()),
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], start: u64) -> Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut start: u64) -> Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, start)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n_read => {
                bytes = &mut bytes[n_read..];
                start += n_read as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_became_shorter_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 16).unwrap();
        assert_eq!(window(&file, 4096, 3).unwrap(), [0; 3][..]);
        assert_eq!(window(&file, 0, 0).unwrap().len(), 0);
        file.set_len(4097).unwrap();
        let error = window(&file, 4096, 3).unwrap_err();
        assert_eq!(error.to_string(), "the file became shorter while it was read");
    }
}
