//! What a monitor does not take, with its text; and nothing changes where an error is returned.

use calipers::{Input, Monitor, Sample, Sketch, Ties};

use crate::data::Rows;

#[test]
fn weights_classes_clusters_and_options_out_of_range_are_errors() {
    let (p, y) = ([0.2, 0.7, 0.4], [0, 1, 0]);
    let weighted = Input::probabilities(&p, &y).weights(&[1.0, 2.0, 1.0]).check().unwrap();
    let mut monitor = Monitor::new();
    let text = "weights must be left out of a monitor, whose rows count equally, got some";
    assert_eq!(monitor.update("w", &weighted.binary().unwrap()).unwrap_err().to_string(), text);
    let mut sketch = Sketch::new();
    sketch.update(&weighted.binary().unwrap()).unwrap();
    assert_eq!(monitor.update("w", &sketch).unwrap_err().to_string(), text);

    let classes = Input::probabilities(&[0.2, 0.3, 0.5, 0.6, 0.2, 0.2], &[0, 1]).classes(3).check().unwrap();
    let found = monitor.update("w", Sample::classes(&classes, Ties::First)).unwrap_err();
    assert_eq!(found.to_string(), "window must be of one outcome, got several classes");
    let plain = Input::probabilities(&p, &y).check().unwrap();
    let view = plain.binary().unwrap();
    let found = monitor.update("w", Sample::from(&view).clusters(&[0, 0, 1])).unwrap_err();
    assert!(found.to_string().starts_with("clusters must be left out of a monitor"));
    assert_eq!(monitor, Monitor::new());

    assert_eq!(
        Monitor::new().alpha(f64::NAN).check().unwrap_err().to_string(),
        "alpha must be in [1e-12, 0.5], got NaN"
    );
    assert_eq!(
        Monitor::new().margin(-0.1).update("w", &view).unwrap_err().to_string(),
        "margin must be in [0, 5] log-odds, got -0.1"
    );
}

#[test]
fn a_reference_needs_both_outcomes() {
    let rows = Rows { p: vec![0.2; 5], y: vec![false; 5] };
    let found = Monitor::new().reference(&rows.sketch()).unwrap_err();
    assert_eq!(found.to_string(), "reference must be of rows with both outcomes, got 5 rows of outcome 0");
    let found = Monitor::new().reference(&Sketch::new()).unwrap_err();
    assert_eq!(found.to_string(), "reference must be of rows with both outcomes, got no rows");
}
