//! From the rows of classes to bias-corrected temperature, vector and matrix scaling.

use super::solve::{Dense, Minimum};
use super::{Rows, Scaling, Shape};
use crate::Error;
use crate::numerics::sum::Sum;
use crate::recalibrate::classes::fit::{Chosen, ClassFit, Classes, Detail};
use crate::recalibrate::classes::map::{ClassFormula, ClassMap};
use crate::recalibrate::classes::panel::Panel;
use crate::recalibrate::fit::newton::NotFound;
use crate::recalibrate::fit::{Note, Parameter};
use crate::recalibrate::method::Method;

/// Up to so many parameters have standard errors.
const MOST_ERRORS: usize = 250;

/// Without a ridge there must not be more parameters than this, since they need a Hessian.
const MOST_WITHOUT_RIDGE: usize = 2000;

/// Classes with fewer rows are named.
const FEW: u64 = 5;

/// The slope that g is made with, and what is to be said about it.
struct First {
    slope: f64,
    mixture: f64,
    /// Where the search for the parameters begins: a slope of g.
    start: f64,
    note: Option<Note>,
}

impl Classes<'_> {
    pub(crate) fn fit_scaling(&self, rows: &Chosen<'_>, panel: &Panel, detail: Detail) -> Result<ClassFit, Error> {
        let (k, options) = (panel.n_classes, self.options);
        let chosen: Vec<u32> =
            (0..panel.len() as u32).filter(|at| (rows.is_chosen)(panel.rows[*at as usize] as usize)).collect();
        let counts = label_counts(panel, &chosen);
        let mut of_class = vec![0; k];
        panel.classes.iter().zip(&counts).for_each(|(class, count)| of_class[*class] = *count);
        check_two_classes(&of_class, rows.n)?;
        let ridge = options.ridge_of_classes(k);
        let shape = shape_of(options.method);
        let first = self.first_slope(rows, shape, ridge)?;
        let scaling = Scaling::new(
            shape,
            ridge,
            &Rows {
                panel,
                chosen: &chosen,
                slope: first.slope,
                mixture_before: first.mixture,
                effective_n: rows.effective_n,
                count_unit: rows.counts.then_some(self.scores.weight_unit),
            },
        );
        let d = scaling.free.len();
        if ridge == 0.0 && d > MOST_WITHOUT_RIDGE {
            let rule = format!("above 0 where there are more than {MOST_WITHOUT_RIDGE} parameters");
            return Err(Error::setting("ridge", rule, format!("0 with {d}")));
        }
        let with_errors = detail == Detail::Errors && d <= MOST_ERRORS;
        let start = scaling.of_slope(first.start);
        let found = scaling.minimise(&start, with_errors).map_err(NotFound::error)?;
        if shape == Shape::Shared && !(found.all[0] > 0.0) {
            let rule = "of scores that rise with the outcome, since the best inverse temperature is not above 0 else";
            return Err(Error::setting("rows", rule, format!("a slope of {}", crate::error::number(found.all[0]))));
        }
        let mixture = options.mixture.unwrap_or(0.0);
        let formula = formula(&scaling, &found.all, panel, first.mixture);
        let map =
            ClassMap { method: options.method, n_classes: k, slope: first.slope, formula, mixture, clip: options.clip };
        let log_loss_after = if mixture == 0.0 { found.at.loss } else { scaling.mixed_loss(&found, mixture) };
        let mut notes: Vec<Note> = first.note.into_iter().collect();
        notes.extend(rare_classes(&counts, panel));
        let mut fit = ClassFit {
            parameters: parameters(&scaling, &found.all, panel),
            covariance: Vec::new(),
            log_loss_after,
            bound: found.bound,
            effective_parameters: d as f64,
            notes,
            spread: None,
            map,
        };
        if detail == Detail::Errors {
            add_errors(&mut fit, &scaling, &found, panel);
        }
        Ok(fit)
    }

    fn first_slope(&self, rows: &Chosen<'_>, shape: Shape, ridge: f64) -> Result<First, Error> {
        let outlook = rows.outlook();
        if ridge == 0.0 {
            outlook.check_separation()?;
            let start = if outlook.is_falling() { 0.0 } else { rows.temperature(0.0)?.value };
            return Ok(First { slope: 1.0, mixture: 0.0, start, note: None });
        }
        let mixture = 1.0 / (rows.effective_n + 1.0);
        if shape == Shape::Shared {
            // The ridge is on the biases only, so there must be a finite slope.
            outlook.check_separation()?;
            return Ok(First { slope: rows.temperature(0.0)?.value, mixture, start: 1.0, note: None });
        }
        let (slope, note) = if outlook.is_falling() {
            // The least loss of slopes that are not negative is at 0.
            (0.0, Some(Note::HeldAtZero { parameter: "slope" }))
        } else if outlook.is_separated() {
            let slope = rows.temperature(ridge)?.value;
            (slope, Some(Note::NoFirstSlope { slope }))
        } else {
            (rows.temperature(0.0)?.value, None)
        };
        Ok(First { slope, mixture, start: 1.0, note })
    }
}

pub(crate) fn shape_of(method: Method) -> Shape {
    match method {
        Method::BiasCorrectedTemperature => Shape::Shared,
        Method::Vector => Shape::Diagonal,
        _ => Shape::Full,
    }
}

