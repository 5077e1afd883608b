from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlacheck.config import ConfigError, read_config
from mlacheck.config.check import settings_of

WHOLE = """
engine = "sglang"
engine-version = "0.5.18"
env = {A = "1", B = "2"}
packages = {sglang_kernel = "0.4.9"}
fail-on = "warning"
strict = true
select = ["MLA"]
ignore = ["MLA2", "silent"]
baseline = "known.json"
rules = ["own.yaml"]
profile = "prod"

[profiles.prod]
gpu = "h200"
gpu-count = 8
nodes = 2
flashinfer = "0.6.17"
model = "configs/v3"
env = {B = "3"}
files = ["deploy/**", "*.slurm"]

[profiles.next]
engine-version = "0.5.23"
"""


@pytest.fixture
def config(tmp_path):
    def config(text, name="mlacheck.toml"):
        path = tmp_path / name
        path.write_text(text)
        return read_config(path)

    return config


def test_every_key_arrives(config, tmp_path):
    (tmp_path / "configs" / "v3").mkdir(parents=True)
    settings = config(WHOLE)
    assert (settings.fail_on, settings.strict, settings.default_profile) == ("warning", True, "prod")
    assert (settings.select, settings.ignore) == (("MLA",), ("MLA2", "silent"))
    assert settings.baseline == str(tmp_path / "known.json")
    assert settings.rules == (str(tmp_path / "own.yaml"),)
    prod, following = settings.profiles
    assert (prod.target.gpu, prod.target.gpu_count, prod.target.nodes) == ("h200", 8, 2)
    assert (prod.target.version_of("sglang"), prod.target.flashinfer) == ("0.5.18", "0.6.17")
    assert prod.target.version_of("vllm") is None
    assert prod.target.packages == (("sglang_kernel", "0.4.9"),)
    assert prod.env == {"A": "1", "B": "3"}
    assert prod.model == str(tmp_path / "configs" / "v3")
    assert prod.files == ("deploy/**", "*.slurm")
    assert (following.target.version_of("sglang"), following.target.gpu) == ("0.5.23", None)
    assert settings.base.target.version_of("sglang") == "0.5.18"


def test_each_engine_has_a_version_of_its_own(config):
    settings = config(
        "engine-version = {sglang = '0.5.23', vllm = '0.33.0'}\n[profiles.old]\nengine-version = '0.5.17'"
    )
    both, (old,) = settings.base.target, settings.profiles
    assert [both.version_of(one) for one in ("sglang", "vllm")] == ["0.5.23", "0.33.0"]
    assert [old.target.version_of(one) for one in ("sglang", "vllm")] == ["0.5.17", "0.5.17"]


def test_a_model_that_is_no_path_here_is_a_name(config):
    assert config("model = 'deepseek-ai/DeepSeek-V3'").base.model == "deepseek-ai/DeepSeek-V3"


def test_an_empty_file_says_nothing(config):
    settings = config("")
    assert (settings.base, settings.profiles, settings.strict) == (None, (), False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpus = 'h200'", "gpus is not a key here; did you mean gpu"),
        ("engine_version = '0.5.18'", "engine_version is not a key here; did you mean engine-version?"),
        ("zzz = 1", "zzz is not a key here; there is engine, engine-version"),
        ("files = ['a']", "files is not a key here"),
        ("engine-version = 0.5", "engine-version is 0.5, not a string"),
        ("engine-version = {vllm = 1}", "engine-version is {'vllm': 1}, not a string, or a table"),
        ("engine-version = {vlm = '0.33.0'}", "engine-version.vlm is no engine; did you mean vllm?"),
        ("gpu-count = '8'", "gpu-count is '8', not a whole number from 0"),
        ("gpu-count = true", "gpu-count is true, not a whole number from 0"),
        ("nodes = 0", "nodes is 0, not a whole number from 1"),
        ("strict = 1", "strict is 1, not true or false"),
        ("fail-on = 'fatal'", "fail-on is 'fatal', not one of info, warning, error"),
        ("ignore = 'MLA2'", "ignore is 'MLA2', not a list of strings"),
        ("select = [1]", "select is [1], not a list of strings"),
        ("env = {A = 1}", "env is {'A': 1}, not a table of strings"),
        ("packages = {sglang_kernle = '1'}", "packages.sglang_kernle is no package that rules ask about"),
        ("engine = 'trtllm'", "engine is 'trtllm'; there are rules for sglang, vllm"),
        ("profiles = 3", "profiles is 3, not a table of profiles"),
        ("profiles.prod = 3", "profiles.prod is 3, not a table"),
        ("[profiles.prod]\ngup = 'h200'", "profiles.prod.gup is not a key here; did you mean gpu?"),
        ("[profiles.prod]\nstrict = true", "profiles.prod.strict is not a key here"),
        ("[profiles.prod]\nengine = 'trtllm'", "profiles.prod.engine is 'trtllm'"),
        (
            "profile = 'prd'\n[profiles.prod]",
            "profile is 'prd', and there is no such profile; did you mean prod?",
        ),
    ],
)
def test_what_is_wrong_is_named_with_file_key_and_what_is_allowed(config, tmp_path, text, said):
    with pytest.raises(ConfigError) as caught:
        config(text)
    assert f"{tmp_path / 'mlacheck.toml'}: {said}" in str(caught.value)


def test_keys_in_a_project_file_are_named_in_full(config):
    with pytest.raises(ConfigError, match=r"pyproject\.toml: tool\.mlacheck\.profiles\.prod\.gup is not"):
        config("[tool.mlacheck.profiles.prod]\ngup = 'h200'", "pyproject.toml")


def test_everything_that_is_wrong_is_told_at_once(config):
    with pytest.raises(ConfigError) as caught:
        config("gpus = 1\nstrict = 2\n[profiles.a]\nx = 1")
    assert len(str(caught.value).splitlines()) == 3


def test_the_documented_file_is_one(config):
    text = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text(encoding="utf-8")
    settings = config(text.split("```toml\n")[1].split("```")[0])
    assert [profile.name for profile in settings.profiles] == ["prod", "lab"]
    assert settings.profiles[1].target.engine_version == "0.5.18"


KEYS = st.sampled_from(
    ["gpu", "gpu-count", "env", "packages", "profiles", "profile", "select", "fail-on", "files"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(KEYS | st.text(max_size=3), VALUES, max_size=6))
def test_whatever_a_file_says_it_is_settings_or_an_error_with_a_line_for_each(data):
    said = ""
    try:
        settings_of(Path("/x/mlacheck.toml"), data, "")
    except ConfigError as error:
        said = str(error)
    assert all(line.startswith("/x/mlacheck.toml: ") for line in said.splitlines())
