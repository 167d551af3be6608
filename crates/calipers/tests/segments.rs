//! Many segments: adjustment by its definition, few false findings, the worst with a joint p-value.

use calipers::inference::{Adjust, Segments};
use calipers::{Assess, BinnedEce, Input, Logistic, LsEce, Sample, Sketch};

/// Uniform numbers by SplitMix64, apart from those of the library.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn logistic(h: f64) -> f64 {
    1.0 / (1.0 + (-h).exp())
}

/// Rows of segments of 60 to 180 rows; the logits of some are off by 1.5.
fn rows(n_segments: u32, is_off: impl Fn(u32) -> bool, seed: u64) -> (Vec<f64>, Vec<bool>, Vec<u32>) {
    let mut random = Random(seed << 32);
    let (mut p, mut y, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for segment in 0..n_segments {
        let n = 60 + (120.0 * random.uniform()) as usize;
        for _ in 0..n {
            let h = 4.0 * random.uniform() - 2.0;
            p.push(logistic(h));
            y.push(random.uniform() < logistic(if is_off(segment) { h - 1.5 } else { h }));
            numbers.push(segment);
        }
    }
    (p, y, numbers)
}

#[test]
fn adjusted_p_values_are_those_of_the_definitions() {
    // The smallest level at which the procedure rejects each, by trying all levels.
    let p_values = [0.012, 0.001, 0.4, 0.03, 0.013, 0.9, 0.002, 0.2];
    let m = p_values.len() as f64;
    let rank = |p: f64| p_values.iter().filter(|other| **other <= p).count() as f64;
    let harmonic: f64 = (1..=p_values.len()).map(|k| 1.0 / k as f64).sum();
    for adjust in Adjust::ALL {
        let rejects = |p: f64, level: f64| match adjust {
            // Step down: all smaller ones are rejected, too.
            Adjust::Holm => p_values.iter().filter(|q| **q <= p).all(|q| *q <= level / (m + 1.0 - rank(*q))),
            // Step up: any larger one that is rejected rejects this one.
            Adjust::Bh => p_values.iter().any(|q| *q >= p && *q <= level * rank(*q) / m),
            Adjust::By => p_values.iter().any(|q| *q >= p && *q <= level * rank(*q) / (m * harmonic)),
        };
        for (p, adjusted) in p_values.iter().zip(adjust.adjusted(&p_values)) {
            assert!(adjusted == 1.0 || rejects(*p, adjusted * (1.0 + 1e-9)), "{adjust:?} {p} {adjusted}");
            assert!(adjusted == 1.0 || !rejects(*p, adjusted * (1.0 - 1e-9)), "{adjust:?} {p} {adjusted}");
        }
    }
    assert_eq!(Adjust::Bh.adjusted_known(&[None, Some(0.01), Some(0.02)]), [None, Some(0.02), Some(0.02)]);
    assert_eq!("bh".parse(), Ok(Adjust::Bh));
    assert_eq!(
        "bonferroni".parse::<Adjust>().unwrap_err().to_string(),
        r#"adjust must be "holm", "bh" or "by", got "bonferroni""#
    );
}

#[test]
fn three_of_three_hundred_segments_are_found() {
    let is_off = |segment: u32| [40, 140, 240].contains(&segment);
    let (p, y, numbers) = rows(300, is_off, 11);
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let measure = LsEce::new().residual();
    let segments = Segments::numbered(&view, &numbers, 300).unwrap();
    for adjust in Adjust::ALL {
        let found = segments.assess(&Assess::new(&measure).n_resamples(100), adjust).unwrap();
        let mut off = found.off();
        off.sort_unstable();
        // Of the findings by BH and BY, some may be false: 5 % on average.
        match adjust {
            Adjust::Holm => assert_eq!(off, [40, 140, 240]),
            _ => assert!([40, 140, 240].iter().all(|place| off.contains(place)), "{adjust:?}: {off:?}"),
        }
        let worst = found.worst.unwrap();
        assert!(is_off(worst.place as u32) && worst.p_value == 1.0 / 101.0, "{worst:?}");
        let ranks: Vec<usize> = [40, 140, 240].map(|place| found.segments[place].rank).to_vec();
        assert!(ranks.iter().all(|rank| *rank <= 3), "{ranks:?}");
    }
}

#[test]
fn calibrated_segments_are_rarely_found() {
    let n_runs = 50;
    let found: Vec<(bool, bool)> = (0..n_runs)
        .map(|run| {
            let (p, y, numbers) = rows(40, |_| false, 4000 + run);
            let predictions = Input::probabilities(&p, &y).check().unwrap();
            let view = predictions.binary().unwrap();
            let measure = LsEce::new().sigma(0.5).residual();
            let segments = Segments::numbered(&view, &numbers, 40).unwrap();
            let found =
                segments.assess(&Assess::new(&measure).n_resamples(60).random_state(run), Adjust::Holm).unwrap();
            (!found.off().is_empty(), found.worst.unwrap().p_value <= 0.05)
        })
        .collect();
    let (any, worst) = (found.iter().filter(|run| run.0).count(), found.iter().filter(|run| run.1).count());
    println!("any finding in {any} of {n_runs} runs, the worst significant in {worst}");
    // 2.5 of 50 are expected; 9 or more happen in 1 of 1,000 such tests.
    assert!(any <= 8 && worst <= 8, "{any} {worst}");
}

#[test]
fn overlapping_segments_have_one_draw_of_all_outcomes() {
    let (p, y, numbers) = rows(20, |segment| segment == 7, 5);
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let halves: Vec<u32> = numbers.iter().map(|number| number % 2).collect();
    let both = || {
        let first = Segments::numbered(&view, &numbers, 20).unwrap();
        first.and(Segments::numbered(&view, &halves, 2).unwrap())
    };
    let measures = (LsEce::new().residual().tolerance(1e-3), BinnedEce::new());
    let smoothed = both().assess(&Assess::new(&measures.0).n_resamples(60), Adjust::Holm).unwrap();
    let binned = both().assess(&Assess::new(&measures.1).n_resamples(60), Adjust::Holm).unwrap();
    for found in [&smoothed, &binned] {
        let worst = found.worst.unwrap();
        assert_eq!((worst.place, worst.p_value, worst.n_segments), (7, 1.0 / 61.0, 22));
    }
    // Calibrated: p-values of the worst are not small more often than they say.
    let small = (0..100).filter(|run| {
        let (p, y, numbers) = rows(6, |_| false, 900 + run);
        let predictions = Input::probabilities(&p, &y).check().unwrap();
        let view = predictions.binary().unwrap();
        let all = Segments::numbered(&view, &vec![0; p.len()], 1).unwrap();
        let segments = Segments::numbered(&view, &numbers, 6).unwrap().and(all);
        let measure = BinnedEce::new();
        let found = segments.assess(&Assess::new(&measure).n_resamples(40).random_state(*run), Adjust::By).unwrap();
        found.worst.unwrap().p_value <= 0.1
    });
    let n_small = small.count();
    assert!((2..=22).contains(&n_small), "{n_small} of 100");
}

#[test]
fn a_segment_is_assessed_as_its_rows_alone() {
    let (p, y, numbers) = rows(5, |segment| segment == 1, 3);
    let predictions = Input::probabilities(&p, &y).check().unwrap();
    let view = predictions.binary().unwrap();
    let measure = LsEce::new();
    let assess = Assess::new(&measure).n_resamples(50);
    let found = Segments::numbered(&view, &numbers, 5).unwrap().assess(&assess, Adjust::Holm).unwrap();
    for (number, segment) in found.segments.iter().enumerate() {
        let rows = || (0..p.len()).filter(|row| numbers[*row] as usize == number);
        let (p, y): (Vec<f64>, Vec<bool>) = rows().map(|row| (p[row], y[row])).unzip();
        let alone = Input::probabilities(&p, &y).check().unwrap();
        let assessed = segment.found.as_ref().unwrap();
        let expected = assess.n_tests(5).run(&alone.binary().unwrap()).unwrap();
        // Each has a sigma that is chosen for it.
        assert_eq!((&assessed.estimate, &assessed.floor), (&expected.estimate, &expected.floor));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let description = segment.description;
        assert!((description.mean_probability - mean(&p)).abs() < 1e-12);
        assert_eq!(description.n, p.len() as u64);
    }
    assert!(found.sentence(&["a", "b", "c", "d", "e"], "letter").starts_with("The worst of 5 groups by letter is b: "));
}

#[test]
fn auc_is_the_share_of_ordered_pairs() {
    let (mut p, y, numbers) = rows(2, |_| false, 8);
    // With ties.
    p.iter_mut().for_each(|p| *p = (*p * 20.0).round() / 20.0);
    let weights: Vec<f64> = numbers.iter().enumerate().map(|(row, _)| 0.5 + (row % 3) as f64).collect();
    let (mut ordered, mut pairs) = (0.0, 0.0);
    for (i, j) in (0..p.len()).flat_map(|i| (0..p.len()).map(move |j| (i, j))).filter(|(i, j)| y[*i] && !y[*j]) {
        let weight = weights[i] * weights[j];
        pairs += weight;
        ordered += weight
            * if p[i] > p[j] {
                1.0
            } else if p[i] == p[j] {
                0.5
            } else {
                0.0
            };
    }
    let predictions = Input::probabilities(&p, &y).weights(&weights).check().unwrap();
    let view = predictions.binary().unwrap();
    let auc = Sample::from(&view).describe(&Logistic).unwrap().auc.unwrap();
    assert!((auc - ordered / pairs).abs() < 1e-12, "{auc}");
    let mut sketch = Sketch::new();
    sketch.update(&view).unwrap();
    let of_sketch = Sample::from(&sketch).describe(&Logistic).unwrap().auc.unwrap();
    assert!((auc - of_sketch).abs() < 1e-3, "{auc} {of_sketch}");
    let ones = vec![true; p.len()];
    let one_outcome = Input::probabilities(&p, &ones).check().unwrap();
    assert_eq!(Sample::from(&one_outcome.binary().unwrap()).describe(&Logistic).unwrap().auc, None);
}
