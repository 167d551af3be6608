//! Whether the values confirm the paper's statements.

use super::{DIFFERENCES, counts, over_models};
use super::{LsEces, Measured, Point};
use crate::summary::extent;
use crate::table::fixed;
use crate::{Agreement, Page};

/// A range of ECE over bins that is "nearly the same".
pub(super) const SAME: f64 = 0.005;

/// A mean absolute difference that is "near-identical".
pub(super) const CLOSE: f64 = 0.01;

/// A finding of a group, which it names: findings are also read without their page.
pub(super) fn say(page: &mut Page, group: &str, agreement: Agreement, text: &str) {
    page.finding(agreement, &format!("{group}: {text}"));
}

/// "ECE stays nearly the same as we change the number of bins".
pub(super) fn little_change(page: &mut Page, group: &str, models: &[Measured]) {
    let range = |model: &Measured| {
        let (least, most) = model.range_ece();
        most - least
    };
    let each: Vec<String> = models.iter().map(|model| format!("{} {}", model.short, fixed(range(model), 4))).collect();
    let (_, widest) = extent(models.iter().map(range));
    let chance = extent(models.iter().map(|model| model.sweep.sampling_noise.uniform));
    let (_, from_one) = extent(models.iter().map(|model| {
        let (least, most) = extent(model.points.iter().map(|point| point.ece));
        most - least
    }));
    say(
        page,
        group,
        Agreement::seen_if(widest <= SAME),
        &format!(
            "From 10 to 100 bins ECE moves by at most {} (expected at most {SAME}): {}. Chance alone would move it by {} to {} if the models were calibrated. \
             With 1 bin as well, it moves by at most {}.",
            fixed(widest, 4),
            each.join(", "),
            fixed(chance.0, 4),
            fixed(chance.1, 4),
            fixed(from_one, 4)
        ),
    );
}

/// The verdict of the sweep of the core on each model.
pub(super) fn verdicts(page: &mut Page, group: &str, models: &[Measured]) {
    let brittle: Vec<&Measured> = models.iter().filter(|model| model.sweep.verdict.name() != "stable").collect();
    let text = match brittle.len() {
        0 => "`calipers sweep` calls ECE of every model stable.".to_owned(),
        n => {
            let each: Vec<String> =
                brittle.iter().map(|model| format!("{}: {}", model.short, model.sweep.sentence())).collect();
            format!(
                "`calipers sweep` calls ECE of {} of {} models stable. {}.",
                models.len() - n,
                models.len(),
                each.join("; ")
            )
        }
    };
    say(page, group, Agreement::Noted, &text);
}

/// The noise of the paper's sampling, and how much rougher it makes a curve.
pub(super) fn wiggle(page: &mut Page, group: &str, models: &[Measured], n_samples: u64) {
    let all = |noise: fn(&Point) -> &LsEces| -> Vec<(f64, f64)> {
        let points = models.iter().flat_map(|model| &model.points).map(noise);
        points.map(|own| ((own.sampled - own.integral).abs(), own.standard_error)).collect()
    };
    let words = |errors: &[(f64, f64)]| {
        let size = (errors.iter().map(|(error, _)| error * error).sum::<f64>() / errors.len() as f64).sqrt();
        let (_, most) = extent(errors.iter().map(|(error, _)| *error));
        let expected = (errors.iter().map(|(_, se)| se * se).sum::<f64>() / errors.len() as f64).sqrt();
        format!(
            "{} (root mean square; its own standard error is {}) and by up to {}",
            fixed(size, 5),
            fixed(expected, 5),
            fixed(most, 4)
        )
    };
    let roughness = |value: fn(&Point) -> f64| {
        let bends = models.iter().flat_map(|model| {
            let values: Vec<f64> = model.judged().map(value).collect();
            values.windows(3).map(|three| (three[2] - 2.0 * three[1] + three[0]).abs()).collect::<Vec<_>>()
        });
        let bends: Vec<f64> = bends.collect();
        bends.iter().sum::<f64>() / bends.len().max(1) as f64
    };
    say(
        page,
        group,
        Agreement::Noted,
        &format!(
            "{n_samples} samples differ from the integral by {} with Gaussian noise, by {} with uniform noise. From one number of bins to the \
             next the slope of a line changes by {} on average for ECE, {} for LS-ECE as the integral and {} as sampled: with so few samples, the apparent variance of LS-ECE is that of its sampling.",
            words(&all(|point| &point.gaussian)),
            words(&all(|point| &point.uniform)),
            fixed(roughness(|point| point.ece), 5),
            fixed(roughness(|point| point.gaussian.integral), 5),
            fixed(roughness(|point| point.gaussian.sampled), 5),
        ),
    );
}

/// "ECE, LS-ECE and smECE take near-identical values", and "the choice of noise does not impact our
/// conclusions".
pub(super) fn closeness(page: &mut Page, group: &str, models: &[Measured]) {
    let [gaussian, _, uniform, _, smooth, relplot] = DIFFERENCES.map(|(_, difference)| over_models(models, difference));
    let beyond = |means: &[(usize, f64, f64)]| -> Vec<usize> {
        means.iter().filter(|(_, mean, _)| *mean > CLOSE).map(|(bins, _, _)| *bins).collect()
    };
    let words = |means: &[(usize, f64, f64)]| {
        let (least, most) = extent(means.iter().skip(1).map(|(_, mean, _)| *mean));
        let beyond = match beyond(means) {
            beyond if beyond.is_empty() => format!("never above {CLOSE}"),
            beyond => format!("above {CLOSE} at {}", counts(&beyond)),
        };
        format!("{} at 1 bin, {} to {} from 10 on, {beyond}", fixed(means[0].1, 4), fixed(least, 4), fixed(most, 4))
    };
    for (name, means) in [("LS-ECE", &gaussian), ("smECE", &smooth)] {
        say(
            page,
            group,
            Agreement::seen_if(beyond(means).is_empty()),
            &format!("Mean over models of |ECE - {name}| (expected at most {CLOSE}): {}.", words(means)),
        );
    }
    let pairs = || gaussian.iter().zip(&uniform);
    let (_, apart) = extent(pairs().map(|(gaussian, uniform)| (gaussian.1 - uniform.1).abs()));
    let furthest: Vec<usize> = pairs()
        .filter(|(gaussian, uniform)| (gaussian.1 - uniform.1).abs() == apart)
        .map(|(gaussian, _)| gaussian.0)
        .collect();
    say(
        page,
        group,
        Agreement::seen_if(beyond(&gaussian) == beyond(&uniform) && apart <= SAME),
        &format!(
            "With uniform noise the mean of |ECE - LS-ECE| is {}; it is within {} of that with Gaussian noise (expected at most {SAME}, and the \
             same numbers of bins above {CLOSE}), and furthest at {}. \
             At one sigma, uniform noise is 3.46 times narrower than Gaussian (by standard deviation), and smooths fewer rows together.",
            words(&uniform),
            fixed(apart, 4),
            counts(&furthest)
        ),
    );
    let (_, off) = extent(models.iter().map(|model| (model.relplot - model.smooth_ece()).abs()));
    say(
        page,
        group,
        Agreement::Noted,
        &format!(
            "smECE as relplot computes it differs from smECE by up to {}; with it the mean of |ECE - smECE| is {}.",
            fixed(off, 4),
            words(&relplot)
        ),
    );
}
