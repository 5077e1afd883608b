"""MLA decode in float64, in the absorbed form, streamed over the context.

With the symbols of the DeepSeek-V2 paper (arXiv 2405.04434, section 2.1), for head i at token t:

    q'_{t,i} = (W^UK_i)^T q^C_{t,i}                                  absorbed query
    s_{i,j}  = (q'_{t,i} . c^KV_j + q^R_{t,i} . k^R_j) * scale
             scale = 1 / sqrt(d_h + d_h^R), times mscale^2 with YaRN
    L_i      = ln sum_j exp(s_{i,j})                                 over the tokens j that t may see
    o'_{t,i} = sum_j exp(s_{i,j} - L_i) c^KV_j

and o_{t,i} = W^UV_i o'_{t,i} is the same for every kernel.

On rank r of c, with runs of I tokens, only tokens with floor(j / I) mod c = r count. The sums run over
blocks of j with a running maximum, as in online softmax, and no more than one block is held in float64.
Visibility compares token positions, so it shares no mask formula with any kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from mlacheck.decode.inputs import rank_tokens

if TYPE_CHECKING:
    from mlacheck.decode.inputs import Inputs

BLOCK: Final = 8192


def reference_decode(
    inputs: Inputs,
    softmax_scale: float,
    *,
    dcp_size: int = 1,
    rank: int = 0,
    interleave: int = 1,
    block: int = BLOCK,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Give a rank's output [batch, q_len, heads, latent] and LSE [batch, q_len, heads] in nats, in float64.

    A row that sees no token has output 0 and LSE -inf, the identity of the merge.
    """
    outputs, lses = [], []
    for request in range(len(inputs.tokens)):
        output, lse = _decode_request(inputs, request, softmax_scale, dcp_size, rank, interleave, block)
        outputs.append(output)
        lses.append(lse)
    return torch.stack(outputs), torch.stack(lses)


def _decode_request(
    inputs: Inputs, request: int, scale: float, dcp_size: int, rank: int, interleave: int, block: int
) -> tuple[torch.Tensor, torch.Tensor]:
    q_latent = inputs.q_latent[request].to(torch.float64)
    q_rope = inputs.q_rope[request].to(torch.float64)
    q_len, heads, _ = q_latent.shape
    length, device = len(inputs.tokens[request]), q_latent.device
    # Query row i is token length - q_len + i and sees itself and all before it.
    own = torch.arange(length - q_len, length, device=device)

    maximum = torch.full((q_len, heads, 1), float("-inf"), dtype=torch.float64, device=device)
    total = torch.zeros_like(maximum)
    output = torch.zeros_like(q_latent)
    for start in range(0, length, block * dcp_size):
        stop = min(start + block * dcp_size, length)
        positions = rank_tokens(start, stop, dcp_size, rank, interleave, device)
        if not len(positions):
            continue
        keys, rotated = inputs.values(request, positions)
        scores = (q_latent @ keys.T).add_(q_rope @ rotated.T).mul_(scale)
        hidden = positions[None, :] > own[:, None]
        scores.masked_fill_(hidden[:, None, :], float("-inf"))
        highest = torch.maximum(maximum, scores.amax(-1, keepdim=True))
        anchor = highest.masked_fill(highest == float("-inf"), 0.0)
        weights = scores.sub_(anchor).exp_()
        kept = torch.exp(maximum - anchor)
        total = total * kept + weights.sum(-1, keepdim=True)
        output = output * kept + weights @ keys
        maximum = highest
    lse = torch.where(total > 0, maximum + total.log(), maximum).squeeze(-1)
    return output / total.clamp_min(torch.finfo(torch.float64).tiny), lse
