//! What a measure provides for its assessment.

use std::ops::Range;

use super::{Bracket, PartBrackets};
use crate::Error;
use crate::error::number;
use crate::numerics::parallel;
use crate::numerics::random::{Uniforms, seed_of_draw};
use crate::watch;

/// The measure of resampled rows. The number of a draw is all that it depends on: the same on any
/// thread, in any order.
pub trait Resampler: Sync {
    /// The measure of the data, with the same numerical error as the draws, for comparison with
    /// them.
    fn value(&self) -> f64;

    /// The measure of the rows, computed just as calibrated draws are: a draw with the outcomes of
    /// the rows is equal to it. What the p-value compares them with.
    fn calibrated_value(&self) -> f64 {
        self.value()
    }

    /// The measure with every outcome drawn anew, with its predicted probability
    /// (consistency resampling). NaN where such rows cannot be measured.
    fn calibrated_draw(&self, draw: u64) -> f64;

    /// A calibrated draw with that of the measure that decides
    /// ([`Measure::decided_by`](crate::Measure::decided_by)), where one set of outcomes gives both:
    /// the second is then what the other measure's own draw of this number is.
    #[doc(hidden)]
    fn calibrated_pair(&self, _draw: u64) -> Option<(f64, f64)> {
        None
    }

    /// The measure of as many rows drawn with replacement. NaN where they cannot be measured.
    fn bootstrap_draw(&self, draw: u64) -> f64;

    /// The measure's standard error from influence values, where it has them.
    fn influence_deviation(&self) -> Option<f64> {
        None
    }

    /// Where the population's value is, where the measure knows how its bias depends on the place.
    fn bracket(&self) -> Option<Bracket> {
        None
    }

    /// The signed parts, for a measure that has them.
    fn parts(&self) -> Option<PartBrackets> {
        None
    }

    /// What the measure would be of outcomes that are just as predicted, where that is not 0: for
    /// LS-ECE, what noise on the logits alone makes.
    fn smoothing_alone(&self) -> Option<f64> {
        None
    }

    /// Σ c², c by how much the outcome of one row (or those of one cluster) can move the measure at
    /// most, where that is known.
    ///
    /// Where predictions are the truth, the measure is then above its mean by x or more with a
    /// probability of at most exp(-2 x² / Σ c²), for any number of rows (McDiarmid 1989).
    fn squared_differences(&self) -> Option<f64> {
        None
    }

    /// By how much the outcome of one row (or those of one cluster) can move the measure at most,
    /// for a norm of sums of residuals: such a measure thins out beyond its draws as `tail.rs` has
    /// it. `None` for others.
    fn largest_difference(&self) -> Option<f64> {
        None
    }

    /// A second test of calibration, where the calibrated draws need an assumption that it does
    /// without.
    fn second_test(&self) -> Option<SecondTest<'_>> {
        None
    }

    /// Draws of which many reach values that calibrated draws reach with a probability near
    /// `level`, for p-values of many tests.
    fn rare_draws(&self, _level: f64) -> Option<RareDraws<'_>> {
        None
    }

    /// Σ l³ / 6 (Σ l²)^(3/2) with l the influence of a row times its share, where there are
    /// influence values: the acceleration of BCa.
    fn acceleration(&self) -> Option<f64> {
        None
    }

    /// Why calibrated draws are not available, where they are not. Then none is requested.
    fn floor_unavailable(&self) -> Option<&'static str> {
        None
    }

    /// How many rows there are: under weights (Σw)² / Σw². No interval is narrower than so many can
    /// tell, however equal their outcomes are. Rows in clusters count as rows: that they depend on
    /// each other is in the standard error.
    fn effective_rows(&self) -> f64;

    /// Whether every row is drawn, so that a draw takes the longer the more rows there are.
    fn draws_rows(&self) -> bool {
        false
    }

    /// What values the measure can have. From 0 on, unless overridden.
    fn range(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
}

/// Draws of a statistic under calibration, and what they are compared with.
pub struct SecondTest<'a> {
    /// The statistic of the rows.
    pub value: f64,
    /// A draw of it, by its number.
    pub draw: Box<dyn Fn(u64) -> f64 + Sync + 'a>,
}

