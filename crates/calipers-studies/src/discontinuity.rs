//! Section 3: where ECE jumps.

use calipers::population::{Counterexample, Finite, two_point};
use calipers::{BinnedEce, Error, Estimator};
use calipers_report::{Axis, Chart, Series, Stroke};

use crate::replicates::seed;
use crate::table::{fixed, full, short};
use crate::{Agreement, Page, Setting, Table};

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
         differs in size from that of its level set. `nearby` is the ECE of the constructed perturbation of size 1e-6.",
    );
    let mut table =
        Table::new(["example", "ECE", "‖g* - g‖₁", "jump", "nearby", "continuous", "(disc-cond)", "do they agree"]);
    let mut wrong = Vec::new();
    for Example { name, population } in examples()? {
        let met = population.level_sets().iter().any(|set| set.meets_disc_cond);
        let continuous = population.is_continuous();
        let agree = continuous != met;
        if !agree {
            wrong.push(name);
        }
        let word = |yes: bool| if yes { "yes" } else { "no" };
        table.row([
            name.to_owned(),
            fixed(population.ece(), 6),
            fixed(population.distance_to_truth(), 6),
            fixed(population.jump(), 6),
            fixed(population.perturbed(1e-6)?.ece(), 6),
            word(continuous).to_owned(),
            if met { "met" } else { "not met" }.to_owned(),
            word(agree).to_owned(),
        ]);
    }
    page.table(&table);
    page.csv("finite", &table);
    page.finding(Agreement::Seen, "ECE jumps exactly where Theorem ece-continuity says, and by ‖g* - g‖₁ - ECE(g).");
    page.finding(
        Agreement::NotSeen,
        &format!(
            "(disc-cond) is met where ECE is continuous in: {}. It is necessary for a jump but not sufficient: the proof \
             of Theorem discretecase moves one point out of its level set and forgets that the mean of the others moves too.",
            wrong.join("; ")
        ),
    );
    Ok(())
}

fn approach(page: &mut Page) -> Result<(), Error> {
    page.heading("Approaching a predictor");
    page.text(
        "ECE along predictors that come closer and closer: by the construction that reaches the jump where there is one, and \
         by moving points up and down in turn where there is none. It stays away from the value at the predictor itself \
         where that is a discontinuity, and arrives at it where it is not.",
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

/// A predictor at most `size` away that splits every level set, where there is a jump so that it is reached.
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
         and no prediction has positive probability. g_delta, within delta = 1/N of g, tells the outcomes apart in N cells. \
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
    page.finding(
        Agreement::Seen,
        &format!("ECE(g) = 0, and ECE(g_delta) goes to 1/3; the formula holds to {}.", short(furthest)),
    );

    let n_rows = setting.pick(200_000, 10_000);
    let ece = |population: Counterexample, n_bins: usize| -> Result<f64, Error> {
        let sample = population.sample(n_rows, seed(setting.seed, 3, 0));
        Ok(BinnedEce::new().n_bins(n_bins).estimate(&sample.input().check()?.binary()?)?.value)
    };
    let perturbed = Counterexample::perturbed(1000)?;
    let (coarse, fine) = (ece(perturbed, 15)?, ece(perturbed, 100_000_usize.min(n_rows * 10))?);
    page.finding(
        Agreement::Noted,
        &format!(
            "On {n_rows} rows of g_delta with delta = 1e-3, 15 bins see {} and bins as fine as its levels see {}: binned \
             ECE is blind to the jump unless the bins are finer than the perturbation.",
            fixed(coarse, 4),
            fixed(fine, 4),
        ),
    );
    Ok(())
}
