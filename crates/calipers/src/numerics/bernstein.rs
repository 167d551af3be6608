//! Integrals of |polynomial| over a panel, with sign changes found for certain.

use std::sync::OnceLock;

use super::dispatch::dispatched;
use super::lagrange::{Lagrange, MAX_ORDER};
use super::sum::{LANES, LaneSum, Sum};
use crate::watch;

/// Halvings after which a piece that may hide a sign change is taken as it is, at most.
const MAX_DEPTH: u32 = 26;

/// Integrals over the middle panel of polynomials through the nodes of [`Lagrange`].
///
/// A polynomial lies within the range of its Bernstein coefficients, so coefficients of one sign
/// prove that there is no root; and its integral over the panel is their mean. No root finder is
/// trusted.
#[derive(Debug, Clone)]
pub(crate) struct PanelIntegral {
    order: usize,
    /// Halvings after which a piece that may hide a sign change is taken as it is: there P is as
    /// small as the piece is short, so that each halving more makes the doubt four times smaller.
    depth: u32,
    shape: &'static Shape,
}

/// What belongs to an order of polynomials.
#[derive(Debug)]
struct Shape {
    /// Column k: the weights of nodal value k in the Bernstein coefficients.
    columns: [[f64; MAX_ORDER]; MAX_ORDER],
    /// The weights of the nodal values in the integral.
    integral: [f64; MAX_ORDER],
    /// How far a Bernstein coefficient can be from the line through both ends of the panel, for
    /// each second difference of nodal values of size 1.
    bends: [f64; MAX_ORDER],
    norm: f64,
}

impl Shape {
    /// It is the same for all polynomials of an order, so that it is made once.
    fn of(lagrange: &Lagrange, order: usize) -> &'static Shape {
        static SHAPES: [OnceLock<Shape>; MAX_ORDER / 2] = [const { OnceLock::new() }; MAX_ORDER / 2];
        SHAPES[order / 2 - 1].get_or_init(|| Shape::new(lagrange, order))
    }

    /// # The line and its bends
    /// Coefficient i of a line is its value at i / (m - 1). So what the nodal values add to it
    /// beyond the line through the ends of the panel vanishes for all lines: with weights r_k it is
    /// Σ_k r_k v_k = Σ_j d_j (v_(j-1) - 2 v_j + v_(j+1)), where d_(k+1) = r_k + 2 d_k - d_(k-1).
    fn new(lagrange: &Lagrange, order: usize) -> Self {
        let mut columns = [[0.0; MAX_ORDER]; MAX_ORDER];
        for (k, column) in columns[..order].iter_mut().enumerate() {
            let monomials = lagrange.basis(k, 0.0);
            for (i, weight) in column[..order].iter_mut().enumerate() {
                *weight = (0..=i).map(|j| binomial(i, j) / binomial(order - 1, j) * monomials[j]).sum();
            }
        }
        let mut bends = [0.0; MAX_ORDER];
        let mut norm = 0.0f64;
        for i in 0..order {
            norm = norm.max(columns.iter().map(|column| column[i].abs()).sum());
            let along = i as f64 / (order - 1) as f64;
            let (mut before, mut now) = (0.0, 0.0);
            for k in 0..order - 1 {
                let of_line = match k {
                    _ if k + 1 == order / 2 => 1.0 - along,
                    _ if k == order / 2 => along,
                    _ => 0.0,
                };
                bends[k] = f64::max(bends[k], f64::abs(now));
                (before, now) = (now, columns[k][i] - of_line + 2.0 * now - before);
            }
        }
        let integral = columns.map(|column| column.iter().sum::<f64>() / order as f64);
        Shape { columns, integral, bends, norm }
    }
}

/// The integral of |P| over panels of length 1, and how far at most it may be off.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AbsIntegral {
    pub(crate) value: f64,
    pub(crate) slack: f64,
}

impl PanelIntegral {
    /// For panels whose doubts may add up to about `negligible`.
    pub(crate) fn new(lagrange: &Lagrange, order: usize, negligible: f64) -> Self {
        let depth = (-0.5 * negligible.log2()).ceil().clamp(8.0, f64::from(MAX_DEPTH)) as u32;
        PanelIntegral { order, depth, shape: Shape::of(lagrange, order) }
    }

