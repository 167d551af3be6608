"""Sketches as rows of Parquet.

Keys and bytes, as the command and Spark read and write them, too.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from calipers._core import CalipersError
from calipers._documented import documented
from calipers._errors import coded_error
from calipers._sketch import Sketch

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers._arrays import SupportsArrowStream

Place: TypeAlias = str | os.PathLike[str]

# The column of bytes; every other column is a key.
SKETCH = "sketch"

# When a window of a stream begins, and what the folders are named by that its micro-batches are
# written to.
START = "window_start"
QUERY, BATCH = FOLDERS = ("query", "batch")


def read_sketches(source: Place | SupportsArrowStream) -> dict[Any, Sketch]:
    """The sketches of a file, a folder or a table, by their keys; those of one key are merged.

    Parameters
    ----------
    source : str, path or table
        A Parquet file or folder that ``calipers sketch --by``, `write_sketches` or `calipers.spark`
        has written, or an Arrow table of pyarrow, polars or DuckDB: a binary column ``sketch``,
        every other column being a key.

    Returns
    -------
    dict
        The key is the value of the one column of keys, a tuple where there are several, and ``()``
        where there is none.

    Notes
    -----
    Needs pyarrow, which ``import calipers`` does not. ``docs/sketch-format.md`` has the layout.

    Examples
    --------
    >>> import calipers as cal
    >>> monday, tuesday = cal.Sketch().update([1, 0], [0.9, 0.2]), cal.Sketch().update([0], [0.3])
    >>> days = {"mon": monday, "tue": tuesday}
    >>> cal.write_sketches(days, "days.parquet", by="day")  # doctest: +SKIP
    >>> cal.read_sketches("days.parquet")["mon"]  # doctest: +SKIP
    Sketch(n=2, scores='probabilities', resolution=12, n_cells=2)
    """
    pyarrow = _pyarrow()
    if isinstance(source, (str, os.PathLike)):
        import pyarrow.parquet as parquet

        # A file is opened once, so that all of it is of one writer.
        path = Path(source)
        with path.open("rb") if path.is_file() else nullcontext(os.fspath(path)) as opened:
            table = parquet.read_table(opened)
    else:
        table = pyarrow.table(source)
    _check(table)
    # The folders of a stream tell its micro-batches apart, which are no groups.
    no_keys = (SKETCH, *FOLDERS) if START in table.column_names else (SKETCH,)
    keys = [name for name in table.column_names if name not in no_keys]
    rows = zip(*(table.column(name).to_pylist() for name in keys), strict=True) if keys else [()] * table.num_rows
    found: dict[Any, Sketch] = {}
    for key, data in zip(rows, table.column(SKETCH).to_pylist(), strict=True):
        if data is None:
            raise _wrong_column("sketches must not be missing")
        place = key[0] if len(key) == 1 else tuple(key)
        sketch = Sketch.from_bytes(data)
        if place in found:
            found[place].merge(sketch)
        else:
            found[place] = sketch
    return found


@documented
def write_sketches(sketches: Mapping[Any, Sketch], path: Place, *, by: str | Sequence[str] = ()) -> None:
    """Writes sketches to a Parquet file, for `read_sketches`, the command and Spark.

    The file has a row for each sketch.

    Parameters
    ----------
    sketches : mapping
        Sketches by their keys: a value for one column, a tuple for several, ``()`` for none.
    path : str or path
        The file; it appears whole or not at all.
    by : str or sequence of str
        Names of the columns of keys.

    Examples
    --------
    >>> import calipers as cal
    >>> sketch = cal.Sketch().update([1, 0], [0.9, 0.2])
    >>> cal.write_sketches({"mon": sketch}, "days.parquet", by="day")  # doctest: +SKIP
    """
    pyarrow = _pyarrow()
    import pyarrow.parquet as parquet

    names = [by] if isinstance(by, str) else list(by)
    if SKETCH in names:
        raise _wrong_column(f"keys must not be called {SKETCH!r}, as the column of sketches is")
    keys = [key if isinstance(key, tuple) and len(names) != 1 else (key,) for key in sketches]
    for key in keys:
        if len(key) != len(names):
            raise _wrong_column(f"keys must have a value for each of {names}, got {key!r}")
    columns = {name: [key[place] for key in keys] for place, name in enumerate(names)}
    data = pyarrow.array([sketch.to_bytes() for sketch in sketches.values()], pyarrow.binary())
    table = pyarrow.table({**columns, SKETCH: data})
    with _replacing(path) as file:
        parquet.write_table(table, file)


@contextmanager
def _replacing(path: Place) -> Iterator[IO[bytes]]:
    """A file beside the path that takes its place once it is whole and durable, or is removed.

    Its name is new, so that several writers of one path do not meet: the last one stays. The name
    is one that the command removes if a process was killed, unless the file is locked.
    """
    # A link stays, and what it points to is replaced.
    place = Path(os.path.realpath(path))
    unfinished = place.with_name(f".calipers-{secrets.token_hex(8)}.unfinished")
    try:
        with unfinished.open("xb") as file:
            if fcntl is not None:
                # Some file systems have no locks.
                with suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(place)
        _sync_folder(place.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check(table: pa.Table) -> None:
    names = table.column_names
    kind = str(table.schema.field(SKETCH).type) if names.count(SKETCH) == 1 else ""
    if kind not in ("binary", "large_binary", "binary_view"):
        shown = ", ".join(f"{field.name} {field.type}" for field in table.schema)
        raise _wrong_column(f"sketches must be in a binary column {SKETCH!r}, got {shown}")


def _wrong_column(text: str) -> CalipersError:
    return coded_error("wrong_column", text)


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("rows of sketches need pyarrow, which is not installed: pip install pyarrow") from error
    return pa
