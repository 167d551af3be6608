//! A dense simplex method with Bland's rule: slow, and hard to get wrong.

/// max c x over A x <= b, x >= 0, with b >= 0.
pub(crate) fn maximise(a: &[Vec<f64>], b: &[f64], c: &[f64]) -> f64 {
    let (rows, columns) = (b.len(), c.len());
    // The tableau: A, slacks, right side; the last row has the costs.
    let mut table = vec![vec![0.0; columns + rows + 1]; rows + 1];
    for i in 0..rows {
        table[i][..columns].copy_from_slice(&a[i]);
        table[i][columns + i] = 1.0;
        table[i][columns + rows] = b[i];
    }
    for j in 0..columns {
        table[rows][j] = -c[j];
    }
    let mut basis: Vec<usize> = (columns..columns + rows).collect();
    while let Some(entering) = (0..columns + rows).find(|&j| table[rows][j] < -1e-12) {
        let ratio = |i: usize| table[i][columns + rows] / table[i][entering];
        let leaving = (0..rows)
            .filter(|&i| table[i][entering] > 1e-12)
            .min_by(|&i, &j| ratio(i).total_cmp(&ratio(j)).then(basis[i].cmp(&basis[j])))
            .expect("bounded");
        let pivot = table[leaving][entering];
        table[leaving].iter_mut().for_each(|entry| *entry /= pivot);
        let row = table[leaving].clone();
        for (i, other) in table.iter_mut().enumerate() {
            let factor = other[entering];
            if i != leaving && factor != 0.0 {
                other.iter_mut().zip(&row).for_each(|(entry, of_row)| *entry -= factor * of_row);
            }
        }
        basis[leaving] = entering;
    }
    table[rows][columns + rows]
}

#[test]
fn a_program_that_one_can_draw() {
    // max 3 x + 2 y over x + y <= 4, x + 3 y <= 6, x <= 3: at (3, 1).
    let a = [vec![1.0, 1.0], vec![1.0, 3.0], vec![1.0, 0.0]];
    assert!((maximise(&a, &[4.0, 6.0, 3.0], &[3.0, 2.0]) - 11.0).abs() < 1e-12);
}
