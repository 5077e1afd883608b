from __future__ import annotations

from pathlib import Path

import pytest

from mlacheck.config import ConfigError, Profile, Settings
from mlacheck.config.settings import matches
from mlacheck.probes.target import TargetFlags


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("*.sh", ("a.sh", "deep/er/a.sh"), ("a.sh.bak",)),
        ("deploy/*.sh", ("deploy/a.sh",), ("deploy/x/a.sh", "a.sh", "x/deploy/a.sh")),
        ("deploy/**", ("deploy/a", "deploy/x/y.yaml"), ("deploy", "xdeploy/a")),
        ("**/prod/*.yaml", ("prod/a.yaml", "x/y/prod/a.yaml"), ("prod/x/a.yaml", "nonprod/a.yaml")),
        ("./deploy/[ab]?.sh", ("deploy/a1.sh",), ("deploy/c1.sh", "deploy/a.sh")),
        ("deploy/[!a].sh", ("deploy/b.sh",), ("deploy/a.sh",)),
        ("a+(b).sh", ("a+(b).sh",), ("aab.sh",)),
    ],
)
def test_globs_are_relative_to_the_file_and_name_files(glob, yes, no):
    for name in yes:
        assert matches(f"/repo/{name}", [glob], Path("/repo"))
    for name in no:
        assert not matches(f"/repo/{name}", [glob], Path("/repo"))


def profile(name, *files):
    return Profile(name, TargetFlags(), files=files)


def test_the_first_profile_that_matches_a_file_is_taken():
    settings = Settings(
        path=Path("/repo/mlacheck.toml"),
        profiles=(profile("a", "deploy/*"), profile("b", "*.sh"), profile("c")),
        base=profile(""),
    )
    assert settings.profile_of("/repo/deploy/x.sh").name == "a"
    assert settings.profile_of("/repo/x.sh").name == "b"
    assert settings.profile_of("/repo/x.yaml").name == ""
    assert settings.profile_of(None).name == ""


def test_the_default_profile_is_for_the_rest():
    settings = Settings(
        path=Path("/repo/mlacheck.toml"), profiles=(profile("a", "*.sh"), profile("b")), default_profile="b"
    )
    assert settings.profile_of("/repo/x.yaml").name == "b"
    assert settings.profile_of(None).name == "b"
    assert settings.profile_of("/repo/x.sh").name == "a"
    assert Settings().profile_of("x") is None


def test_a_profile_that_is_not_there_is_named_with_what_is_close():
    settings = Settings(path=Path("/repo/mlacheck.toml"), profiles=(profile("prod"), profile("dev")))
    assert settings.named("dev").name == "dev"
    with pytest.raises(ConfigError, match="no profile 'prd'; did you mean prod"):
        settings.named("prd")
    with pytest.raises(ConfigError, match="no profile 'xyz'; there is prod, dev"):
        settings.named("xyz")
    with pytest.raises(ConfigError, match=r"no mlacheck\.toml"):
        Settings().named("prod")
