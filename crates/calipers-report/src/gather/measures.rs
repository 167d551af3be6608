//! The table of measures: LS-ECE, its residual form and ECE with all that is known of them, others beside.

use calipers::{Assess, Assessment, Error, Estimate, Estimator, catalogue};

use super::Options;
use super::subject::Subject;

/// Shown below LS-ECE and ECE, and whether they are drawn again and again: smECE takes milliseconds for each draw, however few the rows.
const OTHERS: [(&str, bool); 3] = [("smooth_ece", false), ("ecce_r", true), ("brier_score", true)];

/// So many rows in all draws of a measure that is asked again for each: some seconds.
const MOST_DRAWN_ROWS: u64 = 4_000_000;

/// A measure of a model.
#[derive(Debug, Clone)]
pub struct Measure {
    /// Its name in the list of all measures.
    pub name: &'static str,
    /// What it is, in one line.
    pub definition: &'static str,
    /// What is known of it.
    pub outcome: Outcome,
}

/// What is known of a measure.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// All of it.
    Assessed(Box<Assessment>),
    /// Its value alone, and why no more.
    Value(Box<Estimate>, &'static str),
    /// Why there is none.
    Refused(Error),
}

impl Measure {
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
    pub(super) fn assess<'a>(&self, measure: &'a dyn Estimator) -> Assess<'a> {
        Assess::new(measure).level(self.level).n_resamples(self.n_resamples).seed(self.seed)
    }
}

/// LS-ECE must have an answer; `assessment` is that of it, where models were compared. `drawn` may stand for the rows.
pub(super) fn gather(
    subject: &Subject<'_>,
    drawn: &Subject<'_>,
    options: &Options,
    assessment: Option<Assessment>,
) -> Result<Vec<Measure>, Error> {
    let ls_ece = match assessment {
        Some(assessment) => assessment,
        None => subject.assess(options.assess(&options.ls_ece))?,
    };
    let residual = ls_ece.residual.clone();
    let mut all = vec![measure("ls_ece", Outcome::Assessed(Box::new(ls_ece)))];
    // The form that decides, under what it decides.
    all.extend(residual.map(|residual| measure("residual_ls_ece", Outcome::Assessed(residual))));
    let clustered = matches!(subject, Subject::Rows { clusters: Some(_), .. });
    let ece = match clustered {
        true => subject.assess(options.assess(&options.ece)),
        // A sketch has exact bins, and resamples of it cost the same for any number of rows.
        false => drawn.assess(options.assess(&options.ece)).or_else(|_| subject.assess(options.assess(&options.ece))),
    };
    let ece = match ece {
        Ok(assessment) => Outcome::Assessed(Box::new(assessment)),
        Err(_) => value_of(subject, &options.ece, "its resamples need the rows"),
    };
    all.push(measure("expected_calibration_error", ece));
    for (name, is_quick) in OTHERS {
        let other = catalogue::by_name(name, options.link.clone())?;
        let few = subject.n().saturating_mul(2 * options.n_resamples) <= MOST_DRAWN_ROWS;
        let outcome = match (subject, few) {
            (Subject::Rows { .. }, _) if !is_quick => {
                value_of(subject, &*other, "its draws take minutes; calipers assess --measure smooth_ece has them")
            }
            (Subject::Sketch(_), _) => match value_of(subject, &*other, "its resamples need the rows") {
                // The page says that it is made from a sketch: what that does not know need not be refused one by one.
                Outcome::Refused(_) => continue,
                known => known,
            },
            (Subject::Rows { .. }, false) => value_of(subject, &*other, "too many rows to draw it again and again"),
            (Subject::Rows { .. }, true) => match subject.assess(options.assess(&*other)) {
                Ok(assessment) => Outcome::Assessed(Box::new(assessment)),
                Err(refusal) => Outcome::Refused(refusal),
            },
        };
        all.push(measure(name, outcome));
    }
    Ok(all)
}

fn value_of(subject: &Subject<'_>, measure: &dyn Estimator, why: &'static str) -> Outcome {
    match subject.estimate(measure) {
        Ok(estimate) => Outcome::Value(Box::new(estimate), why),
        Err(refusal) => Outcome::Refused(refusal),
    }
}

fn measure(name: &'static str, outcome: Outcome) -> Measure {
    let listed = catalogue::ALL.iter().find(|listed| listed.name == name);
    Measure { name, definition: listed.map_or("", |listed| listed.definition), outcome }
}
