//! The .npy format: a header that is a Python dictionary, then the elements.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::ops::Range;

use anyhow::{Result, anyhow, bail};
use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use bytes::Bytes;

use super::window::window;
use super::{Column, Place, Role, Values};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// numpy rejects longer headers, too.
const MAX_HEADER: usize = 10_000;

/// The header.
#[derive(Debug, PartialEq)]
struct Header {
    /// As numpy writes it: byte order, kind and size, such as `<f4`.
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// One array, (n,) or where the role allows it (n, k), of which rows are read as they are wanted.
pub(crate) struct NpyArray {
    header: Header,
    role: Role,
    n_classes: usize,
    /// Bytes of an element.
    size: usize,
    source: Source,
}

/// Where the elements are.
enum Source {
    /// In a file, from this byte on.
    File(File, u64),
    Memory(Bytes),
}

impl NpyArray {
    /// An array in a file, of which rows are read as they are wanted.
    pub(crate) fn open(mut file: File, role: Role) -> Result<Self> {
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Self::read(file, role, u64::MAX, |_| Ok(()));
        }
        let mut reader = BufReader::new(&mut file);
        let header = read_header(&mut reader)?;
        let start = reader.stream_position().map_err(failed)?;
        let n_bytes = metadata.len().saturating_sub(start);
        Self::new(header, role, |_| Ok((Source::File(file, start), n_bytes)))
    }

    /// Type and shape of the elements: `<f4 (10000, 10)`; `None` if it is not an array.
    pub(crate) fn type_and_shape(mut source: impl Read) -> Option<String> {
        let header = read_header(&mut source).ok()?;
        Some(format!("{} {}", header.descr, python_shape(&header.shape)))
    }

    /// An array in an archive, of which rows up to the limit are kept; `check` gets the bytes that
    /// these take.
    pub(crate) fn read(
        mut source: impl Read,
        role: Role,
        limit: u64,
        check: impl FnOnce(u64) -> Result<()>,
    ) -> Result<Self> {
        let header = read_header(&mut source)?;
        // By columns, the first rows are not the first bytes.
        let is_by_columns = header.fortran_order && header.shape.len() > 1;
        let n_rows = header.shape.first().copied().unwrap_or(0) as u64;
        let n_kept = if is_by_columns { n_rows } else { n_rows.min(limit) };
        Self::new(header, role, |n_bytes| {
            // proof: no rows have no bytes, and whole rows do not divide by zero
            let wanted = n_bytes.checked_div(n_rows).unwrap_or(0) * n_kept;
            check(wanted)?;
            // A file is not believed about its length: memory grows with what is read.
            let mut bytes = Vec::new();
            source.take(wanted).read_to_end(&mut bytes).map_err(failed)?;
            let n_found = bytes.len() as u64;
            Ok((Source::Memory(bytes.into()), if n_found == wanted { n_bytes } else { n_found }))
        })
    }

    /// `source` gets the number of bytes that there should be, and returns how many there are.
    fn new(header: Header, role: Role, source: impl FnOnce(u64) -> Result<(Source, u64)>) -> Result<Self> {
        let n_classes = match header.shape[..] {
            [_] => 1,
            [_, 1] => 1,
            [_, k] if role.may_have_classes() && k > 0 => k,
            _ => return Err(role.wrong_shape(python_shape(&header.shape)).into()),
        };
        let too_large = || anyhow!("cannot read as NumPy: shape {} is too large", python_shape(&header.shape));
        let n = header.shape.iter().try_fold(1_usize, |n, length| n.checked_mul(*length)).ok_or_else(too_large)?;
        let size = element_size(&header.descr).ok_or_else(|| role.wrong_type(type_name(&header.descr)))?;
        let n_bytes = n.checked_mul(size).ok_or_else(too_large)? as u64;
        let (source, found) = source(n_bytes)?;
        if found < n_bytes {
            bail!("cannot read as NumPy: it ends before its {n} elements do");
        }
        let array = NpyArray { header, role, n_classes, size, source };
        if let (true, Values::Text(first)) = (role.is_numeric(), array.elements(0, n.min(1))?) {
            let got = first.first().map_or("text".to_owned(), |text| format!("text {text:?} in {}", Place::Row(0)));
            return Err(role.wrong_type(got).into());
        }
        Ok(array)
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.header.shape[0]
    }

