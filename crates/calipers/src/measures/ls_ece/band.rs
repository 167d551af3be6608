//! Where the smoothed curve of calibrated predictions would lie.
//!
//! At a place u the curve is Σ c_i y_i, with c_i = s_i K(u - h_i) / Σ s K: a sum of independent
//! terms, whose mean, variance and third cumulant are sums over the rows. Where many rows
//! contribute it is nearly normal, and these three give its quantiles; elsewhere outcomes are
//! drawn.

use std::collections::BTreeMap;

use super::curve::{Spread, check_places};
use super::points::Points;
use super::regression::Regression;
use super::{Kernel, LsEce};
use crate::Error;
use crate::data::{Binary, Sample};
use crate::inference::bands::{Band, BandKind, BandOptions};
use crate::link::{Link, Probit};
use crate::numerics::binomial::Binomial;
use crate::numerics::dispatch::dispatched;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;

/// How far from normal a sum may be for three cumulants to do: the most that Σ c⁴ p (1 - p) may be
/// of the squared variance. It bounds the squared skewness and the excess kurtosis; 50 rows of
/// equal influence and uncertain outcomes are at this limit.
const NEARLY_NORMAL: f64 = 0.02;

/// Rows above which those of a cell are taken together.
const MOST_EXACT: usize = 1024;

/// Cells for each sigma: within one, the kernel changes by some hundredths at most where it
/// matters.
const CELLS: f64 = 16.0;

/// In standard deviations for one outcome: even all rows of a large file together move the curve by
/// nothing. Not more is neglected, since curves of few rows often lie at an end of the band.
const SMALLEST_INFLUENCE: f64 = 1e-18;

/// Curves that are drawn together: their sums are computed in vectors, and none waits for another.
const BATCH: usize = 8;

