//! Reports: the pages of calipers-report, from arrays and from sketches.

use std::sync::Arc;

use calipers::{Error, Link, Predictions};
use calipers_report::{Groups, Model, Options as ReportOptions, Origin, Report, Source, Values};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::drift::{Given, Side};
use crate::failure::Failure;
use crate::inference::{Clusters, check_left_out, of_rows};
use crate::options::{Options, Question, Resampling};
use crate::pool::{self, Length};
use crate::sketch::Sketch;

/// The page and the charts on it, as Python's `ReportPage` has them.
#[derive(IntoPyObject)]
pub(crate) struct Page {
    title: String,
    html: String,
    /// Each by its name.
    charts: Vec<(String, String)>,
}

impl From<Values> for Page {
    fn from(values: Values) -> Self {
        let charts = values.charts().into_iter().map(|(name, chart)| (name, chart.to_svg())).collect();
        Page { html: values.to_html(), charts, title: values.title }
    }
}

/// A report of models on the same rows.
#[pyfunction]
pub(crate) fn report<'py>(
    py: Python<'py>,
    models: Vec<(String, Columns<'py>)>,
    options: Options<'py>,
) -> Result<Page, Failure> {
    if models.is_empty() {
        return Err(Error::NoRows.into());
    }
    let how = how(&options)?;
    let Question { multiclass, ties } = Question::read(&options)?;
    let (clusters, groups) = (Clusters::new(&options)?, GroupColumn::read(&options)?);
    let clusters = clusters.numbers()?;
    let class_names = options.class_names()?;
    let (title, origin): (Option<String>, _) =
        (options.read("title")?, Origin { files: vec!["arrays in Python".to_owned()], ..Origin::default() });
    let mut inputs = Vec::new();
    for (name, columns) in &models {
        inputs.push((name.as_str(), columns.input(&options)?));
    }
    let is_one = inputs.len() == 1;
    let sides: Vec<Side<'py>> = options.get("against")?.extract()?;
    let earlier = sides.iter().map(|side| side.given(py)).collect::<Result<Vec<_>, Failure>>()?;
    pool::run(py, Length::of(&options, usize::MAX)?, || {
        let mut checked = Vec::new();
        for (name, input) in inputs {
            let named = |error| if is_one { Failure::from(error) } else { Failure::of_model(name, error) };
            checked.push((name, input.check().map_err(named)?));
        }
        let earlier = checked_sides(earlier)?;
        let mut report = with_earlier(titled(how, title), &earlier);
        if let Err(difference) = check_left_out(&checked) {
            report = report.unpaired(difference.to_string());
        }
        let mut clusters_of_models = Vec::new();
        for (_, rows) in &checked {
            clusters_of_models.push(clusters.map(|clusters| of_rows("clusters", rows, clusters)).transpose()?);
        }
        for ((name, predictions), clusters) in checked.iter().zip(&clusters_of_models) {
            let rows = Source::Rows { predictions, multiclass, ties, clusters: clusters.as_deref() };
            let mut model = Model::new(*name, rows).origin(origin.clone());
            if let Some(names) = &class_names {
                model = model.class_names(names.clone());
            }
            report = report.model(match &groups {
                Some(groups) => model.groups(groups.of(predictions)?),
                None => model,
            });
        }
        Ok::<_, Failure>(Page::from(report.gather()?))
    })
}

/// A report of models that are known by sketches.
#[pyfunction]
pub(crate) fn report_of_sketches<'py>(
    py: Python<'py>,
    models: Vec<(String, PyRef<'py, Sketch>)>,
    options: Options<'py>,
) -> Result<Page, Failure> {
    let (how, title) = (how(&options)?, options.read::<Option<String>>("title")?);
    let mut sketches = Vec::new();
    for (name, sketch) in models {
        sketches.push((name, sketch.finished(py)?));
    }
    let sides: Vec<Side<'py>> = options.get("against")?.extract()?;
    let earlier = sides.iter().map(|side| side.given(py)).collect::<Result<Vec<_>, Failure>>()?;
    pool::run(py, Length::of(&options, usize::MAX)?, || {
        let earlier = checked_sides(earlier)?;
        let mut report = with_earlier(titled(how, title), &earlier);
        let origin = Origin { files: vec!["a sketch in Python".to_owned()], ..Origin::default() };
        for (name, sketch) in &sketches {
            report = report.model(Model::new(name.as_str(), Source::Sketch(sketch)).origin(origin.clone()));
        }
        Ok::<_, Failure>(Page::from(report.gather()?))
    })
}

/// An earlier sample, of rows that are valid.
enum Earlier<'a> {
    Sketch(calipers::Sketch),
    Rows(Predictions<'a>, Question),
}

fn checked_sides(given: Vec<Given<'_>>) -> Result<Vec<Earlier<'_>>, Failure> {
    let check = |given| {
        Ok(match given {
            Given::Sketch(sketch) => Earlier::Sketch(sketch),
            Given::Rows(input, question) => Earlier::Rows(input.check()?, question),
        })
    };
    given.into_iter().map(check).collect()
}

fn with_earlier<'a>(report: Report<'a>, earlier: &'a [Earlier<'a>]) -> Report<'a> {
    earlier.iter().fold(report, |report, earlier| {
        let source = match earlier {
            Earlier::Sketch(sketch) => Source::Sketch(sketch),
            Earlier::Rows(predictions, Question { multiclass, ties }) => {
                Source::Rows { predictions, multiclass: *multiclass, ties: *ties, clusters: None }
            }
        };
        report.against(Model::new("before", source))
    })
}

fn titled<'a>(how: ReportOptions, title: Option<String>) -> Report<'a> {
    let report = Report::new(how);
    match title {
        Some(title) => report.title(title),
        None => report,
    }
}

fn how(options: &Options<'_>) -> Result<ReportOptions, Failure> {
    let Resampling { level, n_resamples, random_state } = Resampling::read(options)?;
    let how = ReportOptions::new()
        .ls_ece(options.ls_ece()?, options.read("clip")?, options.read::<Arc<dyn Link>>("link")?)
        .ece(options.binned_ece()?)
        .level(level)
        .n_resamples(n_resamples)
        .random_state(random_state);
    how.check()?;
    Ok(how)
}

/// The groups of rows, which Python has numbered.
struct GroupColumn {
    by: String,
    keys: Vec<String>,
    numbers: Vec<u32>,
}

impl GroupColumn {
    fn read(options: &Options<'_>) -> Result<Option<Self>, Failure> {
        let groups: Option<(String, Vec<String>, PyReadonlyArray1<'_, u32>)> = options.get("groups")?.extract()?;
        Ok(groups.map(|(by, keys, numbers)| GroupColumn { by, keys, numbers: numbers.as_array().to_vec() }))
    }

    /// Those of the rows that are measured; a group whose rows were all left out is none.
    fn of<'a>(&self, predictions: &Predictions<'_>) -> Result<Groups<'a>, Failure> {
        let mut numbers = of_rows("groups", predictions, &self.numbers)?;
        let mut places: Vec<Option<u32>> = vec![None; self.keys.len()];
        numbers.iter().for_each(|&number| places[number as usize] = Some(0));
        for (next, place) in (0..).zip(places.iter_mut().flatten()) {
            *place = next;
        }
        // proof: every number that there is has a place
        numbers.iter_mut().for_each(|number| *number = places[*number as usize].unwrap_or_default());
        let keys = self.keys.iter().zip(&places).filter(|(_, place)| place.is_some()).map(|(key, _)| key.clone());
        Ok(Groups::Rows { by: self.by.clone(), keys: keys.collect(), numbers })
    }
}
