//! The sketch as bytes.

use super::sums::{MOST_ROWS, NODES, Node, Sums, WIDEST};
use super::{MOST_CLASSES, TemperatureSketch};
use crate::Error;
use crate::data::{InputReport, KINDS};

const MAGIC: &[u8; 8] = b"calitemp";

/// Version 2 has the number of rows with inexact sums, and is written only where there are any.
const VERSIONS: [u8; 2] = [1, 2];

impl TemperatureSketch {
    /// The sketch as bytes, the same for the same rows however they came.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let has_inexact_sums = self.report.n_inexact_sums > 0;
        bytes.push(VERSIONS[usize::from(has_inexact_sums)]);
        let words = |bytes: &mut Vec<u8>, words: &[u64]| words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        let sums = &self.sums;
        words(&mut bytes, &[self.n_classes as u64, self.clip.to_bits(), sums.n, sums.n_clipped, sums.widest.to_bits()]);
        words(&mut bytes, &[self.report.n_rows, self.report.n_rounded, self.report.n_ties]);
        words(&mut bytes, &KINDS.map(|kind| self.report.left_out.get(kind).copied().unwrap_or(0)));
        if has_inexact_sums {
            words(&mut bytes, &[self.report.n_inexact_sums]);
        }
        for sum in [sums.weight, sums.square, sums.own, sums.mean] {
            bytes.extend(sum.to_le_bytes());
        }
        for node in &sums.nodes {
            for sum in [node.log, node.first, node.second, node.third, node.square, node.remainder] {
                bytes.extend(sum.to_le_bytes());
            }
            words(&mut bytes, &[node.n_unbounded]);
        }
        words(&mut bytes, &sums.of_class);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes
    }

    /// The sketch that [`to_bytes`](Self::to_bytes) wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let require = |valid: bool, reason: &str| if valid { Ok(()) } else { Err(Error::invalid_sketch(reason)) };
        require(bytes.starts_with(MAGIC), "they do not begin with \"calitemp\"")?;
        let version = bytes.get(MAGIC.len()).copied().ok_or_else(ends_early)?;
        require(VERSIONS.contains(&version), &format!("version must be 1 or 2, got {version}"))?;
        let (content, checksum) = bytes.split_last_chunk::<4>().ok_or_else(ends_early)?;
        let is_intact = crc32fast::hash(content) == u32::from_le_bytes(*checksum);
        require(is_intact, "the checksum is wrong, so they were damaged or cut")?;
        let mut reader = Reader(content.get(MAGIC.len() + 1..).ok_or_else(ends_early)?);
        let n_classes = reader.word()?;
        require((2..=MOST_CLASSES as u64).contains(&n_classes), "the number of classes is out of range")?;
        let clip = f64::from_bits(reader.word()?);
        require(clip > 0.0 && clip < 0.5, "the clip is not above 0 and below 1/2")?;
        let (n, n_clipped, widest) = (reader.word()?, reader.word()?, f64::from_bits(reader.word()?));
        require(n <= MOST_ROWS, "there are more rows than fit")?;
        require((0.0..=WIDEST).contains(&widest), "the range of scores is out of range")?;
        let mut report = InputReport { n_rows: reader.word()?, ..InputReport::default() };
        report.n_rounded = reader.word()?;
        report.n_ties = reader.word()?;
        let mut n_left_out = Some(0u64);
        for kind in KINDS {
            let count = reader.word()?;
            if count > 0 {
                report.left_out.insert(kind, count);
            }
            n_left_out = n_left_out.and_then(|n| n.checked_add(count));
        }
        require(report.n_rows <= MOST_ROWS, "more rows were read than fit")?;
        let n_kept = n_left_out.and_then(|n_left_out| report.n_rows.checked_sub(n_left_out));
        require(n_kept.is_some_and(|n_kept| n <= n_kept), "there are more rows than were read and not left out")?;
        // So merging cannot overflow, since all rows together are at most `MOST_ROWS`.
        let n_scores = report.n_rows * n_classes;
        let counts_fit = report.n_ties <= report.n_rows && report.n_rounded <= n_scores && n_clipped <= n_scores;
        require(counts_fit, "a count is larger than rows and classes allow")?;
        if version == VERSIONS[1] {
            report.n_inexact_sums = reader.word()?;
            let has_room = (1..=report.n_rows).contains(&report.n_inexact_sums);
            require(has_room, "the number of rows with inexact sums is out of range")?;
        }
        let [weight, square, own, mean] = [reader.sum()?, reader.sum()?, reader.sum()?, reader.sum()?];
        require((weight > 0) == (n > 0) && [square, own, mean].iter().all(|sum| *sum >= 0), "a sum is negative")?;
        let mut nodes = Vec::with_capacity(NODES);
        for _ in 0..NODES {
            let [log, first, second] = [reader.sum()?, reader.sum()?, reader.sum()?];
            let [third, square, remainder] = [reader.sum()?, reader.sum()?, reader.sum()?];
            let n_unbounded = reader.word()?;
            let is_valid = [log, first, second, square, remainder].iter().all(|sum| *sum >= 0) && n_unbounded <= n;
            require(is_valid, "a sum is negative")?;
            nodes.push(Node { log, first, second, third, square, remainder, n_unbounded });
        }
        require(reader.0.len() as u64 == 8 * n_classes, "they are not as long as the number of classes says")?;
        let mut of_class = Vec::with_capacity(n_classes as usize);
        for _ in 0..n_classes {
            of_class.push(reader.word()?);
        }
        let all = of_class.iter().try_fold(0u64, |sum, n| sum.checked_add(*n));
        require(all == Some(n), "the rows of classes do not add up")?;
        let sums = Sums { nodes, n, of_class, n_clipped, weight, square, own, mean, widest };
        Ok(TemperatureSketch { n_classes: n_classes as usize, clip, sums, report })
    }
}

fn ends_early() -> Error {
    Error::invalid_sketch("they end early")
}

/// What is left of the bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&mut self) -> Result<u64, Error> {
        let (word, rest) = self.0.split_first_chunk::<8>().ok_or_else(ends_early)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*word))
    }

    fn sum(&mut self) -> Result<i128, Error> {
        let (sum, rest) = self.0.split_first_chunk::<16>().ok_or_else(ends_early)?;
        self.0 = rest;
        Ok(i128::from_le_bytes(*sum))
    }
}
