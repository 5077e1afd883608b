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
    nargs: str | int | None = None  # None: one value; 0: none; "?", "*", "+"
    const: object = None
    required: bool = False
    hidden: bool = False
    deprecated: str | None = None  # what replaces it ("" when nothing does); it still works
    message: str | None = None  # what a retired option says when it is used
    negative: tuple[str, ...] = ()  # the flags of a boolean_optional that switch it off

    @property
    def flag(self) -> str:
        """The spelling to write it with."""
        return self.flags[0]

    @property
    def kind(self) -> str:
        """Tell how it is written: `switch`, `value` (one word after it) or `multi` (any number of words)."""
        if not self.takes_value:
            return "switch"
        return "value" if self.nargs in (None, "?") else "multi"

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
        return self.negative[0] if self.negative else None

    @property
    def name(self) -> str:
        """The name that argparse uses in its messages."""
        return "/".join(self.flags)


@frozen
class Given:
    """An option that the line gives: its last spelling, and the words of every occurrence as [start, end)."""

    flag: str
    spans: tuple[tuple[int, int], ...]
    canonical: str = ""

    @property
    def index(self) -> int:
        """The word of the occurrence that counts, the last."""
        return self.spans[-1][0]

    @property
    def end(self) -> int:
        """The index after the last word of that occurrence."""
        return self.spans[-1][1]


@frozen
class ArgumentProblem:
    """Why the engine's parser refuses a line, and the text with which it does.

    Kinds: unknown-flag, ambiguous-flag, invalid-choice, invalid-value, missing-value, unexpected-value,
    retired-flag, missing-required, unexpected-argument, help (the engine prints its help and ends).
    """

    kind: str
    index: int | None
    token: str
    dest: str | None
    message: str
    engine_message: str
    suggestions: tuple[str, ...] = ()
    note: str = ""
    flag: str | None = None
    # The parser lets it through, and what reads the argument later refuses it.
    late: bool = False
    value: object = None  # what it lets through


@frozen
class Arguments:
    """Every argument's value (the engine's default when not given), what was given, and what is wrong.

    The first problem is the one that the engine itself shows, the others those that it would show next.
    """

    values: dict[str, object]
    given: dict[str, Given]
    problems: tuple[ArgumentProblem, ...] = ()
