//! Section 4: LS-ECE is continuous, and by how much.

use std::sync::Arc;

use calipers::population::{Finite, Sample};
use calipers::{Error, Form, Input, LsEce, Measure, Noise, noise};
use calipers_report::{Axis, Chart, Series, Stroke};

use crate::replicates::{replicates, seed_of, uniform};
use crate::table::{full, short};
use crate::{Agreement, Page, Setting, Table};

/// The scale of all noises here.
const SIGMA: f64 = 0.2;

/// Rows of the sample that is changed.
const N_ROWS: usize = 400;

/// How far a few logits are moved, however small the change is in L^1.
const FAR: f64 = 50.0;

/// LS-ECE is integrated to this, so that a change of it is good to twice that.
const TOLERANCE: f64 = 1e-7;

/// A direction in which logits are changed.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    /// All logits by up to delta: small in L^infinity.
    Everywhere,
    /// A share of delta / 50 of the mass by 50: of size delta in L^1, and of size 50 in L^infinity.
    FewAndFar,
}

/// A part of a row, whose logit is changed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Part {
    row: usize,
    /// Those of a row sum to 1.
    weight: f64,
    change: f64,
}

impl Direction {
    const ALL: [Direction; 2] = [Direction::Everywhere, Direction::FewAndFar];

    fn name(self) -> &'static str {
        match self {
            Direction::Everywhere => "L^infinity",
            Direction::FewAndFar => "L^1",
        }
    }

    /// The share of the mass that is moved.
    fn share(self, delta: f64) -> f64 {
        match self {
            Direction::Everywhere => 1.0,
            Direction::FewAndFar => delta / FAR,
        }
    }

    /// A change of size delta, of rows or of parts that are split off them.
    fn draw(self, delta: f64, random_state: u64) -> Vec<Part> {
        let parts = |row: usize| {
            let place = 2.0 * uniform(random_state, row as u64) - 1.0;
            let share = self.share(delta);
            let change = match self {
                Direction::Everywhere => delta * place,
                Direction::FewAndFar => FAR.copysign(place),
            };
            [Part { row, weight: share, change }, Part { row, weight: 1.0 - share, change: 0.0 }]
        };
        (0..N_ROWS).flat_map(parts).filter(|part| part.weight > 0.0).collect()
    }
}

/// E min(2, V |h - h'|), an upper bound on the change of LS-ECE.
///
/// LS-ECE is the total mass of the signed measure Σ_y (y - t) P(Y = y, T in dt), and |y - t| <= 1,
/// so two LS-ECE differ by at most twice the total variation distance of (Y, T) and (Y, T'). Given
/// X, that is the distance of ξ and ξ moved by h - h', which is at most 1, and at most half of
/// V |h - h'|, where V is the total variation of the density of the noise.
fn bound(noise: &dyn Noise, parts: &[Part]) -> Option<f64> {
    let variation = noise.variation(1)? / SIGMA;
    let most = parts.iter().map(|part| part.weight * (variation * part.change.abs()).min(2.0)).sum::<f64>();
    Some(most / parts.iter().map(|part| part.weight).sum::<f64>())
}

/// A predictor at which ECE itself jumps: pairs of rows with one logit and both outcomes.
fn tied_rows(setting: &Setting) -> Result<Sample, Error> {
    let population = Finite::new(&[1.0; 8], &[0.5; 8], &[0.06, 0.15, 0.3, 0.42, 0.58, 0.7, 0.85, 0.94])?;
    let drawn = population.sample(N_ROWS, seed_of(setting.random_state, 4, 0));
    let logits = drawn.scores.iter().map(|p| (p / (1.0 - p)).ln()).collect();
    Ok(Sample { form: Form::Logits, scores: logits, outcomes: drawn.outcomes })
}

/// Logits with outcomes and weights.
struct Weighted {
    logits: Vec<f64>,
    outcomes: Vec<bool>,
    weights: Vec<f64>,
}

