//! Comparison of models on the same rows.

use std::fmt::Display;

use super::assess::{Assess, check_ordered};
use super::difference::Difference;
use super::resampler::{Draws, Kind, Resampler};
use super::rows::effective_rows;
use super::{Assessment, Clusters, Interval, RowBracket, RowResampler, holm, sentence};
use crate::Error;
use crate::data::{BinaryView, Sample};
use crate::measure::{Estimate, Measure};
use crate::setters::setters;
use crate::watch;

/// The difference of a measure between models on the same rows, with interval and p-value.
///
/// # Definition
/// D = v_a - v_b of the measure by which models are compared: for LS-ECE the residual form
/// ([`Measure::compared_by`]), for others the measure itself. For measures that have a
/// [`Bracket`](super::Bracket) for each model, with the middle m = (l + u) / 2 and the half
/// b = (u - l) / 2 of its lower and upper estimates, the interval is
/// ```text
/// m_a - m_b ± ( √(b_a² + b_b² - 2 r b_a b_b) + z s )      s² = Σ_i (pull_a,i - pull_b,i)²
/// ```
/// with the influences of each row on the upper estimates of both models and z that of a normal
/// number; with clusters, sums within clusters. Where l_a - u_b - z s is higher, with the
/// influences on these estimates, it is the lower end, and so for the upper end. What both models
/// share, such as rows that are hard for both, cancels. r is the correlation of their influences:
/// what the bias of two models may be is the more alike the more alike they are, and equal models
/// do not differ. Where both models show a gap everywhere b is 0, and the interval is that of a
/// difference; where what is left of the bias could make all of the difference, it is not called
/// one. For other measures all models are measured on the same rows, drawn with replacement, and
/// the interval is about `(2 v_a - mean(v_a*)) - (2 v_b - mean(v_b*))` with the deviation of v_a* -
/// v_b*.
///
/// The p-value is two-sided, of "the population's values are equal", by the nearer end of that
/// interval as a normal number; over all pairs it is adjusted by [`holm`]. With n rows neither side
/// of an interval is narrower than -ln(tail) / n, and no p-value is below 2 exp(-n d) with d the
/// distance of 0 from the two estimates.
///
/// Sigma, if chosen automatically, is one for all models, the geometric mean of what the rule gives
/// for each: LS-ECE at two sigmas would differ for equal models. Other settings that rules take
/// from the rows, bandwidths and numbers of bins, are those of each model.
///
/// # Assumptions
/// The rows of all models are the same and in the same order: as many rows, the same weights, and
/// the same outcomes where outcomes are labels. For top-class views outcomes are whether the model
/// was right, and the caller vouches for the pairing. Independent rows, or clusters.
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
    measure: &'a dyn Measure,
    level: f64,
    n_resamples: u64,
    random_state: u64,
    clusters: Option<&'a [u32]>,
}

/// The assessment of each model, and the difference of every two of them.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Comparison {
    /// The models by name, in the order in which they came.
    pub models: Vec<(String, Assessment)>,
    /// The measure by which they are compared, of each: for LS-ECE its residual form.
    pub compared: Vec<Estimate>,
    /// All pairs: the first with the second, the first with the third, and so on.
    pub pairs: Vec<Pair>,
    /// The level of every interval; a pair differs where its adjusted p-value is at most 1 - level.
    pub level: f64,
}

/// The difference between two models.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Pair {
    /// The place of the first model in [`Comparison::models`].
    pub first: usize,
    /// The place of the second.
    pub second: usize,
    /// The value of the first less that of the second, each without its bias: a model with the
    /// larger noise floor is not worse for that. Below 0 the first is better calibrated.
    pub difference: f64,
    /// Where the population's difference is; about [`difference`](Self::difference), and not
    /// adjusted for the number of pairs.
    pub interval: Interval,
    /// The standard error of the difference.
    pub standard_error: f64,
    /// Of "the population's values are equal", two-sided.
    pub p_value: f64,
    /// The same, adjusted for all pairs by [`holm`].
    pub p_adjusted: f64,
}

/// One model, as pairs need it.
struct Model {
    assessment: Assessment,
    /// The measure by which it is compared, as draws have it, and those by their number.
    value: f64,
    compared: Estimate,
    draws: Vec<f64>,
    /// Row by row, where there is a bracket.
    bracket: Option<RowBracket>,
    range: (f64, f64),
    effective_rows: f64,
}

impl<'a> Compare<'a> {
    /// Level 0.95, 1000 resamples of each kind, seed 0.
    pub fn new(measure: &'a dyn Measure) -> Self {
        Compare { measure, level: 0.95, n_resamples: 1000, random_state: 0, clusters: None }
    }

    setters! {
        /// The level of the intervals; tests are at 1 - level.
        level: f64;

        /// Draws of each kind for each model.
        n_resamples: u64;

        /// What the random numbers are made from.
        random_state: u64;

        /// Rows that depend on each other: one number for each row, as
        /// [`Sample::clusters`](crate::Sample::clusters) has it.
        clusters: some &'a [u32];
    }

