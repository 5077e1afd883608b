from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

from mlacheck.facts import UNKNOWN
from mlacheck.frozen import replace
from mlacheck.probes import resolution
from mlacheck.probes.distribution import Installation
from mlacheck.probes.flashinfer import signature_table
from mlacheck.probes.gpu import SeenGpus
from mlacheck.probes.hardware import find_gpu
from mlacheck.probes.importing import ImportProbe
from mlacheck.probes.machine import Machine
from mlacheck.probes.target import LaunchHints, TargetFlags, resolve_target

IMAGE = "lmsysorg/sglang:v0.5.17-cu130"
PINS = {
    "0.5.17": {"flashinfer": "0.6.15.post1", "torch": "2.11.0"},
    "0.5.18": {"flashinfer": "0.6.17", "sglang_kernel": "0.4.6.post1"},
    "0.5.20": {"flashinfer": "0.6.18"},
}


@pytest.fixture(autouse=True)
def _recorded(monkeypatch):
    monkeypatch.setattr(
        resolution, "recorded_versions", lambda engine: tuple(PINS) if engine == "sglang" else ()
    )
    monkeypatch.setattr(resolution, "pins", lambda _, version: PINS[version])


def machine(versions=None, gpus=("h200",), source=None, imported=None):
    seen = tuple(find_gpu(key) for key in gpus)
    return Machine(
        _installation=Installation("this environment", versions or {}),
        _flashinfer=source,
        _imported=imported,
        _gpus=SeenGpus(seen, "NVML", None if seen else "no NVIDIA driver here"),
    )


def resolve(flags=None, launch=None, **kwargs):
    kwargs.setdefault("machine", machine())
    return resolve_target(kwargs.pop("engine", "sglang"), flags or TargetFlags(), launch, **kwargs)


INSTALLED = {"sglang": "0.5.20", "flashinfer": "0.6.18", "sglang_kernel": "0.4.7"}


@pytest.mark.parametrize(
    ("flag", "profile", "image", "installed", "text"),
    [
        ("0.5.18", "0.5.17", IMAGE, INSTALLED, "0.5.18 (--engine-version)"),
        (None, "0.5.18", IMAGE, INSTALLED, "0.5.18 (profile prod)"),
        (None, None, IMAGE, INSTALLED, f"0.5.17 (image {IMAGE})"),
        (None, None, None, INSTALLED, "0.5.20 (installed in this environment)"),
        (None, None, None, {}, "0.5.20 (assumed: no version is named)"),
    ],
)
def test_engine_version_precedence(flag, profile, image, installed, text):
    target = resolve(
        TargetFlags(engine_version=flag),
        LaunchHints(image=image),
        profile=TargetFlags(engine_version=profile),
        profile_name="prod",
        machine=machine(installed, source=signature_table(Version("0.6.18"))),
    )
    assert target.version.text == text
    assert target.rules_version == target.engine_version == text.split()[0]
    assert target.assumed == ("assumed" in text)
    assert not target.extrapolated


@pytest.mark.parametrize(
    ("flag", "profile", "image", "installed", "text"),
    [
        ("0.6.14", "0.6.15", IMAGE, INSTALLED, "0.6.14 (--flashinfer)"),
        (None, "0.6.15", IMAGE, INSTALLED, "0.6.15 (config)"),
        (None, None, IMAGE, INSTALLED, "0.6.15.post1 (pinned by sglang 0.5.17)"),
        (None, None, None, INSTALLED, "0.6.18 (installed in this environment)"),
        (None, None, None, {"sglang": "0.5.20"}, "none (not installed in this environment)"),
        ("none", None, None, INSTALLED, "none (--flashinfer)"),
        ("unknown", None, None, INSTALLED, "unknown (--flashinfer)"),
    ],
)
def test_flashinfer_precedence(flag, profile, image, installed, text):
    source = signature_table(Version("0.6.18")) if "flashinfer" in installed else None
    target = resolve(
        TargetFlags(flashinfer=flag),
        LaunchHints(image=image),
        profile=TargetFlags(flashinfer=profile),
        machine=machine(installed, source=source),
    )
    assert target.flashinfer.text == text


