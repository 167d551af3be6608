//! How much maps differ among groups: spreads by restricted maximum likelihood.
//!
//! Near the fit, the log-likelihood of group g is quadratic in its parameters β_g, with Hessian H_g
//! and score r_g where β_g is common to all. With β_g normal about θ, with variances T = diag(τ²),
//! β_g can be integrated out, and so can θ:
//!
//! ```text
//! Q(T) = ½ Σ_g log det B_g + ½ log det A - ½ c' A⁻¹ c - ½ Σ_g r_g' D B_g⁻¹ D r_g
//! D = √T    B_g = I + D H_g D    A = Λ + Σ_g (H_g - H_g D B_g⁻¹ D H_g)
//! c = Λ (θ0 - θ) + Σ_g (r_g - H_g D B_g⁻¹ D r_g)
//! ```
//!
//! Its minimum is the restricted maximum of the likelihood of the quadratic model, which has exact
//! zeros: T = 0 needs no limit. Groups of few rows, or of one outcome, have a score and a Hessian
//! like all others, so no group has to be left out and none needs a fit of its own.

use crate::numerics::cholesky::Symmetric;
use crate::numerics::parallel;

/// Parameters of a formula at most.
const D: usize = 3;

type Matrix = [[f64; D]; D];
type Vector = [f64; D];

/// The quadratic model of one group, with what it is short of parameters filled up with 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quadratic {
    hessian: Matrix,
    score: Vector,
}

impl Quadratic {
    /// At a distance from the common parameters, with the gradient of the loss there.
    pub(super) fn new(hessian: &Symmetric, gradient: &[f64], away: &[f64]) -> Self {
        let d = hessian.n;
        let mut all = Quadratic { hessian: [[0.0; D]; D], score: [0.0; D] };
        for (i, gradient) in gradient.iter().enumerate() {
            (0..d).for_each(|j| all.hessian[i][j] = hessian.get(i, j));
            all.score[i] = (0..d).map(|j| hessian.get(i, j) * away[j]).sum::<f64>() - gradient;
        }
        all
    }

    /// log det B, and D B⁻¹ D.
    fn shrunk(&self, spread: &Vector) -> (f64, Matrix) {
        let mut matrix = [[0.0; D]; D];
        for i in 0..D {
            for j in 0..D {
                matrix[i][j] = spread[i] * self.hessian[i][j] * spread[j];
            }
            matrix[i][i] += 1.0;
        }
        let (log_det, mut inverse) = inverted(&matrix);
        for i in 0..D {
            (0..D).for_each(|j| inverse[i][j] *= spread[i] * spread[j]);
        }
        (log_det, inverse)
    }
}

/// The logarithm of the determinant, and the inverse, of a positive definite matrix.
fn inverted(matrix: &Matrix) -> (f64, Matrix) {
    let mut lower = [[0.0; D]; D];
    for i in 0..D {
        for j in 0..=i {
            let product: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = matrix[i][j] - product;
            lower[i][j] = if i == j { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / lower[j][j] };
        }
    }
    let log_det = 2.0 * (0..D).map(|i| lower[i][i].ln()).sum::<f64>();
    let mut inverse = [[0.0; D]; D];
    for (column, row) in inverse.iter_mut().enumerate() {
        let mut x = [0.0; D];
        for i in 0..D {
            let own = if i == column { 1.0 } else { 0.0 };
            x[i] = (own - (0..i).map(|k| lower[i][k] * x[k]).sum::<f64>()) / lower[i][i];
        }
        for i in (0..D).rev() {
            x[i] = (x[i] - (i + 1..D).map(|k| lower[k][i] * x[k]).sum::<f64>()) / lower[i][i];
        }
        // A column of the inverse is a row of it.
        *row = x;
    }
    (log_det, inverse)
}

fn times(matrix: &Matrix, v: &Vector) -> Vector {
    std::array::from_fn(|i| (0..D).map(|j| matrix[i][j] * v[j]).sum())
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..D).map(|k| a[i][k] * b[k][j]).sum()))
}

/// Q of the module.
pub(super) struct Likelihood {
    pub(super) groups: Vec<Quadratic>,
    /// Λ, twice the coefficient of the ridge.
    pub(super) ridge: f64,
    /// From the common parameters to the identity.
    pub(super) to_identity: Vec<f64>,
}

