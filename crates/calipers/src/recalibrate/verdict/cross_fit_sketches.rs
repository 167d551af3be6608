//! Does recalibration help? The gain from sketches, one for each fold.

use super::cross_fit::{CrossFit, Shape, change_of, drawn_variance, expected_change, verdict};
use super::gain::{Evidence, TableEvidence};
use super::improvement::{GainInterval, Improvement};
use crate::Error;
use crate::data::Scale;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::binary::rows::{Atom, Atoms};
use crate::recalibrate::sketches::from_cells::HeldOutCells;
use crate::sketch::Sketch;

/// Whether recalibration helps, as far as sketches tell.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SketchImprovement {
    /// The map of all rows, its gain and the verdict. Whether there is anything to fix is not
    /// tested, and there are no probabilities of rows.
    pub improvement: Improvement,
    /// How far the gain of these maps on the rows is from the one of the cells at most, in nats;
    /// the interval is wider by as much on both sides. `None` for tables and mixtures, whose rows
    /// count as rounded to their cells.
    pub bound: Option<f64>,
}

impl SketchImprovement {
    /// The verdict in plain sentences.
    pub fn sentence(&self) -> String {
        let found = self.improvement.sentence();
        match self.bound {
            Some(bound) => format!("{found} By the cells of the sketches the gain is known to within {bound:.1e}."),
            None => format!("{found} The scores of the rows count as rounded to the cells of the sketches."),
        }
    }
}

impl CrossFit {
    /// The gain and the verdict from sketches of a binary outcome, each of which is a fold.
    ///
    /// # Definition
    /// Give each row to one of some sketches by a hash of its key; five are enough. A map is fitted
    /// to the sketches of all folds but one, merged, and its change of log-loss is summed over the
    /// cells of that one. The map to use is fitted to all of them. The interval is that of
    /// [`run`](Self::run), with sums over cells in place of sums over rows: their spread is known
    /// to the cell, and the ends are moved apart by the bound on the gain.
    ///
    /// # Assumptions
    /// Independent rows, and a fold that does not depend on scores or outcomes. Sketches have no
    /// clusters: where rows depend on each other, put each cluster into one fold; then the gain is
    /// right, and the interval is too narrow.
    ///
    /// # Cost
    /// One fit for each sketch, whatever the number of rows.
    ///
    /// # Example
    /// ```
    /// use calipers::Sketch;
    /// use calipers::population::Family;
    /// use calipers::recalibrate::{CrossFit, Method, Recalibrate, Verdict};
    ///
    /// let family = Family::named("overconfident")?;
    /// let mut folds = vec![Sketch::new(); 5];
    /// for (seed, fold) in folds.iter_mut().enumerate() {
    ///     fold.update(&family.sample(400, seed as u64).input().check()?.binary()?)?;
    /// }
    /// let found = CrossFit::new(Recalibrate::new(Method::Beta)).run_sketches(&folds)?;
    /// assert_eq!(found.improvement.verdict, Verdict::Helps);
    /// assert!(found.bound.is_some_and(|bound| bound < 1e-6));
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn run_sketches(&self, folds: &[Sketch]) -> Result<SketchImprovement, Error> {
        self.check()?;
        Error::require(folds.len() >= 2, "sketches", "at least 2, one for each fold", folds.len())?;
        let all = merged(folds.iter())?;
        let options = &self.recalibrate;
        // The rows have been clipped when they came in.
        let clip = if all.scale() == Some(Scale::Probability) { all.options().clip_value() } else { options.clip };
        let options = &options.clone().clip(clip);
        let (fit, fitted, atoms) = options.fit_cells(&all)?;
        let of_fold = |fold: usize| {
            let others = folds.iter().enumerate().filter(|(other, _)| *other != fold).map(|(_, sketch)| sketch);
            let map = options.fit_cells(&merged(others)?)?.0.map;
            if folds[fold].n() == 0 {
                return Ok(None);
            }
            let cells = HeldOutCells::new(&folds[fold], options.counts, options.method);
            Ok(Some((map, cells)))
        };
        let held_out = parallel::map(folds.len(), of_fold).into_iter().collect::<Result<Vec<_>, Error>>()?;
        let held_out: Vec<(BinaryMap, HeldOutCells)> = held_out.into_iter().flatten().collect();
        let total: f64 = held_out.iter().map(|(_, cells)| cells.atoms.total()).sum();
        let sum_of = |(map, cells): &(BinaryMap, HeldOutCells)| sum_of_changes(map, &cells.atoms);
        let cross_fitted = held_out.iter().map(sum_of).collect::<Sum>().value() / total;
        let squares = |map: &BinaryMap, atoms: &Atoms, mean: f64| sum_of_squares(map, atoms, mean);
        let own = fit.log_loss_after - fit.log_loss_before;
        let (lower, upper) = match Shape::of(&fitted, &atoms) {
            Some(Shape { spread, line }) => {
                let deviation = squares(&fit.map, &atoms, own).sqrt() / atoms.total();
                let design = deviation_of_expected(&fit.map, &atoms);
                Evidence { in_sample: own, deviation, design, spread, line: line.as_ref() }.interval(self.level)
            }
            None => {
                let parts = held_out.iter().map(|(map, cells)| squares(map, &cells.atoms, cross_fitted));
                let deviation = parts.collect::<Sum>().value().sqrt() / total;
                let of_all: f64 = held_out.iter().map(|(map, _)| sum_of_changes(map, &atoms)).sum();
                let of_folds = of_all / atoms.total() / held_out.len() as f64;
                let drawn = |atom: &Atom| (atom.squares[0] + atom.squares[1]) * drawn_variance(&fit.map, atom.h);
                let drawn = atoms.atoms.iter().map(drawn).collect::<Sum>().value().sqrt() / atoms.total();
                let unit = 1.0 / atoms.effective_n;
                let evidence = TableEvidence { cross_fitted, in_sample: own, of_folds, deviation, drawn, unit };
                evidence.interval(self.level)
            }
        };
        let errors = held_out.iter().map(|(map, cells)| cells.error(map)).collect::<Option<Vec<f64>>>();
        let bound = errors.map(|errors| errors.iter().sum::<f64>() / total);
        let wider = bound.unwrap_or(0.0);
        let interval = GainInterval {
            lower: (-upper).min(-cross_fitted) - wider,
            upper: (-lower).max(-cross_fitted) + wider,
            level: self.level,
        };
        let mut outputs: Vec<f64> = atoms.atoms.iter().map(|atom| fit.map.apply(atom.h)).collect();
        outputs.dedup();
        let improvement = Improvement {
            log_loss_before: fit.log_loss_before,
            log_loss_after: fit.log_loss_before + cross_fitted,
            gain: -cross_fitted,
            interval,
            verdict: verdict(&interval, None, 1.0 - self.level),
            floor: None,
            left: None,
            out_of_fold: Vec::new(),
            n_scores: Some([atoms.atoms.len() as u64, outputs.len() as u64]),
            top_class_changed: atoms.share(|h| (h > 0.0) != (fit.map.apply(h) > 0.5)),
            n_folds: held_out.len(),
            n_clusters: None,
            fit,
        };
        Ok(SketchImprovement { improvement, bound })
    }
}

