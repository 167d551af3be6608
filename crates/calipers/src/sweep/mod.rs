//! ECE by the number of bins beside LS-ECE by sigma: how much of the value is due to the choice of
//! bins?

mod chance;
mod from_sketch;
mod levels;
mod verdict;

pub use levels::TiedJump;
pub use verdict::{Extent, SamplingNoise, Verdict};

use std::sync::Arc;

use crate::Error;
use crate::data::{Binary, BinaryView, InputReport, Sample};
use crate::link::{Link, Logistic};
use crate::measure::{Estimate, Measure, Settings};
use crate::measures::SmoothEce;
use crate::measures::binned::{BinnedEce, Compat, Strategy};
use crate::measures::ls_ece::{LsEce, check_clip, check_tolerance};
use crate::noise::{Gaussian, Noise};
use crate::numerics::parallel;
use crate::setters::setters;
use crate::watch;
use chance::{Binnings, Ranges};
use levels::Ordered;
use verdict::JUDGED;

/// Draws of the outcomes.
const N_DRAWS: usize = 200;

/// The largest number of bin counts.
const MOST_BIN_COUNTS: usize = 1000;

/// A sweep: binned ECE over numbers of bins, LS-ECE over as many sigmas, and whether the first is
/// brittle.
///
/// # Definition
/// For each number of bins B: ECE with B bins of equal width and of equal mass ([`BinnedEce`]), and
/// LS-ECE at sigma = 1/B ([`LsEce`]). Beside them smECE ([`SmoothEce`]), which has nothing to
/// choose, and the jump that ties hide ([`TiedJump`]). The [`Verdict`] looks at the numbers of bins
/// from 10 to 100. ECE is brittle if its range over them, R, exceeds that of LS-ECE over the same
/// 1/sigma, and chance does not explain R. The effect of chance is the range that a perfectly
/// calibrated model with the same predictions has over the same bins, in 200 resamples of the
/// outcomes:
/// ```text
/// R' = [max_B - min_B] Σ_b |Σ_(i in b) s_i (y'_i - p_i)|,      y'_i = 1 with probability p_i
/// ```
/// with s_i the shares of the weight. Chance does not explain R if R exceeds twice the sampling
/// noise, which is the mean of R', and if the p-value (1 + number of draws with R' >= R) / (1 +
/// 200) is at most 0.05 after adjustment for the two kinds of bins (Holm).
///
/// Up to 20,000 rows (of positive weight), every y'_i is drawn. With more, the number of unlikely
/// outcomes (those against p_i) is drawn for each cell into which the edges of all bins cut [0, 1]
/// together: as a binomial number where at most 20 are expected, as a normal one beyond.
///
/// # Assumptions
/// Independent rows, for sampling noise and p-values alone.
///
/// # Cost
/// One sort; then O(n) for each number of bins and each sigma. The draws add 200 passes over up to
/// 20,000 rows; beyond, one pass, and from there on they depend on the number of bins alone.
///
/// # Accuracy
/// Every value is that of its own measure, to within its numerical bound; ranges are compared
/// beyond those bounds. A calibrated model is called brittle in at most 5 % of samples, whatever
/// its probabilities: few rows, rare events and ties included. This holds exactly where outcomes
/// are drawn row by row. The factor of two is no test: ranges vary little about their mean where
/// many bins share in them, but rare events or scores on a coarse grid leave a few sums, and then
/// chance alone exceeds twice the mean in up to a third of samples; the p-value is for those. The
/// sampling noise has a standard error of a few per cent. All draws are the same for the same seed,
/// on any number of threads.
///
/// # Reference
/// Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit Smoothing",
/// 2024, section 6.
///
/// # Example
/// Every prediction is 1/2, and every second outcome is 1: ECE is 0 with any bins.
/// ```
/// use calipers::{Input, Sweep, Verdict};
///
/// let (p, y) = ([0.5; 4], [0, 1, 0, 1]);
/// let predictions = Input::probabilities(&p, &y).check()?;
/// let sweep = Sweep::new().run(&predictions.binary()?)?;
/// assert_eq!(sweep.points[0].ece_uniform.value, 0.0);
/// assert_eq!(sweep.verdict, Verdict::Stable);
/// // All four are tied: were they split, each would be off by 1/2.
/// let ties = sweep.ties.unwrap();
/// assert_eq!((ties.n_tied, ties.jump), (4, 0.5));
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sweep {
    bins: Vec<usize>,
    noise: Arc<dyn Noise>,
    link: Arc<dyn Link>,
    tolerance: f64,
    clip: f64,
    compat: Option<Compat>,
    random_state: u64,
}