@pytest.mark.parametrize(
    ("flag", "profile", "hint", "installed", "text"),
    [
        ("b200", "h100", "a100", INSTALLED, "b200 (--gpu)"),
        (None, "h100", "a100", INSTALLED, "h100 (config)"),
        (None, None, "NVIDIA-A100-SXM4-80GB", INSTALLED, "a100 (launch file)"),
        (None, None, None, INSTALLED, "h200 (this machine, NVML)"),
        (None, None, None, {}, "unknown (not named)"),
        ("none", None, None, INSTALLED, "none (--gpu)"),
    ],
)
def test_gpu_precedence(flag, profile, hint, installed, text):
    target = resolve(
        TargetFlags(gpu=flag),
        LaunchHints(gpu=hint),
        profile=TargetFlags(gpu=profile),
        machine=machine(installed, source=signature_table(Version("0.6.18"))),
    )
    assert target.gpu.text == text


def test_this_machine_is_not_asked_when_the_version_is_named():
    class Untouchable:
        def __getattr__(self, name):
            pytest.fail(f"{name} was asked")

    for flags, launch in [(TargetFlags(engine_version="0.5.18"), None), (None, LaunchHints(image=IMAGE))]:
        target = resolve(flags, launch, machine=Untouchable())
        assert target.gpu.value is UNKNOWN
        assert "pinned by" in target.flashinfer.origin


def test_gpu_count_precedence():
    launch = LaunchHints(gpu_count=4, env={"CUDA_VISIBLE_DEVICES": "0,1"})
    assert resolve(TargetFlags(gpu_count=8), replace(launch, env={})).gpu_count.text == "8 (--gpu-count)"
    assert resolve(None, replace(launch, env={})).gpu_count.text == "4 (launch file)"
    assert resolve(TargetFlags(gpu_count=8), launch).gpu_count.text == "2 (CUDA_VISIBLE_DEVICES)"
    assert resolve(None, launch).gpu_count.text == "2 (CUDA_VISIBLE_DEVICES)"
    assert resolve(TargetFlags(gpu_count=1), launch).gpu_count.text == "1 (--gpu-count)"
    visible = LaunchHints(env={"CUDA_VISIBLE_DEVICES": "0,1"})
    assert resolve(None, visible).gpu_count.text == "2 (CUDA_VISIBLE_DEVICES)"
    here = machine({"sglang": "0.5.20"}, gpus=("h200", "h200"))
    assert resolve(machine=here).gpu_count.text == "2 (this machine, NVML)"
    assert resolve(TargetFlags(gpu="b200"), machine=here).gpu_count.value is UNKNOWN
    assert resolve(TargetFlags(gpu="none")).gpu_count.value == 0


def test_disagreements_name_both_sources():
    target = resolve(
        TargetFlags(engine_version="0.5.18", gpu="b200", gpu_count=8),
        LaunchHints(image=IMAGE, gpu="h200", gpu_count=4),
    )
    assert [one.message for one in target.disagreements] == [
        f"sglang version: 0.5.18 (--engine-version) is used, not 0.5.17 (image {IMAGE})",
        "gpu: b200 (--gpu) is used, not h200 (launch file)",
        "gpu count: 8 (--gpu-count) is used, not 4 (launch file)",
    ]


def test_same_value_written_differently_is_no_disagreement():
    target = resolve(
        TargetFlags(engine_version="v0.5.17", gpu="A100"), LaunchHints(image=IMAGE, gpu="NVIDIA-A100-80GB")
    )
    assert target.disagreements == ()


def test_installed_flashinfer_that_is_not_the_pinned_one():
    source = signature_table(Version("0.6.15"))
    target = resolve(machine=machine({"sglang": "0.5.18", "flashinfer": "0.6.15"}, source=source))
    assert [one.message for one in target.disagreements] == [
        "flashinfer: 0.6.15 (installed in this environment) is used, not 0.6.17 (pinned by sglang 0.5.18)"
    ]


@pytest.mark.parametrize(
    ("version", "judged_as"),
    [
        ("0.5.18.post1", "0.5.18"),
        ("0.5.19", "0.5.18"),
        ("0.5.20rc1", "0.5.20"),
        ("0.5.99", "0.5.20"),
        ("0.5.21.dev4+g1234567", "0.5.20"),
    ],
)
def test_unrecorded_versions_are_judged_as_the_nearest(version, judged_as):
    target = resolve(TargetFlags(engine_version=version))
    assert target.extrapolated
    assert not target.assumed
    assert target.rules_version == judged_as
    assert target.engine_version == version
    assert target.facts()["version.sglang"] == Version(judged_as)
    assert f"judged as {judged_as}" in target.origins["version.sglang"]
    assert target.flashinfer.origin == f"pinned by sglang {judged_as}"
    assert any(f"judged as {judged_as}" in text for text in target.assumptions)


