//! Smoothing on [0, 1] with reflection at both ends, and the integral of the absolute value.
//!
//! # Definition
//! A kernel K of scale σ, reflected at 0 and 1 infinitely often:
//! ```text
//! K̃(t, p) = Σ_k K(t - p + 2k) + K(t + p + 2k)          k over all integers
//! ∫_0^1 |G(t)| dt,    G(t) = Σ_i a_i K̃(t, p_i)                          (one channel)
//!                     G(t) = Σ_i s_i (y_i - t) K̃(t, p_i)                (two channels: outcomes 1 and 0)
//! ```
//! Points p and their images -p + 2k, p + 2k make G even and of period 2: a convolution on a circle
//! of circumference 2.
//!
//! # Bound
//! With M panels of width Δ = 1/M on [0, 1], order m, w(θ) the product of θ - k over the m nodes
//! around a panel, N_j the L1 norm of K^(j), a sum over images of L1 norms on an interval of length
//! 1 being at most that on the line:
//! 1. *Deposit.* |a_i| |w(θ_i)| Δ^m N_m / m! for each point, measured; in two channels |y - t| <= 1
//!    multiplies it.
//! 2. *Images* beyond a reach that leaves out 10^-30 of the kernel.
//! 3. *Interpolation.* (1 + m/(m-1)) times the mean of |w| / m!, times Δ^m ∫|G^(m)|, and ∫|G^(m)|
//!    <= S N_m with S = Σ|mass|; in two channels 2S (N_m (1 + m Δ) + m N_(m-1)), since the stencils
//!    of panels at the ends see t outside of [0, 1].
//! 4. *Sign changes* that Bernstein coefficients could not place: added up.
//! 5. *Rounding* of deposit, transforms (see `numerics/convolution.rs`) and panels; places by
//!    2^-52, at a cost of N_1.

use realfft::RealFftPlanner;

use super::prelude::*;
use crate::data::Rows;
use crate::noise::Noise;
use crate::numerics::bernstein::{AbsIntegral, PanelIntegral};
use crate::numerics::lagrange::{Lagrange, MAX_ORDER};
use crate::numerics::parallel;
use crate::watch;

/// Panels of [0, 1] at most: beyond, transforms take seconds.
const MAX_PANELS: usize = 1 << 22;

/// Panels at least.
const MIN_PANELS: usize = 64;

/// Nodes after which a call that was stopped ends.
const CHECKED: usize = 1 << 16;

/// Unit roundoff.
const U: f64 = f64::EPSILON / 2.0;

/// A value and a bound on its error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub(super) value: f64,
    pub(super) bound: f64,
}

/// What a row puts on the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deposit {
    /// Its residual y - p, in the first channel.
    Residuals,
    /// Its share: in the first channel for outcome 1, in the second for outcome 0.
    Outcomes,
}

/// A kernel, by a noise and its scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReflectedKernel<'a> {
    pub(super) noise: &'a dyn Noise,
    pub(super) sigma: f64,
}

/// Masses on the nodes of [0, 1] and a few beyond.
pub(super) struct Circle {
    deposit: Deposit,
    lagrange: Lagrange,
    order: usize,
    n_panels: usize,
    /// Node j is at (j - margin) / n_panels.
    masses: [Vec<f64>; 2],
    margin: usize,
    /// Σ |a_i| |w(θ_i)| / m!
    remainder: f64,
    /// Σ |mass|
    total_mass: f64,
    /// Rows added up one after another.
    longest_sum: f64,
    /// Σ s_i (y_i - p_i)
    pub(super) mean_residual: f64,
    /// How far probabilities can be off.
    error: f64,
}

/// The even order of interpolation that a noise allows: 2 to 8, or none.
fn order_of(noise: &dyn Noise) -> Option<usize> {
    let smooth = (1..=MAX_ORDER).take_while(|order| noise.variation(*order).is_some()).count();
    (smooth >= 2).then_some(smooth / 2 * 2)
}

