//! What is asked and answered by `calipers assess` and `calipers check`: measures with all that is known of them.

use calipers::significance::holm;
use calipers::{Assessment, Error, InputReport};

use crate::assess::significance_args::Significance;
use crate::assess::tests_of_calibration::{Tested, Tests};
use crate::measured::Measured;
use crate::progress::Waiting;
use crate::question::{Asked, Question};
use crate::source::Source;

/// Measures that are assessed; those that refuse the rows do not stand in the way of the others.
pub(crate) struct Assessing<'a> {
    pub(crate) asked: Vec<Asked>,
    pub(crate) significance: Significance,
    pub(crate) tests: Option<Tests>,
    pub(crate) waiting: &'a Waiting,
}

/// The answer to [`Assessing`], in which at least one measure has a figure.
#[derive(Debug)]
pub(crate) struct Assessed {
    pub(crate) n: u64,
    pub(crate) input: InputReport,
    pub(crate) figures: Vec<AssessedFigure>,
    pub(crate) tests: Vec<Tested>,
}

/// A figure with what is known of it, or why there is none.
#[derive(Debug)]
pub(crate) struct AssessedFigure {
    pub(crate) name: &'static str,
    pub(crate) definition: String,
    pub(crate) outcome: Result<Assessment, Error>,
    /// The p-value of a group, adjusted for all groups.
    pub(crate) p_adjusted: Option<f64>,
}

impl Question for Assessing<'_> {
    type Answer = Assessed;

    fn answer(&self, source: &Source<'_>) -> Result<Assessed, Error> {
        let figure = |asked: &Asked| {
            self.waiting.say(asked.name);
            AssessedFigure {
                name: asked.name,
                definition: asked.definition.clone(),
                outcome: source.assess(self.significance.assess(asked.estimator())),
                p_adjusted: None,
            }
        };
        let figures: Vec<AssessedFigure> = self.asked.iter().map(figure).collect();
        let answered = figures.iter().find_map(|figure| figure.outcome.as_ref().ok());
        let refused = figures.iter().find_map(|figure| figure.outcome.as_ref().err());
        let (n, input) = match (answered, refused) {
            (Some(Assessment { estimate, .. }), _) => (estimate.n, estimate.input.clone()),
            (None, Some(refused)) => return Err(refused.clone()),
            (None, None) => return Err(Error::NoRows),
        };
        let tests = self.tests.as_ref().map_or_else(Vec::new, |tests| {
            self.waiting.say("tests");
            tests.run(source, self.significance.n_resamples, self.significance.seed)
        });
        Ok(Assessed { n, input, figures, tests })
    }

    fn for_groups(&self, all: &Assessed, _n_groups: usize) -> Self {
        let asked = self.asked.iter().zip(&all.figures).map(|(asked, figure)| {
            let of_all = figure.outcome.as_ref().ok().map(|assessment| &assessment.estimate);
            asked.at_sigma_of(of_all)
        });
        Assessing {
            asked: asked.collect(),
            significance: self.significance.clone(),
            tests: self.tests.clone(),
            waiting: self.waiting,
        }
    }
}

impl AssessedFigure {
    /// Of "a calibrated model shows as much".
    pub(crate) fn p_value(&self) -> Option<f64> {
        self.outcome.as_ref().ok().and_then(|assessment| assessment.floor.as_ref()).map(|floor| floor.p_value)
    }
}

/// Whether a sketch can be assessed for these.
pub(crate) fn sketch_is_enough<'a>(mut asked: impl Iterator<Item = &'a Asked>) -> bool {
    asked.all(|asked| ["ls_ece", "expected_calibration_error"].contains(&asked.name))
}

/// Adjusts the p-values of groups, measure by measure, for as many groups as a model has.
pub(crate) fn adjust_for_groups(results: &mut [Measured<Assessed>]) {
    let is_group = |measured: &Measured<Assessed>| measured.group.as_ref().is_some_and(|group| group.key.is_some());
    // The line of all rows begins those of a model.
    for of_model in results.chunk_by_mut(|_, next| is_group(next)) {
        let n_measures = of_model.first().map_or(0, |measured| measured.figures.figures.len());
        for place in 0..n_measures {
            let mut groups: Vec<&mut AssessedFigure> = of_model
                .iter_mut()
                .filter(|measured| is_group(measured))
                .map(|measured| &mut measured.figures.figures[place])
                .filter(|figure| figure.p_value().is_some())
                .collect();
            let p_values: Vec<f64> = groups.iter().filter_map(|figure| figure.p_value()).collect();
            groups.iter_mut().zip(holm(&p_values)).for_each(|(figure, p)| figure.p_adjusted = Some(p));
        }
    }
}
