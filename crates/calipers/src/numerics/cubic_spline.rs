//! Cubic splines with equally spaced knots on [0, 1], and the one that is nearest to a function in
//! least squares.
//!
//! In a panel between two knots, with x from 0 to 1, values y at the knots and curvatures m (second
//! derivatives times h² / 6, h the width of a panel),
//! ```text
//! γ = (1 - x) y_j + x y_(j+1) + ((1 - x)³ - (1 - x)) m_j + (x³ - x) m_(j+1)
//! m_(j-1) + 4 m_j + m_(j+1) = y_(j-1) - 2 y_j + y_(j+1)          at inner knots; the run-out says what holds at the ends
//! ```
//! The unknowns are the y. Distance is ∫ (γ - C)², so that the matrix of the normal equations is
//! that of the knots alone: the data can make it neither singular nor badly conditioned.

use super::sum::Sum;
use crate::names::names;

/// What a cubic spline does in its first and last panel, where there is no neighbour to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunOut {
    /// The second derivative is 0 at the ends.
    #[default]
    Natural,
    /// A parabola in the first panel and in the last.
    Parabolic,
    /// One cubic over the first two panels and one over the last two.
    Cubic,
}

names! { RunOut, "run_out"; Natural = "natural", Parabolic = "parabolic", Cubic = "cubic" }

/// ∫ of the products of the four functions of a panel: 1 - x, x, (1 - x)³ - (1 - x), x³ - x.
const PRODUCTS: [[f64; 4]; 4] = [
    [1.0 / 3.0, 1.0 / 6.0, -8.0 / 60.0, -7.0 / 60.0],
    [1.0 / 6.0, 1.0 / 3.0, -7.0 / 60.0, -8.0 / 60.0],
    [-8.0 / 60.0, -7.0 / 60.0, 8.0 / 105.0, 31.0 / 420.0],
    [-7.0 / 60.0, -8.0 / 60.0, 31.0 / 420.0, 8.0 / 105.0],
];

/// ∫ of their absolute values.
const SIZES: [f64; 4] = [0.5, 0.5, 0.25, 0.25];

/// ∫ of the absolute values of their slopes: 1, 1 and 4 / √27, rounded up.
const SLOPES: [f64; 4] = [1.0, 1.0, 0.77, 0.77];

/// Gauss-Legendre nodes and weights on [-1, 1], exact up to degree 5.
const GAUSS: [(f64, f64); 3] =
    [(-0.774_596_669_241_483_4, 5.0 / 9.0), (0.0, 8.0 / 9.0), (0.774_596_669_241_483_4, 5.0 / 9.0)];

/// A cubic spline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CubicSpline {
    /// At the knots.
    values: Vec<f64>,
    /// Second derivatives at the knots, times h² / 6.
    curvatures: Vec<f64>,
}

impl CubicSpline {
    fn new(values: Vec<f64>, run_out: RunOut) -> Self {
        let curvatures = curvatures(&values, run_out);
        CubicSpline { values, curvatures }
    }

    fn n_panels(&self) -> usize {
        self.values.len() - 1
    }

    fn panel(&self, j: usize) -> [f64; 4] {
        [self.values[j], self.values[j + 1], self.curvatures[j], self.curvatures[j + 1]]
    }

    /// The mean of γ' from a to b, 0 <= a <= b <= 1; the slope itself where they are equal.
    pub(crate) fn mean_slope(&self, a: f64, b: f64) -> f64 {
        let n_panels = self.n_panels() as f64;
        let mut pieces = Pieces::new(a, b, self.n_panels()).map(|piece| {
            let [left, right, first, last] = self.panel(piece.panel);
            let slope = |x: f64| {
                let (before, after) = (1.0 - 3.0 * (1.0 - x) * (1.0 - x), 3.0 * x * x - 1.0);
                n_panels * (right - left + before * first + after * last)
            };
            // Simpson's rule has no error for parabolas.
            let mean = (slope(piece.from) + 4.0 * slope(0.5 * (piece.from + piece.to)) + slope(piece.to)) / 6.0;
            (piece.to - piece.from, mean)
        });
        // There is always one piece; alone it needs no length, which may be 0.
        let (mut length, mut mean) = pieces.next().unwrap_or_default();
        for (more, other) in pieces {
            length += more;
            mean += (other - mean) * (more / length);
        }
        mean
    }

    /// Bound on |γ''|, which is linear between knots.
    pub(crate) fn largest_second_derivative(&self) -> f64 {
        let largest = self.curvatures.iter().fold(0.0, |largest: f64, m| largest.max(m.abs()));
        6.0 * largest * (self.n_panels() as f64).powi(2)
    }
}

/// Part of a panel, in its own coordinate.
struct Piece {
    panel: usize,
    from: f64,
    to: f64,
}

/// [a, b] cut at the knots.
struct Pieces {
    /// In panels.
    start: f64,
    end: f64,
    n_panels: usize,
    done: bool,
}

