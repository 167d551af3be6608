//! Adjustment for multiple tests.

/// P-values as they are when the smallest of many is picked: at level α, at most a share α of all
/// families of tests has any false rejection, however the tests depend on each other.
///
/// # Definition
/// ```text
/// p̃_(k) = min(1, max over j <= k of (m + 1 - j) p_(j))      p_(1) <= ... <= p_(m)
/// ```
/// in the order in which they came.
///
/// # Reference
/// Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
/// Statistics 1979.
///
/// # Example
/// The smallest of three counts three times, the next one twice.
/// ```
/// use calipers::inference::holm;
///
/// assert_eq!(holm(&[0.25, 0.0625, 0.125]), [0.25, 0.1875, 0.25]);
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        largest = largest.max((p_values.len() - place) as f64 * p_values[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}
