"""How many rows Spark hands to Python at once, while rows are read.

Since version 4.1 Spark asks for the bytes of a batch after each row of it. For rows of a few
numbers that is half of what the whole job costs, and the number of rows limits batches as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

# No limit of bytes, for which Spark does not ask; and two megabytes of rows.
_SETTINGS = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 15),
}


@contextmanager
def batches_of_short_rows(session: SparkSession) -> Iterator[None]:
    """Lets jobs that start in a block hand over rows in batches of 2^15, whatever their bytes.

    The settings are those of the session, so another thread's jobs have them meanwhile, too. A
    session that does not allow them to be changed keeps its own.
    """
    changed: dict[str, str | None] = {}
    try:
        try:
            for name, value in _SETTINGS.items():
                own = session.conf.get(name, None)
                # Else set by another thread, which takes it back.
                if own != value:
                    session.conf.set(name, value)
                    changed[name] = own
        except PySparkException:
            pass
        yield
    finally:
        for name, own in changed.items():
            if own is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, own)
