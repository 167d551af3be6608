//! Maps of a binary outcome for each class against the rest, and how they are tested.

use super::fit::{Chosen, ClassFit, Classes, Detail};
use super::map::{ClassFormula, ClassMap};
use super::scaling::map::check_two_classes;
use crate::Error;
use crate::numerics::parallel;
use crate::numerics::random::{Uniforms, seed_of_draw};
use crate::numerics::sum::Sum;
use crate::recalibrate::binary::linear::Design;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::binary::rows::{Atoms, Ordered};
use crate::recalibrate::fit::newton::FitBound;
use crate::recalibrate::verdict::cross_fit_classes::{losses_of, sum_in_any_order};
use crate::recalibrate::verdict::drawn::GainFloor;
use crate::watch;

/// Up to so many scores there is a test by drawn labels, since each draw fits every class.
const MOST_SCORES: usize = 1 << 22;

/// Scores of all draws together: with more rows and classes there are fewer draws.
const MOST_DRAWN: usize = 1 << 26;

/// Draws at least: as many as a p-value of 5 % needs.
const FEWEST_DRAWS: u64 = 39;

impl Classes<'_> {
    pub(crate) fn fit_one_vs_rest(&self, rows: &Chosen<'_>, detail: Detail) -> Result<ClassFit, Error> {
        let (options, k) = (self.options, self.scores.n_classes());
        let mut has_rows = vec![0u64; k];
        let with_weight =
            (0..self.scores.len()).filter(|index| (rows.is_chosen)(*index) && self.scores.weight(*index) > 0.0);
        with_weight.for_each(|index| has_rows[self.scores.labels[index] as usize] += 1);
        check_two_classes(&has_rows, rows.n)?;
        let mut maps = Vec::with_capacity(k);
        let mut fit = ClassFit {
            parameters: Vec::new(),
            covariance: Vec::new(),
            log_loss_after: f64::NAN,
            bound: FitBound::default(),
            effective_parameters: 0.0,
            notes: Vec::new(),
            spread: None,
            map: ClassMap { method: options.method, clip: options.clip, ..ClassMap::identity(k) },
        };
        for (view, n_rows) in self.predictions.each_class()?.zip(&has_rows) {
            if *n_rows == 0 {
                maps.push(BinaryMap { clip: options.clip, ..BinaryMap::identity() });
                continue;
            }
            let ordered = options.ordered(&view)?;
            let atoms = ordered.pooled(|place| (rows.is_chosen)(ordered.rows[place].index as usize));
            let design = Design::new(options.method, &atoms);
            let fitted = options.fit_atoms(&design, &atoms)?;
            fit.effective_parameters += fitted.effective_parameters;
            if let Some(formula) = fitted.formula.as_ref().filter(|_| detail == Detail::Errors) {
                let covariance = fitted.covariance(&formula.scatter(&design, &atoms));
                fit.parameters.extend(fitted.parameters(&covariance));
                fit.bound.standard_errors = fit.bound.standard_errors.max(formula.bound.standard_errors);
                fit.bound.nats = fit.bound.nats.max(formula.bound.nats);
            }
            maps.push(fitted.map);
        }
        fit.map.formula = ClassFormula::OneVsRest { maps };
        if detail == Detail::Errors {
            let losses = losses_of(&self.scores, &fit.map);
            let chosen = (0..losses.len()).filter(|index| (rows.is_chosen)(*index));
            let parts = chosen.map(|index| self.scores.weight(index) * losses[index]);
            fit.log_loss_after = sum_in_any_order(parts) / rows.total;
        }
        Ok(fit)
    }

    /// The test of whether there is anything to fix: labels are drawn and all classes fitted again.
    pub(crate) fn one_vs_rest_floor(
        &self,
        value: f64,
        n_resamples: u64,
        random_state: u64,
    ) -> Result<Option<GainFloor>, Error> {
        let (n, k) = (self.scores.len(), self.scores.n_classes());
        if n * k > MOST_SCORES {
            return Ok(None);
        }
        let views: Result<Vec<Ordered>, Error> =
            self.predictions.each_class()?.map(|view| self.options.ordered(&view)).collect();
        let redrawn = Redrawn { classes: self, views: views?, before: self.probabilities_before() };
        let n_draws = n_resamples.min(FEWEST_DRAWS.max((MOST_DRAWN / (n * k)) as u64));
        watch::expect_draws(n_draws);
        let gains = parallel::map(n_draws as usize, |draw| {
            watch::draw_begins();
            redrawn.gain(&redrawn.labels(seed_of_draw(random_state, draw as u64)))
        });
        Ok(Some(GainFloor::of(value, gains, random_state)))
    }

    /// Probabilities of all rows as they are.
    fn probabilities_before(&self) -> Vec<f64> {
        ClassMap { clip: self.options.clip, ..ClassMap::identity(self.scores.n_classes()) }.apply_all(self.predictions)
    }
}

/// What labels are drawn for.
struct Redrawn<'a> {
    classes: &'a Classes<'a>,
    /// The rows of each class against the rest.
    views: Vec<Ordered>,
    before: Vec<f64>,
}

impl Redrawn<'_> {
    fn labels(&self, seed: u64) -> Vec<usize> {
        let mut uniforms = Uniforms::new(seed);
        let draw = |row: &[f64]| {
            let mut left = uniforms.next() * row.iter().sum::<f64>();
            let found = row.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            found.unwrap_or(row.len() - 1)
        };
        self.before.chunks_exact(self.views.len()).map(draw).collect()
    }

    /// By how much the fits to these labels lower their log-loss; `None` where there is no fit.
    fn gain(&self, labels: &[usize]) -> Option<f64> {
        let (options, k) = (self.classes.options, self.views.len());
        let mut after = vec![0.0; self.before.len()];
        for (class, view) in self.views.iter().enumerate() {
            let atoms: Atoms = view.pooled_as(|_, row| Some(labels[row.index as usize] == class));
            let map = if atoms.totals[1] > 0.0 {
                let design = Design::new(options.method, &atoms);
                options.fit_atoms(&design, &atoms).ok()?.map
            } else {
                BinaryMap::identity()
            };
            view.rows.iter().for_each(|row| after[row.index as usize * k + class] = map.apply(row.h()));
        }
        let scores = &self.classes.scores;
        let (mut gain, mut total) = (Sum::default(), Sum::default());
        for (index, label) in labels.iter().enumerate() {
            let weight = scores.weight(index);
            if weight > 0.0 {
                let row = &after[index * k..(index + 1) * k];
                let ratio = row[*label] / row.iter().sum::<f64>() / self.before[index * k + label];
                gain.add(weight * ratio.ln());
                total.add(weight);
            }
        }
        Some(gain.value() / total.value())
    }
}
