//! Thrift's compact protocol, as far as it takes to look through the headers and the footer of a
//! Parquet file before parquet-rs believes the sizes in them.

/// Structs and lists are nested less than this.
const MOST_LEVELS: u32 = 16;

pub(super) const I32: u8 = 5;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;

/// Bytes of the protocol; `None` where they are none.
pub(super) struct Compact<'a>(pub(super) &'a [u8]);

impl Compact<'_> {
    /// Hands the number and the kind of each field of a struct to `take`, which reads or skips it.
    pub(super) fn fields(&mut self, mut take: impl FnMut(&mut Self, i64, u8) -> Option<()>) -> Option<()> {
        let mut id = 0_i64;
        loop {
            let field = self.byte()?;
            if field == 0 {
                return Some(());
            }
            let (delta, kind) = (field >> 4, field & 15);
            id = if delta == 0 { self.number()? } else { id.checked_add(i64::from(delta))? };
            take(self, id, kind)?;
        }
    }

    /// The number of elements of a list, and their kind. There cannot be more than there are bytes.
    pub(super) fn list(&mut self) -> Option<(u64, u8)> {
        let header = self.byte()?;
        let n = if header >> 4 == 15 { self.unsigned()? } else { u64::from(header >> 4) };
        (n <= self.0.len() as u64).then_some((n, header & 15))
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn number(&mut self) -> Option<i64> {
        let zigzag = self.unsigned()?;
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    fn skip_bytes(&mut self, n: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(n).ok()?..)?;
        Some(())
    }

    /// Moves past a value of a field.
    pub(super) fn skip(&mut self, kind: u8) -> Option<()> {
        self.skip_at(kind, 0)
    }

    fn skip_at(&mut self, kind: u8, level: u32) -> Option<()> {
        if level > MOST_LEVELS {
            return None;
        }
        match kind {
            // True and false, in the field itself.
            1 | 2 => Some(()),
            3 => self.skip_bytes(1),
            4..=6 => self.unsigned().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let length = self.unsigned()?;
                self.skip_bytes(length)
            }
            LIST | 10 => {
                let (n, kind) = self.list()?;
                // In a list, true and false are a byte each.
                let kind = if kind == 1 || kind == 2 { 3 } else { kind };
                (0..n).try_for_each(|_| self.skip_at(kind, level + 1))
            }
            STRUCT => self.fields(|inner, _, kind| inner.skip_at(kind, level + 1)),
            // Parquet has no maps.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_kind_are_skipped() {
        let cases: [(u8, &[u8]); 7] = [
            (1, &[]),
            (3, &[7]),
            (I32, &[0x80, 0x01]),
            (7, &[0; 8]),
            (8, &[2, 9, 9]),
            (LIST, &[0x21, 1, 2]),
            (STRUCT, &[0x15, 0x02, 0x19, 0x15, 0x04, 0x00]),
        ];
        for (kind, bytes) in cases {
            let all = [bytes, &[42]].concat();
            let mut compact = Compact(&all);
            assert_eq!((compact.skip(kind), compact.0), (Some(()), &[42][..]), "{kind}");
            if !bytes.is_empty() {
                assert_eq!(Compact(&bytes[..bytes.len() - 1]).skip(kind), None, "{kind}");
            }
        }
        // More elements than bytes, and structs in structs without end.
        assert_eq!(Compact(&[0xf5, 0xff, 0xff, 0xff, 0x07, 1]).skip(LIST), None);
        assert_eq!(Compact(&[0x1c; 1000]).skip(STRUCT), None);
    }
}
