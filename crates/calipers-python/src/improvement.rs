//! Whether recalibration helps.

use calipers::recalibrate::{
    Candidate, Choice, Choose, CrossFit, Decompose, Decomposition, HeldOut, HeldOutGain, Improvement, Left, Map,
    Method, PoolingLoss, Recalibrate,
};
use calipers::{Error, Pair};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::groups::NumberedGroups;
use crate::inference::assessed;
use crate::options::{Options, Resampling};
use crate::recalibration::{Of, Recalibration, Remarks, of_predictions};
use crate::results::{Answer, dict, input_settings};
use crate::sketch::Sketch;

/// What is asked about a map or a choice of maps.
#[derive(Clone)]
struct Question {
    recalibrate: Recalibrate,
    is_auto: bool,
    n_folds: Option<usize>,
    left: bool,
    resampling: Resampling,
}

impl Question {
    fn read(options: &Options<'_>) -> Result<Self, Failure> {
        Ok(Question {
            recalibrate: options.recalibrate()?,
            is_auto: options.is_auto()?,
            n_folds: options.given("n_folds")?,
            left: options.read("left")?,
            resampling: Resampling::read(options)?,
        })
    }

    fn cross_fit(&self) -> CrossFit {
        let Resampling { level, n_resamples, random_state } = self.resampling;
        let cross_fit = CrossFit::new(self.recalibrate.clone()).level(level).left(self.left);
        let cross_fit = cross_fit.n_resamples(n_resamples).random_state(random_state);
        self.n_folds.map_or(cross_fit.clone(), |n_folds| cross_fit.n_folds(n_folds))
    }

    fn choose(&self) -> Choose {
        let Resampling { level, n_resamples, random_state } = self.resampling;
        let choose = Choose::new().recalibrate(self.recalibrate.clone()).level(level).left(self.left);
        let choose = choose.n_resamples(n_resamples).random_state(random_state);
        self.n_folds.map_or(choose.clone(), |n_folds| choose.n_folds(n_folds))
    }
}

/// The gain of one method, or of a choice of methods.
enum Found<M> {
    One(Improvement<M>),
    Chosen(Choice<M>),
}

/// The gain of recalibration on new rows, and the verdict.
#[pyfunction]
pub(crate) fn improvement<'py>(py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Answer<'py> {
    let question = Question::read(&options)?;
    if let Some(groups) = NumberedGroups::read(&options)? {
        return improved_groups(py, &columns, &options, &question, &groups);
    }
    let found = of_predictions(
        py,
        &columns,
        &options,
        options.is_of_classes()?,
        |sample| {
            Ok(Of::Binary(match question.is_auto {
                true => Found::Chosen(question.choose().run(sample)?),
                false => Found::One(question.cross_fit().run(sample)?),
            }))
        },
        |rows| {
            Ok(Of::Classes(match question.is_auto {
                true => Found::Chosen(question.choose().run_classes(rows)?),
                false => Found::One(question.cross_fit().run_classes(rows)?),
            }))
        },
    )?;
    let input = input_settings(py, &options, &columns, None)?;
    match found {
        Of::Binary(found) => improved(py, &found, &options, &question, &input),
        Of::Classes(found) => improved(py, &found, &options, &question, &input),
    }
}

/// What Python's `Improvement` has, with the map of all rows.
fn improved<'py, M: Clone + Into<Map>>(
    py: Python<'py>,
    found: &Found<M>,
    options: &Options<'py>,
    question: &Question,
    input: &Bound<'py, PyDict>,
) -> Answer<'py> {
    let (found, sentence, candidates) = match found {
        Found::One(found) => (found, found.sentence(), None),
        Found::Chosen(choice) => (&choice.improvement, choice.sentence(), Some(&choice.table)),
    };
    let candidate = |candidate: &Candidate| {
        Ok(dict!(py;
            name: candidate.name.clone(),
            loss: candidate.loss,
            difference: candidate.difference,
            standard_error: candidate.standard_error,
            reason: candidate.reason.clone(),
        ))
    };
    let candidates = candidates.map(|table| table.iter().map(candidate).collect::<PyResult<Vec<_>>>()).transpose()?;
    let held = Recalibration::of_fit(&found.fit, options.class_names()?).with(found);
    let answer = improved_as(py, found, sentence, held, question, input)?;
    answer.set_item("candidates", candidates)?;
    Ok(answer)
}

