//! Proper scores, which measure calibration and sharpness together.

use super::prelude::*;
use crate::cells::Summary;
use crate::data::Scale;
use crate::measures::ls_ece::check_clip;
use crate::numerics::parallel;
use crate::setters::setters;
use crate::sketch::Sketch;

measure! {
    /// Brier score: mean squared distance between outcome and probability.
    ///
    /// # Definition
    /// ```text
    /// Brier = Σ_i s_i (y_i - p_i)²        s_i shares of the weight
    /// ```
    /// # Assumptions
    /// None. A strictly proper score: its expectation is smallest at the true probabilities.
    ///
    /// # Cost
    /// O(n) time, some kilobytes, one pass; from a sketch O(cells).
    ///
    /// # Accuracy
    /// Numerical: compensated sums, a few units of rounding; from a sketch about 2^-33, and where
    /// rows were clipped up to twice the clip for their share of the weight. Statistical: unbiased.
    ///
    /// # Reference
    /// Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review
    /// 78, 1950.
    ///
    /// # Example
    /// ```
    /// use calipers::{BrierScore, Measure, Input};
    ///
    /// let predictions = Input::probabilities(&[0.9, 0.4], &[1, 0]).check()?;
    /// let score = BrierScore::new().estimate(&predictions.binary()?)?;
    /// assert!((score.value - (0.01 + 0.16) / 2.0).abs() < 1e-15);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct BrierScore {
        /// With the logistic link for raw scores.
        new;

        link: Link;
    }
}

measure! {
    /// Log loss: mean negative logarithm of the probability that the outcome was given.
    ///
    /// # Definition
    /// ```text
    /// log loss = - Σ_i s_i (y_i ln p_i + (1 - y_i) ln(1 - p_i))        p_i clipped to [clip, 1 - clip]
    /// ```
    /// Raw scores are not clipped: ln p and ln(1 - p) are computed from them directly and stay
    /// finite.
    ///
    /// # Assumptions
    /// None. A strictly proper score; one confident mistake can dominate it, and then the clip
    /// does.
    ///
    /// # Cost
    /// O(n) time, some kilobytes, one pass; from a sketch O(cells).
    ///
    /// # Accuracy
    /// Numerical: compensated sums, a few units of rounding; from a sketch about 2^-32 and a
    /// third-order term in the width of its cells. Statistical: unbiased.
    ///
    /// # Reference
    /// Good, "Rational decisions", Journal of the Royal Statistical Society B 14, 1952.
    ///
    /// # Example
    /// ```
    /// use calipers::{Measure, Input, LogLoss};
    ///
    /// let predictions = Input::probabilities(&[0.5, 0.25], &[1, 0]).check()?;
    /// let loss = LogLoss::new().estimate(&predictions.binary()?)?;
    /// assert!((loss.value - (2f64.ln() + (4.0f64 / 3.0).ln()) / 2.0).abs() < 1e-15);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct LogLoss {
        /// With the logistic link for raw scores, and a clip of 1e-15; of a sketch's rows with the
        /// clip of the sketch.
        new;

        link: Link;

        /// `None`: [`CLIP`] for rows, and that of the sketch for a sketch.
        clip: fixed Option<f64> = None;
    }
}

impl LogLoss {
    setters! {
        /// Probabilities are clipped to [clip, 1 - clip].
        clip: some f64;
    }
}

/// The clip of rows unless set.
const CLIP: f64 = 1e-15;

entry! { BRIER = BrierScore::new();
    Spec::score("brier_score", "mean (y - p)²")
        .title("Brier score")
        .family(Family::Score)
        .reference("Brier, Monthly Weather Review 78, 1950")
        .range(0.0, 1.0)
        .cost(Cost::Quick)
        .from_sketch(FromSketch::Value)
        .options(&[LINK])
}

