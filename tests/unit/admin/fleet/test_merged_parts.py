"""The answers of several processes are taken apart, and made one."""

import json
from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.admin.fleet.merged_parts import Part, doubts_of, in_group_order, items_of, part_of
from kproxy.admin.peer_views import PeerAnswer, PeerSilent
from kproxy.admin.queries import NothingThere
from kproxy.admin.views import envelope_of_texts

Items = Sequence[dict[str, object]]

GROUP_IDS: Final = st.text(max_size=4)
ITEMS: Final = st.lists(
    st.builds(
        lambda group, number, text: {"groupId": group, "number": number, "text": text},
        GROUP_IDS,
        st.integers(0, 9),
        st.text(max_size=6),
    )
)


def told(items: Items, **facts: object) -> PeerAnswer:
    text = "".join(envelope_of_texts("ShareGroups", map(json.dumps, items), as_of_ms=0, facts=facts))
    return PeerAnswer(200, text.encode())


def by_group(items: Items) -> list[dict[str, object]]:
    return sorted(items, key=lambda item: str(item["groupId"]))


@given(ITEMS)
def test_a_list_taken_apart_has_every_item_as_it_was(items: Items) -> None:
    assert items_of(part_of("a", told(items))) == items


@given(ITEMS, st.dictionaries(GROUP_IDS, st.integers(0, 3)))
def test_lists_of_different_groups_joined_are_the_list_of_one_process_that_has_all(
    items: Items, owner_of: dict[str, int]
) -> None:
    # Given
    shares = [
        [item for item in by_group(items) if owner_of.get(str(item["groupId"]), 0) == owner]
        for owner in range(4)
    ]

    # When
    joined = list(in_group_order([part_of("", told(share)).texts for share in shares]))

    # Then
    assert [json.loads(text) for text in joined] == by_group(items)


def test_a_group_that_two_tell_of_is_told_once_and_whole() -> None:
    # When
    joined = list(
        in_group_order(
            [
                ['{"groupId": "a", "n": 1}', '{"groupId": "b", "n": 1}', '{"groupId": "b", "n": 2}'],
                ['{"groupId": "b", "n": 3}', '{"groupId": "c", "n": 3}'],
            ]
        )
    )

    # Then
    assert [(item["groupId"], item["n"]) for item in map(json.loads, joined)] == [
        ("a", 1),
        ("b", 1),
        ("b", 2),
        ("c", 3),
    ]


def test_items_of_other_processes_are_passed_on_as_they_came() -> None:
    # Given
    odd = '{"groupId": "a",   "later": [1,2 , 3]}'

    # When
    joined = list(in_group_order([[odd], []]))

    # Then
    assert joined == [odd]


def test_what_is_missing_at_a_process_is_told_with_what_there_is_instead() -> None:
    # Given
    refusal = {
        "status": 404,
        "message": "no share group has a topic 'x'; there is y",
        "missing": "no share group has a topic 'x'",
        "names": ["y"],
        "depth": 2,
    }

    # When
    part = part_of("a", PeerAnswer(404, json.dumps({"items": [refusal], "slotsTold": [3]}).encode()))

    # Then
    assert str(part.missing) == "no share group has a topic 'x'; there is y"
    assert (part.slots_told, list(part.texts)) == (frozenset({3}), [])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (PeerAnswer(200, b""), "a answered 200, and nothing that can be understood"),
        (PeerAnswer(200, b'{"items": []}'), "a answered 200, and nothing that can be understood"),
        (PeerAnswer(200, b'"items": [\n'), "a answered 200, and nothing that can be understood"),
        (PeerAnswer(404, b"[]"), "a answered 404, and nothing that can be understood"),
        (
            PeerAnswer(404, b'{"items": [{"message": "gone"}]}'),
            "a answered 404, and nothing that can be understood",
        ),
        (PeerAnswer(500, b"\xff"), "a answered 500, and nothing that can be understood"),
        (PeerAnswer(503, b'{"items": [{"message": "try again"}]}'), "a: try again"),
    ],
)
def test_an_answer_that_is_none_is_no_part(answer: PeerAnswer, said: str) -> None:
    # When
    with pytest.raises(PeerSilent) as silent:
        part_of("a", answer)

    # Then
    assert str(silent.value) == said


def test_all_slots_told_by_somebody_leave_no_doubt() -> None:
    # Given
    parts = [Part("a", facts={"slotsTold": [0, 2]}), Part("b", facts={"slotsTold": [1]})]

    # When
    doubt = doubts_of(parts, range(3))

    # Then
    assert doubt == ""


def test_a_slot_that_nobody_told_of_is_a_doubt() -> None:
    # Given
    parts = [
        Part("a", facts={"slotsTold": [0]}),
        Part("b", missing=NothingThere("x"), facts={"slotsTold": []}),
    ]

    # When
    doubt = doubts_of(parts, range(3))

    # Then
    assert doubt == "2 slots went from one process to another while this was asked, slot 1 first; ask again"


def test_the_same_doubt_of_several_processes_is_told_once() -> None:
    # Given
    parts = [Part("a", doubt="not ready"), Part("b", doubt="silent"), Part("c", doubt="not ready")]

    # When
    doubt = doubts_of(parts, range(3))

    # Then
    assert doubt == "a, c: not ready; b: silent"
