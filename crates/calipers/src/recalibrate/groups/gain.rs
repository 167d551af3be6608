//! Do maps by group help? Partially pooled maps out of fold, against one map for all rows and one
//! for each group alone.

use super::fit::{GroupFit, GroupedFit, Parts};
use super::maps::{GroupMaps, Groups};
use crate::Error;
use crate::data::{Binary, Sample};
use crate::inference::{Clusters, digits, percent, signed};
use crate::names::names;
use crate::numerics::parallel;
use crate::numerics::sum::Sum;
use crate::recalibrate::binary::linear::Design;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::binary::rows::{Atoms, Ordered, Row};
use crate::recalibrate::options::Recalibrate;
use crate::recalibrate::verdict::cross_fit::{CrossFit, CrossRows, Deviations, change_of, verdict};
use crate::recalibrate::verdict::folds::folds;
use crate::recalibrate::verdict::gain::TableEvidence;
use crate::recalibrate::verdict::held_out::{HeldOut, HeldOutGain};
use crate::recalibrate::verdict::improvement::{GainInterval, Improvement, Verdict, lowered, title};

/// How the rows of groups are used for the maps of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pooling {
    /// Probabilities as they are.
    Unchanged,
    /// One map for all rows.
    Complete,
    /// A map for each group, drawn to the pooled one as far as the rows say.
    Partial,
    /// A map for each group from its own rows alone; the pooled one where these give none.
    Separate,
}

names! { Pooling, "pooling";
    Unchanged = "unchanged",
    Complete = "one map",
    Partial = "partially pooled",
    Separate = "one map a group",
}

/// The log-loss out of fold of one way to use groups.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PoolingLoss {
    /// The way.
    pub pooling: Pooling,
    /// Mean log-loss out of fold.
    pub log_loss: f64,
    /// By how much that is above the log-loss of partially pooled maps.
    pub difference: f64,
    /// The standard error of the difference, for the maps of the folds as they are.
    pub standard_error: f64,
}

/// Whether maps by group help, and more than one map for all.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GroupedImprovement {
    /// The gain of partially pooled maps. Its interval is by the rule for tables; whether there is
    /// anything to fix is not tested.
    pub improvement: Improvement<GroupMaps>,
    /// Each group, in the order of [`GroupMaps::names`].
    pub groups: Vec<GroupFit>,
    /// Unchanged probabilities, one map, partially pooled maps, and one map a group.
    pub table: Vec<PoolingLoss>,
}

