"""What a report does not vouch for: flags and start-up guards that no rule is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.facts import UNKNOWN, is_known
from mlacheck.finding import NOT_KNOWN
from mlacheck.probes.engine import ENGINES
from mlacheck.ruleset.guards import concerning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mlacheck.finding import Resolved
    from mlacheck.line import Line
    from mlacheck.ruleset.program import Program

_MOST_FLAGS: Final = 4
_BACKENDS: Final = ("prefill_backend", "decode_backend", "verify_backend", "draft_backend")


def not_checked(program: Program, line: Line, resolved: Mapping[str, Resolved]) -> tuple[str, ...]:
    """Say what nobody looked at in a line."""
    given = line.arguments.given
    meant = {*program.inert, program.model}  # the model is what the rules are about
    read = {name: one.flag for name, one in given.items() if name not in meant}
    unread = [flag for name, flag in read.items() if name not in program.reads]
    notes = [f"{', '.join(unread)}: no rule reads it"] if unread else []
    if line.launchers:
        notes.append(f"{', '.join(line.launchers)}: read by {line.command.entry} itself")
    if line.checkable:
        notes.extend(_unmodelled(program, read, resolved, line))
    else:
        notes.append("everything after argument parsing: correct the refused value first")
    return (*notes, "memory")


def _unmodelled(
    program: Program, flags: Mapping[str, str], resolved: Mapping[str, Resolved], line: Line
) -> Iterator[str]:
    """Count the engine's guards that no rule names and that the line's flags, model or backends meet."""
    backends = {str(resolved[name].value) for name in _BACKENDS if name in resolved}
    total, by_argument = concerning(program.unmodelled, flags, backends, _kinds(program, line, resolved))
    if total:
        most = sorted(by_argument, key=lambda name: (-by_argument[name], name))
        counts = ((by_argument[name], flags[name]) for name in most[:_MOST_FLAGS])
        named = [f"{count} read{'s' * (count == 1)} {flag}" for count, flag in counts]
        others = len(most) - _MOST_FLAGS
        more = f" and {others} more flag{'s' * (others > 1)}" if others > 0 else ""
        by = f" ({', '.join(named)}{more})" if named else ""
        engine = "" if program.engine == ENGINES[0] else f"--engine {program.engine} "
        command = f"mlacheck rules coverage {engine}--engine-version {program.version} --flag FLAG"
        yield f"{total} start-up guard{'s' * (total > 1)} that no rule models{by}: {command}"


def _kinds(program: Program, line: Line, resolved: Mapping[str, Resolved]) -> frozenset[str] | None:
    """Give the line's model class and speculative method as guards call them; None where one is not known."""
    kinds: set[str] = set()
    for name in program.about:
        one = resolved.get(name)
        value = line.facts.get(name) if one is None else UNKNOWN if one.origin == NOT_KNOWN else one.value
        if not is_known(value):
            return None
        kinds |= {str(value), str(value).upper()}
    return frozenset(kinds)
