//! Sums whose error does not grow with their length.

/// A running sum with a second word for what rounding loses (Neumaier's compensation).
///
/// # Accuracy
/// After n additions the error is at most `ε |Σx| + 2 n² ε² Σ|x|` with ε = 2^-53 (Neumaier 1974):
/// for n up to 10^8 and terms of one sign that is below `2 ε Σ|x|`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    head: f64,
    tail: f64,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        let head = self.head + value;
        self.tail +=
            if self.head.abs() >= value.abs() { (self.head - head) + value } else { (value - head) + self.head };
        self.head = head;
    }

    /// An integer multiple of 2^-bits, with more digits than a double has.
    pub(crate) fn of_fixed_point(value: u128, bits: u32) -> Self {
        let unit = 2f64.powi(-(bits as i32));
        let head = value as f64;
        // proof: the nearest double is within a few bits of the value, which has at most 127
        let tail = value as i128 - head as i128;
        Sum { head: head * unit, tail: tail as f64 * unit }
    }

    pub(crate) fn merge(&mut self, other: Sum) {
        self.add(other.head);
        self.tail += other.tail;
    }

    /// This sum less another, part by part.
    pub(crate) fn minus(self, other: Sum) -> f64 {
        (self.head - other.head) + (self.tail - other.tail)
    }

    pub(crate) fn value(self) -> f64 {
        self.head + self.tail
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sum = Sum::default();
        values.into_iter().for_each(|value| sum.add(value));
        sum
    }
}

/// Sums side by side, for values that come in blocks: in one [`Sum`], each addition waits for the
/// one before. Without a branch, so that the compiler adds several at once.
///
/// # Accuracy
/// That of [`Sum`], for each of the sums and for their total.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LaneSum {
    heads: [f64; LANES],
    tails: [f64; LANES],
}

/// Values of a block.
pub(crate) const LANES: usize = 8;

impl LaneSum {
    #[inline(always)]
    pub(crate) fn add(&mut self, values: [f64; LANES]) {
        for (lane, value) in values.into_iter().enumerate() {
            // Knuth's sum of two numbers with its rounding error, whichever is the larger.
            let head = self.heads[lane];
            let sum = head + value;
            let part = sum - head;
            self.tails[lane] += (head - (sum - part)) + (value - part);
            self.heads[lane] = sum;
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.add(other.heads);
        self.tails.iter_mut().zip(other.tails).for_each(|(tail, other)| *tail += other);
    }

    pub(crate) fn value(self) -> f64 {
        let mut sum: Sum = self.heads.into_iter().collect();
        self.tails.into_iter().for_each(|tail| sum.add(tail));
        sum.value()
    }
}

#[cfg(test)]
mod tests {
    use super::{LaneSum, Sum};

    #[test]
    fn sums_side_by_side_keep_all_their_digits() {
        let value = |k: u32| (f64::from(k) * 0.37).sin() * 10f64.powi(k as i32 % 17);
        let (mut lanes, mut sum) = (LaneSum::default(), Sum::default());
        for start in (0..80_000).step_by(8) {
            let values = std::array::from_fn(|lane| value(start + lane as u32));
            lanes.add(values);
            values.into_iter().for_each(|value| sum.add(value));
        }
        assert!((lanes.value() - sum.value()).abs() <= 2.0 * f64::EPSILON * sum.value().abs());
    }

    #[test]
    fn small_terms_survive_between_large_ones() {
        let sum: Sum = [1e16, 1.0, 1.0, -1e16, 1e-3].into_iter().collect();
        assert_eq!(sum.value(), 2.001);
    }

    #[test]
    fn ten_million_terms_keep_all_their_digits() {
        let sum: Sum = std::iter::repeat_n(0.1, 10_000_000).collect();
        assert!((sum.value() - 1e6).abs() < 1e-9);
    }
}
