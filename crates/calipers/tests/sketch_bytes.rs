//! The bytes of a sketch: golden ones, and those of strangers.

use calipers::{Error, Input, LsEce, Profile, Sketch, SketchOptions};

const GOLDEN_PLAIN: &[u8] = include_bytes!("../../../fixtures/sketch_v1_plain.calipers");
const GOLDEN_WEIGHTED: &[u8] = include_bytes!("../../../fixtures/sketch_v1_weighted.calipers");

fn plain() -> Sketch {
    let p: Vec<f64> = (0..=40).map(|k| f64::from(k) / 40.0).collect();
    let y: Vec<u8> = (0..=40).map(|k| u8::from(k % 3 == 0)).collect();
    let mut sketch = Sketch::new();
    sketch.update(&Input::probabilities(&p, &y).check().unwrap().binary().unwrap()).unwrap();
    sketch
}

fn weighted() -> Sketch {
    let h: Vec<f64> = (-10..=10).map(f64::from).collect();
    let y: Vec<u8> = (-10..=10).map(|k| u8::from(k > 1)).collect();
    let w: Vec<f64> = (0..21).map(|k| f64::from(k) * 0.1).collect();
    let mut sketch = Sketch::with(&SketchOptions::new().resolution(9).n_bins(&[5])).unwrap();
    sketch.update(&Input::logits(&h, &y).weights(&w).check().unwrap().binary().unwrap()).unwrap();
    sketch
}

/// Cells with several rows.
fn several() -> Sketch {
    let mut sketch = weighted();
    sketch.coarsen(6).unwrap();
    for _ in 0..3 {
        let same = sketch.clone();
        sketch.merge(&same).unwrap();
    }
    sketch
}

#[test]
fn bytes_of_version_1_do_not_change() {
    assert_eq!(plain().to_bytes_for(1).unwrap(), GOLDEN_PLAIN);
    assert_eq!(weighted().to_bytes_for(1).unwrap(), GOLDEN_WEIGHTED);
    assert_eq!(Sketch::from_bytes(GOLDEN_PLAIN).unwrap(), plain());
    assert_eq!(Sketch::from_bytes(GOLDEN_WEIGHTED).unwrap(), weighted());
}

/// The compatibility kit; python/tests/test_sketch_format.py asks more of it.
#[test]
fn every_file_of_the_kit_is_read_and_written_again() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sketches");
    let expected = std::fs::read_to_string(format!("{folder}/expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    for (name, answers) in expected.as_object().unwrap() {
        let bytes = std::fs::read(format!("{folder}/{name}.calipers")).unwrap();
        let sketch = Sketch::from_bytes(&bytes).unwrap();
        assert_eq!(sketch.to_bytes_for(bytes[8]).unwrap(), bytes, "{name}");
        assert_eq!(answers["n"].as_u64(), Some(sketch.n()), "{name}");
        assert_eq!(answers["n_cells"].as_u64(), Some(sketch.n_cells() as u64), "{name}");
        assert_eq!(answers["total_weight"].as_f64(), Some(sketch.total_weight()), "{name}");
    }
}

#[test]
fn a_version_is_written_where_it_can_hold_the_sketch() {
    let limited = Sketch::with(&SketchOptions::new().largest_logit(50.0)).unwrap();
    let monitoring = Sketch::with(&SketchOptions::new().profile(Profile::Monitoring)).unwrap();
    for (sketch, versions) in [(&plain(), [1, 1, 3]), (&limited, [0, 2, 3]), (&monitoring, [0, 0, 3])] {
        for (asked, written) in (1..).zip(versions) {
            let bytes = sketch.to_bytes_for(asked);
            if written == 0 {
                let text = bytes.unwrap_err().to_string();
                assert!(text.starts_with("version must be at least "), "{text}");
            } else {
                let bytes = bytes.unwrap();
                assert_eq!(bytes[8], written);
                assert_eq!(Sketch::from_bytes(&bytes).unwrap(), *sketch);
            }
        }
        assert_eq!(sketch.to_bytes_for(3).unwrap(), sketch.to_bytes());
    }
    for version in [0, 5] {
        let text = format!("version must be from 1 to 4, got {version}");
        assert_eq!(plain().to_bytes_for(version).unwrap_err().to_string(), text);
    }
}

#[test]
fn what_is_no_sketch_is_refused_with_the_reason() {
    let reason = |bytes: &[u8]| Sketch::from_bytes(bytes).unwrap_err().to_string();
    let mut newer = GOLDEN_PLAIN.to_vec();
    newer[8] = 5;
    let mut damaged = GOLDEN_PLAIN.to_vec();
    damaged[100] ^= 1;
    let longer = [GOLDEN_PLAIN, &[0]].concat();
    let cases: [(&[u8], &str); 6] = [
        (b"", "they do not begin with \"calipers\""),
        (b"PAR1", "they do not begin with \"calipers\""),
        (b"calipers", "they end early"),
        (&newer, "version must be from 1 to 4, got 5; a newer calipers wrote them"),
        (&damaged, "the checksum is wrong, so they were damaged or cut"),
        (&longer, "the checksum is wrong, so they were damaged or cut"),
    ];
    for (bytes, text) in cases {
        assert_eq!(reason(bytes), format!("bytes must be a calipers sketch: {text}"));
    }
}

