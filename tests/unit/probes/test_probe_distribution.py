from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mlacheck.probes.distribution import probe_distributions


def install(site: Path, name: str, version: str) -> None:
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )


def test_versions_by_fact_name(tmp_path):
    for name, version in [
        ("sglang", "0.5.18"),
        ("flashinfer_python", "0.6.17"),
        ("sgl-kernel", "0.4.6.post1"),
        ("sgl-flash-mla", "1.0.0"),
        ("torch", "2.13.0+cu130"),
        ("other", "1"),
    ]:
        install(tmp_path, name, version)
    found = probe_distributions(tmp_path)
    assert found.versions == {
        "sglang": "0.5.18",
        "flashinfer": "0.6.17",
        "sglang_kernel": "0.4.6.post1",
        "flash_mla": "1.0.0",
        "torch": "2.13.0+cu130",
    }
    assert found.place == str(tmp_path)
    assert found.flashinfer_source is None


def test_the_newer_distribution_name_wins(tmp_path):
    install(tmp_path, "sgl-kernel", "0.3.0")
    install(tmp_path, "sglang-kernel", "0.4.10")
    assert probe_distributions(tmp_path).versions["sglang_kernel"] == "0.4.10"


def test_source_beside_the_metadata(tmp_path):
    (tmp_path / "flashinfer").mkdir()
    assert probe_distributions(tmp_path).flashinfer_source is None
    (tmp_path / "flashinfer" / "__init__.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    assert probe_distributions(tmp_path).flashinfer_source == tmp_path / "flashinfer"


def test_half_removed_metadata_and_no_folder(tmp_path):
    (tmp_path / "sglang-0.5.18.dist-info").mkdir()
    assert probe_distributions(tmp_path).versions == {}
    assert probe_distributions(tmp_path / "absent").versions == {}


def test_this_environment_finds_source_without_importing_it(tmp_path):
    install(tmp_path, "flashinfer-python", "0.6.17")
    (tmp_path / "flashinfer").mkdir()
    (tmp_path / "flashinfer" / "__init__.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from mlacheck.probes.distribution import probe_distributions as probe\n"
        "found = probe(); print(json.dumps([found.versions['flashinfer'], str(found.flashinfer_source)]))"
    )
    root = str(Path(__file__).parents[3])
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": root},
    )
    assert json.loads(result.stdout) == ["0.6.17", str(tmp_path / "flashinfer")]


def test_metadata_of_older_installers(tmp_path):
    (tmp_path / "sgl-kernel-0.3.0-py3.11.egg-info").mkdir()
    (tmp_path / "sgl-kernel-0.3.0-py3.11.egg-info" / "PKG-INFO").write_text(
        "Metadata-Version: 1.1\r\nName: SGL.Kernel\r\nVersion: 0.3.0\r\n\r\nVersion: 9\r\n", encoding="utf-8"
    )
    (tmp_path / "torch-2.9.0.egg-info").write_text("Name: torch\nVersion: 2.9.0\n", encoding="utf-8")
    (tmp_path / "torchvision-0.25.0.dist-info").mkdir()
    (tmp_path / "torchvision-0.25.0.dist-info" / "METADATA").write_text("Name: torchvision\nVersion: 1\n")
    assert probe_distributions(tmp_path).versions == {"sglang_kernel": "0.3.0", "torch": "2.9.0"}
