//! Sums of beta kernels over all rows but one's own, near-linear in the number of rows.
//!
//! # Definition
//! ```text
//! K(z; x) = z^(x/h) (1 - z)^((1-x)/h) / B(x/h + 1, (1-x)/h + 1)
//! ```
//! # Method
//! Its logarithm is linear in x but for c(x) = -ln B, so that around the middle x_c of a cell of half-width r
//! ```text
//! K(z; x) = K(z; x_c) · ω(x) · exp(a b),    a = r (v - v_c) / h,   b = (x - x_c) / r,   v = logit z
//! ω(x) = exp(c(x) - c(x_c) + (x - x_c) v_c / h)
//! ```
//! and the rows of a cell are summed up by their moments Σ w ω b^k, k < 16. All K are positive, so that errors are relative:
//! for |a| <= 3/2 the series is cut at less than `1.5^16 / 16! · e^3 < 7e-10` of the sum. Cells with |a| above are summed row by
//! row. ln K is concave in x, so that beyond the largest K, all rows further out have less than the last one looked at: cells are
//! left out where that, times all the weight, is below 1e-10 of the sum.
//!
//! In the angle asin √x, the kernel has about the same width everywhere, √h / 2; cells have half of that.

use super::super::probabilities::Group;

/// Moments of a cell.
const MOMENTS: usize = 16;

/// The largest |a| for which moments are used.
const LARGEST_TILT: f64 = 1.5;

/// What is neglected, relative to the sum.
const NEGLIGIBLE: f64 = 1e-10;

/// Groups up to which a cell is summed one by one.
const FEW: usize = 2;

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

fn log_norm(x: f64, h: f64) -> f64 {
    libm::lgamma(1.0 / h + 2.0) - libm::lgamma(x / h + 1.0) - libm::lgamma((1.0 - x) / h + 1.0)
}

/// ln z and ln(1 - z), in that order.
fn logs(z: f64) -> (f64, f64) {
    (z.ln(), (-z).ln_1p())
}

impl<'a> BetaSums<'a> {
    /// Groups have probabilities inside (0, 1), in ascending order.
    pub(super) fn new(groups: &'a [Group], bandwidth: f64) -> Self {
        let h = bandwidth;
        let log_norms: Vec<f64> = groups.iter().map(|group| log_norm(group.p, h)).collect();
        let width = (0.25 * h.sqrt()).min(0.2);
        let number = |p: f64| (p.sqrt().asin() / width) as u32;
        let mut cells: Vec<Cell> = Vec::new();
        let mut cell_of = Vec::with_capacity(groups.len());
        let mut start = 0;
        for members in groups.chunk_by(|a, b| number(a.p) == number(b.p)) {
            let end = start + members.len();
            let (low, high) = (members[0].p, members[members.len() - 1].p);
            let middle = 0.5 * (low + high);
            let (log, log_complement) = logs(middle);
            let mut cell = Cell {
                start,
                end,
                middle,
                half_width: (0.5 * (high - low)).max(f64::MIN_POSITIVE),
                logit: log - log_complement,
                log_norm: log_norm(middle, h),
                moments: [[0.0; MOMENTS]; 2],
                weight: members.iter().map(|group| group.weight).sum(),
            };
            if members.len() > FEW {
                for (group, norm) in members.iter().zip(&log_norms[start..end]) {
                    let b = (group.p - middle) / cell.half_width;
                    let mut power = cell.tilt(group.p, *norm, h);
                    for k in 0..MOMENTS {
                        cell.moments[0][k] += group.weight * power;
                        cell.moments[1][k] += group.positive * power;
                        power *= b / (k + 1) as f64;
                    }
                }
            }
            cell_of.extend(std::iter::repeat_n(cells.len() as u32, members.len()));
            cells.push(cell);
            start = end;
        }
        let total = groups.iter().map(|group| group.weight).sum();
        BetaSums { groups, bandwidth, log_norms, cells, cell_of, total }
    }

