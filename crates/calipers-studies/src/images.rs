//! Section 6.2: ECE by bins beside LS-ECE by noise, for models that were trained on images.

mod figures;
mod findings;
mod measured;
mod ranking;

use calipers::{BinaryView, Error, SmoothEce, SweepResult};

use crate::summary::Mean;
use crate::table::{fixed, full};
use crate::{Page, Setting, Table};

/// The name of the study in `calipers study`.
pub const NAME: &str = "images";

/// The subject of the study, in one line.
pub const ABOUT: &str =
    "ECE by bins, LS-ECE by noise and smECE of your own models, one file each (Figures cifarplots, imagenetplot)";

/// Models with predictions for the same rows.
#[derive(Debug)]
pub struct Group<'a> {
    /// Letters, digits, `.`, `-` and `_`: it is part of the names of files.
    pub name: String,
    /// At least one, each with a name of its own.
    pub models: Vec<Model<'a>>,
}

/// A model's predictions.
#[derive(Debug)]
pub struct Model<'a> {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub view: BinaryView<'a>,
}

/// The values of one model.
struct Measured {
    name: String,
    /// Without the words that all names of the group have.
    short: String,
    sweep: SweepResult,
    /// smECE as relplot computes it.
    relplot: f64,
    points: Vec<Point>,
}

/// One number of bins, and sigma = 1/bins.
struct Point {
    n_bins: usize,
    ece: f64,
    gaussian: LsEces,
    uniform: LsEces,
}

/// LS-ECE with one noise: the integral, and the paper's sampling of it.
struct LsEces {
    integral: f64,
    bound: f64,
    sampled: f64,
    standard_error: f64,
}