/// Checks that not all rows have the same label.
pub(crate) fn check_two_classes(n_rows: &[u64], n: u64) -> Result<(), Error> {
    let mut present = (0..n_rows.len()).filter(|class| n_rows[*class] > 0);
    match (present.next(), present.next()) {
        (_, Some(_)) => Ok(()),
        (first, None) => {
            let got = format!("{n} rows of class {}", first.unwrap_or(0));
            Err(Error::setting("rows", "of at least two classes", got))
        }
    }
}

/// Rows of each class, in the panel's order.
fn label_counts(panel: &Panel, chosen: &[u32]) -> Vec<u64> {
    let mut counts = vec![0; panel.n_classes];
    chosen.iter().for_each(|at| counts[panel.labels[*at as usize] as usize] += 1);
    counts
}

fn rare_classes(counts: &[u64], panel: &Panel) -> Option<Note> {
    let rare = counts.iter().zip(&panel.classes).filter(|(count, _)| (1..FEW).contains(*count));
    let n_classes = rare.clone().count();
    let (n_rows, class) = rare.map(|(count, class)| (*count, *class)).min_by_key(|(_, class)| *class)?;
    Some(Note::RareClasses { n_classes, class, n_rows })
}

/// The formula in the classes' own order.
fn formula(scaling: &Scaling, all: &[f64], panel: &Panel, mixture_before: f64) -> ClassFormula {
    let k = scaling.k;
    let (scales, biases) = all.split_at(scaling.n_scales());
    let mut bias = vec![0.0; k];
    panel.classes.iter().zip(biases).for_each(|(class, value)| bias[*class] = *value);
    if scaling.shape == Shape::Full {
        let mut matrix = vec![0.0; k * k];
        for (row, class) in panel.classes.iter().enumerate() {
            let line = panel.classes.iter().zip(&scales[row * k..]);
            line.for_each(|(other, value)| matrix[class * k + other] = *value);
        }
        return ClassFormula::Matrix { mixture_before, matrix, bias };
    }
    let mut scale = vec![scales[0]; k];
    if scaling.shape == Shape::Diagonal {
        panel.classes.iter().zip(scales).for_each(|(class, value)| scale[*class] = *value);
    }
    ClassFormula::Vector { mixture_before, scale, bias }
}

/// For each parameter in the order that users see: its name and its coordinate.
fn coordinates(scaling: &Scaling, panel: &Panel) -> Vec<(&'static str, usize)> {
    let (k, n_scales) = (scaling.k, scaling.n_scales());
    let mut place = vec![0; k];
    panel.classes.iter().enumerate().for_each(|(at, class)| place[*class] = at);
    let scales: Vec<(&'static str, usize)> = match scaling.shape {
        Shape::Shared => vec![("scale", 0)],
        Shape::Diagonal => (0..k).map(|class| ("scale", place[class])).collect(),
        Shape::Full => (0..k * k).map(|at| ("matrix", place[at / k] * k + place[at % k])).collect(),
    };
    let biases = (0..k).map(|class| ("bias", n_scales + place[class]));
    scales.into_iter().chain(biases).collect()
}

fn parameters(scaling: &Scaling, all: &[f64], panel: &Panel) -> Vec<Parameter> {
    let parameter = |(name, at): (&'static str, usize)| Parameter { name, value: all[at], standard_error: None };
    coordinates(scaling, panel).into_iter().map(parameter).collect()
}

/// Standard errors and effective parameters.
fn add_errors(fit: &mut ClassFit, scaling: &Scaling, found: &Minimum, panel: &Panel) {
    let Some(Dense { factor, information, inverse_diagonal, whole }) = &found.dense else { return };
    // The first slope is a parameter, too; without a ridge it is none of its own.
    let of_slope = if !scaling.has_gauges && scaling.shape != Shape::Shared { 1.0 } else { 0.0 };
    let effective = if scaling.has_gauges {
        factor.trace_of_ratio(information)
    } else {
        // The information is the Hessian less the ridge.
        let of_ridge = scaling.ridge.iter().zip(inverse_diagonal).map(|(ridge, own)| 2.0 * ridge * own);
        scaling.free.len() as f64 - of_ridge.sum::<f64>()
    };
    fit.effective_parameters = effective + of_slope;
    if scaling.free.len() > MOST_ERRORS {
        return;
    }
    let scatter = match whole {
        Some(whole) => scaling.scatter_of_hessian(&found.at, whole),
        None => scaling.scatter(&found.at),
    };
    let covariance = factor.sandwich(&scatter);
    let coordinates = coordinates(scaling, panel);
    let places: Vec<Option<usize>> = coordinates.iter().map(|(_, at)| scaling.free.binary_search(at).ok()).collect();
    for (parameter, place) in fit.parameters.iter_mut().zip(&places) {
        parameter.standard_error = place.map(|at| covariance.get(at, at).max(0.0).sqrt());
    }
    let entry = |i: &Option<usize>, j: &Option<usize>| i.zip(*j).map_or(0.0, |(i, j)| covariance.get(i, j));
    fit.covariance = places.iter().flat_map(|i| places.iter().map(move |j| entry(i, j))).collect();
}

impl Scaling {
    /// The mean log-loss with equal probabilities mixed in.
    fn mixed_loss(&self, found: &Minimum, mixture: f64) -> f64 {
        let equal = mixture / self.k as f64;
        let loss = |row: usize| -((1.0 - mixture) * self.p_of_label(&found.at, row) + equal).ln();
        (0..self.n_rows()).map(|row| self.share(row) * loss(row)).collect::<Sum>().value()
    }
}