pub(crate) const LOG_LOSS: Entry = Entry {
    spec: &Spec::score("log_loss", "mean of -ln of the probability that the outcome was given")
        .title("log loss")
        .family(Family::Score)
        .reference("Good, Journal of the Royal Statistical Society B 14, 1952")
        .cost(Cost::Quick)
        .from_sketch(FromSketch::Approximation)
        .options(&[OptionSpec::number("clip", CLIP, "Probabilities are clipped to [clip, 1 - clip]."), LINK]),
    make: |options| {
        // Without a clip from the caller, a sketch is measured with its own.
        let clip = if options.is_given("clip") { options.read("clip")? } else { None };
        LogLoss { clip, ..LogLoss::new() }.configured(options)
    },
};

impl Measure for BrierScore {
    described! { BRIER.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let link = link_of(view.scale(), &*self.link);
        let mean = mean_of(view, |score, outcome| {
            let miss = match (link, outcome) {
                (None, true) => 1.0 - score,
                (None, false) => score,
                (Some(link), true) => link.complement(score),
                (Some(link), false) => link.response(score),
            };
            (miss * miss, false)
        })?;
        // A score that is off by e moves p by at most e / 4 or so, and the square by twice that.
        let bound = 16.0 * f64::EPSILON + view.score_error(1.0);
        Ok(Estimate::new(self.spec(), mean.value, bound).of(view).with("link", self.link.name()))
    }

    /// Exact in the first two moments of each cell; an offset that is cut by half a step moves a
    /// square by at most one.
    fn estimate_sketch(&self, sketch: &Sketch) -> Result<Estimate, Error> {
        check_link(sketch, &*self.link)?;
        let clip = sketch.options().clip_value();
        let mean = mean_of_cells(sketch, |cell| {
            let (q, variance) = (cell.mean * cell.scale, (cell.deviation * cell.scale).powi(2));
            let miss = if cell.upper == cell.outcome { q } else { 1.0 - q };
            let clipped = if sketch.is_clipped(cell) { 2.0 * clip } else { 0.0 };
            (miss * miss + variance, cell.step * cell.scale + clipped)
        });
        let bound = mean.bound + 2.0 * sketch.weight_error() + 16.0 * f64::EPSILON + sketch.score_error();
        Ok(Estimate::new(self.spec(), mean.value, bound).of_sketch(sketch).with("link", self.link.name()))
    }
}

impl Measure for LogLoss {
    described! { LOG_LOSS.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let clip = self.clip.unwrap_or(CLIP);
        check_clip(clip)?;
        let link = link_of(view.scale(), &*self.link);
        let mean = mean_of(view, |score, outcome| match link {
            None => {
                let p = score.clamp(clip, 1.0 - clip);
                (-if outcome { p.ln() } else { (-p).ln_1p() }, p != score)
            }
            Some(link) => {
                let towards = if outcome { score } else { -score };
                // Of the logistic link without a detour by p, which may be 0.
                let loss = match link.name() == Logistic.name() {
                    true => (-towards).max(0.0) + (-towards.abs()).exp().ln_1p(),
                    false if outcome => -link.response(score).ln(),
                    false => -link.complement(score).ln(),
                };
                (loss, false)
            }
        })?;
        if !mean.value.is_finite() {
            let rule = format!("such that no probability of {} is 0", self.link.name());
            return Err(Error::setting("logits", rule, "one whose outcome has probability 0"));
        }
        let bound = (1.0 + mean.value) * 16.0 * f64::EPSILON + view.score_error(mean.value);
        Ok(self.described(Estimate::new(self.spec(), mean.value, bound).of(view).clipped(mean.n_clipped), clip))
    }

