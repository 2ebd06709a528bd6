"""Which rights kproxy's own principal lacks on a cluster with an authorizer: each by its name, before it is missed.

Each is asked for by a request that does nothing: about a group that nobody has, a member that is none, a transaction
that there never was. Brokers decide about the right first. Source: `KafkaApis` of Kafka 2.8 and 4.3.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.clients.checkup.checks import Check, Subject
from kproxy.clients.cluster.cluster_client import ClusterClient
from kproxy.clients.failures import ClientFailed
from kproxy.error_codes import ErrorCode
from kproxy.security.acls import AclOperation
from kproxy.security.authorized_operations import of_described_group, of_reading, of_topic
from kproxy.security.own_rights import OWN_RIGHTS, OwnResource, operation_name
from kproxy.wire.messages.describe_groups_request import DescribeGroupsRequest
from kproxy.wire.messages.describe_groups_response import DescribeGroupsResponse
from kproxy.wire.messages.end_txn_request import EndTxnRequest
from kproxy.wire.messages.end_txn_response import EndTxnResponse
from kproxy.wire.messages.heartbeat_request import HeartbeatRequest
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.metadata_response import MetadataResponseTopic

PROBE: Final = "kproxy-doctor"
"""The id of a group that nobody has, and what a transactional id ends with that stands for no slot."""

_CHECK: Final = "rights"
_NO_PRODUCER: Final = -1
_NEEDED_TO_SERVE: Final = frozenset({AclOperation.READ, AclOperation.WRITE})
"""Without these of the state topics there are no share groups; without another one something is not done."""

_MISSED: Final = {
    AclOperation.DELETE: "what is old is not deleted: the state topic grows for ever",
    AclOperation.DESCRIBE_CONFIGS: "settings under which state would be lost are not seen",
}


@dataclass(frozen=True, slots=True)
class OwnNames:
    """What kproxy's own things are called on the cluster, and which topics share groups are to consume."""

    state_topics: Sequence[str]
    transactional_id_prefix: str
    fleet_group: str
    consumed_topics: Sequence[str] = ()


def own_rights_checks(subject: Subject, client: ClusterClient, names: OwnNames) -> Iterator[Check]:
    """Yield whether kproxy's principal may do what it has to, resource by resource.

    Describe on the cluster is told by whether the lists can be seen, Create by what becomes of topics that are missing.
    """
    looks: Sequence[Callable[[], Iterable[Check]]] = (
        lambda: _state_topics_checks(subject, client, names.state_topics),
        lambda: [_fleet_group_check(subject, client, names.fleet_group)],
        lambda: [_transactional_ids_check(subject, client, names.transactional_id_prefix)],
        lambda: [_groups_check(subject, client)],
        lambda: _consumed_topics_checks(subject, client, names.consumed_topics),
    )
    for look in looks:
        try:
            yield from look()
        except ClientFailed as failure:
            yield subject.skipped(_CHECK, str(failure))


def _state_topics_checks(subject: Subject, client: ClusterClient, names: Sequence[str]) -> Iterator[Check]:
    for topic in client.rights(names):
        if topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            yield from _state_topic_checks(subject, topic)


def _state_topic_checks(subject: Subject, topic: MetadataResponseTopic) -> Iterator[Check]:
    """Of a topic that is there: nobody has to create it."""
    name = str(topic.name)
    wanted = [each for each in OWN_RIGHTS[OwnResource.STATE_TOPICS] if each is not AclOperation.CREATE]
    told = of_topic(topic.error_code, topic.topic_authorized_operations)
    missing = [operation for operation in wanted if told.allows(operation) is False]
    for operation in missing:
        lacks = f"kproxy's principal may not do {operation_name(operation)} on topic {name}"
        remedy = grant_command(operation, f"--topic {name}")
        if operation in _NEEDED_TO_SERVE:
            yield subject.failed(_CHECK, f"{lacks}: there are no share groups without", remedy)
        else:
            yield subject.warning(_CHECK, f"{lacks}: {_MISSED[operation]}", remedy)
    if not missing:
        yield subject.ok(_CHECK, f"{', '.join(map(operation_name, wanted))} on topic {name}")


def _fleet_group_check(subject: Subject, client: ClusterClient, group: str) -> Check:
    beat = HeartbeatRequest(group, generation_id=-1, member_id="")
    told = of_reading(client.ask_any(beat, HeartbeatResponse).error_code)
    return _verdict(
        subject,
        is_missing=told.allows(AclOperation.READ) is False,
        operation=AclOperation.READ,
        what=f"the fleet's group {group}",
        resource=f"--group {group}",
    )


def _transactional_ids_check(subject: Subject, client: ClusterClient, prefix: str) -> Check:
    end = EndTxnRequest(f"{prefix}{PROBE}", producer_id=_NO_PRODUCER, producer_epoch=_NO_PRODUCER)
    error_code = client.ask_any(end, EndTxnResponse).error_code
    return _verdict(
        subject,
        is_missing=error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        operation=AclOperation.WRITE,
        what=f"the transactional ids with prefix {prefix}",
        resource=f"--transactional-id {prefix} --resource-pattern-type prefixed",
    )


def _groups_check(subject: Subject, client: ClusterClient) -> Check:
    (group,) = client.ask_any(DescribeGroupsRequest([PROBE]), DescribeGroupsResponse).groups
    told = of_described_group(group.error_code, group.authorized_operations)
    return _verdict(
        subject,
        is_missing=told.allows(AclOperation.DESCRIBE) is False,
        operation=AclOperation.DESCRIBE,
        what="all groups",
        resource="--group '*'",
    )


def _consumed_topics_checks(subject: Subject, client: ClusterClient, names: Sequence[str]) -> Iterator[Check]:
    # No names would ask for every topic there is.
    for topic in client.rights(names) if names else ():
        yield _consumed_topic_check(subject, topic)


def _consumed_topic_check(subject: Subject, topic: MetadataResponseTopic) -> Check:
    name = str(topic.name)
    if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return subject.skipped(_CHECK, f"topic {name} is not there")
    told = of_topic(topic.error_code, topic.topic_authorized_operations)
    return _verdict(
        subject,
        is_missing=told.allows(AclOperation.READ) is False,
        operation=AclOperation.READ,
        what=f"topic {name}",
        resource=f"--topic {name}",
    )


def _verdict(
    subject: Subject, *, is_missing: bool, operation: AclOperation, what: str, resource: str
) -> Check:
    said = f"{operation_name(operation)} on {what}"
    if is_missing:
        return subject.failed(
            _CHECK,
            f"kproxy's principal may not do {said}: there are no share groups without",
            grant_command(operation, resource),
        )
    return subject.ok(_CHECK, said)


def grant_command(operation: AclOperation, resource: str) -> str:
    """Return the command that grants an operation; `resource` is it in the options of kafka-acls.sh."""
    return (
        f"kafka-acls.sh --add --allow-principal User:NAME {resource} --operation {operation_name(operation)} "
        "(deploy/acls/kproxy-acls.sh grants all that kproxy needs)"
    )