impl Weighted {
    fn new(rows: &Sample, parts: &[Part]) -> Self {
        Weighted {
            logits: parts.iter().map(|part| rows.scores[part.row] + part.change).collect(),
            outcomes: parts.iter().map(|part| rows.outcomes[part.row]).collect(),
            weights: parts.iter().map(|part| part.weight).collect(),
        }
    }

    /// ECE of the rows as a population: every row is a point, level sets are equal logits.
    fn ece(&self) -> Result<f64, Error> {
        let truth: Vec<f64> = self.outcomes.iter().map(|&y| f64::from(u8::from(y))).collect();
        let predictions: Vec<f64> = self.logits.iter().map(|h| 1.0 / (1.0 + (-h).exp())).collect();
        Ok(Finite::new(&self.weights, &truth, &predictions)?.ece())
    }

    fn ls_ece(&self, noise: &Arc<dyn Noise>) -> Result<f64, Error> {
        let measure = LsEce::new().sigma(SIGMA).noise(noise.clone()).tolerance(TOLERANCE);
        let rows = Input::logits(&self.logits, &self.outcomes).weights(&self.weights).check()?;
        Ok(measure.estimate(&rows.binary()?)?.value)
    }
}

/// What one draw of a change shows.
struct Draw {
    change: f64,
    bound: f64,
    ece_change: f64,
}

impl Draw {
    /// The change as a part of its bound, less what the integration may be off by.
    fn ratio(&self) -> f64 {
        (self.change - 2.0 * TOLERANCE).max(0.0) / self.bound
    }
}

/// What one noise, direction and size show, over the draws of the change.
struct Step {
    noise: &'static str,
    direction: Direction,
    delta: f64,
    /// The largest change of LS-ECE.
    change: f64,
    /// The bound in the draw with the largest change.
    bound: f64,
    /// The largest ratio of a change to the bound in its own draw, which need not be that of the
    /// largest change.
    ratio: f64,
    /// The largest change of ECE.
    ece_change: f64,
}

/// The study.
pub fn run(setting: &Setting) -> Result<Page, Error> {
    let mut page = Page::new("continuity", "LS-ECE is continuous for any data, ECE is not", setting);
    page.text(&format!(
        "Theorem sececontthm. {N_ROWS} rows share eight logits, each with both outcomes, so ECE jumps at this predictor. The \
         logits h are changed to h', in two ways. L^infinity: every logit changes by a number uniform in [-delta, delta]. L^1: of every \
         row, a part of delta / {FAR} of its weight is split off and moved by {FAR}, up or down, so that the mean of |h - h'| is \
         delta and the largest is {FAR}, however small delta is. sigma = {SIGMA}. The charts show the largest changes of LS-ECE and of ECE over {} draws, and the bound |change of LS-ECE| <= E min(2, V |h - h'|), V the total variation of the noise's \
         density, in the draw with the largest change of LS-ECE.",
        n_draws(setting),
    ));
    let rows = tied_rows(setting)?;
    let deltas: Vec<f64> =
        (0..=setting.pick(16, 4)).map(|k| 10f64.powf(-4.0 * f64::from(k) / setting.pick(16.0, 4.0))).collect();
    let starts = noise::NAMES.into_iter().map(|name| Start::new(&rows, name)).collect::<Result<Vec<_>, Error>>()?;
    let mut steps = Vec::new();
    for direction in Direction::ALL {
        for start in &starts {
            for &delta in &deltas {
                steps.push(start.step(setting, direction, delta)?);
            }
        }
    }

    let mut table =
        Table::new(["direction", "noise", "delta", "change_of_ls_ece", "bound", "largest_ratio", "change_of_ece"]);
    for step in &steps {
        table.row([
            step.direction.name().to_owned(),
            step.noise.to_owned(),
            full(step.delta),
            full(step.change),
            full(step.bound),
            full(step.ratio),
            full(step.ece_change),
        ]);
    }
    page.csv("changes", &table);
    for direction in Direction::ALL {
        figure(&mut page, &steps, direction);
    }
    findings(&mut page, &steps);
    Ok(page)
}

fn n_draws(setting: &Setting) -> u64 {
    setting.pick(40, 4)
}