@pytest.mark.parametrize("text", ["latest", "main", "nightly-dev-20260811", "0.0.0.dev1+gabcdef0"])
def test_moving_names_are_assumed_to_be_the_newest(text):
    target = resolve(TargetFlags(engine_version=text), LaunchHints(image=IMAGE))
    assert (target.rules_version, target.assumed, target.extrapolated) == ("0.5.20", True, True)
    assert target.problems == ()
    assert any("0.5.20 is assumed" in text for text in target.assumptions)


def test_image_without_a_version_does_not_fall_back_to_this_machine():
    target = resolve(None, LaunchHints(image="lmsysorg/sglang:latest"), machine=machine(INSTALLED))
    assert target.assumed
    assert target.gpu.value is UNKNOWN


def test_a_build_without_a_release_that_is_installed():
    here = machine({"sglang": "0.0.0.dev1+g1234567"})
    target = resolve(machine=here)
    assert target.assumed
    assert target.gpu.text == "h200 (this machine, NVML)"
    assert target.flashinfer.value is None


def test_version_of_another_engine_does_not_count():
    profile = TargetFlags(engine_versions=(("vllm", "0.11.0"),))
    assert resolve(profile=profile).assumed
    assert resolve(None, LaunchHints(image="vllm/vllm-openai:v0.11.0")).assumed


def test_engine_of_which_nothing_is_recorded():
    target = resolve(TargetFlags(engine_version="0.11.0"), engine="vllm")
    assert (target.rules_version, target.extrapolated) == ("", True)
    assert target.facts()["version.vllm"] == Version("0.11.0")
    assert target.flashinfer.value is UNKNOWN
    unnamed = resolve(engine="vllm")
    assert unnamed.engine_version is None
    assert unnamed.extrapolated
    assert unnamed.facts()["version.vllm"] is UNKNOWN


def test_unreadable_values_are_problems():
    target = resolve(TargetFlags(engine_version="0.5.x", flashinfer="six", gpu="B2OO"))
    assert [(one.name, one.value, one.origin) for one in target.problems] == [
        ("engine_version", "0.5.x", "--engine-version"),
        ("flashinfer", "six", "--flashinfer"),
        ("gpu", "B2OO", "--gpu"),
    ]
    assert all(one.hint for one in target.problems)
    assert target.gpu.value is UNKNOWN


def test_node_selector_with_an_unknown_gpu_is_no_problem():
    target = resolve(None, LaunchHints(gpu="pool-a"))
    assert target.problems == ()
    assert any("pool-a" in text for text in target.assumptions)


def test_machine_without_a_gpu_leaves_the_gpu_unknown():
    target = resolve(machine=machine({"sglang": "0.5.20"}, gpus=()))
    assert target.gpu.value is UNKNOWN
    assert any("no NVIDIA driver here" in text for text in target.assumptions)


def test_facts_of_a_named_target():
    target = resolve(TargetFlags(engine_version="0.5.18", gpu="gb200", gpu_count=4))
    facts = target.facts()
    assert facts["version.sglang"] == Version("0.5.18")
    assert facts["version.flashinfer"] == Version("0.6.17")
    assert facts["version.sglang_kernel"] == Version("0.4.6.post1")
    assert facts["version.torch"] is UNKNOWN
    assert (facts["gpu.sm"], facts["gpu.name"], facts["gpu.mnnvl"], facts["gpu.count"]) == (
        100,
        "gb200",
        True,
        4,
    )
    assert facts["gpu.memory_gib"] == pytest.approx(185.03, abs=0.01)
    assert facts["gpu.vendor"] == "nvidia"
    assert "enable_dcp" in facts["flashinfer.decode_parameters"]
    assert "comm.dcp_alltoall" in facts["flashinfer.modules"]
    assert facts["flashinfer.importable"] is True
    assert target.origins.keys() == facts.keys()
    assert target.origins["flashinfer.decode_parameters"] == "pinned by sglang 0.5.18"


def test_facts_of_an_unnamed_gpu_and_of_a_capability():
    unnamed = resolve(TargetFlags(engine_version="0.5.18")).facts()
    assert all(
        unnamed[f"gpu.{name}"] is UNKNOWN for name in ("sm", "name", "memory_gib", "mnnvl", "vendor", "count")
    )
    capability = resolve(TargetFlags(engine_version="0.5.18", gpu="sm100")).facts()
    assert (capability["gpu.sm"], capability["gpu.vendor"]) == (100, "nvidia")
    assert all(capability[f"gpu.{name}"] is UNKNOWN for name in ("name", "memory_gib", "mnnvl"))


