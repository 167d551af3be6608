//! Section 3: where ECE jumps.

use calipers::population::{Counterexample, Finite, two_point};
use calipers::{BinnedEce, Error, Input, Measure};
use calipers_report::{Axis, Chart, Series, Stroke};

use crate::replicates::seed_of;
use crate::table::{fixed, full, short};
use crate::{Agreement, Page, Setting, Table};

/// The size of the perturbations by which jumps are looked for.
const SMALL: f64 = 1e-6;

/// Cells of the perturbed counterexample that is binned: delta = 1e-3.
const N_CELLS: u64 = 1000;

/// Numbers of bins in which it is looked at: some with edges on all multiples of delta, some one
/// short of that.
const N_BINS: [usize; 7] = [15, 1000, 2000, 9999, 10_000, 99_999, 100_000];

/// An example with a name.
struct Example {
    name: &'static str,
    population: Finite,
}

fn examples() -> Result<Vec<Example>, Error> {
    let halves = [0.5, 0.5];
    let quarters = [0.25; 4];
    Ok([
        ("2-point, alpha = 0", two_point(0.0)?),
        ("2-point, alpha = 1e-3", two_point(1e-3)?),
        ("errors of one sign", Finite::new(&halves, &[0.7, 0.9], &[0.5, 0.5])?),
        ("errors of both signs", Finite::new(&halves, &[0.3, 0.9], &[0.5, 0.5])?),
        ("equal truths", Finite::new(&halves, &[0.7, 0.7], &[0.5, 0.5])?),
        ("equal sizes, both signs", Finite::new(&halves, &[0.3, 0.7], &[0.5, 0.5])?),
        ("one error is 0", Finite::new(&halves, &[0.5, 0.9], &[0.5, 0.5])?),
        ("two level sets, one mixed", Finite::new(&quarters, &[0.1, 0.5, 0.8, 0.9], &[0.3, 0.3, 0.7, 0.7])?),
        ("all different", Finite::new(&quarters, &[0.9, 0.1, 0.8, 0.2], &[0.1, 0.3, 0.6, 0.8])?),
    ]
    .into_iter()
    .map(|(name, population)| Example { name, population })
    .collect())
}

/// The study.
pub fn run(setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new("discontinuity", "Where ECE jumps", setting);
    finite(&mut page)?;
    approach(&mut page)?;
    counterexample(&mut page, setting)?;
    Ok(page)
}

fn finite(page: &mut Page) -> Result<(), Error> {
    page.heading("Finite examples on both sides of the criterion");
    page.text(
        "ECE is continuous at g exactly where ECE(g) = ‖g* - g‖₁ (Theorem ece-continuity), that is, where g* - g does not \
         take both signs on a level set. Theorem discretecase names another condition, (disc-cond): some point's error \
         differs in size from that of its level set. `nearby` is the ECE of a predictor that is 1e-6 away. If ECE jumps, this predictor is the construction that \
         reaches the jump. If not, points are moved up and down alternately.",
    );
    let mut table =
        Table::new(["example", "ECE", "‖g* - g‖₁", "jump", "nearby", "continuous", "(disc-cond)", "do they agree"]);
    let (mut as_said, mut met_without_jump, mut jump_without_met) = (true, Vec::new(), Vec::new());
    for Example { name, population } in examples()? {
        let met = population.level_sets().iter().any(|set| set.meets_disc_cond);
        let continuous = population.is_continuous();
        let agree = continuous != met;
        match (continuous, met) {
            (true, true) => met_without_jump.push(name),
            (false, false) => jump_without_met.push(name),
            _ => {}
        }
        let nearby = nearby(&population, SMALL)?.ece();
        as_said &= jumps_as_said(&population, nearby);
        let word = |yes: bool| if yes { "yes" } else { "no" };
        table.row([
            name.to_owned(),
            fixed(population.ece(), 6),
            fixed(population.distance_to_truth(), 6),
            fixed(population.jump(), 6),
            fixed(nearby, 6),
            word(continuous).to_owned(),
            if met { "met" } else { "not met" }.to_owned(),
            word(agree).to_owned(),
        ]);
    }
    page.table(&table);
    page.csv("finite", &table);
    page.finding(
        Agreement::seen_if(as_said),
        if as_said {
            "In every example, ECE jumps exactly where Theorem ece-continuity states, and by ‖g* - g‖₁ - ECE(g), to within 1e-6."
        } else {
            "ECE does not jump where Theorem ece-continuity says, or not by ‖g* - g‖₁ - ECE(g), in some example."
        },
    );
    let mut words = Vec::new();
    if !met_without_jump.is_empty() {
        words.push(format!(
            "(disc-cond) is met where ECE is continuous in: {}. It is not sufficient for a jump: the proof of Theorem discretecase moves one point out of its level set, \
             but does not account for the change of the mean of the others.",
            met_without_jump.join("; ")
        ));
    }
    words.push(match jump_without_met.is_empty() {
        true => "Wherever ECE jumps here, (disc-cond) is met.".to_owned(),
        false => format!("(disc-cond) is not met where ECE jumps in: {}.", jump_without_met.join("; ")),
    });
    let agree = met_without_jump.is_empty() && jump_without_met.is_empty();
    page.finding(Agreement::seen_if(agree), &words.join(" "));
    Ok(())
}

