"""A member of a share group with Java's own client of the reference version (share APIs in version 2)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tests.real_kafka.compiled_java import compiled_classes
from tests.real_kafka.java_command import QUICK_START_OPTIONS, java_command, tool_class_data
from tests.real_kafka.share_member import ShareMember
from tests.real_kafka.versions import REFERENCE

PROBE_CLASS: Final = "ShareConsumerProbe"
HEAP_OPTION: Final = "-Xmx256m"


class JavaShareMember(ShareMember):
    """A `KafkaShareConsumer` of the reference version."""

    supports_renew: ClassVar[bool] = True

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        group: str,
        topics: Sequence[str],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Start a member; it joins with its first poll.

        `settings` are Java's, such as `max.poll.records`, `share.acquire.mode`, `client.id`.
        """
        arguments = [bootstrap_servers, group, ",".join(topics)]
        arguments += [f"{key}={value}" for key, value in (settings or {}).items()]
        options = [HEAP_OPTION, *QUICK_START_OPTIONS, *tool_class_data().options(records=False)]
        command = java_command(
            REFERENCE,
            PROBE_CLASS,
            arguments,
            options=options,
            log_role="tool",
            more_classes=[compiled_classes()],
        )
        super().__init__("Java share member", command)
