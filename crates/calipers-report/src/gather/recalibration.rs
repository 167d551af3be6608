//! Recalibration: whether a map would help on new rows, and which one.

use calipers::recalibrate::{
    BinaryMap, Choice, Choose, CrossFit, Fit, GainFloor, GainInterval, Improvement, Left, Map, MapFile, Method,
    Parameter, Recalibrate, Verdict,
};
use calipers::{BinaryView, Error, Input, LsCurve, Multiclass, Predictions, Sample, Ties};

use super::reliability::{curve, places};
use super::{MANY, Options, Source, sketch_of};

/// The largest number of draws for the test of whether there is anything to fix.
const MOST_RESAMPLES: u64 = 499;

/// Rows are held out in five parts at least.
const LEAST_ROWS: u64 = 5;

/// With more probabilities of classes than this, none are kept for the curve after recalibration.
const MOST_SCORES: usize = 1 << 24;

/// With more probabilities of classes than this, rows are held out in two parts.
const MANY_SCORES: usize = 1 << 20;

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
    /// LS-ECE before and after, out of fold.
    pub left: Option<Left>,
    /// The smoothed curve after recalibration, out of fold, at the sigma and the places of that
    /// before; and about how many rows are within one sigma of each of its points.
    pub after: Option<(LsCurve, Vec<f64>)>,
    /// The map of a binary outcome, at points for a chart.
    pub curve: Option<MapCurve>,
    /// The candidates of which the method was chosen; empty if there was no choice.
    pub candidates: Vec<Candidate>,
    /// The map with its fit and its gain, as `calipers recalibrate` reads it.
    pub file: String,
}

/// A map with its pointwise band.
#[derive(Debug, Clone)]
pub struct MapCurve {
    /// Predicted probabilities, ascending.
    pub probabilities: Vec<f64>,
    /// The recalibrated probability of each.
    pub recalibrated: Vec<f64>,
    /// The lower end of the interval of each; empty if the uncertainty is not known.
    pub lower: Vec<f64>,
    /// The upper end of the interval of each.
    pub upper: Vec<f64>,
}

/// A method that was tried.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Mean log-loss out of fold; `None` if it has no fit.
    pub log_loss: Option<f64>,
}

/// What is computed beside a diagram: its sigma, and its number of points.
pub(super) struct Drawn {
    pub(super) sigma: f64,
    pub(super) n_places: usize,
}

/// The verdict on beta calibration of a binary outcome, or on temperature scaling of classes.
pub(super) fn gather(source: &Source<'_>, sample: Sample<'_>, drawn: &Drawn, options: &Options) -> Recalibration {
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
        Some((predictions, ties)) => of_classes(predictions, ties, drawn, options),
        None => of_outcome(sample, view, drawn, options),
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
fn classes<'s>(source: &'s Source<'_>) -> Option<(&'s Predictions<'s>, Ties)> {
    let Source::Rows { predictions, multiclass, ties, .. } = source else { return None };
    let is_one_class = matches!(multiclass, Multiclass::Class(_));
    (predictions.n_classes() > 2 && !is_one_class).then_some((*predictions, *ties))
}

fn of_outcome(
    sample: Sample<'_>,
    view: &BinaryView<'_>,
    drawn: &Drawn,
    options: &Options,
) -> Result<Recalibrated, Error> {
    // A choice takes a hundred fits. With many rows, half of them give the same map as nine tenths.
    if sample.n() > MANY as u64 {
        let mut found = cross_fit(Method::Beta, options).n_folds(2).run(sample)?;
        let (after, curve) = drawn.curves(view, &found, options)?;
        return Ok(Recalibrated { after: Some(after), curve: Some(curve), ..Recalibrated::new(&mut found) });
    }
    let choose = Choose::new().level(options.level).n_resamples(options.n_resamples.min(MOST_RESAMPLES));
    let mut choice = choose.random_state(options.random_state).left(true).run(sample)?;
    let candidates = candidates(&choice);
    if choice.chosen == Method::Identity {
        choice.improvement.left = None;
        let sentence = choice.sentence();
        return Ok(Recalibrated { candidates, sentence, ..Recalibrated::new(&mut choice.improvement) });
    }
    let (after, curve) = drawn.curves(view, &choice.improvement, options)?;
    let found = Recalibrated::new(&mut choice.improvement);
    Ok(Recalibrated { after: Some(after), curve: Some(curve), candidates, ..found })
}