impl Pieces {
    fn new(a: f64, b: f64, n_panels: usize) -> Self {
        Pieces { start: a * n_panels as f64, end: b * n_panels as f64, n_panels, done: false }
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.done {
            return None;
        }
        let panel = (self.start as usize).min(self.n_panels - 1);
        let first = panel as f64;
        let last_panel = self.end <= first + 1.0 || panel == self.n_panels - 1;
        let end = if last_panel { self.end } else { first + 1.0 };
        let piece = Piece { panel, from: self.start - first, to: end - first };
        (self.start, self.done) = (end, last_panel);
        Some(piece)
    }
}

/// Second derivatives times h² / 6, by elimination: each pivot is above 3.
///
/// For the values 0, ..., 0, 1, 0, ..., 0 no step subtracts numbers of one sign, since m
/// alternates: so every m has a relative error of at most 8 units of rounding for each knot.
fn curvatures(values: &[f64], run_out: RunOut) -> Vec<f64> {
    let n = values.len();
    let inner = n - 2;
    // What the first and last equation have in place of 4 and 1.
    let (corner, beside) = match run_out {
        RunOut::Natural => (4.0, 1.0),
        RunOut::Parabolic => (5.0, 1.0),
        RunOut::Cubic => (6.0, 0.0),
    };
    let (mut ratios, mut sums) = (vec![0.0; inner], vec![0.0; inner]);
    for j in 0..inner {
        let second = (values[j] - values[j + 1]) + (values[j + 2] - values[j + 1]);
        let is_end = j == 0 || j == inner - 1;
        let diagonal = if is_end { corner } else { 4.0 };
        let (below, above) = (if j == inner - 1 { beside } else { 1.0 }, if j == 0 { beside } else { 1.0 });
        let (ratio, sum) = if j == 0 { (0.0, 0.0) } else { (ratios[j - 1], sums[j - 1]) };
        let pivot = diagonal - below * ratio;
        ratios[j] = above / pivot;
        sums[j] = (second - below * sum) / pivot;
    }
    let mut m = vec![0.0; n];
    for j in (0..inner).rev() {
        let next = if j + 1 < inner { m[j + 2] } else { 0.0 };
        m[j + 1] = sums[j] - ratios[j] * next;
    }
    match run_out {
        RunOut::Natural => {}
        RunOut::Parabolic => (m[0], m[n - 1]) = (m[1], m[n - 2]),
        RunOut::Cubic => (m[0], m[n - 1]) = (2.0 * m[1] - m[2], 2.0 * m[n - 2] - m[n - 3]),
    }
    m
}

/// ∫ C times each of the four functions of each panel, for a C that is linear piece by piece.
pub(crate) struct Moments(Vec<[Sum; 4]>);

impl Moments {
    pub(crate) fn new(n_knots: usize) -> Self {
        Moments(vec![[Sum::default(); 4]; n_knots - 1])
    }

    /// Adds the part from a to b, where C goes in a line from `left` to `right`.
    pub(crate) fn add_line(&mut self, (a, b): (f64, f64), (left, right): (f64, f64)) {
        if !(b > a) {
            return;
        }
        let n_panels = self.0.len();
        for piece in Pieces::new(a, b, n_panels) {
            let (middle, half) = (0.5 * (piece.from + piece.to), 0.5 * (piece.to - piece.from));
            for (node, weight) in GAUSS {
                let x = middle + half * node;
                let share = ((piece.panel as f64 + x) / n_panels as f64 - a) / (b - a);
                // h dx, since moments are over s.
                let c = (left + (right - left) * share.clamp(0.0, 1.0)) * weight * half / n_panels as f64;
                let z = 1.0 - x;
                let functions = [z, x, z * z * z - z, x * x * x - x];
                self.0[piece.panel].iter_mut().zip(functions).for_each(|(sum, function)| sum.add(c * function));
            }
        }
    }
}

/// The spline that is nearest to a function, and how far off arithmetic may have put it.
pub(crate) struct Fit {
    pub(crate) spline: CubicSpline,
    /// Bound on ∫ |γ' - exact γ'|.
    pub(crate) variation_error: f64,
}

