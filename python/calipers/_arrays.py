"""An array of any library -> a numpy array, without a copy where possible, and its missing marks.

    __arrow_c_array__, __arrow_c_stream__   pyarrow, polars, pandas, DuckDB   -> Arrow
    __dlpack__                              torch, JAX, CuPy                  -> DLPack
    toarray                                 scipy.sparse                      -> numpy
    buffer, __array__, lists                numpy, pandas                     -> numpy

Nothing here knows a library, and none is imported: values are read through a protocol. Values with
several protocols are read through the first of them, since Arrow alone has nulls. Values whose
columns are numpy arrays are read as such, since an Arrow export would copy them and turn NaN into
null.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike as NumpyLike
from numpy.typing import NDArray

from calipers import _core

if TYPE_CHECKING:
    from calipers._core import _Chunk

Array: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]


class SupportsDLPack(Protocol):
    """A tensor, on any device: torch, JAX, CuPy."""

    def __dlpack__(self) -> object: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...


class SupportsArrowArray(Protocol):
    """An array or a record batch: pyarrow, nanoarrow."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]: ...


class SupportsArrowStream(Protocol):
    """A chunked array, a table or a stream of either: pyarrow, polars, pandas, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


ArrayLike: TypeAlias = NumpyLike | SupportsDLPack | SupportsArrowArray | SupportsArrowStream


class Read(NamedTuple):
    """An array, and its missing elements or rows, if any."""

    array: Array
    missing: Mask | None


def read_array(values: object, what: str) -> Read:
    """The values of `what`; a `CalipersError` if no protocol can read them."""
    if hasattr(values, "predict_proba"):
        hint = "pass its predict_proba(X), or use calipers.sklearn"
        raise _core.input_error("wrong_type", what, f"an estimator, {type(values).__name__}; {hint}")
    try:
        for protocols, reader in _READERS:
            if any(hasattr(values, protocol) for protocol in protocols) and not _is_of_numpy(values):
                found = reader(values, what)
                if found is not None:
                    return found
        return _through_numpy(values, what)
    except (_core.CalipersError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        got = type(values).__name__ + (f" ({reason})" if reason else "")
        raise _core.input_error("wrong_type", what, got) from error


def _is_of_numpy(values: object) -> bool:
    """Whether it is numpy's, or a series or frame that says that all of its columns are."""
    if isinstance(values, (np.ndarray, np.generic)):
        return True
    if not hasattr(values, "__array__") or hasattr(values, "__dlpack__"):
        return False
    dtypes = getattr(values, "dtypes", None)
    named = list(dtypes) if isinstance(dtypes, Iterable) else [getattr(values, "dtype", dtypes)]
    # Sparse columns of pandas have the type of their values as `subtype`.
    return all(isinstance(getattr(dtype, "subtype", dtype), np.dtype) for dtype in named)


def _through_numpy(values: object, what: str) -> Read:
    try:
        array: Array = np.asanyarray(values)
    except ValueError:
        if not isinstance(values, (list, tuple)):
            raise
        raise _core.input_error("shape", what, "rows of different lengths") from None
    if array.ndim == 0 and array.dtype.kind == "O":
        raise _core.input_error("wrong_type", what, type(values).__name__)
    missing = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    array = np.asarray(array)
    # What jax and ml_dtypes add to numpy.
    return Read(_widened(array.view(np.uint16)) if array.dtype.name == "bfloat16" else array, missing)


def _through_toarray(values: Any, what: str) -> Read:  # noqa: ARG001 (the signature of all readers)
    """A sparse matrix, with its zeros."""
    return Read(np.asarray(values.toarray()), None)


