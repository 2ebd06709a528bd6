"""The share coordinator's wire interface as entries of the registry: API keys 83 to 87.

Served with `kproxy.share.coordinator.enable=true` only.
"""

from collections.abc import Sequence

from kproxy.handlers.delete_share_group_state import (
    DeleteShareGroupStateHandler,
    refuse_delete_share_group_state,
)
from kproxy.handlers.initialize_share_group_state import (
    InitializeShareGroupStateHandler,
    refuse_initialize_share_group_state,
)
from kproxy.handlers.read_share_group_state import ReadShareGroupStateHandler, refuse_read_share_group_state
from kproxy.handlers.read_share_group_state_summary import (
    ReadShareGroupStateSummaryHandler,
    refuse_read_share_group_state_summary,
)
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.share_state_requests import ShareStateServices
from kproxy.handlers.write_share_group_state import (
    WriteShareGroupStateHandler,
    refuse_write_share_group_state,
)
from kproxy.wire.api_keys import ApiKey


def share_state_apis(services: ShareStateServices) -> Sequence[ServedApi]:
    """Return one entry for each of the five APIs."""
    return (
        ServedApi(
            ApiKey.INITIALIZE_SHARE_GROUP_STATE,
            0,
            0,
            InitializeShareGroupStateHandler(services).serve,
            refuse_parts=refuse_initialize_share_group_state,
        ),
        ServedApi(
            ApiKey.READ_SHARE_GROUP_STATE,
            0,
            0,
            ReadShareGroupStateHandler(services).serve,
            refuse_parts=refuse_read_share_group_state,
        ),
        ServedApi(
            ApiKey.WRITE_SHARE_GROUP_STATE,
            0,
            1,
            WriteShareGroupStateHandler(services).serve,
            refuse_parts=refuse_write_share_group_state,
        ),
        ServedApi(
            ApiKey.DELETE_SHARE_GROUP_STATE,
            0,
            0,
            DeleteShareGroupStateHandler(services).serve,
            refuse_parts=refuse_delete_share_group_state,
        ),
        ServedApi(
            ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
            0,
            1,
            ReadShareGroupStateSummaryHandler(services).serve,
            refuse_parts=refuse_read_share_group_state_summary,
        ),
    )
