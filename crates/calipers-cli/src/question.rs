//! What is asked of predictions, of rows and of sketches alike.

use std::sync::Arc;

use calipers::{BinnedEce, Error, Estimate, Estimator, InputReport, LsEce};

/// One or more measures of the same rows.
pub(crate) trait Question: Sync + Sized {
    type Answer: Send;

    /// The figures, where `ask` gives that of one measure.
    fn answer(&self, ask: &dyn Fn(&dyn Estimator) -> Result<Estimate, Error>) -> Result<Self::Answer, Error>;

    /// The question for groups of the rows that gave this answer: at the sigma of all, since what is compared has one.
    fn at_sigma_of(&self, all: &Self::Answer) -> Self;
}

/// LS-ECE and ECE: what is asked unless measures are named. Both must have an answer.
pub(crate) struct LsEceAndEce {
    pub(crate) ls_ece: LsEce,
    pub(crate) ece: BinnedEce,
}

/// The answer to [`LsEceAndEce`].
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) ls_ece: Estimate,
    pub(crate) ece: Estimate,
}

impl Question for LsEceAndEce {
    type Answer = Figures;

    fn answer(&self, ask: &dyn Fn(&dyn Estimator) -> Result<Estimate, Error>) -> Result<Figures, Error> {
        Ok(Figures { ls_ece: ask(&self.ls_ece)?, ece: ask(&self.ece)? })
    }

    fn at_sigma_of(&self, all: &Figures) -> Self {
        LsEceAndEce { ls_ece: at_sigma_of(&self.ls_ece, &all.ls_ece), ece: self.ece.clone() }
    }
}

/// Measures by name, at least one; those that refuse the rows do not stand in the way of the others.
pub(crate) struct Named(pub(crate) Vec<Asked>);

/// A measure that was asked for by name.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) name: &'static str,
    /// What it is with the options in force, in one line.
    pub(crate) definition: String,
    pub(crate) measure: Measure,
}

/// LS-ECE is apart, since its sigma may be set.
#[derive(Clone)]
pub(crate) enum Measure {
    LsEce(LsEce),
    Other(Arc<dyn Estimator>),
}

/// The answer to [`Named`], in which at least one measure has a figure.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) n: u64,
    pub(crate) input: InputReport,
    pub(crate) figures: Vec<Figure>,
}

/// A figure or why there is none.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) definition: String,
    pub(crate) outcome: Result<Estimate, Error>,
}

impl Question for Named {
    type Answer = Answers;

    fn answer(&self, ask: &dyn Fn(&dyn Estimator) -> Result<Estimate, Error>) -> Result<Answers, Error> {
        let figure = |asked: &Asked| Figure {
            name: asked.name,
            definition: asked.definition.clone(),
            outcome: match &asked.measure {
                Measure::LsEce(measure) => ask(measure),
                Measure::Other(measure) => ask(&**measure),
            },
        };
        let figures: Vec<Figure> = self.0.iter().map(figure).collect();
        let answered = figures.iter().find_map(|figure| figure.outcome.as_ref().ok());
        let refused = figures.iter().find_map(|figure| figure.outcome.as_ref().err());
        match (answered, refused) {
            (Some(estimate), _) => Ok(Answers { n: estimate.n, input: estimate.input.clone(), figures }),
            (None, Some(refused)) => Err(refused.clone()),
            (None, None) => Err(Error::NoRows),
        }
    }

    fn at_sigma_of(&self, all: &Answers) -> Self {
        let asked = self.0.iter().zip(&all.figures).map(|(asked, figure)| match (&asked.measure, &figure.outcome) {
            (Measure::LsEce(ls_ece), Ok(of_all)) => {
                Asked { measure: Measure::LsEce(at_sigma_of(ls_ece, of_all)), ..asked.clone() }
            }
            _ => asked.clone(),
        });
        Named(asked.collect())
    }
}

fn at_sigma_of(ls_ece: &LsEce, all: &Estimate) -> LsEce {
    match all.settings.number("sigma") {
        Some(sigma) => ls_ece.clone().sigma(sigma),
        None => ls_ece.clone(),
    }
}
