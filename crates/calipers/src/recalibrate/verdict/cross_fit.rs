//! Does recalibration help? Cross-fitted gain, its interval, and a verdict.

use super::drawn::{GainFloor, Redrawn};
use super::folds::folds;
use super::gain::{Evidence, TableEvidence};
use super::improvement::{GainInterval, Improvement, Verdict};
use super::left::{Left, Remainder};
use super::line::Line;
use crate::Error;
use crate::data::{Binary, BinaryView, Sample, Scale};
use crate::inference::Clusters;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::recalibrate::binary::formula::both;
use crate::recalibrate::binary::linear::{Design, softplus};
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::binary::rows::{Atoms, Ordered, Row};
use crate::recalibrate::fit::Fit;
use crate::recalibrate::method::Method;
use crate::recalibrate::options::{Fitted, Recalibrate, Spread, mean_loss};
use crate::setters::setters;

/// Whether a recalibration map helps on new rows: the cross-fitted gain with an interval, a test of
/// whether there is anything to fix, and a verdict.
///
/// # Definition
/// The gain is the mean log-loss before less that after, where each row is mapped by a fit to the
/// other folds. Folds come from a hash of the rows: the same rows in any order have the same. With
/// [`Sample::clusters`] whole clusters are held out. The interval is for the gain of the map that
/// is fitted to all rows, [`Improvement::fit`], on new rows of the same kind: it takes the error of
/// the fitted map into account, which held-out rows alone do not show. `gain.rs` has the rule and
/// the reason. [`GainFloor`] has the test.
///
/// # Assumptions
/// Independent rows or clusters, and rows that the model was not trained on.
///
/// # Cost
/// One fit for each fold, and one for each resample. With more than 16,384 different scores,
/// neighbours are pooled for the resamples.
///
/// # Accuracy
/// `tests/recalibrate/verdict.rs` has simulations of the share of 95 % intervals that hold the gain
/// of the fitted map, from calibrated to strongly miscalibrated predictions and from 200 rows on.
///
/// # Example
/// ```
/// use calipers::population::Family;
/// use calipers::recalibrate::{CrossFit, Method, Recalibrate, Verdict};
///
/// let sample = Family::named("overconfident")?.sample(2000, 1);
/// let predictions = sample.input().check()?;
/// let improvement = CrossFit::new(Recalibrate::new(Method::Beta)).run(&predictions.binary()?)?;
/// assert_eq!(improvement.verdict, Verdict::Helps);
/// assert!(improvement.interval.lower > 0.0 && improvement.gain > improvement.interval.lower);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CrossFit {
    pub(crate) recalibrate: Recalibrate,
    n_folds: Option<usize>,
    pub(crate) level: f64,
    pub(crate) n_resamples: u64,
    pub(crate) random_state: u64,
    pub(crate) left: bool,
    pub(crate) out_of_fold: bool,
}

impl CrossFit {
    /// Ten folds, five below 200 rows; level 0.95, 499 resamples, seed 0; without what is left.
    pub fn new(recalibrate: Recalibrate) -> Self {
        CrossFit {
            recalibrate,
            n_folds: None,
            level: 0.95,
            n_resamples: 499,
            random_state: 0,
            left: false,
            out_of_fold: false,
        }
    }

    setters! {
        /// The number of folds: at least 2.
        n_folds: some usize;

        /// The level of the interval; the test is at 1 - level.
        level: f64;

        /// Draws for the test of whether there is anything to fix; 0 leaves it out.
        n_resamples: u64;

        /// What the random numbers of the draws are made from. Folds do not depend on it.
        random_state: u64;

        /// Whether LS-ECE is measured before and after, out of fold: [`Improvement::left`].
        left: bool;

        /// Whether the recalibrated probabilities of all classes are kept
        /// ([`Improvement::out_of_fold`]); those of a binary outcome always are.
        out_of_fold: bool;
    }

