//! Numbers for people, with few digits. The command, pages and charts share these formats.

use calipers::Interval;

/// A number with at most four significant digits, so that drawings and tables agree.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Four significant digits on a page; a dash for NaN.
pub(crate) fn significant(value: f64) -> String {
    match value {
        _ if value.is_nan() => "–".to_owned(),
        _ if value.is_infinite() => "infinite".to_owned(),
        _ => four_digits(value),
    }
}

/// Four significant digits: `0.01234`, `1.234e-5`.
pub fn four_digits(value: f64) -> String {
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
pub fn bound(value: f64) -> String {
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

/// The number of decimals that show two digits of a width, at least three.
pub fn decimals(width: f64) -> usize {
    if width > 0.0 { (1.0 - width.log10().floor()).clamp(3.0, 9.0) as usize } else { 4 }
}

/// A deviation of values that differ by rounding alone, which is shown as 0.
const ROUNDING: f64 = 1e-12;

/// A mean and its deviation, the second with two digits: `0.0123 ± 0.0021`.
pub fn plus_minus(mean: f64, deviation: f64) -> String {
    let deviation = if deviation < ROUNDING * mean.abs() { 0.0 } else { deviation };
    if !(deviation > 0.0 && deviation.is_finite()) {
        return format!("{} ± {}", four_digits(mean), four_digits(deviation));
    }
    let exponent = deviation.log10().floor();
    match (1.0 - exponent) as i32 {
        decimals @ 0..=8 => format!("{mean:.0$} ± {deviation:.0$}", decimals as usize),
        _ => format!("{mean:.1e} ± {deviation:.1e}"),
    }
}

/// A p-value with the digits that the sentences of calipers use; a dash for NaN.
pub fn p_value(p: f64) -> String {
    if p.is_nan() { "–".to_owned() } else { calipers::inference::p_value_text(p) }
}

/// The same in a sentence: `p = 0.03`, `p < 0.001`.
pub(crate) fn p_in_words(p: f64) -> String {
    let shown = p_value(p);
    shown.strip_prefix('<').map_or_else(|| format!("p = {shown}"), |bound| format!("p < {bound}"))
}

/// 0.95 as `95 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", (1e6 * share).round() / 1e4)
}

/// With a comma between thousands: `15,747`.
pub fn count(value: u64) -> String {
    with_commas(&value.to_string())
}

/// Digits with a comma between thousands.
pub(crate) fn with_commas(digits: &str) -> String {
    let before = |index: usize| index > 0 && (digits.len() - index).is_multiple_of(3);
    digits
        .chars()
        .enumerate()
        .flat_map(|(index, digit)| before(index).then_some(',').into_iter().chain([digit]))
        .collect()
}

/// An interval as tables show it: `[0.012, 0.034]`, or `below 0.034` for an upper limit.
pub(crate) fn interval(interval: &Interval, show: impl Fn(f64) -> String) -> String {
    match interval.is_upper_limit {
        true => format!("below {}", show(interval.upper)),
        false => format!("[{}, {}]", show(interval.lower), show(interval.upper)),
    }
}

/// With a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
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
            assert_eq!(four_digits(value), text, "{value}");
        }
    }

    #[test]
    fn a_deviation_has_two_digits_and_its_mean_as_many_places() {
        let cases = [
            (0.012345, 0.00213, "0.0123 ± 0.0021"),
            (1.2345, 0.5, "1.23 ± 0.50"),
            (0.3, 0.0, "0.3000 ± 0"),
            (0.5, 8.6e-16, "0.5000 ± 0"),
            (123.4, 21.0, "123 ± 21"),
            (1e-9, 2.5e-10, "1.0e-9 ± 2.5e-10"),
        ];
        for (mean, deviation, text) in cases {
            assert_eq!(plus_minus(mean, deviation), text);
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

    #[test]
    fn p_values_have_two_digits_unless_a_third_one_decides() {
        let p_values = [0.25, 0.049, 0.051, 0.03, 0.00995, 0.004, 0.0005, f64::NAN];
        assert_eq!(p_values.map(p_value), ["0.25", "0.049", "0.051", "0.03", "0.01", "0.004", "<0.001", "–"]);
    }

    #[test]
    fn numbers_on_a_page_are_short_and_have_what_they_mean() {
        assert_eq!([0.123456, 1.0, 1234567.0, f64::NAN].map(significant), ["0.1235", "1.000", "1.235e6", "–"]);
        assert_eq!([0.123456, 0.000123456].map(rounded), [0.1235, 0.0001235]);
        assert_eq!((percent(0.95), percent(0.999)), ("95 %".to_owned(), "99.9 %".to_owned()));
    }
}
