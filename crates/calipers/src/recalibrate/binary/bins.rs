//! Maps that are bins of equal mass.
//!
//! # A statement without assumptions about the model
//! For rows without weights and without ties, with n rows in B bins of which the smallest has m:
//! with probability 1 - α the rate of outcome 1 among new rows of a bin is, for all bins at once,
//! within
//! ```text
//! ε = √( log(2 B / α) / (2 (m - 1)) ) + 3 / (2 (m + 1))
//! ```
//! of the bin's value. It needs independent rows of one distribution and scores without atoms, and
//! nothing else. It is the argument of Gupta and Ramdas, "Distribution-free calibration guarantees
//! for histogram binning without sample splitting", ICML 2021, for these values:
//!
//! 1. Without ties the rank of the first row of each bin is fixed by n and B. A bin holds all
//!    scores from its first row's up to that of the next bin. Given the scores of these first rows,
//!    the other rows of a bin are independent draws of rows with a score inside of it, as order
//!    statistics of a distribution without atoms are.
//! 2. So by Hoeffding's inequality the mean r of the outcomes of these m - 1 rows (m in the lowest
//!    bin) is within the first term of ε of the rate, but with probability α / B; in all bins
//!    together, but with probability α.
//! 3. The value is (s + 1/2) / (m + 1) with s = (m - 1) r + y, where y is the outcome of the first
//!    row. Its distance from r is |y + 1/2 - 2 r| / (m + 1) <= 3 / (2 (m + 1)).

use super::rows::{Atom, Atoms};
use super::table::{Between, Table};
use crate::numerics::sum::Sum;

/// A fit of bins.
pub(crate) struct Bins {
    pub(crate) table: Table,
    /// ε of the statement at level 0.95; `None` where it does not apply.
    pub(crate) within: Option<f64>,
}

/// The level of the statement about all bins.
pub(crate) const LEVEL: f64 = 0.95;

impl Bins {
    /// At most `n_bins` bins, whose shares of the weight are equal but for ties.
    ///
    /// An atom across the border of two bins belongs to the upper one, as with numpy's quantiles.
    pub(crate) fn fit(atoms: &Atoms, n_bins: usize) -> Self {
        let total = atoms.total();
        let mut below = Sum::default();
        let mut bin_of = |atom: &Atom| {
            below.add(atom.weights[0]);
            below.add(atom.weights[1]);
            (below.value() * n_bins as f64 / total).ceil()
        };
        let places: Vec<f64> = atoms.atoms.iter().map(&mut bin_of).collect();
        let (mut at, mut value) = (Vec::new(), Vec::new());
        let mut smallest = f64::INFINITY;
        let mut start = 0;
        for bin in places.chunk_by(|a, b| a == b) {
            let of_bin = &atoms.atoms[start..start + bin.len()];
            let sum = |of: &dyn Fn(&Atom) -> f64| of_bin.iter().map(of).collect::<Sum>().value();
            let positive = sum(&|atom| atom.weights[1]);
            let weight = positive + sum(&|atom| atom.weights[0]);
            // Kish's number of rows: it does not change with the unit of weights.
            let n = weight * weight / sum(&|atom| atom.squares[0] + atom.squares[1]);
            at.push(of_bin[0].h);
            value.push((positive / weight * n + 0.5) / (n + 1.0));
            smallest = smallest.min(n);
            start += bin.len();
        }
        let weight = |atom: &Atom| atom.weights[0] + atom.weights[1];
        let is_plain = atoms.n == atoms.atoms.len() as u64
            && atoms.atoms.windows(2).all(|pair| weight(&pair[0]) == weight(&pair[1]))
            && smallest > 1.5;
        let within = is_plain.then(|| within(at.len() as f64, smallest, 1.0 - LEVEL)).filter(|within| *within < 1.0);
        Bins { table: Table { at, value, between: Between::Step }, within }
    }
}

/// ε of the statement.
fn within(n_bins: f64, smallest: f64, alpha: f64) -> f64 {
    ((2.0 * n_bins / alpha).ln() / (2.0 * (smallest - 1.0))).sqrt() + 1.5 / (smallest + 1.0)
}
