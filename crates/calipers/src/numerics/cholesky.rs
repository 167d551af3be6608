//! Symmetric positive definite matrices of small size, and their factors.

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
                let product: f64 = (0..j).map(|k| lower[place(i, k)] * lower[place(j, k)]).sum();
                let rest = lower[place(i, j)] - product;
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
            let done: f64 = row[..i].iter().zip(v.iter()).map(|(l, v)| l * v).sum();
            v[i] = (v[i] - done) / row[i];
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
                let done: f64 = row.iter().zip(&column[..i - j]).map(|(l, v)| l * v).sum();
                column[i - j] = -done / row[i - j];
            }
            column.iter().map(|x| x * x).sum()
        };
        (0..self.n).map(own).collect()
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
        let columns: Vec<Vec<f64>> =
            (0..self.n).map(|j| self.solve(&(0..self.n).map(|i| b.get(i, j)).collect::<Vec<f64>>())).collect();
        let mut result = Symmetric::zero(self.n);
        for i in 0..self.n {
            let row = self.solve(&columns.iter().map(|column| column[i]).collect::<Vec<f64>>());
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

    #[test]
    fn singular_matrices_have_no_factor() {
        assert!(Cholesky::new(&Symmetric { n: 2, lower: vec![1.0, 1.0, 1.0] }).is_none());
        assert!(Cholesky::new(&Symmetric { n: 1, lower: vec![f64::NAN] }).is_none());
        assert!(Cholesky::new(&Symmetric { n: 1, lower: vec![0.0] }).is_none());
    }
}
