//! The distribution of resamples against rows that are drawn one by one.

use calipers::inference::{NoiseFloor, Resampler, RowResampler};
use calipers::{Assess, CumulativeCalibrationError, LsEce, Measure, Settings, registry};
use rayon::prelude::*;

use crate::data::{Data, FAMILIES};

/// Mean and standard deviation, and quantiles at 0.05, 0.5 and 0.95.
struct Law {
    mean: f64,
    deviation: f64,
    sorted: Vec<f64>,
}

impl Law {
    fn new(n: u64, draw: impl Fn(u64) -> f64 + Sync + Send) -> Self {
        let mut sorted: Vec<f64> = (0..n).into_par_iter().map(draw).collect();
        assert!(sorted.iter().all(|draw| draw.is_finite()), "a draw has no value");
        sorted.sort_by(f64::total_cmp);
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|draw| (draw - mean).powi(2)).sum();
        Law { mean, deviation: (squares / (n - 1) as f64).sqrt(), sorted }
    }

    /// The standard error of the deviation over the deviation: (κ - 1) / 4 n is its square, κ the
    /// kurtosis, which is large where few outcomes decide.
    fn error_of_deviation(&self) -> f64 {
        let fourth = |draw: &f64| ((draw - self.mean) / self.deviation).powi(4);
        let (n, sum) = (self.sorted.len() as f64, self.sorted.iter().map(fourth).sum::<f64>());
        ((sum / n).max(3.0) / (4.0 * n)).sqrt()
    }

    /// The largest distance of the two distribution functions (Kolmogorov and Smirnov), where draws
    /// may be moved by a fiftieth of a standard deviation: of few outcomes 1 draws have few values.
    fn distance(&self, slow: &Law) -> f64 {
        let shift = 0.02 * slow.deviation;
        let below = |law: &Law, x: f64| law.sorted.partition_point(|draw| *draw <= x) as f64 / law.sorted.len() as f64;
        let at = |x: f64| (below(self, x - shift) - below(slow, x)).max(below(slow, x) - below(self, x + shift));
        let places =
            self.sorted.iter().flat_map(|draw| [draw - shift, draw + shift]).chain(slow.sorted.iter().copied());
        places.map(at).fold(0.0, f64::max)
    }
}

/// The two laws of a measure, by cells and by rows, for calibrated and for bootstrap draws.
fn laws(measure: &dyn Measure, data: &Data, n_draws: [u64; 2]) -> [[Law; 2]; 2] {
    let predictions = data.input().check().unwrap();
    let view = predictions.binary().unwrap();
    let (fast, slow) = (measure.resampler(&view, None).unwrap(), RowResampler::new(measure, &view, None).unwrap());
    let slow: &dyn Resampler = &slow;
    let value = measure.estimate(&view).unwrap().value;
    let step = (fast.value() - value).abs();
    let calibrated = [&*fast, slow].map(|resampler| Law::new(n_draws[0], |draw| resampler.calibrated_draw(7 + draw)));
    // A sweep jumps from one number of bins to another, with cells as with one row more.
    let is_near = step <= 0.1 * calibrated[1].deviation + 1e-12 || measure.spec().name == "sweep_ece";
    assert!(is_near, "{}: value {} {value}", measure.spec().name, fast.value());
    let bootstrap =
        [&*fast, slow].map(|resampler| Law::new(n_draws[1], |draw| resampler.bootstrap_draw(1_000_000 + draw)));
    [calibrated, bootstrap]
}

fn compare(name: &str, family: &str, n: usize, n_draws: u64) -> Vec<String> {
    let measure = registry::make(name, &Settings::default()).unwrap();
    let found = laws(&*measure, &Data::new(family, n, 3), [n_draws; 2]);
    let mut failures = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            failures.push(what);
        }
    };
    for (kind, [fast, slow]) in ["calibrated", "bootstrap"].into_iter().zip(&found) {
        if slow.deviation == 0.0 {
            let is_same = fast.deviation == 0.0 && (fast.mean - slow.mean).abs() <= 1e-9 * slow.mean.abs();
            expect(is_same, format!("{name} {family} {n} {kind}: {} for {}", fast.mean, slow.mean));
            continue;
        }
        let off = (fast.mean - slow.mean) / slow.deviation;
        let spread = fast.deviation / slow.deviation;
        let distance = fast.distance(slow);
        let error = fast.error_of_deviation() + slow.error_of_deviation();
        println!(
            "{name:38} {family:13} {n:>6} {kind:10}: mean off by {off:6.3} sd ({:.5} {:.5}), sd {spread:.3}, distance {distance:.3}",
            fast.mean, slow.mean
        );
        let root = (n_draws as f64).sqrt();
        // Five standard errors of the difference, and a twentieth of a deviation for cells.
        expect(
            off.abs() <= 5.0 * 2f64.sqrt() / root + 0.05,
            format!("{name} {family} {n} {kind}: mean off by {off} sd"),
        );
        expect(
            (spread - 1.0).abs() <= 5.0 * spread.max(1.0) * error + 0.03,
            format!("{name} {family} {n} {kind}: sd {spread}"),
        );
        // Of two samples of one law, above 2 √(2 / draws) once in 3000 times; and what cells cost.
        // Of few outcomes 1 a sweep takes few values, and they move with its bins.
        let moves = name == "sweep_ece" && matches!(family, "sure" | "rare");
        expect(
            moves || distance <= 2.0 * 2f64.sqrt() / root + 0.02,
            format!("{name} {family} {n} {kind}: distance {distance}"),
        );
    }
    failures
}

