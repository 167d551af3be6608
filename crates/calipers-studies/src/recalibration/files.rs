//! What maps of a validation part do to the test part of the same model.

use calipers::recalibrate::{Choose, CrossFit, HeldOut, HeldOutGain, Method, Recalibrate, Verdict};
use calipers::{Error, Predictions};

use super::Pair;
use crate::table::{fixed, full};
use crate::{Agreement, Page, Table};

/// The methods that are tried where there are more than two classes.
const OF_CLASSES: [Method; 4] = [Method::Temperature, Method::BiasCorrectedTemperature, Method::Vector, Method::Matrix];

/// Draws for the test of whether there is anything to fix: none, since it only decides between two
/// verdicts that claim nothing.
const N_RESAMPLES: u64 = 0;

/// The name of the choice between methods.
const AUTO: &str = "auto";

/// One method on one model.
struct Tried {
    model: String,
    is_binary: bool,
    method: String,
    /// What the choice was.
    chosen: Method,
    /// The verdict and the gain on the validation part, by cross-fitting.
    verdict: Verdict,
    gain: f64,
    /// On the test part.
    test: HeldOutGain,
}

/// The section.
pub(super) fn section(page: &mut Page, pairs: &[Pair<'_>], left_out: &[String]) -> Result<(), Error> {
    let mut all: Vec<Tried> = Vec::new();
    let mut failed: Vec<String> = Vec::new();
    for pair in pairs {
        let is_binary = pair.validation.n_classes() < 3;
        let methods: &[Method] = if is_binary { &super::METHODS } else { &OF_CLASSES };
        for name in methods.iter().map(|method| method.name()).chain([AUTO]) {
            match tried(pair, name, is_binary) {
                Ok(found) => all.push(found),
                Err(error) => failed.push(format!("{} {name}: {error}", pair.name)),
            }
        }
    }
    page.heading("Real predictions with a validation and a test part");
    page.text(&format!(
        "{} {}. A map is fitted to the validation part and tried on the test part; its gain is the mean log-loss of the test part before less after. It helps if the gain is above 0, \
         and it certainly does if the 95 % interval of paired differences is. The verdict is that of the validation part alone: it is right if it says *helps* and the gain on the test part is above 0, or *hurts* and it is below 0; \
         *no difference seen* claims nothing. Test parts of one data set are not independent of each other.",
        pairs.len(),
        if pairs.len() == 1 { "model" } else { "models" }
    ));
    for (words, is_binary) in [("a binary outcome", true), ("more than two classes", false)] {
        let of: Vec<&Tried> = all.iter().filter(|tried| tried.is_binary == is_binary).collect();
        if !of.is_empty() {
            tables(page, words, &of);
        }
    }
    if !failed.is_empty() {
        page.text(&format!("Without a result: {}.", failed.join("; ")));
    }
    if !left_out.is_empty() {
        page.text(&format!("Files that were left out: {}.", left_out.join("; ")));
    }
    page.csv("files", &csv(&all));
    Ok(())
}

fn tables(page: &mut Page, words: &str, all: &[&Tried]) {
    let mut methods: Vec<&str> = Vec::new();
    for tried in all {
        if !methods.contains(&tried.method.as_str()) {
            methods.push(&tried.method);
        }
    }
    page.text(&format!("Models of {words}:"));
    let mut table = Table::new([
        "method",
        "models",
        "helps",
        "certainly",
        "hurts",
        "certainly",
        "mean gain",
        "verdict helps",
        "of these right",
        "verdict hurts",
        "of these right",
        "no claim",
        "of these gain above 0",
    ]);
    for &method in &methods {
        let of: Vec<&&Tried> = all.iter().filter(|tried| tried.method == method).collect();
        let n = |is: &dyn Fn(&Tried) -> bool| of.iter().filter(|tried| is(tried)).count();
        let has = |verdict: Verdict| move |tried: &Tried| tried.verdict == verdict;
        let silent = |tried: &Tried| !matches!(tried.verdict, Verdict::Helps | Verdict::Hurts);
        let mean = of.iter().map(|tried| tried.test.gain).sum::<f64>() / of.len().max(1) as f64;
        table.row([
            method.to_owned(),
            of.len().to_string(),
            n(&|tried| tried.test.gain > 0.0).to_string(),
            n(&|tried| tried.test.verdict == Verdict::Helps).to_string(),
            n(&|tried| tried.test.gain < 0.0).to_string(),
            n(&|tried| tried.test.verdict == Verdict::Hurts).to_string(),
            fixed(mean, 4),
            n(&has(Verdict::Helps)).to_string(),
            n(&|tried| tried.verdict == Verdict::Helps && tried.test.gain > 0.0).to_string(),
            n(&has(Verdict::Hurts)).to_string(),
            n(&|tried| tried.verdict == Verdict::Hurts && tried.test.gain < 0.0).to_string(),
            n(&silent).to_string(),
            n(&|tried| silent(tried) && tried.test.gain > 0.0).to_string(),
        ]);
    }
    page.table(&table);
    let claims: Vec<&&Tried> =
        all.iter().filter(|tried| matches!(tried.verdict, Verdict::Helps | Verdict::Hurts)).collect();
    let is_right = |tried: &&&&Tried| (tried.verdict == Verdict::Helps) == (tried.test.gain > 0.0);
    let right = claims.iter().filter(is_right).count();
    let contradicted = claims.iter().filter(|tried| match tried.verdict {
        Verdict::Helps => tried.test.verdict == Verdict::Hurts,
        _ => tried.test.verdict == Verdict::Helps,
    });
    page.finding(
        Agreement::Noted,
        &format!(
            "Models of {words}: {} of {} verdicts on the validation part claim something, and {right} of these are right on the test part; {} are contradicted by the interval of the test part.",
            claims.len(),
            all.len(),
            contradicted.count()
        ),
    );
    let auto: Vec<&&Tried> = all.iter().filter(|tried| tried.method == AUTO).collect();
    let n_identity = auto.iter().filter(|tried| tried.chosen == Method::Identity).count();
    let n_hurt = auto.iter().filter(|tried| tried.test.verdict == Verdict::Hurts).count();
    page.finding(
        Agreement::Noted,
        &format!(
            "Models of {words}: auto leaves {n_identity} of {} as they are, and certainly hurts {n_hurt}.",
            auto.len()
        ),
    );
}

fn tried(pair: &Pair<'_>, name: &str, is_binary: bool) -> Result<Tried, Error> {
    let (chosen, verdict, gain, test) = match (is_binary, name) {
        (true, AUTO) => {
            let choice = with_view(&pair.validation, |view| Choose::new().n_resamples(N_RESAMPLES).run(view))?;
            let improvement = choice.improvement;
            let test = with_view(&pair.test, |view| HeldOut::new(&improvement.fit.map).run(view))?;
            (choice.chosen, improvement.verdict, improvement.gain, test)
        }
        (false, AUTO) => {
            let choice = Choose::new().n_resamples(N_RESAMPLES).run_classes(&pair.validation)?;
            let improvement = choice.improvement;
            let test = HeldOut::new(&improvement.fit.map).run_classes(&pair.test)?;
            (choice.chosen, improvement.verdict, improvement.gain, test)
        }
        (true, _) => {
            let method: Method = name.parse()?;
            let cross_fit = CrossFit::new(Recalibrate::new(method)).n_resamples(N_RESAMPLES);
            let improvement = with_view(&pair.validation, |view| cross_fit.run(view))?;
            let test = with_view(&pair.test, |view| HeldOut::new(&improvement.fit.map).run(view))?;
            (method, improvement.verdict, improvement.gain, test)
        }
        (false, _) => {
            let method: Method = name.parse()?;
            let cross_fit = CrossFit::new(Recalibrate::new(method)).n_resamples(N_RESAMPLES);
            let improvement = cross_fit.run_classes(&pair.validation)?;
            let test = HeldOut::new(&improvement.fit.map).run_classes(&pair.test)?;
            (method, improvement.verdict, improvement.gain, test)
        }
    };
    Ok(Tried { model: pair.name.clone(), is_binary, method: name.to_owned(), chosen, verdict, gain, test })
}

fn with_view<T>(
    predictions: &Predictions<'_>,
    of: impl Fn(&calipers::BinaryView<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    of(&predictions.binary()?)
}

fn csv(all: &[Tried]) -> Table {
    let mut table = Table::new([
        "model",
        "method",
        "chosen",
        "verdict",
        "validation_gain",
        "n_test",
        "test_log_loss_before",
        "test_gain",
        "test_lower",
        "test_upper",
        "test_verdict",
    ]);
    for tried in all {
        let test = &tried.test;
        let words = [tried.model.as_str(), &tried.method, tried.chosen.name(), tried.verdict.name()].map(str::to_owned);
        let numbers = [full(tried.gain), test.n.to_string()];
        let of_test = [test.log_loss_before, test.gain, test.interval.lower, test.interval.upper].map(full);
        table.row(words.into_iter().chain(numbers).chain(of_test).chain([test.verdict.name().to_owned()]));
    }
    table
}