/// The rows before they are changed, with one noise.
struct Start<'a> {
    rows: &'a Sample,
    name: &'static str,
    noise: Arc<dyn Noise>,
    ls_ece: f64,
    ece: f64,
}

impl<'a> Start<'a> {
    fn new(rows: &'a Sample, name: &'static str) -> Result<Self, Error> {
        let noise = noise::by_name(name)?;
        let unchanged = Weighted::new(rows, &Direction::Everywhere.draw(0.0, 0));
        Ok(Start { rows, name, ls_ece: unchanged.ls_ece(&noise)?, ece: unchanged.ece()?, noise })
    }

    fn step(&self, setting: &Setting, direction: Direction, delta: f64) -> Result<Step, Error> {
        let draws = replicates(n_draws(setting), |index| {
            let parts = direction.draw(delta, seed_of(setting.random_state, 5, index));
            let changed = Weighted::new(self.rows, &parts);
            Ok(Draw {
                change: (changed.ls_ece(&self.noise)? - self.ls_ece).abs(),
                bound: bound(&*self.noise, &parts).unwrap_or(f64::INFINITY),
                ece_change: (changed.ece()? - self.ece).abs(),
            })
        })?;
        let largest = |value: fn(&Draw) -> f64| draws.iter().map(value).fold(0.0, f64::max);
        let furthest = draws.iter().max_by(|a, b| a.change.total_cmp(&b.change));
        let (change, bound) = furthest.map_or((0.0, 0.0), |draw| (draw.change, draw.bound));
        let (ratio, ece_change) = (largest(Draw::ratio), largest(|draw| draw.ece_change));
        Ok(Step { noise: self.name, direction, delta, change, bound, ratio, ece_change })
    }
}

fn figure(page: &mut Page, steps: &[Step], direction: Direction) {
    let own = |noise: &str| -> Vec<&Step> {
        steps.iter().filter(|step| step.direction == direction && step.noise == noise).collect()
    };
    let mut chart = Chart::new(format!("Largest change of LS-ECE and of ECE, logits changed in {}", direction.name()))
        .x(Axis::log("delta"))
        .y(Axis::log("change"));
    for (colour, name) in noise::NAMES.into_iter().enumerate() {
        let line = |value: fn(&Step) -> f64| own(name).iter().map(|step| (step.delta, value(step))).collect();
        chart = chart.add(Series::line(format!("LS-ECE, {name}"), line(|step| step.change)).colour(colour));
        if name == "gaussian" || name == "uniform" {
            let bound = Series::line(format!("bound, {name}"), line(|step| step.bound));
            chart = chart.add(bound.stroke(Stroke::Dashed).colour(colour));
        }
    }
    let ece = own("gaussian").iter().map(|step| (step.delta, step.ece_change)).collect();
    chart = chart.add(Series::line("ECE", ece).stroke(Stroke::Dotted).colour(calipers_report::BLACK));
    let (file, how) = match direction {
        Direction::Everywhere => ("everywhere", "All logits changed by up to delta".to_owned()),
        Direction::FewAndFar => ("few-and-far", format!("A share delta / {FAR} of the mass moved by {FAR}")),
    };
    let caption = format!(
        "{how}: the largest change of LS-ECE (solid) with the bound in that draw (dashed, for two noises), and the largest \
         change of ECE (dotted)."
    );
    page.figure(file, &chart, &caption);
}

