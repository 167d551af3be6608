//! How good estimates of ECE, intervals and tests are, on families of known truth: what the rules
//! of calipers are held against.
//!
//! ```text
//! Family::all(), Family::kept_aside(), Family::unseen(), Family::fresh()
//!   accuracy   bias and root mean squared error of every estimate of ECE, n from 300 to 50,000
//!   coverage   how often 95 % intervals of LS-ECE and of its residual form hold the truth, and how wide they are
//!   size       how often tests reject calibrated rows: as they are, tied, and in 1/256
//!   pairs      how often two models are told apart: where they differ, and where they do not
//!   power      how often they reject as miscalibration grows
//! ```

mod accuracy;
mod coverage;
mod methods;
mod pairs;
mod power;
mod size;

use calipers::Error;
use calipers::population::Family;
use calipers::simulate::Remembered;

use crate::table::{fixed, full};
use crate::{Agreement, Page, Setting, Table};

/// What the page calls the lists.
const LISTS: [&str; 4] = ["all", "kept aside", "unseen", "new"];

/// A family, the list that it is in, and its truth.
struct Known<'a> {
    family: &'a Family,
    /// Place in [`LISTS`].
    list: usize,
    truth: Remembered<'a>,
}

/// The study.
pub fn run(setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new("estimators", "How good estimates, intervals and tests are", setting);
    page.text(
        "Distributions of logits and outcomes whose ECE, LS-ECE and residual LS-ECE are known by integration (`calipers::population::Family`), samples of them \
         (`calipers::simulate`), and every estimate of ECE that calipers has on the same samples. The families of the list *all* were used to choose \
         the rule of `sigma = \"auto\"`, the way in which noise is taken out, and the constants of the bias-aware interval. Those *kept aside* and *unseen* were written before that, and were inspected but not used. The *new* ones were written down before any of these was chosen; three of them were known from an independent trial of an earlier version, and five were looked at when the critical value of the interval and the share of blocks that show a gap by chance were chosen. \
         Code, families and seeds are public: the same seed gives the same page.",
    );
    let lists = [Family::all(), Family::kept_aside(), Family::unseen(), Family::fresh()];
    let lists = lists.map(|mut list| {
        // Quick: one calibrated and one that is not, of each list.
        if setting.quick {
            list.retain(|family| {
                let few = [
                    "calibrated",
                    "overconfident",
                    "rare-events",
                    "calibrated-confident",
                    "timid",
                    "calibrated-wide",
                    "small-shift",
                ];
                few.contains(&family.name())
            });
        }
        list
    });
    let known: Vec<Known<'_>> = lists
        .iter()
        .enumerate()
        .flat_map(|(list, families)| families.iter().map(move |family| (list, family)))
        .map(|(list, family)| Known { family, list, truth: Remembered::new(family) })
        .collect();
    families(&mut page, &known);
    accuracy::section(&mut page, &known, setting)?;
    coverage::section(&mut page, &known, setting)?;
    size::section(&mut page, &known, setting)?;
    pairs::section(&mut page, setting)?;
    power::section(&mut page, setting)?;
    Ok(page)
}

/// What the families are.
fn families(page: &mut Page, all: &[Known<'_>]) {
    use calipers::simulate::Population;
    page.heading("The families");
    page.text(
        "The predictor returns rho(h) for a logit h, where rho is the logistic function. The truth is rho of another function of h. The definitions are in `crates/calipers/src/population/family.rs`.",
    );
    let mut table = Table::new(["family", "list", "logits", "logit of the truth", "true ECE"]);
    for known in all {
        table.row([
            known.family.name().to_owned(),
            LISTS[known.list].to_owned(),
            methods::law(known.family.logits()),
            methods::truth(known.family.truth()),
            fixed(known.truth.ece(), 5),
        ]);
    }
    page.table(&table);
}

/// A finding on the sizes of a test, with the smallest and the largest size and the cases outside
/// the target in `text`.
fn size_finding(page: &mut Page, sizes: &[f64], outside: &[String], text: impl Fn(&str, &str, &str) -> String) {
    let (least, most) = crate::summary::extent(sizes.iter().copied());
    let agreement = Agreement::seen_if(outside.is_empty());
    page.finding(agreement, &text(&share(least), &share(most), &named(outside)));
}

/// What a finding names: all of a few, and else the first and how many more the table has.
fn named(all: &[String]) -> String {
    const MOST: usize = 12;
    match all.len() {
        0 => "none".to_owned(),
        n if n <= MOST => all.join("; "),
        n => format!("{}; and {} more, in bold in the table", all[..MOST].join("; "), n - MOST),
    }
}

/// A share, as 0.953.
fn share(value: f64) -> String {
    fixed(value, 3)
}

/// Thousandths, with one digit.
fn thousandths(value: f64) -> String {
    fixed(1000.0 * value, 1)
}

/// Figure and standard error, all digits, for programs.
fn both(figure: calipers::simulate::MonteCarlo) -> [String; 2] {
    [full(figure.value), full(figure.standard_error)]
}
