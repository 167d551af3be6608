//! Bins of equal width, found without a search.

use crate::Error;

/// Bins ((b - 1)/B, b/B], the first closed, with edges rounded to double precision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EqualWidth {
    n_bins: f64,
    /// From 0 to 1.
    edges: Vec<f64>,
}

impl EqualWidth {
    pub(crate) fn new(n_bins: usize) -> Self {
        EqualWidth { n_bins: n_bins as f64, edges: (0..=n_bins).map(|k| k as f64 / n_bins as f64).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.edges.len() - 1
    }

    /// The bin of p in [0, 1].
    ///
    /// p · B and the edges are rounded by 2^-53 of themselves, far less than a bin for up to 10^6
    /// of them: the bin below p · B is the right one or a neighbour of it, and two comparisons
    /// tell.
    #[inline(always)]
    pub(crate) fn place(&self, p: f64) -> usize {
        let guess = ((p * self.n_bins) as usize).min(self.edges.len() - 2);
        let guess = guess + usize::from(p > self.edges[guess + 1]);
        guess - usize::from((p <= self.edges[guess]) & (guess > 0))
    }

    /// The bins of several p at once. Where none of them is next to an edge, the product gives
    /// the bin, and no edge has to be looked up.
    #[inline(always)]
    pub(crate) fn places<const N: usize>(&self, p: &[f64; N]) -> [u32; N] {
        // Added to a number, it leaves the nearest integer in the last bits.
        const TO_INTEGER: f64 = (1u64 << 52) as f64;
        // More than product and edges are rounded by, for up to 10^6 bins.
        const NEAR: f64 = 1e-9;
        // One flag for all: the smallest distance would be found one after another.
        let (mut bins, mut is_near) = ([0; N], false);
        for (bin, p) in bins.iter_mut().zip(p) {
            let product = p * self.n_bins;
            let shifted = product + TO_INTEGER;
            let integer = shifted - TO_INTEGER;
            *bin = (shifted.to_bits() - TO_INTEGER.to_bits()) as u32 - u32::from(integer > product);
            is_near |= (product - integer).abs() < NEAR;
        }
        if is_near {
            bins.iter_mut().zip(p).for_each(|(bin, p)| *bin = self.place(*p) as u32);
        }
        bins
    }

    /// Whether a sketch can keep so many bins.
    pub(crate) fn check(n_bins: usize) -> Result<(), Error> {
        match n_bins {
            1..=10_000 => Ok(()),
            _ => Err(Error::setting("n_bins", "from 1 to 10000 in a sketch", n_bins)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_those_of_a_search() {
        for n_bins in [1, 2, 3, 7, 10, 15, 100, 997, 1_000_000] {
            let bins = EqualWidth::new(n_bins);
            let near = |k: usize| {
                let edge = k as f64 / n_bins as f64;
                [edge.next_down().max(0.0), edge, edge.next_up().min(1.0)]
            };
            let step = (n_bins / 1000).max(1);
            let edges = (0..=n_bins).step_by(step).flat_map(near);
            for p in edges.chain((0..1000).map(|k| f64::from(k) / 999.0)) {
                let searched = bins.edges[1..n_bins].partition_point(|edge| *edge < p);
                assert_eq!(bins.place(p), searched, "{p} in {n_bins} bins");
            }
        }
    }
}
