//! Known distributions: the paper's theorems on finite ones, the counterexample, and true values of
//! the families.

#[macro_use]
mod oracle;

use calipers::population::{Counterexample, Family, Finite, Logits, Truth, two_point};
use calipers::{BinnedEce, Error, LsEce, Measure, noise};

/// A small generator of its own, so that the tests share none with the product.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }

    /// Up to 12 points: few different predictions, some truths at 0 and 1, some points of mass 0.
    fn population(&mut self) -> Finite {
        let n = 1 + self.below(12);
        let levels: Vec<f64> = (0..1 + self.below(4)).map(|_| self.next()).collect();
        let masses: Vec<f64> = (0..n).map(|k| if k > 0 && self.below(8) == 0 { 0.0 } else { self.next() }).collect();
        let truth: Vec<f64> = (0..n)
            .map(|_| match self.below(6) {
                0 => 0.0,
                1 => 1.0,
                _ => self.next(),
            })
            .collect();
        let predictions: Vec<f64> = (0..n).map(|_| levels[self.below(levels.len())]).collect();
        Finite::new(&masses, &truth, &predictions).unwrap()
    }
}

/// ECE by the definition, set by set, in the plainest way.
fn naive_ece(population: &Finite) -> f64 {
    let (m, t, g) = (population.masses(), population.truth(), population.predictions());
    (0..m.len())
        .filter(|&i| m[i] > 0.0)
        .map(|i| {
            let mass: f64 = (0..m.len()).filter(|&j| g[j] == g[i]).map(|j| m[j]).sum();
            let rate: f64 = (0..m.len()).filter(|&j| g[j] == g[i]).map(|j| m[j] * t[j]).sum::<f64>() / mass;
            m[i] * (rate - g[i]).abs()
        })
        .sum()
}

#[test]
fn ece_of_finite_populations_is_that_of_the_definition() {
    let mut random = Random(11);
    for _ in 0..2000 {
        let population = random.population();
        assert!((population.ece() - naive_ece(&population)).abs() < 1e-14);
        let jump = population.distance_to_truth() - population.ece();
        assert!((population.jump() - jump).abs() < 1e-14);
        assert_eq!(population.is_continuous(), population.jump() == 0.0);
    }
}

#[test]
fn the_criterion_of_theorem_discretecase_is_not_sufficient() {
    let population = Finite::new(&[0.5, 0.5], &[0.7, 0.9], &[0.5, 0.5]).unwrap();
    assert!(population.level_sets()[0].meets_disc_cond);
    assert!(population.is_continuous());
    assert!((population.ece() - 0.3).abs() < 1e-15 && (population.distance_to_truth() - 0.3).abs() < 1e-15);
    // Nothing nearby is further away than the change itself: seen on 10,000 changes.
    let mut random = Random(5);
    for _ in 0..10_000 {
        let size = 10f64.powf(-1.0 - 6.0 * random.next());
        let moved = [0.5 + size * (2.0 * random.next() - 1.0), 0.5 + size * (2.0 * random.next() - 1.0)];
        let ece = population.with_predictions(&moved).unwrap().ece();
        assert!((ece - 0.3).abs() <= size + 1e-15, "{ece} at {size}");
    }
}

#[test]
fn the_criterion_of_theorem_discretecase_is_necessary() {
    let mut random = Random(12);
    for _ in 0..10_000 {
        let population = random.population();
        let sets = population.level_sets();
        assert!(sets.iter().all(|set| set.jump < 1e-14 || set.meets_disc_cond));
        // Lemma disc-nec: a singleton meets it never.
        assert!(sets.iter().all(|set| set.members.len() > 1 || !set.meets_disc_cond));
    }
}

#[test]
fn small_changes_keep_ece_between_its_value_and_the_distance_to_the_truth() {
    let mut random = Random(13);
    let mut n_changes = 0;
    for _ in 0..400 {
        let population = random.population();
        let (ece, far) = (population.ece(), population.distance_to_truth());
        let largest = population.smallest_gap().map_or(0.4, |gap| gap / 2.0);
        for _ in 0..50 {
            let size = largest * random.next() * 0.999;
            let change = |g: &f64, random: &mut Random| match random.below(4) {
                0 => *g,
                1 => (g + size).min(1.0),
                2 => (g - size).max(0.0),
                _ => (g + size * (2.0 * random.next() - 1.0)).clamp(0.0, 1.0),
            };
            let moved: Vec<f64> = population.predictions().iter().map(|g| change(g, &mut random)).collect();
            let changed = population.with_predictions(&moved).unwrap().ece();
            assert!(ece - size - 1e-14 <= changed && changed <= far + size + 1e-14, "{ece} {changed} {far} {size}");
            n_changes += 1;
        }
    }
    assert!(n_changes >= 10_000);
}

