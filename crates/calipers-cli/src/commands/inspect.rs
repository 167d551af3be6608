//! `calipers inspect`: what is in a file, before anything of it is measured.

use std::num::NonZeroU64;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value, json};

use crate::dataset::files;
use crate::dataset::formats::Format;
use crate::dataset::listing::{ListedColumn, Listing};
use crate::render::grid::{Cell, Grid};
use crate::render::screen::{Screen, Tone};
use crate::render::{json, legend, number};

/// Show what is in files: their columns with types and first values, and the number of rows
///
/// Use it before `calipers measure`, to choose the columns for --prob, --label and others. For a
/// sketch, it shows the number of rows and the groups.
#[derive(Debug, Args)]
#[command(after_help = include_str!("help/inspect.txt"))]
pub(crate) struct InspectArgs {
    /// Files of predictions, or of sketches; - is standard input; patterns such as 'logs/*.csv' are
    /// expanded
    #[arg(required = true, value_name = "FILE", help_heading = "Arguments")]
    files: Vec<PathBuf>,

    /// Format of the files, if their names do not tell it. The format of standard input is detected
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    format: Option<Format>,

    /// Read only the first N rows of each file
    #[arg(long, value_name = "N", help_heading = "Input")]
    limit: Option<NonZeroU64>,

    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Characters of one value, beyond which it is cut and marked so.
const LONGEST_VALUE: usize = 24;

pub(crate) fn run(args: &InspectArgs, screen: &Screen) -> Result<String> {
    let mut listings = Vec::new();
    for file in files::expand(&args.files, args.format)? {
        let name = file.shown();
        listings.push(Listing::new(file, args.limit.map_or(u64::MAX, Into::into)).context(name)?);
    }
    if args.json {
        return Ok(json::document([("files", listings.iter().map(to_json).collect())]));
    }
    let shown: Vec<String> = listings.iter().map(|listing| to_text(listing, screen)).collect();
    Ok(shown.join("\n"))
}

fn to_text(listing: &Listing, screen: &Screen) -> String {
    let (rows, shown) = (number::count(listing.n_rows), crate::printable(&listing.file.shown()));
    if let Some(sketches) = &listing.sketches {
        let groups = sketches.groups.as_ref().map_or(String::new(), |groups| {
            let names: Vec<String> = groups.sketches.keys().map(|key| crate::printable(key)).collect();
            format!(" in {} groups by {}: {}", names.len(), crate::printable(&groups.by), legend::few(&names))
        });
        return screen.prose(&format!("{}: a sketch of {rows} rows{groups}\n", shown));
    }
    let columns = || listing.columns.iter();
    let values = |column: &ListedColumn| {
        let values: Vec<String> = column.values.iter().map(|value| short(value.as_deref())).collect();
        Cell::toned(values.join(", "), Tone::Quiet)
    };
    let mut table = Grid::default();
    table.names(listing.noun, columns().map(|column| crate::printable(&column.name)));
    table.notes("type", columns().map(|column| &column.type_name));
    table.notes("first values", columns().map(values));
    let n_columns = listing.columns.len();
    let head = format!("{}: {}, {rows} rows, {n_columns} {}s\n", shown, listing.format.name(), listing.noun);
    screen.prose(&head) + "\n" + &table.draw(screen)
}

/// A value for a table: one that is long is cut, and marked so.
fn short(value: Option<&str>) -> String {
    let Some(value) = value else { return "(none)".to_owned() };
    let printable = crate::printable(value);
    match printable.char_indices().nth(LONGEST_VALUE) {
        None => printable,
        Some((end, _)) => format!("{}…", &printable[..end]),
    }
}

fn to_json(listing: &Listing) -> Value {
    let column =
        |column: &ListedColumn| json!({ "name": column.name, "type": column.type_name, "values": column.values });
    let groups = listing.sketches.as_ref().and_then(|sketches| sketches.groups.as_ref());
    json!({
        "file": listing.file.name.display().to_string(),
        "format": listing.format.name(),
        "n": listing.n_rows,
        "columns": listing.columns.iter().map(column).collect::<Vec<Value>>(),
        "by": groups.map(|groups| &groups.by),
        "groups": json::groups(groups),
    })
}
