# ruff: noqa: RUF009 - key_row makes a dataclasses.field, which is no shared value
"""The part of the table of keys that says how kproxy learns what clients may do."""

from dataclasses import dataclass

from kproxy.settings.choices import AuthorizerSource
from kproxy.settings.fleet_keys import FleetSettings
from kproxy.settings.key_rows import key_row
from kproxy.settings.value_kinds import milliseconds, one_of, principal_names, true_or_false


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerSettings(FleetSettings):
    """The part of `Settings` about authorization. `load_settings` makes and validates the whole."""

    super_users: tuple[str, ...] = key_row(
        "super.users",
        principal_names(),
        "",
        "Principals that may do everything, as User:NAME separated by semicolons: those of the backing brokers, which "
        "no access control list names.",
    )
    allow_everyone_if_no_acl_found: bool = key_row(
        "allow.everyone.if.no.acl.found",
        true_or_false(),
        "false",
        "Whether everybody may do everything with a resource that no access control list matches: as on the backing "
        "brokers, which tell nobody.",
    )
    authorizer_source: AuthorizerSource = key_row(
        "kproxy.authorizer.source",
        one_of(AuthorizerSource),
        "acls",
        "What says who may do what to share groups: acls (the access control lists of the backing cluster), operations "
        "(what each client's own broker answers on the client's connection about the client's rights, for authorizers "
        "that decide by something else), or auto: the lists where kproxy may see them, otherwise operations.",
    )
    authorizer_refresh_ms: int = key_row(
        "kproxy.authorizer.refresh.ms",
        milliseconds(100, 3_600_000),
        "5000",
        "How often the backing cluster is asked for its access control lists, or a broker for the rights of a client: "
        "so long may a right that was taken away be used on share groups.",
    )
    authorizer_max_age_ms: int = key_row(
        "kproxy.authorizer.max.age.ms",
        milliseconds(1_000, 86_400_000),
        "60000",
        "How old the access control lists may become while the backing cluster cannot be asked. Then share groups are "
        "refused to everybody.",
    )
