//! Every format gives the same figures, and every file that cannot be read one clear line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::{Float64Type, Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, FixedSizeListArray, Float16Array, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeListArray, LargeStringArray, ListArray,
    StringArray, StringViewArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_ipc::CompressionType;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use serde_json::Value;

use crate::support::{Array, Folder, LEAVE_OUT, assert_refused, json};

const N: usize = 40;

/// Probabilities that single and half precision hold exactly, and so every format.
fn probs() -> Vec<f64> {
    (0..N).map(|row| (row * 37 % 64) as f64 / 64.0).collect()
}

fn labels() -> Vec<i64> {
    (0..N).map(|row| (row * row % 7 % 2) as i64).collect()
}

fn weights() -> Vec<f64> {
    (0..N).map(|row| 0.1 + row as f64).collect()
}

fn text(delimiter: char) -> String {
    let row = |((label, prob), weight): ((&i64, &f64), &f64)| {
        format!("{label}{delimiter}x{delimiter}{prob}{delimiter}{weight}\n")
    };
    let rows: String = labels().iter().zip(&probs()).zip(&weights()).map(row).collect();
    format!("label{delimiter}unused{delimiter}prob{delimiter}sample_weight\n{rows}")
}

fn columns() -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("sample_weight", Arc::new(Float64Array::from(weights())) as ArrayRef),
        ("unused", Arc::new(StringArray::from(vec!["x"; N]))),
        ("label", Arc::new(Int64Array::from(labels()))),
        ("prob", Arc::new(Float64Array::from(probs()))),
    ]
}

/// The figures of a result, without the names of files and columns.
fn figures(result: &Value) -> [Value; 4] {
    ["n", "ls_ece", "ece", "input"].map(|key| result[key].clone())
}

#[test]
fn all_formats_give_the_same_figures() {
    let folder = Folder::new();
    let expected = figures(&json(&folder.write("a.csv", text(',')), &[]));
    let n = N as u64;
    let arrays = [
        ("labels", Array::Integers(vec![n], labels())),
        ("sample_weights", Array::Double(vec![n], weights())),
        ("probs", Array::Double(vec![n], probs())),
    ];
    let gzip = Compression::GZIP(GzipLevel::default());
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let files: Vec<PathBuf> = vec![
        folder.write("crlf.csv", text(',').replace('\n', "\r\n")),
        folder.write("bom.csv", format!("\u{feff}{}", text(','))),
        folder.write("spaces.csv", text(',').replace(',', " , ")),
        folder.write("quoted.csv", text(',').replace('x', "\"a, \"\"quoted\"\"\nx\"")),
        folder.write("a.tsv", text('\t')),
        folder.write("UPPER.CSV", text(',')),
        folder.parquet("plain.parquet", &columns(), Compression::UNCOMPRESSED),
        folder.parquet("snappy.parquet", &columns(), Compression::SNAPPY),
        folder.parquet("gzip.parquet", &columns(), gzip),
        folder.parquet("lz4.parquet", &columns(), Compression::LZ4_RAW),
        folder.parquet("zstd.parquet", &columns(), zstd),
        folder.arrow("plain.arrow", &columns(), None),
        folder.arrow("lz4.feather", &columns(), Some(CompressionType::LZ4_FRAME)),
        folder.arrow("zstd.feather", &columns(), Some(CompressionType::ZSTD)),
        folder.arrow_stream("stream.ipc", &columns()),
        folder.arrow_stream("stream.arrow", &columns()),
        folder.npz("a.npz", &arrays),
    ];
    for file in files {
        assert_eq!(figures(&json(&file, &[])), expected, "{}", file.display());
    }
    let [labels, weights, probs] = npy_files(&folder, &arrays);
    let options = ["--label", labels.to_str().unwrap(), "--weight", weights.to_str().unwrap()];
    assert_eq!(figures(&json(&probs, &options)), expected);
}

