"""Start offsets that were chosen and nobody used: what is as it was left is chosen again, and nothing else."""

from dataclasses import replace

import pytest

from kproxy.handlers.live.load_queue import StartChoice, Stays
from kproxy.handlers.live.unused_choices import UnusedChoices
from kproxy.share.identifiers import LeaderEpoch, SnapshotEpoch, StateEpoch
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import UNKNOWN_COMPLETE_COUNT, StateBatch
from kproxy.statelog.durable_state import DurableShareState
from tests.worlds.share_group_world import ShareGroupWorld

KEY = ShareGroupWorld.key()
CHOICE = StartChoice(StateEpoch(1), LeaderEpoch(3), 7)
LOADED_AGAIN = DurableShareState(
    StateEpoch(1), LeaderEpoch(4), SnapshotEpoch(0), 7, UNKNOWN_COMPLETE_COUNT, ()
)


def noted(stays: Stays | None = None) -> UnusedChoices:
    choices = UnusedChoices()
    choices.note(KEY, CHOICE, (stays or Stays()).of(KEY))
    return choices


def test_a_choice_is_taken_once_by_the_load_that_follows_it() -> None:
    choices = noted()

    taken = [choices.take(KEY, LOADED_AGAIN) for _ in range(2)]

    assert taken == [True, False]
    assert not choices.keys


def test_a_choice_that_was_forgotten_is_not_taken() -> None:
    choices = noted()

    choices.forget(KEY)

    assert not choices.take(KEY, LOADED_AGAIN)


def test_a_choice_made_before_the_group_was_lost_is_not_taken_when_it_is_back() -> None:
    stays = Stays()
    choices = noted(stays)

    stays.end((), [KEY.group_id])

    assert choices.keys
    assert not choices.take(KEY, LOADED_AGAIN)


def test_what_is_let_go_of_is_a_choice_of_a_stay_that_is_over_and_no_other() -> None:
    stays = Stays()
    ended, noted_since = noted(stays), UnusedChoices()
    stays.end((), [KEY.group_id])
    noted_since.note(KEY, CHOICE, stays.of(KEY))

    for choices in (ended, noted_since):
        choices.forget_ended(KEY)

    assert not ended.keys
    assert noted_since.take(KEY, LOADED_AGAIN)


@pytest.mark.parametrize(
    "loaded",
    [
        pytest.param(replace(LOADED_AGAIN, leader_epoch=LeaderEpoch(5)), id="loaded by another, too"),
        pytest.param(replace(LOADED_AGAIN, leader_epoch=LeaderEpoch(3)), id="begun anew"),
        pytest.param(replace(LOADED_AGAIN, state_epoch=StateEpoch(2)), id="altered"),
        pytest.param(replace(LOADED_AGAIN, start_offset=8), id="started elsewhere"),
        pytest.param(replace(LOADED_AGAIN, delivery_complete_count=0), id="written"),
        pytest.param(
            replace(LOADED_AGAIN, state_batches=(StateBatch(8, 8, RecordState.ACKNOWLEDGED, 1),)),
            id="acknowledged",
        ),
    ],
)
def test_what_is_not_as_it_was_left_stays(loaded: DurableShareState) -> None:
    assert not noted().take(KEY, loaded)


def test_a_choice_is_found_by_its_group_until_it_is_forgotten_or_taken() -> None:
    # Given
    forgotten, taken = noted(), noted()
    before = forgotten.index.of(KEY.group_id)

    # When
    for _ in range(2):
        forgotten.forget(KEY)
        taken.take(KEY, LOADED_AGAIN)

    # Then
    assert before == (KEY,)
    assert forgotten.index.of(KEY.group_id) == taken.index.of(KEY.group_id) == ()