fn with_checksum(content: &[u8]) -> Vec<u8> {
    [content, &crc32fast::hash(content).to_le_bytes()].concat()
}

/// What is read is either refused, or a sketch that has these very bytes and can be asked and
/// merged.
fn check_stranger(bytes: &[u8]) -> bool {
    match Sketch::from_bytes(bytes) {
        Err(Error::InvalidSketch { .. }) => false,
        Err(other) => panic!("{other}"),
        Ok(sketch) => {
            assert_eq!(sketch.to_bytes_for(bytes[8]).unwrap(), bytes);
            assert_eq!(Sketch::from_bytes(&sketch.to_bytes()).unwrap(), sketch);
            let _ = sketch.estimate(&LsEce::new().sigma(0.5));
            let _ = sketch.estimate(&calipers::BinnedEce::new().n_bins(7));
            let _ = sketch.clone().merge(&plain());
            let _ = sketch.clone().merge(&sketch);
            let _ = sketch.subtract(&plain());
            let mut twice = sketch.clone();
            if twice.merge(&sketch).is_ok() {
                assert_eq!(twice.subtract(&sketch).unwrap(), sketch);
            }
            true
        }
    }
}

#[test]
fn bytes_of_a_stranger_give_an_error_or_a_sketch_and_never_a_panic() {
    let mut n_read = 0;
    let mut monitoring = plain();
    monitoring.coarsen_to(Profile::Monitoring).unwrap();
    let compact = [plain(), weighted(), several(), monitoring].map(|sketch| sketch.to_bytes());
    let goldens = [GOLDEN_PLAIN, GOLDEN_WEIGHTED].into_iter().chain(compact.iter().map(Vec::as_slice));
    for golden in goldens {
        let content = &golden[..golden.len() - 4];
        for end in 0..content.len() {
            assert!(!check_stranger(&with_checksum(&content[..end])), "cut at {end}");
        }
        // Each byte in turn, with a checksum that fits.
        for place in 0..content.len() {
            for value in [0, 1, 2, 0x7f, 0x80, 0xff, content[place].wrapping_add(1), content[place] ^ 0x40] {
                let mut changed = content.to_vec();
                changed[place] = value;
                n_read += usize::from(check_stranger(&with_checksum(&changed)));
            }
        }
        // Several at once, by a small generator of our own; inserted and removed ones, too.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..10_000 {
            let mut changed = content.to_vec();
            for _ in 0..1 + next() % 4 {
                let place = (next() % changed.len() as u64) as usize;
                match next() % 3 {
                    0 => changed[place] = next() as u8,
                    1 => changed.insert(place, next() as u8),
                    _ => drop(changed.remove(place)),
                }
            }
            n_read += usize::from(check_stranger(&with_checksum(&changed)));
        }
    }
    // Some changes are sketches of other rows, such as a larger count of ties.
    assert!(n_read > 0);
}

/// Numbers that promise much more than there is must not be believed before it is read.
#[test]
fn promises_of_many_cells_are_not_allocated() {
    for golden in [GOLDEN_PLAIN.to_vec(), plain().to_bytes()] {
        let header = &golden[..golden.len() - 4];
        for place in 9..header.len() {
            let mut changed = header[..place].to_vec();
            changed.extend([0xff; 18]);
            changed.push(0x03);
            // Of version 3 the last bits may be the offsets of other rows.
            let may_be_read = golden[8] == 3 && place + 19 == header.len();
            assert!(!check_stranger(&with_checksum(&changed)) || may_be_read, "{place}");
        }
    }
}

/// The bytes of an empty sketch of which a stranger says that so many rows were read and left out.
fn all_left_out(n_rows: u64) -> Vec<u8> {
    let mut number = Vec::new();
    let mut rest = n_rows;
    while rest >= 0x80 {
        number.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    number.push(rest as u8);
    let empty = Sketch::new().to_bytes_for(1).unwrap();
    // Rows read stand in byte 34, then those rounded and tied, then those left out.
    let content = [&empty[..34], &number, &empty[35..37], &number, &empty[38..empty.len() - 4]].concat();
    with_checksum(&content)
}

#[test]
fn counts_of_a_stranger_do_not_overflow() {
    let most = 1 << 38;
    let refusal = Sketch::from_bytes(&all_left_out(u64::MAX)).unwrap_err();
    assert!(refusal.to_string().ends_with("rows must be at most 274877906944, got 18446744073709551615"), "{refusal}");
    assert!(!check_stranger(&all_left_out(most + 1)));
    assert!(check_stranger(&all_left_out(most)));
    let mut sketch = Sketch::from_bytes(&all_left_out(most)).unwrap();
    let before = sketch.clone();
    assert_eq!(
        sketch.merge(&before).unwrap_err().to_string(),
        "rows must be at most 274877906944 in a sketch, got 274877906944 and 274877906944 more"
    );
    assert_eq!(sketch, before);
    assert!(matches!(sketch.estimate(&LsEce::new()), Err(Error::NoValidRows { .. })));
}
