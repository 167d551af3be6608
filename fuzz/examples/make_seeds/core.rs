//! Seeds of the core: sketches, maps, monitors and options.

use calipers::recalibrate::TemperatureSketch;
use calipers::{Assess, Input, LsEce, Monitor, Sketch, SketchOptions, registry};

use super::{Result, files_of, put};

const P: [f64; 10] = [0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99];
const Y: [u8; 10] = [0, 0, 1, 0, 1, 0, 1, 1, 1, 1];

pub(super) fn make() -> Result<()> {
    sketches()?;
    temperatures()?;
    maps()?;
    monitors()?;
    options()
}

/// Without their checksums, which the targets add.
fn sketches() -> Result<()> {
    for (name, bytes) in files_of("fixtures/sketches", ".calipers")? {
        let content = &bytes[..bytes.len() - 4];
        put("sketch_bytes", &name, content)?;
        put("sketch_answers", &name, content)?;
    }
    for (name, weighted, bins) in [("plain", false, &[4][..]), ("weighted", true, &[2, 4]), ("no_bins", false, &[])] {
        let mut sketch = Sketch::with(&SketchOptions::new().resolution(6).n_bins(bins))?;
        let weights: Vec<f64> = (0..P.len()).map(|row| 0.5 * (row % 3) as f64).collect();
        let input = Input::probabilities(&P, &Y);
        sketch.update(&if weighted { input.weights(&weights) } else { input }.check()?.binary()?)?;
        for version in 1..=4 {
            if let Ok(bytes) = sketch.to_bytes_for(version) {
                put("sketch_bytes", &format!("made_v{version}_{name}"), &bytes[..bytes.len() - 4])?;
                put("sketch_answers", &format!("made_v{version}_{name}"), &bytes[..bytes.len() - 4])?;
            }
        }
    }
    // Options, then a mode, then rows: see the targets.
    put("sketch_rows", "bytes", &[0, 0, 5, 20, 4, 200, 5, 100])?;
    put("sketch_rows", "weights", &[4, 20, 0b1010, 13, 20, 7, 12, 200, 9, 13, 100, 3, 21, 20, 200])?;
    put("sketch_rows", "logits", &[0b11_0010, 9, 2, 4, 10, 0b1001, 5, 3, 4, 250, 3, 10, 1, 2, 200, 1])?;
    words()
}

/// Places of two bytes and words of eight, after a mark of the kind and one of the error.
fn words() -> Result<()> {
    let options = SketchOptions::new().resolution(6).clip(0.01).largest_logit(40.0).n_bins(&[2, 5]);
    let mut sketch = Sketch::with(&options)?;
    sketch.update(&Input::probabilities(&P, &Y).check()?.binary()?)?;
    let dense = sketch.to_dense(true)?;
    let mut bytes = vec![0, 1];
    bytes.extend(dense.score_error.to_le_bytes());
    for (place, word) in dense.places.iter().zip(&dense.words) {
        bytes.extend((*place as u16).to_le_bytes());
        bytes.extend(word.to_le_bytes());
    }
    put("sketch_words", "ten_rows", &bytes)
}

fn temperatures() -> Result<()> {
    let scores = [2.0, 0.0, -1.0, 0.5, 1.5, 0.0, -2.0, 0.0, 3.0];
    for (name, labels) in [("three_rows", &[0, 1, 2][..]), ("empty", &[])] {
        let mut sketch = TemperatureSketch::new(3);
        if !labels.is_empty() {
            sketch.update(&Input::logits(&scores, labels).classes(3).check()?)?;
        }
        let bytes = sketch.to_bytes();
        put("temperature_bytes", name, &bytes[..bytes.len() - 4])?;
    }
    Ok(())
}

/// Without fingerprint and check values, so that an engine can change the map.
fn maps() -> Result<()> {
    for (name, text) in files_of("fixtures/maps", ".json")?.into_iter().filter(|(name, _)| !name.ends_with(".sql")) {
        put("map_json", &name, &text)?;
        let mut value: serde_json::Value = serde_json::from_slice(&text)?;
        let Some(object) = value.as_object_mut() else { continue };
        object.remove("fingerprint");
        object.remove("fit");
        object.remove("improvement");
        let by_group = object.get("check").and_then(|check| check.get("by_group")).and_then(|groups| groups.as_array());
        let empty = by_group.map(|groups| vec![serde_json::json!([]); groups.len()]);
        let check = match empty {
            Some(groups) => serde_json::json!({ "input": [], "output": [], "by_group": groups }),
            None => serde_json::json!({ "input": [], "output": [] }),
        };
        object.insert("check".to_owned(), check);
        put("map_json", &format!("{name}_unchecked"), value.to_string().as_bytes())?;
    }
    Ok(())
}

fn monitors() -> Result<()> {
    let predictions = Input::probabilities(&P, &Y).check()?;
    let view = predictions.binary()?;
    put("monitor_json", "new", Monitor::new().to_json().as_bytes())?;
    let mut monitor = Monitor::new().alpha(0.1).margin(0.05);
    let measure = LsEce::new();
    for window in ["first", "second", "third"] {
        monitor.update_with(window, &view, &Assess::new(&measure).n_resamples(100))?;
    }
    put("monitor_json", "three_windows", monitor.to_json().as_bytes())?;
    let many: Vec<f64> = (0..200).map(|row| (row as f64 + 0.5) / 200.0).collect();
    let outcomes: Vec<u8> = (0..200).map(|row| u8::from((row * 37 % 200) as f64 / 200.0 < many[row])).collect();
    let reference = Input::probabilities(&many, &outcomes).check()?;
    let mut monitor = Monitor::new().reference(&reference.binary()?)?;
    let wrong = vec![0u8; 200];
    let wrong = Input::probabilities(&many, &wrong).check()?;
    monitor.update("alarm", &wrong.binary()?)?;
    put("monitor_json", "reference_and_alarm", monitor.to_json().as_bytes())
}

/// Every measure with its defaults, and with some value of each option.
fn options() -> Result<()> {
    for entry in registry::all() {
        let mut text = entry.spec.name.to_owned();
        put("options", entry.spec.name, text.as_bytes())?;
        for option in entry.spec.options {
            let value = option.default.setting().map_or("3".to_owned(), |setting| setting.to_string());
            text += &format!("\n{}={value}", option.name);
        }
        put("options", &format!("{}_all", entry.spec.name), text.as_bytes())?;
    }
    Ok(())
}
