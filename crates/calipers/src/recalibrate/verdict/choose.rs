//! Which method? Cross-fitted losses, evidence for what may lose much, and an honest gain.

use super::choice::{Candidate, Choice};
use super::cross_fit::{CrossFit, CrossRows};
use super::drawn::Redrawn;
use super::folds::folds;
use super::improvement::Improvement;
use super::trials::{BinaryTrials, Role, Trials};
use crate::Error;
use crate::data::{Binary, BinaryView, Sample};
use crate::inference::Clusters;
use crate::measures::ProperScore;
use crate::numerics::parallel;
use crate::recalibrate::binary::rows::Ordered;
use crate::recalibrate::method::Method;
use crate::recalibrate::options::Recalibrate;
use crate::setters::setters;

/// The candidates for a binary outcome, from the simplest on: each contains those before it.
const CANDIDATES: [Method; 4] = [Method::Identity, Method::Platt, Method::Spline, Method::CentredIsotonic];

/// By how many standard errors of the difference a [safe](Role::Safe) method must be better.
const OF_SAFE: f64 = 0.5;

/// Above this number of rows there are fewer folds, and no splines.
const MANY: usize = 200_000;

/// The candidates for so many rows.
fn candidates(n_rows: usize) -> Vec<Method> {
    CANDIDATES.into_iter().filter(|method| n_rows <= MANY || *method != Method::Spline).collect()
}

/// Chooses a recalibration method for some rows, the identity included: method "auto".
///
/// # Definition
/// Every candidate is cross-fitted on the same folds, which come from a hash of the rows: the same
/// rows have the same choice. Between the identity and Platt scaling (for classes temperature
/// scaling), the smaller mean loss out of fold decides. What replaces them must have a smaller one
/// by a number of standard errors of the paired difference, by rows or by clusters:
/// ```text
/// spline, beta if named; of classes bias-corrected temperature      1/2
/// all others, such as centred isotonic, vector and matrix           tolerance
/// ```
/// The best of the first line is held against the base, then the best of all against the winner.
///
/// What makes a choice worse than one good method for everyone are candidates that look best by
/// chance. Platt scaling with its ridge can lose about 1 / n nats where there is nothing to fix, so
/// the smaller loss may decide between it and the identity. A spline has its smoothing chosen by
/// folds and is a straight line unless rows show that it bends, so it takes little. A table loses
/// many times more where it is wrong, and takes evidence. Shift, temperature and beta are near
/// Platt scaling where they are right, and no candidates unless they are
/// [named](Self::candidates).
///
/// The loss of the winner is optimistic. So the gain is nested: each fold is left out in turn, the
/// choice is made among the other folds alone, and its map is applied to the fold that was left
/// out. A candidate that has no fit is listed with the reason, and is not chosen.
///
/// # Assumptions
/// Those of [`CrossFit`].
///
/// # Cost
/// With 5 folds 16 fits for each candidate: one for all rows, 5 without one fold, 10 without two.
/// Above 200,000 rows of a binary outcome splines, which take longest, are not tried unless they
/// are [named](Self::candidates): with so many rows centred isotonic regression follows any shape
/// closely. Above 200,000 rows there are 3 folds, and 7 fits.
///
/// # Accuracy
/// `calipers study recalibration` has simulations of the risk of the choice beside that of every
/// candidate, and of the share of intervals that hold the gain.
///
/// # Example
/// ```
/// use calipers::population::Family;
/// use calipers::recalibrate::{Choose, Method};
///
/// let sample = Family::named("overconfident")?.sample(2000, 1);
/// let predictions = sample.input().check()?;
/// let choice = Choose::new().n_resamples(99).run(&predictions.binary()?)?;
/// assert_ne!(choice.chosen, Method::Identity);
/// assert!(choice.improvement.interval.lower > 0.0);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Choose {
    pub(super) recalibrate: Recalibrate,
    candidates: Option<Vec<String>>,
    pub(super) score: ProperScore,
    pub(super) tolerance: f64,
    n_folds: Option<usize>,
    pub(super) level: f64,
    pub(super) n_resamples: u64,
    pub(super) random_state: u64,
    pub(super) left: bool,
}

impl Default for Choose {
    fn default() -> Self {
        Choose::new()
    }
}

