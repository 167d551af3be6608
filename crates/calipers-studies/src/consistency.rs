//! Section 5: LS-ECE as an estimate of ECE itself, beside others.
//!
//! # The paper's condition is not needed
//! Theorem ececonsist asks for an almost everywhere continuous density of the logits given the
//! outcome, and σ_n -> 0 with nσ_n -> infinity. The second is enough: for every law of (h, Y),
//! noise σR with any density of R, and the logistic link, LS-ECE_σ -> ECE as σ -> 0.
//!
//! Proof. Let μ be the law of h, η(h) = P(Y = 1 | h), and λ the signed measure (η - ρ) μ. ρ is
//! strictly increasing, so E[Y | ρ(h)] = η(h), and ECE is the total mass ‖λ‖ of |λ|. With K_σ the
//! density of σR,
//! ```text
//! LS-ECE_σ = ∫ |∫ (η(h) - ρ(u)) K_σ(u - h) μ(dh)| du,      ‖K_σ * λ‖ = ∫ |∫ (η(h) - ρ(h)) K_σ(u - h) μ(dh)| du,
//! |LS-ECE_σ - ‖K_σ * λ‖| <= ∫∫ |ρ(u) - ρ(h)| K_σ(u - h) μ(dh) du = E|ρ(h + σR) - ρ(h)| <= σ E|R| / 4,
//! ```
//! since the slope of ρ is at most 1/4; where E|R| is infinite, the expectation still goes to 0, by
//! dominated convergence. Smoothing adds no mass: ‖K_σ * λ‖ <= ‖λ‖. It loses none in the limit: for
//! continuous φ with |φ| <= 1, ∫ φ d(K_σ * λ) = ∫ E φ(h + σR) λ(dh) -> ∫ φ dλ by dominated
//! convergence, so that lim inf ‖K_σ * λ‖ >= ∫ φ dλ, and the supremum over φ is ‖λ‖. ∎
//!
//! So LS-ECE_σ <= ECE + σ E|R| / 4 at every σ, too. With the bound of [`rate`](crate::rate), which
//! has no condition either,
//! ```text
//! E|LS-ECE_σ(sample) - ECE| <= 1/√n + 4 √(ln 2 · M / (nσ)) + |LS-ECE_σ - ECE| -> 0
//! ```
//! whenever σ_n -> 0 and nσ_n -> infinity: atoms, jumps and laws without a density included. How
//! fast the last term falls does depend on the law.

use calipers::population::Family;
use calipers::{
    BetaKdeEce, BinnedEce, DebiasedEce, Error, Gaussian, KdeEce, LsEce, Measure, Norm, SmoothEce, Strategy, SweepEce,
};
use calipers_report::{Axis, Chart, Series, Stroke};

use crate::replicates::{replicates, seed_of};
use crate::slope::log_log_slope;
use crate::summary::Mean;
use crate::table::{fixed, full, short};
use crate::{Agreement, Page, Setting, Table};

/// The scale that does not shrink.
const FIXED: f64 = 0.5;

/// A slope above this, over the last three numbers of rows, is that of an error that levels off.
const LEVEL: f64 = -0.2;

/// One way to estimate ECE.
struct Method {
    name: &'static str,
    /// For n rows.
    estimator: fn(f64) -> Box<dyn Measure>,
    colour: usize,
    stroke: Stroke,
    /// Whether the noise shrinks as the theorem asks.
    shrinks: bool,
}

const fn method(
    name: &'static str,
    estimator: fn(f64) -> Box<dyn Measure>,
    colour: usize,
    stroke: Stroke,
    shrinks: bool,
) -> Method {
    Method { name, estimator, colour, stroke, shrinks }
}

