//! Bias-corrected temperature, vector and matrix scaling of rows of classes.

use calipers::recalibrate::{ClassFormula, ClassMap, Fit, Method, Recalibrate};
use calipers::{Error, Form, Input};

use crate::fixtures::classes;

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
