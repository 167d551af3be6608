//! Random numbers that are the same whatever the number of threads.

/// A seed for each place of a stream.
pub(crate) fn seed_of(stream: u64, place: u64) -> u64 {
    // SplitMix64's finaliser, by which neighbouring places get unlike seeds.
    let mut mixed = stream.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(place.wrapping_mul(0xD1B5_4A32_D192_ED03));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A number uniform in (0, 1).
pub(crate) fn uniform(stream: u64, place: u64) -> f64 {
    ((seed_of(stream, place) >> 11) | 1) as f64 * 2f64.powi(-53)
}

/// A standard normal number.
pub(crate) fn normal(stream: u64, place: u64) -> f64 {
    let radius = (-2.0 * uniform(stream, 2 * place).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(stream, 2 * place + 1)).cos()
}
