from __future__ import annotations

import pytest

from mlacheck.config import ConfigError, find_config, read_config

OURS = "[tool.mlacheck]\ngpu = 'h200'\n"


@pytest.fixture
def tree(tmp_path):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    return deep


def test_the_nearest_file_above_counts(tree):
    top, middle = tree.parent.parent, tree.parent
    (top / "mlacheck.toml").write_text("gpu = 'b200'\n")
    assert find_config(tree) == top / "mlacheck.toml"
    (middle / "pyproject.toml").write_text(OURS)
    assert find_config(tree) == middle / "pyproject.toml"
    assert read_config(middle / "pyproject.toml").base.target.gpu == "h200"


def test_a_file_of_our_own_goes_before_the_projects(tree):
    (tree / "pyproject.toml").write_text(OURS)
    (tree / "mlacheck.toml").write_text("gpu = 'b200'\n")
    assert find_config(tree) == tree / "mlacheck.toml"


@pytest.mark.parametrize("text", ["", "[tool.other]\nx = 1\n", "[project]\nkeywords = ['mlacheck']\n"])
def test_a_project_that_does_not_configure_us_is_passed_over(tree, text):
    (tree.parent / "mlacheck.toml").write_text("")
    (tree / "pyproject.toml").write_text(text)
    assert find_config(tree) == tree.parent / "mlacheck.toml"


def test_no_file_at_all(tree):
    assert find_config(tree) is None


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("mlacheck.toml", b"gpu = ", "is not TOML"),
        ("mlacheck.toml", b"gpu = '\xff'", "is not UTF-8 (byte 7)"),
        ("pyproject.toml", b"[tool.other]", "has no [tool.mlacheck]"),
        ("pyproject.toml", b"tool = 3", "has no [tool.mlacheck]"),
        ("pyproject.toml", b"[tool]\nmlacheck = 3", "tool.mlacheck is 3, not a table"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        read_config(tmp_path / name)
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / name))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_config(tmp_path / "none.toml")
