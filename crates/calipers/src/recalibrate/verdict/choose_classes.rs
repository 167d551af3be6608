//! Which method for rows of classes?

use super::choice::Choice;
use super::choose::Choose;
use super::cross_fit::CrossFit;
use super::cross_fit_classes::{Applied, changes, deviation_if_drawn, square_of_weight, sum_in_any_order};
use super::gain::TableEvidence;
use super::improvement::{GainInterval, Improvement, Verdict};
use super::trials::{Role, Trials};
use crate::Error;
use crate::measures::ProperScore;
use crate::recalibrate::classes::fit::{Classes, Detail};
use crate::recalibrate::classes::map::ClassMap;
use crate::recalibrate::classes::sample::{ClassSample, Units};
use crate::recalibrate::method::Method;
use crate::recalibrate::options::Recalibrate;

/// The candidates for rows of classes, from the simplest on.
const CANDIDATES: [Method; 5] =
    [Method::Identity, Method::Temperature, Method::BiasCorrectedTemperature, Method::Vector, Method::Matrix];

impl Choose {
    /// The choice for rows of classes: see [`Choose`]. Temperature scaling has the place of Platt
    /// scaling, and its test of whether there is anything to fix is used whatever is chosen.
    ///
    /// # Example
    /// ```
    /// use calipers::Input;
    /// use calipers::recalibrate::{Choose, Method};
    ///
    /// let z: Vec<f64> = (0..900).map(|i| 3.0 * f64::from(i * i % 89) / 29.0).collect();
    /// let labels: Vec<i64> = (0..300).map(|i| i * 7 % 3).collect();
    /// let predictions = Input::logits(&z, &labels).classes(3).check()?;
    /// let choice = Choose::new().n_resamples(99).run_classes(&predictions)?;
    /// assert_eq!(choice.table.len(), 5);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn run_classes<'s>(&self, sample: impl Into<ClassSample<'s>>) -> Result<Choice<ClassMap>, Error> {
        self.check()?;
        let sample = sample.into();
        let (predictions, clusters) = (sample.predictions, sample.resolved_clusters()?);
        let units = Units { clusters: clusters.as_ref() };
        let identity = Recalibrate { method: Method::Identity, ..self.recalibrate.clone() };
        // Checks the rows, and has their log-loss.
        let before = identity.fit_classes(predictions)?;
        let n_units = units.len(before.n as usize);
        let n_folds = self.folds_of(n_units);
        Error::require(n_folds <= n_units, "n_folds", format!("at most {n_units}"), n_folds)?;
        let classes = Classes::new(&identity, predictions)?;
        let scores = &classes.scores;
        let folds = units.folds(scores, n_folds);
        let weights: Vec<f64> = (0..scores.len()).map(|index| scores.weight(index)).collect();
        let counts = self.recalibrate.counts;
        let trials = ClassTrials { classes: &classes, folds: &folds, weights: &weights, counts, units };
        let decided = self.decide(&trials, &CANDIDATES)?;
        let options = Recalibrate { method: decided.chosen, ..self.recalibrate.clone() };
        let fit = units.known(options.fit_classes(predictions)?);
        let maps = decided.maps_in_use(&fit.map);
        let all: Vec<&ClassMap> = maps.iter().collect();
        let held_out = trials.changes(ProperScore::Log, &all, None);
        let change = trials.mean(&held_out, None);
        let own = trials.mean(&changes(&classes, &fit.map), None);
        let of_folds = maps.iter().map(|map| trials.mean(&changes(&classes, map), None)).sum::<f64>() / n_folds as f64;
        let squares: Vec<f64> = (0..scores.len()).map(|index| square_of_weight(scores, index, counts)).collect();
        let deviation = trials.deviation(&held_out, change, None);
        let of_rows = ClassTrials { units: Units { clusters: None }, ..trials }.deviation(&held_out, change, None);
        let effect = units.effect(deviation, of_rows);
        let evidence = TableEvidence {
            cross_fitted: change,
            in_sample: own,
            of_folds,
            deviation,
            drawn: deviation_if_drawn(&classes, &fit.map, &squares) / trials.total(None) * effect.sqrt(),
            unit: effect / fit.effective_n,
        };
        let (lower, upper) = evidence.interval(self.level);
        let floor = match self.n_resamples {
            0 => None,
            _ if clusters.is_some() => None,
            n_resamples => {
                let temperature = Recalibrate { method: Method::Temperature, ..self.recalibrate.clone() };
                let test =
                    CrossFit::new(temperature).n_folds(2).n_resamples(n_resamples).random_state(self.random_state);
                test.run_classes(predictions)?.floor
            }
        };
        let applied = Applied { predictions, folds: &folds, maps: &maps };
        let cross_fit = self.cross_fit(options);
        let mut improvement = Improvement {
            log_loss_before: fit.log_loss_before,
            log_loss_after: fit.log_loss_before + change,
            gain: -change,
            interval: GainInterval { lower: -upper, upper: -lower, level: self.level },
            verdict: Verdict::NoDifference,
            floor,
            left: if self.left { Some(applied.left(&cross_fit.remainder(sample.numbers))?) } else { None },
            out_of_fold: Vec::new(),
            n_scores: None,
            top_class_changed: applied.top_class_changed(&weights) / sum_in_any_order(weights.iter().copied()),
            n_folds,
            n_clusters: clusters.as_ref().map(|clusters| clusters.len() as u64),
            fit,
        };
        improvement.judge(self.level);
        Ok(self.choice(decided, improvement))
    }
}

