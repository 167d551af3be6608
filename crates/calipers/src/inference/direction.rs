//! The direction of miscalibration in a few words, for tables.

use super::sentence::digits;
use super::{Part, Parts};

impl Parts {
    /// In which direction predictions are off and by how much, as far as the data show it; `None`
    /// where no part is known to be above 0.
    ///
    /// # Definition
    /// A part is shown if its interval is above 0. `too high by 0.031`, if only one of too high and
    /// too low is shown; else `overconfident by 0.053`, if only one of overconfident and
    /// underconfident is; else `too high by 0.020, too low by 0.030`. Sizes are debiased. For the
    /// confidence in a predicted class, too high is called overconfident.
    ///
    /// # Example
    /// ```
    /// use calipers::population::Family;
    /// use calipers::{Assess, LsEce};
    ///
    /// let sample = Family::named("overconfident")?.sample(5000, 1);
    /// let predictions = sample.input().check()?;
    /// let measure = LsEce::new().sigma(0.3);
    /// let found = Assess::new(&measure).n_resamples(100).run(&predictions.binary()?)?;
    /// let direction = found.parts.and_then(|parts| parts.direction());
    /// assert!(direction.is_some_and(|direction| direction.starts_with("overconfident by 0.0")));
    /// # Ok::<(), calipers::Error>(())
    /// ```
    pub fn direction(&self) -> Option<String> {
        let of_sign = [("too high", &self.too_high), ("too low", &self.too_low)];
        let of_confidence = self.confidence.as_ref();
        let of_confidence =
            of_confidence.map(|found| [("overconfident", &found.over), ("underconfident", &found.under)]);
        let of_sign = match of_confidence {
            // Of a predicted class both are the same, and one name is enough.
            Some(same) if same.map(|(_, part)| part) == of_sign.map(|(_, part)| part) => same,
            _ => of_sign,
        };
        only_one(of_sign).or_else(|| only_one(of_confidence?)).or_else(|| {
            let both = of_sign.into_iter().map(shown).collect::<Option<Vec<String>>>()?;
            Some(both.join(", "))
        })
    }
}

/// The part that is shown, if the other one is not.
fn only_one(parts: [(&str, &Part); 2]) -> Option<String> {
    match parts.map(shown) {
        [Some(only), None] | [None, Some(only)] => Some(only),
        _ => None,
    }
}

/// Name and size of a part that is known to be above 0.
fn shown((name, part): (&str, &Part)) -> Option<String> {
    let digits = digits(0.5 * (part.interval.upper - part.interval.lower));
    (part.interval.lower > 0.0).then(|| format!("{name} by {:.digits$}", part.debiased))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::{Confidence, Interval, IntervalMethod};

    fn part(debiased: f64, lower: f64, upper: f64) -> Part {
        let interval = Interval { lower, upper, level: 0.95, method: IntervalMethod::BiasAware, is_upper_limit: false };
        Part { value: debiased, debiased, interval }
    }

    #[test]
    fn the_pair_of_which_one_part_is_shown_gives_the_direction() {
        let (none, some, more) = (part(0.0, 0.0, 0.01), part(0.02, 0.01, 0.03), part(0.053, 0.03, 0.08));
        let direction = |too_high, too_low, confidence: Option<(Part, Part)>| {
            let confidence = confidence.map(|(over, under)| Confidence { over, under });
            Parts { too_low, too_high, confidence }.direction()
        };
        assert_eq!(direction(some, none, None).as_deref(), Some("too high by 0.020"));
        assert_eq!(direction(none, some, Some((some, none))).as_deref(), Some("too low by 0.020"));
        assert_eq!(direction(some, some, Some((more, none))).as_deref(), Some("overconfident by 0.053"));
        assert_eq!(direction(some, some, Some((none, more))).as_deref(), Some("underconfident by 0.053"));
        assert_eq!(
            direction(some, more, Some((some, more))).as_deref(),
            Some("overconfident by 0.020, underconfident by 0.053")
        );
        assert_eq!(direction(some, more, None).as_deref(), Some("too high by 0.020, too low by 0.053"));
        assert_eq!(direction(more, none, Some((more, none))).as_deref(), Some("overconfident by 0.053"));
        assert_eq!(direction(none, none, Some((none, none))), None);
    }
}
