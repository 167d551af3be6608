//! Segments of rows: a table with a line for each, as columns.

use calipers::inference::{AssessedSegments, Segment, Segments};
use calipers::{Adjust, Assessment, BinaryView, Error, Estimate, Predictions};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::inference::{Choices, Clusters, of_rows};
use crate::options::{Options, Question};
use crate::pool::{self, Length};
use crate::results::{Answer, IntoPython, dict};

/// P-values adjusted for their number by the method of that name.
#[pyfunction]
pub(crate) fn adjust<'py>(py: Python<'py>, p_values: Vec<f64>, method: &str) -> Answer<'py, PyAny> {
    Ok(method.parse::<Adjust>()?.adjusted(&p_values).into_python(py)?)
}

/// The segments of all rows: for each way to divide them, the number of each row's segment and how
/// many there are.
struct Divisions<'py>(Vec<(PyReadonlyArray1<'py, u32>, usize)>);

impl<'py> Divisions<'py> {
    fn read(options: &Options<'py>) -> Result<Self, Failure> {
        Ok(Divisions(options.get("segments")?.extract()?))
    }

    fn numbers(&self) -> Result<Vec<(&[u32], usize)>, Failure> {
        let mut all = Vec::new();
        for (numbers, n) in &self.0 {
            all.push((numbers.as_slice().map_err(PyErr::from)?, *n));
        }
        Ok(all)
    }
}

/// The segments of the rows that are valid. Those of which no row is are left out: the places of
/// the others among all.
fn segments<'v>(
    view: &'v BinaryView<'v>,
    predictions: &Predictions<'_>,
    divisions: &[(&[u32], usize)],
) -> Result<(Segments<'v>, Vec<usize>), Error> {
    let (mut all, mut places, mut before): (Option<Segments<'v>>, Vec<usize>, usize) = (None, Vec::new(), 0);
    for (numbers, n) in divisions {
        let kept = of_rows("groups", predictions, numbers)?;
        let mut renumbered: Vec<Option<u32>> = vec![None; *n];
        kept.iter().for_each(|number| renumbered[*number as usize] = Some(0));
        let occupied = renumbered.iter_mut().enumerate().filter(|(_, number)| number.is_some());
        let first = places.len();
        for (next, (place, number)) in occupied.enumerate() {
            *number = Some(next as u32);
            places.push(before + place);
        }
        let numbers: Vec<u32> = kept.iter().filter_map(|number| renumbered[*number as usize]).collect();
        let some = Segments::numbered(view, &numbers, places.len() - first)?;
        all = Some(match all {
            None => some,
            Some(all) => all.and(some),
        });
        before += n;
    }
    Ok((all.ok_or(Error::NoRows)?, places))
}

/// The assessment of each segment, one line each, and the worst of them.
#[pyfunction]
pub(crate) fn assess_segments<'py>(
    py: Python<'py>,
    measure: &str,
    columns: Columns<'py>,
    options: Options<'py>,
) -> Answer<'py> {
    let (choices, measure) = (Choices::read(&options)?, options.measure(measure)?);
    let adjust: Adjust = options.read("adjust")?;
    let (clusters, divisions) = (Clusters::new(&options)?, Divisions::read(&options)?);
    let (clusters, numbers) = (clusters.numbers()?, divisions.numbers()?);
    let input = columns.input(&options)?;
    let Question { multiclass, ties } = Question::read(&options)?;
    let names: Vec<String> = options.get("names")?.extract()?;
    let by: String = options.read("by")?;
    let (found, places, left_out) = pool::run(py, Length::of(&options, input.n_scores())?, || {
        let predictions = input.check()?;
        let view = predictions.view(multiclass, ties)?;
        let clusters = clusters.map(|clusters| of_rows("clusters", &predictions, clusters)).transpose()?;
        let (segments, places) = segments(&view, &predictions, &numbers)?;
        let segments = match &clusters {
            Some(clusters) => segments.clusters(clusters),
            None => segments,
        };
        let found = segments.assess(&choices.assess(&*measure), adjust)?;
        Ok::<_, Error>((found, places, view.report().left_out.clone()))
    })?;
    let lines = lines(py, &found.segments, &places, |assessment: &Assessment| &assessment.estimate)?;
    add_assessments(py, &lines, &found)?;
    let worst = match &found.worst {
        None => None,
        Some(worst) => Some(dict!(py;
            name: names.get(places[worst.place]).cloned(),
            statistic: worst.statistic,
            p_value: worst.p_value,
            n_groups: worst.n_segments,
            n_resamples: worst.n_resamples,
        )),
    };
    let names: Vec<&str> = places.iter().map(|place| names.get(*place).map_or("", String::as_str)).collect();
    let found = dict!(py; lines: lines, worst: worst, sentence: found.sentence(&names, &by));
    found.set_item("left_out", left_out)?;
    Ok(found)
}