    /// Compares every two of the models, which are named and two at least: views of their rows, or
    /// samples of all their classes.
    pub fn run<'s>(&self, models: &[(&str, impl Into<Sample<'s>> + Copy)]) -> Result<Comparison, Error> {
        let sample = |model: Sample<'s>| Sample { clusters: self.clusters, ..model.for_measure(self.measure) };
        let models = models.iter().map(|(name, model)| (*name, sample((*model).into())));
        let models: Vec<(&str, Sample<'_>)> = models.collect();
        self.run_samples(&models)
    }

    fn run_samples(&self, models: &[(&str, Sample<'_>)]) -> Result<Comparison, Error> {
        self.assess(self.measure).check()?;
        check_pairing(models)?;
        let clusters = models[0].1.resolved_clusters()?;
        // None of all classes together, which have no settings that are chosen from the data.
        let views: Vec<&BinaryView<'_>> = models.iter().filter_map(|(_, sample)| sample.view()).collect();
        let resolved = self.measure.resolve(&views)?;
        let measure = resolved.as_deref().unwrap_or(self.measure);
        let compared = self.measure.compared_by(&views)?;
        let compared = compared.as_deref().unwrap_or(measure);
        let bracket = |(_, sample): &(&str, Sample<'_>)| match sample.view() {
            Some(view) => compared.row_bracket(view, clusters.as_ref()),
            None => Ok(None),
        };
        let brackets: Vec<Option<RowBracket>> = models.iter().map(bracket).collect::<Result<_, _>>()?;
        // Draws of rows are paired by their numbers; brackets need none, and one of each kind could
        // not be compared.
        let by_draws = brackets.iter().any(Option::is_none);
        if by_draws {
            watch::expect_draws(self.n_resamples * models.len() as u64);
        }
        let assess = self.assess(measure);
        let examine = |(sample, bracket): (Sample<'_>, Option<RowBracket>)| {
            let estimate = sample.estimate(compared)?;
            check_ordered(&estimate)?;
            let range = estimate.spec.range;
            let effective_rows = effective_rows(&sample.row_weights());
            let bracket = bracket.filter(|_| !by_draws);
            let (value, draws) = match (&bracket, sample.view()) {
                (Some(bracket), _) => (bracket.value, Vec::new()),
                // The draws of a measure's own resampler may not be of the same rows.
                (None, Some(view)) => self.draws(&RowResampler::new(compared, view, clusters.as_ref())?)?,
                (None, None) => self.draws(&*sample.resampler(compared, clusters.as_ref(), None)?)?,
            };
            let assessment = assess.run(sample)?;
            Ok(Model { assessment, value, compared: estimate, draws, bracket, range, effective_rows })
        };
        let samples = models.iter().map(|(_, sample)| *sample);
        let found: Vec<Model> = samples.zip(brackets).map(examine).collect::<Result<_, Error>>()?;
        let mut pairs = Vec::new();
        for first in 0..found.len() {
            for second in first + 1..found.len() {
                pairs.push(Pair { first, second, ..self.pair(&found[first], &found[second], clusters.as_ref())? });
            }
        }
        let adjusted = holm(&pairs.iter().map(|pair| pair.p_value).collect::<Vec<f64>>());
        pairs.iter_mut().zip(adjusted).for_each(|(pair, p_adjusted)| pair.p_adjusted = p_adjusted);
        let compared = found.iter().map(|model| model.compared.clone()).collect();
        let models = models.iter().zip(found).map(|((name, _), model)| ((*name).to_owned(), model.assessment));
        Ok(Comparison { models: models.collect(), compared, pairs, level: self.level })
    }

    /// What is known of each model by itself.
    fn assess<'b>(&'b self, measure: &'b dyn Measure) -> Assess<'b> {
        Assess::new(measure).level(self.level).n_resamples(self.n_resamples).random_state(self.random_state)
    }

    fn draws(&self, resampler: &dyn Resampler) -> Result<(f64, Vec<f64>), Error> {
        let draws = Draws::new(resampler, Kind::Bootstrap, 0..self.n_resamples, self.random_state)?;
        Ok((resampler.value(), draws.by_number))
    }

    fn pair(&self, a: &Model, b: &Model, clusters: Option<&Clusters>) -> Result<Pair, Error> {
        let found = match (&a.bracket, &b.bracket) {
            (Some(first), Some(second)) => Difference::of_brackets(first, second, clusters),
            _ => {
                let draws = Draws::of(a.draws.iter().zip(&b.draws).map(|(a, b)| a - b).collect())?;
                let is_unbiased = !a.compared.spec.biased_up;
                let bias = if is_unbiased { 0.0 } else { draws.mean() - (a.value - b.value) };
                Difference::about(a.compared.value - b.compared.value - bias, draws.deviation())
            }
        };
        let range = (a.range.0 - b.range.1, a.range.1 - b.range.0);
        let interval = found.interval(self.level, range, a.effective_rows);
        let p_value = found.p_value(a.effective_rows);
        Ok(Pair {
            first: 0,
            second: 0,
            difference: found.centre.clamp(interval.lower, interval.upper),
            interval,
            standard_error: found.deviation,
            p_value,
            p_adjusted: p_value,
        })
    }
}

/// Checks that all models have the same rows.
fn check_pairing(models: &[(&str, Sample<'_>)]) -> Result<(), Error> {
    Error::require(models.len() >= 2, "models", "at least two", models.len())?;
    for (place, (name, _)) in models.iter().enumerate() {
        let is_new = models[..place].iter().all(|(other, _)| other != name);
        Error::require(is_new, "models", "of different names", format!("{name:?} twice"))?;
    }
    let of_sketch = models.iter().any(|(_, sample)| sample.is_sketch());
    Error::require(!of_sketch, "models", "rows, since a sketch does not know which rows are pairs", "a sketch")?;
    let (first_name, first) = models[0];
    let (our_weights, our_outcomes) = (first.row_weights(), first.outcomes());
    for (name, sample) in &models[1..] {
        let unequal = |what, ours: &dyn Display, theirs: &dyn Display, place: &str| {
            let got = format!("{ours} of {first_name:?} and {theirs} of {name:?}{place}");
            Err(Error::setting(what, "the same for all models", got))
        };
        if sample.n() != first.n() {
            return unequal("rows", &first.n(), &sample.n(), "");
        }
        let weights = sample.row_weights();
        let differs = |row: &usize| our_weights[*row].to_bits() != weights[*row].to_bits();
        if let Some(row) = (0..weights.len()).find(differs) {
            return unequal("weights", &our_weights[row], &weights[row], &format!(" in row {row}"));
        }
        let (Some(ours), Some(theirs)) = (&our_outcomes, sample.outcomes()) else { continue };
        if let Some(row) = (0..ours.len()).find(|row| ours[*row] != theirs[*row]) {
            return unequal("outcomes", &ours[row], &theirs[row], &format!(" in row {row}"));
        }
    }
    Ok(())
}

impl Comparison {
    /// A sentence for every pair, each on a line. Then how many rows were left out, if any were.
    pub fn sentence(&self) -> String {
        let pairs = self.pairs.iter().map(|pair| self.pair_sentence(pair));
        pairs.chain(self.rows_left_out()).collect::<Vec<String>>().join("\n")
    }

    /// The same rows are left out of all models; the reasons may differ.
    fn rows_left_out(&self) -> Vec<String> {
        let sentence = |model: &Assessment| model.estimate.input.left_out_sentence();
        let all: Vec<(&str, String)> =
            self.models.iter().filter_map(|(name, model)| Some((name.as_str(), sentence(model)?))).collect();
        match &all[..] {
            [(_, first), others @ ..] if others.iter().all(|(_, other)| other == first) => vec![first.clone()],
            _ => all.iter().map(|(name, sentence)| format!("{name}: {sentence}")).collect(),
        }
    }

    /// Which of two models is better calibrated and by how much; or that there is no evidence of a
    /// difference.
    pub fn pair_sentence(&self, pair: &Pair) -> String {
        let [first, second] = [pair.first, pair.second].map(|model| self.models[model].0.as_str());
        let name = self.compared[pair.first].title();
        let (lower, upper) = (pair.interval.lower, pair.interval.upper);
        let digits = sentence::digits(0.5 * (upper - lower));
        // An end that is not 0 does not read as 0 where its sign matters.
        let rounds_to_0 = |end: f64| end != 0.0 && end.abs() < 0.5 * 10f64.powi(-(digits as i32));
        let digits = if rounds_to_0(lower) || rounds_to_0(upper) { digits + 1 } else { digits };
        let show = |value: f64| sentence::signed(value, digits);
        let mut p = sentence::p_value(pair.p_adjusted);
        if self.pairs.len() > 1 {
            p = format!("{p} after adjusting for {} pairs", self.pairs.len());
        }
        let level = sentence::percent(self.level);
        let interval = |lower: f64, upper: f64| format!("({level} interval {} to {}, {p})", show(lower), show(upper));
        let is_score = self.compared[pair.first].spec.is_score();
        let better = |better: &str, worse: &str, by: f64, interval: String| match is_score {
            // A score tells sharpness and calibration together.
            true => format!("{better} has a smaller {name} than {worse}, by {} {interval}.", show(by)),
            false => {
                format!("{better} is better calibrated than {worse}: its {name} is smaller by {} {interval}.", show(by))
            }
        };
        let what = if is_score { name } else { "calibration" };
        match (pair.p_adjusted <= 1.0 - self.level + 1e-12, pair.difference < 0.0) {
            (true, true) => better(first, second, -pair.difference, interval(-upper, -lower)),
            (true, false) => better(second, first, pair.difference, interval(lower, upper)),
            (false, _) => format!(
                "There is no evidence that {first} and {second} differ in {what}: the estimated difference in {name} ({first} minus {second}) is {} {}.",
                show(pair.difference),
                interval(lower, upper)
            ),
        }
    }
}
