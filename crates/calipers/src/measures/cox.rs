//! Cox's calibration regression: intercept and slope of the outcomes on the logits.

use super::prelude::*;
use crate::data::InputReport;
use crate::measures::ls_ece::{self, Points, check_clip};
use crate::numerics::parallel;

/// Which coefficient [`CoxCalibration`] reports as its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CoxCoefficient {
    /// The slope: 1 if calibrated, below 1 if predictions are too extreme.
    #[default]
    Slope,
    /// The intercept next to that slope: 0 if calibrated.
    Intercept,
    /// Calibration in the large: the intercept where the slope is held at 1. Above 0 if outcomes
    /// are more frequent than predicted.
    InTheLarge,
}

names! { CoxCoefficient, "coefficient";
    Slope = "slope",
    Intercept = "intercept",
    InTheLarge = "in_the_large",
}

measure! {
    /// Cox's calibration regression: outcomes on the logits of their probabilities.
    ///
    /// # Definition
    /// ```text
    /// logit P(Y = 1) = a + b h        h = logit of the probability, by maximum (weighted) likelihood
    /// logit P(Y = 1) = c + h          calibration in the large
    /// ```
    /// Raw scores are logits as they are. Calibrated predictions have a = 0, b = 1 and c = 0.
    /// Standard errors are those of the information matrix, with weights as numbers of rows.
    ///
    /// # Assumptions
    /// Independent rows, and a calibration that is wrong, if at all, by a straight line in logits.
    ///
    /// # Cost
    /// O(n) for each of some Newton steps, mostly 5 to 8.
    ///
    /// # Accuracy
    /// Numerical: Newton's method until a step changes no coefficient by more than 1e-11 of 1 + its
    /// size; it converges quadratically, so that the step after it would be far smaller.
    /// `numerical_bound` has twice the last step and what rounding of the gradient can do. Where
    /// the likelihood has no maximum, which the ranges of the logits of both outcomes show exactly,
    /// there is an error. Probabilities of 0 and 1 are clipped first, and then the clip matters.
    ///
    /// # Reference
    /// Cox, "Two further applications of a model for binary regression", Biometrika 45, 1958.
    ///
    /// # Example
    /// Logits ±ln 3 predict 3/4 and 1/4, outcome rates are 2/3 and 1/3: a slope of ln 2 / ln 3.
    /// ```
    /// use calipers::{CoxCalibration, Input};
    ///
    /// let p = [0.75, 0.75, 0.75, 0.25, 0.25, 0.25];
    /// let predictions = Input::probabilities(&p, &[1, 1, 0, 1, 0, 0]).check()?;
    /// let fit = CoxCalibration::new().fit(&predictions.binary()?)?;
    /// assert!((fit.slope - 2f64.ln() / 3f64.ln()).abs() < 1e-10);
    /// assert!(fit.intercept.abs() < 1e-10 && fit.in_the_large.abs() < 1e-10);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub struct CoxCalibration {
        /// The slope, with a clip of 1e-6.
        new;

        /// Which coefficient is the value.
        coefficient: CoxCoefficient = CoxCoefficient::Slope;

        /// Probabilities are clipped to [clip, 1 - clip], since 0 and 1 have no finite logit.
        clip: f64 = 1e-6;
    }
}

/// The two regressions of [`CoxCalibration`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CoxFit {
    /// a, next to the slope.
    pub intercept: f64,
    /// b.
    pub slope: f64,
    /// c, where the slope is held at 1.
    pub in_the_large: f64,
    /// Standard error of the intercept.
    pub intercept_standard_error: f64,
    /// Standard error of the slope.
    pub slope_standard_error: f64,
    /// Covariance of intercept and slope.
    pub covariance: f64,
    /// Standard error of c.
    pub in_the_large_standard_error: f64,
    /// Bounds on the numerical error of intercept, slope and c.
    pub numerical_bounds: [f64; 3],
    /// Newton steps of both regressions.
    pub n_steps: u64,
    /// Rows measured.
    pub n: u64,
    /// Probabilities that were moved off 0 or 1 so that their logit is finite.
    pub n_clipped: u64,
    /// What was read, rounded, tied and left out.
    pub input: InputReport,
}

