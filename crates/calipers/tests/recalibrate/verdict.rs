//! The verdict: exact cases, and simulations with a known truth.

use calipers::population::Truth;
use calipers::recalibrate::{BinaryMap, CrossFit, Improvement, Method, Recalibrate, Verdict};
use calipers::{Input, Sample};

use crate::fixtures::{Uniforms, binary};

/// Logits that are normal with this mean and deviation, a mixture of two such, mostly sure, or of
/// eight levels.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Law {
    Normal(f64, f64),
    Skew,
    Sure,
    Ties,
}

/// The logits of [`Law::Ties`], with their probabilities.
const TIES: [(f64, f64); 8] =
    [(-2.2, 0.1), (-0.85, 0.1), (0.0, 0.1), (0.4, 0.1), (0.85, 0.15), (1.4, 0.2), (2.2, 0.15), (2.95, 0.1)];

/// The steps of the density of [`Law::Sure`]: from, to, and probability.
const SURE: [(f64, f64, f64); 5] =
    [(-12.0, -8.0, 0.2), (-8.0, -4.0, 0.25), (-4.0, 4.0, 0.15), (4.0, 8.0, 0.2), (8.0, 12.0, 0.2)];

impl Law {
    fn draw(self, random: &mut Uniforms) -> f64 {
        match self {
            Law::Normal(mean, deviation) => mean + deviation * random.normal(),
            Law::Skew if random.next() < 0.7 => -2.0 + 0.7 * random.normal(),
            Law::Skew => 1.5 + 1.5 * random.normal(),
            Law::Sure => {
                let mut at = random.next();
                let within = |(_, _, mass): &&(f64, f64, f64)| {
                    at -= mass;
                    at < 0.0
                };
                let (from, to, _) = SURE.iter().find(within).unwrap_or(&SURE[4]);
                from + (to - from) * random.next()
            }
            Law::Ties => {
                let mut at = random.next();
                let within = |(_, mass): &&(f64, f64)| {
                    at -= mass;
                    at < 0.0
                };
                TIES.iter().find(within).unwrap_or(&TIES[7]).0
            }
        }
    }

    fn density(self, h: f64) -> f64 {
        let normal = |mean: f64, deviation: f64| (-0.5 * ((h - mean) / deviation).powi(2)).exp() / deviation;
        match self {
            Law::Normal(mean, deviation) => normal(mean, deviation),
            Law::Skew => 0.7 * normal(-2.0, 0.7) + 0.3 * normal(1.5, 1.5),
            Law::Sure => {
                let step = SURE.iter().find(|(from, to, _)| (*from..*to).contains(&h));
                step.map_or(0.0, |(from, to, mass)| mass / (to - from))
            }
            // Has none.
            Law::Ties => 0.0,
        }
    }

    /// Logits with the probabilities of their neighbourhoods, but for a factor.
    fn places(self) -> Vec<(f64, f64)> {
        let grid = |k: u32| -12.0 + 24.0 * (f64::from(k) + 0.5) / 1500.0;
        match self {
            Law::Ties => TIES.to_vec(),
            _ => (0..1500).map(|k| (grid(k), self.density(grid(k)))).collect(),
        }
    }
}

/// The true gain of a map: log-loss before less after, over the population.
pub(crate) fn true_gain(map: &BinaryMap, law: Law, truth: &Truth) -> f64 {
    let (mut gain, mut total) = (0.0, 0.0);
    for (h, density) in law.places() {
        if density < 1e-12 {
            continue;
        }
        let p = truth.probability(h);
        let log_sigma = |h: f64| h.min(0.0) - (-h.abs()).exp().ln_1p();
        let (after, complement) = map.both(h);
        let change = p * (after.ln() - log_sigma(h)) + (1.0 - p) * (complement.ln() - log_sigma(-h));
        gain += density * change;
        total += density;
    }
    gain / total
}

pub(crate) fn draw(law: Law, truth: &Truth, n: usize, seed: u64) -> (Vec<f64>, Vec<bool>) {
    let mut random = Uniforms(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let row = |_| {
        let h = law.draw(&mut random);
        (h, random.next() < truth.probability(h))
    };
    (0..n).map(row).unzip()
}

pub(crate) fn improve(cross_fit: &CrossFit, logits: &[f64], labels: &[bool]) -> Improvement {
    let predictions = Input::logits(logits, labels).check().unwrap();
    cross_fit.run(&predictions.binary().unwrap()).unwrap()
}

/// Shares over runs: covered, too low, too high, helps, helps though it hurts, hurts.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Shares {
    pub(crate) covered: f64,
    pub(crate) above: f64,
    pub(crate) below: f64,
    pub(crate) helps: f64,
    pub(crate) wrongly: f64,
    pub(crate) hurts: f64,
    pub(crate) width: f64,
}

