//! Cumulative differences: no bins, no smoothing, only the order of the probabilities.

use super::prelude::*;
use super::scores::check_link;
use crate::data::Sample;
use crate::inference::CellWeights;
use crate::sketch::Sketch;

/// How a cumulative curve becomes one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CumulativeStatistic {
    /// Highest minus lowest point: ECCE-R, the statistic of Kuiper.
    #[default]
    Range,
    /// Largest distance from 0: ECCE-MAD, the statistic of Kolmogorov and Smirnov.
    MaximumAbsolute,
}

names! { CumulativeStatistic, "statistic";
    Range = "range",
    MaximumAbsolute = "maximum",
}

impl CumulativeStatistic {
    fn of(self, highest: f64, lowest: f64) -> f64 {
        match self {
            CumulativeStatistic::Range => highest - lowest,
            CumulativeStatistic::MaximumAbsolute => highest.max(-lowest),
        }
    }
}

/// The curve of cumulative differences: its slope over a stretch is the mean of y - p there.
///
/// The first point is (0, 0), with the smallest probability.
#[derive(Debug, Clone, PartialEq)]
pub struct CumulativeCurve {
    /// Share of the weight up to here.
    pub shares: Vec<f64>,
    /// Σ s (y - p) up to here.
    pub differences: Vec<f64>,
    /// The probability that ends here.
    pub probabilities: Vec<f64>,
}

measure! {
    /// Cumulative calibration error: how far the sum of residuals strays when rows are taken in
    /// order of their probability.
    ///
    /// # Definition
    /// ```text
    /// C_k = Σ_{i: p_i <= p_(k)} s_i (y_i - p_i),   C_0 = 0        s_i shares of the weight, p_(k) the k-th distinct probability
    /// ECCE-R   = max_k C_k - min_k C_k
    /// ECCE-MAD = max_k |C_k|, which is also the KS calibration error
    /// ```
    /// C_0 belongs to both. Equal probabilities are one step: their rows have no order of their
    /// own, and a value that depends on one would depend on the order of the file.
    /// [`curve`](Self::curve) gives all C_k.
    ///
    /// # Assumptions
    /// Independent rows. Never above the ECE of the pooled rows, and at most twice the MAD for the
    /// range.
    ///
    /// # Cost
    /// O(n log n) time for a sort and one pass.
    ///
    /// # Accuracy
    /// Numerical: the running sum is compensated, so every C_k is off by a few units of rounding of
    /// Σ s |y - p|. From a sketch the curve is known between cells, and the bound has what it can
    /// do inside the one that matters. Statistical: biased up, by about the standard deviation of
    /// the sum of residuals; it needs no bandwidth.
    ///
    /// # Reference
    /// Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, "Metrics of calibration for probabilistic
    /// predictions", JMLR 23, 2022; KS: Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley,
    /// ICLR 2021.
    ///
    /// # Example
    /// C = 0, -0.1, 0.1, -0.1: the range is 0.2.
    /// ```
    /// use calipers::{CumulativeCalibrationError, CumulativeStatistic, Measure, Input};
    ///
    /// let predictions = Input::probabilities(&[0.3, 0.4, 0.6], &[0, 1, 0]).check()?;
    /// let view = predictions.binary()?;
    /// let range = CumulativeCalibrationError::new().estimate(&view)?;
    /// assert!((range.value - 0.2).abs() < 1e-15);
    /// let ks = CumulativeCalibrationError::new().statistic(CumulativeStatistic::MaximumAbsolute).estimate(&view)?;
    /// assert!((ks.value - 0.1).abs() < 1e-15);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct CumulativeCalibrationError {
        /// The range: ECCE-R.
        new;

        /// How the curve becomes a value.
        statistic: CumulativeStatistic = CumulativeStatistic::Range;

        link: Link;
    }
}

impl CumulativeCalibrationError {
    /// The curve behind the value.
    ///
    /// # Accuracy
    /// Of a sketch, every point is exact up to rounding, clipping and the offsets that cells keep;
    /// between two of them the curve strays by no more than one cell's rows can move it, which is
    /// in the bound of [`estimate_sketch`](Measure::estimate_sketch).
    pub fn curve<'s>(&self, sample: impl Into<Sample<'s>>) -> Result<CumulativeCurve, Error> {
        let groups = sample.into().groups(&*self.link)?;
        let first = groups.first().map_or(f64::NAN, |group| group.p);
        let mut curve = CumulativeCurve { shares: vec![0.0], differences: vec![0.0], probabilities: vec![first] };
        let (mut share, mut difference) = (Sum::default(), Sum::default());
        for group in groups {
            share.add(group.weight());
            difference.add(group.residual());
            curve.shares.push(share.value().min(1.0));
            curve.differences.push(difference.value());
            curve.probabilities.push(group.p);
        }
        Ok(curve)
    }

    fn described(&self, estimate: Estimate) -> Estimate {
        estimate.with("statistic", self.statistic.name()).with("link", self.link.name())
    }
}

