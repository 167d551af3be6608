//! Natural cubic splines: the map as a value, and the basis in which it is fitted.

use super::rows::{Atom, Atoms};
use crate::numerics::cholesky::{Cholesky, Symmetric};
use crate::numerics::sum::Sum;

/// The most knots that a spline has, and so the most parameters.
pub(crate) const MOST_KNOTS: usize = 12;

/// The share of the weight beyond each of the outer knots, where the map is a straight line.
const OUTSIDE: f64 = 0.02;

/// Knots nearer than this share of their range are one.
const NEAREST: f64 = 1e-3;

/// A recalibrated logit as a natural cubic spline of the logit: third-degree polynomials between
/// knots that have two derivatives in common, and straight lines beyond the outer knots.
///
/// # Definition
/// Between the knots k_i and k_(i+1), with d their distance, b = (h - k_i) / d and a = 1 - b:
/// ```text
/// u = a value_i + b value_(i+1) + ((a³ - a) curvature_i + (b³ - b) curvature_(i+1)) d² / 6
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Spline {
    /// Logits, strictly ascending; at least two.
    pub knots: Vec<f64>,
    /// Recalibrated logits there.
    pub value: Vec<f64>,
    /// Second derivatives there; 0 at the first and at the last.
    pub curvature: Vec<f64>,
    /// The coefficient of the penalty on curvature, which is divided by the effective number of
    /// rows; 0 where the map is a straight line.
    pub smoothing: f64,
}

impl Spline {
    /// The natural spline through these values at ascending knots, of which there are at least two.
    pub(crate) fn through(knots: Vec<f64>, value: Vec<f64>, smoothing: f64) -> Self {
        let curvature = natural(&knots, &value);
        Spline { knots, value, curvature, smoothing }
    }

    /// The recalibrated logit.
    pub fn at(&self, logit: f64) -> f64 {
        at(&self.knots, &self.value, &self.curvature, logit)
    }

    /// The smallest slope of the map, from minus to plus infinity.
    pub fn least_slope(&self) -> f64 {
        let piece = |i: usize| {
            let [left, right] = [0.0, 1.0].map(|share| slope(&self.knots, &self.value, &self.curvature, i, share));
            // Inside, the slope is least where the curvature changes its sign from - to +.
            let [from, to] = [self.curvature[i], self.curvature[i + 1]];
            let inside = if from < 0.0 && to > 0.0 {
                slope(&self.knots, &self.value, &self.curvature, i, from / (from - to))
            } else {
                left
            };
            left.min(right).min(inside)
        };
        (0..self.knots.len() - 1).map(piece).fold(f64::INFINITY, f64::min)
    }

    /// The slope of the map at one of its knots.
    pub(crate) fn slope_at_knot(&self, knot: usize) -> f64 {
        let (piece, share) = if knot + 1 < self.knots.len() { (knot, 0.0) } else { (knot - 1, 1.0) };
        slope(&self.knots, &self.value, &self.curvature, piece, share)
    }

    /// Bounds on the first three derivatives, after a place for the function itself.
    pub(crate) fn largest_derivatives(&self) -> [f64; 4] {
        largest_derivatives(&self.knots, &self.value, &self.curvature)
    }

    /// What each value at a knot is multiplied by in the recalibrated logit at `logit`.
    pub(crate) fn shares(&self, logit: f64) -> Vec<f64> {
        let share = |knot: usize| {
            let unit: Vec<f64> = (0..self.knots.len()).map(|i| if i == knot { 1.0 } else { 0.0 }).collect();
            at(&self.knots, &unit, &natural(&self.knots, &unit), logit)
        };
        (0..self.knots.len()).map(share).collect()
    }
}

/// The value of a spline.
fn at(knots: &[f64], value: &[f64], curvature: &[f64], h: f64) -> f64 {
    let last = knots.len() - 1;
    if h <= knots[0] {
        return value[0] + slope(knots, value, curvature, 0, 0.0) * (h - knots[0]);
    }
    if h >= knots[last] {
        return value[last] + slope(knots, value, curvature, last - 1, 1.0) * (h - knots[last]);
    }
    let i = knots.partition_point(|knot| *knot <= h) - 1;
    let width = knots[i + 1] - knots[i];
    let b = (h - knots[i]) / width;
    let a = 1.0 - b;
    // a³ - a is -a b (1 + a).
    let bent = (1.0 + a) * curvature[i] + (1.0 + b) * curvature[i + 1];
    a * value[i] + b * value[i + 1] - a * b * bent * width * width / 6.0
}

