from __future__ import annotations

import pytest

from mlacheck.probes.signature import Signature, SourceProblem, load_watched

DECODE = "decode.trtllm_batch_decode_with_kv_cache_mla"


def test_decorators_and_kinds_of_parameters(tree, tmp_path):
    source = tree(
        tmp_path, {"a.py": "@api(trace=x)\ndef f(q, /, k=None, *rest, lse: T = 1.0, out, **more): ...\n"}
    )
    assert source.signature("a.f") == Signature("a.f", ("q", "k=None", "*rest", "lse=1.0", "out", "**more"))


def test_names_leave_the_defaults_out():
    assert Signature("f", ("q", "backend='auto'", "x=(1, 2)")).names == ("q", "backend", "x")


DEFINITION = "def f(q, enable_dcp=False): ...\n"
IMPORT = "from .mla import f\n"


@pytest.mark.parametrize(
    "files",
    [
        {"decode.py": "from .mla import f as f\n", "mla.py": DEFINITION},
        {"decode.py": IMPORT, "mla/__init__.py": "from ._core import *\n", "mla/_core.py": DEFINITION},
        {"decode.py": "from flashinfer.mla import g as f\n", "mla.py": "def g(q, enable_dcp=False): ...\n"},
        {
            "decode.py": IMPORT,
            "mla/__init__.py": "from ._b._w import f\n",
            "mla/_b/__init__.py": "",
            "mla/_b/_w.py": "from .._core import f\n",
            "mla/_core.py": DEFINITION,
        },
        {"decode.py": "def f(q): ...\n" + DEFINITION},
        {"decode.py": "def g(q, enable_dcp=False): ...\nf = g\n"},
        {"decode.py": f"try:\n    {IMPORT}except ImportError:\n    f = None\n", "mla.py": DEFINITION},
        {"decode.py": f"if TORCH >= 2:\n    {DEFINITION}else:\n    def f(q): ...\n"},
    ],
)
def test_follows_re_exports(tree, tmp_path, files):
    assert tree(tmp_path, files).signature("decode.f") == Signature("decode.f", ("q", "enable_dcp=False"))


def test_method_is_the_implementation_behind_its_overloads(tree, tmp_path):
    text = (
        "class W:\n"
        "    @overload\n"
        "    def run(self, q, *, lse: Literal[True]): ...\n"
        "    def run(self, q, lse=False): ...\n"
    )
    source = tree(tmp_path, {"mla.py": text})
    assert source.signature("mla.W.run") == Signature("mla.W.run", ("q", "lse=False"))
    assert isinstance(source.signature("mla.W"), SourceProblem)
    assert isinstance(source.signature("mla.W.plan"), SourceProblem)


def test_missing_cyclic_and_foreign_names_are_values(tree, tmp_path):
    source = tree(
        tmp_path,
        {"a.py": "from .b import f\nfrom torch import g\nfrom .... import h\n", "b.py": "from .a import f\n"},
    )
    for name in ("a.f", "a.g", "a.h", "a.nothing", "no.module"):
        assert isinstance(source.signature(name), SourceProblem), name


def test_unreadable_source_is_a_value(tree, tmp_path):
    source = tree(tmp_path, {"a.py": "def f(:\n", "b.py": "\0"})
    for name in ("a.f", "b.f"):
        problem = source.signature(name)
        assert isinstance(problem, SourceProblem)
        assert "cannot be read" in problem.message
        assert not source.has(name)


def test_has_modules_packages_and_names(tree, tmp_path):
    source = tree(tmp_path, {"comm/__init__.py": "", "comm/dcp.py": "def f(): ...\n", "data/x.txt": ""})
    assert source.has("comm")
    assert source.has("comm.dcp")
    assert source.has("comm.dcp.f")
    assert source.has("data")
    assert not source.has("comm.other")
    assert not source.has("comm.dcp.g")


def test_nothing_is_executed(tree, tmp_path):
    flag = tmp_path / "ran"
    source = tree(tmp_path, {"decode.py": f"open({str(flag)!r}, 'w')\ndef f(q): ...\n"})
    assert isinstance(source.signature("decode.f"), Signature)
    assert not flag.exists()


def test_the_decode_function_is_watched():
    assert load_watched().decode == DECODE
    assert DECODE in load_watched().callables
