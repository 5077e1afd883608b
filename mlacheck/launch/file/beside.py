"""Files that a launch file names: read from beside it, and from nowhere else."""

from __future__ import annotations

import os
import stat
from typing import Final

from mlacheck.launch.file.decode import decode

_MOST_BYTES: Final = 1_000_000
_MOST_FILES: Final = 100


class Beside:
    """Reads small text files by name, inside the tree that a launch file belongs to.

    The tree is the working folder where the launch file lies in it, else the launch file's own folder. Links
    count as what they lead to, so that none leads out of the tree.
    """

    def __init__(self, folder: str) -> None:
        self._folder = os.path.realpath(folder)
        work = os.path.realpath(".")
        self._tree = work if _inside(self._folder, work) else self._folder
        self._folders = dict.fromkeys((self._folder, self._tree))
        self._read: dict[str, tuple[str | None, str]] = {}

    def find(self, name: str) -> str | None:
        """Give the real path of a file that may be read, None when there is none."""
        if "\0" in name:
            return None
        for folder in self._folders:
            path = os.path.realpath(os.path.join(folder, name))  # noqa: PTH118 - names as they are written
            if _inside(path, self._tree) and os.path.isfile(path):  # noqa: PTH113 - same
                return path
        return None

    def text(self, name: str) -> tuple[str | None, str]:
        """Give the text of a file, or None and why there is none."""
        try:
            path = self.find(name)
        except OSError as error:  # a name that no file can have, or a loop of links
            return None, error.strerror or "it cannot be read"
        if path is None:
            return None, "there is no such file beside the launch file"
        if path not in self._read:
            self._read[path] = _text(path) if len(self._read) < _MOST_FILES else (None, "too many files")
        return self._read[path]


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _text(path: str) -> tuple[str | None, str]:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - a path that was found
            return None, "it is no regular file"
        with open(path, "rb") as stream:  # noqa: PTH123 - same
            data = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        return None, error.strerror or "it cannot be read"
    if len(data) > _MOST_BYTES:
        return None, f"it holds more than {_MOST_BYTES:,} bytes"
    document, problems = decode(data, path)
    if any(problem.level == "error" for problem in problems):
        return None, "it is no text"
    return document.text.replace("\r\n", "\n"), ""
