"""From bytes to text: byte order marks, encodings, and what is no text at all."""

from __future__ import annotations

import codecs
from typing import Final

from mlacheck.launch.command import Document, LaunchProblem
from mlacheck.launch.piece import Lines
from mlacheck.launch.programs import MENTIONS
from mlacheck.pattern import lazy
from mlacheck.probes.engine import ENGINES, entry_points

MOST_BYTES: Final = 8_000_000
_ENTRY: Final = lazy("|".join(entry_points(engine)["entry"] for engine in ENGINES))
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(data: bytes, file: str | None) -> tuple[Document, tuple[LaunchProblem, ...]]:
    """Decode a file; a problem of level error means that there is no text to read."""
    if len(data) > MOST_BYTES:
        what = f"the file holds {len(data):,} bytes, more than the {MOST_BYTES:,} that are read"
        return Document("", file), (LaunchProblem("too-large", what, "give the launch command alone"),)
    bom, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    body = data[len(bom) :]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        place = Lines(before := body[: error.start].decode(encoding, "replace")).place(len(before))
        byte = f"byte 0x{body[error.start]:02x} is not {encoding.upper()}"
        if encoding != "utf-8" or b"\0" in body:
            return Document("", file), (LaunchProblem("not-text", byte, "convert the text to UTF-8", *place),)
        told = LaunchProblem(
            "not-utf8", f"{byte}; read as Latin-1", "convert the text to UTF-8", *place, "info"
        )
        return Document(body.decode("latin-1"), file, "latin-1"), (told,)
    if "\0" in text:
        place = Lines(text).place(text.index("\0"))
        what = "the file holds a NUL byte: it is not text, or in UTF-16 without a byte order mark"
        return Document("", file), (LaunchProblem("not-text", what, "convert the text to UTF-8", *place),)
    return Document(text, file, encoding, bom), ()


def names_entry(text: str) -> bool:
    """Tell whether a text names an entry point of an engine."""
    return any(mark in text for mark in MENTIONS) and _ENTRY.search(text) is not None


def bytes_name_entry(data: bytes) -> bool:
    """Tell whether bytes name an entry point, whatever their encoding."""
    return names_entry(data.replace(b"\0", b"").decode("latin-1"))