/// The slope in the i-th piece, at a share of its width.
fn slope(knots: &[f64], value: &[f64], curvature: &[f64], i: usize, share: f64) -> f64 {
    let width = knots[i + 1] - knots[i];
    let (a, b) = (1.0 - share, share);
    let bent = (1.0 - 3.0 * a * a) * curvature[i] + (3.0 * b * b - 1.0) * curvature[i + 1];
    (value[i + 1] - value[i]) / width + bent * width / 6.0
}

/// Bounds on the first three derivatives of a spline, after a place for the function itself.
fn largest_derivatives(knots: &[f64], value: &[f64], curvature: &[f64]) -> [f64; 4] {
    let mut largest = [0.0f64; 4];
    for i in 0..knots.len() - 1 {
        let width = knots[i + 1] - knots[i];
        let bent = curvature[i].abs().max(curvature[i + 1].abs());
        // Not farther from that of the chord than half the width can bend it.
        let steep = ((value[i + 1] - value[i]) / width).abs() + bent * width;
        let third = ((curvature[i + 1] - curvature[i]) / width).abs();
        let of_piece = [0.0, steep, bent, third];
        largest.iter_mut().zip(of_piece).for_each(|(largest, of_piece)| *largest = largest.max(of_piece));
    }
    largest
}

/// Second derivatives of the natural spline through some values: a tridiagonal system, whose
/// diagonal is more than the sum of the rest.
fn natural(knots: &[f64], value: &[f64]) -> Vec<f64> {
    let n = knots.len();
    let width = |i: usize| knots[i + 1] - knots[i];
    let rise = |i: usize| (value[i + 1] - value[i]) / width(i);
    // After elimination row i reads: c_i + ratio_i c_(i+1) = rest_i.
    let (mut ratio, mut rest) = (vec![0.0; n], vec![0.0; n]);
    for i in 1..n.saturating_sub(1) {
        let pivot = 2.0 * (width(i - 1) + width(i)) - width(i - 1) * ratio[i - 1];
        ratio[i] = width(i) / pivot;
        rest[i] = (6.0 * (rise(i) - rise(i - 1)) - width(i - 1) * rest[i - 1]) / pivot;
    }
    let mut curvature = vec![0.0; n];
    for i in (1..n.saturating_sub(1)).rev() {
        curvature[i] = rest[i] - ratio[i] * curvature[i + 1];
    }
    curvature
}

/// The features in which a spline is fitted: h, 1, and for each inner knot one natural spline that
/// is 0 at the outer knots. So slope and intercept are those of the chord between the outer knots.
///
/// With x = (h - first knot) / range, the integral of the squared second derivative with respect to
/// x, which is range³ times that with respect to h, is the sum of squares of the parameters of the
/// inner knots: hats at the knots are second derivatives of splines, and the factor of their Gram
/// matrix makes the rest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SplineBasis {
    pub(crate) knots: Vec<f64>,
    /// Of each inner feature: its values and its second derivatives at the knots.
    inner: Vec<(Vec<f64>, Vec<f64>)>,
}

impl SplineBasis {
    /// Knots at quantiles of the rows: at most 12, fewer with few rows or few different scores.
    pub(crate) fn new(atoms: &Atoms) -> Self {
        let n_scores = atoms.atoms.len();
        let n_inner = (atoms.effective_n.cbrt() - 1e-9).ceil().clamp(1.0, (MOST_KNOTS - 2) as f64) as usize;
        let n_knots = (n_inner + 2).min(n_scores.saturating_sub(1));
        let knots = if n_knots < 3 { Vec::new() } else { quantiles(atoms, n_knots) };
        if knots.len() < 3 { Self::straight(atoms) } else { Self::with_knots(knots) }
    }

