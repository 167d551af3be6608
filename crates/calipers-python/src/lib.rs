//! The compiled half of the Python package: arrays in, core, dictionaries and arrays out.
//!
//! ```text
//! python/calipers -> columns, options -> calipers, without the GIL -> results -> python/calipers
//! ```
//!
//! `python/calipers/_core.pyi` has the signatures.

mod arrow;
mod arrow_capsules;
mod arrow_checks;
mod arrow_tables;
mod borrowed;
mod calibration_tests;
mod columns;
mod dlpack;
mod drift;
mod failure;
mod fork;
mod groups;
mod improvement;
mod inference;
mod measures;
mod monitor;
mod options;
mod pool;
mod quick;
mod recalibration;
mod report;
mod results;
mod runs;
mod segments;
mod simulation;
mod sketch;
mod sketch_runs;
mod temperature_sketch;
mod truths;
mod views;

use pyo3::prelude::*;

/// What python/calipers calls. Nothing here is part of the public interface.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        arrow::{arrow, check_missing_lists},
        arrow_tables::{arrow_stream, arrow_table},
        borrowed::Borrowed,
        calibration_tests::{calibration_test, cox_test},
        dlpack::dlpack,
        drift::drift,
        failure::{CalipersError, input_error, no_cluster},
        improvement::{decompose, improvement, improvement_from_sketches, improvement_on},
        inference::{assess, compare},
        measures::listed_name,
        measures::measures,
        monitor::{Monitor, monitor_page},
        pool::{set_threads, set_threads_here},
        quick::estimate_quickly,
        recalibration::{Recalibration, recalibration_methods},
        report::{report, report_of_sketches},
        runs::{assess_runs, estimate_runs},
        segments::{adjust, assess_segments, measure_segments},
        simulation::{families, simulate_coverage, simulate_measures, simulate_rejections},
        sketch::Sketch,
        sketch_runs::{merge_runs, pack, update_runs},
        temperature_sketch::TemperatureSketch,
        views::{
            calibration_bins, calibration_indices, canonical_kde_ece, corp, corp_curve, cox_calibration,
            cumulative_curve, estimate, ls_curve, ls_ece_sampled, spline_curve, sweep, top_label_calibration_error,
        },
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        crate::fork::register(module)?;
        // Every instance has its own; this one is for those who look at the class.
        module.py().get_type::<CalipersError>().setattr("code", "")
    }
}
