//! Classes and groups: LS-ECE of each part of the predictions.

use calipers::inference::Direction;
use calipers::{
    Adjust, Assessment, BinaryView, Error, Input, Multiclass, Predictions, Rows, Sample, Scale, Sketch, Ties,
    on_this_thread,
};
use rayon::prelude::*;

use super::reliability::{Smoothed, places, smoothed};
use super::{Options, means, sample_of};

/// More parts than this get `FEWER_RESAMPLES` each.
const MANY_PARTS: usize = 8;
const FEWER_RESAMPLES: u64 = 200;

/// The page lists this many of the worst parts.
const LISTED: usize = 300;

/// Resamples that show which of very many parts are worth more of them.
const SCREENING: u64 = 39;

/// The page draws this many of the worst parts.
const DRAWN: usize = 24;

/// Groups of the rows of a model.
pub enum Groups<'a> {
    /// Groups by the value of a column.
    Rows {
        /// The name of the column.
        by: String,
        /// The distinct values.
        keys: Vec<String>,
        /// For each measured row, the index of its value in `keys`.
        numbers: Vec<u32>,
    },
    /// A sketch for each value of a column.
    Sketches {
        /// The name of the column.
        by: String,
        /// The values, each with the sketch of its rows.
        sketches: Vec<(String, &'a Sketch)>,
    },
}

/// Parts of the predictions, each measured on its own.
#[derive(Debug, Clone)]
pub struct Parts {
    /// `class`, or the name of a column.
    pub by: String,
    /// The worst parts, the worst first.
    pub parts: Vec<Part>,
    /// The number of all parts.
    pub n: usize,
    /// The number of parts with evidence of miscalibration, after adjustment for all parts.
    pub n_found: usize,
    /// The number of resamples of each kind for each part. P-values that may be significant have
    /// more.
    pub n_resamples: u64,
    /// The number of parts that may be significant, but are too many to be looked at more closely.
    pub n_open: usize,
    /// The mean of LS-ECE over classes.
    pub mean: Option<f64>,
    /// How p-values are adjusted.
    pub adjust: Adjust,
}

/// A class or a group.
#[derive(Debug, Clone)]
pub struct Part {
    /// The name of the class or group.
    pub name: String,
    /// The number of rows.
    pub n: u64,
    /// Mean probability and outcome rate.
    pub means: (f64, f64),
    /// LS-ECE, or why it cannot be computed.
    pub ls_ece: Result<Assessment, Error>,
    /// The p-value, adjusted for the number of parts.
    pub p_adjusted: Option<f64>,
    /// The smoothed diagram, for the worst parts.
    pub diagram: Option<Smoothed>,
}

impl Part {
    /// The debiased value of LS-ECE.
    pub fn debiased(&self) -> f64 {
        self.ls_ece.as_ref().map_or(f64::NAN, |assessment| assessment.debiased)
    }

    /// The direction of the errors, if there is evidence of miscalibration at this level.
    pub fn direction(&self, level: f64) -> Option<Direction> {
        self.p_adjusted.filter(|p| *p <= 1.0 - level + 1e-12)?;
        self.ls_ece.as_ref().ok()?.parts.as_ref()?.direction()
    }

    fn p_value(&self) -> Option<f64> {
        self.ls_ece.as_ref().ok()?.floor.as_ref().map(|floor| floor.p_value)
    }
}

/// Each class against the rest, with the automatic sigma of each.
pub(super) fn classes(
    predictions: &Predictions<'_>,
    name: impl Fn(usize) -> String,
    clusters: Option<&[u32]>,
    options: &Options,
) -> Result<Parts, Error> {
    let views: Vec<BinaryView<'_>> = predictions.each_class()?.collect();
    let named = views.iter().enumerate().map(|(class, view)| (name(class), sample_of(view, clusters)));
    let parts = measured("class", &named.collect::<Vec<_>>(), options)?;
    let mean = predictions.estimate(Multiclass::Classwise, Ties::First, &options.ls_ece).ok();
    Ok(Parts { mean: mean.map(|estimate| estimate.value), ..parts })
}

/// Each group, with the automatic sigma of each unless one is given for all.
pub(super) fn groups(
    groups: &Groups<'_>,
    view: Option<&BinaryView<'_>>,
    clusters: Option<&[u32]>,
    options: &Options,
) -> Result<Parts, Error> {
    match (groups, view) {
        (Groups::Sketches { by, sketches }, _) => {
            let named: Vec<_> = sketches.iter().map(|(key, sketch)| (key.clone(), Sample::from(*sketch))).collect();
            measured(by, &named, options)
        }
        (Groups::Rows { by, keys, numbers }, Some(view)) => {
            if numbers.len() != view.len() {
                return Err(Error::LengthMismatch { what: "groups", got: numbers.len(), expected: view.len() });
            }
            let (rows, clusters) = split(view, clusters, numbers, keys.len());
            let checked = rows.iter().map(|rows| checked(view, rows)).collect::<Result<Vec<_>, Error>>()?;
            let views = checked.iter().map(|rows| rows.view(Multiclass::Auto, Ties::First));
            let views = views.collect::<Result<Vec<_>, Error>>()?;
            let sample =
                |place: usize| sample_of(&views[place], clusters.as_ref().map(|clusters| &clusters[place][..]));
            let named: Vec<_> = keys.iter().enumerate().map(|(place, key)| (key.clone(), sample(place))).collect();
            measured(by, &named, options)
        }
        (Groups::Rows { .. }, None) => Err(Error::NoRows),
    }
}

