//! What outcomes are compared with: the predictions themselves, or the curve of a reference.

use super::window::{Place, Window};
use crate::Error;
use crate::inference::drift::{Features, Place as FitPlace};
use crate::numerics::chi_square::upper_tail;
use crate::numerics::cholesky::Symmetric;
use crate::recalibrate::SplineBasis;

/// The share of alpha for the event that the band of a reference does not hold its curve.
const SHARE_OF_BAND: f64 = 0.2;

/// Knots of the curve, at most.
pub(super) const MOST_KNOTS: usize = 7;

/// The share of the rows beyond each of the outer knots.
const OUTSIDE: f64 = 0.02;

/// Log-odds beyond say nothing, and count as without a limit.
const LARGEST: f64 = 40.0;

/// What is expected of outcomes at a prediction.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expected {
    Calibrated,
    Reference(Curve),
}

/// Log-odds of outcomes that the null hypothesis allows at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub(super) centre: f64,
    /// Infinite where there is no limit.
    pub(super) lower: f64,
    pub(super) upper: f64,
}

impl Range {
    /// Whether there is no limit on the side of a move.
    #[inline]
    pub(super) fn is_open_towards(&self, d: f64) -> bool {
        if d > 0.0 { self.upper.is_infinite() } else { self.lower.is_infinite() }
    }
}

impl Expected {
    /// The expected log-odds at a prediction.
    pub(super) fn centre(&self, h: f64) -> f64 {
        match self {
            Expected::Calibrated => h,
            Expected::Reference(curve) => curve.at(h).0,
        }
    }

    /// The range at each place of a window.
    pub(super) fn ranges(&self, window: &Window, margin: f64) -> Vec<Range> {
        window.places.iter().map(|place| self.range(place, margin)).collect()
    }

    pub(super) fn range(&self, place: &Place, margin: f64) -> Range {
        let Place { h, half, is_clipped, .. } = *place;
        let (centre, lower, upper) = match self {
            Expected::Calibrated => {
                let lower = if is_clipped && h < 0.0 { f64::NEG_INFINITY } else { h - half };
                let upper = if is_clipped && h > 0.0 { f64::INFINITY } else { h + half };
                (h, lower, upper)
            }
            Expected::Reference(curve) => {
                let at = [h - half, h, h + half].map(|h| curve.at(h));
                let lower = at.iter().map(|(f, t)| f - t).fold(f64::INFINITY, f64::min);
                let upper = at.iter().map(|(f, t)| f + t).fold(f64::NEG_INFINITY, f64::max);
                (at[1].0, lower, upper)
            }
        };
        let (lower, upper) = (lower - margin, upper + margin);
        Range {
            centre,
            lower: if lower.abs() > LARGEST { f64::NEG_INFINITY } else { lower },
            upper: if upper.abs() > LARGEST { f64::INFINITY } else { upper },
        }
    }

    /// The part of alpha that is left for the e-value.
    pub(super) fn share_of_alpha(&self) -> f64 {
        match self {
            Expected::Calibrated => 1.0,
            Expected::Reference(_) => 1.0 - SHARE_OF_BAND,
        }
    }

    pub(super) fn n_reference(&self) -> Option<u64> {
        match self {
            Expected::Calibrated => None,
            Expected::Reference(curve) => Some(curve.n),
        }
    }

    pub(super) fn uncertainty(&self) -> Option<f64> {
        match self {
            Expected::Calibrated => None,
            Expected::Reference(curve) => Some(curve.uncertainty),
        }
    }
}

/// Log-odds of outcome 1 as a function of the score, by maximum likelihood: a natural cubic spline
/// in the log-odds of predictions.
///
/// # The band
/// With θ the parameters and Σ the inverse of their information, {θ : (θ - θ̂)' Σ⁻¹ (θ - θ̂) <= q}
/// holds the truth with the probability of chi-square with as many degrees of freedom as
/// parameters, for many rows. By Cauchy and Schwarz every curve of that set is within
/// √(q x(h)' Σ x(h)) of the fitted one, at all scores at once (Scheffé). A reference whose curve is
/// no such spline is approximated by one; the margin should cover what that leaves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    pub(super) n: u64,
    /// Ascending: none for a constant, two for a line, or more for a spline.
    pub(super) knots: Vec<f64>,
    pub(super) theta: Vec<f64>,
    /// q Σ, its lower half row by row.
    pub(super) spread: Vec<f64>,
    /// The mean half-width of the band over the rows of the reference.
    pub(super) uncertainty: f64,
    basis: Option<SplineBasis>,
}

