//! The .npy format: a header that is a Python dictionary, then the elements.

use std::io::Read;

use anyhow::{Result, anyhow, bail};

use super::{Column, Role, Values};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// numpy refuses longer headers too.
const MAX_HEADER: usize = 10_000;
/// Elements that are converted at a time.
const CHUNK: usize = 1 << 16;

/// What the header says.
#[derive(Debug, PartialEq)]
struct Header {
    /// As numpy writes it: byte order, kind and size, such as `<f4`.
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// Reads one array, (n,) or where the role allows it (n, k).
pub(crate) fn read(mut source: impl Read, role: Role) -> Result<Column> {
    let header = read_header(&mut source)?;
    let n_classes = match header.shape[..] {
        [_] => 1,
        [_, 1] => 1,
        [_, k] if role.may_have_classes() && k > 0 => k,
        _ => return Err(role.wrong_shape(python_shape(&header.shape)).into()),
    };
    let n = header.shape.iter().try_fold(1_usize, |n, length| n.checked_mul(*length));
    let n = n.ok_or_else(|| anyhow!("cannot read as NumPy: shape {} is too large", python_shape(&header.shape)))?;
    let mut values = elements(&mut source, &header.descr, n, role)?;
    if header.fortran_order && n_classes > 1 {
        let n_rows = header.shape[0];
        values = values.gather((0..n).map(|place| place % n_classes * n_rows + place / n_classes));
    }
    Ok(Column { values, n_classes, missing: None })
}

fn read_header(source: &mut impl Read) -> Result<Header> {
    let mut start = [0; 8];
    source.read_exact(&mut start).map_err(|_| anyhow!("cannot read as NumPy: it is too short"))?;
    if &start[..6] != MAGIC {
        bail!("cannot read as NumPy: it does not begin as an array does");
    }
    let length = match start[6] {
        1 => read_bytes::<2>(source).map(|bytes| usize::from(u16::from_le_bytes(bytes))),
        2 | 3 => read_bytes::<4>(source).map(|bytes| u32::from_le_bytes(bytes) as usize),
        version => bail!("cannot read as NumPy: version {version} of the format is not known"),
    };
    let cut = |_| anyhow!("cannot read as NumPy: the header ends too soon");
    let length = length.map_err(cut)?;
    if length > MAX_HEADER {
        bail!("cannot read as NumPy: a header of {length} bytes is too long");
    }
    let mut text = vec![0; length];
    source.read_exact(&mut text).map_err(cut)?;
    parse_header(&String::from_utf8_lossy(&text))
}

fn read_bytes<const N: usize>(source: &mut impl Read) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    source.read_exact(&mut bytes)?;
    Ok(bytes)
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

fn elements(source: &mut impl Read, descr: &str, n: usize, role: Role) -> Result<Values> {
    let (order, kind) = descr.split_at_checked(1).unwrap_or((descr, ""));
    let big = order == ">" || (order == "=" && cfg!(target_endian = "big"));
    macro_rules! read {
        ($type:ty) => {{
            let convert = if big { <$type>::from_be_bytes } else { <$type>::from_le_bytes };
            fixed(source, n, convert)?.into()
        }};
    }
    let values: Values = match kind {
        "b1" => fixed(source, n, |[byte]: [u8; 1]| byte != 0)?.into(),
        "i1" => read!(i8),
        "i2" => read!(i16),
        "i4" => read!(i32),
        "i8" => read!(i64),
        "u1" => read!(u8),
        "u2" => read!(u16),
        "u4" => read!(u32),
        "u8" => read!(u64),
        "f2" => {
            let convert = if big { half::f16::from_be_bytes } else { half::f16::from_le_bytes };
            fixed(source, n, |bytes| convert(bytes).to_f32())?.into()
        }
        "f4" => read!(f32),
        "f8" => read!(f64),
        _ => texts(source, kind, n, big)?.ok_or_else(|| role.wrong_type(type_name(descr)))?,
    };
    match values {
        Values::Text(texts) if role.is_numeric() => Err(role
            .wrong_type(texts.first().map_or("text".to_owned(), |text| format!("text {text:?} in row 0")))
            .into()),
        values if role.is_numeric() => values.into_floats().ok_or_else(|| role.wrong_type(type_name(descr)).into()),
        values => Ok(values),
    }
}

/// Elements of N bytes each. A file is not believed about its length: memory grows with what is read.
fn fixed<const N: usize, T>(source: &mut impl Read, n: usize, convert: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let mut bytes = vec![0; CHUNK.min(n) * N];
    while values.len() < n {
        let chunk = &mut bytes[..CHUNK.min(n - values.len()) * N];
        source.read_exact(chunk).map_err(|error| cut(error, n))?;
        let (elements, _) = chunk.as_chunks::<N>();
        values.extend(elements.iter().map(|element| convert(*element)));
    }
    Ok(values)
}

/// Text of a fixed width: `U` has four bytes for each character, `S` one. `None` for any other kind.
fn texts(source: &mut impl Read, kind: &str, n: usize, big: bool) -> Result<Option<Values>> {
    let (letter, width) = kind.split_at_checked(1).unwrap_or((kind, ""));
    let bytes_each = match letter {
        "U" => 4,
        "S" => 1,
        _ => return Ok(None),
    };
    let size = width.parse::<usize>().ok().and_then(|width| width.checked_mul(bytes_each));
    let Some(size) = size else { return Ok(None) };
    let mut values = Vec::new();
    let mut bytes = Vec::new();
    for _ in 0..n {
        bytes.clear();
        source.take(size as u64).read_to_end(&mut bytes).map_err(|error| cut(error, n))?;
        if bytes.len() < size {
            bail!("cannot read as NumPy: it ends before its {n} elements do");
        }
        let text = match bytes_each {
            1 => String::from_utf8_lossy(&bytes).into_owned(),
            _ => {
                let code = if big { u32::from_be_bytes } else { u32::from_le_bytes };
                let (characters, _) = bytes.as_chunks::<4>();
                characters
                    .iter()
                    .map(|bytes| char::from_u32(code(*bytes)).unwrap_or(char::REPLACEMENT_CHARACTER))
                    .collect()
            }
        };
        values.push(text.trim_end_matches('\0').to_owned());
    }
    Ok(Some(Values::Text(values)))
}

fn cut(error: std::io::Error, n: usize) -> anyhow::Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => anyhow!("cannot read as NumPy: it ends before its {n} elements do"),
        _ => anyhow!("cannot read as NumPy: {error}"),
    }
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
    fn headers_that_are_none_are_refused() {
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
        let error = read(&file[..], Role::Weights).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(error, Err("cannot read as NumPy: it ends before its 1000000000000000 elements do".to_owned()));
    }
}