impl CrossFit {
    /// The gain of partially pooled maps by group, and of the alternatives to them.
    ///
    /// Spreads among groups are estimated anew in each fold, so that what is chosen by the rows is
    /// part of what is held out. A group whose rows are all in one fold gets the pooled map there.
    ///
    /// # Example
    /// ```
    /// use calipers::Input;
    /// use calipers::recalibrate::{CrossFit, Groups, Method, Pooling, Recalibrate, Verdict};
    ///
    /// let labels: Vec<u8> = (0..400).map(|row| u8::from(row % 10 < if row < 200 { 8 } else { 3 })).collect();
    /// let groups: Vec<&str> = (0..400).map(|row| if row < 200 { "a" } else { "b" }).collect();
    /// let p = vec![0.5; 400];
    /// let predictions = Input::probabilities(&p, &labels).check()?;
    /// let cross_fit = CrossFit::new(Recalibrate::new(Method::Shift));
    /// let found = cross_fit.run_groups(&predictions.binary()?, &Groups::new(&groups))?;
    /// assert_eq!(found.improvement.verdict, Verdict::Helps);
    /// assert_eq!(found.table[1].pooling, Pooling::Complete);
    /// assert!(found.table[1].difference > 3.0 * found.table[1].standard_error);
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn run_groups<'s>(&self, sample: impl Into<Sample<'s>>, groups: &Groups) -> Result<GroupedImprovement, Error> {
        let sample = sample.into();
        self.check()?;
        let Binary::Rows(view) = sample.binary("recalibration by group")? else {
            return Err(Error::setting("recalibration by group", "of rows", "a sketch"));
        };
        let clusters = sample.resolved_clusters()?;
        let options = &self.recalibrate;
        let GroupedFit { fit, groups: of_groups } = options.fit_groups(sample, groups)?;
        let ordered = options.ordered(view)?;
        let atoms = ordered.pooled(|_| true);
        let n_folds = self.folds_of(clusters.as_ref().map_or(ordered.rows.len(), Clusters::len))?;
        let folds = folds(&ordered, clusters.as_ref(), n_folds);
        let rows = GroupRows { ordered: &ordered, groups, n_rows: view.len() };
        let of_fold = |fold: usize| rows.fold_maps(options, |place| folds[place] != fold as u32);
        let of_folds = parallel::map(n_folds, of_fold).into_iter().collect::<Result<Vec<FoldMaps>, Error>>()?;
        let number = |index: u32| groups.numbers()[index as usize] as usize;
        let map_of = |place: usize, pooling: usize| {
            &of_folds[folds[place] as usize].of(pooling)[number(ordered.rows[place].index)]
        };
        let changes: Vec<Vec<f64>> = (0..3)
            .map(|pooling| {
                let change = |place: usize| {
                    let row = ordered.rows[place];
                    change_of(map_of(place, pooling), row.h(), row.outcome())
                };
                (0..ordered.rows.len()).map(change).collect()
            })
            .collect();
        let total = atoms.total();
        let mean = |values: &[f64]| {
            let parts = ordered.rows.iter().zip(values).map(|(row, value)| row.weight() * value);
            parts.collect::<Sum>().value() / total
        };
        let deviations = Deviations { ordered: &ordered, clusters: clusters.as_ref(), total, n_rows: view.len() };
        let partial = &changes[1];
        let cross_fitted = mean(partial);
        let in_sample = fit.log_loss_after - fit.log_loss_before;
        let unit = deviations.effect(partial, cross_fitted) / atoms.effective_n;
        let deviation = deviations.of(partial, cross_fitted);
        let by_fold = |maps: &FoldMaps| {
            let change = |row: &Row| change_of(&maps.partial[number(row.index)], row.h(), row.outcome());
            mean(&ordered.rows.iter().map(change).collect::<Vec<f64>>())
        };
        let of_folds = of_folds.iter().map(by_fold).sum::<f64>() / n_folds as f64;
        let by_number: Vec<&BinaryMap> = groups.names().iter().map(|name| fit.map.of(name)).collect();
        let drawn = deviations.if_drawn(|row| by_number[number(row.index)]) * (unit * atoms.effective_n).sqrt();
        let evidence = TableEvidence { cross_fitted, in_sample, of_folds, deviation, drawn, unit };
        let (lower, upper) = evidence.interval(self.level);
        let interval = GainInterval { lower: -upper, upper: -lower, level: self.level };
        let unchanged = vec![0.0; partial.len()];
        let others = [
            (Pooling::Unchanged, &unchanged),
            (Pooling::Complete, &changes[0]),
            (Pooling::Partial, partial),
            (Pooling::Separate, &changes[2]),
        ];
        let table = others.map(|(pooling, own)| {
            let apart: Vec<f64> = own.iter().zip(partial).map(|(own, partial)| own - partial).collect();
            let difference = mean(&apart);
            let standard_error = deviations.of(&apart, difference);
            PoolingLoss { pooling, log_loss: fit.log_loss_before + mean(own), difference, standard_error }
        });
        let mut out_of_fold = vec![(f64::NAN, f64::NAN); view.len()];
        for (place, row) in ordered.rows.iter().enumerate() {
            out_of_fold[row.index as usize] = map_of(place, 1).both(row.h());
        }
        // Rows without weight are in no fold, and no map was fitted to them.
        let logits = fit.map.pooled.logits(view);
        for (row, out) in out_of_fold.iter_mut().enumerate().filter(|(_, out)| out.0.is_nan()) {
            *out = fit.map.of(&groups.names()[groups.numbers()[row] as usize]).both(logits[row]);
        }
        let cross_rows = CrossRows { view, ordered: &ordered, clusters: clusters.as_ref(), numbers: sample.clusters };
        let left = match self.left {
            true => Some(cross_rows.left(&self.remainder(sample.clusters), &out_of_fold)?),
            false => None,
        };
        let crosses = |place: usize| {
            let row = ordered.rows[place];
            let after = by_number[number(row.index)].apply(row.h());
            if (row.h() > 0.0) != (after > 0.5) { 1.0 } else { 0.0 }
        };
        let top_class_changed = mean(&(0..ordered.rows.len()).map(crosses).collect::<Vec<f64>>());
        Ok(GroupedImprovement {
            improvement: Improvement {
                out_of_fold: out_of_fold.into_iter().map(|(p, _)| p).collect(),
                left,
                log_loss_before: fit.log_loss_before,
                log_loss_after: fit.log_loss_before + cross_fitted,
                gain: -cross_fitted,
                interval,
                verdict: verdict(&interval, None, 1.0 - self.level),
                floor: None,
                n_scores: Some(rows.n_scores(&by_number)),
                top_class_changed,
                n_folds,
                n_clusters: clusters.as_ref().map(|clusters| clusters.len() as u64),
                fit,
            },
            groups: of_groups,
            table: table.to_vec(),
        })
    }
}

/// Rows with their groups.
struct GroupRows<'a> {
    ordered: &'a Ordered,
    groups: &'a Groups,
    n_rows: usize,
}

/// What is fitted to some of the rows, by number of the group.
struct FoldMaps {
    complete: Vec<BinaryMap>,
    partial: Vec<BinaryMap>,
    separate: Vec<BinaryMap>,
}

impl FoldMaps {
    fn of(&self, pooling: usize) -> &[BinaryMap] {
        match pooling {
            0 => &self.complete,
            1 => &self.partial,
            _ => &self.separate,
        }
    }
}

