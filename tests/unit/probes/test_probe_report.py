from __future__ import annotations

import json

import pytest
from packaging.version import Version

from mlacheck.probes import report as module
from mlacheck.probes.distribution import Installation
from mlacheck.probes.flashinfer import signature_table
from mlacheck.probes.gpu import SeenGpus
from mlacheck.probes.hardware import as_seen, find_gpu
from mlacheck.probes.importing import ImportProbe
from mlacheck.probes.machine import Machine
from mlacheck.probes.report import probe_report


@pytest.fixture(autouse=True)
def _recorded(monkeypatch):
    monkeypatch.setattr(module, "recorded_versions", lambda engine: ("0.5.18",) if engine == "sglang" else ())
    monkeypatch.setattr(module, "pins", lambda *_: {"flashinfer": "0.6.17", "torch": "2.13.0"})


def machine(versions, gpus=(), reason=None, flashinfer=None, imported=None):
    return Machine(
        _installation=Installation("this environment", versions),
        _flashinfer=flashinfer,
        _imported=imported,
        _gpus=SeenGpus(gpus, "NVML", reason),
    )


def test_empty_machine():
    report = probe_report(machine=machine({}, reason="no NVIDIA driver here"))
    assert report.lines() == [
        "Environment: this environment",
        "  no engine installed",
        "FlashInfer: not installed",
        "GPUs (NVML):",
        "  none: no NVIDIA driver here",
    ]
    assert json.loads(json.dumps(report.to_dict()))["flashinfer"] is None


def test_full_machine():
    versions = {"sglang": "0.5.18.post1", "flashinfer": "0.6.15", "torch": "2.13.0+cu130"}
    gpus = (find_gpu("b200"), as_seen("NVIDIA R900", 110, None, "nvidia"))
    report = probe_report(
        probe_import=True,
        machine=machine(
            versions,
            gpus,
            flashinfer=signature_table(Version("0.6.15")),
            imported=ImportProbe(None, "SIGSEGV"),
        ),
    )
    text = "\n".join(report.lines())
    assert "sglang 0.5.18.post1 is not a recorded version: judged as 0.5.18" in text
    assert "pins flashinfer-python 0.6.17, 0.6.15 is installed" in text
    assert "pins torch" not in text
    assert "trtllm_batch_decode_with_kv_cache_mla(query, kv_cache" in text
    assert "broken: FlashInfer is installed but cannot be imported: SIGSEGV" in text
    assert "NVIDIA B200 (b200), sm100, 179.1 GiB" in text
    assert "NVIDIA R900 (not in the catalogue), sm110, memory unknown" in text
    data = json.loads(json.dumps(report.to_dict()))
    assert data["engines"][0]["rules_version"] == "0.5.18"
    assert data["gpus"][0]["key"] == "b200"
    assert data["flashinfer"]["disagreement"]["message"]


def test_failed_import_without_a_gpu_is_not_called_broken():
    here = machine(
        {"flashinfer": "0.6.17"},
        flashinfer=signature_table(Version("0.6.17")),
        imported=ImportProbe(None, "no CUDA"),
    )
    report = probe_report(probe_import=True, machine=here)
    assert report.broken is None
    assert "  import: no CUDA" in report.lines()


def test_engine_of_which_nothing_is_recorded():
    report = probe_report(machine=machine({"vllm": "0.11.0"}))
    assert "  vllm 0.11.0 is not a recorded version: no version of it is recorded" in report.lines()
