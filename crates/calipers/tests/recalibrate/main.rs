//! Recalibration: golden values, a slow solver of its own, hard inputs and the verdict.

mod bins;
mod choice;
mod class_clusters;
mod class_hard_inputs;
mod classes;
mod fixtures;
mod golden;
mod groups;
mod hard_inputs;
mod json;
mod many_classes;
mod oracle;
mod properties;
mod scalings;
mod sketch_folds;
mod sketches;
mod spline;
mod temperature_sketch;
mod unsorted;
mod venn_abers;
mod verdict;