/// The value of each segment, one line each.
#[pyfunction]
pub(crate) fn measure_segments<'py>(
    py: Python<'py>,
    measure: &str,
    columns: Columns<'py>,
    options: Options<'py>,
) -> Answer<'py> {
    let (measure, divisions) = (options.measure(measure)?, Divisions::read(&options)?);
    let (numbers, input) = (divisions.numbers()?, columns.input(&options)?);
    let Question { multiclass, ties } = Question::read(&options)?;
    let (found, places, left_out) = pool::run(py, Length::of(&options, input.n_scores())?, || {
        let predictions = input.check()?;
        let view = predictions.view(multiclass, ties)?;
        let (segments, places) = segments(&view, &predictions, &numbers)?;
        Ok::<_, Error>((segments.measure(&*measure)?, places, view.report().left_out.clone()))
    })?;
    let found = dict!(py; lines: lines(py, &found, &places, |estimate: &Estimate| estimate)?);
    found.set_item("left_out", left_out)?;
    Ok(found)
}

/// What every segment has, as columns; NaN where there is no number.
fn lines<'py, T>(
    py: Python<'py>,
    segments: &[Segment<T>],
    places: &[usize],
    estimate: impl Fn(&T) -> &Estimate,
) -> PyResult<Bound<'py, PyDict>> {
    let number = |of: &dyn Fn(&Segment<T>) -> f64| segments.iter().map(of).collect::<Vec<f64>>();
    let known = |of: &dyn Fn(&Estimate) -> Option<f64>| {
        number(&|segment| segment.found.as_ref().ok().and_then(|found| of(estimate(found))).unwrap_or(f64::NAN))
    };
    Ok(dict!(py;
        place: places.to_vec(),
        rank: segments.iter().map(|segment| segment.rank).collect::<Vec<usize>>(),
        n: segments.iter().map(|segment| segment.description.n as usize).collect::<Vec<usize>>(),
        mean_probability: number(&|segment| segment.description.mean_probability),
        outcome_rate: number(&|segment| segment.description.outcome_rate),
        auc: number(&|segment| segment.description.auc.unwrap_or(f64::NAN)),
        value: known(&|estimate| Some(estimate.value)),
        numerical_bound: known(&|estimate| Some(estimate.numerical_bound)),
        sigma: known(&|estimate| estimate.settings.number("sigma")),
        error: segments.iter().map(|segment| segment.found.as_ref().err().map(Error::to_string)).collect::<Vec<_>>(),
    ))
}

/// What an assessment adds to them.
fn add_assessments<'py>(py: Python<'py>, lines: &Bound<'py, PyDict>, found: &AssessedSegments) -> PyResult<()> {
    let known = |of: &dyn Fn(&Assessment) -> Option<f64>| {
        let one = |segment: &Segment<Assessment>| segment.found.as_ref().ok().and_then(of).unwrap_or(f64::NAN);
        found.segments.iter().map(one).collect::<Vec<f64>>()
    };
    let added = dict!(py;
        floor: known(&|assessment| assessment.floor.as_ref().map(|floor| floor.mean)),
        floor_deviation: known(&|assessment| assessment.floor.as_ref().map(|floor| floor.deviation)),
        lower: known(&|assessment| Some(assessment.interval.lower)),
        upper: known(&|assessment| Some(assessment.interval.upper)),
        debiased: known(&|assessment| Some(assessment.debiased)),
        p_value: known(&|assessment| assessment.p_value()),
        p_adjusted: found.segments.iter().map(|segment| segment.p_adjusted.unwrap_or(f64::NAN)).collect::<Vec<f64>>(),
        direction: (0..found.segments.len()).map(|place| found.direction(place)).collect::<Vec<_>>(),
    );
    lines.update(added.as_mapping())
}
