"""The command-line grammar of one engine version, fed from its extracted options.

It follows argparse word for word (prefixes, `--a=b`, values that look like flags, the order of its errors),
which the tests hold it to on random lines. argparse itself stops at the first error, loses where words stood,
and takes ten times as long.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from mlacheck.data import load_json
from mlacheck.engines.arguments import ArgumentProblem, Arguments, Given, Option
from mlacheck.engines.converter import CONVERTERS, ConversionError
from mlacheck.facts import UNKNOWN
from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NEGATIVE: Final = re.compile(r"-\d+$|-\d*\.\d+$")
_SUPPRESSED: Final = "==SUPPRESS=="
_NOTHING: Final[dict[int, tuple[str, ...]]] = {}


class Grammar:
    """Parses command lines as one engine version does."""

    def __init__(self, engine: str, version: str, rows: Sequence[Mapping[str, Any]]) -> None:
        self.engine, self.version = engine, version
        self.options: dict[str, Option] = {}
        self.flags: dict[str, Option] = {}  # in the parser's own order, which its messages follow
        self.defaults: dict[str, object] = {}
        for row in rows:
            option = _option(row)
            self.options.setdefault(option.dest, option)
            for flag in option.flags:
                self.flags[flag] = option
            if option.action == "help":
                continue
            default = row.get("default")
            if not row.get("suppress") and default != _SUPPRESSED:
                self.defaults[option.dest] = default
        self.required = [option for option in self.options.values() if option.required]

    @staticmethod
    @cache
    def load(engine: str, version: str) -> Grammar:
        """Load a recorded version's grammar."""
        data = cast("dict[str, Any]", load_json(engine, "flags", f"{version}.json"))
        return Grammar(engine, version, data["options"])

    def option(self, dest: str) -> Option:
        """Give the option behind an argument."""
        return self.options[dest]

    def parse(self, words: Sequence[str], unknown: Mapping[int, tuple[str, ...]] = _NOTHING) -> Arguments:
        """Parse an argv; `unknown` names, by index, the unresolved variables in a word."""
        return _Parse(self, words, unknown).arguments()


def _option(row: Mapping[str, Any]) -> Option:
    return Option(
        dest=row["dest"],
        flags=tuple(row["flags"]),
        action=row.get("action", "store"),
        type=row.get("type"),
        choices=tuple(row.get("choices") or ()),
        nargs=row.get("nargs"),
        const=row.get("const"),
        required=bool(row.get("required")),
        message=row.get("message"),
    )


@frozen
class _Flag:
    """A word read as a flag: what it stands for, and the value after its `=`."""

    option: Option | None = None
    explicit: str | None = None
    matches: Sequence[str] = ()


