import json

import pytest

from kproxy.admin.fleet.own_part import OwnPart
from tests.in_memory.inspectable import Inspectable
from tests.in_memory.inspectable_fleet import two_processes


async def test_a_process_that_is_asked_by_another_asks_nobody_further() -> None:
    # Given
    fleet = two_processes()

    # When
    told = await OwnPart(fleet.processes["kproxy-b"].answers()).tell("/api/v1/sessions")

    # Then
    assert [item["groupId"] for item in json.loads(told.body)["items"]] == [fleet.group_of("kproxy-b")]
    assert (told.status, fleet.asked) == (200, [])


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/api/v1/status", 404, "there is nothing at '/api/v1/status'"),
        ("/api/v1/groups?x=1", 400, "unknown query parameter 'x'; known: lag, scope"),
    ],
)
async def test_another_process_is_told_what_is_wrong_with_its_question(
    path: str, status: int, message: str
) -> None:
    # When
    told = await OwnPart(Inspectable().answers()).tell(path)

    # Then
    assert (told.status, json.loads(told.body)["items"][0]["message"]) == (status, message)


async def test_another_process_is_not_told_more_than_it_may_hold() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.open_session("alice")

    # When
    told = await OwnPart(inspectable.answers(), most_bytes=10).tell("/api/v1/sessions")

    # Then
    assert told.status == 503
    assert b"ask its own admin port with scope=local" in told.body
