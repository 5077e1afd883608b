"""What a kustomization adds to manifests beside it: maps of variables, and patches, which are only told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.launch.envfile import variables
from mlacheck.launch.file.node import Mapping, Node, Scalar, Sequence, TreeError, scalars
from mlacheck.launch.piece import Piece, Pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.launch.file.beside import Beside
    from mlacheck.launch.reader import Reader

_FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_GENERATORS: Final = ("configMapGenerator", "secretGenerator")
_CHANGED: Final = ("/args", "/command")

Maps = dict[str, dict[str, Node]]


def generated(root: Mapping, beside: Beside | None) -> Iterator[tuple[str, dict[str, Node]]]:
    """Give the maps that a kustomization generates: literals, and files of variables beside it."""
    for kind in _GENERATORS:
        held = root.get(kind)
        for one in held.items if isinstance(held, Sequence) else []:
            name = one.text("name") if isinstance(one, Mapping) else None
            if isinstance(one, Mapping) and name:
                yield name, {**_from_files(one, beside), **_literals(one)}


def beside_of(beside: Beside | None) -> Maps:
    """Give the maps that the kustomization beside a manifest generates."""
    texts = (beside.text(one)[0] for one in _FILES) if beside is not None else ()
    text = next((one for one in texts if one is not None), None)
    if text is None:
        return {}
    from mlacheck.launch.file.yaml_ import documents  # only where a map is missing

    found: Maps = {}
    try:
        for root in documents(text):
            if isinstance(root, Mapping):
                found.update(generated(root, beside))
    except TreeError:
        return found
    # Their places are another file's.
    return {name: {key: _unplaced(one) for key, one in held.items()} for name, held in found.items()}


def told_patch(reader: Reader, node: Mapping) -> bool:
    """Tell of a patch that changes what a container runs; tell whether it is one."""
    path = node.text("path")
    if node.text("op") not in ("add", "replace") or path is None:
        return False
    value = node.get("value")
    words = scalars(value)
    if not any(mark in path for mark in _CHANGED) or not words or not words[0].text.startswith("-"):
        return False
    reader.problem(
        "patch",
        f"this patch gives {words[0].text} and more to a container of another file: what that runs then is "
        "not checked here",
        "pipe the built text: `kustomize build DIR | mlacheck validate -`",
        node.start,
        "info",
    )
    return True


def _literals(one: Mapping) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for item in scalars(one.get("literals")):
        name, equals, value = item.text.partition("=")
        if equals:
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
            start, end = len(name) + 1 + quoted, len(item.text) - quoted
            found[name] = Scalar(
                item.text[start:end], tuple(Pieces(item.pieces).cut(start, end)), item.start, item.end
            )
    return found


def _from_files(one: Mapping, beside: Beside | None) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for item in (*scalars(one.get("envs")), *scalars(one.get("env"))):
        text = beside.text(item.text)[0] if beside is not None else None
        for name, value in variables(text, quotes=False).items() if text is not None else ():
            if value is not None:
                pieces = (Piece(value, item.start),) if value else ()
                found[name] = Scalar(value, pieces, item.start, item.end)
    return found


def _unplaced(node: Node) -> Node:
    if not isinstance(node, Scalar):
        return node
    return Scalar(node.text, (Piece(node.text),) if node.text else (), -1, -1)
