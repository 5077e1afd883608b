from __future__ import annotations

import shutil

import pytest

from mlacheck.data import rules_root
from mlacheck.frozen import replace
from mlacheck.probes.engine import ENGINES, recorded_versions
from mlacheck.ruleset import load
from mlacheck.ruleset.source import RuleError

VERSIONS = recorded_versions("sglang")


def test_versions_are_in_their_own_order():
    assert VERSIONS[0] == "0.5.15"
    assert VERSIONS.index("0.5.20") > VERSIONS.index("0.5.19")


@pytest.mark.parametrize(
    ("engine", "version"), [(engine, version) for engine in ENGINES for version in recorded_versions(engine)]
)
def test_every_version_loads_and_is_the_same_as_when_built_anew(engine, version):
    program = load.load_program(engine, version).program
    built = load.build_program(load.ruleset(engine), version)
    assert replace(program, steps=tuple(program.steps)) == built
    assert {step.kind for step in program.steps} == {"find", "set"}


def test_a_loaded_program_runs():
    compiled = load.load_program("sglang", VERSIONS[-1])
    facts = dict(compiled.program.defaults)
    compiled.settle(facts)
    run = compiled.apply(facts, compiled.sleepers.awake(facts))
    assert run.hits or run.undecided


def test_rules_of_ones_own_do_not_reach_the_shipped_program(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("subject: own\nrules:\n- {slug: own, set: {page_size: 1}}\n")
    extended = load.load_extended("sglang", VERSIONS[-1], (own,))
    assert extended.program.steps[-1].slug == "own"
    assert load.load_program("sglang", VERSIONS[-1]).program.steps[-1].slug != "own"


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A checkout of its own: rules that can be changed, compiled forms beside them."""
    folder = tmp_path / "rules"
    shutil.copytree(rules_root() / "sglang", folder / "sglang")
    monkeypatch.setattr(load, "rules_root", lambda: folder)
    monkeypatch.setattr(
        load, "load_json", lambda *parts: __import__("json").loads(folder.joinpath(*parts).read_text())
    )
    for one in (load.digest, load._stamp, load.ruleset, load._arguments, load.load_program):
        one.cache_clear()
    written = {}
    monkeypatch.setattr(load, "write_compiled", lambda path, text: written.update({path.name: text}))
    yield folder, written
    for one in (load.digest, load._stamp, load.ruleset, load._arguments, load.load_program):
        one.cache_clear()
    load.sys.modules.pop(f"mlacheck._compiled.{load.module_name('sglang', VERSIONS[-1])}", None)


def test_a_changed_rule_file_is_compiled_again(copy):
    folder, written = copy
    version = VERSIONS[-1]
    before = load.digest("sglang")
    path = folder / "sglang" / "silent.yaml"
    path.write_text(path.read_text() + "\n# changed\n")
    load.digest.cache_clear()
    assert load.digest("sglang") != before
    compiled = load.load_program("sglang", version)
    assert list(written) == [f"{load.module_name('sglang', version)}.py"]
    assert compiled.program.version == version


def test_a_broken_rule_file_is_named(copy):
    folder, _ = copy
    (folder / "sglang" / "silent.yaml").write_text("subject: x\nrulez: 1\n")
    with pytest.raises(RuleError, match=r"silent\.yaml:2"):
        load.load_program("sglang", VERSIONS[-1])
