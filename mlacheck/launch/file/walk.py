"""The files of a folder that may hold launch commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from mlacheck.launch.file.kind import is_searched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "site-packages"})
_ENVIRONMENT: Final = "pyvenv.cfg"  # what a virtual environment holds, whatever its name
# Hidden folders that hold what people write.
_HIDDEN: Final = frozenset(
    {".github", ".gitlab", ".circleci", ".buildkite", ".devcontainer", ".vscode", ".ci", ".woodpecker"}
)


def files(paths: Iterable[str]) -> Iterator[str]:
    """Give every file once, in order; folders are searched by name, links to folders are not followed."""
    seen: set[str] = set()
    for path in paths:
        for found in _search(path) if os.path.isdir(path) else (path,):  # noqa: PTH112 - paths as they were given
            if found not in seen:
                seen.add(found)
                yield found


def _search(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        if _ENVIRONMENT in names and folder != root:
            folders.clear()
            continue
        folders[:] = sorted(
            name for name in folders if name in _HIDDEN or not (name.startswith(".") or name in _SKIPPED)
        )
        for name in sorted(names):
            path = os.path.normpath(os.path.join(folder, name))  # noqa: PTH118 - same
            if is_searched(name) and os.path.isfile(path):  # noqa: PTH113 - same
                yield path
