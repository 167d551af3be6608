//! The bytes of a temperature sketch.

use calipers::on_this_thread;
use calipers::recalibrate::{Map, TemperatureSketch};

use super::{check_error, with_checksum};
use crate::{Limit, Target};

pub(super) const TARGET: Target = Target {
    name: "temperature_bytes",
    about: "a temperature sketch as bytes of version 1 or 2, without the checksum, which the target adds",
    // The sums of all nodes take 13 kB.
    max_len: 16_384,
    memory: Limit::new(1e6, 32.0),
    seconds: Limit::new(1.0, 1e-4),
    run,
};

/// Bytes are rejected, or written again as they were; merging doubles the rows, and a fit is a map.
fn run(content: &[u8]) {
    let bytes = with_checksum(content);
    let sketch = match TemperatureSketch::from_bytes(&bytes) {
        Ok(sketch) => sketch,
        Err(error) => return check_error(&error),
    };
    assert_eq!(sketch.to_bytes(), bytes, "written again, bytes are others");
    let mut twice = sketch.clone();
    match twice.merge(&sketch) {
        Ok(()) => {
            assert_eq!(twice.n(), 2 * sketch.n());
            let read = TemperatureSketch::from_bytes(&twice.to_bytes()).expect("bytes of a sketch");
            assert!(read == twice, "read again, the sketch is another one");
        }
        Err(error) => check_error(&error),
    }
    match on_this_thread(|| sketch.fit()) {
        Ok(fit) => super::map_json::check_map(&Map::Classes(fit.map)),
        Err(error) => check_error(&error),
    }
}
