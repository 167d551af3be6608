//! LS-ECE of many rows, by cells: the same number to the same tolerance, in one pass.

use super::sigma::{self, Sigma};
use super::{Kernel, LsEce, Measured};
use crate::Error;
use crate::cells::{Atoms, Cells, PlainRows};
use crate::predictions::BinaryView;

/// Rows from which on cells are faster than the rows themselves.
const MANY: usize = 1 << 17;

/// Mantissa bits that tell cells apart: from a table that fits a cache to one that is still faster than rows.
const RESOLUTIONS: std::ops::Range<u32> = 10..14;

impl LsEce {
    /// The measure by cells; `None` where rows have to be taken one by one: few of them, weights, raw scores, noise
    /// without a third derivative, or a tolerance or sigma that cells of this size do not serve.
    pub(super) fn measure_cells(&self, view: &BinaryView<'_>) -> Result<Option<Measured>, Error> {
        let serves = view.len() >= MANY && self.noise.variation(3).is_some() && self.link.curvature(0.0, 0.0).is_some();
        match view.plain() {
            Some(rows) if serves => self.measure_plain(rows),
            _ => Ok(None),
        }
    }

    fn measure_plain(&self, rows: PlainRows<'_>) -> Result<Option<Measured>, Error> {
        let mut cells = Cells::new(rows, RESOLUTIONS.start, self.clip);
        let sigma = self.sigma.in_range(match self.sigma {
            Sigma::Value(sigma) => sigma,
            Sigma::Auto => self.sigma_by_rule(&cells, rows),
        })?;
        let kernel = Kernel { noise: &*self.noise, link: &*self.link, sigma };
        let mut atoms = Atoms::new(cells.summaries(), &kernel, kernel.link);
        let budget = 0.5 * self.tolerance;
        if !(atoms.bound <= budget) {
            // The price falls with the third power of the width; one bit more than that asks for, to be sure.
            let more_bits = ((atoms.bound / budget).log2() / 3.0).ceil() + 1.0;
            let resolution = RESOLUTIONS.start + more_bits.min(64.0) as u32;
            if !RESOLUTIONS.contains(&resolution) {
                return Ok(None);
            }
            cells = Cells::new(rows, resolution, self.clip);
            atoms = Atoms::new(cells.summaries(), &kernel, kernel.link);
        }
        if !(atoms.bound <= budget) {
            return Ok(None);
        }
        match kernel.integrate(&atoms.points, self.tolerance - atoms.bound) {
            Err(Error::ToleranceNotMet { .. }) => Ok(None),
            Err(refusal) => Err(refusal),
            Ok(mut integral) => {
                integral.bound += atoms.bound;
                Ok(Some(Measured { integral, sigma, n_clipped: cells.n_clipped }))
            }
        }
    }

    /// The rule of [`Sigma::Auto`]: quartiles are exact, the standard deviation is that of the cells' moments.
    fn sigma_by_rule(&self, cells: &Cells, rows: PlainRows<'_>) -> f64 {
        let n = rows.labels.len();
        let at_scale_one = Kernel { noise: &*self.noise, link: &*self.link, sigma: 1.0 };
        let deviation = sigma::standard_deviation(&Atoms::new(cells.summaries(), &at_scale_one, &*self.link).points);
        let quartiles = sigma::quartile_ranks(n).map(|ranks| {
            let logit = |rank: usize| {
                let p = cells.probability_of_rank(rows, self.clip, rank as u64);
                self.link.inverse(p, 1.0 - p)
            };
            if ranks[0] == ranks[1] { logit(ranks[0]) } else { 0.5 * (logit(ranks[0]) + logit(ranks[1])) }
        });
        sigma::rule(deviation, quartiles, n as f64)
    }
}
