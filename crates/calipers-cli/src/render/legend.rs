//! What every table shares: names of its rows, how they were measured, which columns were guessed,
//! and what its notes mean.

use std::collections::BTreeSet;
use std::path::Path;

use calipers::{Adjust, Assessment, Estimate, InputReport, Multiclass, Setting, Ties};

use crate::dataset::files;
use crate::dataset::model::Measured;
use crate::render::screen::Screen;
use crate::render::{grouped, number, wrap};

/// A file's name without its extension.
pub(crate) fn stem(name: &Path) -> String {
    match name.file_stem() {
        Some(stem) if !files::is_standard_input(name) => stem.to_string_lossy().into_owned(),
        _ => files::shown(name),
    }
}

/// The shortest names that tell each row from all others.
pub(crate) fn names<F>(results: &[Measured<F>]) -> Vec<String> {
    let models: BTreeSet<(&Path, Option<&str>)> =
        results.iter().map(|measured| (measured.file(), measured.prob())).collect();
    let files: BTreeSet<&Path> = models.iter().map(|(file, _)| *file).collect();
    let stems: BTreeSet<String> = files.iter().map(|file| stem(file)).collect();
    let name = |measured: &Measured<F>| {
        let mut file = if stems.len() == files.len() { stem(measured.file()) } else { files::shown(measured.file()) };
        if measured.files.len() > 1 {
            file += &format!(" and {} more", measured.files.len() - 1);
        }
        let several_models = models.range((measured.file(), None)..).take_while(|(file, _)| *file == measured.file());
        let model = match (several_models.count() > 1, files.len()) {
            (false, _) => file,
            (true, 1) => measured.prob().unwrap_or_default().to_owned(),
            (true, _) => format!("{file} {}", measured.prob().unwrap_or_default()),
        };
        let Some(group) = &measured.group else { return model };
        let key = group.key.as_deref().map_or("all", self::key);
        if models.len() > 1 { format!("{model} {key}") } else { key.to_owned() }
    };
    results.iter().map(|measured| crate::printable(&name(measured))).collect()
}

/// The value of a group, which is empty where the column has none.
pub(crate) fn key(key: &str) -> &str {
    if key.is_empty() { "(none)" } else { key }
}

/// Characters in a line of a heading, so that it is hardly wider than what is under it.
const HEADING: usize = 12;

/// A long name as the heading of a column, in several lines.
pub(crate) fn heading(name: &str) -> String {
    wrap::lines(name, &['_', '-', ' ', '.'], HEADING, 0).join("\n")
}

/// The heading of adjusted p-values.
pub(crate) fn p_adjusted(adjust: Adjust) -> String {
    format!("p ({})", adjust.title())
}

/// What that column means, of groups or classes.
pub(crate) fn adjusted_for(what: &str, adjust: Adjust) -> String {
    let rate = match adjust {
        Adjust::Holm => "",
        Adjust::Bh => " by Benjamini and Hochberg, for the share of findings that are false",
        Adjust::By => " by Benjamini and Yekutieli, for the share of findings that are false",
    };
    format!("{}: p adjusted for the number of {what}{rate}.\n", p_adjusted(adjust))
}

/// The column that tells groups apart, if that is what the names are.
pub(crate) fn by<F>(results: &[Measured<F>]) -> Option<String> {
    results.first().and_then(|measured| measured.group.as_ref()).map(|group| crate::printable(&group.by.to_string()))
}

/// Which rows were read, and what is measured of several classes, if it is the same for all.
fn rows_read<F>(results: &[Measured<F>]) -> String {
    let limits = results.iter().filter_map(|measured| measured.columns.as_ref()).map(|columns| columns.rules.limit());
    let limit = limits.filter(|limit| *limit < u64::MAX).min();
    let limited = limit.map(|limit| format!("Only the first {} rows of each file were read.\n", number::count(limit)));
    let selected = match (all_alike(results), results.first().map(Measured::multiclass)) {
        (true, Some(Multiclass::TopClass)) => {
            "Measured on the top class: its probability, and whether it is the label.\n".to_owned()
        }
        (true, Some(Multiclass::Classwise)) => {
            "Measured for each class against the rest; values are means over the classes.\n".to_owned()
        }
        (true, Some(Multiclass::AllClasses)) => "Measured over all classes together.\n".to_owned(),
        (true, Some(Multiclass::Class(class))) => {
            let names = results.iter().map(|measured| measured.class_name(class));
            let name = names.reduce(|a, b| a.filter(|_| a == b)).flatten();
            let name = name.map_or(String::new(), |name| format!(", {},", crate::printable(name)));
            format!("Measured on class {class}{name} against the rest.\n")
        }
        _ => String::new(),
    };
    limited.unwrap_or_default() + &selected
}

