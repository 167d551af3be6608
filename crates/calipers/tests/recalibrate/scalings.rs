//! Bias-corrected temperature, vector and matrix scaling of rows of classes.

use calipers::recalibrate::{ClassFormula, ClassMap, CrossFit, Fit, Method, Note, Recalibrate, Verdict};
use calipers::{Error, Form, Input};

use crate::fixtures::{Uniforms, classes};

const SCALINGS: [Method; 3] = [Method::BiasCorrectedTemperature, Method::Vector, Method::Matrix];

fn fit(options: Recalibrate, scores: &[f64], labels: &[i64], k: usize) -> Result<Fit<ClassMap>, Error> {
    options.fit_classes(&Input::logits(scores, labels).classes(k).check()?)
}

fn values(fit: &Fit<ClassMap>, name: &str) -> Vec<f64> {
    fit.parameters.iter().filter(|parameter| parameter.name == name).map(|parameter| parameter.value).collect()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() < 1e-10, "{found:?} is not {expected:?}"));
}

fn brier(map: &ClassMap, scores: &[f64], labels: &[i64]) -> f64 {
    let square = |(row, label): (&[f64], &i64)| {
        let p = map.apply(row, Form::Logits);
        (0..3).map(|class| (p[class] - f64::from(u8::from(class as i64 == *label))).powi(2)).sum::<f64>()
    };
    scores.chunks(3).zip(labels).map(square).sum::<f64>() / labels.len() as f64
}

/// The values have ten decimal places where they are longer than eight.
#[test]
fn golden_values() {
    let (scores, labels) = classes();
    let found = |method: Method| fit(Recalibrate::new(method), &scores, &labels, 3).unwrap();
    let plain = |method: Method| fit(Recalibrate::new(method).ridge(0.0), &scores, &labels, 3).unwrap();
    let losses = |fit: &Fit<ClassMap>| [fit.log_loss_after, brier(&fit.map, &scores, &labels)];

    let corrected = plain(Method::BiasCorrectedTemperature);
    assert_near(&values(&corrected, "scale"), &[0.473363477953]);
    assert_near(&values(&corrected, "bias"), &[0.0444290266, 0.1714158681, -0.2158448947]);
    assert_near(&losses(&corrected), &[0.948833055665, 0.571923539107]);

    let vector = plain(Method::Vector);
    assert_near(&values(&vector, "scale"), &[0.3512919807, 0.3919540987, 0.7871887802]);
    assert_near(&values(&vector, "bias"), &[-0.1552575535, 0.0256259082, 0.1296316453]);
    assert_near(&losses(&vector), &[0.940457731619, 0.567642437183]);

    let matrix = plain(Method::Matrix);
    let expected = [
        0.172913667534,
        -0.243409689379,
        -0.353412589826,
        -0.037045120851,
        0.311415350137,
        -0.199830419046,
        -0.135868546683,
        -0.068005660758,
        0.553243008872,
    ];
    assert_near(&values(&matrix, "matrix"), &expected);
    assert_near(&values(&matrix, "bias"), &[-0.609257761762, 0.357407877334, 0.251849884428]);
    assert_near(&losses(&matrix), &[0.935763058567, 0.565115727400]);

    let structured = found(Method::Vector);
    assert_near(&values(&structured, "scale"), &[0.9099437564, 0.8547758251, 1.3349181290]);
    assert_near(&values(&structured, "bias"), &[-0.0782731687, -0.0206761547, 0.0989493234]);
    assert_near(&losses(&structured), &[0.942903360173, 0.569249428075]);
    assert_near(&[structured.map.slope], &[0.470814919031]);
    assert_eq!(structured.ridge, 3.0);

    let structured = found(Method::Matrix);
    let expected = [
        0.929991341454,
        0.009093263198,
        -0.085760426427,
        0.103069021902,
        0.887501353160,
        -0.058967709611,
        -0.068064692629,
        0.047156060221,
        1.289456272076,
    ];
    assert_near(&values(&structured, "matrix"), &expected);
    assert_near(&values(&structured, "bias"), &[-0.125742593427, 0.099143548623, 0.026599044804]);
    assert_near(&losses(&structured), &[0.941022637798, 0.568438125532]);
    let ClassFormula::Matrix { mixture_before, .. } = structured.map.formula else { panic!("a matrix") };
    assert_eq!(mixture_before, 1.0 / 301.0);
}

