//! Resamples of measures that smooth along [0, 1] with reflection at both ends (`reflected.rs`), at
//! a cost that does not grow with the number of rows.
//!
//! A sum of reflected kernels is a series of cosines,
//! ```text
//! Σ_i a_i K̃_σ(t, p_i) = A_0 + 2 Σ_k A_k φ(k) cos(π k t),    A_k = Σ_i a_i cos(π k p_i)
//! ```
//! with φ(k) the transform of the kernel, exp(-(π k σ)² / 2) for a Gaussian one. The masses of a
//! draw are put on a grid once and transformed once, and each σ takes one transform back.
//!
//! # What the grid costs
//! With a spacing of σ/4, a mass on four nodes by cubic polynomials moves the smoothed function by
//! at most 0.0234 · 4^-4 · N_4 of the mass, N_4 = 4.8 being the L1 norm of the fourth derivative of
//! a Gaussian: 4.4e-4 of the sum of all masses. The mean over nodes integrates a function with so
//! narrow a spectrum to far less than that, and where |G| has a kink, the panel is integrated by
//! its chord. `tests/floors` compares with rows drawn one by one and measured exactly.

use std::sync::{Arc, OnceLock};

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

use super::prelude::*;
use super::reflected::Value;
use crate::inference::{CellTable, Resampler, RowResampler};
use crate::noise::Noise;

/// Nodes for each σ of the kernel.
const NODES_PER_SIGMA: f64 = 4.0;

/// Panels of the grids for a σ that is found: the first that is fine enough is taken.
const PANELS: [usize; 3] = [512, 2048, 8192];

/// The smallest σ that the finest of them is for.
pub(super) const SMALLEST_SIGMA: f64 = NODES_PER_SIGMA / PANELS[PANELS.len() - 1] as f64;

/// Cells of many rows.
const N_CELLS: usize = 2048;

/// How near to the fixed point a draw gets, relative to it.
const ACCURACY: f64 = 1e-4;

/// What a draw is measured by.
enum Smoother {
    /// smECE at the σ that is its value. `usual` is where the search starts.
    FixedPoint { grids: [OnceLock<Grid>; PANELS.len()], usual: f64 },
    /// Residuals smoothed by a given kernel.
    Residuals(Grid, Vec<f64>),
    /// Outcomes smoothed by a given kernel: ∫ |Σ s (y - t) K̃(t, p)| dt.
    Outcomes(Grid, Vec<f64>),
}

/// Draws of a measure that smooths along [0, 1].
pub(super) struct ReflectedDraws<'a> {
    rows: RowResampler<'a>,
    table: CellTable,
    smoother: Smoother,
    value: f64,
}

/// Nodes on [0, 1] with the stencils of all cells.
struct Grid {
    n_panels: usize,
    forward: Arc<dyn RealToComplex<f64>>,
    backward: Arc<dyn ComplexToReal<f64>>,
    stencils: Vec<Stencil>,
}

/// The nodes around a probability, those beyond 0 and 1 reflected, and their weights.
struct Stencil {
    nodes: [usize; 4],
    weights: [f64; 4],
}

impl Stencil {
    fn new(p: f64, n_panels: usize) -> Self {
        let position = p * n_panels as f64;
        // 1 belongs to the last panel.
        let panel = position.floor().min(n_panels as f64 - 1.0);
        let x = position - panel;
        let (last, first) = (n_panels as i64, panel as i64 - 1);
        let reflected = |node: i64| if node > last { 2 * last - node } else { node.abs() };
        Stencil {
            nodes: [0, 1, 2, 3].map(|k| reflected(first + k) as usize),
            weights: [
                -x * (x - 1.0) * (x - 2.0) / 6.0,
                (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0,
                -(x + 1.0) * x * (x - 2.0) / 2.0,
                (x + 1.0) * x * (x - 1.0) / 6.0,
            ],
        }
    }
}

impl Grid {
    fn new(table: &CellTable, n_panels: usize) -> Self {
        let mut planner = RealFftPlanner::<f64>::new();
        Grid {
            n_panels,
            forward: planner.plan_fft_forward(2 * n_panels),
            backward: planner.plan_fft_inverse(2 * n_panels),
            stencils: table.probabilities().map(|p| Stencil::new(p, n_panels)).collect(),
        }
    }

    /// A_0, A_1, ... of the masses of the cells.
    fn spectrum(&self, masses: &[f64]) -> Vec<f64> {
        let (m, mut circle) = (self.n_panels, vec![0.0; 2 * self.n_panels]);
        for (stencil, mass) in self.stencils.iter().zip(masses) {
            for (node, weight) in stencil.nodes.iter().zip(stencil.weights) {
                circle[*node] += mass * weight;
            }
        }
        for node in 1..m {
            circle[2 * m - node] = circle[node];
        }
        (circle[0], circle[m]) = (2.0 * circle[0], 2.0 * circle[m]);
        let mut spectrum = self.forward.make_output_vec();
        // proof: the lengths are those that the plan was made for
        self.forward.process(&mut circle, &mut spectrum).expect("lengths fit");
        spectrum.into_iter().map(|value| 0.5 * value.re).collect()
    }