def test_facts_without_flashinfer_and_without_a_gpu():
    facts = resolve(TargetFlags(engine_version="0.5.18", flashinfer="none", gpu="none")).facts()
    assert facts["version.flashinfer"] is None
    assert facts["flashinfer.decode_parameters"] is None
    assert facts["flashinfer.importable"] is False
    assert facts["flashinfer.modules"] == frozenset()
    assert (facts["gpu.sm"], facts["gpu.vendor"], facts["gpu.name"], facts["gpu.count"]) == (
        0,
        "none",
        "none",
        0,
    )


def test_facts_of_an_unknown_flashinfer():
    facts = resolve(TargetFlags(engine_version="0.5.18", flashinfer="unknown")).facts()
    names = (
        "version.flashinfer",
        "flashinfer.decode_parameters",
        "flashinfer.modules",
        "flashinfer.importable",
    )
    assert all(facts[name] is UNKNOWN for name in names)


def test_unrecorded_flashinfer_is_an_assumption():
    target = resolve(TargetFlags(engine_version="0.5.18", flashinfer="0.6.17.post9"))
    assert "FlashInfer 0.6.17.post9 is not recorded; read as 0.6.17" in target.assumptions


def test_capability_that_names_one_card_is_an_assumption():
    target = resolve(TargetFlags(engine_version="0.5.18", gpu="sm120"))
    assert target.facts()["gpu.name"] == "rtx-pro-6000"
    assert any("sm120 is read as" in text for text in target.assumptions)


def test_summary_has_what_reports_print():
    summary = resolve(TargetFlags(engine_version="0.5.18", gpu="B200", gpu_count=8)).summary()
    assert (summary["gpu"], summary["sm"], summary["gpu_count"], summary["flashinfer"]) == (
        "b200",
        100,
        8,
        "0.6.17",
    )
    assert summary["origins"]["flashinfer"] == "0.6.17 (pinned by sglang 0.5.18)"
    assert resolve(TargetFlags(engine_version="0.5.18", flashinfer="none")).summary()["flashinfer"] == "none"
    assert resolve(TargetFlags(flashinfer="unknown")).summary()["flashinfer"] is None


def imported_target(imported, gpus=("b200",)):
    source = signature_table(Version("0.6.18"))
    here = machine(INSTALLED, gpus=gpus, source=source, imported=imported)
    return resolve(TargetFlags(probe_import=True), machine=here)


def test_broken_installation():
    target = imported_target(ImportProbe(None, "ImportError: libcudart.so.13"))
    assert "libcudart.so.13" in target.broken.message
    assert target.facts()["flashinfer.importable"] is False
    assert target.facts()["flashinfer.decode_parameters"] is None


def test_import_wins_over_the_source():
    target = imported_target(ImportProbe(("query", "backend")))
    assert "only the source has" in target.broken.message
    assert target.facts()["flashinfer.decode_parameters"] == {"query", "backend"}


def test_import_that_fails_without_a_gpu_says_nothing():
    target = imported_target(ImportProbe(None, "Torch not compiled with CUDA enabled"), gpus=())
    assert target.broken is None
    assert target.facts()["flashinfer.importable"] is True
    assert any("Torch not compiled" in text for text in target.assumptions)


def test_import_probe_of_another_target_is_declined():
    target = resolve(TargetFlags(engine_version="0.5.18", probe_import=True))
    assert "FlashInfer is not imported: the target's is not this machine's" in target.assumptions


def test_metadata_without_source():
    here = Machine(
        _installation=Installation("this environment", INSTALLED), _gpus=SeenGpus((), "NVML", "none")
    )
    target = resolve(machine=here)
    assert target.flashinfer.text == "0.6.18 (installed in this environment)"
    assert target.facts()["flashinfer.importable"] is False
    assert any("no source" in text for text in target.assumptions)


def test_the_static_path_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from mlacheck.probes.target import TargetFlags, resolve_target\n"
        "resolve_target('sglang', TargetFlags(engine_version='0.5.18', flashinfer='0.6.17', gpu='b200'))\n"
        "heavy = {'torch', 'pydantic', 'rich', 'importlib.metadata', 'subprocess', 'ctypes'}\n"
        "print(*heavy & set(sys.modules))"
    )
    root = str(Path(__file__).parents[3])
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": root}
    )
    assert result.stdout.strip() == ""
