//! Sums of beta kernels over all rows but one's own, near-linear in the number of rows.
//!
//! # Definition
//! ```text
//! K(z; x) = z^(x/h) (1 - z)^((1-x)/h) / B(x/h + 1, (1-x)/h + 1)
//! ```
//! # Method
//! Its logarithm is linear in x but for c(x) = -ln B, so that around the middle x_c of a cell of
//! half-width r
//! ```text
//! K(z; x) = K(z; x_c) · ω(x) · exp(a b),    a = r (v - v_c) / h,   b = (x - x_c) / r,   v = logit z
//! ω(x) = exp(c(x) - c(x_c) + (x - x_c) v_c / h)
//! ```
//! and the rows of a cell are summed up by their moments Σ w ω b^k, k < 20. All K are positive, so
//! that errors are relative: for |a| <= 2 the series is cut at less than `2^20 / 20! · e^4 < 3e-11`
//! of the sum. Cells with |a| above are summed row by row. ln K is concave in x, so that beyond the
//! largest K, all rows further out have less than the last one looked at: cells are left out where
//! that, times all the weight, is below 1e-10 of the sum.
//!
//! Places that share a cell with many others are interpolated: see [`Crowd`].
//!
//! In the angle asin √x, the kernel has about the same width everywhere, √h / 2; cells have a
//! seventh of that.

use std::ops::Range;

use crate::measures::probabilities::Group;
use crate::numerics::parallel;
use crate::watch;

/// Moments of a cell.
const MOMENTS: usize = 20;

/// 1, 1/2, 1/3, ...
const RECIPROCALS: [f64; MOMENTS] = {
    let mut values = [1.0; MOMENTS];
    let mut k = 0;
    while k < MOMENTS {
        values[k] = 1.0 / (k + 1) as f64;
        k += 1;
    }
    values
};

/// The largest |a| for which moments are used.
const LARGEST_TILT: f64 = 2.0;

/// What is neglected, relative to the sum.
const NEGLIGIBLE: f64 = 1e-10;

/// Groups up to which a cell is summed one by one.
const FEW: usize = 2;

/// Nodes of an interpolation over a cell.
const NODES: usize = 20;

/// Size of the ellipse of its bound.
const ELLIPSE: f64 = 6.0;

/// Groups from which interpolation over a cell pays.
const CROWDED: usize = 48;

/// Rows of one probability, prepared for a bandwidth.
pub(super) struct BetaSums<'a> {
    groups: &'a [Group],
    bandwidth: f64,
    /// c(x) of each group.
    log_norms: Vec<f64>,
    cells: Vec<Cell>,
    /// Cell of each group.
    cell_of: Vec<u32>,
    total: f64,
}

struct Cell {
    start: usize,
    end: usize,
    middle: f64,
    half_width: f64,
    /// logit of the middle.
    logit: f64,
    log_norm: f64,
    /// Moments over factorials: of all weight, and of outcome 1.
    moments: [[f64; MOMENTS]; 2],
    weight: f64,
}

/// Sums at one place without its own group, times e^-scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Others {
    /// Σ w K.
    pub(super) total: f64,
    /// Σ w y K.
    pub(super) positive: f64,
    /// K at the place itself.
    pub(super) own: f64,
    pub(super) scale: f64,
}

/// c(x), with `whole` = ln Γ(1/h + 2).
fn log_norm(x: f64, h: f64, whole: f64) -> f64 {
    whole - libm::lgamma(x / h + 1.0) - libm::lgamma((1.0 - x) / h + 1.0)
}

/// Groups cut where the angle asin √p passes a multiple of `width`.
fn cell_ranges(groups: &[Group], width: f64) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < groups.len() {
        let number = (groups[start].p.sqrt().asin() / width).floor();
        let edge = ((number + 1.0) * width).min(std::f64::consts::FRAC_PI_2).sin().powi(2);
        let end = start + groups[start..].partition_point(|group| group.p < edge).max(1);
        ranges.push(start..end);
        start = end;
    }
    ranges
}

impl<'a> BetaSums<'a> {
    /// Groups have probabilities inside (0, 1), in ascending order.
    pub(super) fn new(groups: &'a [Group], bandwidth: f64) -> Self {
        let ranges = cell_ranges(groups, (bandwidth.sqrt() / 14.0).min(0.2));
        let whole = libm::lgamma(1.0 / bandwidth + 2.0);
        let built: Vec<(Cell, Vec<f64>)> =
            parallel::map_each(&ranges, |range| Cell::new(groups, range.clone(), bandwidth, whole));
        let mut log_norms = Vec::with_capacity(groups.len());
        let mut cells = Vec::with_capacity(built.len());
        let mut cell_of = Vec::with_capacity(groups.len());
        for (cell, norms) in built {
            cell_of.extend(std::iter::repeat_n(cells.len() as u32, norms.len()));
            log_norms.extend(norms);
            cells.push(cell);
        }
        let total = groups.iter().map(|group| group.weight()).sum();
        BetaSums { groups, bandwidth, log_norms, cells, cell_of, total }
    }

