from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from mlacheck.facts import UNKNOWN, Possible, Undecided, is_known, one_of
from mlacheck.ruleset.check import check
from mlacheck.ruleset.expression import Declaration, ExpressionError, Scope
from mlacheck.ruleset.functions import FUNCTIONS
from mlacheck.ruleset.interpreter import decide, evaluate, truth, version

DECLARED = {
    "a": Declaration("int"),
    "b": Declaration("int"),
    "name": Declaration("str", ("x", "yes", "no")),
    "words": Declaration("list"),
    "anything": Declaration("any"),
    "sizes": Declaration("any"),
    "v": Declaration("version"),
    "on": Declaration("bool"),
    "g.sm": Declaration("int"),
}
SCOPE = Scope(DECLARED, {"twice": "a * 2", "either": "name or 'none'"}, {"few": ("x", "no"), "map": {"x": 1}})


def value(text, **facts):
    known = dict.fromkeys(DECLARED) | {name.replace("__", "."): one for name, one in facts.items()}
    check(text, SCOPE)
    return evaluate(text, known, SCOPE)


SIZES = {"a": "integer", "b": "integer", "c": "integer?", "d": "boolean", "e": "number"}


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("lower('AbC')", {}, "abc"),
        ("upper(name)", {"name": "x"}, "X"),
        ("startswith(name, 'y')", {"name": "yes"}, True),
        ("endswith(name, 'y')", {"name": "yes"}, False),
        ("lookup(map, name)", {"name": "x"}, 1),
        ("lookup(map, name, 7)", {"name": "no"}, 7),
        ("coalesce(a, b, 3)", {}, 3),
        ("coalesce(a, b)", {}, None),
        ("len(words)", {"words": [1, 2]}, 2),
        ("int(a / 1) if on else min(a, 4)", {}, ExpressionError),
        ("whole(name, 4)", {"name": "128"}, 128),
        ("mentioned(words, '/')", {"words": ["a", "b/c"]}, True),
        ("mentioned(words, '/')", {"words": ["a", "b"]}, False),
        ("mentioned(words, '/')", {"words": UNKNOWN}, UNKNOWN),
        ("item(words, 1)", {"words": ["a", "b"]}, "b"),
        ("item(words, 2)", {"words": ["a", "b"]}, None),
        ("item(words, 0)", {"words": UNKNOWN}, UNKNOWN),
        ("numbers(words, 1)", {"words": ["a", "2", "1e3"]}, (2.0, 1000.0)),
        ("numbers(words, 0)", {"words": ["a", "2"]}, None),
        ("len(distinct(words))", {"words": [1, 2, 1]}, 2),
        (
            "entries(anything, '.experts', 'kind')",
            {"anything": {"a.experts.0": {"kind": 4}, "a.q": {"kind": 8}}},
            (4,),
        ),
        ("entries(anything, '', 'kind')", {"anything": {"a": {"other": 1}}}, (None,)),
        ("entries(anything, '', 'kind')", {"anything": None}, ()),
        ("entries(anything, '', 'kind')", {"anything": UNKNOWN}, UNKNOWN),
        ("integers(name)", {"name": "16, 15"}, (16, 15)),
        ("integers(name)", {"name": "16,x"}, None),
        ("sum(integers(name)) == 31", {"name": "16,15"}, True),
        ("integers(name)", {"name": UNKNOWN}, UNKNOWN),
        ("unlike(words, '[+-].+')", {"words": ["+a", "b", "-"]}, ("b", "-")),
        ("unlike(words, '[+-].+')", {"words": UNKNOWN}, UNKNOWN),
        ("descending(words)", {"words": ["0-3", "7-4,1", "5", "2-2", "x"]}, ("7-4,1",)),
        ("kinds(words)", {"words": [0, "GPU-1", 1]}, ("number", "string")),
        ("misfits(anything, sizes)", {"anything": {"a": 1, "b": 1.0, "c": None}, "sizes": SIZES}, ("b",)),
        (
            "misfits(anything, sizes)",
            {"anything": {"a": True, "b": None, "d": 1, "x": "y"}, "sizes": SIZES},
            ("a", "b", "d"),
        ),
        ("misfits(anything, sizes)", {"anything": {"d": False, "e": 2}, "sizes": SIZES}, ()),
        ("parts(anything, 'a.b')", {"anything": [{"a": {"b": 8}}, {"a": {}}, {"b": 1}]}, (8, None, None)),
        ("whole(name, 4)", {"name": "true"}, 4),
        ("whole(name, None)", {}, None),
        ("whole(name, 4)", {"name": UNKNOWN}, UNKNOWN),
        ("real(name, 0) > 0", {"name": "1e-3"}, True),
        ("real(name, 0) > 0", {"name": "on"}, False),
        ("real(name, 0) > 0", {}, False),
        ("min(a, 4) + max(a, 4)", {"a": 3}, 7),
        ("-a", {"a": 3}, -3),
        ("a & 6", {"a": 3}, 2),
        ("a % b", {"a": 7, "b": 4}, 3),
        ("a // b", {"a": 7, "b": 0}, UNKNOWN),
        ("a + b", {"a": 7}, UNKNOWN),
        ("a + b", {"a": UNKNOWN, "b": 1}, UNKNOWN),
        ("name in few", {"name": "no"}, True),
        ("name not in few", {"name": "yes"}, True),
        ("name in [1, UN, 'x']", {}, ExpressionError),
        ("a in [b, 4]", {"a": 4, "b": UNKNOWN}, True),
        ("a in [b, 5]", {"a": 4, "b": UNKNOWN}, UNKNOWN),
        ("[a, b] in [[4, 5], [5, 4]]", {"a": 4, "b": UNKNOWN}, UNKNOWN),
        ("[a, b] == [4, 5]", {"a": 4, "b": UNKNOWN}, UNKNOWN),
        ("a not in [b, 4]", {"a": 4, "b": UNKNOWN}, False),
        ("'es' in name", {"name": "yes"}, True),
        ("v >= '1.2'", {"v": Version("1.10")}, True),
        ("v >= name", {"v": Version("1.10"), "name": "1.2"}, True),
        ("name >= v", {"v": Version("1.10"), "name": "1.2"}, False),
        ("v >= name", {"v": Version("1.10"), "name": UNKNOWN}, UNKNOWN),
        ("'1.2' < v", {"v": Version("1.10")}, True),
        ("v >= '1.2'", {"v": UNKNOWN}, UNKNOWN),
        ("not a", {"a": UNKNOWN}, UNKNOWN),
        ("not a", {"a": 0}, True),
        ("a or b", {"a": 0, "b": 5}, 5),
        ("a and b", {"a": 0, "b": UNKNOWN}, 0),
        ("twice + 1", {"a": 4}, 9),
        ("either", {"name": None}, "none"),
        ("[a, b]", {"a": 1, "b": 2}, (1, 2)),
        ("g.sm // 10 == 9", {"g__sm": 90}, True),
        ("a < b < 5", {"a": 1, "b": UNKNOWN}, UNKNOWN),
        ("a < 0 < b", {"a": 1, "b": UNKNOWN}, False),
        ("a < name", {"a": 1, "name": "x"}, UNKNOWN),
        ("1 if on else 2", {"on": UNKNOWN}, (1, 2)),
        ("1 if on else a", {"on": UNKNOWN, "a": UNKNOWN}, UNKNOWN),
        ("True", {}, True),
        ("json_kind(name)", {"name": '{"a": 1}'}, "object"),
        ("json_kind(name)", {"name": "[1]"}, "array"),
        ("json_kind(name)", {"name": "true"}, "boolean"),
        ("json_kind(name)", {"name": "1.5"}, "number"),
        ("json_kind(name)", {"name": "null"}, "null"),
        ("json_kind(name)", {"name": '"x"'}, "string"),
        ("json_kind(name)", {"name": "{bad"}, None),
        ("json_kind(name)", {"name": "[" * 100_000}, None),
        ("json_kind(words)", {"words": {"a": 1}}, "object"),
        ("json_kind(name)", {"name": UNKNOWN}, UNKNOWN),
        ("path(from_json(name), 'a.b')", {"name": '{"a": {"b": 5}}'}, 5),
        ("path(from_json(name), 'a')", {"name": "{bad"}, UNKNOWN),
        ("path(from_json(words), 'a')", {"words": {"a": 2}}, 2),
        ("without(words, [1, 2])", {"words": [1, 3, 2, 4]}, (3, 4)),
        ("len(without(from_json(name), ['a']))", {"name": '{"a": 1, "b": 2}'}, 1),
    ],
)
def test_values(text, facts, expected):
    if expected is ExpressionError:
        with pytest.raises(ExpressionError):
            value(text, **facts)
        return
    found = value(text, **facts)
    if isinstance(found, Possible):
        found = found.options
    assert found is expected or found == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a) or (b",
        "a b",
        "lambda: 1",
        "a.__class__",
        "a ** 2",
        "a / 2",
        "~a",
        "{1}",
        "{1: 2}",
        "b'x'",
        "...",
        "1j",
        "f'{a}'",
        "a[0]",
        "open('x')",
        "name.upper()",
        "min(a, key=len)",
        "min(*words)",
        "a is 1",
        "a is b",
        "name == 'maybe'",
        "a == 'x'",
        "(a := 1)",
        "[x for x in words]",
        "a\x00",
        "unheard",
        "1 if a",
        "(" * 300 + "a" + ")" * 300,
    ],
)
def test_what_is_outside_the_language_is_refused(text):
    with pytest.raises(ExpressionError):
        check(text, SCOPE)


