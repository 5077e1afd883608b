"""Reads a log line by line: errors that rules know, versions, launch lines and printed arguments."""

from __future__ import annotations

import ast
import re
from collections import deque
from typing import TYPE_CHECKING, Final

from mlacheck.diagnosis.phrases import flat, phrases, places_of, words_of
from mlacheck.diagnosis.signs import signs
from mlacheck.frozen import frozen, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mlacheck.diagnosis.phrases import Candidate, Phrases
    from mlacheck.diagnosis.signs import Advice

# A message may be broken over a few lines; a longer line than this holds no message that rules know.
_WINDOW: Final = 4
_LONGEST: Final = 20_000
_MOST_LAUNCHES: Final = 4
_MOST_STRANGE: Final = 5
_DEEPEST: Final = 60
_FRAME: Final = re.compile(r'File "(?P<file>[^"]+)", line \d+, in (?P<function>\S+)')
_PACKAGE: Final = re.compile(r"\s*Name:\s*(\S+)\s*")
_RAISED: Final = re.compile(r"\b(?P<type>[A-Z]\w*(?:Error|Exception)|Exception)\b(?::|$)")
_OBJECT: Final = re.compile(r"<[^<>]*>")
# What pydantic says of a key or a value that no validator of the engine's refuses, and of which config.
_FIELD: Final = re.compile(r"\b(?:Unexpected keyword argument|Input should be (?:'|a valid))")
_CONFIG: Final = re.compile(r"^(?!.*error: argument).*\b\d+ validation errors? for \w+Config\b")
_CONFIG_FILE: Final = re.compile(r"\bConfig file must be |\bconfig files? specified!")
_PARSER: Final = (
    ("unknown-flag", re.compile(r"error: unrecognized arguments:\s*(?P<token>\S*)")),
    ("ambiguous-flag", re.compile(r"error: ambiguous option: (?P<token>\S+) could match")),
    ("invalid-choice", re.compile(r"error: argument (?P<flag>\S+): invalid choice: '?(?P<token>[^'\s]*)")),
    ("invalid-value", re.compile(r"error: argument (?P<flag>[^\s/:]+)\S*: \d+ validation error")),
    ("invalid-value", re.compile(r"error: argument (?P<flag>[^\s/:]+)\S*: Value (?P<token>\S+) cannot be")),
    ("invalid-value", re.compile(r"error: argument (?P<flag>[^\s/:]+)\S*: Decimals are not allowed")),
    ("invalid-value", re.compile(r"error: argument (?P<flag>[^\s/:]+)\S*: (?P<token>\S+) was removed\b")),
    ("missing-value", re.compile(r"error: argument (?P<flag>\S+): expected (?:one|at least one) argument")),
    ("invalid-value", re.compile(r"error: argument (?P<flag>\S+): invalid \S+ value: '?(?P<token>[^'\s]*)")),
    ("unexpected-argument", re.compile(r"error: argument (?P<flag>\S+): ignored explicit argument")),
    ("missing-required", re.compile(r"error: the following arguments are required: (?P<flag>\S+)")),
)


@frozen
class Sighting:
    """An error in the log, and the rules that it may come from."""

    line: int
    text: str
    candidates: tuple[Candidate, ...] = ()
    parser: str | None = None  # the kind of refusal when it is the argument parser's
    flag: str | None = None
    token: str = ""
    place: str | None = None  # file::function that raised it
    advice: Advice | None = None


@frozen
class Strange:
    """An exception that no rule knows, and the rules that are about the place that raised it."""

    line: int
    text: str
    place: str | None
    near: tuple[str, ...] = ()


def read_log(lines: Iterable[str], engines: Sequence[str]) -> Log:
    """Read a log as that of the engine whose signs it has; where it has none, it is of any, the first say."""
    logs = [Log(engine) for engine in engines]
    for line in lines:
        for log in logs:
            log.read([line])
    log = max(logs, key=lambda log: log.likely)
    log.told = len(engines) == 1 or any(log.likely)
    return log


