//! What steps with a factor of an earlier Hessian have shown about the present one: the two-loop
//! form of BFGS with limited memory, which starts from the factor (Nocedal and Wright, "Numerical
//! Optimization", algorithm 7.4). It saves passes over the rows where the factor is of some of
//! them.

use crate::numerics::cholesky::Cholesky;
use crate::recalibrate::fit::newton::dot;

/// Steps that are remembered.
const MOST: usize = 8;

/// A step that was taken, and by how much it changed the gradient.
struct Taken {
    step: Vec<f64>,
    change: Vec<f64>,
    /// 1 / (step · change), which is positive, since J is strictly convex along steps.
    inverse: f64,
}

/// The last steps since the factor was computed.
#[derive(Default)]
pub(super) struct Memory(Vec<Taken>);

impl Memory {
    /// About H⁻¹ g.
    pub(super) fn direction(&self, factor: &Cholesky, gradient: &[f64]) -> Vec<f64> {
        let mut rest = gradient.to_vec();
        let mut shares = Vec::with_capacity(self.0.len());
        for taken in self.0.iter().rev() {
            let share = taken.inverse * dot(&taken.step, &rest);
            rest.iter_mut().zip(&taken.change).for_each(|(rest, change)| *rest -= share * change);
            shares.push(share);
        }
        let mut direction = factor.solve(&rest);
        for (taken, share) in self.0.iter().zip(shares.iter().rev()) {
            let missing = share - taken.inverse * dot(&taken.change, &direction);
            direction.iter_mut().zip(&taken.step).for_each(|(direction, step)| *direction += missing * step);
        }
        direction
    }

    /// Remembers the way between two places with their gradients; not what is only rounding.
    pub(super) fn add(&mut self, [from, to]: [&[f64]; 2], [before, after]: [&[f64]; 2]) {
        let step: Vec<f64> = to.iter().zip(from).map(|(to, from)| to - from).collect();
        let change: Vec<f64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
        let curvature = dot(&step, &change);
        if !(curvature > 0.0 && (1.0 / curvature).is_finite()) {
            return;
        }
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push(Taken { step, change, inverse: 1.0 / curvature });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::cholesky::Symmetric;

    #[test]
    fn steps_from_a_wrong_factor_find_the_minimum_of_a_quadratic() {
        // H is diagonal, and the factor is that of 1: plain steps would need hundreds.
        let n = 6;
        let curvature: Vec<f64> = (0..n).map(|i| 0.2 + 0.3 * i as f64).collect();
        let mut one = Symmetric::zero(n);
        (0..n).for_each(|i| one.add(i, i, 1.0));
        let factor = Cholesky::new(&one).unwrap();
        let gradient = |x: &[f64]| x.iter().zip(&curvature).map(|(x, c)| c * (x - 1.0)).collect::<Vec<f64>>();
        let mut memory = Memory::default();
        let mut x = vec![0.0; n];
        for _ in 0..20 {
            let before = gradient(&x);
            let direction = memory.direction(&factor, &before);
            let next: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x - d).collect();
            memory.add([&x, &next], [&before, &gradient(&next)]);
            x = next;
        }
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-9), "{x:?}");
    }
}