fn findings(page: &mut Page, steps: &[Step]) {
    let of = |direction: Direction| steps.iter().filter(move |step| step.direction == direction);
    let tightest = steps.iter().map(|step| step.ratio).fold(0.0, f64::max);
    let smallest = steps.iter().map(|step| step.delta).fold(f64::INFINITY, f64::min);
    let there = |direction: Direction, value: fn(&Step) -> f64| {
        of(direction).filter(|step| step.delta == smallest).map(value).fold(0.0, f64::max)
    };
    let holds = tightest <= 1.0;
    page.finding(
        Agreement::seen_if(holds),
        &format!(
            "LS-ECE {} for every noise and both directions (the largest ratio of a change to its bound is {}). At delta = \
             {smallest:.0e} it has changed by at most {} (L^infinity) and {} (L^1), ECE by {} and {}.",
            if holds { "stays below the bound" } else { "does not stay below the bound" },
            short(tightest),
            short(there(Direction::Everywhere, |step| step.change)),
            short(there(Direction::FewAndFar, |step| step.change)),
            short(there(Direction::Everywhere, |step| step.ece_change)),
            short(there(Direction::FewAndFar, |step| step.ece_change)),
        ),
    );
    // ECE is a sum over level sets of |mass of y - g|, and |y - g| <= 1: a share is taken from one
    // and added to another.
    let part = |step: &Step| step.ece_change / (2.0 * step.direction.share(step.delta));
    let most = of(Direction::FewAndFar).map(part).fold(0.0, f64::max);
    page.finding(
        Agreement::Noted,
        &format!(
            "Along the L^1 direction ECE {}: moving a share of the mass, by any distance, changes it by at most twice the share \
             (here at most {} of that), which is the bound of LS-ECE too. ECE jumps if a whole level set moves slightly, which is a small change in L^1 and in L^infinity.",
            if most <= 1.0 { "does not jump either" } else { "changes by more than it can" },
            short(most),
        ),
    );
    page.finding(
        Agreement::Noted,
        "The theorem is stated for L^infinity. Its proof and the bound show more: LS-ECE is continuous in L^1, and \
         Lipschitz with constant V. Almost-everywhere continuity of the noise's density is not needed either: every \
         density is continuous under translation in L^1.",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_change_that_is_small_in_l1_is_as_large_as_ever_in_l_infinity() {
        for delta in [1.0, 1e-2, 1e-4] {
            let parts = Direction::FewAndFar.draw(delta, 3);
            assert_eq!(parts.len(), 2 * N_ROWS);
            let total: f64 = parts.iter().map(|part| part.weight).sum();
            let l1 = parts.iter().map(|part| part.weight * part.change.abs()).sum::<f64>() / total;
            assert!((total - N_ROWS as f64).abs() < 1e-9 && (l1 / delta - 1.0).abs() < 1e-12, "{total} {l1}");
            assert_eq!(parts.iter().map(|part| part.change.abs()).fold(0.0, f64::max), FAR);
            // A logit that is moved so far carries at most 2 of its weight, whatever the noise.
            for name in noise::NAMES {
                let bound = bound(&*noise::by_name(name).unwrap(), &parts).unwrap();
                assert!((bound / (2.0 * delta / FAR) - 1.0).abs() < 1e-12, "{name}: {bound}");
            }
            let parts = Direction::Everywhere.draw(delta, 3);
            assert!(parts.len() == N_ROWS && parts.iter().all(|part| part.change.abs() < delta && part.weight == 1.0));
        }
    }

    #[test]
    fn rows_that_are_split_and_not_moved_are_the_same_rows() {
        let rows = tied_rows(&Setting { quick: true, random_state: 0 }).unwrap();
        let whole = Weighted::new(&rows, &Direction::Everywhere.draw(0.0, 0));
        let split: Vec<Part> =
            Direction::FewAndFar.draw(0.3, 1).into_iter().map(|part| Part { change: 0.0, ..part }).collect();
        let split = Weighted::new(&rows, &split);
        let noise = noise::by_name("gaussian").unwrap();
        assert!((whole.ece().unwrap() - split.ece().unwrap()).abs() < 1e-12);
        assert!((whole.ls_ece(&noise).unwrap() - split.ls_ece(&noise).unwrap()).abs() < 2.0 * TOLERANCE);
    }

    #[test]
    fn the_largest_change_and_the_largest_ratio_are_each_the_largest() {
        let setting = Setting { quick: true, random_state: 0 };
        let rows = tied_rows(&setting).unwrap();
        let start = Start::new(&rows, "gaussian").unwrap();
        for direction in Direction::ALL {
            let step = start.step(&setting, direction, 0.1).unwrap();
            assert!(step.ratio >= (step.change - 2.0 * TOLERANCE) / step.bound && step.ratio < 1.0);
            assert!(step.change > 0.0 && step.ece_change > 0.0);
        }
    }
}
