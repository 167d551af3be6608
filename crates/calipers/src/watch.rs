//! Long calls that can be stopped from another thread, and that report their progress.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A flag by which a long call can be stopped, and its progress.
///
/// A watch belongs to threads, not to arguments: make a rayon pool for the call whose
/// `start_handler` calls [`join`](Watch::join), and run the call in it. Threads that have joined
/// none, such as those of rayon's global pool, check nothing and count nothing.
///
/// # How work stops
/// Long loops check the watch once for each chunk of rows, draw or run. Where it was
/// stopped they unwind as a panic would, without a message, and [`guard`](Watch::guard) catches
/// that. So results need no case for "interrupted", and nothing incomplete is returned. What
/// unwinds is dropped; only what a call changes in place must not be used after. Programs that are
/// built to abort where others unwind must not stop a watch.
///
/// # Example
/// ```
/// use calipers::{BinnedEce, Assess, Input, Stopped, Watch};
/// use std::sync::Arc;
///
/// let watch = Arc::new(Watch::new());
/// let joining = watch.clone();
/// let pool = rayon::ThreadPoolBuilder::new().start_handler(move |_| joining.clone().join()).build()?;
/// let predictions = Input::probabilities(&[0.2, 0.7, 0.9, 0.4], &[0, 1, 1, 0]).check()?;
/// let view = predictions.binary()?;
/// let assess = || pool.install(|| watch.guard(|| Assess::new(&BinnedEce::new()).run(&view)));
/// assert!(assess().is_ok());
/// assert_eq!(watch.share_done(), Some(1.0));
/// watch.stop();
/// assert_eq!(assess().err(), Some(Stopped));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Watch {
    stopped: AtomicBool,
    /// Of a simulation. What is drawn inside of runs is not shown.
    runs: Count,
    draws: Count,
}

/// Steps of one kind.
#[derive(Debug, Default)]
struct Count {
    expected: AtomicU64,
    done: AtomicU64,
}

/// The call did not finish, because its [`Watch`] was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped before it was finished")]
pub struct Stopped;

thread_local! {
    static JOINED: RefCell<Option<Arc<Watch>>> = const { RefCell::new(None) };
}

impl Watch {
    /// Not stopped, and nothing done.
    pub fn new() -> Self {
        Self::default()
    }

    /// This thread checks the watch from now on.
    pub fn join(self: Arc<Self>) {
        JOINED.set(Some(self));
    }

    /// Ends the work of all threads that have joined.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// As new: for the next call of the same threads.
    pub fn reset(&self) {
        self.stopped.store(false, Ordering::Relaxed);
        for count in [&self.runs, &self.draws] {
            count.expected.store(0, Ordering::Relaxed);
            count.done.store(0, Ordering::Relaxed);
        }
    }

    /// The share of runs that have begun, or of draws where there are no runs; `None` where there
    /// are neither.
    pub fn share_done(&self) -> Option<f64> {
        let share = |count: &Count| match count.expected.load(Ordering::Relaxed) {
            0 => None,
            expected => Some((count.done.load(Ordering::Relaxed) as f64 / expected as f64).min(1.0)),
        };
        share(&self.runs).or_else(|| share(&self.draws))
    }

    /// What `work` gives, unless the watch was stopped while a thread was still checking it.
    /// Panics go on.
    pub fn guard<T>(&self, work: impl FnOnce() -> T) -> Result<T, Stopped> {
        // Whoever gives `work` uses nothing that it changes in place once it is stopped; see above.
        panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload: Box<dyn Any + Send>| {
            match payload.downcast::<Stopped>() {
                Ok(stopped) => *stopped,
                Err(panic) => panic::resume_unwind(panic),
            }
        })
    }
}

/// Ends the work of this thread where its watch was stopped. For loops of which one round takes
/// well below a second; parallel ones have a `panic_fuse`, without which each of the other items is
/// begun and unwinds, too: seconds for a million.
pub(crate) fn check() {
    let stopped = JOINED.with_borrow(|watch| watch.as_ref().is_some_and(|watch| watch.stopped.load(Ordering::Relaxed)));
    if stopped {
        panic::resume_unwind(Box::new(Stopped));
    }
}

/// So many draws are to come.
pub(crate) fn expect_draws(n: u64) {
    add(n, |watch| &watch.draws.expected);
}

/// So many runs of a simulation are to come.
pub(crate) fn expect_runs(n: u64) {
    add(n, |watch| &watch.runs.expected);
}

/// A draw begins; or the work of this thread ends.
pub(crate) fn draw_begins() {
    check();
    add(1, |watch| &watch.draws.done);
}

/// A run of a simulation begins; or the work of this thread ends.
pub(crate) fn run_begins() {
    check();
    add(1, |watch| &watch.runs.done);
}

fn add(n: u64, count: impl Fn(&Watch) -> &AtomicU64) {
    JOINED.with_borrow(|watch| {
        if let Some(watch) = watch {
            count(watch).fetch_add(n, Ordering::Relaxed);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    fn pool_of(watch: &Arc<Watch>) -> rayon::ThreadPool {
        let watch = watch.clone();
        rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(move |_| watch.clone().join()).build().unwrap()
    }

    #[test]
    fn stopping_ends_an_endless_loop_of_its_own_pool_only() {
        let watches = [Arc::new(Watch::new()), Arc::new(Watch::new())];
        let pools = watches.each_ref().map(pool_of);
        watches[1].stop();
        let numbers = || {
            (0..1000u64).into_par_iter().map(|number| {
                draw_begins();
                number
            })
        };
        assert_eq!(pools[0].install(|| watches[0].guard(|| numbers().sum::<u64>())), Ok(499_500));
        assert_eq!(pools[1].install(|| watches[1].guard(|| numbers().sum::<u64>())), Err(Stopped));
        watches[1].reset();
        assert_eq!(pools[1].install(|| watches[1].guard(|| numbers().sum::<u64>())), Ok(499_500));
    }

    #[test]
    fn runs_are_shown_before_draws_and_nothing_where_there_are_none() {
        let watch = Arc::new(Watch::new());
        pool_of(&watch).install(|| {
            assert_eq!(watch.share_done(), None);
            expect_draws(4);
            draw_begins();
            assert_eq!(watch.share_done(), Some(0.25));
            expect_runs(2);
            run_begins();
            assert_eq!(watch.share_done(), Some(0.5));
        });
    }

    #[test]
    fn a_panic_that_is_none_of_ours_goes_on() {
        let caught = panic::catch_unwind(|| Watch::new().guard(|| panic::resume_unwind(Box::new("a bug"))));
        assert_eq!(caught.map_err(|payload| *payload.downcast::<&str>().unwrap()), Err::<Result<(), _>, _>("a bug"));
    }
}