/// The rows of each group, with their clusters.
fn split(
    view: &BinaryView<'_>,
    clusters: Option<&[u32]>,
    numbers: &[u32],
    n_groups: usize,
) -> (Vec<Rows>, Option<Vec<Vec<u32>>>) {
    let mut all = Rows::default();
    view.read(0..view.len(), &mut all);
    let mut groups: Vec<Rows> = (0..n_groups).map(|_| Rows::default()).collect();
    let mut split_clusters = clusters.map(|_| vec![Vec::new(); n_groups]);
    for (row, number) in
        numbers.iter().map(|number| *number as usize).enumerate().filter(|(_, number)| *number < n_groups)
    {
        let group = &mut groups[number];
        if view.scale() == Scale::LogOdds {
            // The logits 0 and s of two classes, whose log-odds are s for any link.
            group.scores.push(0.0);
        }
        group.scores.push(all.scores[row]);
        group.outcomes.push(all.outcomes[row]);
        group.weights.push(all.weights[row]);
        if let (Some(split), Some(clusters)) = (&mut split_clusters, clusters) {
            split[number].push(clusters[row]);
        }
    }
    (groups, split_clusters)
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

/// All parts with adjusted p-values, the worst first; the worst are drawn, with the sigma of their
/// values.
fn measured(by: &str, named: &[(String, Sample<'_>)], options: &Options) -> Result<Parts, Error> {
    let n_requested = options.n_resamples;
    let most = if named.len() > MANY_PARTS { FEWER_RESAMPLES } else { n_requested };
    let options = &Options { n_resamples: n_requested.min(most), ..options.clone() };
    let (candidates, others) = candidates(named, options);
    let part = |(name, sample): &(String, Sample<'_>)| {
        let assess = options.assess(&options.ls_ece).n_tests(options.adjust.n_tests(named.len()));
        let both = || (assess.run(*sample), means(*sample, options));
        // Each of many parts is done on one thread, and needs no others.
        let (ls_ece, means) = if named.len() > MANY_PARTS { on_this_thread(both) } else { both() };
        let means = means?;
        Ok(Part { name: name.clone(), n: sample.n(), means, ls_ece, p_adjusted: None, diagram: None })
    };
    let mut parts = candidates.par_iter().map(part).collect::<Result<Vec<Part>, Error>>()?;
    // The others have so few resamples that those allow no smaller p-value.
    let is_open = |p: &&f64| **p <= 3.0 / (options.n_resamples.min(SCREENING) + 1) as f64;
    let n_open = others.iter().filter(is_open).count();
    let p_values: Vec<f64> = parts.iter().filter_map(Part::p_value).chain(others).collect();
    let adjusted = options.adjust.adjusted(&p_values);
    let is_found = |p: f64| p <= 1.0 - options.level + 1e-12;
    let n_found = adjusted.iter().filter(|p| is_found(**p)).count();
    for (part, p) in parts.iter_mut().filter(|part| part.p_value().is_some()).zip(adjusted) {
        part.p_adjusted = Some(p);
    }
    // Significant parts come first, ordered by value. Others follow by p-value, since the largest
    // values of small parts are chance. Parts without a value come last.
    let badness = |part: &Part| match part.p_adjusted {
        Some(p) if is_found(p) => (3, part.debiased()),
        Some(_) => (2, -part.p_value().unwrap_or(1.0)),
        None if part.ls_ece.is_ok() => (1, part.debiased()),
        None => (0, 0.0),
    };
    let mut ordered: Vec<(Sample<'_>, Part)> = candidates.iter().map(|(_, sample)| *sample).zip(parts).collect();
    ordered.sort_by(|(_, a), (_, b)| {
        let ((kind_a, a), (kind_b, b)) = (badness(a), badness(b));
        kind_b.cmp(&kind_a).then(b.total_cmp(&a))
    });
    let at = places(40);
    ordered.par_iter_mut().take(DRAWN).for_each(|(sample, part)| {
        let sigma = part.ls_ece.as_ref().ok().and_then(|known| known.estimate.settings.number("sigma"));
        part.diagram = sigma.and_then(|sigma| smoothed(*sample, sigma, &at, options).ok());
    });
    let parts = ordered.into_iter().map(|(_, part)| part).collect();
    let (n_resamples, adjust) = (options.n_resamples, options.adjust);
    Ok(Parts { by: by.to_owned(), parts, n: named.len(), n_found, mean: None, n_resamples, n_open, adjust })
}

/// The parts that the page lists, in their order, and the p-values of the others. Of very many
/// parts, only those with the most evidence get an interval and a direction, which take most of
/// the time.
fn candidates<'a>(named: &[(String, Sample<'a>)], options: &Options) -> (Vec<(String, Sample<'a>)>, Vec<f64>) {
    if named.len() <= LISTED {
        return (named.to_vec(), Vec::new());
    }
    let n_resamples = options.n_resamples.min(SCREENING);
    let evidence = |(_, sample): &(String, Sample<'_>)| -> Option<(f64, f64)> {
        let evidence = || sample.evidence(&options.ls_ece, n_resamples, options.random_state);
        let (p_value, above) = on_this_thread(evidence).ok()?;
        Some((p_value, -above))
    };
    let evidence: Vec<Option<(f64, f64)>> = named.par_iter().map(evidence).collect();
    let mut places: Vec<usize> = (0..named.len()).collect();
    // Parts without a value come last.
    let key = |place: usize| evidence[place].unwrap_or((f64::INFINITY, 0.0));
    places.sort_by(|a, b| {
        let ((p_a, z_a), (p_b, z_b)) = (key(*a), key(*b));
        p_a.total_cmp(&p_b).then(z_a.total_cmp(&z_b))
    });
    let others = places.split_off(LISTED).into_iter().filter_map(|place| Some(evidence[place]?.0)).collect();
    places.sort_unstable();
    (places.into_iter().map(|place| named[place].clone()).collect(), others)
}
