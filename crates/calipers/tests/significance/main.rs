//! Noise floors, intervals and assessments: the grid against rows, tests against their size,
//! intervals against known populations.

mod all_classes;
mod assessment;
mod classwise;
mod clusters;
mod compare;
mod coverage;
mod data;
mod degenerate;
mod equal_models;
mod few_levels;
mod grid;
mod influence;
mod limits;
mod many_groups;
mod other_measures;
mod partly_calibrated;
mod parts;
mod perfect;
mod power;
mod rare_clusters;
mod sigma_rule;
mod size;
mod sketch;
mod threads;
mod threshold;
mod verdict;
