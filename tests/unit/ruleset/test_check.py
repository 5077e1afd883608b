from __future__ import annotations

import pytest

from mlacheck.ruleset.check import check
from mlacheck.ruleset.expression import Declaration, ExpressionError, Scope

BACKENDS = ("fa3", "triton")
SCOPE = Scope(
    {
        "backend": Declaration("str", BACKENDS),
        "decode": Declaration("str", BACKENDS),
        "free": Declaration("str"),
        "on": Declaration("bool"),
        # Declared for its description, and derived.
        "shown": Declaration("str", doc="what runs"),
    },
    {
        "used": "coalesce(decode, backend)",
        "shown": "used",
        "either": "backend or 'none'",
        "chosen": "'flashmla' if on else used",
        "open": "coalesce(free, backend)",
        "built": "lower(free)",
        "whether": "backend is None",
    },
    {},
)


@pytest.mark.parametrize(
    "text",
    [
        "used == 'fa3'",
        "shown in ['fa3', 'triton']",
        "either == 'none'",
        "chosen == 'flashmla'",
        "chosen != 'triton'",
        "used is None",
        "open == 'anything'",
        "built == 'anything'",
        "'rit' in used",
        "'tri' in shown",
    ],
)
def test_values_that_a_derived_fact_can_have(text):
    check(text, SCOPE)


@pytest.mark.parametrize(
    ("text", "close"),
    [
        ("used == 'fa33'", "fa3"),
        ("'tritn' == used", "triton"),
        ("shown in ['fa3', 'tritno']", "triton"),
        ("either == 'non'", "none"),
        ("chosen == 'flashmlaa'", "flashmla"),
        ("on and (used != 'fa4')", "fa3"),
    ],
)
def test_a_value_that_a_derived_fact_never_has_is_refused(text, close):
    with pytest.raises(ExpressionError, match=f"never has the value .* did you mean '{close}'"):
        check(text, SCOPE)


def test_facts_in_a_circle_are_left_to_the_check_for_circles():
    scope = Scope({}, {"a": "coalesce(b, 'x')", "b": "coalesce(a, 'y')"}, {})
    check("a == 'z'", scope)
