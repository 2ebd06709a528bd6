import pytest

from kproxy.cli.progress import progress


@pytest.mark.parametrize(("is_watched", "is_shown"), [(True, True), (False, False), (None, False)])
def test_a_bar_is_shown_on_standard_error_where_somebody_watches(
    capsys: pytest.CaptureFixture[str], *, is_watched: bool | None, is_shown: bool
) -> None:
    # When
    with progress("replay", 10, is_watched=is_watched) as advance:
        for _ in range(10):
            advance(1)

    # Then
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("replay" in shown.err) is is_shown
