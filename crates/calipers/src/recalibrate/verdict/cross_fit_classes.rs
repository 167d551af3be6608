//! Does a map of classes help?

use super::cross_fit::{CrossFit, finite_logit, verdict};
use super::drawn::GainFloor;
use super::folds;
use super::gain::{Evidence, TableEvidence};
use super::improvement::{GainInterval, Improvement};
use super::left::{Left, Remainder};
use super::line::{self, Line, Place};
use crate::Error;
use crate::data::{ClassScores, Predictions, Scale, Ties};
use crate::numerics::parallel;
use crate::numerics::random::{Normals, Uniforms, seed_of_draw};
use crate::numerics::sum::Sum;
use crate::recalibrate::classes::fit::{Chosen, Classes, Detail};
use crate::recalibrate::classes::map::{ClassFormula, ClassMap, top_changes};
use crate::recalibrate::classes::panel::row_hashes;
use crate::recalibrate::classes::sample::{ClassSample, Units};
use crate::recalibrate::method::Method;
use crate::recalibrate::options::Spread;
use crate::watch;

/// Up to so many scores, labels are drawn row by row; with more, their sum is drawn from the normal
/// distribution that it has then.
const MANY: usize = 1 << 22;

/// Slopes on each side of the identity at which sums over rows are computed for the draws: fewer
/// for many scores, whose slope is known so well that all draws are near it.
const NODES: i32 = 20;
const NODES_OF_MANY: i32 = 5;

impl CrossFit {
    /// The gain and the verdict for rows of classes: see [`CrossFit`], and
    /// [`Recalibrate::fit_classes`](crate::recalibrate::Recalibrate::fit_classes) for the map.
    ///
    /// The test draws labels from the predicted probabilities. Temperature scaling sees labels only
    /// through the mean distance of their scores from the largest ones, so no draw needs a fit of
    /// its own: the gain is a function of that mean, which is computed at 41 slopes and
    /// interpolated; ensembles are tested by their temperature. Vector and matrix scaling are
    /// tested by the gain of one Newton step from the identity, which needs no fit for a draw
    /// either (`class_floor.rs`). One class against the rest is fitted anew for each draw; with
    /// many scores there are fewer draws, and from 2^22 scores on there is no test.
    ///
    /// With clusters of rows ([`ClassSample::clusters`]) there is no such test, since the labels of
    /// one cluster cannot be drawn one by one, and the interval is by the rule for tables.
    pub fn run_classes<'s>(&self, sample: impl Into<ClassSample<'s>>) -> Result<Improvement<ClassMap>, Error> {
        self.check()?;
        let sample = sample.into();
        let (predictions, clusters) = (sample.predictions, sample.resolved_clusters()?);
        let units = Units { clusters: clusters.as_ref() };
        let options = &self.recalibrate;
        options.check_classes(predictions)?;
        let classes = Classes::new(options, predictions)?;
        let scores = &classes.scores;
        let all = classes.chosen(&|_| true);
        let n_folds = self.folds_of(units.len(all.n as usize))?;
        let found = classes.fit(&all, Detail::Errors)?;
        let (map, spread) = (found.map.clone(), found.spread.filter(|_| clusters.is_none()));
        let folds = units.folds(scores, n_folds);
        let own = changes(&classes, &map);
        let mean = |changes: &[f64]| {
            sum_in_any_order((0..scores.len()).map(|index| scores.weight(index) * changes[index])) / all.total
        };
        let mut of_folds = Vec::with_capacity(n_folds);
        let mut held_out = vec![0.0; scores.len()];
        let mut maps = Vec::with_capacity(n_folds);
        for fold in 0..n_folds {
            let is_training = |index: usize| folds[index] != fold as u32;
            let of_fold = classes.fit(&classes.chosen(&is_training), Detail::MapOnly)?.map;
            let changes = changes(&classes, &of_fold);
            of_folds.push(mean(&changes));
            (0..scores.len()).filter(|index| !is_training(*index)).for_each(|index| held_out[index] = changes[index]);
            maps.push(of_fold);
        }
        let applied = Applied { predictions, folds: &folds, maps: &maps };
        let (in_sample, cross_fitted) = (mean(&own), mean(&held_out));
        let squares: Vec<f64> =
            (0..scores.len()).map(|index| square_of_weight(scores, index, options.counts)).collect();
        let weights: Vec<f64> = (0..scores.len()).map(|index| scores.weight(index)).collect();
        let deviation = |changes: &[f64], mean: f64| units.deviation(changes, &weights, mean, &squares);
        let (lower, upper) = match spread {
            Some(spread) => {
                let line = classes.line(&all, &map, &spread);
                let expected = expected_changes(&classes, &map, &own);
                let design = deviation(&expected, mean(&expected));
                let deviation = deviation(&own, in_sample);
                Evidence { in_sample, deviation, design, spread, line: line.as_ref() }.interval(self.level)
            }
            None => {
                let of_folds = of_folds.iter().sum::<f64>() / n_folds as f64;
                let of_rows = Units { clusters: None }.deviation(&held_out, &weights, cross_fitted, &squares);
                let deviation = deviation(&held_out, cross_fitted);
                let effect = units.effect(deviation, of_rows);
                let drawn = deviation_if_drawn(&classes, &map, &squares) / all.total * effect.sqrt();
                let unit = effect / all.effective_n;
                TableEvidence { cross_fitted, in_sample, of_folds, deviation, drawn, unit }.interval(self.level)
            }
        };
        let interval =
            GainInterval { lower: (-upper).min(-cross_fitted), upper: (-lower).max(-cross_fitted), level: self.level };
        let floor = match self.n_resamples {
            0 => None,
            _ if self.recalibrate.method == Method::Identity || clusters.is_some() => None,
            n_resamples => classes.floor(&all, &map, -in_sample, n_resamples, self.random_state)?,
        };
        let fit = units.known(classes.report(&all, found));
        Ok(Improvement {
            log_loss_before: fit.log_loss_before,
            log_loss_after: fit.log_loss_before + cross_fitted,
            gain: -cross_fitted,
            interval,
            verdict: verdict(&interval, floor.as_ref(), 1.0 - self.level),
            floor,
            left: if self.left { Some(applied.left(&self.remainder(sample.numbers))?) } else { None },
            out_of_fold: if self.out_of_fold { applied.out_of_fold() } else { Vec::new() },
            n_scores: None,
            top_class_changed: classes.top_class_changed(&map) / all.total,
            n_folds,
            n_clusters: clusters.as_ref().map(|clusters| clusters.len() as u64),
            fit,
        })
    }
}