impl LsEce {
    /// Where the curve would lie at the probabilities `at`, were the predictions calibrated.
    ///
    /// # Definition
    /// ```text
    /// R*(t) = Σ_i c_i y*_i,   c_i = s_i p_ξ(u - h_i) / Σ_j s_j p_ξ(u - h_j),   u = ρ^-1(t),   y*_i = 1 with probability ρ(h_i)
    /// mean Σ c p,   variance Σ c² p (1 - p),   third cumulant Σ c³ p (1 - p)(1 - 2p)
    /// ```
    /// Lower and upper end are the quantiles of R*(t) at (1 - level) / 2 from either side:
    /// pointwise, about Σ c p, which is not t itself, since noise smooths the predictions too.
    /// Where Σ c⁴ p (1 - p) is at most a fiftieth of the squared variance they are the quantiles of
    /// a normal number with the skewness taken into account (Cornish and Fisher); elsewhere
    /// outcomes are drawn, and the ends are order statistics of the draws. NaN where the curve is.
    ///
    /// # Assumptions
    /// Independent rows. Predictions are clipped as for the curve.
    ///
    /// # Cost
    /// Above 1,024 rows those within a sixteenth of sigma and with weights within a fifth are taken
    /// together, at their mean: one pass over the rows, and then a cost that does not grow with
    /// them. Where outcomes are drawn, each draw takes as many numbers as there are rows or cells.
    ///
    /// # Accuracy
    /// Cells move mean and variance by less than 1/1000 for Gaussian noise. Statistical: from draws
    /// of rows the level holds for any n; by cumulants it is off by less than 1 % of 95.
    ///
    /// # Reference
    /// Consistency bars: Bröcker, Smith, "Increasing the reliability of reliability diagrams",
    /// Weather and Forecasting 2007.
    ///
    /// # Example
    /// One row at logit 0 can have either outcome.
    /// ```
    /// use calipers::inference::bands::BandOptions;
    /// use calipers::{Input, LsEce};
    ///
    /// let predictions = Input::probabilities(&[0.5], &[1]).check()?;
    /// let band = LsEce::new().sigma(0.3).consistency_band(&predictions.binary()?, &[0.5], &BandOptions::new())?;
    /// assert!(band.lower[0] < 1e-12 && band.upper[0] > 1.0 - 1e-12);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    ///
    /// # Sketches
    /// Points that stand for cells take the place of rows in every sum, and count as the rows of
    /// their cell do: of a cell of weight W whose rows have the weight w each, c² is W w (K / Σ)²,
    /// and so on. Under weights w is Σ w² / Σ w of the cell.
    pub fn consistency_band<'s>(
        &self,
        sample: impl Into<Sample<'s>>,
        at: &[f64],
        options: &BandOptions,
    ) -> Result<Band, Error> {
        self.band_of_rates(sample.into(), None, at, options)
    }

    /// Where the curve would lie, were outcome 1 as frequent as `rate` has it for each probability:
    /// the same as [`consistency_band`](Self::consistency_band) with these rates in place of the
    /// predictions. Of two samples with the rates of both together it shows where their curves
    /// would be if nothing had changed ([`Change::common`](crate::Change::common)).
    pub fn band_around<'s>(
        &self,
        sample: impl Into<Sample<'s>>,
        rate: &dyn Fn(f64) -> f64,
        at: &[f64],
        options: &BandOptions,
    ) -> Result<Band, Error> {
        self.band_of_rates(sample.into(), Some(rate), at, options)
    }

    fn band_of_rates(
        &self,
        sample: Sample<'_>,
        rate: Option<&dyn Fn(f64) -> f64>,
        at: &[f64],
        options: &BandOptions,
    ) -> Result<Band, Error> {
        check_places(at)?;
        options.check()?;
        let (points, row_weights, sigma) = match sample.binary("a band")? {
            Binary::Rows(view) => {
                let (points, sigma) = self.points(view)?;
                (points, None, sigma)
            }
            Binary::Sketch(sketch) => {
                sketch.check_rows()?;
                self.check_settings()?;
                let (atoms, sigma) = self.atoms_of_sketch(sketch)?;
                let row_weights = atoms.row_weights.iter().map(|weight| weight * sketch.unit()).collect();
                (atoms.points, Some(row_weights), sigma)
            }
        };
        let both = |logit: &f64| match rate {
            None => self.link.both(*logit),
            Some(rate) => {
                let rate = rate(self.link.response(*logit)).clamp(0.0, 1.0);
                (rate, 1.0 - rate)
            }
        };
        let rates = points.logits.iter().map(both).collect();
        Ok(self.band_of(&Population { points, rates, row_weights }, sigma, at, options))
    }

    fn band_of(&self, population: &Population, sigma: f64, at: &[f64], options: &BandOptions) -> Band {
        let kernel = self.kernel(sigma);
        let cells = (population.points.len() > MOST_EXACT).then(|| population.in_cells(&kernel));
        let population = cells.as_ref().unwrap_or(population);
        let points = &population.points;
        let curve = self.curve_of(points, kernel, at, Spread::NONE);
        let regression = Regression::new(points, kernel);
        let places: Vec<f64> = at.iter().map(|t| self.link.inverse(*t, 1.0 - t)).collect();
        let laws: Vec<Option<Law>> = parallel::map(places.len(), |place| {
            let is_known = !curve.outcome_rates[place].is_nan();
            is_known.then(|| Law::new(population, &kernel, &regression, places[place]))
        });
        let drawn: Vec<usize> =
            (0..at.len()).filter(|place| laws[*place].is_some_and(|law| !law.is_nearly_normal())).collect();
        let mut units = vec![None; at.len()];
        if !drawn.is_empty() {
            let trials = trials(population);
            let drawn_at: Vec<f64> = drawn.iter().map(|place| places[*place]).collect();
            let ends = drawn_units(&trials, &kernel, &drawn_at, options);
            drawn.iter().zip(ends).for_each(|(place, ends)| units[*place] = ends);
        }
        let ends = laws.iter().zip(units).map(|(law, units)| match law {
            None => (f64::NAN, f64::NAN),
            Some(law) => law.ends(units.unwrap_or_else(|| law.normal_units(options.tail()))),
        });
        options.band(BandKind::Consistency, ends)
    }
}

/// Rows, or points that stand for many of them.
struct Population {
    points: Points,
    /// The probability of outcome 1 at each point, and that of 0.
    rates: Vec<(f64, f64)>,
    /// The weight of a single row at each point; `None` where a point is a row.
    row_weights: Option<Vec<f64>>,
}

