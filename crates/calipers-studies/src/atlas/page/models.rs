//! Every model: the chart of all of them, and the table.

use calipers_report::{Axis, BLACK, Chart, Detail, ModelPoint, ModelsPage, PALETTE, Series, Stroke, models_page};

use super::bins::{brittle, brittle_by_a_point};
use super::direction::{overconfident, underconfident};
use super::noise::not_above;
use crate::atlas::measured::Measured;
use crate::atlas::rules::{BINS, PAPER_BINS};
use crate::table::{fixed, full};
use crate::{Page, Table};

/// Domains with a colour of their own; the others share one, and black is for the diagonal.
const MOST_COLOURS: usize = PALETTE.len() - 2;

/// ECE against LS-ECE.
pub(super) fn chart(page: &mut Page, all: &[&Measured]) {
    let mut domains: Vec<(&str, usize)> = super::domains(all)
        .into_iter()
        .map(|domain| (domain, all.iter().filter(|model| model.entry.domain == domain).count()))
        .collect();
    domains.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let point = |model: &&Measured| (model.automatic.max(1e-4), model.ece.max(1e-4));
    let mut chart = Chart::new("ECE and LS-ECE of all models")
        .x(Axis::log("LS-ECE at the automatic sigma"))
        .y(Axis::log("ECE with 15 bins of equal width"));
    let named: Vec<&str> = domains.iter().take(MOST_COLOURS).map(|(domain, _)| *domain).collect();
    for domain in &named {
        let points = all.iter().filter(|model| model.entry.domain == *domain).map(point).collect();
        chart = chart.add(Series::line(*domain, points).stroke(Stroke::None).markers());
    }
    let others: Vec<(f64, f64)> =
        all.iter().filter(|model| !named.contains(&model.entry.domain.as_str())).map(point).collect();
    if !others.is_empty() {
        chart = chart.add(Series::line("other domains", others).stroke(Stroke::None).markers());
    }
    chart = chart.add(Series::line("equal", vec![(1e-3, 1e-3), (0.5, 0.5)]).stroke(Stroke::Dotted).colour(BLACK));
    page.figure(
        "models",
        &chart,
        "ECE with 15 bins of equal width against LS-ECE at the automatic sigma, for every model. On the dotted line, the \
         two are equal.",
    );
}

/// The page on which every model can be looked up.
pub(super) fn explorer(page: &mut Page, all: &[&Measured]) {
    let html = models_page(&ModelsPage {
        title: format!("ECE and LS-ECE of {} real models", all.len()),
        about: vec![
            "Each mark is a model: its ECE with 15 bins of equal width against its LS-ECE at the automatic sigma. On the \
             diagonal, the two are equal. The study that made this page describes the models, the rules and the findings."
                .to_owned(),
        ],
        x: "LS-ECE, automatic sigma".to_owned(),
        y: "ECE, 15 bins".to_owned(),
        group: "domain".to_owned(),
        models: all.iter().map(|model| of_explorer(model)).collect(),
        command: Some("calipers study atlas".to_owned()),
    });
    page.html("explorer", html, "Every model with its values, as a chart to explore");
}

fn of_explorer(model: &Measured) -> ModelPoint {
    let chance = model.chance.as_ref();
    let number = |label: &str, value: Option<f64>| match value {
        Some(value) => Detail::number(label, value),
        None => Detail::text(label, "-"),
    };
    let verdict = match chance {
        None => "rows depend on each other",
        Some(_) if brittle_by_a_point(model) => "brittle by a point",
        Some(_) if brittle(model) => "brittle",
        Some(_) => "chance explains it",
    };
    ModelPoint {
        name: model.entry.title(),
        group: model.entry.domain.clone(),
        n: model.n,
        x: model.automatic,
        y: model.ece,
        details: vec![
            number("Noise floor of ECE", chance.map(|chance| chance.floor)),
            number("p-value", chance.map(|chance| chance.p_value)),
            Detail::number("Debiased ECE", model.debiased),
            Detail::number("LS-ECE, sigma 1/15", model.matched),
            Detail::number("smECE", model.smooth_ece),
            Detail::number("Range of ECE over bins", model.distances[0]),
            Detail::text("What the bins do", verdict),
            Detail::shown(
                "Tied rows",
                super::ties::tied(model),
                format!("{} %", fixed(100.0 * super::ties::tied(model), 0)),
            ),
        ],
    }
}