impl CoxCalibration {
    /// Both regressions.
    pub fn fit(&self, view: &BinaryView<'_>) -> Result<CoxFit, Error> {
        check_clip(self.clip)?;
        let points = Points::new(view, &Logistic, self.clip)?;
        check_overlap(&points)?;
        let (large, large_steps) = Fit::run(&points, Model::InTheLarge)?;
        let (fit, steps) = Fit::run(&points, Model::Both)?;
        // The points' weights are divided by the largest.
        let variance = |entry: f64| entry / view.largest_weight();
        Ok(CoxFit {
            intercept: fit.at[0],
            slope: fit.at[1],
            in_the_large: large.at[0],
            intercept_standard_error: variance(fit.inverse[0]).sqrt(),
            slope_standard_error: variance(fit.inverse[2]).sqrt(),
            covariance: variance(fit.inverse[1]),
            in_the_large_standard_error: variance(large.inverse[0]).sqrt(),
            numerical_bounds: [fit.bounds[0], fit.bounds[1], large.bounds[0]],
            n_steps: steps + large_steps,
            n: view.len() as u64,
            n_clipped: points.n_clipped,
            input: view.report().clone(),
        })
    }
}

entry! { IN_THE_LARGE = CoxCalibration::new().coefficient(CoxCoefficient::InTheLarge);
    coefficient(
        "calibration_in_the_large",
        "intercept of the logistic regression of y with logit p as offset; 0 is ideal",
        0.0,
    )
    .title("calibration in the large")
}

entry! { SLOPE = CoxCalibration::new().coefficient(CoxCoefficient::Slope);
    coefficient("calibration_slope", "slope of the logistic regression of y on logit p; 1 is ideal", 1.0)
        .title("calibration slope")
}

entry! { INTERCEPT = CoxCalibration::new().coefficient(CoxCoefficient::Intercept);
    coefficient(
        "calibration_intercept",
        "intercept of the logistic regression of y on logit p; 0 is ideal",
        0.0,
    )
    .title("calibration intercept")
}

const fn coefficient(name: &'static str, definition: &'static str, ideal: f64) -> Spec {
    Spec::coefficient(name, definition, ideal)
        .family(Family::Regression)
        .reference("Cox, Biometrika 45, 1958")
        .range(f64::NEG_INFINITY, f64::INFINITY)
        .options(&[ls_ece::CLIP])
}

impl Measure for CoxCalibration {
    fn spec(&self) -> &'static Spec {
        match self.coefficient {
            CoxCoefficient::InTheLarge => IN_THE_LARGE.spec,
            CoxCoefficient::Slope => SLOPE.spec,
            CoxCoefficient::Intercept => INTERCEPT.spec,
        }
    }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let fit = self.fit(view)?;
        let [intercept, slope, in_the_large] = fit.numerical_bounds;
        let (value, numerical_bound) = match self.coefficient {
            CoxCoefficient::Slope => (fit.slope, slope),
            CoxCoefficient::Intercept => (fit.intercept, intercept),
            CoxCoefficient::InTheLarge => (fit.in_the_large, in_the_large),
        };
        let estimate = Estimate::new(self.spec(), value, numerical_bound).of(view).clipped(fit.n_clipped);
        Ok(estimate.with("coefficient", self.coefficient.name()).with("clip", self.clip))
    }
}

