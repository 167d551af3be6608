//! What is computed of predictions, of rows and of sketches alike.

use calipers::inference::{Adjust, FindWorst, Parts, Standing, Worst};
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
    /// How p-values of groups and classes are adjusted for their number.
    pub(crate) adjust: Adjust,
    pub(crate) how: How<'a>,
}

/// What is wanted to be known of each value.
pub(crate) enum How<'a> {
    /// Its noise floor, for one of so many tests.
    Measure { floors: Floors, n_tests: u64 },
    /// Floor, interval, p-value and debiased value.
    Assess {
        significance: Significance,
        tests: Option<Tests>,
        /// Whether p-values of groups are adjusted, so that small ones need more resamples, and the
        /// worst group is found. A gate compares intervals with a maximum instead.
        finds_groups: bool,
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
    /// How p-values were adjusted, if they are of groups or classes.
    pub(crate) adjust: Adjust,
    /// Of a group, how far it is above its noise floor, measure by measure, until the worst group
    /// is found.
    pub(super) standings: Vec<Option<Standing>>,
    /// Of all rows, the worst of their groups, measure by measure.
    pub(crate) worst: Vec<Option<WorstGroup>>,
}

/// The worst of all groups.
#[derive(Debug)]
pub(crate) struct WorstGroup {
    pub(crate) key: String,
    pub(crate) found: Worst,
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
            How::Measure { .. } => FromSketch::Value,
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

    /// The answers for a sample; `group` is its place, if it is one of several groups.
    pub(super) fn run(&self, sample: Sample<'_>, group: Option<usize>) -> Result<Answers, Error> {
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
        let standings = match group {
            Some(place) => self.standings(sample, &values, place)?,
            None => Vec::new(),
        };
        Ok(Answers {
            n,
            input,
            values,
            tests,
            classes: Vec::new(),
            empty_groups: Vec::new(),
            adjust: self.adjust,
            standings,
            worst: Vec::new(),
        })
    }

    /// How far a group is above the noise floor of each measure that has one.
    fn standings(&self, sample: Sample<'_>, values: &[Answer], place: usize) -> Result<Vec<Option<Standing>>, Error> {
        let How::Assess { significance, finds_groups: true, .. } = &self.how else { return Ok(Vec::new()) };
        let standing = |(selected, answer): (&Selected, &Answer)| match answer.known().and_then(Known::p_value) {
            Some(_) => {
                let (n_resamples, random_state) = (significance.n_resamples, significance.random_state);
                Standing::new(sample, &*selected.measure, place, n_resamples, random_state)
            }
            None => Ok(None),
        };
        self.selected.iter().zip(values).map(standing).collect()
    }

    pub(super) fn known(&self, selected: &Selected, sample: Sample<'_>) -> Result<Known, Error> {
        match &self.how {
            How::Measure { floors, n_tests } => floors.known(&*selected.measure, sample, *n_tests),
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

    /// The same for so many groups of the rows.
    pub(super) fn for_groups(&self, n_groups: usize) -> Self {
        let (selected, how) = (self.selected.clone(), self.how.for_groups(n_groups, self.adjust));
        Analysis { selected, all_needed: self.all_needed, each_class: false, adjust: self.adjust, how }
    }
}

impl<'a> How<'a> {
    /// The same for so many groups or classes, whose p-values are adjusted for their number.
    pub(super) fn for_groups(&self, n_groups: usize, adjust: Adjust) -> How<'a> {
        let n_tests = adjust.n_tests(n_groups);
        match self {
            How::Measure { floors, .. } => How::Measure { floors: floors.for_groups(n_groups), n_tests },
            How::Assess { significance, tests, finds_groups, waiting, .. } => How::Assess {
                significance: significance.for_tests(if *finds_groups { n_tests } else { 1 }),
                tests: tests.clone(),
                finds_groups: *finds_groups,
                of_group: true,
                waiting,
            },
        }
    }
}

/// The worst group by each measure, found as the groups are.
pub(super) struct WorstGroups(Vec<FindWorst>);

impl WorstGroups {
    pub(super) fn new(n_measures: usize) -> Self {
        WorstGroups(vec![FindWorst::default(); n_measures])
    }

    /// Takes the standings of the group at this place, which are large.
    pub(super) fn add(&mut self, place: usize, group: &mut Answers) {
        for (all, standing) in self.0.iter_mut().zip(std::mem::take(&mut group.standings)) {
            standing.iter().for_each(|standing| all.add(place, standing));
        }
    }

    /// Measure by measure; nothing where no measure has a noise floor in any group.
    pub(super) fn found(&self, keys: &[&String]) -> Vec<Option<WorstGroup>> {
        let found = |all: &FindWorst| all.worst().map(|found| WorstGroup { key: keys[found.place].clone(), found });
        let all: Vec<Option<WorstGroup>> = self.0.iter().map(found).collect();
        if all.iter().all(Option::is_none) { Vec::new() } else { all }
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
        let how = groups.first().map_or(Adjust::default(), |group| group.adjust);
        for place in 0..n_measures {
            adjust(
                how,
                groups.iter_mut().map(|group| {
                    let answer = &mut group.values[place];
                    (answer.known().and_then(Known::p_value), &mut answer.p_adjusted)
                }),
            );
        }
        for place in 0..n_tests {
            adjust(
                how,
                groups.iter_mut().map(|group| {
                    let test = &mut group.tests[place];
                    (test.p_value(), &mut test.p_adjusted)
                }),
            );
        }
    }
}

/// More groups are listed by evidence, and not by name.
pub(crate) const MANY_GROUPS: usize = 8;

/// Sorts the groups of each model by evidence of the first measure, if they are many.
pub(crate) fn sort_many_groups(results: &mut [Measured<Answers>]) {
    let evidence = |group: &Measured<Answers>| {
        let first = group.found.values.first().and_then(Answer::assessment);
        first.map_or((f64::INFINITY, 0.0), Assessment::evidence)
    };
    for of_model in results.chunk_by_mut(|_, next| next.is_group()) {
        if let Some((_, groups)) = of_model.split_first_mut().filter(|(_, groups)| groups.len() > MANY_GROUPS) {
            groups.sort_by(|a, b| {
                let ((p_a, above_a), (p_b, above_b)) = (evidence(a), evidence(b));
                p_a.total_cmp(&p_b).then(above_b.total_cmp(&above_a))
            });
        }
    }
}

/// Of the p-values that exist.
pub(super) fn adjust<'a>(how: Adjust, p_values: impl Iterator<Item = (Option<f64>, &'a mut Option<f64>)>) {
    let (p_values, places): (Vec<Option<f64>>, Vec<&mut Option<f64>>) = p_values.unzip();
    places.into_iter().zip(how.adjusted_known(&p_values)).for_each(|(place, p)| *place = p);
}
