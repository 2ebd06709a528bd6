"""Which texts may name a group or a member."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import InvalidRequest
from kproxy.share.identifiers import require_group_id, require_member_id


def test_a_member_id_is_any_text_of_1_to_36_characters() -> None:
    assert require_member_id("x") == "x"
    assert require_member_id("m" * 36) == "m" * 36


@pytest.mark.parametrize("text", [None, "", "m" * 37])
def test_other_member_ids_are_refused(text: str | None) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        require_member_id(text)

    assert refusal.value.error_code is ErrorCode.INVALID_REQUEST


def test_a_group_id_must_not_be_null() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        require_group_id(None)

    assert refusal.value.error_code is ErrorCode.INVALID_REQUEST


def test_a_group_id_is_any_text() -> None:
    assert require_group_id("orders") == "orders"
