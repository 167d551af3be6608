"""Structured Streaming: a sketch for each window and group, and any range of windows merged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession, types
from pyspark.sql import functions as sql
from pyspark.sql.streaming import StreamingQuery

from calipers._documented import documented
from calipers._inputs import Invalid
from calipers._parquet import BATCH, FOLDERS, QUERY, START
from calipers._row_options import DataFrameOptions, Unpack
from calipers.spark._columns import SKETCH, check_dataframe, choose, column, input_error
from calipers.spark._errors import clearly, marked
from calipers.spark._gather import merged_in_spark
from calipers.spark._session import session as active_session
from calipers.spark._sketch_dataframe import filled, split_reading
from calipers.spark._sketches import Sketches, of_rows

END = "window_end"

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
    by: str | Sequence[str] = (),
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
    by : str or sequence of str
        Columns whose values make the groups, beside the window.
    trigger : dict, optional
        Keywords of `DataStreamWriter.trigger`, as ``{"availableNow": True}``.
    **options
        Those of `calipers.Sketch`: ``resolution``, or ``tolerance`` and ``smallest_sigma``,
        ``clip``, ``n_bins``.

    Returns
    -------
    pyspark.sql.streaming.StreamingQuery
        The query, started. An invalid row ends it, with the rule, the value, the window and the
        group.
    """
    check_dataframe(df)
    if not df.isStreaming:
        raise input_error("invalid_setting", "df must be a stream: sketch takes what is whole")
    names = (by,) if isinstance(by, str) else tuple(by)
    reading, shape = split_reading(options)

    def of_batch(batch: DataFrame) -> DataFrame:
        windowed = _with_window(batch, time, window, (prob, label, weight, *names), reading["invalid"])
        partials = filled(windowed, prob, label, weight, (START, END, *names), reading, shape)
        merged = merged_in_spark(partials.rows, partials.keys)
        # One file, so that a micro-batch is there as a whole or not at all.
        return merged.select(START, END, *map(column, names), SKETCH).repartition(1)

    def write(batch: DataFrame, number: int) -> None:
        session = batch.sparkSession
        # The stream has a session of its own. Unlike Spark's default these times have a least and a
        # greatest one in each file, by which a reader of some windows leaves out the others.
        session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        query = session.sparkContext.getLocalProperty("sql.streaming.queryId")
        if query is None:
            raise RuntimeError("Spark does not report which query this is; PYSPARK_PIN_THREAD must not be false")
        with clearly():
            of_batch(batch).write.mode("overwrite").parquet(f"{path.rstrip('/')}/{QUERY}={query}/{BATCH}={number}")

    # Everything that can be said of columns and options is said before the query starts.
    choose(df, prob, label, weight, names, from_logits=reading["from_logits"], pos_label=reading["pos_label"])
    of_batch(df)
    writer = df.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    return (writer.trigger(**trigger) if trigger else writer).start()


def read_windows(
    path: str,
    *,
    start: datetime | str | None = None,
    end: datetime | str | None = None,
    by: str | Sequence[str] | None = None,
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
    session : pyspark.sql.SparkSession, optional
        The active one, or a new one, unless given.

    Returns
    -------
    Sketches
    """
    spark = session or active_session()
    with clearly():
        df = spark.read.parquet(path).drop(*FOLDERS)
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


def _with_window(df: DataFrame, time: str, window: str, others: Sequence[str | None], invalid: Invalid) -> DataFrame:
    """The other columns that are named, and the window of each row."""
    found = [field for field in df.schema.fields if field.name == time]
    if not found or not isinstance(found[0].dataType, (types.TimestampType, types.TimestampNTZType)):
        got = f"{time!r}, which is {found[0].dataType.simpleString()}" if found else f"{time!r}, which is not there"
        raise input_error("wrong_column", f"time must name a column of timestamps, got {got}")
    named = {name: None for name in others if name is not None}
    taken = [name for name in named if name.lower() in (START, END, *FOLDERS)]
    if taken:
        raise input_error("invalid_setting", f"columns must not be called {taken[0]!r}, as one of the windows is")
    when, kind = column(time), found[0].dataType
    present = when.isNotNull()
    # Spark would leave out rows without a time, and say nothing.
    absent = sql.lit(None) if invalid == "count" else sql.raise_error(sql.lit(_NO_TIME))
    span = sql.window(sql.coalesce(when, sql.lit("1970-01-01").cast(kind)), window)
    return df.withColumn("calipers_window", span).select(
        *map(column, named),
        sql.when(present, sql.col("calipers_window.start")).otherwise(absent).alias(START),
        sql.when(present, sql.col("calipers_window.end")).otherwise(absent).alias(END),
    )
