//! The side of a threshold says what the interval says, whatever the method.

use calipers::population::Family;
use calipers::{Assess, Assessment, BinnedEce, IntervalMethod, LsEce, Measure};

fn assessments(measure: &dyn Measure, methods: &[IntervalMethod]) -> Vec<Assessment> {
    let families = ["calibrated", "overconfident"].map(|name| Family::named(name).unwrap());
    let mut all = Vec::new();
    for (family, n) in families.iter().zip([400, 800]) {
        let sample = family.sample(n, 3);
        let predictions = sample.input().check().unwrap();
        let view = predictions.binary().unwrap();
        for method in methods {
            for level in [0.8, 0.95] {
                let assess = Assess::new(measure).level(level).n_resamples(200).method(*method);
                all.push(assess.run(&view).unwrap());
            }
        }
    }
    all
}

/// Thresholds around both ends, at some distance from them and far away.
fn thresholds(assessment: &Assessment) -> Vec<f64> {
    let (lower, upper) = (assessment.interval.lower, assessment.interval.upper);
    let near = [lower, upper].into_iter().flat_map(|end| [1e-9, 1e-4, 0.01].map(|d| [end - d, end + d])).flatten();
    near.chain([0.0, 0.5 * (lower + upper), 0.3, 0.9, 1.5]).filter(|threshold| *threshold >= 0.0).collect()
}

fn assert_agrees(assessment: &Assessment) {
    // For LS-ECE it is the interval of the residual form.
    let assessment = assessment.deciding();
    for threshold in thresholds(assessment) {
        let against = assessment.against(threshold).unwrap();
        let decided = against.p_value <= 1.0 - assessment.interval.level;
        let below = assessment.interval.upper <= threshold;
        let above = assessment.interval.lower > threshold;
        let said = (decided && !against.above, decided && against.above);
        assert_eq!(said, (below, above), "{:?} {threshold} {against:?}", assessment.interval);
        assert!((0.0..=1.0).contains(&against.p_value));
    }
}

#[test]
fn the_p_value_is_small_where_the_interval_leaves_the_threshold_out() {
    let mut limits = 0;
    for assessment in assessments(&LsEce::new().sigma(0.5), &IntervalMethod::ALL) {
        assert_agrees(&assessment);
        limits += usize::from(assessment.interval.is_upper_limit);
    }
    assert!(limits > 0, "some must be upper limits");
    let of_draws = [IntervalMethod::Normal, IntervalMethod::Percentile, IntervalMethod::Bca];
    assessments(&BinnedEce::new(), &of_draws).iter().for_each(assert_agrees);
    assessments(&BinnedEce::new(), &[IntervalMethod::BiasAware]).iter().for_each(assert_agrees);
}

#[test]
fn about_a_centre_it_is_that_of_a_normal_number() {
    // Two-sided: at 1.96 standard errors 0.05. The level of the interval changes nothing.
    for assessment in assessments(&LsEce::new().sigma(0.5), &[IntervalMethod::Normal]) {
        if assessment.interval.is_upper_limit {
            continue;
        }
        let assessment = assessment.deciding();
        let centre = assessment.estimate.value - assessment.bias;
        let threshold = centre - 1.959_963_984_540_054 * assessment.bootstrap.deviation;
        if threshold > 0.0 {
            let against = assessment.against(threshold).unwrap();
            assert!(against.above && (against.p_value - 0.05).abs() < 1e-6, "{against:?}");
        }
    }
}

#[test]
fn quantiles_of_draws_know_no_smaller_p_value_than_their_number() {
    for assessment in assessments(&LsEce::new().sigma(0.5), &[IntervalMethod::Percentile]) {
        let n_ends = if assessment.interval.is_upper_limit { 1.0 } else { 2.0 };
        assert_eq!(assessment.against(0.9).unwrap().p_value, n_ends / 201.0);
    }
}

#[test]
fn what_is_no_threshold_is_refused() {
    let assessment = assessments(&LsEce::new().sigma(0.5), &[IntervalMethod::Normal]).remove(0);
    for (threshold, shown) in [(f64::NAN, "NaN"), (-0.1, "-0.1"), (f64::INFINITY, "inf")] {
        let refusal = assessment.against(threshold).unwrap_err().to_string();
        assert_eq!(refusal, format!("threshold must be finite and not negative, got {shown}"));
    }
}
