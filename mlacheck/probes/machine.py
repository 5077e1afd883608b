"""The machine at hand, each part looked at once and only when something asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlacheck.frozen import record
from mlacheck.probes.version import parse_version

if TYPE_CHECKING:
    from pathlib import Path

    from mlacheck.probes.distribution import Installation
    from mlacheck.probes.flashinfer import FlashInferFacts
    from mlacheck.probes.gpu import SeenGpus
    from mlacheck.probes.importing import ImportProbe


@record
class Machine:
    """An environment and the GPUs beside it."""

    site_packages: Path | None = None
    python: str | None = None
    _installation: Installation | None = None
    _flashinfer: FlashInferFacts | None = None
    _imported: ImportProbe | None = None
    _gpus: SeenGpus | None = None

    def has(self, engine: str) -> bool:
        """Tell whether an engine is installed, without reading what else is."""
        if self._installation is not None:
            return engine in self._installation.versions
        if self.site_packages is not None:
            return (self.site_packages / engine).is_dir()
        from importlib.util import find_spec  # only where there is a profile to compare with

        return find_spec(engine) is not None

    def installation(self) -> Installation:
        """Tell what is installed."""
        if self._installation is None:
            from mlacheck.probes.distribution import probe_distributions  # reads many files: only when asked

            self._installation = probe_distributions(self.site_packages)
        return self._installation

    def flashinfer(self) -> FlashInferFacts | None:
        """Read the installed FlashInfer's source; None when FlashInfer is not installed."""
        if self._flashinfer is None:
            from mlacheck.probes.flashinfer import FlashInferFacts, read_installed

            installation = self.installation()
            text = installation.versions.get("flashinfer")
            version = None if text is None else parse_version(text)
            if installation.flashinfer_source is not None:
                self._flashinfer = read_installed(installation.flashinfer_source, version)
            elif text is not None:
                problem = f"flashinfer-python {text} has metadata but no source in {installation.place}"
                self._flashinfer = FlashInferFacts(
                    version,
                    None,
                    extrapolated=False,
                    decode_parameters=None,
                    modules=frozenset(),
                    problems=(problem,),
                )
        return self._flashinfer

    def imported(self) -> ImportProbe | None:
        """Import FlashInfer in a child process; None when it is not installed."""
        if self.flashinfer() is None:
            return None
        if self._imported is None:
            from mlacheck.probes.importing import ImportProbe, probe_import

            if self.site_packages is not None and self.python is None:
                self._imported = ImportProbe(None, f"no interpreter was named for {self.site_packages}")
            else:
                self._imported = probe_import(self.python)
        return self._imported

    def gpus(self) -> SeenGpus:
        """Look for GPUs."""
        if self._gpus is None:
            from mlacheck.probes.gpu import probe_gpus

            self._gpus = probe_gpus(
                torch_version=self.installation().versions.get("torch"), python=self.python
            )
        return self._gpus
