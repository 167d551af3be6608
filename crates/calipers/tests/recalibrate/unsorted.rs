//! Fits to many rows, which take shorter ways, against those of the sorted rows. Clusters of one
//! row each keep the long way.

use calipers::recalibrate::{BinaryMap, Fit, Method, Recalibrate};
use calipers::{BinaryView, Error, Input, Sample};

use crate::fixtures::Uniforms;

const N: usize = 70_000;

const METHODS: [Method; 5] = [Method::Shift, Method::Temperature, Method::Platt, Method::Beta, Method::Isotonic];

/// Rows with a name.
struct Case {
    name: &'static str,
    scores: Vec<f64>,
    labels: Vec<u8>,
    weights: Option<Vec<f64>>,
    is_logit: bool,
}

impl Case {
    fn input(&self) -> Input<'_> {
        let input = if self.is_logit {
            Input::logits(&self.scores, &self.labels)
        } else {
            Input::probabilities(&self.scores, &self.labels)
        };
        match &self.weights {
            Some(weights) => input.weights(weights),
            None => input,
        }
    }

    fn in_order(&self, order: &[usize]) -> Case {
        let of = |values: &[f64]| order.iter().map(|&row| values[row]).collect::<Vec<f64>>();
        Case {
            scores: of(&self.scores),
            labels: order.iter().map(|&row| self.labels[row]).collect(),
            weights: self.weights.as_deref().map(of),
            ..*self
        }
    }
}

fn sigma(h: f64) -> f64 {
    1.0 / (1.0 + (-h).exp())
}

fn cases() -> Vec<Case> {
    let mut random = Uniforms(11);
    let mut case = |name: &'static str, logit: &dyn Fn(usize, &mut Uniforms) -> f64, slope: f64| {
        let scores: Vec<f64> = (0..N).map(|row| logit(row, &mut random)).collect();
        let labels = scores.iter().map(|h| u8::from(random.next() < sigma(slope * h - 0.3))).collect();
        Case { name, scores, labels, weights: None, is_logit: true }
    };
    let normal = |_: usize, random: &mut Uniforms| 2.5 + 2.0 * random.normal();
    let mut cases = vec![
        case("normal logits", &normal, 0.75),
        case("ties", &|_, random| (16.0 * 1.5 * random.normal()).round() / 16.0, 1.2),
        case("two values", &|row, _| if row % 3 == 0 { -1.0 } else { 0.5 }, 0.8),
        case("one logit of half the rows", &|row, random| if row % 2 == 0 { 0.25 } else { random.normal() }, 0.8),
        case("logits of 1e6", &|_, random| 1e6 * random.normal(), 1e-6),
        case("one logit of 1e6", &|row, random| if row == 7 { 1e6 } else { random.normal() }, 0.9),
        case("a wide range", &|_, random| 12.0 * random.normal().clamp(-3.2, 3.2), 0.1),
        case("logits that are all alike", &|_, random| 3.0 + 0.1 * random.next(), 0.5),
        case("falling scores", &|_, random| random.normal(), -0.7),
        case("zeros of both signs", &|row, random| [0.0, -0.0, random.normal()][row % 3], 1.0),
    ];
    let plain = &cases[0];
    let mut more = Vec::new();
    let weights = |of: &dyn Fn(usize, &mut Uniforms) -> f64| {
        let mut random = Uniforms(17);
        Some((0..N).map(|row| of(row, &mut random)).collect::<Vec<f64>>())
    };
    let weighted = |name: &'static str, weights: Option<Vec<f64>>| Case {
        name,
        scores: plain.scores.clone(),
        labels: plain.labels.clone(),
        weights,
        is_logit: true,
    };
    more.push(weighted("weights", weights(&|_, random| random.next())));
    more.push(weighted("very unequal weights", weights(&|_, random| (3.0 * random.normal()).exp())));
    more.push(weighted("one large weight", weights(&|row, _| if row == 100 { 1e12 } else { 1.0 })));
    more.push(weighted("tiny weights", weights(&|_, random| 1e-300 * random.next())));
    let mut far = weighted("rows without weight far away", weights(&|row, random| [0.0, random.next()][row % 2]));
    far.scores.iter_mut().step_by(2).for_each(|h| *h = 1e300);
    more.push(far);
    let mut probabilities: Vec<f64> = plain.scores.iter().map(|h| sigma(*h)).collect();
    probabilities[..6].copy_from_slice(&[0.0, 1.0, 0.0, 1.0, 1e-15, 1.0 - 1e-15]);
    let labels = [&[0, 1, 1, 0, 1, 1], &plain.labels[6..]].concat();
    more.push(Case { name: "zeros and ones", scores: probabilities, labels, weights: None, is_logit: false });
    let single = plain.scores.iter().map(|h| f64::from(sigma(*h) as f32)).collect();
    let labels = plain.labels.clone();
    more.push(Case { name: "single precision", scores: single, labels, weights: None, is_logit: false });
    let rare = plain.scores.iter().enumerate().map(|(row, h)| u8::from(row % 20_000 == 5 && *h > 0.0)).collect();
    more.push(Case { name: "rare", scores: plain.scores.clone(), labels: rare, weights: None, is_logit: true });
    let apart = plain.scores.iter().map(|h| u8::from(*h > 2.0)).collect();
    more.push(Case { name: "separable", scores: plain.scores.clone(), labels: apart, weights: None, is_logit: true });
    let labels = vec![1; N];
    more.push(Case { name: "one outcome", scores: plain.scores.clone(), labels, weights: None, is_logit: true });
    cases.extend(more);
    cases
}

