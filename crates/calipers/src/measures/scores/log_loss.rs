//! The log loss, of one outcome and of k classes: the cross-entropy.

use super::{check_link, link_of, mean_of, mean_of_cells, mean_of_classes, resampler_of_losses};
use crate::data::{Distribution, Distributions, Multiclass, Scale};
use crate::inference::{Clusters, MeanLoss, Resampler};
use crate::measures::ls_ece::check_clip;
use crate::measures::prelude::*;
use crate::setters::setters;
use crate::sketch::Sketch;

measure! {
    /// Log loss: mean negative logarithm of the probability that the outcome was given.
    ///
    /// # Definition
    /// ```text
    /// log loss = - Σ_i s_i (y_i ln p_i + (1 - y_i) ln(1 - p_i))        p_i clipped to [clip, 1 - clip]
    /// log loss = - Σ_i s_i ln p_i,y_i                                  of k classes, by default for three or more
    /// ```
    /// The second line is the cross-entropy: the probability of the row's own class.
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

pub(crate) const ENTRY: Entry = Entry {
    spec: &Spec::score("log_loss", "mean of -ln of the probability that the outcome was given")
        .title("log loss")
        .family(Family::Score)
        .reference("Good, Journal of the Royal Statistical Society B 14, 1952")
        .cost(Cost::Quick)
        .from_sketch(FromSketch::Approximation)
        .several_classes(Multiclass::AllClasses)
        .options(&[OptionSpec::number("clip", CLIP, "Probabilities are clipped to [clip, 1 - clip]."), LINK]),
    make: |options| {
        // Without a clip from the caller, a sketch is measured with its own.
        let clip = if options.is_given("clip") { options.read("clip")? } else { None };
        LogLoss { clip, ..LogLoss::new() }.configured(options)
    },
};

impl Measure for LogLoss {
    described! { ENTRY.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let clip = self.clip.unwrap_or(CLIP);
        check_clip(clip)?;
        let mean = mean_of(view, |score, outcome| self.loss_of_outcome(view.scale(), clip, score, outcome))?;
        if !mean.value.is_finite() {
            let rule = format!("such that no probability of {} is 0", self.link.name());
            return Err(Error::setting("logits", rule, "one whose outcome has probability 0"));
        }
        let bound = (1.0 + mean.value) * 16.0 * f64::EPSILON + view.score_error(mean.value);
        Ok(self.described(Estimate::new(self.spec(), mean.value, bound).of(view).clipped(mean.n_clipped), clip))
    }

    fn resampler<'a>(
        &'a self,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        let clip = self.clip.unwrap_or(CLIP);
        check_clip(clip)?;
        resampler_of_losses(self, view, clusters, |score, outcome| {
            self.loss_of_outcome(view.scale(), clip, score, outcome).0
        })
    }

    fn estimate_all_classes(&self, rows: &Distributions<'_>) -> Result<Estimate, Error> {
        let clip = self.clip.unwrap_or(CLIP);
        check_clip(clip)?;
        let mean = mean_of_classes(rows, |row, label| {
            let is_clipped = !row.is_of_logits() && !(clip..=1.0 - clip).contains(&row.probability(label));
            (loss(row, label, clip), is_clipped)
        })?;
        let bound = (1.0 + mean.value) * 16.0 * f64::EPSILON + rows.surprisal_error(mean.value);
        let estimate = Estimate::new(self.spec(), mean.value, bound).clipped(mean.n_clipped);
        Ok(self.described(estimate, clip).of_classes(rows))
    }

    fn all_classes_resampler<'a>(
        &'a self,
        rows: Distributions<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        let clip = self.clip.unwrap_or(CLIP);
        check_clip(clip)?;
        let range = self.spec().range;
        Ok(Box::new(MeanLoss::new(rows, clusters, range, Box::new(move |row, label| loss(row, label, clip)))?))
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
    /// The loss of a score with this outcome, and whether the score was clipped.
    fn loss_of_outcome(&self, scale: Scale, clip: f64, score: f64, outcome: bool) -> (f64, bool) {
        match link_of(scale, &*self.link) {
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
        }
    }

    fn described(&self, estimate: Estimate, clip: f64) -> Estimate {
        estimate.with("link", self.link.name()).with("clip", clip)
    }
}

/// -ln of the probability of the row's class; raw scores are not clipped.
fn loss(row: Distribution<'_>, label: usize, clip: f64) -> f64 {
    match row.is_of_logits() {
        true => row.surprisal(label),
        false => -row.probability(label).clamp(clip, 1.0 - clip).ln(),
    }
}
