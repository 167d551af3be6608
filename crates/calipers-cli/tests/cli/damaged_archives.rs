//! An .npz file with one bit changed is read as before or refused: its checksums are compared.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::support::{Array, Folder, calipers, measure};

/// The same archive with its members as they are.
fn stored(folder: &Folder, path: &Path) -> std::path::PathBuf {
    let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
    let to = folder.path("stored.npz");
    let mut writer = ZipWriter::new(File::create(&to).unwrap());
    for place in 0..archive.len() {
        let mut content = Vec::new();
        let mut member = archive.by_index(place).unwrap();
        member.read_to_end(&mut content).unwrap();
        let name = member.name().unwrap().to_string();
        writer.start_file(name, SimpleFileOptions::default().compression_method(CompressionMethod::Stored)).unwrap();
        writer.write_all(&content).unwrap();
    }
    writer.finish().unwrap();
    to
}

#[test]
fn a_changed_bit_never_gives_another_value() {
    let folder = Folder::new();
    let p: Vec<f64> = (0..24).map(|row| f64::from(row) / 32.0 + 0.125).collect();
    let labels: Vec<i64> = (0..24).map(|row| row % 3 % 2).collect();
    let deflated = folder
        .npz("deflated.npz", &[("labels", Array::Integers(vec![24], labels)), ("probs", Array::Double(vec![24], p))]);
    let stored = stored(&folder, &deflated);
    for whole in [&deflated, &stored] {
        let (bytes, expected) = (std::fs::read(whole).unwrap(), measure(whole, &["--json"]));
        let (mut n_refused, path) = (0, folder.path("changed.npz"));
        let expected = expected.replace(whole.to_str().unwrap(), path.to_str().unwrap());
        for place in (0..bytes.len()).step_by(3) {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << (place / 3 % 8);
            std::fs::write(&path, changed).unwrap();
            let run = calipers(&["measure", path.to_str().unwrap(), "--json"]);
            match run.code {
                Some(0) => assert_eq!(run.stdout, expected, "bit of byte {place} of {}", whole.display()),
                code => {
                    assert_eq!(code, Some(2), "{run:?}");
                    n_refused += 1;
                }
            }
        }
        assert!(n_refused > bytes.len() / 6, "{n_refused} of {}", bytes.len());
    }
}

#[test]
fn the_error_names_the_array() {
    let folder = Folder::new();
    let p: Vec<f64> = (0..24).map(|row| f64::from(row) / 32.0 + 0.125).collect();
    let arrays = [("labels", Array::Integers(vec![24], vec![1; 24])), ("probs", Array::Double(vec![24], p))];
    let path = stored(&folder, &folder.npz("a.npz", &arrays));
    let mut bytes = std::fs::read(&path).unwrap();
    let last = 0.84375_f64.to_le_bytes();
    let place = bytes.windows(8).position(|window| window == last).unwrap();
    bytes[place + 6] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let run = calipers(&["measure", path.to_str().unwrap()]);
    let text = "array probs is damaged; get or write the file again: Invalid checksum";
    assert_eq!(run.stderr, format!("calipers: {}: {text}\n", path.display()));
}
