"""Launch commands and what is wrong with the text they came from, as plain values."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


@frozen
class Word:
    """One word of an argv; what the text leaves open stays verbatim and is named in `unknown`."""

    text: str
    line: int = 1
    column: int = 1
    unknown: tuple[str, ...] = ()
    # May become no word or several when the shell runs it: `$EXTRA` unquoted, or "$@".
    splits: bool = False
    # Spelling in the source, for the corrected line; "" means that quoting `text` gives it.
    raw: str = ""
    # A flag that the entry point itself puts before its positional model; never written back.
    implied: bool = False


@frozen
class Source:
    """Where a command starts."""

    file: str | None = None
    line: int = 1
    column: int = 1


@frozen
class Wrapper:
    """A shell that runs the command from a string (`bash -c "..."`), outermost first in a command."""

    prefix: tuple[str, ...]
    suffix: tuple[str, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    # Expansions, verbatim, that the outer shell makes inside the string: they must stay live.
    live: tuple[str, ...] = ()


@frozen
class LaunchCommand:
    """One engine launch: its argv, its environment, and what is needed to write the line again."""

    engine: str
    entry: str
    words: tuple[Word, ...]
    prefix: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    text: str = ""
    source: Source = Source()
    # Environment variables that are set to something the text does not settle; never also in `env`.
    unknown_env: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Redirections, pipe and `&` after the argv, verbatim.
    suffix: tuple[str, ...] = ()
    # Statements before the command that set variables for it, verbatim words each.
    setup: tuple[tuple[str, ...], ...] = ()
    wrappers: tuple[Wrapper, ...] = ()
    # Index in `prefix` of the container image, None outside `docker run`.
    image_at: int | None = None

    @property
    def argv(self) -> tuple[str, ...]:
        """The words as the engine's parser gets them."""
        return tuple(word.text for word in self.words)

    @property
    def unknown(self) -> dict[int, tuple[str, ...]]:
        """Unresolved names by index in `argv`, as `Grammar.parse` takes them."""
        return {index: word.unknown for index, word in enumerate(self.words) if word.unknown}


@frozen
class LaunchProblem:
    """What is wrong with a launch text, where, and the next step."""

    kind: str
    message: str
    hint: str
    line: int = 1
    column: int = 1
    level: str = "error"


@frozen
class LaunchResult:
    """The launch commands of a text, and the problems found on the way."""

    commands: tuple[LaunchCommand, ...] = ()
    problems: tuple[LaunchProblem, ...] = ()