    /// The sums at the place of a group, without the group.
    pub(super) fn others(&self, own: usize) -> Others {
        let z = self.groups[own].p;
        let (log, log_complement) = logs(z);
        let place = Place { log, log_complement, logit: log - log_complement };
        let at_own = self.exponent(&place, z, self.log_norms[own]);
        // Most places have neighbours, or copies of their own, about as likely as themselves; those that have none are summed
        // up once more, on the scale of the likeliest.
        let near = self.sum(own, &place, at_own);
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

    fn sum(&self, own: usize, place: &Place, scale: f64) -> Others {
        let mut others = Others { total: 0.0, positive: 0.0, own: 1.0, scale };
        let home = self.cell_of[own] as usize;
        self.add_home(own, home, place, &mut others);
        for upwards in [false, true] {
            let mut cell = home;
            // At the place itself; concave as ln K is, it falls from where it is below its last value.
            let mut previous = 0.0;
            loop {
                match (upwards, cell) {
                    (false, 0) => break,
                    (false, _) => cell -= 1,
                    (true, _) => cell += 1,
                }
                let Some(content) = self.cells.get(cell) else { break };
                self.add_cell(content, own, place, &mut others);
                // K of the last group looked at: once it falls, all beyond have less.
                let last = if upwards { content.end - 1 } else { content.start };
                let exponent = self.exponent(place, self.groups[last].p, self.log_norms[last]) - scale;
                if exponent < previous && self.total * exponent.exp() <= NEGLIGIBLE * others.total {
                    break;
                }
                // Nothing found so far, and nothing to be found on this scale.
                if exponent < previous && exponent < -800.0 {
                    break;
                }
                previous = exponent;
            }
        }
        others
    }

    /// The place's own cell without its own group.
    fn add_home(&self, own: usize, home: usize, place: &Place, others: &mut Others) {
        let cell = &self.cells[home];
        let group = &self.groups[own];
        let rest = cell.weight - group.weight;
        let tilt = cell.half_width * (place.logit - cell.logit) / self.bandwidth;
        if cell.end - cell.start <= 2 * FEW || rest < 1e-3 * cell.weight || tilt.abs() > LARGEST_TILT {
            self.add_groups(cell.start..cell.end, own, place, others);
            return;
        }
        // The group's own part of the moments, by the same series: what is left has the error of what is left.
        let b = (group.p - cell.middle) / cell.half_width;
        let mut power = cell.tilt(group.p, self.log_norms[own], self.bandwidth);
        let mut sums = [0.0, 0.0];
        let mut argument = 1.0;
        for k in 0..MOMENTS {
            sums[0] += (cell.moments[0][k] - group.weight * power) * argument;
            sums[1] += (cell.moments[1][k] - group.positive * power) * argument;
            power *= b / (k + 1) as f64;
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

    fn add_groups(&self, range: std::ops::Range<usize>, own: usize, place: &Place, others: &mut Others) {
        for index in range.filter(|&index| index != own) {
            let group = &self.groups[index];
            let value = (self.exponent(place, group.p, self.log_norms[index]) - others.scale).exp();
            others.total += group.weight * value;
            others.positive += group.positive * value;
        }
    }
}

impl Cell {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_by_cells_are_those_of_all_groups() {
        let mut groups: Vec<Group> = (0..3000u32)
            .map(|k| {
                let p = (f64::from(k) * 0.618_033_988_749_894_9).fract().powi(2).clamp(1e-6, 1.0 - 1e-6);
                let weight = 1.0 + f64::from(k % 3);
                Group { p, weight, positive: if k % 2 == 0 { weight } else { 0.0 }, n: 1 }
            })
            .collect();
        groups.sort_by(|a, b| a.p.total_cmp(&b.p));
        groups.dedup_by(|a, b| a.p == b.p);
        for h in [1e-6, 1e-5, 1e-3, 0.03, 0.5, 2.0] {
            let sums = BetaSums::new(&groups, h);
            for own in (0..groups.len()).step_by(97).chain([0, groups.len() - 1]) {
                let found = sums.others(own);
                let (log, log_complement) = logs(groups[own].p);
                let place = Place { log, log_complement, logit: log - log_complement };
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