impl Default for Sweep {
    fn default() -> Self {
        Sweep {
            bins: std::iter::once(1).chain((10..=100).step_by(10)).collect(),
            noise: Arc::new(Gaussian),
            link: Arc::new(Logistic),
            tolerance: 1e-6,
            clip: crate::measures::ls_ece::DEFAULT_CLIP,
            compat: None,
            random_state: 0,
        }
    }
}

/// The values for one number of bins.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SweepPoint {
    /// The number of bins, B.
    pub n_bins: usize,
    /// ECE with B bins of equal width.
    pub ece_uniform: Estimate,
    /// ECE with B bins of equal mass; `None` where the tool whose edges are reproduced has none.
    pub ece_quantile: Option<Estimate>,
    /// LS-ECE at sigma = 1/B.
    pub ls_ece: Estimate,
}

/// What a [`Sweep`] finds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SweepResult {
    /// In ascending order of the number of bins, each once.
    pub points: Vec<SweepPoint>,
    /// smECE, the same for any number of bins; `None` for a sketch, since it needs the rows.
    pub smooth_ece: Option<Estimate>,
    /// The range of ECE with bins of equal width over 10 to 100 bins; `None` if none of those was
    /// requested.
    pub range_uniform: Option<Extent>,
    /// The same, with bins of equal mass.
    pub range_quantile: Option<Extent>,
    /// The range of LS-ECE over the same 1/sigma.
    pub range_ls_ece: Option<Extent>,
    /// What chance alone would do.
    pub sampling_noise: SamplingNoise,
    /// What ties hide; `None` for a sketch.
    pub ties: Option<TiedJump>,
    /// Whether ECE is brittle.
    pub verdict: Verdict,
    /// Rows.
    pub n: u64,
    /// What was read, rounded, tied and left out.
    pub input: InputReport,
    /// Every option that made it.
    pub settings: Settings,
}

impl Sweep {
    /// 1, 10, 20, ..., 100 bins; Gaussian noise, logistic link.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The numbers of bins, in any order.
        bins: into Vec<usize>;

        /// The distribution of the noise of LS-ECE.
        noise: shared IntoNoise;

        /// The link between logits and probabilities.
        link: shared IntoLink;

        /// The largest numerical error of LS-ECE that is accepted.
        tolerance: f64;

        /// For LS-ECE, probabilities are clipped to [clip, 1 - clip].
        clip: f64;

        /// The bin edges of another tool.
        compat: into Option<Compat>;

