from __future__ import annotations

import pytest
from packaging.version import Version

from mlacheck.probes.flashinfer import read_installed, recorded_versions, signature_table


@pytest.mark.parametrize(
    ("parameter", "last_without", "first_with"),
    [
        ("skip_softmax_threshold_scale_factor", "0.6.3", "0.6.4"),
        ("return_lse", "0.6.11.post3", "0.6.12"),
        ("cum_seq_lens_q", "0.6.13", "0.6.14"),
        ("multi_ctas_kv_counter_buffer", "0.6.14", "0.6.15"),
        ("enable_dcp", "0.6.16.post4", "0.6.17"),
        ("use_fp16_softmax", "0.6.17", "0.6.18"),
        ("return_lse_base", "0.7.0.post1", "0.7.1"),
    ],
)
def test_parameters_by_version(parameter, last_without, first_with):
    assert parameter not in signature_table(Version(last_without)).decode_parameters
    assert parameter in signature_table(Version(first_with)).decode_parameters


def test_modules_by_version():
    name = "comm.dcp_alltoall"
    assert name not in signature_table(Version("0.6.9")).modules
    assert name in signature_table(Version("0.6.10")).modules
    assert "decode.BatchDecodeMlaWithPagedKVCacheWrapper" in signature_table(Version("0.6.18")).modules
    assert "decode.BatchDecodeMlaWithPagedKVCacheWrapper" not in signature_table(Version("0.7.0")).modules


def test_wrapper_signatures_are_recorded():
    run = signature_table(Version("0.6.17")).signatures["mla.BatchMLAPagedAttentionWrapper.run"]
    assert run[:4] == ("q_nope", "q_pe", "ckv_cache", "kpe_cache")
    assert "return_lse_base_on_e=False" in run


@pytest.mark.parametrize(
    ("asked", "recorded", "extrapolated"),
    [
        ("0.6.17", "0.6.17", False),
        ("0.6.17+cu130", "0.6.17", False),
        ("0.6.17.post1", "0.6.17", True),
        ("0.6.17rc2", "0.6.17", True),
        ("0.6.17.dev20260701", "0.6.17", True),
        ("0.7.3", "0.7.2.post1", True),
        ("0.9.0", "0.7.4", True),
        ("0.5.3", "0.6.0", True),
    ],
)
def test_nearest_recorded_version(asked, recorded, extrapolated):
    facts = signature_table(Version(asked))
    assert (facts.recorded, facts.extrapolated) == (recorded, extrapolated)
    assert facts.importable


def test_every_release_is_recorded_in_order():
    versions = [Version(text) for text in recorded_versions()]
    assert versions == sorted(versions)
    assert len(versions) == len(set(versions)) >= 39


def test_installed_source(tree, tmp_path):
    source = tree(
        tmp_path,
        {
            "decode.py": "from .mla import trtllm_batch_decode_with_kv_cache_mla\n",
            "mla.py": "def trtllm_batch_decode_with_kv_cache_mla(query, enable_dcp=False): ...\n",
            "comm/dcp_alltoall.py": "",
        },
    )
    facts = read_installed(source.root, Version("0.6.17"))
    assert facts.decode_parameters == {"query", "enable_dcp"}
    assert facts.modules == {"comm.dcp_alltoall"}
    assert facts.importable
    assert facts.problems == ()


def test_installed_source_without_the_function(tree, tmp_path):
    facts = read_installed(tree(tmp_path, {"decode.py": ""}).root, Version("0.6.17"))
    assert facts.decode_parameters is None
    assert not facts.importable
    assert "is not defined" in facts.problems[0]