/// How rows of several classes are measured, in short.
pub(crate) fn view<F>(measured: &Measured<F>) -> Option<String> {
    match measured.multiclass() {
        Multiclass::Auto => None,
        Multiclass::TopClass => Some("top class".to_owned()),
        Multiclass::Classwise => Some("mean over classes".to_owned()),
        Multiclass::AllClasses => Some("all classes together".to_owned()),
        Multiclass::Class(class) => Some(format!("class {class}")),
    }
}

pub(crate) fn all_alike<F>(results: &[Measured<F>]) -> bool {
    results.windows(2).all(|pair| pair[0].multiclass() == pair[1].multiclass())
}

/// `15 clipped`, unless there are none.
pub(crate) fn counted(n: u64, what: &str) -> Option<String> {
    (n > 0).then(|| format!("{} {what}", number::count(n)))
}

/// What was tied, rounded or inexact; [`left_out`](super::left_out) has what was left out.
pub(crate) fn of_input(input: &InputReport) -> impl Iterator<Item = String> {
    let sums = counted(input.n_inexact_sums, "inexact sums");
    let notes = [counted(input.n_ties, "tied"), counted(input.n_rounded, "rounded"), sums];
    notes.into_iter().flatten()
}

/// What floor and p are.
pub(crate) fn floor(n_resamples: u64) -> String {
    format!(
        "floor: the value that a perfectly calibrated model would get on the same data by chance alone, as mean ± \
         standard deviation of {} resamples. p: how often such a model would get at least the value.\n",
        number::count(n_resamples)
    )
}

/// Which measures are of all classes together, where others are not.
pub(crate) fn all_classes<'a>(estimates: impl Iterator<Item = &'a Estimate>) -> String {
    let (together, others): (Vec<&Estimate>, Vec<&Estimate>) =
        estimates.partition(|estimate| estimate.settings.get("n_classes").is_some());
    if together.is_empty() || others.is_empty() {
        return String::new();
    }
    let names: BTreeSet<&str> = together.iter().map(|estimate| estimate.measure()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    format!("{}: over all classes together, and not of the top class.\n", names.join(", "))
}

/// What the numerical bound is.
pub(crate) const BOUND: &str = "num. ±: a bound on the numerical error; chance is not part of it.\n";

/// Why an interval can be below the value.
pub(crate) const BIASED: &str =
    "An interval or limit that ends below its value: chance adds to the value, and the interval is without that part.";

/// What the direction is.
pub(crate) const DIRECTION: &str = "direction: which way predictions are off, and by how much, if the data show it; without the bias that chance adds.\n";

pub(crate) const SIGMA_DIFFERS: &str = "Sigma differs between the predictions. Pass one --sigma to compare them.\n";

/// What clipped rows are.
pub(crate) fn clipped(clip: Option<f64>) -> String {
    let clip = clip.map_or(String::new(), |clip| format!(" closer than {clip:e} to 0 or 1, moved to that distance,"));
    format!("clipped: rows with a probability{clip} since 0 and 1 have no finite logit.\n")
}

/// What stands under every table: which rows were read, what [`of_input`] means as far as there is
/// any, and which columns were found by name.
pub(crate) fn under<'a, F>(
    results: &[Measured<F>],
    names: &[String],
    mut inputs: impl Iterator<Item = &'a InputReport> + Clone,
) -> String {
    let rule = match results.first().map(Measured::ties) {
        Some(Ties::Any) => "the prediction is right if the label is any of them",
        _ => "the first of them counts",
    };
    let tied = inputs.clone().any(|input| input.n_ties > 0);
    let rounded = inputs.clone().any(|input| input.n_rounded > 0);
    let inexact = inputs.any(|input| input.n_inexact_sums > 0);
    let lines = [
        rows_read(results),
        if tied { format!("tied: rows with several top classes; {rule}.\n") } else { String::new() },
        if rounded { ROUNDED.to_owned() } else { String::new() },
        if inexact { INEXACT_SUMS.to_owned() } else { String::new() },
        guesses(results, names),
    ];
    lines.concat()
}

