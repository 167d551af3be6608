"""DLPack and Arrow structs with random wrong fields: `python random_producers.py SEED N_RUNS`.

Prints how many calls gave an answer and how many an error. Pointers are null or valid, and sizes that
are not rejected stay in the memory of the producer, since no consumer can tell more (SECURITY.md).
"""

from __future__ import annotations

import ctypes
import random
import sys
from typing import Any

import calipers as cal
import foreign
import numpy as np
from test_hostile import HostileColumn

N = 64
P = np.linspace(0.02, 0.98, N)
Y = (np.arange(N) * 37 % N) / N < P


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("manager", ctypes.c_void_p), ("deleter", _Deleter)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    ]


class HostileTensor:
    """A tensor whose struct is made here. Memory on both sides of the elements belongs to it."""

    def __init__(
        self, *, versioned: bool = False, major: int = 1, shape: Any = (N,), strides: Any = None, **fields: Any
    ):
        self.memory = np.full(4096, 0.5)
        self.memory[2048 : 2048 + N] = P
        self.n_deleted = 0
        self.deleter = _Deleter(self._delete)
        self.shape = None if shape is None else (ctypes.c_int64 * max(1, len(shape)))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * max(1, len(strides)))(*strides)
        tensor = _DLTensor(data=self.memory[2048:].ctypes.data, device_type=1, ndim=1, code=2, bits=64, lanes=1)
        if self.shape is not None:
            tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        if self.strides is not None:
            tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        for name, value in fields.items():
            setattr(tensor, name, value)
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        self.struct: Any = (
            _Versioned(major=major, deleter=self.deleter, tensor=tensor)
            if versioned
            else _Managed(tensor=tensor, deleter=self.deleter)
        )

    def _delete(self, _address: int) -> None:
        self.n_deleted += 1

    def __dlpack__(self, **_: Any) -> Any:
        return foreign._api.PyCapsule_New(ctypes.addressof(self.struct), self.name, None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


ENDS = [-(2**63), -1, 0, 1, 2, 2**31, 2**32, 2**62, 2**63 - 1]
# For columns of eight bytes a row, which no other of these exceeds; and for all columns.
TYPES = [b"f", b"e", b"l", b"i", b"c", b"b", b"u", b"U", b"z", b"vu", b"n", b"+l", b"+w:2", b"+s"]
TYPES += [b"tdD", b"w:8", b"+r"]
TEXTS = [None, b"", b"?", b"\xff", b"g\xff", b"w:-1", b"+w:-1", b"+ud:0", b"+m"]
COLUMNS = [P, P.astype(np.float32), np.stack([P, 1 - P], axis=1), Y]


def random_tensor(chance: random.Random) -> HostileTensor:
    """Sizes and strides are within the memory of the producer, or such that no memory has them."""
    choose = chance.choice
    n_dimensions = choose([0, 1, 1, 1, 2, 3, -1, 65, 2**31 - 1])
    n = max(1, min(abs(n_dimensions), 65))
    shape = (choose([0, 1, 2, 7, N, N, N, choose([-(2**63), -1, 2**62])]), *(choose([0, 1, 2]) for _ in range(n - 1)))
    strides = tuple(choose([0, 1, -1, 2, choose([-(2**63), 2**62])]) for _ in range(n))
    fields: dict[str, Any] = {"data": None} if chance.random() < 0.05 else {}
    return HostileTensor(
        versioned=chance.random() < 0.5,
        major=choose([0, 1, 1, 1, 2]),
        shape=None if chance.random() < 0.05 else shape,
        strides=strides if chance.random() < 0.6 else None,
        ndim=n_dimensions,
        code=choose([0, 1, 2, 2, 2, 3, 4, 5, 6, 255]),
        bits=choose([0, 1, 8, 16, 32, 64, 64, 64, 128, 255]),
        lanes=choose([0, 1, 1, 1, 1, 2]),
        device_type=choose([1, 1, 1, 1, 3, 11, 2, -1, 0]),
        byte_offset=choose([0, 0, 0, 1, 3, 8, 64, 2**64 - 1]),
        **fields,
    )


def random_column(chance: random.Random) -> HostileColumn:
    """A column with one to three wrong fields."""

    def change_once(schema: Any, column: Any) -> None:
        choose = chance.choice
        match chance.randrange(9):
            case 0:
                schema.format = choose([*TEXTS, *TYPES] if schema.format == b"g" else TEXTS)
            case 1:
                schema.n_children = choose(ENDS)
            case 2:
                schema.flags = choose(ENDS)
            case 3:
                schema.release = foreign._Release(0)
            case 4:
                column.length = choose([-(2**63), -1, 0, 1, N, 2**62])
            case 5:
                column.offset = choose([-(2**63), -1, 0, 2**62])
            case 6:
                column.n_buffers = choose([-(2**63), -1, 0, 1])
            case 7:
                column.null_count = choose(ENDS)
            case _:
                column.release = foreign._Release(0)

    def change(schema: Any, column: Any) -> None:
        for _ in range(chance.randrange(1, 4)):
            change_once(schema, column)

    return HostileColumn(change, chance.choice(COLUMNS))


def main(seed: int, n_runs: int) -> None:
    """Each struct as probabilities or as outcomes of a call."""
    chance = random.Random(seed)
    n_answers = 0
    for _ in range(n_runs):
        other = chance.choice([random_tensor, random_column])(chance)
        try:
            as_outcomes = chance.random() < 0.5
            value: float = cal.expected_calibration_error(other, P) if as_outcomes else cal.ls_ece(Y, other, sigma=0.2)
        except (cal.CalipersError, TypeError, ValueError, OverflowError, MemoryError):
            continue
        finally:
            # Nobody else gives back what no consumer took.
            foreign._structs.clear()
        assert 0.0 <= value <= 1.0, value
        n_answers += 1
    print(n_answers, n_runs - n_answers)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
