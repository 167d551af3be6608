//! Options of a sketch, which must be the same for all sketches that are merged.

use crate::measures::binned::EqualWidth;
use crate::measures::ls_ece::{check_clip, check_tolerance};
use crate::names::names;
use crate::setters::setters;
use crate::sketch::LARGEST_LOGIT;
use crate::sketch::layout::Layout;
use crate::{Error, error};

/// Mantissa bits that tell cells apart.
const RESOLUTIONS: std::ops::RangeInclusive<u32> = 6..=20;

/// Mantissa bits unless set.
const RESOLUTION: u32 = 12;

/// From this logit on, probabilities are 1, or less than the 2^-56 that bins keep, whatever the
/// logit is.
const SATURATED: f64 = 40.0;

/// The largest weight of a row has 2 to this power of units.
pub(super) const LARGEST_BITS: u32 = 56;

/// The largest weight of a row, in units.
pub(super) const LARGEST_WEIGHT: f64 = (1u64 << LARGEST_BITS) as f64;

/// What a sketch keeps of the place of a row inside its cell.
///
/// # Example
/// ```
/// use calipers::{Input, Profile, Sketch, SketchOptions};
///
/// let rows = Input::probabilities(&[0.9, 0.2, 0.6], &[1, 0, 1]).check()?;
/// let mut exact = Sketch::new();
/// exact.update(&rows.binary()?)?;
/// let mut small = Sketch::with(&SketchOptions::new().profile(Profile::Monitoring))?;
/// small.update(&rows.binary()?)?;
/// exact.coarsen_to(Profile::Monitoring)?;
/// assert_eq!(exact, small);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Sums of places and of their squares: LS-ECE to a tolerance of 1e-6.
    #[default]
    Exact,
    /// Nothing: a row is taken to be in the middle of its cell of about 2^-12 logits. LS-ECE with
    /// Gaussian noise is off by at most 1.3e-4 / sigma, which is a few hundredths of the noise
    /// floor of 10^4 rows; these take at most 10 KB if they are probabilities.
    Monitoring,
}

names! { Profile, "profile"; Exact = "exact", Monitoring = "monitoring" }

/// How fine a [`Sketch`](crate::Sketch) is, and which binnings it keeps exactly.
///
/// # Example
/// ```
/// use calipers::{Sketch, SketchOptions};
///
/// let sketch = Sketch::with(&SketchOptions::new().serving(1e-6, 0.1))?;
/// assert_eq!(sketch.options().resolution_bits(), 10);
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SketchOptions {
    profile: Profile,
    resolution: u32,
    clip: f64,
    /// Raw scores beyond ± this are taken as this.
    largest_logit: f64,
    /// Ascending, each once.
    n_bins: Vec<usize>,
    /// A weight of 1 is 2^weight_bits units.
    weight_bits: u32,
    /// What is wrong with the arguments of [`serving`](Self::serving), for [`check`](Self::check).
    invalid: Option<Error>,
}

impl Default for SketchOptions {
    fn default() -> Self {
        SketchOptions {
            profile: Profile::Exact,
            resolution: RESOLUTION,
            clip: 1e-6,
            largest_logit: LARGEST_LOGIT,
            n_bins: vec![10, 15],
            weight_bits: 32,
            invalid: None,
        }
    }
}