/// A slow solver that shares no code with the library: the definition of the objective, a gradient
/// by its formula, and accelerated gradient descent.
mod slow {
    use calipers::recalibrate::Method;

    pub(crate) struct Problem {
        pub(crate) method: Method,
        pub(crate) k: usize,
        pub(crate) rows: Vec<(Vec<f64>, usize, f64)>,
        pub(crate) n_eff: f64,
        pub(crate) ridge: f64,
    }

    fn log_softmax(z: &[f64]) -> Vec<f64> {
        let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lse = top + z.iter().map(|z| (z - top).exp()).sum::<f64>().ln();
        z.iter().map(|z| z - lse).collect()
    }

    fn scaled(z: &[f64], slope: f64) -> Vec<f64> {
        log_softmax(&z.iter().map(|z| slope * z).collect::<Vec<f64>>())
    }

    impl Problem {
        /// Rows of raw scores become rows of g, by a temperature from bisection.
        pub(crate) fn new(method: Method, scores: &[f64], labels: &[i64], weights: &[f64], k: usize) -> Self {
            let total: f64 = weights.iter().sum();
            let n_eff = total * total / weights.iter().map(|w| w * w).sum::<f64>();
            let rows = || scores.chunks(k).zip(labels).zip(weights);
            let slope_of_loss = |slope: f64| -> f64 {
                let row = |((z, label), weight): ((&[f64], &i64), &f64)| {
                    let p = scaled(z, slope);
                    let mean: f64 = p.iter().zip(z).map(|(p, z)| p.exp() * z).sum();
                    weight / total * (mean - z[*label as usize])
                };
                rows().map(row).sum()
            };
            let (mut low, mut high) = (-20.0f64, 20.0f64);
            for _ in 0..200 {
                let middle = 0.5 * (low + high);
                if slope_of_loss(middle.exp()) < 0.0 { low = middle } else { high = middle }
            }
            let slope = (0.5 * (low + high)).exp();
            let e = 1.0 / (n_eff + 1.0);
            let g = |z: &[f64]| -> Vec<f64> {
                scaled(z, slope).iter().map(|l| ((1.0 - e) * l.exp() + e / k as f64).ln()).collect()
            };
            let rows = rows().map(|((z, label), weight)| (g(z), *label as usize, weight / total)).collect();
            Problem { method, k, rows, n_eff, ridge: k as f64 }
        }

        /// Parameters as the library lists them; for the bias-corrected temperature one scale.
        pub(crate) fn identity(&self) -> Vec<f64> {
            let k = self.k;
            let scales = match self.method {
                Method::BiasCorrectedTemperature => vec![1.0],
                Method::Vector => vec![1.0; k],
                _ => (0..k * k).map(|at| if at / k == at % k { 1.0 } else { 0.0 }).collect(),
            };
            [scales, vec![0.0; k]].concat()
        }

        fn weight(&self, theta: &[f64], j: usize, i: usize) -> f64 {
            match self.method {
                Method::BiasCorrectedTemperature => {
                    if i == j {
                        theta[0]
                    } else {
                        0.0
                    }
                }
                Method::Vector => {
                    if i == j {
                        theta[j]
                    } else {
                        0.0
                    }
                }
                _ => theta[j * self.k + i],
            }
        }

