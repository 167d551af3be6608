//! `calipers list`: every measure with its definition.

use calipers::Spec;
use calipers::measure::OptionSpec;
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
        let measures = specs().map(|spec| {
            let options: Vec<Value> = spec.options.iter().map(option_to_json).collect();
            json!({ "name": spec.name, "definition": spec.definition, "options": options })
        });
        return json::document([("measures", measures.collect::<Vec<Value>>().into())]);
    }
    let mut table = Grid::default();
    table.names("measure", specs().map(|spec| spec.name));
    table.notes("definition", specs().map(|spec| spec.definition));
    // Nearly all have a link, which is a flag.
    let options = |spec: &&Spec| {
        let names = spec.options.iter().map(|option| option.name).filter(|name| *name != "link");
        names.collect::<Vec<&str>>().join(", ")
    };
    table.notes("options", specs().map(options));
    table.draw(screen) + "\n" + &screen.notes(NOTES)
}

const NOTES: &str = "Here p are probabilities, y outcomes (0 or 1) and r = y - p.\n\
    options: those of ls_ece, residual_ls_ece and expected_calibration_error are flags, as --sigma 0.1; those of other \
    measures are set with --option, as --option smoother=loess. --json has their values and defaults.\n";

fn option_to_json(option: &OptionSpec) -> Value {
    json!({
        "name": option.name,
        "values": option.kind.expected(),
        "default": option.default.setting(),
        "help": option.help,
    })
}
