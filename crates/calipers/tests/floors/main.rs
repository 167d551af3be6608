//! Noise floors and intervals of many rows, which are counted in cells or on grids, against rows
//! that are drawn one by one.

mod agreement;
mod data;
mod weights;