/// Measures whose draws by rows are quick.
const QUICK: [&str; 17] = [
    "expected_calibration_error",
    "adaptive_calibration_error",
    "root_mean_squared_calibration_error",
    "maximum_calibration_error",
    "debiased_ece",
    "sweep_ece",
    "ecce_r",
    "ecce_mad",
    "spline_calibration_error",
    "smooth_calibration_error",
    "surrogate_interval_calibration_error",
    "kernel_calibration_error",
    "mmce",
    "tcal_squared_error",
    "corp_miscalibration",
    "brier_score",
    "log_loss",
];

#[test]
fn draws_of_cells_have_the_law_of_rows() {
    let of_measure = |name| FAMILIES.into_iter().flat_map(move |family| compare(name, family, 6_000, 200));
    let failures: Vec<String> = QUICK.into_iter().flat_map(of_measure).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

/// On grids, whose draws do not depend on how many rows there are.
#[test]
fn draws_of_smoothed_measures_have_the_law_of_rows() {
    let sizes = [1_000, 1_000, 6_000, 6_000, 1_000, 1_000];
    let of_family = |family, n| compare("smooth_ece", family, n, 200);
    let failures: Vec<String> = FAMILIES.into_iter().zip(sizes).flat_map(|(family, n)| of_family(family, n)).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Their draws by rows take long, above all next to 0 and 1.
#[test]
fn draws_of_curves_have_the_law_of_rows() {
    let of_measure = |name| ["uniform", "weighted"].into_iter().flat_map(move |family| compare(name, family, 600, 100));
    let failures: Vec<String> = ["kde_ece", "ici", "e50", "e90", "emax"].into_iter().flat_map(of_measure).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

/// The lower distance on fewer nodes, and beta kernels with the bandwidth of all rows, which the
/// draws of outcomes do not change: the same draws, the same values.
#[test]
fn draws_of_few_rows_are_those_of_rows() {
    for (name, tolerance) in [("lower_distance_to_calibration", 2e-4), ("beta_kde_ece", 1e-12)] {
        let measure = registry::make(name, &Settings::default()).unwrap();
        for family in ["uniform", "weighted"] {
            let data = Data::new(family, 300, 5);
            let predictions = data.input().check().unwrap();
            let view = predictions.binary().unwrap();
            let fast = measure.resampler(&view, None).unwrap();
            let slow = RowResampler::new(&*measure, &view, None).unwrap();
            for draw in 0..4 {
                let (fast, slow) = (fast.calibrated_draw(draw), slow.calibrated_draw(draw));
                assert!((fast - slow).abs() <= tolerance, "{name} {family}: {fast} for {slow}");
            }
        }
    }
}

/// LS-ECE and its residual form are drawn together where their grid is the same: with the draws
/// that each has by itself.
#[test]
fn forms_that_are_drawn_together_have_their_own_draws() {
    for family in FAMILIES {
        let data = Data::new(family, 6_000, 3);
        let predictions = data.input().check().unwrap();
        let view = predictions.binary().unwrap();
        let (paper, residual) = (LsEce::new(), LsEce::new().residual());
        let resampler = paper.resampler(&view, None).unwrap();
        let together = Assess::new(&paper).n_resamples(50).run(&view).unwrap();
        let decided = together.residual.as_deref().unwrap();
        assert_eq!(*decided, Assess::new(&residual).n_resamples(50).run(&view).unwrap(), "{family}");
        let (floor, alone) = (together.floor.unwrap(), NoiseFloor::new(&*resampler, 50, 0).unwrap());
        let of = |floor: &NoiseFloor| (floor.mean, floor.deviation, floor.quantiles);
        assert_eq!(of(&floor), of(&alone), "{family}");
    }
}

/// Cells are drawn as often as requested; rows as often as is requested for them.
#[test]
fn rows_have_a_number_of_resamples_of_their_own() {
    for (n, expected) in [(1_000, 30), (6_000, 60)] {
        let data = Data::new("uniform", n, 3);
        let predictions = data.input().check().unwrap();
        let measure = CumulativeCalibrationError::new();
        let assess = Assess::new(&measure).n_resamples(60).n_resamples_of_rows(30);
        let found = assess.run(&predictions.binary().unwrap()).unwrap();
        assert_eq!(found.floor.unwrap().n_resamples, expected, "{n} rows");
        let too_few = assess.n_resamples_of_rows(0).run(&predictions.binary().unwrap());
        assert_eq!(too_few.is_err(), n == 1_000);
    }
}

/// `CALIPERS_MEASURES`, `CALIPERS_ROWS` and `CALIPERS_DRAWS` choose.
#[test]
#[ignore = "takes minutes"]
fn draws_of_many_cells_have_the_law_of_many_rows() {
    let chosen = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let measures = chosen("CALIPERS_MEASURES", &QUICK.join(","));
    let (n, n_draws) = (chosen("CALIPERS_ROWS", "50000"), chosen("CALIPERS_DRAWS", "1000"));
    let (n, n_draws): (usize, u64) = (n.parse().unwrap(), n_draws.parse().unwrap());
    let of_measure = |name| FAMILIES.into_iter().flat_map(move |family| compare(name, family, n, n_draws));
    let failures: Vec<String> = measures.split(',').flat_map(of_measure).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}