        fn penalty(&self, at: usize) -> f64 {
            let (k, lambda) = (self.k, self.ridge / self.n_eff);
            match self.method {
                Method::BiasCorrectedTemperature if at == 0 => 0.0,
                Method::Matrix if at < k * k && at / k != at % k => lambda * (k - 1) as f64,
                _ => lambda,
            }
        }

        fn log_probabilities(&self, theta: &[f64], g: &[f64]) -> Vec<f64> {
            let bias = &theta[theta.len() - self.k..];
            let u = |j: usize| (0..self.k).map(|i| self.weight(theta, j, i) * g[i]).sum::<f64>() + bias[j];
            log_softmax(&(0..self.k).map(u).collect::<Vec<f64>>())
        }

        pub(crate) fn value(&self, theta: &[f64]) -> f64 {
            let loss: f64 = self.rows.iter().map(|(g, y, w)| -w * self.log_probabilities(theta, g)[*y]).sum();
            let away = theta.iter().zip(self.identity()).enumerate();
            loss + away.map(|(at, (t, c))| self.penalty(at) * (t - c) * (t - c)).sum::<f64>()
        }

        pub(crate) fn gradient(&self, theta: &[f64]) -> Vec<f64> {
            let k = self.k;
            let n_scales = theta.len() - k;
            let away = theta.iter().zip(self.identity()).enumerate();
            let mut gradient: Vec<f64> = away.map(|(at, (t, c))| 2.0 * self.penalty(at) * (t - c)).collect();
            for (g, y, w) in &self.rows {
                let p = self.log_probabilities(theta, g);
                for j in 0..k {
                    let residual = w * (p[j].exp() - if j == *y { 1.0 } else { 0.0 });
                    gradient[n_scales + j] += residual;
                    match self.method {
                        Method::BiasCorrectedTemperature => gradient[0] += residual * g[j],
                        Method::Vector => gradient[j] += residual * g[j],
                        _ => (0..k).for_each(|i| gradient[j * k + i] += residual * g[i]),
                    }
                }
            }
            gradient
        }

        pub(crate) fn solve(&self) -> Vec<f64> {
            let size: f64 = self.rows.iter().map(|(g, _, w)| w * (1.0 + g.iter().map(|g| g * g).sum::<f64>())).sum();
            let most = (0..self.identity().len()).map(|at| self.penalty(at)).fold(0.0, f64::max);
            let step = 1.0 / (0.5 * size + 2.0 * most);
            let mut theta = self.identity();
            let (mut ahead, mut momentum) = (theta.clone(), 1.0f64);
            for _ in 0..8_000 {
                let gradient = self.gradient(&ahead);
                let next: Vec<f64> = ahead.iter().zip(&gradient).map(|(t, g)| t - step * g).collect();
                let moved: f64 = next.iter().zip(&theta).map(|(a, b)| (a - b).abs()).sum();
                let uphill: f64 = gradient.iter().zip(next.iter().zip(&theta)).map(|(g, (n, t))| g * (n - t)).sum();
                let following = if uphill > 0.0 { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt()) };
                let share = if uphill > 0.0 { 0.0 } else { (momentum - 1.0) / following };
                ahead = next.iter().zip(&theta).map(|(n, t)| n + share * (n - t)).collect();
                (theta, momentum) = (next, following);
                if moved < 1e-15 {
                    break;
                }
            }
            theta
        }
    }
}

