"""One pass over one argv, as argparse makes it.

It follows argparse word for word (prefixes, `--a=b`, values that look like flags, order of errors), as in
Python 3.10 to 3.12.3, whatever Python runs this; the tests hold it to argparse on random lines. argparse
itself stops at the first error, loses where words stood, and takes many times as long.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from mlacheck.engines.arguments import ArgumentProblem, Arguments, Given, Option
from mlacheck.engines.conversion import ConversionError
from mlacheck.facts import UNKNOWN
from mlacheck.frozen import frozen
from mlacheck.pattern import lazy

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mlacheck.engines.grammar import Grammar

_NEGATIVE: Final = lazy(r"^-\d+$|^-\d*\.\d+$")
# What a word that is not an option's exact name may be: one option (its full name, the value after "="),
# several options, a flag that does not exist, or a value.
_Flag = tuple[Option, str, str | None]
_SEVERAL: Final = "several"
_FOREIGN: Final = "foreign"
_REFUSED: Final = object()
_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "human_readable_int": "a number",
    "loads": "JSON",
    "json_list_type": "JSON",
}
# What a shell or a template fills in, or a reader: an expansion, `{{ x }}`, `{x}`, `<x>`.
_FILLED: Final = lazy(r"\$?\{[^{}]*\}|\$\([^()]*\)|`[^`]*`|<[^<>]*>|\$\w+")


def has_port(text: str) -> bool:
    """Tell whether an address has a colon outside what is open: `$HEAD:5000` is one with any host."""
    count = 1
    while count:
        text, count = _FILLED.subn("", text)
    return ":" in text


@frozen
class Positional:
    """What the first word gives that belongs to no flag."""

    option: Option
    loose: Collection[int] = ()  # words that may become flags


class Parse:
    """Turns words into arguments, and goes on after an error as if the words at fault were not there."""

    def __init__(
        self,
        grammar: Grammar,
        words: Sequence[str],
        unknown: Mapping[int, tuple[str, ...]],
        positional: Positional | None = None,
    ) -> None:
        self.grammar, self.words, self.unknown, self.positional = grammar, words, unknown, positional
        self.values = grammar.defaults.copy()
        self.given: dict[str, Given] = {}
        self.seen: set[str] = set()  # canonical flags, as one dest can have several options
        self.problems: list[ArgumentProblem] = []
        self.ambiguous: list[ArgumentProblem] = []  # argparse finds these before it looks at anything else
        self.extras: list[int] = []

    def arguments(self) -> Arguments:
        """Read every word."""
        words, simple, switches = self.words, self.grammar.simple, self.grammar.switches
        values, unknown, given = self.values, self.unknown, self.given
        index, count = 0, len(words)
        while index < count:
            word = words[index]
            one = simple.get(word)
            if one is not None:
                at = index + 1
                # Anything but a plain value takes the long way.
                if at < count and words[at][:1] != "-" and at not in unknown:
                    dest, convert, choices, canonical = one
                    value: object = words[at]
                    try:
                        if convert is not None:
                            value = convert(words[at])
                    except (ConversionError, ValueError, TypeError, RecursionError):
                        value = _REFUSED
                    if value is not _REFUSED and (not choices or value in choices):
                        values[dest] = value
                        if dest in given:
                            self._note(self.grammar.flags[word], word, index, at + 1)
                        else:
                            given[dest] = Given(word, ((index, at + 1),), canonical)
                            self.seen.add(canonical)
                        index = at + 1
                        continue
                index = self._take(self.grammar.flags[word], word, None, index)
                continue
            switch = switches.get(word)
            if switch is not None:
                values[switch[0]] = switch[1]
                self._note(self.grammar.flags[word], word, index, index + 1)
                index += 1
                continue
            if word == "--":
                self.extras.extend(range(index, count))
                break
            index = self._unusual(index)
        return self._finish()

    def _unusual(self, index: int) -> int:
        """Take what is neither a plain option nor `--`; give the index after it."""
        word = self.words[index]
        found = self._classify(word, index)
        if found is None or found is _FOREIGN:
            self.extras.append(index)
            return index + 1
        if isinstance(found, str):
            self._refuse_ambiguous(index)
            return self._values_end(index + 1, None)
        option, flag, explicit = found
        if option.takes_value:
            spelled = word if explicit is None else word[: len(word) - len(explicit)].rstrip("=")
            return self._take(option, spelled, explicit, index)
        self._take_switch(option, flag, explicit, index)
        return index + 1

    def _classify(self, word: str, index: int) -> _Flag | str | None:
        if word[:1] != "-":
            return None
        flags = self.grammar.flags
        option = flags.get(word)
        if option is not None:
            return option, word, None
        if len(word) == 1:
            return None
        name, equals, value = word.partition("=")
        if equals and name in flags:
            return flags[name], name, value
        if index in self.unknown and "$" in name:
            return _FOREIGN
        if word[1] == "-":
            matches = self._matches(name)
            if len(matches) > 1:
                return _SEVERAL
            if matches:
                return flags[matches[0]], matches[0], value if equals else None
        else:
            # One dash: a letter with its value run on, or the beginning of a longer name.
            matches = self._matches(word)
            if len(matches) > 1:
                return _SEVERAL
            if matches:
                return (flags[matches[0]], matches[0], word[2:] if matches[0] == word[:2] else None)
        if _NEGATIVE.match(word) or " " in word:
            return None
        return _FOREIGN

    def _matches(self, prefix: str) -> list[str]:
        short = prefix[:2] if prefix[1] != "-" else ""
        return [flag for flag in self.grammar.flags if flag == short or flag.startswith(prefix)]

    def _values_end(self, index: int, most: int | None) -> int:
        """Give the index after the words from `index` on that an option may take as values."""
        limit = len(self.words) if most is None else min(len(self.words), index + most)
        while index < limit:
            word = self.words[index]
            if word == "--" or (word[:1] == "-" and self._classify(word, index) is not None):
                break
            index += 1
        return index

    def _take(self, option: Option, flag: str, explicit: str | None, index: int) -> int:
        """Take an option with its values, `explicit` being the one after `=`; give the index after them."""
        if explicit is not None:
            self._note(option, flag, index, index + 1)
            self._store(option, [(index, explicit)], index)
            return index + 1
        end = self._values_end(index + 1, 1 if option.kind == "value" else None)
        self._note(option, flag, index, end)
        if end == index + 1 and option.nargs in (None, "+"):
            said = "expected one argument" if option.nargs is None else "expected at least one argument"
            message = f"{flag} needs a value"
            if end < len(self.words):
                message += f"; {self.words[end]!r} after it is not one"
            self._refuse("missing-value", option, index, message, said)
            return end
        self._store(option, [(at, self.words[at]) for at in range(index + 1, end)], index)
        return end

    def _take_switch(self, option: Option, flag: str, explicit: str | None, index: int) -> None:
        word = self.words[index]
        # `-hh` is two one-letter flags run together.
        if explicit and flag[1] != "-" and not explicit.strip(flag[1]):
            explicit = None
        self._note(option, word if explicit is None else word.partition("=")[0], index, index + 1)
        if explicit is not None:
            said = f"ignored explicit argument {explicit!r}"
            self._refuse("unexpected-value", option, index, f"{flag} takes no value, got {explicit!r}", said)
        elif option.action == "help":
            message = f"{word} prints the help, and no server starts"
            self.problems.append(ArgumentProblem("help", index, word, option.dest, message, "", flag=flag))
        elif option.message is not None:
            message = f"{flag} is retired in {self.grammar.engine} {self.grammar.version}"
            self.problems.append(
                ArgumentProblem("retired-flag", index, flag, option.dest, message, option.message, flag=flag)
            )
        elif option.action != "deprecated":
            self.values[option.dest] = self.grammar.switches[flag][1]

    def _store(self, option: Option, texts: list[tuple[int, str]], index: int) -> None:
        """Convert, check and keep the values of one occurrence."""
        if any(at in self.unknown for at, _ in texts):
            _, text = texts[-1]
            known = option.dest in self.grammar.addresses and has_port(text)
            self.values[option.dest] = text if known else UNKNOWN
            return
        if not texts and option.nargs == "?":
            if not isinstance(option.const, str):
                self._keep(option, option.const)
                return
            texts = [(index, option.const)]
        values = []
        for at, text in texts:
            value = self._convert(option, at, text)
            if value is _REFUSED:
                return
            values.append(value)
        for (at, text), value in zip(texts, values, strict=True):
            if option.choices and value not in option.choices:
                from mlacheck.engines.spelling import listed  # only for a value that is refused

                shown = ", ".join(map(repr, option.choices))
                message = f"{option.flag} has no choice {text!r} (there are {listed(option.choices)})"
                said = f"invalid choice: {value!r} (choose from {shown})"
                self._refuse("invalid-choice", option, at, message, said, text)
                return
        self._keep(option, values[0] if option.kind == "value" else values)

    def _convert(self, option: Option, at: int, text: str) -> object:
        convert = self.grammar.converters.get(option.type or "str")
        if convert is None:
            return text
        try:
            return convert(text)
        except ConversionError as error:
            from mlacheck.engines.spelling import refusal  # only for a value that is refused

            message = f"{option.flag} {text}: {error}"
            said = refusal(self.grammar.engine, error)
            self._refuse("invalid-value", option, at, message, said, text, late=error.late, value=error.value)
        except (ValueError, TypeError, RecursionError):
            kind = option.type or "str"
            message = f"{option.flag} needs {_KINDS.get(kind, kind)}, not {text!r}"
            self._refuse("invalid-value", option, at, message, f"invalid {kind} value: {text!r}", text)
        return _REFUSED

    def _keep(self, option: Option, value: object) -> None:
        if option.action == "append":
            earlier = self.values.get(option.dest)
            value = [*(earlier if isinstance(earlier, list) else ()), value]
        elif option.action == "store_const":
            value = option.const
        elif option.action == "lora_path" and isinstance(value, list):
            adapters = self._adapters(option, value)
            if adapters is None:
                return
            value = adapters
        self.values[option.dest] = value

    def _adapters(self, option: Option, texts: list[str]) -> list[object] | None:
        """Read adapters; one in braces is a JSON object with its name and path."""
        adapters: list[object] = []
        for text in map(str.strip, texts):
            if not (text.startswith("{") and text.endswith("}")):
                adapters.append(text)
                continue
            try:
                adapter = json.loads(text)
                complete = "lora_path" in adapter and "lora_name" in adapter
                said = f"{text!r} looks like a JSON str"
            except (ValueError, RecursionError) as error:
                complete, said = False, str(error)
            if not complete:
                # The engine does not get as far as argparse's own message here: this ends in a traceback.
                message = f"{option.flag}: {text!r} is no JSON object with lora_name and lora_path"
                at = self.given[option.dest].index
                self.problems.append(
                    ArgumentProblem("invalid-value", at, text, option.dest, message, said, flag=option.flag)
                )
                return None
            adapters.append(adapter)
        return adapters

    def _note(self, option: Option, flag: str, start: int, end: int) -> None:
        earlier = self.given.get(option.dest)
        spans = (*earlier.spans, (start, end)) if earlier else ((start, end),)
        self.given[option.dest] = Given(flag, spans, option.flag)
        self.seen.add(option.flag)

    def _refuse(
        self,
        kind: str,
        option: Option,
        index: int,
        message: str,
        said: str,
        token: str | None = None,
        *,
        late: bool = False,
        value: object = None,
    ) -> None:
        token = self.words[index] if token is None else token
        said = f"argument {option.name}: {said}"
        self.problems.append(
            ArgumentProblem(
                kind, index, token, option.dest, message, said, flag=option.flag, late=late, value=value
            )
        )

    def _refuse_ambiguous(self, index: int) -> None:
        word = self.words[index]
        matches = self._matches(word.partition("=")[0] if word[1] == "-" else word)
        several = ", ".join(matches[:6]) + (f" and {len(matches) - 6} more" if len(matches) > 6 else "")
        self.ambiguous.append(
            ArgumentProblem(
                "ambiguous-flag",
                index,
                word,
                None,
                f"{word.partition('=')[0]} is short for several flags: {several}",
                f"ambiguous option: {word} could match {', '.join(matches)}",
                tuple(matches[:4]),
            )
        )

    def _take_positional(self, positional: Positional) -> None:
        """Take a word of its own as an argument that no flag gives, rather one that follows no wrong flag."""
        option = positional.option
        if option.dest in self.given:
            return
        own = [at for at in self.extras if at not in positional.loose and not self._is_flag(at)]
        own.sort(key=lambda at: at - 1 in self.extras and self._is_flag(at - 1))
        for at in own[:1]:
            self.extras.remove(at)
            self._note(option, option.flag, at, at + 1)
            self._store(option, [(at, self.words[at])], at)

    def _is_flag(self, at: int) -> bool:
        word = self.words[at]
        return word[:1] == "-" and word not in {"-", "--"} and not _NEGATIVE.match(word)

    def _finish(self) -> Arguments:
        if self.positional is not None and self.extras:
            self._take_positional(self.positional)
        missing = [option for option in self.grammar.required if option.flag not in self.seen]
        if missing:
            names = ", ".join(option.name for option in missing)
            message = f"{', '.join(option.flag for option in missing)} is required"
            said = f"the following arguments are required: {names}"
            self.problems.append(
                ArgumentProblem(
                    "missing-required", None, "", missing[0].dest, message, said, flag=missing[0].flag
                )
            )
        self._unrecognized()
        problems = (*self.ambiguous, *sorted(filter(self._read, self.problems), key=lambda one: one.late))
        if problems:
            from mlacheck.engines.spelling import suggest  # only for a line that is refused

            problems = tuple(suggest(problem, self.grammar) for problem in problems)
        return Arguments(self.values, self.given, problems)

    def _read(self, problem: ArgumentProblem) -> bool:
        """Tell whether the engine comes to read the value: what is read later is the option's last one."""
        if not problem.late or problem.dest is None or problem.index is None:
            return True
        return self.given[problem.dest].spans[-1][0] <= problem.index

    def _unrecognized(self) -> None:
        """Report words that no option took: flags that do not exist, and values that follow none."""
        extras = set(self.extras)
        said = "unrecognized arguments: " + " ".join(self.words[at] for at in self.extras)
        for at in self.extras:
            if at in self.unknown:
                continue
            word = self.words[at]
            if self._is_flag(at):
                flag, _, _ = word.partition("=")
                message = f"{self.grammar.engine} {self.grammar.version} has no flag {flag}"
                self.problems.append(ArgumentProblem("unknown-flag", at, flag, None, message, said))
            elif at - 1 not in extras:
                # Words after an unknown flag are its values; on their own they are a mistake of their own.
                message = f"{word!r} belongs to no flag"
                self.problems.append(ArgumentProblem("unexpected-argument", at, word, None, message, said))
