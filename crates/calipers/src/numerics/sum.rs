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

#[cfg(test)]
mod tests {
    use super::Sum;

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
