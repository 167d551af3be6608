//! Figure synthplot: the two points, by bins and by noise.

use calipers::population::two_point;
use calipers::{BinnedEce, Error, LsEce, LsEceSampled, Measure};
use calipers_report::{Axis, Chart, Series, Stroke};

use crate::replicates::{replicates, seed_of};
use crate::summary::extent;
use crate::table::{fixed, full, short};
use crate::{Agreement, Page, Setting, Table};

/// The paper's alpha and number of rows.
const ALPHA: f64 = 1e-3;
const N_ROWS: usize = 1000;

/// One number of bins, and sigma = 1/bins.
struct Point {
    n_bins: u64,
    ece: f64,
    ls_ece: f64,
    sampled: f64,
    population: f64,
}

/// The study.
pub fn run(setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new("two-point", "The 2-point distribution: ECE by bins, LS-ECE by noise", setting);
    let population = two_point(ALPHA)?;
    page.text(&format!(
        "The paper's Section 6.1 (Figure synthplot). X is -1/2 with outcome 0 or 1/2 with outcome 1; the predictor is \
         rho(alpha x), alpha = {ALPHA}, so every prediction is within {:.6} of 1/2 and wrong by almost 1/2: the true \
         ECE is {:.6}. {N_ROWS} rows are drawn. Bins have equal width; sigma = 1/bins; noise is Gaussian.",
        population.predictions()[1] - 0.5,
        population.ece(),
    ));

    let sample = population.sample(N_ROWS, seed_of(setting.random_state, 1, 0));
    let rows = sample.input().check()?;
    let view = rows.binary()?;
    let n_samples = setting.pick(10_000, 1_000);
    let points = replicates(setting.pick(100, 12), |index| {
        let n_bins = index + 1;
        let sigma = 1.0 / n_bins as f64;
        let sampled =
            LsEceSampled::new(sigma).n_samples(n_samples).random_state(seed_of(setting.random_state, 2, n_bins));
        Ok(Point {
            n_bins,
            ece: BinnedEce::new().n_bins(n_bins as usize).estimate(&view)?.value,
            ls_ece: LsEce::new().sigma(sigma).tolerance(1e-9).estimate(&view)?.value,
            sampled: sampled.estimate(&view)?.value,
            population: population.ls_ece(&LsEce::new().sigma(sigma).tolerance(1e-9))?.value,
        })
    })?;

    let line = |name: &str, value: fn(&Point) -> f64| {
        Series::line(name, points.iter().map(|point| (point.n_bins as f64, value(point))).collect())
    };
    let chart = Chart::new("ECE by bins and LS-ECE by 1/sigma on the 2-point distribution")
        .x(Axis::linear("bins, 1/sigma"))
        .y(Axis::linear("calibration error"))
        .add(line("ECE, equal width", |point| point.ece))
        .add(line("LS-ECE, the integral", |point| point.ls_ece))
        .add(line(&format!("LS-ECE, {n_samples} samples"), |point| point.sampled).stroke(Stroke::Dashed));
    page.figure("bins", &chart, "ECE jumps with the parity of the bins; LS-ECE does not.");

    let mut table = Table::new(["bins", "ece", LsEce::NAME, "ls_ece_sampled", "ls_ece_of_the_population"]);
    for point in &points {
        table.row([
            point.n_bins.to_string(),
            full(point.ece),
            full(point.ls_ece),
            full(point.sampled),
            full(point.population),
        ]);
    }
    page.csv("bins", &table);
    parity(&mut page, &points);
    small_sigma(&mut page, setting)?;
    Ok(page)
}

fn parity(page: &mut Page, points: &[Point]) {
    let of = |odd: bool| extent(points.iter().filter(|p| (p.n_bins % 2 == 1) == odd).map(|p| p.ece));
    let (odd, even) = (of(true), of(false));
    let smooth = extent(points.iter().filter(|point| point.n_bins >= 10).map(|point| point.ls_ece));
    let at_one = points[0].ls_ece;
    let furthest = points.iter().map(|point| (point.sampled - point.ls_ece).abs()).fold(0.0, f64::max);
    let seen = odd.1 < 0.1 && even.0 > 0.4 && smooth.1 - smooth.0 < 0.05;
    page.finding(
        Agreement::seen_if(seen),
        &format!(
            "ECE is {} to {} for odd and {} to {} for even numbers of bins. LS-ECE is {} at sigma = 1, where the noise \
             alone spreads the predictions, and {} to {} from 10 bins on.",
            fixed(odd.0, 4),
            fixed(odd.1, 4),
            fixed(even.0, 4),
            fixed(even.1, 4),
            fixed(at_one, 4),
            fixed(smooth.0, 4),
            fixed(smooth.1, 4),
        ),
    );
    page.finding(
        Agreement::Noted,
        &format!("The paper's sampling differs by up to {} from the integral, which is its noise.", fixed(furthest, 4)),
    );
}

/// What the paper's range of sigma does not show.
fn small_sigma(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    page.heading("Sigma down to 1e-5");
    page.text(
        "The two logits differ by alpha. Noise that is much wider hides the miscalibration, as the figure above shows. \
         Noise that is much narrower does not hide it. LS-ECE is continuous in the predictor at every sigma, but it \
         sees gaps only down to the resolution of sigma, and the gap of this example is finer.",
    );
    let population = two_point(ALPHA)?;
    let n = setting.pick(51, 11);
    let points = replicates(n, |index| {
        let sigma = 10f64.powf(-5.0 * index as f64 / (n - 1) as f64);
        Ok((sigma, population.ls_ece(&LsEce::new().sigma(sigma).tolerance(1e-9))?.value))
    })?;
    let chart = Chart::new("LS-ECE of the 2-point population by sigma")
        .x(Axis::log("sigma"))
        .y(Axis::linear("LS-ECE"))
        .add(Series::line("LS-ECE", points.clone()))
        .horizontal_rule(population.ece(), "true ECE");
    page.figure("sigma", &chart, "For sigma below alpha, LS-ECE rises to the true ECE.");
    let mut table = Table::new(["sigma", "ls_ece_of_the_population"]);
    points.iter().for_each(|(sigma, value)| table.row([full(*sigma), full(*value)]));
    page.csv("sigma", &table);
    let last = points[points.len() - 1].1;
    let at = |wanted: f64| {
        let nearest = points.iter().min_by(|a, b| (a.0 / wanted).ln().abs().total_cmp(&(b.0 / wanted).ln().abs()));
        nearest.map_or(f64::NAN, |point| point.1)
    };
    page.finding(
        Agreement::Noted,
        &format!(
            "LS-ECE is {} at sigma = 0.1, {} at sigma = alpha = 1e-3, and {} at sigma = 1e-5; the true ECE is {}. \
             \"Constant near zero\" holds for sigma well above alpha and below 1.",
            short(at(0.1)),
            fixed(at(ALPHA), 4),
            fixed(last, 6),
            fixed(population.ece(), 6),
        ),
    );
    page.finding(
        Agreement::Noted,
        "With Gaussian noise E[Y | h + ξ = u] = rho(alpha u / sigma²), so that at sigma = √alpha = 0.0316 the smoothed \
         predictor is calibrated, and LS-ECE is exactly 0 although every prediction is off by almost 1/2.",
    );
    Ok(())
}