impl Curve {
    /// Fits the rows of a reference.
    pub(super) fn fit(window: &Window, alpha: f64) -> Result<Self, Error> {
        let positive: u64 = window.places.iter().map(|place| place.n[1]).sum();
        let has_both = positive > 0 && positive < window.n;
        let got = || match (window.n, positive) {
            (0, _) => "no rows".to_owned(),
            (n, 0) => format!("{n} rows of outcome 0"),
            (n, _) => format!("{n} rows of outcome 1"),
        };
        Error::require(has_both, "reference", "of rows with both outcomes", got())?;
        let empty = Curve { n: window.n, spread: Vec::new(), ..Curve::new(knots(window), Vec::new(), Vec::new()) };
        let places: Vec<FitPlace> = window.places.iter().map(fit_place).collect();
        let positives: Vec<f64> = places.iter().map(|place| place.positive).collect();
        let features = Features::new(&places, empty.n_parameters(), |place, into| empty.features(place.h, into));
        let fitted = features.fit(&places, &positives);
        let rule = "of rows that determine a curve; pass more of them";
        let Some(factor) = fitted.factor else { return Err(Error::setting("reference", rule, window.n)) };
        let scales = &features.scales;
        let theta: Vec<f64> = fitted.theta.iter().zip(scales).map(|(theta, scale)| theta * scale).collect();
        let limit = chi_square_limit(alpha * SHARE_OF_BAND, theta.len() as f64);
        let mut spread: Symmetric = factor.inverse();
        for i in 0..theta.len() {
            for j in 0..=i {
                let entry = spread.get(i, j);
                spread.add(i, j, entry * limit * scales[i] * scales[j] - entry);
            }
        }
        let curve = Curve { theta, spread: spread.lower, ..empty };
        let width = |place: &Place| place.total() as f64 * curve.at(place.h).1;
        let uncertainty = window.places.iter().map(width).sum::<f64>() / window.n as f64;
        Ok(Curve { uncertainty, ..curve })
    }

    /// A curve of these parameters.
    pub(super) fn new(knots: Vec<f64>, theta: Vec<f64>, spread: Vec<f64>) -> Self {
        let basis = (knots.len() > 2).then(|| SplineBasis::with_knots(knots.clone()));
        Curve { n: 0, knots, theta, spread, uncertainty: 0.0, basis }
    }

    pub(super) fn n_parameters(&self) -> usize {
        self.knots.len().max(1)
    }

    fn features(&self, h: f64, into: &mut [f64]) {
        match (&self.basis, &self.knots[..]) {
            (Some(basis), [first, .., last]) => {
                // Far beyond the knots few rows determine the curve: it stays as it is there.
                let range = (2.0 * first - last, 2.0 * last - first);
                basis.features(h.clamp(range.0, range.1), into);
            }
            (None, [_, _]) => {
                into[0] = h;
                into[1] = 1.0;
            }
            _ => into[0] = 1.0,
        }
    }

    /// The log-odds at a score, and the half-width of the band.
    pub(super) fn at(&self, h: f64) -> (f64, f64) {
        let mut features = [0.0; MOST_KNOTS];
        let features = &mut features[..self.n_parameters()];
        self.features(h, features);
        let centre = features.iter().zip(&self.theta).map(|(feature, theta)| feature * theta).sum();
        let mut square = 0.0;
        let mut entries = self.spread.iter();
        for i in 0..features.len() {
            for j in 0..=i {
                let both = if i == j { 1.0 } else { 2.0 };
                square += both * entries.next().copied().unwrap_or(0.0) * features[i] * features[j];
            }
        }
        (centre, square.max(0.0).sqrt())
    }
}

fn fit_place(place: &Place) -> FitPlace {
    let total = place.total();
    let weight = total as f64;
    FitPlace { h: place.h, is_after: false, weight, positive: place.n[1] as f64, squares: weight, trials: total }
}

/// Few different scores, or quantiles of the rows: more with more rows, since each widens the band.
fn knots(window: &Window) -> Vec<f64> {
    let n_knots = ((window.n as f64).cbrt() / 8.0).round().clamp(2.0, MOST_KNOTS as f64) as usize;
    if window.places.len() <= n_knots {
        let scores: Vec<f64> = window.places.iter().map(|place| place.h).collect();
        return if scores.len() < 2 { Vec::new() } else { scores };
    }
    let share = |k: usize| OUTSIDE + (1.0 - 2.0 * OUTSIDE) * k as f64 / (n_knots - 1) as f64;
    let (mut knots, mut below): (Vec<f64>, u64) = (Vec::new(), 0);
    for place in &window.places {
        below += place.total();
        while knots.len() < n_knots && below as f64 >= share(knots.len()) * window.n as f64 {
            knots.push(place.h);
        }
    }
    knots.dedup_by(|next, last| *next - *last <= 1e-3);
    // Most rows at one score, but not all: a line through the outer ones.
    if knots.len() < 2 {
        knots = vec![window.places[0].h, window.places[window.places.len() - 1].h];
    }
    knots
}

/// x with P(chi-square > x) = tail, from above.
fn chi_square_limit(tail: f64, degrees_of_freedom: f64) -> f64 {
    let (mut lower, mut upper) = (0.0, 1.0);
    while upper_tail(upper, degrees_of_freedom) > tail {
        (lower, upper) = (upper, 2.0 * upper);
    }
    while upper - lower > 1e-12 * upper {
        let middle = 0.5 * (lower + upper);
        if upper_tail(middle, degrees_of_freedom) > tail { lower = middle } else { upper = middle }
    }
    upper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_chi_square_are_those_of_tables() {
        for (tail, degrees_of_freedom, expected) in [(0.05, 1.0, 3.841), (0.01, 2.0, 9.210), (0.01, 7.0, 18.475)] {
            assert!((chi_square_limit(tail, degrees_of_freedom) - expected).abs() < 1e-3);
        }
    }
}
