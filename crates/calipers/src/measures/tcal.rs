//! The debiased plug-in estimator of T-Cal.

use std::sync::Arc;

use crate::Error;
use crate::data::{BinaryView, Rows, Scale};
use crate::link::{Link, Logistic};
use crate::measure::registry::Entry;
use crate::measure::{Cost, Estimate, Family, LINK, Measure, OptionSpec, Spec};
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::setters::setters;

/// T-Cal's debiased plug-in estimator of the squared calibration error: products of the residuals
/// of different rows of a bin.
///
/// # Definition
/// ```text
/// DPE = Σ_b ( (Σ_{i in b} s_i r_i)² - Σ_{i in b} s_i² r_i² ) / S_b        r_i = y_i - p_i, S_b = Σ_{i in b} s_i
/// ```
/// with s_i shares of the weight, over m bins [(b-1)/m, b/m), the last closed. Without weights this
/// is (1/n) Σ_b ((Σ r)² - Σ r²) / n_b. **It may be negative**: it is about 0 on average where rows
/// are calibrated, and is not cut at 0, because that would bring the bias back. It estimates a
/// square; no root is taken.
///
/// # Assumptions
/// Independent rows. What is left out are the pairs of a row with itself, so a row of weight 2 is
/// *not* two rows: two rows would be two independent ones. The scale of weights does not matter.
///
/// # Cost
/// O(n) time, one pass, O(m) memory.
///
/// # Accuracy
/// Numerical: compensated sums; no bin is off by more than some units of rounding of its share.
/// Statistical: unbiased for Σ_b S_b (mean residual of b)², up to 1/n_b.
///
/// # Reference
/// Lee, Huang, Hassani, Dobriban, "T-Cal: an optimal test for the calibration of predictive
/// models", JMLR 24, 2023.
///
/// # Example
/// One bin, residuals 0.5, 0.5 and -0.5: ((0.5)² - 0.75) / 3² is negative.
/// ```
/// use calipers::{Measure, Input, TCal};
///
/// let predictions = Input::probabilities(&[0.5, 0.5, 0.5], &[1, 1, 0]).check()?;
/// let squared = TCal::new(1).estimate(&predictions.binary()?)?;
/// assert!((squared.value + 0.5 / 9.0).abs() < 1e-15);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TCal {
    n_bins: usize,
    link: Arc<dyn Link>,
}

impl TCal {
    /// With so many bins of equal width.
    pub fn new(n_bins: usize) -> Self {
        TCal { n_bins, link: Arc::new(Logistic) }
    }

    setters! {
        /// The link that turns raw binary scores into probabilities.
        link: shared Link;
    }
}

/// The sums of one bin.
#[derive(Debug, Clone, Copy, Default)]
struct BinSums {
    weight: Sum,
    residual: Sum,
    squares: Sum,
}

pub(crate) const ENTRY: Entry = Entry {
    spec: &Spec::error("tcal_squared_error", "mean squared gap of 15 bins less its noise; may be negative")
        .title("T-Cal squared error")
        .family(Family::Binned)
        .reference("Lee, Huang, Hassani, Dobriban, JMLR 24, 2023")
        .range(-1.0, 1.0)
        .unbiased()
        .cost(Cost::Quick)
        .options(&[OptionSpec::count("n_bins", 15, "Bins of equal width."), LINK]),
    make: |options| Ok(Box::new(TCal::new(options.size("n_bins")?).link(options.link()?))),
};

impl Measure for TCal {
    fn spec(&self) -> &'static Spec {
        ENTRY.spec
    }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        if !(1..=1_000_000).contains(&self.n_bins) {
            return Err(Error::setting("n_bins", "from 1 to 1000000", self.n_bins));
        }
        let n = view.len();
        if n == 0 {
            return Err(Error::NoRows);
        }
        let bins = self.sums(view);
        let total = bins.iter().map(|bin| bin.weight.value()).collect::<Sum>().value();
        if !(total > 0.0) {
            return Err(Error::ZeroWeights { n_rows: n as u64 });
        }
        let occupied = bins.iter().filter(|bin| bin.weight.value() > 0.0);
        let of_bin = |bin: &BinSums| {
            let residual = bin.residual.value();
            (residual * residual - bin.squares.value()) / bin.weight.value() / total
        };
        let value = occupied.map(of_bin).collect::<Sum>().value();
        // In each bin both sums are at most the square of its weight, and so all terms together at
        // most 1.
        let numerical_bound = 32.0 * f64::EPSILON + 4.0 * view.score_error(1.0);
        let estimate = Estimate::new(self.spec(), value, numerical_bound).of(view);
        Ok(estimate.with("n_bins", self.n_bins as u64).with("link", self.link.name()))
    }

    fn link(&self) -> &dyn Link {
        &*self.link
    }
}

impl TCal {
    fn sums(&self, view: &BinaryView<'_>) -> Vec<BinSums> {
        let largest_weight = view.largest_weight();
        // Long enough that the sums of all chunks take no more room than the rows.
        let chunk = parallel::CHUNK.max(64 * self.n_bins);
        let chunks = parallel::map_chunks(view.len(), chunk, |range| {
            let mut rows = Rows::default();
            view.read(range, &mut rows);
            let mut bins = vec![BinSums::default(); self.n_bins];
            for ((&score, &outcome), &weight) in rows.scores.iter().zip(&rows.outcomes).zip(&rows.weights) {
                let p = match view.scale() {
                    Scale::Probability => score,
                    Scale::LogOdds => Logistic.response(score),
                    Scale::Link => self.link.response(score).clamp(0.0, 1.0),
                };
                let weight = weight / largest_weight;
                let residual = weight * (f64::from(outcome) - p);
                let bin = &mut bins[bin_of(p, self.n_bins)];
                bin.weight.add(weight);
                bin.residual.add(residual);
                bin.squares.add(residual * residual);
            }
            bins
        });
        let mut totals = vec![BinSums::default(); self.n_bins];
        for bins in chunks {
            for (total, bin) in totals.iter_mut().zip(bins) {
                total.weight.merge(bin.weight);
                total.residual.merge(bin.residual);
                total.squares.merge(bin.squares);
            }
        }
        totals
    }
}

/// The b with b/m <= p < (b+1)/m in doubles, the last bin closed. The product can round up to the
/// next whole number, so it is checked against the edge.
fn bin_of(p: f64, n_bins: usize) -> usize {
    let m = n_bins as f64;
    let guess = ((p * m) as usize).min(n_bins - 1);
    if guess as f64 / m > p {
        guess - 1
    } else if guess + 1 < n_bins && (guess + 1) as f64 / m <= p {
        guess + 1
    } else {
        guess
    }
}
