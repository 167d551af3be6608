//! The nodes near occupied panels, one stretch after another without the empty ones between them.

use super::super::Kernel;
use super::spacing::Spacing;
use crate::numerics::convolution::Smoother;

/// Nodes in a row, with what is known of each beforehand.
pub(super) struct Nodes {
    spacing: f64,
    order: usize,
    cubic: bool,
    /// rho at each node.
    pub(super) responses: Vec<f64>,
    /// 1 - rho at each node.
    pub(super) complements: Vec<f64>,
    smoother: Smoother,
    mirrored: Smoother,
    squared: Smoother,
}

/// Masses at nodes, with room for the kernel at both ends.
pub(super) struct Masses(Vec<f64>);

impl Masses {
    /// Adds `factor` times the sums of a panel that start at node `first`.
    #[inline]
    pub(super) fn add(&mut self, first: usize, factor: f64, sums: &[f64]) {
        let masses = &mut self.0[first..first + sums.len()];
        masses.iter_mut().zip(sums).for_each(|(mass, sum)| *mass += factor * sum);
    }
}

impl Nodes {
    /// Nodes for panels with these numbers, which ascend, and for each panel the place of its first
    /// node among [`Masses`]. `None` where there would be more than `most` nodes.
    pub(super) fn new(
        panels: &[i64],
        spacing: Spacing,
        kernel: &Kernel<'_>,
        most: usize,
    ) -> Option<(Self, Vec<usize>)> {
        let Spacing { spacing, order, cubic, taps, mirrored } = spacing;
        let order_nodes = order as i64;
        // Beyond, every smoothed mass is 0; two nodes more for the cubics.
        let halo = taps.reach() as i64 + 2;
        let mut stretches: Vec<std::ops::Range<i64>> = Vec::new();
        let mut places = Vec::with_capacity(panels.len());
        let mut n_before = 0;
        for panel in panels {
            let nodes = panel - (order_nodes / 2 - 1)..panel + order_nodes / 2 + 1;
            match stretches.last_mut() {
                Some(last) if nodes.start - halo <= last.end + halo => last.end = nodes.end,
                _ => {
                    n_before += stretches.last().map_or(0, |last| last.end - last.start + 2 * halo);
                    stretches.push(nodes.clone());
                }
            }
            // proof: a stretch was pushed or extended just above
            let stretch = &stretches[stretches.len() - 1];
            let place = n_before + halo + nodes.start - stretch.start;
            places.push(usize::try_from(place).ok()? + taps.reach());
            if place > most as i64 {
                return None;
            }
        }
        let (mut responses, mut complements) = (Vec::new(), Vec::new());
        for stretch in &stretches {
            for node in stretch.start - halo..stretch.end + halo {
                let (response, complement) = kernel.link.both(node as f64 * spacing);
                responses.push(response);
                complements.push(complement);
            }
        }
        let n = responses.len();
        let squared = Smoother::new(taps.squared(), n);
        let (smoother, mirrored) = (Smoother::new(taps, n), Smoother::new(mirrored, n));
        Some((Nodes { spacing, order, cubic, responses, complements, smoother, mirrored, squared }, places))
    }

    /// The distance of neighbouring nodes.
    pub(super) fn spacing(&self) -> f64 {
        self.spacing
    }

    /// The place among smoothed values of a place among masses.
    pub(super) fn smoothed_place(&self, place: usize) -> usize {
        place - self.smoother.reach()
    }

    pub(super) fn no_masses(&self) -> Masses {
        Masses(self.smoother.no_masses())
    }

    /// Σ mass K(u - h) at every node u.
    pub(super) fn smooth(&self, masses: &Masses) -> Vec<f64> {
        self.smoother.convolve(&masses.0)
    }

    /// The same for the masses of one panel, whose first node is at this place among masses: only
    /// where it is not 0, and the first node of that.
    pub(super) fn smooth_panel(&self, first: usize, masses: &[f64]) -> (usize, Vec<f64>) {
        (first - 2 * self.smoother.reach(), self.smoother.convolve_few(masses))
    }

    /// Σ mass K(u - h)² at every node u.
    pub(super) fn smooth_by_square(&self, masses: &Masses) -> Vec<f64> {
        self.squared.convolve(&masses.0)
    }

    /// ∫ f(u) K(u - h) du at every node h, from the integrals of f times the hat functions of the
    /// nodes; at the places that masses have.
    pub(super) fn correlate(&self, integrals: &[f64]) -> Masses {
        let mut masses = self.mirrored.no_masses();
        let reach = self.mirrored.reach();
        masses[reach..reach + integrals.len()].copy_from_slice(integrals);
        let mut correlated = self.mirrored.no_masses();
        correlated[reach..reach + integrals.len()].copy_from_slice(&self.mirrored.convolve(&masses));
        Masses(correlated)
    }

    /// The value between the nodes from `first` on, with weights that sum to `total`.
    pub(super) fn interpolate(&self, values: &Masses, first: usize, weights: &[f64], total: f64) -> f64 {
        let values = &values.0[first..first + self.order];
        values.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>() / total
    }

    /// ∫ |G| from the values of G at the nodes.
    pub(super) fn integrate(&self, residuals: &[f64]) -> f64 {
        let sum = if self.cubic { cubics(residuals) } else { lines(residuals) };
        sum * self.spacing
    }

