"""What a command line says, as plain values."""

from __future__ import annotations

from mlacheck.frozen import frozen


@frozen
class Option:
    """One option of an engine's parser."""

    dest: str
    flags: tuple[str, ...]
    action: str = "store"
    type: str | None = None
    choices: tuple[object, ...] = ()
    nargs: str | int | None = None
    const: object = None
    required: bool = False
    message: str | None = None  # what a retired option says when it is used

    @property
    def flag(self) -> str:
        """The spelling to write it with."""
        return self.flags[0]

    @property
    def takes_value(self) -> bool:
        """Tell whether words after the flag belong to it."""
        return self.nargs != 0

    @property
    def switch(self) -> object:
        """The value that the bare flag stores; None for an option with a value."""
        if self.takes_value:
            return None
        return self.const if self.action == "store_const" else self.action != "store_false"

    @property
    def off(self) -> str | None:
        """The flag that stores the opposite of a switch."""
        return next((flag for flag in self.flags if flag.startswith("--no-")), None)

    @property
    def name(self) -> str:
        """The name that argparse uses in its messages."""
        return "/".join(self.flags)


@frozen
class Given:
    """An option that the line gives: its spelling, and the words of each occurrence as [start, end)."""

    flag: str
    spans: tuple[tuple[int, int], ...]

    @property
    def index(self) -> int:
        """The word of the occurrence that counts, the last."""
        return self.spans[-1][0]


@frozen
class ArgumentProblem:
    """Why the engine's parser refuses a line, and the text with which it does."""

    kind: str
    index: int | None
    token: str
    dest: str | None
    message: str
    engine_message: str
    suggestions: tuple[str, ...] = ()
    note: str = ""


@frozen
class Arguments:
    """Every argument's value (the engine's default when not given), what was given, and what is wrong."""

    values: dict[str, object]
    given: dict[str, Given]
    problems: tuple[ArgumentProblem, ...] = ()
