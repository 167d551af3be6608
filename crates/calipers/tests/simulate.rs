//! The simulator against what can be worked out by hand, and against its own parts.

use calipers::inference::calibration_tests::{CalibrationTest, TestResult};
use calipers::population::{Family, Finite, Logits, Truth, two_point};
use calipers::simulate::{FloorTest, LsEceTable, MonteCarlo, Population, Remembered, SeededTest, Simulation};
use calipers::{
    Assess, BinaryView, BinnedEce, Debias, DebiasedEce, Error, Estimate, Gaussian, LsEce, Measure, Norm, Settings,
    SmoothEce, Spec, Strategy, SweepEce,
};

/// One prediction, 0.5, for a coin of P(Y = 1) = 0.7.
fn coin() -> Finite {
    Finite::new(&[1.0], &[0.7], &[0.5]).unwrap()
}

#[test]
fn one_row_of_a_coin_has_the_errors_of_its_two_outcomes() {
    // |y - 0.5| is 0.5 for either outcome: the estimate has no variance, and a bias of 0.5 - 0.2.
    let ece = BinnedEce::new();
    let result = &Simulation::new(&coin(), 1).runs(100).estimators(&[("ECE", &ece)]).unwrap()[0];
    assert_eq!((result.name.as_str(), result.n_runs, result.n_failed), ("ECE", 100, 0));
    assert_eq!((result.mean.value, result.mean.standard_error), (0.5, 0.0));
    assert!((result.of_ece.truth - 0.2).abs() < 1e-15);
    assert!((result.of_ece.bias.value - 0.3).abs() < 1e-15 && (result.of_ece.rmse.value - 0.3).abs() < 1e-15);
    assert!(result.of_ls_ece.is_none());
}

#[test]
fn two_rows_of_a_coin_have_the_moments_of_the_binomial_distribution() {
    // |mean - 0.5| is 0.5 with probability 0.49 + 0.09, else 0: mean 0.29; squares against 0.2: 0.58 0.09 + 0.42 0.04 = 0.069.
    let ece = BinnedEce::new();
    let result = &Simulation::new(&coin(), 2).runs(20_000).random_state(3).estimators(&[("ECE", &ece)]).unwrap()[0];
    let near = |found: MonteCarlo, expected: f64| (found.value - expected).abs() < 4.5 * found.standard_error;
    assert!(near(result.mean, 0.29) && near(result.of_ece.bias, 0.09), "{result:?}");
    assert!(near(result.of_ece.rmse, 0.069f64.sqrt()), "{result:?}");
    // The standard error of the mean is that of 0.5 times a coin of 0.58.
    let expected = 0.5 * (0.58f64 * 0.42 / 20_000.0).sqrt();
    assert!((result.mean.standard_error / expected - 1.0).abs() < 0.02);
}

#[test]
fn the_truth_of_ls_ece_at_a_given_sigma_is_that_of_the_population() {
    let family = Family::named("overconfident").unwrap();
    let at = |sigma: f64| LsEce::new().sigma(sigma);
    let (wide, narrow, auto) = (at(1.0), at(0.3), LsEce::new());
    let named: [(&str, &dyn Measure); 4] =
        [("1", &wide), ("0.3", &narrow), ("auto", &auto), ("smECE", &SmoothEce::new())];
    let results = Simulation::new(&family, 20_000).runs(20).estimators(&named).unwrap();
    for (result, sigma) in results.iter().zip([1.0, 0.3]) {
        let accuracy = result.of_ls_ece.unwrap();
        assert!((accuracy.truth - family.ls_ece(&Gaussian, sigma).unwrap().value).abs() < 1e-12);
        assert!(accuracy.bias.value.abs() < 0.003 && accuracy.rmse.value < 0.01, "{accuracy:?}");
        assert!((accuracy.truth + accuracy.bias.value - result.mean.value).abs() < 1e-12);
    }
    // Another sigma in every run has no one truth; and smECE estimates no LS-ECE.
    assert!(results[2].of_ls_ece.is_none() && results[3].of_ls_ece.is_none());
}