/// Draws by another distribution Q of the outcomes than the calibrated one P, under which large
/// values are frequent; Q depends on predictions alone.
///
/// # The p-value
/// With v_0 the value of the rows, v_1 ... v_n those of draws by Q, and w = dP/dQ of each:
/// ```text
/// p = Σ w_i 1[v_i >= v_0] / (n + 1)      over i = 0 ... n
/// ```
/// It keeps its level exactly, for any n and Q (after Harrison, "Conservative hypothesis tests and
/// confidence intervals using importance sampling", Biometrika 2012):
/// 1. If the rows have the distribution P, the probability of p <= α is that of n + 1 draws by Q
///    with the weight w_0, E_Q[w_0 1[p <= α]]. All draws are then alike, so that this is the mean
///    over j of E_Q[w_j 1[W(v_j) <= α (n + 1)]], with W(v) the sum of the weights of values >= v.
/// 2. W falls with v. So the j for which W(v_j) is at most α (n + 1) are those with v_j >= s for
///    some s among the values, and their weights sum to W(s), which is at most α (n + 1).
///
/// So a Q that misses the outcomes of the rows costs power, and no level: their own weight is then
/// large.
pub struct RareDraws<'a> {
    /// w of the rows.
    pub weight: f64,
    /// The value and w of a draw, by its number.
    pub draw: Box<dyn Fn(u64) -> (f64, f64) + Sync + 'a>,
}

impl RareDraws<'_> {
    /// The p-value of a value by so many draws, with numbers that no other kind has.
    pub(super) fn p_value(&self, value: f64, n: u64, random_state: u64) -> f64 {
        watch::expect_draws(n);
        let weights = parallel::map(n as usize, |index| {
            watch::draw_begins();
            let (drawn, weight) = (self.draw)(seed_of_draw(random_state, (1 << 61) + index as u64));
            if reaches(drawn, value) { weight } else { 0.0 }
        });
        (self.weight + weights.into_iter().sum::<f64>()) / (n + 1) as f64
    }
}

/// Draws of two kinds never share a number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Calibrated,
    Bootstrap,
}

/// Draws that differ from the value by less are ties: a resample may have the outcomes of the rows,
/// summed in another way.
pub(super) const TIE: f64 = 1e-9;

/// Draws of one kind.
pub(super) struct Draws {
    /// By their number; NaN for those that could not be measured.
    pub(super) by_number: Vec<f64>,
    /// Those that could, in order.
    pub(super) values: Vec<f64>,
    pub(super) n_failed: u64,
}

impl Draws {
    /// The draws of these numbers.
    pub(super) fn new(
        resampler: &dyn Resampler,
        kind: Kind,
        numbers: Range<u64>,
        random_state: u64,
    ) -> Result<Self, Error> {
        match kind {
            Kind::Calibrated => Self::by(&|draw| resampler.calibrated_draw(draw), 2, 0, numbers, random_state),
            Kind::Bootstrap => Self::by(&|draw| resampler.bootstrap_draw(draw), 2, 1, numbers, random_state),
        }
    }

    /// Calibrated draws of a measure and of the one that decides, from the same outcomes; `None`
    /// where they do not come together.
    pub(super) fn pairs(
        resampler: &dyn Resampler,
        decider: &dyn Resampler,
        n_resamples: u64,
        random_state: u64,
    ) -> Result<Option<[Self; 2]>, Error> {
        let number = |index: u64| seed_of_draw(random_state, 2 * index);
        // On grids that are not the same, the first draw is another one.
        let of_decider = |(_, other): (f64, f64)| other.to_bits() == decider.calibrated_draw(number(0)).to_bits();
        if !resampler.calibrated_pair(number(0)).is_some_and(of_decider) {
            return Ok(None);
        }
        watch::expect_draws(2 * n_resamples);
        let (own, others) = parallel::map(n_resamples as usize, |index| {
            watch::draw_begins();
            watch::draw_begins();
            resampler.calibrated_pair(number(index as u64)).unwrap_or((f64::NAN, f64::NAN))
        })
        .into_iter()
        .unzip();
        Ok(Some([Self::of(own)?, Self::of(others)?]))
    }

