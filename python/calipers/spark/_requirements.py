"""What Spark needs that may be missing here: said in a sentence, before anything starts."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
from pathlib import Path

# What `mapInArrow` itself imports, beside PySpark.
_PACKAGES = ("pyspark", "pyarrow", "pandas")
# pyarrow: the first whose columns other libraries read in place.
_OLDEST = {"pyspark": (3, 5), "pyarrow": (14, 0)}


def check_pyspark() -> None:
    """Raises ImportError where PySpark, or what it needs, is missing or too old."""
    for package in _PACKAGES:
        try:
            found = importlib.import_module(package)
        except ImportError as error:
            raise ImportError(
                f"calipers.spark needs {package}, which is not installed: pip install 'calipers[spark]'", name=package
            ) from error
        oldest = _OLDEST.get(package)
        if oldest is not None and tuple(map(int, found.__version__.split(".")[:2])) < oldest:
            least = ".".join(map(str, oldest))
            got = found.__version__
            raise ImportError(
                f"calipers.spark needs {package} {least} or later, got {got}: pip install 'calipers[spark]'"
            )


def check_java() -> None:
    """Raises RuntimeError where there is no Java that could start Spark."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not os.access(java, os.X_OK):
        where = f"JAVA_HOME, which is {home}, has no bin/java" if home else "PATH has no java and JAVA_HOME is not set"
        raise RuntimeError(f"Spark needs Java 17: {where}")
    try:
        subprocess.run([java, "-version"], capture_output=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise RuntimeError(f"Spark needs Java 17: {java} -version failed: {error}") from None
