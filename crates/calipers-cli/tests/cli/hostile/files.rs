//! Small files that ask for much: each gives an answer or an error of one line, and takes at most
//! 300 MB and 10 s (`limits.rs`). Files have less than 1 MB.

use std::io::Write;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Float64Array, Int8Array, Int32Array, Int64Array, NullArray, StringArray,
    StringViewArray,
};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_ipc::CompressionType;
use parquet::basic::Compression;

use crate::hostile::limits;
use crate::support::{Folder, succeed};

/// What must come of a run.
enum Outcome {
    Answer,
    /// Exit code 2, and a line with this in it.
    Error(&'static str),
}

use Outcome::{Answer, Error};

/// A file, the arguments that read it (`FILE` is its name), and what must come of it.
struct Case {
    name: &'static str,
    make: fn(&Folder),
    args: &'static str,
    outcome: Outcome,
}

const fn case(name: &'static str, make: fn(&Folder), args: &'static str, outcome: Outcome) -> Case {
    Case { name, make, args, outcome }
}

const TOO_LARGE: &str = "decompressed; pass a larger --max-expansion if you trust the file";
const TOO_MANY_GROUPS: &str = "there are more than 10000 groups; pass a larger --max-groups if that is meant";
const TOO_MANY_COLUMNS: &str = "columns, of which a file may have 100000";
const NO_PROBABILITY: &str = "is named like a probability";

/// Those that `make test` tries.
const QUICK: &[Case] = &[
    case(
        "a.npy",
        |f| npy(f, "(1000000000000000,)", "<f8", 100),
        "measure FILE --label l.npy",
        Error("ends before its"),
    ),
    case(
        "b.npy",
        |f| npy(f, "(9223372036854775807, 9223372036854775807)", "<f8", 9),
        "inspect FILE",
        Error("is too large"),
    ),
    case("c.npy", |f| npy(f, "(99999999999999999999999,)", "<f8", 9), "inspect FILE", Error("no shape")),
    case("d.npy", |f| npy(f, "(100000000000, 0)", "<f8", 0), "measure FILE --label l.npy", Error("must have shape")),
    case(
        "e.npy",
        |f| npy(f, "(0, 100000000000)", "<f8", 0),
        "measure FILE --label l.npy",
        Error("one value for each row"),
    ),
    case("f.npy", |f| npy(f, "(4, 30000)", "|u1", 120_000), "inspect FILE", Answer),
    case(
        "long_header.npy",
        |f| put(f, b"\x93NUMPY\x02\0\xff\xff\xff\xff{", "long_header.npy"),
        "inspect FILE",
        Error("too long"),
    ),
    case("bomb.npz", |f| npz(f, &[("label", 70 << 20), ("prob", 70 << 20)]), "measure FILE", Error(TOO_LARGE)),
    case("row_groups.parquet", row_groups_lie, "measure FILE", Error("damaged")),
    case("schema.parquet", schema_lies, "inspect FILE", Error("damaged")),
    case("deep.parquet", |f| deep_parquet(f, 90_000), "measure FILE", Error("nested more than 64 levels deep")),
    case("deep.parquet", |f| deep_parquet(f, 65), "inspect FILE", Error("nested more than 64 levels deep")),
    case(
        "footer.parquet",
        |f| put(f, b"PAR1\xff\xff\xff\x7fPAR1", "footer.parquet"),
        "measure FILE",
        Error("cannot read as Parquet"),
    ),
    case("lists.parquet", missing_lists, "measure FILE --invalid count", Error("too many to keep")),
    case("words.parquet", |f| words(f, "words.parquet"), "measure FILE --by g", Answer),
    case(
        "words.parquet",
        |f| words(f, "words.parquet"),
        "measure FILE --label g --pos-label yes",
        Error("positive label"),
    ),
    case("words.arrow", |f| words(f, "words.arrow"), "measure FILE --by g", Answer),
    case("views.arrow", views, "measure FILE --by g", Error(TOO_LARGE)),
    case("views.arrow", views, "inspect FILE", Answer),
    case("nulls.arrow", |f| nulls(f, 1 << 26), "measure FILE --invalid count", Error("must be numbers, got Null")),
    case("zeros.arrow", |f| zeros(f, "zeros.arrow"), "measure FILE", Error(TOO_LARGE)),
    case("zeros.parquet", |f| zeros(f, "zeros.parquet"), "measure FILE", Error(TOO_LARGE)),
    case("sketches.parquet", |f| sketches(f, 40_000), "measure FILE", Error(TOO_LARGE)),
    case("columns.csv", |f| columns(f, 900_000), "measure FILE", Error(TOO_MANY_COLUMNS)),
    case("columns.csv", |f| columns(f, 900_000), "inspect FILE", Error(TOO_MANY_COLUMNS)),
    case(
        "field.csv",
        |f| text(f, "field.csv", "label,prob,x\n1,.5,", "a", 900_000, "\n0,.2,b\n"),
        "measure FILE",
        Answer,
    ),
    case(
        "field.csv",
        |f| text(f, "field.csv", "label,prob,x\n1,.5,", "a", 900_000, "\n0,.2,b\n"),
        "inspect FILE",
        Answer,
    ),
    case(
        "quote.csv",
        |f| text(f, "quote.csv", "label,prob\n1,\"", "a\n", 400_000, ""),
        "measure FILE",
        Error("must be numbers"),
    ),
    case(
        "header.csv",
        |f| text(f, "header.csv", "label,\"", "a\n", 400_000, ""),
        "measure FILE",
        Error(NO_PROBABILITY),
    ),
    case("digits.csv", |f| text(f, "digits.csv", "label,prob\n1,0.", "1", 900_000, "\n0,.2\n"), "measure FILE", Answer),
    case("nothing.csv", |f| text(f, "nothing.csv", "", "\0", 900_000, ""), "measure FILE", Error(NO_PROBABILITY)),
    case("lines.csv", |f| text(f, "lines.csv", "label,prob\n1,.5\n", "\n", 900_000, ""), "measure FILE", Answer),
    case("groups.csv", groups, "measure FILE --by g --max-groups 10000", Error(TOO_MANY_GROUPS)),
    case("groups.csv", groups, "sketch FILE --by g --max-groups 10000 -o out.parquet", Error(TOO_MANY_GROUPS)),
    case("groups.csv", groups, "report FILE --by g --max-groups 10000 -o out.html", Error(TOO_MANY_GROUPS)),
    case("keys.jsonl", keys, "measure FILE", Answer),
    case(
        "same_keys.jsonl",
        |f| text(f, "same_keys.jsonl", "{", "\"k\":1,", 150_000, "\"label\":1,\"prob\":0.5}\n"),
        "measure FILE",
        Answer,
    ),
    case(
        "deep.jsonl",
        |f| text(f, "deep.jsonl", "{\"label\":1,\"prob\":", "[", 900_000, "\n"),
        "measure FILE",
        Error("deep.jsonl"),
    ),
    case(
        "objects.jsonl",
        |f| text(f, "objects.jsonl", "{\"label\":1,\"prob\":0.5,\"x\":", "{\"a\":", 150_000, "\n"),
        "measure FILE",
        Error("objects.jsonl"),
    ),
    case(
        "digits.jsonl",
        |f| text(f, "digits.jsonl", "{\"label\":1,\"prob\":0.", "1", 900_000, "}\n"),
        "measure FILE",
        Answer,
    ),
    case(
        "exponent.jsonl",
        |f| text(f, "exponent.jsonl", "{\"label\":1,\"prob\":1e", "9", 900_000, "}\n"),
        "measure FILE",
        Error("exponent.jsonl"),
    ),
    case("map.json", |f| text(f, "map.json", "", "[", 900_000, ""), "recalibrate show FILE", Error("map.json")),
    case(
        "objects.json",
        |f| text(f, "objects.json", "", "{\"a\":", 150_000, ""),
        "recalibrate show FILE",
        Error("objects.json"),
    ),
];

/// Those that take seconds.
const SLOW: &[Case] = &[
    case("groups.csv", groups, "assess FILE --by g --max-groups 100000 --limit 3000 --n-resamples 20", Answer),
    case("groups.csv", groups, "check FILE --max ece=0.9 --by g --max-groups 10000", Error(TOO_MANY_GROUPS)),
    case("groups.csv", groups, "drift FILE FILE --by g --max-groups 10000", Error(TOO_MANY_GROUPS)),
    case(
        "groups.csv",
        groups,
        "recalibrate fit FILE --by g --max-groups 10000 --method platt -o map.json",
        Error(TOO_MANY_GROUPS),
    ),
    case("columns.csv", |f| columns(f, 99_000), "measure FILE", Answer),
    case("columns.csv", |f| columns(f, 99_000), "inspect FILE", Answer),
    case("bomb.csv.gz", |f| gzip(f, "bomb.csv.gz", "label,prob\n", "1,0.5\n0,0.2\n"), "measure FILE", Error(TOO_LARGE)),
    case(
        "line.csv.gz",
        |f| gzip(f, "line.csv.gz", "label,prob\n1,0.", "555555555555"),
        "measure FILE",
        Error("line.csv.gz"),
    ),
    case(
        "header.csv.gz",
        |f| gzip(f, "header.csv.gz", "label,prob,", "aaaaaaaaaaaa"),
        "measure FILE",
        Error("has more than 16 MiB"),
    ),
    case(
        "empty.jsonl.gz",
        |f| gzip(f, "empty.jsonl.gz", "{\"label\":1,\"prob\":0.5}\n", "\n\n\n\n\n\n"),
        "measure FILE",
        Error(TOO_LARGE),
    ),
    case("members.csv.gz", members, "measure FILE", Answer),
    case("columns.parquet", many_parquet_columns, "inspect FILE", Answer),
    case(
        "list.jsonl",
        |f| text(f, "list.jsonl", "{\"label\":1,\"prob\":[", "0,", 400_000, "1]}\n"),
        "measure FILE",
        Answer,
    ),
    case("different.jsonl", different_keys, "inspect FILE", Answer),
];

fn check(cases: &[Case]) {
    for case in cases {
        let folder = Folder::new();
        folder.write("l.npy", npy_bytes("(4,)", "<i8", 32));
        (case.make)(&folder);
        let length = folder.path(case.name).metadata().unwrap().len();
        assert!(length < 1 << 20, "{} has {length} bytes", case.name);
        let args = case.args.replace("FILE", case.name);
        let run = limits::run(&args.split(' ').collect::<Vec<_>>(), &folder.path(""));
        let context = format!("{args}: {:?} {}", run.code, run.stderr.chars().take(300).collect::<String>());
        match case.outcome {
            Answer => assert_eq!(run.code, Some(0), "{context}"),
            Error(part) => {
                assert_eq!((run.code, run.stdout.as_str(), run.stderr.lines().count()), (Some(2), "", 1), "{context}");
                assert!(run.stderr.starts_with("calipers: ") && run.stderr.contains(part), "{context}");
            }
        }
    }
}

#[test]
fn small_files_take_little() {
    check(QUICK);
}

#[test]
#[ignore = "minutes; make test-hostile"]
fn further_small_files_take_little() {
    check(SLOW);
}

#[test]
#[ignore = "minutes; make test-hostile"]
fn twenty_thousand_files_together_take_little() {
    let folder = Folder::new();
    for file in 0..20_000 {
        let rows: String = (0..5).map(|row| format!("{},0.{}\n", row % 2, 10 + (file + row) % 80)).collect();
        folder.write(&format!("{file}.csv"), format!("label,prob\n{rows}"));
    }
    let run = limits::run(&["measure", "*.csv", "--together", "--json"], &folder.path(""));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let all: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(all["results"][0]["n"], 100_000);
}

fn put(folder: &Folder, bytes: &[u8], name: &str) {
    folder.write(name, bytes);
}

/// A text of one part many times.
fn text(folder: &Folder, name: &str, before: &str, part: &str, n: usize, after: &str) {
    folder.write(name, format!("{before}{}{after}", part.repeat(n)));
}

fn npy_bytes(shape: &str, descr: &str, n_bytes: usize) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let start = [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    [start, vec![0; n_bytes]].concat()
}

/// The name of the file is the letter that no other case has.
fn npy(folder: &Folder, shape: &str, descr: &str, n_bytes: usize) {
    for letter in 'a'..='f' {
        folder.write(&format!("{letter}.npy"), npy_bytes(shape, descr, n_bytes));
    }
}

fn npz(folder: &Folder, arrays: &[(&str, usize)]) {
    let mut archive = zip::ZipWriter::new(std::fs::File::create(folder.path("bomb.npz")).unwrap());
    for (name, n_bytes) in arrays {
        archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&npy_bytes(&format!("({},)", n_bytes / 8), "<f8", *n_bytes)).unwrap();
    }
    archive.finish().unwrap();
}

