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

pub mod consistency;
pub mod continuity;
pub mod discontinuity;
pub mod estimators;
pub mod images;
pub mod rate;
pub mod two_point;

pub use page::{Agreement, File, Finding, Page};
pub use setting::Setting;
pub use table::Table;

use calipers::Error;

/// A study that needs no files.
#[derive(Debug, Clone, Copy)]
pub struct Study {
    /// What `calipers study` calls it.
    pub name: &'static str,
    /// What it shows, in one line.
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
        about: "ECE in bins jumps with their parity on two points, LS-ECE does not (Figure synthplot)",
        run: two_point::run,
    },
    Study {
        name: "discontinuity",
        about: "where ECE jumps: finite examples on both sides of the criterion, and the counterexample (section 3)",
        run: discontinuity::run,
    },
    Study {
        name: "continuity",
        about: "LS-ECE along small changes of the logits, for every noise, with a bound (section 4)",
        run: continuity::run,
    },
    Study {
        name: "rate",
        about: "how fast LS-ECE of a sample nears that of its population, in n and sigma (section 5)",
        run: rate::run,
    },
    Study {
        name: "consistency",
        about: "which estimates go to the true ECE as rows grow, and which level off (Theorem ececonsist)",
        run: consistency::run,
    },
    Study {
        name: "estimators",
        about: "bias, error, coverage, size and power of estimates, intervals and tests where the truth is known",
        run: estimators::run,
    },
];
