//! The command as users meet it: every test runs the built binary on files.

mod assess;
mod check;
mod compare;
mod documented;
mod files;
mod inspect;
mod interrupts;
mod json_lines;
mod json_schema;
mod measure;
mod measures;
mod option_names;
mod real_files;
mod refusals;
mod report;
mod sketch_rows;
mod sketches;
mod snapshots;
mod standard_input;
mod streams;
mod study;
mod support;
mod sweep;
mod writing;
