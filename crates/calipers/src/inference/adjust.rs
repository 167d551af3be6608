//! Adjustment of p-values for the number of tests.

use crate::names::names;

/// How p-values are adjusted for the number of tests, such as one for each group or class.
///
/// # Definition
/// With p_(1) <= ... <= p_(m), the adjusted p-value of the k-th smallest is at most 1 and
/// ```text
/// Holm                  max over j <= k of (m + 1 - j) p_(j)
/// Benjamini-Hochberg    min over j >= k of m p_(j) / j
/// Benjamini-Yekutieli   min over j >= k of m (1 + 1/2 + ... + 1/m) p_(j) / j
/// ```
///
/// # Assumptions
/// Holm and Benjamini-Yekutieli: none, tests may depend on each other in any way.
/// Benjamini-Hochberg: tests are independent, as those of groups without common rows are, or depend
/// positively on each other.
///
/// # Reference
/// Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
/// Statistics 1979; Benjamini, Hochberg, "Controlling the false discovery rate", JRSS B 1995;
/// Benjamini, Yekutieli, "The control of the false discovery rate in multiple testing under
/// dependency", Annals of Statistics 2001.
///
/// # Example
/// By Holm's method the smallest of three counts three times, the next one twice.
/// ```
/// use calipers::inference::Adjust;
///
/// let p_values = [0.25, 0.0625, 0.125];
/// assert_eq!(Adjust::Holm.adjusted(&p_values), [0.25, 0.1875, 0.25]);
/// assert_eq!(Adjust::Bh.adjusted(&p_values), [0.25, 0.1875, 0.1875]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Adjust {
    /// At level α, at most a share α of all families of tests has any false finding (family-wise
    /// error rate).
    #[default]
    Holm,
    /// Benjamini and Hochberg: at level α, at most a share α of the findings is false on average
    /// (false discovery rate).
    Bh,
    /// Benjamini and Yekutieli: the same, however the tests depend on each other.
    By,
}

names! { Adjust, "adjust"; Holm = "holm", Bh = "bh", By = "by" }

impl Adjust {
    /// The adjusted p-values, in the order in which the p-values came.
    pub fn adjusted(self, p_values: &[f64]) -> Vec<f64> {
        let mut order: Vec<usize> = (0..p_values.len()).collect();
        order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
        let m = p_values.len() as f64;
        let mut adjusted = vec![0.0; p_values.len()];
        match self {
            Adjust::Holm => {
                let mut largest = 0.0_f64;
                for (place, &index) in order.iter().enumerate() {
                    largest = largest.max((p_values.len() - place) as f64 * p_values[index]).min(1.0);
                    adjusted[index] = largest;
                }
            }
            Adjust::Bh | Adjust::By => {
                let dependence = match self {
                    Adjust::By => harmonic(p_values.len()),
                    _ => 1.0,
                };
                let mut smallest = 1.0_f64;
                for (place, &index) in order.iter().enumerate().rev() {
                    smallest = smallest.min(m * dependence * p_values[index] / (place + 1) as f64);
                    adjusted[index] = smallest;
                }
            }
        }
        adjusted
    }

    /// The same where some p-values are not available: these are no tests.
    pub fn adjusted_known(self, p_values: &[Option<f64>]) -> Vec<Option<f64>> {
        let mut adjusted = self.adjusted(&p_values.iter().copied().flatten().collect::<Vec<f64>>()).into_iter();
        p_values.iter().map(|p| p.and_then(|_| adjusted.next())).collect()
    }

    /// By how much the smallest of m p-values is multiplied, rounded up: what
    /// [`Assess::n_tests`](super::Assess::n_tests) has to resolve.
    pub fn n_tests(self, m: usize) -> u64 {
        match self {
            Adjust::Holm | Adjust::Bh => m as u64,
            Adjust::By => (m as f64 * harmonic(m)).ceil() as u64,
        }
    }

    /// The method as tables and sentences name it.
    pub fn title(self) -> &'static str {
        match self {
            Adjust::Holm => "Holm",
            Adjust::Bh => "BH",
            Adjust::By => "BY",
        }
    }
}

/// 1 + 1/2 + ... + 1/m.
fn harmonic(m: usize) -> f64 {
    (1..=m).map(|k| 1.0 / k as f64).sum()
}

/// P-values adjusted by [`Adjust::Holm`].
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    Adjust::Holm.adjusted(p_values)
}
