"""What one expression of Python gives where that is certain: numbers, texts, lists and dictionaries, without running anything."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

_LARGEST = 1e15
_MOST = 2_000  # characters of a text, and texts and numbers in a list: a name that is built of names may grow with each line

_BINARY: Mapping[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_COMPARED: Mapping[type[ast.cmpop], Callable[..., object]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: lambda one, many: one in many, ast.NotIn: lambda one, many: one not in many,
}  # fmt: skip
_CALLED: Mapping[str, Callable[..., object]] = {
    "int": int, "float": float, "str": str, "bool": bool, "round": round,
    "min": min, "max": max, "len": len, "dict": dict, "list": list,
}  # fmt: skip


class _Unknown(Exception):
    """What an expression gives cannot be told from the text."""


# everything that an expression may fail by, or the parser before it
FAULTS = (_Unknown, SyntaxError, ValueError, TypeError, ArithmeticError, LookupError, RecursionError, MemoryError)


class Evaluation:
    """Reads one expression that stands on a line, with ``names`` telling what a name stands for there."""

    def __init__(self, names: Callable[[str, int], object], line: int) -> None:
        self.names, self.line = names, line

    def of(self, tree: ast.expr) -> object:
        read = getattr(self, f"_{type(tree).__name__.lower()}", None)
        if read is None:
            raise _Unknown
        value: object = read(tree)
        if isinstance(value, complex) or _too_large(value):
            raise _Unknown
        return value

    def _constant(self, tree: ast.Constant) -> object:
        return tree.value

    def _name(self, tree: ast.Name) -> object:
        return self.names(tree.id, self.line)

    def _attribute(self, tree: ast.Attribute) -> object:
        if not isinstance(tree.value, ast.Name):
            raise _Unknown
        return self.names(f"{tree.value.id}.{tree.attr}", self.line)

    def _list(self, tree: ast.List) -> object:
        return [self.of(one) for one in tree.elts]

    def _tuple(self, tree: ast.Tuple) -> object:
        return tuple(self.of(one) for one in tree.elts)

    def _dict(self, tree: ast.Dict) -> object:
        return {self.of(key): self.of(value) for key, value in zip(tree.keys, tree.values, strict=True) if key}

    def _unaryop(self, tree: ast.UnaryOp) -> object:
        value = self.of(tree.operand)
        if isinstance(tree.op, ast.Not):
            return not value
        if isinstance(tree.op, ast.USub) and isinstance(value, (int, float)):
            return -value
        raise _Unknown

    def _binop(self, tree: ast.BinOp) -> object:
        left, right = self.of(tree.left), self.of(tree.right)
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            sound = not isinstance(tree.op, ast.Pow) or (abs(left) <= 1024 and abs(right) <= 64)
        else:
            sound = isinstance(tree.op, ast.Add) and isinstance(left, (str, list)) and type(left) is type(right)
        if not sound or type(tree.op) not in _BINARY:
            raise _Unknown
        return _BINARY[type(tree.op)](left, right)

    def _compare(self, tree: ast.Compare) -> object:
        if len(tree.ops) != 1:
            raise _Unknown
        return _COMPARED[type(tree.ops[0])](self.of(tree.left), self.of(tree.comparators[0]))

    def _boolop(self, tree: ast.BoolOp) -> object:
        ends = isinstance(tree.op, ast.Or)
        value: object = None
        for one in tree.values:
            value = self.of(one)
            if bool(value) is ends:
                break
        return value

    def _ifexp(self, tree: ast.IfExp) -> object:
        return self.of(tree.body if self.of(tree.test) else tree.orelse)

    def _subscript(self, tree: ast.Subscript) -> object:
        held, place = self.of(tree.value), self.of(tree.slice)
        if isinstance(held, dict):
            return held[place]
        if isinstance(held, (list, tuple)) and isinstance(place, int):
            return held[place]
        raise _Unknown

    def _call(self, tree: ast.Call) -> object:
        if not isinstance(tree.func, ast.Name) or tree.func.id not in _CALLED:
            raise _Unknown
        named = {one.arg: self.of(one.value) for one in tree.keywords if one.arg}
        if len(named) != len(tree.keywords):
            raise _Unknown
        return _CALLED[tree.func.id](*(self.of(one) for one in tree.args), **named)

    def _joinedstr(self, tree: ast.JoinedStr) -> object:
        return "".join(str(self.of(one)) for one in tree.values)

    def _formattedvalue(self, tree: ast.FormattedValue) -> object:
        if tree.format_spec is not None or tree.conversion != -1:
            raise _Unknown
        return self.of(tree.value)


def _too_large(value: object) -> bool:
    """Whether a value is beyond what a setting is; stops counting there, since a list may hold one list many times."""
    waiting, size = [value], 0
    while waiting and size <= _MOST:
        one = waiting.pop()
        if isinstance(one, (int, float)):
            size += 1 if abs(one) <= _LARGEST else _MOST + 1
        elif isinstance(one, dict):
            size += 1
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, (list, tuple)):
            size += 1
            waiting += one
        else:
            size += len(one) if isinstance(one, str) else 1
    return size > _MOST
