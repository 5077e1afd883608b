"""Here-documents, and texts that are printed into files and shells: commands that a script generates."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import frozen
from mlacheck.launch.piece import Field, Piece, Pieces
from mlacheck.launch.programs import SHELLS, basename
from mlacheck.launch.shell.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from mlacheck.launch.shell.script import Script
    from mlacheck.launch.shell.world import Guard

_SUBMITS: Final = frozenset({"sbatch", "qsub", "bsub"})
_WRITES: Final = frozenset({"cat", "tee", "sudo", "dd"})
_WRITTEN_END: Final = re.compile(r"\\n")
_TARGET: Final = re.compile(r"\d?>>?\|?\s*[\"']?([^\s\"'&>|]+)")


@frozen
class Heredoc:
    """A here-document: its text, the programs that get it through pipes, and the files it goes to."""

    pieces: tuple[Piece, ...]
    readers: tuple[tuple[Field, ...], ...] = ()
    targets: tuple[str, ...] = ()

    def _passes(self, fields: Sequence[Field]) -> bool:
        return not self.readers and len(fields) > 0 and basename(fields[0].text) == "cat"

    def deliver(self, script: Script, fields: Sequence[Field]) -> None:
        """Read it as what its reader or its file makes of it."""
        kind = target = ""
        for words in (fields, *self.readers):
            texts = [field.text for field in words]
            kind = kind or _reader(texts)
            target = _tee(texts) or target
        if not kind and not target and not self.targets and self._passes(fields):
            kind = script.into
        if not kind:
            program = basename(fields[0].text) if fields else "cat"
            target = next(iter(self.targets), target)
            if target and program in _WRITES:
                kind = script.reader.kind(target, spelled(self.pieces))
        if kind:
            script.reader.generated(kind, self.pieces, script, inherits=not target)


def _tee(texts: Sequence[str]) -> str:
    """Give the file that `tee` or `sudo tee` writes."""
    for at, text in enumerate(texts):
        if basename(text) == "tee":
            return next((one for one in texts[at + 1 :] if not one.startswith("-")), "")
        if at == 0 and text != "sudo":
            break
    return ""


def _broken(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Make line ends of those that are written as letters for `printf` and `echo -e`."""
    return tuple(Pieces(pieces).replaced(_WRITTEN_END, lambda *_: Piece("\n")))


def spelled(pieces: Sequence[Piece]) -> str:
    """Give a text as it was written."""
    return "".join(piece.text for piece in pieces)


def _reader(texts: Sequence[str]) -> str:
    """Tell what a program makes of its standard input: shell, python, yaml, or nothing that is known."""
    words = [word for text in texts for word in text.split()]  # a remote shell may stand in one word
    for at, text in enumerate(words):
        name, rest = basename(text), words[at + 1 :]
        if name in SHELLS or name in _SUBMITS:
            plain = all(one.startswith(("-", "+")) or one == "/dev/stdin" for one in rest)
            return "shell" if plain or {"-s", "-"} & set(rest) else ""
        if name.startswith("python"):
            return "python" if not rest or rest[0] == "-" else ""
        # The grammar drops a lone `-`.
        if name in ("kubectl", "oc") and ("-" in rest or rest[-1:] == ["-f"]):
            return "yaml"
    if words and basename(words[0]) == "ssh" and sum(not one.startswith("-") for one in words[1:]) == 1:
        return "shell"
    return ""


def piped_into(script: Script, node: Node) -> str:
    """Tell what the next command of a pipeline makes of what this one prints."""
    after = node.next_named_sibling
    if after is None or after.type != "command":
        return ""
    return _reader([field.text for field in script.expander(World(script.state.guard)).words(_words(after))])


def heredocs_here(script: Script, redirects: Sequence[Node]) -> list[tuple[Guard, list[Heredoc]]]:
    """Read the here-documents among redirections in every world that they have."""
    if not any(node.type == "heredoc_redirect" for node in redirects):
        return []
    return script.worlds(lambda world: _heredocs(script, redirects, world))


