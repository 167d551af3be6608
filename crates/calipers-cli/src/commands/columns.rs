//! `--columns`: what is in a file, before anything of it is measured.

use anyhow::{Context, Result};
use calipers::{Invalid, Sketch};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::args::InputArgs;
use crate::dataset::files::InputFile;
use crate::dataset::formats::{self, Column, Extent, Format, Role, Table};
use crate::dataset::sketches::Sketches;
use crate::render::grid::{Cell, Grid};
use crate::render::json;
use crate::render::legend;
use crate::render::number;
use crate::render::screen::{Screen, Tone};

/// The type of a column of text is that of so many rows.
const ROWS_FOR_TYPES: u64 = 1000;

/// Values that are shown of each column.
const N_SHOWN: usize = 4;

/// Characters of one value, beyond which it is cut and marked so.
const LONGEST_VALUE: usize = 24;

/// A file, looked at.
struct Seen {
    name: String,
    shown: String,
    format: Format,
    n_rows: u64,
    noun: &'static str,
    columns: Vec<SeenColumn>,
    sketches: Option<Sketches>,
}

struct SeenColumn {
    name: String,
    type_name: String,
    /// `None` where one is missing.
    values: Vec<Option<String>>,
}

/// All files that are named, as a table or as JSON.
pub(crate) fn run(args: &InputArgs, as_json: bool, screen: &Screen) -> Result<String> {
    let mut seen = Vec::new();
    for file in args.open_files()? {
        seen.push(look(&file, args.limit.map_or(u64::MAX, Into::into)).with_context(|| file.shown())?);
    }
    if as_json {
        let files: Vec<Value> = seen.iter().map(to_json).collect();
        return Ok(json::text(&json!({ "calipers": env!("CARGO_PKG_VERSION"), "files": files })));
    }
    let shown: Vec<String> = seen.iter().map(|seen| to_text(seen, screen)).collect();
    Ok(shown.join("\n"))
}

fn look(file: &InputFile, limit: u64) -> Result<Seen> {
    let (name, shown) = (file.name.display().to_string(), crate::printable(&file.shown()));
    if file.is_sketch() {
        let sketches = Sketches::read(&file.path)?;
        let (n_rows, columns) = (sketches.all.n(), Vec::new());
        let sketches = Some(sketches);
        return Ok(Seen { name, shown, format: Format::Sketch, n_rows, noun: "column", columns, sketches });
    }
    let format = file.format()?;
    let table = formats::open(&file.path, format, Invalid::Count)?;
    let columns = (0..table.names().len()).map(|place| column(&*table, place, limit)).collect();
    let n_rows = n_rows(&*table, limit)?;
    Ok(Seen { name, shown, format, n_rows, noun: table.noun(), columns, sketches: None })
}

/// Of the first column, which has as many as all.
fn n_rows(table: &dyn Table, limit: u64) -> Result<u64> {
    let wanted = [(0, role_of(table, 0))];
    if let Extent::Rows(n_rows) = table.stream(&wanted, limit)?.extent() {
        return Ok(n_rows);
    }
    let count = formats::for_each(
        table,
        &wanted,
        limit,
        |_| AtomicU64::new(0),
        |count, part| {
            count.fetch_add(part.n_rows() as u64, Ordering::Relaxed);
            Ok(())
        },
    );
    Ok(count?.into_inner())
}

/// Any plain column can be read as what tells groups apart; those of lists are numbers.
fn role_of(table: &dyn Table, place: usize) -> Role {
    match formats::collect(table, &[(place, Role::Groups)], 1, u64::MAX) {
        Ok(_) => Role::Groups,
        Err(_) => Role::Logits,
    }
}

fn column(table: &dyn Table, place: usize, limit: u64) -> SeenColumn {
    let wanted = [(place, role_of(table, place))];
    // What cannot be read has no values to show, and its type says why.
    let read = formats::collect(table, &wanted, limit.min(ROWS_FOR_TYPES), u64::MAX).ok().flatten();
    let column = read.and_then(|columns| columns.into_iter().next());
    let type_name = table.type_name(place).unwrap_or_else(|| column.as_ref().map_or("-", type_of_text).to_owned());
    let values = column.as_ref().map_or_else(Vec::new, |column| {
        (0..column.n_rows().min(N_SHOWN)).map(|row| (!column.is_missing(row)).then(|| value(column, row))).collect()
    });
    SeenColumn { name: table.names()[place].clone(), type_name, values }
}

/// A value, or all of a row.
fn value(column: &Column, row: usize) -> String {
    match column.n_classes {
        1 => column.values.display(row),
        k => {
            let values: Vec<String> = (row * k..(row + 1) * k).map(|place| column.values.display(place)).collect();
            format!("[{}]", values.join(", "))
        }
    }
}

fn type_of_text(column: &Column) -> &'static str {
    if column.n_classes > 1 {
        return "lists of numbers";
    }
    let values = || (0..column.n_rows()).filter(|row| !column.is_missing(*row)).map(|row| column.values.display(row));
    let all = |is: fn(&str) -> bool| values().all(|value| is(&value));
    match () {
        () if values().next().is_none() => "empty",
        () if all(|value| value.parse::<i64>().is_ok()) => "integers",
        () if all(|value| value.parse::<f64>().is_ok()) => "numbers",
        () if all(|value| value == "true" || value == "false") => "true and false",
        () => "text",
    }
}

fn to_text(seen: &Seen, screen: &Screen) -> String {
    let rows = number::count(seen.n_rows);
    if let Some(sketches) = &seen.sketches {
        let groups = sketches.groups.as_ref().map_or(String::new(), |groups| {
            let names: Vec<String> = groups.sketches.keys().map(|key| crate::printable(key)).collect();
            format!(" in {} groups by {}: {}", names.len(), crate::printable(&groups.by), legend::few(&names))
        });
        return screen.prose(&format!("{}: a sketch of {rows} rows{groups}\n", seen.shown));
    }
    let mut table = Grid::new([seen.noun, "type", "first values"], 1..1);
    for column in &seen.columns {
        let values: Vec<String> = column.values.iter().map(|value| short(value.as_deref())).collect();
        table.add([
            Cell::from(crate::printable(&column.name)),
            Cell::from(column.type_name.as_str()),
            Cell::toned(values.join(", "), Tone::Quiet),
        ]);
    }
    let n_columns = seen.columns.len();
    let head = format!("{}: {}, {rows} rows, {n_columns} {}s\n", seen.shown, seen.format.name(), seen.noun);
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

fn to_json(seen: &Seen) -> Value {
    let column =
        |column: &SeenColumn| json!({ "name": column.name, "type": column.type_name, "values": column.values });
    let groups = seen.sketches.as_ref().and_then(|sketches| sketches.groups.as_ref());
    let of_group = |(group, sketch): (&String, &Sketch)| json!({ "group": group, "n": sketch.n() });
    json!({
        "file": seen.name,
        "format": seen.format.name(),
        "n": seen.n_rows,
        "columns": seen.columns.iter().map(column).collect::<Vec<Value>>(),
        "by": groups.map(|groups| &groups.by),
        "groups": groups.map(|groups| groups.sketches.iter().map(of_group).collect::<Vec<Value>>()),
    })
}
