//! The analysis of `calipers assess` and `calipers check`: measures with all that is known of them.

use calipers::inference::holm;
use calipers::measure::FromSketch;
use calipers::{Assessment, Error, Estimate, InputReport, Sample};

use crate::args::significance::Significance;
use crate::commands::analysis::measures::{Analysis, Selected};
use crate::commands::assess::tests_of_calibration::{Tested, Tests};
use crate::dataset::model::Measured;
use crate::progress::Waiting;

/// Measures that are assessed; those that refuse the rows do not stand in the way of the others.
pub(crate) struct Assessing<'a> {
    pub(crate) selected: Vec<Selected>,
    pub(crate) significance: Significance,
    pub(crate) tests: Option<Tests>,
    /// Whether the rows are a group of others: one that has too few clusters does not stand in the
    /// way of the others.
    pub(crate) of_group: bool,
    pub(crate) waiting: &'a Waiting,
}

/// The output of [`Assessing`], in which at least one measure has a figure.
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
    /// The figure alone, where a group has too few clusters to say more; the outcome says so then.
    pub(crate) alone: Option<Estimate>,
    /// The p-value of a group, adjusted for all groups.
    pub(crate) p_adjusted: Option<f64>,
}

impl Analysis for Assessing<'_> {
    type Output = Assessed;

    fn run(&self, sample: Sample<'_>) -> Result<Assessed, Error> {
        let figure = |selected: &Selected| {
            self.waiting.say(selected.name());
            let outcome = self.significance.assess(&*selected.measure).run(sample);
            let alone = outcome.as_ref().err().filter(|error| self.of_group && is_few_clusters(error));
            AssessedFigure {
                name: selected.name(),
                definition: selected.definition.clone(),
                alone: alone.and_then(|_| sample.estimate(&*selected.measure).ok()),
                outcome,
                p_adjusted: None,
            }
        };
        let figures: Vec<AssessedFigure> = self.selected.iter().map(figure).collect();
        let answered = figures.iter().find_map(AssessedFigure::estimate);
        let refused = figures.iter().find_map(|figure| figure.outcome.as_ref().err());
        let (n, input) = match (answered, refused) {
            (Some(estimate), _) => (estimate.n, estimate.input.clone()),
            (None, Some(refused)) => return Err(refused.clone()),
            (None, None) => return Err(Error::NoRows),
        };
        let tests = self.tests.as_ref().map_or_else(Vec::new, |tests| {
            self.waiting.say("tests");
            tests.run(sample, self.significance.n_resamples, self.significance.random_state)
        });
        Ok(Assessed { n, input, figures, tests })
    }

    fn for_groups(&self, all: &Assessed, n_groups: usize) -> Self {
        let selected = self.selected.iter().zip(&all.figures).map(|(selected, figure)| {
            let of_all = figure.outcome.as_ref().ok().map(|assessment| &assessment.estimate);
            selected.for_groups_of(of_all)
        });
        Assessing {
            selected: selected.collect(),
            significance: self.significance.for_groups(n_groups),
            tests: self.tests.clone(),
            of_group: true,
            waiting: self.waiting,
        }
    }
}

fn is_few_clusters(error: &Error) -> bool {
    matches!(error, Error::InvalidSetting { name: "clusters", .. })
}

impl AssessedFigure {
    /// The figure, whether or not more is known of it.
    pub(crate) fn estimate(&self) -> Option<&Estimate> {
        self.outcome.as_ref().ok().map(|assessment| &assessment.estimate).or(self.alone.as_ref())
    }

    /// Of "a calibrated model shows as much".
    pub(crate) fn p_value(&self) -> Option<f64> {
        self.outcome.as_ref().ok().and_then(|assessment| assessment.floor.as_ref()).map(|floor| floor.p_value)
    }
}

/// Whether a sketch can be assessed for these.
pub(crate) fn sketch_is_enough<'a>(mut selected: impl Iterator<Item = &'a Selected>) -> bool {
    selected.all(|selected| selected.measure.spec().from_sketch == FromSketch::Assessment)
}

/// Adjusts the p-values of groups, measure by measure and test by test, for as many groups as a
/// model has.
pub(crate) fn adjust_for_groups(results: &mut [Measured<Assessed>]) {
    let is_group = |measured: &Measured<Assessed>| measured.group.as_ref().is_some_and(|group| group.key.is_some());
    // The line of all rows begins those of a model.
    for of_model in results.chunk_by_mut(|_, next| is_group(next)) {
        let mut groups: Vec<&mut Assessed> =
            of_model.iter_mut().filter(|measured| is_group(measured)).map(|measured| &mut measured.figures).collect();
        let (n_measures, n_tests) = groups.first().map_or((0, 0), |group| (group.figures.len(), group.tests.len()));
        for place in 0..n_measures {
            let p_values = groups.iter().map(|group| group.figures[place].p_value());
            let adjusted = adjusted(p_values.collect());
            groups.iter_mut().zip(adjusted).for_each(|(group, p)| group.figures[place].p_adjusted = p);
        }
        for place in 0..n_tests {
            let p_values = groups.iter().map(|group| group.tests[place].p_value());
            let adjusted = adjusted(p_values.collect());
            groups.iter_mut().zip(adjusted).for_each(|(group, p)| group.tests[place].p_adjusted = p);
        }
    }
}

/// By Holm, among those that there are.
fn adjusted(p_values: Vec<Option<f64>>) -> Vec<Option<f64>> {
    let mut adjusted = holm(&p_values.iter().flatten().copied().collect::<Vec<f64>>()).into_iter();
    p_values.iter().map(|p| p.and_then(|_| adjusted.next())).collect()
}
