//! Products of tall matrices that are summed over rows, as Hessians of many parameters are.

use super::dispatch::dispatched;

/// Rows that are multiplied at once, one after the other in memory: as many as stay in registers.
pub(crate) const ROWS: usize = 8;

dispatched! {
    /// Adds Σ_r a_ri b_rj over [`ROWS`] rows to `out[i n + j]`, for rows of m and of n values. With
    /// `lower` only where j is at most i: the rest of a symmetric matrix is left as it is.
    pub(crate) fn add_products / add_products_portable(a: &[f64], b: &[f64], out: &mut [f64], lower: bool) {
        let (m, n) = (a.len() / ROWS, b.len() / ROWS);
        for i in 0..m {
            let end = if lower { n.min(i + 1) } else { n };
            let out = &mut out[i * n..i * n + end];
            // Not in a loop, so that the one below is over neighbours in memory.
            let (a0, a1, a2, a3) = (a[i], a[m + i], a[2 * m + i], a[3 * m + i]);
            let (a4, a5, a6, a7) = (a[4 * m + i], a[5 * m + i], a[6 * m + i], a[7 * m + i]);
            let (b0, b1) = (&b[..end], &b[n..n + end]);
            let (b2, b3) = (&b[2 * n..2 * n + end], &b[3 * n..3 * n + end]);
            let (b4, b5) = (&b[4 * n..4 * n + end], &b[5 * n..5 * n + end]);
            let (b6, b7) = (&b[6 * n..6 * n + end], &b[7 * n..7 * n + end]);
            for j in 0..end {
                let low = (a0 * b0[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j]);
                let high = (a4 * b4[j] + a5 * b5[j]) + (a6 * b6[j] + a7 * b7[j]);
                out[j] += low + high;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_as_the_definition_says_on_every_processor() {
        for (m, n) in [(1, 1), (3, 5), (4, 2), (9, 9), (13, 6)] {
            let rows = |columns: usize, seed: f64| -> Vec<f64> {
                (0..columns * ROWS).map(|at| (seed + at as f64 * 0.7).sin()).collect()
            };
            let (a, b) = (rows(m, 1.0), rows(n, 2.0));
            let mut found = vec![1.0; m * n];
            let mut portable = found.clone();
            add_products(&a, &b, &mut found, false);
            add_products_portable(&a, &b, &mut portable, false);
            assert_eq!(found, portable);
            for i in 0..m {
                for j in 0..n {
                    let slow: f64 = (0..ROWS).map(|row| a[row * m + i] * b[row * n + j]).sum();
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
