"""Make random launch cases from a seed, for replay by the real engine and by tools/conformance.py.

Prints one JSON object a line: {id, model, gpu, flashinfer, args, env}. `model` and `@name` in args are ids of
the catalogue in rules/models, or folders under tests/conformance/models; `--write-models DIR` writes the
catalogue's as folders of those names. The same seed, version and count give the same cases. Few
(gpu, flashinfer) pairs are drawn for one batch, since a replay imports the engine once for each pair.
What is drawn from stands in random_cases.yaml, for vLLM in random_cases_vllm.yaml.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

sys.path.insert(0, str(Path(__file__).parent.parent))

from mlacheck.probes.catalogue import load_catalogue
from mlacheck.probes.config import text_config
from mlacheck.ruleset.guards import guards

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parent.parent
MODELS: Final = ROOT / "tests" / "conformance" / "models"
FILES: Final = {"sglang": "random_cases.yaml", "vllm": "random_cases_vllm.yaml"}
MODES: Final = ("groups", "line", "sweep", "grid", "guards")
# Guards of these phases are met without weights: a recorder without a GPU runs them.
_BEFORE_WEIGHTS: Final = ("resolve", "environment", "topology", "backend-factory")
_ODD_INTS: Final = (0, -1, -8, 2**31, 10**12)
_NUMBERS: Final = {
    "int": (0, 1, 2, 3, 8, 64, 1024, -1, 10**12, "x", "1.5"),
    "float": (0, 0.5, 1, 2, -0.5, 1e9, "nan", "x"),
}
_EXPERTS: Final = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
# What a model with layers that keep a state instead of keys and values says of them.
_STATES: Final = (
    "linear_attn_config",
    "linear_num_value_heads",
    "hybrid_override_pattern",
    "attn_layer_period",
)
_SHARES: Final = {"common": 25, "latent": 35, "any": 40}
_COMMON: Final = ("deepseek-v3", "deepseek-v3.2", "kimi-k2", "kimi-k3", "llama-3.1-8b", "deepseek-v2-lite")


class Models:
    """The models to draw from: targets, drafts, and what kind each is."""

    def __init__(self, without: Sequence[str] = ()) -> None:
        self.catalogue: dict[str, Any] = load_catalogue()["models"]
        self.folders = sorted(one.name for one in MODELS.iterdir())
        self.drafts_of = {
            name: [one for one in entry.get("drafts", ()) if one in self.catalogue and one not in without]
            for name, entry in self.catalogue.items()
        }
        published = {draft for drafts in self.drafts_of.values() for draft in drafts}
        names = [name for name in (*self.folders, *self.catalogue) if name not in without]
        self.drafts = [name for name in names if name in published or _is_draft(name)]
        self.targets = [name for name in names if name not in self.drafts]
        self.latent = [name for name in self.targets if self.kind(name) != "gqa"]

    def config(self, name: str) -> dict[str, Any]:
        """Give a model's config."""
        if name in self.catalogue:
            return dict(self.catalogue[name]["config"])
        return dict(json.loads((MODELS / name / "config.json").read_text(encoding="utf-8")))

    def flat(self, name: str) -> dict[str, Any]:
        """Give a model's config with what it says of the language model at the top."""
        config = self.config(name)
        return {**config, **text_config(config)}

    def of(self, architectures: Sequence[str]) -> list[str]:
        """List the targets of these architectures."""
        return [
            one for one in self.targets if set(self.config(one).get("architectures") or ()) & {*architectures}
        ]

    def kind(self, name: str) -> str:
        """Tell dense MLA, DSA, hybrid and GQA models apart."""
        config = self.flat(name)
        if config.get("index_topk"):
            return "dsa"
        if any(key in config for key in ("linear_attn_config", "full_attention_interval", "layer_types")):
            return "hybrid"
        return "mla" if config.get("kv_lora_rank") else "gqa"

    def traits(self, name: str) -> set[str]:
        """Tell what a model is, its kind and more: what lines and shares are drawn by."""
        config = self.flat(name)
        more = {
            "vision": "vision_config" in config,
            "experts": any(config.get(key) for key in _EXPERTS),
            "states": any(key in config for key in _STATES),
            "quantized": "quantization_config" in config or "hf_quant_config" in self.catalogue.get(name, ()),
            "drafted": bool(self.drafts_of.get(name)),
        }
        traits = {trait for trait, has in more.items() if has}
        return {self.kind(name), *(traits if traits - {"drafted"} else {*traits, "plain"})}

    def pools(self, common: Sequence[str]) -> dict[str, list[str]]:
        """List the targets of each trait, the latent ones, the common ones and all."""
        pools = {"common": [*common], "latent": self.latent, "any": self.targets}
        for name in self.targets:
            for trait in self.traits(name):
                pools.setdefault(trait, []).append(name)
        return pools

    def write(self, folder: Path) -> None:
        """Write the catalogue's configs as model folders."""
        for name, entry in self.catalogue.items():
            path = folder / name
            path.mkdir(parents=True, exist_ok=True)
            (path / "config.json").write_text(json.dumps(entry["config"]), encoding="utf-8")
            if "hf_quant_config" in entry:
                (path / "hf_quant_config.json").write_text(json.dumps(entry["hf_quant_config"]), "utf-8")


