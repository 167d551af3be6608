"""Structured Streaming: a sketch for each window and group, and any range of windows merged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession, types
from pyspark.sql import functions as sql
from pyspark.sql.streaming import StreamingQuery

from calipers._documented import documented
from calipers._inputs import Invalid
from calipers._parquet import BATCH, FOLDERS, QUERY, START
from calipers._row_options import DataFrameOptions, Unpack
from calipers.spark._columns import SKETCH, By, KeyColumn, check_dataframe, choose, column, input_error, key_columns
from calipers.spark._errors import clearly, marked
from calipers.spark._gather import gathered
from calipers.spark._session import session as active_session
from calipers.spark._sketch_dataframe import Partials, filled, split_reading
from calipers.spark._sketches import Sketches, of_rows

END = "window_end"

Format: TypeAlias = Literal["parquet", "delta"]

_NO_TIME = f"CalipersError: {marked('times must be present, got null', 'missing_time')}"


@documented
def write_windows(
    df: DataFrame,
    path: str,
    *,
    time: str,
    window: str,
    checkpoint: str,
    prob: str,
    label: str,
    weight: str | None = None,
    by: By = (),
    format: Format = "parquet",  # noqa: A002 (as Spark calls it)
    trigger: dict[str, Any] | None = None,
    **options: Unpack[DataFrameOptions],
) -> StreamingQuery:
    """Starts a query that writes, for each micro-batch, a row for each window and group.

    Keys and sketch.

    A micro-batch has a folder of its own, ``query=.../batch=7``, which a replay of the same
    micro-batch overwrites: so what is there does not depend on failures. Rows that come late go
    into the window of their time, whenever they come; `read_windows` merges what several
    micro-batches have of one window. No state is kept between them.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        A stream of predictions.
    path : str
        The folder of sketches; several queries may write to one.
    time : str
        The column of timestamps. A row without a time is an error; with ``invalid="count"`` it is
        in a window of its own, whose start and end are null.
    window : str
        How long windows are, as ``"1 hour"``; they do not overlap.
    checkpoint : str
        The folder in which Spark keeps how far it is; one for each query. Without it a query begins
        anew, and is another one: its sketches are added to those that are there.
    by : str, pyspark.sql.Column, or sequence of them
        Columns, or expressions of them, whose values make the groups, beside the window.
    format : {"parquet", "delta"}
        "delta" appends to a table of Delta Lake, whose log tells a replay by the query and the
        micro-batch (``txnAppId`` and ``txnVersion``), and writes it once.
    trigger : dict, optional
        Keywords of `DataStreamWriter.trigger`, as ``{"availableNow": True}``.
    **options
        Those of `calipers.Sketch`: ``profile``, ``resolution``, or ``tolerance`` and
        ``smallest_sigma``, ``clip``, ``n_bins``.

    Returns
    -------
    pyspark.sql.streaming.StreamingQuery
        The query, started. An invalid row ends it, with the rule, the value, the window and the
        group.
    """
    check_dataframe(df)
    if not df.isStreaming:
        raise input_error("invalid_setting", "df must be a stream: sketch takes what is whole")
    if format not in ("parquet", "delta"):
        raise input_error("invalid_setting", f'format must be "parquet" or "delta", got {format!r}')
    reading, shape = split_reading(options)
    keys = key_columns(df, by)
    # Everything that can be said of columns and options is said before the query starts.
    choose(df, prob, label, weight, keys, from_logits=reading["from_logits"], pos_label=reading["pos_label"])
    _check_time(df, time)
    stream = _with_keys(df, keys, (time, prob, label, weight))
    names = tuple(key.field.name for key in keys)

    def of_batch(batch: DataFrame) -> Partials:
        windowed = _with_window(batch, time, window, (prob, label, weight, *names), reading["invalid"])
        return filled(windowed, prob, label, weight, key_columns(windowed, (START, END, *names)), reading, shape)

    def write(batch: DataFrame, number: int) -> None:
        session = batch.sparkSession
        # The stream has a session of its own. Unlike Spark's default these times have a least and a
        # greatest one in each file, by which a reader of some windows leaves out the others.
        session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        partials = of_batch(batch)
        found = Sketches(gathered(partials.rows, partials.keys, partials.reading()))
        try:
            with clearly():
                # One file, so that a micro-batch is there as a whole or not at all.
                rows = found.dataframe.select(START, END, *map(column, names), SKETCH).coalesce(1)
                _save(rows.write, path, format, _query(session, checkpoint), number)
        finally:
            found.unpersist()

    of_batch(stream)
    writer = stream.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    return (writer.trigger(**trigger) if trigger else writer).start()


def _save(writer: DataFrameWriter, path: str, kind: Format, query: str, number: int) -> None:
    """Writes the rows of a micro-batch, once however often it comes."""
    if kind == "delta":
        once = {"txnAppId": query, "txnVersion": str(number)}
        writer.format(kind).mode("append").options(**once).save(path)
    else:
        writer.format(kind).mode("overwrite").save(f"{path.rstrip('/')}/{QUERY}={query}/{BATCH}={number}")


def _query(session: SparkSession, checkpoint: str) -> str:
    """The name that Spark has given to the query, which it keeps over restarts.

    From the checkpoint: under Spark Connect a micro-batch does not know whose it is.
    """
    with clearly():
        lines = session.read.text(f"{checkpoint.rstrip('/')}/metadata").collect()
    return str(json.loads("".join(line[0] for line in lines))["id"])


def read_windows(
    path: str,
    *,
    start: datetime | str | None = None,
    end: datetime | str | None = None,
    by: str | Sequence[str] | None = None,
    format: Format = "parquet",  # noqa: A002 (as Spark calls it)
    session: SparkSession | None = None,
) -> Sketches:
    """Merges the windows of a range, as `write_windows` has written them: no row is read again.

    Parameters
    ----------
    path : str
        The folder of sketches.
    start, end : datetime or str, optional
        Windows that begin at `start` or later and end at `end` or earlier: text as Spark reads
        timestamps, in the time zone of the session.
    by : str or sequence of str, optional
        The groups; all that were written, without windows, unless given. ``"window_start"`` is one,
        too.
    format : {"parquet", "delta"}
        As they were written.
    session : pyspark.sql.SparkSession, optional
        The active one, or a new one, unless given.

    Returns
    -------
    Sketches
    """
    spark = session or active_session()
    with clearly():
        df = spark.read.format(format).load(path).drop(*FOLDERS)
    missing = [name for name in (START, END, SKETCH) if name not in df.columns]
    if missing:
        raise input_error("wrong_column", f"windows must have a column {missing[0]!r}, got {', '.join(df.columns)}")
    if start is not None:
        df = df.where(sql.col(START) >= sql.lit(start).cast("timestamp"))
    if end is not None:
        df = df.where(sql.col(END) <= sql.lit(end).cast("timestamp"))
    if by is None:
        names = tuple(name for name in df.columns if name not in (START, END, SKETCH))
    else:
        names = (by,) if isinstance(by, str) else tuple(by)
    unknown = [name for name in names if name not in df.columns or name == SKETCH]
    if unknown:
        raise input_error(
            "wrong_column", f"by must name columns of windows, got {unknown[0]!r}: there are {', '.join(df.columns)}"
        )
    return of_rows(df.select(*map(column, names), SKETCH))


def _check_time(df: DataFrame, time: str) -> types.DataType:
    """The type of the column of times."""
    found = [field for field in df.schema.fields if field.name == time]
    if not found or not isinstance(found[0].dataType, (types.TimestampType, types.TimestampNTZType)):
        got = f"{time!r}, which is {found[0].dataType.simpleString()}" if found else f"{time!r}, which is not there"
        raise input_error("wrong_column", f"time must name a column of timestamps, got {got}")
    return found[0].dataType


def _with_keys(df: DataFrame, keys: Sequence[KeyColumn], others: Sequence[str | None]) -> DataFrame:
    """The columns that are read: keys under their names, and the others that are named."""
    own = {key.field.name: key.values.alias(key.field.name) for key in keys}
    named = {name: column(name) for name in others if name is not None}
    # A column can be both; an expression that is called as another column is cannot.
    for name in named.keys() & own.keys():
        if str(column(name)) != str(next(key.values for key in keys if key.field.name == name)):
            raise input_error("invalid_setting", f"by must not be called {name!r}, as another column is: use alias")
    return df.select(*{**named, **own}.values())


def _with_window(df: DataFrame, time: str, window: str, others: Sequence[str | None], invalid: Invalid) -> DataFrame:
    """The other columns that are named, and the window of each row."""
    kind = _check_time(df, time)
    named = {name: None for name in others if name is not None}
    taken = [name for name in named if name.lower() in (START, END, *FOLDERS)]
    if taken:
        raise input_error("invalid_setting", f"columns must not be called {taken[0]!r}, as one of the windows is")
    when = column(time)
    present = when.isNotNull()
    # Spark would leave out rows without a time, and say nothing.
    absent = sql.lit(None) if invalid == "count" else sql.raise_error(sql.lit(_NO_TIME))
    span = sql.window(sql.coalesce(when, sql.lit("1970-01-01").cast(kind)), window)
    return df.withColumn("calipers_window", span).select(
        *map(column, named),
        sql.when(present, sql.col("calipers_window.start")).otherwise(absent).alias(START),
        sql.when(present, sql.col("calipers_window.end")).otherwise(absent).alias(END),
    )
