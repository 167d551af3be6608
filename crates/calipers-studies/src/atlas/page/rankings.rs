//! Question c: whether the choice of measure changes the ranking of models.

use calipers::{BinnedEce, LsEce, Measure, SmoothEce, registry};

use super::set_of;
use crate::atlas::MeasuredSet;
use crate::atlas::measured::Measured;
use crate::atlas::ranking::{Pair, badness, kendall, resampled};
use crate::atlas::rules::{BINS, PAPER_BINS, SIGNIFICANT};
use crate::atlas::share::{self, Statistic};
use crate::table::{fixed, full};
use crate::{Agreement, Page, Table};

/// The least number of models that are ranked.
const LEAST_RANKED: usize = 3;

/// The models of a set that have the same rows.
fn ranked(set: &MeasuredSet) -> Vec<Vec<&Measured>> {
    let mut numbers: Vec<usize> = set.models.iter().map(|model| model.same_rows).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let of = |number: &usize| set.models.iter().filter(|model| model.same_rows == *number).collect::<Vec<_>>();
    numbers.iter().map(of).filter(|models| models.len() >= LEAST_RANKED).collect()
}

/// Kendall's tau between two measures of the catalogue, over sets.
pub(super) fn tau(sets: &[&MeasuredSet], first: usize, second: usize) -> Option<Statistic> {
    let mut taus = Vec::new();
    for models in sets.iter().flat_map(|set| ranked(set)) {
        let values = |measure: usize| {
            let spec = registry::all()[measure].spec;
            models.iter().map(|model| Some(badness(spec, model.catalogue[measure]?))).collect::<Option<Vec<f64>>>()
        };
        let found = values(first).zip(values(second)).and_then(|(a, b)| kendall(&a, &b));
        taus.extend(found.map(|tau| (set_of(models[0]), tau)));
    }
    share::average(taus)
}

/// Of two measures that are resampled: pairs of models that both call different, and those of them
/// whose order is reversed.
#[derive(Default)]
pub(super) struct Flips {
    pub(super) n_pairs: u64,
    pub(super) n_first: u64,
    pub(super) n_second: u64,
    pub(super) n_both: u64,
    pub(super) n_flips: u64,
}

impl Flips {
    fn of<'a>(pairs: impl Iterator<Item = &'a Pair>, first: usize, second: usize) -> Flips {
        let mut flips = Flips::default();
        for (a, b) in pairs.filter_map(|pair| pair.z[first].zip(pair.z[second])) {
            let (in_first, in_second) = (a.abs() > SIGNIFICANT, b.abs() > SIGNIFICANT);
            flips.n_pairs += 1;
            flips.n_first += u64::from(in_first);
            flips.n_second += u64::from(in_second);
            flips.n_both += u64::from(in_first && in_second);
            flips.n_flips += u64::from(in_first && in_second && a * b < 0.0);
        }
        flips
    }
}

/// Pairs of models whose differences have a standard error, each with the name of its set.
fn independent_pairs<'a>(sets: &[&'a MeasuredSet]) -> Vec<(&'a str, &'a Pair)> {
    let of_set = |set: &&'a MeasuredSet| {
        let set: &'a MeasuredSet = set;
        let pairs = set.pairs.iter().filter(move |pair| set.models[pair.first].has_errors());
        pairs.map(move |pair| (set_of(&set.models[pair.first]), pair)).collect::<Vec<_>>()
    };
    sets.iter().flat_map(of_set).collect()
}

/// Of the pairs that ECE and another measure both call different, the share whose order flips.
pub(super) fn flips_with_ece(sets: &[&MeasuredSet], name: &str) -> Option<Statistic> {
    let places = resampled();
    let place = |name: &str| places.iter().position(|place| registry::all()[*place].spec.name == name);
    let (ece, other) = (place(BinnedEce::new().spec().name)?, place(name)?);
    let both = independent_pairs(sets).into_iter().filter_map(|(set, pair)| {
        let (a, b) = pair.z[ece].zip(pair.z[other])?;
        (a.abs() > SIGNIFICANT && b.abs() > SIGNIFICANT).then_some((set, a * b < 0.0))
    });
    share::share(both)
}

/// Whether the same model is best by ECE at every number of bins of the paper.
pub(super) fn same_best_by_ece(models: &[&Measured]) -> bool {
    let best =
        |place: usize| (0..models.len()).min_by(|a, b| models[*a].width[place].total_cmp(&models[*b].width[place]));
    let mut of_paper = (0..BINS.len()).filter(|place| PAPER_BINS.contains(&BINS[*place])).map(best);
    let first = of_paper.next();
    of_paper.all(|other| Some(other) == first)
}

