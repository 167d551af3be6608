//! The curve of LOESS at every distinct probability: locally weighted least squares, by its
//! definition.
//!
//! # Method
//! With u = (p_j - p) / h and the weights a_j = w_j (1 - |u_j|³)³ of a window, the fit at u = 0 is
//! Σ_k b_k P_k(0) / N_k, where P_k are the polynomials that are orthogonal under a (Forsythe's
//! recurrence), N_k = Σ a P_k² and b_k = Σ a y P_k. Normal equations would square the condition.
//!
//! # Bound
//! 1. The least-squares fit depends on the span of P_0 … P_k alone. In the basis P_k / √N_k the
//!    exact solution is (I + E)^-1 c, with c = b_k / √N_k and E the products of P_j and P_k, j ≠ k,
//!    that rounding leaves; so the fit is off by at most |q| |E| / (1 - |E|) |c| with
//!    q = P_k(0) / √N_k.
//! 2. |c| is at most √S, S = Σ a, since outcomes are at most 1.
//! 3. Sums over m values are off by m ε of their terms' sizes, and P_k by a few ε of the powers of
//!    u that it is made of, which are at most 1: relative to √N_k by κ = max √(S / N_k).
//!
//! Together 2 |q| √S (|E| + (m + 64) ε κ), where E is computed beside the sums.

use crate::data::BinaryView;
use crate::measures::ls_ece::AtRows;
use crate::measures::prelude::*;
use crate::numerics::parallel;
use crate::setters::setters;

/// Distinct probabilities that are smoothed: their windows hold 10^10 values together.
const MOST_VALUES: usize = 100_000;

/// LOESS, the smoother of the published calibration indices: at each probability the nearest share
/// `span` of the rows is fitted by a polynomial, nearer rows with more weight.
///
/// # Definition
/// ```text
/// h(p) = distance of the ⌊span · n⌋-th nearest row,    a_i = w_i (1 - |p_i - p|³ / h³)³ inside of h
/// curve(p) = value at p of the polynomial of that degree with the least Σ a_i (y_i - polynomial(p_i))²
/// ```
/// That is R's `loess` with `surface = "direct"`; by default R fits at some vertices and
/// interpolates between them. With weights a window has a share `span` of the weight. A window that
/// holds too few distinct probabilities for the polynomial has the outcome rate at p.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loess {
    span: f64,
    degree: usize,
}

impl Default for Loess {
    fn default() -> Self {
        Loess { span: Self::SPAN, degree: Self::DEGREE }
    }
}

impl Loess {
    /// The name as a smoother.
    pub const NAME: &'static str = "loess";
    pub(super) const SPAN: f64 = 0.75;
    pub(super) const DEGREE: usize = 2;

    /// Span 0.75 and degree 2, as R has them.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The share of the rows in a window, above 0 and at most 1.
        span: f64;

        /// The degree of the polynomial: 0, 1 or 2.
        degree: usize;
    }

    /// The share of rows in a window.
    pub fn span_value(&self) -> f64 {
        self.span
    }

    /// The degree of the polynomial.
    pub fn degree_value(&self) -> usize {
        self.degree
    }

    /// The gaps between the curve and the diagonal, for each distinct probability.
    pub(super) fn at_rows(&self, view: &BinaryView<'_>, link: &dyn Link) -> Result<AtRows, Error> {
        check_range("span", self.span, f64::MIN_POSITIVE..=1.0, "above 0 and at most 1")?;
        Error::require(self.degree <= 2, "degree", "0, 1 or 2", self.degree)?;
        let rows = Probabilities::new(view, link)?;
        let groups = rows.groups();
        if groups.len() > MOST_VALUES {
            let rule = format!(
                "at most {MOST_VALUES} distinct probabilities for the smoother {:?}, which compares all of them",
                Self::NAME
            );
            return Err(Error::setting("rows", rule, groups.len()));
        }
        let total = groups.iter().map(Group::weight).collect::<Sum>().value();
        let needed = if view.is_weighted() { self.span * total } else { (self.span * total + 1e-5).floor() };
        let fits = parallel::map(groups.len(), |place| fit(&groups, place, needed * (1.0 - 1e-12), self.degree));
        let gap = |(group, fit): (&Group, &Fit)| (fit.value - group.p).abs();
        Ok(AtRows {
            gaps: groups.iter().zip(&fits).map(gap).collect(),
            bounds: fits.iter().map(|fit| fit.bound + rows.error()).collect(),
            weights: Some(groups.iter().map(Group::weight).collect()),
            sigma: None,
            n_clipped: 0,
        })
    }
}

