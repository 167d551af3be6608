//! Sums of shifted copies of a kernel, directly where that is cheap and by FFT where it is not.

use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

use super::dispatch::dispatched;

/// Samples of a kernel at the offsets `-reach..=reach`.
#[derive(Debug, Clone)]
pub(crate) struct Taps {
    reach: usize,
    values: Vec<f64>,
    /// Sum of |values|.
    norm: f64,
    /// Whether taps at the same distance on both sides are equal, and are taken together.
    folded: bool,
}

/// The values of a convolution, and a bound on the sum of their absolute errors beyond what summing
/// so many terms in any order costs.
pub(crate) struct Convolved {
    pub(crate) values: Vec<f64>,
    pub(crate) extra_error: f64,
}

impl Taps {
    pub(crate) fn new(reach: usize, sample: impl Fn(f64) -> f64) -> Self {
        let values: Vec<f64> = (0..=2 * reach).map(|k| sample(k as f64 - reach as f64)).collect();
        let norm = values.iter().map(|value| value.abs()).sum();
        Taps { reach, values, norm, folded: false }
    }

    /// The same, with sums of the two masses that a tap and its mirror image meet: a quarter less
    /// work where the kernel is symmetric.
    pub(crate) fn folded(self) -> Self {
        let folded = self.values.iter().eq(self.values.iter().rev());
        Taps { folded, ..self }
    }

    /// The squares of the samples.
    pub(crate) fn squared(&self) -> Self {
        let values: Vec<f64> = self.values.iter().map(|value| value * value).collect();
        Taps { reach: self.reach, norm: values.iter().sum(), values, folded: false }
    }

    pub(crate) fn reach(&self) -> usize {
        self.reach
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// `out[i] = Σ_j masses[j] · tap(i + reach - j)`: masses start `reach` nodes before the output,
    /// and there are `2 reach` more of them.
    pub(crate) fn convolve(&self, masses: &[f64]) -> Convolved {
        let n_out = masses.len() - 2 * self.reach;
        let n_masses = masses.iter().filter(|mass| **mass != 0.0).count();
        let fft_cost = 40 * masses.len().next_power_of_two();
        if 4 * n_masses < masses.len() && n_masses * self.len().min(n_out) <= fft_cost {
            Convolved { values: self.scatter(masses, n_out), extra_error: 0.0 }
        } else if n_out * self.len() <= 4 * fft_cost {
            let gather = if self.folded { gather_folded } else { gather };
            Convolved { values: gather(&self.values, masses), extra_error: 0.0 }
        } else {
            self.transform(masses, n_out)
        }
    }

    fn scatter(&self, masses: &[f64], n_out: usize) -> Vec<f64> {
        let mut out = vec![0.0; n_out];
        for (j, &mass) in masses.iter().enumerate().filter(|(_, mass)| **mass != 0.0) {
            // out[i] gets tap(i + reach - j), whose index is i + 2 reach - j
            let first = j.saturating_sub(2 * self.reach);
            let last = (j + 1).min(n_out);
            if first < last {
                let taps = &self.values[first + 2 * self.reach - j..][..last - first];
                for (value, tap) in out[first..last].iter_mut().zip(taps) {
                    *value += mass * tap;
                }
            }
        }
        out
    }

    /// # Accuracy
    /// With twiddle factors that are off by up to 7u (u = 2^-53; measured: 6.4u), each of the log2
    /// N levels of a transform adds at most 16u: the transform of the masses is off by
    /// `16 u log2 N · |masses|₂` in the Euclidean norm (Higham 2002, theorem 24.2), that of the
    /// taps by `16 u log2 N · |taps|₁` in each component, and their product and the way back by as
    /// much again: `64 u log2 N · |masses|₂ · |taps|₁` in all. A sum of N absolute values is at
    /// most √N times their Euclidean norm.
    fn transform(&self, masses: &[f64], n_out: usize) -> Convolved {
        let n = masses.len().next_power_of_two();
        let signal = Transform::new(self, n).apply(masses);
        // Index 2 reach is the first whose taps all met their masses; wrapped ones come before it.
        let values = signal[2 * self.reach..][..n_out].to_vec();
        let mass_norm = masses.iter().map(|mass| mass * mass).sum::<f64>().sqrt();
        let relative = 64.0 * f64::EPSILON / 2.0 * f64::from(n.ilog2());
        Convolved { values, extra_error: (n as f64).sqrt() * relative * mass_norm * self.norm }
    }
}

/// A kernel that is made ready for many convolutions of one length.
pub(crate) struct Smoother {
    taps: Taps,
    n_out: usize,
    way: Way,
}

/// How it is done.
enum Way {
    Direct,
    Transform(Transform),
    /// All taps are alike but for the two at the ends, which are half of them: running sums.
    Running,
}

/// Plans and the spectrum of the kernel, divided by the length.
struct Transform {
    forward: Arc<dyn RealToComplex<f64>>,
    backward: Arc<dyn ComplexToReal<f64>>,
    kernel: Vec<Complex<f64>>,
}

impl Transform {
    fn new(taps: &Taps, n: usize) -> Self {
        let mut planner = RealFftPlanner::<f64>::new();
        let (forward, backward) = (planner.plan_fft_forward(n), planner.plan_fft_inverse(n));
        let mut signal = vec![0.0; n];
        signal.iter_mut().zip(&taps.values).for_each(|(value, tap)| *value = tap / n as f64);
        let mut kernel = forward.make_output_vec();
        // proof: the buffers were made by the plans themselves, or as long as they say
        forward.process(&mut signal, &mut kernel).expect("lengths fit"); // proof: as above
        Transform { forward, backward, kernel }
    }