    /// The sums at the place of a group, without the group.
    pub(super) fn others(&self, own: usize) -> Others {
        let z = self.groups[own].p;
        let place = Place::new(z);
        let at_own = self.exponent(&place, z, self.log_norms[own]);
        // Most places have neighbours, or copies of their own, about as likely as themselves; those
        // that have none are summed up once more, on the scale of the likeliest.
        let mut near = Others { total: 0.0, positive: 0.0, own: 1.0, scale: at_own };
        let home = self.cell_of[own] as usize;
        self.add_home(own, home, &place, &mut near);
        self.add_outwards(own, home, &place, &mut near);
        if near.total > 1e-200 || self.groups[own].n > 1 || self.groups.len() == 1 {
            return near;
        }
        let exponents = (0..self.groups.len()).filter(|&other| other != own);
        let scale = exponents
            .map(|other| self.exponent(&place, self.groups[other].p, self.log_norms[other]))
            .fold(f64::NEG_INFINITY, f64::max);
        let mut others = Others { total: 0.0, positive: 0.0, own: (at_own - scale).exp(), scale };
        self.add_groups(0..self.groups.len(), own, &place, &mut others);
        others
    }

    /// ln K(z; x).
    fn exponent(&self, place: &Place, x: f64, log_norm: f64) -> f64 {
        (x * place.log + (1.0 - x) * place.log_complement) / self.bandwidth + log_norm
    }

    /// The cells below and above `home`, until what is left is negligible.
    fn add_outwards(&self, own: usize, home: usize, place: &Place, others: &mut Others) {
        for upwards in [false, true] {
            // At the place itself; concave as ln K is, it falls from where it is below its last
            // value.
            let mut previous = 0.0;
            for step in 1..=self.cells.len() {
                let cell = if upwards { Some(home + step) } else { home.checked_sub(step) };
                let Some(content) = cell.and_then(|cell| self.cells.get(cell)) else { break };
                self.add_cell(content, own, place, others);
                // K of the last group looked at: once it falls, all beyond have less. Below e^-800
                // there is nothing to be found on this scale, even if nothing was found so far.
                let last = if upwards { content.end - 1 } else { content.start };
                let exponent = self.exponent(place, self.groups[last].p, self.log_norms[last]) - others.scale;
                let is_negligible = self.total * exponent.exp() <= NEGLIGIBLE * others.total || exponent < -800.0;
                if exponent < previous && is_negligible {
                    break;
                }
                previous = exponent;
            }
        }
    }

    /// The sums at all groups: by interpolation where many share a cell.
    pub(super) fn all_others(&self) -> Vec<Others> {
        let of_cell = |number: usize| -> Vec<Others> {
            let cell = &self.cells[number];
            let mut all = Vec::with_capacity(cell.end - cell.start);
            while all.len() < cell.end - cell.start {
                // Next to 0 and 1, a cell spans many logits: one at a time.
                let start = cell.start + all.len();
                let edge = self.groups[start].p;
                let edge = edge / (edge + (1.0 - edge) / std::f64::consts::E);
                let length = self.groups[start..cell.end].partition_point(|group| group.p <= edge).max(1);
                let piece = start..start + length;
                let crowd = if length > CROWDED { Crowd::new(self, number, piece.clone()) } else { None };
                all.extend(piece.map(|own| {
                    watch::check();
                    match &crowd {
                        // What is left after the group itself is taken away must be most of it.
                        Some(crowd) if self.groups[own].weight() < 0.1 * cell.weight => crowd.others(self, own),
                        _ => self.others(own),
                    }
                }));
            }
            all
        };
        let parts: Vec<Vec<Others>> = parallel::map(self.cells.len(), of_cell);
        parts.concat()
    }

    /// The place's own cell without its own group.
    fn add_home(&self, own: usize, home: usize, place: &Place, others: &mut Others) {
        let cell = &self.cells[home];
        let group = &self.groups[own];
        let rest = cell.weight - group.weight();
        let tilt = cell.half_width * (place.logit - cell.logit) / self.bandwidth;
        if cell.end - cell.start <= 2 * FEW || rest < 1e-3 * cell.weight || tilt.abs() > LARGEST_TILT {
            self.add_groups(cell.start..cell.end, own, place, others);
            return;
        }
        // The group's own part of the moments, by the same series: what is left has the error of
        // what is left.
        let b = (group.p - cell.middle) / cell.half_width;
        let mut power = cell.tilt(group.p, self.log_norms[own], self.bandwidth);
        let mut sums = [0.0, 0.0];
        let mut argument = 1.0;
        for (k, reciprocal) in RECIPROCALS.iter().enumerate() {
            sums[0] += (cell.moments[0][k] - group.weight() * power) * argument;
            sums[1] += (cell.moments[1][k] - group.positive * power) * argument;
            power *= b * reciprocal;
            argument *= tilt;
        }
        let factor = (self.exponent(place, cell.middle, cell.log_norm) - others.scale).exp();
        others.total += factor * sums[0].max(0.0);
        others.positive += factor * sums[1].clamp(0.0, sums[0].max(0.0));
    }