/// The same without candidates and ways of pooling.
fn improved_as<'py, M>(
    py: Python<'py>,
    found: &Improvement<M>,
    sentence: String,
    held: Recalibration,
    question: &Question,
    input: &Bound<'py, PyDict>,
) -> Answer<'py> {
    let none = None::<Vec<Bound<'py, PyDict>>>;
    Ok(dict!(py;
        sentence: sentence,
        verdict: found.verdict.name(),
        method: found.fit.method.name(),
        gain: found.gain,
        interval: found.interval,
        floor: found.floor,
        log_loss_before: found.log_loss_before,
        log_loss_after: found.log_loss_after,
        left: left(py, found.left.as_ref(), question.resampling, input)?,
        n_scores: found.n_scores.map(|[before, after]| vec![before as usize, after as usize]),
        top_class_changed: found.top_class_changed,
        candidates: none.clone(),
        pooling: none,
        n: found.fit.n,
        n_folds: found.n_folds,
        n_clusters: found.n_clusters,
        left_out: found.fit.input.left_out.clone(),
        recalibration: Bound::new(py, held)?.into_any(),
        remarks: Remarks::of(&found.fit).into_dict(py)?,
    ))
}

/// The gain of maps by group, and of other ways to use the groups.
fn improved_groups<'py>(
    py: Python<'py>,
    columns: &Columns<'py>,
    options: &Options<'py>,
    question: &Question,
    groups: &NumberedGroups<'py>,
) -> Answer<'py> {
    let recalibrate = question.recalibrate.clone();
    let recalibrate = if question.is_auto { recalibrate.method(Method::Beta) } else { recalibrate };
    let cross_fit = Question { recalibrate, ..question.clone() }.cross_fit();
    let all = groups.ask(py, columns, options, |sample, groups| cross_fit.run_groups(sample, groups))?;
    let way = |row: &PoolingLoss| {
        Ok(dict!(py;
            pooling: row.pooling.name(),
            log_loss: row.log_loss,
            difference: row.difference,
            standard_error: row.standard_error,
        ))
    };
    let pooling = all.table.iter().map(way).collect::<PyResult<Vec<_>>>()?;
    let found = &all.improvement;
    let held = Recalibration::of_groups(&found.fit, &all.groups).with(found);
    let input = input_settings(py, options, columns, None)?;
    let answer = improved_as(py, found, all.sentence(), held, question, &input)?;
    answer.set_item("pooling", pooling)?;
    Ok(answer)
}

/// LS-ECE before and after, where it was asked for.
fn left<'py>(
    py: Python<'py>,
    left: Option<&Left>,
    resampling: Resampling,
    input: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(left) = left else { return Ok(None) };
    let Pair { difference, interval, standard_error, p_value, .. } = left.change;
    Ok(Some(dict!(py;
        sentence: left.sentence(),
        before: assessed(py, &left.before, resampling, input)?,
        after: assessed(py, &left.after, resampling, input)?,
        change: difference,
        interval: interval,
        standard_error: standard_error,
        p_value: p_value,
    )))
}

/// What a map gains on rows that it was not fitted to.
#[pyfunction]
pub(crate) fn improvement_on<'py>(
    py: Python<'py>,
    recalibration: Bound<'py, Recalibration>,
    columns: Columns<'py>,
    options: Options<'py>,
) -> Answer<'py> {
    let resampling = Resampling::read(&options)?;
    let is_left: bool = options.read("left")?;
    let map = recalibration.get().map();
    if let (Map::Groups(maps), Some(groups)) = (map, NumberedGroups::read(&options)?) {
        let held_out = held_out(maps, resampling, is_left);
        let found = groups.ask(py, &columns, &options, |sample, groups| held_out.run_groups(sample, groups))?;
        return gained(py, &found, resampling, &columns, &options);
    }
    let wrong = |rule: &str, value: String| Error::InvalidSetting { name: "rows", rule: rule.to_owned(), value };
    let found = of_predictions(
        py,
        &columns,
        &options,
        matches!(map, Map::Classes(_)),
        |sample| match map {
            Map::Binary(map) => Ok(Of::Binary(held_out(map, resampling, is_left).run(sample)?)),
            other => Err(wrong(&format!("of {} classes", other.n_classes()), "a binary outcome".to_owned())),
        },
        |rows| match map {
            Map::Classes(map) => Ok(Of::Classes(held_out(map, resampling, is_left).run_classes(rows)?)),
            _ => Err(wrong("of a binary outcome", format!("{} classes", rows.n_classes()))),
        },
    )?;
    let (Of::Binary(found) | Of::Classes(found)): Of<HeldOutGain, HeldOutGain> = found;
    gained(py, &found, resampling, &columns, &options)
}

