"""The administration of offsets as entries of the registry: API keys 90 to 92."""

from collections.abc import Sequence

from kproxy.handlers.apis.alter_share_group_offsets import alter_share_group_offsets
from kproxy.handlers.apis.delete_share_group_offsets import delete_share_group_offsets
from kproxy.handlers.apis.describe_share_group_offsets import describe_share_group_offsets
from kproxy.handlers.apis.share_offset_requests import ShareOffsetServices
from kproxy.handlers.registry import ServedApi


def share_offset_apis(services: ShareOffsetServices) -> Sequence[ServedApi]:
    """Return one entry for each of the three APIs."""
    return (
        describe_share_group_offsets(services),
        alter_share_group_offsets(services),
        delete_share_group_offsets(services),
    )
