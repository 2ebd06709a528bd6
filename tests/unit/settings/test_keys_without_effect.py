"""Keys of brokers that say nothing to kproxy are refused, with the reason."""

import pytest

from kproxy.settings.key_table import KEYS
from kproxy.settings.keys_without_effect import KEYS_WITHOUT_EFFECT
from kproxy.settings.sources import Assignment, problems_of_source


@pytest.mark.parametrize("name", KEYS_WITHOUT_EFFECT)
def test_a_key_without_effect_is_refused_with_the_reason(name: str) -> None:
    [problem] = problems_of_source([Assignment(name, "1", "file kproxy.properties line 3")])
    assert problem.endswith(f"has no effect in kproxy, {KEYS_WITHOUT_EFFECT[name]}: remove it")


def test_its_name_in_the_environment_is_refused_with_the_reason_too() -> None:
    variable = "KPROXY_SHARE_COORDINATOR_THREADS"
    [problem] = problems_of_source([Assignment(variable, "1", f"environment variable {variable}")])
    assert "one event loop serves everything" in problem


def test_no_key_has_an_effect_and_none() -> None:
    assert not KEYS.keys() & KEYS_WITHOUT_EFFECT.keys()
