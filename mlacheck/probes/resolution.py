"""The work behind `resolve_target`: one part of the target after the other, the strongest source first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from packaging.version import Version

from mlacheck.facts import UNKNOWN, is_known
from mlacheck.frozen import field, record, replace
from mlacheck.probes.distribution import DISTRIBUTIONS
from mlacheck.probes.engine import ENGINES, pins, read_image, recorded_versions
from mlacheck.probes.flashinfer import FlashInferFacts, signature_table
from mlacheck.probes.hardware import Gpu, GpuProblem, find_gpu
from mlacheck.probes.target import Disagreement, LaunchHints, Sourced, Target, TargetFlags, TargetProblem
from mlacheck.probes.version import nearest, parse_version

if TYPE_CHECKING:
    from mlacheck.probes.importing import ProbeDisagreement
    from mlacheck.probes.machine import Machine

# Names that move with each release: they name no version.
FLOATING: Final = frozenset({"latest", "nightly", "main", "master", "dev", "head", "stable"})
OTHERS: Final = tuple(name for name in DISTRIBUTIONS if name not in (*ENGINES, "flashinfer"))


@record
class Resolution:
    """The work of one `resolve_target` call: what is decided so far, and what there is to say about it."""

    engine: str
    given: list[tuple[str, TargetFlags]]
    launch: LaunchHints
    machine: Machine
    recorded: str | None = None
    extrapolated: bool = False
    assumed: bool = False
    from_machine: bool = False
    broken: ProbeDisagreement | None = None
    assumptions: list[str] = field(default_factory=list)
    disagreements: list[Disagreement] = field(default_factory=list)
    problems: list[TargetProblem] = field(default_factory=list)

    def target(self) -> Target:
        """Decide everything; the engine first, since FlashInfer and GPU depend on where it was found."""
        version = self._engine_version()
        flashinfer, facts = self._flashinfer()
        gpu = self._gpu()
        count = self._count(gpu)
        nodes = self._stated("nodes", self.launch.nodes)
        self._note("nodes", nodes)
        self._note_machine(version, flashinfer, gpu)
        return Target(
            engine=self.engine,
            version=version,
            rules_version=self.recorded or "",
            extrapolated=self.extrapolated,
            assumed=self.assumed,
            gpu=gpu,
            gpu_count=count,
            nodes=nodes[0] if nodes else Sourced(UNKNOWN, "not named"),
            flashinfer=flashinfer,
            flashinfer_facts=facts,
            packages={name: self._package(name) for name in OTHERS},
            assumptions=tuple(self.assumptions),
            disagreements=tuple(self.disagreements),
            broken=self.broken,
            problems=tuple(self.problems),
        )

    @property
    def probe_import(self) -> bool:
        """Tell whether importing FlashInfer is allowed."""
        return any(values.probe_import for _, values in self.given)

    def _stated(self, name: str, hint: object = None, hint_origin: str = "launch file") -> list[Sourced]:
        """List what was stated of one part, the strongest source first."""
        stated = [
            Sourced(value, origin.format(name.replace("_", "-")))
            for origin, values in self.given
            if (value := getattr(values, name)) is not None
        ]
        return stated if hint is None else [*stated, Sourced(hint, hint_origin)]

    def _note(self, name: str, stated: list[Sourced]) -> None:
        """Note where a weaker source says something else than the one that is taken."""
        for other in stated[1:]:
            # Identity first: UNKNOWN cannot be compared.
            if other.value is not stated[0].value and (
                not is_known(other.value) or not is_known(stated[0].value) or other.value != stated[0].value
            ):
                self.disagreements.append(Disagreement(name, stated[0], other))

    def _note_machine(self, *taken: Sourced) -> None:
        """Note where a profile says something else than a machine that has the engine."""
        if self.from_machine or len(self.given) < 2 or not self.machine.has(self.engine):
            return
        installation = self.machine.installation()
        origin = f"installed in {installation.place}"
        here: list[object] = [
            None if text is None else parse_version(text)
            for text in (installation.versions.get(name) for name in (self.engine, "flashinfer"))
        ]
        seen = self.machine.gpus()
        here.append(seen.gpu if seen.gpus else None)
        origins = (origin, origin, f"this machine, {seen.origin}")
        for name, chosen, value, place in zip(
            (f"{self.engine} version", "flashinfer", "gpu"), taken, here, origins, strict=True
        ):
            if value is not None and chosen.origin == self.given[1][0]:
                self._note(name, [chosen, Sourced(value, place)])

    def _engine_version(self) -> Sourced:
        known = recorded_versions(self.engine)
        versions: list[Sourced] = []
        floating: Sourced | None = None
        for stated in self._engine_texts():
            text = str(stated.value)
            image = read_image(text) if ":" in text else None
            version = image.version if image else parse_version(text)
            if version is not None:
                versions.append(Sourced(version, stated.origin))
            elif image or text.lower() in FLOATING or text.startswith(("nightly", "0.0.0")):
                floating = floating or stated
                if not versions:
                    break  # the strongest source names a moving version; weaker ones do not overrule it
            else:
                hint = f"write a release such as {known[-1]}" if known else "write a release"
                message = f"{self.engine} version {text!r} cannot be read"
                self.problems.append(TargetProblem("engine_version", text, stated.origin, message, hint))
        if not versions and floating is None:
            self._installed_version(versions)
        self._note(f"{self.engine} version", versions)
        if not versions:
            return self._assumed_version(floating, known)
        chosen = versions[0]
        if not isinstance(chosen.value, Version):
            raise TypeError(chosen)
        found = nearest(chosen.value, known)
        self.recorded = found.version if found else None
        self.extrapolated = found is None or not found.exact
        if self.extrapolated:
            stand_in = f"; judged as {self.recorded}, the nearest one" if self.recorded else ""
            self.assumptions.append(f"{self.engine} {chosen.value} is not a recorded version{stand_in}")
            if any(str(chosen.value) in recorded_versions(one) for one in ENGINES if one != self.engine):
                self.assumptions[-1] += f"; name {self.engine}'s own with --engine-version {self.engine}=V"
        return chosen

    def _engine_texts(self) -> list[Sourced]:
        stated = [
            Sourced(version, origin.format("engine-version"))
            for origin, values in self.given
            if (version := values.version_of(self.engine)) is not None
        ]
        image = read_image(self.launch.image) if self.launch.image else None
        if image is not None and image.engine == self.engine:
            stated.append(Sourced(image.version or "latest", f"image {image.reference}"))
        return stated

    def _installed_version(self, versions: list[Sourced]) -> None:
        installation = self.machine.installation()
        text = installation.versions.get(self.engine)
        if text is None:
            return
        self.from_machine = True
        origin = f"installed in {installation.place}"
        version = parse_version(text)
        if version is not None:
            versions.append(Sourced(version, origin))
        else:
            self.assumptions.append(f"{self.engine} {text} ({origin}) names no release")

    def _assumed_version(self, floating: Sourced | None, known: tuple[str, ...]) -> Sourced:
        self.assumed = True
        self.extrapolated = (
            floating is not None or not known
        )  # a moving name may be newer than what is recorded
        self.recorded = known[-1] if known else None
        why = "no version is named"
        if floating:
            named = "" if floating.origin.endswith(str(floating.value)) else f" {floating.value}"
            why = f"{floating.origin}{named} names no release"
        if self.recorded is None:
            self.assumptions.append(f"{self.engine} version unknown: {why} and none is recorded")
            return Sourced(None, why)
        step = "name the one that runs there" if floating else "name it"
        self.assumptions.append(
            f"{self.engine} {self.recorded} is assumed, the newest recorded, so nothing is certain to pass: "
            f"{why}; {step}, e.g. --engine-version {self.recorded}"
        )
        return Sourced(Version(self.recorded), f"assumed: {why}")

    def _flashinfer(self) -> tuple[Sourced, FlashInferFacts | None]:
        stated: list[Sourced] = []
        for one in self._stated("flashinfer"):
            text = str(one.value).strip()
            if text.lower() == "none":
                stated.append(Sourced(None, one.origin))
            elif text.lower() == "unknown":
                stated.append(Sourced(UNKNOWN, one.origin))
            elif (version := parse_version(text)) is not None:
                stated.append(Sourced(version, one.origin))
            else:
                message = f"FlashInfer version {text!r} cannot be read"
                hint = "write a release such as 0.6.17, or none"
                self.problems.append(TargetProblem("flashinfer", text, one.origin, message, hint))
        self._note("flashinfer", stated)
        if self.probe_import and (stated or not self.from_machine):
            self.assumptions.append("FlashInfer is not imported: the target's is not this machine's")
        if not stated and self.from_machine:
            return self._installed_flashinfer()
        pin = self._pin("flashinfer")
        if not stated and pin is not None:
            self.assumptions.append(f"flashinfer {pin.text}")
            stated.append(pin)
        if not stated:
            self.assumptions.append("the FlashInfer version is not known (use --flashinfer VERSION or none)")
            return Sourced(UNKNOWN, "not named"), None
        chosen = stated[0]
        if not isinstance(chosen.value, Version):
            return chosen, None
        facts = signature_table(chosen.value)
        if facts.extrapolated:
            self.assumed = True
            self.assumptions.append(f"FlashInfer {chosen.value} is not recorded; read as {facts.recorded}")
        return chosen, facts

    def _installed_flashinfer(self) -> tuple[Sourced, FlashInferFacts | None]:
        from mlacheck.probes.importing import disagreement  # only with a probed installation

        installation = self.machine.installation()
        text = installation.versions.get("flashinfer")
        facts = self.machine.flashinfer()
        origin = f"installed in {installation.place}" if facts else f"not installed in {installation.place}"
        if facts is None:
            return Sourced(None, origin), None
        version = None if text is None else parse_version(text)
        chosen = Sourced(UNKNOWN if version is None else version, origin)
        pin = self._pin("flashinfer")
        if pin is not None:
            self._note("flashinfer", [chosen, pin])
        self.assumptions.extend(facts.problems)
        imported = self.machine.imported() if self.probe_import else None
        if imported is None:
            return chosen, facts
        if imported.parameters is None and not self.machine.gpus().gpus:
            # Its import asks for a CUDA device: failing without one says nothing of the installation.
            self.assumptions.append(
                f"FlashInfer is read from source: its import fails without a GPU ({imported.failure})"
            )
            return chosen, facts
        self.broken = disagreement(facts, imported)
        seen = None if imported.parameters is None else frozenset(imported.parameters)
        return chosen, replace(facts, decode_parameters=seen)

    def _gpu(self) -> Sourced:
        stated: list[Sourced] = []
        for one in self._stated("gpu", self.launch.gpu):
            text = str(one.value)
            found = UNKNOWN if text.strip().lower() == "unknown" else find_gpu(text)
            if isinstance(found, GpuProblem):
                if one.origin == "launch file":  # a node selector can name anything
                    self.assumptions.append(f"the launch file's GPU {text!r} is not one that is known")
                else:
                    self.problems.append(TargetProblem("gpu", text, one.origin, found.message, found.hint))
                continue
            stated.append(Sourced(found, one.origin))
            if isinstance(found, Gpu) and found.key is not None and text.strip().lower().startswith("sm"):
                self.assumptions.append(f"{text} is read as {found.name}; name the card if it is another")
        self._note("gpu", stated)
        if stated:
            return stated[0]
        if self.from_machine:
            seen = self.machine.gpus()
            if seen.gpus:
                if seen.mixed:
                    self.assumptions.append(f"the GPUs here differ: judged for {seen.gpu.name}")
                return Sourced(seen.gpu, f"this machine, {seen.origin}")
            # A build host or a login node without a GPU says nothing of where the engine will run.
            self.assumptions.append(f"the GPU is not known: {seen.reason} (use --gpu NAME, smXY or none)")
            return Sourced(UNKNOWN, seen.reason or "none seen")
        self.assumptions.append("the GPU is not known (use --gpu NAME, smXY or none)")
        return Sourced(UNKNOWN, "not named")

    def _count(self, gpu: Sourced) -> Sourced:
        visible = self.launch.env.get("CUDA_VISIBLE_DEVICES")
        stated = self._stated("gpu_count", self.launch.gpu_count)
        if visible:
            # What a node has does not make the hidden ones visible, nor is more seen than it has.
            shown = len(visible.split(","))
            first = stated[0].value if stated else None
            fewer = isinstance(first, int) and first <= shown
            stated.insert(int(fewer), Sourced(shown, "CUDA_VISIBLE_DEVICES"))
        self._note("gpu count", stated)
        if stated:
            return stated[0]
        if gpu.origin.startswith("this machine"):
            return Sourced(len(self.machine.gpus().gpus), gpu.origin)
        if isinstance(gpu.value, Gpu) and gpu.value.vendor == "none":
            return Sourced(0, gpu.origin)
        return Sourced(UNKNOWN, "not named")

    def _package(self, name: str) -> Sourced:
        for origin, values in self.given:
            named = dict(values.packages)
            if name in named:
                text = named[name]
                version = None if text is None else parse_version(text)
                return Sourced(version, origin.format(name.replace("_", "-")))
        if self.from_machine:
            installation = self.machine.installation()
            text = installation.versions.get(name)
            if text is None:
                return Sourced(None, f"not installed in {installation.place}")
            version = parse_version(text)
            return Sourced(UNKNOWN if version is None else version, f"installed in {installation.place}")
        return self._pin(name) or Sourced(UNKNOWN, "not named")

    def _pin(self, name: str) -> Sourced | None:
        if self.recorded is None:
            return None
        text = pins(self.engine, self.recorded).get(name)
        version = None if text is None else parse_version(text)
        return None if version is None else Sourced(version, f"pinned by {self.engine} {self.recorded}")