class Log:
    """What a log holds, read as one engine's."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.signs = signs(engine)
        self.told = True  # whose log it is
        self.mentions = 0
        self.known: Phrases = phrases(engine)
        self.versions: dict[str, None] = {}  # that the server names
        self.beside: dict[str, None] = {}  # that packages, paths and images name
        self._package: re.Match[str] | None = None  # the line before, where the next one says its version
        self.launches: list[str] = []
        self.arguments: dict[str, object] | None = None
        self.sightings: dict[str, Sighting] = {}
        self.counts: dict[str, int] = {}
        self.strange: dict[str, Strange] = {}  # by text: every rank says the same
        self.lines = 0
        self._window: deque[str] = deque(maxlen=_WINDOW)
        self._waiting: list[
            tuple[str, int]
        ] = []  # phrases of which only a word was seen, and until which line
        self._frame: tuple[str, str] | None = None
        self._trail: deque[str] = deque(maxlen=_DEEPEST)  # the frames of the traceback
        self._code_line = False
        self._column = 0  # where the frame began

    @property
    def likely(self) -> tuple[int, int, int]:
        """Say how much speaks for this engine: its launch lines and arguments, its name, its errors."""
        certain = len(self.launches) + (self.arguments is not None)
        return certain, self.mentions, len(self.sightings)

    def read(self, lines: Iterable[str]) -> None:
        """Read all lines; only a few are ever held."""
        for line in lines:
            self.lines += 1
            self._line(line.rstrip("\r\n"))

    def _line(self, line: str) -> None:
        arguments = self.signs.arguments.search(line)
        if arguments:
            self._read_arguments(line[arguments.end() :])
            return
        line = line[:_LONGEST]
        match = self._version(line)
        if match or self.engine in line.lower():
            self.mentions += 1
            if self.signs.launch.search(line) and len(self.launches) < _MOST_LAUNCHES and "File " not in line:
                self.launches.append(line)
        frame = _FRAME.search(line)
        if frame:
            self._frame = (frame["file"], frame["function"])
            self._trail.append(f"{frame['file']}::{frame['function']}")
            self._code_line, self._column = True, frame.start()
            return
        if (self._code_line and self._quotes(line)) or not line.strip(" ^~"):
            self._code_line = False  # the source line under a frame quotes the message, it does not say it
            return
        self._code_line = False
        self._window.append(line)
        if not self._parser(line):
            self._match(line)

    def _version(self, line: str) -> bool:
        """Note the version that a line names: the server's own word counts more than another's."""
        package, self._package = self._package, _PACKAGE.fullmatch(line)
        line = f"{package[1]} {line}" if package else line
        for patterns, versions in ((self.signs.version, self.versions), (self.signs.named, self.beside)):
            match = next(filter(None, (one.search(line) for one in patterns)), None)
            if match:
                versions[match[1]] = None
                return True
        return False

    def _quotes(self, line: str) -> bool:
        """Tell a frame's source line from what was raised: source stands deeper than the frame."""
        deeper = line[self._column : self._column + 2].isspace()
        return deeper or not _RAISED.search(line)

    def _parser(self, line: str) -> bool:
        if _FIELD.search(line) and any(map(_CONFIG.search, self._window)):
            self._add(Sighting(self.lines, line.strip(), parser="invalid-value"))
            return True
        if _CONFIG_FILE.search(line):
            self._add(Sighting(self.lines, line.strip(), parser="config-refused"))
            return True
        if "error: " not in line:
            return False
        for kind, pattern in _PARSER:
            match = pattern.search(line)
            if match:
                found = match.groupdict()
                flag = (found.get("flag") or "").split("/")[0] or None
                self._add(
                    Sighting(
                        self.lines, line.strip(), parser=kind, flag=flag, token=(found.get("token") or "")
                    )
                )
                return True
        return False

    def _match(self, line: str) -> None:
        asked = dict.fromkeys(self.known.keyed_in(line))
        if self._waiting:
            self._waiting = [(text, until) for text, until in self._waiting if until >= self.lines]
            asked.update(dict.fromkeys(text for text, _ in self._waiting))
        found, here, near = [], "", ""
        if asked:
            here, near = flat(line), flat(" ".join(self._window))
            found = [text for text in asked if text in here] or [text for text in asked if text in near]
            # A phrase may go on in the next line only when this one ends inside it.
            last = here.rpartition(" ")[2]
            for text in asked:
                if text not in found and last in text and all(text != one for one, _ in self._waiting):
                    self._waiting.append((text, self.lines + _WINDOW - 1))
        # What is part of another phrase that was found says less than that one.
        found = [text for text in found if not any(text != other and text in other for other in found)]
        self._waiting = [(text, until) for text, until in self._waiting if text not in found]
        if found:
            candidates = tuple(one for text in found for one in self.known.rules[text])
            told = here if any(text in here for text in found) else near
            self._window.clear()
            self._add(self._narrowed(Sighting(self.lines, told, candidates)))
        elif any(one.says.search(line) for one in self.signs.advice):
            self._add(Sighting(self.lines, flat(line), place=self._place()))
            self._frame = None
        elif _RAISED.search(line) and self._frame is not None:
            self._raised(line)

    def _raised(self, line: str) -> None:
        """Recognise a bare assertion by the place that it stands in."""
        said = line.rpartition(":")[2].strip() if ":" in line else ""
        file, function = self._frame or ("", "")
        candidates = tuple(
            one
            for (known, symbol), rules in self.known.places.items()
            if symbol == function and file.endswith(known)
            for one in rules
            if not words_of(one.step)
        )
        if candidates and (not said or said.endswith("AssertionError")):
            self._add(Sighting(self.lines, flat(line), candidates, place=self._place()))
        elif len(self.strange) < _MOST_STRANGE:
            near = tuple(
                dict.fromkeys(
                    one.step.id or one.step.slug
                    for (known, symbol), rules in self.known.places.items()
                    if known and symbol == function and file.endswith(known)
                    for one in rules
                )
            )
            text = flat(line)
            self.strange.setdefault(text, Strange(self.lines, text, self._place(), near))
        self._frame = None

    def _narrowed(self, sighting: Sighting) -> Sighting:
        """Keep the rules of the place that raised the message, where that is known of any."""
        if self._frame is None:
            return sighting
        file, function = self._frame
        same = [one for one in sighting.candidates if _at(one, file, function)]
        self_place, self._frame = self._place(), None
        return Sighting(sighting.line, sighting.text, tuple(same) or sighting.candidates, place=self_place)

    def _place(self) -> str | None:
        if self._frame is None:
            return None
        file, function = self._frame
        return f"{file.rpartition(f'/{self.engine}/')[2]}::{function}"

    def _add(self, sighting: Sighting) -> None:
        advice = self._advice(sighting.text)
        self._trail.clear()
        # Every rank says the same; only its prefix differs.
        key = f"{sighting.parser} {sighting.flag} {sighting.token} {advice and advice.title} " + " ".join(
            sorted({one.step.id or "" for one in sighting.candidates})
        )
        sighting = replace(sighting, advice=advice)
        self.sightings.setdefault(key, sighting)
        self.counts[key] = self.counts.get(key, 0) + 1

    def _advice(self, text: str) -> Advice | None:
        fit = (one for one in self.signs.advice if one.says.search(text))
        return next((one for one in fit if not one.at or any(map(one.at.search, self._trail))), None)

    def _read_arguments(self, text: str) -> None:
        if self.arguments is not None:
            return
        text = text[: max(text.rfind(")"), text.rfind("}")) + 1]
        tree = _expression(text) or _expression(_OBJECT.sub("None", text))
        pairs: list[tuple[object, ast.expr]] = []
        if isinstance(tree, ast.Call):
            pairs = [(keyword.arg, keyword.value) for keyword in tree.keywords]
        elif isinstance(tree, ast.Dict):
            pairs = [
                (key.value, value)
                for key, value in zip(tree.keys, tree.values, strict=True)
                if isinstance(key, ast.Constant)
            ]
        if pairs:
            self.arguments = {str(name): _literal(node) for name, node in pairs}


def _expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _literal(node: ast.expr) -> object:
    """Give a literal's value, None for an object's own repr."""
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
    return value


def _at(candidate: Candidate, file: str, function: str) -> bool:
    return any(
        known and file.endswith(known) and symbol in {"", function}
        for known, symbol in places_of(candidate.step)
    )
