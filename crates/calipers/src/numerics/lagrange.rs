//! Interpolation between equally spaced nodes, always on the middle panel of an even number of
//! them.

use std::sync::OnceLock;

/// The highest order that is used: 8 nodes, polynomials of degree 7.
pub(crate) const MAX_ORDER: usize = 8;

/// Interpolation of even order m through the nodes -(m/2 - 1), ..., m/2, for theta in [0, 1].
///
/// With w(theta) = product of (theta - node), the error for a function f with step h between nodes
/// is `w(theta) h^m / m!` times an average of f^(m) over the nodes' span (Peano: a B-spline
/// weight).
#[derive(Debug, Clone)]
pub(crate) struct Lagrange {
    order: usize,
    /// The weights of the first half of the nodes as polynomials in x = theta - 1/2: row d has the
    /// coefficients of x^(2d) and those of x^(2d + 1). The weight of a node's mirror image is that
    /// of the node at -x.
    even: [[f64; MAX_PAIRS]; MAX_PAIRS],
    odd: [[f64; MAX_PAIRS]; MAX_PAIRS],
}

/// Nodes of one half.
const MAX_PAIRS: usize = MAX_ORDER / 2;

impl Lagrange {
    /// It is the same for each order, so that it is made once.
    pub(crate) fn new(order: usize) -> Self {
        static MADE: [OnceLock<Lagrange>; MAX_PAIRS] = [const { OnceLock::new() }; MAX_PAIRS];
        MADE[order / 2 - 1].get_or_init(|| Lagrange::of(order)).clone()
    }

    fn of(order: usize) -> Self {
        debug_assert!(order.is_multiple_of(2) && (2..=MAX_ORDER).contains(&order));
        let mut lagrange = Lagrange { order, even: [[0.0; MAX_PAIRS]; MAX_PAIRS], odd: [[0.0; MAX_PAIRS]; MAX_PAIRS] };
        for k in 0..order / 2 {
            let monomials = lagrange.basis(k, 0.5);
            for degree in 0..order / 2 {
                lagrange.even[degree][k] = monomials[2 * degree];
                lagrange.odd[degree][k] = monomials[2 * degree + 1];
            }
        }
        lagrange
    }

    /// Position of the first node, relative to the left end of the panel.
    pub(crate) fn first_node(&self) -> f64 {
        1.0 - (self.order / 2) as f64
    }

    /// The monomial coefficients, in theta - `origin`, of the polynomial that is 1 at node k and 0
    /// at the others.
    pub(crate) fn basis(&self, k: usize, origin: f64) -> [f64; MAX_ORDER] {
        let node = |k: usize| self.first_node() + k as f64 - origin;
        let mut monomials = [0.0; MAX_ORDER];
        monomials[0] = 1.0;
        let others = (0..self.order).filter(|&other| other != k);
        for (degree, other) in others.enumerate() {
            let scale = 1.0 / (node(k) - node(other));
            for j in (0..=degree).rev() {
                monomials[j + 1] += monomials[j] * scale;
                monomials[j] *= -node(other) * scale;
            }
        }
        monomials
    }

    /// The weights of the M nodes at theta = 1/2 + x, M being the order.
    ///
    /// By Horner's scheme for half of the nodes at once, about the middle of the panel, for even
    /// and odd powers apart: their sum is the weight of a node, their difference that of its mirror
    /// image. |x| is at most 1/2, so that the terms of all weights add up to less than 4 in size,
    /// and rounding costs the weights less than 16 m units of 2^-53 in sum.
    #[inline(always)]
    pub(crate) fn weights<const M: usize>(&self, x: f64) -> [f64; M] {
        debug_assert_eq!(M, self.order);
        let square = x * x;
        let (mut even, mut odd) = (self.even[M / 2 - 1], self.odd[M / 2 - 1]);
        for degree in (0..M / 2 - 1).rev() {
            for k in 0..MAX_PAIRS {
                even[k] = even[k] * square + self.even[degree][k];
                odd[k] = odd[k] * square + self.odd[degree][k];
            }
        }
        let mut weights = [0.0; M];
        for k in 0..M / 2 {
            weights[k] = even[k] + x * odd[k];
            weights[M - 1 - k] = even[k] - x * odd[k];
        }
        weights
    }

    /// The weights at `theta` for an order that is known at run time only; beyond the order they
    /// are 0.
    #[inline]
    pub(crate) fn weights_at(&self, theta: f64) -> [f64; MAX_ORDER] {
        fn padded<const M: usize>(weights: [f64; M]) -> [f64; MAX_ORDER] {
            std::array::from_fn(|k| if k < M { weights[k] } else { 0.0 })
        }
        let x = theta - 0.5;
        match self.order {
            2 => padded(self.weights::<2>(x)),
            4 => padded(self.weights::<4>(x)),
            6 => padded(self.weights::<6>(x)),
            _ => padded(self.weights::<8>(x)),
        }
    }

