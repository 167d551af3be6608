//! Text that was compressed as a whole.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{Folder, assert_refused, json};

const TEXT: &str = "label,prob\n1,0.9\n0,0.25\n1,0.5\n0,0.125\n";
const LINES: &str = "{\"label\": 1, \"prob\": 0.9}\n{\"label\": 0, \"prob\": 0.25}\n{\"label\": 1, \"prob\": 0.5}\n{\"label\": 0, \"prob\": 0.125}\n";

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 1).unwrap()
}

#[test]
fn compressed_text_gives_the_values_of_the_text() {
    let folder = Folder::new();
    let expected = json(&folder.write("a.csv", TEXT), &[])["measures"].clone();
    let files = [
        ("a.csv.gz", gzip(TEXT)),
        ("a.CSV.GZ", gzip(TEXT)),
        ("a.csv.zst", zstd(TEXT)),
        ("a.jsonl.gz", gzip(LINES)),
        ("a.ndjson.zst", zstd(LINES)),
        ("a.tsv.gz", gzip(&TEXT.replace(',', "\t"))),
        ("semicolon.csv.gz", gzip(&TEXT.replace(',', ";"))),
        // Known by its first bytes, whatever it is called.
        ("plain.csv", gzip(TEXT)),
        ("not.csv.gz", TEXT.as_bytes().to_vec()),
        // Two files, one after the other.
        ("two.csv.gz", [gzip("label,prob\n1,0.9\n"), gzip("0,0.25\n1,0.5\n0,0.125\n")].concat()),
    ];
    for (name, bytes) in files {
        assert_eq!(json(&folder.write(name, bytes), &[])["measures"], expected, "{name}");
    }
}

#[test]
fn many_rows_are_read_as_a_stream_and_errors_have_their_line() {
    let folder = Folder::new();
    let row = |row: usize| format!("{},{}\n", row % 3 % 2, (row * 37 % 1000) as f64 / 1000.0);
    let n = (1 << 20) + 10;
    let text = "label,prob\n".to_owned() + &(0..n).map(row).collect::<String>();
    let found = json(&folder.write("a.csv.gz", gzip(&text)), &["--sigma", "0.5"]);
    assert_eq!((&found["n"], &found["method"]), (&n.into(), &"sketch".into()));
    assert_eq!(found["measures"], json(&folder.write("a.csv", &text), &["--sigma", "0.5"])["measures"]);
    let bad = folder.write("bad.csv.zst", zstd(&(text + "1,7\n")));
    assert_refused(&bad, &[], &format!("probability in line {} must be in [0, 1], got 7", n + 2));
}

#[test]
fn what_is_damaged_or_no_text_is_refused() {
    let folder = Folder::new();
    let whole = gzip(TEXT);
    for length in [3, 12, whole.len() - 9] {
        let run =
            crate::support::calipers(&["measure", folder.write("cut.csv.gz", &whole[..length]).to_str().unwrap()]);
        assert_eq!((run.code, run.stderr.lines().count()), (Some(2), 1), "{run:?}");
        assert!(run.stderr.contains("cannot read"), "{run:?}");
    }
    let parquet = folder.write("a.parquet", gzip("PAR1"));
    let text = "is compressed with gzip: only text (.csv, .tsv, .jsonl) is read so, decompress the file first";
    assert_refused(&parquet, &[], text);
}
