//! From cells to points that the integral takes, with what it costs.
//!
//! # Bound
//! A point at q adds f(q) = K(u - h(q)) to the smoothed mass at u, h being rho^-1. Let d = q - mean
//! in a cell. Replacing the points of a cell, by outcome,
//! - by two half-weight points at mean ± deviation leaves moments 0 to 2 as they are, so that the
//!   Taylor polynomials of degree 2 cancel and what is left is at most (E|d|³ + E[d²]^(3/2)) / 6
//!   times sup |f'''|;
//! - by one point at the mean leaves E[d²] / 2 times sup |f''|, or E|d| times sup |f'|.
//!
//! In the L1 norm over u, with N_j the norms of the kernel's derivatives, a >= |rho''/rho'|,
//! b >= |rho'''/rho'| and h' = 1 / rho' at the end of the cell where it is larger (rho' has one
//! peak):
//! ```text
//! |f'|   <= h' N_1      |f''| <= h'² (N_2 + a N_1)      |f'''| <= h'³ (N_3 + 3 a N_2 + (3 a² + b) N_1)
//! ```
//! E|d|³ is at most E[d²] times the largest distance of the mean from an end of the cell. Offsets
//! are cut: a point is off by half a step at most, which costs h' N_1 times that. All of it is
//! measured cell by cell and weighted by the cell's share.
//!
//! The residual form has f(q) = F(h(q)) with F(h) = (y - ρ(h)) K(u - h), where the factor belongs
//! to the point. By Leibniz the L1 norm over u of the j-th derivative of F with respect to h is,
//! for every h, at most
//! ```text
//! M_j = Σ_i binomial(j, i) r_i N_(j-i),      r_0 = 1 >= |y - ρ|,   r_i >= |ρ^(i)|,   N_0 = 1
//! ```
//! The bounds above use only derivatives with respect to q and the chain rule, so they hold with
//! M_j in place of N_j. The points that replace a cell have a factor y - ρ(h) each, as rows have:
//! their residual form is what the integral computes. Here ρ is the link of the kernel, whichever
//! link maps h to q.
//!
//! Where offsets are not kept, a point may be off by half of its cell, and that price is all there
//! is. It can be told more closely: moving a point of outcome y by d costs at most d times the norm
//! of the first derivative of (y - ρ) K, which for both forms is at most
//! ```text
//! |y - ρ(h)| N_1 + r_1
//! ```
//! The residual form's derivative is (y - ρ(h)) K' - ρ' K. LS-ECE's is (y - ρ(u)) K', where
//! |ρ(u) - ρ(h)| <= r_1 |u - h| and ∫ |t K'(t)| dt = 1 for a density that falls on both sides of 0.
//! |y - ρ(h)| is at most its value in the middle of the cell and r_1 times half of the cell. The mean
//! of |y - ρ| over calibrated rows is that of 2 p (1 - p), at most a half.
//!
//! At a single u the same holds with S_j = sup |K^(j)| in place of N_j; S_j is at most N_(j+1) / 2,
//! since K^(j) goes from 0 to 0.

use super::summary::Summary;
use crate::link::Link;
use crate::measures::ls_ece::{Integrand, Kernel, Points};
use crate::numerics::parallel;

/// Points in place of cells, and what that costs.
pub(crate) struct Atoms {
    pub(crate) points: Points,
    /// How far LS-ECE of the points, or its residual form, can be from that of the rows.
    pub(crate) bound: f64,
    /// How far the smoothed mass at any one place can be; infinite for noise that jumps.
    pub(crate) pointwise: f64,
    /// How far a row can be from the points that stand for it, on the logit axis.
    pub(crate) farthest: f64,
    /// For each point, Σ w² / Σ w of the rows that it stands for, as [`Summary::row_weight`] has
    /// it.
    pub(crate) row_weights: Vec<f64>,
}

/// Norms of the first derivatives of the kernel, or of its product with the factor of a point, as
/// far as there are any.
struct Norms {
    first: f64,
    second: Option<f64>,
    third: Option<f64>,
    /// Of the kernel alone, beside a bound on the derivative of the link, where that is known.
    kernel: Option<(f64, f64)>,
}

