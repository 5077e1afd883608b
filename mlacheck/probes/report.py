"""What `mlacheck probe` shows: the engines, FlashInfer and GPUs of one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlacheck.frozen import frozen
from mlacheck.probes.distribution import DISTRIBUTIONS
from mlacheck.probes.engine import ENGINES, pins, recorded_versions
from mlacheck.probes.importing import disagreement
from mlacheck.probes.machine import Machine
from mlacheck.probes.signature import load_watched
from mlacheck.probes.version import nearest, parse_version

if TYPE_CHECKING:
    from pathlib import Path

    from mlacheck.probes.flashinfer import FlashInferFacts
    from mlacheck.probes.gpu import SeenGpus
    from mlacheck.probes.importing import ImportProbe, ProbeDisagreement


@frozen
class EngineReport:
    """One installed engine, the recorded version it is judged as, and pins that are not met."""

    name: str
    version: str
    rules_version: str | None
    recorded: bool
    unmet_pins: tuple[str, ...]


@frozen
class ProbeReport:
    """One machine as the probes see it."""

    place: str
    packages: dict[str, str]  # by distribution name
    engines: tuple[EngineReport, ...]
    flashinfer: FlashInferFacts | None
    imported: ImportProbe | None
    broken: ProbeDisagreement | None
    gpus: SeenGpus

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data."""
        return {
            "place": self.place,
            "packages": self.packages,
            "engines": [
                {
                    "name": engine.name,
                    "version": engine.version,
                    "rules_version": engine.rules_version,
                    "recorded": engine.recorded,
                    "unmet_pins": list(engine.unmet_pins),
                }
                for engine in self.engines
            ],
            "flashinfer": self._flashinfer(),
            "gpus": [
                {
                    "key": gpu.key,
                    "name": gpu.name,
                    "sm": gpu.sm,
                    "memory_gib": None if gpu.memory_gib is None else round(gpu.memory_gib, 1),
                    "mnnvl": gpu.mnnvl,
                    "vendor": gpu.vendor,
                }
                for gpu in self.gpus.gpus
            ],
            "gpus_from": self.gpus.origin,
            "no_gpu_because": self.gpus.reason,
        }

    def lines(self) -> list[str]:
        """Give the report as text, line by line."""
        lines = [f"Environment: {self.place}"]
        lines += [f"  {name} {version}" for name, version in self.packages.items()]
        if not self.engines:
            lines.append("  no engine installed")
        for engine in self.engines:
            if not engine.recorded:
                judged = engine.rules_version
                what = f"judged as {judged}" if judged else "no version of it is recorded"
                lines.append(f"  {engine.name} {engine.version} is not a recorded version: {what}")
            lines += [f"  {engine.name} {engine.version} pins {pin}" for pin in engine.unmet_pins]
        lines += self._flashinfer_lines()
        lines.append(f"GPUs ({self.gpus.origin}):")
        for gpu in self.gpus.gpus:
            memory = "memory unknown" if gpu.memory_gib is None else f"{gpu.memory_gib:.1f} GiB"
            key = gpu.key or "not in the catalogue"
            lines.append(f"  {gpu.name} ({key}), sm{gpu.sm}, {memory}")
        if self.gpus.reason is not None:
            lines.append(f"  none: {self.gpus.reason}")
        return lines

    def _flashinfer(self) -> dict[str, Any] | None:
        found = self.flashinfer
        if found is None:
            return None
        return {
            "version": None if found.version is None else str(found.version),
            "signatures": {name: list(parameters) for name, parameters in found.signatures.items()},
            "modules": sorted(found.modules),
            "problems": list(found.problems),
            "import": None
            if self.imported is None
            else {
                "parameters": None if self.imported.parameters is None else list(self.imported.parameters),
                "failure": self.imported.failure,
            },
            "disagreement": None
            if self.broken is None
            else {"message": self.broken.message, "hint": self.broken.hint},
        }

    def _flashinfer_lines(self) -> list[str]:
        found = self.flashinfer
        if found is None:
            return ["FlashInfer: not installed"]
        lines = [f"FlashInfer: {found.version or 'version unknown'}"]
        decode = load_watched().decode
        if decode in found.signatures:
            lines.append(f"  {decode.rpartition('.')[2]}({', '.join(found.signatures[decode])})")
        lines.append(
            f"  has {', '.join(sorted(found.modules)) or 'none of the modules that rules ask about'}"
        )
        lines += [f"  problem: {problem}" for problem in found.problems]
        if self.imported is not None:
            lines.append(f"  import: {self.imported.failure or 'works'}")
        if self.broken is not None:
            lines += [f"  broken: {self.broken.message}", f"    {self.broken.hint}"]
        return lines


def probe_report(
    *, probe_import: bool = False, site_packages: Path | None = None, machine: Machine | None = None
) -> ProbeReport:
    """Look at this machine, or at another environment on it."""
    machine = machine or Machine(site_packages=site_packages)
    installation, flashinfer = machine.installation(), machine.flashinfer()
    imported, broken = machine.imported() if probe_import else None, None
    # Its import asks for a CUDA device: failing without one says nothing of the installation.
    if flashinfer and imported and (imported.parameters is not None or machine.gpus().gpus):
        broken = disagreement(flashinfer, imported)
    return ProbeReport(
        place=installation.place,
        packages={DISTRIBUTIONS[name][0]: version for name, version in installation.versions.items()},
        engines=tuple(
            _engine(name, installation.versions[name], installation.versions)
            for name in ENGINES
            if name in installation.versions
        ),
        flashinfer=flashinfer,
        imported=imported,
        broken=broken,
        gpus=machine.gpus(),
    )


def _engine(name: str, text: str, installed: dict[str, str]) -> EngineReport:
    version = parse_version(text)
    found = None if version is None else nearest(version, recorded_versions(name))
    if found is None:
        return EngineReport(name, text, None, recorded=False, unmet_pins=())
    unmet = tuple(
        f"{DISTRIBUTIONS[package][0]} {pin}, {installed.get(package, 'nothing')} is installed"
        for package, pin in pins(name, found.version).items()
        # A local label (+cu130) names a build of the pinned version.
        if installed.get(package, "").partition("+")[0] != pin
    )
    return EngineReport(name, text, found.version, found.exact, unmet)
