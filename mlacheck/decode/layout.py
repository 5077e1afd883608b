"""Where a context's tokens live: runs of `interleave` tokens go to one rank after another, in a circle.

Token t lives on rank t // interleave % dcp_size; a rank keeps its tokens in order. One token a run is the
cyclic layout, a page a run the block-cyclic one.
"""

from __future__ import annotations


def owner(token: int, dcp_size: int, interleave: int = 1) -> int:
    """Give the rank that holds a token."""
    return token // interleave % dcp_size


def local_length(length: int, dcp_size: int, rank: int, interleave: int = 1) -> int:
    """Count the tokens of a context of `length` that a rank holds."""
    rounds, rest = divmod(length, dcp_size * interleave)
    return rounds * interleave + min(max(rest - rank * interleave, 0), interleave)


def local_bound(length: int, q_len: int, row: int, dcp_size: int, rank: int, interleave: int = 1) -> int:
    """Count the local tokens that query `row` of the last `q_len` tokens may see on a rank.

    The bound is that of the global context which ends at the query; the local length minus an offset would
    be wrong.
    """
    return local_length(max(length - (q_len - 1) + row, 0), dcp_size, rank, interleave)


def pages_for(length: int, page_size: int) -> int:
    """Count the pages that hold `length` tokens."""
    return -(length // -page_size)