    /// |w| at theta = 1/2 + x, M being the order: the nodes lie at ±1/2, ±3/2, ... from the middle.
    #[inline(always)]
    pub(crate) fn remainder<const M: usize>(x: f64) -> f64 {
        let mut remainder = 1.0;
        for k in 0..M / 2 {
            let distance = k as f64 + 0.5;
            remainder *= x * x - distance * distance;
        }
        remainder.abs()
    }

    /// max |w| / m! on the panel.
    pub(crate) fn max_remainder(&self) -> f64 {
        match self.order {
            2 => 0.125,
            4 => 0.023_437_5,
            6 => 0.004_882_812_5,
            _ => 0.001_068_115_234_375,
        }
    }

    /// The integral of |w| / m! over the panel, rounded up.
    pub(crate) fn mean_remainder(&self) -> f64 {
        match self.order {
            2 => 1.0 / 6.0 / 2.0,
            4 => 0.015_277_78,
            6 => 0.003_158_07,
            _ => 0.000_688_107,
        }
    }

    /// Sum of the weights' absolute values at the middle of the panel, its largest value.
    pub(crate) fn lebesgue(&self) -> f64 {
        match self.order {
            2 => 1.0,
            4 => 1.25,
            6 => 1.390_625,
            _ => 1.488_281_25,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(lagrange: &Lagrange, theta: f64) -> (Vec<f64>, f64) {
        fn of<const M: usize>(lagrange: &Lagrange, theta: f64) -> (Vec<f64>, f64) {
            let (weights, remainder) = (lagrange.weights::<M>(theta - 0.5), Lagrange::remainder::<M>(theta - 0.5));
            (weights.to_vec(), remainder)
        }
        match lagrange.order {
            2 => of::<2>(lagrange, theta),
            4 => of::<4>(lagrange, theta),
            6 => of::<6>(lagrange, theta),
            _ => of::<8>(lagrange, theta),
        }
    }

    #[test]
    fn polynomials_below_the_order_are_exact() {
        for order in [2, 4, 6, 8] {
            let lagrange = Lagrange::new(order);
            for step in 0..=10 {
                let theta = f64::from(step) / 10.0;
                let (weights, _) = weights(&lagrange, theta);
                for degree in 0..order as i32 {
                    let node = |k: usize| lagrange.first_node() + k as f64;
                    let interpolated: f64 = (0..order).map(|k| weights[k] * node(k).powi(degree)).sum();
                    assert!((interpolated - theta.powi(degree)).abs() < 1e-11, "order {order}, degree {degree}");
                }
            }
        }
    }

    /// The weights by their definition, as products: what the claim of rounding is about.
    #[test]
    fn rounding_of_weights_is_within_its_bound() {
        for order in [2usize, 4, 6, 8] {
            let lagrange = Lagrange::new(order);
            let sizes = |rows: [[f64; MAX_PAIRS]; MAX_PAIRS], first: i32| -> f64 {
                let size = |(degree, row): (usize, &[f64; MAX_PAIRS])| {
                    row.iter().map(|c| c.abs()).sum::<f64>() * 0.5f64.powi(2 * degree as i32 + first)
                };
                rows.iter().enumerate().map(size).sum()
            };
            // Of both halves of the nodes.
            let terms = 2.0 * (sizes(lagrange.even, 0) + sizes(lagrange.odd, 1));
            assert!(terms < 4.0, "order {order}: {terms}");
            for step in 0..=1000 {
                let theta = f64::from(step) / 1000.0;
                let node = |k: usize| lagrange.first_node() + k as f64;
                let (weights, _) = weights(&lagrange, theta);
                let error: f64 = (0..order)
                    .map(|k| {
                        let others = || (0..order).filter(|other| *other != k);
                        let above: f64 = others().map(|other| theta - node(other)).product();
                        let below: f64 = others().map(|other| node(k) - node(other)).product();
                        (weights[k] - above / below).abs()
                    })
                    .sum();
                assert!(error <= 16.0 * order as f64 * f64::EPSILON / 2.0, "order {order} at {theta}: {error:e}");
            }
        }
    }

    #[test]
    fn the_constants_are_those_of_the_nodes() {
        for order in [2, 4, 6, 8] {
            let lagrange = Lagrange::new(order);
            let factorial: f64 = (1..=order).map(|k| k as f64).product();
            let samples: Vec<_> = (0..=1000).map(|step| weights(&lagrange, f64::from(step) / 1000.0)).collect();
            let max = samples.iter().map(|sample| sample.1).fold(0.0, f64::max) / factorial;
            let mean = samples.iter().map(|sample| sample.1).sum::<f64>() / 1000.0 / factorial;
            let lebesgue = samples.iter().map(|sample| sample.0.iter().map(|w| w.abs()).sum()).fold(0.0, f64::max);
            assert!((max / lagrange.max_remainder() - 1.0).abs() < 1e-9);
            assert!(mean <= lagrange.mean_remainder() * (1.0 + 1e-9) && mean > lagrange.mean_remainder() * 0.9999);
            assert!(lebesgue <= lagrange.lebesgue() + 1e-12 && lebesgue > lagrange.lebesgue() - 1e-3);
        }
    }
}
