//! Splines against a slow solver with a basis of its own, and where they bend, straighten and stop.

use calipers::Input;
use calipers::recalibrate::{BinaryMap, CrossFit, Fit, Method, Note, Recalibrate, Spline, Verdict};

use crate::fixtures::{Uniforms, binary};
use crate::verdict::{Law, affine, simulate};

/// One row: logit, outcome, weight.
type Row = (f64, bool, f64);

fn fit(options: &Recalibrate, rows: &[Row]) -> Fit<BinaryMap> {
    let logits: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let labels: Vec<bool> = rows.iter().map(|row| row.1).collect();
    let weights: Vec<f64> = rows.iter().map(|row| row.2).collect();
    let predictions = Input::logits(&logits, &labels).weights(&weights).check().unwrap();
    options.fit(&predictions.binary().unwrap()).unwrap()
}

/// Rows whose outcome has the probability σ(truth(h)).
fn drawn(n: usize, seed: u64, truth: impl Fn(f64) -> f64, weight: impl Fn(&mut Uniforms) -> f64) -> Vec<Row> {
    let mut random = Uniforms(seed);
    let row = |_| {
        let h = (1.5 * random.normal() * 64.0).round() / 64.0;
        let outcome = random.next() < 1.0 / (1.0 + (-truth(h)).exp());
        (h, outcome, weight(&mut random))
    };
    (0..n).map(row).collect()
}

/// 1, h, and the differences of truncated cubes that are straight beyond the outer knots (Hastie,
/// Tibshirani, Friedman, "The Elements of Statistical Learning", 5.4).
fn truncated(knots: &[f64], h: f64, derivative: u32) -> Vec<f64> {
    let last = knots.len() - 1;
    let cube = |knot: f64| {
        let x = (h - knot).max(0.0);
        if derivative == 0 { x * x * x } else { 6.0 * x }
    };
    let part = |k: usize| (cube(knots[k]) - cube(knots[last])) / (knots[last] - knots[k]);
    let mut all = if derivative == 0 { vec![1.0, h] } else { vec![0.0, 0.0] };
    all.extend((0..last - 1).map(|k| part(k) - part(last - 1)));
    all
}

/// The objective by its definition, in the basis of truncated cubes.
struct Problem {
    rows: Vec<(Vec<f64>, bool, f64)>,
    /// θ' A θ + b' θ + c.
    quadratic: Vec<Vec<f64>>,
    linear: Vec<f64>,
    constant: f64,
}

impl Problem {
    fn new(rows: &[Row], knots: &[f64], ridge: f64, smoothing: f64) -> Self {
        let total: f64 = rows.iter().map(|row| row.2).sum();
        let effective = total * total / rows.iter().map(|row| row.2 * row.2).sum::<f64>();
        let d = knots.len();
        let (first, last) = (knots[0], knots[d - 1]);
        let range = last - first;
        let mut quadratic = vec![vec![0.0; d]; d];
        // Second derivatives are straight between knots: Simpson's rule is exact for products.
        for pair in knots.windows(2) {
            let width = pair[1] - pair[0];
            for (h, share) in [(pair[0], 1.0 / 6.0), (0.5 * (pair[0] + pair[1]), 4.0 / 6.0), (pair[1], 1.0 / 6.0)] {
                let bends = truncated(knots, h, 2);
                for i in 0..d {
                    for j in 0..d {
                        quadratic[i][j] += smoothing / effective * range.powi(3) * width * share * bends[i] * bends[j];
                    }
                }
            }
        }
        let (low, high) = (truncated(knots, first, 0), truncated(knots, last, 0));
        let slope: Vec<f64> = (0..d).map(|i| (high[i] - low[i]) / range).collect();
        let intercept: Vec<f64> = (0..d).map(|i| low[i] - slope[i] * first).collect();
        let mut linear = vec![0.0; d];
        for i in 0..d {
            linear[i] -= 2.0 * ridge / effective * slope[i];
            for j in 0..d {
                quadratic[i][j] += ridge / effective * (slope[i] * slope[j] + intercept[i] * intercept[j]);
            }
        }
        let row = |row: &Row| (truncated(knots, row.0, 0), row.1, row.2 / total);
        Problem { rows: rows.iter().map(row).collect(), quadratic, linear, constant: ridge / effective }
    }

