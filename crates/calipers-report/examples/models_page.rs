//! Prints the page of many models with made-up values, which the tests in a browser open:
//! `cargo run -p calipers-report --example models_page > page.html`. Some names are hostile, and
//! some values are 0, equal or absent.

use calipers_report::{Detail, ModelPoint, ModelsPage, models_page};

const DOMAINS: [&str; 20] = [
    "image classification",
    "tabular, finance",
    "medicine",
    "natural language inference",
    "sentiment",
    "question answering",
    "weather",
    "image segmentation",
    "speech",
    "code generation",
    "toxicity",
    "recommendation",
    "fraud",
    "satellite images",
    "biology",
    "chess",
    "sports",
    "elections",
    "law",
    "<script>alert(3)</script>",
];

/// Numbers between 0 and 1 that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal: a sum of uniform numbers.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

fn model(random: &mut Random, place: usize) -> ModelPoint {
    // The first domains have the most models.
    let domain = (20.0 * random.next().powi(2)) as usize;
    let n = 10f64.powf(2.7 + 3.0 * random.next()) as u64;
    let y = 10f64.powf(-1.5 - 0.02 * domain as f64 + 0.55 * random.normal()).min(0.6);
    let x = (y * y + 0.3 / n as f64).sqrt() * (1.0 + 0.12 * random.normal()).max(0.3);
    point(
        format!("{}-{place:03}", ["resnet", "gpt", "forest", "boosting", "bert"][place % 5]),
        DOMAINS[domain],
        n,
        x,
        y,
    )
}

fn point(name: impl Into<String>, group: &str, n: u64, x: f64, y: f64) -> ModelPoint {
    let floor = 0.4 / (n as f64).sqrt();
    let details = vec![
        Detail::number("Noise floor", floor),
        Detail::shown(
            "95 % interval",
            (y - floor).max(0.0),
            format!("[{:.4}, {:.4}]", (y - floor).max(0.0), y + floor),
        ),
        Detail::text("Verdict", if y > 2.0 * floor { "miscalibrated" } else { "no evidence" }),
    ];
    ModelPoint { name: name.into(), group: group.to_owned(), n, x, y, details }
}

fn main() {
    let mut random = Random(7);
    let mut models: Vec<ModelPoint> = (0..310).map(|place| model(&mut random, place)).collect();
    let hostile = "<script>alert(1)</script>\"'--><img src=x onerror=alert(2)>\u{2028}&amp;</script>";
    models.extend([
        point(hostile, "<script>alert(3)</script>", 1000, 0.02, 0.011),
        point("x".repeat(10_000), "law", 2000, 0.3, 0.2),
        point("\u{202e}نموذج من اليمين", "law", 3000, 0.4, 0.05),
        point("both zero", "chess", 500, 0.0, 0.0),
        point("x is zero", "chess", 500, 0.0, 0.03),
        point("y is zero", "chess", 50_000, 0.008, 0.0),
        point("equal one", "sports", 800, 0.05, 0.05),
        point("equal two", "sports", 800, 0.05, 0.05),
        point("without a value", "sports", 800, f64::NAN, 0.05),
    ]);
    let page = ModelsPage {
        title: format!("ECE and LS-ECE of {} made-up models", models.len()),
        about: vec![
            "This page tests the chart; its values are made up. Each model has an ECE with 15 bins and an LS-ECE."
                .to_owned(),
        ],
        x: "ECE, 15 bins".to_owned(),
        y: "LS-ECE".to_owned(),
        group: "domain".to_owned(),
        models,
        command: Some("cargo run -p calipers-report --example models_page".to_owned()),
    };
    print!("{}", models_page(&page));
}
