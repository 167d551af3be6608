//! LS-ECE of many rows, by cells: the same value to the same tolerance, in one pass.

use super::sigma::{self, Sigma};
use super::{LsEce, Measured, points};
use crate::Error;
use crate::cells::{Atoms, Cells};
use crate::data::PlainRows;

/// The number of rows from which cells are faster than single rows.
const MANY: usize = 1 << 19;

/// Mantissa bits that tell cells apart: from tables that fit any cache to one that is still faster
/// than rows.
const RESOLUTIONS: std::ops::Range<u32> = 6..14;

/// What cells may cost of the tolerance. The grid gets the rest, whose size hardly depends on it.
const SHARE: f64 = 0.75;

/// What cells of nominal width w cost in units of w³ N_3 for rows with a density, N_3 being the
/// norm of the kernel's third derivative, as real files have it. Only the first guess of a
/// resolution depends on it.
const TYPICAL_COST: f64 = 0.012;

/// Points that stand for the cells of many rows.
pub(super) struct ByCells {
    pub(super) atoms: Atoms,
    pub(super) sigma: f64,
    n_clipped: u64,
}

impl LsEce {
    /// The measure by cells; `None` as [`atoms_of_cells`](Self::atoms_of_cells) has it, or where
    /// the tolerance cannot be met so.
    pub(super) fn measure_cells(&self, rows: PlainRows<'_>) -> Result<Option<Measured>, Error> {
        let Some(ByCells { atoms, sigma, n_clipped }) = self.atoms_of_cells(rows)? else { return Ok(None) };
        match self.kernel(sigma).integrate(&atoms.points, self.integrand, self.tolerance - atoms.bound) {
            Err(Error::ToleranceNotMet { .. }) => Ok(None),
            Err(error) => Err(error),
            Ok(mut integral) => {
                integral.bound += atoms.bound;
                Ok(Some(Measured { integral, sigma, n_clipped }))
            }
        }
    }

    /// Points in place of rows, by cells; `None` where rows have to be taken one by one: few of
    /// them, noise without a third derivative, or a tolerance or sigma that cells of this size do
    /// not serve; and for unchecked rows that break a rule.
    pub(super) fn atoms_of_cells(&self, rows: PlainRows<'_>) -> Result<Option<ByCells>, Error> {
        let third = self.noise.variation(3).filter(|_| self.link.curvature(0.0, 0.0).is_some());
        let Some(third) = third.filter(|_| rows.len() >= MANY) else { return Ok(None) };
        let budget = SHARE * self.tolerance;
        let guess = match self.sigma {
            Sigma::Value(sigma) => sigma,
            Sigma::Auto => self.sigma_of_some(rows),
        };
        let Some(resolution) = bits_for(TYPICAL_COST * third / guess.powi(3), budget) else { return Ok(None) };
        let Some(cells) = Cells::new(rows, resolution, self.clip) else { return Ok(None) };
        let sigma = self.sigma.in_range(match self.sigma {
            Sigma::Value(sigma) => sigma,
            Sigma::Auto => self.sigma_by_rule(&cells, rows),
        })?;
        let kernel = self.kernel(sigma);
        let atoms_of = |cells: &Cells| Atoms::new(cells.summaries(), &kernel, self.integrand, kernel.link);
        let mut atoms = atoms_of(&cells);
        if !(atoms.bound <= budget) {
            // The price falls with the third power of the width.
            let price = atoms.bound * 2f64.powi(3 * resolution as i32) * 1.1;
            let finer = bits_for(price, budget).filter(|finer| *finer > resolution);
            let Some(cells) = finer.and_then(|finer| Cells::new(rows, finer, self.clip)) else { return Ok(None) };
            atoms = atoms_of(&cells);
        }
        if !(atoms.bound <= budget) {
            return Ok(None);
        }
        Ok(Some(ByCells { atoms, sigma, n_clipped: cells.n_clipped }))
    }

