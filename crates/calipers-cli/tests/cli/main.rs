//! The command as users meet it: every test runs the built binary on files.

mod assess;
mod check;
mod compare;
mod files;
mod measure;
mod measures;
mod real_files;
mod refusals;
mod report;
mod sketches;
mod streams;
mod study;
mod support;
mod sweep;
mod writing;
