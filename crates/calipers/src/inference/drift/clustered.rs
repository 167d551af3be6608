//! Rows of two samples that depend on each other, by cluster.
//!
//! # The test with clusters
//! The sums U_m of [`super::curve`] are sums over clusters, u_c, which are independent with the
//! mean 0 where nothing has changed. They are made uncorrelated with variance 1 by Σ_c u_c u_c',
//! which holds however rows of a cluster depend on each other. Draws change the signs of whole
//! clusters: Σ_c u_c u_c' stays as it is, and where u_c is as likely as -u_c each draw is as likely
//! as what was measured. A cluster with rows in both samples is one, so that the test is right for
//! the same people on two days, too.

use super::curve::{Directions, N_DIRECTIONS, combined, statistic, uncorrelated};
use super::drawing::Drawing;
use super::pooled::{Row, rows_of};
use crate::Error;
use crate::data::{BinaryView, Sample};
use crate::inference::difference::Covariances;
use crate::inference::resampler::{Draws, drawn};
use crate::inference::{Clusters, RowBracket, RowEnd, RowResampler};
use crate::measure::Measure;
use crate::numerics::parallel;
use crate::numerics::random::seed_of_draw;
use crate::watch;

/// The rows before, then those after, and which of them are a cluster.
pub(super) struct Clustered<'a> {
    views: [&'a BinaryView<'a>; 2],
    /// The cluster of each row, as each sample numbers them.
    numbers: [&'a [u32]; 2],
    rows: Vec<Row>,
    clusters: Clusters,
}

impl<'a> Clustered<'a> {
    /// `None` for samples without clusters. A number in both samples is one cluster.
    pub(super) fn new(samples: [&Sample<'a>; 2], effective_rows: [f64; 2]) -> Result<Option<Self>, Error> {
        let rule = "those of both samples or of none; a cluster of its own for each row where rows are independent";
        let numbers = match samples.map(|sample| sample.clusters) {
            [None, None] => return Ok(None),
            [Some(before), Some(after)] => [before, after],
            _ => return Err(Error::setting("clusters", rule, "those of one sample")),
        };
        let [Some(before), Some(after)] = samples.map(Sample::view) else {
            return Err(Error::setting("clusters", "left out for a sketch, which has no single rows", "some"));
        };
        let mut rows = rows_of(before, false, effective_rows[0]);
        rows.extend(rows_of(after, true, effective_rows[1]));
        let weights: Vec<f64> = rows.iter().map(|row| row.weight).collect();
        let clusters = Clusters::of_weights(&numbers.concat(), &weights)?;
        Ok(Some(Clustered { views: [before, after], numbers, rows, clusters }))
    }

    /// How many clusters have rows in both samples.
    pub(super) fn n_shared(&self) -> usize {
        let is_shared = |cluster: &usize| {
            let rows = self.clusters.rows_of(*cluster);
            let is_after = |row: &usize| self.rows[*row].is_after;
            rows.iter().any(is_after) && !rows.iter().all(is_after)
        };
        (0..self.clusters.len()).filter(is_shared).count()
    }

    /// The sum over the rows of each cluster.
    pub(super) fn sums(&self, of_row: impl Fn(&Row) -> Directions) -> Vec<Directions> {
        let sum = |cluster: usize| {
            let mut sums = [0.0; N_DIRECTIONS];
            for row in self.clusters.rows_of(cluster) {
                sums.iter_mut().zip(of_row(&self.rows[*row])).for_each(|(sum, own)| *sum += own);
            }
            sums
        };
        (0..self.clusters.len()).map(sum).collect()
    }

    /// Of a sum over rows whose mean is 0.
    pub(super) fn variance(&self, of_row: impl Fn(&Row) -> f64) -> f64 {
        self.clusters.deviation(&self.rows.iter().map(of_row).collect::<Vec<f64>>()).powi(2)
    }

    /// The p-value of the sums by cluster.
    pub(super) fn p_value(&self, sums: &[Directions], drawing: &Drawing) -> Result<f64, Error> {
        // Independent rows would have a variance of 1 in each direction: what is next to nothing
        // beside that is rounding, as where both samples have the same rows.
        let total = sums.iter().flatten().map(|sum| sum * sum).sum::<f64>().max(N_DIRECTIONS as f64);
        let whitened = uncorrelated(sums.iter().map(|sums| (sums, 1.0)), total);
        let combined: Vec<Directions> = sums.iter().map(|sums| combined(&whitened, sums)).collect();
        let value = of_signed(combined.iter().map(|own| (own, true)), whitened.len());
        drawing.p_value(value, |mut uniforms| {
            of_signed(combined.iter().map(|own| (own, uniforms.next() < 0.5)), whitened.len())
        })
    }

    /// What estimates of both samples have in common through clusters with rows in both; `None` for
    /// a measure without influence values.
    pub(super) fn covariances(&self, measure: &dyn Measure) -> Result<Option<Covariances>, Error> {
        let bracket = |place: usize| -> Result<Option<RowBracket>, Error> {
            let clusters = Clusters::new(self.numbers[place], self.views[place])?;
            measure.row_bracket(self.views[place], Some(&clusters))
        };
        let (Some(before), Some(after)) = (bracket(0)?, bracket(1)?) else { return Ok(None) };
        let n_before = self.views[0].len();
        let covariance = |after: &RowEnd, before: &RowEnd| {
            let product = |cluster: usize| {
                let (mut of_before, mut of_after) = (0.0, 0.0);
                for &row in self.clusters.rows_of(cluster) {
                    match row.checked_sub(n_before) {
                        None => of_before += before.influences[row],
                        Some(row) => of_after += after.influences[row],
                    }
                }
                of_before * of_after
            };
            let n = self.clusters.len() as f64;
            n / (n - 1.0) * (0..self.clusters.len()).map(product).sum::<f64>()
        };
        Ok(Some(Covariances {
            of_upper: covariance(&after.upper, &before.upper),
            of_least: covariance(&after.lower, &before.upper),
            of_most: covariance(&after.upper, &before.lower),
        }))
    }

    /// The standard error of the difference of a measure, by draws of whole clusters with all their
    /// rows in both samples.
    pub(super) fn deviation_by_draws(
        &self,
        measure: &dyn Measure,
        n_resamples: u64,
        random_state: u64,
    ) -> Result<f64, Error> {
        let before = RowResampler::new(measure, self.views[0], None)?;
        let after = RowResampler::new(measure, self.views[1], None)?;
        let n_before = self.views[0].len();
        let draws = parallel::map(n_resamples as usize, |number| {
            watch::draw_begins();
            let clusters = drawn(self.clusters.len(), seed_of_draw(random_state, number as u64));
            let rows = clusters.into_iter().flat_map(|cluster| self.clusters.rows_of(cluster)).copied();
            let (of_before, of_after): (Vec<usize>, Vec<usize>) = rows.partition(|row| *row < n_before);
            let of_after: Vec<usize> = of_after.into_iter().map(|row| row - n_before).collect();
            after.measure_rows(&of_after) - before.measure_rows(&of_before)
        });
        Ok(Draws::of(draws)?.deviation())
    }
}

/// The statistic of the first `n` sums, each of which is added or taken off.
fn of_signed<'a>(sums: impl Iterator<Item = (&'a Directions, bool)>, n: usize) -> f64 {
    let mut total = [0.0; N_DIRECTIONS];
    for (own, is_added) in sums {
        let sign = if is_added { 1.0 } else { -1.0 };
        total.iter_mut().zip(own).for_each(|(sum, own)| *sum += sign * own);
    }
    statistic(&total[..n])
}