/// An .npz file holds .npy files: the same arrays, each on its own.
fn npy_files<const K: usize>(folder: &Folder, arrays: &[(&str, Array); K]) -> [PathBuf; K] {
    let archive = folder.npz("arrays.npz", arrays);
    let mut archive = zip::ZipArchive::new(std::fs::File::open(archive).unwrap()).unwrap();
    std::array::from_fn(|index| {
        let mut bytes = Vec::new();
        std::io::copy(&mut archive.by_index(index).unwrap(), &mut bytes).unwrap();
        folder.write(&format!("{}.npy", arrays[index].0), bytes)
    })
}

#[test]
fn all_number_types_give_the_same_figures() {
    let folder = Folder::new();
    let unweighted =
        |columns: Vec<(&'static str, ArrayRef)>| folder.parquet("a.parquet", &columns, Compression::SNAPPY);
    let prob = || Arc::new(Float64Array::from(probs())) as ArrayRef;
    let label = || Arc::new(Int64Array::from(labels())) as ArrayRef;
    let of_file = |path: &Path, args: &[&str]| figures(&json(path, args));
    let expected = of_file(&unweighted(vec![("prob", prob()), ("label", label())]), &[]);

    let single: Vec<f32> = probs().iter().map(|prob| *prob as f32).collect();
    let halves: Vec<half::f16> = single.iter().map(|prob| half::f16::from_f32(*prob)).collect();
    for column in [Arc::new(Float32Array::from(single)) as ArrayRef, Arc::new(Float16Array::from(halves))] {
        let path = unweighted(vec![("prob", column.clone()), ("label", label())]);
        assert_eq!(of_file(&path, &[]), expected, "{}", column.data_type());
    }
    macro_rules! integers {
        ($($array:ident $type:ty),*) => {
            vec![$(Arc::new($array::from(labels().iter().map(|label| *label as $type).collect::<Vec<_>>())) as ArrayRef),*]
        };
    }
    let mut of_labels = integers!(Int8Array i8, Int16Array i16, Int32Array i32, UInt8Array u8, UInt16Array u16, UInt32Array u32,
                                  UInt64Array u64, Float32Array f32, Float64Array f64);
    of_labels.push(Arc::new(BooleanArray::from(labels().iter().map(|label| *label == 1).collect::<Vec<_>>())));
    for column in of_labels {
        let path = unweighted(vec![("prob", prob()), ("label", column.clone())]);
        assert_eq!(of_file(&path, &[]), expected, "{}", column.data_type());
    }

    let words: Vec<&str> = labels().iter().map(|label| if *label == 1 { "yes" } else { "no" }).collect();
    let of_text: [ArrayRef; 4] = [
        Arc::new(StringArray::from(words.clone())),
        Arc::new(LargeStringArray::from(words.clone())),
        Arc::new(StringViewArray::from(words.clone())),
        Arc::new(words.iter().copied().collect::<DictionaryArray<Int8Type>>()),
    ];
    for column in of_text {
        let columns = [("prob", prob()), ("label", column.clone())];
        assert_eq!(of_file(&unweighted(columns.to_vec()), &["--pos-label", "yes"]), expected, "{}", column.data_type());
        let arrow = folder.arrow_stream("a.arrow", &columns);
        assert_eq!(of_file(&arrow, &["--pos-label", "yes"]), expected, "{}", column.data_type());
    }

    let shape = || vec![N as u64];
    let as_type = |dtype, values| Array::As { dtype, fortran: false, shape: shape(), values };
    let outcomes = || labels().iter().map(|label| *label as f64).collect::<Vec<f64>>();
    for dtype in ["<f2", "<f4", "<f8", ">f4", ">f8"] {
        let path =
            folder.npz("a.npz", &[("prob", as_type(dtype, probs())), ("label", Array::Integers(shape(), labels()))]);
        assert_eq!(of_file(&path, &[]), expected, "{dtype}");
    }
    for dtype in ["|b1", "|i1", "<i2", "<i4", ">i8", "|u1", ">u2", "<u4", "<u8", "<f4", ">f8"] {
        let path =
            folder.npz("a.npz", &[("prob", Array::Double(shape(), probs())), ("label", as_type(dtype, outcomes()))]);
        assert_eq!(of_file(&path, &[]), expected, "{dtype}");
    }
}

const K: usize = 3;

fn class_probs() -> Vec<f64> {
    (0..N)
        .flat_map(|row| [(row % 4) as f64 / 8.0, (row % 3) as f64 / 8.0, 1.0 - (row % 4 + row % 3) as f64 / 8.0])
        .collect()
}

#[test]
fn rows_of_classes_are_read_from_lists_and_arrays() {
    let folder = Folder::new();
    let classes: Vec<i64> = (0..N).map(|row| (row % K) as i64).collect();
    let shape = || vec![N as u64, K as u64];
    let labels = || ("labels", Array::Integers(vec![N as u64], classes.clone()));
    let expected =
        figures(&json(&folder.npz("a.npz", &[("probs", Array::Double(shape(), class_probs())), labels()]), &[]));

    for (dtype, fortran) in [("<f8", true), (">f8", false), ("<f4", true), ("<f2", false)] {
        let array = Array::As { dtype, fortran, shape: shape(), values: class_probs() };
        let path = folder.npz("b.npz", &[("probs", array), labels()]);
        assert_eq!(figures(&json(&path, &[])), expected, "{dtype} {fortran}");
    }
    for column in lists(|_| true) {
        let columns = [("probs", column.clone()), ("labels", Arc::new(Int64Array::from(classes.clone())) as ArrayRef)];
        for path in
            [folder.parquet("a.parquet", &columns, Compression::SNAPPY), folder.arrow("a.arrow", &columns, None)]
        {
            assert_eq!(figures(&json(&path, &[])), expected, "{}", column.data_type());
        }
    }
}

/// The class probabilities as each type of list, null where a row is not `kept`.
fn lists(kept: impl Fn(usize) -> bool) -> [ArrayRef; 3] {
    let probs = class_probs();
    let rows: Vec<Option<Vec<Option<f64>>>> = (0..N)
        .map(|row| kept(row).then(|| probs[row * K..(row + 1) * K].iter().copied().map(Some).collect()))
        .collect();
    [
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows.clone())),
        Arc::new(LargeListArray::from_iter_primitive::<Float64Type, _, _>(rows.clone())),
        Arc::new(FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(rows, K as i32)),
    ]
}

