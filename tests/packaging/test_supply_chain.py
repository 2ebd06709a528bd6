"""What is concluded from the documents of the two tools; `make sbom` and `make audit` run them themselves."""

import pytest

from tests.packaging.supply_chain import (
    EXIT_FOUND,
    EXIT_NOT_AUDITED,
    Component,
    audit_verdict,
    components_of,
    licence_lines,
)


def component(*licences: str) -> Component:
    return Component("package", "1", frozenset(licences))


@pytest.mark.parametrize(
    "licence", ["MIT", "Apache-2.0 AND MIT", "MIT OR GPL-3.0-only", "(MIT OR GPL-2.0-only) AND BSD-3-Clause"]
)
def test_a_licence_is_accepted_when_each_of_its_parts_leaves_an_accepted_choice(licence: str) -> None:
    # When, then
    assert component(licence).is_accepted


@pytest.mark.parametrize("licences", [(), ("GPL-3.0-only",), ("MIT AND GPL-3.0-only",), ("LicenseRef-Own",)])
def test_a_licence_that_nobody_has_looked_at_is_not_accepted(licences: tuple[str, ...]) -> None:
    # When, then
    assert not component(*licences).is_accepted


def test_a_component_names_its_licences_by_id_by_expression_or_by_classifier() -> None:
    # Given
    bill = {
        "components": [
            {"name": "b", "version": "2", "licenses": [{"license": {"id": "MIT"}}]},
            {"name": "A", "version": "1", "licenses": [{"expression": "MIT AND ISC"}]},
            {
                "name": "c",
                "version": "30",
                "licenses": [{"license": {"name": "License :: OSI Approved :: MIT License"}}],
            },
            {"name": "d"},
        ]
    }

    # When
    lines = licence_lines(components_of(bill))

    # Then
    assert lines == ["A  1   MIT AND ISC", "b  2   MIT", "c  30  MIT License", "d  ?   none named"]


def test_packages_that_could_not_be_looked_up_are_no_clean_audit() -> None:
    # Given
    report = {"dependencies": [{"name": "click", "skip_reason": "Dependency not found: click"}]}

    # When
    code, lines = audit_verdict(report)

    # Then
    assert code == EXIT_NOT_AUDITED
    assert lines[0] == "not audited: 1 of 1 packages (Dependency not found)"


def test_a_known_vulnerability_is_named_with_the_version_that_mends_it() -> None:
    # Given
    hole = {"id": "PYSEC-1", "fix_versions": ["3.0"]}
    report = {"dependencies": [{"name": "click", "version": "2", "vulns": [hole]}]}

    # When, then
    assert audit_verdict(report) == (EXIT_FOUND, ["click 2: PYSEC-1, mended in 3.0"])


def test_an_audit_that_found_nothing_says_of_how_many_packages() -> None:
    # Given
    report = {"dependencies": [{"name": "click", "version": "2", "vulns": []}]}

    # When, then
    assert audit_verdict(report) == (0, ["no known vulnerability in 1 packages"])