impl Choose {
    /// All candidates by log-loss; level 0.95, 499 resamples, seed 0; without what is
    /// left.
    pub fn new() -> Self {
        Choose {
            recalibrate: Recalibrate::default(),
            candidates: None,
            score: ProperScore::Log,
            tolerance: 2.5,
            n_folds: None,
            level: 0.95,
            n_resamples: 499,
            random_state: 0,
            left: false,
        }
    }

    setters! {
        /// The options of all fits; its method is replaced by those of the candidates.
        recalibrate: Recalibrate;

        /// The names of the candidates, from the simplest on; unless set, all that suit the rows.
        candidates: some Vec<String>;

        /// The loss by which candidates are compared: log-loss unless set.
        score: ProperScore;

        /// By how many standard errors of the difference a candidate without a ridge, such as a
        /// table, must be better to be chosen.
        tolerance: f64;

        /// The number of folds: at least 3, since the choice is made without one of them. Unless
        /// set, 5, and 3 above 200,000 rows.
        n_folds: some usize;

        /// The level of the interval; the test is at 1 - level.
        level: f64;

        /// Draws for the test of whether there is anything to fix, which is that of beta
        /// calibration whatever is chosen; 0 leaves it out.
        n_resamples: u64;

        /// What the random numbers of the draws are made from. The choice does not depend on it.
        random_state: u64;

        /// Whether LS-ECE is measured before and after, out of fold: [`Improvement::left`].
        left: bool;
    }

