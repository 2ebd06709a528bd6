"""How many connections are let in: by count alone, without sockets."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kproxy.net.relay.limits.connection_quotas import ConnectionQuotas, OverQuota, QuotaLimits


def test_the_connection_beyond_the_limit_of_its_address_is_not_let_in_and_others_are() -> None:
    quotas = ConnectionQuotas[int](QuotaLimits(of_address=2))

    admissions = [
        quotas.admit(each, address) for each, address in enumerate(["10.0.0.1"] * 3 + ["10.0.0.2"] * 2)
    ]

    assert admissions == [None, None, OverQuota.OF_ADDRESS, None, None]


def test_an_address_with_a_limit_of_its_own_has_that_one() -> None:
    quotas = ConnectionQuotas[int](QuotaLimits(of_address=0, overrides={"::1": 1}))

    admissions = [quotas.admit(each, address) for each, address in enumerate(["::1", "::1", "10.0.0.1"])]

    assert admissions == [None, OverQuota.OF_ADDRESS, OverQuota.OF_ADDRESS]


def test_a_connection_that_ended_makes_room_for_another_one() -> None:
    quotas = ConnectionQuotas[str](QuotaLimits(in_all=1))
    quotas.admit("first", "10.0.0.1")
    refused = quotas.admit("second", "10.0.0.2")

    quotas.leave("first")

    assert (refused, quotas.admit("third", "10.0.0.2")) == (OverQuota.IN_ALL, None)


def test_clients_that_have_proved_who_they_are_leave_room_for_others_to_do_so() -> None:
    proved: set[str] = set()
    quotas = ConnectionQuotas[str](QuotaLimits(unauthenticated=2), has_proved=proved.__contains__)
    before = [quotas.admit(each, "10.0.0.1") for each in ("a", "b", "c")]

    proved.add("b")

    assert before == [None, None, OverQuota.UNAUTHENTICATED]
    assert quotas.admit("d", "10.0.0.1") is None
    assert quotas.admit("e", "10.0.0.1") is OverQuota.UNAUTHENTICATED
    assert [quotas.is_unproved(each) for each in ("a", "b", "d")] == [True, False, True]
    assert quotas.unauthenticated_count == 2


def test_where_nobody_has_to_prove_anything_nobody_is_refused_for_it() -> None:
    quotas = ConnectionQuotas[int](QuotaLimits(unauthenticated=1))

    assert [quotas.admit(each, "10.0.0.1") for each in range(3)] == [None] * 3
    assert (quotas.is_unproved(0), quotas.unauthenticated_count) == (False, 0)


def test_the_limit_that_was_met_can_be_told() -> None:
    quotas = ConnectionQuotas[int](QuotaLimits(7, 5, {"::1": 3}, 2))

    assert quotas.limit_of(OverQuota.IN_ALL, "::1") == 7
    assert [quotas.limit_of(OverQuota.OF_ADDRESS, each) for each in ("::1", "10.0.0.1")] == [3, 5]
    assert quotas.limit_of(OverQuota.UNAUTHENTICATED, "::1") == 2


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc"), st.integers(0, 30)), max_size=120))
def test_whatever_comes_and_goes_no_limit_is_exceeded_and_nobody_is_refused_below_one(
    steps: list[tuple[bool, str, int]],
) -> None:
    limits = QuotaLimits(in_all=6, of_address=3, overrides={"c": 1})
    quotas, inside = ConnectionQuotas[int](limits), dict[int, str]()
    for number, (comes, address, which) in enumerate(steps):
        if comes:
            of_address = Counter(inside.values())[address]
            refusal = quotas.admit(number, address)
            assert (refusal is None) == (len(inside) < 6 and of_address < limits.of(address))
            if refusal is None:
                inside[number] = address
        elif inside:
            leaving = sorted(inside)[which % len(inside)]
            del inside[leaving]
            quotas.leave(leaving)


def test_a_connection_counts_once_and_leaves_once() -> None:
    quotas = ConnectionQuotas[str](QuotaLimits(in_all=2))
    quotas.admit("a", "10.0.0.1")

    again = quotas.admit("a", "10.0.0.1")
    quotas.leave("b")
    quotas.leave("a")
    quotas.leave("a")

    assert again is None
    assert [quotas.admit(each, "10.0.0.1") for each in ("c", "d", "e")] == [None, None, OverQuota.IN_ALL]
