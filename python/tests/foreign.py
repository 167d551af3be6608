"""Columns of libraries that are not here: the protocols of DLPack and Arrow, spoken by numpy and ctypes alone."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor:
    """What torch and JAX are: the tensor of a numpy array, from before DLPack had versions."""

    device = 1

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


class VersionedTensor(Tensor):
    """One that is asked for a version, as numpy is since 2.1."""

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None) -> Any:
        return self.array.__dlpack__(max_version=max_version)


class BrainTensor(Tensor):
    """bfloat16, which numpy does not have: its bits, and the code of the type."""

    def __init__(self, array: Array) -> None:
        super().__init__(brain_bits(array))

    def __dlpack__(self) -> Any:
        return patched(self.array, code=4)


class GradientTensor(Tensor):
    """As torch's with gradients: to be detached first."""

    def __dlpack__(self) -> Any:
        raise BufferError("requires gradients")

    def detach(self) -> Tensor:
        return Tensor(self.array)


class DistantTensor(Tensor):
    """On CUDA, with a method that brings it here, and counts how often it did."""

    device = 2
    n_moves = 0

    def __dlpack__(self, **_: Any) -> Any:
        raise AssertionError("on another device")

    def cpu(self) -> Tensor:
        self.n_moves += 1
        return Tensor(self.array)


class AskedTensor(Tensor):
    """On CUDA, and moved by the protocol itself."""

    device = 2

    def __dlpack__(self, *, max_version: Any = None, dl_device: Any = None) -> Any:
        del max_version
        if dl_device != (1, 0):
            raise AssertionError("on another device")
        return self.array.__dlpack__()


class MovedTensor(Tensor):
    """On CUDA, with the method of the array API."""

    device = 2

    def __dlpack__(self) -> Any:
        raise AssertionError("on another device")

    def to_device(self, device: str) -> Tensor:
        assert device == "cpu"
        return Tensor(self.array)


def brain_bits(array: Array) -> NDArray[np.uint16]:
    """The upper halves of float32; the lower ones are cut off."""
    return (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


# Where the fields of an unversioned tensor are.
_FIELDS = {"device": (8, ctypes.c_int32), "ndim": (16, ctypes.c_int32), "code": (20, ctypes.c_uint8)}
_FIELDS |= {"bits": (21, ctypes.c_uint8), "lanes": (22, ctypes.c_uint16)}


def patched(array: Array, **fields: int) -> Any:
    """The capsule of an array with other fields."""
    capsule = array.__dlpack__()
    address = _api.PyCapsule_GetPointer(capsule, b"dltensor")
    for name, value in fields.items():
        offset, kind = _FIELDS[name]
        kind.from_address(address + offset).value = value
    return capsule


class _Schema(ctypes.Structure):
    pass


class _Column(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", _Release),
    ("private_data", ctypes.c_void_p),
]
_Column._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Column))),
    ("dictionary", ctypes.POINTER(_Column)),
    ("release", _Release),
    ("private_data", ctypes.c_void_p),
]
_Fill = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_Text = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_Stream._fields_ = [
    ("get_schema", _Fill),
    ("get_next", _Fill),
    ("get_last_error", _Text),
    ("release", _Release),
    ("private_data", ctypes.c_void_p),
]

# What lives until it is released, by its number.
_held: dict[int, tuple[type, object]] = {}
_numbers = itertools.count(1)


def n_held() -> int:
    """How many exported columns and streams nobody has released; a schema belongs to its capsule."""
    return sum(struct is not _Schema for struct, _ in _held.values())


def _releases(struct: type[ctypes.Structure]) -> Any:
    def release(address: int) -> None:
        exported: Any = struct.from_address(address)
        for child in range(getattr(exported, "n_children", 0)):
            release(ctypes.addressof(exported.children[child].contents))
        exported.release = _Release(0)
        _held.pop(exported.private_data)

    return _Release(release)


_release = {struct: _releases(struct) for struct in (_Schema, _Column, _Stream)}


def _export(struct: Any, *keep: object) -> Any:
    number = next(_numbers)
    struct.private_data = number
    struct.release = _release[type(struct)]
    _held[number] = type(struct), keep
    return struct


def _pointers(structs: list[Any], kind: Any) -> Any:
    return (ctypes.POINTER(kind) * len(structs))(*(ctypes.pointer(struct) for struct in structs))


def _capsule(struct: Any, name: bytes) -> Any:
    """Without a destructor: a column that nobody takes is never released, which tests would see."""
    _structs.append(struct)
    return _api.PyCapsule_New(ctypes.addressof(struct), name, None)


