//! False alarms, alarms and onsets of simulated streams. `calipers study monitoring` has more.

use calipers::Monitor;
use rayon::prelude::*;

use crate::data::Rows;

fn stream(
    monitor: &Monitor,
    n_windows: u64,
    n: usize,
    mean: f64,
    truth: impl Fn(u64, f64) -> f64,
    seed: u64,
) -> Monitor {
    let mut monitor = monitor.clone();
    for window in 0..n_windows {
        let rows = Rows::new(n, mean, 2.5, |h| truth(window, h), seed * 1009 + window);
        rows.add_to(&mut monitor, &format!("{window:03}"));
    }
    monitor
}

#[test]
fn calibrated_streams_raise_few_alarms() {
    for (mean, n) in [(0.0, 20), (-4.0, 40)] {
        let alarms = (0..400u64)
            .into_par_iter()
            .filter(|seed| stream(&Monitor::new(), 60, n, mean, |_, h| h, *seed).alarm().is_some())
            .count();
        // At most 20 are expected, and more than 34 are found once in a thousand times.
        assert!(alarms <= 34, "{alarms}");
    }
}

#[test]
fn a_late_shift_is_found_soon_and_its_onset_is_plausible() {
    let found: Vec<(u64, bool, f64)> = (0..60u64)
        .into_par_iter()
        .filter_map(|seed| {
            let truth = |window: u64, h: f64| if window < 100 { h } else { h + 0.5 };
            let monitor = stream(&Monitor::new(), 130, 100, 0.0, truth, seed);
            let (alarm, onset) = (monitor.alarm()?, monitor.onset()?);
            let holds = onset.earliest_number <= 101 && 101 <= onset.latest_number;
            Some((alarm.number, holds, onset.shift))
        })
        .collect();
    assert!(found.len() >= 57, "{}", found.len());
    let late: Vec<&(u64, bool, f64)> = found.iter().filter(|(alarm, ..)| *alarm > 100).collect();
    let delay = late.iter().map(|(alarm, ..)| *alarm as f64 - 100.0).sum::<f64>() / late.len() as f64;
    assert!(delay < 15.0, "{delay}");
    let held = late.iter().filter(|(_, holds, _)| *holds).count();
    assert!(held * 10 >= late.len() * 8, "{held} of {}", late.len());
    let shift = late.iter().map(|(.., shift)| shift).sum::<f64>() / late.len() as f64;
    assert!((0.4..0.65).contains(&shift), "{shift}");
}

#[test]
fn a_margin_is_no_alarm_up_to_its_size() {
    let monitor = Monitor::new().margin(0.3);
    let within = stream(&monitor, 100, 400, 0.0, |_, h| h + 0.3, 1);
    let beyond = stream(&monitor, 100, 400, 0.0, |_, h| h + 0.6, 1);
    assert!(within.alarm().is_none() && beyond.alarm().is_some());
    assert!(stream(&Monitor::new(), 100, 400, 0.0, |_, h| h + 0.3, 1).alarm().is_some());
}

#[test]
fn a_slope_without_a_shift_is_found() {
    let monitor = stream(&Monitor::new(), 60, 400, 0.0, |_, h| 0.6 * h, 3);
    assert!(monitor.alarm().is_some_and(|look| look.number < 20));
}

#[test]
fn an_alarm_stays_and_its_onset_is_that_of_the_departure() {
    let truth = |window: u64, h: f64| if (40..60).contains(&window) { h + 0.8 } else { h };
    let monitor = stream(&Monitor::new(), 120, 200, 0.0, truth, 5);
    // The e-value falls once outcomes are as expected again, and the p-value keeps its largest.
    assert!(1.0 / monitor.e_value() > 2.0 * monitor.p_value() && monitor.p_value() < 0.05);
    assert!(monitor.alarm().is_some_and(|look| (41..=50).contains(&look.number)));
    let onset = monitor.onset().unwrap();
    assert!((40..=42).contains(&onset.number), "{onset:?}");
    assert!((onset.shift - 0.8).abs() < 0.2, "{onset:?}");
}
