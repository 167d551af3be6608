//! `calipers recalibrate`: maps that repair probabilities, and whether they do.

mod apply;
mod check;
mod compare;
mod fit;
mod folds;
mod groups;
mod map_file;
mod method;
mod model;
mod show;
mod table;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::Printed;
use crate::render::screen::Screen;

/// Fit a map that repairs probabilities, see whether it helps, and apply it to files
///
/// fit learns a map from predictions with outcomes that the model was not trained on, and writes it
/// as JSON. compare shows what several methods would gain on new rows. apply writes a file again
/// with recalibrated probabilities. check is a gate for CI: does a map still help? show prints a
/// map, also as an SQL expression.
#[derive(Debug, Args)]
#[command(after_help = include_str!("../help/recalibrate.txt"))]
pub(crate) struct RecalibrateArgs {
    #[command(subcommand)]
    step: Step,
}

impl RecalibrateArgs {
    /// Whether rows are written again, invalid ones too.
    pub(crate) fn writes_rows(&self) -> bool {
        matches!(self.step, Step::Apply(_))
    }
}

#[derive(Debug, Subcommand)]
enum Step {
    Fit(fit::FitArgs),
    Apply(apply::ApplyArgs),
    Compare(compare::CompareArgs),
    Check(check::CheckArgs),
    Show(show::ShowArgs),
}

pub(crate) fn run(args: &RecalibrateArgs, screen: &Screen) -> Result<Printed> {
    match &args.step {
        Step::Fit(args) => fit::run(args, screen).map(Printed::from),
        Step::Apply(args) => apply::run(args).map(Printed::from),
        Step::Compare(args) => compare::run(args, screen).map(Printed::from),
        Step::Check(args) => check::run(args, screen),
        Step::Show(args) => show::run(args, screen).map(Printed::from),
    }
}