    /// The gain and the verdict for rows of a binary outcome. For rows of classes see
    /// [`run_classes`](Self::run_classes).
    pub fn run<'s>(&self, sample: impl Into<Sample<'s>>) -> Result<Improvement, Error> {
        let sample = sample.into();
        self.check()?;
        let Binary::Rows(view) = sample.binary("recalibration")? else {
            return Err(Error::setting("recalibration", "of rows", "a sketch"));
        };
        let clusters = sample.resolved_clusters()?;
        let options = &self.recalibrate;
        let ordered = options.ordered(view)?;
        let (fit, fitted) = options.fit_ordered(view, &ordered, clusters.as_ref())?;
        let atoms = ordered.pooled(|_| true);
        let rows = CrossRows { view, ordered: &ordered, clusters: clusters.as_ref(), numbers: sample.clusters };
        self.improvement(&rows, &atoms, fit, &fitted)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        self.recalibrate.check()?;
        let n_folds = self.n_folds.unwrap_or(2);
        Error::require(n_folds >= 2, "n_folds", "at least 2", n_folds)?;
        Error::require(self.level > 0.0 && self.level < 1.0, "level", "above 0 and below 1", self.level)
    }

    /// The number of folds for so many rows or clusters.
    pub(crate) fn folds_of(&self, units: usize) -> Result<usize, Error> {
        let n_folds = self.n_folds.unwrap_or(if units < 200 { 5 } else { 10 });
        Error::require(n_folds <= units, "n_folds", format!("at most {units}"), n_folds)?;
        Ok(n_folds)
    }

    fn improvement(
        &self,
        rows: &CrossRows<'_>,
        atoms: &Atoms,
        fit: Fit<BinaryMap>,
        fitted: &Fitted,
    ) -> Result<Improvement, Error> {
        let n_folds = self.folds_of(rows.clusters.map_or(rows.ordered.rows.len(), Clusters::len))?;
        let folds = folds(rows.ordered, rows.clusters, n_folds);
        let maps = fold_maps(&self.recalibrate, rows.ordered, &folds, n_folds)?;
        self.assemble(rows, atoms, fit, Shape::of(fitted, atoms), &folds, &maps)
    }

    /// The gain of a map, for the maps of the folds; without a spread by the rule for tables.
    pub(crate) fn assemble(
        &self,
        rows: &CrossRows<'_>,
        atoms: &Atoms,
        fit: Fit<BinaryMap>,
        shape: Option<Shape>,
        folds: &[u32],
        maps: &[BinaryMap],
    ) -> Result<Improvement, Error> {
        let CrossRows { view, ordered, clusters, .. } = *rows;
        let n_folds = maps.len();
        let held_out = held_out(ordered, folds, maps);
        let out_of_fold = rows.out_of_fold(folds, maps, &fit.map);
        let total = atoms.total();
        let change = |change: &[f64]| {
            let parts = ordered.rows.iter().zip(change).map(|(row, change)| row.weight() * change);
            parts.collect::<Sum>().value() / total
        };
        let cross_fitted = change(&held_out);
        let own: Vec<f64> = ordered.rows.iter().map(|row| change_of(&fit.map, row.h(), row.outcome())).collect();
        let in_sample = change(&own);
        let spread = Deviations { ordered, clusters, total, n_rows: view.len() };
        let (lower, upper) = match shape {
            Some(Shape { spread: of_fit, line }) => {
                let deviation = spread.of(&own, in_sample);
                let expected: Vec<f64> = ordered.rows.iter().map(|row| expected_change(&fit.map, row.h())).collect();
                let design = spread.of(&expected, change(&expected));
                Evidence { in_sample, deviation, design, spread: of_fit, line: line.as_ref() }.interval(self.level)
            }
            None => {
                let deviation = spread.of(&held_out, cross_fitted);
                let unit = spread.effect(&held_out, cross_fitted) / atoms.effective_n;
                let of_all: f64 = maps.iter().map(|map| mean_loss(map, atoms)).sum();
                let of_folds = of_all / n_folds as f64 - fit.log_loss_before;
                let drawn = spread.if_drawn(|_| &fit.map) * (unit * atoms.effective_n).sqrt();
                TableEvidence { cross_fitted, in_sample, of_folds, deviation, drawn, unit }.interval(self.level)
            }
        };
        let floor = match self.n_resamples {
            0 => None,
            // What changes nothing cannot find anything to fix.
            _ if self.recalibrate.method == Method::Identity => None,
            n_resamples => {
                let redrawn = Redrawn { options: &self.recalibrate, ordered, clusters, n_rows: view.len() };
                Some(redrawn.floor(atoms, n_resamples, self.random_state)?)
            }
        };
        // The estimate itself is never outside of its interval.
        let interval =
            GainInterval { lower: (-upper).min(-cross_fitted), upper: (-lower).max(-cross_fitted), level: self.level };
        let top_class_changed = atoms.share(|h| (h > 0.0) != (fit.map.apply(h) > 0.5));
        let mut outputs: Vec<f64> = atoms.atoms.iter().map(|atom| fit.map.apply(atom.h)).collect();
        outputs.dedup();
        let left = if self.left { Some(rows.left(&self.remainder(rows.numbers), &out_of_fold)?) } else { None };
        Ok(Improvement {
            out_of_fold: out_of_fold.into_iter().map(|(p, _)| p).collect(),
            left,
            log_loss_before: fit.log_loss_before,
            log_loss_after: fit.log_loss_before + cross_fitted,
            gain: -cross_fitted,
            interval,
            verdict: verdict(&interval, floor.as_ref(), 1.0 - self.level),
            floor,
            n_scores: Some([atoms.atoms.len() as u64, outputs.len() as u64]),
            top_class_changed,
            n_folds,
            n_clusters: clusters.map(|clusters| clusters.len() as u64),
            fit,
        })
    }
}

