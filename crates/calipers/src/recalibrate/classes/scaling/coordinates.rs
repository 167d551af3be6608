//! Coordinates of all classes, and the free ones among them. Those of a class without rows are tied
//! to the means of the others.

use super::{Scaling, Shape};
use crate::numerics::cholesky::Symmetric;

/// A coordinate that is a combination of others.
pub(super) struct Tie {
    at: usize,
    to: Vec<(usize, f64)>,
}

impl Scaling {
    pub(super) fn choose_coordinates(&mut self, is_present: &[bool], penalty: f64) {
        let k = self.k;
        let present: Vec<usize> = (0..k).filter(|class| is_present[*class]).collect();
        let absent: Vec<usize> = (0..k).filter(|class| !is_present[*class]).collect();
        let m = present.len() as f64;
        let n_scales = self.n_scales();
        let mean = |of: &dyn Fn(usize) -> usize| present.iter().map(|class| (of(*class), 1.0 / m)).collect();
        match self.shape {
            Shape::Shared => self.free.push(0),
            Shape::Diagonal => {
                self.free.extend(&present);
                self.ties.extend(absent.iter().map(|&class| Tie { at: class, to: mean(&|other| other) }));
            }
            Shape::Full => {
                self.free.extend(present.iter().flat_map(|row| row * k..(row + 1) * k));
                for &row in &absent {
                    self.ties.extend(
                        (0..k).map(|column| Tie { at: row * k + column, to: tied_entry(row, column, &present, k) }),
                    );
                }
            }
        }
        self.free.extend(present.iter().map(|class| n_scales + class));
        self.ties.extend(absent.iter().map(|&class| Tie { at: n_scales + class, to: mean(&|other| n_scales + other) }));
        let (shape, is_off) = (self.shape, |at: usize| at < k * k && at / k != at % k);
        let coefficient = |at: &usize| match shape {
            Shape::Shared if *at == 0 => 0.0,
            Shape::Full if is_off(*at) => penalty * (k - 1) as f64,
            _ => penalty,
        };
        self.ridge = self.free.iter().map(coefficient).collect();
        let columns = if shape == Shape::Full { k } else { 0 };
        for column in 0..columns {
            let size = self.mean_square(column) / m;
            self.gauges.push((present.iter().map(|row| row * k + column).collect(), size));
        }
        self.gauges.push((present.iter().map(|class| n_scales + class).collect(), 1.0 / m));
    }

    /// The gauges, by places among the free coordinates.
    pub(crate) fn gauges(&self) -> Vec<(Vec<usize>, f64)> {
        let place = |at: &usize| self.free.binary_search(at).ok();
        let of_free = |(coordinates, coefficient): &(Vec<usize>, f64)| {
            (coordinates.iter().filter_map(place).collect(), *coefficient)
        };
        self.gauges.iter().map(of_free).collect()
    }

    /// The mean square of a feature.
    fn mean_square(&self, class: usize) -> f64 {
        let rows = self.features.chunks_exact(self.k).zip(&self.shares);
        rows.map(|(row, share)| share * row[class] * row[class]).sum::<f64>().max(f64::MIN_POSITIVE)
    }

    pub(crate) fn has_ties(&self) -> bool {
        !self.ties.is_empty()
    }

    /// The coordinates of softmax(slope g).
    pub(crate) fn of_slope(&self, slope: f64) -> Vec<f64> {
        let mut all = vec![0.0; self.n_coordinates()];
        match self.shape {
            Shape::Shared => all[0] = slope,
            Shape::Diagonal => all[..self.k].fill(slope),
            Shape::Full => (0..self.k).for_each(|class| all[class * (self.k + 1)] = slope),
        }
        all
    }

    /// All coordinates from the free ones.
    pub(crate) fn expand(&self, free: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; self.n_coordinates()];
        self.free.iter().zip(free).for_each(|(at, value)| all[*at] = *value);
        for tie in &self.ties {
            all[tie.at] = tie.to.iter().map(|(from, factor)| factor * all[*from]).sum();
        }
        all
    }

    /// What a gradient in all coordinates is in the free ones: the transpose of
    /// [`expand`](Self::expand).
    pub(crate) fn gather(&self, all: &[f64]) -> Vec<f64> {
        if self.ties.is_empty() {
            return self.free.iter().map(|at| all[*at]).collect();
        }
        let mut sums = all.to_vec();
        for tie in &self.ties {
            tie.to.iter().for_each(|(to, factor)| sums[*to] += factor * all[tie.at]);
        }
        self.free.iter().map(|at| sums[*at]).collect()
    }

    /// The same for numbers that are not negative, of which sizes are added.
    pub(crate) fn gather_sizes(&self, all: &[f64]) -> Vec<f64> {
        let mut sums = all.to_vec();
        for tie in &self.ties {
            tie.to.iter().for_each(|(to, factor)| sums[*to] += factor.abs() * all[tie.at]);
        }
        self.free.iter().map(|at| sums[*at]).collect()
    }

    /// A symmetric matrix of all coordinates in the free ones.
    pub(crate) fn gather_matrix(&self, all: &[f64]) -> Symmetric {
        let n = self.n_coordinates();
        let rows: Vec<Vec<f64>> = all.chunks_exact(n).map(|row| self.gather(row)).collect();
        let d = self.free.len();
        let mut symmetric = Symmetric::zero(d);
        for column in 0..d {
            let of_column: Vec<f64> = rows.iter().map(|row| row[column]).collect();
            self.gather(&of_column).iter().enumerate().take(column + 1).for_each(|(row, value)| {
                symmetric.add(column, row, *value);
            });
        }
        symmetric
    }
}

/// What an entry of the matrix of a class without rows is tied to. Off the diagonal it is the mean
/// of its column's entries off the diagonal; on it, the same plus what other classes have more on
/// the diagonal than off it, on average. So a constant that is added to a column, which softmax
/// does not see, is added there, too.
fn tied_entry(row: usize, column: usize, present: &[usize], k: usize) -> Vec<(usize, f64)> {
    let off = |column: usize, factor: f64| {
        let others: Vec<usize> = present.iter().copied().filter(|other| *other != column).collect();
        let share = factor / others.len() as f64;
        others.into_iter().map(move |other| (other * k + column, share))
    };
    let mut to: Vec<(usize, f64)> = off(column, 1.0).collect();
    if row == column {
        let share = 1.0 / present.len() as f64;
        for &class in present {
            to.push((class * (k + 1), share));
            to.extend(off(class, -share));
        }
    }
    to
}