_structs: list[object] = []
_FORMATS = {"e": b"e", "f": b"f", "d": b"g", "b": b"c", "B": b"C", "h": b"s", "H": b"S", "i": b"i", "I": b"I"}
_FORMATS |= {"l": b"l", "L": b"L", "?": b"b"}


def _schema(array: Array) -> _Schema:
    schema = _Schema(name=b"", flags=2, n_children=0)
    if array.ndim == 2:
        child = _schema(array[:, 0])
        children = _pointers([child], _Schema)
        schema.format, schema.n_children, schema.children = f"+w:{array.shape[1]}".encode(), 1, children
        return _export(schema, child, children)
    schema.format = b"u" if array.dtype.kind == "U" else _FORMATS[array.dtype.char]
    return _export(schema)


def _column(array: Array, valid: Array | None) -> _Column:
    values: list[Array | None]
    column = _Column(length=len(array), null_count=0 if valid is None else int((~valid).sum()), n_children=0)
    keep: list[object] = []
    if array.ndim == 2:
        child = _column(np.ascontiguousarray(array).ravel(), None)
        column.n_children, column.children = 1, _pointers([child], _Column)
        keep, values = [child, column.children], []
    elif array.dtype.kind == "U":
        texts = [text.encode() for text in array.tolist()]
        offsets = np.cumsum([0, *map(len, texts)], dtype=np.int32)
        values = [offsets, np.frombuffer(b"".join(texts), np.uint8)]
    elif array.dtype.kind == "b":
        values = [np.packbits(array, bitorder="little")]
    else:
        values = [np.ascontiguousarray(array)]
    bits = None if valid is None else np.packbits(valid, bitorder="little")
    buffers: list[Array | None] = [bits, *values]
    addresses = (ctypes.c_void_p * len(buffers))(*(None if part is None else part.ctypes.data for part in buffers))
    column.n_buffers, column.buffers = len(buffers), addresses
    return _export(column, buffers, addresses, *keep)


class ArrowColumn:
    """What a pyarrow array is; (n, k) is a column of lists. Text of kind U, too."""

    def __init__(self, array: Array, missing: Array | None = None) -> None:
        self.array, self.valid = array, None if missing is None else ~missing

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        assert requested_schema is None
        column = _column(self.array, self.valid)
        return _capsule(_schema(self.array), b"arrow_schema"), _capsule(column, b"arrow_array")


class ArrowStream:
    """What a chunked array or a table is: chunks, one after the other, and then a failure, if it has a text."""

    def __init__(self, *chunks: Array, failure: bytes | None = None, frame: bool = False) -> None:
        self.chunks, self.failure, self.frame = chunks, failure, frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        assert requested_schema is None
        left = iter(self.chunks)

        def get_schema(_: int, out: int) -> int:
            _move(self._schema(), out)
            return 0

        def get_next(_: int, out: int) -> int:
            chunk = next(left, None)
            if chunk is not None:
                _move(self._rows(chunk), out)
            elif self.failure is not None:
                return 5
            return 0

        text = ctypes.create_string_buffer(self.failure) if self.failure else None
        callbacks = (
            _Fill(get_schema),
            _Fill(get_next),
            _Text(lambda _: None if text is None else ctypes.addressof(text)),
        )
        return _capsule(_export(_Stream(*callbacks), callbacks), b"arrow_array_stream")

    def _schema(self) -> _Schema:
        if not self.frame:
            return _schema(self.chunks[0])
        parts = [_schema(self.chunks[0][:, column]) for column in range(self.chunks[0].shape[1])]
        children = _pointers(parts, _Schema)
        whole = _Schema(format=b"+s", name=b"", n_children=len(parts), children=children)
        return _export(whole, parts, children)

    def _rows(self, chunk: Array) -> _Column:
        if not self.frame:
            return _column(chunk, None)
        parts = [_column(chunk[:, column], None) for column in range(chunk.shape[1])]
        children, buffers = _pointers(parts, _Column), (ctypes.c_void_p * 1)(None)
        whole = _Column(length=len(chunk), n_buffers=1, buffers=buffers, n_children=len(parts), children=children)
        return _export(whole, parts, children, buffers)


def _move(struct: Any, address: int) -> None:
    """The struct to where the consumer wants it, as C would assign it."""
    ctypes.memmove(address, ctypes.addressof(struct), ctypes.sizeof(struct))