const METHODS: [Method; 11] = [
    method("LS-ECE, sigma = n^(-1/3)", |n| Box::new(LsEce::new().sigma(n.powf(-1.0 / 3.0))), 0, Stroke::Solid, true),
    method("LS-ECE, sigma = n^(-1/5)", |n| Box::new(LsEce::new().sigma(n.powf(-1.0 / 5.0))), 0, Stroke::Dashed, true),
    method("LS-ECE, sigma auto", |_| Box::new(LsEce::new()), 5, Stroke::Solid, true),
    method("LS-ECE, sigma = 0.5", |_| Box::new(LsEce::new().sigma(FIXED)), 0, Stroke::Dotted, false),
    method("ECE, 15 of equal width", |_| Box::new(BinnedEce::new()), 1, Stroke::Solid, false),
    method(
        "ECE, 15 of equal mass",
        |_| Box::new(BinnedEce::new().strategy(Strategy::Quantile)),
        1,
        Stroke::Dashed,
        false,
    ),
    method("debiased ECE, 15 bins", |_| Box::new(DebiasedEce::new().norm(Norm::L1)), 1, Stroke::Dotted, false),
    method("ECE-sweep", |_| Box::new(SweepEce::new().norm(Norm::L1)), 4, Stroke::Solid, false),
    method("smECE", |_| Box::new(SmoothEce::new().tolerance(1e-6)), 2, Stroke::Solid, false),
    method("KDE-ECE, triweight", |_| Box::new(KdeEce::new()), 3, Stroke::Solid, false),
    method("KDE-ECE, beta", |n| Box::new(BetaKdeEce::new().bandwidth(0.1 * n.powf(-0.4))), 3, Stroke::Dashed, false),
];

/// One family, method and number of rows.
struct Cell {
    family: &'static str,
    /// Place in [`METHODS`].
    method: usize,
    n: usize,
    n_replicates: u64,
    error: Mean,
    root_mean_square: f64,
    bias: Mean,
}

/// A family with its true ECE, LS-ECE at some sigmas, and what was measured.
struct Measured {
    family: Family,
    ece: f64,
    smoothed: Vec<(f64, f64)>,
    cells: Vec<Cell>,
}

impl Measured {
    /// Error by n.
    fn line(&self, method: usize) -> Vec<(f64, f64)> {
        let own = self.cells.iter().filter(|cell| cell.method == method);
        own.map(|cell| (cell.n as f64, cell.error.value)).collect()
    }

    /// Slope over the last three numbers of rows.
    fn last_slope(&self, method: usize) -> f64 {
        let line = self.line(method);
        log_log_slope(&line[line.len() - 3..]).unwrap_or_default()
    }

    /// Whether the error falls from the first n to the last.
    fn converges(&self, method: usize) -> bool {
        let line = self.line(method);
        let halved = line[line.len() - 1].1 < 0.5 * line[0].1;
        halved && log_log_slope(&line).is_some_and(|slope| slope < LEVEL)
    }

    fn has_density(&self) -> bool {
        self.family.logits().atoms().is_empty()
    }
}

/// The study.
pub fn run(setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new("consistency", "Which estimates go to the true ECE", setting);
    page.text(
        "Theorem ececonsist: with sigma -> 0 and n sigma -> infinity, LS-ECE of a sample goes to the true ECE, if the \
         logits given the outcome have an almost everywhere continuous density. This study measures the mean of |estimate - \
         ECE| on distributions whose ECE is known. LS-ECE has two scales that the theorem allows, the automatic sigma \
         (s n^(-1/3), where s is the spread of the logits), or a fixed sigma. Other estimates are beside it. All errors \
         are L1. Beta KDE has the bandwidth 0.1 n^(-2/5): the search of its authors takes seconds at 100,000 rows.",
    );
    let names: &[&str] = setting.pick(
        &["overconfident", "sinusoidal", "calibrated", "jumps", "calibrated-jumps", "atoms", "heavy-tails"],
        &["calibrated", "jumps", "atoms"],
    );
    let rows: &[(usize, u64)] = setting.pick(
        &[(300, 200), (1000, 200), (3000, 150), (10_000, 100), (30_000, 60), (100_000, 40)],
        &[(300, 12), (1000, 12), (3000, 12)],
    );
    let sigmas: &[f64] = setting.pick(&[1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005], &[0.5, 0.1]);
    let mut all = Vec::new();
    for (stream, name) in names.iter().enumerate() {
        all.push(measure(Family::named(name)?, rows, sigmas, seed_of(setting.random_state, 8, stream as u64))?);
    }
    for measured in &all {
        family(&mut page, measured);
    }
    page.heading("Findings");
    findings(&mut page, &all);
    population(&mut page, &all);
    page.csv("errors", &csv(&all));
    Ok(page)
}

