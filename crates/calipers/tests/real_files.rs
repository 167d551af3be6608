//! Every real file, five scales, two noises: within the tolerance and within the bound of the slow
//! truth.

#[macro_use]
mod oracle;
mod real;

use calipers::{BinnedEce, BrierScore, Gaussian, LsEce, Measure, Sketch, Uniform};
use rayon::prelude::*;

const SIGMAS: [f64; 5] = [1.0, 0.2, 0.1, 0.05, 0.02];
const TOLERANCE: f64 = 1e-6;

struct Outcome {
    what: String,
    error: f64,
    bound: f64,
}

#[test]
fn every_file_is_within_tolerance_and_bound_of_the_oracle() {
    let outcomes: Vec<Outcome> = real::files()
        .par_iter()
        .flat_map_iter(|file| {
            let content = real::read(file);
            let predictions = content.check().unwrap();
            let view = real::view(&predictions);
            let points = content.points();
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let outcome = |noise: &str, sigma: f64, measure: LsEce, truth: f64| {
                let estimate = measure.sigma(sigma).tolerance(TOLERANCE).estimate(&view).unwrap();
                Outcome {
                    what: format!("{name}, {noise}, sigma {sigma}: {} against {truth}", estimate.value),
                    error: (estimate.value - truth).abs(),
                    bound: estimate.numerical_bound,
                }
            };
            let both = |sigma: f64| {
                let gaussian = oracle::ls_ece(&points, oracle::GAUSSIAN, oracle::logistic, sigma);
                let uniform = oracle::ls_ece_uniform(&points, sigma);
                [
                    outcome("gaussian", sigma, LsEce::new().noise(Gaussian), gaussian),
                    outcome("uniform", sigma, LsEce::new().noise(Uniform), uniform),
                ]
            };
            SIGMAS.into_iter().flat_map(both).collect::<Vec<_>>()
        })
        .collect();

    for Outcome { what, error, bound } in &outcomes {
        assert!(*bound <= TOLERANCE, "{what}: bound {bound:e}");
        assert!(error <= bound, "{what}: error {error:e} above the bound {bound:e}");
    }
    for noise in ["gaussian", "uniform"] {
        print_distribution(noise, outcomes.iter().filter(|outcome| outcome.what.contains(noise)));
    }
}

/// How much larger than the true error the bounds are: a bound that is always huge would be no
/// bound.
fn print_distribution<'a>(noise: &str, outcomes: impl Iterator<Item = &'a Outcome>) {
    let (mut ratios, mut errors): (Vec<f64>, Vec<f64>) =
        outcomes.map(|outcome| (outcome.bound / outcome.error.max(1e-16), outcome.error)).unzip();
    if ratios.is_empty() {
        return;
    }
    ratios.sort_by(f64::total_cmp);
    errors.sort_by(f64::total_cmp);
    let at = |sorted: &[f64], level: f64| sorted[(level * (sorted.len() - 1) as f64) as usize];
    say!(
        "{noise}: {} cases; bound / true error: min {:.1}, quartiles {:.0} {:.0} {:.0}, max {:.0}; true error: median {:.1e}, max {:.1e}",
        ratios.len(),
        ratios[0],
        at(&ratios, 0.25),
        at(&ratios, 0.5),
        at(&ratios, 0.75),
        at(&ratios, 1.0),
        at(&errors, 0.5),
        at(&errors, 1.0),
    );
}

#[test]
fn binned_ece_of_every_file_is_the_published_one() {
    let published = [
        ("cifar10_resnet20_akamaster.npz", 0.0532),
        ("cifar10_vgg16_verified_calibration.npz", 0.0398),
        ("cifar100_densenetbc100_netcal.npz", 0.1422),
        ("cifar10_resnet8_mlperftiny_int8.npz", 0.0361),
        ("imagenet_val_tf_inception_v3_timm_top1.npz", 0.0202),
        ("538_mlb_games.csv", 0.0103),
        ("538_nfl_playoffs.parquet", 0.0051),
        ("llm_stated_confidence.parquet", 0.1129),
        ("solar_flares_C1.csv", 0.0875),
        ("precip_niamey2016_EMOS.csv", 0.0843),
    ];
    let Some(folder) = real::folder() else { return };
    for (name, ece) in published {
        let content = real::read(&folder.join(name));
        let predictions = content.check().unwrap();
        let estimate = BinnedEce::new().estimate(&real::view(&predictions)).unwrap();
        assert!((estimate.value - ece).abs() < 5.1e-5, "{name}: {} against {ece}", estimate.value);
    }
}

#[test]
fn every_file_has_the_same_figures_by_sketch() {
    let apart: Vec<f64> = real::files()
        .par_iter()
        .flat_map_iter(|file| {
            let content = real::read(file);
            let predictions = content.check().unwrap();
            let view = real::view(&predictions);
            let mut sketch = Sketch::new();
            sketch.update(&view).unwrap();
            assert_eq!(Sketch::from_bytes(&sketch.to_bytes()).unwrap(), sketch);
            let apart = |measure: &dyn Measure| {
                let (rows, cells) = (measure.estimate(&view).unwrap(), sketch.estimate(measure).unwrap());
                let apart = (rows.value - cells.value).abs();
                assert!(apart <= rows.numerical_bound + cells.numerical_bound, "{}: {cells:?}", file.display());
                apart
            };
            for measure in [&BinnedEce::new() as &dyn Measure, &BinnedEce::new().n_bins(12), &BrierScore::new()] {
                apart(measure);
            }
            SIGMAS.map(|sigma| apart(&LsEce::new().sigma(sigma)))
        })
        .collect();
    let largest = apart.iter().copied().fold(0.0, f64::max);
    say!("{} cases of real files by sketch: at most {largest:.1e} from the rows", apart.len());
}
