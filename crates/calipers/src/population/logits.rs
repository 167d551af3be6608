//! Laws of logits with a known density.

use super::sample::Cumulated;
use crate::noise::{Gaussian, Noise};
use crate::numerics::random::Uniforms;

/// A logit that has a probability of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Atom {
    /// Where.
    pub logit: f64,
    /// How likely.
    pub mass: f64,
}

/// The law of a predictor's logits.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Logits {
    /// Normal.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
    /// Constant density between edges: jumps at each.
    Steps {
        /// Increasing.
        edges: Vec<f64>,
        /// Probability of each piece, sum 1; one fewer than edges.
        masses: Vec<f64>,
    },
    /// Normal, but for some logits that repeat.
    WithAtoms {
        /// Mean of the normal part.
        mean: f64,
        /// Standard deviation of the normal part.
        deviation: f64,
        /// What repeats; the masses sum to less than 1.
        atoms: Vec<Atom>,
    },
    /// Density (1 + |h|)^-1.5 / 4: no mean, and half of the logits beyond 3 in size.
    HeavyTails,
}

impl Logits {
    /// Density of the part that has one.
    pub fn density(&self, h: f64) -> f64 {
        match self {
            Logits::Normal { mean, deviation } => Gaussian.density((h - mean) / deviation) / deviation,
            Logits::Steps { edges, masses } => match edges.partition_point(|&edge| edge <= h) {
                0 => 0.0,
                piece if piece == edges.len() => 0.0,
                piece => masses[piece - 1] / (edges[piece] - edges[piece - 1]),
            },
            Logits::WithAtoms { mean, deviation, .. } => {
                self.smooth_mass() * Gaussian.density((h - mean) / deviation) / deviation
            }
            Logits::HeavyTails => 0.25 * (1.0 + h.abs()).powf(-1.5),
        }
    }

    /// P(h <= x), the atoms included.
    pub fn distribution(&self, x: f64) -> f64 {
        let atoms: f64 = self.atoms().iter().filter(|atom| atom.logit <= x).map(|atom| atom.mass).sum();
        let smooth = match self {
            Logits::Normal { mean, deviation } | Logits::WithAtoms { mean, deviation, .. } => {
                self.smooth_mass() * Gaussian.distribution((x - mean) / deviation)
            }
            Logits::Steps { edges, masses } => edges
                .windows(2)
                .zip(masses)
                .map(|(edge, mass)| mass * ((x - edge[0]) / (edge[1] - edge[0])).clamp(0.0, 1.0))
                .sum(),
            Logits::HeavyTails => {
                let tail = 0.5 / (1.0 + x.abs()).sqrt();
                if x < 0.0 { tail } else { 1.0 - tail }
            }
        };
        smooth + atoms
    }

    /// The logits that repeat.
    pub fn atoms(&self) -> &[Atom] {
        match self {
            Logits::WithAtoms { atoms, .. } => atoms,
            Logits::Normal { .. } | Logits::Steps { .. } | Logits::HeavyTails => &[],
        }
    }

    /// Probability of the part that has a density.
    fn smooth_mass(&self) -> f64 {
        1.0 - self.atoms().iter().map(|atom| atom.mass).sum::<f64>()
    }

    /// An interval outside which there is no density, or less than 1e-19 of it; infinite for heavy
    /// tails.
    pub(super) fn support(&self) -> (f64, f64) {
        match self {
            Logits::Normal { mean, deviation } | Logits::WithAtoms { mean, deviation, .. } => {
                (mean - 9.2 * deviation, mean + 9.2 * deviation)
            }
            Logits::Steps { edges, .. } => (edges[0], edges[edges.len() - 1]),
            Logits::HeavyTails => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// Where the density or its slope jumps.
    pub(super) fn breaks(&self) -> &[f64] {
        match self {
            Logits::Steps { edges, .. } => edges,
            Logits::HeavyTails => &[0.0],
            Logits::Normal { .. } | Logits::WithAtoms { .. } => &[],
        }
    }

    /// A length over which the density is as smooth as a polynomial of moderate degree.
    pub(super) fn scale(&self) -> f64 {
        match self {
            Logits::Normal { deviation, .. } | Logits::WithAtoms { deviation, .. } => *deviation,
            Logits::Steps { .. } => f64::INFINITY,
            Logits::HeavyTails => 0.5,
        }
    }

    /// What draws logits one after another.
    pub(super) fn sampler(&self) -> Sampler<'_> {
        let pieces = match self {
            Logits::Steps { masses, .. } => Some(Cumulated::new(masses)),
            Logits::WithAtoms { atoms, .. } => {
                let shares = atoms.iter().map(|atom| atom.mass).chain([self.smooth_mass()]);
                Some(Cumulated::new(&shares.collect::<Vec<_>>()))
            }
            Logits::Normal { .. } | Logits::HeavyTails => None,
        };
        Sampler { logits: self, pieces }
    }
}

/// A law of logits, ready to be drawn from.
pub(super) struct Sampler<'a> {
    logits: &'a Logits,
    /// Of steps, or of atoms with the smooth part last.
    pieces: Option<Cumulated>,
}

impl Sampler<'_> {
    pub(super) fn draw(&self, uniforms: &mut Uniforms) -> f64 {
        let piece = self.pieces.as_ref().map_or(0, |pieces| pieces.pick(uniforms.next()));
        match self.logits {
            Logits::Normal { mean, deviation } => mean + deviation * Gaussian.sample(&mut || uniforms.next()),
            Logits::Steps { edges, .. } => edges[piece] + (edges[piece + 1] - edges[piece]) * uniforms.next(),
            Logits::WithAtoms { mean, deviation, atoms } => match atoms.get(piece) {
                Some(atom) => atom.logit,
                None => mean + deviation * Gaussian.sample(&mut || uniforms.next()),
            },
            Logits::HeavyTails => {
                // The tail beyond h is 1/2 (1 + h)^-1/2 on either side; the number is never 0,
                // being odd / 2^53 - 1.
                let uniform = 2.0 * uniforms.next() - 1.0;
                (uniform.abs().powi(-2) - 1.0).copysign(uniform)
            }
        }
    }
}
