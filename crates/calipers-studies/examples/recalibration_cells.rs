//! Prints the cells of the simulations of recalibration as they become known.
//!
//! `recalibration_cells coverage 1000 200,1000 shift,platt [LAWS]`, `recalibration_cells size ...`.

use std::io::Write;

use calipers::recalibrate::Choose;
use calipers_studies::recalibration::coverage::{Plan, coverage, sizes};
use calipers_studies::recalibration::risk::all_trials;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let list = |place: usize| args.get(place).map(|text| text.split(',').map(str::to_owned).collect::<Vec<String>>());
    let plan = Plan {
        n_runs: args[2].parse()?,
        rows: list(3).unwrap_or_default().iter().map(|n| n.parse()).collect::<Result<_, _>>()?,
        methods: list(4).unwrap_or_default().iter().filter_map(|name| name.parse().ok()).collect(),
        laws: list(5).unwrap_or_default(),
        random_state: 0,
    };
    let show = |line: String| {
        println!("{line}");
        let _ = std::io::stdout().flush();
    };
    match args[1].as_str() {
        "risk" => {
            let mut choose = Choose::new().n_resamples(0);
            if let Some(n_folds) = args.get(4) {
                choose = choose.n_folds(n_folds.parse()?);
            }
            all_trials(&choose, &plan.rows, plan.n_runs, 0, |family, list, n, trials| {
                for (run, trial) in trials.iter().enumerate() {
                    let entries: Vec<String> = trial
                        .entries
                        .iter()
                        .map(|e| {
                            format!("{}:{:e}:{:e}:{:e}", e.method.name(), e.difference, e.standard_error, e.excess)
                        })
                        .collect();
                    let (lower, upper) = trial.interval;
                    show(format!(
                        "{family},{list},{n},{run},{},{:e},{lower:e},{upper:e},{:e},{}",
                        trial.chosen.name(),
                        trial.gain,
                        trial.nested_gain,
                        entries.join(";")
                    ));
                }
            })?
        }
        "size" => sizes(&plan, 59, |cell| {
            show(format!(
                "{:16} {:12} n {:5} runs {} rejected {:.3}",
                cell.method.name(),
                cell.law,
                cell.n,
                cell.n_runs,
                cell.rejected
            ))
        })?,
        _ => coverage(&plan, |c| {
            let flag = if (0.92..=0.98).contains(&c.covered) { " " } else { "*" };
            show(format!(
                "{flag} {:16} {:12} {:11} n {:5} runs {} covered {:.3} below {:.3} above {:.3} helps {:.3} wrongly {:.4} hurts {:.3} wrongly {:.4} width {:.2} gain {:.2}",
                c.method.name(),
                c.law,
                c.truth,
                c.n,
                c.n_runs,
                c.covered,
                c.below,
                c.above,
                c.helps,
                c.wrongly_helps,
                c.hurts,
                c.wrongly_hurts,
                c.width,
                c.gain
            ))
        })?,
    }
    Ok(())
}
