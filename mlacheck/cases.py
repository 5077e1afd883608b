"""Checks cases, one JSON object a line, as they come."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mlacheck.frozen import field, frozen, record, replace
from mlacheck.launch.command import LaunchCommand, Source, Word
from mlacheck.launch.programs import SERVERS, with_model_flag
from mlacheck.models import Models
from mlacheck.probes.engine import ENGINES
from mlacheck.probes.target import TargetFlags
from mlacheck.probes.version import parse_version
from mlacheck.session import Session
from mlacheck.similar import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mlacheck.finding import Report

_KINDS: Final = {
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}
_TEXTS: Final = ("engine", "engine_version", "model", "gpu", "flashinfer")
_TARGET: Final = frozenset({"engine_version", "gpu", "flashinfer"})
_KEYS: Final = frozenset((*_TEXTS, "id", "args", "env", "gpu_count", "nodes", "packages"))


@frozen
class CaseProblem:
    """A line that is no case."""

    line: int
    message: str
    id: object = None


@record
class Cases:
    """Keeps one session for each kind of target, so that thousands of cases share what they can."""

    remedies: bool = False
    extra_rules: tuple[Path, ...] = ()
    _sessions: dict[tuple[Any, ...], Session] = field(default_factory=dict)
    models: Models = field(default_factory=Models)

    def check(self, lines: Iterable[str]) -> Iterator[Report | CaseProblem]:
        """Yield a report (or what is wrong with the line) for every non-empty line, in order."""
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield self._line(number, line)

    def _line(self, number: int, line: str) -> Report | CaseProblem:
        try:
            case = json.loads(line)
        except (ValueError, RecursionError) as error:
            return CaseProblem(number, f"is not JSON: {error}; give one JSON object a line")
        if not isinstance(case, dict):
            return CaseProblem(number, f"is {_KINDS[type(case)]}; give one JSON object a line")
        wrong = _wrong(case)
        if wrong is not None:
            return CaseProblem(number, wrong, case.get("id"))
        command = _command(case)
        if isinstance(command, str):
            return CaseProblem(number, command, case.get("id"))
        report = self.report(case, replace(command, source=Source(line=number)))
        # A target that nobody knows is a mistake in the case, not a line that is hard to judge.
        bad = next((one for one in report.problems if one.kind in _TARGET), None)
        return report if bad is None else CaseProblem(number, f"{bad.message}; {bad.hint}", case.get("id"))

    def report(self, case: dict[str, Any], command: LaunchCommand | None = None) -> Report:
        """Check one well-formed case, whose args are a list unless its command is given."""
        env = case.get("env") or {}
        flags = TargetFlags(
            engine_version=case.get("engine_version"),
            flashinfer=_said(case, "flashinfer"),
            gpu=_said(case, "gpu"),
            gpu_count=case.get("gpu_count"),
            nodes=case.get("nodes"),
            packages=tuple(sorted((case.get("packages") or {}).items())),
        )
        model = case.get("model")
        beside = model is not None or "model" not in case
        key = (flags, model, beside, tuple(sorted(env.items())))
        session = self._sessions.get(key)
        if session is None:
            session = Session(
                flags,
                model=model,
                env=env,
                remedies=self.remedies,
                extra_rules=self.extra_rules,
                model_beside=beside,
                models=self.models,
            )
            self._sessions[key] = session
        command = command or _from_words(case["args"], case.get("engine") or ENGINES[0])
        if not command.names_config:
            return session.check(command, id_=case.get("id"))
        from mlacheck.launch.command import LaunchResult  # few cases have a config file
        from mlacheck.launch.file.config import with_configs  # same

        result = with_configs(LaunchResult((command,), ()), Path())
        return session.check(result.commands[0], result.problems, id_=case.get("id"))


def _from_words(words: Sequence[str], engine: str) -> LaunchCommand:
    text = " ".join(words)
    if list(words[:1]) == ["-m"]:
        return LaunchCommand(engine, words[1], tuple(Word(text=word) for word in words[2:]), text=text)
    if list(words[:1]) != ["serve"]:
        return LaunchCommand(engine, "flags", tuple(Word(text=word) for word in words), text=text)
    entry = next(one.entry for one in SERVERS.values() if one.engine == engine)
    argv = with_model_flag(entry, [Word(text=word) for word in words[1:]])
    return LaunchCommand(engine, entry, tuple(argv), text=text)


def _command(case: dict[str, Any]) -> LaunchCommand | str:
    """Give the command of a case, or what is wrong with it."""
    args, engine = case["args"], case.get("engine") or ENGINES[0]
    if not isinstance(args, str):
        return _from_words(args, engine)
    if not args.strip():
        return _from_words((), engine)
    from mlacheck.launch import parse_text  # shell text is the exception in cases

    result = parse_text(args, default_engine=engine)
    wrong = next((problem for problem in result.problems if problem.level == "error"), None)
    if wrong is not None:
        return f"args: {wrong.message}"
    if len(result.commands) != 1:
        return f"args hold {len(result.commands)} launch commands; a case has one"
    if result.commands[0].engine != engine:
        return f"args start {result.commands[0].engine}, not {engine}"
    return result.commands[0]


def _said(case: dict[str, Any], key: str) -> str | None:
    """Give a case's value: null says absent, a missing key unknown, `pin` what the version pins."""
    value = case.get(key, "unknown")
    return "none" if value is None else None if value == "pin" else value


def _misspelt(case: dict[str, Any]) -> str | None:
    """Name a key that stands for one that the case lacks; what else a case carries is its own affair."""
    for key in case.keys() - _KEYS:
        plain = str(key).lower().replace("-", "_")
        missing = [name for name in _KEYS if name not in case]
        close = [plain] if plain in missing else closest(plain, missing, 1, 0.8)
        if close:
            return f"{key} is no key of a case; did you mean {close[0]}?"
    return None


def _wrong(case: dict[str, Any]) -> str | None:
    misspelt = _misspelt(case)
    if misspelt is not None:
        return misspelt
    for key in _TEXTS:
        if not isinstance(case.get(key), str | None):
            return f"{key} is {case[key]!r}; give a string, or null where there is none"
    if (case.get("engine") or ENGINES[0]) not in ENGINES:
        return f"engine {case['engine']!r} is not known; there are {' and '.join(ENGINES)}"
    args = case.get("args")
    if not isinstance(args, str) and not (isinstance(args, list) and all(isinstance(a, str) for a in args)):
        given = f"is {args!r}" if "args" in case else "is missing"
        return f"args {given}; give a list of words, or one string as a shell reads it"
    env = case.get("env", {})
    if env is not None and not (isinstance(env, dict) and all(isinstance(v, str) for v in env.values())):
        return f"env is {env!r}; give an object of strings"
    packages = case.get("packages", {})
    if packages is not None and not (
        isinstance(packages, dict) and all(isinstance(v, str | None) for v in packages.values())
    ):
        return f"packages is {packages!r}; give an object of versions, null for what is not installed"
    for name, version in (packages or {}).items():
        if version is not None and parse_version(version) is None:
            return f"packages: {name} is {version!r}, which is no version; write a release such as 1.2.3"
    for key, least in (("gpu_count", 0), ("nodes", 1)):
        value = case.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            return f"{key} is {value!r}; give a whole number from {least}"
    return None