#[test]
fn the_constructed_perturbation_reaches_the_jump() {
    let mut random = Random(14);
    let mut n_jumps = 0;
    for _ in 0..10_000 {
        let population = random.population();
        let size = 10f64.powf(-8.0 * random.next());
        let perturbed = population.perturbed(size).unwrap();
        let moved = population.predictions().iter().zip(perturbed.predictions()).map(|(a, b)| (a - b).abs());
        assert!(moved.fold(0.0, f64::max) <= size * (1.0 + 1e-7) + 1e-16);
        assert!((perturbed.ece() - population.distance_to_truth()).abs() <= size + 1e-14);
        assert!(perturbed.is_continuous());
        n_jumps += usize::from(!population.is_continuous());
    }
    assert!(n_jumps > 2000, "{n_jumps}");
}

#[test]
fn a_perturbation_below_the_last_digit_is_refused() {
    let error = two_point(0.0).unwrap().perturbed(1e-30).unwrap_err();
    assert_eq!(error.to_string(), "size must be large enough to change the prediction 0.5, got 1e-30");
}

#[test]
fn random_predictors_are_points_of_continuity() {
    let mut random = Random(15);
    for _ in 0..10_000 {
        let tied = random.population();
        let predictions: Vec<f64> = tied.masses().iter().map(|_| random.next()).collect();
        assert!(tied.with_predictions(&predictions).unwrap().is_continuous());
    }
}

#[test]
fn merging_level_sets_never_raises_ece() {
    // Lemma cnd-L1-ineq: two sets get one prediction, the mean of theirs, which leaves their total
    // residual as it was.
    let mut random = Random(16);
    for _ in 0..10_000 {
        let population = random.population();
        let sets = population.level_sets();
        let (a, b) = (&sets[random.below(sets.len())], &sets[random.below(sets.len())]);
        let mean = (a.mass * a.prediction + b.mass * b.prediction) / (a.mass + b.mass);
        let mut predictions = population.predictions().to_vec();
        a.members.iter().chain(&b.members).for_each(|&x| predictions[x] = mean.clamp(0.0, 1.0));
        let merged = population.with_predictions(&predictions).unwrap();
        assert!(merged.ece() <= population.ece() + 1e-14);
    }
}

#[test]
fn merging_bins_never_raises_ece() {
    // The same lemma for bins of equal width: every edge of k bins is one of m k.
    let mut random = Random(17);
    for case in 0..10_000 {
        let n = 1 + random.below(30);
        let scores: Vec<f64> =
            (0..n).map(|_| if random.below(3) == 0 { random.below(9) as f64 / 8.0 } else { random.next() }).collect();
        let outcomes: Vec<bool> = (0..n).map(|_| random.below(2) == 1).collect();
        let predictions = calipers::Input::probabilities(&scores, &outcomes).check();
        let Ok(predictions) = predictions else { continue }; // a draw of certain scores alone may look swapped
        let ece =
            |n_bins: usize| BinnedEce::new().n_bins(n_bins).estimate(&predictions.binary().unwrap()).unwrap().value;
        let (few, times) = (1 + random.below(20), 2 + random.below(4));
        assert!(ece(few) <= ece(few * times) + 1e-14, "case {case}: {few} bins and {}", few * times);
    }
}

#[test]
fn with_a_tolerance_near_predictions_are_one_level() {
    let population = Finite::new(&[1.0, 1.0], &[0.0, 1.0], &[0.5, 0.5 + 1e-12]).unwrap();
    assert!(population.is_continuous());
    let rounded = population.clone().tolerance(1e-9).unwrap();
    assert_eq!(rounded.level_sets().len(), 1);
    assert!(!rounded.is_continuous() && rounded.ece() < 1e-12);
    assert!((rounded.jump() - population.ece()).abs() < 1e-11);
    // They are different predictions to begin with: nothing need be moved.
    assert_eq!(rounded.perturbed(1e-3).unwrap(), population);
}

#[test]
fn what_is_no_distribution_is_refused() {
    let text = |result: Result<Finite, Error>| result.unwrap_err().to_string();
    assert_eq!(text(Finite::new(&[], &[], &[])), "no rows: at least one prediction is needed");
    assert_eq!(
        text(Finite::new(&[1.0, 1.0], &[0.5, f64::NAN], &[0.5, 0.5])),
        "truth must be in [0, 1], got NaN at point 1"
    );
    assert_eq!(text(Finite::new(&[1.0], &[0.5], &[1.5])), "probability in row 0 must be in [0, 1], got 1.5");
    assert_eq!(text(Finite::new(&[-1.0], &[0.5], &[0.5])), "weight in row 0 must be finite and not negative, got -1");
    assert_eq!(text(Finite::new(&[0.0], &[0.5], &[0.5])), "weights must not all be zero, got 1 rows of weight 0");
    assert_eq!(
        text(Finite::new(&[1.0], &[0.5, 0.5], &[0.5])),
        "truth must have one value for each row, got 2 values for 1 rows"
    );
    assert!(Family::named("none").unwrap_err().to_string().starts_with("family must be one of calibrated, "));
}

