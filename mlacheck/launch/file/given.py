"""What a container is given: its environment, from the manifest itself and from files beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.launch.envfile import variables
from mlacheck.launch.file.interpolate import compose, kubernetes
from mlacheck.launch.file.kustomize import Maps, beside_of, generated
from mlacheck.launch.file.node import Mapping, Node, Scalar, Sequence
from mlacheck.launch.finder import Environment
from mlacheck.launch.piece import Piece, Pieces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mlacheck.launch.piece import Field
    from mlacheck.launch.reader import Reader


# What the controller of a LeaderWorkerSet sets in each of its containers.
GROUP_SIZE: Final = "LWS_GROUP_SIZE"


class Given:
    """Knows the variables that containers of one file get."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.compose = False
        self.known: dict[str, str] = {}  # what compose puts in
        self._maps: Maps = {}
        self._kustomized: Maps | None = None  # read when a map is missing

    def prepare(self, roots: Iterable[Node]) -> None:
        """Note the ConfigMaps and Secrets of the file, wherever they stand."""
        for root in roots:
            if not isinstance(root, Mapping):
                continue
            self._maps.update(generated(root, self.reader.beside))
            if root.text("kind") not in ("ConfigMap", "Secret"):
                continue
            metadata = root.get("metadata")
            name = metadata.text("name") if isinstance(metadata, Mapping) else None
            data = root.get("data" if root.text("kind") == "ConfigMap" else "stringData")
            if name and isinstance(data, Mapping):
                self._maps[name] = {key: value for key, (_, value) in data.all().items()}

    def begin(self, *, compose: bool) -> None:
        """Begin a document; compose puts in what the `.env` beside its file says, and its caller's more."""
        self.compose, self.known = compose, {}
        beside = self.reader.beside
        text = beside.text(".env")[0] if compose and beside is not None else None
        told = variables(text) if text is not None else {}
        if compose:
            settled = {name: value for name, value in told.items() if value is not None}
            self.known = settled | self.reader.env

    def put_in(self, node: Scalar) -> tuple[Piece, ...]:
        """Put in the variables that compose knows."""
        return compose(node.pieces, self.known) if self.compose else node.pieces

    def variables(self, node: Mapping, env: Environment) -> Environment:
        """Give the environment of the scripts in a job, a step or a task, which stands in others."""
        held = node.get("env", "envs", "variables")
        if not isinstance(held, Mapping) or not held.pairs:
            return env
        inner = env.copy()
        for name, (_, told) in held.all().items():
            value = told.get("value") if isinstance(told, Mapping) else told
            pieces = compose(value.pieces, inner.values) if isinstance(value, Scalar) else ()
            open_ = tuple(dict.fromkeys(each for piece in pieces for each in piece.names))
            settled = isinstance(value, Scalar) and not open_
            inner.put(name, "".join(piece.text for piece in pieces), () if settled else open_ or (name,))
        return inner

    def environment(self, node: Mapping, group: int | None = None) -> Environment:
        """Give the environment of a container, one of a group of as many where they are known."""
        env = Environment()
        if group is not None:
            env.put(GROUP_SIZE, str(group))
        given = node.get("env", "environment")
        if isinstance(given, Mapping):
            for name, (_, value) in given.all().items():
                self._set(env, name, value)
        elif isinstance(given, Sequence):
            for item in given.items:
                self._item(env, item)
        own = {*env.values, *env.unknown}
        for field in self._files(node.get("env_file")):
            for name, text in (self.reader.env_file(field, quotes=True) or {}).items():
                if name not in own:
                    env.put(name, text or "", () if text is not None else (name,))
        self._from_maps(node.get("envFrom"), env, own)
        return env

    def _item(self, env: Environment, item: Node) -> None:
        if isinstance(item, Mapping):
            name = item.text("name")
            if name:
                self._set(env, name, item.get("value") or self._referred(item.get("valueFrom")))
        elif isinstance(item, Scalar):
            key, equals, _ = item.text.partition("=")
            if equals:
                self._put(env, key, tuple(Pieces(item.pieces).cut(len(key) + 1, len(item.text))))
            else:
                env.put(key, "", (key,))

    def _files(self, node: Node | None) -> list[Field]:
        """Give the names under `env_file`: one, several, or mappings with a path."""
        items = node.items if isinstance(node, Sequence) else [node]
        paths = [one.get("path") if isinstance(one, Mapping) else one for one in items]
        return [one.field()._replace(pieces=self.put_in(one)) for one in paths if isinstance(one, Scalar)]

    def _from_maps(self, node: Node | None, env: Environment, own: set[str]) -> None:
        """Take over what `envFrom` names, where the file or its kustomization holds it."""
        for source in node.items if isinstance(node, Sequence) else []:
            if not isinstance(source, Mapping):
                continue
            reference = source.get("configMapRef", "secretRef")
            name = reference.text("name") if isinstance(reference, Mapping) else None
            held = self._held(name or "")
            if held is None:
                self.reader.problem(
                    "env-file-not-read",
                    f"the variables of envFrom {name or ''} are not known: the file does not hold them",
                    "give the ones that matter with --env NAME=VALUE",
                    source.start,
                    "info",
                )
                continue
            prefix = source.text("prefix") or ""
            for key, value in held.items():
                if prefix + key not in own:
                    self._set(env, prefix + key, value)

    def _referred(self, node: Node | None) -> Node | None:
        """Give the value that `valueFrom` names, where the file or its kustomization holds it."""
        reference = node.get("configMapKeyRef", "secretKeyRef") if isinstance(node, Mapping) else None
        if not isinstance(reference, Mapping):
            return None
        return (self._held(reference.text("name") or "") or {}).get(reference.text("key") or "")

    def _held(self, name: str) -> dict[str, Node] | None:
        """Give a map of the file, or one that the kustomization beside it generates."""
        if name not in self._maps and self._kustomized is None:
            self._kustomized = beside_of(self.reader.beside)
        return self._maps.get(name) or (self._kustomized or {}).get(name)

    def _set(self, env: Environment, name: str, value: Node | None) -> None:
        if isinstance(value, Scalar):
            self._put(env, name, value.pieces)
        else:
            env.put(name, "", (name,))

    def _put(self, env: Environment, name: str, pieces: tuple[Piece, ...]) -> None:
        given = compose(pieces, self.known) if self.compose else kubernetes(pieces, env)
        unknown = tuple(dict.fromkeys(each for piece in given for each in piece.names))
        env.put(name, "".join(piece.text for piece in given), unknown)
