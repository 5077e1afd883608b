"""YAML as trees with places: composed from events, so that neither depth nor aliases can hurt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml

from mlacheck.data import yaml_loader
from mlacheck.frozen import frozen
from mlacheck.launch.file.node import Mapping, Node, Scalar, Sequence, TreeError, aligned

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_NODES: Final = 200_000
_DEEPEST: Final = 100
_LOADER: Final = yaml_loader()
_WITHIN: Final = {"'": "yaml-single", '"': "yaml-double", "|": "yaml-block", ">": "yaml-block"}


@frozen
class _Open:
    node: Sequence | Mapping
    keys: list[Scalar | None]


def documents(text: str) -> Iterator[Node]:
    """Compose the documents of a text one after the other."""
    anchors: dict[str, Node] = {}
    stack: list[_Open] = []
    root: Node | None = None
    nodes = 0
    event: Any  # PyYAML's stubs know one class of events
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            kind = type(event)
            if kind is yaml.DocumentStartEvent:
                anchors, root = {}, None
                continue
            if kind is yaml.DocumentEndEvent:
                if root is not None:
                    yield root
                continue
            node: Node
            if kind is yaml.ScalarEvent:
                node = _scalar(event, text, _style(stack))
            elif kind is yaml.AliasEvent:
                if event.anchor not in anchors:
                    raise TreeError(
                        "not-yaml", f"the alias *{event.anchor} has no anchor", event.start_mark.index
                    )
                node = anchors[event.anchor]
            elif kind is yaml.SequenceStartEvent:
                node = Sequence([], event.start_mark.index, -2 if event.flow_style else -1)
            elif kind is yaml.MappingStartEvent:
                node = Mapping([], event.start_mark.index, -2 if event.flow_style else -1)
            elif kind in (yaml.SequenceEndEvent, yaml.MappingEndEvent):
                stack.pop().node.end = event.end_mark.index
                continue
            else:
                continue
            nodes += 1
            if nodes > _MOST_NODES or len(stack) > _DEEPEST:
                what = f"{_MOST_NODES:,} values" if nodes > _MOST_NODES else f"{_DEEPEST} levels"
                raise TreeError("too-large", f"the YAML has more than {what}", event.start_mark.index)
            if getattr(event, "anchor", None) and kind is not yaml.AliasEvent:
                anchors[event.anchor] = node
            if stack:
                _add(stack[-1], node)
            else:
                root = node
            if kind in (yaml.SequenceStartEvent, yaml.MappingStartEvent):
                stack.append(_Open(node, []))  # type: ignore[arg-type]  # one of the two
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        raise TreeError("not-yaml", str(error.problem or error.context), mark.index if mark else 0) from None
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0)
        raise TreeError(
            "not-yaml", str(error).split("\n")[0], position if isinstance(position, int) else 0
        ) from None


def _add(holder: _Open, node: Node) -> None:
    if isinstance(holder.node, Sequence):
        holder.node.items.append(node)
    elif holder.keys:
        key = holder.keys.pop()
        if key is not None:
            holder.node.pairs.append((key, node))
    else:
        holder.keys.append(node if isinstance(node, Scalar) else None)


def _style(stack: list[_Open]) -> str:
    """Tell how words are set apart where a value stands."""
    if stack and stack[-1].node.end == -2:
        return "flow"
    return "item" if stack and isinstance(stack[-1].node, Sequence) else "map"


def _scalar(event: Any, text: str, words: str) -> Scalar:
    start, end = event.start_mark.index, event.end_mark.index
    style = event.style or ""
    within = _WITHIN.get(style, "yaml-plain")
    inner = start
    if style in ("'", '"'):
        inner, end = start + 1, end - 1
    elif style in ("|", ">"):
        inner = text.find("\n", start) + 1
    pieces = aligned(event.value, text, inner, end, within)
    plain = not style and event.tag is None
    return Scalar(event.value, pieces, start, event.end_mark.index, words, plain)
