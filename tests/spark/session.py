"""One Spark for all tests of a run, wherever they stand: its start takes longer than any of them."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

_FOR_SHORT_QUERIES: Final = " ".join(
    f"--conf {setting}"
    for setting in (
        "spark.sql.shuffle.partitions=2",
        "spark.sql.codegen.wholeStage=false",
        "spark.sql.adaptive.enabled=false",
        "spark.driver.memory=1g",
    )
)
"""Planning and compiling a query takes longer than running it, with so few records."""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on two cores. Spark is imported when a test first asks for it."""
    from kproxy.jobs.spark_session import spark_session  # noqa: PLC0415 - most runs need no Spark

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_SUBMIT_ARGS", f"--master local[2] {_FOR_SHORT_QUERIES} pyspark-shell")
        environment.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        with spark_session("tests") as session:
            session.conf.set("spark.sql.shuffle.partitions", "2")
            yield session
