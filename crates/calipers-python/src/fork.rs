//! Forks while another thread has the lock of a sketch.
//!
//! The child of a fork has only the thread that called it. A lock that another thread held is never
//! given back there, and what it guards may be half changed. So a fork waits until no lock is held:
//! 1. Every call that takes such a lock is counted from before it gives up the GIL until after it
//!    gave the lock back.
//! 2. Python calls [`before_fork`] with the GIL held. It returns when the count is 0, again with
//!    the GIL, which no other thread gets before the fork: so no call begins in between.
//! 3. While a fork waits, calls that begin let it go first, so that it waits for a batch and not
//!    for the end of a loop.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pyo3::prelude::*;

/// Calls that have a lock, or will.
static N_ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// Forks that wait.
static N_FORKS: AtomicUsize = AtomicUsize::new(0);

/// How long a look at either takes to come again.
const LOOK: Duration = Duration::from_micros(200);

/// So often a call lets forks go first: then it goes on, since the call that a fork waits for may
/// be one that this one is part of.
const MOST_LOOKS: u32 = 500;

/// A call that may take a lock, counted as long as this lives.
pub(crate) struct Active;

impl Active {
    /// To be made with the GIL, before anything is locked.
    pub(crate) fn begin(py: Python<'_>) -> Self {
        for _ in 0..MOST_LOOKS {
            if N_FORKS.load(Ordering::Acquire) == 0 {
                break;
            }
            py.detach(|| std::thread::sleep(LOOK));
        }
        N_ACTIVE.fetch_add(1, Ordering::AcqRel);
        Active
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        N_ACTIVE.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Runs `work`, which may take the locks of sketches, without the GIL.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let _active = Active::begin(py);
    py.detach(work)
}

/// Waits until no thread has a lock.
#[pyfunction]
fn before_fork(py: Python<'_>) {
    N_FORKS.fetch_add(1, Ordering::AcqRel);
    while N_ACTIVE.load(Ordering::Acquire) > 0 {
        py.detach(|| std::thread::sleep(LOOK));
    }
}

#[pyfunction]
fn after_fork() {
    // proof: called once after each `before_fork`, by the same thread
    N_FORKS.fetch_sub(1, Ordering::AcqRel);
}

/// The child has no other thread that could wait.
#[pyfunction]
fn after_fork_in_child() {
    N_FORKS.store(0, Ordering::Release);
    N_ACTIVE.store(0, Ordering::Release);
}

/// Has Python call these functions around each `os.fork`, where systems have that.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let Ok(register) = py.import("os")?.getattr("register_at_fork") else { return Ok(()) };
    let hooks = pyo3::types::PyDict::new(py);
    hooks.set_item("before", wrap_pyfunction!(before_fork, module)?)?;
    hooks.set_item("after_in_parent", wrap_pyfunction!(after_fork, module)?)?;
    hooks.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, module)?)?;
    register.call((), Some(&hooks)).map(drop)
}
