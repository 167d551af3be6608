//! The smoothed curves of several models with the same sigma, for one diagram.

use calipers::{Error, LsCurve, Sample};

use super::Options;
use super::reliability::places;

/// Curves of all models at the same places and with the same sigma.
#[derive(Debug, Clone)]
pub struct Overlay {
    /// The scale of the noise: the largest that was chosen for a model, so that no curve is rougher
    /// than its own diagram.
    pub sigma: f64,
    /// One curve for each model.
    pub curves: Vec<LsCurve>,
    /// About how many rows are within one sigma of each point of each curve.
    pub rows_nearby: Vec<Vec<f64>>,
}

impl Overlay {
    /// An overlay without curves.
    pub(super) fn new(sigma: f64) -> Self {
        Overlay { sigma, curves: Vec::new(), rows_nearby: Vec::new() }
    }

    pub(super) fn add(&mut self, drawn: Sample<'_>, options: &Options) -> Result<(), Error> {
        let curve = options.ls_ece.clone().sigma(self.sigma).curve(drawn, &places(80))?;
        self.rows_nearby.push(curve.rows_within_sigma(&*options.link));
        self.curves.push(curve);
        Ok(())
    }
}
