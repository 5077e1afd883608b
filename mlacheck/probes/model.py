"""Find a model's config: a path, the local Hugging Face cache, the catalogue. Nothing is fetched or run."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mlacheck.frozen import frozen, replace
from mlacheck.pattern import lazy
from mlacheck.probes.catalogue import load_catalogue
from mlacheck.probes.config import ConfigProblem, overridden, read_object, shape_problem
from mlacheck.similar import closest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

CONFIG_NAME: Final = "config.json"
# modelopt checkpoints keep their quantization here; the engine reads it when config.json has none.
QUANT_NAME: Final = "hf_quant_config.json"
HOW_TO_SUPPLY: Final = "supply it with --model PATH, a config.json or a folder that has one"

HOW_TO_NAME_A_DRAFT: Final = "the flag that names the draft may name a folder that has its config.json"

_HUB_ID: Final = lazy(r"(?:[\w.-]+/)?[\w.-]+", re.ASCII)
_COMMIT: Final = lazy(r"[0-9a-f]{7,64}")
# What the Hugging Face cache calls a repository's folder, wherever the cache lies.
_CACHED: Final = lazy(r"(?:^|/)models--([\w.-]+?)--([\w.-]+)(?:/|$)", re.ASCII)
_QUANTIZED: Final = lazy(
    r"(?:[-_.](?:fp8|fp4|nvfp4|mxfp[48]|awq|gptq|int[48]|w\d+a\d+\w*|bf16|[48]bit|dynamic|block|static))+$",
    re.ASCII,
)
_URL: Final = lazy(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SHOWN: Final = 200
_LIKE: Final = 0.75
_DERIVED: Final = 0.9
_PART: Final = lazy(r"model-\d+-of-\d+\.safetensors", re.ASCII)
_WHOLE: Final = lazy(r"model\.safetensors", re.ASCII)


@frozen
class ModelConfig:
    """One model's config and where it came from."""

    ref: str
    name: str
    config: Mapping[str, Any]  # raw JSON; `hf_quant_config` holds the file of that name that lies beside it
    origin: str
    certainty: str = "published"  # published, recalled or plausible: how sure the catalogue is of its values
    source: str = ""  # where the catalogue's values come from
    weights_gib: float | None = None  # the safetensors files together, at least
    drafts: tuple[str, ...] = ()  # published draft models for it
    files: frozenset[str] | None = None  # what lies beside a config.json; None where it is not known
    notes: tuple[str, ...] = ()  # what was odd but did not stop the reading
    odd: tuple[ConfigProblem, ...] = ()  # dimensions that no checkpoint can have

    @property
    def assumption(self) -> str | None:
        """Say what is taken for granted of a model whose own config was not read."""
        if not self.source:
            return None
        said = []
        if self.ref.rstrip("/").rsplit("/", 1)[-1].lower() != self.name.rsplit("/", 1)[-1].lower():
            said.append(f"{_shown(self.ref)} is judged by the config of {self.name}")
        if self.certainty == "plausible":
            said.append(f"the config of {self.name} is derived, not read ({self.source})")
        return "; ".join(said) or None

    @property
    def least_files_gib(self) -> float | None:
        """Give what the files take at the least: a size that nobody read may be too large."""
        if self.weights_gib is None:
            return None
        return self.weights_gib * (_DERIVED if self.certainty == "plausible" else 1)

    def with_overrides(self, overrides: Mapping[str, Any], kept: Collection[str] = ()) -> ModelConfig:
        """Give the model as a line changes it: what was read of its weights need not hold any more."""
        return replace(
            self,
            config=overridden(self.config, overrides, kept),
            origin=f"{self.origin}, changed by the line",
            weights_gib=None,
        )

    @property
    def hf_quant_config(self) -> Mapping[str, Any] | None:
        """Give modelopt's own quantization file."""
        return self.config.get("hf_quant_config")


@frozen
class ModelProblem:
    """Why there is no config for a reference."""

    ref: str
    kind: str
    message: str
    hint: str
    suggestions: tuple[str, ...] = ()


