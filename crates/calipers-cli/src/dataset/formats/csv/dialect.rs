//! How a file of delimited text is written: what stands between cells, and in numbers.

use std::borrow::Cow;

use csv::ByteRecord;

use super::reader;

/// What may stand between cells; the first is taken where nothing tells.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// So many rows show the delimiter.
const ROWS: usize = 50;

/// Delimiter and decimal separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    /// Whether numbers have a comma where others have a point.
    pub(crate) decimal_comma: bool,
    /// Whether probabilities are divided later, so that a percent sign does not divide them too.
    pub(crate) is_scaled: bool,
}

/// The delimiter of a text, of which this is the beginning: the one that cuts all rows into the
/// same number of cells, as many as possible; or else the header into most.
pub(super) fn sniff(start: &[u8], is_whole: bool, decimal_comma: bool) -> u8 {
    let candidates = DELIMITERS.iter().copied().filter(|delimiter| !(decimal_comma && *delimiter == b','));
    let cut = candidates.rev().map(|delimiter| {
        let (lengths, has_quotes) = lengths(start, is_whole, delimiter);
        let header = lengths.first().copied().unwrap_or(0);
        let is_regular = header > 1 && lengths.iter().all(|length| *length == header);
        (is_regular, !has_quotes, header, delimiter)
    });
    // Of several that are as good, the last.
    let best = cut.max_by_key(|(is_regular, is_whole, header, _)| (*is_regular, *is_whole, *header));
    best.map_or(b',', |(.., delimiter)| delimiter)
}

/// How many cells the first rows have, and whether one has a quote: one that a wrong delimiter cut.
fn lengths(start: &[u8], is_whole: bool, delimiter: u8) -> (Vec<usize>, bool) {
    let mut reader = reader(delimiter).from_reader(start);
    let mut record = ByteRecord::new();
    let (mut lengths, mut has_quotes) = (Vec::new(), false);
    while lengths.len() <= ROWS && matches!(reader.read_byte_record(&mut record), Ok(true)) {
        lengths.push(record.len());
        has_quotes |= record.iter().any(|cell| cell.contains(&b'"'));
    }
    // The last may be cut off.
    if !is_whole && lengths.len() <= ROWS && lengths.len() > 1 {
        lengths.pop();
    }
    (lengths, has_quotes)
}

impl Dialect {
    /// A cell with a point in the place of a decimal comma, if it is a number then.
    pub(super) fn number<'a>(&self, cell: &'a str) -> Cow<'a, str> {
        if self.decimal_comma && cell.contains(',') {
            with_point(cell).map_or(cell.into(), Cow::Owned)
        } else {
            cell.into()
        }
    }

    /// The same for a probability, which may have a percent sign.
    pub(super) fn probability<'a>(&self, cell: &'a str) -> Cow<'a, str> {
        let Some(percentage) = without_percent(cell) else { return self.number(cell) };
        let number = self.number(percentage);
        match number.parse::<f64>() {
            Ok(_) if self.is_scaled => number,
            // The nearest double of a hundredth, as if it were written so.
            Ok(_) if !number.contains(['e', 'E']) => format!("{number}e-2").into(),
            _ => cell.into(),
        }
    }

    /// Whether a cell is a number of the other dialect: one with a point, where there are commas.
    pub(super) fn is_of_other(&self, cell: &str) -> bool {
        self.decimal_comma && cell.contains('.')
    }
}

/// The number before a percent sign.
pub(crate) fn without_percent(cell: &str) -> Option<&str> {
    cell.strip_suffix('%').map(str::trim_end)
}

/// The number of a cell that has a decimal comma, if it is one.
pub(crate) fn with_point(cell: &str) -> Option<String> {
    let is_written_so = !cell.contains('.') && cell.matches(',').count() == 1;
    let number = cell.replace(',', ".");
    (is_written_so && number.parse::<f64>().is_ok()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_the_one_that_cuts_all_rows_alike() {
        let cases: [(&str, u8); 10] = [
            ("label,prob\n1,0.5\n", b','),
            ("label;prob\n1;0,5\n0;0,25\n", b';'),
            ("label\tprob\n1\t0.5\n", b'\t'),
            ("label|prob\n1|0.5\n", b'|'),
            ("label,\"a;b;c;d\",prob\n1,2,0.5\n", b','),
            ("id;note, with comma;prob\n1;a;0.5\n2;b, c, d;0.5\n", b';'),
            ("a;\"b, c, d\";e\n1;\"x, y; z, w\";0.9\n", b';'),
            ("prob\n0.5\n", b','),
            ("label,prob\n1,0.5\n0,0.5,7\n", b','),
            ("a;b,c\n1;2,3\n", b','),
        ];
        for (text, delimiter) in cases {
            assert_eq!(sniff(text.as_bytes(), true, false) as char, delimiter as char, "{text:?}");
        }
        assert_eq!(sniff(b"a;b,c\n1;2,3\n", true, true), b';');
        assert_eq!(sniff(b"label;prob\n1;0.5\n0", false, false), b';');
    }

    #[test]
    fn a_decimal_comma_is_read_only_in_numbers() {
        let dialect = Dialect { delimiter: b';', decimal_comma: true, is_scaled: false };
        let read = ["0,57", "1,2E-05", "-3,5", "a, b", "1,000,5", "1.000,5", "7"].map(|cell| dialect.number(cell));
        assert_eq!(read, ["0.57", "1.2E-05", "-3.5", "a, b", "1,000,5", "1.000,5", "7"]);
        assert!(dialect.is_of_other("0.57") && !dialect.is_of_other("0,57"));
    }

    #[test]
    fn a_percent_sign_divides_by_100_unless_the_scale_does() {
        let dialect = Dialect { delimiter: b';', decimal_comma: true, is_scaled: false };
        let read = |dialect: Dialect, cells: [&str; 5]| cells.map(|cell| dialect.probability(cell).parse::<f64>().ok());
        let cells = ["26,9 %", "0,5%", "100 %", "0,57", "a %"];
        assert_eq!(read(dialect, cells), [Some(0.269), Some(0.005), Some(1.0), Some(0.57), None]);
        let scaled = Dialect { is_scaled: true, ..dialect };
        assert_eq!(read(scaled, cells), [Some(26.9), Some(0.5), Some(100.0), Some(0.57), None]);
    }
}