    /// For each cell by Taylor: f(mean) + f''(mean) variance / 2, and sup |f'''| variance · reach /
    /// 6 as the price, and sup |f'| times half a step.
    fn estimate_sketch(&self, sketch: &Sketch) -> Result<Estimate, Error> {
        check_link(sketch, &*self.link)?;
        let clip = sketch.options().clip_value();
        let of_probabilities = sketch.scale() == Some(Scale::Probability);
        if let Some(asked) = self.clip.filter(|asked| of_probabilities && *asked != clip) {
            let rule = format!("{}, that of the sketch", error::number(clip));
            return Err(Error::setting("clip", rule, error::number(asked)));
        }
        if !of_probabilities && sketch.n_clipped() > 0 {
            let got = format!("{} beyond", sketch.n_clipped());
            let largest = error::number(sketch.options().largest_logit_value());
            return Err(Error::setting("logits", format!("within ±{largest} for the log loss of a sketch"), got));
        }
        let mean = mean_of_cells(sketch, |cell| {
            let variance = cell.deviation * cell.deviation;
            // -ln of q or of 1 - q; lengths are those of the cell over the distance from 0.
            let (value, nearest, at_mean) = if cell.upper == cell.outcome {
                let most = (cell.lower + cell.width) * cell.scale;
                let left = 1.0 - cell.mean * cell.scale;
                (-(-cell.mean * cell.scale).ln_1p(), (1.0 - most) / cell.scale, left / cell.scale)
            } else {
                (-(cell.mean * cell.scale).ln(), cell.lower, cell.mean)
            };
            let taylor = value + 0.5 * variance / (at_mean * at_mean);
            let price = variance * cell.reach() / (3.0 * nearest.powi(3)) + 0.5 * cell.step / nearest;
            (taylor, price)
        });
        // Weights: the largest loss is that at the clip, or at 708.
        let largest = if of_probabilities { -clip.ln() + 1e-9 } else { 709.0 };
        let rounding = (1.0 + mean.value) * 16.0 * f64::EPSILON;
        let bound = mean.bound
            + 2.0 * largest * sketch.weight_error()
            + rounding
            + 2.0 * sketch.score_error()
            + 4.0 * f64::EPSILON * mean.value;
        let n_clipped = if of_probabilities { sketch.n_clipped() } else { 0 };
        let estimate = Estimate::new(self.spec(), mean.value, bound).of_sketch(sketch).clipped(n_clipped);
        Ok(self.described(estimate, clip))
    }
}

impl LogLoss {
    fn described(&self, estimate: Estimate, clip: f64) -> Estimate {
        estimate.with("link", self.link.name()).with("clip", clip)
    }
}

/// What turns scores into probabilities, if they are none.
fn link_of(scale: Scale, link: &dyn Link) -> Option<&dyn Link> {
    match scale {
        Scale::Probability => None,
        Scale::LogOdds => Some(&Logistic),
        Scale::Link => Some(link),
    }
}

/// The cells of raw scores are those of the logistic link.
pub(super) fn check_link(sketch: &Sketch, link: &dyn Link) -> Result<(), Error> {
    if sketch.scale() == Some(Scale::Link) && link.name() != Logistic.name() {
        let rule = "\"logistic\" for the scores of a sketch of raw scores";
        return Err(Error::setting("link", rule, format!("{:?}", link.name())));
    }
    Ok(())
}

/// A weighted mean over rows or cells.
struct Mean {
    value: f64,
    bound: f64,
    n_clipped: u64,
}

/// The weighted mean of `of_row` of score and outcome, which also returns whether the score was
/// clipped.
fn mean_of(view: &BinaryView<'_>, of_row: impl Fn(f64, bool) -> (f64, bool) + Sync) -> Result<Mean, Error> {
    let empty = || [Sum::default(); 3];
    let rows = Probabilities::of_scores(view)?;
    let sums = rows.sums(parallel::CHUNK, empty, |[sum, weights, n_clipped], score, outcome, weight| {
        let (value, clipped) = of_row(score, outcome);
        if weight > 0.0 {
            sum.add(weight * value);
            weights.add(weight);
        }
        n_clipped.add(f64::from(clipped));
    });
    let [sum, weights, n_clipped] = sums.map(Sum::value);
    Ok(Mean { value: sum / weights, bound: 0.0, n_clipped: n_clipped as u64 })
}

/// The weighted mean of `of_cell`: a value, and a bound on its error.
fn mean_of_cells(sketch: &Sketch, of_cell: impl Fn(&Summary) -> (f64, f64)) -> Mean {
    let (mut value, mut bound) = (Sum::default(), Sum::default());
    for cell in sketch.summaries().filter(|cell| cell.weight > 0.0) {
        let (of_cell, price) = of_cell(&cell);
        value.add(cell.weight * of_cell);
        bound.add(cell.weight * price);
    }
    let total = sketch.total_units() as f64;
    Mean { value: value.value() / total, bound: bound.value() / total * (1.0 + 1e-9), n_clipped: 0 }
}
