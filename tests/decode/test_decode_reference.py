"""The float64 reference, the merge, the pages and the inputs."""

from __future__ import annotations

import math
import weakref

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the decode check itself needs it")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from mlacheck.decode import inputs as inputs_module  # noqa: E402
from mlacheck.decode.inputs import make_inputs  # noqa: E402
from mlacheck.decode.merge import SUMS, merge  # noqa: E402
from mlacheck.decode.pages import NO_PAGE, make_shard  # noqa: E402
from mlacheck.decode.problem import DecodeProblem  # noqa: E402
from mlacheck.decode.reference import reference_decode  # noqa: E402

CPU = torch.device("cpu")
PROBLEM = DecodeProblem(heads=3, latent_dim=16, rope_dim=8, softmax_scale=0.2, dcp_size=4, page_size=4)
LENGTHS = (5, 33, 18)


def inputs(q_len=1, problem=PROBLEM, **options):
    return make_inputs(problem, LENGTHS, CPU, q_len=q_len, **options)


def plain(given, request, head, row):
    """The formula, one score at a time."""
    latent, rope = given.values(request)
    q_len = given.q_latent.shape[1]
    own = len(latent) - q_len + row
    query, rotated = given.q_latent[request, row, head].double(), given.q_rope[request, row, head].double()
    scores = [float(query @ latent[j] + rotated @ rope[j]) * PROBLEM.softmax_scale for j in range(own + 1)]
    lse = math.log(sum(math.exp(score) for score in scores))
    return sum(math.exp(score - lse) * latent[j] for j, score in enumerate(scores)), lse


@pytest.mark.parametrize("q_len", [1, 3])
def test_the_reference_is_the_formula(q_len):
    given = inputs(q_len)
    output, lse = reference_decode(given, PROBLEM.softmax_scale)
    for request in range(len(LENGTHS)):
        for row in range(q_len):
            want, want_lse = plain(given, request, 1, row)
            assert torch.allclose(output[request, row, 1], want, atol=1e-12)
            assert float(lse[request, row, 1]) == pytest.approx(want_lse, abs=1e-12)


def test_blocks_do_not_matter():
    whole = reference_decode(inputs(2), 0.2)
    for block in (1, 3, 7):
        parts = reference_decode(inputs(2), 0.2, block=block)
        assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(whole, parts, strict=True))


