//! Numbers of any number of bits, one after the other: the lowest bit of the lowest byte is first.
//!
//! # Codes
//! ```text
//! fixed(v, w)   w bits, the lowest first
//! unary(v)      v ones and a zero
//! gamma(v)      v >= 1 of b + 1 bits: unary(b), and the low b bits of v
//! sized(v)      fixed(b, 8) and fixed(v, b) for v of b bits; 0 has none
//! gaps          ascending numbers below s: the gaps g between them (see the module) as unary(g >> k) and
//!               fixed(g, k), with k = floor(log2(s / n))
//! ```

use super::{ends_early, require};
use crate::Error;

/// Bits that are added or read at once, at most.
const AT_ONCE: u32 = 56;

/// Bytes in the making.
#[derive(Default)]
pub(in crate::sketch) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that are not bytes yet.
    waiting: u64,
    n_waiting: u32,
}

/// Of a bit length, for codes: 0 has none.
pub(super) fn length(value: u128) -> u32 {
    u128::BITS - value.leading_zeros()
}

/// The parameter of the code for `n` ascending numbers below `end`, of which there is at least one.
pub(super) fn gap_bits(n: usize, end: u64) -> u32 {
    (end / n as u64).max(1).ilog2()
}

impl BitWriter {
    /// At most 56 bits.
    #[inline]
    fn few(&mut self, value: u64, width: u32) {
        self.waiting |= value << self.n_waiting;
        self.n_waiting += width;
        // All eight bytes, of which those stay that are full: at most seven, since fewer than eight
        // bits waited.
        let n_full = self.n_waiting / 8;
        let n_bytes = self.bytes.len() + n_full as usize;
        self.bytes.extend_from_slice(&self.waiting.to_le_bytes());
        self.bytes.truncate(n_bytes);
        self.waiting >>= 8 * n_full;
        self.n_waiting %= 8;
    }

    /// The low bits of a value that has no others.
    #[inline]
    pub(super) fn fixed(&mut self, mut value: u128, mut width: u32) {
        while width > AT_ONCE {
            self.few(value as u64 & ((1 << AT_ONCE) - 1), AT_ONCE);
            value >>= AT_ONCE;
            width -= AT_ONCE;
        }
        // proof: what is left has at most 56 bits
        self.few(value as u64, width);
    }

    pub(super) fn unary(&mut self, mut value: u64) {
        while value >= u64::from(AT_ONCE) {
            self.few((1 << AT_ONCE) - 1, AT_ONCE);
            value -= u64::from(AT_ONCE);
        }
        self.few((1 << value) - 1, value as u32 + 1);
    }

    /// A number from 1 on.
    pub(super) fn gamma(&mut self, value: u64) {
        let low_bits = value.max(1).ilog2();
        self.unary(low_bits.into());
        self.fixed(u128::from(value & ((1 << low_bits) - 1)), low_bits);
    }

    pub(super) fn sized(&mut self, value: u128) {
        let width = length(value);
        self.fixed(width.into(), 8);
        self.fixed(value, width);
    }

    /// Ascending numbers, of which the reader knows how many there are and the last one.
    pub(super) fn gaps(&mut self, numbers: &[u32]) {
        if let Some(last) = numbers.last() {
            self.gaps_of(numbers, gap_bits(numbers.len(), u64::from(*last) + 1));
        }
    }

    /// Ascending numbers with a parameter that the reader knows.
    pub(super) fn gaps_of(&mut self, numbers: &[u32], k: u32) {
        let mut next = 0;
        for number in numbers {
            let gap = number - next;
            self.unary(u64::from(gap >> k));
            self.few(u64::from(gap & ((1 << k) - 1)), k);
            next = number + 1;
        }
    }

    /// The bytes, the last one filled with zeros.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.n_waiting > 0 {
            self.bytes.push(self.waiting as u8);
        }
        self.bytes
    }
}