@pytest.mark.parametrize(
    ("text", "hint"), [("nam == 'x'", "'name'"), ("name == 'yess'", "'yes'"), ("zzzz", "declared")]
)
def test_a_near_miss_is_named(text, hint):
    with pytest.raises(ExpressionError, match=hint):
        check(text, SCOPE)


def test_possible_values_are_tried_together():
    some = Possible((1, 2))
    assert decide("a > 0", {"a": some}, SCOPE) is True
    assert decide("a > 2", {"a": some}, SCOPE) is False
    assert decide("a > 1", {"a": some}, SCOPE) is None
    # The same value on both sides is one value.
    assert decide("a == a", {"a": some}, SCOPE) is True
    assert decide("a <= b", {"a": some, "b": Possible((2, 3))}, SCOPE) is True
    assert evaluate("a * 2", {"a": some}, SCOPE).options == (2, 4)
    assert decide("a or b", {"a": some, "b": UNKNOWN}, SCOPE) is True
    assert evaluate("b or a", {"a": some, "b": UNKNOWN}, SCOPE) is UNKNOWN


def test_too_many_possible_values_are_unknown():
    many = Possible(tuple(range(8)))
    facts = {"a": many, "b": many, "g.sm": many}
    assert decide("a + b + g.sm >= 0", facts, SCOPE) is None
    # What is known settles it all the same.
    assert decide("a + b + g.sm >= 0 and name == 'x'", {**facts, "name": "y"}, SCOPE) is False