    /// A straight line, whose knots are the smallest and the largest score.
    pub(crate) fn straight(atoms: &Atoms) -> Self {
        let ends = [atoms.atoms.first(), atoms.atoms.last()].map(|atom| atom.map_or(0.0, |atom| atom.h));
        // One score alone has neighbours at the distance of its size.
        let apart = if ends[0] < ends[1] { 0.0 } else { ends[0].abs().max(1.0) };
        SplineBasis { knots: vec![ends[0] - apart, ends[1] + apart], inner: Vec::new() }
    }

    /// Knots are strictly ascending, and three at least.
    pub(crate) fn with_knots(knots: Vec<f64>) -> Self {
        let n = knots.len();
        let (first, range) = (knots[0], knots[n - 1] - knots[0]);
        let x: Vec<f64> = knots.iter().map(|knot| (knot - first) / range).collect();
        let mut gram = Symmetric::zero(n - 2);
        for j in 0..n - 2 {
            gram.add(j, j, (x[j + 2] - x[j]) / 3.0);
            if j > 0 {
                gram.add(j, j - 1, (x[j + 1] - x[j]) / 6.0);
            }
        }
        // proof: the Gram matrix of hats at different knots is positive definite
        let Some(factor) = Cholesky::new(&gram) else { return SplineBasis { knots, inner: Vec::new() } };
        let mut inner = vec![(vec![0.0; n], vec![0.0; n]); n - 2];
        for k in 1..n - 1 {
            let mut values: Vec<f64> = (1..n - 1).map(|j| of_hat(&x, j, k)).collect();
            let mut bends: Vec<f64> = (1..n - 1).map(|j| if j == k { 1.0 / (range * range) } else { 0.0 }).collect();
            factor.whiten(&mut values);
            factor.whiten(&mut bends);
            for (feature, (value, bend)) in inner.iter_mut().zip(values.into_iter().zip(bends)) {
                feature.0[k] = value;
                feature.1[k] = bend;
            }
        }
        SplineBasis { knots, inner }
    }

    pub(crate) fn n_parameters(&self) -> usize {
        2 + self.inner.len()
    }

    pub(crate) fn is_straight(&self) -> bool {
        self.inner.is_empty()
    }

    /// The features of a logit, of which the first `n_parameters` are set.
    pub(crate) fn features(&self, h: f64, into: &mut [f64]) {
        into[0] = h;
        into[1] = 1.0;
        for (feature, (value, curvature)) in into[2..].iter_mut().zip(&self.inner) {
            *feature = at(&self.knots, value, curvature, h);
        }
    }

    /// Bounds on the derivatives of each feature.
    pub(crate) fn largest_derivatives(&self) -> Vec<[f64; 4]> {
        let affine = [[0.0, 1.0, 0.0, 0.0], [0.0; 4]];
        let inner = self.inner.iter().map(|(value, curvature)| largest_derivatives(&self.knots, value, curvature));
        affine.into_iter().chain(inner).collect()
    }

    /// The spline with these parameters.
    pub(crate) fn spline(&self, theta: &[f64], smoothing: f64) -> Spline {
        let mut features = vec![0.0; self.n_parameters()];
        let mut value_at = |knot: f64| {
            self.features(knot, &mut features);
            features.iter().zip(theta).map(|(feature, theta)| feature * theta).sum::<f64>()
        };
        let value = self.knots.iter().map(|knot| value_at(*knot)).collect();
        Spline::through(self.knots.clone(), value, smoothing)
    }
}

/// The value at knot k of the function that is 0 at 0 and 1 and whose second derivative is the hat
/// at knot j: ∫ G(x_k, t) hat(t) dt with Green's function G(x, t) = -t (1 - x) for t <= x, and
/// -x (1 - t) for t >= x.
fn of_hat(x: &[f64], j: usize, k: usize) -> f64 {
    // Areas and centres of the two halves of the hat.
    let left = (0.5 * (x[j] - x[j - 1]), x[j] - (x[j] - x[j - 1]) / 3.0);
    let right = (0.5 * (x[j + 1] - x[j]), x[j] + (x[j + 1] - x[j]) / 3.0);
    let half = |(area, centre): (f64, f64), is_below: bool| {
        let green = if is_below { centre * (1.0 - x[k]) } else { x[k] * (1.0 - centre) };
        -area * green
    };
    half(left, j <= k) + half(right, j < k)
}

