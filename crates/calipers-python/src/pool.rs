//! Threads for every call: pools of our own, since those of rayon's global one are not there after
//! a fork.
//!
//! Pools are looked for and kept with the GIL held. Python forks with the GIL held, too: so no fork
//! finds a lock taken.

use std::cell::Cell;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use calipers::{Error, Watch};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure::Failure;
use crate::options::{OptionValue, Options};

/// Calls on fewer scores take milliseconds, whatever the measure, unless an option asks for more.
const FEW_SCORES: usize = 1 << 13;

/// Options that can make a call on a few rows a long one.
const OPTIONS_OF_WORK: [&str; 5] = ["n_resamples", "n_samples", "n_nodes", "bandwidth", "at"];

/// More is a slip: threads of such a number would take the memory of a machine that has as many
/// cores.
const MOST_THREADS: usize = 1 << 16;

/// How long signals wait, and how often progress is told.
const LOOK: Duration = Duration::from_millis(50);

/// The number of threads that the process has asked for; 0 for as many as `RAYON_NUM_THREADS` says,
/// or else all cores.
static N_THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// That of calls by this thread, where it has asked for another.
    static N_THREADS_HERE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Serves all short calls at once.
static SHARED: Mutex<Option<Threads>> = Mutex::new(None);

/// Left by the last long call, of which each has threads of its own: what stops one call must not
/// stop another.
static SPARE: Mutex<Option<Threads>> = Mutex::new(None);

/// A pool, and what its threads look at.
#[derive(Clone)]
pub(crate) struct Threads {
    process: u32,
    n: usize,
    pool: Arc<ThreadPool>,
    watch: Arc<Watch>,
}

impl Threads {
    /// What is kept, if it is of this process and has as many threads as this call shall have; else
    /// new ones.
    fn of(kept: Option<Threads>) -> PyResult<Self> {
        let n = N_THREADS_HERE.get().unwrap_or_else(|| N_THREADS.load(Ordering::Relaxed));
        let process = std::process::id();
        match kept {
            Some(threads) if threads.process == process && threads.n == n => return Ok(threads),
            // To end a pool is to wake its threads; those of the parent are not here, and their
            // locks may be held for good.
            Some(threads) if threads.process != process => mem::forget(threads),
            _ => {}
        }
        let watch = Arc::new(Watch::new());
        let joining = watch.clone();
        let builder = ThreadPoolBuilder::new().num_threads(n).thread_name(|number| format!("calipers-{number}"));
        let pool = builder.start_handler(move |_| joining.clone().join()).build();
        let pool = pool.map_err(|error| PyRuntimeError::new_err(format!("no threads for calipers: {error}")))?;
        Ok(Threads { process, n, pool: Arc::new(pool), watch })
    }

    /// Those of all short calls.
    pub(crate) fn shared() -> PyResult<Self> {
        let mut kept = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let threads = Self::of(kept.take())?;
        *kept = Some(threads.clone());
        Ok(threads)
    }

    /// Runs `work` on them; to be called without the GIL, and with no lock held that `work` of
    /// others waits for.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }

    fn own() -> PyResult<Self> {
        let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).take();
        let threads = Self::of(spare)?;
        threads.watch.reset();
        Ok(threads)
    }

    fn spare(self) {
        *SPARE.lock().unwrap_or_else(PoisonError::into_inner) = Some(self);
    }
}

/// How long a call may take.
pub(crate) enum Length {
    /// Ended before anybody would interrupt it.
    Short,
    /// Watched: KeyboardInterrupt ends it. What is called with the share that is done, if anything.
    Long(Option<Py<PyAny>>),
}

impl Length {
    /// Of a call with these options on so many scores: those that look at many are long, and those
    /// whose options say how much there is to do.
    pub(crate) fn of(options: &Options<'_>, n_scores: usize) -> Result<Self, Failure> {
        if options.has("progress")? {
            let progress = options.get("progress")?;
            return Ok(Length::Long((!progress.is_none()).then(|| progress.unbind())));
        }
        if n_scores >= FEW_SCORES {
            return Ok(Length::Long(None));
        }
        for name in OPTIONS_OF_WORK {
            if options.has(name)? {
                return Ok(Length::Long(None));
            }
        }
        Ok(Length::Short)
    }
}

/// Runs `work` on threads, without the GIL.
pub(crate) fn run<T: Send, E: Send>(
    py: Python<'_>,
    length: Length,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, Failure>
where
    Failure: From<E>,
{
    match length {
        Length::Short => {
            let threads = Threads::shared()?;
            Ok(py.detach(|| threads.install(work))?)
        }
        Length::Long(progress) => {
            let threads = Threads::own()?;
            let done = watched(py, &threads, progress, work);
            threads.spare();
            done
        }
    }
}

/// The pool works, and this thread looks for signals.
fn watched<T: Send, E: Send>(
    py: Python<'_>,
    threads: &Threads,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, Failure>
where
    Failure: From<E>,
{
    let Threads { pool, watch, .. } = threads;
    let look = || {
        Python::attach(|py| {
            py.check_signals()?;
            match (&progress, watch.share_done()) {
                (Some(progress), Some(share)) => progress.call1(py, (share,)).map(drop),
                _ => Ok(()),
            }
        })
    };
    let (done, raised) = py.detach(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        pool.in_place_scope(|scope| {
            // proof that nobody waits for good: the channel has room for what is sent, and a panic
            // closes it
            scope.spawn(move |_| drop(sender.send(watch.guard(work))));
            let mut raised = Ok(());
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(done) => return (Some(done), raised),
                    // The scope ends, and the panic goes on.
                    Err(RecvTimeoutError::Disconnected) => return (None, raised),
                    Err(RecvTimeoutError::Timeout) if raised.is_ok() => {
                        raised = look();
                        if raised.is_err() {
                            watch.stop();
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    raised?;
    match done {
        Some(Ok(done)) => Ok(done?),
        Some(Err(_)) | None => Err(PyKeyboardInterrupt::new_err(()).into()),
    }
}

/// A number of threads, or `None` for the default.
fn n_threads(n: &Bound<'_, PyAny>) -> Result<Option<usize>, Failure> {
    if n.is_none() {
        return Ok(None);
    }
    match usize::read("n", n)? {
        n @ 1..=MOST_THREADS => Ok(Some(n)),
        n => {
            let rule = format!("an integer from 1 to {MOST_THREADS}");
            Err(Error::InvalidSetting { name: "n", rule, value: n.to_string() }.into())
        }
    }
}

/// So many threads for the calls of this process.
#[pyfunction]
pub(crate) fn set_threads(n: Bound<'_, PyAny>) -> Result<(), Failure> {
    N_THREADS.store(n_threads(&n)?.unwrap_or(0), Ordering::Relaxed);
    Ok(())
}

/// So many threads for the calls of this thread; what it was before.
#[pyfunction]
pub(crate) fn set_threads_here(n: Bound<'_, PyAny>) -> Result<Option<usize>, Failure> {
    Ok(N_THREADS_HERE.replace(n_threads(&n)?))
}