        /// The seed of the sampling noise.
        random_state: u64;
    }

    /// Checks the numbers of bins, the tolerance and the clip, before there are any rows.
    /// [`run`](Sweep::run) does so too.
    pub fn check(&self) -> Result<(), Error> {
        check_tolerance(self.tolerance)?;
        check_clip(self.clip)?;
        self.counts().map(drop)
    }

    /// Sweeps over the rows of a view, or over those of a sketch, whose clip is that of LS-ECE.
    ///
    /// # Accuracy
    /// Of a sketch, ECE is exact for equal-width bins that it has declared; else its bound has the
    /// cells that an edge runs through, and ranges are compared beyond those bounds. The draws of
    /// chance are those of sums of cells, each cell in the bin that its mean is in or, with bins of
    /// equal mass, that it begins in.
    pub fn run<'s>(&self, sample: impl Into<Sample<'s>>) -> Result<SweepResult, Error> {
        match sample.into().binary("a sweep")? {
            Binary::Rows(view) => self.of_rows(view),
            Binary::Sketch(sketch) => self.of_sketch(sketch),
        }
    }

    fn of_rows(&self, view: &BinaryView<'_>) -> Result<SweepResult, Error> {
        self.check()?;
        let counts = self.counts()?;
        // Numbers of bins take about as long as draws.
        watch::expect_draws((counts.len() + N_DRAWS) as u64);
        let ordered = Ordered::new(view, &*self.link)?;
        let (binned, smoothed) = rayon::join(|| self.binned(view, &ordered, &counts), || self.smoothed(view, &counts));
        let (binned, (smooth_ece, ls_eces)) = (binned?, smoothed?);

        let mut points = Vec::with_capacity(counts.len());
        let (mut uniform, mut quantile) = (Vec::new(), Vec::new());
        for ((&n_bins, binned), ls_ece) in counts.iter().zip(binned).zip(ls_eces) {
            if JUDGED.contains(&n_bins) {
                uniform.push(binned.uniform.1);
                quantile.extend(binned.quantile.as_ref().map(|(_, starts)| starts.clone()));
            }
            let ece_quantile = binned.quantile.map(|(estimate, _)| estimate);
            points.push(SweepPoint { n_bins, ece_uniform: binned.uniform.0, ece_quantile, ls_ece });
        }
        let shares = ordered.shares();
        let rows = chance::Rows { probabilities: ordered.probabilities(), shares: &shares };
        let binnings = Binnings::new([&uniform, &quantile]);
        let drawn = binnings.draw(&rows, N_DRAWS, self.random_state);
        let observed = binnings.observed(&rows, ordered.outcomes());
        let found = self.judge(points, &drawn, |_| observed, view.len() as u64, view.report());
        Ok(SweepResult { smooth_ece: Some(smooth_ece), ties: Some(ordered.ties()), ..found })
    }

    /// The result for these points, without what only rows can tell; `observed` has the ranges with
    /// bins of equal width and of equal mass to compare with those of `drawn`.
    fn judge(
        &self,
        points: Vec<SweepPoint>,
        drawn: &Ranges<2>,
        observed: impl FnOnce([Option<Extent>; 2]) -> [f64; 2],
        n: u64,
        input: &InputReport,
    ) -> SweepResult {
        let judged = || points.iter().filter(|point| JUDGED.contains(&point.n_bins));
        let range_uniform = Extent::of(judged().map(|point| &point.ece_uniform));
        let range_quantile = Extent::of(judged().filter_map(|point| point.ece_quantile.as_ref()));
        let range_ls_ece = Extent::of(judged().map(|point| &point.ls_ece));
        let observed = observed([range_uniform, range_quantile]);
        let has_quantile = points.iter().all(|point| point.ece_quantile.is_some());
        let sampling_noise = SamplingNoise::new(drawn, observed, has_quantile, N_DRAWS, self.random_state);
        let verdict = Verdict::new(judged().count(), [range_uniform, range_quantile, range_ls_ece], &sampling_noise);
        SweepResult {
            smooth_ece: None,
            range_uniform,
            range_quantile,
            range_ls_ece,
            sampling_noise,
            ties: None,
            verdict,
            n,
            input: input.clone(),
            settings: self.settings(&points),
            points,
        }
    }

    fn ece(&self, n_bins: usize, strategy: Strategy) -> BinnedEce {
        BinnedEce::new().n_bins(n_bins).strategy(strategy).compat(self.compat).link(self.link.clone())
    }

    fn ls_ece(&self) -> LsEce {
        let ls_ece = LsEce::new().tolerance(self.tolerance).clip(self.clip);
        ls_ece.noise(self.noise.clone()).link(self.link.clone())
    }

    /// The numbers of bins in order, each once.
    fn counts(&self) -> Result<Vec<usize>, Error> {
        let rule = format!("1 to {MOST_BIN_COUNTS} numbers of bins, each from 1 to 1000000");
        let mut counts = self.bins.clone();
        counts.sort_unstable();
        counts.dedup();
        let n_is_valid = (1..=MOST_BIN_COUNTS).contains(&counts.len());
        Error::require(n_is_valid, "bins", &rule, format!("{} numbers", counts.len()))?;
        match counts.iter().find(|count| !(1..=1_000_000).contains(*count)) {
            Some(count) => Err(Error::setting("bins", rule, count)),
            None => Ok(counts),
        }
    }

    fn binned(&self, view: &BinaryView<'_>, ordered: &Ordered, counts: &[usize]) -> Result<Vec<Binned>, Error> {
        let sums = ordered.sums();
        let in_order = ordered.predictions()?;
        let in_order = in_order.binary()?;
        let probabilities = ordered.probabilities();
        let binned = |n_bins: usize| {
            watch::draw_begins();
            let measure = |strategy| self.ece(n_bins, strategy);
            // Another tool's edges may depend on the type that probabilities came in; rows in order
            // are sorted in no time.
            let quantile = match (self.compat, &sums) {
                (Some(_), _) => measure(Strategy::Quantile).estimate_and_starts(view, probabilities),
                (None, Some(sums)) => sums.equal_mass(&measure(Strategy::Quantile), n_bins, view),
                (None, None) => {
                    let found = measure(Strategy::Quantile).estimate_and_starts(&in_order, probabilities);
                    found.map(|(estimate, starts)| (of_all_rows(estimate, view), starts))
                }
            };
            let quantile = match quantile {
                // A tool without bins of equal mass rejects the strategy, whatever the rows.
                Err(Error::InvalidSetting { name: "strategy", .. }) => None,
                found => Some(found?),
            };
            Ok(Binned { uniform: measure(Strategy::Uniform).estimate_and_starts(view, probabilities)?, quantile })
        };
        parallel::map(counts.len(), |index| binned(counts[index])).into_iter().collect()
    }

    fn smoothed(&self, view: &BinaryView<'_>, counts: &[usize]) -> Result<(Estimate, Vec<Estimate>), Error> {
        let smooth_ece = SmoothEce::new().link(self.link.clone()).estimate(view)?;
        let sigmas: Vec<f64> = counts.iter().map(|n_bins| 1.0 / *n_bins as f64).collect();
        Ok((smooth_ece, self.ls_ece().estimate_at(view, &sigmas)?))
    }

    fn settings(&self, points: &[SweepPoint]) -> Settings {
        let counts: Vec<String> = points.iter().map(|point| point.n_bins.to_string()).collect();
        Settings::default()
            .with("bins", counts.join(",").as_str())
            .with("noise", self.noise.name())
            .with("link", self.link.name())
            .with("tolerance", self.tolerance)
            .with("clip", self.clip)
            .with("compat", self.compat.map_or("none", Compat::name))
            .with("n_draws", N_DRAWS as u64)
            .with("random_state", self.random_state)
    }
}

/// ECE for one number of bins, and where the bins start among the ordered rows.
struct Binned {
    uniform: (Estimate, Vec<usize>),
    quantile: Option<(Estimate, Vec<usize>)>,
}

/// The estimate of the rows in order, as one of the view: what was left out and how scores were
/// rounded is the view's.
fn of_all_rows(estimate: Estimate, view: &BinaryView<'_>) -> Estimate {
    Estimate {
        n: view.len() as u64,
        numerical_bound: estimate.numerical_bound + view.score_error(1.0),
        input: view.report().clone(),
        ..estimate
    }
}