fn flag(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

/// The table for people and the one for programs.
pub(super) fn table(page: &mut Page, all: &[&Measured]) {
    page.heading("All models");
    page.text(
        "A dash stands where rows depend on each other and chance is not known. The noise floor is that of ECE; the p-value is that of ECE above it.",
    );
    let mut table = Table::new([
        "domain",
        "model",
        "n",
        "k",
        "ECE",
        "noise floor",
        "p",
        "debiased ECE",
        "LS-ECE, matched",
        "LS-ECE, automatic",
        "smECE",
        "range over bins",
        "brittle",
        "tied rows",
    ]);
    for model in all {
        let chance = model.chance.as_ref();
        let dash = || "-".to_owned();
        table.row([
            model.entry.domain.clone(),
            model.entry.title(),
            model.n.to_string(),
            model.n_classes.max(2).to_string(),
            fixed(model.ece, 4),
            chance.map_or_else(dash, |chance| fixed(chance.floor, 4)),
            chance.map_or_else(dash, |chance| fixed(chance.p_value, 3)),
            fixed(model.debiased, 4),
            fixed(model.matched, 4),
            fixed(model.automatic, 4),
            fixed(model.smooth_ece, 4),
            fixed(model.distances[0], 4),
            chance.map_or_else(dash, |_| flag(brittle(model))),
            format!("{} %", fixed(100.0 * super::ties::tied(model), 0)),
        ]);
    }
    page.table(&table);
    page.csv("models", &csv(all));
}

fn csv(all: &[&Measured]) -> Table {
    let mut columns: Vec<String> = [
        "file",
        "domain",
        "data_set",
        "model",
        "rows",
        "caution",
        "n",
        "k",
        "n_distinct",
        "n_tied",
        "tied_jump",
        "ece",
        "standard_error",
        "debiased",
        "noise_floor",
        "noise_floor_deviation",
        "p_value",
        "smooth",
        "ls_matched",
        "ls_automatic",
        "sigma",
        "range_width",
        "range_mass",
        "width_against_mass",
        "p_range_width",
        "p_range_mass",
        "p_width_against_mass",
        "brittle",
        "brittle_by_a_point",
        "not_above_floor",
        "overconfidence",
        "overconfidence_error",
        "direction",
        "sweep",
    ]
    .map(str::to_owned)
    .to_vec();
    columns.extend(BINS.iter().map(|n_bins| format!("ece_width_{n_bins}")));
    columns.extend(BINS.iter().map(|n_bins| format!("ece_mass_{n_bins}")));
    columns.extend(PAPER_BINS.iter().map(|n_bins| format!("ls_gaussian_{n_bins}")));
    columns.extend(PAPER_BINS.iter().map(|n_bins| format!("ls_uniform_{n_bins}")));
    let mut table = Table::new(columns);
    for model in all {
        let entry = &model.entry;
        let chance = model.chance.as_ref();
        let known =
            |of: &dyn Fn(&crate::atlas::chance::Chance) -> f64| chance.map_or(String::new(), |chance| full(of(chance)));
        let direction = match (overconfident(model), underconfident(model)) {
            (true, _) => "over",
            (_, true) => "under",
            _ => "neither",
        };
        let mut row: Vec<String> =
            [&entry.file, &entry.domain, &entry.data_set, &entry.model, &entry.rows, &entry.caution]
                .map(Clone::clone)
                .to_vec();
        row.extend([model.n, model.n_classes.max(2), model.n_distinct, model.n_tied].map(|count| count.to_string()));
        row.extend([model.tied_jump, model.ece, model.standard_error, model.debiased].map(full));
        row.extend([
            known(&|chance| chance.floor),
            known(&|chance| chance.floor_deviation),
            known(&|chance| chance.p_value),
        ]);
        row.extend([model.smooth_ece, model.matched, model.automatic, model.sigma].map(full));
        row.extend(model.distances.map(full));
        row.extend([0, 1, 2].map(|kind| known(&|chance| chance.p_values[kind])));
        let known_flag = |is: bool| chance.map_or(String::new(), |_| flag(is));
        row.extend([known_flag(brittle(model)), known_flag(brittle_by_a_point(model)), known_flag(not_above(model))]);
        row.extend([model.overconfidence, model.overconfidence_error].map(full));
        row.extend([direction.to_owned(), model.sweep.clone()]);
        for values in [&model.width, &model.mass, &model.gaussian, &model.uniform] {
            row.extend(values.iter().map(|value| full(*value)));
        }
        table.row(row);
    }
    table
}
