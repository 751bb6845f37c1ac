"""Which lines two texts share: the ground of merge and diff. Bounded, so that no pair of texts can hold a worker up.

Patience alignment (Bram Cohen's): lines that stand exactly once in both texts are anchors, the longest rising run of them is kept, and the
gaps between are aligned in the same way; a small gap without anchors goes to ``difflib``. A gap that is neither is left unmatched.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

BUDGET = 300_000  # lines looked at, all gaps together: about 60 ms
SMALL = 2_500  # old lines × new lines that difflib may compare

Block = tuple[int, int, int]  # where in the first, where in the second, how many


def split(text: str) -> list[str]:
    """The lines of a text with their ends, by LF alone: what an editor and ``tomllib`` call a line."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def matching(first: Sequence[str], second: Sequence[str]) -> list[Block]:
    """The blocks that both hold, in order, each as long as it can be; the last is empty and stands at both ends."""
    pairs = sorted(_pairs(first, second))
    blocks: list[Block] = []
    for i, j in pairs:
        if blocks and blocks[-1][0] + blocks[-1][2] == i and blocks[-1][1] + blocks[-1][2] == j:
            blocks[-1] = (blocks[-1][0], blocks[-1][1], blocks[-1][2] + 1)
        else:
            blocks.append((i, j, 1))
    return [*blocks, (len(first), len(second), 0)]


def _pairs(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[int, int]]:
    gaps, left = [(0, len(first), 0, len(second))], BUDGET
    while gaps:
        i, i_end, j, j_end = gaps.pop()
        while i < i_end and j < j_end and first[i] == second[j]:
            yield i, j
            i, j = i + 1, j + 1
        while i < i_end and j < j_end and first[i_end - 1] == second[j_end - 1]:
            i_end, j_end = i_end - 1, j_end - 1
            yield i_end, j_end
        size = (i_end - i) + (j_end - j)
        if i == i_end or j == j_end or left < size:
            continue
        left -= size
        anchors = _anchors(first, second, i, i_end, j, j_end)
        if anchors:
            yield from anchors
            edges = [(i - 1, j - 1), *anchors, (i_end, j_end)]
            gaps += [(a + 1, c, b + 1, d) for (a, b), (c, d) in zip(edges, edges[1:], strict=False)]
        elif (product := (i_end - i) * (j_end - j)) <= min(SMALL, left):
            left -= product
            found = SequenceMatcher(None, first[i:i_end], second[j:j_end], autojunk=False)
            for a, b, many in found.get_matching_blocks():
                yield from ((i + a + k, j + b + k) for k in range(many))


def _anchors(
    first: Sequence[str], second: Sequence[str], i: int, i_end: int, j: int, j_end: int
) -> list[tuple[int, int]]:
    """The longest rising run of the lines that stand once on each side."""
    counts, others = Counter(first[i:i_end]), Counter(second[j:j_end])
    places = {second[k]: k for k in range(j, j_end) if others[second[k]] == 1}
    once = [(k, places[first[k]]) for k in range(i, i_end) if counts[first[k]] == 1 and first[k] in places]
    ends: list[int] = []  # the lowest end of a rising run of each length
    last: list[int] = []  # which of ``once`` that is
    before: list[int] = []
    for number, (_, place) in enumerate(once):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
    run: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        run.append(once[number])
        number = before[number]
    return run[::-1]