fn sorted(options: &Recalibrate, view: &BinaryView<'_>) -> Result<Fit<BinaryMap>, Error> {
    let own: Vec<u32> = (0..view.len() as u32).collect();
    options.fit(Sample::from(view).clusters(&own))
}

#[test]
fn fits_without_sorting_are_those_of_sorted_rows() {
    for case in cases() {
        let predictions = case.input().check().unwrap();
        let view = predictions.binary().unwrap();
        for method in METHODS {
            for ridge in [None, Some(0.0)] {
                if method == Method::Isotonic && ridge.is_some() {
                    continue;
                }
                let mut options = Recalibrate::new(method);
                if let Some(ridge) = ridge {
                    options = options.ridge(ridge);
                }
                let name = format!("{}, {method:?}, {ridge:?}", case.name);
                match (options.fit(&view), sorted(&options, &view)) {
                    (Ok(found), Ok(exact)) => compare(&name, &found, &exact),
                    (found, exact) => {
                        let message = |fit: Result<Fit<BinaryMap>, Error>| fit.map_err(|error| error.to_string()).err();
                        assert_eq!(message(found), message(exact), "{name}");
                    }
                }
            }
        }
    }
}

fn compare(name: &str, found: &Fit<BinaryMap>, exact: &Fit<BinaryMap>) {
    // Clusters of rows with weight.
    let n = exact.n as f64;
    assert_eq!(found.map.table, exact.map.table, "{name}");
    let facts = |fit: &Fit<BinaryMap>| {
        let notes: Vec<String> = fit.notes.iter().map(ToString::to_string).collect();
        (fit.n, fit.n_clipped, notes)
    };
    assert_eq!(facts(found), facts(exact), "{name}");
    let near = |a: f64, b: f64, tolerance: f64| (a - b).abs() <= tolerance * (1.0 + b.abs());
    assert!(near(found.effective_n / exact.effective_n, 1.0, 1e-14), "{name}");
    assert!(near(found.effective_parameters, exact.effective_parameters, 1e-7), "{name}");
    assert!(near(found.log_loss_before, exact.log_loss_before, 1e-14), "{name}");
    assert!(near(found.log_loss_after, exact.log_loss_after, 1e-13), "{name}");
    assert!(found.bound.standard_errors < 1e-8, "{name}: {:?}", found.bound);
    for (found, exact) in found.parameters.iter().zip(&exact.parameters) {
        let unit = exact.standard_error.unwrap_or(0.0);
        assert!((found.value - exact.value).abs() <= 1e-9 * unit + 1e-15 * exact.value.abs(), "{name}");
    }
    for (place, (found, of_clusters)) in found.covariance.iter().zip(&exact.covariance).enumerate() {
        let d = exact.parameters.len();
        let variance = |at: usize| exact.covariance[at * (d + 1)];
        let size = (variance(place / d) * variance(place % d)).sqrt();
        let exact = of_clusters * (n - 1.0) / n;
        assert!((found - exact).abs() <= 1e-6 * size, "{name}: {found} {exact}");
    }
}

fn bits(fit: &Fit<BinaryMap>) -> Vec<u64> {
    let table = fit.map.table.iter().flat_map(|table| table.at.iter().chain(&table.value));
    let numbers = fit.map.parameters.iter().chain(table).chain(&fit.covariance);
    let others = [fit.log_loss_before, fit.log_loss_after, fit.effective_n, fit.bound.nats, fit.effective_parameters];
    numbers.chain(&others).map(|number| number.to_bits()).collect()
}

#[test]
fn neither_the_order_of_many_rows_nor_threads_change_a_bit() {
    let mut order: Vec<usize> = (0..N).collect();
    let mut random = Uniforms(9);
    (1..N).for_each(|row| order.swap(row, (random.next() * (row + 1) as f64) as usize));
    let threads = |n: usize| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    let (one, five) = (threads(1), threads(5));
    for case in cases() {
        let permuted = case.in_order(&order);
        let fit = |case: &Case, method: Method| {
            let predictions = case.input().check().unwrap();
            Recalibrate::new(method).fit(&predictions.binary().unwrap()).map(|fit| bits(&fit)).ok()
        };
        for method in METHODS {
            let first = one.install(|| fit(&case, method));
            assert_eq!(first, five.install(|| fit(&permuted, method)), "{}, {method:?}", case.name);
        }
    }
}

#[test]
fn single_and_double_precision_and_logits_give_the_same_fit_of_many_rows() {
    let case = &cases()[0];
    let single: Vec<f32> = case.scores.iter().map(|h| sigma(*h) as f32).collect();
    let double: Vec<f64> = single.iter().map(|p| f64::from(*p)).collect();
    let logits: Vec<f64> = double.iter().map(|p| p.ln() - (-p).ln_1p()).collect();
    for method in METHODS {
        let fit = |input: Input<'_>| {
            let predictions = input.check().unwrap();
            Recalibrate::new(method).fit(&predictions.binary().unwrap()).unwrap()
        };
        let one = fit(Input::probabilities(&single, &case.labels));
        assert_eq!(bits(&one), bits(&fit(Input::probabilities(&double, &case.labels))), "{method:?}");
        let other = fit(Input::logits(&logits, &case.labels));
        for h in [-5.0, -1.3, 0.0, 0.7, 3.0] {
            assert!((one.map.apply(h) - other.map.apply(h)).abs() < 1e-12, "{method:?} at {h}");
        }
    }
}
