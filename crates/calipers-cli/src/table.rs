//! The table for people, and the words under it.

use std::collections::BTreeSet;
use std::path::Path;

use calipers::{Estimate, Multiclass, Ties};
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};

use crate::measured::Measured;
use crate::number;

pub(crate) fn render(results: &[Measured]) -> String {
    let names = names(results);
    [table(results, &names), "\n".to_owned(), explanation(results), glossary(results), guesses(results, &names)]
        .concat()
}

fn table(results: &[Measured], names: &[String]) -> String {
    let (alike, one_n_bins) = (all_alike(results), n_bins(results).is_some());
    let notes: Vec<String> = results.iter().map(|measured| notes(measured, alike, one_n_bins)).collect();
    let has_notes = notes.iter().any(|notes| !notes.is_empty());
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_style(TableComponent::HeaderLines, '-').set_style(TableComponent::MiddleHeaderIntersections, '-');
    let ece = ece_name(results);
    let by = results.first().and_then(|measured| measured.group.as_ref()).map(|group| crate::printable(&group.by));
    let mut header = vec![by.as_deref().unwrap_or("predictions"), "n", "LS-ECE", "num. ±", "sigma", ece.as_str()];
    header.extend(has_notes.then_some("notes"));
    table.set_header(header);
    for ((measured, name), notes) in results.iter().zip(names).zip(notes) {
        let mut row = vec![
            name.clone(),
            number::count(measured.ls_ece.n),
            number::significant(measured.ls_ece.value),
            number::bound(measured.ls_ece.numerical_bound),
            sigma(&measured.ls_ece),
            number::significant(measured.ece.value),
        ];
        row.extend(has_notes.then_some(notes));
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if (1..=5).contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The shortest names that tell each row from all others.
fn names(results: &[Measured]) -> Vec<String> {
    let stem = |path: &Path| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let models: BTreeSet<(&Path, Option<&str>)> =
        results.iter().map(|measured| (measured.file(), measured.prob())).collect();
    let files: BTreeSet<&Path> = models.iter().map(|(file, _)| *file).collect();
    let stems: BTreeSet<String> = files.iter().map(|file| stem(file)).collect();
    let name = |measured: &Measured| {
        let mut file = match stems.len() == files.len() {
            true => stem(measured.file()),
            false => measured.file().display().to_string(),
        };
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
        let key = match &group.key {
            None => "all",
            Some(key) if key.is_empty() => "(none)",
            Some(key) => key,
        };
        if models.len() > 1 { format!("{model} {key}") } else { key.to_owned() }
    };
    results.iter().map(|measured| crate::printable(&name(measured))).collect()
}

fn sigma(estimate: &Estimate) -> String {
    if let Some(sigma) = estimate.settings.number("sigma") {
        return number::significant(sigma);
    }
    let sigmas = || estimate.per_class.iter().filter_map(|class| class.settings.number("sigma"));
    let (least, most) = (sigmas().fold(f64::INFINITY, f64::min), sigmas().fold(0.0, f64::max));
    format!("{least:.2}..{most:.2}")
}

fn text<'a>(estimate: &'a Estimate, name: &str) -> &'a str {
    estimate.settings.text(name).unwrap_or_default()
}

/// The heading of the binned figure, with what makes it differ from others of its name.
fn ece_name(results: &[Measured]) -> String {
    let Some(first) = results.first().map(|measured| &measured.ece) else { return "ECE".to_owned() };
    let name = match text(first, "norm") {
        "l2" => "RMSCE",
        "max" => "MCE",
        _ => "ECE",
    };
    let n_bins = n_bins(results).map_or("auto".to_owned(), |n_bins| n_bins.to_string());
    let mass = if text(first, "strategy") == "quantile" { " equal-mass" } else { "" };
    let compat = match text(first, "compat") {
        "none" => String::new(),
        tool => format!(", as {tool}"),
    };
    let bins = if n_bins == "1" { "bin" } else { "bins" };
    format!("{name} ({n_bins}{mass} {bins}{compat})")
}

/// The number of bins, if all rows have the same.
fn n_bins(results: &[Measured]) -> Option<f64> {
    let n_bins = |measured: &Measured| measured.ece.settings.number("n_bins");
    let first = results.first().and_then(n_bins);
    first.filter(|_| results.iter().all(|measured| n_bins(measured) == first))
}

