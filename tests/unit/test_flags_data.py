from __future__ import annotations

import json
from functools import cache

import pytest
from packaging.version import Version

from mlacheck.data import load_yaml, rules_root
from mlacheck.probes.engine import pins

VERSIONS = [f"0.5.{patch}" for patch in range(15, 24)]
ACTIONS = {
    "store",
    "store_true",
    "store_false",
    "store_const",
    "boolean_optional",
    "append",
    "help",
    "deprecated",
    "lora_path",
}


@cache
def record(version: str) -> dict:
    return json.loads((rules_root() / "sglang" / "flags" / f"{version}.json").read_text(encoding="utf-8"))


@cache
def by_flag(version: str) -> dict[str, dict]:
    return {flag: option for option in record(version)["options"] for flag in option["flags"]}


def first(flag: str) -> str | None:
    return next((version for version in VERSIONS if flag in by_flag(version)), None)


def choices(version: str, flag: str) -> list:
    return by_flag(version)[flag]["choices"]


def test_the_nine_versions():
    files = (rules_root() / "sglang" / "flags").glob("*.json")
    assert sorted((file.stem for file in files), key=Version) == VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
class TestRecord:
    def test_head(self, version):
        data = record(version)
        assert (data["engine"], data["version"], data["prog"]) == ("sglang", version, "sglang serve")

    def test_a_flag_belongs_to_one_option(self, version):
        flags = [flag for option in record(version)["options"] for flag in option["flags"]]
        assert len(flags) == len(set(flags)) > 400

    def test_dest_and_flags_are_unique(self, version):
        keys = [(option["dest"], *option["flags"]) for option in record(version)["options"]]
        assert len(keys) == len(set(keys))

    def test_options_are_well_formed(self, version):
        for option in record(version)["options"]:
            assert option["action"] in ACTIONS, option
            assert option.keys() >= {"dest", "flags", "type", "choices", "nargs", "default"}, option
            takes_value = option["nargs"] != 0
            assert takes_value == (option["type"] is not None), option
            if option["default"] is not None and option["choices"]:
                assert option["action"] == "store_const" or option["default"] in option["choices"], option

    def test_a_dest_has_one_default(self, version):
        seen: dict[str, object] = {}
        for option in record(version)["options"]:
            assert seen.setdefault(option["dest"], option["default"]) == option["default"], option

    def test_only_the_model_is_required(self, version):
        required = [option["dest"] for option in record(version)["options"] if option.get("required")]
        assert required == ["model_path"]

    def test_pins_as_the_probe_reads_them(self, version):
        found = pins("sglang", version)
        assert found.keys() >= {"flashinfer", "sglang_kernel", "torch"}

    def test_a_pin_satisfies_the_engine_s_own_minimum(self, version):
        data = record(version)
        assert data["minimums"].keys() == {"flashinfer-python", "sglang-kernel"}
        for name, least in data["minimums"].items():
            assert Version(data["pins"][name]) >= Version(least)

    def test_pins_are_exact_and_ranges_are_not(self, version):
        data = record(version)
        for pin in data["pins"].values():
            Version(pin)
        assert not data["pins"].keys() & data["ranges"].keys()
        assert "flash-attn-4" in {**data["pins"], **data["ranges"]}


@pytest.mark.parametrize(
    ("flag", "version"),
    [
        ("--dcp-size", "0.5.15"),
        ("--decode-context-parallel-size", "0.5.15"),
        ("--dcp-comm-backend", "0.5.17"),
        ("--no-dcp-replicate-q-proj", "0.5.17"),
        ("--speculative-draft-kv-cache-dtype", "0.5.18"),
        ("--attn-dp-size", "0.5.22"),
        ("--enable-hicache", "0.5.23"),
        ("--cp-size", None),
    ],
)
def test_a_flag_appeared(flag, version):
    assert first(flag) == version


@pytest.mark.parametrize(
    ("flag", "choice", "having"),
    [
        ("--attention-backend", "cutlass_mla", VERSIONS[:5]),
        ("--attention-backend", "tokenspeed_mla", VERSIONS),
        ("--kv-cache-dtype", "fp4_e2m1", VERSIONS[:6]),
        ("--kv-cache-dtype", "nvfp4", VERSIONS[1:]),
        ("--cuda-graph-backend-prefill", "tc_piecewise", VERSIONS[:7]),
    ],
)
def test_a_choice_lived(flag, choice, having):
    assert [version for version in VERSIONS if choice in choices(version, flag)] == having


def test_one_dest_keeps_every_spelling():
    # The main flag and its deprecated alias are two options of one dest.
    assert by_flag("0.5.19")["--nsa-decode-backend"]["dest"] == "dsa_decode_backend"
    assert by_flag("0.5.19")["--dsa-decode-backend"]["dest"] == "dsa_decode_backend"
    assert "--nsa-decode-backend" not in by_flag("0.5.20")


def test_special_options():
    assert by_flag("0.5.18")["--context-length"]["type"] == "human_readable_int"
    assert by_flag("0.5.18")["--dcp-replicate-q-proj"]["action"] == "boolean_optional"
    assert by_flag("0.5.18")["--disable-piecewise-cuda-graph"]["const"] == "disabled"
    assert by_flag("0.5.18")["--lora-paths"]["action"] == "lora_path"
    retired = by_flag("0.5.19")["--enable-expert-distribution-metrics"]
    assert retired["action"] == "deprecated"
    assert "--expert-balancedness-report-mode" in retired["message"]
    monokernel = by_flag("0.5.23")["--monokernel-backend"]
    assert (monokernel["dest"], monokernel["nargs"], monokernel["const"]) == (
        "enable_amd_monokernel",
        None,
        True,
    )


class TestSpellings:
    def test_flags(self):
        for wrong, entry in load_yaml("sglang", "spellings.yaml")["flags"].items():
            assert wrong.startswith("--"), wrong
            assert entry.keys() <= {"flag", "value", "note"}, wrong
            assert entry.get("flag") or entry["note"], wrong
            assert "flag" not in entry or first(entry["flag"]), wrong

    def test_a_value_with_a_flag_is_one_of_its_choices(self):
        for wrong, entry in load_yaml("sglang", "spellings.yaml")["flags"].items():
            known = by_flag(VERSIONS[-1])[entry["flag"]]["choices"] if "value" in entry else None
            assert known is None or entry["value"] in known, wrong

    def test_a_wrong_flag_is_refused_by_some_version(self):
        for wrong in load_yaml("sglang", "spellings.yaml")["flags"]:
            accepted = []
            for version in VERSIONS:
                flags = by_flag(version)
                near = [flag for flag in flags if flag.startswith(wrong)]
                accepted.append(wrong in flags or len(near) == 1)
            assert not all(accepted), wrong

    def test_values(self):
        for dest, spellings in load_yaml("sglang", "spellings.yaml")["values"].items():
            known: list[set] = []
            for version in VERSIONS:
                options = [option for option in record(version)["options"] if option["dest"] == dest]
                known += [set(option["choices"]) for option in options if option["choices"]]
            assert known, dest
            for wrong, right in spellings.items():
                assert isinstance(wrong, str), (dest, wrong)
                assert not all(wrong in one for one in known), (dest, wrong)
                # The draft's own dtype shares the spellings, without the FP4 recipes.
                if dest != "speculative_draft_kv_cache_dtype" or "fp4" not in right:
                    assert any(right in one for one in known), (dest, right)
