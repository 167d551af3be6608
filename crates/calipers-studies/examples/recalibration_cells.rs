//! Prints the cells of the simulations of recalibration as they become known, and parts of the page
//! of the study.
//!
//! ```text
//! recalibration_cells coverage 1000 200,1000 shift,platt [LAWS] [TRUTHS]
//! recalibration_cells classes 200 200,1000 temperature,vector [NUMBERS OF CLASSES]
//! recalibration_cells size ...     the size of the test, with the arguments of coverage
//! recalibration_cells risk ...     every sample of the known families, as lines of CSV
//! recalibration_cells page coverage|risk|classes|size FOLDER
//! ```

use std::io::Write;

use calipers::recalibrate::Choose;
use calipers_studies::Setting;
use calipers_studies::recalibration::classes;
use calipers_studies::recalibration::coverage::{Cell, Plan, coverage, sizes};
use calipers_studies::recalibration::risk::{Entry, all_trials};
use calipers_studies::recalibration::{Section, some_sections};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    if args[1] == "page" {
        return page(&args[2], std::path::Path::new(&args[3]));
    }
    let list = |place: usize| args.get(place).map(|text| text.split(',').map(str::to_owned).collect::<Vec<String>>());
    let plan = Plan {
        n_runs: args[2].parse()?,
        rows: list(3).unwrap_or_default().iter().map(|n| n.parse()).collect::<Result<_, _>>()?,
        methods: list(4).unwrap_or_default().iter().filter_map(|name| name.parse().ok()).collect(),
        laws: list(5).unwrap_or_default(),
        truths: list(6).unwrap_or_default(),
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
                    let entry = |e: &Entry| format!("{}:{:e}", e.method.name(), e.excess);
                    let entries: Vec<String> = trial.entries.iter().map(entry).collect();
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
        "classes" => {
            let numbers: Vec<usize> = match list(5) {
                Some(numbers) => numbers.iter().map(|k| k.parse()).collect::<Result<_, _>>()?,
                None => vec![3, 6, 10],
            };
            classes::coverage(&plan, &numbers, |cell| show(shown(&cell)))?
        }
        _ => coverage(&plan, |cell| show(shown(&cell)))?,
    }
    Ok(())
}

/// Writes the page with one section, and its tables, to a folder.
fn page(section: &str, folder: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let section = match section {
        "risk" => Section::Risk,
        "coverage" => Section::Coverage,
        "classes" => Section::Classes,
        _ => Section::Size,
    };
    let page = some_sections(&[section], &Setting { quick: false, random_state: 0 })?;
    std::fs::create_dir_all(folder)?;
    for file in page.files() {
        std::fs::write(folder.join(&file.name), &file.text)?;
    }
    Ok(())
}

fn shown(c: &Cell) -> String {
    let flag = if (0.92..=0.98).contains(&c.covered) { " " } else { "*" };
    format!(
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
    )
}
