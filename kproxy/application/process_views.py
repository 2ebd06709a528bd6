"""`ProcessViews`: what this process holds, to be told to people and to other processes. Imported by `late_admin`."""

from kproxy.admin.fleet.fleet_answers import FleetAnswers
from kproxy.admin.fleet.own_part import OwnPart
from kproxy.admin.local_answers import Inspected, LocalAnswers
from kproxy.application.admin_parts import AdminParts
from kproxy.handlers.ports import TopicDescription
from kproxy.net.reading.backlog_survey import BacklogSurvey


class ProcessViews:
    """Built once, so that all who ask share what was looked for."""

    def __init__(self, parts: AdminParts) -> None:
        self.local = LocalAnswers(_inspected(parts))
        self.answers = FleetAnswers(
            self.local, parts.fleet, parts.peer_views, wall_clock=parts.wall_clock, metrics=parts.metrics
        )
        self.own_part = OwnPart(self.answers)


def _inspected(parts: AdminParts) -> Inspected:
    return Inspected(
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
        counts=parts.share_groups.counters.of_group,
        unavailable=parts.vitals.why_in_doubt,
        owners=parts.fleet,
    )


def _partition_count(topic: TopicDescription | None) -> int | None:
    return None if topic is None else topic.partition_count
