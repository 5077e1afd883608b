from __future__ import annotations

import pytest

from mlacheck.probes import gpu as module
from mlacheck.probes.child import Answer
from mlacheck.probes.gpu import probe_gpus
from mlacheck.probes.hardware import NO_GPU

H200 = ("NVIDIA H200", (9, 0), 143771 << 20)
B200 = ("NVIDIA B200", (10, 0), 183359 << 20)


class FakeNvml:
    """Stands for libnvidia-ml; arguments made by ctypes.byref carry their target in `_obj`."""

    def __init__(self, *devices, init=0, count=0, device=0, memory=0):
        self.devices, self.status, self.shut_down = devices, (init, count, device, memory), False

    def nvmlInit_v2(self):  # noqa: N802
        return self.status[0]

    def nvmlShutdown(self):  # noqa: N802
        self.shut_down = True
        return 0

    def nvmlDeviceGetCount_v2(self, count):  # noqa: N802
        count._obj.value = len(self.devices)
        return self.status[1]

    def nvmlDeviceGetHandleByIndex_v2(self, index, handle):  # noqa: N802
        handle._obj.value = index.value + 1
        return self.status[2]

    def nvmlDeviceGetName(self, handle, name, _size):  # noqa: N802
        name.value = self.devices[handle.value - 1][0].encode()
        return 0

    def nvmlDeviceGetCudaComputeCapability(self, handle, major, minor):  # noqa: N802
        major._obj.value, minor._obj.value = self.devices[handle.value - 1][1]
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle, memory):  # noqa: N802
        memory._obj.total = self.devices[handle.value - 1][2]
        return self.status[3]


def test_gpus_of_the_driver():
    nvml = FakeNvml(H200, H200)
    seen = probe_gpus(library=nvml, environ={})
    assert [(gpu.key, gpu.sm) for gpu in seen.gpus] == [("h200", 90)] * 2
    assert seen.gpu.memory_gib == pytest.approx(140.4, abs=0.01)
    assert (seen.origin, seen.reason, seen.mixed) == ("NVML", None, False)
    assert nvml.shut_down


@pytest.mark.parametrize(
    ("visible", "keys"),
    [
        ("1", ["b200"]),
        ("1,0", ["b200", "h200"]),
        ("", []),
        ("-1", []),
        ("0,7,1", ["h200"]),
        ("GPU-ab", ["h200"]),
    ],
)
def test_visible_devices(visible, keys):
    seen = probe_gpus(library=FakeNvml(H200, B200), environ={"CUDA_VISIBLE_DEVICES": visible})
    assert [gpu.key for gpu in seen.gpus] == keys
    assert (seen.reason is None) == bool(keys)


def test_mixed_gpus_are_judged_by_the_weakest():
    seen = probe_gpus(library=FakeNvml(B200, H200), environ={})
    assert seen.mixed
    assert seen.gpu.key == "h200"


def test_memory_that_the_driver_does_not_report():
    seen = probe_gpus(library=FakeNvml(("NVIDIA GB10", (12, 1), 0), memory=3), environ={})
    assert seen.gpu.memory_gib == pytest.approx(119.7, abs=0.1)


@pytest.mark.parametrize(
    ("nvml", "reason"),
    [
        (FakeNvml(init=9), "NVML error 9"),
        (FakeNvml(count=5), "NVML error 5"),
        (FakeNvml(), "reports no GPU"),
        (FakeNvml(H200, device=2), "does not describe GPU 0"),
    ],
)
def test_why_there_is_none(nvml, reason):
    seen = probe_gpus(library=nvml, environ={})
    assert seen.gpus == ()
    assert seen.gpu is NO_GPU
    assert reason in seen.reason


@pytest.fixture
def no_driver(monkeypatch):
    monkeypatch.setattr(module, "LIBRARY", "libno-such-library.so.1")


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("torch", [None, "2.13.0+cpu"])
def test_torch_without_cuda_is_not_asked(monkeypatch, torch):
    monkeypatch.setattr(module, "ask", lambda *_, **__: pytest.fail("asked"))
    assert "not found" in probe_gpus(torch_version=torch).reason


@pytest.mark.usefixtures("no_driver")
def test_torch_is_asked_in_a_child_when_there_is_no_driver_library(monkeypatch):
    monkeypatch.setattr(
        module, "ask", lambda *_, **__: Answer([["AMD Instinct MI300X", 94, 196592 << 20, "amd"]])
    )
    seen = probe_gpus(torch_version="2.11.0+rocm7")
    assert (seen.gpu.key, seen.gpu.sm, seen.gpu.vendor, seen.origin) == ("mi300x", 0, "amd", "torch")


@pytest.mark.usefixtures("no_driver")
def test_torch_that_fails(monkeypatch):
    monkeypatch.setattr(module, "ask", lambda *_, **__: Answer(failure="killed by SIGSEGV"))
    seen = probe_gpus(torch_version="2.13.0")
    assert seen.gpus == ()
    assert "SIGSEGV" in seen.reason