/// A Parquet file of a footer alone.
fn footer(folder: &Folder, name: &str, footer: &[u8]) {
    let length = (footer.len() as u32).to_le_bytes();
    folder.write(name, [b"PAR1", footer, &length, b"PAR1"].concat());
}

/// An element of a schema in Thrift's compact protocol: a group, or a column of whole numbers.
fn element(name: &str, n_children: Option<u32>) -> Vec<u8> {
    let mut bytes = match n_children {
        None => vec![0x15, 0x02, 0x25, 0x00],
        Some(_) => vec![0x35, 0x00],
    };
    bytes.extend([0x18, name.len() as u8]);
    bytes.extend(name.as_bytes());
    if let Some(n) = n_children {
        bytes.push(0x15);
        bytes.extend(varint(2 * n));
    }
    bytes.push(0);
    bytes
}

fn varint(mut n: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while n > 127 {
        bytes.push(n as u8 | 128);
        n >>= 7;
    }
    bytes.push(n as u8);
    bytes
}

/// The metadata of a file: version, schema, no rows, and row groups as given.
fn metadata(n_stated: u32, elements: &[Vec<u8>], row_groups: &[u8]) -> Vec<u8> {
    [&[0x15, 0x04, 0x19, 0xfc], &varint(n_stated)[..], &elements.concat(), &[0x16, 0x00], row_groups, &[0]].concat()
}