    /// The choice for rows of a binary outcome.
    pub fn run<'s>(&self, sample: impl Into<Sample<'s>>) -> Result<Choice, Error> {
        let sample = sample.into();
        let view = rows_of(&sample)?;
        let clusters = sample.resolved_clusters()?;
        let ordered = self.recalibrate.ordered(view)?;
        // Before the folds, since no number of them helps then.
        ordered.pooled(|_| true).check_outcomes()?;
        let folds = self.folds(&ordered, clusters.as_ref())?;
        let trials = BinaryTrials { ordered: &ordered, clusters: clusters.as_ref(), folds: &folds, n_rows: view.len() };
        let decided = self.decide(&trials, &candidates(view.len()))?;
        let options = Recalibrate { method: decided.chosen, ..self.recalibrate.clone() };
        let (fit, _) = options.fit_ordered(view, &ordered, clusters.as_ref())?;
        let atoms = ordered.pooled(|_| true);
        let rows = CrossRows { view, ordered: &ordered, clusters: clusters.as_ref(), numbers: sample.clusters };
        let maps = decided.maps_in_use(&fit.map);
        // By the rule for tables, whatever is chosen: the choice is part of what was fitted.
        let mut improvement = self.cross_fit(options).assemble(&rows, &atoms, fit, None, &folds, &maps)?;
        if self.n_resamples > 0 {
            let options = Recalibrate { method: Method::Beta, ..self.recalibrate.clone() };
            let redrawn =
                Redrawn { options: &options, ordered: &ordered, clusters: clusters.as_ref(), n_rows: view.len() };
            improvement.floor = Some(redrawn.floor(&atoms, self.n_resamples, self.random_state)?);
        }
        improvement.judge(self.level);
        Ok(self.choice(decided, improvement))
    }

    /// The options of the method that is chosen.
    pub(crate) fn chosen_options(&self, sample: Sample<'_>) -> Result<Recalibrate, Error> {
        let view = rows_of(&sample)?;
        let clusters = sample.resolved_clusters()?;
        let ordered = self.recalibrate.ordered(view)?;
        let folds = self.folds(&ordered, clusters.as_ref())?;
        let trials = BinaryTrials { ordered: &ordered, clusters: clusters.as_ref(), folds: &folds, n_rows: view.len() };
        let method = self.decide(&trials, &candidates(view.len()))?.chosen;
        Ok(Recalibrate { method, ..self.recalibrate.clone() })
    }

    fn folds(&self, ordered: &Ordered, clusters: Option<&Clusters>) -> Result<Vec<u32>, Error> {
        self.check()?;
        let n_units = clusters.map_or(ordered.rows.len(), Clusters::len);
        let n_folds = self.folds_of(ordered.rows.len());
        Error::require(n_folds <= n_units, "n_folds", format!("at most {n_units}"), n_folds)?;
        Ok(folds(ordered, clusters, n_folds))
    }

    /// The number of folds for so many rows.
    pub(super) fn folds_of(&self, n_rows: usize) -> usize {
        self.n_folds.unwrap_or(if n_rows > MANY { 3 } else { 5 })
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.recalibrate.check()?;
        let n_folds = self.folds_of(0);
        Error::require(n_folds >= 3, "n_folds", "at least 3", n_folds)?;
        let is_finite = self.tolerance >= 0.0 && self.tolerance.is_finite();
        Error::require(is_finite, "tolerance", "finite and not negative", self.tolerance)?;
        Error::require(self.level > 0.0 && self.level < 1.0, "level", "above 0 and below 1", self.level)
    }

    /// What the gain is assembled by; its floor is that of another method.
    pub(super) fn cross_fit(&self, options: Recalibrate) -> CrossFit {
        let cross_fit = CrossFit::new(options).level(self.level).random_state(self.random_state);
        cross_fit.n_resamples(0).left(self.left)
    }

    /// The choice, once its gain is known.
    pub(super) fn choice<M>(&self, decided: Decided<M>, improvement: Improvement<M>) -> Choice<M> {
        Choice {
            chosen: decided.chosen,
            best: decided.best,
            table: decided.table,
            outer: decided.outer,
            nested_gain: decided.nested_gain,
            score: self.score,
            tolerance: decided.needed,
            improvement,
        }
    }

    pub(super) fn decide<T: Trials>(&self, rows: &T, all: &[Method]) -> Result<Decided<T::Map>, Error> {
        let names: Vec<String> = match &self.candidates {
            Some(names) => names.clone(),
            None => all.iter().map(|method| method.name().to_owned()).collect(),
        };
        let contenders: Vec<Contender<T::Map>> = names.iter().map(|name| self.contender(rows, name)).collect();
        let fitted: Vec<&[Vec<T::Map>]> =
            contenders.iter().filter_map(|contender| contender.maps.as_deref().ok()).collect();
        if fitted.is_empty() {
            // The reason of the first, of which there is one.
            let reason = contenders.into_iter().find_map(|contender| contender.maps.err());
            return Err(reason.unwrap_or_else(|| Error::setting("candidates", "at least one", 0)));
        }
        let known: Vec<Method> = contenders
            .iter()
            .filter(|contender| contender.maps.is_ok())
            .filter_map(|contender| contender.method)
            .collect();
        let roles: Vec<Role> = known.iter().map(|method| rows.role(*method)).collect();
        let ranking = self.rank(rows, &fitted, &roles, None);
        let outer = parallel::map(rows.n_folds(), |fold| self.rank(rows, &fitted, &roles, Some(fold)).chosen);
        let maps: Vec<T::Map> =
            outer.iter().enumerate().map(|(fold, chosen)| fitted[*chosen][fold][fold].clone()).collect();
        let changes = rows.changes(ProperScore::Log, &maps.iter().collect::<Vec<_>>(), None);
        let nested_gain = -rows.mean(&changes, None);
        let loss_before = rows.loss_before(self.score);
        let mut places = ranking.differences.iter();
        let table = contenders
            .iter()
            .map(|contender| {
                let found = if contender.maps.is_ok() { places.next() } else { None };
                Candidate {
                    name: contender.name.clone(),
                    method: contender.method,
                    loss: found.map(|found| loss_before + found.change),
                    difference: found.map(|found| found.difference),
                    standard_error: found.map(|found| found.standard_error),
                    reason: contender.maps.as_ref().err().map(|error| error.to_string()),
                }
            })
            .collect();
        Ok(Decided {
            chosen: known[ranking.chosen],
            best: known[ranking.best],
            needed: if roles[ranking.best] == Role::Other { self.tolerance } else { OF_SAFE },
            outer: outer.into_iter().map(|chosen| known[chosen]).collect(),
            table,
            maps,
            nested_gain,
        })
    }

    /// A candidate with its maps: `maps[a][b]` is fitted without the folds a and b.
    fn contender<T: Trials>(&self, rows: &T, name: &str) -> Contender<T::Map> {
        let method = match name.parse::<Method>() {
            Ok(method) => method,
            Err(error) => return Contender { name: name.to_owned(), method: None, maps: Err(error) },
        };
        let options = Recalibrate { method, ..self.recalibrate.clone() };
        let n_folds = rows.n_folds();
        let pairs: Vec<(usize, usize)> = (0..n_folds).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
        let fit = |place: usize| {
            let (a, b) = pairs[place];
            rows.fit(&options, &|fold| fold != a as u32 && fold != b as u32)
        };
        // All rows first: what they do not support is the better reason.
        let maps = rows.fit(&options, &|_| true).and_then(|_| {
            let found: Vec<T::Map> = parallel::map(pairs.len(), fit).into_iter().collect::<Result<_, Error>>()?;
            let map = |a: usize, b: usize| found[a.max(b) * (a.max(b) + 1) / 2 + a.min(b)].clone();
            Ok((0..n_folds).map(|a| (0..n_folds).map(|b| map(a, b)).collect()).collect())
        });
        Contender { name: name.to_owned(), method: Some(method), maps }
    }

    /// The order of candidates by the rows of all folds but one.
    fn rank<T: Trials>(&self, rows: &T, fitted: &[&[Vec<T::Map>]], roles: &[Role], without: Option<usize>) -> Ranking {
        let of_folds = |maps: &&[Vec<T::Map>]| {
            let map = |fold: usize| &maps[without.unwrap_or(fold)][fold];
            rows.changes(self.score, &(0..rows.n_folds()).map(map).collect::<Vec<_>>(), without)
        };
        let changes: Vec<Vec<f64>> = fitted.iter().map(of_folds).collect();
        let means: Vec<f64> = changes.iter().map(|changes| rows.mean(changes, without)).collect();
        // By how much the first is worse than the second, and the standard error of that.
        let paired = |place: usize, other: usize| {
            let away: Vec<f64> = changes[place].iter().zip(&changes[other]).map(|(own, other)| own - other).collect();
            let difference = means[place] - means[other];
            (difference, rows.deviation(&away, difference, without))
        };
        // The first of those that are equal, which is the simplest.
        let least = |places: &mut dyn Iterator<Item = usize>| {
            places.reduce(|best, place| if means[place] < means[best] { place } else { best }).unwrap_or(0)
        };
        let replaced = |place: usize, by: usize, needed: f64| {
            let (difference, standard_error) = paired(place, by);
            if difference > needed * standard_error { by } else { place }
        };
        // Without any of them, the first candidate is the base.
        let base = least(&mut (0..means.len()).filter(|place| roles[*place] == Role::Base));
        let safe = least(&mut (0..means.len()).filter(|place| *place == base || roles[*place] == Role::Safe));
        let best = least(&mut (0..means.len()));
        let chosen = replaced(replaced(base, safe, OF_SAFE), best, self.tolerance);
        let difference = |place: usize| {
            let (difference, standard_error) = paired(place, best);
            Difference { change: means[place], difference, standard_error }
        };
        Ranking { differences: (0..means.len()).map(difference).collect(), best, chosen }
    }
}

