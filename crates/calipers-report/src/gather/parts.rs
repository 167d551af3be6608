//! Classes and groups: the same figure of each part of the predictions, at one sigma.

use calipers::inference::holm;
use calipers::{
    Assessment, Bin, BinaryView, Error, Input, LsEce, Multiclass, NoiseFloor, Predictions, Rows, Sample, Scale, Sketch,
    Ties,
};
use rayon::prelude::*;

use super::reliability::{Moment, moment, places};
use super::{Options, sample_of};

/// Draws of each kind where there are more parts than this, since each has its own.
const MANY_PARTS: usize = 8;
const FEWER_RESAMPLES: u64 = 200;

/// Draws in all that may go into telling chance from small p-values, where many parts ask for them.
const MOST_DRAWS: u64 = 100_000;

/// So many of the worst are listed: a page has its limits.
const SHOWN: usize = 1000;

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
    /// The worst, the worst first: all unless there are more than a page can show.
    pub parts: Vec<Part>,
    /// How many there are.
    pub n: usize,
    /// The mean of LS-ECE over classes.
    pub mean: Option<f64>,
    /// Draws of each kind for each part; more for the floor of those that may be significant.
    pub n_resamples: u64,
    /// Parts that may be significant, but would need more draws to tell than there were.
    pub n_open: usize,
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
pub(super) fn classes(
    predictions: &Predictions<'_>,
    clusters: Option<&[u32]>,
    options: &Options,
) -> Result<Parts, Error> {
    let n_classes = predictions.n_classes();
    let n_asked = options.n_resamples;
    let options = fewer(options, n_classes);
    let views = (0..n_classes).map(|class| predictions.one_class(class)).collect::<Result<Vec<_>, Error>>()?;
    let one = |(class, view): (usize, &BinaryView<'_>)| part(class.to_string(), sample_of(view, clusters), &options);
    let parts: Vec<Part> = views.par_iter().enumerate().map(one).collect::<Result<_, Error>>()?;
    let mean = predictions.estimate(Multiclass::Classwise, Ties::First, &options.ls_ece).ok();
    let subject = |place: usize| sample_of(&views[place], clusters);
    let (parts, n_open) = ordered(parts, subject, &options.ls_ece, n_asked, &options);
    let mean = mean.map(|estimate| estimate.value);
    let n = parts.len();
    let parts = parts.into_iter().take(SHOWN).collect();
    Ok(Parts { by: "class".to_owned(), parts, n, mean, n_resamples: options.n_resamples, n_open, sigma: None })
}

/// Each group, at the sigma of all rows.
pub(super) fn groups(
    groups: &Groups<'_>,
    view: Option<&BinaryView<'_>>,
    clusters: Option<&[u32]>,
    sigma: f64,
    options: &Options,
) -> Result<Parts, Error> {
    let at_sigma = Options { ls_ece: options.ls_ece.clone().sigma(sigma), ..options.clone() };
    // A small group is drawn with more smoothing than all rows together.
    let drawn = &options.ls_ece;
    let (by, (parts, n_open), n_resamples) = match (groups, view) {
        (Groups::Sketches { by, sketches }, _) => {
            let options = fewer(&at_sigma, sketches.len());
            let one = |(key, sketch): &(String, &Sketch)| part(key.clone(), Sample::from(*sketch), &options);
            let parts = sketches.par_iter().map(one).collect::<Result<Vec<_>, Error>>()?;
            let subject = |place: usize| Sample::from(sketches[place].1);
            (by, ordered(parts, subject, drawn, at_sigma.n_resamples, &options), options.n_resamples)
        }
        (Groups::Rows { by, keys, numbers }, Some(view)) => {
            if numbers.len() != view.len() {
                return Err(Error::LengthMismatch { what: "groups", got: numbers.len(), expected: view.len() });
            }
            let options = fewer(&at_sigma, keys.len());
            let selected = selected(view, numbers, keys.len());
            let checked = selected.iter().map(|rows| checked(view, rows)).collect::<Result<Vec<_>, Error>>()?;
            let views = checked
                .iter()
                .map(|rows| rows.view(Multiclass::Auto, Ties::First))
                .collect::<Result<Vec<_>, Error>>()?;
            let clusters = clusters.map(|clusters| by_group(clusters, numbers, keys.len()));
            let subject =
                |place: usize| sample_of(&views[place], clusters.as_ref().map(|clusters| &clusters[place][..]));
            let one = |(place, key): (usize, &String)| part(key.clone(), subject(place), &options);
            let parts = keys.par_iter().enumerate().map(one).collect::<Result<Vec<_>, Error>>()?;
            (by, ordered(parts, subject, drawn, at_sigma.n_resamples, &options), options.n_resamples)
        }
        (Groups::Rows { .. }, None) => return Err(Error::NoRows),
    };
    let n = parts.len();
    let parts = parts.into_iter().take(SHOWN).collect();
    Ok(Parts { by: by.clone(), parts, n, mean: None, n_resamples, n_open, sigma: Some(sigma) })
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
            if view.scale() == Scale::LogOdds {
                // The logits of two classes, whose log-odds are the score: those are log-odds for
                // any link.
                group.scores.push(0.0);
            }
            group.scores.push(all.scores[row]);
            group.outcomes.push(all.outcomes[row]);
            group.weights.push(all.weights[row]);
        }
    }
    groups
}