def _through_dlpack(values: object, what: str) -> Read | None:  # noqa: ARG001 (the signature of all readers)
    """A tensor without its gradients, from this machine's memory or moved there once."""
    tensor: Any = values
    if hasattr(tensor, "detach"):
        tensor = tensor.detach()
    options: dict[str, object] = {}
    if int(tensor.__dlpack_device__()[0]) not in _HOST_DEVICES:
        if hasattr(tensor, "cpu"):
            tensor = tensor.cpu()
        else:
            options["dl_device"] = _CPU
    try:
        capsule = tensor.__dlpack__(max_version=(1, 0), **options)
    except TypeError:
        # From before versions; it has no word for another device either, but may have a method.
        capsule = (tensor.to_device("cpu") if options else tensor).__dlpack__()
    except BufferError:
        # The protocol's word for a type that it does not have.
        if hasattr(tensor, "__array__"):
            return None
        raise
    borrowed = _core.dlpack(capsule)
    array = np.asarray(borrowed)
    return Read(_widened(array) if borrowed.bfloat16 else array, None)


# The processor, and memory that CUDA or ROCm has pinned for it.
_CPU = (1, 0)
_HOST_DEVICES = (1, 3, 11)


def _widened(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """bfloat16 as the float32 that has the same upper half."""
    wide = bits.astype(np.uint32, order="C")
    wide <<= 16
    return wide.view(np.float32)


def _through_arrow(values: object, what: str) -> Read | None:
    """An array, or the columns of a table side by side."""
    try:
        columns = [_joined(chunks, what) for chunks in _core.arrow(values, what)]
    except ImportError:
        # pandas exports by pyarrow, which is not everywhere.
        if hasattr(values, "__array__"):
            return None
        raise
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple) and len(shape) == 2 and shape[1] != len(columns) and hasattr(values, "__array__"):
        # pandas exports the index of a frame as one more column.
        return None
    if len(columns) == 1:
        return columns[0]
    if not columns:
        raise _core.input_error("shape", what, "a table without columns")
    if any(column.array.ndim > 1 for column in columns):
        raise _core.input_error("shape", what, f"lists in a table of {len(columns)} columns")
    array = np.stack([column.array for column in columns], axis=1)
    return Read(array, np.stack([_marks(column) for column in columns], axis=1))


def _joined(chunks: list[_Chunk], what: str) -> Read:
    """A chunk as it is, several as one copy."""
    parts = [_of_chunk(chunk) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    # Chunks without values know neither the type nor the length of lists.
    known = [part for part in parts if len(part.array) and not (part.missing is not None and part.missing.all())]
    shapes = {part.array.shape[1:] for part in known}
    if len(shapes) > 1:
        raise _core.input_error("shape", what, "rows of different lengths")
    arrays = [part.array for part in known]
    if len(known) < len(parts) and known:
        nothing = None if known[0].array.dtype.kind == "O" else 0
        if known[0].array.ndim > 1:
            n_rows, n_known = (sum(len(part.array) for part in some) for some in (parts, known))
            _core.check_missing_lists(n_rows - n_known, n_rows, known[0].array.shape[1], what)
        empty = np.full((1, *known[0].array.shape[1:]), nothing, known[0].array.dtype)
        is_known = {id(part) for part in known}
        arrays = [part.array if id(part) in is_known else np.repeat(empty, len(part.array), axis=0) for part in parts]
    missing = None
    if any(part.missing is not None for part in parts):
        missing = np.concatenate([_marks(part) for part in parts])
    return Read(np.concatenate(arrays or [part.array for part in parts]), missing)


def _marks(part: Read) -> Mask:
    return np.zeros(len(part.array), np.bool_) if part.missing is None else part.missing


def _of_chunk(chunk: _Chunk) -> Read:
    values = chunk["values"]
    if isinstance(values, list):
        array: Array = np.empty(len(values), dtype=object)
        array[:] = values
    else:
        array = np.asarray(values)
    if chunk["keys"] is not None:
        array = array[np.asarray(chunk["keys"])]
    missing = None if chunk["nulls"] is None else cast("Mask", np.asarray(chunk["nulls"]))
    return Read(array, missing)


_READERS = (
    (("__arrow_c_array__", "__arrow_c_stream__"), _through_arrow),
    (("__dlpack__",), _through_dlpack),
    (("toarray",), _through_toarray),
)