    pub(crate) fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// Some rows, all of which the array has.
    pub(crate) fn rows(&self, rows: Range<usize>) -> Result<Column> {
        let (n, k) = (rows.len(), self.n_classes);
        let values = if self.header.fortran_order && k > 1 {
            let classes = (0..k).map(|class| self.elements(class * self.n_rows() + rows.start, n));
            let by_class = Values::concat(classes.collect::<Result<_>>()?)?;
            by_class.gather((0..n * k).map(|place| Some(place % k * n + place / k)))
        } else {
            self.elements(rows.start * k, n * k)?
        };
        let type_name = values.type_name();
        let values = if self.role.is_numeric() { values.into_floats() } else { Some(values) };
        let values = values.ok_or_else(|| self.role.wrong_type(type_name))?;
        Ok(Column { n_classes: k, ..Column::plain(values) })
    }

    /// Some elements, in the order of the file.
    fn elements(&self, start: usize, n: usize) -> Result<Values> {
        let (start, length) = (start * self.size, n * self.size);
        let bytes = match &self.source {
            Source::File(file, data) => window(file, data + start as u64, length).map_err(failed)?,
            Source::Memory(bytes) => bytes.slice(start..start + length),
        };
        decode(bytes, &self.header.descr).ok_or_else(|| self.role.wrong_type(type_name(&self.header.descr)).into())
    }
}

fn read_header(source: &mut impl Read) -> Result<Header> {
    let mut start = [0; 8];
    source.read_exact(&mut start).map_err(|_| anyhow!("cannot read as NumPy: it is too short"))?;
    if &start[..6] != MAGIC {
        bail!("cannot read as NumPy: it does not begin as an array does");
    }
    let width = match start[6] {
        1 => 2,
        2 | 3 => 4,
        version => bail!("cannot read as NumPy: version {version} of the format is not known"),
    };
    let cut = |_| anyhow!("cannot read as NumPy: the header ends too soon");
    let mut length = [0; 4];
    source.read_exact(&mut length[..width]).map_err(cut)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER {
        bail!("cannot read as NumPy: a header of {length} bytes is too long");
    }
    let mut text = vec![0; length];
    source.read_exact(&mut text).map_err(cut)?;
    parse_header(&String::from_utf8_lossy(&text))
}

fn parse_header(text: &str) -> Result<Header> {
    let wrong = |key: &str| anyhow!("cannot read as NumPy: no {key} in the header");
    let value = |key: &str| {
        let (_, rest) = text.split_once(&format!("'{key}':")).ok_or_else(|| wrong(key))?;
        Ok::<&str, anyhow::Error>(rest.trim_start())
    };
    let descr = value("descr")?;
    let Some(descr) = descr.strip_prefix('\'').and_then(|descr| descr.split('\'').next()) else {
        bail!("a structured array cannot be read: save its fields as arrays of an .npz file");
    };
    let order = value("fortran_order")?;
    let shape = value("shape")?.strip_prefix('(').and_then(|shape| shape.split(')').next());
    let lengths = shape.ok_or_else(|| wrong("shape"))?.split(',').map(str::trim).filter(|length| !length.is_empty());
    Ok(Header {
        descr: descr.to_owned(),
        fortran_order: order.starts_with("True"),
        // Python 2 wrote 10L.
        shape: lengths
            .map(|length| length.trim_end_matches('L').parse())
            .collect::<Result<_, _>>()
            .map_err(|_| wrong("shape"))?,
    })
}

