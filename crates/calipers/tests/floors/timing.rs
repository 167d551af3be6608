//! How long noise floors and intervals take, against rows that are drawn one by one: a table, for
//! `cargo test --profile fast -p calipers --test floors -- --ignored --nocapture timing`.

use calipers::{Assess, Measure, Settings, registry};

use crate::by_rows::ByRows;
use crate::data::Data;

/// Processor time of all threads in seconds, to 0.01.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split_whitespace().collect();
    (fields[12].parse::<f64>().unwrap() + fields[13].parse::<f64>().unwrap()) / 100.0
}

fn seconds(measure: &dyn Measure, data: &Data, n_resamples: u64) -> f64 {
    let predictions = data.input().check().unwrap();
    let start = cpu_seconds();
    Assess::new(measure).n_resamples(n_resamples).run(&predictions.binary().unwrap()).unwrap();
    cpu_seconds() - start
}

/// `CALIPERS_MEASURES` and `CALIPERS_ROWS` choose; `CALIPERS_BY_ROWS=0` leaves the slow side out.
#[test]
#[ignore = "a table of times, which takes minutes"]
fn timing() {
    let chosen = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let all: Vec<&str> = registry::all().iter().map(|entry| entry.spec.name).collect();
    let measures = chosen("CALIPERS_MEASURES", &all.join(","));
    let rows = chosen("CALIPERS_ROWS", "1000,10000,100000");
    let by_rows = chosen("CALIPERS_BY_ROWS", "1") == "1";
    let family = chosen("CALIPERS_FAMILY", "uniform");
    for name in measures.split(',') {
        if !registry::spec(name).unwrap().larger_is_worse() {
            continue;
        }
        let measure = registry::make(name, &Settings::default()).unwrap();
        for n in rows.split(',') {
            let data = Data::new(&family, n.parse().unwrap(), 1);
            let now = seconds(&*measure, &data, 1000);
            // A tenth of the draws: the rest takes as long.
            let before = if by_rows { 10.0 * seconds(&ByRows(&*measure), &data, 100) } else { f64::NAN };
            println!("{name:40} {n:>8}: {now:7.2} s, by rows {before:7.1} s");
        }
    }
}
