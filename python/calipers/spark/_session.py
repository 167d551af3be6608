"""The Spark session of those who have not made one."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from calipers.spark._requirements import check_java


def session(master: str | None = None, **settings: str) -> SparkSession:
    """The Spark session that is active, or a new one.

    What it needs and is missing is said before it starts.

    Parameters
    ----------
    master : str, optional
        Where a new session runs, as ``"local[2]"``; that of Spark's own configuration unless given.
    **settings : str
        Settings of a new session, with ``__`` for dots: ``spark__sql__shuffle__partitions="64"``.

    Returns
    -------
    pyspark.sql.SparkSession

    Raises
    ------
    RuntimeError
        Where there is no Java.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    builder = SparkSession.builder
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            # Spark would take the python3 of PATH, which need not be the one that has calipers.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in settings.items():
        builder = builder.config(name.replace("__", "."), value)
    # A session of Spark Connect has its Java elsewhere.
    if not (os.environ.get("SPARK_REMOTE") or (master or "").startswith("sc://")):
        check_java()
    return builder.getOrCreate()