impl Population {
    fn row_weight(&self, index: usize) -> f64 {
        self.row_weights.as_ref().map_or_else(|| self.points.weight(index), |weights| weights[index])
    }

    /// With rows of nearly the same logit and weight together, at their means.
    fn in_cells(&self, kernel: &Kernel<'_>) -> Population {
        let (points, mut cells) = (&self.points, BTreeMap::<(i64, i32), Cell>::new());
        for index in (0..points.len()).filter(|index| points.weight(*index) > 0.0) {
            let (logit, weight, row_weight) = (points.logits[index], points.weight(index), self.row_weight(index));
            let place = (logit * CELLS / kernel.sigma).floor() as i64;
            cells.entry((place, (4.0 * row_weight.log2()) as i32)).or_default().add(
                logit,
                self.rates[index],
                weight,
                row_weight,
            );
        }
        let cells: Vec<Cell> = cells.into_values().collect();
        let of = |value: fn(&Cell) -> f64| cells.iter().map(value).collect::<Vec<f64>>();
        let logits = of(|cell| cell.logit / cell.weight);
        let points = Points::from_atoms(logits, vec![false; cells.len()], of(|cell| cell.weight), 0.0, 0.0);
        let rate = |cell: &Cell| ((cell.p / cell.weight).min(1.0), (cell.q / cell.weight).min(1.0));
        let row_weights = Some(of(|cell| cell.squares / cell.weight));
        Population { points, rates: cells.iter().map(rate).collect(), row_weights }
    }

    /// How many rows there are at a point, at least 1.
    fn n_rows(&self, index: usize) -> u64 {
        (self.points.weight(index) / self.row_weight(index)).round().max(1.0) as u64
    }
}

/// Sums over rows of nearly the same logit, times their weights.
#[derive(Default)]
struct Cell {
    logit: f64,
    p: f64,
    q: f64,
    weight: f64,
    /// Σ w² of the rows.
    squares: f64,
}

impl Cell {
    fn add(&mut self, logit: f64, (p, q): (f64, f64), weight: f64, row_weight: f64) {
        self.logit += weight * logit;
        self.p += weight * p;
        self.q += weight * q;
        self.weight += weight;
        self.squares += weight * row_weight;
    }
}

/// The distribution of the curve at one place.
/// `skewness` and `coarseness` mean nothing where the deviation is 0.
#[derive(Debug, Clone, Copy)]
struct Law {
    mean: f64,
    deviation: f64,
    skewness: f64,
    /// Σ c⁴ p (1 - p) over the squared variance.
    coarseness: f64,
}

impl Law {
    fn new(population: &Population, kernel: &Kernel<'_>, regression: &Regression<'_>, u: f64) -> Law {
        let points = &population.points;
        let near = regression.within_reach(u);
        let densities: Vec<f64> = near.iter().map(|index| kernel.density(u - points.logits[*index])).collect();
        let total = near.iter().zip(&densities).map(|(index, density)| points.share(*index) * density);
        let total = total.collect::<Sum>().value();
        let (mut mean, mut variance) = (Sum::default(), Sum::default());
        let (mut third, mut fourth) = (0.0, 0.0);
        for (&index, density) in near.iter().zip(densities) {
            // Divided by the sum first: the density can be so small that its squares vanish.
            let density = density / total;
            // Of all rows at the point together, and of one of them.
            let influence = points.share(index) * density;
            let of_row = population.row_weight(index) / points.total_weight * density;
            let (p, q) = population.rates[index];
            let square = influence * of_row * p * q;
            mean.add(influence * p);
            variance.add(square);
            third += square * of_row * (q - p);
            fourth += square * of_row * of_row;
        }
        let variance = variance.value();
        Law {
            mean: mean.value(),
            deviation: variance.sqrt(),
            skewness: third / variance.powf(1.5),
            coarseness: fourth / (variance * variance),
        }
    }

    fn is_nearly_normal(&self) -> bool {
        // Without variance there is nothing to draw.
        self.deviation == 0.0 || self.coarseness <= NEARLY_NORMAL
    }

