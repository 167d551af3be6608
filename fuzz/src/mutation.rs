//! Random changes of files, as engines make them, from a seed.

/// Numbers at which decoders decide.
const EDGES: [u64; 16] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3ff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
];

/// Words at which readers of text decide.
const WORDS: [&str; 20] = [
    "0",
    "1",
    "-1",
    "0.5",
    "1e308",
    "-1e308",
    "1e-320",
    "1e999",
    "NaN",
    "inf",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    ",",
    "\n",
    "\r\n",
    "\"",
    "18446744073709551615",
];

/// A source of changed files.
#[derive(Debug)]
pub struct Mutation {
    state: u64,
}

impl Mutation {
    /// The same changes for the same seed.
    pub fn new(seed: u64) -> Self {
        Mutation { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d }
    }

    /// xorshift64* by Vigna.
    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        // The highest bits, which are the most random; the bias is far below what matters here.
        ((u128::from(self.next()) * end.max(1) as u128) >> 64) as usize
    }

    /// Replaces `input` by one of the files with a few changes.
    pub fn change(&mut self, corpus: &[Vec<u8>], max_len: usize, input: &mut Vec<u8>) {
        input.clear();
        if !corpus.is_empty() {
            input.extend(&corpus[self.below(corpus.len())]);
        }
        // Mostly few changes: many break all that is valid.
        for _ in 0..=self.below(4) * self.below(2) {
            self.change_once(corpus, input);
        }
        input.truncate(max_len);
    }

    fn change_once(&mut self, corpus: &[Vec<u8>], input: &mut Vec<u8>) {
        let at = self.below(input.len());
        let (start, end) = self.range(input.len());
        match self.below(10) {
            0 | 1 if !input.is_empty() => input[at] ^= 1 << self.below(8),
            2 if !input.is_empty() => input[at] = self.next() as u8,
            3 if !input.is_empty() => input[at] = input[at].wrapping_add(self.below(33) as u8).wrapping_sub(16),
            4 => {
                let edge = EDGES[self.below(EDGES.len())].to_le_bytes();
                let width = (1 << self.below(4)).min(input.len() - at.min(input.len()));
                input[at..at + width].copy_from_slice(&edge[..width]);
            }
            5 => drop(input.drain(start..end)),
            6 => {
                let copied = input[start..end].to_vec();
                input.splice(at..at, copied);
            }
            7 => {
                let word = WORDS[self.below(WORDS.len())].bytes();
                input.splice(start..end.min(start + 8), word);
            }
            8 if !corpus.is_empty() => {
                let other = &corpus[self.below(corpus.len())];
                let (from, to) = self.range(other.len());
                input.splice(start..end, other[from..to].iter().copied());
            }
            _ => {
                let n_bytes = 1 + self.below(8);
                let byte = self.next() as u8;
                input.splice(at..at, std::iter::repeat_n(byte, n_bytes));
            }
        }
    }

    /// A short range in so many bytes; a long one now and then.
    fn range(&mut self, len: usize) -> (usize, usize) {
        let longest = if self.below(8) == 0 { len } else { len.min(16) };
        let start = self.below(len + 1);
        (start, (start + self.below(longest + 1)).min(len))
    }
}
