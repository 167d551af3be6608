//! Integrals of |polynomial| over a panel, with sign changes found for certain.

use super::lagrange::{Lagrange, MAX_ORDER};

/// Halvings after which a piece that may hide a sign change is taken as it is.
const MAX_DEPTH: u32 = 26;

/// Turns values at the nodes of [`Lagrange`] into Bernstein coefficients on the middle panel.
///
/// A polynomial lies within the range of its Bernstein coefficients, so coefficients of one sign prove
/// that there is no root; and its integral over the panel is their mean. No root finder is trusted.
#[derive(Debug, Clone)]
pub(crate) struct PanelIntegral {
    order: usize,
    /// Row i: the weights of the nodal values in coefficient i.
    matrix: [[f64; MAX_ORDER]; MAX_ORDER],
}

/// The integral of |P| over a panel of length 1, and how far at most it may be off.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AbsIntegral {
    pub(crate) value: f64,
    pub(crate) slack: f64,
}

impl PanelIntegral {
    pub(crate) fn new(lagrange: &Lagrange, order: usize) -> Self {
        let node = |k: usize| lagrange.first_node() + k as f64;
        let mut matrix = [[0.0; MAX_ORDER]; MAX_ORDER];
        for k in 0..order {
            let monomials = basis_monomials(order, k, node);
            for (i, row) in matrix[..order].iter_mut().enumerate() {
                let terms = (0..=i).map(|j| binomial(i, j) / binomial(order - 1, j) * monomials[j]);
                row[k] = terms.sum();
            }
        }
        PanelIntegral { order, matrix }
    }

    /// Largest sum of absolute weights in a coefficient: how much rounding can grow.
    pub(crate) fn norm(&self) -> f64 {
        let row_sum = |row: &[f64; MAX_ORDER]| row.iter().map(|weight| weight.abs()).sum::<f64>();
        self.matrix.iter().map(row_sum).fold(0.0, f64::max)
    }

    /// The integral of |P| over the middle panel, P through `values` at all nodes.
    #[inline]
    pub(crate) fn of_abs(&self, values: &[f64]) -> AbsIntegral {
        let mut coefficients = [0.0; MAX_ORDER];
        for (coefficient, row) in coefficients[..self.order].iter_mut().zip(&self.matrix) {
            *coefficient = row[..self.order].iter().zip(values).map(|(weight, value)| weight * value).sum();
        }
        abs_integral(&coefficients[..self.order], 0)
    }
}

fn abs_integral(coefficients: &[f64], depth: u32) -> AbsIntegral {
    let min = coefficients.iter().copied().fold(f64::INFINITY, f64::min);
    let max = coefficients.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = coefficients.iter().sum::<f64>() / coefficients.len() as f64;
    if min >= 0.0 || max <= 0.0 {
        return AbsIntegral { value: mean.abs(), slack: 0.0 };
    }
    if depth == MAX_DEPTH {
        // |integral P| <= integral |P| <= max |P|
        return AbsIntegral { value: mean.abs(), slack: max.max(-min) };
    }
    let (left, right) = halves(coefficients);
    let (left, right) =
        (abs_integral(&left[..coefficients.len()], depth + 1), abs_integral(&right[..coefficients.len()], depth + 1));
    AbsIntegral { value: 0.5 * (left.value + right.value), slack: 0.5 * (left.slack + right.slack) }
}

/// De Casteljau's scheme: the coefficients of both halves of the panel.
fn halves(coefficients: &[f64]) -> ([f64; MAX_ORDER], [f64; MAX_ORDER]) {
    let n = coefficients.len();
    let mut right = [0.0; MAX_ORDER];
    right[..n].copy_from_slice(coefficients);
    let mut left = [0.0; MAX_ORDER];
    for (level, coefficient) in left[..n].iter_mut().enumerate() {
        *coefficient = right[0];
        for i in 0..n - 1 - level {
            right[i] = 0.5 * (right[i] + right[i + 1]);
        }
    }
    (left, right)
}

/// The monomial coefficients of the Lagrange polynomial that is 1 at node k and 0 at the others.
fn basis_monomials(order: usize, k: usize, node: impl Fn(usize) -> f64) -> [f64; MAX_ORDER] {
    let mut monomials = [0.0; MAX_ORDER];
    monomials[0] = 1.0;
    let others = (0..order).filter(|&other| other != k);
    for (degree, other) in others.enumerate() {
        let scale = 1.0 / (node(k) - node(other));
        for j in (0..=degree).rev() {
            monomials[j + 1] += monomials[j] * scale;
            monomials[j] *= -node(other) * scale;
        }
    }
    monomials
}

fn binomial(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_function(order: usize, f: impl Fn(f64) -> f64) -> AbsIntegral {
        let lagrange = Lagrange::new(order);
        let values: Vec<f64> = (0..order).map(|k| f(lagrange.first_node() + k as f64)).collect();
        PanelIntegral::new(&lagrange, order).of_abs(&values)
    }

    #[test]
    fn a_line_through_zero_counts_both_sides() {
        let integral = of_function(2, |x| x - 0.25);
        assert!((integral.value - (0.25f64.powi(2) + 0.75f64.powi(2)) / 2.0).abs() < 1e-14);
        assert!(integral.slack < 1e-12);
    }

    #[test]
    fn two_roots_close_together_are_not_missed() {
        let (a, b): (f64, f64) = (0.5, 0.501);
        let exact = (a.powi(3) - (a - 1.0).powi(3)) / 3.0;
        let integral = of_function(8, |x| (x - a) * (x - b));
        let plain: f64 = 1.0 / 3.0 - (a + b) / 2.0 + a * b;
        let hidden = (b - a).powi(3) / 6.0;
        assert!((integral.value - (plain + 2.0 * hidden)).abs() < 1e-12);
        assert!((exact - integral.value).abs() < 1e-3);
    }

    #[test]
    fn a_polynomial_with_many_roots_matches_fine_sums() {
        let f = |x: f64| (x - 0.1) * (x - 0.35) * (x - 0.5) * (x - 0.7) * (x - 0.9);
        let n = 100_000;
        let fine: f64 = (0..n).map(|i| f((f64::from(i) + 0.5) / f64::from(n)).abs()).sum::<f64>() / f64::from(n);
        let integral = of_function(6, f);
        assert!((integral.value - fine).abs() < 1e-9 + integral.slack);
        assert!(integral.slack < 1e-12);
    }
}
