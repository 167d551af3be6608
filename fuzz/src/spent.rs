//! What a call takes: the peak of allocated memory, and time.
//!
//! This file may be `unsafe`, since an allocator is. [`Counted`] hands every request to the
//! system's allocator as it came, and only counts.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The system's allocator, which counts bytes.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn take(n_bytes: usize) {
    let held = HELD.fetch_add(n_bytes, Ordering::Relaxed) + n_bytes;
    if held > PEAK.load(Ordering::Relaxed) {
        PEAK.fetch_max(held, Ordering::Relaxed);
    }
}

fn give_back(n_bytes: usize) {
    HELD.fetch_sub(n_bytes, Ordering::Relaxed);
}

// proof: the arguments and results are those of `System`, whose contract is that of the trait
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give_back(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        give_back(layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// What a call took.
pub(crate) struct Spent {
    /// The most that was held at once, beyond what was held before.
    pub(crate) bytes: usize,
    /// By the clock, which is read in less time than that of the processor.
    pub(crate) seconds: f64,
}

impl Spent {
    pub(crate) fn of(call: impl FnOnce()) -> Self {
        let before = HELD.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let start = Instant::now();
        call();
        let bytes = PEAK.load(Ordering::Relaxed).saturating_sub(before);
        Spent { bytes, seconds: start.elapsed().as_secs_f64() }
    }
}

/// Seconds of the processor that a call takes, over all threads.
pub(crate) fn processor_time(call: impl FnOnce()) -> f64 {
    let start = seconds();
    call();
    seconds() - start
}

/// Seconds that this process has used of the processor.
#[cfg(unix)]
fn seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // proof: the pointer is to a struct that outlives the call
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

#[cfg(not(unix))]
fn seconds() -> f64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}
