"""Launch commands in structured files, by the shapes that containers and jobs have in all of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.file.flags import FlagMaps, plain_value
from mlacheck.launch.file.given import GROUP_SIZE, Given
from mlacheck.launch.file.interpolate import compose, kubernetes
from mlacheck.launch.file.kustomize import told_patch
from mlacheck.launch.file.markdown import read_blocks
from mlacheck.launch.file.node import Mapping, Node, Scalar, Sequence, scalars, walk
from mlacheck.launch.file.split import split_words
from mlacheck.launch.finder import Environment
from mlacheck.launch.piece import Field, Piece, Pieces
from mlacheck.launch.programs import SCRIPTS, SHELLS, basename, image_server
from mlacheck.probes.engine import ENGINES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mlacheck.launch.frame import Frame, Surroundings
    from mlacheck.launch.reader import Reader

_GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915")
_SELECTORS: Final = re.compile(
    r"nvidia\.com/gpu\.product|gke-accelerator|gpu[-_.]?(type|product|model|name)|accelerator$",
    re.IGNORECASE,
)
_SCRIPTS: Final = frozenset(
    {"command", "args", "cmd", "script", "run", "entrypoint", "start", "exec", "shell", "launch"}
)
# Keys of what people read: a command in it is an example.
_PROSE: Final = re.compile(
    r"(?:.*[-_.])?(?:about|changelog|comments?|desc|description|docs?|help|messages?|notes?|readme|summary|title"
    r"|tooltip|usage)",
    re.IGNORECASE,
)
_DOCUMENT: Final = re.compile(
    r"\A(?:#[^\n]*\n|---\n)*(?:apiVersion|kind|- op|- path|- target):[ \t]", re.MULTILINE
)
_KEYS: Final = re.compile(r"(?:\s*(?:#[^\n]*)?\n)*[\w.-]+:(?:\s|\Z)")
_ENGINE_KEYS: Final = re.compile("|".join(ENGINES), re.IGNORECASE)
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_]\w*)(?:[:?+=-][^{}]*)?\}|\A\$([A-Z_]\w*)\Z")
_DEEPEST: Final = 60
_MOST_TERMS: Final = 1000


class Manifest:
    """Walks the trees of one file and hands what runs in them to a reader."""

    def __init__(self, reader: Reader, frame: Frame) -> None:
        self.reader, self.frame = reader, frame
        self.seen: set[int] = set()
        self.maps = FlagMaps(reader)
        self.given = Given(reader)
        self.kubernetes = False  # the document is an object of its API
        self.groups = False  # it is a LeaderWorkerSet
        self.env = Environment()  # of the scripts where the walk is

    def read(self, root: Node) -> None:
        """Read one document."""
        self.seen = set()  # ids count only while their nodes are held
        self.kubernetes = isinstance(root, Mapping) and root.get("apiVersion") is not None
        self.groups = isinstance(root, Mapping) and root.text("kind") == "LeaderWorkerSet"
        if self.groups:
            self.reader.job.add(GROUP_SIZE)
        self.given.begin(compose=isinstance(root, Mapping) and isinstance(root.get("services"), Mapping))
        engine = self.maps.config_of(root) if isinstance(root, Mapping) else None
        if engine is not None and isinstance(root, Mapping):
            self.maps.read(root, engine, self.frame)
            return
        self.visit(root, self.frame.around, (), 0)

    def visit(self, node: Node, around: Surroundings, path: tuple[str, ...], depth: int) -> None:
        """Look at a node and at what is in it, once."""
        if isinstance(node, Scalar):
            self._text(node, around, path)
            return
        if id(node) in self.seen or depth > _DEEPEST:
            return
        self.seen.add(id(node))
        if isinstance(node, Sequence):
            self._list(node, around, path, depth)
            return
        held = node.all()
        if "github-script" in (node.text("uses") or ""):
            return  # its script is no shell's
        if told_patch(self.reader, node):
            return
        around = self._around(node, around, path)
        env = self.env
        if not self.kubernetes and not self.given.compose:
            self.env = self.given.variables(node, env)
        done: set[str] = set()
        if any(name in held for name in ("command", "args", "entrypoint", "module")):
            done = self._container(node, around)
        for name, (_, value) in held.items():
            if name in done:
                continue
            if (
                isinstance(value, Mapping)
                and _ENGINE_KEYS.search(name)
                and self.maps.read_under(value, name, node, self.frame, around)
            ):
                continue
            self.visit(value, around, (*path, name), depth + 1)
        self.env = env

    # What runs.

    def _container(self, node: Mapping, around: Surroundings) -> set[str]:
        """Read the command of a container; give the keys that it used up."""
        command, args = node.get("entrypoint"), node.get("command")
        if not self.given.compose and command is None:
            command, args = node.get("command"), node.get("args")
        elif command is not None and args is None:
            args = node.get("args")
        module = node.get("module")
        env = self.given.environment(node, around.nodes if self.groups else None)
        words = [*self._words(command, env), *self._words(args, env)]
        if isinstance(module, Scalar) and command is None:
            python = (Field((Piece(text),), place=module.start) for text in ("python3", "-m"))
            words = [*python, module.field(), *words]
        program = node.get("program")
        if isinstance(program, Scalar) and any(program.text.endswith(one) for one in SCRIPTS):
            words = [Field((Piece("python3"),), place=program.start), program.field(), *words]
        if not words:
            return set()
        frame = replace(self.frame, around=around)
        done = {"entrypoint", "command", "args", "module", "env", "environment"}
        first = words[0].text
        # A command of flags alone is what an image's own entry point gets; where `command` may stand for
        # either, so is any.
        listed = self.kubernetes or self.given.compose
        if basename(first) not in SHELLS:
            words = words if self.given.compose else self._rendered(words)
            if self.kubernetes:
                self._typed(node, (command, args))
        flags = first.startswith("-")
        own = command is None or (args is None and (flags or not listed))
        # A list of flags in a file of one's own may be what is added to a line that stands elsewhere.
        if own and self.reader.arguments(words, frame, env, sure=command is None, part=not listed and flags):
            return done
        if own and flags:
            self._unrendered(node)
            return set()
        if isinstance(command, Sequence) and listed:
            self.reader.program(words[0])
        if not any(self.reader.mentions(field.text) for field in words):
            if command is None and first.startswith("{{"):
                self._unrendered(node)
            return set()
        if len(words) == 1 or (len(words) > 1 and any(blank in first for blank in " \t\n")):
            # One string: a shell gets it, or something that splits it like one.
            self.reader.script(words[0].pieces, frame, env, words[1:])
            return done
        self.reader.words(words, frame, env)
        return done

    def _rendered(self, words: list[Field]) -> list[Field]:
        """Open the variables of a shell in words that no shell reads: a tool has yet to put them in."""
        known = self.reader.env
        found = []
        for word in words:
            whole = Pieces(word.pieces)
            names = [one[1] or one[2] for one in _VARIABLE.finditer(whole.text)]
            if not names:
                found.append(word)
                continue

            def put_in(match: re.Match[str], at: int) -> Piece:
                name, text = match[1] or match[2], match[0]
                if name in known:
                    return Piece(known[name], at, via=(name,))
                return Piece(text, at, names=(text if self.kubernetes else name,))

            found.append(word._replace(pieces=tuple(whole.replaced(_VARIABLE, put_in)), start=-1, end=-1))
            if self.kubernetes and not known.keys() >= set(names):
                self.reader.problem(
                    "not-rendered",
                    f"no shell reads {word.text}: the engine gets that unless a tool puts a value in",
                    "pipe the rendered text: `envsubst < FILE | mlacheck validate -`",
                    word.place,
                )
        return found

    def _typed(self, node: Mapping, lists: Iterable[Node | None]) -> None:
        """Tell of what is no text where the API server takes nothing else."""
        env = node.get("env")
        items = [(one, "a list of words") for given in lists for one in scalars(given)]
        for one in env.items if isinstance(env, Sequence) else ():
            value = one.get("value") if isinstance(one, Mapping) else None
            items += [(value, "the value of a variable")] if isinstance(value, Scalar) else []
        for item, where in items:
            value = plain_value(item)
            if isinstance(value, bool | int | float):
                kind = "boolean" if isinstance(value, bool) else "number"
                self.reader.problem(
                    "not-a-string",
                    f"the API server refuses {item.text} in {where}: it is a {kind} and no string",
                    f'put it in quotes: "{item.text}"',
                    item.start,
                )

    def _unrendered(self, node: Mapping) -> None:
        """Tell of flags that an engine's image gets, of which a template has yet to write the tag."""
        image = node.text("image") or ""
        named, mark, _ = image.partition("{{")
        if mark and image_server(named.rstrip(": \"'"), "--") is not None:
            self.reader.problem(
                "template",
                f"the file is a template that is not rendered yet: its image is {image}",
                "pipe the rendered text: `helm template ... | mlacheck validate -`",
                node.start,
            )

    def _words(self, node: Node | None, env: Environment) -> list[Field]:
        if isinstance(node, Scalar) and self.given.compose:
            return split_words(compose(node.pieces, self.given.known))
        fields = []
        for item in scalars(node):
            pieces = self.given.put_in(item) if self.given.compose else kubernetes(item.pieces, env)
            field = item.field()
            # With a variable put in, it is no longer what is spelled there.
            fields.append(field if pieces == item.pieces else field._replace(pieces=pieces, start=-1, end=-1))
        if isinstance(node, Scalar) and len(fields) == 1 and node.text.startswith("-"):
            return split_words(fields[0].pieces)  # only flags, in one string
        return fields

    # What else may hold a command.

    def _list(self, node: Sequence, around: Surroundings, path: tuple[str, ...], depth: int) -> None:
        items = [item for item in node.items if isinstance(item, Scalar)]
        fields = [item.field() for item in items]
        if len(items) == len(node.items) and len(fields) > 1 and self.reader.argv(fields):
            self.reader.words(fields, replace(self.frame, around=around))
            return
        for item in node.items:
            self.visit(item, around, path, depth + 1)

    def _text(self, node: Scalar, around: Surroundings, path: tuple[str, ...]) -> None:
        text = node.text
        if not self.reader.mentions(text) or not any(blank in text for blank in " \t\n"):
            return
        frame = replace(self.frame, around=around)
        if _DOCUMENT.match(text) or (path[-1:] == ("values",) and _KEYS.match(text)):
            self.reader.manifest(node.pieces, frame)
            return
        if "```" in text:
            read_blocks(self.reader, Pieces(node.pieces), frame)
            return
        name = path[-1] if path else ""
        if _PROSE.fullmatch(name):
            return
        script = name.lower() in _SCRIPTS or name.endswith((".sh", ".bash")) or text.startswith("#!")
        pieces = self.given.put_in(node)
        self.reader.script(pieces, frame if script else replace(frame, guess=True), self.env.copy())

    def _around(self, node: Mapping, around: Surroundings, path: tuple[str, ...]) -> Surroundings:
        """Add what a mapping says of the machine and of the container."""
        image = node.text("image")
        if image is not None:
            pieces = compose((Piece(image),), self.given.known) if self.given.compose else (Piece(image),)
            settled = "".join(piece.text for piece in pieces)
            around = replace(
                around,
                image=settled if not any(piece.names for piece in pieces) and "{{" not in settled else None,
            )
        label = node.text("name") or (path[-1] if path and self.given.compose and len(path) > 1 else None)
        if label and (node.get("template", "command", "args", "containers", "image") is not None):
            around = replace(around, label=label if not around.label else around.label)
        count = self._gpu_count(node)
        gpu = self._gpu(node)
        groups = node.get("leaderTemplate", "workerTemplate") is not None
        size = node.text(*(("size",) if groups else ("numNodes", "num_nodes")))
        nodes = int(size) if size is not None and size.isdecimal() and 0 < int(size) < 10_000 else None
        if count is not None or gpu is not None or nodes is not None:
            around = replace(
                around,
                gpu_count=around.gpu_count if count is None else count,
                gpu=around.gpu if gpu is None else gpu,
                nodes=around.nodes if nodes is None else nodes,
            )
        return around

    def _gpu_count(self, node: Mapping) -> int | None:
        resources = node.get("resources")
        if isinstance(resources, Mapping):
            for kind in ("limits", "requests"):
                held = resources.get(kind)
                if isinstance(held, Mapping):
                    text = held.text(*_GPUS)
                    if text is not None and text.isdecimal():
                        return int(text)
        deploy = node.get("deploy")
        if isinstance(deploy, Mapping):
            return self._devices(deploy)
        return None

    def _devices(self, deploy: Mapping) -> int | None:
        at: Node | None = deploy
        for name in ("resources", "reservations", "devices"):
            at = at.get(name) if isinstance(at, Mapping) else None
        for device in at.items if isinstance(at, Sequence) else []:
            if isinstance(device, Mapping):
                count = device.text("count")
                ids = device.get("device_ids")
                if isinstance(ids, Sequence):
                    return len(ids.items)
                if count is not None and count.isdecimal():
                    return int(count)
        return None

    def _gpu(self, node: Mapping) -> str | None:
        selector = node.get("nodeSelector")
        if isinstance(selector, Mapping):
            for name, (_, value) in selector.all().items():
                if _SELECTORS.search(name) and isinstance(value, Scalar):
                    return value.text
        affinity = node.get("affinity")
        if isinstance(affinity, Mapping):
            return _affinity(affinity)
        return None


def _affinity(node: Mapping) -> str | None:
    """Give the only GPU that a node affinity asks for."""
    found: list[str] = []
    for one in walk(node, _MOST_TERMS):
        key = one.text("key") if isinstance(one, Mapping) else None
        if isinstance(one, Mapping) and key and _SELECTORS.search(key) and one.text("operator") == "In":
            found.extend(value.text for value in scalars(one.get("values")))
    return found[0] if len(found) == 1 else None