/// Rows of a binary outcome with all that cross-fitting needs of them.
#[derive(Clone, Copy)]
pub(crate) struct CrossRows<'a> {
    pub(crate) view: &'a BinaryView<'a>,
    pub(crate) ordered: &'a Ordered,
    pub(crate) clusters: Option<&'a Clusters>,
    /// The clusters as they were given.
    pub(crate) numbers: Option<&'a [u32]>,
}

impl CrossRows<'_> {
    /// The recalibrated probabilities of outcome 1 and of outcome 0, in the order of the view: each
    /// row by the map that was not fitted to it. Rows without weight have no fold, and no map was
    /// fitted to them.
    pub(crate) fn out_of_fold(&self, folds: &[u32], maps: &[BinaryMap], all: &BinaryMap) -> Vec<(f64, f64)> {
        let mut out = vec![(f64::NAN, f64::NAN); self.view.len()];
        for (row, fold) in self.ordered.rows.iter().zip(folds) {
            out[row.index as usize] = maps[*fold as usize].both(row.h());
        }
        if self.ordered.rows.len() < out.len() {
            let of_all = all.apply_view(self.view);
            out.iter_mut().zip(of_all).filter(|(out, _)| out.0.is_nan()).for_each(|(out, p)| *out = (p, 1.0 - p));
        }
        out
    }

    /// LS-ECE before and after.
    pub(crate) fn left(&self, remainder: &Remainder<'_>, out_of_fold: &[(f64, f64)]) -> Result<Left, Error> {
        let scores = match self.view.scale() {
            Scale::Probability => out_of_fold.iter().map(|(p, _)| *p).collect(),
            Scale::LogOdds | Scale::Link => out_of_fold.iter().map(|(p, q)| finite_logit(*p, *q)).collect(),
        };
        remainder.left(self.view, scores, self.view.rows().outcomes)
    }
}

/// The logit of p, whose complement is q; at most as large as doubles have it.
pub(crate) fn finite_logit(p: f64, q: f64) -> f64 {
    (p.ln() - q.ln()).clamp(-745.0, 745.0)
}

impl CrossFit {
    pub(crate) fn remainder<'a>(&self, clusters: Option<&'a [u32]>) -> Remainder<'a> {
        let n_resamples = if self.n_resamples > 0 { self.n_resamples } else { 499 };
        Remainder { level: self.level, n_resamples, random_state: self.random_state, clusters }
    }
}

/// The map of each fold: fitted to all other folds.
pub(crate) fn fold_maps(
    options: &Recalibrate,
    ordered: &Ordered,
    folds: &[u32],
    n_folds: usize,
) -> Result<Vec<BinaryMap>, Error> {
    let map = |fold: usize| {
        let training = ordered.pooled(|place| folds[place] != fold as u32);
        let design = Design::new(options.method, &training);
        Ok(options.fit_atoms(&design, &training)?.map)
    };
    parallel::map(n_folds, map).into_iter().collect()
}