fn python_shape(shape: &[usize]) -> String {
    match shape {
        [n] => format!("({n},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Byte order, and what an element is.
fn split_descr(descr: &str) -> (&str, &str) {
    descr.split_at_checked(1).unwrap_or((descr, ""))
}

/// Bytes of an element; `None` for a type that cannot be read.
fn element_size(descr: &str) -> Option<usize> {
    let (letter, width) = split_descr(split_descr(descr).1);
    let width: usize = width.parse().ok()?;
    match (letter, width) {
        ("b", 1) | ("i" | "u", 1 | 2 | 4 | 8) | ("f", 2 | 4 | 8) => Some(width),
        ("U", _) => width.checked_mul(4),
        ("S", _) => Some(width),
        _ => None,
    }
    .filter(|size| *size > 0)
}

/// Whole elements as values; `None` for a type that cannot be read.
fn decode(bytes: Bytes, descr: &str) -> Option<Values> {
    let (order, kind) = split_descr(descr);
    let big = order == ">" || (order == "=" && cfg!(target_endian = "big"));
    macro_rules! numbers {
        ($type:ty) => {{
            let convert = if big { <$type>::from_be_bytes } else { <$type>::from_le_bytes };
            match in_place::<$type>(&bytes).filter(|_| big == cfg!(target_endian = "big")) {
                Some(values) => values.into(),
                None => fixed(&bytes, convert).into(),
            }
        }};
    }
    Some(match kind {
        "b1" => fixed(&bytes, |[byte]: [u8; 1]| byte != 0).into(),
        "i1" => numbers!(i8),
        "i2" => numbers!(i16),
        "i4" => numbers!(i32),
        "i8" => numbers!(i64),
        "u1" => numbers!(u8),
        "u2" => numbers!(u16),
        "u4" => numbers!(u32),
        "u8" => numbers!(u64),
        "f2" => {
            let convert = if big { half::f16::from_be_bytes } else { half::f16::from_le_bytes };
            fixed(&bytes, |bytes| convert(bytes).to_f32()).into()
        }
        "f4" => numbers!(f32),
        "f8" => numbers!(f64),
        _ => texts(&bytes, kind, big)?.into_iter().collect(),
    })
}

/// The bytes themselves as numbers, if they are aligned as such.
fn in_place<T: ArrowNativeType>(bytes: &Bytes) -> Option<ScalarBuffer<T>> {
    let aligned = bytes.as_ptr().align_offset(std::mem::align_of::<T>()) == 0;
    aligned.then(|| ScalarBuffer::new(Buffer::from(bytes.clone()), 0, bytes.len() / std::mem::size_of::<T>()))
}

fn fixed<const N: usize, T>(bytes: &[u8], convert: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|element| convert(*element)).collect()
}

/// Text of a fixed width: `U` has four bytes for each character, `S` one. `None` for any other
/// kind.
fn texts(bytes: &[u8], kind: &str, big: bool) -> Option<Vec<String>> {
    let (letter, width) = split_descr(kind);
    let width: usize = width.parse().ok()?;
    let code = if big { u32::from_be_bytes } else { u32::from_le_bytes };
    let text = |bytes: &[u8]| match letter {
        "S" => Some(String::from_utf8_lossy(bytes).into_owned()),
        "U" => Some(
            bytes
                .as_chunks::<4>()
                .0
                .iter()
                .map(|bytes| char::from_u32(code(*bytes)).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
        ),
        _ => None,
    };
    let size = if letter == "U" { width.checked_mul(4)? } else { width };
    let padded = |bytes| text(bytes).map(|text: String| text.trim_end_matches('\0').to_owned());
    bytes.chunks_exact(size.max(1)).map(padded).collect()
}

fn failed(error: std::io::Error) -> anyhow::Error {
    anyhow!("cannot read as NumPy: {error}")
}

fn type_name(descr: &str) -> String {
    match descr {
        "|O" => "Python objects".to_owned(),
        other => format!("NumPy type {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_numpy_are_understood() {
        let cases = [
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }   \n", "<f8", false, vec![3]),
            ("{'descr': '>i4', 'fortran_order': True, 'shape': (3, 4), }\n", ">i4", true, vec![3, 4]),
            ("{'shape': (), 'fortran_order': False, 'descr': '|b1'}", "|b1", false, vec![]),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (10L, 2L), }", "<f4", false, vec![10, 2]),
        ];
        for (text, descr, fortran_order, shape) in cases {
            let header = parse_header(text).ok();
            assert_eq!(header, Some(Header { descr: descr.to_owned(), fortran_order, shape }), "{text}");
        }
    }

    #[test]
    fn invalid_headers_are_rejected() {
        let texts = [
            "",
            "{}",
            "{'descr': '<f8'",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
            "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }",
        ];
        for text in texts {
            assert!(parse_header(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_shape_that_lies_needs_no_memory() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }";
        let mut file = [&MAGIC[..], &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
        file.extend([0; 100]);
        let error = NpyArray::read(&file[..], Role::Weights, u64::MAX, |_| Ok(()))
            .map(|_| ())
            .map_err(|error| error.to_string());
        assert_eq!(error, Err("cannot read as NumPy: it ends before its 1000000000000000 elements do".to_owned()));
    }
}
