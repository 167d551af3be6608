//! The table of measures: LS-ECE, its residual form and ECE with floor and interval, and other
//! measures.

use calipers::measure::{Cost, FromSketch};
use calipers::{
    Assess, Assessment, BrierScore, CumulativeCalibrationError, Error, Estimate, Measure, Sample, SmoothEce, Spec,
};

use super::Options;

/// The largest number of rows, over all resamples, that a measure without a faster way is computed
/// on: this takes some seconds.
const MOST_DRAWN_ROWS: u64 = 4_000_000;

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
        Err(_) => value_of(sample, &options.ece, "its resamples need the rows".to_owned()),
    });
    let link = || options.link.clone();
    let others: [Box<dyn Measure>; 3] = [
        Box::new(SmoothEce::new().link(link())),
        Box::new(CumulativeCalibrationError::new().link(link())),
        Box::new(BrierScore::new().link(link())),
    ];
    for other in &others {
        let few = sample.n().saturating_mul(2 * options.n_resamples) <= MOST_DRAWN_ROWS;
        let spec = other.spec();
        all.push(match (sample.is_sketch(), spec.cost) {
            // The page states that it comes from a sketch, so there is no error for each measure.
            (true, _) if spec.from_sketch == FromSketch::Nothing => continue,
            (true, _) => value_of(sample, &**other, "its resamples need the rows".to_owned()),
            (false, Cost::Slow) => {
                let command = format!("calipers assess --measure {} computes them", spec.name);
                value_of(sample, &**other, format!("its resamples take minutes; {command}"))
            }
            (false, _) if !few => value_of(sample, &**other, "there are too many rows for its resamples".to_owned()),
            (false, _) => match options.assess(&**other).run(sample) {
                Ok(assessment) => assessed(assessment),
                Err(error) => Measured { spec, outcome: Outcome::Error(error) },
            },
        });
    }
    Ok(all)
}

fn value_of(sample: Sample<'_>, measure: &dyn Measure, why: String) -> Measured {
    let outcome = match sample.estimate(measure) {
        Ok(estimate) => Outcome::Value(Box::new(estimate), why),
        Err(error) => Outcome::Error(error),
    };
    Measured { spec: measure.spec(), outcome }
}