const NO_ROW_GROUPS: [u8; 2] = [0x19, 0x0c];

fn row_groups_lie(folder: &Folder) {
    let stated = [&[0x19, 0xfc], &varint(i32::MAX as u32)[..]].concat();
    footer(folder, "row_groups.parquet", &metadata(2, &[element("s", Some(1)), element("a", None)], &stated));
}

fn schema_lies(folder: &Folder) {
    let elements = [element("s", Some(1)), element("a", None)];
    footer(folder, "schema.parquet", &metadata(i32::MAX as u32, &elements, &NO_ROW_GROUPS));
}

fn deep_parquet(folder: &Folder, n_levels: u32) {
    let mut elements = vec![element("s", Some(1)); n_levels as usize];
    elements.push(element("a", None));
    footer(folder, "deep.parquet", &metadata(n_levels + 1, &elements, &NO_ROW_GROUPS));
}

fn many_parquet_columns(folder: &Folder) {
    let mut elements = vec![element("s", Some(90_000))];
    elements.extend((0..90_000).map(|_| element("a", None)));
    footer(folder, "columns.parquet", &metadata(90_001, &elements, &NO_ROW_GROUPS));
}

fn outcomes(n: usize) -> (ArrayRef, ArrayRef) {
    let labels = Int8Array::from_iter_values((0..n).map(|row| (row % 2) as i8));
    (Arc::new(labels), Arc::new(Float64Array::from(vec![0.5; n])))
}

