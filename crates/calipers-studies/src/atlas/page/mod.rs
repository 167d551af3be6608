//! The page of the study: the answer, the paper's claims, a section for each question, the rules,
//! and every model.

mod answer;
mod bins;
mod claims;
mod differences;
mod direction;
mod models;
mod noise;
mod rankings;
mod sigma;
mod ties;

use calipers_report::number::count;

use super::measured::Measured;
use super::rules::{self, DISTINCT, SIZES};
use super::share::Statistic;
use super::{LeftOut, MeasuredSet, NAME};
use crate::{Page, Setting, Table};

/// The page of all sets. The order of the sets changes nothing.
pub fn page(sets: &[MeasuredSet], left_out: &[LeftOut], setting: &Setting) -> Page {
    let mut sets: Vec<&MeasuredSet> = sets.iter().filter(|set| !set.models.is_empty()).collect();
    sets.sort_by(|a, b| a.models[0].entry.file.cmp(&b.models[0].entry.file));
    let mut all: Vec<&Measured> = sets.iter().flat_map(|set| &set.models).collect();
    all.sort_by(|a, b| (&a.entry.domain, &a.entry.file).cmp(&(&b.entry.domain, &b.entry.file)));
    let mut page = Page::new(NAME, "Does ECE mislead in practice? An atlas of real models", setting);
    page.text(&format!(
        "The paper asks whether the discontinuities of ECE pose a problem for real models, answers the question for \
         about a dozen image networks, and asks for a large-scale validation. This page is one: {} models on {} sets of \
         rows, in {} domains, from {} to {} rows each. The [rules](#the-rules) were written down and committed before any \
         result was looked at; what was changed since is listed there. Values in brackets are 95 % intervals, which shares and \
         medians of fewer than five sets do not have.",
        all.len(),
        sets.len(),
        domains(&all).len(),
        count(all.iter().map(|model| model.n).min().unwrap_or(0)),
        count(all.iter().map(|model| model.n).max().unwrap_or(0)),
    ));
    if all.is_empty() {
        page.text("No file could be measured.");
    } else {
        answer::section(&mut page, &all, &sets);
        models::chart(&mut page, &all);
        models::explorer(&mut page, &all);
        claims::section(&mut page, &all, &sets);
        bins::section(&mut page, &all);
        differences::section(&mut page, &all);
        rankings::section(&mut page, &sets);
        noise::section(&mut page, &all);
        ties::section(&mut page, &all);
        direction::section(&mut page, &all);
        sigma::section(&mut page, &all);
    }
    limits(&mut page, &all);
    rules_in_words(&mut page);
    models::table(&mut page, &all);
    files(&mut page, left_out);
    page
}

/// The domains in alphabetical order.
fn domains<'a>(all: &[&'a Measured]) -> Vec<&'a str> {
    let mut domains: Vec<&str> = all.iter().map(|model| model.entry.domain.as_str()).collect();
    domains.sort_unstable();
    domains.dedup();
    domains
}

/// The set of a model, for intervals.
fn set_of(model: &Measured) -> &str {
    &model.entry.rows
}

/// Whether the model was trained for the collection, not published by others.
fn is_own(model: &Measured) -> bool {
    model.entry.caution.contains("own model")
}

/// Models with a standard error: rows do not depend on each other, or clusters of them are known.
fn with_errors<'a>(all: &[&'a Measured]) -> Vec<&'a Measured> {
    all.iter().filter(|model| model.has_errors()).copied().collect()
}

/// Models whose rows do not depend on each other.
fn with_chance<'a>(all: &[&'a Measured]) -> Vec<&'a Measured> {
    all.iter().filter(|model| model.chance.is_some()).copied().collect()
}

/// All models, and the parts of them that tables show.
fn parts<'a>(all: &[&'a Measured]) -> Vec<(String, Vec<&'a Measured>)> {
    let of = |is: &dyn Fn(&Measured) -> bool| all.iter().filter(|model| is(model)).copied().collect::<Vec<_>>();
    let mut parts = vec![
        ("all models".to_owned(), all.to_vec()),
        ("published by others".to_owned(), of(&|model| !is_own(model))),
        ("trained for the collection".to_owned(), of(&is_own)),
    ];
    let classes = |limits: [u64; 2], what: &str, value: fn(&Measured) -> u64| {
        let [low, high] = limits;
        [
            (format!("fewer than {} {what}", count(low)), of(&|model| value(model) < low)),
            (format!("{} to {} {what}", count(low), count(high - 1)), of(&|model| (low..high).contains(&value(model)))),
            (format!("{} {what} or more", count(high)), of(&|model| value(model) >= high)),
        ]
    };
    parts.extend(classes(SIZES, "rows", |model| model.n));
    parts.extend(classes(DISTINCT, "distinct probabilities", |model| model.n_distinct));
    parts.extend(domains(all).into_iter().map(|domain| (domain.to_owned(), of(&|model| model.entry.domain == domain))));
    parts.retain(|(_, models)| !models.is_empty());
    parts
}