def test_conditions_ask_what_a_line_settles_first():
    assert (
        SCOPE.condition("g.sm > 1 and name == 'x' and a")
        == "((f['name'] == 'x') and f['a'] and (f['g.sm'] > 1))"
    )
    assert SCOPE.condition("g.sm > 1 or a") == SCOPE.source("g.sm > 1 or a")


def test_truth_of_values():
    assert truth(UNKNOWN) is None
    assert truth(Possible((0, 1))) is None
    assert truth(Possible((1, 2))) is True
    assert (truth(""), truth([1])) == (False, True)


@pytest.mark.parametrize(
    "use", [bool, hash, len, iter, lambda it: it == 1, lambda it: it + 1, lambda it: 1 in it]
)
@pytest.mark.parametrize("one", [UNKNOWN, Possible((1, 2))])
def test_any_use_of_an_unknown_value_says_so(use, one):
    with pytest.raises(Undecided):
        use(one)
    assert not is_known(one)
    assert repr(one) in {"UNKNOWN", "one of 1, 2"}


def test_values_are_joined():
    assert one_of((1, 1)) == 1
    assert one_of((1, UNKNOWN)) is UNKNOWN
    assert one_of((Possible((1, 2)), 2, 3)).options == (1, 2, 3)
    assert one_of((1, True)).options == (1, True)
    assert one_of(range(100)) is UNKNOWN
    assert is_known(None)


