"""The engine's parser is argparse, so argparse, built from the same data, says what is right."""

from __future__ import annotations

import argparse
import json
import re
import sys
from functools import cache
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mlacheck.data import load_json
from mlacheck.engines import Grammar
from mlacheck.engines.conversion import ConversionError
from mlacheck.engines.converter import converters
from mlacheck.engines.spelling import refusal as own_words
from mlacheck.facts import UNKNOWN
from mlacheck.probes.engine import recorded_versions

VERSIONS = recorded_versions("sglang")
NEWEST = VERSIONS[-1]


class RefusedError(Exception):
    pass


class HelpedError(Exception):
    pass


class Reference(argparse.ArgumentParser):
    def error(self, message) -> NoReturn:
        raise RefusedError(message)


class Help(argparse.Action):
    def __call__(self, *_, **__):
        raise HelpedError


def ends(message):
    class End(argparse.Action):
        def __call__(self, *_, **__):
            raise RefusedError(message)

    return End


def const_reading_a_value(const):
    class Const(argparse.Action):
        def __call__(self, _parser, namespace, *_):
            setattr(namespace, self.dest, const)

    return Const


class Nothing(argparse.Action):
    def __call__(self, *_):
        pass


def converter(name, known):
    """Give what argparse calls; that our converters read values rightly is for test_converter to show."""
    ours = known.get(name)
    if ours is None:
        return str

    def convert(text):
        try:
            return ours(text)
        except ConversionError as error:
            raise argparse.ArgumentTypeError(own_words("sglang", error)) from None
        except RecursionError as error:
            raise ValueError from error

    convert.__name__ = name
    return convert


def data_of(version):
    return load_json("sglang", "flags", f"{version}.json")


def rows_of(version):
    return data_of(version)["options"]


def comparable(row):
    """Leave out the one action that is the engine's own code; a test below holds it."""
    return row["action"] != "lora_path"


@cache
def reference(version):
    parser = Reference(prog="x", add_help=False)
    known = converters(data_of(version).get("converters") or {})
    for row in filter(comparable, rows_of(version)):
        add(parser, row, known)
    return parser


@cache
def grammar(version):
    rows = tuple(filter(comparable, rows_of(version)))
    return Grammar("sglang", version, rows, data_of(version).get("converters"))


def add(parser, row, known):
    common = {"dest": row["dest"], "default": row.get("default")}
    if row.get("suppress") or row.get("default") == argparse.SUPPRESS:
        common["default"] = argparse.SUPPRESS
    action, flags = row["action"], row["flags"]
    required = bool(row.get("required"))
    if action == "help":
        parser.add_argument(*flags, action=Help, nargs=0, dest="help", default=argparse.SUPPRESS)
    elif row.get("message"):
        parser.add_argument(*flags, action=ends(row["message"]), nargs=row.get("nargs"), **common)
    elif action == "deprecated":
        parser.add_argument(*flags, action=Nothing, nargs=0, **common)
    elif action == "boolean_optional":
        positive = [flag for flag in flags if not flag.startswith("--no-")]
        parser.add_argument(*positive, action=argparse.BooleanOptionalAction, required=required, **common)
    elif action in {"store_true", "store_false"}:
        parser.add_argument(*flags, action=action, required=required, **common)
    elif action == "store_const" and row.get("nargs") == 0:
        parser.add_argument(*flags, action=action, const=row["const"], required=required, **common)
    else:
        if action == "store_const":
            common["action"] = const_reading_a_value(row["const"])
        else:
            common["action"] = action
        if row.get("const") is not None and row.get("nargs") == "?":
            common["const"] = row["const"]
        parser.add_argument(
            *flags,
            type=converter(row.get("type"), known),
            choices=row.get("choices"),
            nargs=row.get("nargs"),
            required=required,
            **common,
        )


def bare(text):
    """Drop what Pythons differ in: the quotes around choices."""
    return re.sub(r"['\"\s]", "", text)


def refusal(version, line):
    """Give argparse's own values, or its complaint."""
    try:
        return vars(reference(version).parse_args(line)), None
    except RefusedError as refused:
        return None, str(refused)


