"""The share coordinator's wire interface as entries of the registry: API keys 83 to 87.

Served with `kproxy.share.coordinator.enable=true` only.
"""

from collections.abc import Sequence

from kproxy.handlers.apis.delete_share_group_state import delete_share_group_state
from kproxy.handlers.apis.initialize_share_group_state import initialize_share_group_state
from kproxy.handlers.apis.read_share_group_state import read_share_group_state
from kproxy.handlers.apis.read_share_group_state_summary import read_share_group_state_summary
from kproxy.handlers.apis.share_state_requests import ShareStateServices
from kproxy.handlers.apis.write_share_group_state import write_share_group_state
from kproxy.handlers.registry import ServedApi


def share_state_apis(services: ShareStateServices) -> Sequence[ServedApi]:
    """Return one entry for each of the five APIs."""
    return (
        initialize_share_group_state(services),
        read_share_group_state(services),
        write_share_group_state(services),
        delete_share_group_state(services),
        read_share_group_state_summary(services),
    )
