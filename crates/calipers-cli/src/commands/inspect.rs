//! `calipers inspect`: what is in a file, before anything of it is measured.

use std::num::NonZeroU64;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value, json};

use calipers::Invalid;

use crate::args::TextArgs;
use crate::dataset::files;
use crate::dataset::formats::{Dialect, Format};
use crate::dataset::listing::{ListedColumn, Listing};
use crate::render::grid::{Cell, Grid};
use crate::render::screen::{Screen, Tone};
use crate::render::{json, legend, number};

/// Show what is in files: how they are written, and their columns with types and first values
///
/// Use it before `calipers measure`, to choose the columns for --prob, --label and others. `likely`
/// is what a column's name tells that it is. For a sketch, it shows the number of rows and the
/// groups.
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

    #[command(flatten)]
    text: TextArgs,

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
    let limit = args.limit.map_or(u64::MAX, Into::into);
    for file in files::expand(&args.files, args.format, limit)? {
        let name = file.shown();
        let reading = args.text.reading(Invalid::Count);
        listings.push(Listing::new(file, &reading, limit).context(name)?);
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
            format!(
                " in {} groups by {}: {}",
                names.len(),
                crate::printable(&groups.by.to_string()),
                legend::few(&names)
            )
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
    table.notes("likely", columns().map(|column| column.role.unwrap_or("-")));
    table.notes("first values", columns().map(values));
    let n_columns = listing.columns.len();
    let head = format!("{shown}: {}, {rows} rows, {n_columns} {}s\n", written(listing), listing.noun);
    screen.prose(&head) + "\n" + &table.draw(screen)
}

/// Format and compression, and how text is written unless it is as everywhere: `csv with ; between
/// cells, gzip`.
fn written(listing: &Listing) -> String {
    let format = listing.format.map_or("folder".to_owned(), Format::name);
    let delimiter = listing.dialect.filter(|dialect| dialect.delimiter != b',' && listing.format != Some(Format::Tsv));
    let delimiter = delimiter.map(|dialect| format!(" with {} between cells", delimiter_name(dialect)));
    let comma = listing.dialect.filter(|dialect| dialect.decimal_comma).map(|_| " and a decimal comma".to_owned());
    let compression = listing.compression.map(|compression| format!(", {}", compression.name()));
    [Some(format), delimiter, comma, compression].into_iter().flatten().collect()
}

fn delimiter_name(dialect: Dialect) -> String {
    if dialect.delimiter == b'\t' { "tab".to_owned() } else { char::from(dialect.delimiter).to_string() }
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
    let column = |column: &ListedColumn| json!({ "name": column.name, "type": column.type_name, "likely": column.role, "values": column.values });
    let groups = listing.sketches.as_ref().and_then(|sketches| sketches.groups.as_ref());
    json!({
        "file": listing.file.name.display().to_string(),
        "format": listing.format.map_or("folder".to_owned(), Format::name),
        "delimiter": listing.dialect.map(delimiter_name),
        "decimal": listing.dialect.map(|dialect| if dialect.decimal_comma { "," } else { "." }),
        "compression": listing.compression.map(|compression| compression.name()),
        "n": listing.n_rows,
        "columns": listing.columns.iter().map(column).collect::<Vec<Value>>(),
        "by": groups.map(|groups| groups.by.to_string()),
        "groups": json::groups(groups),
    })
}