fn measure(family: Family, rows: &[(usize, u64)], sigmas: &[f64], own_seed: u64) -> Result<Measured, Error> {
    let ece = family.ece().value;
    let at = |&sigma: &f64| Ok((sigma, family.ls_ece(&Gaussian, sigma)?.value));
    let smoothed = sigmas.iter().map(at).collect::<Result<Vec<_>, Error>>()?;
    let mut cells = Vec::new();
    for &(n, n_replicates) in rows {
        let drawn = replicates(n_replicates, |index| {
            let sample = family.sample(n, seed_of(own_seed, n as u64, index));
            let rows = sample.input().check()?;
            let view = rows.binary()?;
            let estimate = |method: &Method| Ok((method.estimator)(n as f64).estimate(&view)?.value - ece);
            METHODS.iter().map(estimate).collect::<Result<Vec<f64>, Error>>()
        })?;
        for method in 0..METHODS.len() {
            let own: Vec<f64> = drawn.iter().map(|values| values[method]).collect();
            let sizes: Vec<f64> = own.iter().map(|value| value.abs()).collect();
            let squares: Vec<f64> = own.iter().map(|value| value * value).collect();
            cells.push(Cell {
                family: family.name(),
                method,
                n,
                n_replicates,
                error: Mean::of(&sizes),
                root_mean_square: Mean::of(&squares).value.sqrt(),
                bias: Mean::of(&own),
            });
        }
    }
    Ok(Measured { family, ece, smoothed, cells })
}

/// Figure and table of one family.
fn family(page: &mut Page, measured: &Measured) {
    let name = measured.family.name();
    page.heading(&format!("{name}: true ECE {}", fixed(measured.ece, 5)));
    let mut chart = Chart::new(format!("Error of estimates of ECE, {name}"))
        .x(Axis::log("rows"))
        .y(Axis::log("mean |estimate - ECE|"))
        .size(640.0, 480.0);
    for (place, method) in METHODS.iter().enumerate() {
        let line = Series::line(method.name, measured.line(place));
        chart = chart.add(line.stroke(method.stroke).colour(method.colour));
    }
    let last = measured.cells[measured.cells.len() - 1].n;
    page.figure(name, &chart, &format!("Mean absolute error by rows, {name}."));
    let mut table = Table::new([
        "estimate".to_owned(),
        format!("mean error at {last} rows"),
        "± of it".to_owned(),
        "root mean square".to_owned(),
        "bias".to_owned(),
        "slope, last three n".to_owned(),
    ]);
    for cell in measured.cells.iter().filter(|cell| cell.n == last) {
        table.row([
            METHODS[cell.method].name.to_owned(),
            fixed(cell.error.value, 5),
            fixed(cell.error.standard_error, 5),
            fixed(cell.root_mean_square, 5),
            fixed(cell.bias.value, 5),
            fixed(measured.last_slope(cell.method), 2),
        ]);
    }
    page.table(&table);
}

