"""The pictures: whole PNG files, the same for the same rows, and one that says so where there is nothing to show."""

import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from kproxy.jobs.analyses import lag_history, redeliveries, throughput
from kproxy.jobs.history.silver import silver_rows
from kproxy.jobs.job import JobContext, JobResult
from kproxy.jobs.pictures.figure_style import step_text
from kproxy.jobs.sources.raw_records import batch_of
from tests.spark.silver_contexts import silver_context
from tests.worlds.consumptions import Step, consumption_of

pytestmark = pytest.mark.spark

ALL: Final = {"group": None, "topic": None, "partition": None, "since_ms": None, "until_ms": None}
JOBS: Final[Mapping[str, tuple[Callable[..., JobResult], Mapping[str, Any]]]] = {
    "throughput": (throughput.run, {"by": "group", "every_ms": 1000}),
    "redeliveries": (redeliveries.run, {"every_ms": None, "offsets": None}),
    "lag-history": (lag_history.run, {"every_ms": 1000}),
}
STEPS: Final = [
    Step(0, kind, "alice", 0, 3, 2000) for kind in ("accept", "release", "lock-timeout", "accept")
]


def context_of(spark: Any, steps: Sequence[Step]) -> JobContext:
    table = pa.Table.from_batches([batch_of(0, consumption_of(0, steps).records)])
    return silver_context(silver_rows(spark.createDataFrame(table).coalesce(1)))


def size_of(picture: Path) -> tuple[int, int]:
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", head[16:])
    return width, height


@pytest.mark.parametrize(
    "steps",
    [pytest.param(STEPS, id="something"), pytest.param([], id="nothing", marks=pytest.mark.soak)],
)
@pytest.mark.parametrize("name", JOBS)
def test_a_picture_is_a_png_file_as_wide_as_all(
    spark: Any, tmp_path: Path, name: str, steps: Sequence[Step]
) -> None:
    # Given
    run, options = JOBS[name]
    result = run(context_of(spark, steps), **options, **ALL)
    assert result.plot is not None

    # When
    result.plot(tmp_path / "picture.png")

    # Then
    width, height = size_of(tmp_path / "picture.png")
    assert width == 1440
    assert height >= 400


@pytest.mark.parametrize(
    ("step_ms", "text"), [(500, "500 ms"), (30_000, "30 s"), (120_000, "2 min"), (3_600_000, "1 h")]
)
def test_a_step_of_time_is_said_in_its_unit(step_ms: int, text: str) -> None:
    assert step_text(step_ms) == text