    /// The integrals of sign(G) times the hat functions of the nodes.
    pub(super) fn signs(&self, residuals: &[f64]) -> Vec<f64> {
        let mut integrals = vec![0.0; residuals.len()];
        for (place, pair) in residuals.windows(2).enumerate() {
            let (left, right) = (pair[0], pair[1]);
            let (before, after) = if left * right < 0.0 {
                // Of (1 - x) and x over [0, 1], with the sign turned at the root.
                let root = match place.checked_sub(1).and_then(|first| residuals.get(first..first + 4)) {
                    Some(&[a, b, c, d]) if self.cubic => Cubic::new(a, b, c, d).root(),
                    _ => left / (left - right),
                };
                let sign = left.signum();
                (sign * (2.0 * root - root * root - 0.5), sign * (root * root - 0.5))
            } else {
                let sign = if left + right == 0.0 { 0.0 } else { (left + right).signum() };
                (0.5 * sign, 0.5 * sign)
            };
            integrals[place] += self.spacing * before;
            integrals[place + 1] += self.spacing * after;
        }
        integrals
    }
}

/// ∫ |straight lines|, in units of the spacing.
fn lines(values: &[f64]) -> f64 {
    let panel = |pair: &[f64]| {
        let (left, right) = (pair[0], pair[1]);
        let size = left.abs() + right.abs();
        if left * right < 0.0 { 0.5 * (left * left + right * right) / size } else { 0.5 * size }
    };
    values.windows(2).map(panel).sum()
}

/// ∫ |cubics through four nodes|, in units of the spacing; the outermost panels, where all is 0,
/// are left out.
///
/// Two roots within a panel without a change of sign at its ends are not seen: |G| is tiny there.
fn cubics(values: &[f64]) -> f64 {
    let panel = |nodes: &[f64]| {
        let [a, b, c, d] = [nodes[0], nodes[1], nodes[2], nodes[3]];
        if b * c < 0.0 { Cubic::new(a, b, c, d).absolute() } else { ((13.0 * (b + c) - (a + d)) / 24.0).abs() }
    };
    values.windows(4).map(panel).sum()
}

/// The cubic through four nodes, in the place x between the second and the third.
struct Cubic {
    coefficients: [f64; 4],
    /// The value at 1, which the coefficients give only up to rounding: next to large neighbours
    /// that can be all of it.
    end: f64,
}

impl Cubic {
    fn new(a: f64, b: f64, c: f64, d: f64) -> Self {
        let first = (-2.0 * a - 3.0 * b + 6.0 * c - d) / 6.0;
        let second = (a - 2.0 * b + c) / 2.0;
        let third = (-a + 3.0 * (b - c) + d) / 6.0;
        Cubic { coefficients: [b, first, second, third], end: c }
    }

    fn value(&self, x: f64) -> f64 {
        let [constant, first, second, third] = self.coefficients;
        constant + x * (first + x * (second + x * third))
    }

    /// A change of sign between 0 and 1, where the ends have different signs: by Newton's steps, or
    /// halving where they lead astray.
    fn root(&self) -> f64 {
        let [constant, first, second, third] = self.coefficients;
        let (mut left, mut right) = (0.0, 1.0);
        let mut x = constant / (constant - self.end);
        for _ in 0..4 {
            let value = self.value(x);
            if value * constant > 0.0 {
                left = x;
            } else {
                right = x;
            }
            let next = x - value / (first + x * (2.0 * second + x * 3.0 * third));
            // At the root itself a step leads nowhere.
            x = if left <= next && next <= right { next } else { 0.5 * (left + right) };
        }
        x
    }

    /// ∫ |cubic| from 0 to 1, where the ends have different signs. An error of the root costs the
    /// square of it.
    fn absolute(&self) -> f64 {
        let [constant, first, second, third] = self.coefficients;
        let integral = |x: f64| x * (constant + x * (first / 2.0 + x * (second / 3.0 + x * third / 4.0)));
        let to_root = integral(self.root());
        to_root.abs() + (integral(1.0) - to_root).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_integrals_of_waves_are_those_of_calculus() {
        // |sin| over 40 half waves with 8 nodes for each radian, as a Gaussian's G has them.
        let values: Vec<f64> = (0..=1005).map(|k| (f64::from(k) / 8.0 + 0.03).sin()).collect();
        let integral = |from: f64, to: f64| {
            let antiderivative = |x: f64| {
                let half_waves = (x / std::f64::consts::PI).floor();
                2.0 * half_waves + 1.0 - (x - half_waves * std::f64::consts::PI).cos()
            };
            antiderivative(to + 0.03) - antiderivative(from + 0.03)
        };
        let of_cubics = cubics(&values) / 8.0;
        let exact = integral(1.0 / 8.0, 1004.0 / 8.0);
        assert!((of_cubics / exact - 1.0).abs() < 3e-5, "{of_cubics} {exact}");
        let of_lines = lines(&values) / 8.0;
        let exact = integral(0.0, 1005.0 / 8.0);
        assert!((of_lines / exact - 1.0).abs() < 3e-3, "{of_lines} {exact}");
    }
}
