//! Sweeps for people: the verdict first, then the values behind it.

use calipers::{Estimate, SweepResult, Verdict};

use crate::dataset::model::Measured;
use crate::render::grid::Grid;
use crate::render::screen::{Screen, Tone};
use crate::render::{legend, number};

pub(crate) fn render(results: &[Measured<SweepResult>], names: &[String], screen: &Screen) -> String {
    let verdict = |(name, measured): (&String, &Measured<SweepResult>)| {
        let line = screen.prose(&format!("{name}: {}", measured.found.sentence()));
        let tone = match measured.found.verdict {
            Verdict::Brittle { .. } => Tone::Warning,
            Verdict::Stable | Verdict::Undecided => Tone::Plain,
        };
        line.lines().map(|line| screen.paint(line, tone) + "\n").collect::<String>()
    };
    let mut text: String = names.iter().zip(results).map(verdict).collect();
    for (name, measured) in names.iter().zip(results) {
        text.push('\n');
        if results.len() > 1 {
            text += &format!("{}\n", screen.paint(name, Tone::Heading));
        }
        text += &values(&measured.found).draw(screen);
        text += &screen.prose(&notes(measured));
    }
    text.push('\n');
    let clipped = results.iter().filter_map(|measured| measured.found.points.first());
    let clipped = clipped.map(|point| &point.ls_ece).find(|estimate| estimate.n_clipped > 0);
    let clipped = clipped.map_or(String::new(), |estimate| legend::clipped(estimate.settings.number("clip")));
    let inputs = results.iter().map(|measured| &measured.found.input);
    let under = [explanation(results), &clipped, &legend::under(results, names, inputs)];
    text + &screen.notes(&under.concat())
}

/// What the verdict means: brittle, if there is one, or else stable.
fn explanation(results: &[Measured<SweepResult>]) -> &'static str {
    let any = |is: fn(&Verdict) -> bool| results.iter().any(|measured| is(&measured.found.verdict));
    match (any(|verdict| matches!(verdict, Verdict::Brittle { .. })), any(|verdict| *verdict == Verdict::Stable)) {
        (true, _) => {
            "Brittle: from 10 to 100 bins ECE moves more than LS-ECE does over the same 1/sigma, and more than twice what \
             chance alone would move it by (the mean range of a perfectly calibrated model with these predictions, 200 \
             resamples).\n"
        }
        (false, true) => {
            "Stable: from 10 to 100 bins ECE moves no more than LS-ECE does over the same 1/sigma, or no more than twice \
             what chance alone would move it by (the mean range of a perfectly calibrated model with these predictions, \
             200 resamples).\n"
        }
        (false, false) => "",
    }
}

fn values(result: &SweepResult) -> Grid {
    let points = || result.points.iter();
    let compat = result.settings.text("compat").filter(|tool| *tool != "none");
    let edges = compat.map_or(String::new(), |tool| format!(", as {tool}"));
    let mut table = Grid::default();
    table.names("bins", points().map(|point| point.n_bins.to_string()));
    let uniform = points().map(|point| number::significant(point.ece_uniform.value));
    table.numbers(&format!("ECE equal-width{edges}"), uniform);
    if points().any(|point| point.ece_quantile.is_some()) {
        let quantile = |ece: &Estimate| number::significant(ece.value);
        let quantile = points().map(|point| point.ece_quantile.as_ref().map_or_else(String::new, quantile));
        table.numbers(&format!("ECE equal-mass{edges}"), quantile);
    }
    table.numbers("LS-ECE", points().map(|point| number::significant(point.ls_ece.value)));
    table.numbers("num. ±", points().map(|point| number::bound(point.ls_ece.numerical_bound)));
    table.numbers("sigma", points().map(|point| number::significant(1.0 / point.n_bins as f64)));
    table
}

/// What has no bins: rows, smECE, chance and ties.
fn notes(measured: &Measured<SweepResult>) -> String {
    let result = &measured.found;
    let n_clipped = result.points.first().map_or(0, |point| point.ls_ece.n_clipped);
    let input = legend::counted(n_clipped, "clipped").into_iter().chain(legend::of_input(&result.input));
    let input: Vec<String> = input.collect();
    let input = if input.is_empty() { String::new() } else { format!(" ({})", input.join(", ")) };
    let tied = match result.ties {
        None => String::new(),
        Some(ties) if ties.n_tied == 0 => "No two rows have the same probability.\n".to_owned(),
        Some(ties) => format!(
            "{} rows share their probability with another: ECE of the rows is {} with ties kept, and {} more if they were split.\n",
            number::count(ties.n_tied),
            number::significant(ties.tied_ece),
            number::significant(ties.jump)
        ),
    };
    let smooth =
        result.smooth_ece.as_ref().map(|found| format!(" {} {}.", found.title(), number::significant(found.value)));
    format!("{} rows{input}.{}\n{tied}", number::count(result.n), smooth.unwrap_or_default())
}
