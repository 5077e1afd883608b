from __future__ import annotations

import pytest
from packaging.version import Version

from mlacheck.probes.version import Nearest, nearest, parse_version, tag_version

RECORDED = ("0.5.17", "0.5.18", "0.5.18.post2", "0.5.20")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.5.18", "0.5.18"),
        ("v0.5.18", "0.5.18"),
        ("0.5.18.post1", "0.5.18.post1"),
        ("0.5.19rc1", "0.5.19rc1"),
        ("0.5.19.dev123+g1234567", "0.5.19.dev123+g1234567"),
        ("v0.5.18-cu130", "0.5.18"),
        ("v0.5.18.post1-cu129-runtime", "0.5.18.post1"),
        ("latest", None),
        ("main", None),
        ("", None),
        ("0.5.x", None),
        ("0.0.0.dev1+gabcdef0", None),
        ("0.0.0", None),
    ],
)
def test_parse(text, version):
    assert parse_version(text) == (None if version is None else Version(version))


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("v0.5.18-cu130", "0.5.18"),
        ("0.5.18", "0.5.18"),
        ("v0.5.18rc0-cu130", "0.5.18rc0"),
        ("v0.5.18-rocm700-mi35x", "0.5.18"),
        ("25.12-py3", None),
        ("latest-cu130", None),
        ("nightly-dev-20260811-1a2b3c4d", None),
        ("dev-cu13", None),
        ("1.2.3.4.5x", None),
    ],
)
def test_tags(tag, version):
    assert tag_version(tag) == (None if version is None else Version(version))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("0.5.18", Nearest("0.5.18", exact=True)),
        ("0.5.18+cu130", Nearest("0.5.18", exact=True)),
        ("0.5.18.post1", Nearest("0.5.18", exact=False)),
        ("0.5.18.post9", Nearest("0.5.18.post2", exact=False)),
        ("0.5.18rc1", Nearest("0.5.18", exact=False)),
        ("0.5.20.dev7+gabc", Nearest("0.5.20", exact=False)),
        ("0.5.19", Nearest("0.5.18.post2", exact=False)),
        ("0.6.0", Nearest("0.5.20", exact=False)),
        ("0.5.21.dev1", Nearest("0.5.20", exact=False)),
        ("0.4.0", Nearest("0.5.17", exact=False)),
    ],
)
def test_nearest(asked, found):
    assert nearest(Version(asked), RECORDED) == found


def test_nearest_of_none():
    assert nearest(Version("0.5.18"), ()) is None
