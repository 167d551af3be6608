//! The table of measures: LS-ECE, its residual form and ECE with all that is known of them, others
//! beside.

use calipers::measure::{Cost, FromSketch};
use calipers::{
    Assess, Assessment, BrierScore, CumulativeCalibrationError, Error, Estimate, Measure, Sample, SmoothEce, Spec,
};

use super::Options;

/// So many rows in all draws of a measure that is asked again for each: some seconds.
const MOST_DRAWN_ROWS: u64 = 4_000_000;

/// A measure of a model.
#[derive(Debug, Clone)]
pub struct Measured {
    /// What it is.
    pub spec: &'static Spec,
    /// What is known of it.
    pub outcome: Outcome,
}

/// What is known of a measure.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// All of it.
    Assessed(Box<Assessment>),
    /// Its value alone, and why no more.
    Value(Box<Estimate>, String),
    /// Why there is none.
    Refused(Error),
}

impl Measured {
    /// Its value with the settings that made it.
    pub fn estimate(&self) -> Option<&Estimate> {
        match &self.outcome {
            Outcome::Assessed(assessment) => Some(&assessment.estimate),
            Outcome::Value(estimate, _) => Some(estimate),
            Outcome::Refused(_) => None,
        }
    }

    /// What is known of it, where all is.
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

/// LS-ECE must have an answer; `assessment` is that of it, where models were compared. `drawn` may
/// stand for the rows.
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
    // The form that decides is under what it decides.
    let mut all: Vec<Measured> =
        [Some(ls_ece), residual.map(|residual| *residual)].into_iter().flatten().map(assessed).collect();
    let ece = options.assess(&options.ece);
    // A sketch has exact bins, and resamples of it cost the same for any number of rows.
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
            // The page says that it is made from a sketch: what that does not know need not be
            // refused one by one.
            (true, _) if spec.from_sketch == FromSketch::Nothing => continue,
            (true, _) => value_of(sample, &**other, "its resamples need the rows".to_owned()),
            (false, Cost::Slow) => {
                let why = format!("its draws take minutes; calipers assess --measure {} has them", spec.name);
                value_of(sample, &**other, why)
            }
            (false, _) if !few => value_of(sample, &**other, "too many rows to draw it again and again".to_owned()),
            (false, _) => match options.assess(&**other).run(sample) {
                Ok(assessment) => assessed(assessment),
                Err(refusal) => Measured { spec, outcome: Outcome::Refused(refusal) },
            },
        });
    }
    Ok(all)
}

fn value_of(sample: Sample<'_>, measure: &dyn Measure, why: String) -> Measured {
    let outcome = match sample.estimate(measure) {
        Ok(estimate) => Outcome::Value(Box::new(estimate), why),
        Err(refusal) => Outcome::Refused(refusal),
    };
    Measured { spec: measure.spec(), outcome }
}
