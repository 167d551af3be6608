//! An assessment in plain sentences.

use super::{Assessment, Worst};

impl Assessment {
    /// Value, interval, floor and verdict in plain sentences; or, where there is no evidence of
    /// miscalibration, how large it can be. Then how many rows were left out, if any were.
    pub fn sentence(&self) -> String {
        self.with_rows_left_out(self.conclusion(None))
    }

    /// The same for one of several models, with the p-value after adjusting for their number.
    pub fn sentence_among_models(&self, p_adjusted: f64) -> String {
        self.with_rows_left_out(self.conclusion(Some((p_adjusted, "models"))))
    }

    /// The same for one of several groups, with the p-value after adjusting for their number.
    pub fn sentence_among_groups(&self, p_adjusted: f64) -> String {
        self.with_rows_left_out(self.conclusion(Some((p_adjusted, "groups"))))
    }

    fn with_rows_left_out(&self, conclusion: String) -> String {
        match self.estimate.input.left_out_sentence() {
            Some(left_out) => format!("{conclusion} {left_out}"),
            None => conclusion,
        }
    }

    /// The sentence without the rows that were left out, for a text that reports them once for
    /// several measures. `adjusted` has the adjusted p-value, and what there are several of: models
    /// or groups.
    pub fn conclusion(&self, adjusted: Option<(f64, &str)>) -> String {
        let conclusion = self.verdict_after(adjusted);
        match self.bias_note().filter(|_| self.smoothing_note().is_none()) {
            Some(note) => format!("{conclusion} {note}"),
            None => conclusion,
        }
    }

    fn verdict_after(&self, adjusted: Option<(f64, &str)>) -> String {
        let name = self.estimate.title();
        let digits = self.digits();
        let show = |value: f64| format!("{value:.digits$}");
        let (value, lower, upper) = (self.estimate.value, self.interval.lower, self.interval.upper);
        let level = percent(self.interval.level);
        // Names of measures keep their letters; titles of several words begin a sentence like any
        // other.
        let first = if name.contains(' ') { capitalised(name) } else { name.to_owned() };
        let found = format!("{first} is {} ({level} interval {} to {}).", show(value), show(lower), show(upper));
        let Some(floor) = &self.floor else {
            let reason = self.unavailable.unwrap_or("it was not requested");
            return format!("{found} There is no noise floor: {reason}.");
        };
        if let (Some(note), Some(residual)) = (self.smoothing_note(), &self.residual) {
            return format!("{name} is {}. {note} {}", show(value), residual.conclusion(adjusted));
        }
        let p = p_value(floor.p_value);
        let calibrated = format!(
            "a perfectly calibrated model would score {} ± {} on the same data",
            show(floor.mean),
            show(floor.deviation)
        );
        if self.estimate.spec.is_score() && self.significant != Some(true) {
            // A score tells sharpness and calibration together: a small one is no evidence of
            // either.
            return format!("{found} {} ({p}).", capitalised(&calibrated));
        }
        let not_after_adjusting = adjusted.filter(|(p, _)| *p > 1.0 - self.interval.level + 1e-12);
        match (self.significant, not_after_adjusting) {
            (Some(true), Some((adjusted, all))) => format!(
                "{found} {} ({p}). After adjusting for all {all} this is no evidence of miscalibration ({}).",
                capitalised(&calibrated),
                p_value(adjusted)
            ),
            (Some(true), None) => {
                let unbounded = show(lower).trim_start_matches(['0', '.']).is_empty();
                let unbounded = if unbounded { " The data do not show by how much at least." } else { "" };
                format!("{found} {}, so this model is miscalibrated ({p}).{unbounded}", capitalised(&calibrated))
            }
            _ => format!(
                "There is no evidence of miscalibration ({p}). {first} is {}; {calibrated}. The true {name} is below {} with \
                 {level} confidence.",
                show(value),
                show(upper)
            ),
        }
    }

