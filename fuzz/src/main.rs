//! One target under libFuzzer: `CALIPERS_TARGET=sketch_bytes fuzz CORPUS -max_total_time=60`.

#![no_main]

use std::sync::OnceLock;

use calipers_fuzz::Target;
use libfuzzer_sys::fuzz_target;

fn target() -> &'static Target {
    static TARGET: OnceLock<&Target> = OnceLock::new();
    TARGET.get_or_init(|| {
        let name = std::env::var("CALIPERS_TARGET").unwrap_or_default();
        calipers_fuzz::named(&name).unwrap_or_else(|| {
            let names: Vec<&str> = calipers_fuzz::all().iter().map(|target| target.name).collect();
            eprintln!("CALIPERS_TARGET must be one of {}, got {name:?}", names.join(", "));
            std::process::exit(2);
        })
    })
}

/// libFuzzer's hook ends the process at every panic. Those of a damaged file are no failures.
fn begin() {
    target();
    calipers_fuzz::keep_damage_quiet();
    calipers_fuzz::work_on_this_thread();
}

fuzz_target!(init: begin(), |bytes: &[u8]| target().check(bytes));
