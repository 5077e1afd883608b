from __future__ import annotations

import shlex
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlacheck.launch.expansion import expand, quote
from mlacheck.launch.lexer import LexError, Origin, tokenize

ANY_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)
PLAIN = st.text(string.ascii_letters + string.digits + "-_=/.:,%+@é", min_size=1, max_size=6)
INSIDE = st.text(string.ascii_letters + " \t\n#;|&<>()*~!?{}", max_size=6)
PIECE = st.one_of(
    PLAIN,
    INSIDE.map(lambda text: f"'{text}'"),
    INSIDE.map(lambda text: f'"{text}"'),
    st.sampled_from(
        ["\\ ", "\\'", '\\"', "\\\\", "\\$", "\\#", "\\;", '"\\""', '"\\\\"', '"a\\b"', "'\\'", "''", '""']
    ),
)


def words(text, variables=None):
    return [
        f.text for token in tokenize(text) if token.parts is not None for f in expand(token, variables or {})
    ]


def operators(text):
    return [token.raw for token in tokenize(text) if token.parts is None]


@given(st.lists(ANY_TEXT, max_size=6))
def test_joined_words_come_back(given_words):
    assert words(shlex.join(given_words)) == given_words


@given(st.lists(ANY_TEXT, max_size=6))
def test_our_own_quoting_comes_back(given_words):
    assert words(" ".join(map(quote, given_words))) == given_words


@given(st.lists(st.lists(PIECE, min_size=1, max_size=4).map("".join), min_size=1, max_size=5))
def test_mixed_quotes_agree_with_shlex(pieces):
    text = " ".join(pieces)
    assert words(text) == shlex.split(text, comments=False)


@given(st.text("ab -'\"\\$`{}()[]<>|&;#\n=:", max_size=30))
def test_any_text_ends_in_tokens_or_a_lex_error(text):
    try:
        tokens = tokenize(text)
    except LexError as error:
        offset = error.offset
        tokens = []
    else:
        offset = 0
    assert 0 <= offset <= len(text)
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)
    for token in tokens:
        if token.parts is not None:
            expand(token, {"a": "x y", "b": ""})


@given(st.lists(ANY_TEXT.filter(bool), min_size=1, max_size=5))
def test_places_point_at_the_words(given_words):
    text = "\n".join(map(shlex.quote, given_words))
    origin = Origin(text)
    lines = text.split("\n")
    for token in tokenize(text):
        if token.parts is not None:
            line, column = origin.place(token.start)
            assert lines[line - 1][column - 1] == token.raw[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a \\\n b", ["a", "b"]),
        ("a\\\nb", ["ab"]),
        ('"a\\\nb"', ["ab"]),
        ("a \\", ["a"]),
        ("a # b 'c", ["a"]),
        ("a#b", ["a#b"]),
        ("a \\\n# c\nb", ["a", "b"]),
        ("$'a\\tb'", ["a\tb"]),
        ('$"a"', ["a"]),
        ("a$ b", ["a$", "b"]),
        ("x=(a 'b' # )\n c) d", ["x=(a 'b' # )\n c)", "d"]),
        ("cat <<EOF\nnot 'closed\nEOF\nb", ["cat", "EOF", "b"]),
        ("cat <<-'E'\n\tx\n\tE\nb", ["cat", "E", "b"]),
        ("((a<<2)) && b", ["((a<<2))", "b"]),
        ("diff <(a b) >(c)", ["diff", "<(a b)", ">(c)"]),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


def test_operators_are_the_longest_ones():
    assert operators("a >> b 2>&1 &> c && d || e |& f ; g &") == [
        ">>",
        ">&",
        "&>",
        "&&",
        "||",
        "|&",
        ";",
        "&",
    ]


@pytest.mark.parametrize(
    ("text", "kind", "offset"),
    [
        ("a 'b", "unbalanced-quote", 2),
        ('a "b', "unbalanced-quote", 2),
        ("a $'b", "unbalanced-quote", 2),
        ("a `b", "unbalanced-expansion", 2),
        ("a ${b", "unbalanced-expansion", 3),
        ("a $(b", "unbalanced-expansion", 3),
        ("x=(b", "unbalanced-expansion", 2),
    ],
)
def test_what_is_never_closed_is_named(text, kind, offset):
    with pytest.raises(LexError) as caught:
        tokenize(text)
    assert (caught.value.kind, caught.value.offset) == (kind, offset)


@pytest.mark.parametrize(
    ("text", "variables", "expected", "unknown"),
    [
        ("$A", {"A": "8"}, ["8"], []),
        ("x${A}y", {"A": "8"}, ["x8y"], []),
        ("$A", {"A": "1 2"}, ["1", "2"], []),
        ('"$A"', {"A": "1 2"}, ["1 2"], []),
        ("x$A", {"A": " 1"}, ["x", "1"], []),
        ("$A$A", {"A": "1 "}, ["1", "1"], []),
        ("$A", {"A": ""}, [], []),
        ("x$A'y z'", {"A": ""}, ["xy z"], []),
        ("$A\\\nB", {"A": "1", "AB": "2"}, ["2"], []),
        ('"$A"', {"A": ""}, [""], []),
        ("$A", {}, ["$A"], ["A"]),
        ("a-${A}-$B", {}, ["a-${A}-$B"], ["A", "B"]),
        ("${A:-7}", {}, ["${A:-7}"], ["A"]),
        ("${A:-7}", {"A": "8"}, ["8"], []),
        ("${A:-7}", {"A": ""}, ["${A:-7}"], ["A"]),
        ("${A-7}", {"A": ""}, [], []),
        ("${A%x}", {"A": "8x"}, ["${A%x}"], ["A"]),
        ("${#A}", {"A": "8x"}, ["${#A}"], ["A"]),
        ('"${A:-it\'s}"', {}, ["${A:-it's}"], ["A"]),
        ("$(nproc)", {}, ["$(nproc)"], ["$(nproc)"]),
        ("`nproc`", {}, ["`nproc`"], ["`nproc`"]),
        ("$((A*10))", {"A": "1"}, ["$((A*10))"], ["$((A*10))"]),
        ('"$(echo "a b")"', {}, ['$(echo "a b")'], ['$(echo "a b")']),
        ("$1", {}, ["$1"], ["1"]),
        ("'$A'", {"A": "8"}, ["$A"], []),
        ("\\$A", {"A": "8"}, ["$A"], []),
    ],
)
def test_expansion(text, variables, expected, unknown):
    fields = [f for token in tokenize(text) for f in expand(token, variables)]
    assert [f.text for f in fields] == expected
    assert [name for f in fields for name in f.unknown] == unknown


@pytest.mark.parametrize(
    ("text", "splits"),
    [("$A", True), ('"$A"', False), ('"$@"', True), ('"${A[@]}"', True), ("a$A", True), ("'$A'", False)],
)
def test_words_that_may_become_several_say_so(text, splits):
    [one] = expand(tokenize(text)[0], {})
    assert one.splits is splits
