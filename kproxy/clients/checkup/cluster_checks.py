"""Whether a cluster can carry kproxy: its versions, its own share groups, the state topics, and kproxy's rights."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.clients.checkup.checks import Check, Subject
from kproxy.clients.checkup.own_rights_checks import grant_command
from kproxy.clients.cluster.cluster_client import ClusterClient
from kproxy.clients.failures import ClientFailed
from kproxy.error_codes import ErrorCode, known_code
from kproxy.security.acls import AclOperation
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kproxy.wire.messages.create_topics_response import CreateTopicsResponse
from kproxy.wire.messages.describe_acls_request import DescribeAclsRequest
from kproxy.wire.messages.describe_acls_response import DescribeAclsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.metadata_response import MetadataResponseTopic
from kproxy.wording import counted

_MIN_INSYNC: Final = "min.insync.replicas"
_TOPIC: Final = 2
_ANY: Final = 1
_METADATA_WITH_TOPIC_IDS: Final = 10
_SHARE_VERSION: Final = "share.version"
_SECURITY_DISABLED: Final = 54
_NOT_CONTROLLER: Final = 41
_DENIED: Final = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED})


@dataclass(frozen=True, slots=True)
class StateTopicWishes:
    """What kproxy wants of a topic of its state log: settings without which it refuses it, and how it would make it."""

    name: str
    demands: Mapping[str, str]
    partition_count: int
    replication_factor: int
    required_rights: str


def version_checks(subject: Subject, client: ClusterClient) -> Iterator[Check]:
    """Yield whether the brokers know what kproxy needs, and whether they serve share groups themselves."""
    answer = client.ask_any(ApiVersionsRequest("kproxy-doctor", "1"), ApiVersionsResponse)
    ranges = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    newest = ranges.get(ApiKey.METADATA, (0, 0))[1]
    if newest < _METADATA_WITH_TOPIC_IDS:
        yield subject.failed(
            "versions",
            f"Metadata goes up to version {newest}, without topic ids",
            "kproxy needs Kafka 2.8 or newer",
        )
    else:
        yield subject.ok(
            "versions", f"{counted(len(ranges), 'API')}, Metadata up to version {newest}: topic ids"
        )
    finalized = {each.name: each.max_version_level for each in answer.finalized_features}
    if finalized.get(_SHARE_VERSION, 0) > 0 and ApiKey.SHARE_FETCH in ranges:
        yield subject.warning(
            "share groups",
            f"the cluster serves share groups itself ({_SHARE_VERSION}={finalized[_SHARE_VERSION]})",
            "kproxy leaves them to it unless kproxy.share.upstream=shadow: clients may connect to the brokers",
        )
    else:
        yield subject.ok("share groups", "the cluster serves none itself: kproxy does")


def topic_checks(subject: Subject, client: ClusterClient, wishes: StateTopicWishes) -> Iterator[Check]:
    """Yield whether a topic of the state log is there and fit, or could be made."""
    (topic,) = client.look([wishes.name]).topics
    match known_code(topic.error_code):
        case ErrorCode.NONE | ErrorCode.LEADER_NOT_AVAILABLE:
            yield from _checks_of_one_that_is_there(subject, client, topic, wishes)
        case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            yield _creation_check(subject, client, wishes)
        case ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            yield subject.failed(
                "topic", "kproxy's principal may not see it", f"allow it {wishes.required_rights}"
            )
        case other:
            yield subject.failed("topic", f"the brokers answer {other.name}", "look into the brokers' logs")


def _checks_of_one_that_is_there(
    subject: Subject, client: ClusterClient, topic: MetadataResponseTopic, wishes: StateTopicWishes
) -> Iterator[Check]:
    keys = [*wishes.demands, _MIN_INSYNC]
    request = DescribeConfigsRequest(resources=[DescribeConfigsResource(_TOPIC, wishes.name, keys)])
    (result,) = client.ask_any(request, DescribeConfigsResponse).results
    values = {each.name: each.value or "" for each in result.configs}
    yield _leaders_check(subject, topic)
    is_readable = result.error_code == ErrorCode.NONE
    yield _replicas_check(subject, topic, wishes, int(values.get(_MIN_INSYNC) or 1) if is_readable else None)
    if is_readable:
        yield from _settings_checks(subject, wishes, values)
    else:
        why = result.error_message or known_code(result.error_code).name
        yield subject.warning("settings", f"cannot be read: {why}", f"allow kproxy {wishes.required_rights}")


def _leaders_check(subject: Subject, topic: MetadataResponseTopic) -> Check:
    leaderless = [each.partition_index for each in topic.partitions if each.leader_id < 0]
    if not leaderless:
        return subject.ok("leaders", f"each of {counted(len(topic.partitions), 'partition')} has one")
    return subject.failed(
        "leaders",
        f"{len(leaderless)} of {counted(len(topic.partitions), 'partition')} have none, {leaderless[0]} first",
        "share groups of these slots wait: bring the brokers back that hold them",
    )


def _replicas_check(
    subject: Subject, topic: MetadataResponseTopic, wishes: StateTopicWishes, min_insync: int | None
) -> Check:
    """Tell what is written safely by the topic's own `min.insync.replicas`, and then by what was configured.

    None is one that cannot be read; 1 is the least that it can be.
    """
    least = min_insync or 1
    short = [each.partition_index for each in topic.partitions if len(each.isr_nodes) < least]
    if short:
        return subject.failed(
            "replicas",
            f"fewer than {least} in sync: {counted(len(short), 'partition')}, {short[0]} first",
            "nothing can be acknowledged there until replicas are in sync again",
        )
    fewest = min((len(each.replica_nodes) for each in topic.partitions), default=0)
    if fewest < wishes.replication_factor:
        return subject.warning(
            "replicas",
            f"{fewest}, and share.coordinator.state.topic.replication.factor is {wishes.replication_factor}",
            "reassign its partitions (kafka-reassign-partitions.sh), or set the key to what it has",
        )
    if min_insync is None:
        in_sync = min((len(each.isr_nodes) for each in topic.partitions), default=0)
        return subject.skipped(
            "replicas",
            f"{fewest} of each partition, {in_sync} in sync at least; whether that is enough to write is not known, "
            f"for {_MIN_INSYNC} cannot be read",
        )
    return subject.ok("replicas", f"{fewest} of each partition, {min_insync} in sync at least to write")


def _settings_checks(
    subject: Subject, wishes: StateTopicWishes, values: Mapping[str, str]
) -> Iterator[Check]:
    wrong = {key: value for key, value in wishes.demands.items() if values.get(key, value) != value}
    for key, demanded in wrong.items():
        yield subject.failed(
            "settings",
            f"{key}={values[key]}, under which share-group state would be lost",
            f"kafka-configs.sh --alter --entity-type topics --entity-name {wishes.name} --add-config {key}={demanded}",
        )
    if not wrong:
        yield subject.ok("settings", ", ".join(f"{key}={value}" for key, value in wishes.demands.items()))


def _creation_check(subject: Subject, client: ClusterClient, wishes: StateTopicWishes) -> Check:
    """Ask the cluster to make it in earnest, but for doing it."""
    topic = CreatableTopic(
        name=wishes.name, num_partitions=wishes.partition_count, replication_factor=wishes.replication_factor
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=5_000, validate_only=True)
    (result,) = client.ask_any(request, CreateTopicsResponse).topics
    code = known_code(result.error_code)
    why = result.error_message or code.name
    if code is ErrorCode.NONE:
        return subject.ok("topic", "is not there, and kproxy may create it")
    if result.error_code == _NOT_CONTROLLER:
        return subject.skipped(
            "topic", "is not there; whether kproxy may create it only the controller tells"
        )
    if code is ErrorCode.INVALID_REPLICATION_FACTOR:
        return subject.failed(
            "topic",
            f"is not there, and cannot be created: {why}",
            "set share.coordinator.state.topic.replication.factor and .min.isr to what the cluster can hold",
        )
    if code in _DENIED:
        return subject.failed(
            "topic",
            "is not there, and kproxy's principal may not create it: it lacks Create there",
            f"allow it {wishes.required_rights}, or create the topic yourself; Create alone: "
            + grant_command(AclOperation.CREATE, f"--topic {wishes.name}"),
        )
    return subject.failed("topic", f"is not there, and cannot be created: {why}", "ask who runs the cluster")


def rights_checks(subject: Subject, client: ClusterClient) -> Iterator[Check]:
    """Yield whether kproxy can see the lists that it decides clients' requests by."""
    request = DescribeAclsRequest(
        resource_type_filter=_ANY, pattern_type_filter=_ANY, operation=_ANY, permission_type=_ANY
    )
    try:
        answer = client.ask_any(request, DescribeAclsResponse)
    except ClientFailed as failure:
        yield subject.skipped("access control", str(failure))
        return
    if answer.error_code == _SECURITY_DISABLED:
        yield subject.ok("access control", "the cluster has no authorizer: everybody may do everything")
    elif answer.error_code == ErrorCode.NONE:
        yield subject.ok(
            "access control", f"lists about {counted(len(answer.resources), 'resource')} can be seen"
        )
    else:
        why = answer.error_message or known_code(answer.error_code).name
        yield subject.failed(
            "access control",
            f"the lists cannot be seen: {why}",
            "allow kproxy's principal Describe on the cluster, share groups are refused without: "
            + grant_command(AclOperation.DESCRIBE, "--cluster"),
        )
