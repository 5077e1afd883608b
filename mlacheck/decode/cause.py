"""What went wrong in a kernel, in one line."""

from __future__ import annotations

import re
import socket
import subprocess
from typing import Any, Final

import torch

_BUILDS: Final = re.compile(r"ninja|nvcc|ptxas|cicc|cute\.compile|Error building extension", re.IGNORECASE)
_ERROR_LINE: Final = re.compile(r"\berror\b[: ]|No such file|not found", re.IGNORECASE)
_LOST: Final = (
    "illegal memory access",
    "misaligned address",
    "device-side assert",
    "unspecified launch failure",
)
_HERE: Final = ("127.", "localhost", "::1")


class DownloadError(BaseException):
    """A kernel package tried to reach a host; no ordinary handler, such as one that retries, catches it."""


def forbid_downloads() -> None:
    """Let nothing in this process look up or reach another host through Python's sockets."""

    def refuse(host: object) -> None:
        name = str(host)
        if host is not None and not name.startswith(_HERE):
            raise DownloadError(name)

    lookup, connect = socket.getaddrinfo, socket.socket.connect

    def getaddrinfo(host: Any, *rest: Any, **options: Any) -> Any:
        refuse(host.decode() if isinstance(host, bytes) else host)
        return lookup(host, *rest, **options)

    def checked(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple):
            refuse(address[0])
        connect(self, address)

    socket.getaddrinfo = getaddrinfo
    socket.socket.connect = checked  # type: ignore[method-assign,assignment]  # the point of it


def cause_of(error: BaseException) -> str:
    """Say what an exception of a kernel means."""
    if isinstance(error, DownloadError):
        return (
            f"the kernel package tried to download from {error}: this machine lacks its prebuilt kernels; "
            "install them (flashinfer-cubin for FlashInfer) or start the engine once where it may download"
        )
    if isinstance(error, torch.OutOfMemoryError):
        return f"out of GPU memory: {_first_line(error)}"
    text = str(error)
    if isinstance(error, subprocess.CalledProcessError):
        text = f"{error}\n{error.output or ''}\n{error.stderr or ''}"
    if _BUILDS.search(text):
        return f"the kernel does not compile here: {_error_line(text)}"
    return f"{type(error).__name__}: {_first_line(error)}"


def context_lost(error: BaseException) -> bool:
    """Tell whether the GPU context is of no more use after an error."""
    if any(sign in str(error) for sign in _LOST):
        return True
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # torch's own
        return False
    try:
        torch.cuda.synchronize()
    except Exception:  # noqa: BLE001 - any error here is sticky
        return True
    return False


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else "no message"


def _error_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if _ERROR_LINE.search(line)), lines[0] if lines else "no message")[
        :300
    ]
