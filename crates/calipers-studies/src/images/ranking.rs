//! Which model is best calibrated, by ECE and by LS-ECE.

use super::counts;
use super::findings::say;
use super::{Measured, Point};
use crate::table::fixed;
use crate::{Agreement, Page, Table};

/// Pairs that a finding names.
const MOST_PAIRS: usize = 6;

/// Models by their figure at one number of bins, the least first.
fn order(models: &[Measured], place: usize, value: fn(&Point) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..models.len()).collect();
    order.sort_by(|a, b| value(&models[*a].points[place]).total_cmp(&value(&models[*b].points[place])));
    order
}

/// Two models of which ECE and LS-ECE think differently.
#[derive(Debug, PartialEq)]
struct Swap {
    pair: (usize, usize),
    bins: Vec<usize>,
    /// How far apart the two are by ECE, at most.
    gap: f64,
}

fn swaps(models: &[Measured]) -> Vec<Swap> {
    let mut all = Vec::new();
    for a in 0..models.len() {
        for b in a + 1..models.len() {
            let mut swap = Swap { pair: (a, b), bins: Vec::new(), gap: 0.0 };
            for (one, other) in models[a].points.iter().zip(&models[b].points) {
                let by_ece = one.ece - other.ece;
                if by_ece * (one.gaussian.integral - other.gaussian.integral) < 0.0 {
                    swap.bins.push(one.n_bins);
                    swap.gap = swap.gap.max(by_ece.abs());
                }
            }
            if !swap.bins.is_empty() {
                all.push(swap);
            }
        }
    }
    all.sort_by_key(|swap| std::cmp::Reverse(swap.bins.len()));
    all
}

pub(super) fn findings(page: &mut Page, group: &str, models: &[Measured]) {
    if models.len() < 2 {
        say(page, group, Agreement::Noted, "One model: there is nothing to rank.");
        return;
    }
    best(page, group, models);
    let n_counts = models[0].points.len();
    let by_ece: Vec<Vec<usize>> = (0..n_counts).map(|place| order(models, place, |point| point.ece)).collect();
    let by_ls_ece: Vec<Vec<usize>> =
        (0..n_counts).map(|place| order(models, place, |point| point.gaussian.integral)).collect();
    let n_alike = by_ece.iter().zip(&by_ls_ece).filter(|(ece, ls_ece)| ece == ls_ece).count();
    let swaps = swaps(models);
    let named = swaps.iter().take(MOST_PAIRS).map(|swap| {
        let (a, b) = (&models[swap.pair.0].short, &models[swap.pair.1].short);
        format!("{a} and {b} at {} (ECE apart by at most {})", counts(&swap.bins), fixed(swap.gap, 4))
    });
    let pairs = match swaps.len() {
        0 => "No pair swaps.".to_owned(),
        n => {
            let more = if n > MOST_PAIRS { format!("; and {} pairs more", n - MOST_PAIRS) } else { String::new() };
            format!("Pairs that swap: {}{more}.", named.collect::<Vec<_>>().join("; "))
        }
    };
    say(
        page,
        group,
        Agreement::Noted,
        &format!(
            "ECE and LS-ECE rank the {} models alike at {n_alike} of {n_counts} numbers of bins. {pairs}",
            models.len()
        ),
    );
    page.table(&orders(models, &by_ece, &by_ls_ece));
}

/// The paper's claim: which model is best calibrated does not depend on bins or sigma, nor on which
/// of the two is asked.
fn best(page: &mut Page, group: &str, models: &[Measured]) {
    let best = |value: fn(&Point) -> f64| -> Vec<(usize, Vec<usize>)> {
        let mut all: Vec<(usize, Vec<usize>)> = Vec::new();
        for (place, point) in models[0].points.iter().enumerate() {
            let model = order(models, place, value)[0];
            match all.iter_mut().find(|(other, _)| *other == model) {
                Some((_, own)) => own.push(point.n_bins),
                None => all.push((model, vec![point.n_bins])),
            }
        }
        all
    };
    let (by_ece, by_ls_ece) = (best(|point| point.ece), best(|point| point.gaussian.integral));
    let words = |all: &[(usize, Vec<usize>)]| match all {
        [(model, _)] => format!("{} at every number of bins", models[*model].short),
        _ => {
            let each = all.iter().map(|(model, bins)| format!("{} at {}", models[*model].short, counts(bins)));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    let seen = by_ece.len() == 1 && by_ls_ece == by_ece;
    say(
        page,
        group,
        Agreement::seen_if(seen),
        &format!("The best calibrated model by ECE is {}; by LS-ECE {}.", words(&by_ece), words(&by_ls_ece)),
    );
}

/// Every order that occurs, and where.
fn orders(models: &[Measured], by_ece: &[Vec<usize>], by_ls_ece: &[Vec<usize>]) -> Table {
    let mut distinct: Vec<&Vec<usize>> = Vec::new();
    for order in by_ece.iter().chain(by_ls_ece) {
        if !distinct.contains(&order) {
            distinct.push(order);
        }
    }
    let mut table = Table::new(["order, best first", "by ECE at", "by LS-ECE at"]);
    for order in distinct {
        let names: Vec<&str> = order.iter().map(|model| models[*model].short.as_str()).collect();
        let at = |orders: &[Vec<usize>]| {
            let own = orders.iter().zip(&models[0].points).filter(|(other, _)| *other == order);
            let own: Vec<usize> = own.map(|(_, point)| point.n_bins).collect();
            if own.is_empty() { "never".to_owned() } else { counts(&own) }
        };
        table.row([names.join(" < "), at(by_ece), at(by_ls_ece)]);
    }
    table
}
