//! Symmetric positive definite matrices of small size, and their factors.

use super::parallel;

/// A symmetric matrix, row after row of its lower half: `(i, j)` with `j <= i` is at
/// `i (i + 1) / 2 + j`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Symmetric {
    pub(crate) n: usize,
    pub(crate) lower: Vec<f64>,
}

impl Symmetric {
    pub(crate) fn zero(n: usize) -> Self {
        Symmetric { n, lower: vec![0.0; n * (n + 1) / 2] }
    }

    pub(crate) fn get(&self, i: usize, j: usize) -> f64 {
        self.lower[place(i, j)]
    }

    pub(crate) fn add(&mut self, i: usize, j: usize, value: f64) {
        self.lower[place(i, j)] += value;
    }

    /// The rows and columns that are named, in that order.
    pub(crate) fn part(&self, of: &[usize]) -> Symmetric {
        let mut part = Symmetric::zero(of.len());
        for (i, &a) in of.iter().enumerate() {
            for (j, &b) in of[..=i].iter().enumerate() {
                part.lower[place(i, j)] = self.get(a, b);
            }
        }
        part
    }
}

fn place(i: usize, j: usize) -> usize {
    let (i, j) = (i.max(j), i.min(j));
    i * (i + 1) / 2 + j
}

/// Up to here sums are added one by one, and solutions entry by entry.
const SMALL: usize = 16;

/// From more columns than this on, each is solved for on its own core.
const MANY: usize = 64;

/// Σ a_k b_k over the shorter of two lists: long ones in eight sums that do not wait for each
/// other.
#[inline(always)]
fn product(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    if n <= SMALL {
        return a.iter().zip(b).map(|(a, b)| a * b).sum();
    }
    let (left, left_rest) = a.as_chunks::<8>();
    let (right, right_rest) = b.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for (a, b) in left.iter().zip(right) {
        (0..8).for_each(|lane| lanes[lane] += a[lane] * b[lane]);
    }
    let rest: f64 = left_rest.iter().zip(right_rest).map(|(a, b)| a * b).sum();
    ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7])) + rest
}

/// The lower triangular L with L L' = M.
#[derive(Debug, Clone)]
pub(crate) struct Cholesky {
    n: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// `None` where the matrix is not positive definite by more than rounding.
    pub(crate) fn new(matrix: &Symmetric) -> Option<Self> {
        let n = matrix.n;
        let mut lower = matrix.lower.clone();
        for i in 0..n {
            for j in 0..=i {
                let done = product(&lower[place(i, 0)..place(i, j)], &lower[place(j, 0)..place(j, j)]);
                let rest = lower[place(i, j)] - done;
                if i == j {
                    // A pivot that is nothing but rounding of the entry it came from.
                    if !(rest > 8.0 * n as f64 * f64::EPSILON * matrix.get(i, i)) {
                        return None;
                    }
                    lower[place(i, i)] = rest.sqrt();
                } else {
                    lower[place(i, j)] = rest / lower[place(j, j)];
                }
            }
        }
        lower.iter().all(|entry| entry.is_finite()).then_some(Cholesky { n, lower })
    }

    /// L⁻¹ v in place of v: its square is v' M⁻¹ v.
    #[inline]
    pub(crate) fn whiten(&self, v: &mut [f64]) {
        for i in 0..self.n {
            let start = i * (i + 1) / 2;
            let row = &self.lower[start..=start + i];
            v[i] = (v[i] - product(&row[..i], v)) / row[i];
        }
    }

    /// v' M⁻¹ v.
    pub(crate) fn inverse_form(&self, v: &[f64]) -> f64 {
        let mut white = v.to_vec();
        self.whiten(&mut white);
        white.iter().map(|v| v * v).sum()
    }

    /// M⁻¹ v.
    pub(crate) fn solve(&self, v: &[f64]) -> Vec<f64> {
        let mut x = v.to_vec();
        self.whiten(&mut x);
        if self.n > SMALL {
            // Row after row, which is how they are in memory.
            for i in (0..self.n).rev() {
                let row = &self.lower[place(i, 0)..=place(i, i)];
                x[i] /= row[i];
                let (above, from) = x.split_at_mut(i);
                above.iter_mut().zip(row).for_each(|(x, l)| *x -= l * from[0]);
            }
            return x;
        }
        for i in (0..self.n).rev() {
            let done: f64 = (i + 1..self.n).map(|k| self.lower[place(k, i)] * x[k]).sum();
            x[i] = (x[i] - done) / self.lower[place(i, i)];
        }
        x
    }

    /// The diagonal of M⁻¹.
    pub(crate) fn inverse_diagonal(&self) -> Vec<f64> {
        let own = |j: usize| {
            // L⁻¹ e_j, which is 0 above j.
            let mut column = vec![0.0; self.n - j];
            column[0] = 1.0 / self.lower[place(j, j)];
            for i in j + 1..self.n {
                let row = &self.lower[place(i, j)..=place(i, i)];
                column[i - j] = -product(&row[..i - j], &column) / row[i - j];
            }
            column.iter().map(|x| x * x).sum()
        };
        self.columns(own)
    }