/// The same by LS-ECE at the inverse sigmas.
pub(super) fn same_best_by_ls_ece(models: &[&Measured]) -> bool {
    let best = |place: usize| {
        (0..models.len()).min_by(|a, b| models[*a].gaussian[place].total_cmp(&models[*b].gaussian[place]))
    };
    let mut bests = (0..PAPER_BINS.len()).map(best);
    let first = bests.next();
    bests.all(|other| Some(other) == first)
}

/// Sets of at least three models of the same rows, with their name.
pub(super) fn ranked_sets<'a>(sets: &[&'a MeasuredSet]) -> Vec<(&'a str, Vec<&'a Measured>)> {
    sets.iter().flat_map(|set| ranked(set)).map(|models| (set_of(models[0]), models)).collect()
}

pub(super) fn section(page: &mut Page, sets: &[&MeasuredSet]) {
    page.heading("c. Does the measure change the ranking?");
    let n_ranked: usize = sets.iter().map(|set| ranked(set).len()).sum();
    let n_models: usize = sets.iter().flat_map(|set| ranked(set)).map(|models| models.len()).sum();
    let pairs = independent_pairs(sets);
    page.text(&format!(
        "{n_ranked} sets have at least {LEAST_RANKED} models of the same rows ({n_models} models), and {} pairs of models have the same, independent rows. Each line compares a measure with ECE (15 bins of equal width): Kendall's tau of the two rankings, averaged over sets, and, of the pairs of models that both measures call different, the share whose order flips.",
        pairs.len()
    ));
    let (all, places) = (registry::all(), resampled());
    let ece = all.iter().position(|entry| entry.spec.name == BinnedEce::new().spec().name).unwrap_or(0);
    let flips = |first: usize, second: usize| {
        let at = |measure: usize| places.iter().position(|place| *place == measure);
        let (first, second) = (at(first)?, at(second)?);
        Some(Flips::of(pairs.iter().map(|(_, pair)| *pair), first, second))
    };
    let mut table = Table::new(["measure", "Kendall's tau with ECE", "pairs", "both call different", "order flips"]);
    for (measure, entry) in all.iter().enumerate().filter(|(measure, _)| *measure != ece) {
        let tau = tau(sets, ece, measure).map_or("-".to_owned(), |tau| {
            format!("{} ({} to {})", fixed(tau.value, 2), fixed(tau.lower, 2), fixed(tau.upper, 2))
        });
        let counts = flips(ece, measure);
        let cell = |of: &dyn Fn(&Flips) -> String| counts.as_ref().map_or("-".to_owned(), of);
        table.row([
            entry.spec.title.to_owned(),
            tau,
            cell(&|flips| flips.n_pairs.to_string()),
            cell(&|flips| flips.n_both.to_string()),
            cell(&|flips| match flips.n_both {
                0 => "0".to_owned(),
                both => format!("{} ({} %)", flips.n_flips, fixed(100.0 * flips.n_flips as f64 / both as f64, 1)),
            }),
        ]);
    }
    page.table(&table);
    for name in [LsEce::NAME, SmoothEce::NAME] {
        let title = registry::spec(name).map_or(name, |spec| spec.title);
        if let Some(found) = flips_with_ece(sets, name) {
            page.finding(
                Agreement::Noted,
                &format!(
                    "Of the pairs of models that both ECE and {title} call different, the order flips for {}.",
                    found.percent()
                ),
            );
        }
    }
    let mut every = Table::new([
        "first",
        "second",
        "tau",
        "tau_lower",
        "tau_upper",
        "pairs",
        "first_differs",
        "second_differs",
        "both_differ",
        "flips",
    ]);
    for first in 0..all.len() {
        for second in first + 1..all.len() {
            let tau = tau(sets, first, second);
            let numbers = tau.map_or([const { String::new() }; 3], |tau| [tau.value, tau.lower, tau.upper].map(full));
            let counts = flips(first, second).map_or([const { String::new() }; 5], |flips| {
                [flips.n_pairs, flips.n_first, flips.n_second, flips.n_both, flips.n_flips].map(|n| n.to_string())
            });
            let names = [all[first].spec.name, all[second].spec.name].map(str::to_owned);
            every.row(names.into_iter().chain(numbers).chain(counts));
        }
    }
    page.text("With no flip at all, the interval is that of Clopper and Pearson with the number of sets, which is wider than one from draws of sets. The file below has every pair of measures of the catalogue.");
    page.csv("rankings", &every);
}
