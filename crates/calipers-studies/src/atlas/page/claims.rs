//! The claims of the paper's Section 6, each with the share of models for which it is true.

use super::rankings::{ranked_sets, same_best_by_ece, same_best_by_ls_ece};
use super::{set_of, share, with_chance};
use crate::atlas::MeasuredSet;
use crate::atlas::measured::Measured;
use crate::atlas::rules::{CLOSE, HOLDS, HOLDS_WITH_CONDITIONS, NEARLY_THE_SAME};
use crate::atlas::share::{self as shares, Statistic};
use crate::summary::extent;
use crate::table::fixed;
use crate::{Agreement, Page, Table};

struct Claim {
    text: &'static str,
    what: &'static str,
    found: Option<Statistic>,
    /// Where it holds: models with many rows.
    many_rows: Option<Statistic>,
}

/// How far ECE moves over the paper's numbers of bins.
pub(super) fn paper_range(model: &Measured) -> f64 {
    let (least, most) = extent(model.paper_eces());
    most - least
}

fn tracks(model: &Measured, values: &[f64]) -> bool {
    model.paper_eces().zip(values).all(|(ece, other)| (ece - other).abs() <= CLOSE)
}

fn near_smooth_ece(model: &Measured) -> bool {
    model.paper_eces().all(|ece| (ece - model.smooth_ece).abs() <= CLOSE)
}

fn claims(all: &[&Measured], sets: &[&MeasuredSet]) -> Vec<Claim> {
    let large: Vec<&Measured> = all.iter().filter(|model| model.n >= 10_000).copied().collect();
    let claim = |text, what, is: &dyn Fn(&Measured) -> bool| Claim {
        text,
        what,
        found: share(all, is),
        many_rows: share(&large, is),
    };
    let ranked = ranked_sets(sets);
    let is_large = |models: &[&Measured]| models.iter().all(|model| model.n >= 10_000);
    let of_sets = |text, is: fn(&[&Measured]) -> bool| Claim {
        text,
        what: "sets of at least three models",
        found: shares::share(ranked.iter().map(|(set, models)| (*set, is(models)))),
        many_rows: shares::share(
            ranked.iter().filter(|(_, models)| is_large(models)).map(|(set, models)| (*set, is(models))),
        ),
    };
    vec![
        claim("ECE stays nearly the same as the number of bins changes", "models", &|model| {
            paper_range(model) <= NEARLY_THE_SAME
        }),
        claim("LS-ECE tracks ECE closely", "models", &|model| tracks(model, &model.gaussian)),
        claim("ECE and smECE are near-identical at every number of bins", "models", &near_smooth_ece),
        claim("ECE, LS-ECE and smECE are near-identical", "models", &|model| {
            tracks(model, &model.gaussian) && near_smooth_ece(model)
        }),
        claim("Uniform noise of width 1/bins leads to the same answer on tracking", "models", &|model| {
            tracks(model, &model.gaussian) == tracks(model, &model.uniform)
        }),
        of_sets("The best calibrated model by ECE is the same at every number of bins", same_best_by_ece),
        of_sets("The best calibrated model by LS-ECE is the same at every sigma", same_best_by_ls_ece),
    ]
}

/// A claim that holds with conditions is neither seen nor not seen.
fn agreement(found: &Statistic) -> Agreement {
    match found.value {
        value if value >= HOLDS => Agreement::Seen,
        value if value >= HOLDS_WITH_CONDITIONS => Agreement::Noted,
        _ => Agreement::NotSeen,
    }
}

fn verdict(found: &Statistic) -> &'static str {
    match found.value {
        value if value >= HOLDS => "holds",
        value if value >= HOLDS_WITH_CONDITIONS => "holds with conditions",
        _ => "does not hold",
    }
}

pub(super) fn section(page: &mut Page, all: &[&Measured], sets: &[&MeasuredSet]) {
    page.heading("The paper's claims");
    page.text(
        "The claims of the paper's Section 6 on image networks, each with the share of these models for which it is \
         true, and the same for models with at least 10,000 rows, which is what the paper looked at. The claims on \
         synthetic data are answered by the study of [two points](two-point.md).",
    );
    let mut table = Table::new(["claim", "answer", "true for", "with at least 10,000 rows"]);
    let claims = claims(all, sets);
    for claim in &claims {
        let Some(found) = &claim.found else { continue };
        let true_for = |found: Option<Statistic>| match found {
            Some(found) => format!(
                "{} of {} {}; mean over sets {} %",
                found.percent(),
                found.n_models,
                claim.what,
                fixed(100.0 * found.by_set, 0)
            ),
            None => "-".to_owned(),
        };
        table.row([claim.text.to_owned(), verdict(found).to_owned(), true_for(claim.found), true_for(claim.many_rows)]);
    }
    page.table(&table);
    for claim in &claims {
        let Some(found) = &claim.found else { continue };
        page.finding(
            agreement(found),
            &format!(
                "{}: {}; it is true for {} of {} {}.",
                claim.text,
                verdict(found),
                found.percent(),
                found.n_models,
                claim.what
            ),
        );
    }
    conclusion(page, all);
}

/// The paper's conclusion: the pathologies may not pose a problem in practice.
fn conclusion(page: &mut Page, all: &[&Measured]) {
    let models = with_chance(all);
    let harmless = shares::share(models.iter().map(|model| (set_of(model), !super::bins::brittle_by_a_point(model))));
    if let Some(found) = harmless {
        page.finding(
            agreement(&found),
            &format!(
                "The paper's conclusion, that the discontinuity of ECE may not pose a problem in practice: {}. For {} of {} models with independent rows, the choice of bins moves ECE by no more than chance or a percentage point.",
                verdict(&found),
                found.percent(),
                found.n_models
            ),
        );
    }
}