pub(crate) fn simulate(options: &Recalibrate, law: Law, truth: &Truth, n: usize, n_runs: u64) -> Shares {
    let cross_fit = CrossFit::new(options.clone()).n_resamples(0);
    let mut shares = Shares::default();
    let mut n_done = 0.0;
    for run in 0..n_runs {
        let (logits, labels) = draw(law, truth, n, run + 1);
        let predictions = Input::logits(&logits, &labels).check().unwrap();
        // Scores without any order have no temperature.
        let Ok(found) = cross_fit.run(&predictions.binary().unwrap()) else { continue };
        n_done += 1.0;
        let gain = true_gain(&found.fit.map, law, truth);
        shares.width += found.interval.upper - found.interval.lower;
        match () {
            _ if gain > found.interval.upper => shares.above += 1.0,
            _ if gain < found.interval.lower => shares.below += 1.0,
            _ => shares.covered += 1.0,
        }
        shares.helps += f64::from(u8::from(found.verdict == Verdict::Helps));
        shares.wrongly += f64::from(u8::from(found.verdict == Verdict::Helps && gain < 0.0));
        shares.hurts += f64::from(u8::from(found.verdict == Verdict::Hurts));
    }
    let all = &mut [
        &mut shares.covered,
        &mut shares.above,
        &mut shares.below,
        &mut shares.helps,
        &mut shares.wrongly,
        &mut shares.hurts,
        &mut shares.width,
    ];
    all.iter_mut().for_each(|share| **share /= n_done);
    shares
}

pub(crate) fn affine(slope: f64, intercept: f64) -> Truth {
    Truth::Affine { intercept, slope }
}

const WIDE: Law = Law::Normal(0.0, 1.5);

#[test]
fn intervals_of_formulas_cover_the_gain_of_the_fitted_map() {
    for method in [Method::Shift, Method::Temperature, Method::Platt, Method::Beta] {
        for slope in [1.0, 0.85, 0.6] {
            let shares = simulate(&Recalibrate::new(method), WIDE, &affine(slope, 0.0), 300, 150);
            println!("{method:?} {slope} {shares:?}");
            // 150 runs: three standard errors are 5 %.
            assert!((0.89..=1.0).contains(&shares.covered), "{method:?} {slope}: {shares:?}");
            assert!(shares.wrongly < 0.05, "{method:?} {slope}: {shares:?}");
        }
    }
}

