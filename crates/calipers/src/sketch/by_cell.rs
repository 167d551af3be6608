//! Rows in the order of their cells: what makes it cheap to add many rows to many cells.

use super::N_TABLES;
use super::content::Sums;
use super::layout::Layout;
use super::table::Column;

/// Fewer rows are sorted by comparing them.
const FEW: usize = 1 << 9;

/// Bits that are looked at in one pass.
const DIGIT: u32 = 8;
const N_DIGITS: usize = 1 << DIGIT;

/// The cells of some rows, for each table. The rows end up in another order.
pub(super) fn columns<S: Sums>(rows: &mut Vec<S::Row>, layout: Layout) -> [Column<S>; N_TABLES] {
    sort::<S>(rows, layout);
    let mut columns: [Column<S>; N_TABLES] = std::array::from_fn(|_| Column::default());
    for &row in &*rows {
        let (table, cell, offset) = layout.split(S::key(row));
        columns[table].push(cell, S::of_row(row, offset, layout));
    }
    columns
}

/// Sorts rows by table and cell. Offsets are left as they come: sums are the same in any order.
///
/// Digit by digit, the last one first, each pass keeping the order of the one before. Digits in
/// which all rows are the same take no pass.
fn sort<S: Sums>(rows: &mut Vec<S::Row>, layout: Layout) {
    let cell = |row: S::Row| S::key(row) >> layout.offset_bits;
    let Some(first) = rows.first().map(|row| cell(*row)) else { return };
    if rows.len() < FEW {
        rows.sort_unstable();
        return;
    }
    let differing = rows.iter().fold(0, |differing, row| differing | (cell(*row) ^ first));
    let mut sorted = rows.clone();
    for shift in (0..u64::BITS - differing.leading_zeros()).step_by(DIGIT as usize) {
        if differing >> shift & (N_DIGITS as u64 - 1) == 0 {
            continue;
        }
        let digit = |row: S::Row| (cell(row) >> shift) as usize % N_DIGITS;
        let mut next = [0usize; N_DIGITS];
        rows.iter().for_each(|row| next[digit(*row)] += 1);
        let mut start = 0;
        for next in &mut next {
            let n = std::mem::replace(next, start);
            start += n;
        }
        for &row in &*rows {
            let next = &mut next[digit(row)];
            sorted[*next] = row;
            *next += 1;
        }
        std::mem::swap(rows, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Content;
    use crate::sketch::Profile;

    #[test]
    fn rows_are_sorted_by_table_and_cell() {
        for (profile, resolution) in [(Profile::Exact, 12), (Profile::Monitoring, 12), (Profile::Exact, 20)] {
            let layout = Layout::new(profile, resolution, 32);
            for n in [0, 1, 2, FEW - 1, FEW, 10_000] {
                let key = |k: usize| {
                    let mixed = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let q = 0.5 * libm::exp(-((mixed >> 40) as f64) / (1 << 20) as f64);
                    layout.key((mixed >> 20) as usize % N_TABLES, q)
                };
                let rows: Vec<u64> = (0..n).map(key).collect();
                let (mut ours, mut expected) = (rows.clone(), rows);
                sort::<Content>(&mut ours, layout);
                assert!(ours.is_sorted_by_key(|row| row >> layout.offset_bits));
                ours.sort_unstable();
                expected.sort_unstable();
                assert_eq!(ours, expected);
            }
        }
    }
}
