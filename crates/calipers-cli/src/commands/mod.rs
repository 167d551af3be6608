//! The verbs, one file or folder each. [`analysis`] is what measure, assess and check share: files
//! in, results of each model and group out.

pub(crate) mod analysis;
pub(crate) mod assess;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod drift;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod measure;
pub(crate) mod monitor;
pub(crate) mod recalibrate;
pub(crate) mod report;
pub(crate) mod shell;
pub(crate) mod sketch;
pub(crate) mod study;
pub(crate) mod sweep;