#[test]
fn the_measure_before_rules_is_that_without_them_and_rules_are_those_of_assess() {
    let family = Family::named("slightly-overconfident").unwrap();
    let simulation = Simulation::new(&family, 300).runs(12).random_state(5);
    let measure = LsEce::new().sigma(0.3);
    let rules = [Debias::Local, Debias::Mean, Debias::Floor, Debias::Bootstrap];
    let results = simulation.debiased("LS-ECE", &measure, &rules, 50).unwrap();
    let names: Vec<&str> = results.iter().map(|result| result.name.as_str()).collect();
    assert_eq!(names[0], "LS-ECE");
    assert_eq!(names[1..], rules.map(|rule| format!("LS-ECE, debiased by {}", rule.name())));
    // Noise is taken out of the residual form, which decides.
    let residual = LsEce::new().sigma(0.3).residual();
    assert_eq!(results[0], simulation.estimators(&[("LS-ECE", &residual)]).unwrap()[0]);
    for (rule, result) in rules.into_iter().zip(&results[1..]) {
        let assess = Assess::new(&measure).debias(rule).n_resamples(50);
        let coverage = simulation.coverage(&assess).unwrap();
        assert_eq!(coverage.debiased, result.of_ece);
        let residual = coverage.residual.unwrap();
        assert_eq!((residual.debiased, residual.of_ls_ece), (result.of_ece, results[0].of_ls_ece));
    }
}

#[test]
fn intervals_cover_as_counted_by_hand() {
    let family = Family::named("overconfident").unwrap();
    let measure = LsEce::new().sigma(0.5);
    let assess = Assess::new(&measure).n_resamples(60);
    let result = Simulation::new(&family, 500).runs(30).random_state(1).coverage(&assess).unwrap();
    let truth = family.ls_ece(&Gaussian, 0.5).unwrap().value;
    assert_eq!((result.n_failed, result.sigma), (0, Some(0.5)));
    assert!((result.of_ls_ece.unwrap().truth - truth).abs() < 1e-12);
    assert!(result.covers_ls_ece.unwrap().value > 0.8 && result.upper_limits.value < 0.2);
    // Every interval holds the true ECE, or is above it, or below.
    let total = result.covers_ece.value + result.above_ece.value + result.below_ece.value;
    assert!((total - 1.0).abs() < 1e-12);
    assert!(result.width.value > 0.0 && result.width.value < 0.3 && result.floor.unwrap().value < truth);
    // A calibrated family has upper limits, almost always.
    let calibrated = Family::named("calibrated").unwrap();
    let result = Simulation::new(&calibrated, 500).runs(30).random_state(1).coverage(&assess).unwrap();
    assert!(result.upper_limits.value > 0.8, "{result:?}");
    // Those begin at 0, which is the true ECE; and nothing is below it.
    assert!(
        result.above_ece.value + result.upper_limits.value < 1.0 + 1e-12 && result.below_ece.value == 0.0,
        "{result:?}"
    );
    // The truth of other measures at their settings is not known: only ECE is.
    let binned = BinnedEce::new();
    let result = Simulation::new(&calibrated, 200).runs(4).coverage(&Assess::new(&binned).n_resamples(40)).unwrap();
    assert!(result.covers_ls_ece.is_none() && result.sigma.is_none() && result.floor.is_some());
}

#[test]
fn interpolated_truths_are_those_of_the_integral() {
    for family in Family::all().iter().chain(&Family::kept_aside()) {
        // As far as sigma by rule varies in one simulation, and farther.
        for (from, to) in [(0.08, 0.1), (0.3, 0.6)] {
            let table = LsEceTable::new(family, from, to).unwrap();
            for share in [0.0, 0.17, 0.5, 0.93, 1.0] {
                let sigma = from * f64::powf(to / from, share);
                let exact = family.ls_ece(&Gaussian, sigma).unwrap().value;
                let off = (table.at(sigma) - exact).abs();
                assert!(off < 2e-6, "{} at {sigma}: {off:e}", family.name());
            }
        }
    }
    let family = Family::named("jumps").unwrap();
    let one = LsEceTable::new(&family, 0.2, 0.2).unwrap();
    assert_eq!(one.at(0.2), family.ls_ece(&Gaussian, 0.2).unwrap().value);
    assert!(LsEceTable::new(&family, 0.0, 1.0).is_err() && LsEceTable::new(&family, f64::NAN, 1.0).is_err());
}

