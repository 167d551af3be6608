//! Numbers for people: few digits, no more than they mean.

/// Four significant digits: `0.01234`, `1.234e-5`.
pub(crate) fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.3e}");
    // The exponent is that of the rounded value: 0.99999 has four digits as 1.000.
    let exponent = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    match exponent {
        Some(exponent @ -4..=3) => format!("{value:.*}", (3 - exponent) as usize),
        _ => scientific,
    }
}

/// One digit, rounded up, so that it bounds what the number bounds: `9e-7`.
pub(crate) fn bound(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let nearest = format!("{value:.0e}");
    let (digit, exponent) = nearest.split_once('e').unwrap_or((&nearest, "0"));
    match (nearest.parse::<f64>(), digit, exponent.parse::<i32>()) {
        (Ok(rounded), _, _) if rounded >= value => nearest,
        (_, "9", Ok(exponent)) => format!("1e{}", exponent + 1),
        (_, digit, _) => format!("{}e{exponent}", digit.parse::<u8>().map_or(9, |digit| digit + 1)),
    }
}

/// Thousands apart: `15,747`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_shown_whatever_the_size() {
        let cases = [
            (0.0, "0"),
            (0.05318, "0.05318"),
            (0.123456, "0.1235"),
            (0.00012345, "0.0001234"),
            (0.000012345, "1.234e-5"),
            (0.99999, "1.000"),
            (0.5, "0.5000"),
            (12.3456, "12.35"),
            (1234.56, "1235"),
            (123456.0, "1.235e5"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text, "{value}");
        }
    }

    #[test]
    fn a_bound_is_never_shown_smaller() {
        let cases =
            [(0.0, "0"), (8.4e-7, "9e-7"), (9e-7, "9e-7"), (9.1e-7, "1e-6"), (1.01e-16, "2e-16"), (9.9e-7, "1e-6")];
        for (value, text) in cases {
            assert_eq!(bound(value), text, "{value}");
        }
        for step in 1..1000 {
            let value = 1e-9 * 1.03_f64.powi(step);
            assert!(bound(value).parse::<f64>().is_ok_and(|shown| shown >= value), "{value}");
        }
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1000, 15747, 1234567].map(count), ["0", "999", "1,000", "15,747", "1,234,567"]);
    }
}
