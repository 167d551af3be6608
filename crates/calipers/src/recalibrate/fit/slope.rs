//! The one parameter of temperature scaling: Newton's method on the logarithm of the slope, inside
//! a bracket that grows until it holds the minimum.
//!
//! There are no fixed bounds: slopes of 1e-6, for logits of size 1e6, are found as those of 1e3
//! are. The derivative rises with the slope, so two slopes where it has different signs enclose the
//! minimum, and every step that would leave the bracket is replaced by its middle.

use super::newton::NotFound;

/// Two derivatives of J as a function of the slope.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AtSlope {
    pub(crate) first: f64,
    /// Bound on the rounding error of the first derivative.
    pub(crate) error: f64,
    pub(crate) second: f64,
}

impl AtSlope {
    /// δ of the certificate, with rounding.
    pub(crate) fn distance(&self) -> f64 {
        (self.first.abs() + self.error) / self.second.sqrt()
    }
}

/// The slope at which J is least, from a first guess on.
///
/// The caller knows that there is one: J falls at 0 and rises for large slopes.
pub(crate) fn minimise(at: &dyn Fn(f64) -> AtSlope, start: f64) -> Result<(f64, AtSlope), NotFound> {
    // Logarithms of slopes below and above the minimum.
    let (mut below, mut above) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut log = start.ln();
    let mut best: Option<(f64, AtSlope)> = None;
    let mut reach = 1.0;
    for _ in 0..500 {
        let slope = log.exp();
        let here = at(slope);
        if !(here.first.is_finite() && slope.is_finite() && slope > 0.0) {
            return Err(NotFound);
        }
        let is_better = best.is_none_or(|(_, best)| distance(&here) < 0.5 * distance(&best));
        if best.is_none_or(|(_, best)| distance(&here) < distance(&best)) {
            best = Some((slope, here));
        }
        // Near the minimum steps are quadratic: where one does not even halve δ, it is rounding.
        if here.first.abs() <= here.error || here.first == 0.0 || (distance(&here) < 1e-9 && !is_better) {
            break;
        }
        if here.first < 0.0 {
            below = log
        } else {
            above = log
        }
        let newton = log - here.first / (slope * here.second);
        log = match (below.is_finite(), above.is_finite()) {
            (true, true) if below < newton && newton < above => newton,
            (true, true) if above - below <= 4.0 * f64::EPSILON * (1.0 + log.abs()) => break,
            (true, true) => 0.5 * (below + above),
            // Not further than a reach that doubles: far from the minimum J may be all but flat.
            (_, false) => {
                if newton.is_finite() {
                    newton.min(log + reach)
                } else {
                    log + reach
                }
            }
            (false, _) => {
                if newton.is_finite() {
                    newton.max(log - reach)
                } else {
                    log - reach
                }
            }
        };
        reach *= 2.0;
    }
    best.filter(|(_, at)| at.second > 0.0).ok_or(NotFound)
}

/// |J'| / √J'', infinite where J is flat.
fn distance(at: &AtSlope) -> f64 {
    if at.second > 0.0 { at.first.abs() / at.second.sqrt() } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// log(1 + e^-s) + share · s: two rows whose best slope is ln(1 / share - 1).
    fn logistic(share: f64) -> impl Fn(f64) -> AtSlope {
        move |slope| {
            let p = 1.0 / (1.0 + slope.exp());
            AtSlope { first: share - p, error: 0.0, second: p * (1.0 - p) }
        }
    }

    #[test]
    fn the_minimum_is_found_from_afar() {
        for share in [0.499_999, 0.4, 0.1, 1e-9] {
            for start in [1e-9, 1.0, 1e3] {
                let (slope, _) = minimise(&logistic(share), start).unwrap();
                let exact = (1.0 / share - 1.0).ln();
                assert!((slope / exact - 1.0).abs() < 1e-9, "{share} from {start}: {slope} {exact}");
            }
        }
    }
}
