import pytest

from kproxy.clients.nearest_names import nearest_names


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (["orders", "order-audit", "bills"], "nearest: orders"),
        (["mail"], "there is mail"),
        (["mail\nError: all is lost\x1b[2J"], "there is mail\\nError: all is lost\\x1b[2J"),
        ([], "there is none so far"),
        (["a", "b", "c", "d", "e", "f", "g"], "there are a, b, c, d, e and 2 more"),
    ],
)
def test_names_that_look_alike_are_told_before_others(known: list[str], text: str) -> None:
    assert nearest_names("oders", known) == text
