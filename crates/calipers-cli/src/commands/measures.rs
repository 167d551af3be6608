//! Measures by name: `calipers measures`, and what `--measure` and `--all` ask for.

use std::sync::Arc;

use calipers::measure::FromSketch;
use calipers::{Error, Measure, Settings, Spec, registry};
use clap::Args;

use crate::args::{MeasuresArgs, OptionArgs};
use crate::commands::analysis::measures::Selected;
use crate::render::grid::Grid;
use crate::render::json;
use crate::render::screen::Screen;

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
        return json::render_list(registry::all());
    }
    let mut table = Grid::default();
    table.names("measure", registry::all().iter().map(|entry| entry.spec.name));
    table.notes("definition", registry::all().iter().map(|entry| entry.spec.definition));
    table.draw(screen) + "\n" + &screen.notes("Here p are probabilities, y outcomes (0 or 1) and r = y - p.\n")
}

/// The measures that were selected by name, each once; `None` if none was.
pub(crate) fn named(args: &MeasuresArgs, options: &OptionArgs) -> Result<Option<Vec<Selected>>, Error> {
    let mut names: Vec<&str> = Vec::new();
    match args.all {
        true => names.extend(registry::all().iter().map(|entry| entry.spec.name)),
        false => names.extend(args.measure.iter().map(String::as_str)),
    }
    let selected = by_names(&names, options)?;
    Ok((!selected.is_empty()).then_some(selected))
}

/// The name of the list for what people write: `ls-ece`, `LS_ECE`, or by its title, `ece`.
pub(crate) fn listed_name(written: &str) -> String {
    let name = written.to_lowercase().replace('-', "_");
    let by_title = registry::all().iter().find(|entry| entry.spec.title.eq_ignore_ascii_case(&name));
    by_title.map_or(name, |entry| entry.spec.name.to_owned())
}

/// The measures of these names, each once.
pub(crate) fn by_names(names: &[&str], options: &OptionArgs) -> Result<Vec<Selected>, Error> {
    let mut selected: Vec<Selected> = Vec::new();
    for &written in names {
        // Known or refused, with the list of all and what was written.
        let spec = registry::spec(&listed_name(written)).or_else(|_| registry::spec(written))?;
        if selected.iter().any(|before| before.name() == spec.name) {
            continue;
        }
        let (definition, measure) = made(spec, options)?;
        selected.push(Selected { definition: definition.unwrap_or_else(|| spec.definition.to_owned()), measure });
    }
    Ok(selected)
}

/// A measure with the options of the command: those of LS-ECE and ECE are their own, the link is
/// that of all.
fn made(spec: &Spec, options: &OptionArgs) -> Result<(Option<String>, Arc<dyn Measure>), Error> {
    let OptionArgs { ls_ece, ece } = options;
    let (smoothed, binned) = (ls_ece.measure()?, options.binned_ece()?);
    if spec.name == smoothed.spec().name {
        return Ok((ls_ece.definition(), Arc::new(smoothed)));
    }
    let residual = smoothed.residual();
    if spec.name == residual.spec().name {
        return Ok((ls_ece.residual_definition(), Arc::new(residual)));
    }
    if spec.name == binned.spec().name {
        return Ok((ece.definition(), Arc::new(binned)));
    }
    let link = spec.option("link").map(|_| ls_ece.link()).transpose()?;
    let settings = link.map_or_else(Settings::default, |link| Settings::default().with("link", link.name()));
    Ok((None, Arc::from(registry::make(spec.name, &settings)?)))
}

/// Whether a sketch that keeps the bins is as good as the rows.
pub(crate) fn sketch_is_enough(selected: &[Selected]) -> bool {
    selected.iter().all(|selected| selected.measure.spec().from_sketch >= FromSketch::Value)
}
