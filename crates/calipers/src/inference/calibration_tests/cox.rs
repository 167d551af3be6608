//! Whether the regression of Cox has intercept 0 and slope 1, and how well it knows both.

use super::{CalibrationTest, TestResult};
use crate::data::BinaryView;
use crate::link::{Link, Logistic, Probit};
use crate::measure::Settings;
use crate::measures::ls_ece::Points;
use crate::measures::{CoxCalibration, CoxFit};
use crate::numerics::{chi_square, parallel};
use crate::setters::setters;
use crate::{Error, error};

/// The test by Cox's regression: whether outcomes, regressed on the logits of their probabilities,
/// have intercept 0 and slope 1.
///
/// # Definition
/// ```text
/// logit P(Y = 1) = a + b h        h = logit of the probability
/// LR = 2 ( max_{a, b} l(a, b) - l(0, 1) ),   l the log-likelihood,   against chi-square with 2 degrees of freedom
/// ```
/// With unequal weights the likelihood is none, and LR has another distribution. Then the statistic
/// is the score test
/// ```text
/// S = Uᵀ V⁻¹ U,   U = Σ w_i (y_i - p_i) (1, h_i),   V = Σ w_i² p_i (1 - p_i) (1, h_i)(1, h_i)ᵀ
/// ```
/// whose variance is known and which is the same as LR for many rows of equal weight.
/// [`inference`](Self::inference) gives both coefficients and calibration in the large with Wald
/// intervals, estimate ± z · standard error: by the information matrix, and with unequal weights by
/// the sandwich A⁻¹ B A⁻¹, B = Σ w² (y - fit)² (1, h)(1, h)ᵀ.
///
/// # Assumptions
/// Independent rows. It detects errors that are a straight line in logits: predictions that are too
/// high or too extreme as a whole. Rows whose outcomes are separated by the logits are an error, as
/// for [`CoxCalibration`].
///
/// # Cost
/// O(n) for each of some Newton steps, mostly 5 to 8.
///
/// # Accuracy
/// Numerical: the two likelihoods are compared row by row, and their difference is off by about
/// 1e-15 of Σ (1 + |h|). Probabilities of 0 and 1 are clipped first. Statistical: the chi-square
/// distribution is that of many rows; 5 % were 4.9 to 5.7 % at n = 500 and 5,000.
///
/// # Reference
/// Cox, "Two further applications of a model for binary regression", Biometrika 45, 1958; Miller,
/// Hui, Tierney, "Validation techniques for logistic regression models", Statistics in Medicine
/// 10, 1991.
///
/// # Example
/// Logits ±ln 3 with outcomes at the predicted rates: intercept 0 and slope 1.
/// ```
/// use calipers::Input;
/// use calipers::inference::calibration_tests::CoxTest;
///
/// let p = [0.75, 0.75, 0.75, 0.75, 0.25, 0.25, 0.25, 0.25];
/// let predictions = Input::probabilities(&p, &[1, 1, 1, 0, 1, 0, 0, 0]).check()?;
/// let inference = CoxTest::new().inference(&predictions.binary()?)?;
/// assert!(inference.test.statistic < 1e-12 && inference.test.p_value > 1.0 - 1e-12);
/// // Information: 8 · 3/16 rows' worth, times (ln 3)² for the slope.
/// assert!((inference.slope.standard_error - 1.5f64.sqrt().recip() / 3f64.ln()).abs() < 1e-9);
/// assert!(inference.slope.lower < 1.0 && 1.0 < inference.slope.upper);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CoxTest {
    clip: f64,
    level: f64,
}

/// A coefficient with its Wald interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoefficientInterval {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

/// The coefficients of the regression with their intervals, and the test.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CoxInference {
    /// a, next to the slope: 0 if calibrated.
    pub intercept: CoefficientInterval,
    /// b: 1 if calibrated, below if predictions are too extreme.
    pub slope: CoefficientInterval,
    /// The intercept where the slope is held at 1: 0 if calibrated.
    pub in_the_large: CoefficientInterval,
    /// Covariance of intercept and slope.
    pub covariance: f64,
    /// Level of the intervals.
    pub level: f64,
    /// Whether intercept is 0 and slope 1.
    pub test: TestResult,
    /// Probabilities that were moved off 0 or 1 so that their logit is finite.
    pub n_clipped: u64,
}

impl Default for CoxTest {
    fn default() -> Self {
        CoxTest { clip: 1e-6, level: 0.95 }
    }
}

impl CoxTest {
    /// Intervals of level 0.95, with a clip of 1e-6.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Probabilities are clipped to [clip, 1 - clip], since 0 and 1 have no finite logit.
        clip: f64;

