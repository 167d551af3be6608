//! Markdown with a table: the summary of a job of GitHub Actions, or a comment on a pull request.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Gate, table};
use crate::render::grid::escaped_markdown;
use crate::render::number;

/// The file to which GitHub Actions lets a step append Markdown for the summary of its job.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Rows of the table. GitHub shows no summary of more than a mebibyte.
const MOST_ROWS: usize = 1_000;

pub(super) fn document(gate: &Gate) -> String {
    let lines = table::lines(gate);
    let shown = &lines[..lines.len().min(MOST_ROWS)];
    let verdict = format!("### calipers check: {}\n\n", gate.verdict().name());
    let paragraphs = std::iter::once(table::sentence(gate) + ".").chain(gate.rows_left_out());
    let paragraphs: String = paragraphs.map(|sentence| escaped_markdown(&sentence) + "\n\n").collect();
    let table = if shown.is_empty() { String::new() } else { table::table(gate, shown).markdown() + "\n" };
    let n_more = lines.len() - shown.len();
    let more = (n_more > 0).then(|| format!("{} more are not listed.\n\n", number::count(n_more as u64)));
    let notes: String = table::notes(gate).lines().map(|note| format!("- {}\n", escaped_markdown(note))).collect();
    [verdict, paragraphs, table, more.unwrap_or_default(), notes].concat()
}

/// Appends the document to the summary of the job, if there is one.
pub(super) fn add_to_job_summary(gate: &Gate) -> Result<()> {
    match std::env::var_os(SUMMARY).filter(|path| !path.is_empty()) {
        Some(path) => append(&path, &document(gate)).with_context(|| format!("{SUMMARY}={}", path.display())),
        None => Ok(()),
    }
}

/// An empty line separates it from what another step has written.
fn append(path: &OsStr, document: &str) -> Result<()> {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(Path::new(path))?;
    Ok(file.write_all(format!("{document}\n").as_bytes())?)
}
