"""`StandardAuthorizer` against the rules read line by line over all bindings, which is how Kafka documents them."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from kproxy.security.acls import AclBinding, AclOperation, AclPermission, PatternType, ResourceType
from kproxy.security.principal import Principal
from kproxy.security.standard_authorizer import AuthorizerRules, StandardAuthorizer

NAMES: Final = ("*", "a", "ab", "abc", "abd", "b", "ba")
PRINCIPALS: Final = ("User:*", "User:alice", "User:bob", "Role:alice")
HOSTS: Final = ("*", "10.0.0.1", "10.0.0.2")
OPERATIONS: Final = tuple(each for each in AclOperation if each is not AclOperation.ANY)
IMPLYING_DESCRIBE: Final = {"DESCRIBE", "READ", "WRITE", "DELETE", "ALTER"}
IMPLYING_DESCRIBE_CONFIGS: Final = {"DESCRIBE_CONFIGS", "ALTER_CONFIGS"}

bindings: Final = st.builds(
    AclBinding,
    resource_type=st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    resource_name=st.sampled_from(NAMES),
    pattern_type=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    principal=st.sampled_from(PRINCIPALS),
    host=st.sampled_from(HOSTS),
    operation=st.sampled_from(OPERATIONS),
    permission=st.sampled_from([AclPermission.ALLOW, AclPermission.DENY]),
)
questions: Final = st.tuples(
    st.sampled_from([Principal("User", "alice"), Principal("User", "bob"), Principal("Role", "alice")]),
    st.sampled_from(HOSTS[1:]),
    st.sampled_from(OPERATIONS[1:]),
    st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    st.sampled_from(NAMES[1:]),
)


def is_about(binding: AclBinding, resource_type: int, name: str) -> bool:
    if binding.resource_type != resource_type:
        return False
    if binding.pattern_type == PatternType.PREFIXED:
        return name.startswith(binding.resource_name)
    return binding.resource_name in (name, "*")


def names(binding: AclBinding, principal: Principal, host: str, operation: AclOperation) -> bool:
    if binding.principal not in (f"{principal.kind}:{principal.name}", "User:*"):
        return False
    if binding.host not in ("*", host):
        return False
    named = AclOperation(binding.operation)
    if named in (AclOperation.ALL, operation):
        return True
    if binding.permission == AclPermission.DENY:
        return False
    if operation is AclOperation.DESCRIBE:
        return named.name in IMPLYING_DESCRIBE
    return operation is AclOperation.DESCRIBE_CONFIGS and named.name in IMPLYING_DESCRIBE_CONFIGS


@given(
    acls=st.lists(bindings, max_size=12),
    asked=st.lists(questions, min_size=1, max_size=8),
    super_users=st.sets(st.sampled_from([Principal("User", "alice"), Principal("Role", "alice")])),
    is_open=st.booleans(),
)
def test_every_question_is_answered_as_by_reading_all_bindings(
    acls: list[AclBinding],
    asked: list[tuple[Principal, str, AclOperation, ResourceType, str]],
    super_users: set[Principal],
    *,
    is_open: bool,
) -> None:
    authorizer = StandardAuthorizer(acls, AuthorizerRules(frozenset(super_users), allow_if_no_acl=is_open))
    for principal, host, operation, resource_type, name in [*asked, *asked]:
        matching = [each for each in acls if is_about(each, resource_type, name)]
        permissions = {each.permission for each in matching if names(each, principal, host, operation)}
        expected = (
            principal in super_users or permissions == {AclPermission.ALLOW} or (is_open and not matching)
        )
        found = authorizer.permissions_of(principal, host).allows(operation, resource_type, name)
        assert found is expected, (principal, host, operation, resource_type, name)