impl Likelihood {
    fn d(&self) -> usize {
        self.to_identity.len()
    }

    /// Q at some spreads.
    fn at(&self, spread: &Vector) -> f64 {
        /// log det B, r' D B⁻¹ D r, the sums of A and of c.
        const N: usize = 2 + D * D + D;
        let sums: [f64; N] = parallel::sums(self.groups.len(), |range, sums| {
            for group in &self.groups[range] {
                let (log_det, shrunk) = group.shrunk(spread);
                let at = times(&shrunk, &group.score);
                sums[0].add(log_det);
                sums[1].add((0..D).map(|i| group.score[i] * at[i]).sum());
                let lost = product(&product(&group.hessian, &shrunk), &group.hessian);
                let moved = times(&group.hessian, &at);
                for i in 0..D {
                    (0..D).for_each(|j| sums[2 + i * D + j].add(group.hessian[i][j] - lost[i][j]));
                    sums[2 + D * D + i].add(group.score[i] - moved[i]);
                }
            }
        });
        let d = self.d();
        let mut all: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| sums[2 + i * D + j]));
        let mut c: Vector = std::array::from_fn(|i| sums[2 + D * D + i]);
        for i in 0..D {
            // What no parameter stands for has the determinant 1.
            all[i][i] += if i < d { self.ridge } else { 1.0 };
            c[i] += self.to_identity.get(i).map_or(0.0, |to| self.ridge * to);
        }
        let (log_det, inverse) = inverted(&all);
        let explained: f64 = times(&inverse, &c).iter().zip(&c).map(|(x, c)| x * c).sum();
        0.5 * (sums[0] + log_det - explained - sums[1])
    }

    /// The spreads of the least Q, by one parameter after the other.
    pub(super) fn spreads(&self) -> Vec<f64> {
        let mut spread = [0.0; D];
        let mut least = self.at(&spread);
        for _ in 0..MOST_ROUNDS {
            let before = (spread, least);
            for place in 0..self.d() {
                let (own, value) = self.along(&spread, place, least);
                (spread[place], least) = (own, value);
            }
            let moved = (0..D).map(|place| (spread[place] - before.0[place]).abs() / (1e-3 + before.0[place]));
            if before.1 - least < 1e-9 * (1.0 + least.abs()) || moved.fold(0.0, f64::max) < 1e-4 {
                break;
            }
        }
        spread[..self.d()].to_vec()
    }

    /// The best spread of one parameter for those of the others: on a grid, then by golden section.
    fn along(&self, spread: &Vector, place: usize, current: f64) -> (f64, f64) {
        let at = |own: f64| {
            let mut all = *spread;
            all[place] = own;
            self.at(&all)
        };
        let mut best = (spread[place], current);
        let mut consider = |own: f64, value: f64| {
            if value < best.1 {
                best = (own, value);
            }
        };
        consider(0.0, at(0.0));
        let grid: Vec<(f64, f64)> = GRID.map(f64::from).map(|power| (power, at(power.exp2()))).collect();
        let lowest = grid.iter().copied().fold((0.0, f64::INFINITY), |low, new| if new.1 < low.1 { new } else { low });
        consider(lowest.0.exp2(), lowest.1);
        // The square root of 5 less 1, over 2.
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let (mut low, mut high) = (lowest.0 - 1.0, lowest.0 + 1.0);
        let inner = |low: f64, high: f64| [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
        let [mut left, mut right] = inner(low, high).map(|power| (power, at(power.exp2())));
        for _ in 0..GOLDEN_STEPS {
            if left.1 < right.1 {
                (high, right) = (right.0, left);
                let power = inner(low, high)[0];
                left = (power, at(power.exp2()));
            } else {
                (low, left) = (left.0, right);
                let power = inner(low, high)[1];
                right = (power, at(power.exp2()));
            }
        }
        let found = if left.1 < right.1 { left } else { right };
        consider(found.0.exp2(), found.1);
        best
    }
}

/// Powers of 2 that are tried as spreads: maps that differ by a thousandth of a logit are the same.
const GRID: std::ops::RangeInclusive<i32> = -10..=4;

/// The bracket of two octaves is shortened to 3e-4 of one.
const GOLDEN_STEPS: u32 = 18;

const MOST_ROUNDS: u32 = 20;
