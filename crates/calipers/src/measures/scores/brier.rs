//! The Brier score, of one outcome and of k classes.

use super::{check_link, link_of, mean_of, mean_of_cells, mean_of_classes, resampler_of_losses};
use crate::data::{Distribution, Distributions, Multiclass, Scale};
use crate::inference::{Clusters, MeanLoss, Resampler};
use crate::measures::prelude::*;
use crate::sketch::Sketch;

measure! {
    /// Brier score: mean squared distance between outcome and probability.
    ///
    /// # Definition
    /// ```text
    /// Brier = Σ_i s_i (y_i - p_i)²                          of one outcome, s_i shares of the weight
    /// Brier = Σ_i s_i Σ_c (1[y_i = c] - p_ic)²              of k classes, by default for three or more
    /// ```
    /// The sum over two classes is twice the score of one outcome. `scale_by_half` halves the sum
    /// over classes, so that it is in [0, 1], as scikit-learn has it.
    ///
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

        /// Whether the sum over classes is halved: unless set, that of one outcome and not that of
        /// k classes.
        scale_by_half: into ScaleByHalf = ScaleByHalf::Auto;
    }
}

/// Whether the sum over classes is halved, so that a Brier score is in [0, 1] and not in [0, 2].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScaleByHalf {
    /// For one outcome, whose two classes are missed by the same distance, but not for k classes.
    #[default]
    Auto,
    /// Always.
    True,
    /// Never.
    False,
}

names! { ScaleByHalf, "scale_by_half"; Auto = "auto", True = "true", False = "false" }

impl From<bool> for ScaleByHalf {
    fn from(halved: bool) -> Self {
        if halved { ScaleByHalf::True } else { ScaleByHalf::False }
    }
}

entry! { ENTRY = BrierScore::new();
    Spec::score("brier_score", "mean (y - p)²; of k classes, the mean sum of squares over them")
        .title("Brier score")
        .family(Family::Score)
        .reference("Brier, Monthly Weather Review 78, 1950")
        .range(0.0, 2.0)
        .cost(Cost::Quick)
        .from_sketch(FromSketch::Value)
        .several_classes(Multiclass::AllClasses)
        .options(&[
            OptionSpec::choice("scale_by_half", ScaleByHalf::NAMES, "Whether the sum over classes is halved."),
            LINK,
        ])
}

impl BrierScore {
    /// The factor of the sum over classes, by default this one.
    fn scale(&self, by_default: f64) -> f64 {
        match self.scale_by_half {
            ScaleByHalf::Auto => by_default,
            ScaleByHalf::True => 0.5,
            ScaleByHalf::False => 1.0,
        }
    }

    /// Of one outcome: that of two classes is missed by the same distance twice.
    fn of_one_outcome(&self, mean: f64, bound: f64) -> Estimate {
        let scale = self.scale(0.5);
        self.described(Estimate::new(self.spec(), 2.0 * scale * mean, 2.0 * scale * bound), scale)
    }

    fn described(&self, estimate: Estimate, scale: f64) -> Estimate {
        let halved = ScaleByHalf::from(scale == 0.5).name();
        estimate.with("link", self.link.name()).with("scale_by_half", halved)
    }

    /// (y - p)².
    fn loss_of_outcome(&self, scale: Scale, score: f64, outcome: bool) -> f64 {
        let miss = match (link_of(scale, &*self.link), outcome) {
            (None, true) => 1.0 - score,
            (None, false) => score,
            (Some(link), true) => link.complement(score),
            (Some(link), false) => link.response(score),
        };
        miss * miss
    }

    /// Σ_c (1[label = c] - p_c)², scaled.
    fn loss(&self, row: Distribution<'_>, label: usize) -> f64 {
        self.scale(1.0) * (row.complement(label).powi(2) + row.squares_of_others(label))
    }
}

impl Measure for BrierScore {
    described! { ENTRY.spec }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let mean = mean_of(view, |score, outcome| (self.loss_of_outcome(view.scale(), score, outcome), false))?;
        // A score that is off by e moves p by at most e / 4 or so, and the square by twice that.
        let bound = 16.0 * f64::EPSILON + view.score_error(1.0);
        Ok(self.of_one_outcome(mean.value, bound).of(view))
    }

    fn resampler<'a>(
        &'a self,
        view: &'a BinaryView<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        let factor = 2.0 * self.scale(0.5);
        resampler_of_losses(self, view, clusters, |score, outcome| {
            factor * self.loss_of_outcome(view.scale(), score, outcome)
        })
    }

    fn estimate_all_classes(&self, rows: &Distributions<'_>) -> Result<Estimate, Error> {
        let mean = mean_of_classes(rows, |row, label| (self.loss(row, label), false))?;
        // Squares of k probabilities, each off by a few units of itself and their sum by k / 16 and
        // some; raw scores move -ln p by their error, and a sum of squares by at most four times.
        let bound = (32.0 + rows.n_classes() as f64 / 4.0) * f64::EPSILON + 4.0 * rows.surprisal_error(1.0);
        Ok(self.described(Estimate::new(self.spec(), mean.value, bound), self.scale(1.0)).of_classes(rows))
    }

    fn all_classes_resampler<'a>(
        &'a self,
        rows: Distributions<'a>,
        clusters: Option<&'a Clusters>,
    ) -> Result<Box<dyn Resampler + 'a>, Error> {
        let range = (0.0, 2.0 * self.scale(1.0));
        Ok(Box::new(MeanLoss::new(rows, clusters, range, Box::new(|row, label| self.loss(row, label)))?))
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
        Ok(self.of_one_outcome(mean.value, bound).of_sketch(sketch))
    }
}
