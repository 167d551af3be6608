//! The bytes of version 1 of some rows, as docs/sketch-format.md defines them and in no other way:
//! maps of integers, row by row. It shares no code with the crate.

use std::collections::BTreeMap;

/// Rows of one kind, and the options that are not the default.
pub(crate) struct Rows<'a> {
    pub(crate) scores: &'a [f64],
    pub(crate) outcomes: &'a [u8],
    pub(crate) weights: Option<&'a [f64]>,
    /// 1 for probabilities, 3 for raw scores.
    pub(crate) kind: u8,
    pub(crate) resolution: u32,
    pub(crate) binnings: &'a [usize],
}

const CLIP: f64 = 1e-6;
const WEIGHT_BITS: u32 = 32;

fn number(bytes: &mut Vec<u8>, mut value: u128) {
    while value >= 128 {
        bytes.push((value % 128) as u8 + 128);
        value /= 128;
    }
    bytes.push(value as u8);
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc % 2 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// Rows, weight, squares of weights, offsets and squares of offsets.
type Sums = [u128; 5];

pub(crate) fn bytes(rows: &Rows<'_>) -> Vec<u8> {
    let (m, unit) = (rows.resolution, 1u128 << WEIGHT_BITS);
    let mut cells: [BTreeMap<u64, Sums>; 4] = Default::default();
    let mut bins: Vec<Vec<[u128; 4]>> = rows.binnings.iter().map(|n| vec![[0; 4]; *n]).collect();
    let (mut n_clipped, mut n_rounded) = (0u128, 0u128);
    for (row, (&score, &outcome)) in rows.scores.iter().zip(rows.outcomes).enumerate() {
        let (q, upper, p) = if rows.kind == 1 {
            let clipped = score.clamp(CLIP, 1.0 - CLIP);
            n_clipped += u128::from(clipped != score);
            (clipped.min(1.0 - clipped), clipped > 0.5, score)
        } else {
            let small = libm::exp(-score.abs());
            let q = small / (1.0 + small);
            (q, score > 0.0, if score > 0.0 { 1.0 / (1.0 + small) } else { q })
        };
        let cell = (0.5f64.to_bits() >> (52 - m)) - (q.to_bits() >> (52 - m));
        let offset = u128::from((q.to_bits() >> 20) % (1 << (32 - m)));
        let weight = rows.weights.map_or(1, |weights| {
            let exact = weights[row] * unit as f64;
            n_rounded += u128::from((exact + 0.5).floor() != exact);
            (exact + 0.5).floor() as u128
        });
        let square = if rows.weights.is_some() { weight * weight / unit } else { 1 };
        let sums = cells[2 * usize::from(upper) + usize::from(outcome)].entry(cell).or_default();
        for (sum, term) in sums.iter_mut().zip([1, weight, square, weight * offset, weight * offset * offset]) {
            *sum += term;
        }
        for (bins, n) in bins.iter_mut().zip(rows.binnings) {
            // The first bin whose upper edge is not below p.
            let bin = (0..*n).find(|b| p <= (*b + 1) as f64 / *n as f64).unwrap();
            let fixed = (p * 2f64.powi(56)).floor() as u128;
            for (sum, term) in bins[bin].iter_mut().zip([1, weight, weight * u128::from(outcome), weight * fixed]) {
                *sum += term;
            }
        }
    }
    let weighted = rows.weights.is_some();
    let mut all = b"calipers\x01".to_vec();
    all.extend([u8::from(weighted), rows.kind, m as u8, WEIGHT_BITS as u8]);
    all.extend(CLIP.to_le_bytes());
    number(&mut all, rows.binnings.len() as u128);
    rows.binnings.iter().for_each(|n| number(&mut all, *n as u128));
    number(&mut all, n_clipped);
    number(&mut all, n_rounded);
    let error = if rows.kind == 1 { 0.0 } else { 8.0 * f64::EPSILON };
    all.extend(f64::to_le_bytes(error));
    number(&mut all, rows.scores.len() as u128);
    all.extend([0; 11]);
    for [count, weight, positive, probability] in bins.into_iter().flatten() {
        number(&mut all, count);
        if count > 0 {
            if weighted {
                number(&mut all, weight);
            }
            number(&mut all, positive);
            number(&mut all, probability);
        }
    }
    for table in cells {
        number(&mut all, table.len() as u128);
        let mut next = 0;
        for (cell, [count, weight, square, first, second]) in table {
            number(&mut all, u128::from(cell - next));
            next = cell + 1;
            number(&mut all, count);
            if weighted {
                number(&mut all, weight);
                number(&mut all, square);
            }
            number(&mut all, first);
            number(&mut all, second);
        }
    }
    let checksum = crc32(&all);
    all.extend(checksum.to_le_bytes());
    all
}
