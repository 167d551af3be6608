//! Repetitions with seeds of their own, on all cores.

use calipers::Error;
use rayon::prelude::*;

/// A seed for each of several streams of a study: the same for the same place, however the work is shared out.
pub(crate) fn seed(study: u64, stream: u64, index: u64) -> u64 {
    // SplitMix64's finaliser, by which neighbouring places get unlike seeds.
    let mut mixed = study.wrapping_add(stream.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(index << 32 | index);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A number uniform in (0, 1) for each place of a stream.
pub(crate) fn uniform(stream: u64, index: u64) -> f64 {
    ((seed(stream, 0, index) >> 11) as f64 + 0.5) * 2f64.powi(-53)
}

/// `run` for each index, in order.
pub(crate) fn replicates<T: Send>(
    n: u64,
    run: impl Fn(u64) -> Result<T, Error> + Sync + Send,
) -> Result<Vec<T>, Error> {
    (0..n).into_par_iter().map(run).collect()
}

/// Mean and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    pub(crate) standard_error: f64,
}

impl Mean {
    pub(crate) fn of(values: &[f64]) -> Mean {
        let n = values.len() as f64;
        let value = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - value).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        Mean { value, standard_error: (variance / n).sqrt() }
    }
}
