//! Integrals of |polynomial| over a panel, with sign changes found for certain.

use super::dispatch::dispatched;
use super::lagrange::{Lagrange, MAX_ORDER};
use super::sum::Sum;
use crate::watch;

/// Halvings after which a piece that may hide a sign change is taken as it is, at most.
const MAX_DEPTH: u32 = 26;

/// Turns values at the nodes of [`Lagrange`] into Bernstein coefficients on the middle panel.
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
    /// Row i: the weights of the nodal values in coefficient i.
    matrix: [[f64; MAX_ORDER]; MAX_ORDER],
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
        let mut matrix = [[0.0; MAX_ORDER]; MAX_ORDER];
        for k in 0..order {
            let monomials = lagrange.basis(k, 0.0);
            for (i, row) in matrix[..order].iter_mut().enumerate() {
                let terms = (0..=i).map(|j| binomial(i, j) / binomial(order - 1, j) * monomials[j]);
                row[k] = terms.sum();
            }
        }
        PanelIntegral { order, depth, matrix }
    }

    /// Largest sum of absolute weights in a coefficient: how much rounding can grow.
    pub(crate) fn norm(&self) -> f64 {
        let row_sum = |row: &[f64; MAX_ORDER]| row.iter().map(|weight| weight.abs()).sum::<f64>();
        self.matrix.iter().map(row_sum).fold(0.0, f64::max)
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

/// Panels side by side: neighbours share all but one of their values, so that no value has to be
/// moved for it. Most have coefficients of one sign, and are done with their mean.
#[inline(always)]
fn sum_of_order<const M: usize>(panels: &PanelIntegral, values: &[f64]) -> AbsIntegral {
    const LANES: usize = 4;
    let n_panels = (values.len() + 1).saturating_sub(M);
    let (mut value, mut slack) = (Sum::default(), 0.0);
    let mut split = |coefficients: [f64; M]| {
        // Where values are rounding about 0, every panel is split: seconds for millions of them.
        watch::check();
        let panel = abs_integral(&coefficients, panels.depth);
        slack += panel.slack;
        panel.value
    };
    let mut panel = 0;
    while panel + LANES <= n_panels {
        let mut coefficients = [[0.0; LANES]; M];
        for (coefficient, row) in coefficients.iter_mut().zip(&panels.matrix) {
            for k in 0..M {
                for lane in 0..LANES {
                    coefficient[lane] += row[k] * values[panel + k + lane];
                }
            }
        }
        let (mut sum, mut sum_of_sizes) = ([0.0; LANES], [0.0; LANES]);
        for coefficient in &coefficients {
            for lane in 0..LANES {
                sum[lane] += coefficient[lane];
                sum_of_sizes[lane] += coefficient[lane].abs();
            }
        }
        for lane in 0..LANES {
            // Of one sign, sizes add up to the size of the sum, to the last bit; if others do, it
            // is by a rounding.
            let one_sign = sum[lane].abs() == sum_of_sizes[lane];
            value.add(if one_sign {
                sum_of_sizes[lane] / M as f64
            } else {
                split(coefficients.map(|coefficient| coefficient[lane]))
            });
        }
        panel += LANES;
    }
    for values in values[panel..].windows(M) {
        value.add(split(std::array::from_fn(|i| (0..M).fold(0.0, |sum, k| sum + panels.matrix[i][k] * values[k]))));
    }
    AbsIntegral { value: value.value(), slack }
}

/// Panels with one sign change, which are nearly all of those that have any, are cut on both sides
/// of their root; all others are halved until the doubt is small.
fn abs_integral<const M: usize>(coefficients: &[f64; M], depth: u32) -> AbsIntegral {
    match single_root(coefficients) {
        Some(root) => about_root(coefficients, root, depth),
        None => by_halves(coefficients, depth),
    }
}

/// Three pieces: a short one about the root, taken as it is, and one on each side.
///
/// Nothing depends on how near `root` is to the root: a side that may still hide a sign change is
/// halved as any other piece.
fn about_root<const M: usize>(coefficients: &[f64; M], root: f64, depth: u32) -> AbsIntegral {
    let half_width = 0.5f64.powi(depth as i32 + 1);
    let (from, to) = (root - half_width, root + half_width);
    if !(from > 0.0 && to < 1.0) {
        return by_halves(coefficients, depth);
    }
    let (before, rest) = cut(coefficients, from);
    let (about, after) = cut(&rest, (to - from) / (1.0 - from));
    let (before, about, after) = (by_halves(&before, depth), by_halves(&about, 0), by_halves(&after, depth));
    let mix = |of: fn(&AbsIntegral) -> f64| from * of(&before) + (to - from) * of(&about) + (1.0 - to) * of(&after);
    AbsIntegral { value: mix(|part| part.value), slack: mix(|part| part.slack) }
}

/// About where the root is, for coefficients that change their sign once: then there is just one
/// (Descartes' rule of signs in Bernstein's form).
fn single_root<const M: usize>(coefficients: &[f64; M]) -> Option<f64> {
    let n_changes = coefficients.windows(2).filter(|pair| (pair[0] < 0.0) != (pair[1] < 0.0)).count();
    let (start, end) = (coefficients[0], coefficients[M - 1]);
    if n_changes != 1 || !(start * end < 0.0) {
        return None;
    }
    // Newton's steps, kept between points of different sign.
    let (mut below, mut above) = (0.0, 1.0);
    let mut root = start / (start - end);
    for _ in 0..NEWTON_STEPS {
        let (value, slope) = at(coefficients, root);
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

/// Their error squares with each: from a twentieth of a panel, five leave nothing.
const NEWTON_STEPS: usize = 5;

/// The polynomial and its slope at t.
fn at<const M: usize>(coefficients: &[f64; M], t: f64) -> (f64, f64) {
    let mut level = *coefficients;
    let mut slope = 0.0;
    for last in (1..M).rev() {
        slope = level[1] - level[0];
        for i in 0..last {
            level[i] += t * (level[i + 1] - level[i]);
        }
    }
    (level[0], (M - 1) as f64 * slope)
}

/// `depth` is how many halvings are left.
fn by_halves<const M: usize>(coefficients: &[f64; M], depth: u32) -> AbsIntegral {
    let min = coefficients.iter().copied().fold(f64::INFINITY, f64::min);
    let max = coefficients.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = coefficients.iter().sum::<f64>() / M as f64;
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
            if let Some(root) = single_root(&coefficients) {
                n_single += 1;
                n_near += u32::from(at(&coefficients, root).0.abs() < 1e-9 * size);
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
