//! The likelihood along the line from the identity through a fit: what the interval of the gain
//! knows about the truth.

/// Steps between the places at which the likelihood is computed, in standard errors.
const STEP: f64 = 0.5;

/// Places to each side of the fit, at most.
const MOST_PLACES: usize = 60;

/// By how much the logarithm of the density falls before the rest of the line is left out.
const DEEP: f64 = 14.0;

/// Fits that more rows than this decide have a normal likelihood: its skewness is below 1 %.
pub(crate) const MANY: f64 = 1e4;

/// What is known at one place of the line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    /// Mean log-loss of the fitted rows.
    pub(crate) loss: f64,
    /// v'∇ of it, for the way v from the identity to the fit: by how much the change of the loss
    /// would be smaller on new rows than on the fitted ones, if the truth were here.
    pub(crate) along: f64,
    /// The second derivative along the line, by the distance in standard errors.
    pub(crate) curvature: f64,
}

/// Places on the line through the identity and a fit, where s is the distance from the identity in
/// standard errors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    first: f64,
    /// Logarithms of the likelihood times the square root of the information, and changes on new
    /// rows less those on the fitted ones.
    nodes: Vec<[f64; 2]>,
}

impl Line {
    /// Around the fit at s = r, for a unit κ of variance; `None` where nothing is known there.
    pub(crate) fn new(r: f64, unit: f64, at: impl Fn(f64) -> Option<Place>) -> Option<Self> {
        let node = |s: f64| {
            let place = at(s)?;
            let log = 0.5 * place.curvature.ln() - place.loss / unit;
            (log.is_finite() && place.along.is_finite()).then_some([log, -place.along])
        };
        let middle = node(r)?;
        let walk = |step: f64| {
            let mut side = Vec::new();
            let mut highest = middle[0];
            while side.len() < MOST_PLACES {
                let Some(next) = node(r + step * (side.len() + 1) as f64) else { break };
                side.push(next);
                highest = next[0].max(highest);
                if next[0] < highest - DEEP {
                    break;
                }
            }
            side
        };
        let (below, above) = (walk(-STEP), walk(STEP));
        if below.is_empty() || above.is_empty() {
            return None;
        }
        let first = r - STEP * below.len() as f64;
        let nodes: Vec<[f64; 2]> = below.into_iter().rev().chain([middle]).chain(above).collect();
        Some(Line { first, nodes })
    }

    /// The first and the last place.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.first, self.first + STEP * (self.nodes.len() - 1) as f64)
    }

    /// The logarithm of the likelihood at s, times the square root of the information: the density
    /// that a flat prior of the distance, as the information measures it, makes of the likelihood.
    pub(crate) fn log_density(&self, s: f64) -> f64 {
        self.between(s, 0)
    }

    /// By how much the change of loss on new rows is above that on the fitted ones, if the truth is
    /// at s.
    pub(crate) fn optimism(&self, s: f64) -> f64 {
        self.between(s, 1)
    }

    /// Cubic interpolation by the four nearest places, which is exact for parabolas.
    fn between(&self, s: f64, value: usize) -> f64 {
        let last = self.nodes.len() - 1;
        let x = ((s - self.first) / STEP).clamp(0.0, last as f64);
        let place = (x as usize).min(last - 1);
        let t = x - place as f64;
        let [b, c] = [self.nodes[place][value], self.nodes[place + 1][value]];
        // Beyond the ends the parabola of the last three places goes on.
        let a = match place {
            0 => self.nodes.get(2).map_or(2.0 * b - c, |d| 3.0 * b - 3.0 * c + d[value]),
            _ => self.nodes[place - 1][value],
        };
        let d = self.nodes.get(place + 2).map_or(3.0 * c - 3.0 * b + a, |d| d[value]);
        let slopes = [0.5 * (c - a), 0.5 * (d - b)];
        let (t2, t3) = (t * t, t * t * t);
        (2.0 * t3 - 3.0 * t2 + 1.0) * b
            + (t3 - 2.0 * t2 + t) * slopes[0]
            + (3.0 * t2 - 2.0 * t3) * c
            + (t3 - t2) * slopes[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parabola_is_met_between_its_places() {
        let at = |s: f64| Some(Place { loss: 0.005 * (s - 2.0) * (s - 2.0), along: 3.0 * s, curvature: 1.0 });
        let line = Line::new(1.7, 0.01, at).unwrap();
        let (first, last) = line.ends();
        assert!(first < -3.0 && last > 7.0, "{first} {last}");
        for s in [first, -2.2, 0.0, 1.71, 2.9, last] {
            assert!((line.log_density(s) + 0.5 * (s - 2.0) * (s - 2.0)).abs() < 1e-12, "{s}");
            assert!((line.optimism(s) + 3.0 * s).abs() < 1e-12, "{s}");
        }
        // A line that ends on one side right away is of no use.
        assert_eq!(Line::new(1.0, 0.01, |s| if s > 1.0 { None } else { at(s) }), None);
    }
}