/// The study: a section for each group.
pub fn run(groups: &[Group<'_>], setting: &Setting) -> Result<Page, Error> {
    check(groups)?;
    let mut page = Page::new(NAME, "Models on images: ECE by bins, LS-ECE by noise, smECE", setting);
    page.text(&format!(
        "The paper's Section 6.2 and its appendix (Figures cifarplots, imagenetplot, imagenetplotuniform). For {}: ECE \
         with the edges of netcal, as in the paper's code, and LS-ECE at sigma = 1/bins, as the integral (to 1e-6) and by the \
         paper's sampling with {} samples. Noise is Gaussian, or uniform with sigma its full width. smECE is exact; \
         the table also has the value of relplot, which the paper's code calls. Standard deviations are over models, with their number as the divisor.",
        counts(&bins(setting)),
        n_samples(setting),
    ));
    page.text(
        "The noise of the samples and the smoothing kernel are the same distribution. (The paper's code draws its uniform noise from [-sigma/2, sigma/2] \
         and smooths with a kernel that is twice as wide.) For plain probabilities, LS-ECE takes those above 1 - 1e-6 as 1 - 1e-6, \
         since the logit of 1 is infinite; raw scores have finite logits and are taken as they are.",
    );
    page.text(&format!(
        "The criteria were fixed before the values were computed: \"nearly the same\" is a range of at most {} from 10 to 100 bins, \
         \"tracks closely\" and \"near-identical\" a mean absolute difference of at most {} at every number of bins.",
        findings::SAME,
        findings::CLOSE,
    ));
    let mut measured = Vec::new();
    for group in groups {
        measured.push(measured::group(group, setting)?);
    }
    for (group, models) in groups.iter().zip(&measured) {
        section(&mut page, &group.name, models, setting);
    }
    page.heading("Tables for programs");
    page.text("The first file has the values by model and number of bins, the second the means over models by number of bins, and the third the values by model:");
    page.csv("points", &points(groups, &measured));
    page.csv("differences", &differences(groups, &measured));
    page.csv("models", &per_model(groups, &measured));
    Ok(page)
}

fn bins(setting: &Setting) -> Vec<usize> {
    setting.pick((0..=10).map(|tens| (10 * tens).max(1)).collect(), vec![1, 10, 40, 70, 100])
}

fn n_samples(setting: &Setting) -> u64 {
    setting.pick(10_000, 1_000)
}

fn check(groups: &[Group<'_>]) -> Result<(), Error> {
    let invalid = |name, rule: &str, value: &str| {
        Err(Error::InvalidSetting { name, rule: rule.to_owned(), value: format!("{value:?}") })
    };
    if groups.is_empty() || groups.iter().any(|group| group.models.is_empty()) {
        return invalid("models", "at least one in each group", "none");
    }
    for (place, group) in groups.iter().enumerate() {
        let safe = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        if group.name.is_empty() || !group.name.chars().all(safe) {
            return invalid("group", "letters from a to z, digits, ., - and _", &group.name);
        }
        if groups[..place].iter().any(|other| other.name.eq_ignore_ascii_case(&group.name)) {
            return invalid("group", "unlike all others, also in upper case", &group.name);
        }
        for (place, model) in group.models.iter().enumerate() {
            if group.models[..place].iter().any(|other| other.name == model.name) {
                return invalid("model", "unlike all others of its group", &model.name);
            }
        }
    }
    Ok(())
}

fn section(page: &mut Page, group: &str, models: &[Measured], setting: &Setting) {
    page.heading(group);
    let n_rows: Vec<u64> = models.iter().map(|model| model.sweep.n).collect();
    let rows = match n_rows.iter().all(|n| *n == n_rows[0]) {
        true => format!("{} rows", n_rows[0]),
        false => format!("{} to {} rows", n_rows.iter().min().unwrap_or(&0), n_rows.iter().max().unwrap_or(&0)),
    };
    let named = match measured::common(models) {
        Some(words) => format!(" Names are shown without their common parts: {words}."),
        None => String::new(),
    };
    page.text(&format!("Models: {}; {rows}.{named}", models.len()));
    figures::lines(page, group, models);
    findings::little_change(page, group, models);
    let mut table =
        Table::new(["model", "ECE, 10 to 100 bins", "range", "range by chance", "LS-ECE range", "smECE", "sweep says"]);
    for model in models {
        let (ece, ls_ece) = (model.range_ece(), model.range_ls_ece());
        table.row([
            model.short.clone(),
            format!("{} to {}", fixed(ece.0, 4), fixed(ece.1, 4)),
            fixed(ece.1 - ece.0, 4),
            fixed(model.sweep.sampling_noise.uniform, 4),
            fixed(ls_ece.1 - ls_ece.0, 4),
            fixed(model.smooth_ece(), 4),
            model.sweep.verdict.name().to_owned(),
        ]);
    }
    page.table(&table);
    findings::verdicts(page, group, models);
    ranking::findings(page, group, models);
    figures::sampling(page, group, models, n_samples(setting));
    figures::sampling_error(page, group, models, n_samples(setting));
    findings::wiggle(page, group, models, n_samples(setting));
    figures::differences(page, group, models);
    findings::closeness(page, group, models);
    page.table(&difference_table(models));
}

/// A difference from ECE: of one model at one number of bins.
type Difference = fn(&Measured, &Point) -> f64;

/// The differences that are told, with their names in CSV.
const DIFFERENCES: [(&str, Difference); 6] = [
    ("ls_ece_gaussian", |_, point| (point.ece - point.gaussian.integral).abs()),
    ("ls_ece_gaussian_sampled", |_, point| (point.ece - point.gaussian.sampled).abs()),
    ("ls_ece_uniform", |_, point| (point.ece - point.uniform.integral).abs()),
    ("ls_ece_uniform_sampled", |_, point| (point.ece - point.uniform.sampled).abs()),
    (SmoothEce::NAME, |model, point| (point.ece - model.smooth_ece()).abs()),
    ("smooth_ece_relplot", |model, point| (point.ece - model.relplot).abs()),
];

/// Mean and standard deviation over models of a difference, by bins.
fn over_models(models: &[Measured], difference: Difference) -> Vec<(usize, f64, f64)> {
    (0..models[0].points.len())
        .map(|place| {
            let values: Vec<f64> = models.iter().map(|model| difference(model, &model.points[place])).collect();
            let mean = Mean::of(&values);
            (models[0].points[place].n_bins, mean.value, mean.deviation)
        })
        .collect()
}

fn difference_table(models: &[Measured]) -> Table {
    let names = ["LS-ECE", "LS-ECE sampled", "LS-ECE uniform", "LS-ECE uniform sampled", "smECE", "smECE by relplot"];
    let names = names.map(|name| format!("|ECE - {name}|"));
    let mut table = Table::new(["bins".to_owned()].into_iter().chain(names));
    let columns = DIFFERENCES.map(|(_, difference)| over_models(models, difference));
    for place in 0..columns[0].len() {
        let cells = columns.iter().map(|column| {
            let (_, mean, deviation) = column[place];
            format!("{} ± {}", fixed(mean, 4), fixed(deviation, 4))
        });
        table.row([columns[0][place].0.to_string()].into_iter().chain(cells));
    }
    table
}

fn points(groups: &[Group<'_>], measured: &[Vec<Measured>]) -> Table {
    let noises = ["gaussian", "uniform"].map(|noise| {
        [
            format!("ls_ece_{noise}"),
            format!("ls_ece_{noise}_bound"),
            format!("ls_ece_{noise}_sampled"),
            format!("ls_ece_{noise}_standard_error"),
        ]
    });
    let first = ["group", "model", "bins", "sigma", "ece"].map(str::to_owned);
    let mut table = Table::new(first.into_iter().chain(noises.concat()));
    for (group, models) in groups.iter().zip(measured) {
        for model in models {
            for point in &model.points {
                let mut row = vec![group.name.clone(), model.name.clone(), point.n_bins.to_string()];
                row.extend([full(1.0 / point.n_bins as f64), full(point.ece)]);
                for noise in [&point.gaussian, &point.uniform] {
                    row.extend([noise.integral, noise.bound, noise.sampled, noise.standard_error].map(full));
                }
                table.row(row);
            }
        }
    }
    table
}

fn differences(groups: &[Group<'_>], measured: &[Vec<Measured>]) -> Table {
    let names = DIFFERENCES.map(|(name, _)| [format!("{name}_mean"), format!("{name}_deviation")]);
    let mut table = Table::new(["group", "bins"].map(str::to_owned).into_iter().chain(names.concat()));
    for (group, models) in groups.iter().zip(measured) {
        let columns = DIFFERENCES.map(|(_, difference)| over_models(models, difference));
        for (place, point) in models[0].points.iter().enumerate() {
            let mut row = vec![group.name.clone(), point.n_bins.to_string()];
            row.extend(columns.iter().flat_map(|column| [full(column[place].1), full(column[place].2)]));
            table.row(row);
        }
    }
    table
}

fn per_model(groups: &[Group<'_>], measured: &[Vec<Measured>]) -> Table {
    let mut table = Table::new([
        "group",
        "model",
        "n",
        "n_clipped",
        SmoothEce::NAME,
        "smooth_ece_relplot",
        "ece_least",
        "ece_greatest",
        "ece_range_by_chance",
        "ls_ece_least",
        "ls_ece_greatest",
        "verdict",
        "sentence",
    ]);
    for (group, models) in groups.iter().zip(measured) {
        for model in models {
            let (ece, ls_ece) = (model.range_ece(), model.range_ls_ece());
            let n_clipped = model.sweep.points.first().map_or(0, |point| point.ls_ece.n_clipped);
            let mut row = vec![group.name.clone(), model.name.clone(), model.sweep.n.to_string()];
            row.extend([n_clipped.to_string(), full(model.smooth_ece()), full(model.relplot)]);
            row.extend([ece.0, ece.1, model.sweep.sampling_noise.uniform, ls_ece.0, ls_ece.1].map(full));
            row.extend([model.sweep.verdict.name().to_owned(), model.sweep.sentence()]);
            table.row(row);
        }
    }
    table
}

/// Numbers of bins in words: `1, 10 and 20 bins`.
fn counts(bins: &[usize]) -> String {
    let texts: Vec<String> = bins.iter().map(usize::to_string).collect();
    match &texts[..] {
        [one] if one == "1" => "1 bin".to_owned(),
        [others @ .., last] if !others.is_empty() => format!("{} and {last} bins", others.join(", ")),
        _ => format!("{} bins", texts.concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn counts_read_as_words() {
        let cases: [(&[usize], &str); 4] =
            [(&[1], "1 bin"), (&[10], "10 bins"), (&[1, 10], "1 and 10 bins"), (&[1, 10, 20], "1, 10 and 20 bins")];
        for (bins, words) in cases {
            assert_eq!(counts(bins), words);
        }
    }
}
