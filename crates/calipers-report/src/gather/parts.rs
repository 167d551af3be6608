//! Classes and groups: the same figure of each part of the predictions, at one sigma.

use calipers::significance::holm;
use calipers::{Assessment, Bin, BinaryView, Error, Input, Multiclass, Predictions, Rows, Scale, Sketch, Ties};
use rayon::prelude::*;

use super::Options;
use super::reliability::{Moment, moment, places};
use super::subject::Subject;

/// Draws of each kind where there are more parts than this, since each has its own.
const MANY_PARTS: usize = 40;
const FEWER_RESAMPLES: u64 = 200;

/// So many of the worst are drawn.
const DRAWN: usize = 24;

/// Places of a small curve.
const N_PLACES: usize = 40;

/// Groups of a model's rows.
pub enum Groups<'a> {
    /// By the value of a column.
    Rows {
        /// Its name.
        by: String,
        /// The values, each once.
        keys: Vec<String>,
        /// For each row that is measured, the place of its value in `keys`.
        numbers: Vec<u32>,
    },
    /// A sketch for each value of a column.
    Sketches {
        /// Its name.
        by: String,
        /// The values with their rows.
        sketches: Vec<(String, &'a Sketch)>,
    },
}

/// Parts of the predictions, each measured on its own.
#[derive(Debug, Clone)]
pub struct Parts {
    /// What tells them apart: `class`, or a column's name.
    pub by: String,
    /// All of them, the worst first.
    pub parts: Vec<Part>,
    /// The mean of LS-ECE over classes.
    pub mean: Option<f64>,
    /// Draws of each kind for each part.
    pub n_resamples: u64,
    /// The sigma of all parts, where it is one.
    pub sigma: Option<f64>,
}

/// A class or a group.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Rows.
    pub n: u64,
    /// Mean probability and outcome rate.
    pub means: (f64, f64),
    /// LS-ECE, unless it is refused.
    pub ls_ece: Result<Assessment, Error>,
    /// Its p-value, adjusted for all parts.
    pub p_adjusted: Option<f64>,
    /// The smoothed curve, of the worst.
    pub moment: Option<Moment>,
}

impl Part {
    /// What is sorted by: LS-ECE with what noise adds taken out.
    pub fn debiased(&self) -> f64 {
        self.ls_ece.as_ref().map_or(f64::NAN, |assessment| assessment.debiased)
    }
}

/// Each class against the rest, at the sigma that the rule gives for it.
pub(super) fn classes(predictions: &Predictions<'_>, options: &Options) -> Result<Parts, Error> {
    let n_classes = predictions.n_classes();
    let options = fewer(options, n_classes);
    let views = (0..n_classes).map(|class| predictions.one_class(class)).collect::<Result<Vec<_>, Error>>()?;
    let one = |(class, view): (usize, &BinaryView<'_>)| {
        part(class.to_string(), &Subject::Rows { view, clusters: None }, &options)
    };
    let parts: Vec<Part> = views.par_iter().enumerate().map(one).collect::<Result<_, Error>>()?;
    let mean = predictions.estimate(Multiclass::Classwise, Ties::First, &options.ls_ece).ok();
    let subject = |place: usize| Subject::Rows { view: &views[place], clusters: None };
    let parts = ordered(parts, subject, &options);
    let mean = mean.map(|estimate| estimate.value);
    Ok(Parts { by: "class".to_owned(), parts, mean, n_resamples: options.n_resamples, sigma: None })
}

