//! P(Y = 1) given the logit.

use crate::link::{Link, Logistic};

/// P(Y = 1 | h), given as a change of the logit: the prediction is rho(h), and the truth is rho of
/// the changed logit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Truth {
    /// rho(intercept + slope h): calibrated with 0 and 1, overconfident with a slope below 1.
    Affine {
        /// Shift of all logits.
        intercept: f64,
        /// Positive.
        slope: f64,
    },
    /// rho(h + amplitude sin(frequency h)): errors that change sign, and cancel in wide bins.
    Sinusoidal {
        /// In logit units.
        amplitude: f64,
        /// Positive, in radians for each logit unit.
        frequency: f64,
    },
    /// `rho(h + shifts[j])` for h between `edges[j - 1]` and `edges[j]`: the truth itself has
    /// jumps.
    Piecewise {
        /// Increasing.
        edges: Vec<f64>,
        /// One more than edges.
        shifts: Vec<f64>,
    },
}

impl Truth {
    /// The predictor's own probability.
    pub const CALIBRATED: Truth = Truth::Affine { intercept: 0.0, slope: 1.0 };

    /// The logit of P(Y = 1 | h).
    pub fn logit(&self, h: f64) -> f64 {
        match self {
            Truth::Affine { intercept, slope } => intercept + slope * h,
            Truth::Sinusoidal { amplitude, frequency } => h + amplitude * (frequency * h).sin(),
            Truth::Piecewise { edges, shifts } => h + shifts[edges.partition_point(|&edge| edge <= h)],
        }
    }

    /// P(Y = 1 | h).
    pub fn probability(&self, h: f64) -> f64 {
        Logistic.response(self.logit(h))
    }

    /// P(Y = 1 | h) - rho(u), without cancellation near 0 and 1.
    pub(super) fn gap(&self, h: f64, u: f64) -> f64 {
        let (own, said) = (Logistic.both(self.logit(h)), Logistic.both(u));
        if u > 0.0 { said.1 - own.1 } else { own.0 - said.0 }
    }

    /// Where it jumps.
    pub(super) fn breaks(&self) -> &[f64] {
        match self {
            Truth::Piecewise { edges, .. } => edges,
            Truth::Affine { .. } | Truth::Sinusoidal { .. } => &[],
        }
    }

    /// Beyond this size of logit, truth and prediction are both 0 or both 1 to 17 digits.
    pub(super) fn saturated(&self) -> f64 {
        match self {
            Truth::Affine { intercept, slope } => (40.0 + intercept.abs()) / slope.min(1.0),
            Truth::Sinusoidal { amplitude, .. } => 40.0 + amplitude.abs(),
            Truth::Piecewise { shifts, .. } => 40.0 + shifts.iter().fold(0.0, |size: f64, shift| size.max(shift.abs())),
        }
    }

    /// A length over which it is as smooth as a polynomial of moderate degree.
    pub(super) fn scale(&self) -> f64 {
        match self {
            Truth::Affine { slope, .. } => 1.0 / slope.max(1.0),
            Truth::Sinusoidal { amplitude, frequency } => 1.0 / (1.0 + amplitude.abs() * frequency).max(*frequency),
            Truth::Piecewise { .. } => 1.0,
        }
    }
}
