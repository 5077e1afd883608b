"""Launch commands and what is wrong with the text they came from, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.frozen import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


CONFIG: Final = "--config"
# Stands for words that are left out.
ELIDED: Final = frozenset({"...", "…"})


@frozen
class Word:
    """One word of an argv; what the text leaves open stays verbatim and is named in `unknown`.

    `start` and `end` are where its spelling stands in `Document.text`, quotes included: replacing these
    characters replaces the word. A word put together from several places, or by the reader, has none: -1.
    """

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
    start: int = -1
    end: int = -1
    # Variables that it came through; its place is then where they get it, and others may read that too.
    via: tuple[str, ...] = ()
    # How words are set apart where it stands: `shell` (blanks), `item` (a line of a YAML list), `flow`
    # (a list in brackets: YAML, JSON, TOML, Python, Dockerfile), `map` (key or value of a YAML mapping).
    style: str = "shell"
    # The first version of the engine for which it stands; "" for all.
    since: str = ""
    # Quotes around the text that it is a part of, outermost first: `single` and `double` are the shell's,
    # `yaml-plain`, `yaml-single`, `yaml-double`, `yaml-block`, `json`, `toml`, `python` the file's.
    within: tuple[str, ...] = ()
    # The file that line and column count in, where that is another one than the command's.
    file: str | None = None

    @property
    def editable(self) -> bool:
        """Tell whether the word stands in the text as this command's own: it can be edited in place."""
        return self.start >= 0 and not self.via and not self.unknown


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
    # The statement in `Document.text`: where words can be added is after its last word. -1 when generated.
    start: int = -1
    end: int = -1
    # What the file says of the machine: a node selector, a resource limit, a job's nodes.
    gpu: str | None = None
    gpu_count: int | None = None
    nodes: int | None = None
    # The branches that lead to this variant of the command; empty when the file has only one.
    variant: tuple[str, ...] = ()
    # Variables that the file gives a default for, and the default: `TP=8` for `${TP:-8}`.
    assumed: tuple[str, ...] = ()
    # The role, container or service that runs it, as the file names it.
    label: str = ""
    # The keys of its config file, in their order, where the engine refuses some of them.
    config_keys: tuple[Word, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        """The words as the engine's parser gets them."""
        return tuple(word.text for word in self.words)

    @property
    def place(self) -> tuple[int, int]:
        """Line and column that it is found by: of a string for a shell that starts further up, its words."""
        first = self.first
        if self.wrappers and first is not None and first.line > self.source.line:
            return first.line, first.column
        return self.source.line, self.source.column

    @property
    def first(self) -> Word | None:
        """The first of its own words, as opposed to those of another file."""
        return next((word for word in self.words if word.file is None), None)

    @property
    def names_config(self) -> bool:
        """Tell whether it names a config file, also in a way that engines do not read."""
        return any(word.text.partition("=")[0] == CONFIG for word in self.words)

    @property
    def loose(self) -> tuple[int, ...]:
        """The words that may stand for any number of words, by index."""
        return tuple(index for index, word in enumerate(self.words) if word.unknown and word.splits)

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
    # How the engine itself says so, where it refuses too.
    said: str = ""


@frozen
class Document:
    """The text that places count in: decoded, newlines as they stand, no byte order mark.

    `bom + text.encode(encoding)` gives the bytes of the file back.
    """

    text: str
    file: str | None = None
    encoding: str = "utf-8"
    bom: bytes = b""


@frozen
class LaunchResult:
    """The launch commands of a text, and the problems found on the way."""

    commands: tuple[LaunchCommand, ...] = ()
    problems: tuple[LaunchProblem, ...] = ()
    document: Document = Document("")