const ROUNDED: &str = "rounded: probabilities outside [0, 1] by no more than rounding, read as 0 or 1.\n";

const INEXACT_SUMS: &str =
    "inexact sums: rows whose class probabilities sum to 1 only within --sum-tolerance, used as given.\n";

/// Which columns were found by name: a line for all files, or one for each kind of them.
fn guesses<F>(results: &[Measured<F>], names: &[String]) -> String {
    let guessed = results
        .iter()
        .map(|measured| measured.columns.as_ref().map_or(String::new(), |columns| columns.guessed.join(", ")));
    let kinds = grouped(guessed.zip(names.iter().cloned()));
    let several = kinds.len() > 1;
    let lines = kinds.into_iter().filter(|(guessed, _)| !guessed.is_empty()).map(|(guessed, names)| match several {
        false => format!("{guessed}\n"),
        true => format!("{guessed} ({})\n", few(&names)),
    });
    lines.collect()
}

/// Each reason for something that is not available once, with all measures, and models if there are
/// several, that it is about.
pub(crate) fn reasons<'a>(
    all: impl Iterator<Item = ((&'a str, String), &'a str, &'a String)>,
    several_models: bool,
    screen: &Screen,
) -> String {
    let named = all.map(|(reason, what, model)| {
        (reason, if several_models { format!("{what} of {model}") } else { what.to_owned() })
    });
    let line = |((absent, reason), all): &((&str, String), Vec<String>)| {
        let all = if several_models { few(all) } else { all.join(", ") };
        screen.reason(&crate::printable(&format!("{absent}: {all}: {reason}")))
    };
    grouped(named).iter().map(line).collect()
}

/// At most two names, and how many more there are.
pub(crate) fn few(names: &[String]) -> String {
    match names {
        [first, _, _, ..] => format!("{first} and {} more", names.len() - 1),
        _ => names.join(", "),
    }
}

/// Settings that are chosen from the data, or that distinguish values of one measure.
const NOTED: [&str; 7] = ["sigma", "bandwidth", "width", "n_bins", "norm", "compat", "n_classes"];

/// Settings that were chosen from the data, and what was clipped.
pub(crate) fn settings(estimate: &Estimate) -> String {
    let equal_mass = estimate.settings.text("strategy") == Some("quantile");
    let setting = |name: &&str| {
        Some(match (*name, estimate.settings.get(name)?) {
            ("n_bins", Setting::Count(1)) => "1 bin".to_owned(),
            ("n_bins", n_bins) if equal_mass => format!("{n_bins} bins of equal mass"),
            ("n_bins", n_bins) => format!("{n_bins} bins"),
            ("norm" | "compat", Setting::Text(plain)) if matches!(plain.as_str(), "l1" | "none") => return None,
            ("compat", package) => format!("as {package}"),
            ("n_classes", n_classes) => format!("over all {n_classes} classes"),
            (name, Setting::Number(value)) => format!("{name} {}", number::significant(*value)),
            (name, value) => format!("{name} {value}"),
        })
    };
    let clipped = counted(estimate.n_clipped, "clipped");
    NOTED.iter().filter_map(setting).chain(clipped).collect::<Vec<_>>().join(", ")
}

/// Why assessments have no floor, each reason once, and in how many clusters their rows are.
pub(crate) fn floors_and_clusters<'a>(assessments: impl Iterator<Item = &'a Assessment>) -> String {
    let all: Vec<&Assessment> = assessments.collect();
    let reasons: BTreeSet<&str> = all.iter().filter_map(|assessment| assessment.unavailable).collect();
    let reasons = reasons.iter().map(|reason| format!("The floor is not available: {reason}.\n")).collect::<String>();
    reasons + &all.iter().find_map(|assessment| assessment.n_clusters).map_or(String::new(), clusters)
}

pub(crate) fn clusters(n: u64) -> String {
    format!("The rows are in {} clusters.\n", number::count(n))
}
