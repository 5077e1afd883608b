"""Files as people commit them: what is found in each, and what is not."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from mlacheck.launch.file.read import read_path

HERE = Path(__file__).parent
FOUND = yaml.safe_load((HERE / "found.yaml").read_text(encoding="utf-8"))
UNREADABLE = {
    "broken.json": ("not-json", 1, 55),
    "broken.toml": ("not-toml", 2, 1),
    "broken.yaml": ("not-yaml", 5, 12),
    "conflict.yaml": ("merge-conflict", 5, 1),
    "helm_template.yaml": ("template", 5, 3),
    "tab.yaml": ("not-yaml", 2, 1),
    "unclosed.sh": ("unbalanced-quote", 1, 46),
}


def row(command):
    """Give what a file is expected to hold, empty parts left out."""
    said = {
        "at": f"{command.source.line}:{command.source.column}",
        "engine": command.engine,
        "entry": command.entry,
        "argv": shlex.join(command.argv),
        "open": {index: list(names) for index, names in command.unknown.items()},
        "env": dict(command.env),
        "open_env": {name: list(names) for name, names in command.unknown_env.items()},
        "variant": list(command.variant),
        "assumed": list(command.assumed),
        "image": command.image,
        "gpu": command.gpu,
        "gpu_count": command.gpu_count,
        "nodes": command.nodes,
        "label": command.label,
    }
    return {name: value for name, value in said.items() if value}


def names(folder):
    return sorted(path.name for path in (HERE / folder).iterdir())


@pytest.mark.parametrize("name", names("found"))
def test_found(name):
    result = read_path(str(HERE / "found" / name))
    assert [row(command) for command in result.commands] == FOUND[name]
    wrong = [problem.kind for problem in result.problems if problem.level != "info"]
    assert wrong == (["carriage-returns"] if name == "crlf.sh" else [])


@pytest.mark.parametrize("name", names("found"))
def test_places_are_those_of_the_words(name):
    result = read_path(str(HERE / "found" / name))
    text = result.document.text
    lines = text.split("\n")
    for command in result.commands:
        for word in command.words:
            line = lines[word.line - 1]
            assert 1 <= word.column <= len(line) + 1
            if word.start < 0:
                assert not word.editable
                continue
            spelled = text[word.start : word.end]
            assert lines[word.line - 1][word.column - 1 :].startswith(spelled.split("\n")[0].rstrip("\r"))
            if word.editable and word.style == "shell":
                assert shlex.split(spelled) in ([word.text], [word.text.strip()])
            elif word.editable and word.style in ("item", "flow"):
                assert str(yaml.safe_load(spelled)) in (word.text, str(yaml.safe_load(word.text)))


@pytest.mark.parametrize("name", names("none"))
def test_no_command_is_reported_that_is_none(name):
    result = read_path(str(HERE / "none" / name))
    assert result.commands == ()
    assert result.problems == ()


@pytest.mark.parametrize("name", names("unreadable"))
def test_what_cannot_be_read_is_an_error_with_its_place(name):
    [problem] = read_path(str(HERE / "unreadable" / name)).problems
    assert (problem.kind, problem.line, problem.column) == UNREADABLE[name]
    assert problem.level == "error"
    assert problem.hint


def test_every_file_is_expected():
    assert names("found") == sorted(FOUND)
    assert names("unreadable") == sorted(UNREADABLE)