def compare(version, line):
    ours = grammar(version).parse(line)
    try:
        values, refused = refusal(version, line)
    except HelpedError:
        return
    if refused is not None:
        assert ours.problems, f"argparse refuses {line}: {refused}"
        first = ours.problems[0]
        # Since 3.12 an ambiguous word is met in its turn; the reference meets it before all else.
        if first.kind != "ambiguous-flag" or sys.version_info < (3, 12):
            assert bare(first.engine_message) == bare(refused), line
        return
    assert not ours.problems, (line, ours.problems)
    ours_values = {name: repr(value) for name, value in ours.values.items()}
    assert ours_values == {name: repr(value) for name, value in values.items()}, line


LIKE_FLAGS = [
    "-",
    "--",
    "-x",
    "--x",
    "--x=1",
    "--a b",
    "--x=a b",
    "=",
    "--=",
    "---",
    "--tp=8",
    "--tp= 8",
    "-tp",
]
NUMBERS = [
    "-1",
    "-1.5",
    "-.5",
    "8k",
    "1.5Ki",
    "2Mi",
    "1.5M",
    "1e3",
    "nan",
    "0",
    "8",
    " 7 ",
    "1_000",
    "-5x",
    "0x10",
]
TEXTS = [
    "",
    "a b",
    "None",
    "{}",
    "[1]",
    '{"a": [1]}',
    "{",
    "true",
    "eagle",
    "EAGLE",
    "fa3",
    "auto",
    "é",
    "inf",
]
WORDS = st.sampled_from(LIKE_FLAGS + NUMBERS + TEXTS)


@st.composite
def segments(draw, rows):
    row = draw(st.sampled_from(rows))
    flag = draw(st.sampled_from(row["flags"]))
    if draw(st.integers(0, 4)) == 0:
        flag = flag[: draw(st.integers(3, max(3, len(flag))))]
    value = WORDS
    if draw(st.integers(0, 3)):
        choices = row.get("choices")
        fitting = {"int": ["8", "1"], "float": ["0.5"], "str": ["x", "fa3"], "nullable_str": ["None", "x"]}
        human = {"human_readable_int": ["8k", "64Ki"], "loads": ['{"a": 1}'], "json_list_type": ["[1]"]}
        fit = [str(one) for one in choices] if choices else (fitting | human).get(row.get("type"), ["x"])
        value = st.sampled_from(fit)
    if row.get("nargs") == 0:
        return [flag] if draw(st.integers(0, 9)) else [f"{flag}={draw(value)}"]
    if draw(st.integers(0, 3)) == 0:
        # `--flag=--` is left out: before 3.13 argparse loses the value, and stores an empty list.
        return [f"{flag}={draw(value.filter(lambda text: text != '--'))}"]
    least, most = (0, 3) if row.get("nargs") in {"*", "+", "?"} else (1, 1)
    if draw(st.integers(0, 9)) == 0:
        least, most = 0, 2
    return [flag, *draw(st.lists(value, min_size=least, max_size=most))]


@st.composite
def lines(draw):
    version = draw(st.sampled_from(VERSIONS))
    rows = [row for row in rows_of(version) if comparable(row) and row["action"] != "help"]
    parts = draw(st.lists(segments(rows) | WORDS.map(lambda word: [word]), max_size=6))
    start = ["--model-path", "m"] if draw(st.integers(0, 9)) else []
    return version, [*start, *(word for part in parts for word in part)]


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(lines())
@example((NEWEST, ["--model-path", "m", "--", "--tp-size", "8"]))
@example((NEWEST, ["--model-path", "m", "--tp-size", "--", "8"]))
@example((NEWEST, ["--model-path", "m", "--tp-si=8"]))
@example((NEWEST, ["--model-path=", "--tp-size", "-1"]))
@example((NEWEST, ["--model-path", "m", "--spec", "1", "--nope"]))
@example((NEWEST, ["--model-path", "m", "--tp-size", "x", "--spec"]))
@example((NEWEST, ["--model-path", "m", "--trust-remote-code=1"]))
@example((NEWEST, ["--model-path", "m", '--json-model-override-args={"a": 1}']))
@example((NEWEST, ["--model-path", "m", "--json-model-override-args", '{"a": 1}']))
@example((NEWEST, []))
def test_a_line_is_read_as_argparse_reads_it(case):
    compare(*case)