/// What Python's `HeldOutGain` has.
fn gained<'py>(
    py: Python<'py>,
    found: &HeldOutGain,
    resampling: Resampling,
    columns: &Columns<'py>,
    options: &Options<'py>,
) -> Answer<'py> {
    let input = input_settings(py, options, columns, None)?;
    Ok(dict!(py;
        sentence: found.sentence(),
        verdict: found.verdict.name(),
        gain: found.gain,
        interval: found.interval,
        standard_error: found.standard_error,
        log_loss_before: found.log_loss_before,
        log_loss_after: found.log_loss_after,
        left: left(py, found.left.as_ref(), resampling, &input)?,
        top_class_changed: found.top_class_changed,
        n: found.n,
        n_clusters: found.n_clusters,
    ))
}

/// The gain of recalibration from sketches, one for each fold.
#[pyfunction]
pub(crate) fn improvement_from_sketches<'py>(
    py: Python<'py>,
    sketches: Vec<Bound<'py, Sketch>>,
    options: Options<'py>,
) -> Answer<'py> {
    let cross_fit = CrossFit::new(options.recalibrate()?).level(options.read("level")?);
    let folds = sketches.iter().map(|sketch| sketch.get().finished(py)).collect::<Result<Vec<_>, Failure>>()?;
    let all = py.detach(|| cross_fit.run_sketches(&folds))?;
    let found = &all.improvement;
    let held = Recalibration::of_fit(&found.fit, None).with(found);
    Ok(dict!(py;
        sentence: all.sentence(),
        verdict: found.verdict.name(),
        method: found.fit.method.name(),
        gain: found.gain,
        interval: found.interval,
        bound: all.bound,
        log_loss_before: found.log_loss_before,
        log_loss_after: found.log_loss_after,
        top_class_changed: found.top_class_changed,
        n: found.fit.n,
        n_folds: found.n_folds,
        recalibration: Bound::new(py, held)?.into_any(),
        remarks: Remarks::of(&found.fit).into_dict(py)?,
    ))
}

/// The calibration and the refinement part of a proper score.
#[pyfunction]
pub(crate) fn decompose<'py>(py: Python<'py>, columns: Columns<'py>, options: Options<'py>) -> Answer<'py> {
    let mut decompose = Decompose::new().score(options.read("loss")?).level(options.read("level")?);
    if !options.is_auto()? {
        decompose = decompose.method(options.recalibrate()?);
    }
    let found = of_predictions(
        py,
        &columns,
        &options,
        options.is_of_classes()?,
        |sample| Ok(Of::Binary(decompose.run(sample)?)),
        |rows| Ok(Of::Classes(decompose.run_classes(rows)?)),
    )?;
    let (Of::Binary(found) | Of::Classes(found)): Of<Decomposition, Decomposition> = found;
    Ok(dict!(py;
        sentence: found.sentence(),
        method: found.method.name(),
        value: found.loss,
        calibration: found.calibration,
        refinement: found.refinement,
        interval: found.interval,
        n: found.n,
        n_clusters: found.n_clusters,
    ))
}

fn held_out<M>(map: &M, resampling: Resampling, left: bool) -> HeldOut<'_, M> {
    let Resampling { level, n_resamples, random_state } = resampling;
    HeldOut::new(map).level(level).left(left).n_resamples(n_resamples).random_state(random_state)
}