    /// Where sigma is so large that noise on the logits makes more than half of LS-ECE: a sentence
    /// about it.
    pub fn smoothing_note(&self) -> Option<String> {
        let sigma = self.estimate.settings.number("sigma")?;
        let smoothing = self.smoothing.filter(|size| *size > 0.5 * self.estimate.value)?;
        let digits = self.digits();
        Some(format!(
            "Sigma {sigma:.2} is large for these predictions: smoothing alone gives {smoothing:.digits$}, even to a \
             perfectly calibrated model. The residual form does not have this part, so it decides."
        ))
    }

    /// Where the interval or the upper limit ends below the value itself: a sentence that explains
    /// it. Chance raises the value, and the interval does not contain that bias.
    pub fn bias_note(&self) -> Option<String> {
        let digits = self.digits();
        let show = |value: f64| format!("{value:.digits$}");
        let (value, upper, debiased) = (self.estimate.value, self.interval.upper, self.debiased);
        let what = if self.interval.is_upper_limit { "limit" } else { "interval" };
        (upper < value && show(upper) != show(value) && debiased < value).then(|| {
            format!(
                "This {what} is below the value of {} because chance raises the value: without that bias, the value is \
                 about {}.",
                show(value),
                show(debiased)
            )
        })
    }

    /// As many decimals as show one digit of the spread of the floor and of half the interval, and
    /// three at least.
    fn digits(&self) -> usize {
        let half = 0.5 * (self.interval.upper - self.interval.lower);
        let spread = self.floor.as_ref().map_or(0.0, |floor| floor.deviation);
        digits([half, spread].into_iter().filter(|width| *width > 0.0).fold(1.0, f64::min))
    }
}

impl Worst {
    /// The worst segment in a sentence, with its name, what it is a segment by, and the title of
    /// the measure that decides.
    pub fn sentence(&self, name: &str, by: &str, title: &str, level: f64) -> String {
        let by = if by.is_empty() { String::new() } else { format!(" by {by}") };
        let (n, distance, p) = (self.n_segments, self.statistic, p_value(self.p_value));
        let verdict = match self.p_value <= 1.0 - level + 1e-12 {
            true => format!("which chance does not explain, even for the worst of {n} ({p})"),
            false => format!("no more than chance explains for the worst of {n} ({p})"),
        };
        format!(
            "The worst of {n} groups{by} is {name}: its {title} is {distance:.1} standard deviations above its noise \
             floor, {verdict}."
        )
    }
}

/// A level as people write it: 100 · 0.95 is not 95 in doubles.
pub(crate) fn percent(level: f64) -> String {
    format!("{} %", (1e6 * level).round() / 1e4)
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// As many decimals as show one digit of a width, and three at least.
pub(crate) fn digits(width: f64) -> usize {
    let width = if width > 0.0 { width } else { 1.0 };
    (-width.log10()).ceil().clamp(3.0, 6.0) as usize
}

/// A number with this number of decimals; one that rounds to 0 has no sign.
pub(crate) fn signed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.trim_start_matches('-').chars().all(|digit| digit == '0' || digit == '.') {
        true => text.trim_start_matches('-').to_owned(),
        false => text,
    }
}

/// A p-value as tables and sentences show it: two digits where these are enough, three below 0.01
/// and near 0.05, where two would not tell on which side of a usual level it is, and `<0.001`
/// below.
pub fn p_value_text(p: f64) -> String {
    match p {
        _ if p < 0.001 => "<0.001".to_owned(),
        // From 0.0095 on it is 0.01 with two digits, and 0.010 with three.
        _ if p < 0.0095 || (0.045..0.055).contains(&p) => format!("{p:.3}"),
        _ => format!("{p:.2}"),
    }
}

pub(crate) fn p_value(p: f64) -> String {
    let text = p_value_text(p);
    text.strip_prefix('<').map_or_else(|| format!("p = {text}"), |bound| format!("p < {bound}"))
}