/// Different scores at equally spaced shares of the weight.
fn quantiles(atoms: &Atoms, n_knots: usize) -> Vec<f64> {
    let total = atoms.total();
    let weight = |atom: &Atom| atom.weights[0] + atom.weights[1];
    let mut knots: Vec<f64> = Vec::with_capacity(n_knots);
    let mut below = Sum::default();
    let share = |k: usize| OUTSIDE + (1.0 - 2.0 * OUTSIDE) * k as f64 / (n_knots - 1) as f64;
    let mut k = 0;
    for atom in &atoms.atoms {
        below.add(weight(atom));
        // The factor keeps rounding of the sum from moving a knot to the next score.
        while k < n_knots && below.value() * (1.0 + 1e-12) >= share(k) * total {
            knots.push(atom.h);
            k += 1;
        }
    }
    let range = knots[knots.len() - 1] - knots[0];
    let mut apart: Vec<f64> = Vec::with_capacity(knots.len());
    for knot in knots {
        if apart.last().is_none_or(|last| knot - last > NEAREST * range) {
            apart.push(knot);
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOTS: [f64; 5] = [-2.0, -0.5, 0.25, 1.0, 3.0];

    #[test]
    fn the_pieces_have_two_derivatives_in_common_and_end_straight() {
        let spline = Spline::through(KNOTS.to_vec(), vec![0.3, -1.0, 2.0, 2.5, 1.0], 0.0);
        let step = 1e-4;
        for (knot, value) in KNOTS.iter().zip(&spline.value) {
            assert!((spline.at(*knot) - value).abs() < 1e-14);
            let slope = |h: f64| (spline.at(h + step) - spline.at(h - step)) / (2.0 * step);
            assert!((slope(knot - step) - slope(knot + step)).abs() < 2e-2);
            let bend = |h: f64| (spline.at(h + step) - 2.0 * spline.at(h) + spline.at(h - step)) / (step * step);
            assert!((bend(knot - step) - bend(knot + step)).abs() < 2e-2, "{knot}");
        }
        let line = |h: f64| spline.at(h + 2.0) - 2.0 * spline.at(h + 1.0) + spline.at(h);
        assert!(line(-6.0).abs() < 1e-13 && line(4.0).abs() < 1e-13);
        let slopes =
            (-600..600).map(|k| (spline.at(f64::from(k + 1) / 100.0) - spline.at(f64::from(k) / 100.0)) * 100.0);
        let least = slopes.fold(f64::INFINITY, f64::min);
        assert!((spline.least_slope() - least).abs() < 5e-3 && spline.least_slope() <= least + 1e-9, "{least}");
        let shares = spline.shares(0.7);
        let sum: f64 = shares.iter().zip(&spline.value).map(|(share, value)| share * value).sum();
        assert!((sum - spline.at(0.7)).abs() < 1e-13);
    }

    #[test]
    fn squares_of_inner_parameters_are_the_penalty() {
        let basis = SplineBasis::with_knots(KNOTS.to_vec());
        let theta = [0.7, -0.2, 1.0, -2.0, 0.5];
        let spline = basis.spline(&theta, 1.0);
        let mut features = [0.0; 5];
        for h in [-4.0, -1.0, 0.3, 0.9, 2.0, 7.0] {
            basis.features(h, &mut features);
            let u: f64 = features.iter().zip(&theta).map(|(f, t)| f * t).sum();
            assert!((u - spline.at(h)).abs() < 1e-12, "at {h}: {u} {}", spline.at(h));
        }
        // The integral of the square of a function that is linear between the knots.
        let mut integral = 0.0;
        for i in 0..4 {
            let (a, b) = (spline.curvature[i], spline.curvature[i + 1]);
            integral += (KNOTS[i + 1] - KNOTS[i]) * (a * a + a * b + b * b) / 3.0;
        }
        let squares: f64 = theta[2..].iter().map(|t| t * t).sum();
        assert!((integral * 125.0 - squares).abs() < 1e-11, "{} {squares}", integral * 125.0);
    }
}