/// The change of log-loss of each row by the map of its fold, in the order of rows.
pub(crate) fn held_out(ordered: &Ordered, folds: &[u32], maps: &[BinaryMap]) -> Vec<f64> {
    let rows = ordered.rows.iter().zip(folds);
    rows.map(|(row, fold)| change_of(&maps[*fold as usize], row.h(), row.outcome())).collect()
}

/// Standard errors of mean changes, for maps as they are.
pub(crate) struct Deviations<'a> {
    pub(crate) ordered: &'a Ordered,
    pub(crate) clusters: Option<&'a Clusters>,
    /// Sum of weights.
    pub(crate) total: f64,
    pub(crate) n_rows: usize,
}

impl Deviations<'_> {
    /// By rows or by clusters, for a change of each row and their mean.
    pub(crate) fn of(&self, changes: &[f64], mean: f64) -> f64 {
        let Some(clusters) = self.clusters else { return self.of_rows(changes, mean) };
        let mut parts = vec![0.0; self.n_rows];
        for (row, change) in self.ordered.rows.iter().zip(changes) {
            parts[row.index as usize] = row.weight() / self.total * (change - mean);
        }
        clusters.deviation(&parts)
    }

    fn of_rows(&self, changes: &[f64], mean: f64) -> f64 {
        let square = |(row, change): (&Row, &f64)| {
            let away = change - mean;
            self.square_of_weight(row) * away * away
        };
        self.ordered.rows.iter().zip(changes).map(square).collect::<Sum>().value().sqrt() / self.total
    }

    /// The standard error of the mean change by the map of each row, for independent outcomes that
    /// are drawn from the predictions.
    pub(crate) fn if_drawn<'m>(&self, map: impl Fn(&Row) -> &'m BinaryMap) -> f64 {
        let square = |row: &Row| self.square_of_weight(row) * drawn_variance(map(row), row.h());
        self.ordered.rows.iter().map(square).collect::<Sum>().value().sqrt() / self.total
    }

    /// A weight that counts rows stands for so many squares.
    fn square_of_weight(&self, row: &Row) -> f64 {
        let weight = row.weight();
        if self.ordered.counts { weight } else { weight * weight }
    }

    /// How much larger the variance is by clusters than by rows.
    pub(crate) fn effect(&self, changes: &[f64], mean: f64) -> f64 {
        let of_rows = self.of_rows(changes, mean);
        if of_rows > 0.0 { (self.of(changes, mean) / of_rows).powi(2) } else { 1.0 }
    }
}

/// What the interval of the gain needs of a formula.
pub(crate) struct Shape {
    pub(crate) spread: Spread,
    pub(crate) line: Option<Line>,
}

impl Shape {
    /// `None` for tables.
    pub(crate) fn of(fitted: &Fitted, atoms: &Atoms) -> Option<Self> {
        let (spread, formula) = fitted.spread.zip(fitted.formula.as_ref())?;
        Some(Shape { spread, line: formula.line(&spread, atoms) })
    }
}

/// The expected change of log-loss of a row, if the map is right.
pub(crate) fn expected_change(map: &BinaryMap, h: f64) -> f64 {
    let p = map.apply(h);
    p * change_of(map, h, true) + (1.0 - p) * change_of(map, h, false)
}

/// The variance of the change at a logit, for an outcome that is drawn from the prediction.
pub(crate) fn drawn_variance(map: &BinaryMap, h: f64) -> f64 {
    let (p, complement) = both(h);
    let away = change_of(map, h, true) - change_of(map, h, false);
    // A loss that is infinite is one of an outcome that does not occur.
    if p * complement > 0.0 { p * complement * away * away } else { 0.0 }
}

/// Log-loss after less that before.
pub(crate) fn change_of(map: &BinaryMap, h: f64, outcome: bool) -> f64 {
    map.losses(h)[usize::from(outcome)] - softplus(if outcome { -h } else { h })
}

pub(crate) fn verdict(interval: &GainInterval, floor: Option<&GainFloor>, size: f64) -> Verdict {
    let insignificant = floor.is_some_and(|floor| floor.p_value > size + 1e-12);
    match () {
        _ if interval.lower > 0.0 => Verdict::Helps,
        _ if interval.upper < 0.0 => Verdict::Hurts,
        _ if insignificant => Verdict::NothingToFix,
        _ => Verdict::NoDifference,
    }
}