/// The curve at a point.
struct Fit {
    value: f64,
    bound: f64,
}

/// The places of the nearest groups that have the needed weight, and the distance of the last.
fn window(groups: &[Group], place: usize, needed: f64) -> (std::ops::Range<usize>, f64) {
    let (mut first, mut end) = (place, place + 1);
    let (mut weight, mut reach) = (groups[place].weight(), 0.0);
    let p = groups[place].p;
    while weight < needed && end - first < groups.len() {
        let below = if first > 0 { p - groups[first - 1].p } else { f64::INFINITY };
        let above = if end < groups.len() { groups[end].p - p } else { f64::INFINITY };
        reach = below.min(above);
        if below <= above {
            first -= 1;
            weight += groups[first].weight();
        } else {
            weight += groups[end].weight();
            end += 1;
        }
    }
    (first..end, reach)
}

fn fit(groups: &[Group], place: usize, needed: f64, degree: usize) -> Fit {
    let (range, reach) = window(groups, place, needed);
    let here = &groups[place];
    // A polynomial through as many values as it has coefficients meets that of this one.
    let rate = Fit { value: here.positive / here.weight(), bound: 4.0 * f64::EPSILON };
    if !(reach > 0.0) {
        return rate;
    }
    let point = |group: &Group| {
        let u = (group.p - here.p) / reach;
        let tricube = (1.0 - u.abs().powi(3)).max(0.0).powi(3);
        (tricube > 0.0).then(|| (u, tricube * group.weight(), tricube * group.positive))
    };
    let points: Vec<(f64, f64, f64)> = groups[range].iter().filter_map(point).collect();
    if points.len() <= degree + 1 {
        return rate;
    }
    let sum = |of: &dyn Fn(f64, f64, f64) -> f64| points.iter().map(|(u, a, ay)| of(*u, *a, *ay)).sum::<f64>();
    let s = sum(&|_, a, _| a);
    let c1 = sum(&|u, a, _| a * u) / s;
    let n1 = sum(&|u, a, _| a * (u - c1).powi(2));
    let c2 = sum(&|u, a, _| a * u * (u - c1).powi(2)) / n1;
    let polynomials = |u: f64| {
        let first = u - c1;
        [1.0, first, (u - c2) * first - n1 / s]
    };
    let (mut norms, mut products, mut cross) = ([0.0; 3], [0.0; 3], [0.0; 3]);
    for (u, a, ay) in &points {
        let p = polynomials(*u);
        for k in 0..3 {
            norms[k] += a * p[k] * p[k];
            products[k] += ay * p[k];
            cross[k] += a * p[k] * p[(k + 1) % 3];
        }
    }
    let at_0 = polynomials(0.0);
    let terms = 0..=degree;
    let value: f64 = terms.clone().map(|k| products[k] * at_0[k] / norms[k]).sum();
    let size = terms.clone().map(|k| at_0[k] * at_0[k] / norms[k]).sum::<f64>().sqrt();
    let condition = terms.clone().map(|k| (s / norms[k]).sqrt()).fold(1.0, f64::max);
    // Products of two polynomials that are both used: (0, 1), (1, 2), (2, 0).
    let used = (0..3).filter(|k| terms.contains(k) && terms.contains(&((k + 1) % 3)));
    let left: f64 = used.map(|k| 2.0 * cross[k] * cross[k] / (norms[k] * norms[(k + 1) % 3])).sum::<f64>().sqrt();
    let bound = 2.0 * size * s.sqrt() * (left + (points.len() + 64) as f64 * f64::EPSILON * condition);
    // Where values are so near each other that rounding decides, no digit can be trusted.
    if value.is_finite() && left < 0.5 { Fit { value, bound } } else { Fit { bound: 1.0, ..rate } }
}
