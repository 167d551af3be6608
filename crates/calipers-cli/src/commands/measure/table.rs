//! The table of LS-ECE and ECE for people, and the words under it.

use calipers::Estimate;

use crate::commands::analysis::floor::{Floored, add_floors};
use crate::commands::analysis::measures::Figures;
use crate::dataset::model::Measured;
use crate::render::grid::Grid;
use crate::render::screen::Screen;
use crate::render::{legend, number};

pub(crate) fn render(results: &[Measured<Figures>], screen: &Screen) -> String {
    let names = legend::names(results);
    let notes = [explanation(results), glossary(results), legend::guesses(results, &names)].concat();
    [table(results, &names).draw(screen), "\n".to_owned(), screen.notes(&notes)].concat()
}

fn table(results: &[Measured<Figures>], names: &[String]) -> Grid {
    let (alike, one_n_bins, floors) = (legend::all_alike(results), n_bins(results).is_some(), has_floors(results));
    let notes: Vec<String> = results.iter().map(|measured| notes(measured, alike, one_n_bins)).collect();
    let ls_ece = || results.iter().map(|measured| &measured.figures.ls_ece);
    let ece = || results.iter().map(|measured| &measured.figures.ece);
    let value = |figure: &Floored| number::significant(figure.estimate.value);
    let mut table = Grid::default();
    table.names(legend::by(results).as_deref().unwrap_or("predictions"), names);
    table.numbers("n", ls_ece().map(|figure| number::count(figure.estimate.n)));
    table.numbers("LS-ECE", ls_ece().map(value));
    if floors {
        add_floors(&mut table, ls_ece().map(Floored::cells));
    }
    table.beside("num. ±", ls_ece().map(|figure| number::bound(figure.estimate.numerical_bound)));
    table.beside("sigma", ls_ece().map(|figure| sigma(&figure.estimate)));
    table.numbers(&ece_name(results), ece().map(value));
    if floors {
        add_floors(&mut table, ece().map(Floored::cells));
    }
    if notes.iter().any(|notes| !notes.is_empty()) {
        table.notes("notes", notes);
    }
    table
}

fn has_floors(results: &[Measured<Figures>]) -> bool {
    results.iter().any(|Measured { figures: Figures { ls_ece, ece }, .. }| {
        ls_ece.has_place_for_floor() || ece.has_place_for_floor()
    })
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
fn ece_name(results: &[Measured<Figures>]) -> String {
    let Some(first) = results.first().map(|measured| &measured.figures.ece.estimate) else { return "ECE".to_owned() };
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
fn n_bins(results: &[Measured<Figures>]) -> Option<f64> {
    let n_bins = |measured: &Measured<Figures>| measured.figures.ece.estimate.settings.number("n_bins");
    let first = results.first().and_then(n_bins);
    first.filter(|_| results.iter().all(|measured| n_bins(measured) == first))
}

/// What was clipped, tied, rounded or left out, and what sets this row apart from others.
fn notes(measured: &Measured<Figures>, alike: bool, one_n_bins: bool) -> String {
    let Figures { ls_ece: Floored { estimate: ls_ece, .. }, ece: Floored { estimate: ece, .. } } = &measured.figures;
    let notes = [
        (!alike).then(|| legend::view(measured)).flatten(),
        (!one_n_bins).then(|| format!("{} bins", ece.settings.number("n_bins").unwrap_or_default())),
        legend::counted(ls_ece.n_clipped, "clipped"),
    ];
    notes.into_iter().chain(legend::of_input(&ls_ece.input)).flatten().collect::<Vec<_>>().join(", ")
}

fn sigmas_differ(results: &[Measured<Figures>]) -> bool {
    let sigma = |measured: &Measured<Figures>| measured.figures.ls_ece.estimate.settings.number("sigma");
    results.windows(2).any(|pair| sigma(&pair[0]) != sigma(&pair[1]))
}

/// What the figures mean, for one who has never seen them.
fn explanation(results: &[Measured<Figures>]) -> String {
    let Some(first) = results.first().map(|measured| &measured.figures.ls_ece.estimate) else { return String::new() };
    let rule = if text(first, "sigma_rule") == "auto" { "by rule (auto)" } else { "as given" };
    format!(
        "LS-ECE: the mean gap between predicted probability and observed frequency, smoothed; 0 is perfect.\n\
         num. ± bounds its numerical error, not chance. Noise {}, link {}, sigma {rule}.\n{}{}{}",
        text(first, "noise"),
        text(first, "link"),
        floors(results),
        if sigmas_differ(results) {
            "Sigma differs from row to row: to compare rows, give all one --sigma.\n"
        } else {
            ""
        },
        legend::rows_read(results),
    )
}

/// What floors are, and why there are none where there are not.
fn floors(results: &[Measured<Figures>]) -> String {
    if !has_floors(results) {
        return String::new();
    }
    let unavailable = |name: &str, figure: fn(&Figures) -> &Floored| {
        legend::unavailable(name, results.iter().map(|measured| figure(&measured.figures)))
    };
    let unavailable =
        [unavailable("LS-ECE", |figures| &figures.ls_ece), unavailable("ECE", |figures| &figures.ece)].concat();
    legend::FLOOR.to_owned() + &unavailable
}

/// What the notes mean, as far as there are any.
fn glossary(results: &[Measured<Figures>]) -> String {
    let figures = || results.iter().map(|measured| &measured.figures.ls_ece.estimate);
    let clip = figures().next().and_then(|figure| figure.settings.number("clip")).unwrap_or_default();
    let clipped = figures().any(|figure| figure.n_clipped > 0).then(|| clipped(clip));
    clipped.unwrap_or_default() + &legend::glossary(results, figures().map(|figure| &figure.input))
}

/// What clipped rows are.
pub(crate) fn clipped(clip: f64) -> String {
    format!("clipped: closer than {clip:e} to 0 or 1, so moved to that distance: 0 and 1 have no finite logit\n")
}
