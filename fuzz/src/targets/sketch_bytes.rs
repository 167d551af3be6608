//! The bytes of a sketch in every version.

use calipers::{Profile, Sketch};

use super::{check_error, with_checksum};
use crate::{Limit, Target};

pub(super) const TARGET: Target = Target {
    name: "sketch_bytes",
    about: "a sketch as bytes of version 1 to 4, without the checksum, which the target adds",
    max_len: 512,
    // 10,000 declared bins take 16 * 10,000 of 64 bytes, and are there before any row.
    memory: Limit::new(64e6, 512.0),
    seconds: Limit::new(1.0, 1e-3),
    run,
};

/// 1. Bytes are rejected with an error of one line, or `encode(decode(bytes)) == bytes`.
/// 2. The sketch as bytes of the current version is the same sketch.
/// 3. Merging doubles the rows, and subtracting gives the sketch back.
/// 4. A coarser sketch can be written and read as well.
fn run(content: &[u8]) {
    // With a wrong checksum, in all likelihood.
    let _ = Sketch::from_bytes(content);
    let bytes = with_checksum(content);
    let sketch = match Sketch::from_bytes(&bytes) {
        Ok(sketch) => sketch,
        Err(error) => return check_error(&error),
    };
    let version = bytes[8];
    assert_eq!(sketch.to_bytes_for(version).as_deref(), Ok(&bytes[..]), "written again, bytes are others");
    check_written(&sketch);
    check_sums(&sketch);
    let mut twice = sketch.clone();
    match twice.merge(&sketch) {
        Ok(()) => {
            assert_eq!(twice.n(), 2 * sketch.n());
            check_written(&twice);
            let rest = twice.subtract(&sketch).expect("a part of it");
            assert_eq!(rest.n(), sketch.n());
            // Without rows it has no weights.
            let is_same = sketch.n() == 0 || rest.to_bytes() == sketch.to_bytes();
            assert!(is_same, "less what was added is another sketch");
        }
        // Only where sums would overflow.
        Err(error) => check_error(&error),
    }
    let resolution = sketch.options().resolution_bits();
    let mut coarser = sketch.clone();
    if coarser.coarsen(resolution.saturating_sub(1)).is_ok() {
        check_written(&coarser);
    }
    let mut monitoring = sketch.clone();
    if monitoring.coarsen_to(Profile::Monitoring).is_ok() {
        assert_eq!(monitoring.n(), sketch.n());
        check_written(&monitoring);
    }
}

/// As bytes of the current version, and read again.
fn check_written(sketch: &Sketch) {
    let bytes = sketch.to_bytes();
    let read = Sketch::from_bytes(&bytes).expect("bytes that a sketch has written");
    assert!(read == *sketch, "read again, the sketch is another one");
    assert_eq!(read.to_bytes(), bytes);
}

fn check_sums(sketch: &Sketch) {
    let (n, effective) = (sketch.n() as f64, sketch.effective_n());
    assert!(effective >= 0.0 && effective <= n * (1.0 + 1e-9), "{effective} effective rows of {n}");
    assert!(sketch.total_weight() >= 0.0 && sketch.total_weight().is_finite());
    assert!(sketch.n_clipped() <= sketch.n() && sketch.n_cells() as u64 <= sketch.n());
    assert!(sketch.report().n_left_out() <= sketch.report().n_rows);
}
