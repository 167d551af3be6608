//! Memory of another library, shown to numpy without a copy.

use arrow_buffer::Buffer;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dlpack::Held;

/// What keeps the memory alive.
#[derive(Debug)]
pub(crate) enum Owner {
    /// A buffer of an Arrow array, or one of our own.
    Buffer { _held: Buffer },
    /// The tensor of a DLPack capsule, which is given back when this goes.
    Tensor { _held: Held },
}

/// An array that numpy reads in place: `numpy.asarray` takes what `__array_interface__` says, and
/// keeps this object as long as it has the array. Read-only, since the memory is not ours.
#[pyclass(frozen, module = "calipers._core")]
#[derive(Debug)]
pub(crate) struct Borrowed {
    pub(crate) _owner: Owner,
    pub(crate) address: usize,
    pub(crate) shape: Vec<usize>,
    /// In bytes; rows in C order where there are none.
    pub(crate) strides: Option<Vec<isize>>,
    pub(crate) element: Element,
}

/// The type of the elements, in this machine's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// As numpy's `dtype.kind`; M is a point in time.
    pub(crate) kind: char,
    pub(crate) bytes: usize,
    /// The unit of a point in time; empty for numbers.
    pub(crate) unit: &'static str,
    /// Two bytes of kind u that are the upper half of a float32: numpy has no such type.
    pub(crate) bfloat16: bool,
}

impl Element {
    pub(crate) const fn number(kind: char, bytes: usize) -> Self {
        Self { kind, bytes, unit: "", bfloat16: false }
    }
}

impl Borrowed {
    /// The whole of a buffer.
    pub(crate) fn buffer(held: Buffer, shape: Vec<usize>, element: Element) -> Self {
        let address = held.as_ptr() as usize;
        Self { _owner: Owner::Buffer { _held: held }, address, shape, strides: None, element }
    }
}

#[pymethods]
impl Borrowed {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Element { kind, bytes, unit, .. } = self.element;
        let order = match (bytes, cfg!(target_endian = "little")) {
            (1, _) => '|',
            (_, true) => '<',
            (_, false) => '>',
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", format!("{order}{kind}{bytes}{unit}"))?;
        interface.set_item("shape", pyo3::types::PyTuple::new(py, &self.shape)?)?;
        interface.set_item("data", (self.address, true))?;
        if let Some(strides) = &self.strides {
            interface.set_item("strides", pyo3::types::PyTuple::new(py, strides)?)?;
        }
        Ok(interface)
    }

    /// Whether the elements are bfloat16, shown as their bits.
    #[getter]
    fn bfloat16(&self) -> bool {
        self.element.bfloat16
    }
}
