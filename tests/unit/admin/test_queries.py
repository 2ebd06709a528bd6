import pytest

from kproxy.admin.queries import NothingThere, RefusedQuery, missing_everywhere, number, parameters, truth


def test_known_parameters_are_returned_by_name() -> None:
    assert parameters([("group", "g"), ("topic", "")], ("group", "topic")) == {"group": "g", "topic": ""}


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([("grop", "g")], "unknown query parameter 'grop'; known: group, topic"),
        ([("group", "g"), ("group", "h")], "query parameter 'group' is given more than once"),
    ],
)
def test_a_parameter_that_is_unknown_or_repeated_is_refused(
    given: list[tuple[str, str]], complaint: str
) -> None:
    # When
    with pytest.raises(RefusedQuery) as refusal:
        parameters(given, ("group", "topic"))

    # Then
    assert str(refusal.value) == complaint
    assert refusal.value.status == 400


def test_where_no_parameter_is_known_every_one_is_refused() -> None:
    with pytest.raises(RefusedQuery, match="there are none here"):
        parameters([("group", "g")])


@pytest.mark.parametrize(("text", "expected"), [("0", 0), ("007", 7), ("2147483647", 2_147_483_647)])
def test_a_number_is_read(text: str, expected: int) -> None:
    assert number("partition", text) == expected


@pytest.mark.parametrize("text", ["", "-1", "1.0", " 1", "x", "2147483648", "9" * 5_000, "٣", "1_0"])
def test_what_is_no_partition_number_is_refused(text: str) -> None:
    with pytest.raises(RefusedQuery, match="expected a number from 0 to 2147483647"):
        number("partition", text)


def test_true_and_false_are_read() -> None:
    assert (truth("lag", "true"), truth("lag", "false")) == (True, False)


def test_what_is_neither_true_nor_false_is_refused() -> None:
    with pytest.raises(RefusedQuery, match="lag='yes': expected true or false"):
        truth("lag", "yes")


def test_what_does_not_exist_is_told_as_not_found() -> None:
    assert NothingThere("no such group").status == 404


def test_what_several_do_not_have_is_told_by_the_one_that_knows_most_of_it() -> None:
    # Given
    missing = [
        NothingThere("there is no member 'x'", depth=1),
        NothingThere("no share group has a topic 'y'", names=["orders"], depth=2),
        NothingThere("no share group has a topic 'y'", names=["payments", "orders"], depth=2),
        NothingThere("no share group has a topic 'y'", names=[], depth=2),
    ]

    # When
    everywhere = missing_everywhere(missing)

    # Then
    assert str(everywhere) == "no share group has a topic 'y'; there are orders, payments"


def test_what_is_missing_may_stand_without_what_there_is_instead() -> None:
    assert (
        str(missing_everywhere([NothingThere("there is no member 'x'", depth=1)])) == "there is no member 'x'"
    )