#[test]
fn the_two_points_jump_from_0_to_a_half() {
    let tied = two_point(0.0).unwrap();
    assert_eq!((tied.ece(), tied.jump(), tied.is_continuous()), (0.0, 0.5, false));
    for alpha in [1e-12, 1e-6, 1e-3, 0.1] {
        let split = two_point(alpha).unwrap();
        let epsilon = 1.0 / (1.0 + (-alpha / 2.0_f64).exp()) - 0.5;
        assert!((split.ece() - (0.5 - epsilon)).abs() < 1e-15);
        assert!(split.is_continuous());
    }
    // The parity of the bins decides what is seen of it.
    let sample = two_point(1e-3).unwrap().sample(1000, 1);
    for n_bins in 1..=100 {
        let ece = BinnedEce::new().n_bins(n_bins).estimate(&sample.input().check().unwrap().binary().unwrap());
        let ece = ece.unwrap().value;
        assert!(if n_bins % 2 == 0 { ece > 0.49 } else { ece < 0.05 }, "{n_bins} bins: {ece}");
    }
}

#[test]
fn the_counterexample_has_its_exact_ece() {
    for n_cells in [1, 2, 3, 7, 10, 49, 1000, 4096, 99_991] {
        let delta = 1.0 / n_cells as f64;
        let exact = 1.0 / 3.0 + delta / 2.0 - delta * delta / 12.0;
        let ece = Counterexample::perturbed(n_cells).unwrap().ece();
        assert!((ece - exact).abs() < 1e-12, "{n_cells}: {ece} against {exact}");
    }
    assert_eq!(Counterexample::calibrated().ece(), 0.0);
}

#[test]
fn samples_of_the_counterexample_have_its_level_sets() {
    let n_cells = 20;
    let sample = Counterexample::perturbed(n_cells).unwrap().sample(200_000, 3);
    let (mut n, mut ones) = (std::collections::BTreeMap::new(), 0.0);
    for (&p, &y) in sample.scores.iter().zip(&sample.outcomes) {
        let entry = n.entry(p.to_bits()).or_insert((0u32, 0u32));
        entry.0 += 1;
        entry.1 += u32::from(y);
        ones += f64::from(u8::from(y));
    }
    assert_eq!(n.len(), 2 * n_cells as usize);
    assert!(n.values().all(|&(total, ones)| ones == 0 || ones == total));
    assert!((ones / 2e5 - 0.5).abs() < 5.0 * 0.5 / 2e5_f64.sqrt());
    let plain = Counterexample::calibrated().sample(1000, 3);
    let furthest = plain.scores.iter().zip(&sample.scores).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(furthest <= 1.0 / n_cells as f64);
}

/// The family as finitely many points: the middle of each of `n` cells with the cell's own mass.
fn discretised(family: &Family, n: usize, from: f64, to: f64) -> Finite {
    let width = (to - from) / n as f64;
    let (mut masses, mut truth, mut predictions) = (Vec::new(), Vec::new(), Vec::new());
    for k in 0..n {
        let (a, b) = (from + k as f64 * width, from + (k + 1) as f64 * width);
        let middle = 0.5 * (a + b);
        masses.push(family.logits().distribution(b) - family.logits().distribution(a));
        truth.push(family.truth().probability(middle));
        predictions.push(oracle::logistic(middle));
    }
    Finite::new(&masses, &truth, &predictions).unwrap()
}

#[test]
fn true_ece_is_that_of_a_fine_discretisation() {
    for family in Family::all() {
        let exact = family.ece();
        assert!(exact.error < 1e-10, "{}: {exact:?}", family.name());
        let coarse = discretised(&family, 400_000, -45.0, 45.0).ece();
        // The heavy tails have mass beyond, on which the truth is as predicted.
        let scale = if family.logits() == &Logits::HeavyTails { 1.0 - 1.0 / 46f64.sqrt() } else { 1.0 };
        // An atom moves by up to half a cell, 6e-5 logits.
        assert!((coarse * scale - exact.value).abs() < 1e-5, "{}: {coarse} {exact:?}", family.name());
    }
}