/// One list that is there, and very many that are missing.
fn missing_lists(folder: &Folder) {
    let mut row = vec![Some(0.0); 100_000];
    row[0] = Some(1.0);
    let rows = std::iter::once(Some(row)).chain(std::iter::repeat_n(None, 60_000));
    let lists = arrow_array::ListArray::from_iter_primitive::<arrow_array::types::Float64Type, _, _>(rows);
    let columns: [(&str, ArrayRef); 2] =
        [("label", Arc::new(Int64Array::from(vec![0; 60_001]))), ("prob", Arc::new(lists))];
    folder.parquet("lists.parquet", &columns, Compression::SNAPPY);
}

/// One long word for 20,000 rows: 10 GB, if each row had its own.
fn words(folder: &Folder, name: &str) {
    let codes = Int32Array::from(vec![0; 20_000]);
    let word = StringArray::from(vec!["x".repeat(500_000)]);
    let words = DictionaryArray::<Int32Type>::new(codes, Arc::new(word));
    let (label, prob) = outcomes(20_000);
    let columns: [(&str, ArrayRef); 3] = [("label", label), ("prob", prob), ("g", Arc::new(words))];
    match name.ends_with(".parquet") {
        true => folder.parquet(name, &columns, Compression::SNAPPY),
        false => compressed(folder, name, &columns),
    };
}

fn compressed(folder: &Folder, name: &str, columns: &[(&str, ArrayRef)]) -> std::path::PathBuf {
    let batch = arrow_array::RecordBatch::try_from_iter(columns.iter().cloned()).unwrap();
    let options = arrow_ipc::writer::IpcWriteOptions::default();
    let options = options.try_with_compression(Some(CompressionType::ZSTD)).unwrap();
    let file = std::fs::File::create(folder.path(name)).unwrap();
    let mut writer = arrow_ipc::writer::FileWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    folder.path(name)
}