/// The rows of several sketches in one.
fn merged<'a>(sketches: impl Iterator<Item = &'a Sketch>) -> Result<Sketch, Error> {
    let mut all: Option<Sketch> = None;
    for sketch in sketches {
        match &mut all {
            None => all = Some(sketch.clone()),
            Some(all) => all.merge(sketch)?,
        }
    }
    all.ok_or(Error::NoRows)
}

/// Changes of the log-loss of both outcomes at a logit, with the weight of each that is above 0.
fn changes<'a>(map: &'a BinaryMap, atom: &'a Atom) -> impl Iterator<Item = (usize, f64)> + 'a {
    let has_weight = |outcome: &usize| atom.weights[*outcome] > 0.0;
    (0..2).filter(has_weight).map(|outcome| (outcome, change_of(map, atom.h, outcome == 1)))
}

fn sum_of_changes(map: &BinaryMap, atoms: &Atoms) -> f64 {
    let of_atom = |atom: &Atom| changes(map, atom).map(|(outcome, change)| atom.weights[outcome] * change).sum::<f64>();
    atoms.atoms.iter().map(of_atom).collect::<Sum>().value()
}

/// The standard error of the mean expected change: what is due to which rows were drawn.
fn deviation_of_expected(map: &BinaryMap, atoms: &Atoms) -> f64 {
    let expected = |atom: &Atom| expected_change(map, atom.h);
    let weighted = |atom: &Atom| (atom.weights[0] + atom.weights[1]) * expected(atom);
    let mean = atoms.atoms.iter().map(weighted).collect::<Sum>().value() / atoms.total();
    let square = |atom: &Atom| (atom.squares[0] + atom.squares[1]) * (expected(atom) - mean).powi(2);
    atoms.atoms.iter().map(square).collect::<Sum>().value().sqrt() / atoms.total()
}

fn sum_of_squares(map: &BinaryMap, atoms: &Atoms, mean: f64) -> f64 {
    let of_atom = |atom: &Atom| {
        changes(map, atom).map(|(outcome, change)| atom.squares[outcome] * (change - mean).powi(2)).sum::<f64>()
    };
    atoms.atoms.iter().map(of_atom).collect::<Sum>().value()
}