@pytest.mark.parametrize(("version", "earlier"), [*zip(VERSIONS, (None, *VERSIONS), strict=False)])
def test_every_option_that_a_version_brings_or_changes_is_read_as_argparse_reads_it(version, earlier):
    known = {str(row) for row in rows_of(earlier)} if earlier else set()
    for row in filter(comparable, rows_of(version)):
        if row["action"] == "help" or str(row) in known:
            continue
        for flag in row["flags"]:
            for value in (None, "1", "x", *map(str, (row.get("choices") or ())[:2])):
                words = [flag] if value is None else [flag, value]
                compare(version, ["--model-path", "m", *words])
            compare(version, ["--model-path", "m", f"{flag}=2"])
            compare(version, ["--model-path", "m", flag[:-1]])


@pytest.mark.parametrize("version", VERSIONS)
def test_defaults_are_those_of_the_parser(version):
    values = Grammar.load("sglang", version).parse(["--model-path", "m"]).values
    assert values["tp_size"] == 1
    assert values["model_path"] == "m"
    assert json.dumps(values, default=str)


def parse(*words, version="0.5.18", unknown=None):
    return Grammar.load("sglang", version).parse(words, unknown or {})


def only(arguments):
    [problem] = arguments.problems
    return problem


def test_what_was_given_is_known_with_its_place():
    arguments = parse("--model-path", "m", "--tp", "4", "--tp-size=8")
    assert arguments.values["tp_size"] == 8
    tp = arguments.given["tp_size"]
    assert (tp.flag, tp.spans, tp.index) == ("--tp-size", ((2, 4), (4, 5)), 4)
    assert "attention_backend" not in arguments.given


def test_a_word_with_an_unresolved_variable_is_unknown_and_nothing_else_is():
    arguments = parse("--model-path", "m", "--tp-size", "$TP", "--dp-size", "2", unknown={3: ("TP",)})
    assert arguments.values["tp_size"] is UNKNOWN
    assert arguments.values["dp_size"] == 2
    assert not arguments.problems


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("$HEAD:5000", True),
        ("$HEAD:$PORT", True),
        ("<ip>:5000", True),
        ("${HEAD:-}", False),
        ("$(getent hosts ${A:-b} | awk '{print $1}'):5000", True),
        ("$(cat a:b)", False),
        ("$HEAD", False),
    ],
)
def test_an_address_with_its_colon_is_one_whatever_its_host_is(word, known):
    values = parse("--model-path", "m", "--dist-init-addr", word, unknown={3: ("X",)}).values
    assert values["dist_init_addr"] is (word if known else UNKNOWN)


def test_an_unresolved_word_that_belongs_to_no_flag_is_not_called_wrong():
    arguments = parse("--model-path", "m", "$EXTRA", unknown={2: ("EXTRA",)})
    assert not arguments.problems


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (["--tp-size", "8"], "missing-required", "required"),
        (["--model-path", "m", "--tp-size"], "missing-value", "expected one argument"),
        (["--model-path", "m", "--tp-size", "x"], "invalid-value", "invalid int value: 'x'"),
        (["--model-path", "m", "--attention-backend", "nope"], "invalid-choice", "invalid choice: 'nope'"),
        (["--model-path", "m", "--trust-remote-code=1"], "unexpected-value", "ignored explicit argument '1'"),
        (["--model-path", "m", "--speculative", "1"], "ambiguous-flag", "could match"),
        (["--model-path", "m", "--xyzzy", "1"], "unknown-flag", "unrecognized arguments: --xyzzy 1"),
        (["--model-path", "m", "stray"], "unexpected-argument", "unrecognized arguments: stray"),
    ],
)
def test_each_refusal_has_its_kind_and_the_engines_words(words, kind, said):
    problem = parse(*words).problems[0]
    assert problem.kind == kind
    assert said in problem.engine_message
    assert problem.message != problem.engine_message


