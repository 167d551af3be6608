//! How often calibrated segments look miscalibrated, and whether those that are get found.
//!
//! ```text
//! cargo run --profile fast -p calipers --example segments -- size            p-values beyond all draws
//! cargo run --profile fast -p calipers --example segments -- groups 200      300 groups, three of them off
//! cargo run --profile fast -p calipers --example segments -- time            adjusted against unadjusted
//! ```

use std::time::Instant;

use calipers::inference::{Adjust, NoiseFloor, Resampler, RowResampler, Segments};
use calipers::{Assess, Error, Input, LsEce, Measure};

/// Uniform numbers (splitmix64), apart from those of the library.
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

/// Predictions of one family: logits between `low` and `high`, and weights that differ by `spread`.
struct Family {
    name: &'static str,
    n: usize,
    low: f64,
    high: f64,
    spread: f64,
}

const FAMILIES: [Family; 6] = [
    Family { name: "30 rows", n: 30, low: -2.0, high: 2.0, spread: 0.0 },
    Family { name: "200 rows", n: 200, low: -3.0, high: 3.0, spread: 0.0 },
    Family { name: "2,000 rows", n: 2_000, low: -3.0, high: 3.0, spread: 0.0 },
    Family { name: "300 rows, rare outcomes", n: 300, low: -7.0, high: -3.0, spread: 0.0 },
    Family { name: "2,000 rows, rare outcomes", n: 2_000, low: -6.0, high: -2.0, spread: 0.0 },
    Family { name: "300 rows, heavy weights", n: 300, low: -4.0, high: 2.0, spread: 5.0 },
];

impl Family {
    fn rows(&self, seed: u64) -> (Vec<f64>, Vec<i64>, Vec<f64>) {
        let mut random = Random(seed);
        let (mut p, mut y, mut w) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.n {
            p.push(logistic(self.low + (self.high - self.low) * random.uniform()));
            y.push(i64::from(random.uniform() < p[p.len() - 1]));
            w.push((self.spread * random.uniform()).exp());
        }
        (p, y, w)
    }
}

/// Draws that are made once, and a value of our choice.
struct Known<'a> {
    pool: &'a [f64],
    value: f64,
    squares: Option<f64>,
    largest: Option<f64>,
}

impl Resampler for Known<'_> {
    fn value(&self) -> f64 {
        self.value
    }

    fn calibrated_draw(&self, draw: u64) -> f64 {
        self.pool[(Random(draw).uniform() * self.pool.len() as f64) as usize]
    }

    fn bootstrap_draw(&self, _: u64) -> f64 {
        self.value
    }

    fn squared_differences(&self) -> Option<f64> {
        self.squares
    }

    fn largest_difference(&self) -> Option<f64> {
        self.largest
    }

    fn effective_rows(&self) -> f64 {
        1.0
    }
}

const N_TRUE: u64 = 400_000;
const N_POOL: u64 = 50_000;
const N_SETS: u64 = 100;

/// The share of calibrated samples whose p-value is at most 1e-3, 1e-4 and 1e-5, by 200 and 1,000
/// draws: of draws by the grid, and of rows drawn one by one.
fn size() -> Result<(), Error> {
    println!("family                      rows by   draws  p <= 1e-3    1e-4     1e-5");
    for family in &FAMILIES {
        let (p, y, w) = family.rows(1);
        let input = Input::probabilities(&p[..], &y[..]);
        let predictions = if family.spread > 0.0 { input.weights(&w[..]).check()? } else { input.check()? };
        let view = predictions.binary()?;
        let estimate = LsEce::new().residual().estimate(&view)?;
        let measure = LsEce::new().sigma(estimate.settings.number("sigma").unwrap_or(1.0)).residual();
        let grid = measure.resampler(&view, None)?;
        let by_rows = RowResampler::new(&measure, &view, None)?;
        let draws = |of: &dyn Fn(u64) -> f64, range: std::ops::Range<u64>| range.map(of).collect::<Vec<f64>>();
        let pool = draws(&|draw| grid.calibrated_draw(draw), 0..N_POOL);
        // One by one is slow: fewer, and for small samples.
        let n_by_rows = (20_000_000 / family.n as u64).min(N_TRUE) / 4;
        let truths = [
            ("grid", draws(&|draw| grid.calibrated_draw(draw), 1 << 40..(1 << 40) + N_TRUE)),
            ("row", draws(&|draw| by_rows.calibrated_draw(draw), 1 << 40..(1 << 40) + n_by_rows)),
        ];
        for (name, mut truth) in truths {
            truth.sort_unstable_by(f64::total_cmp);
            for n_resamples in [200, 1000] {
                let mut shares = [0.0; 3];
                for set in 0..N_SETS {
                    for (share, alpha) in shares.iter_mut().zip([1e-3, 1e-4, 1e-5]) {
                        let (mut inside, mut outside) = (0.0, 2.0);
                        for _ in 0..40 {
                            let value = 0.5 * (inside + outside);
                            let (squares, largest) = (grid.squared_differences(), grid.largest_difference());
                            let known = Known { pool: &pool, value, squares, largest };
                            let floor = NoiseFloor::new(&known, n_resamples, set)?;
                            if floor.p_value <= alpha { outside = value } else { inside = value }
                        }
                        let n_beyond = truth.len() - truth.partition_point(|value| *value < outside);
                        *share += n_beyond as f64 / truth.len() as f64 / N_SETS as f64;
                    }
                }
                let [a, b, c] = shares;
                println!("{:27} {name:8} {n_resamples:6}   {a:8.1e} {b:8.1e} {c:8.1e}", family.name);
            }
        }
    }
    Ok(())
}

