"""Which APIs kproxy serves, whole or in part, and that each entry can be served and refused as the schemas allow."""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.registry import ServedApi
from kproxy.interception.known_versions import SHARE_KEYS
from kproxy.wire import codecs
from kproxy.wire.messages.by_api_key import REQUEST_CLASSES
from tests.in_memory.in_memory_share_state_store import InMemoryShareStateStore
from tests.worlds.share_group_world import ShareGroupWorld

STATE_KEYS = {83, 84, 85, 86, 87}


def entries(*, with_share_coordinator: bool = False) -> tuple[list[ServedApi], list[ServedApi]]:
    """What is served whole, and what in part."""
    world = ShareGroupWorld()
    world.share_state_store = InMemoryShareStateStore() if with_share_coordinator else None
    apis = world.new_process().apis
    return list(apis.entries), list(apis.partial_entries)


def test_what_is_served_whole_is_an_api_of_share_groups_and_nothing_else_is() -> None:
    whole, partial = entries(with_share_coordinator=True)

    assert {api.api_key for api in whole} <= SHARE_KEYS
    assert {api.api_key for api in partial}.isdisjoint(SHARE_KEYS)


def test_the_share_coordinator_is_served_where_there_is_a_store_for_it() -> None:
    without, _ = entries()
    with_store, _ = entries(with_share_coordinator=True)

    assert {api.api_key for api in with_store} - {api.api_key for api in without} == STATE_KEYS


def test_every_entry_is_refused_in_an_answer_that_can_be_sent_in_each_of_its_versions() -> None:
    whole, partial = entries(with_share_coordinator=True)

    for api in [*whole, *partial]:
        request = REQUEST_CLASSES[api.api_key]()
        refusal = api.refusal_of(request, ErrorCode.COORDINATOR_NOT_AVAILABLE, "not now")
        for version in range(api.min_version, api.max_version + 1):
            assert codecs.encode_response(api.api_key, version, 7, refusal), (api.api_key, version)