/// The clusters of each group's rows.
fn by_group(clusters: &[u32], numbers: &[u32], n_groups: usize) -> Vec<Vec<u32>> {
    let mut groups = vec![Vec::new(); n_groups];
    for (cluster, number) in clusters.iter().zip(numbers) {
        if let Some(group) = groups.get_mut(*number as usize) {
            group.push(*cluster);
        }
    }
    groups
}

fn checked<'a>(view: &BinaryView<'_>, rows: &'a Rows) -> Result<Predictions<'a>, Error> {
    let input = match view.scale() {
        Scale::Probability => Input::probabilities(&rows.scores[..], &rows.outcomes[..]),
        Scale::LogOdds => Input::logits(&rows.scores[..], &rows.outcomes[..]).classes(2),
        Scale::Link => Input::logits(&rows.scores[..], &rows.outcomes[..]),
    };
    let input = if view.has_confidences() { input.confidences() } else { input };
    if view.is_weighted() { input.weights(&rows.weights[..]).check() } else { input.check() }
}

fn part(name: String, subject: Sample<'_>, options: &Options) -> Result<Part, Error> {
    let whole: Vec<Bin> = options.bins(1).bins(subject)?;
    let means = whole.first().map_or((f64::NAN, f64::NAN), |bin| (bin.mean_probability, bin.outcome_rate));
    let ls_ece = options.assess(&options.ls_ece).run(subject);
    Ok(Part { name, n: subject.n(), means, ls_ece, p_adjusted: None, moment: None })
}

fn p_value(part: &Part) -> Option<f64> {
    part.ls_ece.as_ref().ok().and_then(|known| known.floor.as_ref()).map(|floor| floor.p_value)
}

/// More draws for p-values that are as small as their draws can show, and too large once they are
/// adjusted for all parts, the worst first. How many had to go without. Where a bound on the tail
/// has made a p-value small enough, no further draw is needed.
fn refine<'a>(
    parts: &mut [Part],
    subject: &(impl Fn(usize) -> Sample<'a> + Sync),
    n_asked: u64,
    options: &Options,
) -> usize {
    let needed = (((parts.len() + 1) as f64 / (1.0 - options.level)).ceil() as u64).max(n_asked);
    if needed <= options.n_resamples {
        return 0;
    }
    let smallest = 3.0 / (options.n_resamples + 1) as f64;
    let enough = (1.0 - options.level) / parts.len() as f64;
    let mut suspects: Vec<usize> =
        (0..parts.len()).filter(|place| p_value(&parts[*place]).is_some_and(|p| p <= smallest && p > enough)).collect();
    suspects.sort_by(|a, b| parts[*b].debiased().total_cmp(&parts[*a].debiased()));
    let n_refined = ((MOST_DRAWS / needed) as usize).min(suspects.len());
    let floors: Vec<(usize, Option<NoiseFloor>)> = suspects[..n_refined]
        .par_iter()
        .map(|place| (*place, subject(*place).noise_floor(&options.ls_ece, needed, options.random_state).ok()))
        .collect();
    for (place, floor) in floors {
        if let (Ok(known), Some(floor)) = (&mut parts[place].ls_ece, floor) {
            known.floor = Some(floor);
        }
    }
    suspects.len() - n_refined
}

/// With adjusted p-values, the worst first and drawn as `drawn` says; and how many are open.
fn ordered<'a>(
    mut parts: Vec<Part>,
    subject: impl Fn(usize) -> Sample<'a> + Sync,
    drawn: &LsEce,
    n_asked: u64,
    options: &Options,
) -> (Vec<Part>, usize) {
    let n_open = refine(&mut parts, &subject, n_asked, options);
    let p_values: Vec<f64> = parts.iter().filter_map(p_value).collect();
    let mut adjusted = holm(&p_values).into_iter();
    for part in parts.iter_mut().filter(|part| p_value(part).is_some()) {
        part.p_adjusted = adjusted.next();
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    // What is told from chance by its size, then the rest by how near to that it is: among small
    // parts the largest figures are chance. What is refused comes last.
    let badness = |place: &usize| match parts[*place].p_adjusted {
        Some(p) if p <= 1.0 - options.level + 1e-12 => (3, parts[*place].debiased()),
        Some(_) => (2, -p_value(&parts[*place]).unwrap_or(1.0)),
        None if parts[*place].ls_ece.is_ok() => (1, parts[*place].debiased()),
        None => (0, 0.0),
    };
    order.sort_by(|a, b| {
        let ((kind_a, a), (kind_b, b)) = (badness(a), badness(b));
        kind_b.cmp(&kind_a).then(b.total_cmp(&a))
    });
    let at = places(N_PLACES);
    let moments: Vec<Option<Moment>> = order
        .par_iter()
        .take(DRAWN)
        .map(|place| {
            let subject = subject(*place);
            let sigma = subject.estimate(drawn).ok()?.settings.number("sigma")?;
            moment(subject, sigma, &at, options).ok()
        })
        .collect();
    let mut moments = moments.into_iter();
    let mut taken: Vec<Option<Part>> = parts.into_iter().map(Some).collect();
    let sorted = order.into_iter().filter_map(|place| taken[place].take());
    (sorted.map(|part| Part { moment: moments.next().flatten(), ..part }).collect(), n_open)
}