/// What was clipped, tied, rounded or left out, and what sets this row apart from others.
fn notes(measured: &Measured, alike: bool, one_n_bins: bool) -> String {
    let input = &measured.ls_ece.input;
    let counted = |n: u64, what: &str| (n > 0).then(|| format!("{} {what}", number::count(n)));
    let kinds: Vec<String> = input.left_out.iter().map(|(kind, n)| format!("{} {kind}", number::count(*n))).collect();
    let notes = [
        (!alike).then(|| view(measured)).flatten(),
        (!one_n_bins).then(|| format!("{} bins", measured.ece.settings.number("n_bins").unwrap_or_default())),
        counted(measured.ls_ece.n_clipped, "clipped"),
        counted(input.n_ties, "tied"),
        counted(input.n_rounded, "rounded"),
        counted(input.n_left_out(), "left out").map(|note| format!("{note} ({})", kinds.join(", "))),
    ];
    notes.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Which question was asked of rows of classes, in short.
fn view(measured: &Measured) -> Option<String> {
    match measured.multiclass() {
        Multiclass::Auto => None,
        Multiclass::TopClass => Some("top class".to_owned()),
        Multiclass::Classwise => Some("mean over classes".to_owned()),
        Multiclass::Class(class) => Some(format!("class {class}")),
    }
}

fn all_alike(results: &[Measured]) -> bool {
    results.windows(2).all(|pair| pair[0].multiclass() == pair[1].multiclass())
}

fn sigmas_differ(results: &[Measured]) -> bool {
    let sigma = |measured: &Measured| measured.ls_ece.settings.number("sigma");
    results.windows(2).any(|pair| sigma(&pair[0]) != sigma(&pair[1]))
}

/// What the figures mean, for one who has never seen them.
fn explanation(results: &[Measured]) -> String {
    let Some(first) = results.first() else { return String::new() };
    let asked = match (all_alike(results), first.multiclass()) {
        (true, Multiclass::TopClass) => {
            "Measured on the top class: its probability, and whether it was right.\n".to_owned()
        }
        (true, Multiclass::Classwise) => {
            "Measured class by class against the rest: means over the classes.\n".to_owned()
        }
        (true, Multiclass::Class(class)) => format!("Measured on class {class} against the rest.\n"),
        _ => String::new(),
    };
    let rule = if text(&first.ls_ece, "sigma_rule") == "auto" { "by rule (auto)" } else { "as given" };
    format!(
        "LS-ECE: the mean gap between predicted probability and observed frequency, smoothed; 0 is perfect.\n\
         num. ± bounds its numerical error, not chance. Noise {}, link {}, sigma {rule}.\n{}{asked}",
        text(&first.ls_ece, "noise"),
        text(&first.ls_ece, "link"),
        if sigmas_differ(results) {
            "Sigma differs from row to row: to compare rows, give all one --sigma.\n"
        } else {
            ""
        },
    )
}

/// What the notes mean, as far as there are any.
fn glossary(results: &[Measured]) -> String {
    let any = |count: fn(&Measured) -> u64| results.iter().any(|measured| count(measured) > 0);
    let first = results.first().map(|measured| &measured.ls_ece);
    let clip = first.and_then(|figure| figure.settings.number("clip")).unwrap_or_default();
    let rule = match results.first().map(Measured::ties) {
        Some(Ties::Any) => "right if the label is any of them",
        _ => "the first of them counts",
    };
    let lines = [
        any(|measured| measured.ls_ece.n_clipped).then(|| {
            format!(
                "clipped: closer than {clip:e} to 0 or 1, so moved to that distance: 0 and 1 have no finite logit\n"
            )
        }),
        any(|measured| measured.ls_ece.input.n_ties).then(|| format!("tied: rows with several top classes; {rule}\n")),
        any(|measured| measured.ls_ece.input.n_rounded)
            .then(|| "rounded: outside [0, 1] by at most 1e-6, and taken as 0 or 1\n".to_owned()),
    ];
    lines.into_iter().flatten().collect()
}

/// Where columns were guessed, a line that says which; where files differ, a line for each kind of them.
fn guesses(results: &[Measured], names: &[String]) -> String {
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    for (measured, name) in results.iter().zip(names) {
        let guessed = measured.columns.as_ref().map_or(String::new(), |columns| columns.guessed.join(", "));
        match kinds.iter_mut().find(|(kind, _)| *kind == guessed) {
            Some((_, names)) => names.push(name.clone()),
            None => kinds.push((guessed, vec![name.clone()])),
        }
    }
    let several = kinds.len() > 1;
    let lines =
        kinds.into_iter().filter(|(guessed, _)| !guessed.is_empty()).map(|(guessed, names)| match names.len() {
            _ if !several => format!("{guessed}\n"),
            1..=2 => format!("{guessed} ({})\n", names.join(", ")),
            more => format!("{guessed} ({} and {} more)\n", names[0], more - 1),
        });
    lines.collect()
}
