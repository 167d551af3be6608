//! LS-ECE and its curve from a sketch: points that stand for cells, and their price in the bound.

use super::curve::Spread;
use super::sigma::{self, Sigma};
use super::{Integral, Integrand, LsCurve, LsEce, Measured};
use crate::cells::Atoms;
use crate::data::Scale;
use crate::link::{Link, Logistic};
use crate::sketch::Sketch;
use crate::{Error, error};

/// What of the tolerance cells may take; the rest is the integral's.
const CELLS_SHARE: f64 = 0.9;

/// An automatic sigma is raised by at most this factor, to the smallest that the cells can answer.
/// Beyond it, the cells are too wide for this noise.
const MOST_RAISED: f64 = 4.0;

/// Points for a sketch at some sigma.
struct Prepared {
    atoms: Atoms,
    /// What scores beyond the last cell cost, which were taken to be in it.
    far: f64,
    sigma: f64,
    raised: bool,
}

impl LsEce {
    /// The measure of a sketch's rows.
    ///
    /// # Bound
    /// The rounding of weights adds to the bound of `cells/atoms.rs`. If it adds or removes Σ|δ| of
    /// the total weight W, both W and the integral before its division by W move by at most Σ|δ|.
    /// So the measure moves by at most 2 Σ|δ| / W, also in the residual form, since |y - p| <= 1.
    ///
    /// A sketch of the monitoring profile has the bound that its cells have, however large.
    pub(super) fn measure_sketch(&self, sketch: &Sketch) -> Result<(Measured, &'static str), Error> {
        let Prepared { atoms, far, sigma, raised } = self.prepare(sketch)?;
        let kernel = self.kernel(sigma);
        let price = atoms.bound + far + 2.0 * sketch.weight_error();
        let largest = error::number(sketch.options().largest_logit_value());
        let rule = format!("within ±{largest} at this sigma and link in a sketch");
        let got = format!("{} beyond", sketch.n_clipped());
        Error::require(far <= CELLS_SHARE * self.tolerance, "logits", rule, got)?;
        // Who chose the monitoring profile chose its bound, and the tolerance is that of the
        // integral.
        let in_tolerance = if sketch.has_own_bound() { 0.0 } else { price };
        if !(in_tolerance <= CELLS_SHARE * self.tolerance) {
            return Err(match 4.0 * sketch.weight_error() > price {
                true => self.weights_too_small(price),
                false => self.cells_too_wide(price),
            });
        }
        let Integral { value, bound } =
            kernel.integrate(&atoms.points, self.integrand, self.tolerance - in_tolerance)?;
        let integral = Integral { value, bound: bound + price };
        let rule = match (self.sigma, raised) {
            (Sigma::Value(_), _) => "given",
            (Sigma::Auto, false) => "auto",
            (Sigma::Auto, true) => "auto, raised to what the sketch can answer",
        };
        Ok((Measured { integral, sigma, n_clipped: sketch.n_clipped() }, rule))
    }

    /// Points that stand for the rows of a sketch, and the sigma for them.
    pub(super) fn atoms_of_sketch(&self, sketch: &Sketch) -> Result<(Atoms, f64), Error> {
        let Prepared { atoms, sigma, .. } = self.prepare(sketch)?;
        Ok((atoms, sigma))
    }

    /// The smoothed curve; the bounds contain the width of the cells.
    pub(super) fn curve_of_sketch(&self, sketch: &Sketch, at: &[f64]) -> Result<LsCurve, Error> {
        sketch.check_rows()?;
        self.check_settings()?;
        super::curve::check_places(at)?;
        let Prepared { atoms, far, sigma, .. } = self.prepare(sketch)?;
        let kernel = self.kernel(sigma);
        // A share of the weight, at the kernel's peak.
        let peak = 0.5 * kernel.noise.variation(1).unwrap_or(f64::INFINITY) / sigma;
        let weights = if sketch.weight_error() > 0.0 { 2.0 * sketch.weight_error() * peak } else { 0.0 };
        let jumps = kernel.noise.plateau().is_some();
        let spread = Spread {
            pointwise: weights + if jumps { 0.0 } else { atoms.pointwise },
            farthest: if jumps { atoms.farthest } else { 0.0 },
            moved_beyond: if far > 0.0 { self.last_logit(sketch) } else { f64::INFINITY },
        };
        Ok(LsCurve { n: sketch.n(), n_clipped: sketch.n_clipped(), ..self.curve_of(&atoms.points, kernel, at, spread) })
    }

    /// LS-ECE for the residual form, and the residual form for LS-ECE.
    fn other_form(&self) -> LsEce {
        let integrand = match self.integrand {
            Integrand::Paper => Integrand::Residual,
            Integrand::Residual => Integrand::Paper,
        };
        LsEce { integrand, ..self.clone() }
    }