fn rows_of<'a>(sample: &Sample<'a>) -> Result<&'a BinaryView<'a>, Error> {
    match sample.binary("the choice of a method")? {
        Binary::Rows(view) => Ok(view),
        Binary::Sketch(_) => Err(Error::setting("the choice of a method", "of rows", "a sketch")),
    }
}

/// A candidate with its maps.
struct Contender<M> {
    name: String,
    method: Option<Method>,
    maps: Result<Vec<Vec<M>>, Error>,
}

/// One candidate beside the best.
struct Difference {
    /// Mean loss after less that before.
    change: f64,
    difference: f64,
    standard_error: f64,
}

struct Ranking {
    differences: Vec<Difference>,
    best: usize,
    chosen: usize,
}

pub(super) struct Decided<M> {
    pub(super) chosen: Method,
    pub(super) best: Method,
    /// By how many standard errors the best one must be better than another to replace it.
    pub(super) needed: f64,
    pub(super) outer: Vec<Method>,
    pub(super) table: Vec<Candidate>,
    /// Of each fold, by the choice that was made without it.
    pub(super) maps: Vec<M>,
    pub(super) nested_gain: f64,
}

impl<M: Clone> Decided<M> {
    /// The maps of the folds by which the gain is measured: what changes nothing gains nothing, for
    /// certain.
    pub(super) fn maps_in_use(&self, of_all: &M) -> Vec<M> {
        match self.chosen {
            Method::Identity => vec![of_all.clone(); self.maps.len()],
            _ => self.maps.clone(),
        }
    }
}