#[test]
fn with_sigma_by_rule_the_truth_is_that_of_each_run() {
    let family = Family::named("overconfident").unwrap();
    let measure = LsEce::new();
    let simulation = Simulation::new(&family, 400).runs(10);
    let result = simulation.coverage(&Assess::new(&measure).n_resamples(40)).unwrap();
    // 1.25 · 400^(-1/3) times the deviation of N(1, 2), in which logits count p (1 - p).
    let mean = |f: &dyn Fn(f64) -> f64| {
        let at = |k: i32| f64::from(k) * 1e-2;
        let counts = |h: f64| (-0.5 * ((h - 1.0) / 2.0).powi(2)).exp() / (0.5 * h).cosh().powi(2);
        let sum = |f: &dyn Fn(f64) -> f64| (-2000..2000).map(|k| f(at(k)) * counts(at(k))).sum::<f64>();
        sum(f) / sum(&|_| 1.0)
    };
    let deviation = (mean(&|h| h * h) - mean(&|h| h).powi(2)).sqrt();
    let expected = 1.25 * 400f64.powf(-1.0 / 3.0) * deviation.hypot(0.1);
    assert!((result.sigma.unwrap() / expected - 1.0).abs() < 0.03, "{} {expected}", result.sigma.unwrap());
    let truth = family.ls_ece(&Gaussian, result.sigma.unwrap()).unwrap().value;
    assert!((result.of_ls_ece.unwrap().truth - truth).abs() < 2e-4);
}

#[test]
fn threads_change_no_bit() {
    let family = Family::named("atoms").unwrap();
    let all = || {
        let simulation = Simulation::new(&family, 300).runs(9).random_state(7);
        let measure = LsEce::new();
        (
            simulation.estimators(&[("a", &measure), ("b", &BinnedEce::new())]).unwrap(),
            simulation.debiased("a", &measure, &[Debias::Floor], 30).unwrap(),
            simulation.coverage(&Assess::new(&measure).n_resamples(30)).unwrap(),
            simulation.rejections(&SeededTest::all().map(|test| test.n_resamples(39)), 0.05).unwrap(),
        )
    };
    let with = |n_threads: usize| rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap().install(all);
    let one = with(1);
    assert_eq!(one, with(3));
    // Another seed has other rows.
    let other = Simulation::new(&family, 300).runs(9).random_state(8).estimators(&[("a", &LsEce::new())]).unwrap();
    assert_ne!(one.0[0].mean, other[0].mean);
}

/// Rejects where the seed is even.
struct Coin(u64);

impl CalibrationTest for Coin {
    fn test(&self, view: &BinaryView<'_>) -> Result<TestResult, Error> {
        let p_value = if self.0.is_multiple_of(2) { 0.05 } else { 0.051 };
        let (n, settings) = (view.len() as u64, Settings::default());
        Ok(TestResult { test: "coin", statistic: 0.0, p_value, degrees_of_freedom: None, n, settings })
    }
}

/// Refuses rows whose first outcome is 0.
struct Fussy;

impl CalibrationTest for Fussy {
    fn test(&self, view: &BinaryView<'_>) -> Result<TestResult, Error> {
        self.estimate(view)?;
        Coin(0).test(view)
    }
}

impl Measure for Fussy {
    fn spec(&self) -> &'static Spec {
        BinnedEce::new().spec()
    }

    fn estimate(&self, view: &BinaryView<'_>) -> Result<Estimate, Error> {
        let estimate = BinnedEce::new().n_bins(1).estimate(view)?;
        // One row at 0.2: the gap is 0.8 with outcome 1.
        if estimate.value > 0.5 { Ok(estimate) } else { Err(Error::NoRows) }
    }
}