impl GroupRows<'_> {
    fn fold_maps(&self, options: &Recalibrate, chosen: impl Fn(usize) -> bool) -> Result<FoldMaps, Error> {
        let n_groups = self.groups.len();
        let atoms = self.ordered.pooled(&chosen);
        let parts = Parts::new(self.ordered, self.groups, self.n_rows, chosen)?;
        let solved = options.solve_groups(&atoms, &parts)?;
        let mut separate = vec![solved.pooled.clone(); n_groups];
        for (atoms, number) in parts.atoms.iter().zip(&parts.numbers) {
            let own = |atoms: &Atoms| options.fit_atoms(&Design::new(options.method, atoms), atoms);
            if let Ok(fitted) = own(atoms) {
                separate[*number as usize] = fitted.map;
            }
        }
        let partial = solved.by_number(&parts, n_groups).into_iter().map(|theta| options.map_of(theta)).collect();
        Ok(FoldMaps { complete: vec![solved.pooled; n_groups], partial, separate })
    }

    /// Different scores before and after, where groups are told apart.
    fn n_scores(&self, maps: &[&BinaryMap]) -> [u64; 2] {
        let number = |index: u32| self.groups.numbers()[index as usize];
        let scores = |of: &dyn Fn(f64, u32) -> f64| {
            let rows = self.ordered.rows.iter();
            let mut all: Vec<(u32, u64)> =
                rows.map(|row| (number(row.index), of(row.h(), number(row.index)).to_bits())).collect();
            all.sort_unstable();
            all.dedup();
            all.len() as u64
        };
        [scores(&|h, _| h), scores(&|h, number| maps[number as usize].apply(h))]
    }
}

impl GroupedImprovement {
    /// The verdict in plain sentences, with the numbers that it rests on.
    pub fn sentence(&self) -> String {
        let Improvement { interval, verdict, fit, gain, log_loss_before, log_loss_after, .. } = &self.improvement;
        let digits = digits(0.5 * (interval.upper - interval.lower));
        let show = |value: f64| signed(value, digits);
        let name = format!("{} by group, partially pooled,", title(fit.method));
        let change = format!(
            "log-loss is {} before and {} after, out of fold: a gain of {} ({} interval {} to {}).",
            show(*log_loss_before),
            show(*log_loss_after),
            show(*gain),
            percent(interval.level),
            show(interval.lower),
            show(interval.upper)
        );
        let found = match verdict {
            Verdict::Helps => format!("{name} helps: {change}"),
            Verdict::Hurts => format!("{name} hurts: {change}"),
            _ => format!("There is no evidence that {} helps or hurts: {change}", lowered(&name)),
        };
        let left = self.improvement.left.as_ref().map_or(String::new(), |left| format!(" {}", left.sentence()));
        format!("{found} {}{left}", self.against())
    }

    /// One map, and one for each group, against partially pooled maps.
    fn against(&self) -> String {
        let compared = |pooling: Pooling| {
            let row = self.table.iter().find(|row| row.pooling == pooling);
            row.map_or(String::new(), |row| {
                let show = |value: f64| signed(value, digits(row.standard_error));
                let verb = if row.difference < 0.0 { "better" } else { "worse" };
                format!("{verb} by {} ± {}", show(row.difference.abs()), show(row.standard_error))
            })
        };
        let (one, separate) = (compared(Pooling::Complete), compared(Pooling::Separate));
        format!("One map for all rows is {one}, and a map from each group's rows alone is {separate}.")
    }
}

impl HeldOut<'_, GroupMaps> {
    /// The gain on rows of a binary outcome, each mapped by the map of its group.
    pub fn run_groups<'s>(&self, sample: impl Into<Sample<'s>>, groups: &Groups) -> Result<HeldOutGain, Error> {
        let sample = sample.into();
        self.check()?;
        let Binary::Rows(view) = sample.binary("recalibration by group")? else {
            return Err(Error::setting("recalibration by group", "of rows", "a sketch"));
        };
        let numbers = groups.numbers();
        if numbers.len() != view.len() {
            return Err(Error::LengthMismatch { what: "groups", got: numbers.len(), expected: view.len() });
        }
        let clusters = sample.resolved_clusters()?;
        let ordered = Ordered::new(view, self.map.pooled.clip, false)?;
        let atoms = ordered.pooled(|_| true);
        let maps: Vec<&BinaryMap> = groups.names().iter().map(|name| self.map.of(name)).collect();
        let own = |index: u32| maps[numbers[index as usize] as usize];
        let changes: Vec<f64> =
            ordered.rows.iter().map(|row| change_of(own(row.index), row.h(), row.outcome())).collect();
        let logits = self.map.pooled.logits(view);
        let after = logits.iter().zip(0..).map(|(h, row)| own(row).both(*h)).collect();
        let rows = CrossRows { view, ordered: &ordered, clusters: clusters.as_ref(), numbers: sample.clusters };
        let crosses = |row: &&Row| (row.h() > 0.0) != (own(row.index).apply(row.h()) > 0.5);
        let crossed = ordered.rows.iter().filter(crosses).map(|row| row.weight()).collect::<Sum>().value();
        self.of_changes(&rows, &atoms, &changes, after, crossed / atoms.total())
    }
}