#[test]
fn nulls_are_missing_in_every_format() {
    let folder = Folder::new();
    let prob = || Arc::new(Float64Array::from(vec![None, Some(0.5), Some(0.5), Some(0.5)])) as ArrayRef;
    let label = || Arc::new(Int32Array::from(vec![Some(1), None, Some(0), Some(1)])) as ArrayRef;
    let weight = || Arc::new(Float32Array::from(vec![Some(1.0), Some(1.0), None, Some(1.0)])) as ArrayRef;
    let columns = [("prob", prob()), ("label", label()), ("sample_weight", weight())];
    let files = [
        folder.write("a.csv", "prob,label,sample_weight\n,1,1\n0.5,,1\n0.5,0,\n0.5,1,1\n"),
        folder.parquet("a.parquet", &columns, Compression::SNAPPY),
        folder.arrow("a.arrow", &columns, None),
    ];
    for file in files {
        let place = if file.extension().unwrap() == "csv" { "line 2" } else { "row 0 (counting from 0)" };
        assert_refused(&file, &[], &format!("probability in {place} is missing{LEAVE_OUT}"));
        let result = json(&file, &["--invalid", "count"]);
        let left_out = serde_json::json!({"missing label": 1, "missing probability": 1, "missing weight": 1});
        assert_eq!((&result["n"], &result["input"]["left_out"]), (&1.into(), &left_out), "{}", file.display());
    }
    let words: DictionaryArray<Int32Type> = [Some("a"), None, Some("b"), Some("a")].into_iter().collect();
    let path = folder.arrow("words.arrow", &[("prob", prob()), ("label", Arc::new(words))], None);
    let left_out = &json(&path, &["--invalid", "count", "--pos-label", "a"])["input"]["left_out"];
    assert_eq!(*left_out, serde_json::json!({"missing label": 1, "missing probability": 1}));
}