impl Norms {
    fn new(norm: impl Fn(usize) -> Option<f64>) -> Self {
        Norms { first: norm(1).unwrap_or(f64::INFINITY), second: norm(2), third: norm(3), kernel: None }
    }

    /// M_1 to M_3, from the norms of the kernel and bounds on the derivatives of the factor.
    fn of_product(kernel: impl Fn(usize) -> Option<f64>, factor: [Option<f64>; 4]) -> Self {
        const BINOMIAL: [[f64; 4]; 4] =
            [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 2.0, 1.0, 0.0], [1.0, 3.0, 3.0, 1.0]];
        let kernel = |order: usize| if order == 0 { Some(1.0) } else { kernel(order) };
        Norms::new(|order| {
            // A factor that is constant asks for no other norm than that of the kernel.
            let terms = (0..=order).filter(|&i| factor[i] != Some(0.0));
            terms.map(|i| Some(BINOMIAL[order][i] * factor[i]? * kernel(order - i)?)).sum()
        })
    }
}

/// Cells that are replaced at once.
const CHUNK: usize = 1 << 11;

/// What some cells have become.
#[derive(Default)]
struct Part {
    logits: Vec<f64>,
    outcomes: Vec<bool>,
    weights: Vec<f64>,
    row_weights: Vec<f64>,
    /// Sums over the cells, by their weight.
    cost: f64,
    pointwise: f64,
    error: f64,
    total: f64,
    largest_error: f64,
    farthest: f64,
}

impl Atoms {
    /// `coordinate` is the link by which a logit has its probability; that of the kernel, unless
    /// rows came as raw scores, whose cells are those of the logistic link whatever the kernel's
    /// is.
    pub(crate) fn new(
        cells: impl Iterator<Item = Summary>,
        kernel: &Kernel<'_>,
        integrand: Integrand,
        coordinate: &dyn Link,
    ) -> Self {
        let variation = |order: usize| kernel.noise.variation(order).map(|v| v / kernel.sigma.powi(order as i32));
        let mut integrated = Norms::of_product(variation, integrand.factor_bounds(kernel.link));
        integrated.kernel = variation(1).zip(Integrand::Residual.factor_bounds(kernel.link)[1]);
        let largest = Norms::new(|order| variation(order + 1).map(|norm| 0.5 * norm));
        let cells: Vec<Summary> = cells.filter(|cell| cell.weight > 0.0).collect();
        let parts = parallel::map_chunks(cells.len(), CHUNK, |range| {
            let mut part = Part::default();
            cells[range].iter().for_each(|cell| part.add(cell, coordinate, kernel.link, &integrated, &largest));
            part
        });
        let mut all = Part::default();
        for part in parts {
            all.logits.extend(part.logits);
            all.outcomes.extend(part.outcomes);
            all.weights.extend(part.weights);
            all.row_weights.extend(part.row_weights);
            all.cost += part.cost;
            all.pointwise += part.pointwise;
            all.error += part.error;
            all.total += part.total;
            all.largest_error = all.largest_error.max(part.largest_error);
            all.farthest = all.farthest.max(part.farthest);
        }
        // The factor covers the rounding of sums over up to millions of cells.
        let mean = |sum: f64| sum / all.total * (1.0 + 1e-9);
        Atoms {
            bound: mean(all.cost),
            pointwise: mean(all.pointwise),
            farthest: all.farthest,
            row_weights: all.row_weights,
            points: Points::from_atoms(all.logits, all.outcomes, all.weights, mean(all.error), all.largest_error),
        }
    }
}

