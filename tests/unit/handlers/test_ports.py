"""The one port that has an implementation of its own."""

from kproxy.handlers.ports import UncheckedGroupNamespace


async def test_a_namespace_that_does_not_look_finds_every_id_free() -> None:
    # When
    is_foreign = await UncheckedGroupNamespace().is_foreign("orders")

    # Then
    assert not is_foreign
