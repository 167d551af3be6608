//! Cumulative differences, and the distribution of probabilities by outcome.

use calipers::inference::bands::Band;
use calipers::{Bin, CumulativeCalibrationError, CumulativeCurve, Error, Sample};

use super::Options;

/// The number of bars of the distribution.
const N_BARS: usize = 20;

/// The number of stretches of the cumulative curve. The lowest and the highest point of each are
/// kept.
const N_STRETCHES: usize = 150;

/// The distribution of the probabilities, and cumulative differences along them.
#[derive(Debug, Clone)]
pub struct Spread {
    /// Bins of equal width: twenty, unless a sketch keeps other bins.
    pub bars: Vec<Bin>,
    /// Cumulative differences.
    pub cumulative: Cumulative,
}

/// Cumulative differences at as many points as a chart can show.
#[derive(Debug, Clone)]
pub struct Cumulative {
    /// The curve.
    pub curve: CumulativeCurve,
    /// The lower end of the chance band at each point.
    pub lower: Vec<f64>,
    /// The upper end.
    pub upper: Vec<f64>,
}

pub(super) fn gather(drawn: Sample<'_>, options: &Options) -> Result<Spread, Error> {
    let measure = CumulativeCalibrationError::new().link(options.link.clone());
    // A sketch is exact for the bins that it keeps. With other bins, a probability that many rows
    // share can be on the wrong side of an edge.
    let declared = drawn.sketch().map_or(&[][..], |sketch| sketch.options().declared_bins());
    let near = declared.iter().copied().filter(|n_bins| (10..=N_BARS).contains(n_bins)).max();
    let n_bars = near.unwrap_or(N_BARS);
    let curve = measure.curve(drawn)?;
    let band = measure.consistency_band(drawn, &curve, &options.band())?;
    Ok(Spread { bars: options.bins(n_bars).bins(drawn)?, cumulative: thinned(&curve, &band) })
}

/// The first point, the last point and the extremes of each stretch, so that the range stays the
/// same.
fn thinned(curve: &CumulativeCurve, band: &Band) -> Cumulative {
    let n = curve.shares.len();
    let mut kept: Vec<usize> = Vec::new();
    let stretch = |place: &usize| (curve.shares[*place] * N_STRETCHES as f64) as usize;
    let places: Vec<usize> = (0..n).collect();
    for stretch in places.chunk_by(|a, b| stretch(a) == stretch(b)) {
        let by_difference = |a: &&usize, b: &&usize| curve.differences[**a].total_cmp(&curve.differences[**b]);
        let extremes = [stretch.iter().min_by(by_difference), stretch.iter().max_by(by_difference)];
        let mut ends: Vec<usize> = extremes.into_iter().chain([stretch.first()]).flatten().copied().collect();
        ends.sort_unstable();
        kept.extend(ends);
    }
    kept.extend(n.checked_sub(1));
    kept.dedup();
    let pick = |values: &[f64]| kept.iter().map(|place| values[*place]).collect::<Vec<f64>>();
    Cumulative {
        curve: CumulativeCurve {
            shares: pick(&curve.shares),
            differences: pick(&curve.differences),
            probabilities: pick(&curve.probabilities),
        },
        lower: pick(&band.lower),
        upper: pick(&band.upper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers::inference::bands::BandKind;

    #[test]
    fn a_thinned_curve_keeps_its_ends_and_extremes() {
        let n = 10_000;
        let shares: Vec<f64> = (0..=n).map(|k| f64::from(k) / f64::from(n)).collect();
        let differences: Vec<f64> = shares.iter().map(|share| (share * 40.0).sin() * share).collect();
        let curve = CumulativeCurve { probabilities: shares.clone(), shares, differences };
        let band = Band {
            kind: BandKind::Consistency,
            lower: vec![-0.1; n as usize + 1],
            upper: curve.shares.clone(),
            level: 0.95,
            n_resamples: 0,
            random_state: 0,
        };
        let found = thinned(&curve, &band);
        assert_eq!(found.upper, found.curve.shares);
        let thin = found.curve;
        assert!(thin.shares.len() < 4 * N_STRETCHES);
        let highest = |curve: &CumulativeCurve| curve.differences.iter().copied().fold(0.0, f64::max);
        assert_eq!(highest(&curve), highest(&thin));
        assert_eq!((thin.shares.first(), thin.shares.last()), (Some(&0.0), Some(&1.0)));
        assert!(thin.shares.is_sorted());
    }
}