/// Rows of classes with the map of the fold of each.
pub(crate) struct Applied<'a> {
    pub(crate) predictions: &'a Predictions<'a>,
    pub(crate) folds: &'a [u32],
    pub(crate) maps: &'a [ClassMap],
}

impl Applied<'_> {
    /// All recalibrated probabilities, row after row.
    pub(crate) fn out_of_fold(&self) -> Vec<f64> {
        self.by_row(|_, recalibrated| recalibrated).concat()
    }

    /// LS-ECE of the confidence in the top class, before and after.
    pub(crate) fn left(&self, remainder: &Remainder<'_>) -> Result<Left, Error> {
        let view = self.predictions.top_class(Ties::First)?;
        let top = |index: usize, recalibrated: Vec<f64>| {
            let class = first_largest(&recalibrated);
            let others: f64 =
                (0..recalibrated.len()).filter(|other| *other != class).map(|other| recalibrated[other]).sum();
            let score = match view.scale() {
                Scale::Probability => recalibrated[class],
                Scale::LogOdds | Scale::Link => finite_logit(recalibrated[class], others),
            };
            (score, self.predictions.label(index) == class)
        };
        let (scores, outcomes) = self.by_row(top).into_iter().unzip();
        remainder.left(&view, scores, outcomes)
    }

    /// The weight of the rows whose top class changes.
    pub(crate) fn top_class_changed(&self, weights: &[f64]) -> f64 {
        let changed = |index: usize, recalibrated: Vec<f64>| {
            if top_changes(&self.predictions.scores_of(index), &recalibrated) { weights[index] } else { 0.0 }
        };
        sum_in_any_order(self.by_row(changed).into_iter())
    }

    fn by_row<T: Send>(&self, of: impl Fn(usize, Vec<f64>) -> T + Sync) -> Vec<T> {
        let form = self.predictions.form();
        let n = self.predictions.len();
        let chunks = parallel::map_chunks(n, parallel::chunk_of(n), |range| {
            let row = |index: usize| {
                let map = &self.maps[self.folds[index] as usize];
                of(index, map.apply(&self.predictions.scores_of(index), form))
            };
            range.map(row).collect::<Vec<T>>()
        });
        chunks.into_iter().flatten().collect()
    }
}