    /// Largest sum of absolute weights in a coefficient: how much rounding can grow.
    pub(crate) fn norm(&self) -> f64 {
        self.shape.norm
    }

    /// The sum of the integrals of |P| over all panels that have their nodes among `values`, P
    /// being each panel's own polynomial.
    pub(crate) fn of_abs(&self, values: &[f64]) -> AbsIntegral {
        sum_panels(self, values)
    }
}

dispatched! {
    fn sum_panels / sum_panels_portable(panels: &PanelIntegral, values: &[f64]) -> AbsIntegral {
        match panels.order {
            2 => sum_of_order::<2>(panels, values),
            4 => sum_of_order::<4>(panels, values),
            6 => sum_of_order::<6>(panels, values),
            _ => sum_of_order::<8>(panels, values),
        }
    }
}

/// Panels side by side. Most are done without their coefficients: where both ends are further from
/// 0 than any coefficient is from the line between them, all have one sign.
#[inline(always)]
fn sum_of_order<const M: usize>(panels: &PanelIntegral, values: &[f64]) -> AbsIntegral {
    let n_panels = (values.len() + 1).saturating_sub(M);
    let shape = panels.shape;
    let mut sums = LaneSum::default();
    let mut doubtful = Vec::new();
    let mut panel = 0;
    while let Some(window) = values[panel.min(values.len())..].get(..M + LANES - 1) {
        let (mut integrals, mut bends) = ([0.0; LANES], [0.0; LANES]);
        for k in 0..M {
            for lane in 0..LANES {
                integrals[lane] += shape.integral[k] * window[k + lane];
            }
        }
        for k in 1..M - 1 {
            for lane in 0..LANES {
                let difference = (window[k - 1 + lane] - window[k + lane]) + (window[k + 1 + lane] - window[k + lane]);
                bends[lane] += shape.bends[k] * difference.abs();
            }
        }
        // How far the nearer end is from 0, if both are on one side of it, beyond the bends.
        let mut margins = [0.0; LANES];
        for lane in 0..LANES {
            let (start, end) = (window[M / 2 - 1 + lane], window[M / 2 + lane]);
            let (low, high) = if start < end { (start, end) } else { (end, start) };
            margins[lane] = (if low > -high { low } else { -high }) - bends[lane];
            integrals[lane] = integrals[lane].abs();
        }
        // Written so that NaN is split, too.
        if !margins.iter().fold(true, |all, margin| all & (*margin > 0.0)) {
            for lane in 0..LANES {
                if !(margins[lane] > 0.0) {
                    integrals[lane] = 0.0;
                    doubtful.push(panel + lane);
                }
            }
        }
        sums.add(integrals);
        panel += LANES;
    }
    let (mut sum, mut slack) = (Sum::default(), 0.0);
    sum.add(sums.value());
    for panel in doubtful.into_iter().chain(panel..n_panels) {
        // Where values are rounding about 0, every panel is split: seconds for millions of them.
        watch::check();
        let mut coefficients = [0.0; M];
        for k in 0..M {
            let value = values[panel + k];
            coefficients.iter_mut().zip(&shape.columns[k]).for_each(|(sum, weight)| *sum += weight * value);
        }
        let panel = abs_integral(&coefficients, panels.depth);
        slack += panel.slack;
        sum.add(panel.value);
    }
    AbsIntegral { value: sum.value(), slack }
}

/// Panels with one sign change, which are nearly all of those that have any, are cut at their root;
/// all others are halved until the doubt is small.
#[inline(always)]
fn abs_integral<const M: usize>(coefficients: &[f64; M], depth: u32) -> AbsIntegral {
    let (min, max) = extent(coefficients);
    if min >= 0.0 || max <= 0.0 {
        return AbsIntegral { value: mean(coefficients).abs(), slack: 0.0 };
    }
    // As small as P is in a piece that halving takes as it is, times the length of that piece.
    let negligible = 0.25f64.powi(depth as i32).max(2f64.powi(-48)) * max.max(-min);
    about_root(coefficients, negligible).unwrap_or_else(|| by_halves(coefficients, depth))
}