/// A value of a model.
type Value = fn(&Measured) -> f64;

/// What some models have in a column of a table.
type Cell<'a> = Box<dyn Fn(&[&Measured]) -> String + 'a>;

/// A column of a table with a row for each part of the models.
struct Column<'a> {
    name: String,
    cell: Cell<'a>,
}

impl<'a> Column<'a> {
    fn new(name: impl Into<String>, cell: impl Fn(&[&Measured]) -> String + 'a) -> Self {
        Column { name: name.into(), cell: Box::new(cell) }
    }
}

/// A table with a row for each part of the models.
fn table_of_parts(all: &[&Measured], columns: &[Column<'_>]) -> Table {
    let first = ["models", "number", "sets"].into_iter();
    let mut table = Table::new(first.chain(columns.iter().map(|column| column.name.as_str())));
    for (name, models) in parts(all) {
        let mut sets: Vec<&str> = models.iter().map(|model| set_of(model)).collect();
        sets.sort_unstable();
        sets.dedup();
        let numbers = [name, models.len().to_string(), sets.len().to_string()];
        table.row(numbers.into_iter().chain(columns.iter().map(|column| (column.cell)(&models))));
    }
    table
}

/// The share of models for which something is true.
fn share(models: &[&Measured], is: impl Fn(&Measured) -> bool) -> Option<Statistic> {
    super::share::share(models.iter().map(|model| (set_of(model), is(model))))
}

/// The median of a value of models.
fn median(models: &[&Measured], of: impl Fn(&Measured) -> f64) -> Option<Statistic> {
    super::share::median(models.iter().map(|model| (set_of(model), of(model))))
}

/// A share as a cell; a dash without models.
fn percent(found: Option<Statistic>) -> String {
    found.map_or("-".to_owned(), |found| found.percent())
}

/// A median as a cell.
fn decimal(found: Option<Statistic>) -> String {
    found.map_or("-".to_owned(), |found| found.decimal())
}

fn limits(page: &mut Page, all: &[&Measured]) {
    let n_own = all.iter().filter(|model| is_own(model)).count();
    let n_dependent = all.iter().filter(|model| model.chance.is_none()).count();
    page.heading("Limits");
    page.text(&format!(
        "The models are those whose predictions were published and could be obtained, and {n_own} that were trained for \
         the collection on public data; they are not a sample of all models in use. Models of one set share their rows or their benchmark, \
         so the number of sets, not of models, tells how much is known. {n_dependent} models have rows that depend on \
         each other, such as forecasts of one event on many dates; they count where values are compared and are left \
         out where chance comes in. Chance is that of a calibrated model: for a strongly miscalibrated one the range of \
         ECE over bins varies less, so the test then misses models, and the share of brittle ones is a lower bound. The standard error of ECE by \
         the delta method is too large where gaps are near 0."
    ));
}

fn rules_in_words(page: &mut Page) {
    page.heading("The rules");
    for (name, text) in rules::TEXT {
        page.text(&format!("**{name}.** {text}"));
    }
    let changes: Vec<String> = rules::CHANGES.iter().map(|change| format!("- {change}\n")).collect();
    page.text(&format!("Changed after the first run of all files:\n\n{}", changes.concat()));
}

fn files(page: &mut Page, left_out: &[LeftOut]) {
    page.heading("Files that are not used");
    if left_out.is_empty() {
        page.text("None.");
        return;
    }
    let mut reasons = std::collections::BTreeMap::<&str, Vec<&str>>::new();
    for left in left_out {
        reasons.entry(&left.reason).or_default().push(&left.file);
    }
    let mut table = Table::new(["reason", "number", "files"]);
    for (reason, mut names) in reasons {
        names.sort_unstable();
        table.row([reason.to_owned(), names.len().to_string(), names.join(", ")]);
    }
    page.table(&table);
}