    /// The smoothed function at the nodes, from its spectrum and that of the kernel.
    fn smooth(&self, spectrum: &[f64], kernel: impl Fn(usize) -> f64) -> Vec<f64> {
        let product = |(k, value): (usize, &f64)| Complex::new(value * kernel(k), 0.0);
        let mut product: Vec<Complex<f64>> = spectrum.iter().enumerate().map(product).collect();
        let mut values = self.backward.make_output_vec();
        // proof: the lengths are those that the plan was made for, and both ends are real
        self.backward.process(&mut product, &mut values).expect("lengths fit");
        values.truncate(self.n_panels + 1);
        values
    }

    /// ∫ |G| over [0, 1], from G at the nodes.
    fn integrate(&self, values: &[f64]) -> f64 {
        let of_panel = |ends: &[f64]| {
            let sum = ends[0].abs() + ends[1].abs();
            // The chord of a panel with a change of sign.
            if ends[0] * ends[1] < 0.0 { (ends[0] * ends[0] + ends[1] * ends[1]) / sum } else { sum }
        };
        0.5 * values.windows(2).map(of_panel).sum::<f64>() / self.n_panels as f64
    }
}

/// exp(-(π k σ)² / 2).
fn gaussian(sigma: f64) -> impl Fn(usize) -> f64 {
    let scale = -0.5 * (std::f64::consts::PI * sigma).powi(2);
    move |k| {
        let exponent = scale * (k * k) as f64;
        if exponent < -50.0 { 0.0 } else { exponent.exp() }
    }
}

/// The transform of a kernel at π k σ for all k up to `n`: by the trapezoidal rule over its
/// support, or as far as it has 10^-12 of itself.
fn transform(noise: &dyn Noise, sigma: f64, n: usize) -> Vec<f64> {
    const STEPS: usize = 512;
    let mut reach = 1.0;
    while noise.tail(reach) > 1e-12 && reach < 100.0 {
        reach *= 1.1;
    }
    let step = reach / STEPS as f64;
    let densities: Vec<f64> = (0..=STEPS).map(|k| noise.density(k as f64 * step) * step).collect();
    let at = |frequency: f64| {
        // Beyond what the rule resolves there is nothing left of the kernels that are used.
        if frequency * step > 1.0 {
            return 0.0;
        }
        let terms = densities.iter().enumerate().skip(1);
        densities[0] + 2.0 * terms.map(|(k, density)| density * (frequency * k as f64 * step).cos()).sum::<f64>()
    };
    (0..=n).map(|k| at(std::f64::consts::PI * k as f64 * sigma)).collect()
}

/// Panels that are fine enough for a kernel of this width; `None` where they would be too many.
fn panels_for(sigma: f64, nodes_per_sigma: f64) -> Option<usize> {
    let needed = (nodes_per_sigma / sigma).max(64.0);
    (needed <= 32_768.0).then(|| (needed as usize).next_power_of_two())
}

/// Weights by outcome, cell after cell, and their sum.
struct Drawn {
    weights: Vec<[f64; 2]>,
    total: f64,
}

impl Drawn {
    fn new(draw: impl FnOnce(&mut dyn FnMut(f64, [f64; 2]))) -> Self {
        let (mut weights, mut total) = (Vec::new(), 0.0);
        draw(&mut |_, of_outcomes| {
            weights.push(of_outcomes);
            total += of_outcomes[0] + of_outcomes[1];
        });
        Drawn { weights, total }
    }
}

impl<'a> ReflectedDraws<'a> {
    /// For smECE at its fixed point; `None` where that is too small for a grid.
    pub(super) fn at_fixed_point<E: Measure>(measure: &'a E, view: &'a BinaryView<'a>) -> Result<Option<Self>, Error> {
        let grids = [const { OnceLock::new() }; PANELS.len()];
        let smoother = Smoother::FixedPoint { grids, usual: PANELS[0] as f64 };
        let mut draws = Self::of(measure, view, |_| Some(smoother))?;
        let Some(found) = &mut draws else { return Ok(None) };
        let usual = found.calibrated_draw(0);
        if found.value.min(usual) < 1.5 * SMALLEST_SIGMA {
            return Ok(None);
        }
        if let Smoother::FixedPoint { usual: start, .. } = &mut found.smoother {
            *start = usual;
        }
        Ok(draws)
    }

    /// For residuals that a Gaussian kernel of this width smooths.
    pub(super) fn of_residuals<E: Measure>(
        measure: &'a E,
        view: &'a BinaryView<'a>,
        sigma: f64,
    ) -> Result<Option<Self>, Error> {
        Self::of(measure, view, |table| {
            let grid = Grid::new(table, panels_for(sigma, NODES_PER_SIGMA)?);
            let kernel = (0..=grid.n_panels).map(gaussian(sigma)).collect();
            Some(Smoother::Residuals(grid, kernel))
        })
    }

