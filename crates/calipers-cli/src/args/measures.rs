//! The options of LS-ECE and of binned ECE, and the measures that they make.

use std::sync::Arc;

use calipers::{
    BinnedEce, Compat, Error, Link, LsEce, NBins, Noise, Norm, Settings, Sigma, SketchOptions, Spec, Strategy, link,
    noise,
};
use clap::Args;

use super::values::{named, one_of};

/// Cells of a sketch that replaces the rows of a file: a finer one needs hundreds of megabytes.
const FINEST_RESOLUTION: u32 = 14;

/// The number of bins of the measures that have no option for it.
const N_BINS: usize = 15;

/// The options of the measures that have any.
#[derive(Debug, Args)]
pub(crate) struct OptionArgs {
    /// Scale of the noise on the logits: a number, or auto (chosen from the data)
    #[arg(long, value_name = "X", default_value = "auto", allow_negative_numbers = true)]
    #[arg(value_parser = one_of::<Sigma>(&["auto"]), hide_possible_values = true, help_heading = "LS-ECE")]
    sigma: Sigma,

    #[command(flatten)]
    smoothing: SmoothingArgs,

    /// Number of bins, or auto (the cube root of the number of rows)
    #[arg(long, value_name = "N", default_value = "15", allow_negative_numbers = true)]
    #[arg(value_parser = one_of::<NBins>(&["auto"]), hide_possible_values = true, help_heading = "ECE")]
    n_bins: NBins,

    /// Bins of equal width (uniform) or of equal mass (quantile)
    #[arg(long, value_name = "NAME", default_value = "uniform", help_heading = "ECE")]
    #[arg(value_parser = one_of::<Strategy>(Strategy::NAMES))]
    strategy: Strategy,

    /// How the gaps of all bins are combined: their mean (l1, ECE), the root of their mean square
    /// (l2, RMSCE) or the largest (max, MCE)
    #[arg(long, value_name = "NAME", default_value = "l1", help_heading = "ECE")]
    #[arg(value_parser = one_of::<Norm>(Norm::NAMES))]
    norm: Norm,

    /// Use the bin edges of another package, to reproduce its values
    #[arg(long, value_name = "PACKAGE", help_heading = "ECE")]
    #[arg(value_parser = one_of::<Compat>(Compat::NAMES))]
    compat: Option<Compat>,
}

/// Options of measures that have no flag of their own.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Measures")]
pub(crate) struct NamedOptionArgs {
    /// An option of a measure, as smoother=loess; repeat it for further ones. `calipers list` has
    /// the options of each measure. Every selected measure that has the option uses it, except
    /// ls_ece, residual_ls_ece and expected_calibration_error, which have the flags below
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = named_option)]
    options: Vec<NamedOption>,
}

/// An option as it was typed.
#[derive(Debug, Clone)]
struct NamedOption {
    name: String,
    value: String,
}

fn named_option(text: &str) -> Result<NamedOption, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok(NamedOption { name: name.trim().replace('-', "_"), value: value.trim().to_owned() })
        }
        _ => Err("must be NAME=VALUE, as smoother=loess".to_owned()),
    }
}

impl NamedOptionArgs {
    /// Those that the measure has, with values of the type that it takes.
    pub(crate) fn of(&self, spec: &Spec) -> Result<Settings, Error> {
        let mut settings = Settings::default();
        // The last one counts, as for other options.
        for NamedOption { name, value } in self.options.iter().rev() {
            if let Some(option) = spec.option(name).filter(|option| settings.get(option.name).is_none()) {
                settings = settings.with(option.name, option.parse(value)?);
            }
        }
        Ok(settings)
    }

    /// The value of an option that is not one of a measure, and the others.
    pub(crate) fn split_off(&self, name: &str) -> (Option<&str>, Self) {
        let (own, others): (Vec<_>, Vec<_>) = self.options.iter().partition(|option| option.name == name);
        let others = NamedOptionArgs { options: others.into_iter().cloned().collect() };
        (own.last().map(|option| option.value.as_str()), others)
    }

    /// Rejects an option that no measure uses.
    pub(crate) fn check(&self, used_by: &[&Spec], with_flags: &[&Spec]) -> Result<(), Error> {
        let has = |specs: &[&Spec], name: &str| specs.iter().any(|spec| spec.option(name).is_some());
        let Some(unused) = self.options.iter().find(|option| !has(used_by, &option.name)) else { return Ok(()) };
        let of_measure = |spec: &&Spec| {
            let names: Vec<&str> = spec.options.iter().map(|option| option.name).collect();
            (!names.is_empty()).then(|| format!("{} ({})", names.join(", "), spec.name))
        };
        let known: Vec<String> = used_by.iter().filter_map(of_measure).collect();
        let rule = match known.is_empty() {
            true => "left out, since all options of the selected measures are flags (see --help)".to_owned(),
            false => format!("one that a selected measure has: {}", known.join("; ")),
        };
        let flag = match has(with_flags, &unused.name) {
            true => format!("; pass --{}", unused.name.replace('_', "-")),
            false => String::new(),
        };
        Err(Error::InvalidSetting { name: "option", rule, value: format!("{:?}{flag}", unused.name) })
    }
}

