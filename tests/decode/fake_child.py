"""A child process whose kernel does one bad thing, and only where ranks hold no token.

Usage: python fake_child.py KIND
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
import urllib.request

import torch

sys.path.insert(0, os.getcwd())  # noqa: PTH109 - where the parent starts its children

from planted_faults import Faulty

from mlacheck.decode import backend, child

KIND = sys.argv[1]
torch.set_num_threads(1)


class Bad(Faulty):
    def before(self, shard):
        first = KIND.endswith("-at-once")
        if first or (min(shard.global_lengths) == 1 and shard.dcp_size > 1):
            getattr(self, KIND.removesuffix("-at-once").replace("-", "_"))()
        return shard

    def hang(self):
        time.sleep(600)

    def crash(self):
        sys.stderr.write("Fatal: the kernel library gave up\n")
        sys.stderr.flush()
        ctypes.string_at(0)

    def illegal_access(self):
        raise RuntimeError(
            "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be ..."
        )

    def out_of_memory(self):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 90.00 GiB. GPU 0 has ...")

    def build_failure(self):
        raise RuntimeError(
            "Ninja build failed. Ninja output:\nninja: Entering directory `/cache'\n[1/3] nvcc -c x.cu\n"
            'FAILED: x.o\nx.cu(7): error: identifier "foo" is undefined\nninja: build stopped.'
        )

    def download(self):
        try:
            urllib.request.urlopen("https://kernels.example/cubin")
        except Exception:  # noqa: BLE001 - what libraries that retry do
            time.sleep(600)

    def exception(self):
        raise ValueError("num_heads must be a multiple of 16\nmore")


def load(name, options):  # noqa: ARG001 - one kernel only
    bad = Bad()
    bad.builds = "the first call compiles the kernel, which takes 20 s or more"
    return bad


backend.load_backend = load
sys.exit(child.main())
