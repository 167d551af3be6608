//! Kernel sums at single places, straight from the points: for curves and samples, where no
//! integral is wanted.

use super::Kernel;
use super::points::Points;
use crate::numerics::sum::Sum;

/// Points in the order of their logits, so that those within reach of a place are neighbours.
pub(super) struct Regression<'a> {
    points: &'a Points,
    kernel: Kernel<'a>,
    order: Vec<usize>,
    reach: f64,
    /// The most that a row beyond reach can add to the smoothed mass.
    pub(super) neglected: f64,
}

/// The smoothed masses at one place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Masses {
    /// Of outcome 1.
    pub(super) positives: f64,
    /// Of both outcomes.
    pub(super) total: f64,
}

impl<'a> Regression<'a> {
    pub(super) fn new(points: &'a Points, kernel: Kernel<'a>) -> Self {
        let reach = negligible_beyond(&kernel);
        // The density falls out there, so that it is at most the probability of the unit before.
        let neglected = kernel.noise.tail(reach / kernel.sigma - 1.0) / kernel.sigma;
        Regression { points, kernel, order: points.sorted(), reach, neglected }
    }

    /// Row numbers in the order of their logits.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    /// The rows whose logits are within `distance` of u.
    pub(super) fn within(&self, u: f64, distance: f64) -> &[usize] {
        let logit = |index: &usize| self.points.logits[*index];
        let first = self.order.partition_point(|index| logit(index) < u - distance);
        let last = self.order.partition_point(|index| logit(index) <= u + distance);
        &self.order[first..last]
    }

    /// The rows whose contribution at u is not neglected.
    pub(super) fn within_reach(&self, u: f64) -> &[usize] {
        self.within(u, self.reach)
    }

    /// The sums of equations (tndensity) and (tndensity2), on the logit axis. Rows beyond reach are
    /// neglected; the others have a relative error of 2^-45 each, and the sums are compensated.
    pub(super) fn at(&self, u: f64) -> Masses {
        let (mut positives, mut total) = (Sum::default(), Sum::default());
        for &index in self.within_reach(u) {
            let term = self.points.share(index) * self.kernel.density(u - self.points.logits[index]);
            total.add(term);
            if self.points.outcomes[index] {
                positives.add(term);
            }
        }
        Masses { positives: positives.value(), total: total.value() }
    }

    /// The share of the rows whose logit is at `distance` from u, give or take `slack`.
    pub(super) fn share_at(&self, u: f64, distance: f64, slack: f64) -> f64 {
        let sides = [u - distance, u + distance];
        let rows = sides.iter().flat_map(|&side| self.within(side, slack));
        rows.map(|&index| self.points.share(index)).collect::<Sum>().value()
    }
}

/// The distance beyond which a point is neglected: the noise stays a unit below it but for a
/// probability of 1e-30. For noise with a heavier tail than any built-in one it is a million units.
fn negligible_beyond(kernel: &Kernel<'_>) -> f64 {
    let mut reach = 2.0;
    while kernel.noise.tail(reach - 1.0) > 1e-30 && reach < 1e6 {
        reach *= 1.1;
    }
    reach * kernel.sigma
}