/// How LS-ECE smooths, but for sigma.
#[derive(Debug, Args)]
#[command(next_help_heading = "LS-ECE")]
pub(crate) struct SmoothingArgs {
    /// Distribution of the noise on the logits
    #[arg(long, value_name = "NAME", default_value = "gaussian", value_parser = named(&noise::NAMES, noise::by_name))]
    pub(crate) noise: Arc<dyn Noise>,

    /// Link between logits and probabilities. All measures use it except those of Cox's regression
    /// (calibration_slope and others), which is logistic
    #[arg(long, value_name = "NAME", default_value = "logistic", value_parser = named(&link::NAMES, link::by_name))]
    pub(crate) link: Arc<dyn Link>,

    /// Largest numerical error of LS-ECE that is accepted
    #[arg(long, value_name = "X", default_value = "1e-6", allow_negative_numbers = true)]
    pub(crate) tolerance: f64,

    /// For LS-ECE, clip probabilities to [X, 1 - X], since 0 and 1 have no finite logit
    #[arg(long, value_name = "X", default_value = "1e-6", allow_negative_numbers = true)]
    pub(crate) clip: f64,
}

impl OptionArgs {
    pub(crate) fn ls_ece(&self) -> LsEce {
        let SmoothingArgs { noise, link, tolerance, clip } = &self.smoothing;
        LsEce::new().sigma(self.sigma).noise(noise.clone()).link(link.clone()).tolerance(*tolerance).clip(*clip)
    }

    pub(crate) fn binned_ece(&self) -> BinnedEce {
        let ece = BinnedEce::new().n_bins(self.n_bins).strategy(self.strategy).norm(self.norm);
        ece.compat(self.compat).link(self.link())
    }

    pub(crate) fn link(&self) -> Arc<dyn Link> {
        self.smoothing.link.clone()
    }

    pub(crate) fn clip(&self) -> f64 {
        self.smoothing.clip
    }

    /// The definition of LS-ECE (`start` is what it takes the size of), unless it is that of its
    /// [`Spec`](calipers::Spec).
    pub(crate) fn smoothed_definition(&self, start: &str) -> Option<String> {
        let noise = self.smoothing.noise.name();
        (noise != noise::NAMES[0]).then(|| format!("{start} {noise} noise of scale sigma on the logits"))
    }

    /// The definition of ECE, unless it is that of its [`Spec`](calipers::Spec).
    pub(crate) fn binned_definition(&self) -> Option<String> {
        let gaps = match self.norm {
            Norm::L1 => "mean gap |mean y - mean p|",
            Norm::L2 => "root of the mean squared gap",
            Norm::Max => "largest gap",
        };
        let n_bins = match self.n_bins {
            NBins::Fixed(n_bins) => n_bins.to_string(),
            NBins::Auto => "n^(1/3)".to_owned(),
        };
        let equal = if self.strategy == Strategy::Quantile { "mass" } else { "width" };
        let edges = self.compat.map_or(String::new(), |package| format!(", edges as {}", package.name()));
        let plain = (NBins::Fixed(N_BINS), Strategy::Uniform, Norm::L1, None);
        ((self.n_bins, self.strategy, self.norm, self.compat) != plain)
            .then(|| format!("{gaps} over {n_bins} bins of equal {equal}{edges}"))
    }

    /// The number of bins that a sketch has to keep; `None` if sums of bins of equal width are not
    /// enough.
    pub(crate) fn n_bins_of_a_sketch(&self) -> Option<usize> {
        match self.n_bins {
            NBins::Fixed(n_bins) if self.strategy == Strategy::Uniform && self.compat.is_none() => Some(n_bins),
            _ => None,
        }
    }

    /// A sketch small enough to replace the rows, and fine enough for sigma and tolerance; `None`
    /// if there is none.
    pub(crate) fn sketch_options(&self) -> Option<SketchOptions> {
        let SmoothingArgs { noise, link, tolerance, clip } = &self.smoothing;
        let has_bound = matches!(noise.name(), "gaussian" | "logistic") && link.name() == "logistic";
        let options = match self.sigma {
            Sigma::Auto => SketchOptions::new().resolution(FINEST_RESOLUTION),
            Sigma::Value(sigma) => SketchOptions::new().serving(*tolerance, sigma),
        };
        let n_bins = self.n_bins_of_a_sketch()?;
        (has_bound && options.resolution_bits() <= FINEST_RESOLUTION)
            .then(|| options.clip(*clip).n_bins(&[n_bins, N_BINS]))
    }
}

/// The range of sigma, for an option that is one. Written so that NaN fails.
pub(crate) fn check_sigma(name: &'static str, sigma: f64) -> Result<(), Error> {
    if (1e-9..=1e6).contains(&sigma) {
        return Ok(());
    }
    Err(Error::InvalidSetting { name, rule: "in [1e-9, 1e6]".to_owned(), value: sigma.to_string() })
}