fn candidates<M>(choice: &Choice<M>) -> Vec<Candidate> {
    choice.table.iter().map(|each| Candidate { name: each.name.clone(), log_loss: each.loss }).collect()
}

fn of_classes(
    predictions: &Predictions<'_>,
    ties: Ties,
    drawn: &Drawn,
    options: &Options,
) -> Result<Recalibrated, Error> {
    let n_classes = predictions.n_classes();
    let is_kept = predictions.len() * n_classes <= MOST_SCORES;
    let cross_fit = cross_fit(Method::Temperature, options).out_of_fold(is_kept);
    // With many scores, half of the rows give the same temperature as nine tenths.
    let is_many = predictions.len() > MANY || predictions.len() * n_classes > MANY_SCORES;
    let cross_fit = if is_many { cross_fit.n_folds(2) } else { cross_fit };
    let mut found = cross_fit.run_classes(predictions)?;
    let mut after = None;
    if is_kept {
        let rows = predictions.distributions()?;
        let labels: Vec<u32> = (0..rows.len()).map(|row| rows.label(row) as u32).collect();
        let weights = rows.scaled_weights()?;
        let input = Input::probabilities(&found.out_of_fold[..], &labels[..]).classes(n_classes).weights(&weights[..]);
        after = Some(drawn.curve(&input.check()?.top_class(ties)?, options)?);
    }
    Ok(Recalibrated { after, ..Recalibrated::new(&mut found) })
}

impl Drawn {
    /// The curve after recalibration, out of fold, and that of the map.
    fn curves(
        &self,
        view: &BinaryView<'_>,
        found: &Improvement,
        options: &Options,
    ) -> Result<((LsCurve, Vec<f64>), MapCurve), Error> {
        let mut rows = calipers::Rows::default();
        view.read(0..view.len(), &mut rows);
        let after = Input::probabilities(&found.out_of_fold[..], &rows.outcomes[..]).weights(&rows.weights[..]);
        let map = MapCurve::new(&found.fit, places(self.n_places), options.level);
        Ok((self.curve(&after.check()?.binary()?, options)?, map))
    }

    /// The curve of some rows, with the rows near its points.
    fn curve(&self, view: &BinaryView<'_>, options: &Options) -> Result<(LsCurve, Vec<f64>), Error> {
        let sample = Sample::from(view);
        let sketch = sketch_of(sample, options);
        let sample = sketch.as_ref().map_or(sample, Sample::from);
        let found = curve(sample, self.sigma, &places(self.n_places), options)?;
        let rows_nearby = found.rows_within_sigma(&*options.link);
        Ok((found, rows_nearby))
    }
}

fn cross_fit(method: Method, options: &Options) -> CrossFit {
    CrossFit::new(Recalibrate::new(method))
        .level(options.level)
        .n_resamples(options.n_resamples.min(MOST_RESAMPLES))
        .random_state(options.random_state)
        .left(true)
}

impl Recalibrated {
    /// All but the curves. What is left has a sentence of its own.
    fn new<M: Clone + Into<Map>>(found: &mut Improvement<M>) -> Self {
        let file = MapFile::new(found.fit.map.clone()).fit(&found.fit).improvement(&*found);
        let left = found.left.take();
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
            left,
            after: None,
            curve: None,
            candidates: Vec::new(),
            file: file.to_json(),
        }
    }
}

impl MapCurve {
    fn new(fit: &Fit<BinaryMap>, at: Vec<f64>, level: f64) -> Self {
        let bands: Option<Vec<_>> = at.iter().map(|p| fit.band(fit.map.logit_of(*p), level)).collect();
        let bands = bands.unwrap_or_default();
        MapCurve {
            recalibrated: at.iter().map(|p| fit.map.apply_probability(*p)).collect(),
            lower: bands.iter().map(|band| band.lower).collect(),
            upper: bands.iter().map(|band| band.upper).collect(),
            probabilities: at,
        }
    }
}
