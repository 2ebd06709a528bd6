"""An `Authorizer` whose access control lists a test writes, and one for tests that are about other things."""

from dataclasses import dataclass
from typing import Final

from kproxy.errors import CoordinatorNotAvailable
from kproxy.handlers.authorization import ALLOW_ALL, Authorization, Permissions
from kproxy.security.acls import (
    CLUSTER_NAME,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourceType,
)
from kproxy.security.principal import ANONYMOUS, Principal
from kproxy.security.standard_authorizer import AuthorizerRules, StandardAuthorizer
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata

EVERYBODY_MAY: Final = Authorization(ALLOW_ALL, InMemoryClusterMetadata())


@dataclass(frozen=True, slots=True)
class _NothingOfGroups:
    """Permissions of which nobody knows what they say of groups."""

    permissions: Permissions
    problem: str

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        if resource_type == ResourceType.GROUP:
            raise CoordinatorNotAvailable(self.problem)
        return self.permissions.allows(operation, resource_type, name)


class ScriptedAuthorizer:
    """Nobody may do anything but what was allowed here. `problem` says that nobody knows what anybody may do."""

    def __init__(self, problem: str = "") -> None:
        self.problem = problem
        self.group_problem = ""
        """Why it cannot be told what may be done to groups, of which brokers are asked one by one."""
        self.waits = 0
        """How often a request waited for the first word."""
        self._bindings: list[AclBinding] = []
        self._rules = StandardAuthorizer((), AuthorizerRules())

    def permissions_of(self, principal: Principal, client_host: str) -> Permissions:
        if self.problem:
            raise CoordinatorNotAvailable(self.problem)
        permissions = self._rules.permissions_of(principal, client_host.removeprefix("/"))
        return _NothingOfGroups(permissions, self.group_problem) if self.group_problem else permissions

    async def wait_until_known(self) -> None:
        self.waits += 1

    def allow(
        self,
        operation: AclOperation,
        resource_type: ResourceType,
        name: str = CLUSTER_NAME,
        *,
        principal: Principal = ANONYMOUS,
    ) -> None:
        """Let `principal` do this from now on."""
        self._bindings.append(
            AclBinding(
                resource_type, name, PatternType.LITERAL, str(principal), "*", operation, AclPermission.ALLOW
            )
        )
        self._renew()

    def allow_topic(self, operation: AclOperation, *names: str) -> None:
        for name in names:
            self.allow(operation, ResourceType.TOPIC, name)

    def allow_group(self, operation: AclOperation, *names: str) -> None:
        for name in names:
            self.allow(operation, ResourceType.GROUP, name)

    def take_away(self, name: str) -> None:
        """Let nobody do anything with what is called `name` from now on."""
        self._bindings = [binding for binding in self._bindings if binding.resource_name != name]
        self._renew()

    def _renew(self) -> None:
        self._rules = StandardAuthorizer(self._bindings, AuthorizerRules())