/// Each group, at the sigma of all rows.
pub(super) fn groups(
    groups: &Groups<'_>,
    view: Option<&BinaryView<'_>>,
    sigma: f64,
    options: &Options,
) -> Result<Parts, Error> {
    let at_sigma = Options { ls_ece: options.ls_ece.clone().sigma(sigma), ..options.clone() };
    let (by, parts, n_resamples) = match (groups, view) {
        (Groups::Sketches { by, sketches }, _) => {
            let options = fewer(&at_sigma, sketches.len());
            let one = |(key, sketch): &(String, &Sketch)| part(key.clone(), &Subject::Sketch(sketch), &options);
            let parts = sketches.par_iter().map(one).collect::<Result<Vec<_>, Error>>()?;
            (by, ordered(parts, |place| Subject::Sketch(sketches[place].1), &options), options.n_resamples)
        }
        (Groups::Rows { by, keys, numbers }, Some(view)) => {
            if numbers.len() != view.len() {
                return Err(Error::LengthMismatch { what: "groups", got: numbers.len(), expected: view.len() });
            }
            let options = fewer(&at_sigma, keys.len());
            let selected = selected(view, numbers, keys.len());
            let checked = selected.iter().map(|rows| checked(view, rows)).collect::<Result<Vec<_>, Error>>()?;
            let views = checked.iter().map(Predictions::binary).collect::<Result<Vec<_>, Error>>()?;
            let one = |(key, view): (&String, &BinaryView<'_>)| {
                part(key.clone(), &Subject::Rows { view, clusters: None }, &options)
            };
            let parts = keys.par_iter().zip(&views).map(one).collect::<Result<Vec<_>, Error>>()?;
            let subject = |place: usize| Subject::Rows { view: &views[place], clusters: None };
            (by, ordered(parts, subject, &options), options.n_resamples)
        }
        (Groups::Rows { .. }, None) => return Err(Error::NoRows),
    };
    Ok(Parts { by: by.clone(), parts, mean: None, n_resamples, sigma: Some(sigma) })
}

fn fewer(options: &Options, n_parts: usize) -> Options {
    let most = if n_parts > MANY_PARTS { FEWER_RESAMPLES } else { options.n_resamples };
    Options { n_resamples: options.n_resamples.min(most), ..options.clone() }
}

/// The rows of each group.
fn selected(view: &BinaryView<'_>, numbers: &[u32], n_groups: usize) -> Vec<Rows> {
    let mut all = Rows::default();
    view.read(0..view.len(), &mut all);
    let mut groups: Vec<Rows> = (0..n_groups).map(|_| Rows::default()).collect();
    for (row, number) in numbers.iter().enumerate() {
        if let Some(group) = groups.get_mut(*number as usize) {
            group.scores.push(all.scores[row]);
            group.outcomes.push(all.outcomes[row]);
            group.weights.push(all.weights[row]);
        }
    }
    groups
}

fn checked<'a>(view: &BinaryView<'_>, rows: &'a Rows) -> Result<Predictions<'a>, Error> {
    let input = match view.scale() {
        Scale::Probability => Input::probabilities(&rows.scores[..], &rows.outcomes[..]),
        Scale::LogOdds | Scale::Link => Input::logits(&rows.scores[..], &rows.outcomes[..]),
    };
    if view.is_weighted() { input.weights(&rows.weights[..]).check() } else { input.check() }
}

fn part(name: String, subject: &Subject<'_>, options: &Options) -> Result<Part, Error> {
    let whole: Vec<Bin> = subject.bins(&options.bins(1))?;
    let means = whole.first().map_or((f64::NAN, f64::NAN), |bin| (bin.mean_probability, bin.outcome_rate));
    let ls_ece = subject.assess(options.assess(&options.ls_ece));
    Ok(Part { name, n: subject.n(), means, ls_ece, p_adjusted: None, moment: None })
}

/// With adjusted p-values, the worst first and drawn.
fn ordered<'a>(mut parts: Vec<Part>, subject: impl Fn(usize) -> Subject<'a> + Sync, options: &Options) -> Vec<Part> {
    let p_value =
        |part: &Part| part.ls_ece.as_ref().ok().and_then(|known| known.floor.as_ref()).map(|floor| floor.p_value);
    let p_values: Vec<f64> = parts.iter().filter_map(p_value).collect();
    let mut adjusted = holm(&p_values).into_iter();
    for part in parts.iter_mut().filter(|part| p_value(part).is_some()) {
        part.p_adjusted = adjusted.next();
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    // What is refused comes last.
    let badness = |place: &usize| if parts[*place].debiased().is_nan() { -1.0 } else { parts[*place].debiased() };
    order.sort_by(|a, b| badness(b).total_cmp(&badness(a)));
    let at = places(N_PLACES);
    let moments: Vec<Option<Moment>> = order
        .par_iter()
        .take(DRAWN)
        .map(|place| {
            let sigma = parts[*place].ls_ece.as_ref().ok()?.estimate.settings.number("sigma")?;
            moment(&subject(*place), sigma, &at, options).ok()
        })
        .collect();
    let mut moments = moments.into_iter();
    let mut taken: Vec<Option<Part>> = parts.into_iter().map(Some).collect();
    let sorted = order.into_iter().filter_map(|place| taken[place].take());
    sorted.map(|part| Part { moment: moments.next().flatten(), ..part }).collect()
}
