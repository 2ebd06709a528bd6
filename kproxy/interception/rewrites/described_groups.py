"""DescribeGroups (15): a share group is no classic group, as a broker says that has groups of every type.

The backing broker describes a share group as one that it does not know: Dead, and from version 6 on with
GROUP_ID_NOT_FOUND. That is right but for the words, which tell that the id is taken.
"""

from collections.abc import Collection
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import told
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.frames import LENGTH_BYTES
from kproxy.wire.messages.describe_groups_response import DescribeGroupsResponse

FIRST_VERSION: Final = 6
"""From here on there is a place for words."""

LARGEST_READ_BYTES: Final = 512 * 1024
"""Of an answer, which has some thousands of groups then. To read it takes 25 ms, in which nobody else has a turn."""


def tell_share_groups(
    share_group_ids: Collection[str], api_version: int, frame: memoryview
) -> list[bytes | memoryview]:
    """Return a broker's answer, its length included, with the words for share groups. Raises MalformedMessage.

    An answer of more than `LARGEST_READ_BYTES` stays as it is.
    """
    if len(frame) > LARGEST_READ_BYTES:
        return [len(frame).to_bytes(LENGTH_BYTES, "big"), frame]
    correlation_id, response = codecs.decode_response(ApiKey.DESCRIBE_GROUPS, api_version, frame)
    assert isinstance(response, DescribeGroupsResponse)
    named = [
        group
        for group in response.groups
        if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND and group.group_id in share_group_ids
    ]
    if not named:
        return [len(frame).to_bytes(LENGTH_BYTES, "big"), frame]
    for group in named:
        group.error_message = told(f"Group {group.group_id} is not a classic group.")
    return codecs.encode_response(ApiKey.DESCRIBE_GROUPS, api_version, correlation_id, response)
