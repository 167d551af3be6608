//! The `calipers` command: files in, a table or JSON out.
//!
//! ```text
//! args -> dataset (files -> formats -> columns -> rows or sketches) -> commands -> calipers         -> render -> table | JSON
//!                                                                               -> calipers-report  -> a page -> output
//!                                                                               -> calipers-studies -> pages  -> output
//! ```
//!
//! This library is the command and nothing else: its only public function is [`main`], and
//! `fuzzing` is for the fuzz targets of this repository. `commands` has a file or folder for each
//! verb. Everything is computed before anything is printed or written, so an error leaves standard
//! output empty and files as they were.

mod args;
mod commands;
mod dataset;
#[doc(hidden)]
pub mod fuzzing;
mod output;
mod progress;
mod render;

use std::error::Error as _;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use calipers::Error;

use args::{Arguments, Verb};
use commands::{
    assess, check, compare, drift, inspect, list, measure, monitor, recalibrate, report, shell, sketch, study, sweep,
};
use dataset::formats::AtPlace;
use render::screen::Screen;

/// An error, or a check that could not measure what was asked.
const FAILED: u8 = 2;

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    dataset::formats::keep_damage_quiet();
    output::temporary::remove_on_interrupt();
    let (Arguments { color, verb }, matches) = match Arguments::read() {
        Ok(read) => read,
        // Errors are shown in one line, those of the core in its words; help has many.
        Err(error) => match error.source().filter(|source| source.is::<Error>()) {
            Some(source) => return fail(&source.to_string()),
            None if is_help(&error) => error.exit(),
            None => return fail(&one_line(&error.render().to_string())),
        },
    };
    // proof: clap has matched a verb
    let matches = matches.subcommand().map_or(&matches, |(_, of_verb)| of_verb);
    let screen = Screen::of_output(color);
    let keeps_rows = matches!(&verb, Verb::Recalibrate(arguments) if arguments.writes_rows());
    let output = match verb {
        Verb::Check(arguments) => check::run(&arguments, &screen),
        Verb::Monitor(arguments) => monitor::run(&arguments, &screen),
        Verb::Measure(arguments) => measure::run(&arguments, &screen).map(Printed::from),
        Verb::Assess(arguments) => assess::run(&arguments, &screen).map(Printed::from),
        Verb::Compare(arguments) => compare::run(&arguments, &screen).map(Printed::from),
        Verb::Drift(arguments) => drift::run(&arguments, &screen).map(Printed::from),
        Verb::Recalibrate(arguments) => recalibrate::run(&arguments, &screen),
        Verb::List(arguments) => Ok(list::run(&arguments, &screen).into()),
        Verb::Inspect(arguments) => inspect::run(&arguments, &screen).map(Printed::from),
        Verb::Sweep(arguments) => sweep::run(&arguments, &screen).map(Printed::from),
        Verb::Report(arguments) => report::run(&arguments, matches).map(Printed::from),
        Verb::Sketch(arguments) => sketch::run(&arguments).map(Printed::from),
        Verb::Merge(arguments) => sketch::merge(&arguments).map(Printed::from),
        Verb::Study(arguments) => study::run(&arguments, matches, &screen).map(Printed::from),
        Verb::Completions(arguments) => shell::completions(&arguments).map(Printed::from),
        Verb::Man(arguments) => shell::man(&arguments).map(Printed::from),
    };
    let Printed { text, warning, status } = match output {
        Ok(printed) => printed,
        Err(error) => return fail(&explained(&error, if keeps_rows { LEAVE_EMPTY } else { LEAVE_OUT })),
    };
    let printed = print(&text);
    if let Some(warning) = &warning {
        // If standard error is closed, the exit code is enough.
        let _ = writeln!(std::io::stderr(), "calipers: warning: {}", printable(warning));
    }
    if printed == ExitCode::SUCCESS { ExitCode::from(status as u8) } else { printed }
}

/// What a verb prints, and how it ended.
pub(crate) struct Printed {
    pub(crate) text: String,
    /// For standard error.
    pub(crate) warning: Option<String>,
    pub(crate) status: Status,
}

/// How a verb ended, as an exit code; all but `check` and `monitor` end well where there is no
/// error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Fine = 0,
    /// A check failed, or a monitor has raised an alarm.
    TooHigh = 1,
    /// A check has too few rows for a verdict.
    NotMeasured = FAILED as isize,
}

impl From<String> for Printed {
    fn from(text: String) -> Self {
        Printed { text, warning: None, status: Status::Fine }
    }
}

/// What to do about a value that is missing or no number.
const LEAVE_OUT: &str = "; correct it, or pass --invalid count to leave such rows out";

/// The same where rows are written again.
const LEAVE_EMPTY: &str = "; correct it, or pass --invalid count to leave the value of such rows empty";

/// The error, and the option that helps; `invalid` is what to do about a value that is none.
fn explained(error: &anyhow::Error, invalid: &'static str) -> String {
    let of_core = error.downcast_ref().or_else(|| error.downcast_ref::<AtPlace>().map(|located| &located.error));
    let hint = match of_core {
        Some(Error::RowSum { .. }) => {
            "; a quantised model needs a wider --sum-tolerance, raw scores need --from-logits"
        }
        Some(Error::InvalidOutcome { .. }) => "; name the positive label with --pos-label",
        Some(Error::InvalidLabel { value, .. }) if value.starts_with('"') => {
            "; name the classes in their order with --classes"
        }
        Some(Error::Percentages { .. }) => ", or pass --scale 100",
        Some(Error::LooksLikeLogits { .. }) => "; pass --from-logits",
        // A missing cluster cannot be counted.
        Some(Error::Missing { what: "cluster", .. }) => "",
        Some(Error::Missing { .. }) => invalid,
        Some(
            Error::InvalidProbability { value, .. }
            | Error::InvalidLogit { value, .. }
            | Error::InvalidWeight { value, .. },
        ) if !value.is_finite() => invalid,
        _ => "",
    };
    format!("{error:#}{hint}")
}

fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever reads has seen enough, as `head` does.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => fail(&format!("cannot write to standard output: {error}")),
        Ok(()) => ExitCode::SUCCESS,
    }
}

/// What clap prints that is not an error, or is the list of verbs for want of one.
fn is_help(error: &clap::Error) -> bool {
    !error.use_stderr() || error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// What clap reports of an option, without its usage: the lines of the error, and of the tips.
fn one_line(rendered: &str) -> String {
    let mut line = String::new();
    for part in rendered.lines().map(str::trim).take_while(|part| !part.starts_with("Usage:")) {
        let part = part.strip_prefix("error: ").unwrap_or(part);
        if part.starts_with("For more information") {
            break;
        }
        if let Some(tip) = part.strip_prefix("tip: ") {
            line += &format!("; {tip}");
        } else if !part.is_empty() {
            line += if line.is_empty() { "" } else { " " };
            line += part;
        }
    }
    line
}

/// Text from files and options with control characters escaped, so that none reaches a terminal:
/// neither those that move the cursor nor those that reverse the order of what is read.
fn printable(text: &str) -> String {
    let escaped = |c: char| c.is_control() || is_directional(c);
    text.chars().map(|c| if escaped(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// Marks of direction, embeddings, overrides and isolates, and the separators of lines.
fn is_directional(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Prints why, in one line whatever names and messages contain.
fn fail(text: &str) -> ExitCode {
    let line = printable(text);
    // If standard error is closed, the exit code is enough.
    let _ = writeln!(std::io::stderr(), "calipers: {line}");
    ExitCode::from(FAILED)
}