#[test]
fn every_run_has_a_seed_of_its_own_and_a_p_value_of_alpha_rejects() {
    let tests = [SeededTest::new("coin", |seed, _| Box::new(Coin(seed)))];
    let result = &Simulation::new(&coin(), 1).runs(4000).rejections(&tests, 0.05).unwrap()[0];
    assert!((result.rejected.value - 0.5).abs() < 4.5 * result.rejected.standard_error, "{result:?}");
    assert_eq!((result.name, result.alpha, result.n_runs, result.n_failed), ("coin", 0.05, 4000, 0));
}

#[test]
fn refused_rows_are_counted_and_refusals_of_all_rows_returned() {
    let population = Finite::new(&[1.0], &[0.4], &[0.2]).unwrap();
    let simulation = Simulation::new(&population, 1).runs(200);
    let tests = [SeededTest::new("fussy", |_, _| Box::new(Fussy))];
    let tested = &simulation.rejections(&tests, 0.05).unwrap()[0];
    let measured = &simulation.estimators(&[("fussy", &Fussy)]).unwrap()[0];
    assert!(tested.n_failed > 80 && tested.n_failed < 160 && tested.n_failed == measured.n_failed);
    assert_eq!(tested.rejected.value, 1.0 - tested.n_failed as f64 / 200.0);
    assert_eq!((measured.mean.value, measured.of_ece.bias.standard_error), (0.8, 0.0));
    let never = Finite::new(&[1.0], &[0.0], &[0.2]).unwrap();
    let simulation = Simulation::new(&never, 1).runs(5);
    assert_eq!(simulation.rejections(&tests, 0.05), Err(Error::NoRows));
    assert_eq!(simulation.estimators(&[("fussy", &Fussy)]), Err(Error::NoRows));
    assert_eq!(simulation.coverage(&Assess::new(&Fussy)), Err(Error::NoRows));
}

#[test]
fn settings_out_of_range_are_refused() {
    let family = Family::named("calibrated").unwrap();
    let run = |simulation: Simulation<'_>, alpha: f64| {
        simulation.rejections(&SeededTest::all()[1..2], alpha).unwrap_err().to_string()
    };
    assert_eq!(run(Simulation::new(&family, 0), 0.05), "n must be positive, got 0");
    assert_eq!(run(Simulation::new(&family, 5).runs(1), 0.05), "runs must be from 2 to 100000000, got 1");
    assert_eq!(run(Simulation::new(&family, 5), f64::NAN), "alpha must be in (0, 1), got NaN");
    assert_eq!(family.rounded(0).unwrap_err().to_string(), "n_steps must be from 1 to 1000000, got 0");
}

#[test]
fn the_floor_as_a_test_is_that_of_an_assessment() {
    let sample = Family::named("slightly-overconfident").unwrap().sample(500, 3);
    let predictions = sample.input().check().unwrap();
    let view = predictions.binary().unwrap();
    let measure = LsEce::new();
    let floor = Assess::new(&measure).n_resamples(99).random_state(4).run(&view).unwrap().floor.unwrap();
    let test = FloorTest::new(LsEce::new()).n_resamples(99).random_state(4).test(&view).unwrap();
    assert_eq!(test.p_value, floor.p_value);
}

#[test]
fn every_test_keeps_its_size_and_sees_a_large_gap() {
    let tests = SeededTest::all().map(|test| test.n_resamples(99));
    let calibrated = Family::named("calibrated").unwrap().rounded(20).unwrap();
    for result in Simulation::new(&calibrated, 300).runs(200).rejections(&tests, 0.05).unwrap() {
        assert!((result.rejected.value - 0.05).abs() < 0.06, "{result:?}");
        assert_eq!(result.n_failed, 0);
    }
    let far =
        Family::new("far", Logits::Normal { mean: 1.0, deviation: 2.0 }, Truth::Affine { intercept: 0.0, slope: 0.3 });
    for result in Simulation::new(&far.unwrap(), 500).runs(10).rejections(&tests, 0.05).unwrap() {
        assert_eq!(result.rejected.value, 1.0, "{result:?}");
    }
}

