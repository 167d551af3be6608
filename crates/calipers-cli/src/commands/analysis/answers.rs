//! What is computed of predictions, of rows and of sketches alike.

use calipers::inference::{Parts, holm};
use calipers::measure::FromSketch;
use calipers::{Assessment, Error, Estimate, InputReport, Multiclass, NoiseFloor, Sample};
use indicatif::ProgressBar;

use super::classes::OfClass;
use super::floor::Floors;
use super::selected::Selected;
use crate::args::significance::Significance;
use crate::commands::assess::tests_of_calibration::{Tested, Tests};
use crate::dataset::model::{Columns, Measured};
use crate::progress;

/// One or more measures of the same rows.
pub(crate) struct Analysis<'a> {
    pub(crate) selected: Vec<Selected>,
    /// Whether the first error ends it. If not, a measure that has a value does not need the
    /// others.
    pub(crate) all_needed: bool,
    /// Whether each class has results of its own, where values are means over classes.
    pub(crate) each_class: bool,
    pub(crate) how: How<'a>,
}

/// What is wanted to be known of each value.
pub(crate) enum How<'a> {
    /// Its noise floor.
    Measure(Floors),
    /// Floor, interval, p-value and debiased value.
    Assess {
        significance: Significance,
        tests: Option<Tests>,
        /// Whether the rows are a group of others. A group with too few clusters has values alone.
        of_group: bool,
        waiting: &'a ProgressBar,
    },
}

/// The results of an analysis, in which at least one measure has a value.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) n: u64,
    pub(crate) input: InputReport,
    /// In the order of the measures.
    pub(crate) values: Vec<Answer>,
    pub(crate) tests: Vec<Tested>,
    /// Where values are means over classes, what each class has.
    pub(crate) classes: Vec<OfClass>,
    /// Groups of these rows that have no valid row, and so no result of their own.
    pub(crate) empty_groups: Vec<String>,
}

/// The value of a measure, or why there is none.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) name: &'static str,
    pub(crate) definition: String,
    pub(crate) outcome: Result<Known, Error>,
    /// The p-value of a group, adjusted for all groups.
    pub(crate) p_adjusted: Option<f64>,
}

/// A value with what is known of chance.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) estimate: Estimate,
    pub(crate) floor: Option<NoiseFloor>,
    /// Why there is no floor, if one was wanted.
    pub(crate) unavailable: Option<String>,
    /// Of `assess` and `check`; none for a group with too few clusters.
    pub(crate) assessment: Option<Assessment>,
    /// The direction of miscalibration, where the measure has one.
    pub(crate) parts: Option<Parts>,
}

impl From<Assessment> for Known {
    fn from(assessment: Assessment) -> Self {
        Known {
            estimate: assessment.estimate.clone(),
            floor: assessment.floor.clone(),
            unavailable: assessment.unavailable.map(str::to_owned),
            parts: assessment.parts,
            assessment: Some(assessment),
        }
    }
}

impl Known {
    /// The share of resamples that score at least as much, where a larger value is worse.
    pub(crate) fn p_value(&self) -> Option<f64> {
        self.floor.as_ref().filter(|_| self.estimate.spec.larger_is_worse()).map(|floor| floor.p_value)
    }

    /// In which direction predictions are off, as far as the data show it.
    pub(crate) fn direction(&self) -> Option<String> {
        self.parts.as_ref()?.direction_in_words()
    }

    /// Whether a floor was requested.
    pub(crate) fn has_place_for_floor(&self) -> bool {
        self.floor.is_some() || self.unavailable.is_some()
    }
}

impl Answer {
    pub(crate) fn known(&self) -> Option<&Known> {
        self.outcome.as_ref().ok()
    }

    pub(crate) fn assessment(&self) -> Option<&Assessment> {
        self.known()?.assessment.as_ref()
    }
}

