//! From cells to points that the integral takes, with what it costs.
//!
//! # Bound
//! A point at q adds f(q) = K(u - h(q)) to the smoothed mass at u, h being rho^-1. Let d = q - mean in a cell.
//! Replacing the points of a cell, by outcome,
//! - by two half-weight points at mean ± deviation leaves moments 0 to 2 as they are, so that the Taylor
//!   polynomials of degree 2 cancel and what is left is at most (E|d|³ + E[d²]^(3/2)) / 6 times sup |f'''|;
//! - by one point at the mean leaves E[d²] / 2 times sup |f''|, or E|d| times sup |f'|.
//!
//! In the L1 norm over u, with N_j the norms of the kernel's derivatives, a >= |rho''/rho'|, b >= |rho'''/rho'|
//! and h' = 1 / rho' at the end of the cell where it is larger (rho' has one peak):
//! ```text
//! |f'|   <= h' N_1      |f''| <= h'² (N_2 + a N_1)      |f'''| <= h'³ (N_3 + 3 a N_2 + (3 a² + b) N_1)
//! ```
//! E|d|³ is at most E[d²] times the largest distance of the mean from an end of the cell. Offsets are cut: a point
//! is off by half a step at most, which costs h' N_1 times that. All of it is measured cell by cell and
//! weighted by the cell's share.

use super::Cells;
use super::cell::{Content, N_OFFSETS};
use crate::ls_ece::{Kernel, Points};
use crate::numerics::sum::Sum;

/// Points in place of cells, and how far LS-ECE of the points can be from that of the rows.
pub(crate) struct Atoms {
    pub(crate) points: Points,
    pub(crate) bound: f64,
}

/// L1 norms of the kernel's first derivatives, as far as there are any.
struct Norms {
    first: f64,
    second: Option<f64>,
    third: Option<f64>,
}

impl Atoms {
    pub(crate) fn new(cells: &Cells, kernel: &Kernel<'_>) -> Self {
        let norm = |order: usize| kernel.noise.variation(order).map(|v| v / kernel.sigma.powi(order as i32));
        let norms = Norms { first: norm(1).unwrap_or(f64::INFINITY), second: norm(2), third: norm(3) };
        let (mut logits, mut outcomes, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let (mut cost, mut error, mut n) = (Sum::default(), Sum::default(), 0);
        for (upper, outcome, cell, content) in cells.occupied() {
            let summary = Summary::new(cells, cell, content);
            let shape = Shape::new(kernel, &summary, upper);
            let count = content.count as f64;
            n += content.count;
            let (atoms, price) = summary.replace(&norms, &shape);
            cost.add(count * (price + norms.first * shape.slope * 0.5 * summary.step));
            for q in &atoms {
                let logit = logit(kernel, *q, upper);
                let weight = count / atoms.len() as f64;
                error.add(weight * (kernel.link.inverse_error(logit) + 2.0 * f64::EPSILON * logit.abs()));
                logits.push(logit);
                outcomes.push(outcome);
                weights.push(weight);
            }
        }
        let bound = cost.value() / n as f64 * (1.0 + 1e-9);
        Atoms { points: Points::from_atoms(logits, outcomes, weights, error.value() / n as f64), bound }
    }
}

/// The points of a cell in q: where they are and how they spread.
struct Summary {
    mean: f64,
    variance: f64,
    /// Largest distance of the mean from an end of the cell.
    reach: f64,
    /// Distance of two offsets.
    step: f64,
}

impl Summary {
    fn new(cells: &Cells, cell: usize, content: Content) -> Self {
        let (lower, step) = cells.resolution.limits(cell);
        let count = content.count as f64;
        let (first, second) = (content.first as f64 / count, content.second as f64 / count);
        let width = step * N_OFFSETS;
        // A point is taken to be in the middle of what its offset leaves open.
        let mean = lower + step * (first + 0.5);
        Summary {
            mean,
            variance: (second - first * first).max(0.0) * step * step,
            reach: (mean - lower).max(lower + width - mean),
            step,
        }
    }

    /// The points that stand for the cell, and their price for each unit of weight.
    fn replace(&self, norms: &Norms, shape: &Shape) -> (Vec<f64>, f64) {
        let deviation = self.variance.sqrt();
        match (norms.second, norms.third, shape.curvature) {
            (Some(second), Some(third), Some((a, b))) => {
                let moments = self.variance * (self.reach + deviation) / 6.0;
                let derivative = third + 3.0 * a * second + (3.0 * a * a + b) * norms.first;
                let atoms =
                    if deviation > 0.0 { vec![self.mean - deviation, self.mean + deviation] } else { vec![self.mean] };
                (atoms, moments * shape.slope.powi(3) * derivative)
            }
            (Some(second), None, Some((a, _))) => {
                let derivative = second + a * norms.first;
                (vec![self.mean], 0.5 * self.variance * shape.slope.powi(2) * derivative)
            }
            _ => (vec![self.mean], deviation * shape.slope * norms.first),
        }
    }
}

/// The link over the part of the axis where a cell and its atoms are.
struct Shape {
    /// Largest |dh/dq|.
    slope: f64,
    curvature: Option<(f64, f64)>,
}

impl Shape {
    fn new(kernel: &Kernel<'_>, summary: &Summary, upper: bool) -> Self {
        // Atoms may lie outside their cell, but within the reach of its mean.
        let ends = [summary.mean - summary.reach, summary.mean + summary.reach].map(|q| logit(kernel, q, upper));
        let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let flattest = kernel.link.derivative(from).min(kernel.link.derivative(to));
        Shape { slope: (1.0 + 1e-9) / flattest, curvature: kernel.link.curvature(from, to) }
    }
}

/// rho^-1 of q, or of 1 - q in the upper half.
fn logit(kernel: &Kernel<'_>, q: f64, upper: bool) -> f64 {
    if upper { kernel.link.inverse(1.0 - q, q) } else { kernel.link.inverse(q, 1.0 - q) }
}