def deliver(script: Script, redirects: Sequence[Node], fields: Sequence[Field]) -> None:
    """Read the here-documents among redirections as what gets them makes of them, in every world."""

    def follow(found: Sequence[Heredoc]) -> None:
        for one in found:
            one.deliver(script, fields)

    here = heredocs_here(script, redirects)
    if here:
        script.state.branch([(guard, functools.partial(follow, found)) for guard, found in here])


def _heredocs(script: Script, redirects: Sequence[Node], world: World) -> list[Heredoc]:
    found = []
    targets = []
    for node in redirects:
        targets.extend(_targets(script, node, world))
    for node in redirects:
        if node.type != "heredoc_redirect":
            continue
        pieces = heredoc_body(script, node, world)
        if pieces is None:
            continue
        readers = []
        for child in node.named_children:
            if child.type == "pipeline":
                for part in child.named_children:
                    body = part.child_by_field_name("body") if part.type == "redirected_statement" else part
                    targets.extend(_targets(script, part, world))
                    if body is not None and body.type == "command":
                        readers.append(tuple(script.expander(world).words(_words(body))))
            elif child.type == "file_redirect":
                targets.extend(_targets(script, child, world))
        found.append(Heredoc(tuple(pieces), tuple(readers), tuple(targets)))
    return found


def heredoc_body(script: Script, node: Node, world: World) -> list[Piece] | None:
    """Give the text of a here-document as the script writes it."""
    body = next((child for child in node.children if child.type == "heredoc_body"), None)
    start = next((child for child in node.children if child.type == "heredoc_start"), None)
    if body is None or start is None:
        return None
    quoted = any(char in script.syntax.source(start) for char in "'\"\\")
    return script.expander(world).body(body, quoted=quoted)


def printed(script: Script, node: Node, fields: Sequence[Field]) -> None:
    """Read what `echo` or `printf` sends to a script file or a shell."""
    if basename(fields[0].text) not in ("echo", "printf") or len(fields) < 2:
        return
    parent = node.parent
    world = World(script.state.guard)
    kind = target = ""
    if parent is not None and parent.type == "redirected_statement":
        found = [text for child in parent.children for text in _targets(script, child, world)]
        target = found[0] if found else ""
    elif parent is not None and parent.type == "pipeline":
        after = node.next_named_sibling
        if after is not None and after.type == "command":
            texts = [field.text for field in script.expander(world).words(_words(after))]
            kind = _reader(texts)
            target = _tee(texts)
    else:
        kind = script.into
    words = [field for field in fields[1:] if field.text not in ("-e", "-n", "-ne", "-en", "--")]
    between = " "
    formats = basename(fields[0].text) == "printf"
    if words and formats and "%s" in words[0].text:
        between = "\n" if words[0].text.endswith("\\n") else " "
        words = words[1:]
    elif formats or fields[1].text in ("-e", "-ne", "-en"):
        words = [field._replace(pieces=_broken(field.pieces)) for field in words]
    pieces: list[Piece] = []
    for index, field in enumerate(words):
        pieces.extend([Piece(between)] if index else [])
        pieces.extend(field.pieces)
    if target:
        kind = script.reader.kind(target, spelled(pieces))
    if kind:
        script.reader.generated(kind, tuple(pieces), script, inherits=not target)


def _targets(script: Script, node: Node, world: World) -> list[str]:
    if node.type != "file_redirect":
        return []
    match = _TARGET.match(script.syntax.source(node))
    if match is None or match[1].startswith("/dev/"):
        return []
    destination = node.child_by_field_name("destination")
    if destination is None:
        return [match[1]]
    fields = script.expander(world).word([destination], splits=False)
    return [fields[0].text] if fields else []


def _words(node: Node) -> list[Node]:
    return [
        child
        for child in node.children
        if child.type != "variable_assignment" and not child.type.endswith("redirect")
    ]
