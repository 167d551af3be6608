//! Values by the packages that people use: `fixtures/peers.json`, which `fixtures/peers.py` makes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use calipers::{
    BinnedEce, Compat, CoxCalibration, DebiasedEce, Input, Measure, Norm, SmoothEce, SmoothMethod, Strategy,
};

#[derive(serde::Deserialize)]
struct Peers {
    values: BTreeMap<String, BTreeMap<String, f64>>,
}

fn golden() -> (Vec<f64>, Vec<bool>) {
    let fraction = |k: u32, step: f64| (f64::from(k) * step).rem_euclid(1.0);
    let mut p: Vec<f64> = (1..=200).map(|k| (fraction(k, 0.618_033_988_749_894_9) * 100.0).round() / 100.0).collect();
    let outcome = |k: u32| {
        let p = p[k as usize - 1];
        fraction(k, 0.754_877_666_246_692_7) < p + 0.2 * (std::f64::consts::TAU * p).sin()
    };
    let y = (1..=200).map(outcome).collect();
    let place =
        |better: fn(&f64, &f64) -> bool| (0..200).reduce(|a, b| if better(&p[b], &p[a]) { b } else { a }).unwrap();
    let (largest, smallest) = (place(f64::gt), place(f64::lt));
    (p[largest], p[smallest]) = (1.0, 0.0);
    (p, y)
}

/// The folder of real predictions, as in `real/mod.rs`.
fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("CALIPERS_DATA").map_or(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

fn read(path: &Path) -> (Vec<f64>, Vec<bool>) {
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line: &str| {
        let mut cells = line.split(',');
        (cells.next().unwrap().parse::<f64>().unwrap(), cells.next().unwrap() == "1")
    };
    text.lines().skip(1).map(row).unzip()
}

/// Key, measure, and how far the two may be apart.
fn measures() -> Vec<(&'static str, Box<dyn Measure>, f64)> {
    let relplot = || SmoothEce::new().method(SmoothMethod::Relplot);
    let binned = |compat: Compat| BinnedEce::new().compat(compat);
    let uc = Compat::UncertaintyCalibration;
    let debiased = || DebiasedEce::new().compat(uc);
    let torchmetrics = |norm: Norm| binned(Compat::Torchmetrics).n_bins(10).norm(norm);
    vec![
        ("smece", Box::new(relplot()), 1e-11),
        ("smece_0.007", Box::new(relplot().sigma(0.007)), 1e-11),
        ("smece_0.02", Box::new(relplot().sigma(0.02)), 1e-11),
        ("smece_0.05", Box::new(relplot().sigma(0.05)), 1e-11),
        ("smece_0.2", Box::new(relplot().sigma(0.2)), 1e-11),
        ("binned_10", Box::new(binned(Compat::Relplot).n_bins(10)), 1e-12),
        ("binned_15", Box::new(binned(Compat::Relplot).n_bins(15)), 1e-12),
        ("binned_49", Box::new(binned(Compat::Relplot).n_bins(49)), 1e-12),
        ("get_ece", Box::new(binned(uc)), 1e-12),
        ("get_ece_em", Box::new(binned(uc).strategy(Strategy::Quantile)), 1e-12),
        ("l2_equal_mass", Box::new(binned(uc).strategy(Strategy::Quantile).norm(Norm::L2)), 1e-12),
        ("l2_debiased_equal_mass", Box::new(debiased()), 1e-12),
        ("l2_debiased_equal_width", Box::new(debiased().strategy(Strategy::Uniform)), 1e-12),
        // The mean of 20,000 draws, for which a bin of 6 rows has a standard deviation of 0.2 each.
        ("l1_debiased_equal_mass", Box::new(debiased().norm(Norm::L1)), 1e-3),
        ("netcal_ece", Box::new(binned(Compat::Netcal).n_bins(10)), 1e-9),
        ("netcal_ece_equal_mass", Box::new(binned(Compat::Netcal).n_bins(10).strategy(Strategy::Quantile)), 1e-9),
        ("torchmetrics_l1", Box::new(torchmetrics(Norm::L1)), 1e-6),
        ("torchmetrics_l2", Box::new(torchmetrics(Norm::L2)), 1e-6),
        ("torchmetrics_max", Box::new(torchmetrics(Norm::Max)), 1e-6),
        ("cox_slope", Box::new(CoxCalibration::new()), 1e-8),
        ("cox_intercept", Box::new(CoxCalibration::new().coefficient(calipers::CoxCoefficient::Intercept)), 1e-8),
    ]
}

#[test]
fn presets_have_the_values_of_the_packages() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/peers.json");
    let peers: Peers = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(peers.values.len(), 6);
    let folder = folder();
    let mut worst: BTreeMap<&str, f64> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, values) in &peers.values {
        let (p, y) = match (&folder, name.as_str()) {
            (_, "golden") => golden(),
            (None, _) => continue,
            (Some(folder), name) => read(&folder.join(name)),
        };
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let view = predictions.binary().unwrap();
        for (key, measure, allowed) in measures() {
            let difference = (measure.estimate(&view).unwrap().value - values[key]).abs();
            let entry = worst.entry(key).or_default();
            *entry = entry.max(difference);
            if difference > allowed {
                wrong.push(format!("{name}, {key}: off by {difference:e}"));
            }
        }
        let width = SmoothEce::new().method(SmoothMethod::Relplot).estimate(&view).unwrap().settings.number("sigma");
        assert_eq!(width, Some(values["smece_width"]), "{name}");
        // What relplot approximates: to the width of its search and a per mille for its grids, but
        // for rows at exactly 0 and 1, of which it counts half.
        let exact = SmoothEce::new().estimate(&view).unwrap().value;
        let at_ends = p.iter().filter(|p| **p == 0.0 || **p == 1.0).count() as f64 / p.len() as f64;
        let difference = (exact - values["smece"]).abs();
        eprintln!("{name}: exact smECE {exact:.9}, relplot {:.9}, {:.1} % at 0 or 1", values["smece"], 100.0 * at_ends);
        assert!(difference < 1e-3 + 0.5 * at_ends, "{name}: exact {exact}, relplot {}", values["smece"]);
    }
    for (key, difference) in &worst {
        eprintln!("{key:28} differs by at most {difference:.1e}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