/// Both sides of a root, of which each should have one sign; `None` without such a root.
///
/// Nothing depends on how near the place of the cut is to the root. Where a side's coefficients
/// reach down to -d beside an integral above 0, |P| is P + 2 max(-P, 0), and so its integral is off
/// by at most 2 d times the length of the side.
#[inline(always)]
fn about_root<const M: usize>(coefficients: &[f64; M], negligible: f64) -> Option<AbsIntegral> {
    let mut root = single_root(coefficients, negligible)?;
    for _ in 0..2 {
        let (before, after) = cut(coefficients, root);
        let side = |coefficients: &[f64; M]| {
            let (min, max) = extent(coefficients);
            let mean = mean(coefficients);
            (mean.abs(), 2.0 * if mean > 0.0 { -min } else { max }.max(0.0))
        };
        let (sides, value) = ([side(&before), side(&after)], after[0]);
        let mix = |of: fn(&(f64, f64)) -> f64| root * of(&sides[0]) + (1.0 - root) * of(&sides[1]);
        let slack = mix(|side| side.1);
        if slack <= 4.0 * negligible {
            return Some(AbsIntegral { value: mix(|side| side.0), slack });
        }
        // Another step from here, where P is known to all its digits.
        root -= value * (1.0 - root) / ((M - 1) as f64 * (after[1] - after[0]));
        if !(root > 0.0 && root < 1.0) {
            return None;
        }
    }
    None
}

/// About where the root is, for coefficients that change their sign once: then there is just one
/// (Descartes' rule of signs in Bernstein's form). P is negligible there, or steps have run out.
#[inline(always)]
fn single_root<const M: usize>(coefficients: &[f64; M], negligible: f64) -> Option<f64> {
    let n_changes = coefficients.windows(2).filter(|pair| (pair[0] < 0.0) != (pair[1] < 0.0)).count();
    let (start, end) = (coefficients[0], coefficients[M - 1]);
    if n_changes != 1 || !(start * end < 0.0) {
        return None;
    }
    let powers = powers(coefficients);
    // Newton's steps, kept between points of different sign.
    let (mut below, mut above) = (0.0, 1.0);
    let mut root = start / (start - end);
    for _ in 0..NEWTON_STEPS {
        let (value, slope) = at(&powers, root);
        if value.abs() <= negligible {
            break;
        }
        if (value < 0.0) == (start < 0.0) {
            below = root
        } else {
            above = root
        }
        let next = root - value / slope;
        // Written so that NaN fails; at the root itself a step leads nowhere.
        root = if next >= below && next <= above { next } else { 0.5 * (below + above) };
    }
    Some(root)
}

/// The error of the root is squared with each: from a twentieth of a panel, five leave nothing.
const NEWTON_STEPS: usize = 6;

/// The coefficients of the powers of t: differences of those of Bernstein, times binomials.
#[inline(always)]
fn powers<const M: usize>(coefficients: &[f64; M]) -> [f64; MAX_ORDER] {
    let mut differences = *coefficients;
    let mut powers = [0.0; MAX_ORDER];
    let mut binomial = 1.0;
    for (degree, power) in powers.iter_mut().enumerate().take(M) {
        *power = binomial * differences[0];
        for i in 0..M - 1 - degree {
            differences[i] = differences[i + 1] - differences[i];
        }
        binomial *= (M - 1 - degree) as f64 / (degree + 1) as f64;
    }
    powers
}

/// The polynomial and its slope at t, in pairs of terms: fewer steps that wait for each other.
#[inline(always)]
fn at(powers: &[f64; MAX_ORDER], t: f64) -> (f64, f64) {
    let [a, b, c, d, e, f, g, h] = *powers;
    let (square, fourth) = (t * t, (t * t) * (t * t));
    let value = ((a + b * t) + (c + d * t) * square) + ((e + f * t) + (g + h * t) * square) * fourth;
    let [c, d, e, f, g, h] = [2.0 * c, 3.0 * d, 4.0 * e, 5.0 * f, 6.0 * g, 7.0 * h];
    let slope = ((b + c * t) + (d + e * t) * square) + ((f + g * t) + h * square) * fourth;
    (value, slope)
}