    fn value(&self, theta: &[f64]) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let loss = |(features, outcome, share): &(Vec<f64>, bool, f64)| {
            let u = if *outcome { -dot(features, theta) } else { dot(features, theta) };
            share * (u.max(0.0) + (-u.abs()).exp().ln_1p())
        };
        let penalty = self.quadratic.iter().zip(theta).map(|(row, theta_i)| theta_i * dot(row, theta)).sum::<f64>();
        self.rows.iter().map(loss).sum::<f64>() + penalty + dot(&self.linear, theta) + self.constant
    }

    /// Newton's method with Gaussian elimination.
    fn solve(&self) -> Vec<f64> {
        let d = self.linear.len();
        let mut theta = vec![0.0; d];
        theta[1] = 1.0;
        for _ in 0..60 {
            let mut system: Vec<Vec<f64>> = vec![vec![0.0; d + 1]; d];
            for (row, (linear, quadratic)) in system.iter_mut().zip(self.linear.iter().zip(&self.quadratic)) {
                row[d] += linear;
                for (j, quadratic) in quadratic.iter().enumerate() {
                    row[j] += 2.0 * quadratic;
                    row[d] += 2.0 * quadratic * theta[j];
                }
            }
            for (features, outcome, share) in &self.rows {
                let u: f64 = features.iter().zip(&theta).map(|(f, t)| f * t).sum();
                let p = 1.0 / (1.0 + (-u).exp());
                for i in 0..d {
                    system[i][d] += share * (p - f64::from(u8::from(*outcome))) * features[i];
                    (0..d).for_each(|j| system[i][j] += share * p * (1.0 - p) * features[i] * features[j]);
                }
            }
            for pivot in 0..d {
                for row in pivot + 1..d {
                    let factor = system[row][pivot] / system[pivot][pivot];
                    (pivot..=d).for_each(|column| system[row][column] -= factor * system[pivot][column]);
                }
            }
            let mut step = vec![0.0; d];
            for i in (0..d).rev() {
                step[i] = (system[i][d] - (i + 1..d).map(|j| system[i][j] * step[j]).sum::<f64>()) / system[i][i];
            }
            let mut size = 1.0;
            let moved = |size: f64| theta.iter().zip(&step).map(|(t, s)| t - size * s).collect::<Vec<f64>>();
            while size > 1e-6 && self.value(&moved(size)) > self.value(&theta) {
                size *= 0.5;
            }
            theta = moved(size);
        }
        theta
    }
}

fn spline_of(fit: &Fit<BinaryMap>) -> &Spline {
    fit.map.spline.as_ref().expect("a spline")
}