/// Whether ECE at a predictor `SMALL` away is ECE + jump to within that, and unlike ECE unless it
/// is continuous.
fn jumps_as_said(population: &Finite, nearby: f64) -> bool {
    // The distance to the truth changes by at most as much as predictions do; the rest is rounding.
    let near = |a: f64, b: f64| (a - b).abs() <= SMALL * (1.0 + 1e-6);
    let reached = near(nearby, population.ece() + population.jump());
    reached && near(nearby, population.ece()) == population.is_continuous()
}

fn approach(page: &mut Page) -> Result<(), Error> {
    page.heading("Approaching a predictor");
    page.text(
        "The chart shows ECE of predictors that approach a given predictor. They are the construction that reaches the \
         jump if there is one; otherwise points are moved up and down alternately. If ECE is discontinuous at the \
         given predictor, ECE of the nearby predictors does not converge to the value there. If ECE is continuous, it \
         does.",
    );
    let sizes: Vec<f64> = (0..=24).map(|k| 10f64.powf(-f64::from(k) / 4.0)).collect();
    let mut chart = Chart::new("ECE of perturbed predictors by the size of the perturbation")
        .x(Axis::log("largest change of a prediction"))
        .y(Axis::linear("ECE"));
    let mut table = Table::new(["example", "size", "ece"]);
    let shown = ["2-point, alpha = 0", "errors of both signs", "errors of one sign"];
    let chosen: Vec<Example> = examples()?.into_iter().filter(|example| shown.contains(&example.name)).collect();
    for (colour, Example { name, population }) in chosen.iter().enumerate() {
        let mut points = Vec::new();
        for &size in &sizes {
            let perturbed = nearby(population, size)?;
            points.push((size, perturbed.ece()));
            table.row([(*name).to_owned(), full(size), full(perturbed.ece())]);
        }
        let itself = Series::line("", vec![(sizes[sizes.len() - 1], population.ece()), (1.0, population.ece())]);
        chart = chart
            .add(Series::line(format!("{name}: nearby"), points).colour(colour))
            .add(Series { name: format!("{name}: at g"), ..itself }.stroke(Stroke::Dashed).colour(colour));
    }
    page.figure("approach", &chart, "Solid: perturbed predictors. Dashed: ECE at the predictor itself.");
    page.csv("approach", &table);
    Ok(())
}

/// A predictor at most `size` away that splits every level set, where there is a jump so that it is
/// reached.
fn nearby(population: &Finite, size: f64) -> Result<Finite, Error> {
    if !population.is_continuous() {
        return population.perturbed(size);
    }
    let step = |point: usize| if point.is_multiple_of(2) { size } else { -size };
    let moved = population.predictions().iter().enumerate().map(|(point, p)| (p + step(point)).clamp(0.0, 1.0));
    population.with_predictions(&moved.collect::<Vec<_>>())
}

fn counterexample(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    page.heading("The counterexample: a jump without level sets of positive mass");
    page.text(
        "Proposition counterexample: x1 is uniform on [0, 1], the outcome is 1 with probability x1, g = x1 is calibrated, \
         and no prediction has positive probability. g_delta, within delta = 1/N of g, separates the outcomes in N cells. \
         Its exact ECE, summed over its level sets, is 1/3 + delta/2 - delta²/12.",
    );
    let cells: Vec<u64> = (0..=setting.pick(20, 8)).map(|k| 1 << k).collect();
    let mut table = Table::new(["N", "delta", "ECE(g_delta)", "formula", "difference"]);
    let mut points = Vec::new();
    let mut furthest = 0.0_f64;
    for &n in &cells {
        let delta = 1.0 / n as f64;
        let exact = Counterexample::perturbed(n)?.ece();
        let formula = 1.0 / 3.0 + delta / 2.0 - delta * delta / 12.0;
        furthest = furthest.max((exact - formula).abs());
        points.push((delta, exact));
        table.row([n.to_string(), short(delta), fixed(exact, 9), fixed(formula, 9), short(exact - formula)]);
    }
    page.csv("counterexample", &table);
    let chart = Chart::new("ECE of g_delta, which comes arbitrarily close to a calibrated predictor")
        .x(Axis::log("delta"))
        .y(Axis::linear("ECE"))
        .add(Series::line("ECE(g_delta)", points))
        .horizontal_rule(1.0 / 3.0, "1/3")
        .horizontal_rule(0.0, "ECE(g) = 0");
    page.figure("counterexample", &chart, "As delta goes to 0, ECE goes to 1/3 and not to 0.");
    let at_g = Counterexample::calibrated().ece();
    let holds = at_g == 0.0 && furthest < 1e-12;
    page.finding(
        Agreement::seen_if(holds),
        &format!(
            "ECE(g) = {}, and ECE(g_delta) {}: the two differ by at most {} (expected below 1e-12).",
            short(at_g),
            if holds { "goes to 1/3, by the formula" } else { "does not follow the formula, which goes to 1/3" },
            short(furthest)
        ),
    );
    binned(page, setting)
}

