"""Members of share groups by client, all with the interface of `ShareMember`."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final, Protocol

from tests.real_kafka.java_probe import JavaShareMember
from tests.real_kafka.share_member import ShareMember


class ConfluentShareMember(ShareMember):
    """A `ShareConsumer` of confluent-kafka (share APIs in version 1), which knows no RENEW."""

    supports_renew: ClassVar[bool] = False

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        group: str,
        topics: Sequence[str],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Start a member, which joins with its first poll. `settings` are librdkafka's."""
        arguments = [bootstrap_servers, group, ",".join(topics)]
        arguments += [f"{key}={value}" for key, value in (settings or {}).items()]
        command: list[str | Path] = [
            Path(sys.executable),
            "-m",
            "tests.real_kafka.confluent_probe",
            *arguments,
        ]
        super().__init__("confluent-kafka share member", command)


class ShareMemberFactory(Protocol):
    """Starts a member: either class below, for tests that hold for both clients."""

    def __call__(
        self,
        bootstrap_servers: str,
        *,
        group: str,
        topics: Sequence[str],
        settings: Mapping[str, str] | None = None,
    ) -> ShareMember: ...


MEMBER_KINDS: Final[Mapping[str, ShareMemberFactory]] = {
    "confluent": ConfluentShareMember,
    "java": JavaShareMember,
}
"""For `pytest.mark.parametrize`, by the id that a test shows."""
