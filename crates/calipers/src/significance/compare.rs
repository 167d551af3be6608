//! Models on the same rows.

use super::assess::{Assess, check_ordered};
use super::interval::least_half;
use super::resampler::{Draws, Kind, Resampler};
use super::{Assessment, Clusters, Interval, IntervalMethod, RowResampler, holm};
use super::{ClusterRowResampler, sentence};
use crate::Error;
use crate::estimate::Estimator;
use crate::link::{Link, Probit};
use crate::predictions::{BinaryView, Rows};
use crate::watch;

/// The difference of a measure between models on the same rows, with interval and p-value.
///
/// # Definition
/// D = v_a - v_b. Both values are biased up, and the bias is taken off each: the centre of the interval is
/// `(2 v_a - mean(v_a*)) - (2 v_b - mean(v_b*))`, v* the bootstrap draws. For measures with influence values the standard error is
/// ```text
/// √( Σ_i (s_i (IF_a,i - IF_b,i))² + variance(v_a* - v_b*) / n_resamples )
/// ```
/// with the influence values of the corrected value, row by row, and in the second term what the mean of so many draws leaves open; with clusters, sums within clusters. For other
/// measures all models are measured on the same rows, drawn with replacement: it is the deviation of v_a* - v_b*. What both models share, such as rows that are hard for
/// both, cancels. The p-value is two-sided, of "the population's values are equal", by centre / standard error as a normal number; over all pairs it is adjusted
/// by [`holm`]. With n rows no interval is narrower than -ln(tail) / n to either side, nor a p-value below 2 exp(-n |D|).
///
/// Sigma by rule is one for all models, the geometric mean of what the rule gives for each: LS-ECE at two sigmas would differ for equal models.
/// Other settings that rules take from the rows, bandwidths and numbers of bins, are those of each model.
///
/// # Assumptions
/// The rows of all models are the same and in the same order: as many rows, the same weights, and the same outcomes where outcomes are labels. For top-class views
/// outcomes are whether the model was right, and the caller vouches for the pairing. Independent rows, or clusters.
///
/// Where both models are (all but) calibrated, what is left of the bias is about 0.6 of each floor; the standard error is up to twice as large there as
/// the value's own, so that the test rejects less often than 1 - level.
///
/// # Cost
/// That of [`Assess`] for each model, and one pass over the rows for each pair.
///
/// # Example
/// ```
/// use calipers::{Compare, Input, LsEce};
///
/// let h: Vec<f64> = (0..2000).map(|k| f64::from(k % 200) / 25.0 - 4.0).collect();
/// let rho = |h: f64| 1.0 / (1.0 + (-h).exp());
/// // Outcomes with the probabilities rho(h / 2).
/// let y: Vec<bool> = (0..2000).map(|k| f64::from(k * 619 % 2000) / 2000.0 < rho(h[k as usize] / 2.0)).collect();
/// let raw: Vec<f64> = h.iter().map(|h| rho(*h)).collect();
/// let cooled: Vec<f64> = h.iter().map(|h| rho(0.6 * h)).collect();
/// let raw = Input::probabilities(&raw, &y).check()?;
/// let cooled = Input::probabilities(&cooled, &y).check()?;
/// let measure = LsEce::new().sigma(0.3);
/// let comparison =
///     Compare::new(&measure).n_resamples(200).run(&[("raw", &raw.binary()?), ("cooled", &cooled.binary()?)])?;
/// let pair = &comparison.pairs[0];
/// assert!(pair.difference > 0.05 && pair.interval.lower > 0.0 && pair.p_value < 0.01);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Compare<'a> {
    measure: &'a dyn Estimator,
    level: f64,
    n_resamples: u64,
    seed: u64,
    clusters: Option<&'a [u32]>,
}

/// Models with what is known of each, and of every two of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The models by name, in the order in which they came.
    pub models: Vec<(String, Assessment)>,
    /// All pairs: the first with the second, the first with the third, and so on.
    pub pairs: Vec<Pair>,
    /// The level of every interval; a pair differs where its adjusted p-value is at most 1 - level.
    pub level: f64,
}

/// The difference between two models.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The place of the first model in [`Comparison::models`].
    pub first: usize,
    /// The place of the second.
    pub second: usize,
    /// The value of the first less that of the second, each without its bias: a model with the larger noise floor is not worse for that. Below 0 the first is better
    /// calibrated.
    pub difference: f64,
    /// Where the population's difference is; about [`difference`](Self::difference), and not adjusted for the number of pairs.
    pub interval: Interval,
    /// The standard error of the difference.
    pub standard_error: f64,
    /// Of "the population's values are equal", two-sided.
    pub p_value: f64,
    /// The same, adjusted for all pairs by [`holm`].
    pub p_adjusted: f64,
}

/// Of a standard error, what is rounding alone.
const NOTHING: f64 = 1e-13;

