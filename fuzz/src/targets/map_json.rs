//! Recalibration maps as JSON.

use calipers::Form;
use calipers::recalibrate::{Dialect, Map, MapFile, SqlInput};

use super::check_error;
use crate::{Limit, Target};

pub(super) const TARGET: Target = Target {
    name: "map_json",
    about: "a recalibration map as JSON; seeds have no check values and no fingerprint, so that changed ones are read",
    max_len: 4096,
    memory: Limit::new(4e6, 512.0),
    seconds: Limit::new(1.0, 1e-4),
    run,
};

const LOGITS: [f64; 9] = [-1e308, -709.0, -40.0, -1.0, 0.0, 1e-9, 3.0, 709.0, 1e308];
const PROBABILITIES: [f64; 6] = [0.0, 1e-300, 0.25, 0.5, 1.0 - 1e-16, 1.0];

/// 1. Text is rejected with an error of one line, or the file that is written is the same one.
/// 2. Whatever the scores are, the map gives probabilities.
/// 3. SQL is written or rejected.
fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let file = match MapFile::from_json(text) {
        Ok(file) => file,
        Err(error) => return check_error(&error),
    };
    check_map(&file.map);
    let written = file.to_json();
    let again = MapFile::from_json(&written).unwrap_or_else(|error| panic!("what was written is rejected: {error}"));
    assert_eq!(again, file, "read again, the map is another one");
    assert_eq!(again.to_json(), written);
}

pub(super) fn check_map(map: &Map) {
    match map {
        Map::Classes(classes) => check_classes(map, classes.n_classes),
        _ => {
            for score in LOGITS {
                check_row(map, &[score], Form::Logits);
            }
            for probability in PROBABILITIES {
                check_row(map, &[probability], Form::Probabilities);
            }
        }
    }
    if let Map::Binary(binary) = map {
        for (input, dialect) in [(SqlInput::Probability, Dialect::Ansi), (SqlInput::Logit, Dialect::Spark)] {
            if let Err(error) = binary.to_sql("p", input, dialect) {
                check_error(&error);
            }
        }
    }
}

fn check_classes(map: &Map, k: usize) {
    for score in LOGITS {
        let row: Vec<f64> = (0..k).map(|class| if class % 2 == 0 { score } else { -score / 2.0 }).collect();
        check_row(map, &row, Form::Logits);
    }
    let mut row = vec![0.0; k];
    row[0] = 1.0;
    check_row(map, &row, Form::Probabilities);
    check_row(map, &vec![1.0 / k as f64; k], Form::Probabilities);
}

#[track_caller]
fn check_row(map: &Map, row: &[f64], form: Form) {
    let Some(mapped) = map.apply_row(row, form) else { return };
    for p in &mapped {
        assert!((0.0..=1.0).contains(p), "{row:?} is mapped to {mapped:?}");
    }
    if mapped.len() > 1 {
        let sum: f64 = mapped.iter().sum();
        assert!((sum - 1.0).abs() <= 1e-9, "{row:?} is mapped to {mapped:?}, whose sum is {sum}");
    }
}