    /// For outcomes that a kernel of this width smooths. A kernel that is less smooth than a
    /// Gaussian one needs more nodes.
    pub(super) fn of_outcomes<E: Measure>(
        measure: &'a E,
        view: &'a BinaryView<'a>,
        noise: &dyn Noise,
        sigma: f64,
    ) -> Result<Option<Self>, Error> {
        Self::of(measure, view, |table| {
            let grid = Grid::new(table, panels_for(sigma, 2.0 * NODES_PER_SIGMA)?);
            let kernel = transform(noise, sigma, grid.n_panels);
            Some(Smoother::Outcomes(grid, kernel))
        })
    }

    fn of<E: Measure>(
        measure: &'a E,
        view: &'a BinaryView<'a>,
        smoother: impl FnOnce(&CellTable) -> Option<Smoother>,
    ) -> Result<Option<Self>, Error> {
        let table = CellTable::new(&Probabilities::new(view, measure.link())?, &Cells::new(N_CELLS));
        let Some(smoother) = smoother(&table) else { return Ok(None) };
        let mut draws = ReflectedDraws { rows: RowResampler::new(measure, view, None)?, table, smoother, value: 0.0 };
        draws.value = draws.measure(&Drawn::new(|each| draws.table.seen(each)));
        Ok(Some(draws))
    }

    /// The measure of weights; NaN where there are none.
    fn measure(&self, drawn: &Drawn) -> f64 {
        if !(drawn.total > 0.0) {
            return f64::NAN;
        }
        let masses = |of: &dyn Fn(f64, [f64; 2]) -> f64| -> Vec<f64> {
            let both = self.table.probabilities().zip(&drawn.weights);
            both.map(|(p, weights)| of(p, *weights) / drawn.total).collect()
        };
        let residuals = || masses(&|p, [negative, positive]| positive * (1.0 - p) - negative * p);
        match &self.smoother {
            Smoother::FixedPoint { grids, usual } => self.fixed_point(grids, *usual, &residuals()),
            Smoother::Residuals(grid, kernel) => {
                grid.integrate(&grid.smooth(&grid.spectrum(&residuals()), |k| kernel[k]))
            }
            Smoother::Outcomes(grid, kernel) => {
                let [zeros, ones] = [0, 1].map(|y| {
                    let spectrum = grid.spectrum(&masses(&|_, weights| weights[y]));
                    grid.smooth(&spectrum, |k| kernel[k])
                });
                let at = |(node, (zero, one)): (usize, (&f64, &f64))| {
                    let t = node as f64 / grid.n_panels as f64;
                    (1.0 - t) * one - t * zero
                };
                grid.integrate(&zeros.iter().zip(&ones).enumerate().map(at).collect::<Vec<f64>>())
            }
        }
    }

    /// The σ with smECE_σ = σ, on the first grid that is fine enough for it.
    fn fixed_point(&self, grids: &[OnceLock<Grid>], usual: f64, residuals: &[f64]) -> f64 {
        let mean = residuals.iter().sum::<f64>().abs();
        let mut last = mean;
        for (n_panels, grid) in PANELS.into_iter().zip(grids) {
            let smallest = NODES_PER_SIGMA / n_panels as f64;
            let is_last = n_panels == PANELS[PANELS.len() - 1];
            // Most draws would go on to the next one.
            if usual < smallest && !is_last {
                continue;
            }
            let grid = grid.get_or_init(|| Grid::new(&self.table, n_panels));
            let spectrum = grid.spectrum(residuals);
            let at = |sigma: f64| {
                let value = grid.integrate(&grid.smooth(&spectrum, gaussian(sigma)));
                Value { value, bound: 0.0 }
            };
            let highest = at(smallest).value;
            // smECE_σ falls: here it is at most σ, so that the fixed point is smaller.
            if highest < smallest {
                last = highest.max(mean);
                continue;
            }
            let (low, high) = (smallest.max(mean), highest.max(mean));
            let accuracy = ACCURACY * low;
            return super::smooth_ece::search(at, (low, high), usual.clamp(low, high), accuracy).value;
        }
        last
    }
}

impl Resampler for ReflectedDraws<'_> {
    fn value(&self) -> f64 {
        self.value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        self.measure(&Drawn::new(|each| self.table.calibrated(draw, each)))
    }

    fn bootstrap_draw(&self, draw: u64) -> f64 {
        self.measure(&Drawn::new(|each| self.table.bootstrap(draw, each)))
    }

    fn effective_rows(&self) -> f64 {
        self.rows.effective_rows()
    }

    fn range(&self) -> (f64, f64) {
        self.rows.range()
    }
}
