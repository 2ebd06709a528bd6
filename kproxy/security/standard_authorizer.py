"""`StandardAuthorizer`: who may do what under a set of access control lists, as Kafka's own authorizer decides it.

1. A super user may do everything.
2. The bindings whose pattern matches the resource count: the literal one of its name, the literal `*`, and those whose
   name it begins with.
3. One of them that denies the operation to the principal, or to `User:*`, from its host decides.
4. Else one that allows it does, and DESCRIBE and DESCRIBE_CONFIGS are allowed by what implies them.
5. Without either the answer is no, unless no pattern matches at all and that is configured to mean yes.

Hosts are compared as texts, those of clients as Java writes them (`2001:db8:0:0:0:0:0:7`): an entry with a host in
another form says nothing, here as at a broker.
Source: `StandardAuthorizerData.findAclRule` and `findResult`; `AclAuthorizer`, of brokers with ZooKeeper, too.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from kproxy.security.acls import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
)
from kproxy.security.client_hosts import host_address
from kproxy.security.principal import Principal

MOST_DECISIONS: Final = 50_000
"""Decisions that are kept, of all principals together; one takes some 300 bytes. Then all are made anew."""

MOST_PRINCIPALS: Final = 1_000
"""Principals, each by its host, whose decisions are kept: the one that came first goes first."""

LONGEST_KEPT_NAME: Final = 249
"""Decisions about longer names are not kept. No topic has one; clients may make up group ids of 32 KiB."""

IMPLIED_BY: Final[Mapping[int, frozenset[int]]] = {
    AclOperation.DESCRIBE: frozenset(
        {
            AclOperation.DESCRIBE,
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.DELETE,
            AclOperation.ALTER,
        }
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}),
}
"""Whoever is allowed one of these is allowed the operation. To be denied one of them denies nothing else."""


@dataclass(frozen=True, slots=True)
class AuthorizerRules:
    """What brokers know by their configuration, and no access control list says."""

    super_users: frozenset[Principal] = frozenset()
    """`super.users`."""
    allow_if_no_acl: bool = False
    """`allow.everyone.if.no.acl.found`."""


@dataclass(frozen=True, slots=True)
class _Entry:
    host: str
    operation: int
    permission: int

    def decides(self, operation: int, host: str) -> bool:
        """Tell whether it says anything of `operation` from `host`."""
        if self.host not in (WILDCARD, host):
            return False
        if self.operation in (AclOperation.ALL, operation):
            return True
        implied_by = IMPLIED_BY.get(operation, frozenset())
        return self.permission == AclPermission.ALLOW and self.operation in implied_by


_Entries: TypeAlias = dict[str, list[_Entry]]
"""What one pattern says, by principal."""


class _Patterns:
    """The patterns of one type of resource."""

    __slots__ = ("_literal", "_prefix_lengths", "_prefixed")

    def __init__(self) -> None:
        self._literal: dict[str, _Entries] = {}
        self._prefixed: dict[str, _Entries] = {}
        self._prefix_lengths: list[int] = []

    def add(self, binding: AclBinding) -> None:
        is_prefixed = binding.pattern_type == PatternType.PREFIXED
        patterns = self._prefixed if is_prefixed else self._literal
        if is_prefixed and binding.resource_name not in patterns:
            length = len(binding.resource_name)
            if length not in self._prefix_lengths:
                self._prefix_lengths.append(length)
        entries = patterns.setdefault(binding.resource_name, {})
        entry = _Entry(binding.host, binding.operation, binding.permission)
        entries.setdefault(binding.principal, []).append(entry)

    def matching(self, name: str) -> Iterator[_Entries]:
        """Yield what each pattern says that matches `name`: few look-ups, however many patterns there are."""
        for literal in (name, WILDCARD):
            if (entries := self._literal.get(literal)) is not None:
                yield entries
        for length in self._prefix_lengths:
            if length <= len(name) and (entries := self._prefixed.get(name[:length])) is not None:
                yield entries


class Permissions:
    """What one principal may do from one host. Made by `StandardAuthorizer`."""

    __slots__ = ("_authorizer", "_decisions", "_host", "_principal")

    def __init__(self, authorizer: "StandardAuthorizer", principal: Principal, host: str) -> None:
        self._authorizer = authorizer
        self._principal = principal
        self._host = host_address(host)
        self._decisions: dict[tuple[int, int, str], bool] = {}

    @property
    def kept_count(self) -> int:
        """How many decisions are kept."""
        return len(self._decisions)

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        """Tell whether it may do `operation` on the resource called `name`."""
        decision = self._decisions.get((operation, resource_type, name))
        if decision is not None:
            return decision
        decision = self._authorizer.decide(self._principal, self._host, operation, resource_type, name)
        if len(name) <= LONGEST_KEPT_NAME:
            self._authorizer.make_room()
            self._decisions[operation, resource_type, name] = decision
        return decision

    def forget(self) -> None:
        """Keep no decision."""
        self._decisions.clear()


class StandardAuthorizer:
    """Decides under `bindings`, which never change: other ones make another authorizer.

    The order of `bindings` means nothing. Those that name a principal, a host or a type of resource that nobody has
    decide nothing; one whose permission is unknown denies, as in Kafka.
    """

    __slots__ = ("_kept_count", "_patterns", "_permissions", "_rules", "binding_count")

    def __init__(self, bindings: Iterable[AclBinding], rules: AuthorizerRules) -> None:
        self.binding_count = 0
        """How many there are."""
        self._rules = rules
        self._patterns: dict[int, _Patterns] = {}
        self._permissions: dict[tuple[Principal, str], Permissions] = {}
        self._kept_count = 0
        for binding in bindings:
            self.binding_count += 1
            self._patterns.setdefault(binding.resource_type, _Patterns()).add(binding)

    def permissions_of(self, principal: Principal, host: str) -> Permissions:
        """Return what `principal` may do from `host`, an address in whatever form."""
        found = self._permissions.get((principal, host))
        if found is not None:
            return found
        if len(self._permissions) >= MOST_PRINCIPALS:
            self._permissions.pop(next(iter(self._permissions)))
        made = self._permissions[principal, host] = Permissions(self, principal, host)
        return made

    def decide(self, principal: Principal, host: str, operation: int, resource_type: int, name: str) -> bool:
        """Tell whether `principal` may do `operation` from `host`, without a look at what was decided before.

        `host` is as `host_address` writes it.
        """
        if principal in self._rules.super_users:
            return True
        patterns = self._patterns.get(resource_type)
        has_match = is_allowed = False
        for entries in patterns.matching(name) if patterns is not None else ():
            has_match = True
            for who in (str(principal), WILDCARD_PRINCIPAL):
                for entry in entries.get(who, ()):
                    if not entry.decides(operation, host):
                        continue
                    if entry.permission != AclPermission.ALLOW:
                        return False
                    is_allowed = True
        return is_allowed if has_match else self._rules.allow_if_no_acl

    def make_room(self) -> None:
        """Count one more decision that is kept; when there are too many, forget all of them first."""
        if self._kept_count >= MOST_DECISIONS:
            for permissions in self._permissions.values():
                permissions.forget()
            self._kept_count = 0
        self._kept_count += 1
