"""Which pairs of a place and a client `make test` runs, and which it leaves to `make soak`.

A rule that holds for each place and for each client is seldom broken for one pair of them alone.
"""

from collections.abc import Sequence
from typing import TypeAlias

import pytest

from tests.real_kafka.share_members import MEMBER_KINDS

Case: TypeAlias = tuple[str | int, ...]
"""The name of an endpoint first, and what else tells one run of a test from another."""


def pairs_with_clients(
    names: Sequence[str], cases: Sequence[Case], *, left_to_soak: Sequence[Case] = ()
) -> pytest.MarkDecorator:
    """Parametrize `names` with each of `cases`, and `start_member` with each client.

    `make test` runs all clients on the first case and one client on each later one, in turn; `make soak` runs
    the others, and all clients on what is `left_to_soak`.
    """
    everyday = [(0, turn) for turn in range(len(MEMBER_KINDS))]
    everyday += [(place, place % len(MEMBER_KINDS)) for place in range(1, len(cases))]
    return pytest.mark.parametrize(
        (*names, "start_member"),
        [
            pytest.param(
                *(*case, MEMBER_KINDS[client]),
                id="-".join(map(str, (*case, client))),
                marks=[] if (place, turn) in everyday else pytest.mark.soak,
            )
            for place, case in enumerate([*cases, *left_to_soak])
            for turn, client in enumerate(MEMBER_KINDS)
        ],
    )


def clients_behind(*endpoints: str) -> pytest.MarkDecorator:
    """Do the same with `behind`, the name of an endpoint."""
    return pairs_with_clients(["behind"], [(endpoint,) for endpoint in endpoints])


def for_soak(*values: object) -> object:
    """Values of a parametrized test that `make test` does without."""
    return pytest.param(*values, marks=pytest.mark.soak)