#[test]
fn true_ls_ece_is_that_of_a_fine_discretisation() {
    for family in Family::all() {
        if family.logits() == &Logits::HeavyTails {
            continue; // its far tails would need points of their own
        }
        for name in noise::NAMES {
            for sigma in [0.1, 1.0] {
                let exact = family.ls_ece(&*noise::by_name(name).unwrap(), sigma).unwrap();
                assert!(exact.error < 1e-9, "{} {name} {sigma}: {exact:?}", family.name());
                let measure = LsEce::new().sigma(sigma).noise(noise::by_name(name).unwrap()).clip(1e-15);
                let points = discretised(&family, 40_000, -24.0, 24.0).ls_ece(&measure.tolerance(2e-6)).unwrap();
                // Cells of 0.0012 logits; an atom moves by up to half of that, at a cost of up to 2
                // / sigma.
                let slack = if family.logits().atoms().is_empty() { 3e-5 } else { 2.0 * 0.3 * 6e-4 / sigma };
                let difference = (points.value - exact.value).abs();
                assert!(difference < slack, "{} {name} {sigma}: {difference}", family.name());
            }
        }
    }
}

#[test]
fn true_ls_ece_goes_to_the_true_ece_for_every_family() {
    for family in Family::all().into_iter().chain(Family::kept_aside()) {
        let gaussian = noise::by_name("gaussian").unwrap();
        let error = |sigma: f64| (family.ls_ece(&*gaussian, sigma).unwrap().value - family.ece().value).abs();
        let (coarse, fine) = (error(0.3), error(0.01));
        assert!(fine < 0.005 && fine < coarse.max(1e-4), "{}: {coarse} {fine}", family.name());
    }
}

#[test]
fn samples_follow_the_law_of_the_logits_and_the_truth() {
    for family in Family::all().into_iter().chain(Family::kept_aside()) {
        let n = 40_000;
        let sample = family.sample(n, 9);
        let mut logits = sample.scores.clone();
        logits.sort_by(f64::total_cmp);
        // Kolmogorov: 2 / sqrt(n) is exceeded with probability below 1e-3, for atoms less often.
        for x in [-20.0, -3.0, -1.5, -1.0, -0.3, 0.0, 0.4, 0.9, 1.4, 1.5, 2.0, 3.5, 8.0] {
            let share = logits.partition_point(|&h| h <= x) as f64 / n as f64;
            assert!((share - family.logits().distribution(x)).abs() < 2.0 / (n as f64).sqrt(), "{}", family.name());
        }
        let residual: f64 = sample
            .scores
            .iter()
            .zip(&sample.outcomes)
            .map(|(&h, &y)| f64::from(u8::from(y)) - family.truth().probability(h))
            .sum();
        assert!((residual / n as f64).abs() < 2.5 / (n as f64).sqrt(), "{}", family.name());
        assert_eq!(sample, family.sample(n, 9));
    }
}

#[test]
fn smoothed_masses_are_densities() {
    let family = Family::named("network").unwrap();
    let gaussian = noise::by_name("gaussian").unwrap();
    let at: Vec<f64> = (0..4000).map(|k| -16.0 + k as f64 * 0.01).collect();
    let masses = family.smoothed(&*gaussian, 0.5, &at).unwrap();
    let total: f64 = masses.iter().map(|mass| mass.total * 0.01).sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
    assert!(masses.iter().all(|mass| 0.0 <= mass.positive && mass.positive <= mass.total * (1.0 + 1e-12)));
    // A logit-normal law with Gaussian noise is a wider normal law.
    let direct = |u: f64| (-(u - 4.0).powi(2) / 13.0).exp() / (6.5 * 2.0 * std::f64::consts::PI).sqrt();
    assert!(at.iter().zip(&masses).all(|(&u, mass)| (mass.total - direct(u)).abs() < 1e-13));
}

#[test]
fn what_cannot_be_integrated_is_refused_at_once() {
    let gaussian = noise::by_name("gaussian").unwrap();
    let family = Family::named("network").unwrap();
    let at = |point: f64| family.smoothed(&*gaussian, 0.1, &[point]);
    assert_eq!(at(f64::INFINITY).unwrap_err().to_string(), "at must be finite, got inf");
    assert_eq!(at(1e300).unwrap()[0].total, 0.0);
    let narrow = family.ls_ece(&*gaussian, 2e-6).unwrap_err().to_string();
    assert!(narrow.starts_with("sigma must be at least 1."), "{narrow}");
}

#[test]
fn a_family_of_your_own_is_checked() {
    let family = |logits, truth| Family::new("own", logits, truth);
    let normal = Logits::Normal { mean: 0.0, deviation: 1.0 };
    assert!(family(normal.clone(), Truth::CALIBRATED).is_ok());
    let flat = family(normal, Truth::Affine { intercept: 0.0, slope: 0.0 });
    assert_eq!(flat.unwrap_err().to_string(), "slope must be positive and finite, got 0");
    let steps = family(Logits::Steps { edges: vec![0.0, 1.0], masses: vec![0.5] }, Truth::CALIBRATED);
    assert_eq!(
        steps.unwrap_err().to_string(),
        "masses must be one for each piece, not negative, with sum 1, got [0.5]"
    );
}