FACTS = st.fixed_dictionaries(
    {
        "a": st.integers(-3, 3) | st.none(),
        "b": st.integers(-3, 3),
        "name": st.sampled_from(["x", "yes", "no", None]),
        "on": st.booleans(),
        "g.sm": st.sampled_from([0, 80, 90, 100]),
        "words": st.lists(st.integers(0, 2), max_size=2),
        "v": st.sampled_from([Version("1.0"), Version("2.0rc1")]),
    }
)
ATOMS = [
    "a",
    "b",
    "g.sm",
    "twice",
    "3",
    "0",
    "len(words)",
    "-b",
    "min(b, 2)",
    "(a if on else b)",
    "coalesce(a, 1)",
]
TESTS = [
    "on",
    "name in few",
    "name is None",
    "a is not None",
    "v >= '1.5'",
    "name == 'x'",
    "startswith(either, 'n')",
    "whole(name, b) == 4",
]
COMPARED = st.builds(
    "({} {} {})".format,
    st.sampled_from(ATOMS),
    st.sampled_from(["<", "==", ">=", "!="]),
    st.sampled_from(ATOMS),
)
SUMS = st.builds(
    "(({} {} {}) > 0)".format,
    st.sampled_from(ATOMS),
    st.sampled_from(["+", "//", "%", "*", "&"]),
    st.sampled_from(ATOMS),
)
CONDITIONS = st.recursive(
    st.sampled_from(TESTS) | COMPARED | SUMS,
    lambda inner: (
        st.builds("({} and {})".format, inner, inner)
        | st.builds("({} or {})".format, inner, inner)
        | st.builds("(not {})".format, inner)
    ),
    max_leaves=6,
)


def compiled(text, facts):
    """Run the generated Python, as rules do; None where it meets an unknown value."""
    names = SCOPE.identifiers
    space = {"version": version, **FUNCTIONS, **{names[name]: table for name, table in SCOPE.tables.items()}}
    for name, derived in SCOPE.derives.items():
        space[names[name]] = eval(f"lambda f: {SCOPE.source(derived)}", space)  # noqa: S307 - our own text
    try:
        return bool(eval(f"lambda f: {SCOPE.source(text)}", space)(facts))  # noqa: S307 - same
    except (Undecided, TypeError, ZeroDivisionError, AttributeError):
        return None


@given(CONDITIONS, FACTS)
def test_the_compiled_form_and_the_interpreter_agree(text, facts):
    fast = compiled(text, facts)
    if fast is not None:
        assert decide(text, facts, SCOPE) is fast


@given(CONDITIONS, FACTS, st.sampled_from(["a", "b", "name", "on", "g.sm"]))
def test_what_is_decided_without_a_fact_holds_whatever_the_fact_is(text, facts, hidden):
    without = decide(text, facts | {hidden: UNKNOWN}, SCOPE)
    full = decide(text, facts, SCOPE)
    if without is not None and full is not None:
        assert without is full
    among = decide(text, facts | {hidden: one_of((facts[hidden], facts[hidden]))}, SCOPE)
    assert among is full


def test_a_text_that_holds_for_two_reasons_is_listed_once():
    assert (
        FUNCTIONS["listed"](True, "no window", False, "no sink", True, "no prefix", True, "no window")
        == "no window, no prefix"
    )
