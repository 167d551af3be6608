//! The estimates that are compared, and families in words.

use calipers::population::{Logits, Truth};
use calipers::{
    BetaKdeEce, BinnedEce, CalibrationIndex, Debias, DebiasedEce, IndexStatistic, KdeEce, KdeKernel, LsEce, Measure,
    Norm, SmoothEce, Smoothing, SplineCalibrationError, Strategy, SweepEce,
};

/// The residual form with the rule, before noise is taken out of it.
pub(super) const AUTO: &str = "residual LS-ECE, sigma auto";

/// What the best of is to be met.
pub(super) const RIVALS: [&str; 5] = [WIDTH, MASS, SWEEP, DEBIASED, SMOOTH];
const WIDTH: &str = "ECE, 15 of equal width";
const MASS: &str = "ECE, 15 of equal mass";
const SWEEP: &str = "ECE-sweep";
const DEBIASED: &str = "debiased ECE, 15 bins";
const SMOOTH: &str = "smECE";

/// The sigmas that are given.
pub(super) const SIGMAS: [f64; 6] = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0];

/// Beta kernels go from each row to each: more rows would take longer than all the rest.
const MOST_FOR_BETA: usize = 1_000;

/// The LS curve is evaluated at every row, for seconds where logits range over thousands.
const MOST_FOR_ICI: usize = 1_000;

/// What the debiased estimate is called.
pub(super) fn debiased(rule: Debias) -> String {
    format!("{AUTO}, debiased by {}", rule.name())
}

/// Every estimate of E|E[Y | p] - p| for n rows, but that with sigma auto, which comes with its
/// rules.
pub(super) fn estimators(n: usize) -> Vec<(String, Box<dyn Measure>)> {
    let mut all: Vec<(String, Box<dyn Measure>)> = Vec::new();
    for sigma in SIGMAS {
        all.push((format!("LS-ECE, sigma {sigma}"), Box::new(LsEce::new().sigma(sigma))));
    }
    all.push(("LS-ECE, sigma auto".to_owned(), Box::new(LsEce::new())));
    let mut add = |name: &str, estimator: Box<dyn Measure>| all.push((name.to_owned(), estimator));
    add(WIDTH, Box::new(BinnedEce::new()));
    add(MASS, Box::new(BinnedEce::new().strategy(Strategy::Quantile)));
    add(DEBIASED, Box::new(DebiasedEce::new().norm(Norm::L1)));
    add(SWEEP, Box::new(SweepEce::new().norm(Norm::L1)));
    // Tolerances far below what is seen, and some times faster than the default.
    add(SMOOTH, Box::new(SmoothEce::new().tolerance(1e-6)));
    add("smECE~", Box::new(SmoothEce::new().smoothing(Smoothing::Predictions).tolerance(1e-6)));
    add("KDE-ECE, triweight", Box::new(KdeEce::new().tolerance(1e-5)));
    add("KDE-ECE, Gaussian", Box::new(KdeEce::new().kernel(KdeKernel::Gaussian).tolerance(1e-5)));
    if n <= MOST_FOR_BETA {
        add("KDE-ECE, beta", Box::new(BetaKdeEce::new().bandwidth(0.1 * (n as f64).powf(-0.4))));
    }
    add("spline", Box::new(SplineCalibrationError::new()));
    if n <= MOST_FOR_ICI {
        add("ICI by the LS curve", Box::new(CalibrationIndex::new().statistic(IndexStatistic::Ici)));
    }
    all
}

/// A law of logits in words.
pub(super) fn law(logits: &Logits) -> String {
    match logits {
        Logits::Normal { mean, deviation } => format!("normal({mean}, {deviation})"),
        Logits::Steps { edges, masses } => format!("steps at {}: {}", list(edges), list(masses)),
        Logits::WithAtoms { mean, deviation, atoms } => {
            let (at, masses): (Vec<f64>, Vec<f64>) = atoms.iter().map(|atom| (atom.logit, atom.mass)).unzip();
            format!("atoms at {}: {}; else normal({mean}, {deviation})", list(&at), list(&masses))
        }
        Logits::HeavyTails => "density like abs(h)^-1.5".to_owned(),
        _ => format!("{logits:?}"),
    }
}

/// A truth in words.
pub(super) fn truth(truth: &Truth) -> String {
    match truth {
        truth if *truth == Truth::CALIBRATED => "h".to_owned(),
        Truth::Affine { intercept, slope } => format!("{intercept} + {slope} h"),
        Truth::Sinusoidal { amplitude, frequency } => format!("h + {amplitude} sin({frequency} h)"),
        Truth::Piecewise { edges, shifts } => format!("h + one of {}, changing at {}", list(shifts), list(edges)),
        _ => format!("{truth:?}"),
    }
}

fn list(values: &[f64]) -> String {
    values.iter().map(|value| format!("{}", (value * 1000.0).round() / 1000.0)).collect::<Vec<_>>().join(", ")
}
