import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.admin.queries import NothingThere, RefusedQuery
from kproxy.admin.questions import Endpoint, Question, question, question_of

NAMES = st.text(min_size=1)


@given(
    st.one_of(
        st.builds(Question, st.just(Endpoint.GROUP), NAMES, st.just({"lag": "false"}), st.just(True)),
        st.builds(Question, st.just(Endpoint.GROUPS), st.just(""), st.just({"lag": "true"}), st.just(True)),
        st.builds(
            Question,
            st.just(Endpoint.SESSIONS),
            st.just(""),
            st.fixed_dictionaries({}, optional={"group": st.text(), "member": st.text()}),
            st.just(True),
        ),
        st.builds(
            Question, st.just(Endpoint.IN_FLIGHT), st.just(""), st.just({"partition": "7"}), st.just(True)
        ),
        st.builds(Question, st.just(Endpoint.STATE_LOG), st.just(""), st.just({}), st.just(True)),
        st.builds(
            Question, st.just(Endpoint.SLOT_STATES), st.just("3"), st.just({"at": "end"}), st.just(True)
        ),
    )
)
def test_another_process_understands_the_path_that_asks_it(asked: Question) -> None:
    assert question_of(asked.path_for_peer()) == asked


@pytest.mark.parametrize(
    "path", ["/", "/api/v1/groups/a/b", "/api/v1/status", "/api/v1/state-log/1/2/state", ""]
)
def test_a_path_that_nothing_stands_behind_is_not_found(path: str) -> None:
    with pytest.raises(NothingThere):
        question_of(path)


@pytest.mark.parametrize(
    ("endpoint", "place", "given", "complaint"),
    [
        (Endpoint.GROUPS, "", ("scope", "here"), "scope='here': expected fleet or local"),
        (Endpoint.GROUPS, "", ("lag", "1"), "lag='1': expected true or false"),
        (
            Endpoint.IN_FLIGHT,
            "",
            ("partition", "-1"),
            "partition='-1': expected a number from 0 to 2147483647",
        ),
        (Endpoint.SLOT_STATES, "x", ("at", "end"), "partition='x': expected a number from 0 to 2147483647"),
        (Endpoint.SLOT_STATES, "1", ("at", "5"), "at='5': expected end"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    endpoint: Endpoint, place: str, given: tuple[str, str], complaint: str
) -> None:
    # When
    with pytest.raises(RefusedQuery) as refusal:
        question(endpoint, place, [given])

    # Then
    assert str(refusal.value) == complaint


@pytest.mark.parametrize(
    ("scope", "is_local"), [([], False), ([("scope", "fleet")], False), ([("scope", "local")], True)]
)
def test_the_whole_fleet_is_asked_about_unless_one_process_is(
    scope: list[tuple[str, str]], *, is_local: bool
) -> None:
    assert question(Endpoint.SESSIONS, "", scope).is_local is is_local


def test_a_group_is_named_by_its_place_or_by_a_parameter() -> None:
    # When
    by_place = question(Endpoint.GROUP, "workers", []).group_id
    by_parameter = question(Endpoint.SESSIONS, "", [("group", "workers")]).group_id

    # Then
    assert (by_place, by_parameter) == ("workers", "workers")


@pytest.mark.parametrize(
    ("endpoint", "given", "has_lag"),
    [
        (Endpoint.GROUPS, [], True),
        (Endpoint.GROUPS, [("lag", "false")], False),
        (Endpoint.GROUP, [], True),
        (Endpoint.SESSIONS, [], False),
    ],
)
def test_lag_is_part_of_what_is_asked_about_groups(
    endpoint: Endpoint, given: list[tuple[str, str]], *, has_lag: bool
) -> None:
    assert question(endpoint, "g", given).has_lag is has_lag
