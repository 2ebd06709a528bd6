import click
import pytest

from kproxy.jobs.command_line import COMMON_OPTIONS
from kproxy.jobs.registry import JOBS


@pytest.mark.parametrize("name", list(JOBS))
def test_every_job_can_be_loaded_and_its_options_clash_with_none_that_all_have(name: str) -> None:
    # When
    job = JOBS[name].load()

    # Then
    own = {option for parameter in job.options for option in parameter.opts}
    common = {option for parameter in COMMON_OPTIONS for option in parameter.opts}
    assert not own & (common | {"--plot"})
    assert all(isinstance(parameter, click.Option) and parameter.help for parameter in job.options)


def test_a_purpose_is_a_sentence() -> None:
    # When
    purposes = [lazy.purpose for lazy in JOBS.values()]

    # Then
    assert all(purpose[0].isupper() and purpose.endswith(".") for purpose in purposes)