    fn prepare(&self, sketch: &Sketch) -> Result<Prepared, Error> {
        let clip = sketch.options().clip_value();
        let is_clipped_so = sketch.scale() != Some(Scale::Probability) || self.clip == clip;
        let rule = format!("{}, that of the sketch", error::number(clip));
        Error::require(is_clipped_so, "clip", rule, error::number(self.clip))?;
        if let Sigma::Value(sigma) = self.sigma {
            let sigma = self.sigma.in_range(sigma)?;
            let far = self.price_of_far(sketch, sigma);
            return Ok(Prepared { atoms: self.atoms(sketch, sigma), far, sigma, raised: false });
        }
        let points = self.atoms(sketch, 1.0).points;
        let by_rule = sigma::rule(sigma::spread(&points, &*self.link), sketch.effective_n());
        let by_rule = self.sigma.in_range(by_rule)?;
        let mut sigma = by_rule;
        loop {
            let atoms = self.atoms(sketch, sigma);
            // Both forms, so that LS-ECE and the residual form that decides on it have one sigma.
            let bound = atoms.bound.max(self.other_form().atoms(sketch, sigma).bound);
            let excess = bound / (CELLS_SHARE * self.tolerance - 2.0 * sketch.weight_error());
            if excess <= 1.0 || sketch.has_own_bound() {
                let far = self.price_of_far(sketch, sigma);
                return Ok(Prepared { atoms, far, sigma, raised: sigma > by_rule });
            }
            // The price falls with the third power of sigma, or with a lower one; so this never
            // goes too far.
            sigma *= (excess.cbrt() * 1.001).max(1.001);
            // Written so that NaN fails.
            if !(sigma <= MOST_RAISED * by_rule) {
                return Err(self.cells_too_wide(self.atoms(sketch, by_rule).bound));
            }
        }
    }

    /// The smaller of the logits, by their size, that stand for the largest raw scores, ±708 unless
    /// the sketch has others.
    fn last_logit(&self, sketch: &Sketch) -> f64 {
        let small = libm::exp(-sketch.options().largest_logit_value());
        let ends = [self.coordinate(sketch).inverse(small, 1.0), self.coordinate(sketch).inverse(1.0, small)];
        ends[0].abs().min(ends[1].abs())
    }

    /// What it costs that raw scores beyond the largest were taken as that.
    ///
    /// # Bound
    /// That of `saturated.rs` with H the logit there: for any d < H, four times ρ(-d) or 1 - ρ(d),
    /// and four times the probability that the noise goes beyond H - d. Taken at the best of some
    /// d. For the residual form six times the saturation and ten times the probability that the
    /// noise goes beyond (H - d) / 2.
    fn price_of_far(&self, sketch: &Sketch, sigma: f64) -> f64 {
        if sketch.scale() == Some(Scale::Probability) || sketch.n_clipped() == 0 {
            return 0.0;
        }
        let last = self.last_logit(sketch);
        let price = |d: f64| {
            let saturation = self.link.response(-d).max(self.link.complement(d));
            match self.integrand {
                Integrand::Paper => 4.0 * saturation + 4.0 * self.noise.tail((last - d) / sigma),
                Integrand::Residual => 6.0 * saturation + 10.0 * self.noise.tail(0.5 * (last - d) / sigma),
            }
        };
        (0..64).map(|step| price(last * f64::from(step) / 64.0)).fold(f64::INFINITY, f64::min)
    }

    /// The link by which a sketch's cells have their logits: those of raw scores are the logistic
    /// link's, whatever the link of the measure is.
    fn coordinate(&self, sketch: &Sketch) -> &dyn Link {
        match sketch.scale() {
            Some(Scale::Link) => &Logistic,
            _ => &*self.link,
        }
    }

    fn weights_too_small(&self, price: f64) -> Error {
        let reason =
            "weights are rounded to multiples of 2^-weight_bits; multiply all of them, or set more weight_bits";
        Error::ToleranceNotMet { tolerance: self.tolerance, attainable: 1.2 * price, reason }
    }

    fn cells_too_wide(&self, price: f64) -> Error {
        let reason = "the cells of the sketch are too wide for this noise and sigma";
        // With some room for the integral.
        Error::ToleranceNotMet { tolerance: self.tolerance, attainable: 1.2 * price, reason }
    }

    fn atoms(&self, sketch: &Sketch, sigma: f64) -> Atoms {
        let coordinate = self.coordinate(sketch);
        let mut atoms = Atoms::new(sketch.summaries(), &self.kernel(sigma), self.integrand, coordinate);
        if sketch.score_error() > 0.0 {
            self.add_score_errors(&mut atoms, sketch, coordinate);
        }
        atoms
    }

    /// Scores that were computed have an error of their own, which the link stretches where it is
    /// flatter than the logistic.
    fn add_score_errors(&self, atoms: &mut Atoms, sketch: &Sketch, coordinate: &dyn Link) {
        let points = &mut atoms.points;
        let error = |logit: f64| {
            let stretch = coordinate.response(logit) * coordinate.complement(logit) / coordinate.derivative(logit);
            (sketch.score_error() + 2.0 * f64::EPSILON * logit.abs()) * stretch
        };
        let (mut mean, mut largest) = (0.0, 0.0_f64);
        for (index, logit) in points.logits.iter().enumerate() {
            mean += points.share(index) * error(*logit);
            largest = largest.max(error(*logit));
        }
        points.logit_error += mean;
        points.largest_logit_error += largest;
    }
}
