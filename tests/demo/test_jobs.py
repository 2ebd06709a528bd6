import pytest

from tests.demo.jobs import JobKind, Verdict, kind_of, verdict_on


def test_of_a_hundred_jobs_two_are_poison_and_five_are_busy() -> None:
    # When
    kinds = [kind_of(number) for number in range(100)]

    # Then
    assert [number for number, kind in enumerate(kinds) if kind is JobKind.POISON] == [25, 75]
    assert [number for number, kind in enumerate(kinds) if kind is JobKind.BUSY] == [19, 39, 59, 79, 99]


@pytest.mark.parametrize(
    ("kind", "delivery_count", "verdict"),
    [
        (JobKind.ORDINARY, 1, Verdict.ACCEPT),
        (JobKind.BUSY, 1, Verdict.RELEASE),
        (JobKind.BUSY, 2, Verdict.ACCEPT),
        (JobKind.POISON, 1, Verdict.REJECT),
        (JobKind.POISON, 2, Verdict.REJECT),
    ],
)
def test_a_member_settles_a_job_by_its_kind_and_gives_a_busy_one_back_once(
    kind: JobKind, delivery_count: int, verdict: Verdict
) -> None:
    # When
    said = verdict_on(kind, delivery_count=delivery_count)

    # Then
    assert said is verdict
