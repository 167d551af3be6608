//! P-values below 1 / (1 + draws): how often calibrated samples have one.

use calipers::inference::{NoiseFloor, Resampler, RowResampler};
use calipers::{Error, Input, LsEce, Measure};

use super::{response, seed};
use crate::replicates::{replicates, uniform};
use crate::table::full;
use crate::{Agreement, Page, Setting, Table};

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
    fn rows(&self, seed: u64) -> (Vec<f64>, Vec<bool>, Vec<f64>) {
        let mut place = 0;
        let mut next = || {
            place += 1;
            uniform(seed, place)
        };
        let (mut p, mut y, mut w) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.n {
            p.push(response(self.low + (self.high - self.low) * next()));
            y.push(next() < p[p.len() - 1]);
            w.push((self.spread * next()).exp());
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
        self.pool[(uniform(draw, 0) * self.pool.len() as f64) as usize]
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

/// Levels below what 1,000 draws show.
const LEVELS: [f64; 3] = [1e-3, 1e-4, 1e-5];

const N_RESAMPLES: [u64; 2] = [200, 1000];

/// The section.
pub(super) fn section(page: &mut Page, setting: &Setting) -> Result<(), Error> {
    let n_true = setting.pick(100_000, 400);
    let n_pool = setting.pick(50_000, 400);
    let n_sets = setting.pick(20, 1);
    page.heading("P-values beyond all draws");
    page.text(&format!(
        "Where no draw reaches the value of a group, its p-value is a bound on the tail beyond the draws \
         ([theory](../theory.md#the-noise-floor)). The table has how often calibrated samples have a p-value of at most \
         1e-3, 1e-4 and 1e-5, by 200 and by 1,000 draws, without any further ones. A share above its level is a bound \
         that does not hold. The value from which on the p-value is that small is found for each of {n_sets} sets of \
         draws, and up to {n_true} calibrated samples are compared with it: drawn as calipers draws them, by the grid of \
         LS-ECE, and row by row.",
    ));
    let names = LEVELS.map(|level| format!("p <= {level:e}"));
    let mut table =
        Table::new(["predictions", "samples drawn by", "draws"].map(str::to_owned).into_iter().chain(names));
    let mut csv = Table::new(["predictions", "drawn_by", "draws", "samples", "level", "share"]);
    let mut largest = [0.0_f64; 3];
    for (number, family) in FAMILIES.iter().enumerate() {
        let (p, y, w) = family.rows(seed(setting, 500, number as u64));
        let input = Input::probabilities(&p, &y);
        let predictions = if family.spread > 0.0 { input.weights(&w).check()? } else { input.check()? };
        let view = predictions.binary()?;
        let estimate = LsEce::new().residual().estimate(&view)?;
        let measure = LsEce::new().sigma(estimate.settings.number("sigma").unwrap_or(1.0)).residual();
        let grid = measure.resampler(&view, None)?;
        let by_rows = RowResampler::new(&measure, &view, None)?;
        let pool = replicates(n_pool, |draw| Ok(grid.calibrated_draw(draw)))?;
        // Row by row is slow: fewer of them.
        let n_by_rows = (10_000_000 / family.n as u64).min(n_true) / 4;
        let first = 1 << 40;
        let mut truths = [
            ("grid", replicates(n_true, |draw| Ok(grid.calibrated_draw(first + draw)))?),
            ("row", replicates(n_by_rows, |draw| Ok(by_rows.calibrated_draw(first + draw)))?),
        ];
        truths.iter_mut().for_each(|(_, values)| values.sort_unstable_by(f64::total_cmp));
        let (squares, largest_difference) = (grid.squared_differences(), grid.largest_difference());
        for n_resamples in N_RESAMPLES {
            // The least value whose p-value is at most each level, by each set of draws.
            let thresholds = replicates(n_sets, |set| {
                let mut found = [0.0; 3];
                for (found, level) in found.iter_mut().zip(LEVELS) {
                    let (mut inside, mut outside) = (0.0, 2.0);
                    for _ in 0..30 {
                        let value = 0.5 * (inside + outside);
                        let known = Known { pool: &pool, value, squares, largest: largest_difference };
                        let floor = NoiseFloor::new(&known, n_resamples, set)?;
                        if floor.p_value <= level { outside = value } else { inside = value }
                    }
                    *found = outside;
                }
                Ok(found)
            })?;
            for (drawn_by, truth) in &truths {
                let beyond = |value: f64| truth.len() - truth.partition_point(|draw| *draw < value);
                let shares = [0, 1, 2].map(|level| {
                    let n_beyond: usize = thresholds.iter().map(|values| beyond(values[level])).sum();
                    n_beyond as f64 / (truth.len() * thresholds.len()) as f64
                });
                let cells = [family.name.to_owned(), (*drawn_by).to_owned(), n_resamples.to_string()];
                let digits = |share: f64| if share == 0.0 { "0".to_owned() } else { format!("{share:.1e}") };
                table.row(cells.iter().cloned().chain(shares.map(digits)));
                for ((level, share), largest) in LEVELS.into_iter().zip(shares).zip(&mut largest) {
                    *largest = largest.max(share);
                    let more = [truth.len().to_string(), full(level), full(share)];
                    csv.row(cells.iter().cloned().chain(more));
                }
            }
        }
    }
    page.table(&table);
    page.csv("tail", &csv);
    let [a, b, c] = largest;
    page.finding(
        Agreement::Noted,
        &format!(
            "Of calibrated samples, at most a share of {a:.1e} has a p-value of at most 1e-3, {b:.1e} one of at most \
             1e-4, and {c:.1e} one of at most 1e-5.",
        ),
    );
    Ok(())
}