fn findings(page: &mut Page, all: &[Measured]) {
    let (dense, atoms): (Vec<&Measured>, Vec<&Measured>) = all.iter().partition(|measured| measured.has_density());
    let shrinking = || (0..METHODS.len()).filter(|&method| METHODS[method].shrinks);
    let slope = |measured: &Measured| {
        let slopes = shrinking().filter_map(|method| log_log_slope(&measured.line(method)));
        slopes.fold(f64::NEG_INFINITY, f64::max)
    };
    let converge =
        |families: &[&Measured]| families.iter().all(|measured| shrinking().all(|method| measured.converges(method)));
    let names: Vec<&str> = dense.iter().map(|measured| measured.family.name()).collect();
    let flattest = dense.iter().map(|measured| slope(measured)).fold(f64::NEG_INFINITY, f64::max);
    page.finding(
        Agreement::seen_if(converge(&dense)),
        &format!(
            "With sigma = n^(-1/3), n^(-1/5) and auto, the error of LS-ECE {} families with a density ({}): the flattest \
             slope over all n is {}.",
            if converge(&dense) { "falls on all" } else { "does not fall clearly on all" },
            names.join(", "),
            fixed(flattest, 2)
        ),
    );
    for measured in atoms {
        let verb = if converge(&[measured]) { "falls" } else { "does not fall clearly" };
        page.finding(
            Agreement::Noted,
            &format!(
                "Where logits repeat ({}) the theorem's condition, a density, fails; the error {verb} there too \
                 (flattest slope {}). Indeed the condition is not needed: with lambda = (P(Y = 1 | h) - rho(h)) times \
                 the law of h, LS-ECE differs from the mass of the smoothed lambda by at most sigma E|R| / 4, and that \
                 mass goes to the mass of lambda, which is ECE, for every law. With the bound of `calipers study rate`, \
                 LS-ECE is consistent whenever sigma -> 0 and n sigma -> infinity. The proof is in the documentation of \
                 `calipers_studies::consistency`.",
                measured.family.name(),
                fixed(slope(measured), 2)
            ),
        );
    }
    page.finding(Agreement::Noted, &levelling(all));
    if let Some(jumps) = all.iter().find(|measured| measured.family.name() == "jumps") {
        let asked = |method: &usize| METHODS[*method].shrinks || METHODS[*method].name.starts_with("KDE");
        let asked: Vec<(usize, f64)> =
            (0..METHODS.len()).filter(asked).map(|method| (method, jumps.last_slope(method))).collect();
        let all_fall = asked.iter().all(|(_, slope)| *slope < LEVEL);
        let slopes: Vec<String> =
            asked.iter().map(|(method, slope)| format!("{} {}", METHODS[*method].name, fixed(*slope, 2))).collect();
        page.finding(
            Agreement::Noted,
            &format!(
                "The paper assumes less about the density than the theorems on KDE-ECE, which assume that it is smooth. Slopes over the \
                 last three n where it jumps (jumps): {}.{}",
                slopes.join("; "),
                if all_fall { " All fall, so the weaker condition shows no advantage here." } else { "" }
            ),
        );
    }
    let best = |measured: &Measured| {
        let last = measured.cells[measured.cells.len() - 1].n;
        let own = measured.cells.iter().filter(|cell| cell.n == last);
        let best = own.min_by(|a, b| a.error.value.total_cmp(&b.error.value));
        best.map_or(String::new(), |cell| {
            format!("{}: {} ({})", measured.family.name(), METHODS[cell.method].name, short(cell.error.value))
        })
    };
    let best: Vec<String> = all.iter().map(best).collect();
    page.finding(
        Agreement::Noted,
        &format!(
            "A consistent estimate is not always the best at a given n. Smallest mean error at the largest n: {}.",
            best.join("; ")
        ),
    );
}

