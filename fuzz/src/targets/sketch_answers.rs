//! What a sketch that came as bytes answers.

use calipers::recalibrate::{Map, Method, Recalibrate};
use calipers::{Assess, BinnedEce, LsEce, Monitor, Settings, Sketch, on_this_thread, registry};

use super::answers::{check_estimate, has_few_cells};
use super::{check_error, with_checksum};
use crate::{Limit, Target};

pub(super) const TARGET: Target = Target {
    name: "sketch_answers",
    about: "as sketch_bytes; all measures, tests, a monitor and maps of the sketch that is read",
    max_len: 256,
    memory: Limit::new(256e6, 4096.0),
    seconds: Limit::new(20.0, 1e-2),
    run,
};

/// The least number of resamples that is allowed.
const N_RESAMPLES: u64 = 40;

const METHODS: [Method; 6] =
    [Method::Shift, Method::Temperature, Method::Platt, Method::Beta, Method::Isotonic, Method::CentredIsotonic];

/// 1. Values are in the range of their measure, and bounds are not negative.
/// 2. Floors, p-values and intervals are ordered and in range.
/// 3. A map that is fitted gives probabilities, and is the same after it was written.
/// 4. A monitor takes the sketch as a window, and is the same after it was written.
fn run(content: &[u8]) {
    let Ok(sketch) = Sketch::from_bytes(&with_checksum(content)) else { return };
    if has_few_cells(&sketch) {
        on_this_thread(|| check(&sketch));
    }
}

fn check(sketch: &Sketch) {
    for entry in registry::all() {
        let measure = registry::make(entry.spec.name, &Settings::default()).expect("defaults");
        match sketch.estimate(&*measure) {
            Ok(estimate) => check_estimate(&estimate),
            Err(error) => check_error(&error),
        }
    }
    let (ls_ece, ece) = (LsEce::new(), BinnedEce::new());
    for assess in [Assess::new(&ls_ece), Assess::new(&ece)] {
        match assess.n_resamples(N_RESAMPLES).run(sketch) {
            Ok(found) => {
                check_estimate(&found.estimate);
                if let Some(floor) = &found.floor {
                    assert!(floor.mean >= 0.0 && (0.0..=1.0).contains(&floor.p_value), "{floor:?}");
                }
                let interval = &found.interval;
                assert!(interval.lower <= interval.upper, "{interval:?}");
            }
            Err(error) => check_error(&error),
        }
    }
    for method in METHODS {
        match Recalibrate::new(method).fit(sketch) {
            Ok(fit) => {
                let map = Map::Binary(fit.map);
                super::map_json::check_map(&map);
                assert_eq!(Map::from_json(&map.to_json()).as_ref(), Ok(&map));
            }
            Err(error) => check_error(&error),
        }
    }
    let mut monitor = Monitor::new();
    match monitor.update("window", sketch) {
        Ok(_) => super::monitor_json::check_monitor(&monitor),
        Err(error) => check_error(&error),
    }
}