/// Rows of classes on which candidates are tried.
#[derive(Clone, Copy)]
struct ClassTrials<'a> {
    /// With the identity, for the losses of any map.
    classes: &'a Classes<'a>,
    folds: &'a [u32],
    weights: &'a [f64],
    counts: bool,
    units: Units<'a>,
}

impl ClassTrials<'_> {
    fn total(&self, without: Option<usize>) -> f64 {
        sum_in_any_order(
            (0..self.folds.len()).filter(|index| self.is_in(*index, without)).map(|index| self.weights[index]),
        )
    }

    fn is_in(&self, index: usize, without: Option<usize>) -> bool {
        without.is_none_or(|fold| self.folds[index] != fold as u32)
    }

    /// The Brier score of a row over all classes.
    fn brier(&self, map: &ClassMap, index: usize) -> f64 {
        let label = self.classes.predictions.label(index);
        let row = map.apply(&self.classes.predictions.scores_of(index), self.classes.predictions.form());
        let part = |(class, p): (usize, &f64)| (p - f64::from(u8::from(class == label))).powi(2);
        row.iter().enumerate().map(part).sum()
    }
}

impl Trials for ClassTrials<'_> {
    type Map = ClassMap;

    fn folds(&self) -> &[u32] {
        self.folds
    }

    fn role(&self, method: Method) -> Role {
        match method {
            Method::Identity | Method::Temperature => Role::Base,
            Method::BiasCorrectedTemperature => Role::Safe,
            _ => Role::Other,
        }
    }

    fn fit(&self, options: &Recalibrate, of: &(dyn Fn(u32) -> bool + Sync)) -> Result<ClassMap, Error> {
        options.check_classes(self.classes.predictions)?;
        let classes = Classes::new(options, self.classes.predictions)?;
        let is_chosen = |index: usize| of(self.folds[index]);
        Ok(classes.fit(&classes.chosen(&is_chosen), Detail::MapOnly)?.map)
    }

    fn changes(&self, score: ProperScore, maps: &[&ClassMap], without: Option<usize>) -> Vec<f64> {
        let identity = ClassMap::identity(self.classes.scores.n_classes());
        let mut all = vec![0.0; self.folds.len()];
        for (fold, map) in maps.iter().enumerate().filter(|(fold, _)| without != Some(*fold)) {
            let own = (score == ProperScore::Log).then(|| changes(self.classes, map));
            for index in (0..all.len()).filter(|index| self.folds[*index] == fold as u32) {
                all[index] = match &own {
                    Some(own) => own[index],
                    None => self.brier(map, index) - self.brier(&identity, index),
                };
            }
        }
        all
    }

    fn mean(&self, changes: &[f64], without: Option<usize>) -> f64 {
        sum_in_any_order(changes.iter().zip(self.weights).map(|(change, weight)| weight * change)) / self.total(without)
    }

    fn deviation(&self, changes: &[f64], mean: f64, without: Option<usize>) -> f64 {
        if let Some(clusters) = self.units.clusters {
            let total = self.total(without);
            let part = |index: usize| match self.is_in(index, without) {
                true => self.weights[index] / total * (changes[index] - mean),
                false => 0.0,
            };
            return clusters.deviation(&(0..changes.len()).map(part).collect::<Vec<f64>>());
        }
        let square = |index: usize| {
            let away = changes[index] - mean;
            square_of_weight(&self.classes.scores, index, self.counts) * away * away
        };
        let rows = (0..changes.len()).filter(|index| self.is_in(*index, without));
        sum_in_any_order(rows.map(square)).sqrt() / self.total(without)
    }

    fn loss_before(&self, score: ProperScore) -> f64 {
        let identity = ClassMap::identity(self.classes.scores.n_classes());
        let mean = |of: &dyn Fn(usize) -> f64| {
            let all = (0..self.folds.len()).map(|index| self.weights[index] * of(index));
            sum_in_any_order(all) / self.total(None)
        };
        match score {
            ProperScore::Brier => mean(&|index| self.brier(&identity, index)),
            ProperScore::Log => {
                let losses = self.classes.scores.at_slope(1.0 / self.classes.scores.unit, |_, terms| {
                    terms.iter().map(|row| row.loss).collect::<Vec<f64>>()
                });
                let losses = losses.concat();
                mean(&|index| losses[index])
            }
        }
    }
}
