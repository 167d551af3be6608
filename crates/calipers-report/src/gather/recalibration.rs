//! Recalibration: whether a map would help on new rows, and which one.

use calipers::recalibrate::{
    BinaryMap, CrossFit, Fit, GainFloor, GainInterval, Improvement, Method, Parameter, Recalibrate, Verdict,
};
use calipers::{Error, Multiclass, Predictions, Sample};

use super::reliability::places;
use super::{Options, Source};

/// The largest number of draws for the test of whether there is anything to fix.
const MOST_RESAMPLES: u64 = 499;

/// Rows are held out in five parts at least.
const LEAST_ROWS: u64 = 5;

/// What recalibration would change.
#[derive(Debug, Clone)]
pub enum Recalibration {
    /// The verdict with the map.
    Done(Box<Recalibrated>),
    /// Why there is none, as the end of a sentence.
    Not(String),
}

/// A recalibration map with the verdict on it.
#[derive(Debug, Clone)]
pub struct Recalibrated {
    /// The family of the map.
    pub method: Method,
    /// Whether it helps, in a word.
    pub verdict: Verdict,
    /// The verdict in sentences, with the numbers that it rests on.
    pub sentence: String,
    /// Mean log-loss as the predictions are.
    pub log_loss_before: f64,
    /// Mean log-loss out of fold: each row is mapped by a fit to other rows.
    pub log_loss_after: f64,
    /// Before less after.
    pub gain: f64,
    /// For the gain of the map on new rows.
    pub interval: GainInterval,
    /// The test of whether there is anything to fix.
    pub floor: Option<GainFloor>,
    /// The parameters of the map that is fitted to all rows.
    pub parameters: Vec<Parameter>,
    /// Remarks about the fit, in sentences.
    pub notes: Vec<String>,
    /// The share of the weight whose top class changes.
    pub top_class_changed: f64,
    /// Folds that were held out in turn.
    pub n_folds: usize,
    /// The map of a binary outcome, at points for a chart.
    pub map: Option<MapCurve>,
}

/// A map with its pointwise band.
#[derive(Debug, Clone)]
pub struct MapCurve {
    /// Predicted probabilities, ascending.
    pub probabilities: Vec<f64>,
    /// The recalibrated probability of each.
    pub recalibrated: Vec<f64>,
    /// The lower end of the interval of each.
    pub lower: Vec<f64>,
    /// The upper end of the interval of each.
    pub upper: Vec<f64>,
}

/// The verdict on beta calibration of a binary outcome, or on temperature scaling of classes.
pub(super) fn gather(source: &Source<'_>, sample: Sample<'_>, n_places: usize, options: &Options) -> Recalibration {
    let Some(view) = sample.view() else {
        return Recalibration::Not("it needs the rows, and a sketch does not have them".to_owned());
    };
    if sample.n() < LEAST_ROWS {
        return Recalibration::Not(format!("it needs {LEAST_ROWS} rows or more"));
    }
    if view.scale() == calipers::Scale::Link && options.link.name() != "logistic" {
        return Recalibration::Not(format!("raw scores with the link {} have no logits", options.link.name()));
    }
    let found = match classes(source) {
        Some(_) if sample.has_clusters() => {
            return Recalibration::Not("the verdict on classes does not account for clusters".to_owned());
        }
        Some(predictions) => of_classes(predictions, options),
        None => of_outcome(sample, n_places, options),
    };
    match found {
        Ok(found) => Recalibration::Done(Box::new(found)),
        // What all rows have can be missing from the rest while some are held out.
        Err(error) if classes(source).is_none() && Recalibrate::new(Method::Beta).fit(sample).is_ok() => {
            Recalibration::Not(format!("rows are held out in turn, and the others do not suffice: {error}"))
        }
        Err(error) => Recalibration::Not(error.to_string()),
    }
}

/// The rows of classes, if these are recalibrated together.
fn classes<'s>(source: &'s Source<'_>) -> Option<&'s Predictions<'s>> {
    let Source::Rows { predictions, multiclass, .. } = source else { return None };
    let is_one_class = matches!(multiclass, Multiclass::Class(_));
    (predictions.n_classes() > 2 && !is_one_class).then_some(*predictions)
}

fn of_outcome(sample: Sample<'_>, n_places: usize, options: &Options) -> Result<Recalibrated, Error> {
    let found = cross_fit(Method::Beta, options).run(sample)?;
    let map = MapCurve::new(&found.fit, places(n_places), options.level);
    Ok(Recalibrated { map, ..Recalibrated::new(&found) })
}

fn of_classes(predictions: &Predictions<'_>, options: &Options) -> Result<Recalibrated, Error> {
    Ok(Recalibrated::new(&cross_fit(Method::Temperature, options).run_classes(predictions)?))
}

fn cross_fit(method: Method, options: &Options) -> CrossFit {
    CrossFit::new(Recalibrate::new(method))
        .level(options.level)
        .n_resamples(options.n_resamples.min(MOST_RESAMPLES))
        .random_state(options.random_state)
}

impl Recalibrated {
    fn new<M>(found: &Improvement<M>) -> Self {
        Recalibrated {
            method: found.fit.method,
            verdict: found.verdict,
            sentence: found.sentence(),
            log_loss_before: found.log_loss_before,
            log_loss_after: found.log_loss_after,
            gain: found.gain,
            interval: found.interval,
            floor: found.floor,
            parameters: found.fit.parameters.clone(),
            notes: found.fit.notes.iter().map(ToString::to_string).collect(),
            top_class_changed: found.top_class_changed,
            n_folds: found.n_folds,
            map: None,
        }
    }
}

impl MapCurve {
    /// `None` for a map whose uncertainty is not known.
    fn new(fit: &Fit<BinaryMap>, at: Vec<f64>, level: f64) -> Option<Self> {
        let bands: Option<Vec<_>> = at.iter().map(|p| fit.band(fit.map.logit_of(*p), level)).collect();
        let bands = bands?;
        Some(MapCurve {
            recalibrated: bands.iter().map(|band| band.value).collect(),
            lower: bands.iter().map(|band| band.lower).collect(),
            upper: bands.iter().map(|band| band.upper).collect(),
            probabilities: at,
        })
    }
}