impl SketchOptions {
    /// Cells of 2^-12 logits, which serve Gaussian noise from sigma 0.02 on to 1e-6 whatever the
    /// data (and typically from 0.01 on); clip 1e-6; 10 and 15 bins of equal width kept exactly;
    /// weights in units of 2^-32.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is kept of the places inside cells, with the default resolution.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self.resolution = RESOLUTION;
        self
    }

    setters! {
        /// Cells of about 2^-bits logits, from 6 to 20 bits.
        resolution: u32;
    }

    /// The exact profile, with the coarsest cells that answer LS-ECE with Gaussian noise and
    /// logistic link to within `tolerance`, for any data and any sigma from `smallest_sigma` on.
    ///
    /// # Bound
    /// By `cells/atoms.rs` a cell of width w costs at most 0.0437 w³ (N_3 + 3 N_2 + 4 N_1), the
    /// first factor being the largest value of v (r + √v) / 6 for the variance v and reach r of
    /// points in a unit cell; w is at most 4/3 of 2^-bits. Half of the tolerance is left to the
    /// integral.
    pub fn serving(mut self, tolerance: f64, smallest_sigma: f64) -> Self {
        self.profile = Profile::Exact;
        let s = smallest_sigma;
        let sigma_is_valid =
            || Error::require((1e-9..=1e6).contains(&s), "smallest_sigma", "in [1e-9, 1e6]", error::number(s));
        self.invalid = check_tolerance(tolerance).and_then(|()| sigma_is_valid()).err();
        let derivative = 1.5101 / s.powi(3) + 3.0 * 0.9679 / s.powi(2) + 4.0 * 0.7979 / s;
        let cost = |bits: u32| 0.0437 * (4.0 / 3.0 * 2f64.powi(-(bits as i32))).powi(3) * derivative;
        let fits = |bits: &u32| cost(*bits) <= 0.5 * tolerance;
        // Where none fits, the finest does what it can, and answers say how much that is.
        self.resolution = RESOLUTIONS.into_iter().find(fits).unwrap_or(*RESOLUTIONS.end());
        self
    }

    setters! {
        /// Probabilities are clipped to [clip, 1 - clip] when they come in; 1e-6 unless set.
        clip: f64;

        /// Raw scores are taken to be in [-logit, logit] when they come in; 708 unless set, from 40
        /// to 708. There are no cells beyond, so that this limits how large a sketch of raw scores
        /// can become. From 40 on probabilities are 0 or 1 to the last bit; what the place of such
        /// rows changes in LS-ECE is part of its bound.
        largest_logit: f64;
    }

    /// Numbers of equal-width bins whose sums are kept exactly; 10 and 15 unless set.
    pub fn n_bins(mut self, n_bins: &[usize]) -> Self {
        self.n_bins = n_bins.to_vec();
        self.n_bins.sort_unstable();
        self.n_bins.dedup();
        self
    }

    setters! {
        /// Weights are kept as multiples of 2^-bits; 32 unless set, for weights of about 1. Weights
        /// go up to 2^(56 - bits).
        weight_bits: u32;
    }

    /// What is kept of the places inside cells.
    pub fn profile_value(&self) -> Profile {
        self.profile
    }

    /// Mantissa bits that tell cells apart.
    pub fn resolution_bits(&self) -> u32 {
        self.resolution
    }

    /// The clip.
    pub fn clip_value(&self) -> f64 {
        self.clip
    }

    /// Raw scores beyond ± this are taken as this.
    pub fn largest_logit_value(&self) -> f64 {
        self.largest_logit
    }

    /// Numbers of equal-width bins that are kept exactly, ascending.
    pub fn declared_bins(&self) -> &[usize] {
        &self.n_bins
    }

    /// A weight of 1 is 2 to the power of this many units.
    pub fn weight_unit_bits(&self) -> u32 {
        self.weight_bits
    }

    /// These options with cells and profile no finer than those of others.
    pub(super) fn no_finer_than(&self, other: &SketchOptions) -> Self {
        let is_monitoring = [self.profile, other.profile].contains(&Profile::Monitoring);
        SketchOptions {
            profile: if is_monitoring { Profile::Monitoring } else { Profile::Exact },
            resolution: self.resolution.min(other.resolution),
            ..self.clone()
        }
    }

    pub(super) fn layout(&self) -> Layout {
        Layout::new(self.profile, self.resolution, self.weight_bits)
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.invalid.clone().map_or(Ok(()), Err)?;
        check_clip(self.clip)?;
        let valid = (SATURATED..=LARGEST_LOGIT).contains(&self.largest_logit);
        Error::require(valid, "largest_logit", "from 40 to 708", error::number(self.largest_logit))?;
        Error::require(RESOLUTIONS.contains(&self.resolution), "resolution", "from 6 to 20", self.resolution)?;
        Error::require(self.weight_bits <= 64, "weight_bits", "from 0 to 64", self.weight_bits)?;
        Error::require(self.n_bins.len() <= 16, "n_bins", "at most 16 numbers", self.n_bins.len())?;
        self.n_bins.iter().try_for_each(|n_bins| EqualWidth::check(*n_bins))
    }

    /// What stands in the way of merging, but for profile and resolution, which the finer of two
    /// gives up.
    pub(super) fn check_mergeable(&self, other: &SketchOptions) -> Result<(), Error> {
        let number = error::number;
        let options = [
            ("clip", number(self.clip), number(other.clip)),
            ("largest_logit", number(self.largest_logit), number(other.largest_logit)),
            ("n_bins", format!("{:?}", self.n_bins), format!("{:?}", other.n_bins)),
            ("weight_bits", self.weight_bits.to_string(), other.weight_bits.to_string()),
        ];
        match options.into_iter().find(|(_, ours, theirs)| ours != theirs) {
            Some((what, ours, theirs)) => Err(Error::UnlikeSketches { what, ours, theirs }),
            None => Ok(()),
        }
    }
}