    fn add_cell(&self, cell: &Cell, own: usize, place: &Place, others: &mut Others) {
        let tilt = cell.half_width * (place.logit - cell.logit) / self.bandwidth;
        if cell.end - cell.start <= FEW || tilt.abs() > LARGEST_TILT {
            self.add_groups(cell.start..cell.end, own, place, others);
            return;
        }
        let (mut total, mut positive) = (0.0, 0.0);
        for k in (0..MOMENTS).rev() {
            total = total * tilt + cell.moments[0][k];
            positive = positive * tilt + cell.moments[1][k];
        }
        let factor = (self.exponent(place, cell.middle, cell.log_norm) - others.scale).exp();
        others.total += factor * total;
        others.positive += factor * positive;
    }

    fn add_groups(&self, range: Range<usize>, own: usize, place: &Place, others: &mut Others) {
        for index in range.filter(|&index| index != own) {
            let group = &self.groups[index];
            let value = (self.exponent(place, group.p, self.log_norms[index]) - others.scale).exp();
            others.total += group.weight() * value;
            others.positive += group.positive * value;
        }
    }
}

/// The sums over all groups at the places of one cell, by interpolation.
///
/// Divided by K(z; x_c), they are sums of exponentials in v = logit z with positive factors, g(v) =
/// Σ w c(x) / c(x_c) exp((x - x_c) v / h). On an ellipse around the cell's range of v, with foci at
/// its ends and half-axes summing to R half-ranges, |g| is at most g at the real ends of the
/// ellipse, so that interpolation at m Chebyshev nodes is off by at most
/// `4 g(end) / (R^(m-1) (R - 1))`: it is used where that is negligible.
struct Crowd {
    middle: f64,
    half_range: f64,
    cell: usize,
    /// Nodes on [-1, 1] and their barycentric weights.
    nodes: [(f64, f64); NODES],
    /// g of all weight and of outcome 1.
    values: [[f64; NODES]; 2],
}

impl Crowd {
    fn new(sums: &BetaSums<'_>, number: usize, piece: Range<usize>) -> Option<Crowd> {
        let cell = &sums.cells[number];
        let logit = |index: usize| Place::new(sums.groups[index].p).logit;
        let (low, high) = (logit(piece.start), logit(piece.end - 1));
        let (middle, half_range) = (0.5 * (low + high), 0.5 * (high - low) * (1.0 + 1e-12));
        let at = |v: f64| {
            // ln p and ln(1 - p) without cancellation.
            let softplus = |v: f64| v.max(0.0) + (-v.abs()).exp().ln_1p();
            let place = Place { log: -softplus(-v), log_complement: -softplus(v), logit: v };
            let scale = sums.exponent(&place, cell.middle, cell.log_norm);
            let mut all = Others { total: 0.0, positive: 0.0, own: 0.0, scale };
            sums.add_cell(cell, usize::MAX, &place, &mut all);
            sums.add_outwards(usize::MAX, number, &place, &mut all);
            all
        };
        let nodes: [(f64, f64); NODES] = std::array::from_fn(|k| {
            let angle = (2 * k + 1) as f64 / (2 * NODES) as f64 * std::f64::consts::PI;
            (angle.cos(), if k % 2 == 0 { angle.sin() } else { -angle.sin() })
        });
        let mut values = [[0.0; NODES]; 2];
        for (k, (node, _)) in nodes.iter().enumerate() {
            let all = at(middle + half_range * node);
            (values[0][k], values[1][k]) = (all.total, all.positive);
        }
        let smallest = values[0].iter().copied().fold(f64::INFINITY, f64::min);
        let end = half_range * 0.5 * (ELLIPSE + 1.0 / ELLIPSE);
        let largest = at(middle - end).total.max(at(middle + end).total);
        let error = 4.0 * largest / (ELLIPSE.powi(NODES as i32 - 1) * (ELLIPSE - 1.0));
        // The outcomes' sum is relative to all weight, too: only the ratio of both is wanted.
        (error <= NEGLIGIBLE * smallest).then_some(Crowd { middle, half_range, cell: number, nodes, values })
    }

