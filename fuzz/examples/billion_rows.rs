//! 10^9 rows through sketch, merge and measure, with the exact answer known; `make soak` runs it.
//!
//! `cargo run --profile fast -p calipers-fuzz --example billion_rows -- [BLOCKS]`
//!
//! A block has 10^6 rows: each of 1,000 probabilities (2j + 1) / 2000 a thousand times, of which
//! r_j rows have outcome 1. All blocks have the same rows, each in another order, so that:
//! 1. The sketch of all blocks has the bytes of the sketch of one block, merged with itself.
//! 2. ECE with bins that are unions of probabilities is Σ_b |Σ_j (r_j - 1000 p_j)| / 10^6, where
//!    all but the last division is on integers.
//! 3. LS-ECE is that of one block, within the bounds of both.

use std::error::Error;
use std::time::Instant;

use calipers::{BinnedEce, Input, LsEce, Measure, Sketch, SketchOptions};

const N_VALUES: usize = 1000;
const N_BLOCK: usize = N_VALUES * N_VALUES;
const N_BINS: usize = 20;
const N_PARTS: usize = 8;

/// Of the thousand rows of probability (2j + 1) / 2000, so many have outcome 1: a wave around p.
fn positive(j: usize) -> usize {
    let wave = 60.0 * (9.0 * j as f64 / N_VALUES as f64).sin();
    (j as f64 + wave).round().clamp(0.0, N_VALUES as f64) as usize
}

fn main() -> Result<(), Box<dyn Error>> {
    let n_blocks: usize = std::env::args().nth(1).map_or(Ok(1000), |text| text.parse())?;
    let start = Instant::now();
    let (mut p, mut y) = (Vec::with_capacity(N_BLOCK), Vec::with_capacity(N_BLOCK));
    for place in 0..N_BLOCK {
        // 7919 and 10^6 have no common factor: every pair of a value and a rank comes once.
        let shuffled = place * 7919 % N_BLOCK;
        let (j, rank) = (shuffled % N_VALUES, shuffled / N_VALUES);
        p.push((2 * j + 1) as f64 / (2 * N_VALUES) as f64);
        y.push(rank < positive(j));
    }
    let empty = Sketch::with(&SketchOptions::new().n_bins(&[N_BINS]))?;
    let one = sketch_of(&empty, &p, &y)?;
    let mut parts = vec![empty.empty_like(); N_PARTS];
    for block in 0..n_blocks {
        // Another order: the block from another row on.
        let from = block * 104_729 % N_BLOCK;
        let part = &mut parts[block % N_PARTS];
        for range in [from..N_BLOCK, 0..from].into_iter().filter(|range| !range.is_empty()) {
            part.update(&Input::probabilities(&p[range.clone()], &y[range]).check()?.binary()?)?;
        }
    }
    let mut all = Sketch::from_bytes(&parts[0].to_bytes())?;
    for part in &parts[1..] {
        all.merge(&Sketch::from_bytes(&part.to_bytes())?)?;
    }
    let n = (n_blocks * N_BLOCK) as u64;
    assert_eq!(all.n(), n);
    assert_eq!(all.to_bytes(), times(&one, n_blocks)?.to_bytes(), "the bytes are not those of merged blocks");
    assert!(all.memory() <= 16 << 20, "the sketch takes {} bytes", all.memory());

    let ece = all.estimate(&BinnedEce::new().n_bins(N_BINS))?;
    let exact = exact_ece();
    assert!((ece.value - exact).abs() <= ece.numerical_bound, "ECE is {} and not {exact}", ece.value);
    let block = Input::probabilities(&p, &y).check()?;
    let measure = LsEce::new().sigma(0.1);
    let (ls_ece, of_block) = (all.estimate(&measure)?, measure.estimate(&block.binary()?)?);
    let allowed = ls_ece.numerical_bound + of_block.numerical_bound;
    let off = (ls_ece.value - of_block.value).abs();
    assert!(off <= allowed, "LS-ECE is off by {off}, where {allowed} is the bound");
    let seconds = start.elapsed().as_secs_f64();
    println!("{n} rows in {seconds:.0} s: ECE {} (exact {exact}), LS-ECE off by {off:.1e} of {allowed:.1e}", ece.value);
    Ok(())
}

fn sketch_of(empty: &Sketch, p: &[f64], y: &[bool]) -> Result<Sketch, Box<dyn Error>> {
    let mut sketch = empty.empty_like();
    sketch.update(&Input::probabilities(p, y).check()?.binary()?)?;
    Ok(sketch)
}

/// The sketch merged with itself so many times, by doubling.
fn times(one: &Sketch, n: usize) -> Result<Sketch, calipers::Error> {
    let mut all = one.empty_like();
    let mut power = one.clone();
    for bit in 0..usize::BITS - n.leading_zeros() {
        if n >> bit & 1 == 1 {
            all.merge(&power)?;
        }
        let same = power.clone();
        power.merge(&same)?;
    }
    Ok(all)
}

/// In halves of a row: a thousand rows of (2j + 1) / 2000 expect j + 1/2 positive ones.
fn exact_ece() -> f64 {
    let gap = |bin: usize| {
        let values = bin * N_VALUES / N_BINS..(bin + 1) * N_VALUES / N_BINS;
        values.map(|j| 2 * positive(j) as i64 - (2 * j as i64 + 1)).sum::<i64>().abs()
    };
    (0..N_BINS).map(gap).sum::<i64>() as f64 / (2 * N_BLOCK) as f64
}