/// Scores with ties, labels that fit them more or less, and weights.
fn random_rows(random: &mut Uniforms, n: usize, k: usize) -> (Vec<f64>, Vec<i64>, Vec<f64>) {
    let grid = if random.next() < 0.5 { 2.0 } else { 1e6 };
    let tilt: Vec<f64> = (0..k).map(|_| random.normal()).collect();
    let is_weighted = random.next() < 0.6;
    let (mut scores, mut labels, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..n {
        let row: Vec<f64> = (0..k).map(|_| (1.5 * random.normal() * grid).round() / grid).collect();
        let noisy = |class: usize, noise: f64| 0.8 * row[class] + 0.4 * tilt[class] + noise;
        let noisy: Vec<f64> = (0..k).map(|class| noisy(class, -(-random.next().ln()).ln())).collect();
        labels.push((0..k).max_by(|a, b| noisy[*a].total_cmp(&noisy[*b])).unwrap() as i64);
        weights.push(if is_weighted { (1.0 + 4.0 * random.next()).floor() * 0.25 } else { 1.0 });
        scores.extend(row);
    }
    (scores, labels, weights)
}

fn labels_of_all(labels: &[i64], k: usize) -> bool {
    (0..k as i64).all(|class| labels.contains(&class))
}

#[test]
fn random_problems_agree_with_a_slow_solver() {
    let mut random = Uniforms(50);
    let mut n_checked = 0;
    while n_checked < 36 {
        let k = 2 + n_checked % 4;
        let n = 25 + (50.0 * random.next()) as usize;
        let (scores, labels, weights) = random_rows(&mut random, n, k);
        if !labels_of_all(&labels, k) {
            continue;
        }
        let method = SCALINGS[n_checked % 3];
        let predictions = Input::logits(&scores, &labels).classes(k).weights(&weights).check().unwrap();
        let Ok(fit) = Recalibrate::new(method).fit_classes(&predictions) else {
            // Few rows may have falling scores, which have no temperature.
            assert!(Recalibrate::new(Method::Temperature).fit_classes(&predictions).is_err());
            continue;
        };
        if !fit.notes.is_empty() && fit.notes.iter().all(|note| matches!(note, Note::HeldAtZero { .. })) {
            continue;
        }
        let problem = slow::Problem::new(method, &scores, &labels, &weights, k);
        assert!((problem.n_eff - fit.effective_n).abs() < 1e-9);
        let (found, slow): (Vec<f64>, Vec<f64>) =
            (fit.parameters.iter().map(|parameter| parameter.value).collect(), problem.solve());
        let distance = found.iter().zip(&slow).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(distance < 1e-4, "problem {n_checked}, {method:?}: {found:?} {slow:?}");
        // The certificate is about the objective, and no point of the slow solver is below it.
        assert!(problem.value(&found) <= problem.value(&slow) + fit.bound.nats + 1e-14, "problem {n_checked}");
        assert!(problem.gradient(&found).iter().all(|g| g.abs() < 1e-11), "{:?}", problem.gradient(&found));
        assert!(fit.bound.standard_errors < 1e-8 && fit.bound.nats < 1e-15, "{method:?} {:?}", fit.bound);
        n_checked += 1;
    }
}

#[test]
fn many_parameters_are_fitted_without_a_hessian() {
    let mut random = Uniforms(3);
    for (method, k, n) in [(Method::Vector, 320, 1500), (Method::Matrix, 30, 900)] {
        let (scores, mut labels, _) = random_rows(&mut random, n, k);
        (0..k).for_each(|class| labels[class] = class as i64);
        let weights = vec![1.0; n];
        let fit = fit(Recalibrate::new(method), &scores, &labels, k).unwrap();
        assert!(
            fit.parameters.len() > 600 && fit.parameters.iter().all(|parameter| parameter.standard_error.is_none())
        );
        let problem = slow::Problem::new(method, &scores, &labels, &weights, k);
        let found: Vec<f64> = fit.parameters.iter().map(|parameter| parameter.value).collect();
        let largest = problem.gradient(&found).iter().fold(0.0f64, |most, g| most.max(g.abs()));
        println!("{method:?}: {largest} {:?}", fit.bound);
        assert!(largest < 1e-10, "{method:?}: {largest}");
        assert!(fit.bound.nats < 1e-12 && fit.bound.standard_errors < 1e-4, "{method:?}: {:?}", fit.bound);
        assert!(fit.log_loss_after < fit.log_loss_before);
    }
}

/// Everything that a fit returns, as bits, with classes in the order of `classes`.
fn bits(fit: &Fit<ClassMap>, classes: &[usize]) -> Vec<u64> {
    let k = classes.len();
    let mut values = vec![fit.map.slope, fit.log_loss_before, fit.log_loss_after, fit.bound.standard_errors];
    let mut of = |values_of: &[f64]| classes.iter().for_each(|class| values.push(values_of[*class]));
    match &fit.map.formula {
        ClassFormula::Vector { scale, bias, .. } => {
            of(scale);
            of(bias);
        }
        ClassFormula::Matrix { matrix, bias, .. } => {
            classes.iter().for_each(|class| of(&matrix[class * k..(class + 1) * k]));
            of(bias);
        }
        ClassFormula::Ensemble { weights } => values.extend(weights),
        ClassFormula::OneVsRest { maps } => {
            classes.iter().for_each(|class| values.extend(&maps[*class].parameters));
            values.remove(2);
        }
        _ => {}
    }
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn orders_of_rows_and_classes_and_threads_change_no_bit() {
    let mut random = Uniforms(8);
    let (n, k) = (1200, 5);
    let (scores, labels, weights) = random_rows(&mut random, n, k);
    let same: Vec<usize> = (0..k).collect();
    let order = [3, 0, 4, 1, 2];
    let one_vs_rest = Recalibrate::new(Method::Beta).one_vs_rest(true);
    let scalings = SCALINGS.map(Recalibrate::new).into_iter();
    for options in scalings.chain([Recalibrate::new(Method::EnsembleTemperature), one_vs_rest]) {
        let fit = |scores: &[f64], labels: &[i64], weights: &[f64]| {
            let predictions = Input::logits(scores, labels).classes(k).weights(weights).check().unwrap();
            options.fit_classes(&predictions).unwrap()
        };
        let first = fit(&scores, &labels, &weights);
        let rows: Vec<f64> = scores.chunks(k).rev().flatten().copied().collect();
        let of_rows: Vec<i64> = labels.iter().rev().copied().collect();
        let their_weights: Vec<f64> = weights.iter().rev().copied().collect();
        assert_eq!(bits(&first, &same), bits(&fit(&rows, &of_rows, &their_weights), &same), "{options:?}");
        let permuted: Vec<f64> = scores.chunks(k).flat_map(|row| order.map(|class| row[class])).collect();
        let renamed: Vec<i64> =
            labels.iter().map(|label| order.iter().position(|class| *class as i64 == *label).unwrap() as i64).collect();
        let other = fit(&permuted, &renamed, &weights);
        let is_one_vs_rest = matches!(first.map.formula, ClassFormula::OneVsRest { .. });
        if !is_one_vs_rest {
            assert_eq!(bits(&first, &order), bits(&other, &same), "{options:?}");
        } else {
            // Log-odds of a class are a sum over the others, whose order shows in the last digits.
            assert!((first.log_loss_after - other.log_loss_after).abs() < 1e-13);
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(bits(&first, &same), bits(&pool.install(|| fit(&scores, &labels, &weights)), &same), "{options:?}");
    }
}

#[test]
fn probabilities_single_precision_counts_and_whole_columns_give_the_same_map() {
    let (scores, labels) = classes();
    let weights: Vec<f64> = (0..300).map(|i| f64::from(1 + i % 3)).collect();
    for method in [SCALINGS[0], SCALINGS[1], SCALINGS[2], Method::EnsembleTemperature] {
        let options = Recalibrate::new(method);
        let from_logits = fit(options.clone(), &scores, &labels, 3).unwrap();
        let values = |fit: &Fit<ClassMap>| fit.parameters.iter().map(|parameter| parameter.value).collect::<Vec<f64>>();
        let near = |fit: &Fit<ClassMap>, distance: f64| {
            let pairs = values(fit).into_iter().zip(values(&from_logits));
            pairs.for_each(|(a, b)| assert!((a - b).abs() < distance, "{method:?}: {a} {b}"));
        };
        let identity = ClassMap::identity(3);
        let p: Vec<f64> = scores.chunks(3).flat_map(|row| identity.apply(row, Form::Logits)).collect();
        let predictions = Input::probabilities(&p, &labels).classes(3).check().unwrap();
        let from_probabilities = options.fit_classes(&predictions).unwrap();
        near(&from_probabilities, 1e-11);
        // Sixteenths are exact in single precision.
        let single: Vec<f32> = scores.iter().map(|score| *score as f32).collect();
        let predictions = Input::logits(&single, &labels).classes(3).check().unwrap();
        let from_single = options.fit_classes(&predictions).unwrap();
        assert_eq!(values(&from_single), values(&from_logits));
        let all = from_single.map.apply_all(&predictions);
        for (row, expected) in scores.chunks(3).zip(all.chunks(3)) {
            let p = from_logits.map.apply(row, Form::Logits);
            assert_eq!(p, expected);
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14 && p.iter().all(|p| *p > 0.0));
        }
        let rows: Vec<usize> = (0..300).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
        let repeated: Vec<f64> = rows.iter().flat_map(|&i| scores[3 * i..3 * i + 3].to_vec()).collect();
        let repeated_labels: Vec<i64> = rows.iter().map(|&i| labels[i]).collect();
        let predictions = Input::logits(&scores, &labels).classes(3).weights(&weights).check().unwrap();
        let counted = options.clone().counts(true).fit_classes(&predictions).unwrap();
        let repeated = fit(options, &repeated, &repeated_labels, 3).unwrap();
        for (a, b) in counted.parameters.iter().zip(&repeated.parameters) {
            assert!((a.value - b.value).abs() < 1e-12, "{method:?}");
            let errors = [a, b].map(|parameter| parameter.standard_error.unwrap_or(0.0));
            assert!((errors[0] - errors[1]).abs() < 1e-12, "{method:?}: {errors:?}");
        }
    }
}

#[test]
fn standard_errors_are_those_of_repeated_samples() {
    let mut values: Vec<Vec<f64>> = Vec::new();
    let mut errors = Vec::new();
    for run in 0..150 {
        let (scores, labels) = drawn(400, 3, run, |row| row.to_vec());
        let found = fit(Recalibrate::new(Method::Vector).ridge(0.0), &scores, &labels, 3).unwrap();
        values.push(found.parameters.iter().map(|parameter| parameter.value).collect());
        errors.push(found.parameters.iter().map(|parameter| parameter.standard_error.unwrap()).collect::<Vec<f64>>());
    }
    let n = values.len() as f64;
    for place in 0..6 {
        let mean = values.iter().map(|values| values[place]).sum::<f64>() / n;
        let spread = (values.iter().map(|values| (values[place] - mean).powi(2)).sum::<f64>() / n).sqrt();
        let stated = errors.iter().map(|errors| errors[place]).sum::<f64>() / n;
        // Three standard errors of a standard deviation from 150 runs are 17 %.
        assert!((stated / spread - 1.0).abs() < 0.2, "parameter {place}: {stated} {spread}");
    }
}

/// Normal scores and labels of the softmax of what `truth` makes of a row.
fn drawn(n: usize, k: usize, seed: u64, truth: impl Fn(&[f64]) -> Vec<f64>) -> (Vec<f64>, Vec<i64>) {
    let mut random = Uniforms((seed + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
    let (mut scores, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let row: Vec<f64> = (0..k).map(|_| 2.0 * random.normal()).collect();
        let noisy: Vec<f64> = truth(&row).iter().map(|u| u - (-random.next().ln()).ln()).collect();
        labels.push((0..k).max_by(|a, b| noisy[*a].total_cmp(&noisy[*b])).unwrap() as i64);
        scores.extend(row);
    }
    (scores, labels)
}

#[test]
fn an_ensemble_uses_what_helps() {
    let (scores, labels) = classes();
    let golden = fit(Recalibrate::new(Method::EnsembleTemperature), &scores, &labels, 3).unwrap();
    assert_near(&[golden.map.slope, golden.log_loss_after], &[0.470814919031, 0.959618562254]);
    assert_eq!(values(&golden, "weight"), [1.0, 0.0, 0.0]);
    // One label in five is noise: equal probabilities are part of the truth.
    let (scores, mut labels) = drawn(3000, 4, 5, |row| row.iter().map(|z| 2.0 * z).collect());
    labels.iter_mut().enumerate().filter(|(row, _)| row % 5 == 0).for_each(|(row, label)| *label = row as i64 / 5 % 4);
    let mixed = fit(Recalibrate::new(Method::EnsembleTemperature), &scores, &labels, 4).unwrap();
    let weights = values(&mixed, "weight");
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-15 && weights[2] > 0.05, "{weights:?}");
    let temperature = fit(Recalibrate::new(Method::Temperature).mixture(0.0), &scores, &labels, 4).unwrap();
    assert!(mixed.log_loss_after < temperature.log_loss_after - 0.005);
    assert!(mixed.bound.nats < 1e-12);
    let p = mixed.map.apply(&scores[..4], Form::Logits);
    let [after, before] = [temperature.map, ClassMap::identity(4)].map(|map| map.apply(&scores[..4], Form::Logits));
    let expected = |j: usize| weights[0] * after[j] + weights[1] * before[j] + weights[2] / 4.0;
    (0..4).for_each(|j| assert!((p[j] - expected(j)).abs() < 1e-15));
}

#[test]
fn one_class_against_the_rest_is_the_binary_map_of_each() {
    let (scores, labels) = classes();
    let predictions = Input::logits(&scores, &labels).classes(3).check().unwrap();
    for method in [Method::Shift, Method::Temperature, Method::Platt, Method::Beta, Method::Isotonic] {
        let fit = Recalibrate::new(method).one_vs_rest(true).fit_classes(&predictions).unwrap();
        let ClassFormula::OneVsRest { maps } = &fit.map.formula else { panic!("{:?}", fit.map) };
        let mut own_values = Vec::new();
        for (class, map) in maps.iter().enumerate() {
            let view = predictions.one_class(class).unwrap();
            let own = Recalibrate::new(method).fit(&view).unwrap();
            assert_eq!(own.map, *map, "{method:?}");
            let p = own.map.apply_view(&view);
            for (row, p) in scores.chunks(3).zip(p) {
                own_values.push((row.to_vec(), class, p));
            }
        }
        for (row, class, p) in &own_values {
            let total: f64 = own_values.iter().filter(|other| other.0 == *row).map(|other| other.2).sum();
            let copies = own_values.iter().filter(|other| other.0 == *row && other.1 == *class).count() as f64;
            let all = fit.map.apply(row, Form::Logits);
            assert!((all[*class] - p / (total / copies)).abs() < 1e-12, "{method:?}");
        }
        assert!(fit.log_loss_after < fit.log_loss_before, "{method:?}");
        assert_eq!(fit.parameters.len(), 3 * method.parameter_names().len());
        let found = CrossFit::new(Recalibrate::new(method).one_vs_rest(true)).n_resamples(39);
        let found = found.run_classes(&predictions).unwrap();
        assert!(found.interval.lower <= found.gain && found.gain <= found.interval.upper);
        assert_eq!(found.floor.unwrap().n_resamples, 39);
    }
    let text = |options: Recalibrate| options.fit_classes(&predictions).unwrap_err().to_string();
    let expected = "method must be for a binary outcome with one_vs_rest, got \"vector\"";
    assert_eq!(text(Recalibrate::new(Method::Vector).one_vs_rest(true)), expected);
    let column = Input::logits(&[1.0, -1.0], &[1, 0]).check().unwrap();
    let text = Recalibrate::new(Method::Vector).fit(&column.binary().unwrap()).unwrap_err().to_string();
    assert_eq!(text, "method must be a method for a binary outcome, got \"vector\"");
}

#[test]
fn verdicts_name_what_is_there() {
    let tilt = |row: &[f64]| vec![0.5 * row[0], 0.9 * row[1] + 0.8, 0.7 * row[2], 0.7 * row[3] - 0.4];
    for method in SCALINGS {
        let cross_fit = CrossFit::new(Recalibrate::new(method)).n_resamples(199);
        let improve = |scores: &[f64], labels: &[i64]| {
            cross_fit.run_classes(&Input::logits(scores, labels).classes(4).check().unwrap()).unwrap()
        };
        let (scores, labels) = drawn(1500, 4, 1, tilt);
        let helps = improve(&scores, &labels);
        assert_eq!((helps.verdict, helps.floor.unwrap().p_value), (Verdict::Helps, 0.005), "{}", helps.sentence());
        assert!(helps.top_class_changed > 0.01 && helps.top_class_changed < 0.3, "{}", helps.top_class_changed);
        let in_sample = helps.fit.log_loss_before - helps.fit.log_loss_after;
        assert!((helps.floor.unwrap().value - in_sample).abs() < 1e-12);
        let (scores, labels) = drawn(800, 4, 3, |row| row.to_vec());
        let nothing = improve(&scores, &labels);
        assert_eq!(nothing.verdict, Verdict::NothingToFix, "{method:?}: {}", nothing.sentence());
        // Half of each effective parameter over n, on average, or a bit less with the ridge.
        let floor = nothing.floor.unwrap();
        let expected = 0.5 * nothing.fit.effective_parameters / 800.0;
        assert!((0.4..1.4).contains(&(floor.mean / expected)), "{method:?}: {floor:?} {expected}");
        let rows: Vec<f64> = scores.chunks(4).rev().flatten().copied().collect();
        let row_labels: Vec<i64> = labels.iter().rev().copied().collect();
        let again = improve(&rows, &row_labels);
        assert_eq!((again.gain, again.interval, again.floor), (nothing.gain, nothing.interval, nothing.floor));
    }
}

#[test]
fn intervals_cover_the_gain_of_the_fitted_map() {
    for slope in [1.0, 0.85] {
        let truth = |row: &[f64]| row.iter().map(|z| slope * z).collect::<Vec<f64>>();
        let (population, _) = drawn(3000, 3, 77, truth);
        let identity = ClassMap::identity(3);
        let gain = |map: &ClassMap| {
            let of_row = |row: &[f64]| {
                let (before, after) = (identity.apply(row, Form::Logits), map.apply(row, Form::Logits));
                let p = identity.apply(&truth(row), Form::Logits);
                p.iter().zip(before.iter().zip(&after)).map(|(p, (b, a))| p * (a.ln() - b.ln())).sum::<f64>()
            };
            population.chunks(3).map(of_row).sum::<f64>() / 3000.0
        };
        let cross_fit = CrossFit::new(Recalibrate::new(Method::Vector)).n_resamples(0);
        let holds = |run: &u64| {
            let (scores, labels) = drawn(250, 3, 1000 + run, truth);
            let predictions = Input::logits(&scores, &labels).classes(3).check().unwrap();
            let found = cross_fit.run_classes(&predictions).unwrap();
            let gain = gain(&found.fit.map);
            found.interval.lower <= gain && gain <= found.interval.upper
        };
        let share = (0..100).filter(holds).count() as f64 / 100.0;
        println!("vector {slope}: {share}");
        // Three standard errors of 100 runs are 6.5 %.
        assert!(share >= 0.88, "slope {slope}: {share}");
    }
}
