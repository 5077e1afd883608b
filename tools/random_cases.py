"""Make random launch cases from a seed, for replay by the real engine and by tools/conformance.py.

Prints one JSON object a line: {id, model, gpu, flashinfer, args, env}. `model` and `@name` in args are
folders under tests/conformance/models. The same seed, version and count give the same cases. Few (gpu,
flashinfer) pairs are drawn for one batch, since a replay imports the engine once for each pair.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
MODELS: Final = ROOT / "tests" / "conformance" / "models"
GPUS: Final = (
    "a100", "l40s", "h100", "h200", "h20", "b200", "gb200", "b300", "gb300", "sm120", "gb10", "none",
)  # fmt: skip
GPU_WEIGHTS: Final = (2, 2, 3, 6, 2, 8, 5, 4, 4, 4, 1, 0.3)
FLASHINFERS: Final = (
    "0.6.11.post3", "0.6.12", "0.6.14", "0.6.15.post1", "0.6.17", "0.6.18", "0.7.1", "0.7.2", None,
)  # fmt: skip
COMMON_MODELS: Final = (
    "deepseek-v3",
    "deepseek-v3.2",
    "kimi-k2",
    "kimi-k3",
    "llama-3.1-8b",
    "deepseek-v2-lite",
)

# Values worth trying, by argument; others come from the argument's choices or its type.
VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "page_size": (1, 16, 32, 64, 64, 128, 256, 0, 3),
    "tp_size": (1, 2, 4, 8, 8, 8, 16, 3, 6),
    "dcp_size": (1, 2, 4, 8, 8, 3),
    "dp_size": (1, 2, 4, 8, 3),
    "ep_size": (1, 2, 4, 8, 3),
    "pp_size": (1, 2, 4),
    "attn_cp_size": (1, 2, 4, 8),
    "moe_dp_size": (1, 2, 4),
    "moe_dense_tp_size": (1, 2),
    "nnodes": (1, 2),
    "node_rank": (0, 0, 1),
    "speculative_algorithm": (
        "EAGLE", "EAGLE", "EAGLE3", "EAGLE3", "NEXTN", "STANDALONE", "DFLASH", "DSPARK", "DSPARK", "NGRAM",
        "FROZEN_KV_MTP", "UNO", "DOMINO", "NONE", "eagle",
    ),
    "speculative_draft_attention_backend": (
        "triton", "flashinfer", "fa3", "fa4", "trtllm_mla", "trtllm_mha", "cutedsl_mla", "tokenspeed_mla",
        "flashmla",
        "cutlass_mla", "dsa", "nsa", "torch_native",
    ),
    "radix_cache_backend": ("radix", "cpp", "unified", "x"),
    "eplb_algorithm": ("auto", "deepseek", "elasticity_aware"),
    "dllm_algorithm": ("LowConfidence", "x"),
    "init_expert_location": ("trivial",),
    "offload_mode": ("cpu", "meta", "x"),
    "speculative_num_steps": (1, 2, 3, 3, 5, 7),
    "speculative_eagle_topk": (1, 1, 1, 2, 4, 8),
    "speculative_num_draft_tokens": (2, 4, 4, 6, 8, 16),
    "speculative_dflash_block_size": (4, 8, 16),
    "speculative_dspark_block_size": (4, 7, 8),
    "speculative_draft_window_size": (64, 128, 2048, 0),
    "chunked_prefill_size": (-1, 512, 2048, 4096, 8192, 16384, 0, 1000),
    "max_running_requests": (1, 2, 8, 32, 64, 256, 1024),
    "context_length": (2048, 8192, 131072, 1000000),
    "mem_fraction_static": (0.5, 0.7, 0.85, 0.95),
    "max_total_tokens": (4096, 65536, 1000000),
    "cuda_graph_max_bs": (1, 8, 64, 256),
    "cuda_graph_max_bs_decode": (1, 8, 64, 256),
    "cuda_graph_max_bs_prefill": (512, 4096),
    "hicache_ratio": (0.5, 1.0, 2.0),
    "hicache_size": (0, 10, 50),
    "mamba_track_interval": (1, 64, 256),
    "max_mamba_cache_size": (8, 64, 512),
    "disaggregation_decode_tp": (1, 8),
    "num_continuous_decode_steps": (1, 2, 4),
    "kv_canary_sweep_interval": (0, 1, 10),
    "dist_init_addr": ("127.0.0.1:20000",),
    "speculative_draft_model_path": (
        "@draft-dflash-llama", "@draft-dspark-generic", "@draft-dspark-k3", "@draft-eagle-llama",
        "@draft-eagle3-llama", "@draft-eagle3-mla", "@draft-qwen2.5-0.5b",
    ),
    "json_model_override_args": ("{}", '{"num_hidden_layers": 4}'),
    "load_format": ("dummy",),
}  # fmt: skip

# Groups of arguments that act together: (weight, {argument: chance to be given}).
GROUPS: Final[tuple[tuple[float, dict[str, float]], ...]] = (
    (10, {"attention_backend": 0.9, "page_size": 0.5, "kv_cache_dtype": 0.5}),
    (6, {"prefill_attention_backend": 0.7, "decode_attention_backend": 0.8, "page_size": 0.3}),
    (6, {"dcp_size": 0.9, "dcp_comm_backend": 0.4, "dcp_replicate_q_proj": 0.3,
         "decode_attention_backend": 0.5}),
    (10, {
        "speculative_algorithm": 1, "speculative_draft_model_path": 0.6, "speculative_num_steps": 0.6,
        "speculative_eagle_topk": 0.6, "speculative_num_draft_tokens": 0.6, "speculative_attention_mode": 0.2,
        "speculative_draft_attention_backend": 0.25, "speculative_dflash_block_size": 0.1,
        "speculative_dspark_block_size": 0.1, "speculative_draft_window_size": 0.1,
        "speculative_draft_kv_cache_dtype": 0.1, "speculative_use_rejection_sampling": 0.06,
        "speculative_moe_runner_backend": 0.08, "speculative_draft_model_quantization": 0.06,
        "enable_multi_layer_eagle": 0.05, "speculative_adaptive": 0.05, "speculative_token_map": 0.03,
    }),
    (5, {"enable_dp_attention": 0.8, "dp_size": 0.8, "enable_dp_lm_head": 0.2, "moe_dense_tp_size": 0.2}),
    (5, {"ep_size": 0.5, "moe_a2a_backend": 0.4, "moe_runner_backend": 0.6, "quantization": 0.2,
         "deepep_mode": 0.1,
         "enable_eplb": 0.1, "enable_two_batch_overlap": 0.1, "enable_single_batch_overlap": 0.05}),
    (3, {"pp_size": 0.8, "nnodes": 0.3, "node_rank": 0.2, "dist_init_addr": 0.3,
         "enable_dynamic_chunking": 0.2}),
    (4, {"enable_hierarchical_cache": 0.8, "hicache_ratio": 0.2, "hicache_size": 0.2,
         "hicache_io_backend": 0.3,
         "hicache_mem_layout": 0.4, "hicache_write_policy": 0.2, "hicache_storage_backend": 0.3,
         "disable_radix_cache": 0.1, "page_size": 0.3}),
    (4, {"disaggregation_mode": 1, "disaggregation_transfer_backend": 0.4,
         "disaggregation_decode_enable_radix_cache":
         0.2, "disaggregation_decode_enable_offload_kvcache": 0.2, "num_reserved_decode_tokens": 0.1}),
    (4, {"dsa_prefill_backend": 0.6, "dsa_decode_backend": 0.6, "dsa_topk_backend": 0.2,
         "kv_cache_dtype": 0.4,
         "dsa_paged_mqa_logits_backend": 0.2, "nsa_prefill_backend": 0.3, "nsa_decode_backend": 0.3,
         "enable_hisparse": 0.1}),
    (4, {"chunked_prefill_size": 0.6, "disable_radix_cache": 0.3, "enable_mixed_chunk": 0.3,
         "max_prefill_tokens": 0.2,
         "disable_overlap_schedule": 0.2, "max_running_requests": 0.3, "context_length": 0.3}),
    (3, {"disable_cuda_graph": 0.3, "cuda_graph_max_bs": 0.3, "cuda_graph_max_bs_decode": 0.3,
         "cuda_graph_bs": 0.2,
         "cuda_graph_backend_decode": 0.3, "cuda_graph_backend_prefill": 0.3,
         "disable_prefill_cuda_graph": 0.2,
         "enable_torch_compile": 0.2, "enable_piecewise_cuda_graph": 0.2,
         "disable_piecewise_cuda_graph": 0.2}),
    (3, {"quantization": 0.8, "fp8_gemm_backend": 0.2, "fp4_gemm_backend": 0.2, "dtype": 0.2}),
    (3, {"enable_deterministic_inference": 0.8, "rl_on_policy_target": 0.2, "sampling_backend": 0.3,
         "attention_backend": 0.4}),
    (2, {"enable_symm_mem": 0.6, "enable_nccl_nvls": 0.2, "enable_torch_symm_mem": 0.2, "enable_mscclpp": 0.2,
         "enable_flashinfer_allreduce_fusion": 0.3, "disable_custom_all_reduce": 0.2}),
    (3, {"mamba_backend": 0.3, "mamba_ssm_dtype": 0.3, "mamba_scheduler_strategy": 0.3,
         "max_mamba_cache_size": 0.2,
         "mamba_radix_cache_strategy": 0.4, "linear_attn_backend": 0.5, "linear_attn_decode_backend": 0.3,
         "linear_attn_prefill_backend": 0.3, "mamba_track_interval": 0.2}),
    (2, {"attn_cp_size": 0.8, "moe_dp_size": 0.3, "enable_prefill_cp": 0.4, "cp_strategy": 0.4,
         "enable_nsa_prefill_context_parallel": 0.3, "enable_dsa_prefill_context_parallel": 0.3}),
    (2, {"enable_lora": 0.7, "lora_backend": 0.4, "max_lora_rank": 0.4, "max_loras_per_batch": 0.3}),
    (1, {"enable_lmcache": 0.4, "enable_unified_memory": 0.4, "enable_page_major_kv_layout": 0.3,
         "enable_pdmux": 0.3, "dllm_algorithm": 0.3, "cpu_offload_gb": 0.2, "enable_memory_saver": 0.2}),
)  # fmt: skip

ENVIRONMENT: Final[dict[str, tuple[str, ...]]] = {
    "SGLANG_ENABLE_SPEC_V2": ("0", "1", "true"),
    "SGLANG_ENABLE_OVERLAP_PLAN_STREAM": ("1",),
    "SGLANG_RAGGED_VERIFY_MODE": ("off", "auto", "on", "static", "compact"),
    "SGLANG_ENABLE_PP_SPEC": ("0", "1"),
    "SGLANG_IS_FLASHINFER_AVAILABLE": ("0", "false", "true"),
    "SGLANG_SKIP_SGL_KERNEL_VERSION_CHECK": ("1",),
    "FLASHINFER_DISABLE_VERSION_CHECK": ("1",),
    "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": ("1", "true"),
    "SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION": ("1",),
    "SGLANG_DISAGG_STAGING_BUFFER": ("1",),
    "SGLANG_NSA_FORCE_MLA": ("1",),
    "SGLANG_DSA_FORCE_MLA": ("1",),
    "SGLANG_ENABLE_TORCH_COMPILE": ("1",),
    "SGLANG_SET_CPU_AFFINITY": ("1",),
    "SGLANG_SKIP_P2P_CHECK": ("1",),
}

# Not tried: they name files or endpoints, print help, or change the machine.
SKIPPED: Final = {
    "help",
    "model_path",
    "config",
    "version",
    "tokenizer_path",
    "model_impl",
    "use_ray",
    "device",
}
_SKIPPED_ENDINGS: Final = (
    "_path", "_file", "_dir", "_folder", "_url", "_urls", "_endpoint", "_endpoints", "_ip", "_port",
    "_addr", "_socket",
    "_keyfile", "_certfile", "_certs", "_config", "_config_file", "_device", "_paths", "_loader",
)  # fmt: skip
_ODD_INTS: Final = (0, -1, -8, 2**31, 10**12)


class Maker:
    """Draws cases for one engine version."""

    def __init__(self, version: str, seed: int, pairs: int) -> None:
        flags = json.loads(
            (ROOT / "rules" / "sglang" / "flags" / f"{version}.json").read_text(encoding="utf-8")
        )
        self.version, self.seed = version, seed
        self.options: dict[str, dict[str, Any]] = {one["dest"]: one for one in flags["options"]}
        self.free = sorted(
            dest
            for dest, one in self.options.items()
            if dest not in SKIPPED
            and not dest.endswith(_SKIPPED_ENDINGS)
            and one["type"] in (None, "int", "float", "str", "human_readable_int")
        )
        self.random = random.Random(f"{version}/{seed}")  # noqa: S311  # reproducible on purpose
        pin = flags["pins"].get("flashinfer-python")
        others = [one for one in FLASHINFERS if one != pin]
        self.pairs: list[tuple[str, str | None]] = []
        while len(self.pairs) < pairs:
            gpu = self.random.choices(GPUS, GPU_WEIGHTS)[0]
            flashinfer = (
                pin if pin in FLASHINFERS and self.random.random() < 0.7 else self.random.choice(others)
            )
            if (gpu, flashinfer) not in self.pairs:
                self.pairs.append((gpu, flashinfer))
        self.models = sorted(one.name for one in MODELS.iterdir() if not one.name.startswith("draft-"))

    def case(self, number: int) -> dict[str, Any]:
        """Draw one case."""
        rng = self.random
        gpu, flashinfer = self.pairs[number % len(self.pairs)]
        model = rng.choice(COMMON_MODELS if rng.random() < 0.5 else self.models)
        given: dict[str, list[str]] = {}
        if rng.random() < 0.75:
            self.give(given, "tp_size", rng.choice((8, 8, 8, 8, 4)))
        groups = rng.choices(
            [one[1] for one in GROUPS], [one[0] for one in GROUPS], k=rng.choice((1, 1, 2, 2, 3))
        )
        for group in groups:
            for dest, chance in group.items():
                if rng.random() < chance:
                    self.give(given, dest)
        while rng.random() < 0.25:
            self.give(given, rng.choice(self.free))
        args = [word for words in given.values() for word in words]
        env = {}
        if rng.random() < 0.08:
            name = rng.choice(sorted(ENVIRONMENT))
            env[name] = rng.choice(ENVIRONMENT[name])
        name = f"{self.version}-s{self.seed}-{number:04}"
        return {"id": name, "model": model, "gpu": gpu, "flashinfer": flashinfer, "args": args, "env": env}

    def give(self, given: dict[str, list[str]], dest: str, value: object = None) -> None:
        """Add an argument that this version has."""
        option = self.options.get(dest)
        if option is None or option.get("action") == "help":
            return
        rng = self.random
        flag = rng.choice(option["flags"]) if rng.random() < 0.3 else option["flags"][0]
        if rng.random() < 0.004:
            flag = flag.replace("-", "_")[1:] if rng.random() < 0.5 else flag[:-1]
        if option["nargs"] == 0 or option["action"].startswith("store_"):
            given[dest] = [flag]
            return
        words = [str(value if value is not None else self.value(dest, option))]
        if option["nargs"] in ("+", "*") and rng.random() < 0.5:
            words.append(str(self.value(dest, option)))
        given[dest] = (
            [f"{flag}={words[0]}"]
            if rng.random() < 0.05 and len(words) == 1 and words[0][:1] != "@"
            else [flag, *words]
        )

    def value(self, dest: str, option: dict[str, Any]) -> object:
        """Draw a value of an argument, now and then an odd one."""
        rng = self.random
        odd = rng.random() < 0.02
        number = option["type"] in ("int", "float", "human_readable_int")
        if odd and number:
            return rng.choice((*_ODD_INTS, "x", "1.5"))
        if odd and option["choices"]:
            return str(rng.choice(option["choices"]))[:-1]
        if dest in VALUES:
            return rng.choice(VALUES[dest])
        if option["choices"]:
            return rng.choice(option["choices"])
        if number:
            return (
                rng.choice((0.1, 0.5, 1, 2))
                if option["type"] == "float"
                else rng.choice((0, 1, 2, 4, 8, 64, 1024))
            )
        return rng.choice(("x", "auto", "none"))


def main() -> int:
    """Print the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True, help="engine version, one with flags data in rules/")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=250)
    parser.add_argument("--pairs", type=int, default=10, help="(GPU, FlashInfer) pairs in the batch")
    given = parser.parse_args()
    maker = Maker(given.version, given.seed, given.pairs)
    for number in range(1, given.count + 1):
        sys.stdout.write(json.dumps(maker.case(number)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