    /// The rule of [`Sigma::Auto`] from the moments of the cells.
    fn sigma_by_rule(&self, cells: &Cells, rows: PlainRows<'_>) -> f64 {
        let atoms = Atoms::new(cells.summaries(), &self.kernel(1.0), self.integrand, &*self.link);
        sigma::rule(sigma::spread(&atoms.points, &*self.link), rows.len() as f64)
    }

    /// About the sigma of the rule, from some of the rows: cells are made for it.
    fn sigma_of_some(&self, rows: PlainRows<'_>) -> f64 {
        const SOME: usize = 1 << 10;
        let n = rows.len();
        let some = (0..n).step_by((n / SOME).max(1)).map(|row| points::clipped(rows.probabilities.get(row), self.clip));
        let (counts, logits): (Vec<f64>, Vec<f64>) =
            some.map(|p| (p * (1.0 - p), self.link.inverse(p, 1.0 - p))).unzip();
        sigma::rule(sigma::spread_of(&counts, &logits), n as f64)
    }
}

/// The coarsest resolution at which cells that cost `price` at width 1 are within a budget; `None`
/// if none is.
fn bits_for(price: f64, budget: f64) -> Option<u32> {
    let bits = ((price / budget).log2() / 3.0).ceil().max(f64::from(RESOLUTIONS.start));
    // Written so that NaN fails.
    (bits < f64::from(RESOLUTIONS.end)).then_some(bits as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Input;
    use crate::link::{CLogLog, Probit};
    use crate::measure::Measure;

    #[test]
    fn both_forms_of_many_rows_go_through_cells_within_their_bounds() {
        let n = MANY as u32 + 17;
        let p: Vec<f64> = (0..n).map(|k| (f64::from(k) * 0.618_033_988_749_895).fract()).collect();
        let y: Vec<bool> = (0..n).map(|k| (f64::from(k) * 0.754_877_666).fract() < 0.8 * p[k as usize]).collect();
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let view = predictions.binary().unwrap();
        let at_sigma = LsEce::new().sigma(0.1);
        for measure in [at_sigma.clone(), at_sigma.clone().link(Probit), at_sigma.link(CLogLog), LsEce::new()] {
            for measure in [measure.clone(), measure.residual()] {
                let cells = measure.measure_cells(view.plain().unwrap()).unwrap().expect("cells serve these rows");
                let rows = measure.clone().sigma(cells.sigma).measure_rows(&view).unwrap();
                let apart = (cells.integral.value - rows.integral.value).abs();
                assert!(apart <= cells.integral.bound + rows.integral.bound, "{measure:?}: {apart:e}");
                let several = measure.estimate_at(&view, &[cells.sigma, 0.7]).unwrap();
                for (estimate, sigma) in several.iter().zip([cells.sigma, 0.7]) {
                    let alone = measure.clone().sigma(sigma).measure_cells(view.plain().unwrap()).unwrap();
                    let alone = alone.expect("cells serve these rows");
                    assert_eq!(estimate.value.to_bits(), alone.integral.value.to_bits());
                    assert_eq!(estimate.spec, measure.spec());
                }
            }
        }
    }

    #[test]
    fn several_sigmas_have_the_bits_of_each() {
        let h: Vec<f64> = (0..500).map(|k| (f64::from(k) * 0.618_033_988_749_895).fract() * 8.0 - 4.0).collect();
        let y: Vec<bool> = (0..500).map(|k| k % 3 == 0).collect();
        let predictions = Input::logits(&h, &y).check().unwrap();
        let view = predictions.binary().unwrap();
        for measure in [LsEce::new(), LsEce::new().residual()] {
            let sigmas = [0.05, 0.4, 2.0];
            for (estimate, sigma) in measure.estimate_at(&view, &sigmas).unwrap().iter().zip(sigmas) {
                let alone = measure.clone().sigma(sigma).measure_rows(&view).unwrap();
                assert_eq!(estimate.value.to_bits(), alone.integral.value.to_bits());
            }
        }
    }
}
