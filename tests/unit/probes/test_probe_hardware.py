from __future__ import annotations

import pytest

from mlacheck.probes.hardware import NO_GPU, Gpu, GpuProblem, as_seen, find_gpu, load_gpus

KEYS = {
    "a100": (80, 80.0), "l40s": (89, 45.0), "h100": (90, 79.6), "h200": (90, 140.4), "h20": (90, 95.6),
    "b200": (100, 179.1), "gb200": (100, 185.0), "b300": (103, 268.6), "gb300": (103, 277.5),
    "sm120": (120, 95.6), "gb10": (121, 119.7),
}  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_keys(key):
    gpu = find_gpu(key)
    assert isinstance(gpu, Gpu)
    sm, memory = KEYS[key]
    assert gpu.sm == sm
    assert gpu.memory_gib == pytest.approx(memory, abs=0.1)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("B200", "b200"),
        ("NVIDIA B200", "b200"),
        (" nvidia-b200 ", "b200"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA-H100-80GB-HBM3", "h100"),
        ("h100-sxm5", "h100"),
        ("NVIDIA A100-SXM4-40GB", "a100-40gb"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"),
        ("RTX 4090", "rtx4090"),
        ("NVIDIA GeForce RTX 5090", "rtx5090"),
        ("GB200 NVL72", "gb200"),
        ("MI300X", "mi300x"),
    ],
)
def test_names(text, key):
    assert find_gpu(text) is load_gpus()[key]


@pytest.mark.parametrize("text", ["none", "None", "NONE", "cpu"])
def test_no_gpu(text):
    assert find_gpu(text) is NO_GPU
    assert NO_GPU.sm == 0


@pytest.mark.parametrize(
    ("text", "sm", "mnnvl"),
    [
        ("sm90", 90, False),
        ("SM100", 100, None),
        ("sm_103a", 103, None),
        ("sm10.0", 100, None),
        ("sm80", 80, False),
    ],
)
def test_capability_alone(text, sm, mnnvl):
    gpu = find_gpu(text)
    assert isinstance(gpu, Gpu)
    assert (gpu.key, gpu.sm, gpu.memory_gib, gpu.mnnvl, gpu.vendor) == (None, sm, None, mnnvl, "nvidia")


def test_only_superchips_reach_across_nodes():
    assert {key for key, gpu in load_gpus().items() if gpu.mnnvl} == {"gb200", "gb300"}


def test_unknown_name_is_a_value_with_suggestions():
    problem = find_gpu("B20O")
    assert isinstance(problem, GpuProblem)
    assert "b200" in problem.suggestions
    assert "did you mean" in problem.hint
    nothing = find_gpu("???")
    assert isinstance(nothing, GpuProblem)
    assert "h200" in nothing.hint
    assert "smXY" in nothing.hint


def test_seen_gpu_keeps_the_drivers_numbers():
    gpu = as_seen("NVIDIA GB200", 100, 188.0, "nvidia")
    assert gpu == Gpu("gb200", "NVIDIA GB200", 100, 188.0, mnnvl=True, vendor="nvidia")
    assert as_seen("NVIDIA GB10", 121, None, "nvidia").memory_gib == pytest.approx(119.7, abs=0.1)


def test_seen_gpu_that_is_not_in_the_catalogue():
    assert as_seen("NVIDIA R900", 110, 300.0, "nvidia") == Gpu(
        None, "NVIDIA R900", 110, 300.0, mnnvl=False, vendor="nvidia"
    )


@pytest.mark.parametrize("text", ["sm999", "sm91", "SM_130", "sm000"])
def test_a_capability_that_cuda_does_not_know_is_no_gpu(text):
    problem = find_gpu(text)
    assert isinstance(problem, GpuProblem)
    assert "smXY" in problem.hint
