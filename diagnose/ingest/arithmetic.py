r"""A shell's sums of whole numbers, as in ``$(( 16 / N ))``, ``expr 16 \* N`` or ``(( N > 1 && M ))``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from diagnose.ingest.evaluate import FAULTS, Evaluation

_SUM = re.compile(r"[\w\s()+*/%<>=!&|\\-]{1,200}", re.A)
# what sets a variable, or is no sign of Python's
_CHANGES = re.compile(r"(?<![<>=!])=(?!=)|\+\+|--|(?<!&)&(?!&)|(?<!\|)\|(?!\|)", re.A)
_NOT = re.compile(r"!(?!=)", re.A)


class _Sum(Evaluation):
    """The signs that mean something else than Python's: ``/`` cuts towards nought, ``!`` binds as closely as ``-``."""

    def _unaryop(self, tree: ast.UnaryOp) -> object:
        return not self.of(tree.operand) if isinstance(tree.op, ast.Invert) else super()._unaryop(tree)

    def _binop(self, tree: ast.BinOp) -> object:
        if not isinstance(tree.op, (ast.FloorDiv, ast.Mod)):
            return super()._binop(tree)
        left, right = self.of(tree.left), self.of(tree.right)
        if not isinstance(left, int) or not isinstance(right, int):
            raise TypeError
        cut = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return cut if isinstance(tree.op, ast.FloorDiv) else left - cut * right


def arithmetic(text: str, number: Callable[[str], int]) -> int | None:
    """What the sum comes to; None where it is none or nobody can tell. ``number`` gives what a name stands for, or raises a fault."""
    if not _SUM.fullmatch(text) or _CHANGES.search(text):
        return None
    text = _NOT.sub("~", text).replace("\\", "").replace("//", "/").replace("/", "//")
    text = text.replace("&&", " and ").replace("||", " or ").strip()
    try:
        value = _Sum(lambda name, _: number(name), 0).of(ast.parse(text, mode="eval").body)
    except FAULTS:
        return None
    return int(value) if isinstance(value, int) else None