    /// Quantiles in standard deviations from the mean.
    fn normal_units(&self, tail: f64) -> (f64, f64) {
        if self.deviation == 0.0 {
            return (0.0, 0.0);
        }
        let z = Probit.inverse(1.0 - tail, tail);
        let shift = self.skewness / 6.0 * (z * z - 1.0);
        (shift - z, shift + z)
    }

    fn ends(&self, (lower, upper): (f64, f64)) -> (f64, f64) {
        let at = |units: f64| (self.mean + self.deviation * units).clamp(0.0, 1.0);
        (at(lower), at(upper))
    }
}

/// Rows that are drawn together: of one logit and weight, or nearly so.
#[derive(Debug, Clone, Copy)]
struct Trials {
    logit: f64,
    /// The probability of outcome 1, and that of 0.
    p: f64,
    q: f64,
    weight: f64,
    n: u64,
}

/// All rows or cells that have weight.
fn trials(population: &Population) -> Vec<Trials> {
    let points = &population.points;
    let with_weight = (0..points.len()).filter(|index| points.weight(*index) > 0.0);
    let trials = with_weight.map(|index| {
        let (logit, (p, q)) = (points.logits[index], population.rates[index]);
        Trials { logit, p, q, weight: population.row_weight(index), n: population.n_rows(index) }
    });
    trials.collect()
}

/// The ends of the band at some places in standard deviations from the mean, by drawn outcomes.
/// `None` where cells of noise that jumps are out of reach and their rows are not.
fn drawn_units(
    trials: &[Trials],
    kernel: &Kernel<'_>,
    places: &[f64],
    options: &BandOptions,
) -> Vec<Option<(f64, f64)>> {
    // What a residual of each is worth in standard deviations; those without influence are left
    // out.
    let influences: Vec<Vec<(usize, f64)>> = parallel::map_each(places, |u| {
        let density = |trials: &Trials| kernel.density(u - trials.logit);
        let largest = trials.iter().map(density).fold(0.0, f64::max);
        let influence = |trials: &Trials| trials.weight * density(trials) / largest;
        let variance =
            trials.iter().map(|trials| influence(trials).powi(2) * trials.n as f64 * trials.p * trials.q).sum::<f64>();
        let unit = variance.sqrt().recip();
        let influences = trials.iter().enumerate().map(|(index, trials)| (index, influence(trials) * unit));
        influences.filter(|(_, influence)| *influence > SMALLEST_INFLUENCE).collect()
    });
    // Of many cells only those with influence on some place are drawn.
    let mut is_drawn = vec![trials.len() <= MOST_EXACT; trials.len()];
    influences.iter().flatten().for_each(|(index, _)| is_drawn[*index] = true);
    let law = |(trials, is_drawn): (&Trials, &bool)| is_drawn.then(|| Binomial::new(trials.n, trials.p));
    let laws: Vec<Option<Binomial>> = trials.iter().zip(&is_drawn).map(law).collect();
    let ends = options.ends_of_batches(places.len(), |uniforms| {
        let residual = |(trials, law): (&Trials, &Option<Binomial>)| {
            let Some(law) = law else { return [0.0; BATCH] };
            uniforms.each_mut().map(|uniforms| {
                let count = law.draw(uniforms);
                count as f64 * trials.q - (trials.n - count) as f64 * trials.p
            })
        };
        let residuals: Vec<[f64; BATCH]> = trials.iter().zip(&laws).map(residual).collect();
        influences.iter().map(|of_place| weighted_sums(of_place, &residuals)).collect()
    });
    ends.into_iter().zip(&influences).map(|(ends, influences)| (!influences.is_empty()).then_some(ends)).collect()
}

dispatched! {
    /// Σ influence * residual in each curve of a batch.
    fn weighted_sums / weighted_sums_portable(influences: &[(usize, f64)], residuals: &[[f64; BATCH]]) -> [f64; BATCH] {
        let mut sums = [0.0; BATCH];
        for (index, influence) in influences {
            let residuals = &residuals[*index];
            for curve in 0..BATCH {
                sums[curve] += influence * residuals[curve];
            }
        }
        sums
    }
}
