//! `calipers list`: every measure with its definition.

use calipers::registry::{self, Entry};
use clap::Args;
use serde_json::{Value, json};

use crate::render::grid::Grid;
use crate::render::json;
use crate::render::screen::Screen;

/// List all measures with their definitions
///
/// These are the names that --measure of `calipers measure`, `assess` and `compare` and --max of
/// `calipers check` accept.
#[derive(Debug, Args)]
#[command(after_help = include_str!("help/list.txt"))]
pub(crate) struct ListArgs {
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(args: &ListArgs, screen: &Screen) -> String {
    let specs = || registry::all().iter().map(|Entry { spec, .. }| spec);
    if args.json {
        let measures = specs().map(|spec| json!({ "name": spec.name, "definition": spec.definition }));
        return json::document([("measures", measures.collect::<Vec<Value>>().into())]);
    }
    let mut table = Grid::default();
    table.names("measure", specs().map(|spec| spec.name));
    table.notes("definition", specs().map(|spec| spec.definition));
    table.draw(screen) + "\n" + &screen.notes("Here p are probabilities, y outcomes (0 or 1) and r = y - p.\n")
}
