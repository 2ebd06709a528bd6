"""`AclQuestion`: the access control lists of the backing cluster, asked for again and again, read when they differ.

A cluster may have a hundred thousand of them, and they hardly ever change. So an answer is compared with the last one
byte by byte, and what is different and large is read in a thread.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from kproxy.error_codes import ErrorCode, known_code
from kproxy.net.cluster.broker_client import CLIENT_ID, BrokerClient
from kproxy.net.cluster.prepared_request import PreparedRequest
from kproxy.net.cluster.throttle import end_of_throttle_time
from kproxy.security.acls import AclBinding, AclOperation, AclPermission, PatternType, ResourceType
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.describe_acls_request import DescribeAclsRequest
from kproxy.wire.messages.describe_acls_response import DescribeAclsResponse

LARGE_ANSWER_BYTES: Final = 16 * 1024
"""What is longer is read in a thread: a hundred thousand bindings take a second."""

_EVERY_ACL: Final = DescribeAclsRequest(
    resource_type_filter=ResourceType.ANY,
    resource_name_filter=None,
    pattern_type_filter=PatternType.ANY,
    principal_filter=None,
    host_filter=None,
    operation=AclOperation.ANY,
    permission_type=AclPermission.ANY,
)


@dataclass(frozen=True, slots=True)
class KnownAcls:
    """What the authorizer of a broker goes by: every binding, or `is_unchanged` and none, as when it was believed."""

    bindings: Sequence[AclBinding] = ()
    is_unchanged: bool = False
    content: bytes = field(default=b"", compare=False, repr=False)
    """The bytes in which a broker said so; empty for one that `is_unchanged`."""


@dataclass(frozen=True, slots=True)
class HiddenAcls:
    """A broker has an authorizer, and does not tell kproxy what that goes by."""

    reason: str


@dataclass(frozen=True, slots=True)
class NoAuthorizer:
    """A broker has none: everybody may do everything."""


AclAnswer: TypeAlias = KnownAcls | HiddenAcls | NoAuthorizer


class AclQuestion:
    """The question, and the answer that is gone by. Several brokers may be asked at the same time."""

    __slots__ = ("_believed", "_request")

    def __init__(self) -> None:
        self._request: PreparedRequest | None = None
        self._believed: bytes | None = None

    def believe(self, answer: KnownAcls) -> None:
        """Know that `answer` is what is gone by now: one that differs from it in nothing need not be read."""
        self._believed = answer.content

    def forget(self) -> None:
        """Have the next answer read, whatever it says."""
        self._believed = None

    async def ask(self, client: BrokerClient) -> AclAnswer:
        """Return what the broker answers.

        Raises:
            BrokerUnavailable: it does not answer.
            MalformedMessage: its answer cannot be read.
        """
        version = client.version_for(ApiKey.DESCRIBE_ACLS)
        if self._request is None or self._request.version != version:
            self._request = PreparedRequest.of(ApiKey.DESCRIBE_ACLS, version, CLIENT_ID, _EVERY_ACL)
            self.forget()

        def read(frame: memoryview) -> bytes | None:
            lasting = frame[end_of_throttle_time(ApiKey.DESCRIBE_ACLS, version) :]
            is_same = self._believed is not None and self._believed == lasting
            return None if is_same else bytes(frame)

        content = await client.repeat(self._request, read)
        if content is None:
            return KnownAcls(is_unchanged=True)
        read_answer = await _read(version, content, client.peer)
        if isinstance(read_answer, KnownAcls):
            lasting = content[end_of_throttle_time(ApiKey.DESCRIBE_ACLS, version) :]
            return replace(read_answer, content=lasting)
        return read_answer


async def _read(version: int, frame: bytes, peer: str) -> AclAnswer:
    if len(frame) > LARGE_ANSWER_BYTES:
        return await asyncio.to_thread(_answer_in, version, frame, peer)
    return _answer_in(version, frame, peer)


def _answer_in(version: int, frame: bytes, peer: str) -> AclAnswer:
    _, response = codecs.decode_response(ApiKey.DESCRIBE_ACLS, version, frame)
    assert isinstance(response, DescribeAclsResponse)
    if response.error_code == ErrorCode.SECURITY_DISABLED:
        return NoAuthorizer()
    if response.error_code != ErrorCode.NONE:
        code = known_code(response.error_code)
        detail = response.error_message or "no reason was given"
        return HiddenAcls(f"{peer} answered DescribeAcls with {code.name} ({response.error_code}): {detail}")
    bindings = [
        AclBinding(
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for resource in response.resources
        for acl in resource.acls
    ]
    return KnownAcls(bindings)
