"""The share coordinator's wire interface as entries of the registry: API keys 83 to 87.

Served with `kproxy.share.coordinator.enable=true` only, and to who may do CLUSTER_ACTION on the cluster.
"""

from collections.abc import Sequence
from dataclasses import replace

from kproxy.handlers.apis.delete_share_group_state import delete_share_group_state
from kproxy.handlers.apis.initialize_share_group_state import initialize_share_group_state
from kproxy.handlers.apis.read_share_group_state import read_share_group_state
from kproxy.handlers.apis.read_share_group_state_summary import read_share_group_state_summary
from kproxy.handlers.apis.share_state_requests import ShareStateServices
from kproxy.handlers.apis.write_share_group_state import write_share_group_state
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation
from kproxy.wire.codecs import Message


def share_state_apis(services: ShareStateServices, authorization: Authorization) -> Sequence[ServedApi]:
    """Return one entry for each of the five APIs."""
    apis = (
        initialize_share_group_state(services),
        read_share_group_state(services),
        write_share_group_state(services),
        delete_share_group_state(services),
        read_share_group_state_summary(services),
    )
    return tuple(_for_brokers(api, authorization) for api in apis)


def _for_brokers(api: ServedApi, authorization: Authorization) -> ServedApi:
    """Return `api` for those who may act as a broker; to all others every partition is CLUSTER_AUTHORIZATION_FAILED."""

    async def serve(request: Message, context: RequestContext) -> Message:
        await authorization.learn_cluster(context, AclOperation.CLUSTER_ACTION)
        authorization.require_cluster(context, AclOperation.CLUSTER_ACTION)
        return await api.serve(request, context)

    return replace(api, serve=serve)
