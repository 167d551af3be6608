//! Aggregate functions: callbacks of DuckDB around a type that holds the state of a group.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;

use super::api::Handle;
use super::chunk::Chunk;
use super::result::Target;
use super::{api, c_text, guarded};

/// The state of one group of an aggregate function that returns a `BLOB`.
pub(crate) trait Aggregate: Default + Send + Sync + 'static {
    /// The name of the function, for errors.
    const NAME: &'static str;

    /// Adds the rows of a chunk to the states that they belong to.
    fn update(chunk: &Chunk<'_>, runs: &mut Runs<'_, Self>) -> Result<(), String>;

    /// Adds the rows of another state, which may be read by others at the same time.
    fn combine(&mut self, other: &Self) -> Result<(), String>;

    /// The result; `None` is NULL. The state may be used further.
    fn finish(&self) -> Result<Option<Vec<u8>>, String>;
}

/// The states that the rows of a chunk belong to, one after the other.
pub(crate) struct Runs<'a, A> {
    states: *const Handle,
    n: usize,
    lifetime: PhantomData<&'a mut A>,
}

impl<A: Aggregate> Runs<'_, A> {
    /// Calls `work` for each run of rows of the same state.
    pub(crate) fn each(
        &mut self,
        mut work: impl FnMut(Range<usize>, &mut A) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut start = 0;
        while start < self.n {
            // SAFETY: there is a pointer to a state for each row. No other reference to a state
            // exists, since that of the last run is gone.
            let (end, state) = unsafe {
                let first = *self.states.add(start);
                let same = |row: &usize| *self.states.add(*row) == first;
                let end = (start + 1..self.n).take_while(same).last().map_or(start + 1, |last| last + 1);
                (end, Slot::<A>::of(first).get_or_default())
            };
            work(start..end, state)?;
            start = end;
        }
        Ok(())
    }
}

/// The bytes that DuckDB keeps for a state: a pointer to the heap, or null for a group that has had
/// no row.
#[derive(Clone, Copy)]
struct Slot<A>(*mut *mut A);

impl<A: Aggregate> Slot<A> {
    fn of(state: Handle) -> Self {
        Slot(state.cast())
    }

    /// # Safety
    /// The slot is initialised, and there is no other reference to its state.
    unsafe fn get_or_default<'a>(self) -> &'a mut A {
        // SAFETY: as the caller promises; the pointer is null or that of a box.
        unsafe {
            if (*self.0).is_null() {
                *self.0 = Box::into_raw(Box::default());
            }
            &mut **self.0
        }
    }

    /// # Safety
    /// The slot is initialised, and nobody changes its state.
    unsafe fn get<'a>(self) -> Option<&'a A> {
        // SAFETY: as the caller promises.
        unsafe { (*self.0).as_ref() }
    }
}

/// The callbacks of an aggregate function.
pub(super) struct Callbacks<A>(PhantomData<A>);

impl<A: Aggregate> Callbacks<A> {
    pub(super) extern "C" fn size(_: Handle) -> u64 {
        size_of::<*mut A>() as u64
    }

    pub(super) extern "C" fn init(_: Handle, state: Handle) {
        // SAFETY: DuckDB passes as many bytes as `size` has returned, aligned for a pointer.
        unsafe { *Slot::<A>::of(state).0 = ptr::null_mut() };
    }

    pub(super) extern "C" fn update(info: Handle, chunk: Handle, states: *const Handle) {
        reported::<A>(info, || {
            // SAFETY: DuckDB passes a chunk of flat vectors, and a state for each of its rows, for
            // the time of this call.
            let chunk = unsafe { Chunk::read(chunk)? };
            A::update(&chunk, &mut Runs { states, n: chunk.len(), lifetime: PhantomData })
        });
    }

    pub(super) extern "C" fn combine(info: Handle, from: *const Handle, into: *const Handle, n: u64) {
        reported::<A>(info, || {
            for place in 0..n as usize {
                // SAFETY: DuckDB passes `n` states of each kind, and never one as both.
                unsafe {
                    if let Some(other) = Slot::<A>::of(*from.add(place)).get() {
                        Slot::<A>::of(*into.add(place)).get_or_default().combine(other)?;
                    }
                }
            }
            Ok(())
        });
    }

    pub(super) extern "C" fn finish(info: Handle, states: *const Handle, result: Handle, n: u64, offset: u64) {
        reported::<A>(info, || {
            // SAFETY: the result is a `BLOB` with room for `n` rows after the offset.
            let target = unsafe { Target::new(result) };
            for place in 0..n as usize {
                // SAFETY: DuckDB passes `n` states.
                let state = unsafe { Slot::<A>::of(*states.add(place)).get() };
                let row = offset as usize + place;
                match state.map(A::finish).transpose()?.flatten() {
                    Some(bytes) => target.bytes(row, &bytes),
                    None => target.null(row),
                }
            }
            Ok(())
        });
    }

    pub(super) extern "C" fn destroy(states: *const Handle, n: u64) {
        // A panic here would be one of a destructor of the core, of which there are none: nothing
        // can be reported from here.
        let _ = guarded(|| {
            for place in 0..n as usize {
                // SAFETY: DuckDB destroys each state once, and a null pointer stays behind.
                unsafe {
                    let slot = Slot::<A>::of(*states.add(place));
                    let state = ptr::replace(slot.0, ptr::null_mut());
                    if !state.is_null() {
                        drop(Box::from_raw(state));
                    }
                }
            }
            Ok(())
        });
    }
}

/// Runs the work of a callback; its error ends the query.
fn reported<A: Aggregate>(info: Handle, work: impl FnOnce() -> Result<(), String>) {
    if let Err(text) = guarded(work) {
        let text = c_text(&format!("{}: {text}", A::NAME));
        // SAFETY: `info` is that of the running callback, and DuckDB copies the text.
        unsafe { (api().aggregate_function_set_error)(info, text.as_ptr()) };
    }
}