#[test]
fn null_lists_and_null_items_are_missing_rows() {
    let folder = Folder::new();
    let classes = || Arc::new(Int64Array::from((0..N).map(|row| (row % K) as i64).collect::<Vec<_>>())) as ArrayRef;
    for column in lists(|row| row > 8 && row != 20) {
        let columns = [("probs", column.clone()), ("labels", classes())];
        for path in
            [folder.parquet("a.parquet", &columns, Compression::SNAPPY), folder.arrow("a.arrow", &columns, None)]
        {
            let result = json(&path, &["--invalid", "count"]);
            assert_eq!(
                result["input"]["left_out"],
                serde_json::json!({"missing probability": 10}),
                "{}",
                column.data_type()
            );
            assert_eq!(result["n"], N - 10);
        }
    }
    let rows = [Some(vec![Some(0.5), Some(0.5)]), Some(vec![None, Some(0.5)]), Some(vec![Some(0.25), Some(0.75)])];
    let column = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows));
    let label = Arc::new(Int64Array::from(vec![0, 1, 1]));
    let path = folder.arrow("items.arrow", &[("probs", column), ("label", label)], None);
    assert_refused(&path, &[], &format!("probability in row 1 (counting from 0) is missing{LEAVE_OUT}"));
}

#[test]
fn lists_of_different_lengths_are_refused_with_the_row() {
    let folder = Folder::new();
    let refused = |rows: Vec<Option<Vec<Option<f64>>>>, text: &str| {
        let labels = Arc::new(Int64Array::from(vec![0; rows.len()])) as ArrayRef;
        let column = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows));
        let path = folder.arrow("a.arrow", &[("probs", column), ("labels", labels)], None);
        assert_refused(&path, &[], &format!("probabilities must have shape (n,) or (n, k), got {text}"));
    };
    let row = |k: usize| Some(vec![Some(1.0 / k as f64); k]);
    refused(vec![row(2), None, row(3)], "3 values in row 2 (counting from 0) of column probs and 2 before it");
    let mut rows = vec![row(4); 20];
    rows[15] = row(1);
    refused(rows, "1 values in row 15 (counting from 0) of column probs and 4 before it");
    refused(vec![Some(vec![])], "no values in row 0 (counting from 0) of column probs");
}

#[test]
fn wrong_types_are_refused_before_anything_is_read() {
    let folder = Folder::new();
    let good = Arc::new(Float64Array::from(vec![0.5])) as ArrayRef;
    let decimal = Arc::new(Decimal128Array::from(vec![5]).with_precision_and_scale(10, 2).unwrap()) as ArrayRef;
    let list = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(1.0)])])) as ArrayRef;
    let word = Arc::new(StringArray::from(vec!["0.5"])) as ArrayRef;
    let cases = [
        (word.clone(), good.clone(), "probabilities must be numbers, got text in column prob"),
        (decimal.clone(), good.clone(), "probabilities must be numbers, got Decimal128(10, 2) in column prob"),
        (
            good.clone(),
            decimal,
            "labels must be numbers, true and false, or text, got Decimal128(10, 2) in column label",
        ),
        (good.clone(), list, "labels must be numbers, true and false, or text, got List(Float64) in column label"),
    ];
    for (prob, label, text) in cases {
        let columns = [("prob", prob), ("label", label)];
        assert_refused(&folder.parquet("a.parquet", &columns, Compression::SNAPPY), &[], text);
        assert_refused(&folder.arrow("a.arrow", &columns, None), &[], text);
    }
    let columns = [("logit", word), ("label", good)];
    assert_refused(&folder.arrow("b.arrow", &columns, None), &[], "logits must be numbers, got text in column logit");
}