        /// Level of the intervals, between 0 and 1.
        level: f64;
    }

    /// Coefficients with intervals, and the test.
    pub fn inference(&self, view: &BinaryView<'_>) -> Result<CoxInference, Error> {
        let valid = self.level > 0.0 && self.level < 1.0;
        Error::require(valid, "level", "between 0 and 1", error::number(self.level))?;
        let fit = CoxCalibration::new().clip(self.clip).fit(view)?;
        let points = Points::new(view, &Logistic, self.clip)?;
        // Weights are divided by the largest: 1 or 0 if they are equal but for rows that do not
        // count.
        let equal_weights = (0..points.len()).all(|index| matches!(points.weight(index), 0.0 | 1.0));
        let (statistic, name) = if equal_weights {
            (likelihood_ratio(&points, &fit), "likelihood_ratio")
        } else {
            (score_statistic(&points), "score")
        };
        let covariances = if equal_weights {
            // The fit takes a weight of c for c rows.
            let rows = view.largest_weight();
            let variance = |error: f64| error * error * rows;
            Covariances {
                intercept: variance(fit.intercept_standard_error),
                both: fit.covariance * rows,
                slope: variance(fit.slope_standard_error),
                in_the_large: variance(fit.in_the_large_standard_error),
            }
        } else {
            sandwich(&points, &fit)
        };
        let z = Probit.inverse(0.5 + 0.5 * self.level, 0.5 - 0.5 * self.level);
        let interval = |value: f64, variance: f64| {
            let standard_error = variance.sqrt();
            let (lower, upper) = (value - z * standard_error, value + z * standard_error);
            CoefficientInterval { value, standard_error, lower, upper }
        };
        let test = TestResult {
            test: "cox",
            statistic,
            p_value: chi_square::upper_tail(statistic, 2.0),
            degrees_of_freedom: Some(2.0),
            n: fit.n,
            settings: Settings::default().with("statistic", name).with("clip", self.clip),
        };
        Ok(CoxInference {
            intercept: interval(fit.intercept, covariances.intercept),
            slope: interval(fit.slope, covariances.slope),
            in_the_large: interval(fit.in_the_large, covariances.in_the_large),
            covariance: covariances.both,
            level: self.level,
            test,
            n_clipped: fit.n_clipped,
        })
    }
}

impl CalibrationTest for CoxTest {
    fn test(&self, view: &BinaryView<'_>) -> Result<TestResult, Error> {
        Ok(self.inference(view)?.test)
    }
}

struct Covariances {
    intercept: f64,
    both: f64,
    slope: f64,
    in_the_large: f64,
}

/// 2 Σ (l_i(a, b) - l_i(0, 1)) over rows that count.
fn likelihood_ratio(points: &Points, fit: &CoxFit) -> f64 {
    // -l of one row whose logit, towards its outcome, is x.
    let loss = |x: f64| (-x).max(0.0) + (-x.abs()).exp().ln_1p();
    let [sum] = sums(points, |index| {
        let h = points.logits[index];
        let towards = if points.outcomes[index] { 1.0 } else { -1.0 };
        let difference = loss(towards * h) - loss(towards * (fit.intercept + fit.slope * h));
        [if points.weight(index) > 0.0 { difference } else { 0.0 }]
    });
    // Below 0 by rounding only, since the fit is the maximum.
    (2.0 * sum).max(0.0)
}

/// The probability of a logit, and that of the other outcome.
fn probabilities(logit: f64) -> (f64, f64) {
    (Logistic.response(logit), Logistic.response(-logit))
}

/// Symmetric 2 x 2: 00, 01, 11.
type Symmetric = [f64; 3];

/// Σ of the row's factor times (1, h)(1, h)ᵀ.
fn moments(points: &Points, of_row: impl Fn(usize) -> f64 + Sync) -> Symmetric {
    sums(points, |index| {
        let (factor, h) = (of_row(index), points.logits[index]);
        [factor, factor * h, factor * h * h]
    })
}

/// Sums over all rows.
fn sums<const N: usize>(points: &Points, of_row: impl Fn(usize) -> [f64; N] + Sync) -> [f64; N] {
    parallel::sums(points.len(), |range, sums| {
        range.for_each(|index| sums.iter_mut().zip(of_row(index)).for_each(|(sum, term)| sum.add(term)));
    })
}

fn inverse([a, b, c]: Symmetric) -> Symmetric {
    let determinant = a * c - b * b;
    [c / determinant, -b / determinant, a / determinant]
}

fn score_statistic(points: &Points) -> f64 {
    let [u_0, u_1] = sums(points, |index| {
        let (p, q) = probabilities(points.logits[index]);
        let residual = points.weight(index) * if points.outcomes[index] { q } else { -p };
        [residual, residual * points.logits[index]]
    });
    let variance = moments(points, |index| {
        let (p, q) = probabilities(points.logits[index]);
        points.weight(index).powi(2) * p * q
    });
    let [i_00, i_01, i_11] = inverse(variance);
    (i_00 * u_0 * u_0 + 2.0 * i_01 * u_0 * u_1 + i_11 * u_1 * u_1).max(0.0)
}

/// Variances that hold whatever the weights mean.
fn sandwich(points: &Points, fit: &CoxFit) -> Covariances {
    let bread_and_meat = |intercept: f64, slope: f64| {
        let at = |index: usize| probabilities(intercept + slope * points.logits[index]);
        let information = moments(points, |index| {
            let (p, q) = at(index);
            points.weight(index) * p * q
        });
        let squares = moments(points, |index| {
            let (p, q) = at(index);
            (points.weight(index) * if points.outcomes[index] { q } else { p }).powi(2)
        });
        (information, squares)
    };
    let (information, [m_00, m_01, m_11]) = bread_and_meat(fit.intercept, fit.slope);
    let [i_00, i_01, i_11] = inverse(information);
    let product = |[a, b]: [f64; 2], [c, d]: [f64; 2]| a * c * m_00 + (a * d + b * c) * m_01 + b * d * m_11;
    let (large_information, large_squares) = bread_and_meat(fit.in_the_large, 1.0);
    Covariances {
        intercept: product([i_00, i_01], [i_00, i_01]),
        both: product([i_00, i_01], [i_01, i_11]),
        slope: product([i_01, i_11], [i_01, i_11]),
        in_the_large: large_squares[0] / large_information[0].powi(2),
    }
}
