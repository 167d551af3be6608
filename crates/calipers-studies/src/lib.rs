//! The paper's experiments, and calipers' own: each is a function from a setting to a [`Page`] of
//! text, figures and tables. Nothing here reads or writes files; the `calipers study` command does.
//!
//! ```text
//! Setting (quick? seed) ─► study ─► Page ─► page.md, *.svg, *.csv
//! ```

mod page;
mod replicates;
mod setting;
mod slope;
mod smoothed;
mod summary;
mod table;

pub mod atlas;
pub mod consistency;
pub mod continuity;
pub mod discontinuity;
pub mod drift;
pub mod estimators;
pub mod images;
pub mod monitoring;
pub mod rate;
pub mod recalibration;
pub mod segments;
pub mod two_point;

pub use page::{Agreement, File, Finding, Page};
pub use setting::Setting;
pub use table::Table;

use calipers::Error;

/// A study that needs no files.
#[derive(Debug, Clone, Copy)]
pub struct Study {
    /// The name of the study in `calipers study`.
    pub name: &'static str,
    /// The subject of the study, in one line.
    pub about: &'static str,
    run: fn(&Setting) -> Result<Page, Error>,
}

impl Study {
    /// The page of the study: the same for the same setting, whatever the number of threads.
    pub fn run(&self, setting: &Setting) -> Result<Page, Error> {
        (self.run)(setting)
    }

    /// The study of that name.
    pub fn named(name: &str) -> Option<&'static Study> {
        STUDIES.iter().find(|study| study.name == name)
    }
}

/// All studies that need no files.
pub const STUDIES: &[Study] = &[
    Study {
        name: "two-point",
        about: "binned ECE of two points jumps with the parity of the number of bins, and LS-ECE does not (Figure synthplot)",
        run: two_point::run,
    },
    Study {
        name: "discontinuity",
        about: "where ECE is discontinuous: finite examples and the counterexample (section 3)",
        run: discontinuity::run,
    },
    Study {
        name: "continuity",
        about: "how LS-ECE responds to small changes of the logits, for every noise, with a bound (section 4)",
        run: continuity::run,
    },
    Study {
        name: "rate",
        about: "how fast LS-ECE of a sample converges to that of its population, in n and sigma (section 5)",
        run: rate::run,
    },
    Study {
        name: "consistency",
        about: "which estimates converge to the true ECE as n grows, and which do not (Theorem ececonsist)",
        run: consistency::run,
    },
    Study {
        name: "estimators",
        about: "bias, error, coverage, size and power of estimates, intervals and tests where the truth is known",
        run: estimators::run,
    },
    Study {
        name: "monitoring",
        about: "false alarms, delays and onsets of monitors that look at 500 windows, beside tests that are repeated",
        run: monitoring::run,
    },
    Study {
        name: "segments",
        about: "of 300 groups with three off, which are found, and how often others are, after adjusting for their number",
        run: segments::run,
    },
    Study {
        name: "drift",
        about: "size, power and coverage of the comparison of two samples that share no rows",
        run: drift::run,
    },
];