/// Predictions and outcomes of 300 groups of 100 to 900 rows; the logits of some are off by
/// `shift`.
fn groups(n_off: usize, shift: f64, seed: u64) -> (Vec<f64>, Vec<i64>, Vec<u32>) {
    let mut random = Random(seed);
    let (mut p, mut y, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for group in 0..300_u32 {
        let (n, centre) = (100 + (800.0 * random.uniform()) as usize, 3.0 * random.uniform() - 2.0);
        let off = if group as usize % 100 == 50 && (group as usize) < 100 * n_off { shift } else { 0.0 };
        for _ in 0..n {
            let h = centre + 3.0 * (random.uniform() - 0.5);
            p.push(logistic(h));
            y.push(i64::from(random.uniform() < logistic(h - off)));
            numbers.push(group);
        }
    }
    (p, y, numbers)
}

/// Runs with three groups off and with none: how many of the three are found, and in how many runs
/// any other group is.
fn many_groups(n_runs: u64) -> Result<(), Error> {
    for (shift, n_off) in [(0.0, 0), (1.0, 3)] {
        let (mut found, mut false_runs, mut worst_wrong, mut worst_small) = (0, [0; 3], 0, 0);
        for run in 0..n_runs {
            let (p, y, numbers) = groups(n_off, shift, 1000 + run);
            let predictions = Input::probabilities(&p[..], &y[..]).check()?;
            let view = predictions.binary()?;
            let measure = LsEce::new().sigma(0.4).residual();
            let assess = Assess::new(&measure).n_resamples(200).random_state(run);
            let assessed = Segments::numbered(&view, &numbers, 300)?.assess(&assess, Adjust::Holm)?;
            let is_off = |place: usize| place % 100 == 50 && place < 100 * n_off;
            found += assessed.off().into_iter().filter(|place| is_off(*place)).count();
            for (count, adjust) in false_runs.iter_mut().zip(Adjust::ALL) {
                let p_values: Vec<Option<f64>> =
                    assessed.segments.iter().map(|segment| segment.found.as_ref().ok()?.p_value()).collect();
                let adjusted = adjust.adjusted_known(&p_values);
                let any = adjusted.iter().enumerate().any(|(k, p)| !is_off(k) && p.is_some_and(|p| p <= 0.05));
                *count += usize::from(any);
            }
            if let Some(worst) = assessed.worst {
                worst_wrong += usize::from(n_off > 0 && !is_off(worst.place));
                worst_small += usize::from(worst.p_value <= 0.05);
            }
        }
        let [holm, bh, by] = false_runs;
        println!("{n_runs} runs of 300 groups, {n_off} of them off by {shift} logits:");
        println!("  found {found} of {}", n_off as u64 * n_runs);
        println!("  runs with any false finding: Holm {holm}, BH {bh}, BY {by}");
        println!("  joint p of the worst group <= 0.05: {worst_small}; worst group is a calibrated one: {worst_wrong}");
    }
    Ok(())
}

/// Seconds for 300 groups, three of them off: each as a single test, as one of 300, and as one of
/// 300 with the worst of them.
fn time() -> Result<(), Error> {
    let (p, y, numbers) = groups(3, 1.0, 7);
    let predictions = Input::probabilities(&p[..], &y[..]).check()?;
    let view = predictions.binary()?;
    let rows: Vec<Vec<usize>> = (0..300).map(|k| (0..p.len()).filter(|row| numbers[*row] == k).collect()).collect();
    let measure = LsEce::new();
    for n_tests in [1, 300, 1, 300] {
        let (start, mut n_draws) = (Instant::now(), 0);
        for rows in &rows {
            let (p, y): (Vec<f64>, Vec<i64>) = rows.iter().map(|row| (p[*row], y[*row])).unzip();
            let predictions = Input::probabilities(&p[..], &y[..]).check()?;
            let found = Assess::new(&measure).n_tests(n_tests).run(&predictions.binary()?)?;
            n_draws += found.floor.map_or(0, |floor| floor.n_draws);
        }
        println!("one of {n_tests:3}: {:.2} s, {n_draws} draws for p-values", start.elapsed().as_secs_f64());
    }
    let start = Instant::now();
    let found = Segments::numbered(&view, &numbers, 300)?.assess(&Assess::new(&measure), Adjust::Holm)?;
    println!("with the worst: {:.2} s; off {:?}, worst {:?}", start.elapsed().as_secs_f64(), found.off(), found.worst);
    Ok(())
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("size") => size(),
        Some("groups") => many_groups(arguments.get(1).and_then(|n| n.parse().ok()).unwrap_or(200)),
        _ => time(),
    }
}
