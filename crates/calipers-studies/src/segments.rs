//! Many segments: how often calibrated ones are found miscalibrated, and whether those that are
//! get found.
//!
//! ```text
//! groups   300 groups, three of them off: what is found after adjusting for their number
//! power    one group of 300, by its rows and how far it is off
//! tail     p-values below 1 / (1 + draws): shares of calibrated samples
//! ```

mod groups;
mod power;
mod tail;

use calipers::inference::NoiseFloor;
use calipers::{Error, Input, LsEce, Measure, Predictions};

use crate::replicates::{seed_of, uniform};
use crate::{Page, Setting};

/// Groups of one simulation.
const N_GROUPS: usize = 300;

/// Adjusted p-values up to this are findings.
const ALPHA: f64 = 0.05;

/// Draws of each group; those whose p-value is small get more.
const DRAWS: u64 = 200;

/// The study.
pub fn run(setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new("segments", "Many segments: false findings and power", setting);
    page.text(
        "`calipers assess --by` gives each group a p-value of being calibrated and adjusts it for the number of groups: by \
         Holm's method (any false finding in at most 5 % of runs), or by those of Benjamini and Hochberg (BH) or \
         Benjamini and Yekutieli (BY), with which at most 5 % of the findings are false on average. With 300 groups only \
         p-values of about 0.05 / 300 count, so that a group gets more draws than were requested until its p-value is \
         known well enough.",
    );
    groups::section(&mut page, setting)?;
    power::section(&mut page, setting)?;
    tail::section(&mut page, setting)?;
    page.begin_with_findings();
    Ok(page)
}

/// Rows of one group.
struct Group {
    probabilities: Vec<f64>,
    outcomes: Vec<bool>,
}

impl Group {
    /// Log-odds of predictions are uniform in an interval of length 3 about a centre between -2 and
    /// 1; those of outcomes are higher by `shift`. Without a number of rows there are 100 to 900.
    fn draw(n: Option<usize>, shift: f64, seed: u64) -> Self {
        let n = n.unwrap_or(100 + (800.0 * uniform(seed, 0)) as usize);
        let centre = 3.0 * uniform(seed, 1) - 2.0;
        let (mut probabilities, mut outcomes) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for row in 1..=n as u64 {
            let h = centre + 3.0 * (uniform(seed, 2 * row) - 0.5);
            probabilities.push(response(h));
            outcomes.push(uniform(seed, 2 * row + 1) < response(h + shift));
        }
        Group { probabilities, outcomes }
    }

    fn check(&self) -> Result<Predictions<'_>, Error> {
        Input::probabilities(&self.probabilities, &self.outcomes).check()
    }

    /// Its noise floor as one of [`N_GROUPS`], as [`calipers::inference::Segments`] has it.
    fn floor(&self, random_state: u64) -> Result<NoiseFloor, Error> {
        let predictions = self.check()?;
        let (view, measure) = (predictions.binary()?, measure());
        let resampler = measure.resampler(&view, None)?;
        NoiseFloor::resolving(&*resampler, DRAWS, ALPHA / N_GROUPS as f64, random_state)
    }
}

/// The measure that decides about LS-ECE.
fn measure() -> LsEce {
    LsEce::new().sigma(0.4).residual()
}

fn response(h: f64) -> f64 {
    1.0 / (1.0 + (-h).exp())
}

/// The seed of a simulation.
fn seed(setting: &Setting, kind: u64, index: u64) -> u64 {
    seed_of(setting.random_state, 9000 + kind, index)
}

#[cfg(test)]
mod tests {
    use calipers::inference::{Adjust, Segments};
    use calipers::{Assess, Input};

    use super::{DRAWS, Group, N_GROUPS, measure};

    #[test]
    fn p_values_are_those_of_segments() {
        let groups: Vec<Group> = (0..4).map(|k| Group::draw(Some(120), if k == 1 { 2.0 } else { 0.0 }, k)).collect();
        let probabilities: Vec<f64> = groups.iter().flat_map(|group| group.probabilities.clone()).collect();
        let outcomes: Vec<bool> = groups.iter().flat_map(|group| group.outcomes.clone()).collect();
        let numbers: Vec<u32> = (0..4).flat_map(|k| [k; 120]).collect();
        let predictions = Input::probabilities(&probabilities, &outcomes).check().unwrap();
        let view = predictions.binary().unwrap();
        let measure = measure();
        // Four groups need fewer draws than one of 300, which is what the study has.
        let assess = Assess::new(&measure).n_resamples(DRAWS).random_state(9).n_tests(N_GROUPS as u64);
        let all = Segments::numbered(&view, &numbers, 4).unwrap().assess(&assess, Adjust::Holm).unwrap();
        for (group, segment) in groups.iter().zip(&all.segments) {
            let found = group.floor(9).unwrap();
            let alone = assess.run(&group.check().unwrap().binary().unwrap()).unwrap();
            assert_eq!(alone.p_value(), Some(found.p_value));
            let among_few = segment.found.as_ref().unwrap().floor.as_ref().unwrap();
            assert_eq!((among_few.mean, among_few.quantiles), (found.mean, found.quantiles));
        }
    }
}