@pytest.mark.parametrize("interleave", [1, 2, 16])
@pytest.mark.parametrize("dcp_size", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("q_len", [1, 4])
@pytest.mark.parametrize("base", ["e", "2"])
@pytest.mark.parametrize("comm", ["ag_rs", "a2a"])
def test_merged_ranks_are_the_whole(dcp_size, q_len, base, comm, interleave):
    given = inputs(q_len)
    ranks = [
        reference_decode(given, 0.2, dcp_size=dcp_size, rank=rank, interleave=interleave, block=3)
        for rank in range(dcp_size)
    ]
    lses = torch.stack([lse for _, lse in ranks]) / (math.log(2) if base == "2" else 1)
    output = merge(torch.stack([output for output, _ in ranks]), lses, lse_base=base, comm=comm)
    want, _ = reference_decode(given, 0.2)
    assert torch.allclose(output, want, atol=1e-12)


@pytest.mark.parametrize("comm", ["ag_rs", "a2a"])
def test_what_merges_do_about_empty_ranks(comm):
    def merged(second, lse, **options):
        outputs = torch.tensor([[[1.0]], [[second]]])
        return merge(outputs, torch.tensor([[0.0], [lse]]), lse_base="e", comm=comm, **options).item()

    assert merged(5.0, math.inf) == 1.0
    assert merged(5.0, math.nan) == 1.0
    assert merged(5.0, -math.inf) == 1.0
    assert math.isnan(merged(5.0, math.inf, empty_ranks="as-is"))
    # A weight of 0 does not stop NaN.
    assert math.isnan(merged(math.nan, -math.inf))
    # What is finite counts, whoever sent it.
    assert merged(5.0, 0.0) == 3.0
    for lse in (math.nan, math.inf, 0.0):
        for way in ("lengths", "forced"):
            assert merged(math.nan, lse, empty_ranks=way, lengths=[[7], [0]]) == 1.0
    # A query that sees none of a rank's tokens: only forcing the output stops its NaN.
    assert math.isnan(merged(math.nan, -math.inf, empty_ranks="lengths", lengths=[[7], [2]]))
    assert merged(math.nan, -math.inf, empty_ranks="forced", lengths=[[7], [2]]) == 1.0


def test_sums_in_the_outputs_own_dtype_round():
    outputs = torch.randn(8, 1, 64, generator=torch.Generator().manual_seed(3)).bfloat16()
    lses = torch.zeros(8, 1)
    exact = outputs.double().mean(0)
    wide, narrow = (merge(outputs, lses, lse_base="e", sums=sums).double() for sums in SUMS)
    assert (wide - exact).abs().max() < 1e-6
    assert 1e-4 < (narrow - exact).abs().max() < 1e-2


@pytest.mark.parametrize("comm", ["ag_rs", "a2a"])
def test_a_request_that_no_rank_holds_merges_to_zero(comm):
    outputs, lses = torch.zeros(2, 1, 1), torch.full((2, 1), -math.inf)
    assert merge(outputs, lses, lse_base="2", comm=comm).item() == 0.0


def test_inputs_are_the_same_each_time_and_follow_the_seed():
    assert torch.equal(inputs().tokens[1], inputs().tokens[1])
    other = make_inputs(PROBLEM.with_(seed=1), LENGTHS, CPU)
    assert not torch.equal(inputs().tokens[1], other.tokens[1])


def test_the_planted_key_makes_ranks_unequal():
    problem = PROBLEM.with_(heads=8, latent_dim=512, rope_dim=64, softmax_scale=192**-0.5)
    given = make_inputs(problem, (512,), CPU)
    lses = torch.stack(
        [reference_decode(given, problem.softmax_scale, dcp_size=4, rank=r)[1] for r in range(4)]
    )
    highest = lses.mean((1, 2, 3)).sort().values
    assert highest[-1] - highest[-2] > 1


def test_fp8_scales_stand_for_the_same_values():
    problem = PROBLEM.with_(kv_dtype="fp8_e4m3")
    one, scaled = inputs(problem=problem), inputs(problem=problem, latent_scale=0.5, rope_scale=2.0)
    for got, want in zip(scaled.values(1), one.values(1), strict=True):
        assert (got - want).norm() / want.norm() < 0.05
    assert not torch.equal(one.tokens[1].float(), scaled.tokens[1].float())


def test_no_page_lies_before_or_after_the_table():
    for rank in range(4):
        table = make_shard(PROBLEM, inputs(), dcp_size=4, rank=rank, shuffle=True).page_table
        around = [
            torch.as_strided(table, (1,), (1,), table.storage_offset() + at) for at in (-1, table.numel())
        ]
        assert [int(page) for page in around] == [NO_PAGE, NO_PAGE]
        assert table.is_contiguous()
        assert int(table.max()) < NO_PAGE


@pytest.mark.parametrize("interleave", [1, 2, 16])
@pytest.mark.parametrize("shuffle", [False, True])
def test_shards_hold_exactly_the_tokens_of_their_rank(shuffle, interleave):
    given = inputs()
    problem = PROBLEM.with_(interleave=interleave)
    for rank in range(4):
        shard = make_shard(
            problem, given, dcp_size=4, rank=rank, shuffle=shuffle, poison_unmapped=True, poison_padding=True
        )
        mapped = set()
        for request, length in enumerate(shard.lengths):
            held = [shard.cache[shard.page_table[request, place // 4], place % 4] for place in range(length)]
            tokens = [token for token in range(LENGTHS[request]) if token // interleave % 4 == rank]
            want = [given.tokens[request][token] for token in tokens]
            assert len(held) == len(want)
            assert all(torch.equal(a, b) for a, b in zip(held, want, strict=True))
            pages = shard.page_table[request, : -(length // -4)].tolist()
            assert not mapped & set(pages)
            mapped |= set(pages)
            if length % 4:
                assert bool(shard.cache[pages[-1], length % 4 :].isnan().all())
        unmapped = [page for page in range(len(shard.cache)) if page not in mapped]
        assert unmapped
        assert bool(shard.cache[unmapped].isnan().all())


class PeakBytes(TorchDispatchMode):
    """Counts the bytes of living tensors that were made inside."""

    def __init__(self, *known):
        super().__init__()
        self.peak = self._living = 0
        self._seen = {tensor.untyped_storage().data_ptr() for tensor in known}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        return result

    def _count(self, storage):
        pointer = storage.data_ptr()
        if pointer in self._seen:
            return
        self._seen.add(pointer)
        size = storage.nbytes()
        self._living += size
        self.peak = max(self.peak, self._living)
        weakref.finalize(storage, self._drop, pointer, size)

    def _drop(self, pointer, size):
        self._seen.discard(pointer)
        self._living -= size


def peak_of(length, block):
    given = make_inputs(PROBLEM.with_(heads=8, latent_dim=64, rope_dim=16), (length,), CPU)
    with PeakBytes(given.q_latent, given.q_rope, *given.tokens) as counted:
        reference_decode(given, 0.2, dcp_size=2, rank=1, block=block)
    return counted.peak


def test_memory_follows_the_block_and_not_the_context():
    one_block = 256 * (64 + 16) * 8
    assert peak_of(4096, 256) > one_block
    assert peak_of(65536, 256) < 1.1 * peak_of(4096, 256) < 5 * one_block
    assert peak_of(65536, 65536) > 50 * peak_of(65536, 256)


def test_inputs_of_a_long_context_are_drawn_in_blocks(monkeypatch):
    monkeypatch.setattr(inputs_module, "_BLOCK", 16)
    given = inputs(problem=PROBLEM.with_(latent_dim=512, softmax_scale=192**-0.5))
    assert [len(tokens) for tokens in given.tokens] == list(LENGTHS)
    # The planted key lies where it would lie without blocks.
    along = [
        (given.values(request)[0] @ given.q_latent[request].double().mean((0, 1))) for request in range(3)
    ]
    heavy = [int(scores.argmax()) for scores in along]
    assert heavy == [(7 * request + 3) % length for request, length in enumerate(LENGTHS)]
