"""The HTTP server of the admin port, with all that it shows. Imported by `late_admin`, once the proxy is at work."""

from kproxy.admin.inspection import Inspection
from kproxy.admin.local_answers import Inspected
from kproxy.admin.server import AdminServer
from kproxy.admin.views import item
from kproxy.application.late_admin import AdminParts
from kproxy.handlers.ports import TopicDescription
from kproxy.net.reading.backlog_survey import BacklogSurvey


def admin_server(parts: AdminParts) -> AdminServer:
    """Build the server; it does not listen yet."""
    return AdminServer(
        parts.listener,
        metrics=parts.metrics,
        readiness=parts.vitals.readiness(),
        status=lambda: item(parts.vitals.status()),
        inspection=_inspection(parts),
    )


def _inspection(parts: AdminParts) -> Inspection:
    """Return the endpoints that list what the process holds."""
    inspected = Inspected(
        coordinator=parts.share_groups.coordinator,
        sessions=parts.share_groups.sessions,
        directory=parts.share_groups.directory,
        topic_name=parts.topic_name,
        partition_count=lambda topic_id: _partition_count(parts.metadata.describe(topic_id)),
        client_id=lambda group_id, member_id: parts.share_groups.clients.of(group_id, member_id).client_id,
        clock=parts.clock,
        wall_clock=parts.wall_clock,
        state_log=lambda: parts.state_log.slots,
        state_topic=lambda: parts.state_log.state_topic,
        cluster_id=lambda: parts.metadata.cluster_id,
        backlogs=BacklogSurvey(metadata=parts.metadata, connections=parts.connections),
        background=parts.background,
        unavailable=parts.vitals.why_in_doubt,
        owners=parts.fleet,
    )
    return Inspection(inspected, peer_views=parts.peer_views, metrics=parts.metrics)


def _partition_count(topic: TopicDescription | None) -> int | None:
    return None if topic is None else topic.partition_count
