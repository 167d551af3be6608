//! Noise floors, intervals and assessments: the grid against rows, tests against their size, intervals against known populations.

mod assessment;
mod classwise;
mod clusters;
mod compare;
mod coverage;
mod data;
mod degenerate;
mod grid;
mod influence;
mod limits;
mod size;
mod sketch;
mod threads;
mod threshold;
