//! The footer of a Parquet file, looked through before parquet-rs reads it: that reserves memory
//! for as many row groups as the footer states, and calls itself for each level of nested columns,
//! so that a few bytes could end the process.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use anyhow::{Result, anyhow, bail};

use super::thrift::{Compact, I32, LIST, STRUCT};

/// The length of the footer and the magic bytes stand at the end.
const END: u64 = 8;
const MAGIC: &[u8] = b"PAR1";

/// Levels of nested columns; as many as Arrow's types may have.
const MOST_LEVELS: usize = 64;

/// The schema in the metadata of a file, and the number of children in one of its elements.
const SCHEMA: i64 = 2;
const N_CHILDREN: i64 = 5;

/// Rejects a footer that would take more than its bytes. Files that parquet-rs rejects by itself
/// are left to it.
pub(super) fn check(file: &mut File) -> Result<()> {
    let cannot_read = |error: std::io::Error| anyhow!("cannot read: {error}");
    let length = file.seek(SeekFrom::End(0)).map_err(cannot_read)?;
    let Some(end) = length.checked_sub(END) else { return Ok(()) };
    file.seek(SeekFrom::Start(end)).map_err(cannot_read)?;
    let mut ending = [0; END as usize];
    file.read_exact(&mut ending).map_err(cannot_read)?;
    let [a, b, c, d, magic @ ..] = ending;
    let footer_length = u64::from(u32::from_le_bytes([a, b, c, d]));
    let Some(start) = end.checked_sub(footer_length).filter(|_| magic == MAGIC) else { return Ok(()) };
    file.seek(SeekFrom::Start(start)).map_err(cannot_read)?;
    let mut footer = Vec::new();
    file.take(footer_length).read_to_end(&mut footer).map_err(cannot_read)?;
    let Some(levels) = n_levels(&footer) else { bail!("cannot read as Parquet: the file is damaged") };
    if levels > MOST_LEVELS {
        bail!("cannot read as Parquet: its columns are nested more than {MOST_LEVELS} levels deep");
    }
    Ok(())
}

/// How deep columns are nested; `None` if a list has more elements than the footer has bytes, or
/// the footer is no struct.
fn n_levels(footer: &[u8]) -> Option<usize> {
    // Children that are still to come, of each element around the present one.
    let (mut around, mut deepest) = (Vec::<i64>::new(), 0);
    Compact(footer).fields(|footer, id, kind| {
        if (id, kind) != (SCHEMA, LIST) {
            return footer.skip(kind);
        }
        let (n, kind) = footer.list()?;
        (0..n).try_for_each(|_| {
            if kind != STRUCT {
                return footer.skip(kind);
            }
            let mut n_children = 0;
            footer.fields(|footer, id, kind| match (id, kind) {
                (N_CHILDREN, I32) => {
                    n_children = footer.number()?;
                    Some(())
                }
                _ => footer.skip(kind),
            })?;
            while around.last() == Some(&0) {
                around.pop();
            }
            if let Some(left) = around.last_mut() {
                *left -= 1;
            }
            if n_children > 0 {
                around.push(n_children);
                deepest = deepest.max(around.len());
            }
            Some(())
        })
    })?;
    Some(deepest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schema of elements with so many children each, in a list that states its length.
    fn footer(n_stated: u8, children: &[u8]) -> Vec<u8> {
        let element = |n: &u8| if *n == 0 { vec![0x15, 0x02, 0] } else { vec![0x15, 0x02, 0x45, 2 * n, 0] };
        let elements: Vec<u8> = children.iter().flat_map(element).collect();
        [&[0x15, 0x04, 0x19, 0xfc, n_stated][..], &elements, &[0]].concat()
    }

    #[test]
    fn levels_are_counted() {
        assert_eq!(n_levels(&footer(1, &[0])), Some(0));
        assert_eq!(n_levels(&footer(3, &[2, 0, 0])), Some(1));
        assert_eq!(n_levels(&footer(5, &[2, 1, 0, 1, 0])), Some(2));
        assert_eq!(n_levels(&footer(101, &[&[1; 100][..], &[0]].concat())), Some(100));
    }

    #[test]
    fn a_list_has_no_more_elements_than_bytes() {
        assert_eq!(n_levels(&footer(127, &[0])), None);
        let row_groups = [0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0];
        assert_eq!(n_levels(&row_groups), None);
    }
}