entry! { RANGE = CumulativeCalibrationError::new().statistic(CumulativeStatistic::Range);
    cumulated("ecce_r", "ECCE-R", "range of the cumulated residuals in the order of p (Kuiper)")
}

entry! { MAXIMUM_ABSOLUTE = CumulativeCalibrationError::new().statistic(CumulativeStatistic::MaximumAbsolute);
    cumulated("ecce_mad", "ECCE-MAD", "largest size of the cumulated residuals in the order of p (KS error)")
}

const fn cumulated(name: &'static str, title: &'static str, definition: &'static str) -> Spec {
    Spec::error(name, definition)
        .title(title)
        .family(Family::Cumulative)
        .reference("Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, JMLR 23, 2022")
        .range(0.0, 1.0)
        .cost(Cost::Quick)
        .from_sketch(FromSketch::Value)
        .options(&[LINK])
}

impl Measure for CumulativeCalibrationError {
    described! {
        self => match self.statistic {
            CumulativeStatistic::Range => RANGE.spec,
            CumulativeStatistic::MaximumAbsolute => MAXIMUM_ABSOLUTE.spec,
        }
    }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let pooled = Pooled::new(view, &*self.link)?;
        let (mut highest, mut lowest, mut difference) = (0.0f64, 0.0f64, Sum::default());
        for group in &pooled.groups {
            difference.add(group.residual());
            highest = highest.max(difference.value());
            lowest = lowest.min(difference.value());
        }
        let value = self.statistic.of(highest, lowest);
        let bound = 2.0 * pooled.residual_error() + 2.0 * f64::EPSILON * value;
        Ok(self.described(Estimate::new(self.spec(), value, bound).of(view)))
    }

    /// The curve is looked at between cells only, and its extremes inside of them are missed: of n
    /// rows and K cells the noise floor is too small by about 0.6 (K^-1/2 - n^-1/2) standard
    /// deviations of the last point of the curve, at each end.
    fn cells<'a>(&'a self, _view: &BinaryView<'_>) -> Result<Option<Cells<'a>>, Error> {
        let value = |cells: &[CellWeights]| {
            let total: f64 = cells.iter().map(|cell| cell.weights[0] + cell.weights[1]).sum();
            let (mut highest, mut lowest, mut difference) = (0.0f64, 0.0f64, 0.0f64);
            for CellWeights { p, weights: [negative, positive] } in cells {
                difference += positive * (1.0 - p) - negative * p;
                (highest, lowest) = (highest.max(difference), lowest.min(difference));
            }
            self.statistic.of(highest / total, lowest / total)
        };
        Ok(Some(Cells::new(8192).valued_by(value)))
    }

    /// Cells are in the order of their probabilities, so C is known between cells. Inside a cell it
    /// is not: there it can rise by no more than the cell's outcomes 1 bring, and fall by no more
    /// than its outcomes 0 take.
    fn estimate_sketch(&self, sketch: &Sketch) -> Result<Estimate, Error> {
        check_link(sketch, &*self.link)?;
        let total = sketch.total_units() as f64;
        let (mut sum, mut price) = (Sum::default(), Sum::default());
        // What is certain: the extremes between cells. What is possible: those inside.
        let (mut highest, mut lowest, mut above, mut below) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
        for cell in sketch.cells_in_order() {
            let before = sum.value();
            for cell in &cell {
                let (p, complement) = cell.probability(cell.mean);
                let share = cell.weight / total;
                let change = if cell.outcome { share * complement } else { -share * p };
                let inside = before + change;
                (above, below) = (above.max(inside), below.min(inside));
                let clipped = if sketch.is_clipped(cell) { sketch.options().clip_value() } else { 0.0 };
                sum.add(change);
                price.add(share * (cell.step * cell.scale + clipped));
            }
            (highest, lowest) = (highest.max(sum.value()), lowest.min(sum.value()));
        }
        let value = self.statistic.of(highest, lowest);
        let inside = self.statistic.of(above.max(highest), below.min(lowest)) - value;
        let rounding =
            64.0 * f64::EPSILON + price.value() * (1.0 + 1e-9) + 2.0 * sketch.weight_error() + sketch.score_error();
        Ok(self.described(Estimate::new(self.spec(), value, inside + 2.0 * rounding).of_sketch(sketch)))
    }
}