#[test]
fn shapes_and_types_of_arrays_are_refused() {
    let folder = Folder::new();
    let labels = || ("labels", Array::Integers(vec![2], vec![0, 1]));
    let refused = |arrays: &[(&str, Array)], text: &str| assert_refused(&folder.npz("a.npz", arrays), &[], text);
    let probs =
        |shape: &[u64]| ("probs", Array::Double(shape.to_vec(), vec![0.5; shape.iter().product::<u64>() as usize]));
    refused(&[probs(&[2, 2, 2]), labels()], "probabilities must have shape (n,) or (n, k), got (2, 2, 2)");
    refused(&[probs(&[]), labels()], "probabilities must have shape (n,) or (n, k), got ()");
    refused(&[probs(&[2, 0]), labels()], "probabilities must have shape (n,) or (n, k), got (2, 0)");
    refused(
        &[probs(&[2]), ("labels", Array::Integers(vec![2, 2], vec![0, 1, 0, 1]))],
        "labels must have shape (n,), got (2, 2)",
    );
    refused(&[probs(&[3]), labels()], "labels must have one value for each row, got 2 values for 3 rows");
    refused(
        &[labels()],
        "no array is named like a probability (prob, proba, y_prob, score, p or logit): choose one with --prob; the arrays are labels",
    );
    let column = folder.npz("column.npz", &[probs(&[2, 1]), ("labels", Array::Integers(vec![2, 1], vec![0, 1]))]);
    assert_eq!(json(&column, &[])["n"], 2);

    let npy = |name: &str, descr: &str, shape: &str, data: &[u8]| {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
        let length = (header.len() as u16).to_le_bytes();
        folder.write(name, [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat())
    };
    let labels = npy("labels.npy", "'|i1'", "(2,)", &[0, 1]);
    let label = ["--label", labels.to_str().unwrap()];
    let objects = npy("objects.npy", "'|O'", "(2,)", &[]);
    assert_refused(&objects, &label, "probabilities must be numbers, got Python objects");
    let complex = npy("complex.npy", "'<c16'", "(2,)", &[0; 32]);
    assert_refused(&complex, &label, "probabilities must be numbers, got NumPy type <c16");
    let structured = npy("structured.npy", "[('prob', '<f8'), ('label', '<i8')]", "(2,)", &[0; 32]);
    let text = "a structured array cannot be read: save its fields as arrays of an .npz file";
    assert_refused(&structured, &label, text);
    let words = npy(
        "words.npy",
        "'<U2'",
        "(2,)",
        &"no\0\0ok\0\0".chars().flat_map(|c| (c as u32).to_le_bytes()).collect::<Vec<_>>()[..16],
    );
    assert_refused(&words, &label, "probabilities must be numbers, got text \"no\" in row 0 (counting from 0)");

    let probs = npy("probs.npy", "'|u1'", "(2,)", &[0, 1]);
    let text_labels =
        npy("text.npy", "'>U3'", "(2,)", &"no\0yes".chars().flat_map(|c| (c as u32).to_be_bytes()).collect::<Vec<_>>());
    assert_eq!(json(&probs, &["--label", text_labels.to_str().unwrap(), "--pos-label", "yes"])["ece"]["value"], 0.0);
    let byte_labels = npy("bytes.npy", "'|S3'", "(2,)", b"no\0yes");
    assert_eq!(json(&probs, &["--label", byte_labels.to_str().unwrap(), "--pos-label", "yes"])["ece"]["value"], 0.0);
    let text = "an .npy file is one array: give the file of the labels too, as --label labels.npy, or save both with numpy.savez";
    assert_refused(&probs, &[], text);
    assert_refused(&probs, &["--prob", "a"], "an .npy file is one array: --prob has nothing to choose from");
    assert_refused(&probs, &["--label", "absent.npy"], "absent.npy: no such file");
    let short = npy("short.npy", "'<f8'", "(2,)", &[0; 12]);
    assert_refused(&short, &label, "cannot read as NumPy: it ends before its 2 elements do");
}

#[test]
fn what_is_no_file_of_predictions_is_refused() {
    let folder = Folder::new();
    for extension in ["csv", "tsv", "parquet", "arrow", "feather", "ipc", "npy", "npz", "txt"] {
        assert_refused(&folder.path(&format!("absent.{extension}")), &[], "no such file");
        assert_refused(&folder.write(&format!("empty.{extension}"), ""), &[], "the file is empty");
        let directory = folder.path(&format!("directory.{extension}"));
        std::fs::create_dir(&directory).unwrap();
        assert_refused(&directory, &[], "the folder has no files");
    }
    let formats = "the format is unknown; name the file .csv, .tsv, .jsonl, .ndjson (these also with .gz or .zst), .parquet, \
                   .arrow, .feather, .ipc, .npy or .npz, or pass --format";
    assert_refused(&folder.write("a.txt", "label,prob\n"), &[], formats);
    assert_refused(&folder.write("label", "label,prob\n"), &[], formats);
    let noise = "this is no file of that kind, though it is long enough to be one, and to be looked at more than once";
    let cases = [
        ("parquet", "cannot read as Parquet: Parquet error: Invalid Parquet file. Corrupt footer"),
        ("npz", "cannot read as .npz: invalid Zip archive: Could not find EOCD"),
    ];
    for (extension, text) in cases {
        let text = format!("{text}; the file begins like text: if it is, pass --format csv");
        assert_refused(&folder.write(&format!("noise.{extension}"), noise), &[], &text);
    }
    let parquet = folder.parquet("a.parquet", &columns(), Compression::SNAPPY);
    let renamed = folder.path("a.csv");
    std::fs::copy(&parquet, &renamed).unwrap();
    let text = "is no text: it begins like a file of format parquet; pass --format parquet";
    assert_refused(&renamed, &[], text);
    let feather = "is Feather version 1: write it again as version 2, which is Arrow IPC";
    assert_refused(&folder.write("old.feather", "FEA1\0\0\0\0 and so on FEA1"), &[], feather);
}

#[test]
fn csv_that_is_ragged_or_not_utf8_is_refused() {
    let folder = Folder::new();
    let cases: [(&[u8], &str); 5] = [
        (b"label,prob\n1,0.5\n0,0.5,7\n", "line 3 has 3 cells, the first line has 2"),
        (b"label,prob\n1,0.5\n0\n", "line 3 has 1 cells, the first line has 2"),
        (b"label,prob\n", "no rows: at least one prediction is needed"),
        (b"label,prob\nma\xefs,0.5\n", "column label in line 2 is not UTF-8"),
        (
            b"label,prob\n1,\"0,5\"\n",
            "probabilities must be numbers, got text \"0,5\" in line 2; pass --decimal , for numbers with a decimal comma",
        ),
    ];
    for (content, text) in cases {
        assert_refused(&folder.write("a.csv", content), &[], text);
    }
}

/// Cut short or with a byte changed, a file is refused in one line or read: never more, never a
/// panic.
#[test]
fn damaged_files_never_panic() {
    let folder = Folder::new();
    let arrays =
        [("labels", Array::Integers(vec![N as u64], labels())), ("probs", Array::Double(vec![N as u64], probs()))];
    let whole = [
        folder.parquet("a.parquet", &columns(), Compression::SNAPPY),
        folder.arrow("a.arrow", &columns(), Some(CompressionType::LZ4_FRAME)),
        folder.arrow_stream("a.ipc", &columns()),
        folder.npz("a.npz", &arrays),
    ];
    for path in whole {
        let bytes = std::fs::read(&path).unwrap();
        let extension = path.extension().unwrap().to_str().unwrap();
        let cut = (1..8).map(|part| bytes[..bytes.len() * part / 8].to_vec());
        let changed = (0..64).map(|part| {
            let mut bytes = bytes.clone();
            let place = bytes.len() * part / 64;
            bytes[place] ^= 0x55;
            bytes
        });
        for damaged in cut.chain(changed) {
            let path = folder.write(&format!("damaged.{extension}"), damaged);
            let run = crate::support::calipers(&["measure", path.to_str().unwrap()]);
            let start = format!("calipers: {}: ", path.display());
            let refused = run.code == Some(2)
                && run.stdout.is_empty()
                && run.stderr.starts_with(&start)
                && run.stderr.lines().count() == 1;
            assert!(refused || (run.code == Some(0) && run.stderr.is_empty()), "{extension} {run:?}");
        }
    }
}