#[test]
fn splines_are_the_optimum_of_their_objective() {
    let truths: [fn(f64) -> f64; 3] = [|h| h, |h| 0.5 * h + 0.8 * (h - 0.5).max(0.0), |h| h + 0.4 * (1.5 * h).sin()];
    for case in 0..12 {
        let weight = |random: &mut Uniforms| if case % 2 == 0 { 1.0 } else { 0.2 + random.next() };
        let rows = drawn([60, 300, 900][case % 3], case as u64 + 1, truths[case / 4], weight);
        let (ridge, smoothing) = ([2.0, 0.5][case % 2], [1.0, 20.0, 300.0][case % 3]);
        let found = fit(&Recalibrate::new(Method::Spline).ridge(ridge).smoothing(smoothing), &rows);
        let spline = spline_of(&found);
        // Where it fell, it has been made smoother.
        let problem = Problem::new(&rows, &spline.knots, ridge, spline.smoothing);
        let theta = problem.solve();
        for k in -16..=16 {
            let h = f64::from(k) / 4.0;
            let u: f64 = truncated(&spline.knots, h, 0).iter().zip(&theta).map(|(f, t)| f * t).sum();
            assert!((u - spline.at(h)).abs() < 2e-7 * (1.0 + u.abs()), "case {case} at {h}: {u} {}", spline.at(h));
        }
        assert!(found.bound.standard_errors < 1e-7 && found.bound.nats < 1e-16, "case {case}: {:?}", found.bound);
        assert!(spline.least_slope() >= 0.0);
        assert_eq!(found.map.parameters, spline.value);
        assert!(found.effective_parameters > 0.5 && found.effective_parameters < spline.knots.len() as f64);
    }
}

#[test]
fn knots_are_quantiles_and_fewer_with_few_rows_or_scores() {
    let rows = drawn(4000, 5, |h| h, |_| 1.0);
    let found = fit(&Recalibrate::new(Method::Spline), &rows);
    let mut scores: Vec<f64> = rows.iter().map(|row| row.0).collect();
    scores.sort_by(f64::total_cmp);
    let knots = &spline_of(&found).knots;
    assert_eq!(knots.len(), 12);
    for (k, knot) in knots.iter().enumerate() {
        let share = 0.02 + 0.96 * k as f64 / 11.0;
        assert_eq!(*knot, scores[(share * 4000.0).ceil() as usize - 1], "{k}");
    }
    assert_eq!(found.parameters.len(), 12);
    assert_eq!(found.parameters[11].name, "at_knot_12");
    let few = fit(&Recalibrate::new(Method::Spline), &rows[..60]);
    assert_eq!(spline_of(&few).knots.len(), 6);
    // Of four different scores three are knots; of three or fewer, there is a straight line.
    for n_scores in 1..=4 {
        let rows: Vec<Row> =
            (0..200).map(|i| (f64::from(i % n_scores) - 1.0, (i * 7) % 10 < 3 + i % n_scores * 2, 1.0)).collect();
        let found = fit(&Recalibrate::new(Method::Spline), &rows);
        let expected = if n_scores == 4 { 3 } else { 2 };
        assert_eq!(spline_of(&found).knots.len(), expected, "{n_scores}");
        if n_scores < 4 {
            let line = fit(&Recalibrate::new(Method::Platt), &rows);
            for h in [-30.0, -1.0, 0.3, 2.0] {
                assert!((found.map.apply(h) - line.map.apply(h)).abs() < 1e-12, "{n_scores} at {h}");
                let (one, other) = (found.band(h, 0.9).unwrap(), line.band(h, 0.9).unwrap());
                assert!((one.lower - other.lower).abs() < 1e-10 && (one.upper - other.upper).abs() < 1e-10);
            }
        }
    }
}

#[test]
fn the_smoothing_follows_the_curvature() {
    let options = Recalibrate::new(Method::Spline);
    let line = Recalibrate::new(Method::Platt);
    let straight = drawn(3000, 2, |h| 0.6 * h + 0.2, |_| 1.0);
    let (found, of_line) = (fit(&options, &straight), fit(&line, &straight));
    assert!(spline_of(&found).smoothing >= 1e3, "{:?}", found.map);
    assert!(found.effective_parameters < 4.0 && (found.log_loss_after - of_line.log_loss_after).abs() < 1e-3);
    let bent = drawn(3000, 3, |h| 0.3 * h + 1.5 * (h - 0.5).max(0.0), |_| 1.0);
    let (found, of_line) = (fit(&options, &bent), fit(&line, &bent));
    assert!(spline_of(&found).smoothing <= 1e3, "{:?}", found.map);
    assert!(found.log_loss_after < of_line.log_loss_after - 5e-3, "{found:?}");
    assert!(found.map.keeps_ranks() && found.notes.is_empty());
}