/// The spline with the least ∫ (γ - C)², of a C that is at most `largest` in size and known to
/// within `error`.
///
/// # Bound
/// With e_i the spline that is 1 at knot i and 0 at all others, G_ij = ∫ e_i e_j and b_i = ∫ C e_i,
/// the values at the knots solve G y = b. A computed ŷ is off by G^-1 (b - G ŷ). That residual is
/// computed, and its own error is added to it: entries of G and b consist of products with a
/// relative error of at most 32 units of rounding for each knot, measured in absolute values. G^-1
/// is computed as well; its condition depends on the knots alone, is below 10^3, and a factor of 2
/// covers its rounding. An error δ_i of ŷ_i moves ∫ |γ'| by no more than |δ_i| ∫ |e_i'|.
pub(crate) fn nearest(moments: &Moments, run_out: RunOut, largest: f64, error: f64) -> Fit {
    let n = moments.0.len() + 1;
    let rounding = 32.0 * (n + 2) as f64 * f64::EPSILON / 2.0;
    let moments: Vec<[f64; 4]> = moments.0.iter().map(|panel| panel.map(Sum::value)).collect();
    let unit = |i: usize| (0..n).map(|k| f64::from(u8::from(k == i))).collect();
    let basis: Vec<CubicSpline> = (0..n).map(|i| CubicSpline::new(unit(i), run_out)).collect();
    let over_panels =
        |i: usize, of: &dyn Fn(usize, [f64; 4]) -> f64| -> f64 { (0..n - 1).map(|j| of(j, basis[i].panel(j))).sum() };
    let weighted = |sizes: [f64; 4]| move |_, panel: [f64; 4]| dot(panel.map(f64::abs), sizes);
    let b: Vec<f64> = (0..n).map(|i| over_panels(i, &|j, panel| dot(panel, moments[j]))).collect();
    let width = 1.0 / (n - 1) as f64;
    let mut gram = vec![vec![0.0; n]; n];
    let mut sizes = vec![vec![0.0; n]; n];
    for i in 0..n {
        for k in 0..=i {
            let entry = |absolute: bool| {
                let sign = |x: f64| if absolute { x.abs() } else { x };
                let product = |j: usize, panel: [f64; 4]| {
                    let other = basis[k].panel(j).map(sign);
                    dot(panel.map(sign), PRODUCTS.map(|row| dot(row.map(sign), other)))
                };
                width * over_panels(i, &product)
            };
            (gram[i][k], sizes[i][k]) = (entry(false), entry(true));
            (gram[k][i], sizes[k][i]) = (gram[i][k], sizes[i][k]);
        }
    }
    let inverse = inverse(&gram);
    let values: Vec<f64> = inverse.iter().map(|row| row.iter().zip(&b).map(|(a, b)| a * b).sum()).collect();
    let wrong: Vec<f64> = (0..n)
        .map(|i| {
            let residual = b[i] - gram[i].iter().zip(&values).map(|(a, y)| a * y).sum::<f64>();
            let size = sizes[i].iter().zip(&values).map(|(a, y)| a * y.abs()).sum::<f64>();
            let moment = width * over_panels(i, &weighted(SIZES));
            residual.abs() + rounding * size + moment * (error + rounding * largest)
        })
        .collect();
    let variation_error = (0..n)
        .map(|i| {
            let off = 2.0 * inverse[i].iter().zip(&wrong).map(|(a, wrong)| a.abs() * wrong).sum::<f64>();
            // Curvatures of the found values, and slopes from them, are rounded too.
            (off + rounding * values[i].abs()) * over_panels(i, &weighted(SLOPES))
        })
        .sum();
    Fit { spline: CubicSpline::new(values, run_out), variation_error }
}

fn dot(a: [f64; 4], b: [f64; 4]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
}

/// The inverse of a symmetric positive matrix, by Gauss and Jordan: no exchange of rows is needed.
fn inverse(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let mut rows: Vec<Vec<f64>> = matrix.to_vec();
    for (i, row) in rows.iter_mut().enumerate() {
        row.extend((0..n).map(|k| f64::from(u8::from(k == i))));
    }
    for pivot in 0..n {
        let scale = rows[pivot][pivot];
        rows[pivot].iter_mut().for_each(|entry| *entry /= scale);
        let done = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
            let factor = row[pivot];
            row.iter_mut().zip(&done).for_each(|(entry, other)| *entry -= factor * other);
        }
    }
    rows.into_iter().map(|row| row[n..].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_is_that_of_the_knots_and_small() {
        for run_out in [RunOut::Natural, RunOut::Parabolic, RunOut::Cubic] {
            for n in [4, 5, 6, 15, 40] {
                let basis: Vec<CubicSpline> = (0..n)
                    .map(|i| CubicSpline::new((0..n).map(|k| f64::from(u8::from(k == i))).collect(), run_out))
                    .collect();
                let entry = |i: usize, k: usize| -> f64 {
                    (0..n - 1).map(|j| dot(basis[i].panel(j), PRODUCTS.map(|row| dot(row, basis[k].panel(j))))).sum()
                };
                let gram: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|k| entry(i, k)).collect()).collect();
                let norm = |rows: &[Vec<f64>]| {
                    rows.iter().map(|row| row.iter().map(|x| x.abs()).sum::<f64>()).fold(0.0, f64::max)
                };
                let condition = norm(&gram) * norm(&inverse(&gram));
                assert!(condition < 1e3, "{run_out:?} with {n} knots: {condition}");
            }
        }
    }

    #[test]
    fn a_line_is_its_own_nearest_spline() {
        for run_out in [RunOut::Natural, RunOut::Parabolic, RunOut::Cubic] {
            let mut moments = Moments::new(7);
            for (a, b) in [(0.0, 0.05), (0.05, 0.7), (0.7, 1.0)] {
                moments.add_line((a, b), (0.1 - 0.3 * a, 0.1 - 0.3 * b));
            }
            let fit = nearest(&moments, run_out, 0.2, 0.0);
            assert!((fit.spline.mean_slope(0.03, 0.9) + 0.3).abs() < 1e-14);
            assert!(fit.variation_error < 1e-11, "{}", fit.variation_error);
        }
    }
}