/// The first place of the largest value.
fn first_largest(values: &[f64]) -> usize {
    (0..values.len()).rev().max_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(0)
}

impl Classes<'_> {
    /// The test of whether there is anything to fix, for a gain on the fitted rows; `None` where it
    /// would take too long.
    fn floor(
        &self,
        all: &Chosen<'_>,
        map: &ClassMap,
        gain: f64,
        n_resamples: u64,
        random_state: u64,
    ) -> Result<Option<GainFloor>, Error> {
        if let Some(panel) = &self.panel {
            return Ok(Some(self.scaling_floor(all, panel, gain, n_resamples, random_state)));
        }
        if matches!(map.formula, ClassFormula::OneVsRest { .. }) {
            return self.one_vs_rest_floor(gain, n_resamples, random_state);
        }
        // Of the temperature, of which an ensemble's weights are hardly more where nothing is
        // wrong.
        let loss = |slope: f64| all.derivatives(slope / self.scores.unit).2;
        let value = loss(1.0) - loss(map.slope);
        Ok(Some(Draws::new(&self.scores, all).floor(value, n_resamples, random_state)))
    }

    /// The likelihood of slopes from the identity through the fit; `None` where many rows decide
    /// it.
    fn line(&self, all: &Chosen<'_>, map: &ClassMap, spread: &Spread) -> Option<Line> {
        let v = map.slope - 1.0;
        if spread.concentration * line::MANY < 1.0 || v == 0.0 {
            return None;
        }
        let unit = self.scores.unit;
        // Of one standard error, toward the fit.
        let step = v / spread.square.sqrt() * spread.unit.sqrt();
        let at = |s: f64| {
            let slope = 1.0 + s * step;
            let (first, second, loss) = (slope > 0.0).then(|| all.derivatives(slope / unit))?;
            Some(Place { loss, along: v * first / unit, curvature: second * (step / unit).powi(2) })
        };
        let r = (spread.square / spread.unit).sqrt() * spread.bend.stretch;
        Line::new(r, spread.unit, at)
    }

    /// The weight of rows whose top class changes.
    fn top_class_changed(&self, map: &ClassMap) -> f64 {
        // A slope above 0 and mixtures keep the order of classes.
        if matches!(map.formula, ClassFormula::Slope | ClassFormula::Ensemble { .. }) {
            return 0.0;
        }
        let k = self.scores.n_classes();
        let chunks = parallel::map_chunks(self.scores.len(), (parallel::CHUNK / k).max(1), |range| {
            let mut row = vec![0.0; k];
            let changed = |index: &usize| {
                self.predictions.read_row(*index, &mut row);
                top_changes(&row, &map.apply(&row, self.predictions.form()))
            };
            range.filter(changed).map(|index| self.scores.weight(index)).collect::<Vec<f64>>()
        });
        sum_in_any_order(chunks.concat().into_iter())
    }
}

/// Log-loss after less that before, row by row.
pub(crate) fn changes(classes: &Classes<'_>, map: &ClassMap) -> Vec<f64> {
    let scores = &classes.scores;
    let losses = |slope: f64| {
        let chunks =
            scores.at_slope(slope / scores.unit, |_, terms| terms.iter().map(|row| row.loss).collect::<Vec<f64>>());
        chunks.concat()
    };
    let equal = map.mixture / map.n_classes as f64;
    let mixed = |loss: f64| if map.mixture == 0.0 { loss } else { -((1.0 - map.mixture) * (-loss).exp() + equal).ln() };
    let after: Vec<f64> = match map.formula {
        ClassFormula::Slope => losses(map.slope).into_iter().map(mixed).collect(),
        _ => losses_of(scores, map),
    };
    after.into_iter().zip(losses(1.0)).map(|(after, before)| after - before).collect()
}