impl ReflectedKernel<'_> {
    /// Panels that keep deposit and interpolation within half of the tolerance.
    pub(super) fn panels(&self, deposit: Deposit, tolerance: f64) -> Result<usize, Error> {
        let unmet = |attainable, reason| Err(Error::ToleranceNotMet { tolerance, attainable, reason });
        let Some(order) = order_of(self.noise) else {
            return unmet(f64::INFINITY, "the kernel has no slope of bounded variation");
        };
        let lagrange = Lagrange::new(order);
        let error = |n_panels: usize| {
            let spacing = 1.0 / n_panels as f64;
            let largest = lagrange.lebesgue();
            lagrange.max_remainder() * self.variation(order, spacing)
                + largest * self.interpolation(deposit, &lagrange, order, spacing)
        };
        let mut n_panels = MIN_PANELS;
        while error(n_panels) > 0.5 * tolerance {
            if n_panels == MAX_PANELS {
                return unmet(4.0 * error(n_panels), "the grid would be too fine for this bandwidth");
            }
            n_panels *= 2;
        }
        Ok(n_panels)
    }

    /// `spacing^m` times the L1 norm of the kernel's m-th derivative.
    fn variation(&self, order: usize, spacing: f64) -> f64 {
        let norm = if order == 0 { 1.0 } else { self.noise.variation(order).unwrap_or(f64::INFINITY) };
        norm * (spacing / self.sigma).powi(order as i32)
    }

    /// Cost of polynomials between nodes, for a total mass of 1: step 3.
    fn interpolation(&self, deposit: Deposit, lagrange: &Lagrange, order: usize, spacing: f64) -> f64 {
        let m = order as f64;
        let derivative = match deposit {
            Deposit::Residuals => self.variation(order, spacing),
            Deposit::Outcomes => {
                let outside = 1.0 + m * spacing;
                2.0 * (outside * self.variation(order, spacing) + m * spacing * self.variation(order - 1, spacing))
            }
        };
        m.min(1.0 + m / (m - 1.0)) * lagrange.mean_remainder() * derivative
    }

    /// The distance beyond which images are left out: what is there is below 10^-30 of the kernel.
    pub(super) fn reach(&self) -> f64 {
        let mut reach = 1.0;
        while self.noise.tail(reach) > 1e-30 && reach < 1e4 {
            reach *= 1.1;
        }
        reach * self.sigma
    }

    /// The kernel with all its images, at the nodes of a circle of circumference 2.
    fn around(&self, n_nodes: usize) -> Vec<f64> {
        let (spacing, reach) = (2.0 / n_nodes as f64, self.reach());
        let mut kernel = vec![0.0; n_nodes];
        for node in 0..=n_nodes / 2 {
            if node % CHECKED == 0 {
                watch::check();
            }
            let place = node as f64 * spacing;
            let (first, last) = (((-reach - place) / 2.0).ceil() as i64, ((reach - place) / 2.0).floor() as i64);
            let image = |k: i64| self.noise.density((place + 2.0 * k as f64) / self.sigma) / self.sigma;
            kernel[node] = (first..=last).map(image).sum();
            kernel[(n_nodes - node) % n_nodes] = kernel[node];
        }
        kernel
    }
}

/// Calls the method that is compiled for an order.
macro_rules! by_order {
    ($order:expr, $part:ident.$method:ident($rows:expr)) => {
        match $order {
            8 => $part.$method::<8>($rows),
            6 => $part.$method::<6>($rows),
            4 => $part.$method::<4>($rows),
            _ => $part.$method::<2>($rows),
        }
    };
}

impl Circle {
    /// Spreads all rows over the nodes around them.
    pub(super) fn new(rows: &Probabilities<'_>, noise: &dyn Noise, deposit: Deposit, n_panels: usize) -> Self {
        let order = order_of(noise).unwrap_or(2);
        let n = rows.len();
        // As many sums as fit into 64 MiB, each at least a chunk: a number that depends on data and
        // settings alone.
        let n_segments = ((1usize << 22) / n_panels).clamp(2, 64);
        let segment = n.div_ceil(n_segments).max(parallel::CHUNK);
        let parts = parallel::map_chunks(n, segment, |range| {
            let mut part = Part::new(deposit, n_panels, order);
            let mut buffer = Rows::default();
            for start in range.clone().step_by(parallel::CHUNK) {
                rows.read(start..range.end.min(start + parallel::CHUNK), &mut buffer);
                by_order!(order, part.add(&buffer));
            }
            part
        });
        let mut all = Part::new(deposit, n_panels, order);
        parts.into_iter().for_each(|part| all.absorb(part));
        Self::of_part(all, order, (segment + n.div_ceil(segment)) as f64, rows.error())
    }

