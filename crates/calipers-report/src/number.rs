//! Numbers for people: few digits, no more than they mean.

/// Four significant digits at most, as a number: what is drawn and what is shown are the same.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Four significant digits: `0.01234`, `1.234e-5`; a dash for what is no number.
pub(crate) fn significant(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "–".to_owned() } else { "infinite".to_owned() };
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.3e}");
    let exponent = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    match exponent {
        Some(exponent @ -4..=3) => format!("{value:.*}", (3 - exponent) as usize),
        _ => scientific,
    }
}

/// Places that show two digits of a width, three at least.
pub(crate) fn decimals(width: f64) -> usize {
    if width > 0.0 { (1.0 - width.log10().floor()).clamp(3.0, 9.0) as usize } else { 4 }
}

/// As many digits as a number of draws can show.
pub(crate) fn p_value(p: f64) -> String {
    match p {
        _ if p.is_nan() => "–".to_owned(),
        _ if p < 0.001 => "< 0.001".to_owned(),
        _ if p < 0.1 => format!("{p:.3}"),
        _ => format!("{p:.2}"),
    }
}

/// 0.95 as `95 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", (1e6 * share).round() / 1e4)
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
    fn numbers_are_short_and_have_what_they_mean() {
        assert_eq!([0.123456, 1.0, 1234567.0, f64::NAN].map(significant), ["0.1235", "1.000", "1.235e6", "–"]);
        assert_eq!([0.123456, 0.000123456].map(rounded), [0.1235, 0.0001235]);
        assert_eq!((percent(0.95), percent(0.999)), ("95 %".to_owned(), "99.9 %".to_owned()));
        assert_eq!([0.25, 0.004, 0.0001].map(p_value), ["0.25", "0.004", "< 0.001"]);
        assert_eq!(count(1234567), "1,234,567");
    }
}
