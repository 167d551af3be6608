//! The state of a monitor as JSON.

use calipers::{Input, Monitor, on_this_thread};

use super::check_error;
use crate::{Limit, Target};

pub(super) const TARGET: Target = Target {
    name: "monitor_json",
    about: "the state of a monitor as JSON",
    max_len: 4096,
    memory: Limit::new(4e6, 512.0),
    seconds: Limit::new(1.0, 1e-4),
    run,
};

/// Text is rejected, or the monitor is written as the same one, and goes on.
fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut monitor = match Monitor::from_json(text) {
        Ok(monitor) => monitor,
        Err(error) => return check_error(&error),
    };
    check_monitor(&monitor);
    let n_windows = monitor.n_windows();
    let predictions = Input::probabilities(&[0.25, 0.5, 0.75, 0.9], &[0, 1, 1, 0]).check().expect("valid rows");
    let view = predictions.binary().expect("two outcomes");
    match on_this_thread(|| monitor.update("next", &view).cloned()) {
        Ok(look) => {
            assert_eq!(look.number, n_windows + 1);
            check_monitor(&monitor);
        }
        Err(error) => check_error(&error),
    }
}

pub(super) fn check_monitor(monitor: &Monitor) {
    assert!((0.0..=1.0).contains(&monitor.p_value()), "the p-value is {}", monitor.p_value());
    assert!(monitor.e_value() >= 0.0, "the e-value is {}", monitor.e_value());
    assert!(!monitor.sentence().is_empty() && monitor.limit() > 1.0);
    let _ = monitor.onset();
    let text = monitor.to_json();
    let again = Monitor::from_json(&text).unwrap_or_else(|error| panic!("what was written is rejected: {error}"));
    // Not the monitors: windows without rows have NaN, which equals nothing.
    assert_eq!(again.to_json(), text, "written again, the state is another one");
}