    /// Spreads masses at places in [0, 1], known to within `error`; those of all rows add up to the
    /// mean residual.
    pub(super) fn of_masses(masses: &[(f64, f64)], noise: &dyn Noise, n_panels: usize, error: f64) -> Self {
        let order = order_of(noise).unwrap_or(2);
        let mut part = Part::new(Deposit::Residuals, n_panels, order);
        by_order!(order, part.add_masses(masses));
        Self::of_part(part, order, masses.len() as f64, error)
    }

    fn of_part(mut all: Part, order: usize, longest_sum: f64, error: f64) -> Self {
        // Positive: the largest weight is 1.
        let total_weight = all.weight.value();
        all.masses.iter_mut().flatten().for_each(|mass| *mass /= total_weight);
        let factorial: f64 = (1..=order).map(|k| k as f64).product();
        Circle {
            deposit: all.deposit,
            lagrange: Lagrange::new(order),
            order,
            n_panels: all.n_panels as usize,
            total_mass: all.masses.iter().flatten().map(|mass| mass.abs()).sum::<f64>() * (1.0 + 1e-9),
            masses: all.masses,
            margin: order / 2 - 1,
            remainder: all.remainder / total_weight / factorial * (1.0 + 1e-9),
            longest_sum,
            mean_residual: all.residual.value() / total_weight,
            error,
        }
    }

    /// ∫_0^1 |G|.
    pub(super) fn integrate(&self, kernel: ReflectedKernel<'_>) -> Value {
        let (smoothed, smoothing_error) = self.smoothed(kernel);
        let spacing = 1.0 / self.n_panels as f64;
        let m = self.n_panels as i64;
        // G is even around 0 and around 1: nodes beyond the ends have the values of their images.
        let at = |values: &[f64], node: i64| {
            let node = node.abs();
            values[if node > m { 2 * m - node } else { node } as usize]
        };
        let before = self.margin as i64;
        let nodes = -before..m + before + 2;
        let values: Vec<f64> = match self.deposit {
            Deposit::Residuals => nodes.map(|node| at(&smoothed[0], node)).collect(),
            Deposit::Outcomes => nodes
                .map(|node| {
                    let t = node as f64 * spacing;
                    (1.0 - t) * at(&smoothed[0], node) - t * at(&smoothed[1], node)
                })
                .collect(),
        };
        let panels = PanelIntegral::new(&self.lagrange, self.order, 0.0);
        let AbsIntegral { value, slack } = panels.of_abs(&values[..self.n_panels + self.order - 1]);
        let lebesgue = self.lagrange.lebesgue();
        let deposit = self.remainder * kernel.variation(self.order, spacing);
        let cut = lebesgue * self.total_mass * kernel.noise.tail(kernel.reach() / kernel.sigma);
        let interpolation = self.total_mass * kernel.interpolation(self.deposit, &self.lagrange, self.order, spacing);
        // A probability that is off moves the residual, and its place.
        let moved = (self.error + f64::EPSILON) * (1.0 + kernel.variation(1, 1.0));
        let operations = self.order as f64 * (16.0 + panels.norm()) + 64.0;
        let absolute = lebesgue * (1.0 + self.total_mass);
        let rounding = absolute * U * (operations + self.longest_sum) + lebesgue * smoothing_error * spacing;
        Value { value: value * spacing, bound: deposit + cut + interpolation + slack * spacing + moved + rounding }
    }

    /// Both channels at the nodes from 0 to 1, and a bound on the sum of their errors.
    fn smoothed(&self, kernel: ReflectedKernel<'_>) -> ([Vec<f64>; 2], f64) {
        let n_nodes = 2 * self.n_panels;
        let mut planner = RealFftPlanner::<f64>::new();
        let (forward, backward) = (planner.plan_fft_forward(n_nodes), planner.plan_fft_inverse(n_nodes));
        let mut taps = kernel.around(n_nodes);
        let norm: f64 = taps.iter().sum();
        let mut taps_spectrum = forward.make_output_vec();
        // proof: the buffers were made by the plans themselves, so their lengths fit
        forward.process(&mut taps, &mut taps_spectrum).expect("lengths fit"); // proof: as above
        let mut error = 0.0;
        let values = [0, 1].map(|channel| {
            if channel == 1 && self.deposit == Deposit::Residuals {
                return Vec::new();
            }
            watch::check();
            let mut signal = self.mirrored(channel);
            let mass_norm = signal.iter().map(|mass| mass * mass).sum::<f64>().sqrt();
            let mut spectrum = forward.make_output_vec();
            forward.process(&mut signal, &mut spectrum).expect("lengths fit"); // proof: as above
            for (value, factor) in spectrum.iter_mut().zip(&taps_spectrum) {
                *value *= factor / n_nodes as f64;
            }
            // Rounding leaves traces where real parts are all that can be: the ends of an even
            // length.
            spectrum[0].im = 0.0;
            spectrum[self.n_panels].im = 0.0;
            watch::check();
            backward.process(&mut spectrum, &mut signal).expect("lengths fit"); // proof: as above
            watch::check();
            signal.truncate(self.n_panels + 1);
            let relative = 64.0 * U * f64::from(n_nodes.ilog2());
            error += (n_nodes as f64).sqrt() * relative * mass_norm * norm;
            signal
        });
        (values, error)
    }

