//! The table of measures: LS-ECE, its residual form and ECE with floor and interval, and other
//! measures.

use calipers::measure::FromSketch;
use calipers::{
    Assess, Assessment, BrierScore, CumulativeCalibrationError, Error, Estimate, Measure, Sample, SmoothEce, Spec,
};

use super::Options;

/// The largest number of rows, over all resamples, that a measure is computed on where each row is
/// drawn: this takes some seconds. smECE, which takes milliseconds also for few rows, has fewer.
const MOST_DRAWN_ROWS: u64 = 4_000_000;
const MOST_DRAWN_ROWS_IF_SLOW: u64 = 400_000;
const MOST_RESAMPLES_IF_SLOW: u64 = 200;

/// With fewer resamples than this, a measure has a value alone.
const LEAST_RESAMPLES: u64 = 100;

/// Why that is so.
const TAKES_LONG: &str = "resamples of so many rows take long";

/// A measure of a model.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The measure.
    pub spec: &'static Spec,
    /// The result.
    pub outcome: Outcome,
}

/// The result of a measure.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The value with its floor and interval.
    Assessed(Box<Assessment>),
    /// The value alone, and why there is no floor and interval.
    Value(Box<Estimate>, String),
    /// Why there is no value.
    Error(Error),
}

impl Measured {
    /// The value with its settings.
    pub fn estimate(&self) -> Option<&Estimate> {
        match &self.outcome {
            Outcome::Assessed(assessment) => Some(&assessment.estimate),
            Outcome::Value(estimate, _) => Some(estimate),
            Outcome::Error(_) => None,
        }
    }

    /// The value with its floor and interval, if there are any.
    pub fn assessment(&self) -> Option<&Assessment> {
        match &self.outcome {
            Outcome::Assessed(assessment) => Some(assessment),
            _ => None,
        }
    }
}

impl Options {
    pub(super) fn assess<'a>(&self, measure: &'a dyn Measure) -> Assess<'a> {
        Assess::new(measure).level(self.level).n_resamples(self.n_resamples).random_state(self.random_state)
    }
}

/// All measures of a model. `assessment` is that of LS-ECE, if models were compared; `drawn` is the
/// sample of the charts. Without a value of LS-ECE there is no report.
pub(super) fn gather(
    sample: Sample<'_>,
    drawn: Sample<'_>,
    options: &Options,
    assessment: Option<Assessment>,
) -> Result<Vec<Measured>, Error> {
    let ls_ece = match assessment {
        Some(assessment) => assessment,
        None => options.assess(&options.ls_ece).run(sample)?,
    };
    let assessed =
        |found: Assessment| Measured { spec: found.estimate.spec, outcome: Outcome::Assessed(Box::new(found)) };
    let residual = ls_ece.residual.clone();
    // The residual form, which decides the verdict, comes right after LS-ECE.
    let mut all: Vec<Measured> =
        [Some(ls_ece), residual.map(|residual| *residual)].into_iter().flatten().map(assessed).collect();
    let ece = options.assess(&options.ece);
    // A sketch has exact bins, and its resamples cost the same for any number of rows.
    let ece = if sample.has_clusters() { ece.run(sample) } else { ece.run(drawn).or_else(|_| ece.run(sample)) };
    all.push(match ece {
        Ok(assessment) => assessed(assessment),
        Err(_) => value_of(sample, &options.ece, "resamples need the rows".to_owned()),
    });
    let link = || options.link.clone();
    let others: [Box<dyn Measure>; 3] = [
        Box::new(SmoothEce::new().link(link())),
        Box::new(CumulativeCalibrationError::new().link(link())),
        Box::new(BrierScore::new().link(link())),
    ];
    for other in &others {
        let spec = other.spec();
        let of_rows = resamples_of_rows(sample, &**other, options);
        let takes_long = of_rows < LEAST_RESAMPLES.min(options.n_resamples);
        // What is drawn otherwise than row by row has as many resamples as requested.
        let may_draw_rows = sample.view().is_none() || sample.has_clusters();
        let assess = options.assess(&**other);
        let assess = if may_draw_rows { assess.n_resamples(of_rows) } else { assess.n_resamples_of_rows(of_rows) };
        all.push(match sample.is_sketch() {
            // The page states that it comes from a sketch, so there is no error for each measure.
            true if spec.from_sketch == FromSketch::Nothing => continue,
            true => value_of(sample, &**other, "resamples need the rows".to_owned()),
            false if takes_long && may_draw_rows => value_of(sample, &**other, TAKES_LONG.to_owned()),
            false => match assess.run(sample) {
                Ok(assessment) => assessed(assessment),
                Err(_) if takes_long => value_of(sample, &**other, TAKES_LONG.to_owned()),
                Err(_) => value_of(sample, &**other, "there are too few resamples for its interval".to_owned()),
            },
        });
    }
    Ok(all)
}

/// As many resamples as requested, or fewer for many rows if each of them is drawn; 0 where they
/// would be too few.
fn resamples_of_rows(sample: Sample<'_>, measure: &dyn Measure, options: &Options) -> u64 {
    let is_slow = measure.spec().name == SmoothEce::NAME;
    let most = if is_slow { MOST_DRAWN_ROWS_IF_SLOW } else { MOST_DRAWN_ROWS };
    let most_resamples = if is_slow { MOST_RESAMPLES_IF_SLOW } else { options.n_resamples };
    // Each of two kinds of resamples.
    let found = options.n_resamples.min(most_resamples).min(most / (2 * sample.n()).max(1));
    if found < LEAST_RESAMPLES.min(options.n_resamples) { 0 } else { found }
}

fn value_of(sample: Sample<'_>, measure: &dyn Measure, why: String) -> Measured {
    let outcome = match sample.estimate(measure) {
        Ok(estimate) => Outcome::Value(Box::new(estimate), why),
        Err(error) => Outcome::Error(error),
    };
    Measured { spec: measure.spec(), outcome }
}
