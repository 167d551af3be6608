//! Which rows are held out together: decided by a hash of what the rows are, not by their order and
//! not by a seed. So the same rows have the same folds, in any order.

use crate::inference::Clusters;
use crate::recalibrate::binary::rows::{Ordered, Row};

/// Below so many rows of the rarer outcome, outcomes are dealt out one by one, so that none is
/// missing where a map is fitted. With more, they are not: folds that all have the same share of an
/// outcome hide how much a fitted intercept varies, and the gain would look larger than it is.
const FEW: usize = 30;

/// The fold of each row, in the order of [`Ordered::rows`].
pub(crate) fn folds(ordered: &Ordered, clusters: Option<&Clusters>, n_folds: usize) -> Vec<u32> {
    match clusters {
        None => of_rows(&ordered.rows, n_folds),
        Some(clusters) => of_clusters(&ordered.rows, clusters, n_folds),
    }
}

fn of_rows(rows: &[Row], n_folds: usize) -> Vec<u32> {
    let n_positive = rows.iter().filter(|row| row.outcome()).count();
    let by_outcome = n_positive.min(rows.len() - n_positive) < FEW;
    // Equal rows are numbered: each has a hash of its own, and which of them gets it is the same.
    let mut copy = 0;
    let mut hashes: Vec<(bool, u64, u32)> = Vec::with_capacity(rows.len());
    for (place, row) in rows.iter().enumerate() {
        let is_copy = place > 0 && rows[place - 1].content() == row.content();
        copy = if is_copy { copy + 1 } else { 0 };
        let (key, rest) = row.content();
        let hash = mixed(mixed(mixed(key).wrapping_add(rest)).wrapping_add(copy));
        hashes.push((by_outcome && row.outcome(), hash, place as u32));
    }
    deal(hashes, n_folds)
}

fn of_clusters(rows: &[Row], clusters: &Clusters, n_folds: usize) -> Vec<u32> {
    let mut hash_of_row: Vec<u64> = Vec::new();
    for row in rows {
        let index = row.index as usize;
        if hash_of_row.len() <= index {
            hash_of_row.resize(index + 1, 0);
        }
        let (key, rest) = row.content();
        hash_of_row[index] = mixed(mixed(key).wrapping_add(rest));
    }
    // A sum does not depend on the order of the rows of a cluster.
    let hash = |cluster: usize| {
        let rows = clusters.rows_of(cluster).iter();
        mixed(rows.fold(0, |sum: u64, row| sum.wrapping_add(hash_of_row.get(*row).copied().unwrap_or(0))))
    };
    let hashes: Vec<u64> = (0..clusters.len()).map(hash).collect();
    let fold_of_cluster = deal_copies(&hashes, n_folds);
    let most = rows.iter().map(|row| row.index as usize).max().unwrap_or(0);
    let mut fold_of_row = vec![0; most + 1];
    for (cluster, fold) in fold_of_cluster.iter().enumerate() {
        clusters.rows_of(cluster).iter().filter(|row| **row <= most).for_each(|row| fold_of_row[*row] = *fold);
    }
    rows.iter().map(|row| fold_of_row[row.index as usize]).collect()
}

/// Deals out to folds by hashes, of which equal ones are numbered and hashed once more; returns the
/// fold of each.
pub(crate) fn deal_copies(hashes: &[u64], n_folds: usize) -> Vec<u32> {
    let mut sorted: Vec<(u64, u32)> = hashes.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let mut own = Vec::with_capacity(sorted.len());
    for copies in sorted.chunk_by(|a, b| a.0 == b.0) {
        own.extend(
            copies.iter().zip(0..).map(|((hash, number), copy)| (false, mixed(hash.wrapping_add(copy)), *number)),
        );
    }
    deal(own, n_folds)
}

/// Deals out to folds in the order of hashes; returns the fold of each number.
fn deal(mut hashes: Vec<(bool, u64, u32)>, n_folds: usize) -> Vec<u32> {
    hashes.sort_unstable();
    let mut folds = vec![0; hashes.len()];
    for (rank, (_, _, number)) in hashes.into_iter().enumerate() {
        folds[number as usize] = (rank % n_folds) as u32;
    }
    folds
}

/// The fold of the rows that have a key: a number from 0 on, below `n_folds`.
///
/// It depends on nothing but the bytes of the key, so that rows in many places, and of many days,
/// that share a key are always held out together ([`CrossFit::run_sketches`](super::CrossFit)).
///
/// # Example
/// ```
/// use calipers::recalibrate::fold_of;
///
/// assert_eq!(fold_of(b"customer 17", 5), 0);
/// ```
pub fn fold_of(key: &[u8], n_folds: usize) -> usize {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |word, byte| (word << 8) | u64::from(*byte));
    let hash = key.chunks(8).fold(key.len() as u64, |hash, bytes| mixed(hash ^ word(bytes)));
    // The upper half of the product: below n_folds, and as even as the hash.
    ((u128::from(mixed(hash)) * n_folds as u128) >> 64) as usize
}

/// The finaliser of a 64-bit hash (Stafford's variant 13 of that of MurmurHash3).
pub(crate) fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