    /// The circular convolution with the kernel.
    fn apply(&self, masses: &[f64]) -> Vec<f64> {
        let mut signal = self.forward.make_input_vec();
        signal[..masses.len()].copy_from_slice(masses);
        let mut spectrum = self.forward.make_output_vec();
        // proof: the buffers were made by the plans themselves
        self.forward.process(&mut signal, &mut spectrum).expect("lengths fit"); // proof: as above
        spectrum.iter_mut().zip(&self.kernel).for_each(|(value, factor)| *value *= factor);
        self.backward.process(&mut spectrum, &mut signal).expect("lengths fit"); // proof: as above
        signal
    }
}

impl Smoother {
    /// For `n_out` values, from masses that start `reach` nodes before them and end as many after.
    pub(crate) fn new(taps: Taps, n_out: usize) -> Self {
        let n = (n_out + 2 * taps.reach).next_power_of_two();
        let height = taps.values[taps.reach];
        let is_flat = taps.reach > 8
            && taps.values[1..2 * taps.reach].iter().all(|tap| *tap == height)
            && [taps.values[0], taps.values[2 * taps.reach]] == [0.5 * height; 2];
        let way = match n_out * taps.len() > 160 * n {
            _ if is_flat => Way::Running,
            true => Way::Transform(Transform::new(&taps, n)),
            false => Way::Direct,
        };
        Smoother { taps, n_out, way }
    }

    pub(crate) fn reach(&self) -> usize {
        self.taps.reach
    }

    /// As many masses as a convolution takes, all 0.
    pub(crate) fn no_masses(&self) -> Vec<f64> {
        vec![0.0; self.n_out + 2 * self.taps.reach]
    }

    /// As [`Taps::convolve`], without its bound.
    pub(crate) fn convolve(&self, masses: &[f64]) -> Vec<f64> {
        debug_assert_eq!(masses.len(), self.n_out + 2 * self.taps.reach);
        match &self.way {
            Way::Direct => gather(&self.taps.values, masses),
            Way::Running => self.running(masses),
            Way::Transform(transform) => transform.apply(masses)[2 * self.taps.reach..][..self.n_out].to_vec(),
        }
    }

    /// The convolution of a few masses in a row, from where it begins: `2 reach` places before the
    /// first of them among outputs.
    pub(crate) fn convolve_few(&self, masses: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; masses.len() + 2 * self.taps.reach];
        for (place, mass) in masses.iter().enumerate() {
            out[place..].iter_mut().zip(&self.taps.values).for_each(|(value, tap)| *value += mass * tap);
        }
        out
    }

    /// Half of the sums with and half of those without both ends.
    fn running(&self, masses: &[f64]) -> Vec<f64> {
        let (height, width) = (self.taps.values[self.taps.reach], self.taps.len());
        let mut before = Vec::with_capacity(masses.len() + 1);
        before.push(0.0);
        let mut sum = 0.0;
        before.extend(masses.iter().map(|mass| {
            sum += mass;
            sum
        }));
        let halved = |i: usize| (before[i + width] - before[i]) + (before[i + width - 1] - before[i + 1]);
        (0..self.n_out).map(|i| 0.5 * height * halved(i)).collect()
    }
}

dispatched! {
    /// The sums themselves, output by output, as many side by side as registers hold.
    fn gather / gather_portable(taps: &[f64], masses: &[f64]) -> Vec<f64> {
        const LANES: usize = 16;
        let n_out = masses.len() + 1 - taps.len();
        let mut out = vec![0.0; n_out];
        if n_out < LANES {
            for (start, out) in out.iter_mut().enumerate() {
                *out = taps.iter().rev().zip(&masses[start..]).fold(0.0, |sum, (tap, mass)| sum + tap * mass);
            }
            return out;
        }
        for block in 0..n_out.div_ceil(LANES) {
            // The last block has some outputs once more, rather than a few one by one.
            let start = (block * LANES).min(n_out - LANES);
            let mut sums = [0.0; LANES];
            for (place, tap) in taps.iter().rev().enumerate() {
                let masses = &masses[start + place..][..LANES];
                for lane in 0..LANES {
                    sums[lane] += tap * masses[lane];
                }
            }
            out[start..start + LANES].copy_from_slice(&sums);
        }
        out
    }
}

