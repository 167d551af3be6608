//! Is there anything that a scaling of classes can fix? A test by drawn labels that needs no fit
//! for each draw.
//!
//! The statistic is the gain of one step of Newton's method from the identity, ½ g' M⁻¹ g, with the
//! gradient g of the log-loss and the Hessian M of the objective, both at the identity: Rao's score
//! statistic, with the ridge of the fit. Near the identity it is the gain of the fit itself, up to
//! terms that vanish with more rows. M does not depend on labels, and g is a sum over rows of what
//! the label of a row selects: a draw costs one pass over the rows and one product with M⁻¹, where
//! a fit costs tens of passes. The p-value is that of a test by draws, and is exact for any
//! statistic: if the predictions are the truth, the rows are one more draw.

use super::drawn::GainFloor;
use crate::numerics::cholesky::{Cholesky, Symmetric};
use crate::numerics::parallel;
use crate::numerics::random::{Uniforms, seed_of_draw};
use crate::recalibrate::classes::fit::{Chosen, Classes};
use crate::recalibrate::classes::panel::Panel;
use crate::recalibrate::classes::scaling::map::shape_of;
use crate::recalibrate::classes::scaling::solve::MOST_DENSE;
use crate::recalibrate::classes::scaling::{Rows, Scaling, Shape};
use crate::watch;

/// Scores of all draws together: with more rows and classes there are fewer draws.
const MOST_DRAWN: usize = 1 << 31;

/// Draws at least: as many as a p-value of 5 % needs.
const FEWEST_DRAWS: u64 = 39;

/// M⁻¹: whole, or of the diagonal where there are very many parameters.
enum Inverse {
    /// In the free coordinates and, first, the slope of all scores, which has no ridge.
    WithSlope(Cholesky, Vec<f64>),
    Whole(Cholesky),
    Diagonal(Vec<f64>),
}

impl Inverse {
    fn new(scaling: &Scaling, information: &dyn Fn() -> Symmetric, diagonal: &dyn Fn() -> Vec<f64>) -> Self {
        let d = scaling.free.len();
        if d > MOST_DENSE {
            let own = scaling.gather_sizes(&diagonal());
            return Inverse::Diagonal(own.iter().zip(&scaling.ridge).map(|(own, ridge)| own + 2.0 * ridge).collect());
        }
        let information = information();
        let penalised = scaling.penalised(&information);
        // The first slope of a fit has no ridge; where nothing has one, it is among the others.
        if scaling.shape != Shape::Shared && scaling.ridge.iter().all(|ridge| *ridge > 0.0) {
            let way = scaling.centre();
            let line = |i: usize| (0..d).map(|j| information.get(i, j) * way[j]).sum::<f64>();
            let of_slope: Vec<f64> = (0..d).map(line).collect();
            let mut whole = Symmetric::zero(d + 1);
            whole.add(0, 0, of_slope.iter().zip(&way).map(|(a, b)| a * b).sum());
            for (i, slope) in of_slope.iter().enumerate() {
                whole.add(i + 1, 0, *slope);
                (0..=i).for_each(|j| whole.add(i + 1, j + 1, penalised.get(i, j)));
            }
            if let Some(factor) = Cholesky::new(&whole) {
                return Inverse::WithSlope(factor, way);
            }
        }
        match Cholesky::new(&penalised) {
            Some(factor) => Inverse::Whole(factor),
            None => Inverse::Diagonal((0..d).map(|j| penalised.get(j, j)).collect()),
        }
    }

    /// ½ g' M⁻¹ g.
    fn gain(&self, gradient: &[f64]) -> f64 {
        0.5 * match self {
            Inverse::WithSlope(factor, way) => {
                let along: f64 = gradient.iter().zip(way).map(|(g, way)| g * way).sum();
                let whole: Vec<f64> = std::iter::once(along).chain(gradient.iter().copied()).collect();
                factor.inverse_form(&whole)
            }
            Inverse::Whole(factor) => factor.inverse_form(gradient),
            Inverse::Diagonal(own) => {
                // A direction that no row tells anything about is none.
                let part = |(g, own): (&f64, &f64)| if *own > 0.0 { g * g / own } else { 0.0 };
                gradient.iter().zip(own).map(part).sum()
            }
        }
    }
}

impl Classes<'_> {
    /// The floor for a gain of that value.
    pub(crate) fn scaling_floor(
        &self,
        rows: &Chosen<'_>,
        panel: &Panel,
        value: f64,
        n_resamples: u64,
        random_state: u64,
    ) -> GainFloor {
        let (n, k) = (panel.len(), panel.n_classes);
        let chosen: Vec<u32> = (0..n as u32).collect();
        let scaling = Scaling::new(
            shape_of(self.options.method),
            self.options.ridge_of_classes(k),
            &Rows {
                panel,
                chosen: &chosen,
                slope: 1.0,
                mixture_before: 0.0,
                effective_n: rows.effective_n,
                count_unit: rows.counts.then_some(self.scores.weight_unit),
            },
        );
        let identity = scaling.at(&scaling.of_slope(1.0), Vec::new());
        let inverse =
            Inverse::new(&scaling, &|| scaling.gather_matrix(&scaling.hessian(&identity, scaling.n_rows())), &|| {
                scaling.hessian_diagonal(&identity)
            });
        let of_rows = inverse.gain(&scaling.gather(&identity.gradient));
        // Σ ω p x: what all draws have in common.
        let mut expected = identity.gradient;
        (0..n).for_each(|row| scaling.add_label(row, panel.labels[row] as usize, 1.0, &mut expected));
        let mut cumulated = identity.p;
        for row in cumulated.chunks_exact_mut(k) {
            let mut sum = 0.0;
            row.iter_mut().for_each(|p| {
                sum += *p;
                *p = sum;
            });
        }
        let n_draws = n_resamples.min(FEWEST_DRAWS.max((MOST_DRAWN / (n * k).max(1)) as u64));
        watch::expect_draws(n_draws);
        let gains = parallel::map(n_draws as usize, |draw| {
            watch::draw_begins();
            let mut uniforms = Uniforms::new(seed_of_draw(random_state, draw as u64));
            let mut gradient = expected.clone();
            for (row, sums) in cumulated.chunks_exact(k).enumerate() {
                let at = uniforms.next() * sums[k - 1];
                let label = sums.partition_point(|sum| *sum <= at).min(k - 1);
                scaling.add_label(row, label, -1.0, &mut gradient);
            }
            Some(inverse.gain(&scaling.gather(&gradient)))
        });
        GainFloor { value, ..GainFloor::of(of_rows, gains, random_state) }
    }
}
