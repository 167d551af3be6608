//! The value without the part that chance adds to it.

use super::{Bootstrap, NoiseFloor};
use crate::names::names;

/// How the bias that chance causes is removed from a value. The result is never below 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Debias {
    /// Place by place: where a block of the axis shows a gap, the bias that a gap of that size has;
    /// where it shows nothing, all of its noise ([`Bracket::debiased`](super::Bracket)). For a
    /// measure that does not know its places, [`Debias::Mean`].
    ///
    /// The default, by simulation: as an estimate of ECE at sigma "auto" its error is at or below
    /// that of the other rules and of every rival at nearly all sizes. `calipers study estimators`
    /// has the values, and those of families that were kept aside.
    #[default]
    Local,
    /// The mean of the next two rules. One takes off too much where the gap is about as large as
    /// the noise, the other too little there.
    Mean,
    /// `sqrt(max(0, v² - m²))`, m the mean of the noise floor.
    ///
    /// Where noise and gap are independent and added at every score, their squares add. It is good
    /// near calibration, where it gives 0 for a value at its floor. Far from calibration it is too
    /// low by m² / 2v, since |gap + noise| is the gap on average there.
    Floor,
    /// `max(0, 2 v - mean(v*))`, v* the bootstrap draws.
    ///
    /// It removes the bias of the bootstrap, and at most the noise floor. It is correct far from
    /// calibration. For a calibrated model the bootstrap adds only 0.41 of the floor, so 0.59 of
    /// the floor remains.
    Bootstrap,
}

names! { Debias, "debias"; Local = "local", Mean = "mean", Floor = "floor", Bootstrap = "bootstrap" }

impl Debias {
    /// The debiased value.
    pub fn apply(self, value: f64, floor: &NoiseFloor, bootstrap: &Bootstrap) -> f64 {
        let by = |rule: Debias| rule.apply(value, floor, bootstrap);
        match self {
            Debias::Local => bootstrap.debiased_by_place(value).unwrap_or_else(|| by(Debias::Mean)),
            Debias::Mean => 0.5 * (by(Debias::Floor) + by(Debias::Bootstrap)),
            Debias::Floor => (value * value - floor.mean * floor.mean).max(0.0).sqrt(),
            Debias::Bootstrap => (value - bootstrap.bias()).max(0.0),
        }
    }
}
