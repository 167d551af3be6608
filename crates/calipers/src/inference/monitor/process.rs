//! The e-process: a sum over directions and start windows (step 4 of the proof in `mod.rs`).

use super::directions::{N_DIRECTIONS, log_weight};

/// What is kept from window to window.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Process {
    pub(super) n_windows: u64,
    /// ln S_k for each direction; empty before the first window.
    pub(super) log_sums: Vec<f64>,
    /// The largest ln E so far, 0 at least.
    pub(super) log_peak: f64,
}

impl Default for Process {
    fn default() -> Self {
        Process { n_windows: 0, log_sums: vec![f64::NEG_INFINITY; N_DIRECTIONS], log_peak: 0.0 }
    }
}

/// The weight of all start windows after so many.
fn weight_after(n_windows: u64) -> f64 {
    (n_windows as f64 + 1.0).powf(-0.25)
}

impl Process {
    /// Adds a window, by ln of the product over its rows for each direction.
    pub(super) fn advance(&mut self, log_ratios: &[f64]) {
        let log_start = (weight_after(self.n_windows) - weight_after(self.n_windows + 1)).ln();
        self.n_windows += 1;
        for (log_sum, log_ratio) in self.log_sums.iter_mut().zip(log_ratios) {
            *log_sum = log_ratio + log_sum_exp([*log_sum, log_start].into_iter());
        }
        self.log_peak = self.log_peak.max(self.log_e_value());
    }

    /// ln E.
    pub(super) fn log_e_value(&self) -> f64 {
        let later = weight_after(self.n_windows).ln();
        let sums = self.log_sums.iter().enumerate().map(|(number, log_sum)| log_weight(number) + log_sum);
        log_sum_exp(sums.chain([later]).collect::<Vec<f64>>().into_iter())
    }
}

/// ln Σ e^x, of which at least one is finite.
fn log_sum_exp(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    largest + logs.map(|log| (log - largest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recursion_is_the_sum_over_all_starts() {
        let ratios: Vec<Vec<f64>> =
            (0..7).map(|t| (0..N_DIRECTIONS).map(|k| ((t * 31 + k * 7) % 11) as f64 * 0.1 - 0.5).collect()).collect();
        let mut process = Process::default();
        assert!(process.log_e_value().abs() < 1e-12);
        for (done, window) in (1..).zip(&ratios) {
            process.advance(window);
            let mut expected = weight_after(done);
            for start in 0..done {
                let weight = weight_after(start) - weight_after(start + 1);
                for k in 0..N_DIRECTIONS {
                    let log: f64 = ratios[start as usize..done as usize].iter().map(|window| window[k]).sum();
                    expected += weight * (log_weight(k) + log).exp();
                }
            }
            assert!((process.log_e_value() - expected.ln()).abs() < 1e-12);
        }
    }

    #[test]
    fn windows_that_say_nothing_leave_the_e_value_at_1() {
        let mut process = Process::default();
        (0..1000).for_each(|_| process.advance(&[0.0; N_DIRECTIONS]));
        assert!(process.log_e_value().abs() < 1e-11 && process.log_peak < 1e-11);
    }
}
