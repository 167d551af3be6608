//! Seeds of the command: small files of every format.

use std::io::{Cursor, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{Result, files_of, put};

pub(super) fn make() -> Result<()> {
    text()?;
    arrays()?;
    tables()?;
    sketch_files()?;
    put("same_rows", "three", &[1, 200, 4, 10, 9, 128])?;
    put("same_rows", "doubles", &[7, 0, 0, 0, 0, 0, 0, 0xd0, 0x3f, 8, 20, 3, 0, 0, 0, 0, 0, 0, 0xe8, 0x3f])
}

/// The first byte chooses options: see the targets.
fn text() -> Result<()> {
    let csv: [(u8, &str, &str); 9] = [
        (0, "plain", "p,y\n0.25,0\n0.75,1\n0.5,1\n"),
        (0, "quoted", "\"p\",\"y\",\"note\"\r\n0.25,0,\"a, \"\"b\"\"\nc\"\r\n0.75,1,\r\n"),
        (1, "missing", "prob,label,weight\n0.1,0,1\n,1,2\nNA,1,\n0.9,x,3\n1.5,1,1\n"),
        (2, "groups", "p,y,group\n0.2,0,a\n0.7,1,b\n0.9,1,a\n"),
        (3, "classes", "p_cat,p_dog,p_fish,label\n0.2,0.3,0.5,fish\n0.7,0.2,0.1,cat\n"),
        (4, "comma", "p;y\n0,25;0\n0,75;1\n"),
        (5, "percent", "p|y\n25%|0\n75|1\n"),
        (6, "tabs", "p\ty\n1e-3\t0\n.75\t1\n"),
        (0, "logits", "logit,correct\n-2.5,false\n3,true\n"),
    ];
    for (mode, name, text) in csv {
        put("csv", name, &[&[mode], text.as_bytes()].concat())?;
    }
    let lines: [(u8, &str, &str); 6] = [
        (0, "plain", "{\"p\": 0.25, \"y\": 0}\n{\"p\": 0.75, \"y\": 1}\n"),
        (
            1,
            "missing",
            "{\"p\": null, \"y\": 1}\n{\"p\": 0.5}\n{\"p\": \"NaN\", \"y\": true}\n{\"p\": 0.5, \"y\": 1}\n",
        ),
        (2, "groups", "{\"group\": \"a\", \"p\": 0.25, \"y\": 0}\n{\"y\": 1, \"p\": 0.75, \"group\": \"\\u00e9\"}\n"),
        (3, "lists", "{\"probs\": [0.2, 0.3, 0.5], \"label\": 2}\n{\"probs\": [0.7, 0.2, 0.1], \"label\": 0}\n"),
        (0, "nested", "{\"p\": 0.5, \"y\": 1, \"meta\": {\"a\": [1, {\"b\": null}]}}\n"),
        (0, "same_key", "{\"p\": 0.5, \"p\": 0.25, \"y\": 1}\n\n{\"p\": 5e-1, \"y\": 0}"),
    ];
    for (mode, name, text) in lines {
        put("json_lines", name, &[&[mode], text.as_bytes()].concat())?;
    }
    Ok(())
}

fn npy(kind: &str, shape: &str, fortran: bool, version: u8, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = header.len() as u32;
    let length = if version == 1 { (length as u16).to_le_bytes().to_vec() } else { length.to_le_bytes().to_vec() };
    [b"\x93NUMPY", &[version, 0][..], &length, header.as_bytes(), data].concat()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn arrays() -> Result<()> {
    let four = doubles(&[0.2, 0.9, 0.6, 0.4]);
    let classes = doubles(&[0.2, 0.8, 0.9, 0.1, 0.5, 0.5, 0.3, 0.7]);
    let floats: Vec<u8> = [0.2f32, 0.9, 0.6, 0.4].iter().flat_map(|value| value.to_le_bytes()).collect();
    put("npy", "doubles", &npy("<f8", "(4,)", false, 1, &four))?;
    put("npy", "floats", &npy("<f4", "(4, 1)", false, 2, &floats))?;
    put("npy", "halves", &npy("<f2", "(4,)", false, 3, &[0x00, 0x34, 0x00, 0x38, 0x66, 0x3a, 0x00, 0x3c]))?;
    put(
        "npy",
        "big_endian",
        &npy(">f4", "(4,)", false, 1, &[0x3e, 0x80, 0, 0, 0x3f, 0, 0, 0, 0x3f, 0x40, 0, 0, 0, 0, 0, 0]),
    )?;
    put("npy", "classes", &npy("<f8", "(4, 2)", false, 1, &classes))?;
    put("npy", "fortran", &npy("<f8", "(4, 2)", true, 1, &classes))?;
    put("npy", "booleans", &npy("|b1", "(4,)", false, 1, &[0, 1, 1, 0]))?;

    let labels = npy("<i8", "(4,)", false, 1, &[0i64, 1, 1, 0].map(i64::to_le_bytes).concat());
    let probabilities = npy("<f8", "(4,)", false, 1, &four);
    for (name, method) in [("stored", CompressionMethod::Stored), ("deflated", CompressionMethod::Deflated)] {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, array) in [("probs.npy", &probabilities), ("labels.npy", &labels)] {
            writer.start_file(name, SimpleFileOptions::default().compression_method(method))?;
            writer.write_all(array)?;
        }
        put("npz", name, &writer.finish()?.into_inner())?;
    }
    // A name, a method and a length before each array.
    let mut members = Vec::new();
    for (name, array) in [(0, &probabilities), (1, &labels)] {
        members.extend([name, 1]);
        members.extend((array.len() as u16).to_le_bytes());
        members.extend(array);
    }
    put("npz_members", "two", &members)
}

fn tables() -> Result<()> {
    let p: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.2), Some(0.9), None, Some(0.4)]));
    let half: ArrayRef = Arc::new(Float32Array::from(vec![0.25, 0.5, 0.75, 1.0]));
    let y: ArrayRef = Arc::new(Int32Array::from(vec![0, 1, 1, 0]));
    let words: ArrayRef = Arc::new(StringArray::from(vec!["no", "yes", "yes", "no"]));
    let batches = [
        ("numbers", RecordBatch::try_from_iter([("p", p), ("y", Arc::clone(&y))])?),
        ("text", RecordBatch::try_from_iter([("p", half), ("label", words), ("group", y)])?),
    ];
    for (name, batch) in &batches {
        let mut file = Vec::new();
        let mut writer = FileWriter::try_new(&mut file, &batch.schema())?;
        writer.write(batch)?;
        writer.finish()?;
        drop(writer);
        put("arrow", name, &file)?;
        let mut stream = Vec::new();
        let mut writer = StreamWriter::try_new(&mut stream, &batch.schema())?;
        writer.write(batch)?;
        writer.finish()?;
        drop(writer);
        put("arrow", &format!("{name}_stream"), &stream)?;
        for (codec, compression) in [
            ("plain", Compression::UNCOMPRESSED),
            ("snappy", Compression::SNAPPY),
            ("zstd", Compression::ZSTD(ZstdLevel::default())),
        ] {
            let mut file = Vec::new();
            let properties = WriterProperties::builder().set_compression(compression).build();
            let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties))?;
            writer.write(batch)?;
            writer.close()?;
            put("parquet", &format!("{name}_{codec}"), &file)?;
        }
    }
    Ok(())
}

/// A mode, then either a sketch, or for each row a key, a length and a sketch, without checksums.
fn sketch_files() -> Result<()> {
    let small: Vec<(String, Vec<u8>)> = files_of("fixtures/sketches", ".calipers")?
        .into_iter()
        .filter(|(name, bytes)| bytes.len() < 400 && (name.starts_with("v4") || name.starts_with("v3")))
        .collect();
    for (name, bytes) in &small {
        let content = &bytes[..bytes.len() - 4];
        put("sketch_files", name, &[&[0], content].concat())?;
        for mode in 1..4 {
            let mut rows = vec![mode];
            for key in [b'a', b'b', b'a'] {
                rows.push(key);
                rows.extend((content.len() as u16).to_le_bytes());
                rows.extend(content);
            }
            put("sketch_files", &format!("{name}_rows_{mode}"), &rows)?;
        }
    }
    Ok(())
}