class _Parse:
    """One pass over one argv."""

    def __init__(
        self, grammar: Grammar, words: Sequence[str], unknown: Mapping[int, tuple[str, ...]]
    ) -> None:
        self.grammar, self.words, self.unknown = grammar, words, unknown
        self.values = grammar.defaults.copy()
        self.given: dict[str, Given] = {}
        self.problems: list[ArgumentProblem] = []
        self.ambiguous: list[ArgumentProblem] = []
        self.extras: list[int] = []
        self.foreign: set[int] = set()  # extras that read as flags

    def arguments(self) -> Arguments:
        words = self.words
        index = 0
        only_values = False
        while index < len(words):
            if only_values:
                self.extras.append(index)
                index += 1
                continue
            if words[index] == "--":
                # No engine has positional arguments that it could introduce.
                only_values = True
                self.extras.append(index)
                index += 1
                continue
            flag = self._flag(index)
            if flag is None or flag.option is None:
                if flag is not None and flag.matches:
                    self.ambiguous.append(self._ambiguity(index, words[index], flag.matches))
                else:
                    self.extras.append(index)
                    if flag is not None:
                        self.foreign.add(index)
                index += 1
                continue
            index = self._take(flag.option, index, flag.explicit)
        self._missing()
        self._unrecognized()
        problems = (*self.ambiguous, *self.problems)
        if problems:
            from mlacheck.engines.spelling import suggest  # only for a line that is refused

            problems = tuple(suggest(problem, self.grammar) for problem in problems)
        return Arguments(self.values, self.given, problems)

    def _flag(self, index: int) -> _Flag | None:
        """Read a word as a flag: its option, none that this version has, or several; None for a value."""
        word, flags = self.words[index], self.grammar.flags
        if word[:1] != "-":
            return None
        option = flags.get(word)
        if option is not None:
            return _Flag(option)
        if len(word) == 1:
            return None
        name, equals, value = word.partition("=")
        if equals and name in flags:
            return _Flag(flags[name], value)
        if index in self.unknown and "$" in name:
            return _Flag()
        if word.startswith("--"):
            matches = [flag for flag in flags if flag.startswith(name)]
            explicit = value if equals else None
        else:
            # `-hfoo`: a one-letter flag with its value, or more one-letter flags, run together.
            matches = [flag for flag in flags if flag == word[:2] or flag.startswith(word)]
            explicit = word[2:] if matches[:1] == [word[:2]] else None
        if matches:
            return _Flag(flags[matches[0]], explicit) if len(matches) == 1 else _Flag(matches=matches)
        return None if _NEGATIVE.match(word) or " " in word else _Flag()

    def _ambiguity(self, index: int, word: str, matches: Sequence[str]) -> ArgumentProblem:
        shown = ", ".join(matches)
        return ArgumentProblem(
            "ambiguous-flag",
            index,
            word,
            None,
            f"{word} is short for several flags: {shown}",
            f"ambiguous option: {word} could match {shown}",
            tuple(matches[:4]),
        )

    def _take(self, option: Option, index: int, explicit: str | None) -> int:
        """Take an option and its values; give the index after them."""
        flag = self.words[index].partition("=")[0] if explicit is not None else self.words[index]
        if option.nargs == 0:
            end = index + 1
            if explicit is not None:
                text = f"ignored explicit argument {explicit!r}"
                self._refuse("unexpected-value", option, index, f"{option.flag} takes no value", text)
            elif option.message is not None:
                problem = ArgumentProblem(
                    "retired-flag",
                    index,
                    flag,
                    option.dest,
                    f"{flag} is retired: {option.message}",
                    option.message,
                )
                self.problems.append(problem)
            else:
                self.values[option.dest] = self._stored(option, flag)
            self._note(option, flag, index, end)
            return end
        taken, end = self._collect(option, index, explicit)
        self._note(option, flag, index, end)
        if isinstance(taken, str):
            self._refuse("missing-value", option, index, f"{option.flag} needs a value", taken)
            return end
        positions, texts = taken
        self._store(option, positions, texts)
        return end

    @staticmethod
    def _stored(option: Option, flag: str) -> object:
        if option.action == "boolean_optional":
            return not flag.startswith("--no-")
        return option.switch

    def _collect(
        self, option: Option, index: int, explicit: str | None
    ) -> tuple[str | tuple[list[int], list[str]], int]:
        """Give an option's values with their words, or argparse's complaint, and the index after them."""
        if explicit is not None:
            return ([index], [explicit]), index + 1
        nargs = option.nargs
        limit = len(self.words)
        if nargs in (None, "?"):
            limit = min(limit, index + 2)
        elif isinstance(nargs, int):
            limit = min(limit, index + 1 + nargs)
        end = index + 1
        while end < limit and self._is_value(end):
            end += 1
        taken = list(range(index + 1, end))
        if nargs is None and not taken:
            return "expected one argument", end
        if nargs == "+" and not taken:
            return "expected at least one argument", end
        if isinstance(nargs, int) and len(taken) != nargs:
            return f"expected {nargs} argument{'s' if nargs != 1 else ''}", end
        return (taken, [self.words[at] for at in taken]), end

    def _is_value(self, index: int) -> bool:
        return self.words[index] != "--" and self._flag(index) is None

    def _store(self, option: Option, positions: list[int], texts: list[str]) -> None:
        if any(position in self.unknown for position in positions):
            self.values[option.dest] = UNKNOWN
            return
        values = []
        for position, text in zip(positions, texts, strict=True):
            try:
                value = self._convert(option, text)
            except ConversionError as error:
                self._refuse("invalid-value", option, position, f"{option.flag} {text}: {error}", str(error))
                return
            except (ValueError, TypeError, RecursionError):
                kind = option.type or "str"
                words = f"{option.flag} needs {_article(kind)}, not {text!r}"
                self._refuse("invalid-value", option, position, words, f"invalid {kind} value: {text!r}")
                return
            if option.choices and value not in option.choices:
                shown = ", ".join(map(repr, option.choices))
                words = f"{option.flag} has no choice {text!r}"
                said = f"invalid choice: {value!r} (choose from {shown})"
                self._refuse("invalid-choice", option, position, words, said)
                return
            values.append(value)
        if option.nargs is None:
            self._keep(option, values[0])
        elif option.nargs == "?":
            self._keep(option, values[0] if values else option.const)
        else:
            self._keep(option, values)

    def _keep(self, option: Option, value: object) -> None:
        if option.action == "append":
            earlier = self.values.get(option.dest)
            self.values[option.dest] = [*(earlier if isinstance(earlier, list) else ()), value]
        else:
            self.values[option.dest] = value

    @staticmethod
    def _convert(option: Option, text: str) -> object:
        converter = CONVERTERS.get(option.type or "")
        return text if converter is None else converter(text)

    def _note(self, option: Option, flag: str, start: int, end: int) -> None:
        earlier = self.given.get(option.dest)
        spans = (*earlier.spans, (start, end)) if earlier else ((start, end),)
        self.given[option.dest] = Given(flag, spans)

    def _refuse(self, kind: str, option: Option, index: int, message: str, said: str) -> None:
        word = self.words[index] if index < len(self.words) else ""
        said = f"argument {option.name}: {said}"
        self.problems.append(ArgumentProblem(kind, index, word, option.dest, message, said))

    def _missing(self) -> None:
        missing = [option for option in self.grammar.required if option.dest not in self.given]
        if missing:
            names = ", ".join(option.name for option in missing)
            said = f"the following arguments are required: {names}"
            message = f"{', '.join(option.flag for option in missing)} is required"
            self.problems.append(
                ArgumentProblem("missing-required", None, "", missing[0].dest, message, said)
            )

    def _unrecognized(self) -> None:
        if not self.extras:
            return
        known = [at for at in self.extras if at not in self.unknown]
        said = "unrecognized arguments: " + " ".join(self.words[at] for at in self.extras)
        flags = [at for at in known if at in self.foreign]
        for at in flags:
            word = self.words[at].partition("=")[0]
            message = f"{self.grammar.engine} {self.grammar.version} has no flag {word}"
            self.problems.append(ArgumentProblem("unknown-flag", at, word, None, message, said))
        # Words after an unknown flag are its values; on their own they are a mistake of their own.
        for at in known:
            if at not in flags and at - 1 not in self.extras:
                message = f"{self.words[at]!r} belongs to no flag"
                self.problems.append(
                    ArgumentProblem("unexpected-argument", at, self.words[at], None, message, said)
                )


def _article(kind: str) -> str:
    return {"int": "a whole number", "float": "a number"}.get(kind, f"a {kind} value")