/// Whether the likelihood has a maximum: it has one if neither outcome's logits are all at or above
/// those of the other.
fn check_overlap(points: &Points) -> Result<(), Error> {
    let mut ranges = [(f64::INFINITY, f64::NEG_INFINITY); 2];
    for index in (0..points.len()).filter(|&index| points.weight(index) > 0.0) {
        let range = &mut ranges[usize::from(points.outcomes[index])];
        *range = (range.0.min(points.logits[index]), range.1.max(points.logits[index]));
    }
    let [negatives, positives] = ranges;
    let invalid = |got: String| {
        let rule =
            "of both outcomes with overlapping ranges of logits, since the regression has no finite solution else";
        Err(Error::setting("rows", rule, got))
    };
    let apart = |below: (u8, f64), above: (u8, f64)| {
        let [low, high] = [below.1, above.1].map(error::number);
        invalid(format!("outcome {} up to logit {low} and outcome {} from {high}", below.0, above.0))
    };
    match (negatives.1.is_finite(), positives.1.is_finite()) {
        (false, _) => invalid("only outcome 1".to_owned()),
        (_, false) => invalid("only outcome 0".to_owned()),
        _ if negatives.0 == positives.0 && negatives.1 == positives.1 && negatives.0 == positives.1 => {
            invalid(format!("only logit {}", error::number(negatives.0)))
        }
        _ if negatives.1 <= positives.0 => apart((0, negatives.1), (1, positives.0)),
        _ if positives.1 <= negatives.0 => apart((1, positives.1), (0, negatives.0)),
        _ => Ok(()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    Both,
    InTheLarge,
}

/// Coefficients with what belongs to them.
struct Fit {
    at: [f64; 2],
    /// Inverse of the information: 00, 01, 11.
    inverse: [f64; 3],
    bounds: [f64; 2],
}

/// Log-likelihood, gradient and information of all rows, for weights of which the largest is 1.
#[derive(Default)]
struct Sums {
    likelihood: Sum,
    gradient: [Sum; 2],
    information: [Sum; 3],
    /// Σ w |residual| (1 + |h|): what rounding can do to the gradient.
    size: f64,
}

impl Fit {
    fn run(points: &Points, model: Model) -> Result<(Fit, u64), Error> {
        let mut at = [0.0, 1.0];
        let mut sums = Sums::of(points, at);
        for n_steps in 1..=100 {
            let [i_00, i_01, i_11] = sums.information.each_ref().map(|sum| sum.value());
            let [g_0, g_1] = sums.gradient.each_ref().map(|sum| sum.value());
            let (step, inverse) = match model {
                Model::InTheLarge => ([g_0 / i_00, 0.0], [1.0 / i_00, 0.0, 0.0]),
                Model::Both => {
                    let determinant = i_00 * i_11 - i_01 * i_01;
                    let inverse = [i_11 / determinant, -i_01 / determinant, i_00 / determinant];
                    ([inverse[0] * g_0 + inverse[1] * g_1, inverse[1] * g_0 + inverse[2] * g_1], inverse)
                }
            };
            if !(step[0].is_finite() && step[1].is_finite()) {
                break;
            }
            // Halved until the likelihood does not fall by more than rounding: far from the maximum
            // a full step may overshoot.
            let mut factor = 1.0;
            let (next, next_sums) = loop {
                let next = [at[0] + factor * step[0], at[1] + factor * step[1]];
                let next_sums = Sums::of(points, next);
                let slack = 1e-12 * (1.0 + sums.likelihood.value().abs());
                if next_sums.likelihood.value() >= sums.likelihood.value() - slack || factor < 1e-9 {
                    break (next, next_sums);
                }
                factor *= 0.5;
            };
            (at, sums) = (next, next_sums);
            let converged = |k: usize| step[k].abs() <= 1e-11 * (1.0 + at[k].abs());
            if factor == 1.0 && converged(0) && converged(1) {
                // What rounding leaves of the gradient, times the inverse of the information, and
                // the last step twice.
                let gradient = 16.0 * f64::EPSILON * sums.size;
                let rounding = [inverse[0] + inverse[1].abs(), inverse[1].abs() + inverse[2]];
                let bounds = [0, 1].map(|k| 2.0 * step[k].abs() + rounding[k] * gradient + 4.0 * f64::EPSILON);
                return Ok((Fit { at, inverse, bounds }, n_steps));
            }
        }
        let reason = "Newton's method does not converge: the outcomes are all but separated by the logits";
        Err(Error::ToleranceNotMet { tolerance: 1e-11, attainable: f64::INFINITY, reason })
    }
}

impl Sums {
    fn of(points: &Points, at: [f64; 2]) -> Sums {
        let parts = parallel::map_chunks(points.len(), parallel::CHUNK, |range| {
            let mut sums = Sums::default();
            for index in range {
                sums.add(points.logits[index], points.outcomes[index], points.weight(index), at);
            }
            sums
        });
        parts.into_iter().fold(Sums::default(), |mut all, part| {
            all.likelihood.merge(part.likelihood);
            all.gradient.merge(part.gradient);
            all.information.merge(part.information);
            all.size += part.size;
            all
        })
    }

    #[inline]
    fn add(&mut self, h: f64, outcome: bool, weight: f64, at: [f64; 2]) {
        if weight == 0.0 {
            return;
        }
        let eta = at[0] + at[1] * h;
        // e^-|eta| gives p, 1 - p and their logarithms without cancellation.
        let small = (-eta.abs()).exp();
        let (less, more) = (small / (1.0 + small), 1.0 / (1.0 + small));
        let away = if outcome == (eta > 0.0) { less } else { more };
        let residual = if outcome { away } else { -away };
        let towards = if outcome { eta } else { -eta };
        self.likelihood.add(-weight * ((-towards).max(0.0) + small.ln_1p()));
        self.gradient[0].add(weight * residual);
        self.gradient[1].add(weight * residual * h);
        let information = weight * less * more;
        self.information[0].add(information);
        self.information[1].add(information * h);
        self.information[2].add(information * h * h);
        self.size += weight * away * (1.0 + h.abs());
    }
}
