//! Products of tall matrices that are summed over rows, as Hessians of many parameters are.

use super::dispatch::dispatched;

/// Rows of a panel: a panel has so many values of its first column, then of the next.
pub(crate) const PANEL: usize = 32;

/// Columns that are multiplied at once: as many sums as stay in registers.
const TALL: usize = 4;
const WIDE: usize = 2;
const LANES: usize = 4;

dispatched! {
    /// Adds Σ_r a_ri b_rj to `out[i n + j]` for panels of m and n columns. With `lower` only where j
    /// is at most about i: the rest of a symmetric matrix is left as it is.
    pub(crate) fn add_products / add_products_portable(a: &[f64], b: &[f64], out: &mut [f64], lower: bool) {
        let (m, n) = (a.len() / PANEL, b.len() / PANEL);
        let mut i = 0;
        while i < m {
            let tall = if i + TALL <= m { TALL } else { 1 };
            let end = if lower { n.min(i + tall) } else { n };
            let mut j = 0;
            while j < end {
                let wide = if j + WIDE <= n { WIDE } else { 1 };
                match (tall, wide) {
                    (TALL, WIDE) => tile::<TALL, WIDE>(a, b, out, [i, j, n]),
                    (TALL, _) => tile::<TALL, 1>(a, b, out, [i, j, n]),
                    (_, WIDE) => tile::<1, WIDE>(a, b, out, [i, j, n]),
                    _ => tile::<1, 1>(a, b, out, [i, j, n]),
                }
                j += wide;
            }
            i += tall;
        }
    }
}

#[inline(always)]
fn tile<const M: usize, const N: usize>(a: &[f64], b: &[f64], out: &mut [f64], [i, j, n]: [usize; 3]) {
    let left: [&[[f64; LANES]]; M] = std::array::from_fn(|x| a[(i + x) * PANEL..][..PANEL].as_chunks().0);
    let right: [&[[f64; LANES]]; N] = std::array::from_fn(|y| b[(j + y) * PANEL..][..PANEL].as_chunks().0);
    let mut sums = [[[0.0; LANES]; N]; M];
    for step in 0..PANEL / LANES {
        for x in 0..M {
            for y in 0..N {
                for lane in 0..LANES {
                    sums[x][y][lane] += left[x][step][lane] * right[y][step][lane];
                }
            }
        }
    }
    for (x, row) in sums.iter().enumerate() {
        for (y, lanes) in row.iter().enumerate() {
            out[(i + x) * n + j + y] += (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_as_the_definition_says_on_every_processor() {
        for (m, n) in [(1, 1), (3, 5), (4, 2), (9, 9), (13, 6)] {
            let panel = |columns: usize, seed: f64| -> Vec<f64> {
                (0..columns * PANEL).map(|at| (seed + at as f64 * 0.7).sin()).collect()
            };
            let (a, b) = (panel(m, 1.0), panel(n, 2.0));
            let mut found = vec![1.0; m * n];
            let mut portable = found.clone();
            add_products(&a, &b, &mut found, false);
            add_products_portable(&a, &b, &mut portable, false);
            assert_eq!(found, portable);
            for i in 0..m {
                for j in 0..n {
                    let slow: f64 = (0..PANEL).map(|row| a[i * PANEL + row] * b[j * PANEL + row]).sum();
                    assert!((found[i * n + j] - 1.0 - slow).abs() < 1e-13);
                }
            }
            let mut lower = vec![0.0; m * m];
            let mut whole = lower.clone();
            add_products(&a, &a, &mut lower, true);
            add_products(&a, &a, &mut whole, false);
            (0..m).for_each(|i| assert_eq!(lower[i * m..=i * m + i], whole[i * m..=i * m + i]));
        }
    }
}