impl Analysis<'_> {
    /// Whether a sketch answers as well as the rows do.
    pub(super) fn sketch_is_enough(&self) -> bool {
        let needed = match &self.how {
            How::Measure(_) => FromSketch::Value,
            How::Assess { tests: Some(_), .. } => return false,
            How::Assess { .. } => FromSketch::Assessment,
        };
        self.selected.iter().all(|selected| selected.measure.spec().from_sketch >= needed)
    }

    /// Whether a measure takes all classes of these rows together, which a sketch does not have.
    pub(super) fn needs_classes(&self, models: &[Measured<()>]) -> bool {
        let takes_all = |columns: &Columns| {
            let of_measure = |selected: &Selected| columns.multiclass_of(selected.measure.spec());
            self.selected.iter().any(|selected| of_measure(selected) == Multiclass::AllClasses)
        };
        models.iter().filter_map(|model| model.columns.as_ref()).any(takes_all)
    }

    pub(super) fn run(&self, sample: Sample<'_>) -> Result<Answers, Error> {
        let answer = |selected: &Selected| Answer {
            name: selected.name(),
            definition: selected.definition.clone(),
            outcome: self.known(selected, sample),
            p_adjusted: None,
        };
        let values: Vec<Answer> = self.selected.iter().map(answer).collect();
        let error = values.iter().find_map(|answer| answer.outcome.as_ref().err());
        let (n, input) = match (values.iter().find_map(Answer::known), error) {
            (Some(Known { estimate, .. }), error) if error.is_none() || !self.all_needed => {
                (estimate.n, estimate.input.clone())
            }
            (_, Some(error)) => return Err(error.clone()),
            (_, None) => return Err(Error::NoRows),
        };
        let tests = match &self.how {
            How::Assess { significance, tests: Some(tests), waiting, .. } => {
                progress::begin(waiting, "tests");
                tests.run(sample, significance.n_resamples, significance.random_state)
            }
            _ => Vec::new(),
        };
        Ok(Answers { n, input, values, tests, classes: Vec::new(), empty_groups: Vec::new() })
    }

    pub(super) fn known(&self, selected: &Selected, sample: Sample<'_>) -> Result<Known, Error> {
        match &self.how {
            How::Measure(floors) => floors.known(&*selected.measure, sample),
            How::Assess { significance, of_group, waiting, .. } => {
                progress::begin(waiting, selected.name());
                match significance.assess(&*selected.measure).run(sample) {
                    Err(error @ Error::InvalidSetting { name: "clusters", .. }) if *of_group => {
                        let estimate = sample.estimate(&*selected.measure)?;
                        let unavailable = Some(error.to_string());
                        Ok(Known { estimate, floor: None, unavailable, assessment: None, parts: None })
                    }
                    outcome => outcome.map(Known::from),
                }
            }
        }
    }

    /// The same for so many groups of the rows that gave these answers.
    pub(super) fn for_groups(&self, all: &Answers, n_groups: usize) -> Self {
        let selected = self.selected.iter().zip(&all.values);
        let selected = selected
            .map(|(selected, answer)| selected.for_groups_of(answer.known().map(|known| &known.estimate)))
            .collect();
        let how = self.how.for_groups(n_groups);
        Analysis { selected, all_needed: self.all_needed, each_class: false, how }
    }
}

impl<'a> How<'a> {
    /// The same for so many groups or classes, whose p-values are adjusted for their number.
    pub(super) fn for_groups(&self, n_groups: usize) -> How<'a> {
        match self {
            How::Measure(floors) => How::Measure(floors.for_groups(n_groups)),
            How::Assess { significance, tests, waiting, .. } => How::Assess {
                significance: significance.for_groups(n_groups),
                tests: tests.clone(),
                of_group: true,
                waiting,
            },
        }
    }
}

/// Adjusts the p-values of groups, measure by measure and test by test, for the number of groups
/// that a model has.
pub(crate) fn adjust_for_groups(results: &mut [Measured<Answers>]) {
    // The result of all rows comes before those of its groups.
    for of_model in results.chunk_by_mut(|_, next| next.is_group()) {
        let mut groups: Vec<&mut Answers> =
            of_model.iter_mut().filter(|measured| measured.is_group()).map(|measured| &mut measured.found).collect();
        let (n_measures, n_tests) = groups.first().map_or((0, 0), |group| (group.values.len(), group.tests.len()));
        for place in 0..n_measures {
            adjust(groups.iter_mut().map(|group| {
                let answer = &mut group.values[place];
                (answer.known().and_then(Known::p_value), &mut answer.p_adjusted)
            }));
        }
        for place in 0..n_tests {
            adjust(groups.iter_mut().map(|group| {
                let test = &mut group.tests[place];
                (test.p_value(), &mut test.p_adjusted)
            }));
        }
    }
}

/// By Holm's method, for the p-values that exist.
pub(super) fn adjust<'a>(p_values: impl Iterator<Item = (Option<f64>, &'a mut Option<f64>)>) {
    let known = p_values.filter_map(|(p, adjusted)| Some((p?, adjusted)));
    let (p_values, places): (Vec<f64>, Vec<&mut Option<f64>>) = known.unzip();
    places.into_iter().zip(holm(&p_values)).for_each(|(place, p)| *place = Some(p));
}
