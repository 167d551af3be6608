//! Interpolation between equally spaced nodes, always on the middle panel of an even number of them.

/// The highest order that is used: 8 nodes, polynomials of degree 7.
pub(crate) const MAX_ORDER: usize = 8;

/// Interpolation of even order m through the nodes -(m/2 - 1), ..., m/2, for theta in [0, 1].
///
/// With w(theta) = product of (theta - node), the error for a function f with step h between nodes is
/// `w(theta) h^m / m!` times an average of f^(m) over the nodes' span (Peano: a B-spline weight).
#[derive(Debug, Clone)]
pub(crate) struct Lagrange {
    order: usize,
    /// 1 / product over other nodes of (node - other).
    scales: [f64; MAX_ORDER],
}

impl Lagrange {
    pub(crate) fn new(order: usize) -> Self {
        debug_assert!(order.is_multiple_of(2) && (2..=MAX_ORDER).contains(&order));
        let scale = |k: usize| {
            let others = (0..order).filter(|&other| other != k);
            1.0 / others.map(|other| k as f64 - other as f64).product::<f64>()
        };
        let mut scales = [0.0; MAX_ORDER];
        (0..order).for_each(|k| scales[k] = scale(k));
        Lagrange { order, scales }
    }

    /// Position of the first node, relative to the left end of the panel.
    pub(crate) fn first_node(&self) -> f64 {
        1.0 - (self.order / 2) as f64
    }

    /// The weights of the nodes at `theta`, and |w(theta)|.
    #[inline]
    pub(crate) fn weights(&self, theta: f64) -> ([f64; MAX_ORDER], f64) {
        let mut weights = [0.0; MAX_ORDER];
        let first = self.first_node();
        // Products of the differences before and after each node: no division, so no special case at a node.
        let mut before = 1.0;
        for (k, weight) in weights[..self.order].iter_mut().enumerate() {
            *weight = before;
            before *= theta - (first + k as f64);
        }
        let mut after = 1.0;
        for k in (0..self.order).rev() {
            weights[k] *= after * self.scales[k];
            after *= theta - (first + k as f64);
        }
        (weights, before.abs())
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

    #[test]
    fn polynomials_below_the_order_are_exact() {
        for order in [2, 4, 6, 8] {
            let lagrange = Lagrange::new(order);
            for step in 0..=10 {
                let theta = f64::from(step) / 10.0;
                let (weights, _) = lagrange.weights(theta);
                for degree in 0..order as i32 {
                    let node = |k: usize| lagrange.first_node() + k as f64;
                    let interpolated: f64 = (0..order).map(|k| weights[k] * node(k).powi(degree)).sum();
                    assert!((interpolated - theta.powi(degree)).abs() < 1e-11, "order {order}, degree {degree}");
                }
            }
        }
    }

    #[test]
    fn the_constants_are_those_of_the_nodes() {
        for order in [2, 4, 6, 8] {
            let lagrange = Lagrange::new(order);
            let factorial: f64 = (1..=order).map(|k| k as f64).product();
            let samples: Vec<_> = (0..=1000).map(|step| lagrange.weights(f64::from(step) / 1000.0)).collect();
            let max = samples.iter().map(|sample| sample.1).fold(0.0, f64::max) / factorial;
            let mean = samples.iter().map(|sample| sample.1).sum::<f64>() / 1000.0 / factorial;
            let lebesgue = samples.iter().map(|sample| sample.0.iter().map(|w| w.abs()).sum()).fold(0.0, f64::max);
            assert!((max / lagrange.max_remainder() - 1.0).abs() < 1e-9);
            assert!(mean <= lagrange.mean_remainder() * (1.0 + 1e-9) && mean > lagrange.mean_remainder() * 0.9999);
            assert!(lebesgue <= lagrange.lebesgue() + 1e-12 && lebesgue > lagrange.lebesgue() - 1e-3);
        }
    }
}