/// 20,000 rows that view the same 400,000 bytes.
fn views(folder: &Folder) {
    let text = Buffer::from(vec![b'x'; 400_000]);
    let view = u128::from(400_000_u32) | u128::from(u32::from_le_bytes(*b"xxxx")) << 32;
    let views = StringViewArray::new(ScalarBuffer::from(vec![view; 20_000]), vec![text], None);
    let (label, prob) = outcomes(20_000);
    compressed(folder, "views.arrow", &[("label", label), ("prob", prob), ("g", Arc::new(views))]);
}

fn nulls(folder: &Folder, n: usize) {
    let column = || Arc::new(NullArray::new(n)) as ArrayRef;
    compressed(folder, "nulls.arrow", &[("label", column()), ("prob", column())]);
}

/// 80 MB of zeros twice.
fn zeros(folder: &Folder, name: &str) {
    let columns: [(&str, ArrayRef); 2] = [
        ("label", Arc::new(Int64Array::from(vec![0; 10_000_000]))),
        ("prob", Arc::new(Float64Array::from(vec![0.0; 10_000_000]))),
    ];
    match name.ends_with(".parquet") {
        true => folder.parquet(name, &columns, Compression::SNAPPY),
        false => compressed(folder, name, &columns),
    };
}

/// One sketch in very many rows, of which the file has the bytes once.
fn sketches(folder: &Folder, n: usize) {
    let rows: String = (0..2000).map(|row| format!("{},{}\n", row % 2, f64::from(row) / 2000.0)).collect();
    let (rows, sketch) = (folder.write("rows.csv", format!("label,prob\n{rows}")), folder.path("one.calipers"));
    succeed(&["sketch", rows.to_str().unwrap(), "-o", sketch.to_str().unwrap()]);
    let bytes = std::fs::read(sketch).unwrap();
    let column = BinaryArray::from_iter_values((0..n).map(|_| &bytes));
    let keys = StringArray::from_iter_values((0..n).map(|row| format!("{row:x}")));
    let columns: [(&str, ArrayRef); 2] = [("key", Arc::new(keys)), ("sketch", Arc::new(column))];
    folder.parquet("sketches.parquet", &columns, Compression::ZSTD(Default::default()));
}

fn columns(folder: &Folder, n: usize) {
    let (names, cells) = (",a".repeat(n / 2), ",1".repeat(n / 2));
    folder.write(
        "columns.csv",
        match n > 100_000 {
            true => format!("label,prob{}\n1,.5\n", ",".repeat(n)),
            false => format!("label,prob{names}{names}\n1,.5{cells}{cells}\n"),
        },
    );
}

/// Each row is a group of its own.
fn groups(folder: &Folder) {
    let rows: String = (0..80_000).map(|row| format!("{},.{},{row:x}\n", row % 2, row % 9 + 1)).collect();
    folder.write("groups.csv", format!("label,prob,g\n{rows}"));
}

fn keys(folder: &Folder) {
    let keys: String = (0..70_000).map(|key| format!("\"k{key}\":1,")).collect();
    folder.write("keys.jsonl", format!("{{{keys}\"label\":1,\"prob\":0.5}}\n"));
}

fn different_keys(folder: &Folder) {
    let rows: String = (0..25_000).map(|row| format!("{{\"label\":1,\"prob\":0.5,\"k{row}\":1}}\n")).collect();
    folder.write("different.jsonl", rows);
}

/// 300 MB of one part, compressed.
fn gzip(folder: &Folder, name: &str, before: &str, part: &str) {
    let file = std::fs::File::create(folder.path(name)).unwrap();
    let mut writer = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    writer.write_all(before.as_bytes()).unwrap();
    let some = part.repeat(100_000);
    (0..300_000_000 / some.len()).for_each(|_| writer.write_all(some.as_bytes()).unwrap());
    writer.finish().unwrap();
}

/// Very many members of a gzip file, without a byte in them.
fn members(folder: &Folder) {
    let member = |text: &str| {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        writer.write_all(text.as_bytes()).unwrap();
        writer.finish().unwrap()
    };
    folder.write("members.csv.gz", [member("label,prob\n1,.5\n0,.2\n"), member("").repeat(40_000)].concat());
}
