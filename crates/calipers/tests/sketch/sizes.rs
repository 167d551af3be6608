//! How large a sketch is: never larger than its rows, from a dozen rows on, and small for segments.

use calipers::{Input, Profile, Sketch, SketchOptions, Tally};

/// Bytes of a probability and its outcome, and of a weight.
const ROW: usize = 9;
const WEIGHT: usize = 8;

/// From so many rows on a sketch with the default binnings is no larger than its rows; and how many
/// bytes it has more than fewer rows, at most.
const UNWEIGHTED: (usize, i64) = (16, 36);
const WEIGHTED: (usize, i64) = (24, 40);

/// A small generator of our own.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Distributions of probabilities, of which some have ties, ends or edges of bins.
const SHAPES: [&str; 9] =
    ["uniform", "logit-normal", "narrow", "tiny", "both ends", "tied", "two digits", "float32", "all the same"];

fn probability(shape: &str, random: &mut Uniform) -> f64 {
    let u = random.next();
    match shape {
        "uniform" => u,
        "logit-normal" => {
            let normal: f64 = (0..6).map(|_| random.next() - 0.5).sum::<f64>() * 2f64.sqrt();
            1.0 / (1.0 + (-2.0 * normal).exp())
        }
        "narrow" => 0.3 + 0.05 * u,
        "tiny" => (-13.0 * u).exp(),
        "both ends" => match (4.0 * u) as usize {
            0 => 0.0,
            1 => 1.0,
            2 => random.next() * 1e-7,
            _ => random.next(),
        },
        "tied" => ((u * 7.0).floor() + 0.123_456_789) / 8.0,
        "two digits" => (u * 100.0).round() / 100.0,
        "float32" => (u as f32).into(),
        _ => 0.734_561_239_12,
    }
}

fn sketch_of(n: usize, seed: u64, shape: &str, profile: Profile, is_weighted: bool) -> Sketch {
    let mut random = Uniform(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let p: Vec<f64> = (0..n).map(|_| probability(shape, &mut random)).collect();
    let y: Vec<u8> = p.iter().map(|p| u8::from(random.next() < *p)).collect();
    let w: Vec<f64> = p.iter().map(|_| 3.0 * random.next()).collect();
    let mut sketch = Sketch::with(&SketchOptions::new().profile(profile)).unwrap();
    if n > 0 {
        let input = Input::probabilities(&p, &y);
        let input = if is_weighted { input.weights(&w) } else { input };
        sketch.update(&input.check_batch(&mut Tally::default()).unwrap().binary().unwrap()).unwrap();
    }
    sketch
}

#[test]
fn a_sketch_is_never_larger_than_its_rows() {
    // By number of rows, how many bytes more or less than rows have, at most, and where.
    let mut worst = std::collections::BTreeMap::<(bool, usize), (i64, String)>::new();
    let sizes = (0..40).chain([50, 64, 100, 128, 200, 255, 256, 257, 258, 300, 400, 700, 1000, 3000, 10_000]);
    for n in sizes.chain([100_000]) {
        for (place, shape) in SHAPES.into_iter().enumerate() {
            for profile in Profile::ALL {
                for is_weighted in [false, true] {
                    let n_seeds = if n < 100 { 20 } else { 2 };
                    for seed in 0..n_seeds {
                        let sketch = sketch_of(n, 1 + seed + 100 * place as u64, shape, profile, is_weighted);
                        let bytes = sketch.to_bytes();
                        let rows = n * (ROW + if is_weighted { WEIGHT } else { 0 });
                        let what = format!("{n} rows, {shape}, {profile:?}, weighted {is_weighted}, seed {seed}");
                        let more = bytes.len() as i64 - rows as i64;
                        let worst = worst.entry((is_weighted, n)).or_insert((i64::MIN, String::new()));
                        if more > worst.0 {
                            *worst = (more, what.clone());
                        }
                        assert_eq!(Sketch::from_bytes(&bytes).unwrap(), sketch, "{what}");
                        if n <= 300 && profile == Profile::Exact {
                            // The same sums in the version before, but for bits of squared weights.
                            let older = sketch.to_bytes_for(3).unwrap();
                            let again = Sketch::from_bytes(&older).unwrap();
                            assert_eq!(again.to_bytes_for(3).unwrap(), older, "{what}");
                            assert!(is_weighted || again == sketch, "{what}");
                        }
                    }
                }
            }
        }
    }
    let too_large: Vec<String> = worst
        .into_iter()
        .filter(|((is_weighted, n), (more, _))| {
            let (from, most) = if *is_weighted { WEIGHTED } else { UNWEIGHTED };
            *more > if *n >= from { 0 } else { most }
        })
        .map(|(_, each)| format!("{each:?}"))
        .collect();
    assert!(too_large.is_empty(), "more bytes than rows:\n{}", too_large.join("\n"));
}

/// The table of docs/sketch-format.md: `cargo test --test sketch sizes -- --nocapture` prints it.
#[test]
fn the_documented_sizes_are_those_of_today() {
    let documented = include_str!("../../../../docs/sketch-format.md");
    let mut missing = Vec::new();
    for n in [0, 1, 2, 10, 100, 1_000, 10_000, 100_000] {
        let size = |profile| sketch_of(n, 1, "logit-normal", profile, false).to_bytes().len();
        let (exact, monitoring) = (size(Profile::Exact), size(Profile::Monitoring));
        let line = format!("| {n} | {} | {exact} | {monitoring} |", n * ROW);
        println!("{line}");
        if !documented.contains(&line) {
            missing.push(line);
        }
        assert!(n != 10_000 || monitoring <= 10_000);
    }
    assert!(missing.is_empty(), "other sizes than docs/sketch-format.md has:\n{}", missing.join("\n"));
}

/// Rows of which every bin has one, in any order of merging: no other code has them.
#[test]
fn few_rows_merge_to_the_same_bytes_in_any_order() {
    for shape in SHAPES {
        for is_weighted in [false, true] {
            let parts: Vec<Sketch> = (0..5)
                .map(|part| sketch_of(3 + 40 * (part % 2), 7 + part as u64, shape, Profile::Exact, is_weighted))
                .collect();
            let merged = |order: [usize; 5]| {
                let mut all = Sketch::new();
                order
                    .iter()
                    .for_each(|part| all.merge(&Sketch::from_bytes(&parts[*part].to_bytes()).unwrap()).unwrap());
                all
            };
            let all = merged([0, 1, 2, 3, 4]);
            for order in [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3]] {
                assert_eq!(merged(order).to_bytes(), all.to_bytes(), "{shape}");
            }
            let mut others = parts[0].clone();
            parts[1..4].iter().for_each(|part| others.merge(part).unwrap());
            assert_eq!(all.subtract(&parts[4]).unwrap().to_bytes(), others.to_bytes(), "{shape}");
        }
    }
}