/// Which errors no longer fall.
fn levelling(all: &[Measured]) -> String {
    let of = |method: usize| {
        let flat = all.iter().filter(|measured| measured.last_slope(method) > LEVEL);
        let names: Vec<String> = flat
            .map(|measured| format!("{} ({})", measured.family.name(), fixed(measured.last_slope(method), 2)))
            .collect();
        (!names.is_empty()).then(|| format!("{}: {}", METHODS[method].name, names.join(", ")))
    };
    let flat: Vec<String> = (0..METHODS.len()).filter_map(of).collect();
    let text = if flat.is_empty() { "none".to_owned() } else { flat.join("; ") };
    format!(
        "Errors that level off, by a slope above {LEVEL} over the last three n: {text}. This does not detect a bias that is smaller than the noise at these n."
    )
}

/// |LS-ECE - ECE| of the populations themselves, by sigma.
fn population(page: &mut Page, all: &[Measured]) {
    page.heading("LS-ECE of the population by sigma");
    let mut chart =
        Chart::new("LS-ECE of the population against its ECE").x(Axis::log("sigma")).y(Axis::log("|LS-ECE - ECE|"));
    for measured in all {
        let points = measured.smoothed.iter().map(|(sigma, value)| (*sigma, (value - measured.ece).abs())).collect();
        chart = chart.add(Series::line(measured.family.name(), points).markers());
    }
    page.figure("population", &chart, "LS-ECE goes to ECE as sigma goes to 0, with a density or without.");
    let mut table = Table::new(["family", "ece", "sigma", LsEce::NAME, "slope_of_the_difference"]);
    let mut at_fixed = Vec::new();
    let mut most = f64::NEG_INFINITY;
    for measured in all {
        let line: Vec<(f64, f64)> =
            measured.smoothed.iter().map(|(sigma, value)| (*sigma, (value - measured.ece).abs())).collect();
        let slope = log_log_slope(&line[line.len() / 2..]).map_or(String::new(), full);
        for (sigma, value) in &measured.smoothed {
            let name = measured.family.name().to_owned();
            table.row([name, full(measured.ece), full(*sigma), full(*value), slope.clone()]);
            // E|R| = √(2/π).
            let allowed = sigma * (2.0 / std::f64::consts::PI).sqrt() / 4.0;
            most = most.max((value - measured.ece) / allowed);
            if *sigma == FIXED {
                let cell = measured.cells.iter().rfind(|cell| METHODS[cell.method].name == "LS-ECE, sigma = 0.5");
                let found = cell.map_or(f64::NAN, |cell| cell.bias.value);
                at_fixed.push(format!(
                    "{} {} (measured {})",
                    measured.family.name(),
                    short(value - measured.ece),
                    short(found)
                ));
            }
        }
    }
    page.csv("population", &table);
    page.finding(
        Agreement::Noted,
        &format!(
            "A sigma of {FIXED} that stays leaves LS-ECE - ECE of the population, however many rows: {}.",
            at_fixed.join("; ")
        ),
    );
    page.finding(
        if most <= 1.0 { Agreement::Noted } else { Agreement::NotSeen },
        &format!(
            "LS-ECE <= ECE + sigma E|R| / 4 {} for every family and sigma; LS-ECE - ECE is at most {} of what that allows.",
            if most <= 1.0 { "holds" } else { "does not hold" },
            short(most)
        ),
    );
}

fn csv(all: &[Measured]) -> Table {
    let mut table = Table::new([
        "family",
        "ece",
        "estimate",
        "n",
        "replicates",
        "mean_absolute_error",
        "mean_absolute_error_standard_error",
        "root_mean_square_error",
        "bias",
        "bias_standard_error",
    ]);
    for measured in all {
        for cell in &measured.cells {
            table.row([
                cell.family.to_owned(),
                full(measured.ece),
                METHODS[cell.method].name.to_owned(),
                cell.n.to_string(),
                cell.n_replicates.to_string(),
                full(cell.error.value),
                full(cell.error.standard_error),
                full(cell.root_mean_square),
                full(cell.bias.value),
                full(cell.bias.standard_error),
            ]);
        }
    }
    table
}