def _is_draft(name: str) -> bool:
    lowered = name.lower()
    return name.startswith("draft-") or any(
        word in lowered for word in ("eagle", "dspark", "dflash", "nextn")
    )


class Maker:
    """Draws cases for one engine version."""

    def __init__(self, engine: str, version: str, seed: int, modes: Sequence[str] = MODES) -> None:
        grammar = ROOT / "rules" / engine / "flags" / f"{version}.json"
        flags = json.loads(grammar.read_text(encoding="utf-8"))
        self.drawn: dict[str, Any] = yaml.safe_load(
            Path(__file__).with_name(FILES[engine]).read_text(encoding="utf-8")
        )
        self.values: dict[str, list[Any]] = self.drawn["values"]
        self.version, self.seed, self.modes = version, seed, modes
        self.ranks: str = self.drawn.get("ranks", "tp_size")
        self.options: dict[str, dict[str, Any]] = {one["dest"]: one for one in flags["options"]}
        endings = tuple(self.drawn["skipped_endings"])
        self.free = sorted(
            dest
            for dest in self.options
            if dest in self.values or not (dest in self.drawn["skipped"] or dest.endswith(endings))
        )
        self.random = random.Random(f"{version}/{seed}")  # noqa: S311  # reproducible on purpose
        self.sweep = [(dest, value) for dest in self.free for value in self.worth_trying(dest)]
        self.random.shuffle(self.sweep)
        self.models = Models(self.drawn["without"])
        self.pools = self.models.pools(self.drawn.get("common", _COMMON))
        self.shares: dict[str, int] = self.drawn.get("shares", _SHARES)
        self.guards = [
            one
            for one in guards(engine, version)
            if not one.why and (one.backends or (one.reads and one.phase in _BEFORE_WEIGHTS))
        ]
        self.pin = "pin" if "pin" in self.drawn["flashinfers"] else flags["pins"].get("flashinfer-python")
        self.pairs: list[tuple[str, str | None]] = []

    def draw_pairs(self, pairs: int, gpus: Sequence[str] = ()) -> None:
        """Draw the GPUs and FlashInfer versions of the batch."""
        weights: dict[str, float] = self.drawn["gpu_weights"]
        pin = self.pin
        others = [one for one in self.drawn["flashinfers"] if one != pin]
        while len(self.pairs) < pairs:
            gpu = (
                self.random.choice(gpus)
                if gpus
                else self.random.choices(list(weights), list(weights.values()))[0]
            )
            pinned = pin in self.drawn["flashinfers"] and self.random.random() < 0.7
            flashinfer = pin if pinned else self.random.choice(others)
            if (gpu, flashinfer) not in self.pairs:
                self.pairs.append((gpu, flashinfer))

    def case(self, number: int) -> dict[str, Any]:
        """Draw one case: arguments that act together, a changed line, few of all, or a guard's."""
        rng = self.random
        gpu, flashinfer = self.pairs[number % len(self.pairs)]
        pool = rng.choices(list(self.shares), list(self.shares.values()))[0]
        model = rng.choice(self.pools[pool])
        given: dict[str, list[str]] = {}
        mode = self.modes[number // len(self.pairs) % len(self.modes)]
        if mode in {"grid", "guards"}:
            model = {"grid": self.grid, "guards": self.guarded}[mode](given, model)
        else:
            {"groups": self.groups, "line": self.changed_line, "sweep": self.swept}[mode](given, model)
        if rng.random() < 0.06:
            self.mistype(given)
        if rng.random() < 0.04 and self.drawn.get("strangers"):
            given["stranger"] = shlex.split(rng.choice(self.drawn["strangers"]))
        args = [word for words in given.values() for word in words]
        args = [re.sub("@DRAFT", lambda _: f"@{self.draft(model)}", word) for word in args]
        env = {}
        while rng.random() < 0.18:
            name = rng.choice(sorted(self.drawn["environment"]))
            env[name] = rng.choice(self.drawn["environment"][name])
        name = f"{self.version}-s{self.seed}-{number:04}"
        return {"id": name, "model": model, "gpu": gpu, "flashinfer": flashinfer, "args": args, "env": env}

    def groups(self, given: dict[str, list[str]], _model: str) -> None:
        """Give arguments that act together."""
        rng = self.random
        if rng.random() < 0.75:
            self.give(given, self.ranks, rng.choice((8, 8, 8, 8, 4)))
        groups = self.drawn["groups"]
        weights = [one["weight"] for one in groups]
        for group in rng.choices(groups, weights, k=rng.choice((1, 1, 2, 2, 3))):
            for dest, chance in group["flags"].items():
                if rng.random() < chance:
                    self.give(given, dest)
        while rng.random() < 0.25:
            self.give(given, rng.choice(self.free))

    def changed_line(self, given: dict[str, list[str]], model: str) -> None:
        """Give a launch line that people use, then drop, change and add a little."""
        rng = self.random
        lines = self.drawn["lines"]
        own = sorted(self.models.traits(model) & {*lines})
        if rng.random() < 0.1:
            own = [rng.choice(sorted(lines))]
        fitting = [one for trait in own for one in lines[trait]]
        chosen = rng.choice(fitting if rng.random() < 0.6 else lines["any"])
        dests = {flag: dest for dest, one in self.options.items() for flag in one["flags"]}
        words = shlex.split(chosen)
        starts = [number for number, word in enumerate(words) if word.startswith("-")]
        for begin, end in zip(starts, [*starts[1:], len(words)], strict=True):
            dest = dests.get(words[begin])
            if rng.random() < 0.07:
                continue
            if dest and rng.random() < 0.1:
                self.give(given, dest)
            else:
                given[dest or words[begin]] = words[begin:end]
        while rng.random() < 0.6:
            groups = self.drawn["groups"]
            pool = list(rng.choice(groups)["flags"]) if rng.random() < 0.7 else self.free
            self.give(given, rng.choice(pool))

    def swept(self, given: dict[str, list[str]], _model: str) -> None:
        """Give one or two arguments of all, so that every one has its turn."""
        self.give(given, self.ranks, self.random.choice((1, 8, 8, 8, 4)))
        for _ in range(self.random.choice((1, 1, 2))):
            if not self.sweep:
                return
            self.give(given, *self.sweep.pop())

    def worth_trying(self, dest: str) -> list[Any]:
        """List what a sweep tries of an argument: its choices, or values of its type and odd ones."""
        option = self.options[dest]
        if option["nargs"] == 0 or option["action"].startswith("store_"):
            return [None]
        listed = [*(option["choices"] or ()), *self.values.get(dest, ())]
        odd = _NUMBERS.get((option["type"] or "").replace("human_readable_", ""), ("x", ""))
        return list(dict.fromkeys(listed or odd))

    def grid(self, given: dict[str, list[str]], model: str) -> str:
        """Give one point of a grid: a value, or none, for each of the arguments that it spans."""
        rng = self.random
        grids = self.drawn["grids"]
        grid = rng.choices(grids, [one.get("weight", 1) for one in grids])[0]
        while "kinds" in grid and self.models.kind(model) not in grid["kinds"]:
            model = rng.choice(self.models.targets)
        for dest, values in grid["flags"].items():
            value = rng.choice(values)
            if value == "choices" and dest in self.options:
                value = rng.choice(self.options[dest]["choices"] or self.values.get(dest, ("x",)))
            if value is not None:
                self.give(given, dest, value)
        return model

    def guarded(self, given: dict[str, list[str]], model: str) -> str:
        """Give most of what one of the engine's own guards reads, to a model that it is about."""
        rng = self.random
        guard = rng.choice(self.guards)
        if rng.random() < 0.75:
            self.give(given, self.ranks, rng.choice((8, 8, 8, 8, 4)))
        for dest in guard.reads:
            if dest in guard.needs or rng.random() < 0.6:
                self.give(given, dest)
        if guard.backends:
            self.give(given, rng.choice(self.drawn["backends"]), rng.choice(guard.backends))
        own = self.models.of(guard.about)
        return rng.choice(own) if own else model

    def mistype(self, given: dict[str, list[str]]) -> None:
        """Make a mistake that people make in typing, in one of the arguments."""
        rng = self.random
        # A draft's name stays: whether a misspelt one can be downloaded is no matter of the rules.
        dests = sorted(dest for dest, words in given.items() if not any("@" in word for word in words))
        if not dests:
            return
        dest = rng.choice(dests)
        flag, *words = given[dest]
        value = words[0] if words else ""
        again = [str(self.value(dest, self.options[dest]))] if words and dest in self.options else words
        given[dest] = rng.choice(
            (
                [flag, *words, flag, *again],
                [flag],
                [flag, *words, "true"],
                [flag, value.upper() or "false"],
                [flag, f"{value},{value}"],
                [f"{flag}={value}"],
                [flag, f" {value}"],
                [flag, f"-{value}"],
                [flag, value[:-1]],
                [flag, value.replace("_", "-")],
                [flag.replace("--", "-", 1), *words],
                ["--" + flag[2:].replace("-", "_"), *words],
                [flag[: max(5, len(flag) - rng.randrange(1, 6))], *words],
            )
        )

    def draft(self, model: str) -> str:
        """Choose a draft model, mostly one published for the target."""
        own = self.models.drafts_of.get(model)
        return str(self.random.choice(own if own and self.random.random() < 0.7 else self.models.drafts))

    def give(self, given: dict[str, list[str]], dest: str, value: object = None) -> None:
        """Add an argument that this version has."""
        option = self.options.get(dest)
        if option is None or option.get("action") == "help":
            return
        rng = self.random
        flag = rng.choice(option["flags"]) if rng.random() < 0.3 else option["flags"][0]
        if rng.random() < 0.004:
            flag = flag.replace("-", "_")[1:] if rng.random() < 0.5 else flag[:-1]
        if option["nargs"] == 0 or option["action"].startswith("store_"):
            given[dest] = [flag]
            return
        words = [str(value if value is not None else self.value(dest, option))]
        if option["nargs"] in ("+", "*") and rng.random() < 0.5:
            words.append(str(self.value(dest, option)))
        alone = rng.random() < 0.05 and len(words) == 1 and words[0][:1] != "@"
        given[dest] = [f"{flag}={words[0]}"] if alone else [flag, *words]

    def value(self, dest: str, option: dict[str, Any]) -> object:
        """Draw a value of an argument, now and then an odd one."""
        rng = self.random
        odd = rng.random() < 0.02
        number = option["type"] in ("int", "float", "human_readable_int")
        if odd and number:
            return rng.choice((*_ODD_INTS, "x", "1.5"))
        if odd and option["choices"]:
            return str(rng.choice(option["choices"]))[:-1]
        if odd and dest != "speculative_draft_model_path":
            return ""
        if dest == "speculative_draft_model_path":
            return "@DRAFT"
        if dest in self.values:
            return rng.choice(self.values[dest])
        if option["choices"]:
            return rng.choice(option["choices"])
        if number:
            return rng.choice((0.1, 0.5, 1, 2) if option["type"] == "float" else (0, 1, 2, 4, 8, 64, 1024))
        return rng.choice(("x", "auto", "none"))


def main() -> int:
    """Print the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=FILES, default="sglang")
    parser.add_argument("--version", help="engine version, one with flags data in rules/")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=250)
    parser.add_argument("--pairs", type=int, default=10, help="(GPU, FlashInfer) pairs in the batch")
    parser.add_argument("--mode", action="append", choices=MODES, help="draw only in this way; repeatable")
    parser.add_argument("--gpu", action="append", default=[], help="draw only these; repeatable")
    parser.add_argument("--write-models", type=Path, metavar="DIR", help="write its configs there")
    given = parser.parse_args()
    if given.write_models:
        Models().write(given.write_models)
    if given.version:
        maker = Maker(given.engine, given.version, given.seed, given.mode or MODES)
        maker.draw_pairs(given.pairs, given.gpu)
        for number in range(1, given.count + 1):
            sys.stdout.write(json.dumps(maker.case(number)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