impl Part {
    fn add(&mut self, cell: &Summary, coordinate: &dyn Link, link: &dyn Link, integrated: &Norms, largest: &Norms) {
        let shape = Shape::new(coordinate, cell);
        let order = Order::new(integrated, &shape);
        self.total += cell.weight;
        let price = match integrated.kernel {
            Some((norm, slope)) if !cell.has_offsets() => {
                let (p, complement) = cell.probability(cell.mean);
                let logit = coordinate.inverse(p, complement);
                let away = if cell.outcome { link.complement(logit) } else { link.response(logit) };
                let factor = (away + slope * 0.5 * shape.step).min(1.0) * (1.0 + 1e-9);
                0.5 * shape.step * integrated.first.min(factor * norm + slope)
            }
            _ => order.price(integrated, &shape),
        };
        self.cost += cell.weight * price;
        self.pointwise += cell.weight * order.price_at_a_place(largest, &shape);
        self.farthest = self.farthest.max(shape.reach + shape.deviation + 0.5 * shape.step);
        let two = [cell.mean - cell.deviation, cell.mean + cell.deviation];
        let atoms = if order == Order::Third && cell.deviation > 0.0 { &two } else { std::slice::from_ref(&cell.mean) };
        for q in atoms {
            let (p, complement) = cell.probability(*q);
            let logit = coordinate.inverse(p, complement);
            let weight = cell.weight / atoms.len() as f64;
            let rounding = coordinate.inverse_error(logit) + 2.0 * f64::EPSILON * logit.abs();
            self.error += weight * rounding;
            self.largest_error = self.largest_error.max(rounding);
            self.logits.push(logit);
            self.outcomes.push(cell.outcome);
            self.weights.push(weight);
            self.row_weights.push(cell.row_weight);
        }
    }
}

/// How many moments of a cell its points keep, and so the order of their price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// One point at the mean, for noise that may jump.
    First,
    /// One point at the mean.
    Second,
    /// Two points at mean ± deviation.
    Third,
}

impl Order {
    fn new(norms: &Norms, shape: &Shape) -> Self {
        match (norms.second, norms.third, shape.curvature) {
            (Some(_), Some(_), Some(_)) => Order::Third,
            (Some(_), None, Some(_)) => Order::Second,
            _ => Order::First,
        }
    }

    /// The price where less is known of the kernel than its points were made for: two points in
    /// place of one spread as much as the rows do, so that both sides of the difference
    /// count.
    fn price_at_a_place(self, largest: &Norms, shape: &Shape) -> f64 {
        let known = Order::new(largest, shape);
        if known < self { 2.0 * known.price(largest, shape) } else { self.price(largest, shape) }
    }

    /// What a cell costs for each unit of its weight.
    fn price(self, norms: &Norms, shape: &Shape) -> f64 {
        let (a, b) = shape.curvature.unwrap_or_default();
        let (second, third) = (norms.second.unwrap_or_default(), norms.third.unwrap_or_default());
        let Shape { reach, deviation, step, .. } = *shape;
        let variance = deviation * deviation;
        let spread = match self {
            Order::First => deviation * norms.first,
            Order::Second => 0.5 * variance * (second + a * norms.first),
            Order::Third => {
                let derivative = third + 3.0 * a * second + (3.0 * a * a + b) * norms.first;
                variance * (reach + deviation) / 6.0 * derivative
            }
        };
        // Noise that jumps has no norm at a place, and NaN for cells without a spread would say
        // less than that.
        if norms.first.is_finite() { spread + norms.first * 0.5 * step } else { f64::INFINITY }
    }
}

/// A cell on the logit axis: its lengths there at most, and the link over the part where it and its
/// points are.
struct Shape {
    reach: f64,
    deviation: f64,
    step: f64,
    curvature: Option<(f64, f64)>,
}

impl Shape {
    fn new(coordinate: &dyn Link, cell: &Summary) -> Self {
        // Points may lie outside their cell, but within the reach of its mean.
        let reach = cell.reach();
        let ends = [cell.mean - reach, cell.mean + reach].map(|q| cell.probability(q));
        let (steepest, curvature) = coordinate.steepness(ends[0], ends[1]);
        // Largest |dh/dq|, for q in scales.
        let slope = cell.scale * steepest * (1.0 + 1e-9);
        Shape { reach: reach * slope, deviation: cell.deviation * slope, step: cell.step * slope, curvature }
    }
}