    fn others(&self, sums: &BetaSums<'_>, own: usize) -> Others {
        let group = &sums.groups[own];
        let cell = &sums.cells[self.cell];
        let place = Place::new(group.p);
        let scale = sums.exponent(&place, cell.middle, cell.log_norm);
        let at_own = (sums.exponent(&place, group.p, sums.log_norms[own]) - scale).exp();
        let x = (place.logit - self.middle) / self.half_range;
        let (mut total, mut positive, mut weights) = (0.0, 0.0, 0.0);
        for (k, (node, weight)) in self.nodes.iter().enumerate() {
            let distance = x - node;
            if distance == 0.0 {
                (total, positive, weights) = (self.values[0][k], self.values[1][k], 1.0);
                break;
            }
            let weight = weight / distance;
            total += weight * self.values[0][k];
            positive += weight * self.values[1][k];
            weights += weight;
        }
        Others {
            total: (total / weights - group.weight() * at_own).max(0.0),
            positive: (positive / weights - group.positive * at_own).max(0.0),
            own: at_own,
            scale,
        }
    }
}

impl Cell {
    /// The cell of some groups, and their c(x).
    fn new(groups: &[Group], range: Range<usize>, h: f64, whole: f64) -> (Cell, Vec<f64>) {
        let members = &groups[range.clone()];
        let norms: Vec<f64> = members.iter().map(|group| log_norm(group.p, h, whole)).collect();
        let (low, high) = (members[0].p, members[members.len() - 1].p);
        let middle = 0.5 * (low + high);
        let mut cell = Cell {
            start: range.start,
            end: range.end,
            middle,
            half_width: (0.5 * (high - low)).max(f64::MIN_POSITIVE),
            logit: Place::new(middle).logit,
            log_norm: log_norm(middle, h, whole),
            moments: [[0.0; MOMENTS]; 2],
            weight: members.iter().map(|group| group.weight()).sum(),
        };
        if members.len() > FEW {
            for (group, norm) in members.iter().zip(&norms) {
                let b = (group.p - middle) / cell.half_width;
                let mut power = cell.tilt(group.p, *norm, h);
                for (k, reciprocal) in RECIPROCALS.iter().enumerate() {
                    cell.moments[0][k] += group.weight() * power;
                    cell.moments[1][k] += group.positive * power;
                    power *= b * reciprocal;
                }
            }
        }
        (cell, norms)
    }

    /// ω(x).
    fn tilt(&self, x: f64, log_norm: f64, bandwidth: f64) -> f64 {
        (log_norm - self.log_norm + (x - self.middle) * self.logit / bandwidth).exp()
    }
}

/// A place and its logarithms.
struct Place {
    log: f64,
    log_complement: f64,
    logit: f64,
}

impl Place {
    fn new(z: f64) -> Self {
        let (log, log_complement) = (z.ln(), (-z).ln_1p());
        Place { log, log_complement, logit: log - log_complement }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_by_cells_are_those_of_all_groups() {
        let mut groups: Vec<Group> = (0..3000u32)
            .map(|k| {
                let p = (f64::from(k) * 0.618_033_988_749_894_9).fract().powi(2).clamp(1e-6, 1.0 - 1e-6);
                let weight = 1.0 + f64::from(k % 3);
                let (negative, positive) = if k % 2 == 0 { (0.0, weight) } else { (weight, 0.0) };
                Group { p, negative, positive, n: 1 }
            })
            .collect();
        groups.sort_by(|a, b| a.p.total_cmp(&b.p));
        groups.dedup_by(|a, b| a.p == b.p);
        for h in [1e-6, 1e-5, 1e-3, 0.03, 0.5, 2.0] {
            let sums = BetaSums::new(&groups, h);
            let all = sums.all_others();
            for (own, others) in all.iter().enumerate().step_by(31) {
                let one = sums.others(own);
                let ratio = others.total / one.total * (others.scale - one.scale).exp();
                assert!((ratio - 1.0).abs() < 2e-9, "h {h}, p {}: {ratio}", groups[own].p);
                let difference = (others.positive / others.total - one.positive / one.total).abs();
                assert!(difference < 4e-9, "h {h}, p {}: {difference:e}", groups[own].p);
            }
            for own in (0..groups.len()).step_by(97).chain([0, groups.len() - 1]) {
                let found = sums.others(own);
                let place = Place::new(groups[own].p);
                let mut exact = Others { total: 0.0, positive: 0.0, own: 0.0, scale: found.scale };
                sums.add_groups(0..groups.len(), own, &place, &mut exact);
                let error = (found.total / exact.total - 1.0).abs();
                assert!(error < 2e-9, "h {h}, p {}: {error:e}", groups[own].p);
                let difference = (found.positive / found.total - exact.positive / exact.total).abs();
                assert!(difference < 4e-9, "h {h}, p {}: {difference:e}", groups[own].p);
            }
        }
    }
}