#[test]
#[ignore = "takes minutes: 1,000 runs for each of many populations; `--ignored --nocapture` prints the table"]
fn table_of_coverage() {
    let truths = [
        ("calibrated", affine(1.0, 0.0)),
        ("slope 0.85", affine(0.85, 0.0)),
        ("slope 0.6", affine(0.6, 0.0)),
        ("shift 0.3", affine(1.0, 0.3)),
        ("sine", Truth::Sinusoidal { amplitude: 0.5, frequency: 2.0 }),
        ("steps", Truth::Piecewise { edges: vec![-1.0, 1.0], shifts: vec![0.6, 0.0, -0.6] }),
    ];
    let n_runs = std::env::var("RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let sizes = std::env::var("SIZES").unwrap_or("200,1000,5000".to_owned());
    let methods =
        std::env::var("METHODS").unwrap_or("shift,temperature,platt,beta,isotonic,centred_isotonic".to_owned());
    for law in [WIDE, Law::Skew, Law::Sure, Law::Ties] {
        for method in methods.split(',').map(|name| name.parse::<Method>().unwrap()) {
            for n in sizes.split(',').map(|n| n.parse::<usize>().unwrap()) {
                for (name, truth) in &truths {
                    let s = simulate(&Recalibrate::new(method), law, truth, n, n_runs);
                    println!(
                        "{law:?} {} n {n} {name}: covered {:.3} (above {:.3} below {:.3}) helps {:.3} wrongly {:.4} hurts {:.3} n width {:.2}",
                        method.name(),
                        s.covered,
                        s.above,
                        s.below,
                        s.helps,
                        s.wrongly,
                        s.hurts,
                        s.width * n as f64
                    );
                }
            }
        }
    }
}

#[test]
fn calibrated_predictions_are_found_miscalibrated_as_often_as_the_level_allows() {
    let n_runs = 300;
    let cross_fit = CrossFit::new(Recalibrate::new(Method::Platt)).n_resamples(59).n_folds(2);
    let significant = |run: &u64| {
        let (logits, labels) = draw(WIDE, &Truth::CALIBRATED, 80, *run);
        improve(&cross_fit, &logits, &labels).floor.unwrap().p_value <= 0.05
    };
    let share = (1..=n_runs).filter(significant).count() as f64 / n_runs as f64;
    // The size is exactly 3 of 60; four standard errors of 300 runs are 5 %.
    assert!((0.01..0.10).contains(&share), "{share}");
}

#[test]
fn verdicts_name_what_is_there() {
    let run = |method: Method, truth: &Truth, n: usize| {
        let (logits, labels) = draw(WIDE, truth, n, 5);
        improve(&CrossFit::new(Recalibrate::new(method)).n_resamples(99), &logits, &labels)
    };
    let helps = run(Method::Beta, &affine(0.5, 0.0), 2000);
    assert_eq!(helps.verdict, Verdict::Helps, "{}", helps.sentence());
    assert!(helps.interval.lower > 0.02 && helps.floor.unwrap().p_value == 0.01);
    assert!(helps.sentence().starts_with("Beta calibration helps: log-loss is 0."), "{}", helps.sentence());
    let nothing = run(Method::Temperature, &Truth::CALIBRATED, 500);
    assert_eq!(nothing.verdict, Verdict::NothingToFix, "{}", nothing.sentence());
    assert!(nothing.sentence().starts_with("There is no evidence of anything to fix."), "{}", nothing.sentence());
    assert!(nothing.floor.unwrap().mean < 0.005);
    let unclear = run(Method::Platt, &affine(0.7, 0.0), 250);
    assert_eq!(unclear.verdict, Verdict::NoDifference, "{}", unclear.sentence());
    assert!(unclear.floor.unwrap().p_value <= 0.05);
    let text = unclear.sentence();
    assert!(text.starts_with("There is no evidence that Platt scaling helps or hurts: log-loss is 0."), "{text}");
    assert!(text.contains("The predictions are miscalibrated (p "), "{text}");
    // Many steps fitted to few rows that need none.
    let hurts = run(Method::Isotonic, &Truth::CALIBRATED, 400);
    assert!(hurts.gain < 0.0, "{}", hurts.sentence());
    assert!(hurts.n_scores.is_some_and(|[before, after]| after < before));
    // The identity gains nothing, for certain.
    let same = run(Method::Identity, &affine(0.5, 0.0), 100);
    assert_eq!((same.gain, same.interval.lower, same.interval.upper), (0.0, 0.0, 0.0));
    // Nor can it tell whether there is anything to fix.
    assert_eq!((same.floor, same.verdict), (None, Verdict::NoDifference));
}

#[test]
fn the_order_of_rows_and_threads_change_no_bit_of_the_verdict() {
    let data = binary();
    let bits = |improvement: &Improvement| {
        // The identity has no test.
        let floor = improvement.floor.map_or([0.0; 2], |floor| [floor.mean, floor.p_value]);
        let interval = improvement.interval;
        let values = [improvement.gain, improvement.log_loss_after, interval.lower, interval.upper];
        values.iter().chain(&floor).map(|value| value.to_bits()).collect::<Vec<u64>>()
    };
    let labels: Vec<bool> = data.labels.iter().map(|label| *label == 1).collect();
    let reversed = |values: &[f64]| values.iter().rev().copied().collect::<Vec<f64>>();
    let reversed_labels: Vec<bool> = labels.iter().rev().copied().collect();
    for method in Method::ALL.into_iter().filter(|method| !method.is_of_classes()) {
        let cross_fit = CrossFit::new(Recalibrate::new(method)).n_resamples(39);
        let first = improve(&cross_fit, &data.logits, &labels);
        assert_eq!(bits(&first), bits(&improve(&cross_fit, &reversed(&data.logits), &reversed_labels)), "{method:?}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let second = pool.install(|| improve(&cross_fit, &data.logits, &labels));
        assert_eq!(bits(&first), bits(&second), "{method:?}");
    }
    // Weights that count rows, which are then dealt out one by one.
    assert!(
        (improve(&CrossFit::new(Recalibrate::new(Method::Platt)), &data.logits, &labels).gain - 0.0965).abs() < 0.01
    );
}

#[test]
fn clusters_widen_the_interval_as_much_as_they_should() {
    // Every row four times: a quarter of the information.
    let (logits, labels) = draw(WIDE, &affine(0.6, 0.0), 500, 3);
    let four = |i: usize| std::iter::repeat_n(i, 4);
    let wide: Vec<f64> = (0..500).flat_map(four).map(|i| logits[i]).collect();
    let outcomes: Vec<bool> = (0..500).flat_map(four).map(|i| labels[i]).collect();
    let clusters: Vec<u32> = (0..2000).map(|i| i / 4).collect();
    let predictions = Input::logits(&wide, &outcomes).check().unwrap();
    let view = predictions.binary().unwrap();
    let cross_fit = CrossFit::new(Recalibrate::new(Method::Platt).ridge(0.0)).n_resamples(99);
    let width = |improvement: &Improvement| improvement.interval.upper - improvement.interval.lower;
    let clustered = cross_fit.run(Sample::from(&view).clusters(&clusters)).unwrap();
    let single = improve(&cross_fit, &logits, &labels);
    let blind = cross_fit.run(&view).unwrap();
    assert_eq!(clustered.n_clusters, Some(500));
    assert!((width(&clustered) / width(&single) - 1.0).abs() < 0.05, "{} {}", width(&clustered), width(&single));
    assert!(width(&blind) < 0.6 * width(&single));
    let [clustered, single, blind] = [clustered, single, blind].map(|improvement| improvement.floor.unwrap().mean);
    assert!((clustered / single - 1.0).abs() < 0.5 && blind < 0.5 * single, "{clustered} {single} {blind}");
}

#[test]
fn cross_fitting_needs_folds_and_rows() {
    let error = |cross_fit: CrossFit| {
        let predictions = Input::logits(&[0.5, -0.5, 0.1], &[1, 0, 1]).check().unwrap();
        cross_fit.run(&predictions.binary().unwrap()).unwrap_err().to_string()
    };
    let cross_fit = CrossFit::new(Recalibrate::default());
    assert_eq!(error(cross_fit.clone().n_folds(1)), "n_folds must be at least 2, got 1");
    assert_eq!(error(cross_fit.clone()), "n_folds must be at most 3, got 5");
    assert_eq!(error(cross_fit.clone().level(1.0)), "level must be above 0 and below 1, got 1");
    assert_eq!(error(cross_fit.n_folds(3)), "rows must be of both outcomes, got 2 rows of outcome 1");
}

#[test]
fn intervals_cover_in_populations_that_the_rule_was_not_chosen_on() {
    let steps = Truth::Piecewise { edges: vec![-1.0, 1.0], shifts: vec![0.6, 0.0, -0.6] };
    let cases = [
        (Method::Beta, affine(1.0, 0.0)),
        (Method::Platt, steps.clone()),
        (Method::Isotonic, affine(0.85, 0.0)),
        (Method::CentredIsotonic, steps),
    ];
    for (method, truth) in cases {
        let shares = simulate(&Recalibrate::new(method), Law::Skew, &truth, 400, 150);
        println!("{method:?} {truth:?} {shares:?}");
        assert!((0.88..=1.0).contains(&shares.covered), "{method:?} {truth:?}: {shares:?}");
    }
}

#[test]
fn intervals_cover_where_few_rows_decide_the_fit() {
    // Two standard errors of 300 runs are 2.5 %. With a normal likelihood, and for tables without
    // the spread of drawn outcomes, these cells cover 87 to 90 %.
    let cells = [
        (Method::Temperature, Law::Sure, 1.0, 0.90),
        (Method::Platt, Law::Sure, 1.0, 0.90),
        (Method::Beta, Law::Sure, 1.0, 0.90),
        (Method::Isotonic, Law::Ties, 1.0, 0.93),
        (Method::CentredIsotonic, Law::Ties, 1.0, 0.90),
    ];
    for (method, law, slope, least) in cells {
        let shares = simulate(&Recalibrate::new(method), law, &affine(slope, 0.0), 200, 300);
        println!("{method:?} {law:?} {slope} {shares:?}");
        assert!(shares.covered > least, "{method:?} {law:?} {slope}: {shares:?}");
        assert!(shares.wrongly < 0.03, "{method:?} {law:?} {slope}: {shares:?}");
    }
}

#[test]
fn intervals_are_about_as_wide_as_they_must_be() {
    // Far from the identity, with many rows, the interval is that of the mean change of rows.
    for method in [Method::Temperature, Method::Platt, Method::Beta] {
        let (logits, labels) = draw(WIDE, &affine(0.4, 0.0), 4000, 9);
        let found = improve(&CrossFit::new(Recalibrate::new(method)).n_resamples(0), &logits, &labels);
        let change =
            |h: f64, y: bool| found.fit.map.losses(h)[usize::from(y)] - BinaryMap::identity().losses(h)[usize::from(y)];
        let changes: Vec<f64> = logits.iter().zip(&labels).map(|(h, y)| change(*h, *y)).collect();
        let mean = changes.iter().sum::<f64>() / 4000.0;
        let deviation = (changes.iter().map(|change| (change - mean).powi(2)).sum::<f64>()).sqrt() / 4000.0;
        let half = 0.5 * (found.interval.upper - found.interval.lower);
        assert!((half / (1.96 * deviation) - 1.0).abs() < 0.05, "{method:?}: {half} {deviation}");
    }
}
