//! Names and options of measures as text, as the command, a query or JSON has them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use calipers::{
    Error, Estimate, Input, Measure, Multiclass, Setting, Settings, Sigma, Watch, on_this_thread, registry,
};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::answers::check_estimate;
use super::check_error;
use crate::{Limit, Target};

pub(super) const TARGET: Target = Target {
    name: "options",
    about: "the name of a measure, then name=value of its options, on a line each",
    max_len: 128,
    memory: Limit::new(64e6, 4096.0),
    // A call that is stopped after 20 ms ends soon after.
    seconds: Limit::new(3.0, 1e-2),
    run,
};

const P: [f64; 12] = [0.05, 0.1, 0.25, 0.3, 0.4, 0.5, 0.5, 0.65, 0.7, 0.8, 0.95, 1.0];
const Y: [u8; 12] = [0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1];

/// 1. A name or an option is rejected with an error of one line, or makes a measure.
/// 2. Its value of some rows is in the range of the measure, and its bound is not negative.
/// 3. Options that ask for much work make a call that can be stopped.
fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.split('\n');
    let name = lines.next().unwrap_or_default();
    check_names(name);
    let spec = match registry::spec(name) {
        Ok(spec) => spec,
        Err(error) => return check_error(&error),
    };
    let (mut settings, mut is_long) = (Settings::default(), false);
    for (option, text) in lines.filter_map(|line| line.split_once('=')) {
        let Some(option) = spec.option(option) else { continue };
        let setting = match option.parse(text) {
            Ok(setting) => setting,
            Err(error) => return check_error(&error),
        };
        is_long |= match &setting {
            Setting::Count(count) => *count > 1000,
            Setting::Number(number) => number.abs() < 0.01,
            Setting::Text(_) => false,
        };
        settings = settings.with(option.name, setting);
    }
    match registry::make(name, &settings) {
        Ok(measure) => check_value(&*measure, is_long),
        Err(error) => check_error(&error),
    }
}

fn check_value(measure: &dyn Measure, is_long: bool) {
    let value = || -> Result<Estimate, Error> { measure.estimate(&Input::probabilities(&P, &Y).check()?.binary()?) };
    let value = match is_long {
        true => until_stopped(value),
        false => Some(on_this_thread(value)),
    };
    match value {
        Some(Ok(estimate)) => check_estimate(&estimate),
        Some(Err(error)) => check_error(&error),
        None => {}
    }
}

/// What the call gives within 20 ms; `None` if it was stopped then.
fn until_stopped<T: Send>(call: impl Fn() -> T + Sync) -> Option<T> {
    static POOL: OnceLock<(Arc<Watch>, ThreadPool)> = OnceLock::new();
    let (watch, pool) = POOL.get_or_init(|| {
        let watch = Arc::new(Watch::new());
        let joining = watch.clone();
        let builder = ThreadPoolBuilder::new().num_threads(1).start_handler(move |_| joining.clone().join());
        (watch, builder.build().expect("a thread"))
    });
    watch.reset();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(Duration::from_millis(20)).is_err() {
                watch.stop();
            }
        });
        let result = pool.install(|| watch.guard(&call));
        let _ = done.send(());
        result.ok()
    })
}

/// Other texts with a meaning.
fn check_names(text: &str) {
    if let Err(error) = text.parse::<Multiclass>() {
        check_error(&error);
    }
    if let Err(error) = text.parse::<Sigma>() {
        check_error(&error);
    }
}