def find_model(
    ref: str,
    *,
    catalogue: Mapping[str, Any] | None = None,
    hf_home: Path | None = None,
    revision: str | None = None,
) -> ModelConfig | ModelProblem:
    """Find the config of a model: an existing path first, then the Hugging Face cache, then the catalogue."""
    if not ref.strip():
        return ModelProblem(ref, "empty", "the model name is empty", HOW_TO_SUPPLY)
    if _URL.match(ref):
        return ModelProblem(ref, "remote", f"{_shown(ref)} is not read: nothing is downloaded", HOW_TO_SUPPLY)
    path = _existing(ref)
    if path is not None:
        return _from_path(ref, path)
    hub = hub_cache(os.environ) if hf_home is None else hf_home / "hub"
    cached = _cached_config(ref, hub, revision or "main")
    if cached is not None:
        return _from_path(ref, cached, name=ref, origin=f"Hugging Face cache, {cached}")
    known = load_catalogue() if catalogue is None else catalogue
    folder = _CACHED.search(ref)
    named = f"{folder[1]}/{folder[2]}" if folder else ref.strip().rstrip("/")
    key = known["index"].get(named.lower())
    return _unknown(ref, known["index"]) if key is None else _from_catalogue(ref, key, known["models"][key])


def hub_cache(environ: Mapping[str, str]) -> Path:
    """Give the folder in which Hugging Face tools keep downloaded repositories."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environ.get(name):
            return Path(environ[name])
    if environ.get("HF_HOME"):
        return Path(environ["HF_HOME"]) / "hub"
    caches = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or "~", ".cache")  # noqa: PTH118 - "" stays harmless
    return Path(os.path.expanduser(caches)) / "huggingface" / "hub"  # noqa: PTH111 - Path.expanduser raises without a home


def _existing(ref: str) -> Path | None:
    path = Path(os.path.expanduser(ref))  # noqa: PTH111 - Path.expanduser raises without a home
    try:
        return path if path.exists() else None
    except (OSError, ValueError):  # too long, a null byte, a folder that may not be entered
        return None


def _from_path(
    ref: str, path: Path, name: str | None = None, origin: str | None = None
) -> ModelConfig | ModelProblem:
    file = path
    if path.is_dir():
        file = path / CONFIG_NAME
        if not _is_there(file):
            message = f"{path} has no {CONFIG_NAME}"
            return ModelProblem(ref, "no-config", message, f"add {CONFIG_NAME} there, or {HOW_TO_SUPPLY}")
    config = read_object(file)
    problem = config if isinstance(config, ConfigProblem) else shape_problem(config, str(file))
    if isinstance(config, ConfigProblem) or problem is not None:
        assert problem is not None  # noqa: S101 - for the type checker
        hint = problem.hint
        if file.suffix != ".json":
            hint = HOW_TO_SUPPLY
        return ModelProblem(ref, problem.kind, problem.message, hint)
    notes: tuple[str, ...] = ()
    quant_file = file.parent / QUANT_NAME
    if file.name == CONFIG_NAME and _is_there(quant_file):
        quant = read_object(quant_file)
        if isinstance(quant, ConfigProblem):
            notes = (f"{quant.message}; {quant.hint}",)
        else:
            config["hf_quant_config"] = quant
    from mlacheck.probes.dimensions import dimension_problems  # the catalogue's are sound

    return ModelConfig(
        ref=ref,
        name=name or (file.parent.resolve().name if file.name == CONFIG_NAME else file.stem),
        config=config,
        origin=origin or f"{CONFIG_NAME} at {file}",
        weights_gib=_weights(file.parent) if file.name == CONFIG_NAME else None,
        files=_files(file.parent) if file.name == CONFIG_NAME else None,
        notes=notes,
        odd=dimension_problems(config, str(file)),
    )


def _files(folder: Path) -> frozenset[str] | None:
    try:
        return frozenset(path.name for path in folder.iterdir())
    except OSError:
        return None


def _is_there(file: Path) -> bool:
    try:
        return os.path.lexists(file)  # a dangling link is reported as unreadable
    except ValueError:
        return False


def _weights(folder: Path) -> float | None:
    """Sum the sizes of the safetensors files that an engine would load of a folder, in GiB."""
    try:
        sizes = {file.name: file.stat().st_size for file in folder.glob("*.safetensors") if file.is_file()}
    except OSError:
        return None
    # A folder may hold the same weights twice: `consolidated` ones, or one file beside the parts.
    for pattern in (_PART, _WHOLE):
        chosen = [size for name, size in sizes.items() if pattern.fullmatch(name)]
        if chosen:
            return sum(chosen) / 1024**3
    return None


def _cached_config(ref: str, hub: Path, revision: str) -> Path | None:
    """Give the folder of the cached snapshot of a revision when it has a config.json."""
    if not _HUB_ID.fullmatch(ref) or ".." in ref:
        return None
    repository = hub / ("models--" + ref.replace("/", "--"))
    snapshots = repository / "snapshots"
    try:
        if not snapshots.is_dir():
            return None
        commit = _commit(repository, revision)
        if commit is None:
            return None
        folder = snapshots / commit
        return folder if _is_there(folder / CONFIG_NAME) else None
    except (OSError, ValueError):
        return None


def _commit(repository: Path, revision: str) -> str | None:
    if _COMMIT.fullmatch(revision):
        return revision
    if not _HUB_ID.fullmatch(revision) or ".." in revision:
        return None
    reference = repository / "refs" / revision
    if not reference.is_file():
        return None
    with reference.open("rb") as stream:
        commit = stream.read(100).decode("ascii", "replace").strip()
    return commit if _COMMIT.fullmatch(commit) else None


def _from_catalogue(ref: str, key: str, entry: Mapping[str, Any]) -> ModelConfig:
    config = dict(entry["config"])
    if "hf_quant_config" in entry:
        config["hf_quant_config"] = entry["hf_quant_config"]
    return ModelConfig(
        ref=ref,
        name=key,
        config=config,
        origin=f"catalogue {entry['file']}",
        certainty=entry["certainty"],
        source=entry["source"],
        weights_gib=entry.get("weights_gib"),
        drafts=tuple(entry.get("drafts", ())),
    )


def _unknown(ref: str, index: Mapping[str, str], *, draft: bool = False) -> ModelProblem:
    """Name the nearest catalogue entries, never take one: what a folder holds is not known from its name."""
    suggestions = _nearest(ref, index)
    supply = HOW_TO_NAME_A_DRAFT if draft else HOW_TO_SUPPLY
    names = " or ".join(suggestions)
    if ref.startswith(("/", "./", "../", "~")):
        message = f"{_shown(ref)} does not exist on this machine"
        step = f"write {names}" if draft else f"--model {names}"
        meant = f"if it holds a model that is known, {step}; else "
    else:
        known = "neither a path, nor in the local Hugging Face cache, nor in the catalogue"
        message = f"unknown {'draft ' if draft else ''}model {_shown(ref)}: {known}"
        meant = f"did you mean {names}? else "
    return ModelProblem(ref, "not-found", message, (meant if names else "") + supply, suggestions)


def of_draft(problem: ModelProblem) -> ModelProblem:
    """Say of a draft what helps there: a model named beside the line is the target, and drafts are meant."""
    if problem.kind != "not-found":
        return replace(problem, hint=problem.hint.replace(HOW_TO_SUPPLY, HOW_TO_NAME_A_DRAFT))
    known = load_catalogue()
    drafts = {
        draft.lower()
        for name in set(known["index"].values())
        for draft in known["models"][name].get("drafts", ())
    }
    index = {spelling: name for spelling, name in known["index"].items() if name.lower() in drafts}
    return _unknown(problem.ref, index, draft=True)


def _nearest(ref: str, index: Mapping[str, str]) -> tuple[str, ...]:
    wanted = ref.strip().rstrip("/")[-_SHOWN:].lower()
    last = wanted.rsplit("/", 1)[-1]
    same = [key for spelling, key in index.items() if spelling.rsplit("/", 1)[-1] == last]
    plain = _QUANTIZED.sub("", last)
    if not same and plain != last:
        same = [key for spelling, key in index.items() if spelling.rsplit("/", 1)[-1] == plain]
    if same:
        return tuple(dict.fromkeys(same))[:3]
    close = [index[spelling] for spelling in closest(wanted, index, 3, _LIKE)]
    if not close:
        tails = {spelling.rsplit("/", 1)[-1]: key for spelling, key in index.items()}
        close = [tails[tail] for tail in closest(last, tails, 3, _LIKE)]
    return tuple(dict.fromkeys(close))[:3]


def _shown(ref: str) -> str:
    text = ref if len(ref) <= _SHOWN else ref[: _SHOWN - 1] + "…"
    return text if text.isprintable() else repr(text)