#[test]
fn a_spline_never_falls() {
    // Waves that fall between the knots unless they are smoothed away.
    let waves = drawn(3000, 4, |h| 0.5 * h + 2.0 * (2.0 * h).sin(), |_| 1.0);
    let found = fit(&Recalibrate::new(Method::Spline).smoothing(0.1), &waves);
    let [Note::Smoothed { chosen, smoothing }] = found.notes[..] else { panic!("{:?}", found.notes) };
    assert!(chosen == 0.1 && smoothing > 0.1 && spline_of(&found).smoothing == smoothing);
    assert!(spline_of(&found).least_slope() >= 0.0);
    let text = Note::Smoothed { chosen: 0.1, smoothing: 10.0 }.to_string();
    assert_eq!(text, "The spline falls between its knots with a smoothing of 0.1; with 10 it does not.");
    // Scores that fall have a flat line.
    let falling = drawn(500, 6, |h| -h, |_| 1.0);
    let found = fit(&Recalibrate::new(Method::Spline), &falling);
    assert!(found.notes.contains(&Note::Straightened), "{:?}", found.notes);
    assert!(found.notes.contains(&Note::HeldAtZero { parameter: "slope" }), "{:?}", found.notes);
    assert_eq!(found.map.apply(-3.0), found.map.apply(2.0));
    assert!(!found.map.keeps_ranks());
}

#[test]
fn bands_at_knots_are_the_standard_errors_there() {
    let rows = drawn(1000, 8, |h| 0.7 * h, |_| 1.0);
    let found = fit(&Recalibrate::new(Method::Spline), &rows);
    let logit = |p: f64| (p / (1.0 - p)).ln();
    for (knot, parameter) in spline_of(&found).knots.iter().zip(&found.parameters) {
        let band = found.band(*knot, 0.95).unwrap();
        let half = 1.959963984540054 * parameter.standard_error.unwrap();
        assert!((logit(band.upper) - parameter.value - half).abs() < 1e-9, "{parameter:?}");
        assert!((parameter.value - logit(band.lower) - half).abs() < 1e-9, "{parameter:?}");
        assert!(half > 0.0 && half < 2.0);
    }
}

#[test]
fn the_verdict_on_a_spline() {
    let data = binary();
    let predictions = data.plain();
    let cross_fit = CrossFit::new(Recalibrate::new(Method::Spline)).n_resamples(19);
    let found = cross_fit.run(&predictions.binary().unwrap()).unwrap();
    assert_eq!(found.verdict, Verdict::Helps, "{found:?}");
    assert!(found.sentence().starts_with("A spline helps: log-loss is 0.72"), "{}", found.sentence());
    assert!((found.gain - 0.097).abs() < 0.01 && found.floor.unwrap().p_value == 0.05, "{found:?}");
}

#[test]
fn options_out_of_range_are_rejected() {
    let predictions = Input::logits(&[1.0, -1.0], &[1, 0]).check().unwrap();
    let options = Recalibrate::new(Method::Spline).smoothing(-1.0);
    let text = options.fit(&predictions.binary().unwrap()).unwrap_err().to_string();
    assert_eq!(text, "smoothing must be finite and not negative, got -1");
}

#[test]
fn intervals_of_splines_and_tables_cover_the_gain_of_the_fitted_map() {
    for slope in [1.0, 0.6] {
        for method in [Method::Spline, Method::VennAbers, Method::Bins] {
            let options = Recalibrate::new(method);
            let shares = simulate(&options, Law::Normal(0.0, 1.5), &affine(slope, 0.0), 200, 100);
            assert!(shares.covered >= 0.9, "{method:?} with slope {slope}: {shares:?}");
            assert!(shares.wrongly <= 0.03, "{method:?} with slope {slope}: {shares:?}");
        }
    }
}
