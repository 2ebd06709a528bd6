"""Time and offsets in steps of equal width, by which tables and pictures count."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as sql

from kproxy.notation import camel_case

_STEPS_MS: Final = tuple(
    1000 * seconds
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200)
)
_DAY_MS: Final = 86_400_000


def time_step_ms(span_ms: int, most: int) -> int:
    """Return the shortest round step, of a second or more, that cuts `span_ms` into at most `most` parts."""
    shortest = -(-span_ms // most)
    round_steps = (step for step in _STEPS_MS if step >= shortest)
    return next(round_steps, _DAY_MS * max(1, -(-shortest // _DAY_MS)))


def offset_step(span: int, most: int) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 50 and so on that cuts `span` offsets into at most `most` parts."""
    shortest, power = -(-span // most), 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= shortest:
                return digit * power
        power *= 10


def step_of(column: str, step: int) -> Column:
    """Return the lowest number of the step that the value of a column lies in."""
    return sql.expr(f"{column} - pmod({column}, {step}L)")


def time_text_of(column: str) -> Column:
    """Return the text of a column of epoch milliseconds: ISO 8601, UTC, the milliseconds where there are any."""
    moment = sql.timestamp_millis(sql.col(column))
    whole = sql.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss'Z'")
    exact = sql.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
    return sql.when(sql.col(column) % 1000 == 0, whole).otherwise(exact)


def kafka_names(columns: Sequence[str]) -> list[Column]:
    """Return columns of the silver table under Kafka's names: `topic_id` is topicId, `member` is memberId."""
    return [sql.col(column).alias(_KAFKA_NAMES.get(column, camel_case(column))) for column in columns]


_KAFKA_NAMES: Final = {"group": "groupId", "member": "memberId"}