/// ECE in bins of the perturbed counterexample, exact: all its level sets are pure, so each is a
/// weighted row.
fn exact_binned(n_bins: usize) -> Result<f64, Error> {
    let perturbed = Counterexample::perturbed(N_CELLS)?;
    let delta = 1.0 / N_CELLS as f64;
    let (mut scores, mut outcomes, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for cell in 0..N_CELLS {
        let ones = (cell as f64 + 0.5) * delta * delta;
        for (outcome, mass) in [(false, delta - ones), (true, ones)] {
            scores.push(perturbed.prediction(cell as f64 * delta, outcome));
            outcomes.push(outcome);
            weights.push(mass);
        }
    }
    let rows = Input::probabilities(&scores, &outcomes).weights(&weights).check()?;
    Ok(BinnedEce::new().n_bins(n_bins).estimate(&rows.binary()?)?.value)
}

fn binned(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_rows = setting.pick(200_000, 10_000);
    page.text(&format!(
        "This table shows how much of it binned ECE with bins of equal width detects, for g_delta with delta = 1/{N_CELLS}: for the distribution and for {n_rows} rows. \
         The two levels next to a multiple of delta, one of each outcome, are delta²/2 apart; a bin that holds both, or all of \
         a cell, mixes them.",
    ));
    let sample = Counterexample::perturbed(N_CELLS)?.sample(n_rows, seed_of(setting.random_state, 3, 0));
    let rows = sample.input().check()?;
    let view = rows.binary()?;
    let mut table = Table::new(["bins", "ECE in bins, exact", "ECE in bins, sample"]);
    let mut exact = Vec::new();
    for n_bins in N_BINS {
        let value = exact_binned(n_bins)?;
        let sampled = BinnedEce::new().n_bins(n_bins).estimate(&view)?.value;
        table.row([n_bins.to_string(), fixed(value, 4), fixed(sampled, 4)]);
        exact.push((n_bins, value));
    }
    page.table(&table);
    page.csv("binned", &table);
    let limit = 1.0 / 3.0;
    let (seeing, blind): (Vec<_>, Vec<_>) = exact.into_iter().partition(|(_, value)| *value > limit / 2.0);
    let words = |own: &[(usize, f64)]| {
        let each: Vec<String> = own.iter().map(|(n_bins, value)| format!("{n_bins} ({})", fixed(*value, 4))).collect();
        if each.is_empty() { "none".to_owned() } else { each.join(", ") }
    };
    page.finding(
        Agreement::Noted,
        &format!(
            "ECE in bins sees most of g_delta's ECE, delta = 1/{N_CELLS}, with these numbers of bins: {}; and hardly any \
             with these: {}. As with two points, the number of bins decides, not their width: the bins detect it if every multiple of \
             delta is an edge and each cell has several bins.",
            words(&seeing),
            words(&blind),
        ),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_see_the_jump_where_their_edges_are_multiples_of_delta_and_not_where_they_are_finer() {
        let values = N_BINS.map(|n_bins| exact_binned(n_bins).unwrap());
        let whole = Counterexample::perturbed(N_CELLS).unwrap().ece();
        for (n_bins, value) in N_BINS.into_iter().zip(values) {
            let sees = n_bins > 1000 && n_bins % 1000 == 0;
            assert!(if sees { (value - whole).abs() < 1e-9 } else { value < 0.002 }, "{n_bins}: {value}");
        }
    }

    #[test]
    fn a_jump_that_is_not_there_or_not_so_far_is_noticed() {
        let mixed = Finite::new(&[0.5, 0.5], &[0.3, 0.9], &[0.5, 0.5]).unwrap();
        let (ece, jump) = (mixed.ece(), mixed.jump());
        assert!(jumps_as_said(&mixed, ece + jump));
        assert!(!jumps_as_said(&mixed, ece) && !jumps_as_said(&mixed, ece + 0.9 * jump));
        let even = Finite::new(&[0.5, 0.5], &[0.7, 0.9], &[0.5, 0.5]).unwrap();
        assert!(jumps_as_said(&even, even.ece()) && !jumps_as_said(&even, even.ece() + 0.1));
    }
}
