from __future__ import annotations

import json

import pytest

from mlacheck.probes import engine as module
from mlacheck.probes.engine import pins, read_image, recorded_versions


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    folder = tmp_path / "sglang" / "flags"
    folder.mkdir(parents=True)

    def write(version, **data):
        (folder / f"{version}.json").write_text(json.dumps(data), encoding="utf-8")

    monkeypatch.setattr(module, "rules_root", lambda: tmp_path)
    monkeypatch.setattr(
        module, "load_json", lambda *parts: json.loads(tmp_path.joinpath(*parts).read_bytes())
    )
    recorded_versions.cache_clear()
    pins.cache_clear()
    yield write
    recorded_versions.cache_clear()
    pins.cache_clear()


def test_recorded_versions_in_order(recorded):
    for version in ("0.5.9", "0.5.18", "0.5.18.post1", "0.5.10", "notes"):
        recorded(version)
    assert recorded_versions("sglang") == ("0.5.9", "0.5.10", "0.5.18", "0.5.18.post1")
    assert recorded_versions("vllm") == ()


def test_pins_by_fact_name(recorded):
    recorded(
        "0.5.18",
        pins={
            "flashinfer_python[cu13]": "==0.6.17",
            "sglang-kernel": "0.4.6.post1",
            "tokenspeed_mla": "tokenspeed_mla==0.1.8",
            "flash-attn-4": ">=4.0.0b18",
            "torch": ">=2.9",
        },
    )
    assert pins("sglang", "0.5.18") == {
        "flashinfer": "0.6.17",
        "sglang_kernel": "0.4.6.post1",
        "tokenspeed_mla": "0.1.8",
    }


def test_a_record_without_pins(recorded):
    recorded("0.5.18")
    assert pins("sglang", "0.5.18") == {}


@pytest.mark.parametrize(
    ("reference", "engine", "version"),
    [
        ("lmsysorg/sglang:v0.5.18-cu130", "sglang", "0.5.18"),
        ("docker.io/lmsysorg/sglang:v0.5.18", "sglang", "0.5.18"),
        ("registry.local:5000/mirror/sglang:0.5.18.post1", "sglang", "0.5.18.post1"),
        ("lmsysorg/sglang:v0.5.18@sha256:0123", "sglang", "0.5.18"),
        ("lmsysorg/sglang:latest", "sglang", None),
        ("lmsysorg/sglang", "sglang", None),
        ("lmsysorg/sglang@sha256:0123", "sglang", None),
        ("nvcr.io/nvidia/sglang:25.12-py3", "sglang", None),
        ("vllm/vllm-openai:v0.11.0", "vllm", "0.11.0"),
    ],
)
def test_images(reference, engine, version):
    image = read_image(reference)
    assert image is not None
    assert (image.engine, None if image.version is None else str(image.version)) == (engine, version)


@pytest.mark.parametrize(
    "reference", ["ubuntu:24.04", "acme/llm-server:v0.5.18", "", "sglang.local/base:1.2.3"]
)
def test_other_images(reference):
    assert read_image(reference) is None