/// The expected change of log-loss of each row by a slope, if the map is right: labels enter the
/// change as they do its derivative by the slope, whose expectation is 0.
fn expected_changes(classes: &Classes<'_>, map: &ClassMap, own: &[f64]) -> Vec<f64> {
    let scores = &classes.scores;
    let away = (map.slope - 1.0) / scores.unit;
    let first =
        scores.at_slope(map.slope / scores.unit, |_, terms| terms.iter().map(|row| row.first).collect::<Vec<f64>>());
    own.iter().zip(first.concat()).map(|(own, first)| own - away * first).collect()
}

/// The square of the weight of a row; a weight that counts rows stands for so many squares.
pub(crate) fn square_of_weight(scores: &ClassScores<'_>, index: usize, counts: bool) -> f64 {
    let weight = scores.weight(index);
    if counts { weight / scores.weight_unit } else { weight * weight }
}

/// The standard error of the sum of changes by a map, for labels that are drawn from the
/// predictions and squares of weights.
pub(crate) fn deviation_if_drawn(classes: &Classes<'_>, map: &ClassMap, squares: &[f64]) -> f64 {
    let k = classes.scores.n_classes();
    let (identity, form) = (ClassMap::identity(k), classes.predictions.form());
    let n = squares.len();
    let chunks = parallel::map_chunks(n, (parallel::CHUNK / k).max(1), |range| {
        let variance = |index: usize| {
            let row = classes.predictions.scores_of(index);
            let (before, after) = (identity.apply(&row, form), map.apply(&row, form));
            let (mut mean, mut square) = (0.0, 0.0);
            for (before, after) in before.iter().zip(&after).filter(|(before, after)| **before > 0.0 && **after > 0.0) {
                let change = before.ln() - after.ln();
                mean += before * change;
                square += before * change * change;
            }
            squares[index] * (square - mean * mean).max(0.0)
        };
        range.map(variance).collect::<Vec<f64>>()
    });
    sum_in_any_order(chunks.concat().into_iter()).sqrt()
}

/// The log-loss of each row after a map of any kind; probabilities are taken as their logarithms.
pub(crate) fn losses_of(scores: &ClassScores<'_>, map: &ClassMap) -> Vec<f64> {
    let k = scores.n_classes();
    let chunks = parallel::map_chunks(scores.len(), (parallel::CHUNK / k).max(1), |range| {
        let (mut row, mut room) = (vec![0.0; k], Vec::new());
        let mut losses = Vec::with_capacity(range.len());
        for index in range {
            scores.read_row(index, &mut row);
            losses.push(map.loss(&mut row, scores.labels[index] as usize, &mut room));
        }
        losses
    });
    chunks.concat()
}

/// A sum that the order of rows does not change.
pub(crate) fn sum_in_any_order(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.into_iter().collect::<Sum>().value()
}

/// The fold of each row, from a hash that depends neither on the order of rows nor on that of
/// classes.
pub(crate) fn folds_of_rows(scores: &ClassScores<'_>, n_folds: usize) -> Vec<u32> {
    folds::deal_copies(&row_hashes(scores), n_folds)
}

/// Sums over rows as functions of the slope, for draws of labels.
struct Draws<'a> {
    scores: &'a ClassScores<'a>,
    rows: &'a Chosen<'a>,
    /// Slopes in units of [`ClassScores::unit`], ascending, with Σ ω log Σ_j e^-x_j, its derivative
    /// (less the mean distance) and the second derivative. The middle one is the identity.
    nodes: Vec<[f64; 4]>,
    /// The place of the identity among them.
    middle: usize,
}

impl<'a> Draws<'a> {
    fn new(scores: &'a ClassScores<'a>, rows: &'a Chosen<'a>) -> Self {
        let of_label = |index: usize| scores.weight(index) * scores.distance(index, scores.labels[index] as usize);
        let distance = sum_in_any_order((0..scores.len()).map(of_label)) / rows.total;
        let one = 1.0 / scores.unit;
        let information = rows.derivatives(one).1 * one * one;
        // Eight standard errors of the logarithm of the slope to both sides, within a factor of 20.
        let reach = (8.0 / (rows.effective_n * information).sqrt()).min(3.0);
        let is_many = scores.len() * scores.n_classes() > MANY;
        let n_nodes = if is_many && reach < 0.5 { NODES_OF_MANY } else { NODES };
        let node = |k: i32| {
            let slope = one * (reach * f64::from(k) / f64::from(n_nodes)).exp();
            let (first, second, loss) = rows.derivatives(slope);
            [slope, loss - slope * distance, first - distance, second]
        };
        Draws { scores, rows, nodes: (-n_nodes..=n_nodes).map(node).collect(), middle: n_nodes as usize }
    }