#[test]
fn a_rounded_family_says_multiples_and_a_calibrated_one_stays_so() {
    for family in Family::all().iter().chain(&Family::kept_aside()) {
        for n_steps in [1, 2, 20, 256] {
            let rounded = family.rounded(n_steps).unwrap();
            let total: f64 = rounded.masses().iter().sum();
            assert!((total - 1.0).abs() < 1e-12 && rounded.is_continuous());
            assert!(rounded.predictions().iter().all(|p| (p * f64::from(n_steps)).fract() == 0.0));
            if family.is_calibrated() {
                assert_eq!(rounded.truth(), rounded.predictions());
                assert_eq!(rounded.ece(), 0.0);
            }
        }
        // Fine steps change little; but what is rounded to 1 is right, and a confident network has
        // gaps there, too.
        let fine = family.rounded(100_000).unwrap().ece();
        assert!((fine - Population::ece(family)).abs() < 1e-3, "{}: {fine}", family.name());
    }
}

#[test]
fn names_are_of_one_family_each_and_found_in_all_lists() {
    let listed: Vec<Family> = Family::known();
    for (place, family) in listed.iter().enumerate() {
        assert_eq!(Family::named(family.name()).as_ref(), Ok(family));
        let same_law = |other: &Family| other.logits() == family.logits() && other.truth() == family.truth();
        assert!(listed[..place].iter().all(|other| !same_law(other)), "{}", family.name());
        // Each is sound by the checks that families of one's own pass.
        assert!(Family::new(family.name(), family.logits().clone(), family.truth().clone()).is_ok());
    }
}

#[test]
fn what_is_remembered_is_what_was_computed() {
    let population = two_point(0.1).unwrap();
    let remembered = Remembered::new(&population);
    for _ in 0..2 {
        assert_eq!(remembered.ls_ece(0.5), Population::ls_ece(&population, 0.5));
        assert_eq!(remembered.ece(), population.ece());
        assert_eq!(remembered.sample(10, 3), population.sample(10, 3));
    }
    assert!(remembered.ls_ece(-1.0).is_err());
}

/// The debiased value at sigma auto against the best of five others, as a mean over families: what
/// `calipers study estimators` shows with more runs. The limits are those that were set before
/// anything was chosen; the numbers of runs leave about 0.02 of chance in a ratio.
#[test]
fn the_best_estimate_of_ece_is_no_worse_than_that_of_others() {
    let rivals: [(&str, &dyn Measure); 5] = [
        ("equal width", &BinnedEce::new()),
        ("equal mass", &BinnedEce::new().strategy(Strategy::Quantile)),
        ("sweep", &SweepEce::new().norm(Norm::L1)),
        ("debiased", &DebiasedEce::new().norm(Norm::L1)),
        ("smECE", &SmoothEce::new().tolerance(1e-6)),
    ];
    for families in [Family::all(), Family::kept_aside()] {
        for (n, runs, limit) in [(300, 100, 1.10), (1_000, 160, 1.05), (5_000, 40, 1.0)] {
            let mut errors = [0.0; 6];
            for family in &families {
                let simulation = Simulation::new(family, n).runs(runs).random_state(17);
                let own = simulation.debiased("auto", &LsEce::new(), &[Debias::default()], 40).unwrap().remove(1);
                let found = std::iter::once(own).chain(simulation.estimators(&rivals).unwrap());
                errors.iter_mut().zip(found).for_each(|(sum, result)| *sum += result.of_ece.rmse.value);
            }
            let ratio = errors[0] / errors[1..].iter().copied().fold(f64::INFINITY, f64::min);
            println!("{} families, n = {n}: {ratio:.3}", families.len());
            assert!(ratio <= limit, "n = {n}: {ratio}");
        }
    }
}