/// Reads what [`BitWriter`] wrote, from bytes of anybody.
pub(in crate::sketch) struct BitReader<'a> {
    bytes: &'a [u8],
    /// In bits.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        BitReader { bytes, at: 0 }
    }

    /// Bits that are left.
    pub(super) fn n_left(&self) -> usize {
        (8 * self.bytes.len()).saturating_sub(self.at)
    }

    /// The next 57 bits or more; zeros beyond the end.
    #[inline(always)]
    fn peek(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        word >> (self.at % 8)
    }

    #[inline(always)]
    fn skip(&mut self, width: u32) -> Result<(), Error> {
        self.at += width as usize;
        if self.at > 8 * self.bytes.len() { Err(ends_early()) } else { Ok(()) }
    }

    /// At most 56 bits.
    #[inline(always)]
    pub(super) fn few(&mut self, width: u32) -> Result<u64, Error> {
        let value = self.peek() & ((1 << width) - 1);
        self.skip(width)?;
        Ok(value)
    }

    /// `n` numbers of as many bits each, at most 56.
    pub(super) fn many(&mut self, n: usize, width: u32) -> Result<impl ExactSizeIterator<Item = u64> + use<'a>, Error> {
        let (bytes, start) = (self.bytes, self.at);
        // proof that nothing overflows: there are at most 2^32 cells
        self.at += n * width as usize;
        if self.at > 8 * bytes.len() {
            return Err(ends_early());
        }
        Ok((0..n).map(move |k| {
            let bits = BitReader { bytes, at: start + k * width as usize };
            bits.peek() & ((1 << width) - 1)
        }))
    }

    #[inline]
    pub(super) fn fixed(&mut self, width: u32) -> Result<u128, Error> {
        let mut value = 0;
        for shift in (0..width).step_by(AT_ONCE as usize) {
            value |= u128::from(self.few((width - shift).min(AT_ONCE))?) << shift;
        }
        Ok(value)
    }

    #[inline(always)]
    fn unary(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        loop {
            let ones = self.peek().trailing_ones();
            if ones < AT_ONCE {
                self.skip(ones + 1)?;
                return Ok(value + u64::from(ones));
            }
            self.skip(AT_ONCE)?;
            value += u64::from(AT_ONCE);
        }
    }

    pub(super) fn gamma(&mut self) -> Result<u64, Error> {
        let low_bits = self.unary()?;
        require(low_bits < 64, "a number of rows has more than 64 bits")?;
        // proof: below 64
        let low_bits = low_bits as u32;
        Ok(1 << low_bits | self.fixed(low_bits)? as u64)
    }

    pub(super) fn sized(&mut self) -> Result<u128, Error> {
        let width = self.few(8)? as u32;
        require(width <= u128::BITS, "a number has more than 128 bits")?;
        let value = self.fixed(width)?;
        require(length(value) == width, "a number is longer than it need be")?;
        Ok(value)
    }

    /// `n` ascending numbers, of which `last` is the last.
    pub(super) fn gaps(&mut self, n: usize, last: u32) -> Result<Vec<u32>, Error> {
        if n == 0 {
            return Ok(Vec::new());
        }
        let numbers = self.gaps_of(n, last, gap_bits(n, u64::from(last) + 1))?;
        require(numbers.last() == Some(&last), "the last of some numbers is another than was said before")?;
        Ok(numbers)
    }

    /// `n` ascending numbers up to `most`, of which there is at least one.
    pub(super) fn gaps_of(&mut self, n: usize, most: u32, k: u32) -> Result<Vec<u32>, Error> {
        // Each takes a bit at least, so that what is allocated is bounded by what is there.
        require(n <= self.n_left(), "they end early")?;
        let mut numbers = Vec::with_capacity(n);
        let mut next = 0u64;
        for _ in 0..n {
            // Most are read with one look.
            let word = self.peek();
            let ones = word.trailing_ones();
            let gap = if ones + 1 + k <= AT_ONCE {
                self.skip(ones + 1 + k)?;
                u64::from(ones) << k | word >> (ones + 1) & ((1 << k) - 1)
            } else {
                self.unary()? << k | self.few(k)?
            };
            let number = next + gap;
            // Also before a quotient from anybody could overflow: it is below the number of bits.
            if number > most.into() {
                return Err(Error::invalid_sketch(format!("a number must be at most {most}, got {number}")));
            }
            // proof: at most `most`
            numbers.push(number as u32);
            next = number + 1;
        }
        Ok(numbers)
    }

    /// Checks that nothing is left but the zeros that fill the last byte.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        let n_left = self.n_left();
        require(n_left < 8, format!("{} bytes are left over", n_left / 8))?;
        // proof: below 8
        require(self.few(n_left as u32)? == 0, "the last byte is not filled with zeros")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut state = 1u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..200 {
            let mut bits = BitWriter::default();
            let values: Vec<(u64, u32, u64, u128)> = (0..50)
                .map(|_| {
                    let width = (next() % 57) as u32;
                    let wide = (u128::from(next()) << 64 | u128::from(next())) >> (next() % 128);
                    (next() & ((1 << width) - 1), width, (next() >> (next() % 64)).max(1), wide)
                })
                .collect();
            let mut numbers: Vec<u32> = (0..next() % 40).map(|_| (next() % (1 << (next() % 32))) as u32).collect();
            numbers.sort_unstable();
            numbers.dedup();
            for (value, width, count, wide) in &values {
                bits.fixed((*value).into(), *width);
                bits.gamma(*count);
                bits.sized(*wide);
                bits.fixed(*wide, length(*wide));
                bits.unary(count % 200);
            }
            bits.gaps(&numbers);
            let bytes = bits.finish();
            let mut bits = BitReader::new(&bytes);
            for (value, width, count, wide) in &values {
                assert_eq!(bits.few(*width).unwrap(), *value);
                assert_eq!(bits.gamma().unwrap(), *count);
                assert_eq!(bits.sized().unwrap(), *wide);
                assert_eq!(bits.fixed(length(*wide)).unwrap(), *wide);
                assert_eq!(bits.unary().unwrap(), count % 200);
            }
            assert_eq!(bits.gaps(numbers.len(), numbers.last().copied().unwrap_or(0)).unwrap(), numbers);
            bits.finish().unwrap();
        }
    }

    /// The size that the module of sketches states.
    #[test]
    fn gaps_take_no_more_bits_than_stated() {
        for (n, end, clustered) in
            [(2_500u64, 77_627u64, false), (2_500, 77_627, true), (10, 77_627, true), (77_627, 77_627, false)]
        {
            let numbers: Vec<u32> = (0..n)
                .map(|k| if clustered && k + 1 < n { k } else { (k + 1) * end / n - 1 })
                .map(|number| number as u32)
                .collect();
            let mut bits = BitWriter::default();
            bits.gaps(&numbers);
            let k = (end / n).ilog2();
            let most = n * u64::from(k + 1) + ((end - n) >> k) + 8;
            let size = 8 * bits.finish().len() as u64;
            assert!(size <= most, "{size} bits for {n} of {end}, at most {most}");
        }
    }
}