/// One model, as pairs need it.
struct Model {
    assessment: Assessment,
    /// The measure as draws have it, and those by their number.
    value: f64,
    draws: Vec<f64>,
    /// Row by row, where there are influence values.
    pulls: Option<Vec<f64>>,
    range: (f64, f64),
    effective_rows: f64,
}

impl<'a> Compare<'a> {
    /// Level 0.95, 1000 resamples of each kind, seed 0.
    pub fn new(measure: &'a dyn Estimator) -> Self {
        Compare { measure, level: 0.95, n_resamples: 1000, seed: 0, clusters: None }
    }

    /// The level of the intervals; tests are at 1 - level.
    pub fn level(mut self, level: f64) -> Self {
        self.level = level;
        self
    }

    /// Draws of each kind for each model.
    pub fn n_resamples(mut self, n_resamples: u64) -> Self {
        self.n_resamples = n_resamples;
        self
    }

    /// What the random numbers are made from.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Rows that depend on each other: one number for each row, as [`Assess::clusters`] has it.
    pub fn clusters(mut self, clusters: &'a [u32]) -> Self {
        self.clusters = Some(clusters);
        self
    }

    /// Compares every two of the models, which are named and two at least.
    pub fn run(&self, models: &[(&str, &BinaryView<'_>)]) -> Result<Comparison, Error> {
        let assess = Assess::new(self.measure).level(self.level).n_resamples(self.n_resamples).seed(self.seed);
        assess.check()?;
        check_pairing(models)?;
        let views: Vec<&BinaryView<'_>> = models.iter().map(|(_, view)| *view).collect();
        let clusters = self.clusters.map(|numbers| Clusters::new(numbers, views[0])).transpose()?;
        let settled = self.measure.settled(&views)?;
        let measure = settled.as_deref().unwrap_or(self.measure);
        let pulls: Vec<Option<Vec<f64>>> =
            views.iter().map(|view| measure.corrected_pulls(view, clusters.as_ref())).collect::<Result<_, _>>()?;
        // With a floor for each: without floors, the share that is shown ends at a half.
        watch::expect_draws(2 * self.n_resamples * models.len() as u64);
        // Draws of rows are paired by their numbers; those on a grid are not, and one of each kind could not be compared.
        let by_rows = pulls.iter().any(Option::is_none);
        let examine = |(view, pulls): (&&BinaryView<'_>, Option<Vec<f64>>)| {
            let estimate = measure.estimate(view)?;
            check_ordered(&estimate)?;
            let resampler: Box<dyn Resampler + '_> = match (&clusters, by_rows) {
                (None, false) => measure.resampler(view)?,
                (None, true) => Box::new(RowResampler::new(measure, view)?),
                (Some(clusters), false) => measure.cluster_resampler(view, clusters)?,
                (Some(clusters), true) => Box::new(ClusterRowResampler::new(measure, view, clusters)?),
            };
            let draws = Draws::new(&*resampler, Kind::Bootstrap, self.n_resamples, self.seed)?;
            let n_clusters = clusters.as_ref().map(|clusters| clusters.len() as u64);
            let assessment = Assessment { n_clusters, ..assess.assess_by(estimate, &*resampler, &draws)? };
            let (value, range, effective_rows) = (resampler.value(), resampler.range(), resampler.effective_rows());
            let (draws, pulls) = (draws.by_number, pulls.filter(|_| !by_rows));
            Ok(Model { assessment, value, draws, pulls, range, effective_rows })
        };
        let found: Vec<Model> = views.iter().zip(pulls).map(examine).collect::<Result<_, Error>>()?;
        let mut pairs = Vec::new();
        for first in 0..found.len() {
            for second in first + 1..found.len() {
                pairs.push(Pair { first, second, ..self.pair(&found[first], &found[second], clusters.as_ref())? });
            }
        }
        let adjusted = holm(&pairs.iter().map(|pair| pair.p_value).collect::<Vec<f64>>());
        pairs.iter_mut().zip(adjusted).for_each(|(pair, p_adjusted)| pair.p_adjusted = p_adjusted);
        let models = models.iter().zip(found).map(|((name, _), model)| ((*name).to_owned(), model.assessment));
        Ok(Comparison { models: models.collect(), pairs, level: self.level })
    }

    fn pair(&self, a: &Model, b: &Model, clusters: Option<&Clusters>) -> Result<Pair, Error> {
        let measured = a.assessment.estimate.value - b.assessment.estimate.value;
        let draws = Draws::of(a.draws.iter().zip(&b.draws).map(|(a, b)| a - b).collect())?;
        let is_unbiased = a.assessment.estimate.is_unbiased();
        let difference = measured - if is_unbiased { 0.0 } else { draws.mean() - (a.value - b.value) };
        let (standard_error, method) = match (&a.pulls, &b.pulls) {
            (Some(a), Some(b)) => {
                let pulls: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
                let of_rows = match clusters {
                    None => pulls.iter().map(|pull| pull * pull).sum::<f64>().sqrt(),
                    Some(clusters) => clusters.deviation(&pulls),
                };
                let of_draws = draws.deviation() / (draws.values.len() as f64).sqrt();
                (of_rows.hypot(of_draws), IntervalMethod::Corrected)
            }
            _ => (draws.deviation(), IntervalMethod::Normal),
        };
        let tail = 0.5 * (1.0 - self.level);
        let half = (Probit.inverse(1.0 - tail, tail) * standard_error).max(least_half(tail, a.effective_rows));
        let (least, most) = (a.range.0 - b.range.1, a.range.1 - b.range.0);
        let end = |value: f64| value.clamp(least, most);
        let by_deviation = match (standard_error > NOTHING, difference.abs() > NOTHING) {
            (true, _) => 2.0 * Probit.complement(difference.abs() / standard_error),
            (false, true) => 0.0,
            (false, false) => 1.0,
        };
        // The α of the interval that ends at 0, as its half is made.
        let p_value = by_deviation.max(2.0 * (-a.effective_rows * difference.abs()).exp()).min(1.0);
        let (lower, upper) = (end(difference - half), end(difference + half));
        Ok(Pair {
            first: 0,
            second: 0,
            difference,
            interval: Interval { lower, upper, level: self.level, method, is_upper_limit: false },
            standard_error,
            p_value,
            p_adjusted: p_value,
        })
    }
}

/// Refuses models whose rows are not the same.
fn check_pairing(models: &[(&str, &BinaryView<'_>)]) -> Result<(), Error> {
    if models.len() < 2 {
        return Err(Error::setting("models", "at least two", models.len()));
    }
    for (place, (name, _)) in models.iter().enumerate() {
        if models[..place].iter().any(|(other, _)| other == name) {
            return Err(Error::setting("models", "of different names", format!("{name:?} twice")));
        }
    }
    let (first_name, first) = models[0];
    let (mut ours, mut theirs) = (Rows::default(), Rows::default());
    first.read(0..first.len(), &mut ours);
    for (name, view) in &models[1..] {
        if view.len() != first.len() {
            let got = format!("{} of {first_name:?} and {} of {name:?}", first.len(), view.len());
            return Err(Error::setting("rows", "the same for all models", got));
        }
        view.read(0..view.len(), &mut theirs);
        let differs = |row: usize| ours.weights[row].to_bits() != theirs.weights[row].to_bits();
        if let Some(row) = (0..view.len()).find(|row| differs(*row)) {
            let got =
                format!("{} of {first_name:?} and {} of {name:?} in row {row}", ours.weights[row], theirs.weights[row]);
            return Err(Error::setting("weights", "the same for all models", got));
        }
        if !first.has_labels_as_outcomes() || !view.has_labels_as_outcomes() {
            continue;
        }
        if let Some(row) = (0..view.len()).find(|row| ours.outcomes[*row] != theirs.outcomes[*row]) {
            let [ours, theirs] = [ours.outcomes[row], theirs.outcomes[row]].map(u8::from);
            let got = format!("{ours} of {first_name:?} and {theirs} of {name:?} in row {row}");
            return Err(Error::setting("outcomes", "the same for all models", got));
        }
    }
    Ok(())
}

impl Comparison {
    /// What is known of every pair, a line for each.
    pub fn sentence(&self) -> String {
        self.pairs.iter().map(|pair| self.pair_sentence(pair)).collect::<Vec<String>>().join("\n")
    }

    /// The sentence that a person wants of two models: which one is better and by how much; or that no difference is seen.
    pub fn pair_sentence(&self, pair: &Pair) -> String {
        let [(first, a), (second, _)] = [&self.models[pair.first], &self.models[pair.second]];
        let name = a.estimate.title();
        let half = 0.5 * (pair.interval.upper - pair.interval.lower);
        let digits = sentence::digits(half);
        let show = |value: f64| sentence::signed(value, digits);
        let difference = format!(
            "{name} of {first} less that of {second} is {} [{}, {}]",
            show(pair.difference),
            show(pair.interval.lower),
            show(pair.interval.upper)
        );
        let mut p = sentence::p_value(pair.p_adjusted);
        if self.pairs.len() > 1 {
            p = format!("{p}, adjusted for {} pairs", self.pairs.len());
        }
        let verdict = match (pair.p_adjusted <= 1.0 - self.level + 1e-12, pair.difference < 0.0) {
            (true, true) => format!("{first} is better calibrated"),
            (true, false) => format!("{second} is better calibrated"),
            (false, _) => "no difference seen".to_owned(),
        };
        format!("{difference}: {verdict} ({p})")
    }
}
