//! Summaries of many values.

/// The mean of some values with its deviations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    /// The standard deviation of the values. As in numpy, the divisor is their number.
    pub(crate) deviation: f64,
    /// The standard error of the mean of independent values.
    pub(crate) standard_error: f64,
}

impl Mean {
    pub(crate) fn of(values: &[f64]) -> Mean {
        let n = values.len() as f64;
        let value = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|v| (v - value).powi(2)).sum::<f64>();
        let variance = squares / (n - 1.0).max(1.0);
        Mean { value, deviation: (squares / n).sqrt(), standard_error: (variance / n).sqrt() }
    }
}

/// The smallest and the largest value; infinity and minus infinity if there are none.
pub(crate) fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
}

#[cfg(test)]
mod tests {
    use super::{Mean, extent};

    #[test]
    fn the_deviation_divides_by_n_and_the_standard_error_by_n_less_one() {
        let mean = Mean::of(&[1.0, 3.0]);
        assert_eq!((mean.value, mean.deviation, mean.standard_error), (2.0, 1.0, 1.0));
        assert_eq!(Mean::of(&[4.0]), Mean { value: 4.0, deviation: 0.0, standard_error: 0.0 });
        assert_eq!(extent([2.0, -1.0, 0.5].into_iter()), (-1.0, 2.0));
    }
}