/// The least and the largest coefficient.
#[inline(always)]
fn extent<const M: usize>(coefficients: &[f64; M]) -> (f64, f64) {
    let wider = |(min, max): (f64, f64), c: &f64| (if *c < min { *c } else { min }, if *c > max { *c } else { max });
    coefficients.iter().fold((f64::INFINITY, f64::NEG_INFINITY), wider)
}

#[inline(always)]
fn mean<const M: usize>(coefficients: &[f64; M]) -> f64 {
    coefficients.iter().sum::<f64>() / M as f64
}

/// `depth` is how many halvings are left.
fn by_halves<const M: usize>(coefficients: &[f64; M], depth: u32) -> AbsIntegral {
    let ((min, max), mean) = (extent(coefficients), mean(coefficients));
    if min >= 0.0 || max <= 0.0 {
        return AbsIntegral { value: mean.abs(), slack: 0.0 };
    }
    if depth == 0 {
        // |integral P| <= integral |P| <= max |P|
        return AbsIntegral { value: mean.abs(), slack: max.max(-min) };
    }
    let (left, right) = cut(coefficients, 0.5);
    let (left, right) = (by_halves(&left, depth - 1), by_halves(&right, depth - 1));
    AbsIntegral { value: 0.5 * (left.value + right.value), slack: 0.5 * (left.slack + right.slack) }
}

/// De Casteljau's scheme: the coefficients of the parts before and after t.
#[inline(always)]
fn cut<const M: usize>(coefficients: &[f64; M], t: f64) -> ([f64; M], [f64; M]) {
    let (mut before, mut after) = ([0.0; M], *coefficients);
    for (level, coefficient) in before.iter_mut().enumerate() {
        *coefficient = after[0];
        for i in 0..M - 1 - level {
            after[i] = (1.0 - t) * after[i] + t * after[i + 1];
        }
    }
    (before, after)
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
        PanelIntegral::new(&lagrange, order, 0.0).of_abs(&values)
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
    fn a_cut_on_both_sides_of_the_root_gives_the_integral_by_halves() {
        let (mut n_single, mut n_near) = (0, 0);
        for k in 0..20_000 {
            let noise = |i: usize| (f64::from(k) * 0.618_033_988_749_895 * (i + 1) as f64).fract() - 0.5;
            // From steep lines to flat and wild curves, and roots next to the ends.
            let slope = 10f64.powi(k % 7 - 4);
            let coefficients: [f64; 8] =
                std::array::from_fn(|i| slope * (i as f64 / 7.0 - 0.5 - noise(9)) + noise(i) * 0.1);
            let (cut, halved) = (abs_integral(&coefficients, 17), by_halves(&coefficients, 26));
            let size = coefficients.iter().map(|coefficient| coefficient.abs()).fold(0.0, f64::max);
            let apart = (cut.value - halved.value).abs();
            assert!(apart <= cut.slack + halved.slack + 1e-14 * size, "{coefficients:?}: {apart}");
            assert!((0.0..=1e-9 * size).contains(&cut.slack), "{coefficients:?}: {}", cut.slack);
            if let Some(root) = single_root(&coefficients, 1e-12 * size) {
                n_single += 1;
                n_near += u32::from(at(&powers(&coefficients), root).0.abs() < 1e-9 * size);
            }
        }
        assert!(n_single > 1_000 && 100 * n_near >= 99 * n_single, "{n_near} of {n_single} roots are found");
    }

    #[test]
    fn both_compilations_add_the_same_panels() {
        let values: Vec<f64> = (0..203).map(|k| (f64::from(k) * 0.37).sin() + 0.3).collect();
        for order in [2, 4, 6, 8] {
            let panels = PanelIntegral::new(&Lagrange::new(order), order, 0.0);
            let all = sum_panels(&panels, &values);
            let portable = sum_panels_portable(&panels, &values);
            assert_eq!(all.value.to_bits(), portable.value.to_bits());
            let one_by_one: f64 = values.windows(order).map(|values| panels.of_abs(values).value).sum();
            assert!((all.value - one_by_one).abs() < 1e-12 * one_by_one);
        }
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
