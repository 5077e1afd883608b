"""What a launch line is judged against: engine version, FlashInfer and GPU, each with where it came from.

Precedence: explicit flag, profile, launch file, this machine, the pin that the engine version implies.
FlashInfer and GPU of this machine count only when the engine is taken from this machine too.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from mlacheck.facts import UNKNOWN, is_known
from mlacheck.frozen import field, frozen
from mlacheck.probes.hardware import Gpu

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlacheck.probes.flashinfer import FlashInferFacts
    from mlacheck.probes.importing import ProbeDisagreement
    from mlacheck.probes.machine import Machine


@frozen
class TargetFlags:
    """The target as a user wrote it, in flags or in a profile; None where nothing was given."""

    engine_version: str | None = None  # of whatever engine
    engine_versions: tuple[tuple[str, str], ...] = ()  # of one engine alone
    flashinfer: str | None = None  # a version, `none` or `unknown`
    gpu: str | None = None  # a name, smXY, `none` or `unknown`
    gpu_count: int | None = None
    nodes: int | None = None
    packages: tuple[
        tuple[str, str | None], ...
    ] = ()  # versions of other packages, by fact name; None: absent
    probe_import: bool = False  # import this machine's FlashInfer in a child process

    def version_of(self, engine: str) -> str | None:
        """Give the version that was named for an engine; one named for another says nothing of it."""
        return dict(self.engine_versions).get(engine, self.engine_version)


@frozen
class LaunchHints:
    """What the launch command and the file around it say of the target."""

    image: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    gpu: str | None = None  # a node selector
    gpu_count: int | None = None  # a resource limit
    nodes: int | None = None


@frozen
class Sourced:
    """A value and where it came from."""

    value: object
    origin: str

    @property
    def text(self) -> str:
        """Write both, e.g. `0.6.17 (pinned by sglang 0.5.18)`."""
        value = self.value
        shown = "none" if value is None else "unknown" if not is_known(value) else _name(value)
        return f"{shown} ({self.origin})" if self.origin else shown


@frozen
class Disagreement:
    """Two sources differ; the first was taken."""

    name: str
    taken: Sourced
    other: Sourced

    @property
    def message(self) -> str:
        """Say so in one line."""
        return f"{self.name}: {self.taken.text} is used, not {self.other.text}"


@frozen
class TargetProblem:
    """A target value that cannot be read."""

    name: str
    value: str
    origin: str
    message: str
    hint: str


@frozen
class Target:
    """Everything known of the target."""

    engine: str
    version: Sourced  # of the engine: a Version, or None when it is not known
    rules_version: str  # the recorded version whose rules apply; empty when none is recorded
    extrapolated: bool  # the version is not, or may not be, a recorded one
    assumed: bool  # nobody named a version
    gpu: Sourced  # a Gpu, or UNKNOWN
    gpu_count: Sourced
    nodes: Sourced
    flashinfer: Sourced  # a Version, None when not installed, or UNKNOWN
    flashinfer_facts: FlashInferFacts | None
    packages: Mapping[str, Sourced]  # the other versions, by fact name
    assumptions: tuple[str, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    broken: ProbeDisagreement | None = None
    problems: tuple[TargetProblem, ...] = ()

    @property
    def engine_version(self) -> str | None:
        """Give the engine's version as text."""
        return None if self.version.value is None else str(self.version.value)

    def facts(self) -> dict[str, object]:
        """Give the facts that rules read: gpu.*, version.*, flashinfer.*, given.*."""
        # Rules are selected by the recorded version, so conditions must see that one too.
        engine = Version(self.rules_version) if self.rules_version else self.version.value
        facts: dict[str, object] = {f"version.{self.engine}": UNKNOWN if engine is None else engine}
        facts["version.flashinfer"] = self.flashinfer.value
        facts |= {f"version.{name}": package.value for name, package in self.packages.items()}
        return facts | self._gpu_facts() | self._flashinfer_facts() | self._given_facts()

    @property
    def origins(self) -> dict[str, str]:
        """Say where each fact came from."""
        origins = {f"version.{name}": package.origin for name, package in self.packages.items()}
        origins |= dict.fromkeys(self._gpu_facts(), self.gpu.origin)
        origins |= dict.fromkeys(self._flashinfer_facts(), self.flashinfer.origin)
        origins["gpu.count"] = origins["given.gpus"] = self.gpu_count.origin
        origins["given.nodes"] = self.nodes.origin
        origins["given.card_gib"] = self.gpu.origin
        origins["version.flashinfer"] = self.flashinfer.origin
        judged = f", judged as {self.rules_version}" if self.extrapolated and self.rules_version else ""
        origins[f"version.{self.engine}"] = self.version.origin + judged
        return origins

    def summary(self) -> dict[str, Any]:
        """Give the target as plain data for reports."""
        gpu = self.gpu.value if isinstance(self.gpu.value, Gpu) else None
        named = {
            "engine_version": self.version,
            "gpu": self.gpu,
            "gpu_count": self.gpu_count,
            "flashinfer": self.flashinfer,
        }
        return {
            "gpu": None if gpu is None else gpu.key or gpu.name,
            "sm": None if gpu is None else gpu.sm,
            "gpu_count": self.gpu_count.value if is_known(self.gpu_count.value) else None,
            "flashinfer": self._flashinfer_text(),
            "origins": {name: sourced.text for name, sourced in named.items()},
        }

    def _flashinfer_text(self) -> str | None:
        value = self.flashinfer.value
        return "none" if value is None else str(value) if is_known(value) else None

    def _gpu_facts(self) -> dict[str, object]:
        gpu = self.gpu.value
        if not isinstance(gpu, Gpu):
            names = ("sm", "name", "memory_gib", "mnnvl", "vendor")
            return {f"gpu.{name}": UNKNOWN for name in names} | {"gpu.count": self.gpu_count.value}
        name = gpu.key or (UNKNOWN if gpu.memory_gib is None else gpu.name)
        return {
            "gpu.sm": gpu.sm,
            "gpu.name": name,
            "gpu.memory_gib": UNKNOWN if gpu.memory_gib is None else gpu.memory_gib,
            "gpu.mnnvl": UNKNOWN if gpu.mnnvl is None else gpu.mnnvl,
            "gpu.vendor": gpu.vendor,
            "gpu.count": self.gpu_count.value,
        }

    def _given_facts(self) -> dict[str, object]:
        """Give what rules compare a line's needs with; None is not known, and nothing is compared."""
        gpu = self.gpu.value
        memory = gpu.memory_gib if isinstance(gpu, Gpu) and gpu.vendor != "none" else None
        return {
            "given.gpus": self.gpu_count.value if is_known(self.gpu_count.value) else None,
            "given.nodes": self.nodes.value if is_known(self.nodes.value) else None,
            "given.card_gib": None if memory is None else round(memory, 2),
        }

    def _flashinfer_facts(self) -> dict[str, object]:
        known = self.flashinfer_facts
        if known is not None:
            return {
                "flashinfer.importable": known.importable,
                "flashinfer.decode_parameters": known.decode_parameters,
                "flashinfer.modules": known.modules,
            }
        if self.flashinfer.value is None:
            nothing: frozenset[str] = frozenset()
            return {
                "flashinfer.importable": False,
                "flashinfer.decode_parameters": None,
                "flashinfer.modules": nothing,
            }
        return {f"flashinfer.{name}": UNKNOWN for name in ("importable", "decode_parameters", "modules")}


def resolve_target(
    engine: str,
    flags: TargetFlags,
    launch: LaunchHints | None = None,
    *,
    profile: TargetFlags | None = None,
    profile_name: str = "",
    machine: Machine | None = None,
) -> Target:
    """Decide every part of the target; this machine (or `machine`) is asked only when nothing else tells."""
    from mlacheck.probes.resolution import Resolution  # that module imports this one's values

    given = [("--{}", flags)]
    if profile is not None:
        given.append((f"profile {profile_name}" if profile_name else "config", profile))
    return Resolution(engine, given, launch or LaunchHints(), machine or here()).target()


@functools.cache
def here() -> Machine:
    """Give the machine at hand, looked at once for the whole run."""
    from mlacheck.probes.machine import Machine  # only for targets that ask it

    return Machine()


def _name(value: object) -> str:
    return (value.key or value.name) if isinstance(value, Gpu) else str(value)
