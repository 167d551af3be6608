//! Monitors against slow, obviously right versions; their false-alarm rate, power, onset and state.

mod data;
mod errors;
mod expectation;
mod naive;
mod rates;
mod reference;
mod state;