    /// Of a second test: with numbers that neither of the two kinds has.
    pub(super) fn of_second_test(test: &SecondTest<'_>, numbers: Range<u64>, random_state: u64) -> Result<Self, Error> {
        Self::by(&*test.draw, 1, 1 << 62, numbers, random_state)
    }

    fn by(
        draw: &(dyn Fn(u64) -> f64 + Sync),
        stride: u64,
        first: u64,
        numbers: Range<u64>,
        random_state: u64,
    ) -> Result<Self, Error> {
        Self::of(parallel::map((numbers.end - numbers.start) as usize, |index| {
            watch::draw_begins();
            draw(seed_of_draw(random_state, first + stride * (numbers.start + index as u64)))
        }))
    }

    /// (1 + draws that are at least the value) / (1 + draws); draws that could not be measured
    /// count among both.
    pub(super) fn p_value(&self, value: f64) -> f64 {
        (self.n_reaching(value) + 1) as f64 / (self.by_number.len() + 1) as f64
    }

    /// Draws that are at least the value, and those that could not be measured.
    pub(super) fn n_reaching(&self, value: f64) -> u64 {
        self.by_number.iter().filter(|draw| reaches(**draw, value)).count() as u64
    }

    /// An error where more than one draw in ten could not be measured.
    pub(super) fn of(by_number: Vec<f64>) -> Result<Self, Error> {
        let n_resamples = by_number.len() as u64;
        let values: Vec<f64> = by_number.iter().copied().filter(|value| value.is_finite()).collect();
        let n_failed = n_resamples - values.len() as u64;
        // A distribution of what is left would be one of the easy cases only.
        let rule = "one that can be computed on at least nine of ten resamples of these rows";
        let got = format!("{n_failed} failures in {n_resamples} resamples");
        Error::require(10 * n_failed <= n_resamples, "measure", rule, got)?;
        Ok(Draws { by_number, values, n_failed })
    }

    /// The values in ascending order.
    pub(super) fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    }

    pub(super) fn mean(&self) -> f64 {
        mean_and_deviation(&self.values).0
    }

    /// The standard deviation about the mean.
    pub(super) fn deviation(&self) -> f64 {
        mean_and_deviation(&self.values).1
    }
}

/// Whether a draw is at least the value, or could not be measured.
pub(super) fn reaches(draw: f64, value: f64) -> bool {
    // Written so that NaN, and infinities, count.
    !(draw.is_finite() && draw < value - TIE * value.abs())
}

/// The mean, and the standard deviation about it.
pub(super) fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

/// Numbers below n, n of them. They depend on n and the draw alone, so that the draws of two models
/// on the same rows are of the same rows.
pub(super) fn drawn(n: usize, draw: u64) -> Vec<usize> {
    let mut uniforms = Uniforms::new(draw);
    (0..n).map(|_| ((uniforms.next() * n as f64) as usize).min(n - 1)).collect()
}

/// Between the order statistics of sorted values, as numpy has it by default.
pub(super) fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = level.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

pub(crate) fn check_level(level: f64) -> Result<(), Error> {
    Error::require((0.5..1.0).contains(&level), "level", "in [0.5, 1)", number(level))
}

/// How many kinds of draws a noise floor takes: none where there is no floor, and two with a second
/// test.
pub(super) fn n_kinds_of_floor(resampler: &dyn Resampler) -> u64 {
    match (resampler.floor_unavailable(), resampler.second_test()) {
        (Some(_), _) => 0,
        (None, None) => 1,
        (None, Some(_)) => 2,
    }
}

/// Fewer resamples than one in 1 - level could never reject.
pub(super) fn check_resamples(n_resamples: u64, level: f64) -> Result<(), Error> {
    let least = (1.0 / (1.0 - level) - 1e-9).ceil().max(20.0);
    let valid = n_resamples as f64 >= least && n_resamples <= 10_000_000;
    Error::require(valid, "n_resamples", format!("from {least} to 10000000 at this level"), n_resamples)
}
