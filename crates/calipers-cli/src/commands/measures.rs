//! Measures by name: `calipers measures`, and what `--measure` and `--all` ask for.

use std::sync::Arc;

use calipers::{Error, catalogue};
use clap::Args;

use crate::args::{MeasuresArgs, OptionArgs};
use crate::commands::analysis::measures::{Measure, Selected};
use crate::render::grid::Grid;
use crate::render::json;
use crate::render::screen::Screen;

/// Measures that a sketch answers as well as the rows do, or nearly: large files are read for these in constant memory.
const FROM_SKETCHES: [&str; 8] = [
    "ls_ece",
    "residual_ls_ece",
    "expected_calibration_error",
    "root_mean_squared_calibration_error",
    "maximum_calibration_error",
    "ecce_r",
    "ecce_mad",
    "brier_score",
];

/// The number of bins of the measures that have no option for it.
pub(crate) const N_BINS: usize = 15;

/// List all measures with their definitions: the names that `calipers measure --measure` takes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  calipers measures
  calipers measures --json")]
pub(crate) struct ListArgs {
    /// JSON for programs, in place of the table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// `calipers measures`: every name with its definition.
pub(crate) fn list(args: &ListArgs, screen: &Screen) -> String {
    if args.json {
        return json::render_list(catalogue::ALL);
    }
    let mut table = Grid::default();
    table.names("measure", catalogue::ALL.iter().map(|listed| listed.name));
    table.notes("definition", catalogue::ALL.iter().map(|listed| listed.definition));
    table.draw(screen) + "\n" + &screen.notes("Here p are probabilities, y outcomes (0 or 1) and r = y - p.\n")
}

/// The measures that were selected by name, each once; `None` if none was.
pub(crate) fn named(args: &MeasuresArgs, options: &OptionArgs) -> Result<Option<Vec<Selected>>, Error> {
    let mut names: Vec<&str> = Vec::new();
    match args.all {
        true => names.extend(catalogue::ALL.iter().map(|listed| listed.name)),
        false => names.extend(args.measure.iter().map(String::as_str)),
    }
    let selected = by_names(&names, options)?;
    Ok((!selected.is_empty()).then_some(selected))
}

/// The name of the list for what people write: `ls-ece`, `LS_ECE`, `ece`.
pub(crate) fn listed_name(written: &str) -> String {
    match written.to_lowercase().replace('-', "_").as_str() {
        "ece" => "expected_calibration_error".to_owned(),
        name => name.to_owned(),
    }
}

/// The measures of these names, each once.
pub(crate) fn by_names(names: &[&str], options: &OptionArgs) -> Result<Vec<Selected>, Error> {
    let OptionArgs { ls_ece, ece } = options;
    let mut selected: Vec<Selected> = Vec::new();
    for &written in names {
        let name = &*listed_name(written);
        // Known or refused, with the list of all and what was written.
        let known = catalogue::ALL.iter().any(|listed| listed.name == name);
        let measure = catalogue::by_name(if known { name } else { written }, ls_ece.link()?)?;
        let listed = catalogue::ALL.iter().find(|listed| listed.name == name);
        let Some(listed) = listed.filter(|_| selected.iter().all(|before| before.name != name)) else { continue };
        let (definition, measure) = match name {
            "ls_ece" => (ls_ece.definition(), Measure::LsEce(ls_ece.measure()?)),
            "residual_ls_ece" => (ls_ece.residual_definition(), Measure::LsEce(ls_ece.measure()?.residual())),
            "expected_calibration_error" => (ece.definition(), Measure::Other(Arc::new(options.binned_ece()?))),
            _ => (None, Measure::Other(Arc::from(measure))),
        };
        let definition = definition.unwrap_or_else(|| listed.definition.to_owned());
        selected.push(Selected { name: listed.name, definition, measure });
    }
    Ok(selected)
}

/// Whether a sketch that keeps the bins is as good as the rows.
pub(crate) fn sketch_is_enough(selected: &[Selected]) -> bool {
    selected.iter().all(|selected| FROM_SKETCHES.contains(&selected.name))
}
