"""The cyclic layout: token t lives on rank t % dcp_size, at local place t // dcp_size."""

from __future__ import annotations


def owner(token: int, dcp_size: int) -> int:
    """Give the rank that holds a token."""
    return token % dcp_size


def local_length(length: int, dcp_size: int, rank: int) -> int:
    """Count the tokens of a context of `length` that a rank holds."""
    return length // dcp_size + (1 if rank < length % dcp_size else 0)


def local_bound(length: int, q_len: int, row: int, dcp_size: int, rank: int) -> int:
    """Count the local tokens that query `row` of the last `q_len` tokens may see on a rank.

    The bound is global, ceil((length - rank - (q_len - 1) + row) / dcp_size): the local length minus an
    offset would be wrong.
    """
    return max(-((length - rank - (q_len - 1) + row) // -dcp_size), 0)


def pages_for(length: int, page_size: int) -> int:
    """Count the pages that hold `length` tokens."""
    return -(length // -page_size)