    /// What `of` makes of each column, on all cores where there are many.
    fn columns<T: Send>(&self, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
        if self.n > MANY { parallel::map(self.n, of) } else { (0..self.n).map(of).collect() }
    }

    /// M⁻¹.
    pub(crate) fn inverse(&self) -> Symmetric {
        let mut inverse = Symmetric::zero(self.n);
        for i in 0..self.n {
            let mut unit = vec![0.0; self.n];
            unit[i] = 1.0;
            let column = self.solve(&unit);
            (0..=i).for_each(|j| inverse.lower[place(i, j)] = column[j]);
        }
        inverse
    }

    /// M⁻¹ B M⁻¹ for a symmetric B.
    pub(crate) fn sandwich(&self, b: &Symmetric) -> Symmetric {
        let columns = self.columns(|j| self.solve(&(0..self.n).map(|i| b.get(i, j)).collect::<Vec<f64>>()));
        let rows = self.columns(|i| self.solve(&columns.iter().map(|column| column[i]).collect::<Vec<f64>>()));
        let mut result = Symmetric::zero(self.n);
        for (i, row) in rows.iter().enumerate() {
            (0..=i).for_each(|j| result.lower[place(i, j)] = row[j]);
        }
        result
    }

    /// The trace of M⁻¹ B.
    pub(crate) fn trace_of_ratio(&self, b: &Symmetric) -> f64 {
        (0..self.n).map(|j| self.solve(&(0..self.n).map(|i| b.get(i, j)).collect::<Vec<f64>>())[j]).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Symmetric {
        Symmetric { n: 3, lower: vec![4.0, 2.0, 5.0, -1.0, 0.5, 3.0] }
    }

    #[test]
    fn a_solution_solves() {
        let (m, v) = (matrix(), [1.0, -2.0, 0.5]);
        let x = Cholesky::new(&m).unwrap().solve(&v);
        for (i, v) in v.iter().enumerate() {
            let product: f64 = (0..3).map(|j| m.get(i, j) * x[j]).sum();
            assert!((product - v).abs() < 1e-14);
        }
        let form: f64 = v.iter().zip(&x).map(|(v, x)| v * x).sum();
        assert!((Cholesky::new(&m).unwrap().inverse_form(&v) - form).abs() < 1e-14);
    }

    #[test]
    fn the_sandwich_of_the_matrix_itself_is_its_inverse() {
        let (m, factor) = (matrix(), Cholesky::new(&matrix()).unwrap());
        let inverse = factor.sandwich(&m);
        for i in 0..3 {
            let mut unit = [0.0; 3];
            unit[i] = 1.0;
            let column = factor.solve(&unit);
            (0..3).for_each(|j| assert!((inverse.get(i, j) - column[j]).abs() < 1e-14));
        }
        assert!((factor.trace_of_ratio(&m) - 3.0).abs() < 1e-14);
        factor.inverse().lower.iter().zip(&inverse.lower).for_each(|(a, b)| assert!((a - b).abs() < 1e-14));
        let diagonal = factor.inverse_diagonal();
        (0..3).for_each(|i| assert!((inverse.get(i, i) - diagonal[i]).abs() < 1e-14));
    }

    /// Large matrices are solved row by row, with sums in lanes and on all cores.
    #[test]
    fn large_matrices_are_solved_as_small_ones_are() {
        for n in [16, 17, 40, 64, 65, 100] {
            let entry = |i: usize, j: usize| ((3 * i.max(j) + 7 * i.min(j)) as f64).sin();
            let mut m = Symmetric::zero(n);
            (0..n).for_each(|i| (0..=i).for_each(|j| m.add(i, j, entry(i, j))));
            (0..n).for_each(|i| m.add(i, i, 2.0 * n as f64));
            let factor = Cholesky::new(&m).unwrap();
            let v: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            let x = factor.solve(&v);
            for (i, v) in v.iter().enumerate() {
                let along: f64 = (0..n).map(|j| m.get(i, j) * x[j]).sum();
                assert!((along - v).abs() < 1e-13, "{n}");
            }
            let form: f64 = v.iter().zip(&x).map(|(v, x)| v * x).sum();
            assert!((factor.inverse_form(&v) - form).abs() < 1e-14);
            let (inverse, diagonal) = (factor.sandwich(&m), factor.inverse_diagonal());
            for j in 0..n {
                let mut unit = vec![0.0; n];
                unit[j] = 1.0;
                let column = factor.solve(&unit);
                (0..n).for_each(|i| assert!((inverse.get(i, j) - column[i]).abs() < 1e-15));
                assert!((diagonal[j] - column[j]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn singular_matrices_have_no_factor() {
        assert!(Cholesky::new(&Symmetric { n: 2, lower: vec![1.0, 1.0, 1.0] }).is_none());
        assert!(Cholesky::new(&Symmetric { n: 1, lower: vec![f64::NAN] }).is_none());
        assert!(Cholesky::new(&Symmetric { n: 1, lower: vec![0.0] }).is_none());
    }
}