    /// The floor for a gain of that value.
    fn floor(&self, value: f64, n_resamples: u64, random_state: u64) -> GainFloor {
        watch::expect_draws(n_resamples);
        let one = 1.0 / self.scores.unit;
        let by_row = self.scores.len() * self.scores.n_classes() <= MANY;
        let cumulated = if by_row { self.cumulated(one) } else { Vec::new() };
        let spread = self.rows.spread(one);
        let middle = &self.nodes[self.middle];
        let gains = parallel::map(n_resamples as usize, |draw| {
            watch::draw_begins();
            let seed = seed_of_draw(random_state, draw as u64);
            let distance = match by_row {
                true => self.drawn_distance(&cumulated, seed),
                false => -middle[2] + spread * Normals::new(seed).next(),
            };
            self.gain(distance)
        });
        GainFloor::of(value, gains.into_iter().map(Some).collect(), random_state)
    }

    /// Sums of the probabilities of classes, from the first on, row after row.
    fn cumulated(&self, slope: f64) -> Vec<f64> {
        let k = self.scores.n_classes();
        let row = |index: usize| {
            let weights = (0..k).map(|class| (-slope * self.scores.distance(index, class)).exp());
            crate::measures::running_sums(weights).collect::<Vec<f64>>()
        };
        (0..self.scores.len()).flat_map(row).collect()
    }

    fn drawn_distance(&self, cumulated: &[f64], seed: u64) -> f64 {
        let k = self.scores.n_classes();
        let mut uniforms = Uniforms::new(seed);
        let draw = |(index, sums): (usize, &[f64])| {
            let at = uniforms.next() * sums[k - 1];
            let class = sums.partition_point(|sum| *sum <= at).min(k - 1);
            self.scores.weight(index) * self.scores.distance(index, class)
        };
        cumulated.chunks(k).enumerate().map(draw).collect::<Sum>().value() / self.rows.total
    }

    /// By how much the best slope lowers the mean log-loss, for labels of this mean distance.
    fn gain(&self, distance: f64) -> f64 {
        // Σ ω log Σ + slope · distance, with two derivatives by the slope.
        let at = |node: &[f64; 4]| (node[0], [node[1] + node[0] * distance, node[2] + distance, node[3]]);
        let before = at(&self.nodes[self.middle]).1[0];
        // The derivative rises with the slope: beyond the nodes the last of them is taken.
        let above = self.nodes.partition_point(|node| node[2] + distance < 0.0);
        let after = match above {
            0 => at(&self.nodes[0]).1[0],
            _ if above == self.nodes.len() => at(&self.nodes[above - 1]).1[0],
            _ => least_between(at(&self.nodes[above - 1]), at(&self.nodes[above])),
        };
        before - after
    }
}

/// The least value between two places, of the polynomial of degree 5 with the values and
/// derivatives there.
fn least_between((from, left): (f64, [f64; 3]), (to, right): (f64, [f64; 3])) -> f64 {
    let h = to - from;
    let (c0, c1, c2) = (left[0], h * left[1], 0.5 * h * h * left[2]);
    let rest = [right[0] - c0 - c1 - c2, h * right[1] - c1 - 2.0 * c2, h * h * right[2] - 2.0 * c2];
    let c3 = 10.0 * rest[0] - 4.0 * rest[1] + 0.5 * rest[2];
    let c4 = -15.0 * rest[0] + 7.0 * rest[1] - rest[2];
    let c5 = 6.0 * rest[0] - 3.0 * rest[1] + 0.5 * rest[2];
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let u: f64 = 0.5 * (low + high);
        let slope = c1 + u * (2.0 * c2 + u * (3.0 * c3 + u * (4.0 * c4 + u * 5.0 * c5)));
        if slope < 0.0 { low = u } else { high = u }
    }
    let u = 0.5 * (low + high);
    c0 + u * (c1 + u * (c2 + u * (c3 + u * (c4 + u * c5))))
}