def test_help_is_a_refusal_to_serve():
    for word in ("--help", "-h", "-hh"):
        problem = only(parse("--model-path", "m", word))
        assert problem.kind == "help"
    assert parse("--model-path", "m", "-hx").problems[0].kind == "unexpected-value"


TOY = [
    {"dest": "name", "flags": ["--name", "-n"], "required": True},
    {"dest": "tags", "flags": ["--tag"], "action": "append"},
    {
        "dest": "fast",
        "flags": ["--fast", "--no-fast"],
        "action": "boolean_optional",
        "nargs": 0,
        "default": None,
    },
    {"dest": "slow", "flags": ["--slow"], "action": "store_true", "nargs": 0, "message": "slow ended"},
    {
        "dest": "fast",
        "flags": ["--fastest"],
        "action": "store_const",
        "const": "most",
        "nargs": 0,
        "hidden": True,
    },
    {"dest": "mode", "flags": ["--mode"], "nargs": "?", "const": "7", "type": "int"},
    {"dest": "level", "flags": ["--level"], "nargs": "?", "const": 3},
    {"dest": "files", "flags": ["--files"], "nargs": "*"},
    {"dest": "old", "flags": ["--old"], "action": "deprecated", "nargs": 0, "suppress": True},
    {"dest": "kept", "flags": ["--kept"], "action": "store_const", "const": True, "choices": ["a"]},
    {"dest": "lora_paths", "flags": ["--lora"], "action": "lora_path", "nargs": "*"},
]


def toy(*words, unknown=None):
    return Grammar("toy", "1", TOY).parse(["--name", "x", *words], unknown)


@pytest.mark.parametrize(
    ("words", "dest", "value"),
    [
        (["-ny"], "name", "y"),
        (["-n=y"], "name", "y"),
        (["--tag", "a", "--tag", "b"], "tags", ["a", "b"]),
        (["--fast"], "fast", True),
        (["--no-fast"], "fast", False),
        (["--fastest"], "fast", "most"),
        (["--mode"], "mode", 7),
        (["--mode", "8"], "mode", 8),
        (["--level"], "level", 3),
        (["--files"], "files", []),
        (["--files", "a", "b", "--", "c"], "files", ["a", "b"]),
        (["--old"], "old", None),
        (["--kept", "a"], "kept", True),
        (
            ["--lora", "a", '{"lora_name": "n", "lora_path": "p"}'],
            "lora_paths",
            ["a", {"lora_name": "n", "lora_path": "p"}],
        ),
    ],
)
def test_each_kind_of_option_stores_its_value(words, dest, value):
    assert toy(*words).values.get(dest) == value


@pytest.mark.parametrize("text", ["{x}", '{"lora_name": "n"}'])
def test_an_adapter_in_braces_must_be_complete(text):
    problem = only(toy("--lora", text))
    assert problem.kind == "invalid-value"
    assert problem.dest == "lora_paths"


def test_a_retired_switch_ends_the_launch_in_the_engines_words():
    problem = only(toy("--slow"))
    assert (problem.kind, problem.engine_message) == ("retired-flag", "slow ended")


def test_an_option_is_written_in_its_ordinary_form():
    option = Grammar("toy", "1", TOY).option("fast")
    assert (option.flag, option.off, option.switch, option.kind) == ("--fast", "--no-fast", True, "switch")
    name = Grammar("toy", "1", TOY).option("name")
    assert (name.off, name.switch, name.kind) == (None, None, "value")
    assert Grammar("toy", "1", TOY).option("files").kind == "multi"


def test_a_flag_whose_name_is_unresolved_is_not_judged():
    found = toy("--$KIND", "1", "--f$X=2", unknown={2: ("KIND",), 4: ("X",)})
    assert not found.problems


def test_an_unresolved_word_among_several_makes_them_all_unknown():
    assert toy("--files", "a", "$B", unknown={4: ("B",)}).values["files"] is UNKNOWN