dispatched! {
    /// The same for a kernel that is symmetric.
    fn gather_folded / gather_folded_portable(taps: &[f64], masses: &[f64]) -> Vec<f64> {
        const LANES: usize = 16;
        let (reach, n_out) = (taps.len() / 2, masses.len() + 1 - taps.len());
        if n_out < LANES {
            return gather(taps, masses);
        }
        let mut out = vec![0.0; n_out];
        for block in 0..n_out.div_ceil(LANES) {
            let start = (block * LANES).min(n_out - LANES);
            let masses = &masses[start..][..LANES + 2 * reach];
            let mut sums = [0.0; LANES];
            for (place, tap) in taps[..reach].iter().enumerate() {
                let (before, after) = (&masses[place..][..LANES], &masses[2 * reach - place..][..LANES]);
                for lane in 0..LANES {
                    sums[lane] += tap * (before[lane] + after[lane]);
                }
            }
            let (tap, masses) = (taps[reach], &masses[reach..][..LANES]);
            for lane in 0..LANES {
                sums[lane] += tap * masses[lane];
            }
            out[start..start + LANES].copy_from_slice(&sums);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the accuracy of `transform` stands on: each component of a transform, for each of its
    /// inputs.
    #[test]
    fn a_transform_is_off_by_16_units_of_rounding_for_each_level() {
        for n in [1usize << 10, 1 << 13, 1 << 17] {
            let plan = RealFftPlanner::<f64>::new().plan_fft_forward(n);
            for place in [1, 7, n / 3, n - 1] {
                let mut impulse = vec![0.0; n];
                impulse[place] = 1.0;
                let mut spectrum = plan.make_output_vec();
                plan.process(&mut impulse, &mut spectrum).unwrap();
                let allowed = 16.0 * f64::EPSILON / 2.0 * f64::from(n.ilog2());
                for (k, value) in spectrum.iter().enumerate() {
                    let (sine, cosine) = (std::f64::consts::TAU * ((k * place % n) as f64 / n as f64)).sin_cos();
                    let error = (value.re - cosine).hypot(value.im + sine);
                    assert!(error <= allowed, "length {n}, place {place}, component {k}: {error:e}");
                }
            }
        }
    }

    #[test]
    fn all_ways_give_the_sum_of_shifted_kernels() {
        let taps = Taps::new(50, |x| (-0.01 * (x - 3.0) * (x - 3.0)).exp());
        let masses: Vec<f64> = (0..700).map(|i| f64::from(i * i % 31) - 11.0).collect();
        let direct = taps.scatter(&masses, 600);
        let gathered = gather(&taps.values, &masses);
        assert_eq!(gathered, gather_portable(&taps.values, &masses));
        assert!(!taps.clone().folded().folded);
        let bell = Taps::new(50, |x| (-0.01 * x * x).exp()).folded();
        assert!(bell.folded);
        let folded = gather_folded(&bell.values, &masses);
        assert_eq!(folded, gather_folded_portable(&bell.values, &masses));
        for (folded, gathered) in folded.iter().zip(gather(&bell.values, &masses)) {
            assert!((folded - gathered).abs() < 1e-11);
        }
        let fast = taps.transform(&masses, 600);
        for (i, value) in direct.iter().enumerate() {
            let sum: f64 =
                (0..700).filter(|&j| (i + 50).abs_diff(j) <= 50).map(|j| masses[j] * taps.values[i + 100 - j]).sum();
            assert!((value - sum).abs() < 1e-11 && (gathered[i] - sum).abs() < 1e-11);
        }
        let error: f64 = direct.iter().zip(&fast.values).map(|(a, b)| (a - b).abs()).sum();
        assert!(error <= fast.extra_error, "{error} > {}", fast.extra_error);
    }

    #[test]
    fn a_kernel_made_ready_gives_the_same_sums_in_every_way() {
        let masses: Vec<f64> = (0..9000).map(|i| f64::from(i * i % 31) - 11.0).collect();
        let flat = |reach: f64| move |x: f64| if x.abs() == reach { 1.5 } else { 3.0 };
        let bell = |x: f64| (-1e-5 * (x - 3.0) * (x - 3.0)).exp();
        for taps in [Taps::new(20, bell), Taps::new(500, bell), Taps::new(20, flat(20.0)), Taps::new(500, flat(500.0))]
        {
            let n_out = masses.len() - 2 * taps.reach;
            let smoother = Smoother::new(taps.clone(), n_out);
            assert_eq!(smoother.no_masses().len(), masses.len());
            let found = smoother.convolve(&masses);
            let expected = gather(&taps.values, &masses);
            let largest = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(found.len() == n_out && largest < 1e-8, "{largest}");
        }
    }
}
