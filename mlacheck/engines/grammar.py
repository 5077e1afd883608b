"""The command-line grammar of one engine version, fed from its recorded options."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from mlacheck.data import load_json
from mlacheck.engines.arguments import Arguments, Option
from mlacheck.engines.converter import converters
from mlacheck.engines.parser import Parse, Positional
from mlacheck.probes.engine import entry_points

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mlacheck.engines.converter import Converter

_STORELESS: Final = ("help", "deprecated")


class Grammar:
    """Parses command lines as one engine version does."""

    def __init__(
        self,
        engine: str,
        version: str,
        rows: Sequence[Mapping[str, Any]],
        details: Mapping[str, Any] | None = None,
        rewrites: Sequence[str] = (),
        positional: Mapping[str, str] | None = None,
        addresses: Sequence[str] = (),
    ) -> None:
        self.engine, self.version = engine, version
        self.options: dict[str, Option] = {}  # by dest, as it is best written
        self.flags: dict[str, Option] = {}  # in the parser's own order, which its messages follow
        self.defaults: dict[str, object] = {}
        # Options that read exactly one word: dest, converter, choices, canonical flag.
        self.simple: dict[str, tuple[str, Converter | None, tuple[object, ...], str]] = {}
        self.switches: dict[str, tuple[str, object, str]] = {}  # dest, value, canonical flag
        self.converters = converters(details or {}, {row.get("type") or "str" for row in rows})
        self.rewrites = frozenset(rewrites)
        # The argument that a word of its own gives, wherever it stands, and what the parser calls that word.
        self.positional = positional["gives"] if positional else None
        self.positional_name = positional["name"] if positional else None
        # Arguments that are known where their host is open and their port is not.
        self.addresses = frozenset(addresses)
        self.required: list[Option] = []
        for row in rows:
            self._add(_option(row), row)

    def _add(self, option: Option, row: Mapping[str, Any]) -> None:
        earlier = self.options.get(option.dest)
        if earlier is None or _rank(option) < _rank(earlier):
            self.options[option.dest] = option
        if option.required:
            self.required.append(option)
        convert = self.converters.get(option.type or "str")
        for flag in option.flags:
            self.flags[flag] = option
            if option.action == "store" and option.nargs is None:
                self.simple[flag] = (option.dest, convert, option.choices, option.flag)
            elif option.kind == "switch" and not option.message and option.action not in _STORELESS:
                self.switches[flag] = (option.dest, stored(option, flag), option.flag)
        if option.action != "help" and not row.get("suppress"):
            self.defaults.setdefault(option.dest, row.get("default"))

    @staticmethod
    @cache
    def load(engine: str, version: str) -> Grammar:
        """Load a recorded version's grammar."""
        data = cast("dict[str, Any]", load_json(engine, "flags", f"{version}.json"))
        return Grammar(
            engine,
            version,
            data["options"],
            data.get("converters"),
            data.get("rewrites", ()),
            data.get("positional"),
            entry_points(engine)["addresses"],
        )

    def option(self, dest: str) -> Option:
        """Give the option behind an argument, the one to write it with where it has several."""
        return self.options[dest]

    def parse(
        self,
        words: Sequence[str],
        unknown: Mapping[int, tuple[str, ...]] | None = None,
        *,
        loose: Collection[int] = (),
        positional: bool = False,
    ) -> Arguments:
        """Parse an argv; `unknown` names, by index, the unresolved variables in a word.

        `loose` are those that may become any number of words; with `positional` a word of its own counts.
        """
        word = Positional(self.options[self.positional], loose) if positional and self.positional else None
        if not self.rewrites:
            return Parse(self, words, unknown or {}, word).arguments()
        from mlacheck.engines.rewrite import parse_rewritten  # only for engines that rewrite their words

        return parse_rewritten(self, words, unknown or {}, word)


def stored(option: Option, flag: str) -> object:
    """Give what a switch stores under one of its spellings."""
    if option.action == "boolean_optional":
        return flag not in option.negative
    return option.switch


def _rank(option: Option) -> tuple[bool, bool, bool, bool]:
    """Order the options of one dest: the ordinary one that takes the value itself comes first."""
    old = option.deprecated is not None or option.message is not None
    return old, option.hidden, option.action == "store_const", not option.takes_value


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
        hidden=bool(row.get("hidden")),
        deprecated=row.get("deprecated"),
        message=row.get("message"),
        negative=_negative(row),
    )


def _negative(row: Mapping[str, Any]) -> tuple[str, ...]:
    if row.get("action") != "boolean_optional":
        return ()
    return tuple(row.get("negative") or (flag for flag in row["flags"] if flag.startswith("--no-")))