    /// The masses of a channel and their images, at the nodes of the circle.
    fn mirrored(&self, channel: usize) -> Vec<f64> {
        let n_nodes = 2 * self.n_panels as i64;
        let mut circle = vec![0.0; n_nodes as usize];
        for (index, mass) in self.masses[channel].iter().enumerate().filter(|(_, mass)| **mass != 0.0) {
            let node = index as i64 - self.margin as i64;
            circle[node.rem_euclid(n_nodes) as usize] += mass;
            circle[(-node).rem_euclid(n_nodes) as usize] += mass;
        }
        circle
    }
}

/// The masses of some rows.
struct Part {
    deposit: Deposit,
    n_panels: f64,
    masses: [Vec<f64>; 2],
    remainder: f64,
    weight: Sum,
    residual: Sum,
}

impl Part {
    fn new(deposit: Deposit, n_panels: usize, order: usize) -> Self {
        let zeros = vec![0.0; n_panels + order];
        let second = if deposit == Deposit::Outcomes { zeros.clone() } else { Vec::new() };
        Part {
            deposit,
            n_panels: n_panels as f64,
            masses: [zeros, second],
            remainder: 0.0,
            weight: Sum::default(),
            residual: Sum::default(),
        }
    }

    fn add<const ORDER: usize>(&mut self, rows: &Rows) {
        let lagrange = Lagrange::new(ORDER);
        // Plain sums of a chunk, put together with compensation.
        let (mut total, mut residuals, mut remainders) = (0.0, 0.0, 0.0);
        for ((&p, &outcome), &weight) in rows.scores.iter().zip(&rows.outcomes).zip(&rows.weights) {
            let residual = f64::from(u8::from(outcome)) - p;
            let (channel, amount) = match self.deposit {
                Deposit::Residuals => (0, weight * residual),
                Deposit::Outcomes => (usize::from(!outcome), weight),
            };
            remainders += self.spread::<ORDER>(&lagrange, channel, p, amount);
            total += weight;
            residuals += weight * residual;
        }
        self.weight.add(total);
        self.residual.add(residuals);
        self.remainder += remainders;
    }

    /// Masses whose rows have a weight of 1 together.
    fn add_masses<const ORDER: usize>(&mut self, masses: &[(f64, f64)]) {
        let lagrange = Lagrange::new(ORDER);
        self.weight.add(1.0);
        for &(place, amount) in masses {
            self.residual.add(amount);
            self.remainder += self.spread::<ORDER>(&lagrange, 0, place, amount);
        }
    }

    /// Puts an amount on the nodes around its place, and returns what that costs.
    #[inline]
    fn spread<const ORDER: usize>(&mut self, lagrange: &Lagrange, channel: usize, place: f64, amount: f64) -> f64 {
        let position = place * self.n_panels;
        // 1 belongs to the last panel.
        let panel = position.floor().min(self.n_panels - 1.0);
        let x = position - panel - 0.5;
        let (weights, remainder) = (lagrange.weights::<ORDER>(x), Lagrange::remainder::<ORDER>(x));
        let first = panel as usize;
        for (mass, share) in self.masses[channel][first..first + ORDER].iter_mut().zip(&weights) {
            *mass += amount * share;
        }
        amount.abs() * remainder
    }

    fn absorb(&mut self, other: Part) {
        self.masses.merge(other.masses);
        self.remainder += other.remainder;
        self.weight.merge(other.weight);
        self.residual.merge(other.residual);
    }
}
